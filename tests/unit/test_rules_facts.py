"""Facts come from what was run: commands that passed more than once, ways around a missing one, work put aside."""

from __future__ import annotations

import pytest
from tests.told_fixture import Told

PASSED = "4 passed in 0.1s"


def test_how_tests_are_run_is_what_passed_repeatedly() -> None:
    told = (
        Told().ask("Go.").run("cd /home/ann/app && make test 2>&1 | tail -5", PASSED).run("make lint").run("make lint")
    )
    told.run("make test", PASSED)
    (draft,) = told.drafts
    assert draft.content == (
        "The tests of this project are run with `make test` (it passed here twice)."
        " Further checks that passed: `make lint`."
    )
    assert (draft.kind, draft.checked, draft.slot) == ("fact", True, "test command")
    assert draft.anchors[0] == "command:make test"


@pytest.mark.parametrize(
    "command",
    ["pytest tests/unit/test_a.py", "go test ./internal/auth", "pytest -k login", "go test -run TestA ./...", "cat a"],
)
def test_a_part_of_the_tests_is_not_how_they_are_run(command: str) -> None:
    assert Told().ask("Go.").run(command, PASSED).run(command, PASSED).contents == []


def test_a_command_that_passed_once_or_failed_is_no_fact() -> None:
    told = Told().ask("Go.").run("make test", PASSED).run("npm test", "1 failed, 2 passed", 1)
    assert told.contents == []


def test_a_command_that_is_not_there_and_the_way_to_run_it() -> None:
    told = Told().ask("Build it.").run("go build ./...", "zsh:1: command not found: go", 127)
    told.run("mise exec -- go build ./...", "")
    told.run("mise exec -- go vet ./...", "")
    (draft,) = told.drafts
    assert draft.content == "`go` is not on the shell's PATH here; `mise exec -- go …` works."
    assert (draft.checked, draft.slot) == (True, "way to run go")
    assert told.cited(draft)[0] == "zsh:1: command not found: go"


def test_a_missing_command_without_a_way_is_no_fact() -> None:
    assert Told().ask("Go.").run("rg x", "bash: rg: command not found", 127).run("grep x .", "x").contents == []


def test_a_variable_that_was_called_otherwise_later_is_left_out() -> None:
    told = Told().ask("Plan the telemetry.")
    told.say("Complete opt-out: `ACME_CLI_TELEMETRY_OPTOUT=1` disables everything that is sent.")
    told.ask("ok").say("Easy opt-out: `ACME_TELEMETRY_OPTOUT=1` disables everything that leaves the machine.")
    gates = [one.content for one in told.drafts if one.importance == 0.5]
    assert gates == ["Easy opt-out: `ACME_TELEMETRY_OPTOUT=1` disables everything that leaves the machine."]


def test_a_variable_that_gates_something_is_quoted() -> None:
    told = Told().ask("Why is it so quick?")
    told.say("That command is only a smoke check unless you also set `APP_E2E_DOCKER=1` in the environment.")
    (memory,) = told.memories
    assert (memory.kind, memory.trust) == ("fact", "quoted")
    assert "symbol:APP_E2E_DOCKER" in memory.anchors


def test_work_that_was_put_aside_and_not_taken_back() -> None:
    said = "Saved working directory and index state On main: docs tutorials"
    told = Told().ask("stash the docs").run("git stash push -u -m 'docs tutorials'", said)
    (draft,) = told.drafts
    assert "On main: docs tutorials" in draft.content
    assert not draft.checked, "soon untrue"
    assert told.run("git stash pop", "Dropped").contents == []


def test_an_issue_that_was_filed() -> None:
    told = (
        Told()
        .ask("open an issue for it")
        .run('gh issue create --title "Add a FAQ to the readme" --body "x"', "https://github.com/o/r/issues/19\n")
    )
    (draft,) = told.drafts
    assert draft.kind == "reference"
    assert "Add a FAQ to the readme https://github.com/o/r/issues/19" in draft.content


def test_a_document_that_was_asked_for() -> None:
    told = Told().ask("can you write down what we have so far into a markdown file?")
    told.edit("/home/ann/app/docs/wip-bug.md").say("Created `docs/wip-bug.md` with the full context.")
    (draft,) = told.drafts
    assert draft.kind == "reference"
    assert draft.content == "`docs/wip-bug.md` was written in that session, because the user asked for it."
    assert "file:docs/wip-bug.md" in draft.anchors
    assert told.run("rm docs/wip-bug.md").contents == []


def test_a_document_nobody_asked_for_is_none() -> None:
    told = Told().ask("fix the bug").edit("/home/ann/app/docs/a.md").say("Created `docs/a.md` too.")
    assert told.contents == []


BARRED = "open /home/ann/.cache/go-build/69/x: operation not permitted"


def test_a_setting_with_which_it_went() -> None:
    told = Told().ask("Go.").run("go test ./...", BARRED, 1).run("env GOCACHE=/tmp/build go test ./...", "ok a 0.1s")
    (draft,) = told.drafts
    assert draft.kind == "lesson"
    assert draft.content.startswith("`go test ./...` needs `GOCACHE=/tmp/build` before it here")
    assert draft.why == f"it failed with: {BARRED}"
    assert draft.checked
    assert told.cited(draft)[0] == BARRED


def test_what_the_environment_never_allowed() -> None:
    told = Told().ask("Go.").run("go test ./net", "panic: listen tcp6 [::1]:0: bind: operation not permitted", 2)
    (draft,) = told.drafts
    assert (draft.kind, draft.checked) == ("fact", False)
    assert "`go test ./net` failed once with: panic: listen tcp6" in draft.content


@pytest.mark.parametrize(
    ("first", "then"),
    [
        (BARRED, ("go test ./...", "ok a 0.1s")),
        ("KeyError: 'x'", ("A_B=1 go test ./...", "ok a 0.1s")),
        ("bash: ./run: Permission denied", ("ls", "run")),
    ],
    ids=["it went by itself", "another error", "once, and it may be a mode"],
)
def test_other_failures_are_no_matter_of_the_environment(first: str, then: tuple[str, str]) -> None:
    assert Told().ask("Go.").run("go test ./...", first, 1).run(*then).contents == []


def test_what_was_computed_is_not_crowded_out_by_what_was_said_in_passing() -> None:
    told = Told().ask("Add a login page.").run("pytest", "3 passed in 0.1s").run("pytest", "3 passed in 0.1s")
    for thing in ("parser", "printer", "cache", "queue", "router", "mailer", "logger", "config", "index", "clock"):
        told.say("Done.").ask(f"The {thing} needs to be rewritten in Rust and have its own file")
    assert any("`pytest`" in content for content in told.contents)
    assert len(told.drafts) == 8
