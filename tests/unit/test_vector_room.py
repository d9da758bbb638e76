"""Who asks again is kept at hand while there is room; who is busy is not thrown out for another."""

from __future__ import annotations

import pytest

from recollect.store.rows.matrix import VectorMatrix
from recollect.store.rows.vectormemory import AGAIN_SECONDS, BUSY_SECONDS, WORTH, Place, VectorMemory


def matrix() -> VectorMatrix:
    made = VectorMatrix(8)
    made.add([(1, 1, 1, bytes(16))])
    return made


SIZE = matrix().size


class Time:
    now = 1_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def time() -> Time:
    return Time()


def filled(memory: VectorMemory, key: str) -> Place:
    place = memory.ask(key)
    place.matrix = matrix()
    memory.make_room(place)
    return place


def test_who_goes_on_asking_is_worth_reading_for(time: Time) -> None:
    memory = VectorMemory(10 * SIZE, time)
    assert memory.is_worth(memory.ask("bob"), SIZE, questions=1)
    for _ in range(WORTH - 1):
        assert not memory.is_worth(memory.ask("ann"), SIZE)
        time.now += AGAIN_SECONDS
    assert memory.is_worth(memory.ask("ann"), SIZE)
    time.now += AGAIN_SECONDS + 1
    assert not memory.is_worth(memory.ask("ann"), SIZE), "after a pause it begins anew"


def test_who_was_asked_for_longest_ago_goes_first(time: Time) -> None:
    memory = VectorMemory(2 * SIZE, time)
    ann, bob = filled(memory, "ann"), filled(memory, "bob")
    assert memory.ask("ann") is ann
    filled(memory, "eve")
    assert len(memory) == 2
    assert memory.ask("ann") is ann
    assert memory.ask("bob") is not bob


def test_one_that_is_larger_than_the_room_stays_while_it_is_used(time: Time) -> None:
    memory = VectorMemory(1, time)
    place = filled(memory, "ann")
    assert memory.ask("ann") is place
    filled(memory, "bob")
    assert len(memory) == 1


def test_nobody_busy_has_to_go_where_there_is_another_way(time: Time) -> None:
    """More owners than there is room for would else throw each other out at every question."""
    memory = VectorMemory(SIZE, time)
    filled(memory, "ann")
    assert not memory.is_worth(memory.ask("bob"), SIZE, questions=1)
    time.now += BUSY_SECONDS + 1
    assert memory.is_worth(memory.ask("bob"), SIZE, questions=1)
