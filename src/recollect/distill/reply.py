"""What a language model answered, read with patience: text in, drafts out, and a count of what was no draft.

Models put fences and prose around their JSON, give an object for a list, invent kinds, forget fields. All that is taken
in good part. Nothing is taken on trust: an item must cite events that were shown, by their short names, or it is
refused. Nothing is ever raised, whatever the text; what the drafts are worth is for `vet` to say.
"""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from recollect.distill.asked import VERDICTS
from recollect.distill.draft import MAX_DRAFT_CHARS, MAX_DRAFT_TAGS, Draft
from recollect.model import KIND_ALIASES, KINDS, MAX_TAG_CHARS, Event, Evidence
from recollect.text import one_line

MAX_TEXT = 1_048_576
MAX_GIST_CHARS = 2_000
MAX_EVIDENCE = 8
CONFIDENCE = 0.8  # in what a model read out of a record
_LOOKED_AT = 5_000  # characters of a field; what is longer is refused or cut anyway
_STARTS = 40  # places at which JSON is looked for in prose
_LISTS = ("memories", "records", "items", "results", "facts")
_THOUGHT = re.compile(r"\A\s*<think(?:ing)?>.*?(?:</think(?:ing)?>|\Z)", re.DOTALL)
_FENCE = re.compile(r"```[\w-]*\s*\n?(.*?)(?:```|\Z)", re.DOTALL)
_CUT_GIST = re.compile(r'"gist"\s*:\s*"((?:[^"\\]|\\.)*)')
_DECODER = json.JSONDecoder()


@dataclass(slots=True)
class Parsed:
    """The drafts in an answer, and why other items are none."""

    drafts: list[Draft] = field(default_factory=list)
    refused: Counter[str] = field(default_factory=Counter)


def parse_drafts(text: str, names: Mapping[str, Event], *, maker: str, limit: int) -> Parsed:
    """The first `limit` usable items of an answer, as drafts; `names` are the events that were shown."""
    parsed = Parsed()
    items = _items(text[:MAX_TEXT])
    if items is None:
        parsed.refused["not JSON"] += 1
        return parsed
    for number, item in enumerate(items):
        if len(parsed.drafts) == limit:
            parsed.refused["too many"] += len(items) - number
            break
        draft = _draft(item, names, maker)
        if isinstance(draft, str):
            parsed.refused[draft] += 1
        else:
            parsed.drafts.append(draft)
    return parsed


def parse_gist(text: str) -> str:
    """The gist in an answer, on one line; empty when there is none."""
    text = _THOUGHT.sub("", text[:MAX_TEXT])
    for found in _values(text):
        if isinstance(found, dict):
            told = next((found[name] for name in ("gist", "summary", "text") if isinstance(found.get(name), str)), "")
            return _gist(told)
    cut = _CUT_GIST.search(text)  # an answer that ended with its tokens
    if cut:
        return _gist(_loads(f'"{cut[1]}"') or "")
    plain = text.strip()
    return "" if plain.startswith(("{", "[", "<", "```")) else _gist(plain)


def parse_verdict(text: str) -> str | None:
    """One of VERDICTS, or None."""
    text = _THOUGHT.sub("", text[:MAX_TEXT])
    for found in _values(text):
        word = found.get("verdict") if isinstance(found, dict) else found
        if isinstance(word, str) and word.strip().casefold() in VERDICTS:
            return word.strip().casefold()
    word = text.strip(" \t\r\n.\"'`*").casefold()
    return word if word in VERDICTS else None


def _gist(text: str) -> str:
    return one_line(text[: 10 * MAX_GIST_CHARS], MAX_GIST_CHARS)


def _items(text: str) -> list[Any] | None:
    """The list of items in an answer, whatever stands around it; None when there is no JSON in it."""
    text = _THOUGHT.sub("", text)
    empty = None
    alone: list[Any] = []  # items outside of any list: one answer, one a line, or what was left of a broken list
    for found in _values(text):
        if isinstance(found, dict) and "content" in found:
            alone.append(found)
            continue
        items = _listed(found)
        if items:
            return items
        empty = items if empty is None else empty
    broken = _broken_off(text)
    return (broken if len(broken) > len(alone) else alone) or empty


def _listed(found: Any) -> list[Any] | None:
    if isinstance(found, list):
        return found
    if not isinstance(found, dict):
        return None
    for name in _LISTS:
        inner = found.get(name)
        if isinstance(inner, str):  # JSON within JSON
            inner = _loads(inner)
        if isinstance(inner, list):
            return inner
        if isinstance(inner, dict):
            return [inner]
    inner = next(iter(found.values())) if len(found) == 1 else None
    return _listed(inner) if isinstance(inner, dict | list) else []


