"""A session as the signals read it: its steps, each with how it went and what it cost, and what people did about them.

A session, its digest and its events come in; a `Reading` goes out. Built once for a session and read by every family of
signals. It rests on `distill.rules.story`: calls with their results, prompts in the author's own words.
"""

from __future__ import annotations

import re
from bisect import bisect, bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

from recollect.distill.digest import Digest
from recollect.distill.digestwalk import PAUSE_SECONDS
from recollect.distill.rules.story import Prompt, Run, Said, story_of
from recollect.distill.vetting.testimony import Testimony
from recollect.learn.commandwords import main_head
from recollect.learn.traits import traits_of
from recollect.learn.values import KEY_CHARS, MAX_EVENTS, STATEMENT_CHARS, Signal, Waste
from recollect.model import Event, Session
from recollect.text import one_line, present

_CALLS = frozenset(("tool_call", "edit", "test_run"))
_EXIT = re.compile(r"^(?:Exit code|Process exited with code) \d+\s*", re.IGNORECASE)
_LOOKED_AT, _LINE_CHARS, _SAID_CHARS = 4_000, 300, 2_000
_MAX_STEPS = 5_000
_NEXT = 12  # steps in which what failed may succeed
_PATH = re.compile(r"[/\\]")
_NUMBER = re.compile(r"\b(?=[a-f]*\d)[0-9a-f]{7,}\b|\d+")


@dataclass(slots=True)
class Step:
    """One call of the agent with its result."""

    place: int
    number: int  # among the steps
    tool: str
    action: str
    command: str  # a shell command as it is compared; empty for others
    head: str  # what it does: `go test`; for others the action
    target: str  # what has to succeed for its failure to be over
    files: tuple[str, ...]
    failed: bool  # as the host says, or its tests failed
    passed: bool  # as the host says
    tests: str
    line: str  # of its error; empty when nothing told
    traits: frozenset[str]
    events: tuple[str, ...]
    at: datetime
    end: int  # the place of its result


@dataclass(slots=True)
class Stop:
    """A person stopped the agent or refused a call."""

    event: Event
    place: int
    call: Event | None  # the call that was refused
    said: str  # what the person said with it


@dataclass(slots=True)
class Reading:
    """A session, read."""

    session: Session
    digest: Digest
    steps: list[Step] = field(default_factory=list)
    prompts: list[Prompt] = field(default_factory=list)
    said: list[Said] = field(default_factory=list)  # by the agent
    stops: list[Stop] = field(default_factory=list)
    outputs: dict[int, str] = field(default_factory=dict)  # number of a failed step -> what it printed
    printed: list[str] = field(default_factory=list)  # by the number of the step, whether it failed or not
    _active: list[float] = field(default_factory=list)
    _prompted: list[int] = field(default_factory=list)  # places of the prompts
    _told: list[int] = field(default_factory=list)  # places of what the agent said
    _events: Sequence[Event] = ()
    _testimony: Testimony | None = None

    @property
    def testimony(self) -> Testimony:
        """Whose words the events have; made when first asked for."""
        if self._testimony is None:
            self._testimony = Testimony({event.key: event for event in self._events})
        return self._testimony

    @property
    def typed(self) -> list[Prompt]:
        """What a person typed: nothing where nobody sat before the agent, but a script or another agent did."""
        return [] if self.session.interactive is False else self.prompts

    def turn_at(self, place: int) -> int:
        """The number of the turn that a place is in; 0 is before the first prompt."""
        return bisect(self._prompted, place)

    def told_between(self, start: int, end: int) -> str:
        """What the agent said between two places."""
        found = self.said[bisect(self._told, start) : bisect_left(self._told, end)]
        return "\n".join(one.event.text[:_SAID_CHARS] for one in found)

    @property
    def root(self) -> str:
        return self.session.parent or self.session.id

    def lost(self, spans: Iterable[tuple[int, int]]) -> Waste:
        """What the time between places took; places that lie in several spans count once."""
        seconds, reached = 0.0, -1
        last = len(self._active) - 1
        for start, end in sorted(spans):
            start, end = max(start, reached), min(end, last)
            if end > start:
                seconds += self._active[end] - self._active[start]
                reached = end
        share = min(seconds / self.digest.active_seconds, 1.0) if self.digest.active_seconds > 0 else 0.0
        usd = self.digest.cost.usd
        return Waste(
            round(seconds, 3), int(self.digest.cost.tokens * share), None if usd is None else round(usd * share, 6)
        )

    def until_over(self, step: Step) -> tuple[int, int]:
        """From a failed call to where what failed succeeded, or to the next call when it did not soon."""
        following = self.steps[step.number + 1 : step.number + 1 + _NEXT]
        over = next((one for one in following if one.target == step.target and one.passed), None)
        end = over.end if over else following[0].place if following else step.end
        return step.place, max(end, step.end)

    def signal(
        self, kind: str, key: str, statement: str, events: Sequence[str], at: datetime, **given: object
    ) -> Signal:
        """A signal of this session."""
        session, key = self.session, clean_key(key)
        shown = one_line(present(statement), STATEMENT_CHARS)
        return Signal(
            kind, key, shown, session.id, self.root, session.flavor, session.project, at, tuple(events)[:MAX_EVENTS],
            **given,  # type: ignore[arg-type]
        )  # fmt: skip


