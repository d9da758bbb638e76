"""Scope, kinds, tags: what is accepted, what is refused, and old words (D1, D2)."""

from __future__ import annotations

import pytest

from recollect.errors import InvalidInput, ScopeError
from recollect.model import KINDS, Scope, os_user, parse_kind, parse_tags, parse_unit


def test_the_default_scope_is_this_user_without_a_project() -> None:
    assert Scope() == Scope("local", os_user(), None)


@pytest.mark.parametrize("bad", ["", " ", "x" * 256, "a\nb", "a\x00b", None, 5])
@pytest.mark.parametrize("field", ["tenant", "user", "project"])
def test_a_scope_that_names_nobody_is_refused(field: str, bad: object) -> None:
    if field == "project" and bad is None:
        return
    with pytest.raises(ScopeError):
        Scope(**{field: bad})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("word", "kind"),
    [*[(kind, kind) for kind in KINDS], ("user", "preference"), ("feedback", "lesson"), ("project", "fact")],
)
def test_kinds_and_their_old_names(word: str, kind: str) -> None:
    assert parse_kind(word) == kind


@pytest.mark.parametrize("bad", ["", "Fact", "memory", None, 3])
def test_an_unknown_kind_is_refused_and_the_kinds_are_named(bad: object) -> None:
    with pytest.raises(InvalidInput, match="unknown kind") as caught:
        parse_kind(bad)  # type: ignore[arg-type]
    assert "skill_idea" in (caught.value.hint or "")


def test_tags_are_stripped_ordered_and_each_once() -> None:
    assert parse_tags([" b ", "a", "b"]) == ("b", "a")
    assert parse_tags(None) == ()
    assert parse_tags(["'; DROP TABLE memories; --"]) == ("'; DROP TABLE memories; --",)


@pytest.mark.parametrize("bad", ["deploy", ["x" * 51], [""], ["a\nb"], [5], [str(n) for n in range(21)], 7])
def test_tags_that_are_not_tags_are_refused(bad: object) -> None:
    with pytest.raises(InvalidInput):
        parse_tags(bad)


@pytest.mark.parametrize("bad", [7, -0.1, 1.01, "1", None, True, float("nan"), float("inf")])
def test_importance_is_a_number_from_0_to_1(bad: object) -> None:
    with pytest.raises(InvalidInput, match="from 0 to 1"):
        parse_unit(bad, "importance")
