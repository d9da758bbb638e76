"""What one session shows: each kind of signal when it is there, with its evidence, and not when it is not."""

from __future__ import annotations

import pytest
from tests.unit.learn.learning_fixture import NOT_FOUND, Told, stale_edit

from recollect.learn.recipesteps import moments_of
from recollect.learn.values import KINDS, ORIGINS

FAIL = "--- FAIL: TestLogin (0.01s)\n    login_test.go:12: got 1\nFAIL\nFAIL\tapp/login\t0.1s"
PASS = "ok  \tapp/login\t0.1s"


def keys(told: Told, kind: str) -> list[str]:
    return [one.key for one in told.of(kind)]


def test_a_stale_edit_is_known_however_the_agent_words_it() -> None:
    claude, codex = stale_edit("a"), stale_edit("b", "codex")
    assert keys(claude, "error_repeated") == keys(codex, "error_repeated") == ["edit text not found"]


def test_a_signal_names_the_events_that_show_it() -> None:
    told = stale_edit("a")
    (signal,) = told.of("error_repeated")
    shown = [event for event in told.events if event.key in signal.events]
    assert [event.text for event in shown] == [NOT_FOUND]
    assert (signal.session, signal.flavor, signal.project, signal.origin) == ("claude:a", "claude", "app", "outcome")
    assert signal.at == shown[0].occurred_at


def test_what_happens_often_in_one_session_is_one_signal_that_counts() -> None:
    told = Told().ask("Fix it").say()
    for _ in range(4):
        told.edit(output=NOT_FOUND, failed=True).say()
    (signal,) = told.of("error_repeated")
    assert signal.count == 4
    assert len(signal.events) == 4


def test_what_it_cost_is_the_time_until_what_failed_worked() -> None:
    (signal,) = stale_edit("a").of("error_repeated")
    assert signal.cost.seconds == 50.0  # call, result, read, its result, edit, its result
    assert signal.cost.usd is None


@pytest.mark.parametrize(
    ("command", "output", "key"),
    [
        ("rg --files '*.go'", "zsh:1: no matches found: *.go", "shell is zsh"),
        ("go test ./...", "panic: listen tcp6 [::1]:0: bind: operation not permitted", "cannot listen"),
        ("gh pr list", "error connecting to api.github.com\ncheck your internet connection", "no network"),
        ("go test ./...", "zsh:1: command not found: go", "program missing: go"),
        ("GOOS=windows go test ./a", "fork/exec /tmp/a.test.exe: exec format error", "built for another system"),
    ],
    ids=["zsh", "sandbox", "network", "program", "platform"],
)
def test_what_the_environment_is_like_is_a_rediscovery(command: str, output: str, key: str) -> None:
    assert keys(Told().ask("Run it").run(command, output, 1), "rediscovery") == [key]


@pytest.mark.parametrize(
    ("command", "output"),
    [
        ("rg -n nothing src", ""),
        ("grep -r x .", ""),
        ("ls gone", "ls: gone: No such file or directory"),
        ("test -f x", ""),
        ("type thing", "error: thing is nowhere among the programs that this shell knows"),
    ],
    ids=["rg", "grep", "ls", "test", "type"],
)
def test_a_look_that_finds_nothing_is_no_error(command: str, output: str) -> None:
    assert Told().ask("Look").run(command, output, 1).signals == []


def test_a_file_read_where_it_is_not() -> None:
    told = Told().ask("Read it").read("/w/app/cmd/x.go", "File does not exist.", failed=True)
    assert keys(told, "error_repeated") == ["path not there"]
    assert told.of("error_repeated")[0].detail["path"] == "cmd/x.go"


def test_output_that_was_cut_is_told_only_when_it_was() -> None:
    cut = Told().ask("Test").run("go test ./... 2>&1 | tail -3", "FAIL app/x [build failed]", 1)
    cut.run("go test ./...", "./x.go:3:2: missing return", 1)
    whole = Told().ask("Test").run("go test ./...", "FAIL app/x [build failed]", 1)
    assert keys(cut, "error_repeated") == ["output cut"]
    assert "output cut" not in keys(whole, "error_repeated")


def test_the_same_test_failing_again_and_again_is_a_loop() -> None:
    told = Told().ask("Fix the login").say()
    for _ in range(3):
        told.run("go test ./login", FAIL, 1).edit()
    assert keys(told, "retry_loop") == ["again and again: tests"]
    assert keys(Told().ask("x").run("go test ./login", FAIL, 1).run("go test ./login", FAIL, 1), "retry_loop") == []


