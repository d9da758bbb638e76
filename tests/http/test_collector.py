"""A server's garbage collector: what was made at the start is not looked through again and again."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest

from recollect.http.serve import COLLECTED, spare_collector


@pytest.fixture(autouse=True)
def as_before() -> Iterator[None]:
    kept = gc.get_threshold()
    yield
    gc.set_threshold(*kept)
    gc.unfreeze()


def test_what_was_made_at_the_start_is_left_alone_and_rubbish_is_still_found() -> None:
    spare_collector()
    assert gc.get_freeze_count() > 10_000
    assert gc.get_threshold()[0] == COLLECTED
    gc.collect()
    ring: list[object] = []
    ring.append(ring)
    del ring
    assert gc.collect() >= 1
