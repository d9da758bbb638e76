"""What the pages of patterns tell: evidence side by side by agent, how a pattern read before, where it may be put.

In: somebody's memory and a pattern. Out: plain values for the templates. Every list is bounded.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

from markupsafe import Markup

from recollect.distill.fingerprint import fingerprint
from recollect.facade import Recollect
from recollect.learn.effectpage import told
from recollect.learn.measure import Rate, wilson
from recollect.model import Event
from recollect.pipeline.following import is_failure
from recollect.pipeline.measuring import Measured, Week
from recollect.project import top_of
from recollect.store.ports.learn import Pattern, PatternVersion, Sighting
from recollect.text import one_line
from recollect.web import plots
from recollect.web.marking import Change, Piece, around, changes, excerpt, marked, words_in
from recollect.web.paths import at_event, project_label, session_address

FEW, MANY = 3, 25  # sessions of one agent that are shown
_LOOKED = 200  # sessions that show a pattern which are looked at
_QUOTED, _EVENTS = 320, 2  # characters of an event, events of a session
_KNOWN_BY = 60  # characters by which an error's line is found again
_PLACES = 60  # directories that are offered
_WEEKS, _WEEK = 26, timedelta(days=7)
_COLOURS = (plots.BAD, plots.GOOD)  # of tasks that met it, and of those that did without
_NAMES, _NAME = 3, 30  # projects that are named, and characters of one
NOT_SHOWN = ("compaction", "injected_context")


class Quote(NamedTuple):
    """A line of a transcript: who said it, its words with those of the pattern marked, and where it stands."""

    who: str
    pieces: Sequence[Piece]
    address: str


class Seen(NamedTuple):
    """One session that shows a pattern."""

    session: str
    address: str
    project: str | None
    at: datetime
    times: int
    statement: str
    quotes: Sequence[Quote]


class Column(NamedTuple):
    """What the sessions of one agent show."""

    flavor: str
    sessions: int
    times: int
    seen: Sequence[Seen]


class Told(NamedTuple):
    """One version, and how its wording differs from the one before."""

    version: PatternVersion
    rule: Sequence[Change]
    statement: Sequence[Change]


class Place(NamedTuple):
    """A directory that sessions were run in, and what it is called in a form: a client never names a path."""

    name: str
    project: str | None
    directory: Path


class Effect(NamedTuple):
    """What became of a roll-out, in words and as plots."""

    measured: Measured
    told: str
    shares: Markup
    share_rows: Sequence[Sequence[str]]
    weeks: Markup | None
    legend: Markup
    week_rows: Sequence[Sequence[str]]
    means: Sequence[str]


def side_by_side(memory: Recollect, pattern: Pattern, *, most: int = FEW) -> list[Column]:
    """A column an agent, those with most sessions first."""
    found = memory.patterns.evidence(pattern.id, limit=_LOOKED)
    groups: dict[str, list[Sighting]] = {}
    for one in found:
        groups.setdefault(one.flavor, []).append(one)
    shown = {flavor: group[:most] for flavor, group in groups.items()}
    wanted = [key for group in shown.values() for one in group for key in one.events[:_EVENTS]]
    events = {event.key: event for event in memory.store.sessions.events(memory.scope, wanted)}
    words = words_in(pattern.statement)
    made = [
        Column(
            flavor,
            len(group),
            sum(one.count for one in group),
            [_seen(one, events, words) for one in shown[flavor]],
        )
        for flavor, group in groups.items()
    ]
    return sorted(made, key=lambda one: (-one.sessions, one.flavor))


def _seen(one: Sighting, events: Mapping[str, Event], words: re.Pattern[str] | None) -> Seen:
    there = [events[key] for key in one.events[:_EVENTS] if key in events]
    quotes = [_quote(event, words) for event in there if event.text.strip() and event.kind not in NOT_SHOWN]
    address = at_event(one.session, there[0].key) if there else session_address(one.session)
    return Seen(one.session, address, one.project, one.at, one.count, one.statement, quotes)


def _quote(event: Event, words: re.Pattern[str] | None) -> Quote:
    who = {"user": "user", "assistant": "agent"}.get(event.role, event.role)
    address = at_event(event.session, event.key)
    if event.kind == "tool_result" and is_failure(event.meta):
        return Quote(who, error_in(event.text.rstrip()), address)
    text = excerpt(event.text.strip(), words, _QUOTED)
    return Quote(who, marked(text, words), address)


def error_in(text: str) -> list[Piece]:
    """A failed tool's output around the line that says what went wrong, which is marked; its last when none does."""
    telling = fingerprint(text)
    start = end = len(text)
    if telling is not None:
        begins = telling.line.removesuffix("…")[:_KNOWN_BY]
        place = 0
        for line in text.split("\n"):
            if begins in one_line(line):
                start, end = place, place + len(line)
                break
            place += len(line) + 1
    if start == end:
        start = text.rfind("\n", 0, end) + 1
    end = min(end, start + _QUOTED)
    before, line, after = around(text, start, end, (_QUOTED - (end - start)) // 2)
    return [piece for piece in (Piece(before), Piece(line, True), Piece(after)) if piece.text]


def history(memory: Recollect, pattern: Pattern) -> list[Told]:
    """What was done to a pattern, the newest first, each with how its wording changed."""
    found = memory.patterns.history(pattern.id)
    made, rule, statement = [], "", ""
    for number, one in enumerate(found):
        new_rule = one.rule or ""
        made.append(
            Told(
                one,
                changes(rule, new_rule) if number and rule != new_rule else (),
                changes(statement, one.statement) if number and statement != one.statement else (),
            )
        )
        rule, statement = new_rule, one.statement
    return made[::-1]


# -- where it may be put -----------------------------------------------------------------------------------------------


def places(memory: Recollect, pattern: Pattern | None = None) -> list[Place]:
    """The directories of projects that sessions were run in and that are still there, the latest first.

    Those in which a pattern was seen come before the others.
    """
    found: dict[Path, Place] = {}
    for project, text in memory.store.sessions.directories(memory.scope)[: _PLACES * 4]:
        if len(found) >= _PLACES or not text.startswith("/") or text != os.path.normpath(text):
            continue
        directory = Path(text)
        try:
            top = (top_of(directory) or directory) if directory.is_dir() else None
        except OSError:
            continue
        if top is not None and top not in found and top not in (Path.home(), Path("/")):
            found[top] = Place(sha256(os.fsencode(top)).hexdigest()[:16], project, top)
    seen = pattern.projects if pattern is not None else ()
    return sorted(found.values(), key=lambda one: one.project not in seen)


def diff_lines(diff: str) -> list[tuple[str, str]]:
    """A unified diff line by line, each with what it is: add, cut, head or nothing."""
    made = []
    for line in diff.splitlines():
        kind = {"+": "add", "-": "cut", "@": "head", "\\": "head"}.get(line[:1], "")
        made.append((line, "head" if line.startswith(("+++", "---")) else kind))
    return made


# -- what became of it -------------------------------------------------------------------------------------------------


def effects(found: Iterable[Measured]) -> list[Effect]:
    """Each measured roll-out, the newest first."""
    return [_effect(one) for one in sorted(found, key=lambda one: one.since, reverse=True)]


def _effect(one: Measured) -> Effect:
    after = {"fewer": plots.GOOD, "more": plots.BAD}.get(one.effect.verdict, 0)
    parts: list[tuple[str, Rate | None, int]] = [
        ("before", one.effect.before, plots.PLAIN),
        ("after", one.effect.after, after),
        ("held back, before", one.effect.control_before, plots.PLAIN),
        ("held back, after", one.effect.control_after, plots.PLAIN),
    ]
    known = [(name, rate, colour) for name, rate, colour in parts if rate is not None]
    weeks = every_week(one.weeks, one.since)[-_WEEKS:]
    series = {
        "met it": [float(week.hits) for week in weeks],
        "did without": [float(week.tasks - week.hits) for week in weeks],
    }
    means = [
        f"{name} {span.value:+.1f} {unit} a task (95 % interval {span.low:+.1f} to {span.high:+.1f})"
        for name, span, unit in (("Time lost", one.seconds, "s"), ("Health", one.health, "points"))
        if span is not None
    ]
    return Effect(
        one,
        told(one.effect),
        plots.intervals([_range(*each) for each in known], "In how many of 100 tasks it happened"),
        [_share_row(name, rate) for name, rate, _ in known],
        _by_week(one, weeks, series) if weeks else None,
        plots.legend(series, _COLOURS),
        [(f"{week.begins:%Y-%m-%d}", str(week.hits), str(week.tasks)) for week in weeks],
        means,
    )


def every_week(found: Sequence[Week], since: datetime) -> list[Week]:
    """The weeks from the first to the last and to that of the roll-out, those without a task too."""
    if not found:
        return []
    known = {week.begins: week for week in found}
    begins, last = min(known), max(*known, since)
    made = []
    while begins <= last:
        made.append(known.get(begins, Week(begins, 0, 0)))
        begins += _WEEK
    return made


def _rolled_out(one: Measured, weeks: Sequence[Week]) -> tuple[float, str] | None:
    """Where among the weeks it was rolled out; None when that was before them."""
    place = (one.since - weeks[0].begins) / _WEEK
    return (place, f"rolled out {one.since:%b} {one.since.day}") if place >= 0 else None


def _by_week(one: Measured, weeks: Sequence[Week], series: Mapping[str, Sequence[float]]) -> Markup:
    names = [f"{week.begins:%b} {week.begins.day}" for week in weeks]
    return plots.columns(names, series, "Tasks by week", colours=_COLOURS, mark=_rolled_out(one, weeks))


def _range(name: str, rate: Rate, colour: int) -> plots.Range:
    if not rate.tasks:
        return plots.Range(name, None, None, None, "no tasks")
    span = wilson(rate).times(100)
    return plots.Range(name, span.value, span.low, span.high, f"{rate.hits} of {rate.tasks}", colour)


def _share_row(name: str, rate: Rate) -> tuple[str, ...]:
    span = wilson(rate).times(100)
    told_ = f"{span.low:.0f} to {span.high:.0f}" if rate.tasks else "–"
    return name, str(rate.hits), str(rate.tasks), f"{rate.per_100:.0f}" if rate.tasks else "–", told_


def cost_of(pattern: Pattern) -> str:
    """What a pattern cost, in words; nothing when that is not known."""
    spent = lasted(pattern.seconds) if pattern.seconds >= 1 else ""
    tokens = f"{pattern.tokens:,} tokens" if pattern.tokens else ""
    usd = f"${pattern.usd:,.2f}" if pattern.usd else ""
    return ", ".join(part for part in (spent, tokens, usd) if part)


def lasted(seconds: float) -> str:
    """Some time in few words: seconds while those tell more than minutes."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:,.1f} min" if seconds < 600 else f"{seconds / 60:,.0f} min"


def projects_of(pattern: Pattern) -> str:
    """Where it was seen, in words: of a path its end tells most."""
    shown = [project_label(one, _NAME) for one in pattern.projects[:_NAMES]]
    more = len(pattern.projects) - len(shown)
    return ", ".join(shown) + (f" and {more} more" if more else "") if shown else "none"


def named(pattern: Pattern) -> str:
    """A pattern in one short line, for a list to choose from."""
    return f"{one_line(pattern.statement, 90)} ({pattern.id})"