def test_a_loop_ends_where_it_passes() -> None:
    told = Told().ask("Fix the login").say()
    for _ in range(2):
        told.run("go test ./login", FAIL, 1).edit().run("go test ./login", FAIL, 1).edit().run("go test ./login", PASS)
    assert keys(told, "retry_loop") == []


def test_a_test_is_known_by_its_name() -> None:
    assert keys(Told().ask("Test").run("go test ./login", FAIL, 1), "red_green") == ["test: testlogin"]


def test_a_test_is_known_by_its_reason_when_that_tells_more() -> None:
    output = "--- FAIL: TestA (0.0s)\n    a_test.go:9: cannot reach the billing gateway from this machine\nFAIL"
    (signal,) = Told().ask("Test").run("go test ./a", output, 1).of("red_green")
    assert signal.key == "tests: cannot reach the billing gateway from this machine"


def test_a_command_put_otherwise_until_it_worked() -> None:
    told = Told().ask("Push").run("git push", "fatal: no", 128).run("git push -u origin x", "done")
    (signal,) = told.of("command_fixed")
    assert signal.key == "git push: +-u +origin"
    assert signal.detail["worked"] == "git push -u origin x"


def test_a_command_that_worked_after_an_edit_was_not_put_otherwise() -> None:
    told = Told().ask("Push").run("git push", "fatal: no", 128).edit().run("git push -u origin x", "done")
    assert told.of("command_fixed") == []


def test_fewer_tests_that_pass_do_not_put_a_command_right() -> None:
    told = Told().ask("Test").run("go test ./...", FAIL, 1).run("go test ./... -run TestOther", PASS)
    assert told.of("command_fixed") == []


def test_churn_is_many_edits_among_failures_not_many_edits() -> None:
    busy, stuck = Told().ask("Write it").say(), Told().ask("Write it").say()
    for _ in range(8):
        busy.edit("/w/app/login/a.go")
        stuck.edit("/w/app/login/a.go").run("go test ./login", FAIL, 1)
    assert keys(busy, "edit_churn") == []
    assert keys(stuck, "edit_churn") == ["churn: go"]


def test_a_refused_commit_is_a_denial_of_the_user() -> None:
    (signal,) = Told().ask("Fix it").say().refuse("git add -A && git commit -m x").of("denial")
    assert (signal.key, signal.origin) == ("denial: git writes", "user")


def test_a_correction_in_the_users_own_words() -> None:
    told = Told().ask("Write a parser").say("Done.").ask("no, that is wrong. Keep the public interface stable")
    assert told.of("correction")[0].origin == "user"
    assert "interface" in " ".join(keys(told, "correction"))


def test_a_wish_by_its_telling_words() -> None:
    told = Told().ask("Fix the parser").say().ask("ok, can you please do meaningful commits?")
    assert "commit meaningful" in keys(told, "instruction_repeated")


@pytest.mark.parametrize(
    "prompt",
    ["continue", "yes", "can you commit and push?", "do we have integration tests?", "what does this do?"],
)
def test_what_everybody_says_is_no_wish(prompt: str) -> None:
    assert Told().ask("Hello there").say().ask(prompt).of("instruction_repeated") == []


def test_a_recipe_is_what_passed_before_a_session_went_well() -> None:
    told = (
        Told()
        .ask("Fix it")
        .edit()
        .run("mise run lint")
        .run("mise run test", "ok")
        .run("git commit -m 'fix'", "[main 1] fix")
    )
    told.say("Done.").ask("thanks, perfect")
    assert told.digest.outcome == "success"
    (signal,) = told.of("recipe")
    assert signal.key == "checks with mise"
    assert moments_of(signal) == [["mise run lint", "mise run test"]]


def test_a_recipe_needs_a_good_end() -> None:
    told = Told().ask("Fix it").edit().run("mise run lint").run("mise run test", "ok").ask("no, that is wrong")
    assert told.of("recipe") == []


def test_a_goal_that_was_given_up() -> None:
    told = Told().ask("Replace the storage engine by another database").say().run("ls", "a")
    told.add("human_intervention", "[Request interrupted by user]", "user", "user")
    assert len(told.of("abandoned_goal")) == 1


def test_every_signal_is_of_a_known_kind_and_origin() -> None:
    for signal in (*stale_edit("a").signals, *Told().ask("x").say().refuse("git push").signals):
        assert signal.kind in KINDS
        assert signal.origin in ORIGINS
        assert signal.events


def test_a_session_without_events_shows_nothing() -> None:
    assert Told().signals == []


def test_the_work_of_a_helper_counts_for_the_session_it_worked_for() -> None:
    told = Told("child", parent="claude:parent", relation="subagent").ask("Look")
    told.edit(output=NOT_FOUND, failed=True)
    assert told.signals[0].root == "claude:parent"
