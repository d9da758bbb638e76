"""Measuring: what was rolled out, held against the sessions before and after it.

Patterns and the sessions of a store come in; one `Measured` for each roll-out goes out. What counts is a task: a
session with those that worked for it. A task is before or after by when it began, within half a year before; only
agents that read the place count, and only the projects it reaches. What began while another roll-out of the same
pattern was in force is not before. Projects that were held back are the control, as long as no other roll-out reaches
them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from recollect.learn.cluster import candidates_of
from recollect.learn.measure import Effect, Rate, Span, effect, mean_change
from recollect.learn.sightings import WISHES, Sightings
from recollect.learn.values import Candidate
from recollect.model import Scope
from recollect.pipeline.detecting import Progress, Survey, survey
from recollect.store.port import Store
from recollect.store.ports.learn import Pattern, Rollout

BEFORE = timedelta(days=180)
_OF_CLAUDE = ("claude-md", "skill")
_READS_NO_AGENTS_MD = ("claude", "gemini")
CHOSEN = (
    "It was chosen because it happened often, so some of any fall is chance; projects held back would show how much."
)


@dataclass(frozen=True, slots=True)
class Week:
    """The tasks of one week that could have met it, and those that did."""

    begins: datetime
    hits: int
    tasks: int


@dataclass(frozen=True, slots=True)
class Measured:
    """What became of one roll-out."""

    pattern: str
    statement: str
    rollout: str
    target: str
    place: str
    project: str | None
    state: str
    since: datetime
    effect: Effect
    seconds: Span | None  # change of the time lost to it in a task
    health: Span | None  # change of the health of a task, in points
    weeks: tuple[Week, ...]
    notes: tuple[str, ...] = ()


@dataclass(slots=True)
class _Task:
    """A session and those that worked for it."""

    flavor: str
    project: str | None
    at: datetime
    health: float
    hit: bool = False
    seconds: float = 0.0


@dataclass(slots=True)
class _Seen:
    """The tasks of a store, which task a session is of, and what is found in them, however rare."""

    sightings: Sightings
    found: list[Candidate]
    tasks: dict[str, _Task] = field(default_factory=dict)
    roots: dict[str, str] = field(default_factory=dict)


def measure(
    store: Store,
    scope: Scope,
    patterns: Sequence[Pattern],
    now: datetime,
    progress: Progress = lambda done, total: None,
) -> list[Measured]:
    """Every roll-out of these patterns, the oldest first."""
    rolled = [(one, there) for one in patterns if (there := store.patterns.rollouts(scope, one.id))]
    if not rolled:
        return []
    seen = _seen(survey(store, scope.within(None), progress=progress))
    found = [
        _measured(pattern, rollout, there, seen, now)
        for pattern, there in rolled
        for rollout in there
        if rollout.state != "begun" and rollout.ended_at != rollout.begun_at  # else it was never in force
    ]
    return sorted(found, key=lambda one: (one.since, one.rollout))


def _measured(pattern: Pattern, rollout: Rollout, every: Sequence[Rollout], seen: _Seen, now: datetime) -> Measured:
    until = rollout.ended_at or now
    others = [one for one in every if one.id != rollout.id]
    tasks = [
        one
        for one in _tasks(pattern, seen)
        if _reads(one, rollout)
        and rollout.begun_at - BEFORE <= one.at <= until
        and (one.at >= rollout.begun_at or not any(_was_in_force(other, one) for other in others))
    ]
    here = [one for one in tasks if _is_reached(one, rollout)]
    held = [
        one
        for one in tasks
        if one.project in rollout.held_back and not any(_was_in_force(other, one) for other in others)
    ]
    before, after = _halves(here, rollout.begun_at)
    control = [_rate(half) for half in _halves(held, rollout.begun_at)] if rollout.held_back else [None, None]
    result = effect(_rate(before), _rate(after), *control)
    return Measured(
        pattern.id,
        pattern.statement,
        rollout.id,
        rollout.target,
        rollout.place,
        rollout.project,
        rollout.state,
        rollout.begun_at,
        result,
        mean_change([one.seconds for one in before], [one.seconds for one in after]),
        mean_change([one.health for one in before], [one.health for one in after]),
        _weeks(here),
        _notes(result, rollout),
    )


def _tasks(pattern: Pattern, seen: _Seen) -> list[_Task]:
    """Every task, and whether and how long it met the pattern."""
    tasks = {root: replace(task) for root, task in seen.tasks.items()}
    for session, signals in seen.sightings.of(_ids(pattern, seen.found)).items():
        task = tasks.get(seen.roots[session])
        if task is not None:
            task.hit = True
            task.seconds += sum(one.cost.seconds for one in signals)
    return list(tasks.values())


def _seen(looked: Survey) -> _Seen:
    found = candidates_of(looked.signals, min_frequency=1, parents=looked.parents)
    seen = _Seen(Sightings(looked.signals), found)
    health = {one.session: float(one.score) for one in looked.health}
    there = {one.id for one in looked.sessions}
    for session in looked.sessions:
        root, met = session.id, {session.id}
        while (above := looked.parents.get(root)) is not None and above in there and above not in met:
            root = above
            met.add(root)
        seen.roots[session.id] = root
        if root == session.id and session.started_at is not None:
            seen.tasks[root] = _Task(session.flavor, session.project, session.started_at, health.get(root, 0.0))
    return seen


def _ids(pattern: Pattern, found: Iterable[Candidate]) -> Collection[str]:
    """Every id by which it is found now: what looks nearly the same is one thing to detecting too."""
    ids = set(pattern.ids)
    if pattern.kind not in WISHES:  # those are known by pairs of words, which every session has as they are
        for one in found:
            if ids & {one.id, *one.aliases}:
                ids |= {one.id, *one.aliases}
    return ids


def _was_in_force(rollout: Rollout, task: _Task) -> bool:
    """Whether a task began with this roll-out before its agent; one that was only begun may be nowhere."""
    if rollout.state == "begun":
        return False
    ended = rollout.ended_at is not None and task.at > rollout.ended_at
    return task.at >= rollout.begun_at and not ended and _reads(task, rollout) and _is_reached(task, rollout)


def _reads(task: _Task, rollout: Rollout) -> bool:
    """Whether this agent reads what was put there."""
    if rollout.target in _OF_CLAUDE:
        return task.flavor == "claude"
    if rollout.target == "agents-md":
        return task.flavor == "codex" if rollout.project is None else task.flavor not in _READS_NO_AGENTS_MD
    return True


def _is_reached(task: _Task, rollout: Rollout) -> bool:
    if task.project in rollout.held_back:
        return False
    return rollout.project is None or task.project == rollout.project


def _halves(tasks: Iterable[_Task], at: datetime) -> tuple[list[_Task], list[_Task]]:
    halves: tuple[list[_Task], list[_Task]] = ([], [])
    for one in tasks:
        halves[one.at >= at].append(one)
    return halves


def _rate(tasks: Sequence[_Task]) -> Rate:
    return Rate(sum(one.hit for one in tasks), len(tasks))


def _weeks(tasks: Iterable[_Task]) -> tuple[Week, ...]:
    weeks: dict[datetime, list[_Task]] = {}
    for one in tasks:
        day = one.at.replace(hour=0, minute=0, second=0, microsecond=0)
        weeks.setdefault(day - timedelta(days=day.weekday()), []).append(one)
    return tuple(Week(begins, sum(one.hit for one in weeks[begins]), len(weeks[begins])) for begins in sorted(weeks))


def _notes(result: Effect, rollout: Rollout) -> tuple[str, ...]:
    if result.difference is None:
        return ()
    if result.controlled:
        return ("What changed in the projects that were held back is taken off.",)
    held = "The projects that were held back have too few tasks to compare with. " if rollout.held_back else ""
    return (f"{held}{CHOSEN}",)
