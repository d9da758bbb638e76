"""Counts in words: `2 sessions, 1 memory`."""

from __future__ import annotations

from collections.abc import Mapping

_ONE = {"memories": "memory", "entries": "entry"}


def in_words(counts: Mapping[str, int]) -> str:
    """What there is of each, what there is none of left out; empty when there is nothing."""
    return ", ".join(counted(number, name) for name, number in counts.items() if number)


def counted(number: int, names: str) -> str:
    """`1 file`, `2 files`, `0 files`."""
    return f"{number:,} {names if number != 1 else _singular(names)}"


def _singular(name: str) -> str:
    return _ONE.get(name, name.removesuffix("s"))
