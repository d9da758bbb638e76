"""Memories without a model: what a session's events tell by plain rules that is worth knowing next week.

A session, its events in order and its digest come in; at most eight drafts go out, the most important first, the same
ones every time. Most sessions have few: a rule somebody stated, a decision with its why, an error and what it was, how
tests are run. What was said only for the moment, planned, narrated, pasted, or found wrong later is left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace

from recollect.distill.digest import Digest
from recollect.distill.draft import Draft
from recollect.distill.rules.barred import barred
from recollect.distill.rules.decisions import decisions
from recollect.distill.rules.explained import explained
from recollect.distill.rules.facts import facts
from recollect.distill.rules.lessons import lessons
from recollect.distill.rules.remarks import remarks
from recollect.distill.rules.story import story_of
from recollect.distill.rules.suggested import suggested
from recollect.distill.rules.topics import anchors_of, topics_of
from recollect.distill.rules.traces import traces
from recollect.distill.rules.wishes import wishes
from recollect.distill.rules.withdrawn import still_held
from recollect.model import Event, Session
from recollect.stopwords import STOP_WORDS
from recollect.text import dedup_key

MAX_DRAFTS = 8
ROOM_FOR_LESSONS = 2
MOST = 200  # candidates of a kind that are compared with each other
_UNSURE = 0.6  # the confidence of what an agent explained or somebody suggested
TOLD = 0.5  # of the words of a lesson that makes an explanation the same
SAME = 0.6  # of the words of two that makes them say the same thing
_OTHERWISE = re.compile(r"\b(?:instead|actually|no longer|not any ?more|rather)\b", re.IGNORECASE)
_WORD = re.compile(r"[^\W_]{3,}")


def distill(session: Session, events: Sequence[Event], digest: Digest | None = None) -> list[Draft]:
    """What is worth keeping of a session: 0 to 8 drafts."""
    story = story_of(session, events)
    decided = _latest(list(decisions(story))[-MOST:])
    wished = [draft for draft in list(wishes(story))[-MOST:] if not any(_same_words(draft, other) for other in decided)]
    found = (
        *_latest(wished),
        *decided,
        *lessons(story),
        *barred(story),
        *facts(story),
        *traces(story),
    )
    told = (*remarks(story), *suggested(story), *explained(story))
    learned = [_words(draft) for draft in found if draft.kind == "lesson"]
    more = [
        draft
        for draft in told
        if not any(_same_words(draft, other) for other in found)
        and not (draft.kind == "lesson" and _told_before(draft, learned))
    ]
    return [_named(draft) for draft in _best(still_held((*found, *more), story))]


def _same_words(wish: Draft, decision: Draft) -> bool:
    """Whether a decision was taken with the words of a wish: the decision says more."""
    mine = wish.evidence[0]
    return any(
        mine.event == one.event and (mine.start or 0) < (one.end or 0) and (one.start or 0) < (mine.end or 0)
        for one in decision.evidence
    )


def _told_before(draft: Draft, learned: list[frozenset[str]]) -> bool:
    """Whether it is another word on what was learned."""
    words = _words(draft)
    return any(len(words & other) >= TOLD * min(len(words), len(other)) for other in learned)


def _words(draft: Draft) -> frozenset[str]:
    return frozenset(_WORD.findall(draft.content.casefold())) - STOP_WORDS


def _latest(drafts: list[Draft]) -> list[Draft]:
    """Without those that a later one says otherwise, or again."""
    words = [_words(draft) for draft in drafts]
    asked = [_question(draft) for draft in drafts]

    def replaces(later: int, at: int) -> bool:
        if drafts[later].occurred_at <= drafts[at].occurred_at:
            return False
        if asked[at] and asked[at] == asked[later]:
            return True
        shared, gone = words[at] & words[later], words[at] - words[later]
        if len(shared) <= SAME * min(len(words[at]), len(words[later])):
            return False
        # The same again, with another number, or said to be otherwise; else they are two rules that sound alike.
        return all(any(map(str.isdigit, word)) for word in gone) or _OTHERWISE.search(drafts[later].content) is not None

    places = range(len(drafts))
    return [drafts[at] for at in places if not any(replaces(later, at) for later in places[at + 1 :])]


def _question(draft: Draft) -> str:
    """The question a decision answers."""
    _, asked, question = (draft.why or "").partition("asked: ")
    return question.partition("?")[0].casefold() if asked and draft.kind == "decision" else ""


def _best(drafts: Iterable[Draft]) -> list[Draft]:
    """The most important ones, but no more wishes than leave room for what was learned."""
    kept: dict[str, Draft] = {}
    for draft in drafts:
        key = dedup_key(draft.content)
        kept.pop(key, None)
        kept[key] = draft
    order = sorted(kept.values(), key=lambda one: -(one.importance or 0.0))
    learned = [draft for draft in order if draft.kind == "lesson"][:ROOM_FOR_LESSONS]
    others = [draft for draft in order if draft not in learned]
    room = MAX_DRAFTS - len(learned)
    vouched = [draft for draft in others[room:] if draft.checked]
    weak = [draft for draft in reversed(others[:room]) if _is_weak(draft)][: len(vouched)]
    fitting = [draft for draft in others[:room] if draft not in weak]
    chosen = [*learned, *fitting, *vouched[: len(weak)]]
    return sorted(chosen, key=lambda one: -(one.importance or 0.0))


def _is_weak(draft: Draft) -> bool:
    """Whether nobody would see it unasked: it makes room for what was computed."""
    return not draft.checked and (draft.passing or draft.confidence <= _UNSURE)


def _named(draft: Draft) -> Draft:
    """With the files, symbols and topics it names."""
    return replace(
        draft,
        anchors=tuple(dict.fromkeys((*draft.anchors, *anchors_of(draft.content)))),
        tags=tuple(dict.fromkeys((*draft.tags, *topics_of(draft.content)))),
    )
