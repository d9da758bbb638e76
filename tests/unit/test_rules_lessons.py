"""A lesson is an error, its cause as stated last, and the run that passed: not a guess, nor what proved wrong."""

from __future__ import annotations

import pytest
from tests.told_fixture import Told

from recollect.distill.fingerprint import fingerprint

FAILED = "FAILED tests/test_hooks.py::test_end - KeyError: 'session_end'\n1 failed, 3 passed in 0.1s"
PASSED = "4 passed in 0.1s"


def test_a_failure_its_cause_and_the_run_that_passed() -> None:
    told = Told().ask("Add the hook.").run("pytest -q", FAILED, 1)
    told.say("The reason was that the `parse_hook` function doesn't handle `session_end` at all.")
    told.edit("/home/ann/app/hooks.py").run("pytest -q", PASSED)
    (draft,) = [draft for draft in told.drafts if draft.kind == "lesson"]
    assert draft.content == "The reason was that the `parse_hook` function doesn't handle `session_end` at all."
    assert "KeyError: 'session_end'" in (draft.why or "")
    assert "`pytest -q` passed afterwards" in (draft.why or "")
    assert draft.checked
    error = fingerprint(FAILED)
    assert error is not None
    assert draft.tags[0] == f"error-{error.key}"
    assert "command:pytest -q" in draft.anchors
    cause, seen = told.cited(draft)
    assert cause == draft.content
    assert seen == error.line


@pytest.mark.parametrize("edited", [True, False], ids=["in the code", "otherwise"])
def test_what_was_only_seen_to_be_wrong_in_the_code_is_so_no_longer(edited: bool) -> None:
    told = Told().ask("Add the hook.").run("pytest -q", FAILED, 1)
    told.say("I see the issue. The `parse_hook` function doesn't handle `session_end` at all.")
    told = told.edit("/home/ann/app/hooks.py") if edited else told
    (draft,) = [draft for draft in told.run("pytest -q", PASSED).drafts if draft.kind == "lesson"]
    assert draft.checked is not edited


def test_the_last_explanation_holds() -> None:
    told = Told().ask("Fix it.").run("pytest -q", FAILED, 1)
    told.say("Found the bug: the `loader` module returns the wrong `Session` type here.").run("pytest -q", FAILED, 1)
    told.say("Root cause: `parse_hook` is missing the `session_end` key entirely.").run("pytest -q", PASSED)
    lessons = [draft for draft in told.drafts if draft.checked and draft.kind == "lesson"]
    assert [draft.content for draft in lessons] == ["`parse_hook` is missing the `session_end` key entirely."]


def test_of_two_explanations_before_a_pass_the_last_holds() -> None:
    told = Told().ask("Fix it.").run("pytest -q", FAILED, 1)
    told.say("Found the bug: the `loader` module returns the wrong `Session` type here.")
    told.say("Root cause: `parse_hook` is missing the `session_end` key entirely.").run("pytest -q", PASSED)
    (draft,) = [draft for draft in told.drafts if draft.checked]
    assert draft.content.startswith("`parse_hook` is missing")


def test_a_failure_that_stayed_teaches_nothing_for_sure() -> None:
    told = Told().ask("Fix it.").run("pytest -q", FAILED, 1)
    told.say("I see the issue. The `parse_hook` function doesn't handle `session_end` at all.")
    told.run("pytest -q", FAILED, 1)
    assert not any(draft.checked for draft in told.drafts)


def test_a_statement_about_something_else_does_not_explain_a_failure() -> None:
    told = Told().ask("Fix it.").run("pytest -q", FAILED, 1).say("Reading on.").say("Still reading.").say("And on.")
    told.say("Root cause: the `telemetry_client` never closes its `http_pool` at exit.").run("pytest -q", PASSED)
    (draft,) = [draft for draft in told.drafts if draft.kind == "lesson"]
    assert not draft.checked


@pytest.mark.parametrize(
    "said",
    [
        "I see the issue. The `parse_hook` function might not handle `session_end` at all.",
        "The issue is probably that `parse_hook` is missing the `session_end` key.",
        "I suspect the root cause is in `parse_hook`, which ignores `session_end`.",
        "Let me fix the root cause in `parse_hook`, which ignores `session_end` now.",
        "Is the root cause that `parse_hook` ignores the `session_end` key?",
        "The fix is correct and complete, and `parse_hook` is well covered by it.",
        "The issue was a typo in the import of `parse_hook` in the `hooks` module.",
        "Everything is fixed now and works as it should, all tests pass.",
    ],
    ids=["hedged", "probably", "suspect", "narrated", "asked", "praise", "trivial", "status"],
)
def test_guesses_narration_and_claims_are_no_lessons(said: str) -> None:
    told = Told().ask("Fix it.").run("pytest -q", FAILED, 1).say(said).run("pytest -q", PASSED)
    assert [draft for draft in told.drafts if draft.kind == "lesson"] == []


def test_what_the_person_said_was_wrong_is_no_lesson() -> None:
    told = Told().ask("Why does it fail?")
    told.say("Root cause: the `loader` module never reads the `session_end` key of the file.")
    told.ask("that is wrong, it does read it").say("You are right, I will look again.")
    assert [draft for draft in told.drafts if draft.kind == "lesson"] == []


def test_what_left_the_same_error_is_no_lesson() -> None:
    report = "=== Step 17\nERROR: Session 1 (aa12bc34d) was included in the metadata of the commit!"
    told = Told().ask(report).say("The bug was that `filter_sessions` never looked at the `staged_files` set.")
    told.ask(report.replace("aa12bc34d", "bb98dc76e")).say("Looking.")
    assert [draft for draft in told.drafts if draft.kind == "lesson"] == []


def test_a_plain_statement_of_the_cause_is_kept_as_quoted() -> None:
    told = Told().ask("Why is no branch made?")
    told.say("**Root cause:** The `TOOLS` list in `types.go` was missing the `replace` tool that the agent uses.")
    (memory,) = told.memories
    assert (memory.kind, memory.trust) == ("lesson", "quoted")
    assert memory.content == "The `TOOLS` list in `types.go` was missing the `replace` tool that the agent uses."
    assert "file:types.go" in memory.anchors


def test_one_thing_is_told_once() -> None:
    told = Told().ask("Why?")
    told.say("Root cause: the `replace` tool is missing in the list of the agent's tools.").ask("can you fix it?")
    told.say("The key fix was adding `replace` to the list of tools of the agent, nothing else.")
    assert len([draft for draft in told.drafts if draft.kind == "lesson"]) == 1


def test_a_choice_that_was_explained_is_kept_as_quoted() -> None:
    told = Told().ask("Add a version flag.")
    told.say("Added it. I avoided `-v` since it collides with the `--verbose` flag of every subcommand.")
    (memory,) = told.memories
    assert (memory.kind, memory.trust) == ("decision", "quoted")
