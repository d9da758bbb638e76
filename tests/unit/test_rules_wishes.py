"""What people state as a rule, a preference or a fact is kept in their words; requests and questions are not."""

from __future__ import annotations

import pytest
from tests.told_fixture import CHAT, Told, worked

from recollect.model import Memory, Session


@pytest.mark.parametrize(
    ("said", "kind"),
    [
        pytest.param("Always run the linter before you commit.", "preference", id="always"),
        pytest.param("never use mocks in the tests of this project", "preference", id="never"),
        pytest.param("From now on put new migrations into db/migrations.", "preference", id="from now on"),
        pytest.param("keep every function below forty lines please", "preference", id="keep every"),
        pytest.param("I prefer small commits over large ones.", "preference", id="prefer"),
        pytest.param("prefer composition to inheritance", "preference", id="bare prefer"),
        pytest.param("don't add comments that repeat the code", "preference", id="prohibition"),
        pytest.param("let's not put logic into the templates", "preference", id="let us not"),
        pytest.param("we should not touch the files of the vendor directory", "preference", id="should not"),
        pytest.param("i dont want any new dependencies in here", "preference", id="dont want"),
        pytest.param("the timeout needs to be configurable for each customer", "preference", id="needs to be"),
        pytest.param("can we stick to the workflow of review before merging?", "preference", id="stick to"),
        pytest.param("Let's use Postgres for the queue instead of Redis.", "decision", id="instead of"),
        pytest.param("We decided to use Postgres because the team knows it.", "decision", id="decided"),
        pytest.param("I think we should split the parser for clarity.", "decision", id="think we should"),
        pytest.param("I'd suggest we keep the old endpoint as an alias.", "decision", id="suggest"),
        pytest.param("We usually deploy on Tuesdays from the release branch.", "fact", id="usually"),
        pytest.param("our staging database runs on port 5433", "fact", id="our"),
        pytest.param("Postgres listens on port 5433 on this machine.", "fact", id="port"),
        pytest.param(
            "The stop hook is not correct, that one fires after each turn of the assistant.", "fact", id="wrong"
        ),
        pytest.param("the tests failed because commit signing is on globally", "lesson", id="because"),
        pytest.param("Bitte verwende immer deutsche Commit-Nachrichten.", "preference", id="german"),
        pytest.param("Ich bevorzuge kurze Antworten ohne Aufzählungen.", "preference", id="german preference"),
        pytest.param("Utilise toujours des guillemets doubles dans le code.", "preference", id="french"),
        pytest.param("Je préfère les petites fonctions aux grandes.", "preference", id="french preference"),
        pytest.param("Nunca uses variables globales en este proyecto.", "preference", id="spanish"),
        pytest.param("Prefiero respuestas cortas y con ejemplos.", "preference", id="spanish preference"),
    ],
)
def test_what_holds_is_kept(said: str, kind: str) -> None:
    told = worked(said)
    drafts = [draft for draft in told.drafts if draft.kind == kind]
    assert len(drafts) == 1, told.drafts
    assert told.cited(drafts[0])[0] in said


@pytest.mark.parametrize(
    "said",
    [
        "commit this and push",
        "can you open a PR for this?",
        "add a test for the parser",
        "run the tests again",
        "what is the source of this?",
        "should we always use tabs here?",
        "wouldn't it be better to use a queue?",
        "it still doesn't work",
        "I ran it and got an error.",
        "it should be fine now",
        "that should be straightforward to add",
        "don't do a reply",
        "don't commit yet",
        "do 1, do the push, don't do a reply",
        "let's go with option 1.",
        "let's keep going",
        "for this PR we should first rebase",
        "yes",
        "4",
        "ok cool let's go - write the design",
        "I never saw this before",
        "Bitte schau dir den Fehler an.",
        "peux-tu lancer les tests ?",
        "¿puedes ejecutar los tests?",
    ],
)
def test_what_is_said_for_the_moment_is_not(said: str) -> None:
    assert worked(said).contents == []


@pytest.mark.parametrize(
    "said",
    [
        "Here is what the reviewer wrote:\nAlways run the linter. Never use mocks.",
        "```\nAlways use tabs.\n```\ncan you look at this?",
        "> never use mocks in tests\n\nwhat do you think of this?",
        "<skill>\nAlways ask one question at a time. Never commit the design.\n</skill>",
        'the readme says "always use tabs and never spaces in this project", is that true?',
    ],
    ids=["announced", "fenced", "quoted", "tagged", "cited"],
)
def test_words_of_others_in_a_prompt_are_nobodys_rule(said: str) -> None:
    assert worked(said).contents == []


