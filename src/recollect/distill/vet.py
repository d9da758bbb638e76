"""Which drafts become memories, and how far each is trusted: decided here, by what they cite, not by who wrote them.

A draft must cite events that exist, and spans that lie in them. It is as trustworthy as the least trusted thing it
cites. The user's trust, and with it the kind `preference`, is only for what stands in a prompt in the user's own words
and says no more than they do; rules may mark what they computed as checked; all else is quoted. Names, numbers, paths,
commands and addresses in a draft must stand in what it cites: what does not is made up.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime

from recollect.distill.authored import is_own, own_words
from recollect.distill.draft import MAX_DRAFT_CHARS, MAX_DRAFT_TAGS, RULES, Draft
from recollect.distill.importance import importance_of, tags_of
from recollect.ids import uuid7
from recollect.model import KIND_ALIASES, KINDS, MAX_TAG_CHARS, Event, Memory
from recollect.stopwords import STOP_WORDS
from recollect.text import dedup_key, one_line, storable

MAX_MEMORIES = 8
_ORDER = ("user", "assistant", "tool", "import", "web")  # the least trusted last
_SUPPORTED = 0.6  # of a draft's words must be the user's for it to speak for them
_STEM = 5
_WORD = re.compile(r"[^\W\d_]{3,}")
# What cannot be a matter of wording: code, addresses, paths, identifiers, numbers.
_EXACT = re.compile(
    r"`[^`\n]+`|\b[a-z][a-z+.-]{1,9}://\S+|(?<![\w/])[~.]?/?[\w.@-]+(?:/[\w.@-]+)+|\b\w+(?:[._-]\w+)+\b|\b[a-z]+[A-Z]\w*\b|\b\d+\b"
)
_TOLD = frozenset("user users prefer prefers wants want asked asks said says like likes always never should".split())


@dataclass(slots=True)
class Vetted:
    """The memories to keep, and why other drafts are none."""

    kept: list[Memory] = field(default_factory=list)
    refused: Counter[str] = field(default_factory=Counter)


def vet(
    drafts: Iterable[Draft],
    events: Mapping[str, Event],
    *,
    session: str,
    project: str | None,
    now: datetime,
    limit: int = MAX_MEMORIES,
) -> Vetted:
    """Judge drafts made from a session's events (by key); at most `limit` of them are kept, the most important."""
    vetted = Vetted()
    known: set[str] = set()
    for draft in drafts:
        verdict = _judge(draft, events, session)
        if isinstance(verdict, str):
            vetted.refused[verdict] += 1
            continue
        memory = _memory(*verdict, session=session, project=project, now=now)
        key = dedup_key(memory.content)
        if key in known:
            vetted.refused["said twice"] += 1
            continue
        known.add(key)
        vetted.kept.append(memory)
    vetted.kept.sort(key=lambda one: -one.importance)
    for _ in vetted.kept[limit:]:
        vetted.refused["too many"] += 1
    del vetted.kept[limit:]
    return vetted


def _judge(draft: Draft, events: Mapping[str, Event], session: str) -> tuple[Draft, str, str] | str:
    """The draft put right, its origin and its trust; or why it is refused."""
    content = one_line(storable(draft.content))
    if not content:
        return "empty"
    if len(content) > MAX_DRAFT_CHARS:
        return "too long"
    if not draft.evidence:
        return "cites nothing"
    cited = []
    for span in draft.evidence:
        event = events.get(span.event or "")
        if event is None or span.session != session:
            return "cites what is not there"
        start, end = span.start or 0, len(event.text) if span.end is None else span.end
        if not 0 <= start < end <= len(event.text) or (span.start is None) != (span.end is None):
            return "cites a span that is not there"
        cited.append((event, start, end))
    if draft.maker != RULES and _made_up(content, cited):
        return "says what its evidence does not"
    origin = max((_origin(event) for event, _, _ in cited), key=_ORDER.index)
    kind = KIND_ALIASES.get(draft.kind, draft.kind)
    kind = kind if kind in KINDS else "topic"
    trust = "quoted"
    if origin == "user" and _speaks_for_user(content, cited):
        trust = "user"
    elif draft.checked and draft.maker == RULES:
        trust = "checked"
    if trust != "user":
        origin = "assistant" if origin == "user" else origin  # a paraphrase is not what the user said
        kind = "note" if kind == "preference" else kind
    return replace(draft, content=content, kind=kind), origin, trust


def _origin(event: Event) -> str:
    return event.origin if event.origin in _ORDER else "import"


def _speaks_for_user(content: str, cited: list[tuple[Event, int, int]]) -> bool:
    """Whether every cited span is in a user's own words, and the draft says nothing that they do not."""
    said = []
    for event, start, end in cited:
        if event.kind != "user_prompt":
            return False
        if (start, end) == (0, len(event.text)):
            said += [event.text[first:last] for first, last in own_words(event.text)]
        elif is_own(event.text, start, end):
            said.append(event.text[start:end])
        else:
            return False
    spoken = " ".join(said)
    if content.casefold() in one_line(spoken).casefold():
        return True  # word for word
    return not _unsaid(content, spoken) and _share(content, spoken) >= _SUPPORTED


def _made_up(content: str, cited: list[tuple[Event, int, int]]) -> bool:
    return _unsaid(content, " ".join(event.text[start:end] for event, start, end in cited))


def _unsaid(content: str, said: str) -> bool:
    """Whether a draft has a name, number, path, command or address that was not said."""
    said = said.casefold()
    return any(exact[0].strip("`.,").casefold() not in said for exact in _EXACT.finditer(content))


def _share(content: str, said: str) -> float:
    """How many of a draft's telling words were said, in any inflection."""
    spoken = {word[:_STEM] for word in _WORD.findall(said.casefold())}
    words = {word for word in _WORD.findall(content.casefold()) if word not in STOP_WORDS and word not in _TOLD}
    return sum(word[:_STEM] in spoken for word in words) / len(words) if words else 0.0


def _memory(draft: Draft, origin: str, trust: str, *, session: str, project: str | None, now: datetime) -> Memory:
    given = (one_line(tag) for tag in draft.tags)
    tags = tuple(dict.fromkeys(tag for tag in given if tag and len(tag) <= MAX_TAG_CHARS)) or tags_of(draft.content)
    importance = importance_of(draft.kind, draft.content) if draft.importance is None else draft.importance
    return Memory(
        id=uuid7(),
        kind=draft.kind,
        content=draft.content,
        project=project,
        origin=origin,
        occurred_at=draft.occurred_at,
        recorded_at=now,
        why=one_line(storable(draft.why), MAX_DRAFT_CHARS) or None if draft.why else None,
        tags=tags[:MAX_DRAFT_TAGS],
        importance=min(1.0, max(0.0, importance)),
        confidence=min(1.0, max(0.0, draft.confidence)),
        session=session,
        evidence=draft.evidence,
        anchors=tuple(one_line(storable(anchor), 200) for anchor in draft.anchors[:16]),
        trust=trust,
        maker=draft.maker,
        slot=one_line(storable(draft.slot), 200) if draft.slot else None,
    )
