"""A decision is the option a person chose or the proposal they agreed to, citing both; procedure decides nothing."""

from __future__ import annotations

import pytest
from tests.told_fixture import Told

from recollect.distill.rules.decisions import options
from recollect.distill.rules.subjects import subject_of

MENU = """Where should the summaries be stored?

- **A) In metadata.json** as a structured field, rendered on the way out
- **B) In a separate file** beside the checkpoint
- **C) Nowhere**, made again on demand

I would lean toward A."""


def decided(before: str, answer: str) -> Told:
    return Told().ask("Design the summaries.").say(before).ask(answer).say("Good.")


@pytest.mark.parametrize(
    ("answer", "chosen"),
    [
        ("A", "In metadata.json"),
        ("b)", "In a separate file"),
        ("I think B) is fine", "In a separate file"),
        ("let's do a then", "In metadata.json"),
        ("option C please", "Nowhere"),
        ("go with b", "In a separate file"),
    ],
)
def test_the_chosen_option_is_the_decision(answer: str, chosen: str) -> None:
    told = decided(MENU, answer)
    (draft,) = told.drafts
    assert draft.kind == "decision"
    assert draft.checked
    assert draft.content.startswith(f"The summaries: {chosen}")
    assert draft.content.endswith(".")
    assert "asked: Where should the summaries be stored?" in (draft.why or "")
    option, words = told.cited(draft)
    assert chosen in option
    assert words in answer


@pytest.mark.parametrize(
    "answer",
    ["A file would be nice", "a nicer name would help", "i like it", "what about the size?", "D", "2 more tests"],
)
def test_an_answer_that_chooses_nothing_decides_nothing(answer: str) -> None:
    assert [draft for draft in decided(MENU, answer).drafts if draft.kind == "decision"] == []


@pytest.mark.parametrize(
    "menu",
    [
        "Should I:\n1. Commit this batch as it is?\n2. Continue with the next tasks?\n3. Stop here?",
        "Which of these?\n1. Push the branch to the remote\nB) Rebase it onto main",
        "How would you like to proceed?\n1. Continue with the next batch of tasks\n2. Run the review first",
        "What would you like to brainstorm today?\nA) A new feature for the tool\nB) Improvements of an old one",
    ],
)
def test_how_to_go_on_is_no_decision(menu: str) -> None:
    assert decided(menu, "1").contents == []
    assert decided(menu, "B").contents == []


def test_numbered_answers_go_to_the_numbered_options() -> None:
    menu = "Two things to settle:\n1. Rename the sets, for they hold all branches by then\n2. Keep a list of helpers"
    told = decided(menu, "1. sounds good to me\n2. I think this is the weakest part, let's skip it")
    contents = sorted(told.contents)
    assert contents == ["Decided against: Keep a list of helpers.", "Decided: Rename the sets."]


@pytest.mark.parametrize(
    "answer", ["1. to do this it's an instructions thing, hey?", "4, but I'm assuming 2 is part of that solution?"]
)
def test_a_question_back_chooses_nothing(answer: str) -> None:
    menu = "What should it do?\n1. Search the symbols before code is written\n2. Ask\n3. Wait\n4. Show the helpers"
    assert decided(menu, answer).contents == []


@pytest.mark.parametrize(
    "question",
    [
        "What's your primary goal here?",
        "Which fix do you want me to implement for the blocker?",
        "What are you thinking about?",
    ],
)
def test_a_menu_about_the_task_at_hand_decides_nothing_that_lasts(question: str) -> None:
    assert decided(f"{question}\n\nA) The quick and simple way\nB) The long and winding way", "B").contents == []


def test_a_decision_is_told_as_whole_words_with_what_was_not_taken() -> None:
    long = "keep the helper beside the code that it helps, " * 12
    menu = f"Where does the helper live?\nA) In a package of its own - {long}\nB) In place (as now)\nC) Something else?"
    (draft,) = decided(menu, "A please").drafts
    assert draft.content == "The helper: In a package of its own, not In place."
    assert (draft.why or "").endswith("asked: Where does the helper live?")
    assert "…" not in f"{draft.content}{draft.why}"


def test_only_the_options_of_the_same_list_were_not_taken() -> None:
    menu = "Steps:\n1. Add a field\n2. Fill it in\n\nHow is the time kept?\nA) As one timestamp\nB) As a list of them"
    (draft,) = decided(menu, "A").drafts
    assert draft.content == "The time: As one timestamp, not As a list of them."


def test_a_list_of_the_authors_own_is_no_answer() -> None:
    menu = "Open points:\n1. Add error path tests for the update\n2. Document the gap of attribution"
    own = (
        "Give me an overview of these:\n1. Prompt runs, changes files, user commits\n2. Prompt runs and commits itself"
    )
    assert decided(menu, own).contents == []


