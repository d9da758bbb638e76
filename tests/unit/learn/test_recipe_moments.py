"""A recipe is what most moments of done have between the last edit and the commit, and what certainly passed there."""

from __future__ import annotations

import pytest
from tests.unit.learn.learning_fixture import Told, all_signals

from recollect.learn.cluster import candidates_of
from recollect.learn.values import Candidate

OK = "ok  \tapp/login\t0.1s"


def done(told: Told) -> Told:
    return told.run("git commit -m x", "[main 1] x").say("Done.").ask("thanks, perfect")


def recipe(*sessions: Told) -> Candidate | None:
    found = [one for one in candidates_of(all_signals(*sessions)) if one.kind == "recipe"]
    return found[0] if found else None


def three(*commands: str, outputs: dict[str, str] | None = None) -> Candidate | None:
    sessions = []
    for name in "abc":
        told = Told(name).ask("Fix it").edit()
        for command in commands:
            told.run(command, (outputs or {}).get(command, "ok"))
        sessions.append(done(told))
    return recipe(*sessions)


def test_what_passed_after_the_last_edit() -> None:
    found = three("mise run lint", "mise run test")
    assert found is not None
    assert found.rule == "Before work is called done, run `mise run lint` and `mise run test`."


@pytest.mark.parametrize("between", ["an edit", "a prompt"])
def test_what_passed_before_the_last_edit_or_in_another_turn_does_not_count(between: str) -> None:
    sessions = []
    for name in "abc":
        told = Told(name).ask("Fix it").edit().run("mise run lint")
        told = told.edit() if between == "an edit" else told.say("Linted.").ask("now the rest").edit()
        sessions.append(done(told.run("mise run test")))
    assert recipe(*sessions) is None


def test_an_exit_code_behind_a_pipe_is_no_pass() -> None:
    assert three("go vet ./... | head", "go test ./... | tail", outputs={"go test ./... | tail": OK}) is None


def test_what_stands_before_tests_that_passed_had_passed() -> None:
    command = "go vet ./... && go test ./... | tail -3"
    found = three(command, outputs={command: OK})
    assert found is not None
    assert "`go vet` and `go test`" in found.statement


def test_a_step_is_named_only_if_most_moments_have_it() -> None:
    sessions = []
    for name in "abcd":
        told = Told(name).ask("Fix it").edit()
        if name == "a":
            told.run("mise run fmt")
        sessions.append(done(told.run("mise run lint").run("mise run test")))
    found = recipe(*sessions)
    assert found is not None
    assert "fmt" not in found.statement
    assert len(found.sessions) == 4


def test_moments_count_and_not_sessions() -> None:
    """Each session ran vet once, before one of its many commits."""
    sessions = []
    for name in "abc":
        told = Told(name).ask("Fix it").edit().run("go vet ./...").run("go test ./...", OK)
        told.run("git commit -m x", "[main 1] x")
        for _ in range(3):
            told.edit().run("go test ./...", OK).run("git commit -m x", "[main 1] x")
        sessions.append(told.say("Done.").ask("thanks, perfect"))
    assert recipe(*sessions) is None
