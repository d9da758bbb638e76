"""Counts of reads are written down evenly: nobody who asks waits for those of all others at once."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from recollect.pipeline.reads import Rounds

TICK, ROUND = 3.0, 12.0


class Hand:
    """A clock that goes when it is told to."""

    def __init__(self) -> None:
        self.at = 100.0

    def __call__(self) -> float:
        return self.at


@pytest.fixture
def hand(monkeypatch: pytest.MonkeyPatch) -> Hand:
    made = Hand()
    monkeypatch.setattr("recollect.pipeline.reads.monotonic", made)
    return made


def ticks(hand: Hand, everybody: list[Any], number: int) -> list[list[Any]]:
    """Whose turn came in each of so many ticks."""
    rounds, turns = Rounds(lambda: everybody, ROUND), []
    for _ in range(number):
        turns.append(rounds.few(TICK))
        hand.at += TICK
    return turns


@pytest.mark.parametrize("many", [1, 3, 4, 50, 99, 1_000])
def test_everybody_once_in_a_round(hand: Hand, many: int) -> None:
    turns = ticks(hand, list(range(many)), 20)
    assert not any(turns[:4])  # nothing has waited that long
    for first in range(4, 20, 4):
        told = Counter(one for few in turns[first : first + 4] for one in few)
        assert told == Counter(range(many))


@pytest.mark.parametrize("many", [50, 99, 1_000])
def test_about_as_many_at_a_time(hand: Hand, many: int) -> None:
    turns = ticks(hand, list(range(many)), 20)
    assert {abs(len(few) - many / 4) < 4 for few in turns[4:]} == {True}


def test_whoever_came_since_has_the_next_round(hand: Hand) -> None:
    everybody = ["ann"]
    rounds = Rounds(lambda: everybody, ROUND)
    hand.at += ROUND
    assert rounds.few(TICK) == ["ann"]
    everybody.append("bea")
    hand.at += ROUND - 1
    assert rounds.few(TICK) == []
    hand.at += 1
    assert rounds.few(ROUND) == ["ann", "bea"]
