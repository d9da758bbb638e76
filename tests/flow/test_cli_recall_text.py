"""What recall prints for a person: memories first and whole, turns and gists as a few lines around the match."""

from __future__ import annotations

import pytest

from recollect import Recollect, Scope
from recollect.cli.cards import around
from recollect.model import os_user
from tests.flow.conftest import Cli

FILLER = "Nothing of this is of any use to anybody who asks. " * 60
ANSWER = "The lighthouse is rolled back with make rollback."
LONG_MEMORY = "The lighthouse needs two people. " + "It is a long story, told in full. " * 40


@pytest.fixture
def told(cli: Cli) -> None:
    with Recollect.open(scope=Scope("local", os_user()), background=False) as memory:
        memory.record_many(
            [
                ("claude:s1", "user", "How do we do a lighthouse rollback?", "2026-01-02T10:00:00Z"),
                ("claude:s1", "assistant", f"{FILLER}\n{ANSWER}\n{FILLER}", "2026-01-02T10:01:00Z"),
            ]
        )
        memory.summarize("claude:s1")
        memory.remember(LONG_MEMORY.strip(), kind="lesson", importance=0.0, occurred_at="2020-01-01")


def asked(cli: Cli, *flags: str) -> str:
    return cli("recall", "lighthouse rollback", "--mode", "lexical", "--no-abstain", *flags).out


@pytest.mark.usefixtures("told")
def test_memories_come_first_and_whole(cli: Cli) -> None:
    first, *others = asked(cli).split("\n\n")
    assert first.startswith(f"[lesson] {LONG_MEMORY.strip()}\n")
    assert {one.split()[0] for one in others} == {"[turn]", "[gist]"}


@pytest.mark.usefixtures("told")
def test_a_turn_is_three_lines_around_the_match(cli: Cli) -> None:
    turn, source = asked(cli, "--tier", "turn").splitlines()
    assert len(turn) <= 300
    assert "lighthouse" in turn
    assert "…" in turn
    assert " · turn · 2026-01-02 (" in source
    assert " · session claude:s1 · " in source
    assert "said by" not in source


@pytest.mark.usefixtures("told")
def test_a_gist_says_what_it_was_made_from(cli: Cli) -> None:
    source = asked(cli, "--tier", "gist").splitlines()[-1]
    assert source.startswith("  made from session claude:s1 · 2026-01-02 (")
    assert "said by" not in source


@pytest.mark.usefixtures("told")
def test_full_shows_all_of_it(cli: Cli) -> None:
    assert FILLER.strip() in asked(cli, "--tier", "turn", "--full")


@pytest.mark.usefixtures("told")
def test_json_has_everything_in_the_order_of_the_score(cli: Cli) -> None:
    hits = cli("recall", "lighthouse rollback", "--mode", "lexical", "--no-abstain", "--json").json["hits"]
    assert hits[0]["tier"] != "memory"
    assert [hit["score"] for hit in hits] == sorted((hit["score"] for hit in hits), reverse=True)
    assert FILLER.strip() in next(hit["content"] for hit in hits if hit["tier"] == "turn")


@pytest.mark.parametrize(
    ("text", "question", "shown"),
    [
        ("short\ntext", "nothing", "short text"),
        ("a " * 100, "nothing", "a " * 14 + "a…"),
        ("b " * 100 + "needle", "needle", "…" + "b " * 11 + "needle"),
        ("b " * 100 + "needle " + "c " * 100, "Needles?", "…b b needle" + " c" * 9 + "…"),
        ("needle " + "b " * 100 + "red needle " + "c " * 100, "red needle", "…b b red needle" + " c" * 7 + "…"),
        ("日" * 100, "x", "日" * 14 + "…"),
    ],
    ids=["short", "no match", "at the end", "in the middle", "where more words are", "wide characters"],
)
def test_what_is_around_the_match(text: str, question: str, shown: str) -> None:
    found = around(text, question, 30)
    assert found == shown
    assert len(found) <= 30
