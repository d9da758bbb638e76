"""How much evidence is enough: tasks, not repeats; in one project where agents differ; of one cause; so mended."""

from __future__ import annotations

from dataclasses import replace

from tests.unit.learn.learning_fixture import NOT_FOUND, Told, all_signals, stale_edit

from recollect.learn.cluster import candidates_of
from recollect.learn.values import Candidate

IGNORED = (
    "The following paths are ignored by one of your .gitignore files:\nbuild\nhint: Use -f if you want to add them."
)
FAIL = "--- FAIL: TestLogin (0.01s)\n    login_test.go:12: got 1\nFAIL\nFAIL\tapp/login\t0.1s"
PASS = "ok  \tapp/login\t0.1s"


def elsewhere(told: Told, project: str | None = "other") -> Told:
    told.session = replace(told.session, project=project)
    return told


def of(*sessions: Told) -> list[Candidate]:
    return candidates_of(all_signals(*sessions))


def test_two_agents_are_enough_only_within_one_project() -> None:
    assert len(of(stale_edit("a"), stale_edit("b", "codex"))) == 1
    assert of(stale_edit("a"), elsewhere(stale_edit("b", "codex"))) == []
    assert of(elsewhere(stale_edit("a"), None), elsewhere(stale_edit("b", "codex"), None)) == []
    assert len(of(stale_edit("a"), stale_edit("c"), elsewhere(stale_edit("b", "codex")))) == 1


def test_many_repeats_in_one_session_count_once() -> None:
    often = Told("a").ask("Fix it")
    for _ in range(9):
        often.edit(output=NOT_FOUND, failed=True).say()
    assert of(often, elsewhere(stale_edit("b", "codex"))) == []


def adding(name: str, mend: str) -> Told:
    told = Told(name).ask("Commit").edit().run("git add build", IGNORED, 1)
    return told.run(mend, "").run("git commit -m x", "[main 1] x")


def test_a_rule_is_suggested_only_if_that_is_how_it_was_mended() -> None:
    forced, left_out = (
        next(one for one in of(*(adding(name, mend) for name in "abc")) if one.key == "git ignored path")
        for mend in ("git add -f build", "git add src")
    )
    assert forced.rule is None
    assert left_out.rule == "Leave ignored files out of `git add`."
    assert forced.id == left_out.id


def untouched(name: str, flavor: str = "claude", path: str = "/w/app/web/page.go") -> Told:
    """A test breaks that the session is not about."""
    told = Told(name, flavor).ask("Fix the page").edit(path).run("go test ./...", FAIL, 1)
    return told.edit("/w/app/store/db.go").run("go test ./...", PASS)


def test_a_test_that_breaks_needs_three_sessions_also_across_agents() -> None:
    assert of(untouched("a"), untouched("b", "codex")) == []
    assert [one.key for one in of(untouched("a"), untouched("b"), untouched("c", "codex"))] == ["test: testlogin"]


def test_a_test_whose_subject_is_being_changed_does_not_count() -> None:
    changing = [untouched(name, path="/w/app/login/login.go") for name in "abc"]
    assert all(told.of("red_green") == [] for told in changing)


def test_a_test_that_was_mended_by_changing_it_or_its_fixture_does_not_count() -> None:
    for mend in ("/w/app/login/login_test.go", "/w/app/testdata/users.json", "/w/app/tests/conftest.py"):
        told = Told().ask("Fix the page").run("go test ./...", FAIL, 1).edit(mend).run("go test ./...", PASS)
        assert told.of("red_green") == []


def missing(name: str, line: str) -> Told:
    return Told(name).ask("Run it").run("python app.py", line, 1)


def test_the_threshold_holds_for_each_cause() -> None:
    python, node = "ModuleNotFoundError: No module named 'yaml'", "Error: Cannot find module 'yaml'"
    assert of(missing("a", python), missing("b", python), missing("c", node)) == []
    (one,) = of(missing("a", python), missing("b", python), missing("d", python), missing("c", node))
    assert one.sessions == ("claude:a", "claude:b", "claude:d")
