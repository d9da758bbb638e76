"""The values a digest is made of, and how much of each it keeps.

Values without behaviour, which the pass over a session fills and a `Digest` holds. Digests are stored by the names of
their fields: whoever changes one raises `DIGEST_VERSION`, and every session is digested anew.
"""

from __future__ import annotations

from dataclasses import dataclass

DIGEST_VERSION = 1
GOAL_CHARS, QUOTE_CHARS, SUBJECT_CHARS = 300, 160, 120
TOP_TOOLS, TOP_FILES, TOP_COMMANDS, TOP_ERRORS, MAX_CORRECTIONS, MAX_COMMITS = 30, 50, 30, 50, 20, 50


@dataclass(frozen=True, slots=True)
class CommandUse:
    """A shell command, how often it was run and how often it failed."""

    command: str
    count: int
    failed: int


@dataclass(frozen=True, slots=True)
class Tests:
    """Test runs: how many, how many of them passed and failed, and how the last one ended."""

    __test__ = False  # to pytest: a value, no case
    runs: int = 0
    passed: int = 0
    failed: int = 0
    last: str | None = None
    last_passed: int | None = None
    last_failed: int | None = None


@dataclass(frozen=True, slots=True)
class ErrorSeen:
    """An error by its fingerprint; `resolved` when what failed with it succeeded later."""

    key: str
    line: str
    count: int
    tool: str
    resolved: bool


@dataclass(frozen=True, slots=True)
class Correction:
    """What a person said was wrong, and where."""

    event: str
    position: int
    quote: str


@dataclass(frozen=True, slots=True)
class Spent:
    """Tokens and money of one model, or of all; `unpriced` requests have no price, and `usd` is None if none has."""

    model: str | None
    requests: int = 0
    tokens: int = 0
    input: int = 0
    cache_read: int = 0
    cache_write_5m: int = 0
    cache_write_1h: int = 0
    output: int = 0
    reasoning: int = 0
    usd: float | None = None
    usd_source: str = "none"  # reported, catalog, mixed or none
    unpriced: int = 0
