"""A group of signals that tell the same, on its way to a candidate."""

from __future__ import annotations

from dataclasses import dataclass, field

from recollect.learn.values import Signal


@dataclass(slots=True)
class Group:
    """Signals that tell the same, the key that names them, and other keys they had."""

    kind: str
    key: str
    signals: list[Signal] = field(default_factory=list)
    others: set[str] = field(default_factory=set)
