"""A file is churned only while its own checks keep failing: what passes, is committed or is written anew ends a run."""

from __future__ import annotations

import pytest
from tests.unit.learn.learning_fixture import Told

FILE = "/w/app/login/login.go"
FAIL = "--- FAIL: TestLogin (0.01s)\n    login_test.go:12: got 1\nFAIL\nFAIL\tapp/login\t0.1s"
ELSEWHERE = "--- FAIL: TestBill (0.01s)\n    bill_test.go:12: got 1\nFAIL\nFAIL\tapp/billing\t0.1s"


def stuck(times: int = 4, told: Told | None = None) -> Told:
    told = told or Told().ask("Write it").say()
    for _ in range(times):
        told.edit(FILE).run("go test ./...", FAIL, 1)
    return told


def test_edits_that_do_not_help_are_churn() -> None:
    assert len(stuck(7).of("edit_churn")) == 1


@pytest.mark.parametrize("end", ["a check that passes", "a commit", "the file written anew", "another prompt"])
def test_a_run_of_edits_ends(end: str) -> None:
    told = stuck()
    if end == "a check that passes":
        told.run("go vet ./...")
    elif end == "a commit":
        told.run("git commit -m x", "[main 1] x")
    elif end == "the file written anew":
        told.call("Write", {"file_path": FILE, "content": "package login"}).result("ok", error=False)
    else:
        told.ask("and now the other half")
    assert stuck(4, told).of("edit_churn") == []


def test_a_check_that_is_only_piped_ends_nothing() -> None:
    assert len(stuck(4, stuck().run("go vet ./... | head -3")).of("edit_churn")) == 1


def test_failures_of_other_files_do_not_count() -> None:
    told = Told().ask("Write it").say()
    for _ in range(8):
        told.edit(FILE).run("go test ./...", ELSEWHERE, 1)
    assert told.of("edit_churn") == []


def test_a_command_that_is_no_check_does_not_count() -> None:
    told = Told().ask("Write it").say()
    for _ in range(8):
        told.edit(FILE).run("./deploy login", "error: login/login.go is not there", 1)
    assert told.of("edit_churn") == []
