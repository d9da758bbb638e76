"""What was needed again: things a task had to find out, or be told, though an earlier task had found them out already.

The signals of all sessions come in; one `Need` goes out for each task that met what tasks before it had met. What is
"the same" is what `detect` finds to be the same, with two tasks enough. A need is of one of these kinds:

    fix          an error that was met and got over before, and was met and got over again
    command      a command that failed, and the form of it that works, found again
    environment  something about the machine or the sandbox, found out again
    habit        a mistake in using a tool (an edit that does not match), made and mended again
    correction   the user corrected the agent again in what they had corrected before

What a user merely asks for again is no need: it is mostly the task itself. Only sessions that had ended before the need
arose count as earlier, and none of the same task.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from recollect.learn.cluster import MIN_FREQUENCY, candidates_of, roots_of
from recollect.learn.sightings import Sightings
from recollect.learn.troubles import NAMED
from recollect.learn.values import Candidate, Signal

NEEDS = ("fix", "command", "environment", "habit", "correction")
MOST_EARLIER = 20  # signals that are kept as what was known before, the newest
_TASKS = 2  # in which something has to stand to have been needed again
_SUREST = ("command", "environment", "fix", "correction", "habit")  # which of several one failure counts as


@dataclass(frozen=True, slots=True)
class Need:
    """Something needed again in one task."""

    kind: str  # one of NEEDS
    pattern: str  # the id under which `detect` tells of it
    key: str
    statement: str
    rule: str | None
    signal: Signal  # how it shows in the task that needed it again
    earlier: tuple[Signal, ...]  # how it showed before, the newest first
    ruled: bool = False  # whether `detect` could have shown it by then, with a rule that somebody vouches for

    @property
    def sessions(self) -> frozenset[str]:
        """The sessions in which it was known before."""
        return frozenset(one.session for one in self.earlier)


def needs_of(signals: Sequence[Signal], *, parents: Mapping[str, str], ended: Mapping[str, datetime]) -> list[Need]:
    """Every need, in the order in which they arose; `ended` says until when each session went on."""
    roots = roots_of(signals, parents)
    sightings = Sightings(signals)
    every: list[Need] = []
    for candidate in candidates_of(signals, min_frequency=_TASKS, parents=parents):
        shown = sightings.of({candidate.id, *candidate.aliases})
        of_kind = [one for each in shown.values() for one in each if one.kind == candidate.kind]
        every += _of_candidate(candidate, of_kind, roots, ended)
    found: dict[tuple[str, str], Need] = {}
    for need in sorted(every, key=lambda one: (_SUREST.index(one.kind), one.pattern)):
        # What one prompt or one failure shows of several candidates is one need.
        found.setdefault((roots[need.signal.session], _first_event(need.signal)), need)
    return sorted(found.values(), key=lambda one: (one.signal.at, one.signal.session, one.pattern))


def _of_candidate(
    candidate: Candidate, signals: Iterable[Signal], roots: Mapping[str, str], ended: Mapping[str, datetime]
) -> Iterable[Need]:
    kind = kind_of(candidate)
    if kind is None:
        return
    order = sorted(signals, key=lambda one: (one.at, one.session, one.key, one.statement))
    first: dict[str, Signal] = {}
    for one in order:
        first.setdefault(roots[one.session], one)
    for root, one in first.items():
        if kind in ("fix", "habit") and one.detail.get("mended") != "yes":
            continue  # nobody knows what getting over it would have taken
        before = [
            other
            for other in order
            if roots[other.session] != root and _over(other, ended) < one.at and (kind != "fix" or _mended(other))
        ]
        if before:
            yield Need(
                kind,
                candidate.id,
                candidate.key,
                candidate.statement,
                candidate.rule,
                one,
                tuple(reversed(before))[:MOST_EARLIER],
                _ruled(candidate, before, roots),
            )


def _ruled(candidate: Candidate, before: Sequence[Signal], roots: Mapping[str, str]) -> bool:
    tasks, flavors = {roots[one.session] for one in before}, {one.flavor for one in before}
    enough = MIN_FREQUENCY - 1 if len(flavors) > 1 else MIN_FREQUENCY
    return candidate.rule is not None and candidate.trust != "observed" and len(tasks) >= enough


def kind_of(candidate: Candidate) -> str | None:
    """Which kind of need a candidate is of; None for what is no fact: a loop, a churned file, a given-up goal."""
    if candidate.kind == "correction":
        return "correction"
    if candidate.kind == "command_fixed":
        return "command"
    if candidate.kind == "rediscovery":
        return "environment"
    if candidate.kind == "error_repeated":
        return "habit" if candidate.key in NAMED or candidate.key.startswith("unknown option: ") else "fix"
    if candidate.kind == "red_green" and candidate.key.startswith("tests: "):
        return "fix"  # by its reason: that a test of one name breaks again says nothing about why
    return None


def _first_event(signal: Signal) -> str:
    return signal.events[0] if signal.events else f"{signal.kind}: {signal.key}"


def _over(signal: Signal, ended: Mapping[str, datetime]) -> datetime:
    return ended.get(signal.session, signal.at)


def _mended(signal: Signal) -> bool:
    return signal.detail.get("mended", "yes") == "yes"
