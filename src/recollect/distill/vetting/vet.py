"""Which drafts become memories, and how far each is trusted: decided here, by what they cite, not by who wrote them.

A draft must cite events that exist, and spans that lie in them. It is as trustworthy as the least trusted thing it
cites. The user's trust, and with it the kind `preference`, is only for what a prompt states in the user's own words
(not in the agent's or a tool's, said back to them) and says no more than they do, unless it was said in passing; rules
may mark what they computed as checked, unless text from outside had ordered it; all else is quoted. Names, numbers,
paths, commands and addresses in a draft must stand in what it cites: what does not is made up. The same goes for its
why, its slot, its anchors and its tags.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from itertools import islice
from typing import NamedTuple

from recollect.distill.draft import MAX_DRAFT_CHARS, RULES, Draft
from recollect.distill.importance import importance_of, tags_of
from recollect.distill.vetting import shape
from recollect.distill.vetting.authored import own_words
from recollect.distill.vetting.stated import alike, sentences, stating, telling, unsaid
from recollect.distill.vetting.testimony import Testimony, is_live, is_order
from recollect.ids import uuid7
from recollect.model import TRUSTS, Event, Evidence, Memory
from recollect.text import dedup_key

MAX_MEMORIES = 8
MAX_DRAFTS = 100  # that are looked at; whoever proposes more is not serious
_ORDER = ("user", "assistant", "tool", "import", "web")  # the least trusted last
_QUOTED_IMPORTANCE = 0.7  # what nobody vouches for is not pushed before what somebody does
_UNSURE = 0.5
_ABOUT = 0.4  # of a draft's words must stand in the texts it cites
_LOOKED_AT = 65_536


@dataclass(slots=True)
class Vetted:
    """The memories to keep, and why other drafts are none."""

    kept: list[Memory] = field(default_factory=list)
    refused: Counter[str] = field(default_factory=Counter)


class _Cited(NamedTuple):
    """A span of an event."""

    event: Event
    start: int
    end: int

    @property
    def text(self) -> str:
        return self.event.text[self.start : self.end]


def vet(
    drafts: Iterable[Draft],
    events: Mapping[str, Event],
    *,
    session: str,
    project: str | None,
    now: datetime,
    limit: int = MAX_MEMORIES,
) -> Vetted:
    """Judge drafts made from a session's events (by key); at most `limit` are kept, the most trusted of them."""
    vetted = Vetted()
    testimony = Testimony(events)
    known: dict[str, Memory] = {}
    for draft in islice(drafts, MAX_DRAFTS):
        memory = _judge(draft, testimony, session=session, project=project, now=now)
        if isinstance(memory, str):
            vetted.refused[memory] += 1
            continue
        key = dedup_key(memory.content)
        twin = known.get(key)
        if twin is not None:
            vetted.refused["said twice"] += 1
        if twin is None or TRUSTS.index(memory.trust) < TRUSTS.index(twin.trust):
            known[key] = memory
    kept = sorted(known.values(), key=lambda one: (TRUSTS.index(one.trust), -one.importance))
    vetted.kept = kept[:limit]
    vetted.refused["too many"] = len(kept[limit:]) + (
        max(0, len(drafts) - MAX_DRAFTS) if isinstance(drafts, list) else 0
    )
    vetted.refused += Counter()  # without what was never counted
    return vetted


def _judge(draft: Draft, testimony: Testimony, *, session: str, project: str | None, now: datetime) -> Memory | str:
    """The memory a draft is worth, or why it is none."""
    content = shape.text_of(draft.content)
    if not telling(content):
        return "empty"
    if len(content) > MAX_DRAFT_CHARS:
        return "too long"
    cited = _cited(draft, testimony.events, session)
    if isinstance(cited, str):
        return cited
    ruled = draft.maker == RULES
    if not ruled and _is_made_up(content, cited):
        return "says what its evidence does not"
    kind, origin = shape.kind_of(draft.kind), max((_origin(one.event, testimony) for one in cited), key=_ORDER.index)
    spoken = _spoken(content, cited, testimony, kind, ruled=ruled) if origin == "user" else None
    if spoken and draft.passing is not True:
        trust = "user"
    elif spoken:
        trust, kind = "quoted", "note" if kind == "preference" else kind
    else:
        trust = "checked" if ruled and draft.checked is True and _holds(content, cited, testimony) else "quoted"
        origin = "assistant" if origin == "user" else origin  # a paraphrase is not what the user said
        kind = "note" if kind == "preference" else kind
    if trust == "quoted" and shape.is_word_list(content):
        return "a list of words"
    importance = shape.unit_of(draft.importance)
    importance = importance_of(kind, content) if importance is None else importance
    confidence = shape.unit_of(draft.confidence)
    times = [one.event.occurred_at for one in cited]
    return Memory(
        id=uuid7(),
        kind=kind,
        content=content,
        project=project,
        origin=origin,
        occurred_at=shape.time_of(draft.occurred_at, min(times), max(times)),
        recorded_at=now,
        why=_why(draft, cited, trust, testimony),
        tags=_tags(draft, content, cited, trust),
        importance=min(importance, _QUOTED_IMPORTANCE) if trust == "quoted" else importance,
        confidence=_UNSURE if confidence is None else confidence,
        session=session,
        evidence=tuple(Evidence(session, one.event.key, one.start, one.end) for one in spoken or cited),
        anchors=_anchors(draft, content, cited),
        trust=trust,
        maker=draft.maker if isinstance(draft.maker, str) else "unknown",
        slot=_slot(draft, content),
    )


