"""One line about last time: what was learned in a project, said before anybody asks, or nothing at all.

Approved patterns and trusted lessons come in; at most one `Suggestion` goes out. It has to be of this very project, to
be recent, and vouched for: a pattern that a person approved and that people or outcomes show, or a lesson that the user
said or that was checked by what was done. What is merely observed or quoted is never suggested, and what the agent's
own files say already is not said again. On a prompt the line must share enough telling words with it besides.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from recollect.hookreply import SUGGESTED
from recollect.inject.quote import label, quote
from recollect.inject.sameness import Known, Sense, sense
from recollect.inject.selection import INJECTABLE, is_injectable
from recollect.model import Memory
from recollect.recall.credit import credit_of
from recollect.store.ports.learn import Pattern

VOUCHED = ("user", "outcome")  # of a pattern: what was merely observed is no advice
PATTERN_DAYS, LESSON_DAYS = 90, 30  # what was not met for longer is not about last time
LESSON_IMPORTANCE = 0.6
_MOST_LESSONS = 20


@dataclass(frozen=True, slots=True)
class Suggestion:
    """One thing to say, as it is shown, and what it rests on."""

    id: str  # of the pattern or the memory
    said: str  # the advice itself
    text: str  # in its source and quoted
    is_memory: bool = False


def suggest(
    patterns: Iterable[Pattern],
    lessons: Sequence[Memory],
    project: str | None,
    at: datetime,
    *,
    known: Sequence[Known] = (),
    said: Callable[[str], Sense] = sense,
) -> Suggestion | None:
    """The best thing to say in a project; None when nothing fits well, or the agent reads it anyway."""
    if project is None:
        return None
    every = [*map(of_pattern, fitting(patterns, project, at)), *map(_of_lesson, _recent(lessons, project, at))]
    return next((one for one in every if not any(each.says(said(one.said)) for each in known)), None)


def fitting(patterns: Iterable[Pattern], project: str | None, at: datetime) -> list[Pattern]:
    """The patterns that may be suggested in a project, the worthiest first."""
    since = at - timedelta(days=PATTERN_DAYS)
    return sorted(
        (
            one
            for one in patterns
            if one.state == "approved"
            and one.trust in VOUCHED
            and one.rule
            and project in one.projects
            and since <= one.last_seen <= at  # what was seen by a clock that runs ahead would be recent for ever
        ),
        key=lambda one: (-one.score, one.id),
    )


def of_pattern(pattern: Pattern) -> Suggestion:
    """A pattern as it is suggested."""
    seen = f"seen in {pattern.sessions} sessions, the last {pattern.last_seen:%Y-%m-%d}"
    by = f"; approved by {label(pattern.reviewer, 60)}" if pattern.reviewer else ""
    return _suggestion(pattern.id, pattern.rule or "", seen + by)


def _of_lesson(memory: Memory) -> Suggestion:
    who = "said by user" if memory.trust == "user" else "seen in what was done"
    return replace(_suggestion(memory.id, memory.content, f"{who}, {memory.occurred_at:%Y-%m-%d}"), is_memory=True)


def _suggestion(id_: str, said: str, source: str) -> Suggestion:
    return Suggestion(id_, said, f"{SUGGESTED} {source}]\n{quote(said)}")


def _recent(memories: Sequence[Memory], project: str, at: datetime) -> Iterator[Memory]:
    """Lessons of a project from the last weeks, the newest first."""
    since = at - timedelta(days=LESSON_DAYS)
    found = [
        one
        for one in memories
        if one.kind == "lesson"
        and one.project == project
        and one.trust in INJECTABLE
        and one.importance >= LESSON_IMPORTANCE
        and since <= one.occurred_at <= at
        and not one.meta.get("disputes")
        and not credit_of(one)  # what others share is told beside one's own, never before it
        and is_injectable(one, at)
    ]
    yield from sorted(found, key=lambda one: (-one.occurred_at.timestamp(), one.id))[:_MOST_LESSONS]
