"""Agents write so often in an hour and no more, however many servers they start."""

from __future__ import annotations

from pathlib import Path

import pytest

from recollect.errors import StoreUnavailable
from recollect.mcp.allowance import FILE_NAME, HOUR, Allowance, TooManyWrites


class Clock:
    def __init__(self) -> None:
        self.now = 1_800_000_000.0

    def __call__(self) -> float:
        return self.now


def test_a_thousand_writes_are_sixty(tmp_path: Path) -> None:
    """T30."""
    clock, done, refused = Clock(), 0, 0
    for _ in range(1_000):
        try:
            Allowance(tmp_path, 60, clock).take()  # a server of its own each time
            done += 1
        except TooManyWrites:
            refused += 1
        clock.now += 1
    assert (done, refused) == (60, 940)


def test_an_hour_later_there_is_room_again(tmp_path: Path) -> None:
    clock = Clock()
    allowance = Allowance(tmp_path, 2, clock)
    allowance.take(2)
    assert allowance.left() == 0
    clock.now += HOUR - 60
    with pytest.raises(TooManyWrites) as refused:
        allowance.take()
    assert "in 1 minutes" in (refused.value.hint or "")
    clock.now += 61
    assert allowance.left() == 2


def test_what_is_refused_is_not_counted(tmp_path: Path) -> None:
    allowance = Allowance(tmp_path, 3, Clock())
    allowance.take(2)
    with pytest.raises(TooManyWrites):
        allowance.take(2)
    assert allowance.left() == 1


def test_a_clock_that_jumped_locks_nobody_out(tmp_path: Path) -> None:
    clock = Clock()
    allowance = Allowance(tmp_path, 1, clock)
    allowance.take()
    clock.now -= 10 * HOUR
    assert allowance.left() == 1


def test_a_damaged_file_counts_what_is_whole(tmp_path: Path) -> None:
    clock = Clock()
    allowance = Allowance(tmp_path, 5, clock)
    allowance.take()
    with (tmp_path / FILE_NAME).open("ab") as file:
        file.write(b"\xff\xff\xff")
    assert allowance.left() == 4
    allowance.take(4)
    assert allowance.left() == 0


def test_the_file_is_private_and_a_link_is_not_followed(tmp_path: Path) -> None:
    Allowance(tmp_path, 5).take()
    assert (tmp_path / FILE_NAME).stat().st_mode & 0o777 == 0o600
    other = tmp_path / "other"
    other.mkdir()
    (other / FILE_NAME).symlink_to(tmp_path / "elsewhere")
    with pytest.raises(StoreUnavailable):
        Allowance(other, 5).take()
    assert not (tmp_path / "elsewhere").exists()
