"""When a need arose in a session, what the agent had been asked by then, and what it could have asked the memory.

A need and the session as it is read come in; a `Moment` goes out. Nothing in it is from after the moment: the prompts
are those before it, the question is made of the call that had just failed.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from recollect.distill.fingerprint import fingerprint
from recollect.learn.needs import Need
from recollect.learn.reading import Reading, Step
from recollect.learn.values import Waste
from recollect.text import one_line

MOST_PROMPTS = 20
_QUESTION_CHARS = 300


@dataclass(frozen=True, slots=True)
class Moment:
    """The moment at which something was needed."""

    at: datetime
    prompts: tuple[str, ...]  # what the person had said in the session by then, the last first
    question: str  # what the agent could have asked; nothing where it could not know that it should
    error: str | None  # the fingerprint of what had just failed
    spans: tuple[tuple[int, int], ...]  # the places in the session from where it was needed to where it was over


def moment_of(need: Need, reading: Reading) -> Moment | None:
    """The moment of a need; None when the session does not show it any more."""
    if need.kind == "correction":
        return _corrected(need, reading)
    shown = [one for one in reading.steps if set(one.events) & set(need.signal.events)]
    failed = [one for one in shown if one.failed]
    if not failed:
        return None
    step = failed[0]
    output = reading.outputs.get(step.number, "")
    named = fingerprint(output) if output else None
    return Moment(
        at=step.at,
        prompts=_before(reading, step.place),
        question=_question(step),
        error=named.key if named else None,
        spans=_spans(need, reading, shown, failed),
    )


def _corrected(need: Need, reading: Reading) -> Moment | None:
    """A person said it again: what they had said before that is all there was to go by, and nobody could ask."""
    place = next((one.place for one in reading.prompts if one.event.key in need.signal.events), None)
    if place is None:
        return None
    earlier = [one.place for one in reading.prompts if one.place < place]
    spans = ((earlier[-1], place),) if earlier else ()  # what had been done since is what was corrected
    return Moment(need.signal.at, _before(reading, place), "", None, spans)


def _spans(need: Need, reading: Reading, shown: Sequence[Step], failed: Sequence[Step]) -> tuple[tuple[int, int], ...]:
    if need.kind == "command":
        return ((failed[0].place, shown[-1].end),)  # to where the form that works had worked
    return tuple(reading.until_over(one) for one in failed)


def costs_of(reading: Reading, moments: Iterable[Moment]) -> list[Waste]:
    """What each of a session's needs took; a stretch that lies in several counts for the first of them alone."""
    spans: list[tuple[int, int]] = []
    before = Waste()
    found = []
    for one in moments:
        spans += one.spans
        now = reading.lost(spans)
        usd = None if now.usd is None else round(now.usd - (before.usd or 0.0), 6)
        found.append(Waste(round(now.seconds - before.seconds, 3), now.tokens - before.tokens, usd))
        before = now
    return found


def _before(reading: Reading, place: int) -> tuple[str, ...]:
    said = [one.text for one in reading.prompts if one.place < place]
    return tuple(reversed(said[-MOST_PROMPTS:]))


def _question(step: Step) -> str:
    """What an agent would ask about a failure: what it ran, and the line that says what went wrong."""
    return one_line(f"{step.head}: {step.line}" if step.head else step.line, _QUESTION_CHARS)