def _cited(draft: Draft, events: Mapping[str, Event], session: str) -> list[_Cited] | str:
    """What a draft cites, exactly; or why that is not good enough."""
    spans = shape.spans_of(draft.evidence)
    if spans is None:
        return "cites in no known form"
    if not spans:
        return "cites nothing"
    cited = []
    for span in spans:
        event = events.get(span.event or "")
        if event is None or span.session != session:
            return "cites what is not there"
        start, end = span.start or 0, len(event.text) if span.end is None else span.end
        if not 0 <= start < end <= len(event.text) or (span.start is None) != (span.end is None):
            return "cites a span that is not there"
        cited.append(_Cited(event, start, end))
    return cited


def _said(cited: list[_Cited]) -> str:
    return " \n".join(one.text for one in cited)


def _is_made_up(content: str, cited: list[_Cited]) -> bool:
    """Whether a draft has a name that what it cites has not, or is about something else than those texts."""
    if unsaid(content, _said(cited)):
        return True
    words = set(telling(content))
    said = {word for one in cited for word in telling(one.event.text[:_LOOKED_AT])}
    return sum(_among(word, said) for word in words) < _ABOUT * len(words)


def _origin(event: Event, testimony: Testimony) -> str:
    """Who speaks in an event; words that only a tool says are a user's are the tool's."""
    if event.origin == "user":
        return "user" if testimony.is_persons(event) else "tool"
    return event.origin if event.origin in _ORDER else "import"


def _spoken(content: str, cited: list[_Cited], testimony: Testimony, kind: str, *, ruled: bool) -> list[_Cited] | None:
    """The sentences in which the user says a content; None when one span is not theirs, or they do not say it."""
    said: list[_Cited] = []
    for one in cited:
        whole = (one.start, one.end) == (0, len(one.event.text))
        own = own_words(one.event.text)
        if not whole and not any(first <= one.start and one.end <= last for first, last in own):
            return None
        inside = (place for place in _sentences(one.event, own) if place.start < one.end and one.start < place.end)
        said += (place for place in inside if not testimony.repeats(one.event, place.start, place.end))
    used = stating([one.text for one in said], content, joined=ruled, wish=kind == "preference")
    return None if used is None else [one for place, one in enumerate(said) if place in used]


def _holds(content: str, cited: list[_Cited], testimony: Testimony) -> bool:
    """Whether what was computed is harmless: nothing live in it, and no order that came from outside."""
    if is_live(content):
        return False
    if any(one.event.kind == "assistant_text" for one in cited):
        return not testimony.ordered(content)
    return any(one.event.meta.get("action") == "ask" for one in cited) or not is_order(content)


def _sentences(event: Event, own: list[tuple[int, int]]) -> Iterable[_Cited]:
    """The sentences of a prompt that are its author's."""
    for first, last in own:
        for start, end in sentences(event.text[first:last]):
            yield _Cited(event, first + start, first + end)


def _why(draft: Draft, cited: list[_Cited], trust: str, testimony: Testimony) -> str | None:
    """The reason, if it is as good as the memory: a reason is shown with it."""
    why = shape.why_of(draft.why)
    if why is None:
        return None
    ruled = draft.maker == RULES
    if trust == "user":
        whole = [_Cited(one.event, 0, len(one.event.text)) for one in cited]
        return why if _spoken(why, whole, testimony, "note", ruled=ruled) else None
    if trust == "checked":
        return why if _holds(why, cited, testimony) else None
    return why if ruled or not unsaid(why, _said(cited)) else None


def _tags(draft: Draft, content: str, cited: list[_Cited], trust: str) -> tuple[str, ...]:
    """Tags; those of what is only quoted must be words of it, for a tag that a question names lifts its memory."""
    tags = shape.tags_of(draft.tags)
    if trust == "quoted" and draft.maker != RULES:
        words = set(telling(f"{content} {_said(cited)}"))
        tags = tuple(tag for tag in tags if all(_among(word, words) for word in telling(tag)))
    return tags or tags_of(content)


def _anchors(draft: Draft, content: str, cited: list[_Cited]) -> tuple[str, ...]:
    anchors = shape.anchors_of(draft.anchors)
    if draft.maker == RULES:
        return anchors
    said = f"{content}\n{_said(cited)}"
    return tuple(anchor for anchor in anchors if anchor.partition(":")[2] in said)


def _slot(draft: Draft, content: str) -> str | None:
    """What it tells the value of, if its own words say so: a memory ends others of its slot."""
    slot = shape.text_of(draft.slot, 200)
    words = set(telling(content))
    said = draft.maker == RULES or all(_among(word, words) for word in telling(slot))
    return slot if slot and said else None


def _among(word: str, words: set[str]) -> bool:
    return word in words or any(alike(word, other) for other in words)