def test_a_proposal_is_decided_when_it_is_agreed_to() -> None:
    told = decided(
        "I looked at both. My recommendation is to refuse `adoptHost` whenever `SkipVerify` is on.", "yes, do it"
    )
    (draft,) = told.drafts
    assert draft.content == "Decided: refuse `adoptHost` whenever `SkipVerify` is on."
    assert len(draft.evidence) == 2
    assert draft.checked


@pytest.mark.parametrize(
    ("before", "answer"),
    [
        ("I'd suggest a cache in front of the store.", "yes, but not in this release, actually"),
        ("Want me to push the branch and open a pull request?", "yes"),
        ("I'd recommend to run the tests next.", "go ahead"),
        ("I'd suggest a cache in front of the store.", "why?"),
        ("All tests pass.", "great, thanks"),
    ],
    ids=["with reserve", "pushing", "next step", "question", "status"],
)
def test_other_agreement_decides_nothing(before: str, answer: str) -> None:
    assert decided(before, answer).contents == []


def test_answers_in_a_dialog_of_the_host_are_decisions() -> None:
    questions = [
        {
            "question": "Which platforms are released?",
            "options": [{"label": "Skip Windows", "description": "Only darwin and linux."}, {"label": "All"}],
        },
        {"question": "Ready to start?", "options": [{"label": "Yes"}]},
    ]
    told = Told().ask("Set up the release.").call("AskUserQuestion", {"questions": questions})
    told.result('User has answered: "Which platforms are released?"="Skip Windows", "Ready to start?"="Yes".')
    (draft,) = told.drafts
    assert draft.content == "Platforms released: Skip Windows, not All."
    assert draft.why == "Only darwin and linux; asked: Which platforms are released?"
    assert told.cited(draft) == ['"Which platforms are released?"="Skip Windows"']


def dialog(question: str, description: str) -> Told:
    options = [{"label": "Repair the library", "description": description}, {"label": "Work around it"}]
    told = Told().ask("Go on.").call("AskUserQuestion", {"questions": [{"question": question, "options": options}]})
    return told.result(f'User has answered: "{question}"="Repair the library".')


def test_a_dialog_that_says_what_was_chosen_decides_whatever_it_asked() -> None:
    """Nobody is shown it unasked: the question was about the task at hand."""
    asked = "Where should the rejections be matched, do you think?"
    (draft,) = dialog(asked, "Match `StatusErr` by value in `asRejected`, re-vendor.").drafts
    assert draft.content == "The rejections: Repair the library, not Work around it."
    assert (draft.checked, draft.passing) == (False, True)


def test_a_dialog_about_the_task_that_names_nothing_decides_nothing() -> None:
    assert dialog("Which fix do you want me to implement?", "The better way to do it, but more work.").contents == []


def test_an_option_that_is_taken_with_a_change_is_told_with_it() -> None:
    menu = "Where should the summaries be stored?\n1. In the plan\n2. In a file that is switched off?"
    (draft,) = decided(menu, "2, but on by default").drafts
    assert draft.content == "The summaries: In a file that is switched off, but on by default."
    assert (draft.checked, draft.passing) == (False, True)


def test_a_dialog_of_another_tool_decides_nothing() -> None:
    told = Told().ask("Look.").call("Bash", {"command": "cat answers"})
    told.result('"Which database is used?"="The evil one"', error=False, exit=0)
    assert told.contents == []


def test_a_dialog_with_broken_arguments_is_still_read() -> None:
    told = (
        Told()
        .ask("Set it up.")
        .add("tool_call", "{not json", "assistant", "assistant", tool="Ask", action="ask", call="x")
    )
    told.add("tool_result", '"Which port is used?"="5433 for staging"', "tool", "tool", call="x", error=False)
    assert told.contents == ["Port used: 5433 for staging."]


def test_a_command_that_was_refused_with_a_reason() -> None:
    told = Told().ask("Write the design.").say("Let me commit this.")
    told.call("Bash", {"command": "git add docs/plans/design.md && git commit -m design"}).refuse("don't check this in")
    (draft,) = [draft for draft in told.drafts if draft.kind == "decision"]
    assert "git add docs/plans/design.md" in draft.content
    assert '"don\'t check this in"' in draft.content
    assert not draft.checked, "it was this one call that was not wanted"


def test_a_refusal_that_speaks_generally_is_checked() -> None:
    told = (
        Told().ask("Release it.").call("Bash", {"command": "git push --force"}).refuse("never force push in this repo")
    )
    assert [draft.checked for draft in told.drafts if "refused" in draft.content] == [True]


@pytest.mark.parametrize("words", ["are these really the way to go?", "wait, let's talk first", "no, not yet"])
def test_a_refusal_that_only_stops_is_no_decision(words: str) -> None:
    told = Told().ask("Go.").call("Bash", {"command": "make deploy"}).refuse(words)
    assert told.contents == []


def test_a_decision_that_was_taken_anew_is_the_later_one() -> None:
    told = Told().ask("Design it.").say(MENU).ask("A").say("Written so.").say(MENU).ask("b) after all")
    (draft,) = told.drafts
    assert "In a separate file" in draft.content