def _values(text: str) -> Iterator[Any]:
    """JSON values in a text: all of it, then what stands in fences, then whatever begins with a bracket."""
    whole = _loads(text)
    if whole is not None:
        yield whole
        return
    for fence in _FENCE.finditer(text):
        found = _loads(fence[1])
        if found is not None:
            yield found
    at = 0
    for _ in range(_STARTS):
        begin = re.compile(r"[{\[]").search(text, at)
        if begin is None:
            return
        try:
            found, at = _DECODER.raw_decode(text, begin.start())
        except (ValueError, RecursionError):
            at = begin.end()
            continue
        yield found


def _broken_off(text: str) -> list[Any]:
    """The whole items of a list that was cut off before its end."""
    begin = re.search(r"\[\s*(?=\{)", text)
    items: list[Any] = []
    at = begin.end() if begin else len(text)
    while at < len(text):
        try:
            item, at = _DECODER.raw_decode(text, at)
        except (ValueError, RecursionError):
            break
        items.append(item)
        at += len(re.compile(r"[\s,]*").match(text, at)[0])  # type: ignore[index]
    return [item for item in items if isinstance(item, dict) and "content" in item]


def _loads(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _draft(item: Any, names: Mapping[str, Event], maker: str) -> Draft | str:
    if not isinstance(item, dict):
        return "not an object"
    content = item.get("content", item.get("text"))
    content = one_line(content[:_LOOKED_AT]) if isinstance(content, str) else ""
    if not any(map(str.isalnum, content)):
        return "empty"
    if len(content) > MAX_DRAFT_CHARS:
        return "too long"
    evidence = _evidence(item, names)
    if isinstance(evidence, str):
        return evidence
    why = item.get("why")
    return Draft(
        kind=_kind(item.get("kind", item.get("type"))),
        content=content,
        evidence=evidence,
        occurred_at=max(event.occurred_at for event in names.values() if event.key in {one.event for one in evidence}),
        why=(one_line(why[:_LOOKED_AT], MAX_DRAFT_CHARS) or None) if isinstance(why, str) else None,
        tags=_tags(item.get("tags")),
        importance=_unit(item.get("importance")),
        confidence=CONFIDENCE,
        maker=maker,
    )


def _kind(word: Any) -> str:
    kind = word.strip().casefold() if isinstance(word, str) else ""
    kind = KIND_ALIASES.get(kind, kind)
    return kind if kind in KINDS else "topic"


def _tags(given: Any) -> tuple[str, ...]:
    words = given.split(",") if isinstance(given, str) else given
    if not isinstance(words, list):
        return ()
    tags = (one_line(word[:_LOOKED_AT].strip(" #")) for word in words[:100] if isinstance(word, str))
    return tuple(dict.fromkeys(tag for tag in tags if tag and len(tag) <= MAX_TAG_CHARS))[:MAX_DRAFT_TAGS]


def _unit(value: Any) -> float | None:
    """A number from 0 to 1; some models count to ten. None when it is no number."""
    try:
        number = math.nan if isinstance(value, bool) else float(value)
    except (TypeError, ValueError, OverflowError):
        return None
    if 1 < number <= 10:
        number /= 10
    return number if 0 <= number <= 1 else None


def _evidence(item: Mapping[str, Any], names: Mapping[str, Event]) -> tuple[Evidence, ...] | str:
    """What an item cites, or why that is not good enough."""
    given = next((item[name] for name in ("evidence", "events", "event", "ids") if item.get(name)), None)
    cited = given if isinstance(given, list) else [given]
    spans: dict[Evidence, None] = {}
    for one in cited[:MAX_EVIDENCE]:
        name, quote = (one.get("event", one.get("id")), one.get("quote")) if isinstance(one, dict) else (one, None)
        if name is None:
            return "cites nothing"
        event = names.get(name.strip().casefold()) if isinstance(name, str) else None
        if event is None:
            return "cites what is not there"
        spans[Evidence(event.session, event.key, *find_quote(event.text, quote))] = None
    return tuple(spans)


def find_quote(text: str, quote: Any) -> tuple[int, int] | tuple[None, None]:
    """Where the quoted words stand, whatever white space is between them; nowhere: all of the text is cited."""
    words = quote[:1_000].strip(' \t\r\n"“”…').split() if isinstance(quote, str) else []
    if len(" ".join(words)) < 4:
        return None, None
    start = text.find(" ".join(words))
    if start >= 0:
        return start, start + len(" ".join(words))
    found = re.search(r"\s+".join(map(re.escape, words)), text)
    return found.span() if found else (None, None)
