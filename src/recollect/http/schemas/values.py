"""The values bodies are made of: names, texts, tags, times, metadata, each with its limits.

What comes in is strict: a field that is not known is refused, a number is not a text, and a limit is a limit. Texts
that no store can hold are refused where somebody wrote them on purpose, and cleaned where they are only carried along.
"""

from __future__ import annotations

import json
import math
from datetime import datetime
from typing import Annotated, Any, Literal
from unicodedata import category
from uuid import UUID

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, StringConstraints, WithJsonSchema

from recollect.clock import parse_time
from recollect.model import MAX_TAG_CHARS, MAX_TAGS
from recollect.text import MAX_MEMORY_CHARS, storable

MAX_METADATA_DEPTH, MAX_METADATA_BYTES = 5, 50_000
MAX_QUERY_CHARS = 10_000
MAX_MESSAGE_CHARS = 200_000
MAX_LIMIT = 100
# A name begins with no white space and no @ (those are shared contexts'), and has no control character; see `_seen`.
_NAME = r"^[^@\s\x00-\x1f\x7f-\x9f][^\x00-\x1f\x7f-\x9f]*$"
_ID = r"^[^\s\x00-\x1f\x7f-\x9f][^\x00-\x1f\x7f-\x9f]*$"

_UNSEEN = ("Cc", "Cf", "Cs", "Zl", "Zp")  # controls, formats (zero width, direction, tags), halves, separators
_BLANK = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0") | {
    chr(code)
    for start, end in ((0x180B, 0x180F), (0xFE00, 0xFE0F), (0xE0100, 0xE01EF))
    for code in range(start, end + 1)
}  # letters without a shape, and selectors of one

Kind = Literal["fact", "preference", "decision", "lesson", "event", "reference", "topic", "skill_idea", "note"]
ContentType = Literal[
    "conversation", "fact", "preference", "decision", "lesson", "event", "reference", "topic", "skill_idea", "note"
]
Origin = Literal["user", "assistant", "tool", "web", "import"]
Trust = Literal["user", "checked", "quoted"]
TierName = Literal["memory", "gist", "turn"]
Role = Literal["user", "assistant", "tool", "system"]
Mode = Literal["hybrid", "lexical"]


class Given(BaseModel):
    """A body that was sent: strict, and without anything that is not known."""

    model_config = ConfigDict(
        extra="forbid", strict=True, allow_inf_nan=False, populate_by_name=True, use_attribute_docstrings=True
    )


class Asked(BaseModel):
    """What stands behind the `?` of an address: text, so numbers and truths are read from it; nothing unknown."""

    model_config = ConfigDict(extra="forbid", allow_inf_nan=False, use_attribute_docstrings=True)


class Told(BaseModel):
    """An answer. Every field is always there, null where there is nothing to say."""

    model_config = ConfigDict(
        extra="forbid", use_attribute_docstrings=True, json_schema_serialization_defaults_required=True
    )


def _moment(value: object) -> datetime:
    if isinstance(value, datetime):
        return parse_time(value)
    if not isinstance(value, str) or len(value) > 40:
        raise ValueError("a time is text such as 2026-11-15T09:30:00Z")
    return parse_time(value)


def _words(value: str) -> str:
    """Text with something in it that every store can hold."""
    if not value.strip():
        raise ValueError("it is empty")
    if storable(value) != value:
        raise ValueError("it holds a character that cannot be stored (U+0000)")
    return value


def _seen(value: str) -> str:
    """A name that reads as it is: two that look the same are the same, and none turns the text around it."""
    if value != value.strip():
        raise ValueError("it begins or ends with a blank")
    if any(category(char) in _UNSEEN or char in _BLANK for char in value):
        raise ValueError("it holds a character that cannot be seen, or turns the direction of text")
    return value


def _tag(value: str) -> str:
    stripped = value.strip()
    if not stripped or any(ord(c) < 32 or 0x7F <= ord(c) <= 0x9F for c in value):
        raise ValueError("a tag has at least one character, and no control characters")
    return stripped


def _metadata(value: dict[str, Any]) -> dict[str, Any]:
    """An object of at most five levels and 50 KB, with every text storable."""
    clean = _clean(value, 1)
    if len(json.dumps(clean, ensure_ascii=False).encode("utf-8", "replace")) > MAX_METADATA_BYTES:
        raise ValueError(f"metadata is larger than {MAX_METADATA_BYTES:,} bytes")
    return dict(clean)


def _clean(value: Any, depth: int) -> Any:
    if isinstance(value, dict | list) and depth > MAX_METADATA_DEPTH:
        raise ValueError(f"metadata is nested deeper than {MAX_METADATA_DEPTH} levels")
    if isinstance(value, dict):
        return {storable(str(name)): _clean(item, depth + 1) for name, item in value.items()}
    if isinstance(value, list):
        return [_clean(item, depth + 1) for item in value]
    if isinstance(value, str):
        return storable(value)
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError("a number in metadata is not finite")
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) >= 2**63:
        raise ValueError("a number in metadata is too large")
    return value


def carried(value: Any) -> Any:
    """What came along with an event or a session, as JSON can hold it."""
    if isinstance(value, dict):
        return {storable(str(name)): carried(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [carried(item) for item in value]
    if isinstance(value, str):
        return storable(value)
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value if value is None or isinstance(value, bool | int | float) else storable(str(value))


Moment = Annotated[
    datetime,
    BeforeValidator(_moment),
    WithJsonSchema({"type": "string", "format": "date-time", "examples": ["2026-11-15T09:30:00Z"]}),
]
UserId = Annotated[str, StringConstraints(min_length=1, max_length=255, pattern=_NAME), AfterValidator(_seen)]
ContextId = Annotated[str, StringConstraints(min_length=1, max_length=255, pattern=_ID), AfterValidator(_seen)]
SessionId = Annotated[str, StringConstraints(min_length=1, max_length=255, pattern=_ID), AfterValidator(_seen)]
Key = Annotated[str, StringConstraints(min_length=1, max_length=200, pattern=_ID)]
Word = Annotated[str, StringConstraints(min_length=1, max_length=100, pattern=_ID)]
Content = Annotated[str, StringConstraints(min_length=1, max_length=MAX_MEMORY_CHARS), AfterValidator(_words)]
Why = Annotated[str, StringConstraints(min_length=1, max_length=1_000), AfterValidator(_words)]
Title = Annotated[str, StringConstraints(min_length=1, max_length=500), AfterValidator(_words)]
Message = Annotated[str, StringConstraints(min_length=1, max_length=MAX_MESSAGE_CHARS), AfterValidator(_words)]
Query = Annotated[str, StringConstraints(min_length=1, max_length=MAX_QUERY_CHARS), AfterValidator(_words)]
Tag = Annotated[str, StringConstraints(min_length=1, max_length=MAX_TAG_CHARS), AfterValidator(_tag)]
Tags = Annotated[list[Tag], Field(max_length=MAX_TAGS)]
Unit = Annotated[float, Field(ge=0, le=1)]
Metadata = Annotated[dict[str, Any], AfterValidator(_metadata)]
Cursor = Annotated[str, StringConstraints(min_length=1, max_length=600)]
Limit = Annotated[int, Field(ge=1, le=MAX_LIMIT)]
MemoryId = UUID
