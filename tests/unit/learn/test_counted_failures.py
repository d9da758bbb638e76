"""Which failures count as evidence: none made on purpose, none that only reads like another, each under its cause."""

from __future__ import annotations

import pytest
from tests.unit.learn.learning_fixture import Told

GONE = "cat: notes/plan.md: No such file or directory"
FAIL = "--- FAIL: TestLogin (0.01s)\n    login_test.go:12: {}\nFAIL\nFAIL\tapp/login\t0.1s"
CLOSED = "write_stdin failed: stdin is closed for this session; rerun exec_command with tty=true"
DENIED = "open /home/ann/.cache/build/69-d: operation not permitted"
MODULE = "app.go:10:2: no required module provides package example.org/yaml"


def keys(told: Told) -> list[str]:
    return [one.key for one in told.signals if one.kind in ("error_repeated", "rediscovery")]


def reading(asked: str = "Look around", before: str = "Looking.", after: str = "It is elsewhere.") -> Told:
    return Told().ask(asked).say(before).run("cat notes/plan.md", GONE, 1).say(after).run("ls", "a")


def test_a_guessed_path_counts() -> None:
    assert keys(reading()) == ["path not there"]


@pytest.mark.parametrize(
    "told",
    [
        reading("run cat notes/plan.md"),
        reading("what does plan.md say"),
        reading("try what happens with a nonexistent file"),
        reading("test the error handling of reads"),
        reading(before="This should fail."),
        reading(after="It fails as expected."),
        reading(after="Good, error shown."),
    ],
    ids=["command named", "file named", "nonexistent", "error handling", "should fail", "as expected", "good"],
)
def test_a_failure_made_on_purpose_does_not(told: Told) -> None:
    assert keys(told) == []


def test_a_failure_that_was_not_expected_counts_though_it_says_the_word() -> None:
    assert keys(reading(after="Expected a plan here; this is unexpected.")) == ["path not there"]


def test_a_test_first_is_no_loop() -> None:
    def loop(said: str) -> Told:
        told = Told().ask("Write the login").say()
        for _ in range(4):
            told.run("go test ./login", FAIL.format("got 1"), 1).say(said).edit()
        return told

    assert len(loop("Hm.").of("retry_loop")) == 1
    assert loop("The test fails as expected.").of("retry_loop") == []


def test_a_test_that_fails_in_other_ways_is_no_loop() -> None:
    told = Told().ask("Write the login").say()
    for reason in ("cannot open the ledger", "the token has no owner", "session closed too soon"):
        told.run("go test ./login", FAIL.format(reason), 1).edit()
    assert told.of("retry_loop") == []


def test_what_a_test_asserts_about_an_error_is_not_that_error() -> None:
    asserted = FAIL.format("expected error, got: String to replace not found in file")
    assert keys(Told().ask("Test").run("go test ./login", asserted, 1)) == []
    printed = FAIL.format("open x: no such file or directory")
    assert keys(Told().ask("Test").run("go test ./login && cat x", printed, 1)) == []
    environment = FAIL.format("unexpected error: listen tcp 127.0.0.1:0: bind: operation not permitted")
    assert keys(Told().ask("Test").run("go test ./login", environment, 1)) == ["cannot listen"]


def test_the_agents_own_program_that_is_gone_is_no_missing_file() -> None:
    line = "ENOENT: no such file or directory, posix_spawn '/opt/agent/bin/agent'"
    assert keys(Told().ask("Look").read("/w/app/a.go", line, failed=True)) == []


@pytest.mark.parametrize(
    ("output", "found"),
    [
        ("a.go:3:1: exported function Go should have a comment (revive)", True),
        ("level=error msg=no go files to analyze", False),
        ("tasks/lint: line 13: CI: unbound variable", False),
        ("error: can't load config: unsupported version of the configuration", False),
    ],
    ids=["findings", "no files", "its script", "no configuration"],
)
def test_a_linter_that_could_not_run_has_no_findings(output: str, *, found: bool) -> None:
    assert ("linter fails" in keys(Told().ask("Lint").run("golangci-lint run", output, 1))) is found


FINDING = "a.go:3:1: exported function A should have comment (golint)\n1 issues:"


