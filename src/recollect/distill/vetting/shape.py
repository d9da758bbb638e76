"""A draft's fields as a memory may have them: whatever was given comes in, values of the right type and size go out.

A draft may have been made of anything, so nothing is taken for what its annotation says. What cannot be put right is
None here, and `vet` refuses the draft.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from itertools import islice

from recollect.distill.draft import MAX_DRAFT_CHARS, MAX_DRAFT_TAGS
from recollect.model import KIND_ALIASES, KINDS, MAX_TAG_CHARS, Evidence
from recollect.text import one_line, storable

MAX_SPANS = 8
MAX_ANCHORS = 16
_MAX_ANCHOR_CHARS = 200
_LOOKED_AT = 100_000  # characters: nobody proposes such a text in earnest
_WORD = re.compile(r"[^\W\d_]+")
_LIST_WORDS, _SHORT_WORD, _LIST_SHORT = 20, 3, 0.12  # different words; a short one; fewer short ones than any sentence
_ANCHOR = re.compile(r"(?:file|symbol|command|commit):(?=\S)")


def text_of(given: object, limit: int = 0) -> str:
    """Text on one line without anything hidden; empty when it is none."""
    return one_line(storable(given), limit) if isinstance(given, str) and len(given) <= _LOOKED_AT else ""


def is_word_list(content: str) -> bool:
    """Whether a text is a list of words rather than sentences, in any language: bait for every question."""
    words = _WORD.findall(content.casefold())
    short = sum(len(word) <= _SHORT_WORD for word in words)
    return len(set(words)) >= _LIST_WORDS and short < _LIST_SHORT * len(words)


def kind_of(given: object) -> str:
    """A kind; what is not known is a topic."""
    kind = KIND_ALIASES.get(given, given) if isinstance(given, str) else ""
    return kind if kind in KINDS else "topic"


def spans_of(given: object) -> list[Evidence] | None:
    """What a draft cites, each once; None when that is no list of a few spans."""
    if not isinstance(given, Sequence) or isinstance(given, str) or len(given) > 10 * MAX_SPANS:
        return None
    spans: dict[Evidence, None] = {}
    for one in given:
        if not isinstance(one, Evidence) or not isinstance(one.session, str) or not isinstance(one.event, str):
            return None
        if not all(place is None or type(place) is int for place in (one.start, one.end)):
            return None
        spans[one] = None
    return list(spans) if len(spans) <= MAX_SPANS else None


def tags_of(given: object) -> tuple[str, ...]:
    """At most eight short tags."""
    tags = (text_of(tag) for tag in _items(given))
    return tuple(dict.fromkeys(tag for tag in tags if tag and len(tag) <= MAX_TAG_CHARS))[:MAX_DRAFT_TAGS]


def anchors_of(given: object) -> tuple[str, ...]:
    """Anchors of a known form."""
    anchors = (text_of(anchor) for anchor in _items(given))
    good = (anchor for anchor in anchors if _ANCHOR.match(anchor) and len(anchor) <= _MAX_ANCHOR_CHARS)
    return tuple(dict.fromkeys(good))[:MAX_ANCHORS]


def unit_of(given: object) -> float | None:
    """A number from 0 to 1, cut to fit; None when it is no number."""
    if isinstance(given, bool) or not isinstance(given, int | float) or given != given:
        return None
    return float(min(1.0, max(0.0, given)))


def time_of(given: object, first: datetime, last: datetime) -> datetime:
    """When it happened: not before the first and not after the last of what is cited."""
    if not isinstance(given, datetime) or given.tzinfo is None:
        return last
    return min(last, max(first, given.astimezone(UTC)))


def why_of(given: object) -> str | None:
    return text_of(given, MAX_DRAFT_CHARS) or None


def _items(given: object) -> Iterable[object]:
    return islice(given, 100) if isinstance(given, list | tuple) else ()
