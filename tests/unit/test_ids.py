"""Ids: memories sort by time, events are the same however they came (D4)."""

from __future__ import annotations

import uuid
from concurrent.futures import ThreadPoolExecutor

from hypothesis import given
from hypothesis import strategies as st

from recollect.ids import is_uuid, stable_key, uuid7


def test_memory_ids_are_version_7_and_in_order() -> None:
    made = [uuid7() for _ in range(5_000)]
    assert made == sorted(made)
    assert len(set(made)) == len(made)
    assert {(uuid.UUID(one).version, uuid.UUID(one).variant) for one in made} == {(7, uuid.RFC_4122)}


def test_threads_never_get_the_same_id() -> None:
    with ThreadPoolExecutor(8) as pool:
        made = [one for batch in pool.map(lambda _: [uuid7() for _ in range(500)], range(8)) for one in batch]
    assert len(set(made)) == 4_000


@given(st.lists(st.text(), max_size=4), st.lists(st.text(), max_size=4))
def test_a_key_depends_on_every_part_and_where_it_ends(one: list[str], other: list[str]) -> None:
    assert (stable_key(*one) == stable_key(*other)) == (one == other)


def test_a_uuid_is_recognised() -> None:
    assert is_uuid(uuid7())
    assert not is_uuid("stats")
    assert not is_uuid("")


def test_where_a_part_ends_matters_even_if_it_holds_the_separator() -> None:
    keys = {
        stable_key(*parts)
        for parts in [
            ("a", "b", "c"),
            ("a\0b", "c"),
            ("a", "b\0c"),
            ("a\0b\0c",),
            ("ab", "c"),
            ("", "a", "b"),
            ("\0a", "b"),
        ]
    }
    assert len(keys) == 7
    assert all(len(key) == 32 and int(key, 16) >= 0 for key in keys)