def test_text_that_was_injected_or_came_from_tools_states_no_rule() -> None:
    told = Told().ask("Look at the config.").add("injected_context", "Always use tabs.", "system", "tool")
    told.add("summary", "The user said: never use mocks.", "system", "assistant")
    told.call("Read", {"file_path": "a.md"}).result("Always use tabs. I prefer spaces.", error=False)
    told.say("The file says: always use tabs. I prefer that too.")
    assert told.contents == []


def test_the_prompts_of_a_delegated_session_are_the_agents_own() -> None:
    told = worked("Always run the linter.", session=Session("claude:sub", "claude", relation="subagent"))
    assert told.contents == []


def test_a_wish_that_is_taken_back_is_no_wish() -> None:
    told = worked("Always squash the commits.", "never mind, forget what I said")
    assert told.contents == []


def test_of_two_wishes_about_one_thing_the_later_holds() -> None:
    told = worked("The staging database runs on port 5433.", "The staging database runs on port 5544.")
    assert told.contents == ["The staging database runs on port 5544."]


def test_rules_that_only_sound_alike_are_two() -> None:
    told = worked("Always run the linter before you commit.", "Always run the formatter before you commit.")
    assert len(told.drafts) == 2


def test_a_rule_that_is_changed_is_the_later_one() -> None:
    told = worked("Always run the linter before you commit.", "Always run the formatter instead before you commit.")
    assert told.contents == ["Always run the formatter instead before you commit."]


def test_what_a_first_prompt_says_ought_to_be_is_the_task() -> None:
    assert Told().ask("The page should be blue and the button needs to be round.").say("Done.").contents == []


def test_a_command_before_a_wish_is_not_part_of_it() -> None:
    told = worked("/work:execute keep each commit with working code please (no broken states)")
    (draft,) = told.drafts
    assert draft.content.startswith("Keep each commit with working code")
    assert told.cited(draft) == ["keep each commit with working code please (no broken states)"]


@pytest.mark.parametrize(
    "said",
    [
        "i dont want to remove any details..i just want to migrate them to the docs",
        "Main actually got something merged..which was that image..so i don't want a merge conflict..",
        "Like there should always be a commit, it might be a more descriptive thing",
        "Feel like we should never have two of them",
    ],
)
def test_what_only_those_who_were_there_can_read_is_left_out(said: str) -> None:
    assert trusted(worked(said)) == []


@pytest.mark.parametrize(
    "said",
    [
        "CodeLearning needs line number refs",
        "The call to the LLM needs to be configurable",
        "Claude code should be source of truth",
        "The claude logs should be in the checkpoint, would be great if we can validate this adds up",
        "Let's not leave all the tests to the very end...",
        "Let's use https://git.example.org/cli as a test repo then, that's public",
        "Can we not commit the doc/testing docs?",
        "I think we should separate the hook types for clarity.",
        "The stop hook is not correct, that one fires after each turn of the assistant.",
        "Keep the style of https://git.example.org/cli/CHANGELOG.md",
        "don't use the cache in this function",
        "No tests for this please",
        "I want all of these removed",
        "We should not merge this before lunch",
        "We never finished the parser",
        "From what I have observed you take the shortest path to the code",
    ],
)
def test_what_is_said_of_the_task_at_hand_is_trusted_by_nobody(said: str) -> None:
    assert trusted(worked(said)) == []


@pytest.mark.parametrize(
    ("said", "content"),
    [
        ("Every list needs line number refs", "Every list needs line number refs"),
        ("Can we please always run the linter before a commit?", "Always run the linter before a commit."),
        ("We should not touch the default ssh config", "We should not touch the default ssh config"),
        ("Use pnpm, not npm.", "Use pnpm, not npm."),
        ("I never commit generated files in our repo", "I never commit generated files in our repo"),
        ("forecast.window() is never called by tests", "forecast.window() is never called by tests"),
        ("loadAll is always called with a path", "loadAll is always called with a path"),
    ],
)
def test_a_rule_is_told_as_it_was_said(said: str, content: str) -> None:
    assert [memory.content for memory in trusted(worked(said))] == [content]


@pytest.mark.parametrize(
    ("said", "kinds"),
    [
        ("Always run make lint before you say that you are done.", ["preference"]),
        ("Always run make lint before you claim that it works.", ["preference"]),
        (
            "Please never commit generated files to this repo. Also remember: staging Postgres listens on port 5433.",
            ["preference", "fact"],
        ),
        (
            "Please never commit generated files. Good, let's decide that: the cache lives in Redis on port 6390.",
            ["preference", "decision"],
        ),
        ("We decided: sessions live in Valkey on port 6395.", ["decision"]),
        ("wrong. the correct command is `make e2e`, not `make test-e2e`", ["fact"]),
        ("The staging box is at staging.example.org.", ["fact"]),
        ("I always forget how rebase works, explain", []),
        ("The bug is at src/app.py", []),
        ("You said: always run make lint. Is that so?", []),
        ("Bob wrote this review. The rule he gave: never use mocks", []),
    ],
)
@pytest.mark.parametrize("first", [True, False], ids=["first prompt", "later"])
def test_rules_and_facts_are_the_users(said: str, kinds: list[str], first: bool) -> None:
    told = Told().ask(said).say("Noted.") if first else worked(said)
    assert sorted(memory.kind for memory in trusted(told)) == sorted(kinds)


