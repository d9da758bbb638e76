"""P02: what the store acknowledged is there after kill -9 of its process, and a retry makes no doubles."""

from __future__ import annotations

import random
import time
from pathlib import Path

import pytest

from recollect.store.sqlite.store import SqliteStore
from tests.contract.samples import ANN, by_words, event, gist, memory
from tests.faults.children import Say, start


def write_for_ever(data_dir: Path, first: int, say: Say) -> None:
    """Every kind of write, each acknowledged only after the store came back."""
    store = SqliteStore(data_dir)
    number = first
    while True:
        text = f"walrus {number} " + "x" * (number * 37 % 900)
        store.sessions.append(ANN, [event("chat:1", number, text), event("chat:1", number + 10**6, text, "assistant")])
        store.memories.add(ANN, memory(f"fact {number}", id=f"m-{number}"))
        if number % 5 == 0:
            store.gists.put(ANN, gist("chat:1", f"gist {number}", number))
        say(str(number))
        number += 1


def kill_and_look(data_dir: Path, kills: int) -> None:
    random_places = random.Random(11)
    acked: set[int] = set()
    for _ in range(kills):
        first = max(acked, default=-1) + 1
        child = start(lambda say, first=first: write_for_ever(data_dir, first, say))
        for _ in range(random_places.randrange(1, 12)):
            assert child.hear() is not None
        time.sleep(random_places.uniform(0, 0.012))
        said = child.kill()
        assert not [line for line in said if line.startswith("error")]
        acked |= {int(line) for line in said}
    store = SqliteStore(data_dir)
    try:
        check(store, acked)
    finally:
        store.close()


def check(store: SqliteStore, acked: set[int]) -> None:
    assert store.keeping.health(deep=True).checks == {}
    history = store.sessions.history(ANN, "chat:1")
    said = [int(one.text.split()[1]) for one in history if one.role == "user"]
    assert acked <= set(said)
    assert len(said) == len(set(said))
    assert len(history) == 2 * len(said)  # an append is whole or not there
    assert [one.position for one in history] == list(range(len(history)))
    assert all(store.memories.get(ANN, f"m-{number}") for number in acked)
    for number in random.Random(5).sample(sorted(acked), min(20, len(acked))):
        assert by_words(store, ANN, "turn", str(number))
    # Who did not hear the acknowledgement sends it again: what was written is known, and stays one.
    last = max(said)
    again = [event("chat:1", number, "walrus", "user") for number in (last, last + 10**6)]
    assert store.sessions.append(ANN, again) == [False, False]
    twin = memory(f"fact {last}", id=f"m-{last}")
    store.memories.add(ANN, twin)
    assert store.memories.add(ANN, memory(f"FACT {last}"))[0].id == twin.id
    assert len(store.sessions.history(ANN, "chat:1")) == len(history)


@pytest.mark.slow
def test_acknowledged_writes_survive_kill_9(data_dir: Path) -> None:
    """P02: 15 kills at seeded random points."""
    kill_and_look(data_dir, 15)


@pytest.mark.soak
def test_acknowledged_writes_survive_200_kills(data_dir: Path) -> None:
    """P02."""
    kill_and_look(data_dir, 200)
