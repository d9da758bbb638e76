"""A draft: a memory that somebody proposes. Rules and language models write them; `vet` decides what becomes of one."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from recollect.model import Evidence

MAX_DRAFT_CHARS = 500
MAX_DRAFT_TAGS = 8
RULES = "rules"  # the maker of drafts that were made without a model
RULES_VERSION = 2  # raised when rules change what they make: every session is then distilled again


@dataclass(frozen=True, slots=True)
class Draft:
    """One thing that may be worth knowing, and the words it was taken from.

    `checked` says that it was computed from what was done (a command that passed, an error that went away) or that the
    user agreed to it, rather than merely told; only rules may say so. `passing` says that it was
    said in passing, so that nobody can tell whether it was meant to last: it is quoted, whoever said it. Anchors are
    `file:src/a.py`, `symbol:name`, `command:make test` or `commit:abc123`.
    """

    kind: str
    content: str
    evidence: tuple[Evidence, ...]
    occurred_at: datetime
    why: str | None = None
    tags: tuple[str, ...] = ()
    importance: float | None = None
    confidence: float = 1.0
    anchors: tuple[str, ...] = ()
    slot: str | None = None
    checked: bool = False
    passing: bool = False
    maker: str = RULES
