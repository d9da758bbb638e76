"""Tokens: how many hits fit, in order, and not one more."""

from __future__ import annotations

from collections.abc import Callable, Iterable

CountTokens = Callable[[str], int]


def pack(pieces: Iterable[str], limit: int, count: CountTokens) -> list[str]:
    """The first pieces that fit into `limit` tokens together; stops at the first that does not."""
    packed: list[str] = []
    used = 0
    for piece in pieces:
        used += count(piece)
        if used > limit:
            break
        packed.append(piece)
    return packed