SHOWN = "I would not remove the materialized fallback immediately. Keep it for one release."


@pytest.mark.parametrize(
    "said",
    [
        "I would not remove the materialized fallback immediately.\n\nwhat would that be",
        "Never log the *request* bodies in production code",
        "- never log the request bodies in production code\n- why?",
    ],
    ids=["agent", "folded", "list"],
)
def test_what_is_pasted_back_is_not_the_users_own(said: str) -> None:
    told = Told().ask("Review it.").run("cat rules.md", "Never log the request bodies, in production code!")
    assert trusted(told.say(SHOWN).ask(said).say("Well.")) == []


def test_what_the_user_said_first_stays_theirs_when_the_agent_repeats_it() -> None:
    rule = "Never log the request bodies in production code."
    told = Told().ask(f"Fix the logger. {rule}").say(f"Understood: {rule}").ask(rule).say("Yes.")
    assert [memory.content for memory in trusted(told)] == [rule]


def test_few_words_that_were_said_before_are_still_the_users() -> None:
    told = Told().ask("Set it up.").say("You could use pnpm, not npm.").ask("Use pnpm, not npm.").say("Done.")
    assert [memory.content for memory in trusted(told)] == ["Use pnpm, not npm."]


def trusted(told: Told) -> list[Memory]:
    """What is put before agents by itself."""
    return [memory for memory in told.memories if memory.trust in ("user", "checked")]


def test_a_decision_has_its_why() -> None:
    (draft,) = worked("We decided to use Postgres because the team knows it well.").drafts
    assert (draft.content, draft.why) == ("We decided to use Postgres.", "the team knows it well")


def test_a_wish_names_its_files_and_topics() -> None:
    (draft,) = worked("Never edit src/app/schema.py by hand, use the migrations and run the tests.").drafts
    assert "file:src/app/schema.py" in draft.anchors
    assert "tests" in draft.tags


def test_a_users_own_words_are_trusted_as_such() -> None:
    (memory,) = worked("Always run the linter before you commit.").memories
    assert (memory.kind, memory.trust, memory.origin, memory.maker) == ("preference", "user", "user", "rules")


def test_words_with_which_a_call_was_refused_are_words_too() -> None:
    told = Told().ask("Implement the generator.").say("Let me write it.")
    told.call("Bash", {"command": "claude -p hello"}).result("The user doesn't want to proceed", error=True)
    told.events.pop()
    told.refuse("prefer subagents to save on the main context").say("Understood.")
    first = told.drafts[0]
    assert (first.kind, first.content) == (
        "preference",
        "Prefer subagents to save on the main context",
    )


@pytest.mark.parametrize(
    ("said", "kind"),
    [
        ("I prefer dark mode in every editor.", "preference"),
        ("My sister's name is Ana and she lives in Lisbon.", "fact"),
        ("We decided to use Postgres because it has row level security.", "decision"),
        ("I'm allergic to peanuts.", "fact"),
        ("I work as a nurse in Hamburg.", "fact"),
    ],
)
def test_chats_have_wishes_too(said: str, kind: str) -> None:
    told = Told(CHAT).ask("hello").say("Hi! How can I help?").ask(said).say("Noted.")
    assert [draft.kind for draft in told.drafts] == [kind]


def test_small_talk_leaves_nothing() -> None:
    told = Told(CHAT).ask("hi").say("Hello!").ask("what is the capital of France?").say("Paris.").ask("thanks!")
    assert told.contents == []


def test_what_somebody_says_of_themselves_is_told_of_the_user() -> None:
    (draft,) = Told(CHAT).ask("hi").say("Hello!").ask("My dog is called Bruno and my cat is Minka, btw").drafts
    assert draft.content == "The user's dog is called Bruno and their cat is Minka"


def test_an_errand_for_later_is_no_fact() -> None:
    assert worked("also put the rewrite memo into a markdown file for future reference").contents == []


def test_what_stands_behind_a_fence_in_the_middle_of_a_line_is_not_the_authors() -> None:
    told = worked("what about ```### Cleanup\n\nThe ordering lives in two copies. Always extract it.\n```")
    assert [memory for memory in told.memories if memory.trust == "user"] == []
