"""P20: a memory that is ill says so itself, in one line with what to do; one that is well says nothing."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from recollect import Recollect
from recollect.capture.spool import Spool
from recollect.hook import capture
from recollect.pipeline.ailing import ailment
from recollect.store.ports.distill import Caps, Charge
from tests.flow.memory_fixture import HandClock
from tests.prepared_fixture import left_unread

OpenMemory = Callable[..., Recollect]


def says(memory: Recollect, clock: HandClock) -> str | None:
    return ailment(memory.store, memory.scope, memory.settings, clock())


def left_a_record(memory: Recollect) -> Path:
    data = memory.settings.data_dir
    return data / "spool" / capture(str(data), "claude", b'{"session_id": "s"}', {})


def age(path: Path, hours: float) -> None:
    os.utime(path, (time.time() - 3600 * hours,) * 2)


def test_who_is_well_says_nothing(memory: Recollect, clock: HandClock) -> None:
    assert says(memory, clock) is None
    assert not (memory.settings.data_dir / "spool").exists()
    left_a_record(memory)
    assert says(memory, clock) is None


def test_records_that_nobody_reads_are_told_of(memory: Recollect, clock: HandClock) -> None:
    left_unread(memory.settings.data_dir, 5)
    left_unread(memory.settings.data_dir, 2)
    assert says(memory, clock) is None
    left_unread(memory.settings.data_dir, 7)
    told = says(memory, clock)
    assert told is not None
    assert told.startswith("1 hook records wait")
    assert "`recollect sweep`" in told
    assert "\n" not in told


def test_refused_records_are_told_of_for_some_days(memory: Recollect, clock: HandClock) -> None:
    record = left_a_record(memory)
    record.write_bytes(b"forged")
    age(record, 1)
    spool = Spool(memory.settings.data_dir)
    spool.refuse(record, "torn")
    assert "1 hook records were refused" in (says(memory, clock) or "")
    for aside in (spool.folder / "refused").iterdir():
        age(aside, 24 * 4)
    assert says(memory, clock) is None


@pytest.mark.parametrize(
    ("settings", "tokens", "usd", "told"),
    [
        ({"llm": "anthropic", "llm_daily_tokens": 1_000}, 960, 0.0, True),
        ({"llm": "anthropic", "llm_daily_tokens": 1_000}, 500, 0.0, False),
        ({"llm": "anthropic", "llm_daily_usd": 0.5}, 10, 0.49, True),
        ({"llm": "none", "llm_daily_tokens": 1_000}, 960, 0.0, False),
        ({"llm": "anthropic", "llm_daily_tokens": 0, "llm_daily_usd": 0}, 0, 0.0, False),
    ],
    ids=["tokens", "enough left", "money", "no model", "none on purpose"],
)
def test_a_spent_budget_is_told_of_until_the_next_day(
    opened: OpenMemory, clock: HandClock, settings: dict[str, object], tokens: int, usd: float, told: bool
) -> None:
    memory = opened(**settings)
    charge = Charge("session", "m", tokens, 0, usd, clock())
    memory.store.ledger.reserve(memory.scope, charge, Caps(tokens=10**9, usd=10.0**9))
    assert ("budget" in (says(memory, clock) or "")) is told
    clock.move(days=1)
    assert says(memory, clock) is None