def clean_key(key: str) -> str:
    """A key without what is of one place or time: paths, numbers, ids."""
    words = ("<path>" if _PATH.search(word) else _NUMBER.sub("#", word) for word in present(key).split())
    return " ".join(words)[:KEY_CHARS]


def read_session(session: Session, digest: Digest, events: Sequence[Event]) -> Reading:
    """A session from its events, in order of position."""
    story = story_of(session, events)
    reading = Reading(session, digest, prompts=story.prompts, said=story.said, _active=_active_at(events))
    reading._events, reading._told = events, story.said_places
    reading._prompted = [prompt.place for prompt in story.prompts]
    running = ""
    for run in story.runs[:_MAX_STEPS]:
        command = run.target or (running if run.action == "shell" else "")
        step = _step(run, len(reading.steps), command)
        if run.action == "shell" and run.target and run.result is not None and "exit" not in run.result.meta:
            running = run.target
        reading.steps.append(step)
        reading.printed.append("" if run.result is None else run.result.text)
        if step.failed and run.result is not None:
            reading.outputs[step.number] = run.result.text
    reading.stops = list(_stops(events))
    return reading


def _step(run: Run, number: int, command: str) -> Step:
    call, result = run.call, run.result
    files = tuple(path for path in _listed(call.meta.get("files")) if isinstance(path, str))
    failed = bool(run.failed) or run.tests == "failed"
    head = main_head(command) if command else run.action
    tool = str(call.meta.get("tool") or "unknown")
    return Step(
        place=run.place,
        number=number,
        tool=tool,
        action=run.action,
        command=command,
        head=head,
        target=command or "\0".join((run.action, *(files[:3] or (tool, call.text[:200])))),
        files=files,
        failed=failed,
        passed=run.failed is False and run.tests != "failed",
        tests=run.tests,
        line=_line(run) if failed else "",
        traits=traits_of(run, command, head),
        events=(call.key,) if result is None else (result.key,),
        at=(result or call).occurred_at,
        end=max(run.place, run.result_place),
    )


def _listed(value: object) -> Sequence[object]:
    return value if isinstance(value, list | tuple) else ()


def _line(run: Run) -> str:
    """The line that says what went wrong: the error's, else the first that is not the exit code."""
    if run.error is not None:
        return run.error.line
    text = _EXIT.sub("", present(run.result.text[:_LOOKED_AT]).strip()) if run.result is not None else ""
    return one_line(text.strip().split("\n", 1)[0], _LINE_CHARS)


def _active_at(events: Sequence[Event]) -> list[float]:
    """For each place the active seconds until then; long pauses are nobody's time."""
    found, total, last = [], 0.0, None
    for event in events:
        at = event.occurred_at if event.meta.get("time") != "file" else None
        if at is not None:
            gap = (at - last).total_seconds() if last is not None else 0.0
            total += gap if 0 < gap <= PAUSE_SECONDS else 0.0
            last = max(at, last or datetime.min.replace(tzinfo=UTC))
        found.append(total)
    return found


def _stops(events: Sequence[Event]) -> Iterable[Stop]:
    calls: dict[str, Event] = {}
    for place, event in enumerate(events):
        if event.meta.get("sidechain"):
            continue
        if event.kind in _CALLS:
            calls[str(event.meta.get("call") or event.key)] = event
        elif event.kind == "human_intervention" and event.origin == "user":
            yield Stop(event, place, calls.get(str(event.meta.get("call"))), event.text)