def test_menus_are_read_in_the_ways_they_are_written() -> None:
    text = "1. one thing\n2) two things\n- **C)** three things\n**Option D** - four things\n(e) five things"
    assert [option.mark for option in options(text)] == ["1", "2", "c", "d", "e"]
    assert [option.mark for option in options("Either (a) gate the follower; or (b) move the field.")] == ["a", "b"]
    assert all(text[one.start : one.end] == one.text for one in options(text))


def test_a_yes_is_told_by_what_it_was_said_to() -> None:
    options = [{"label": "Yes, do it properly", "description": "Call approve when a retry succeeds."}, {"label": "No"}]
    told = (
        Told()
        .ask("Ask the helper.")
        .call("AskUserQuestion", {"questions": [{"question": "Is approval signalled?", "options": options}]})
    )
    told.result('User has answered: "Is approval signalled?"="Yes, do it properly".')
    assert told.contents == ["Decided: Call approve when a retry succeeds."]


TWO_POINTS = (
    "Two points about `ended_at`:\nA) A simple timestamp of when it closed\nB) Updated on every checkpoint as well"
)


@pytest.mark.parametrize(
    "answer",
    [
        "A) it's when we know that the user closed the chat\nB) I want to implement this as a separate feature",
        "A) it's when we know that it was closed. B) I want that as a separate feature",
        "A and B",
        "A or B, what do you think",
        "both, A first and B next week",
    ],
    ids=["lines", "one line", "and", "or", "both"],
)
def test_an_answer_to_every_point_chooses_none_of_them(answer: str) -> None:
    told = decided(TWO_POINTS, answer)
    assert [memory for memory in told.memories if "checkpoint" in memory.content or "timestamp" in memory.content] == []


@pytest.mark.parametrize("answer", ["B, not A", "b over A please", "B instead of A"])
def test_an_option_that_is_named_to_leave_it_out_is_not_chosen(answer: str) -> None:
    (draft,) = decided(MENU, answer).drafts
    assert draft.content.startswith("The summaries: In a separate file")


def test_a_choice_whose_question_names_no_subject_is_only_quoted() -> None:
    told = decided("How is it kept?\n\nA) As one timestamp of the end\nB) As a list of several times", "A")
    assert {memory.trust for memory in told.memories} == {"quoted"}


def test_a_dialog_names_its_subject_by_its_heading_where_the_question_does_not() -> None:
    options = [{"label": "Rename to --sign-mode"}, {"label": "Keep --sign"}]
    question = {"question": "Comment 3: rename it now?", "header": "--sign flag", "options": options}
    told = Told().ask("Go through the review.").call("AskUserQuestion", {"questions": [question]})
    told.result('User has answered: "Comment 3: rename it now?"="Rename to --sign-mode".')
    assert told.contents == ["--sign flag: Rename to --sign-mode, not Keep --sign."]
    assert [memory.trust for memory in told.memories] == ["checked"]


@pytest.mark.parametrize(
    ("question", "subject"),
    [
        ("Should the E2E tests be in a separate directory (e2e/) or inside integration/?", "The E2E tests"),
        (
            "What permission mode should the agent run with in tests?",
            "Permission mode the agent should run with in tests",
        ),
        ("How should version injection be handled?", "Version injection"),
        ("Windows build?", "Windows build"),
        ("Which tools should we set up?", "Tools to set up"),
        ("How should we name the branches?", "How to name the branches"),
        ("What should happen when the key is missing?", "When the key is missing"),
        ("Should we store summaries in the file or beside it?", "Summaries"),
        ("Where does `loadAll` live?", "`loadAll`"),
        ("Where should it live?", ""),
        ("Or should we keep it simple?", ""),
        ("Which one do you prefer?", ""),
        ("Comment 3: rename the flag now?", ""),
        ("", ""),
    ],
)
def test_the_subject_of_a_question(question: str, subject: str) -> None:
    assert subject_of(question) == subject


@pytest.mark.parametrize(
    ("before", "answer"),
    [
        ("That's exactly why moving the storage model into `entiredb` is the right fix. I will do it.", "ok, continue"),
        ("My take: in `auto` mode over SSH the replicate strategy should be skipped.", "go ahead"),
        (
            "I'd suggest a cache in front of the store. It has three parts. Each is small. All use Redis.",
            "ok, continue",
        ),
        ("My recommendation: `plan --mode replicate`.", "yes"),
        ("I would go with that, since it is what everybody else here does.", "yes"),
    ],
    ids=["explained", "take", "explained since", "says nothing", "points"],
)
def test_agreeing_to_what_was_explained_decides_nothing_trusted(before: str, answer: str) -> None:
    assert [memory for memory in decided(before, answer).memories if memory.trust != "quoted"] == []


def test_going_on_agrees_to_a_proposal_right_before_it() -> None:
    told = decided("I'd suggest to put a small cache in front of the store. Shall I go on?", "go ahead")
    assert told.contents == ["Decided: put a small cache in front of the store."]