@pytest.mark.parametrize(("done", "counts"), [("", False), ("commit", True), ("turn", True)])
def test_a_linter_finds_fault_only_with_work_that_was_thought_done(done: str, counts: bool) -> None:
    told = Told().ask("Add A").edit()
    if done == "commit":
        told.run("git commit -m x")
    elif done == "turn":
        told.say("Done.").ask("can you lint it")
    assert ("linter fails" in keys(told.run("golangci-lint run", FINDING, 1))) is counts


@pytest.mark.parametrize(
    ("chars", "found"), [("yes\n", True), ("\x03", False), ("", False)], ids=["text", "ctrl-c", "a poll"]
)
def test_control_characters_and_polls_are_no_input(chars: str, *, found: bool) -> None:
    told = Told(flavor="codex").ask("Run it").run("make setup", "Continue? [y/n]")
    told.call("write_stdin", {"session_id": 1, "chars": chars}).result(CLOSED, error=True)
    assert keys(told) == (["no input taken"] if found else [])


def test_another_message_of_a_running_program_is_another_failure() -> None:
    told = Told(flavor="codex").ask("Run it").run("make setup", "Continue? [y/n]")
    told.call("write_stdin", {"session_id": 0, "chars": "yes\n"}).result(
        "write_stdin failed: Unknown process id 0", error=True
    )
    assert "no input taken" not in keys(told)


def test_a_module_that_is_missing_counts() -> None:
    assert keys(Told().ask("Run it").run("go test ./...", MODULE, 1)) == ["module not installed"]


def test_what_follows_a_refusal_of_the_same_command_belongs_to_it() -> None:
    told = Told().ask("Run it").run("go test ./...", DENIED, 1).run("GOMODCACHE=/tmp/m go test ./...", MODULE, 1)
    assert keys(told) == ["cannot write"]
    assert told.of("rediscovery")[0].count == 2


@pytest.mark.parametrize("change", ["the manifest", "a version"])
def test_after_a_change_of_versions_nothing_is_missing_in_the_environment(change: str) -> None:
    told = Told().ask("Upgrade it")
    told = told.edit("/w/app/go.mod") if change == "the manifest" else told.run("go get example.org/yaml@v2")
    assert keys(told.run("go test ./...", MODULE, 1)) == []


def test_a_program_that_the_sandbox_forbids_is_not_a_write() -> None:
    assert keys(Told().ask("Look").run("dtrace -l", "zsh:1: operation not permitted: dtrace", 1)) == ["program refused"]


def test_a_wrapped_refusal_is_told_by_what_it_wraps() -> None:
    inside = "panic: listen tcp6 [::1]:0: bind: operation not permitted"
    line = f'exec failed: SandboxDenied {{ message: "{"=== RUN TestA " * 40}{inside}" }}'
    assert keys(Told().ask("Test").run("go test ./...", line, 1)) == ["cannot listen"]


def test_a_cut_run_counts_only_when_it_had_to_be_looked_at_again() -> None:
    def cut(output: str = "FAIL app/x [build failed]") -> Told:
        return Told().ask("Test").run("go test ./... | tail -3", output, 1)

    assert keys(cut().run("go test ./...", "ok  \tapp/x\t0.1s")) == ["output cut"]
    assert keys(cut().edit().run("go test ./...", "ok  \tapp/x\t0.1s")) == []
    told_why = "go: unsupported pair js/amd64\nFAIL app/x [build failed]"
    assert "output cut" not in keys(cut(told_why).run("go test ./...", "ok  \tapp/x\t0.1s"))


def test_callers_that_were_not_changed_with_a_signature() -> None:
    line = "./login_test.go:9:14: not enough arguments in call to open"
    assert keys(Told().ask("Build").run("go build ./...", line, 1)) == ["callers not adapted"]


def test_two_git_commands_at_once_collide_and_a_sandbox_is_no_collision() -> None:
    lock = "fatal: Unable to create '/w/app/.git/index.lock': {}"
    assert keys(Told().ask("Commit").run("git add a", lock.format("File exists."), 128)) == ["git index locked"]
    assert keys(Told().ask("Commit").run("git add a", lock.format("Operation not permitted"), 128)) == ["cannot write"]
