"""How a hit, a memory, a session and an event look as text: lines of spans for `Output`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime
from typing import TYPE_CHECKING
from unicodedata import east_asian_width

from recollect.cli.output import Span
from recollect.cli.wording import counted
from recollect.clock import age_label, now
from recollect.model import SAID, Event, Gist, Hit, Memory, Session
from recollect.text import one_line, present

if TYPE_CHECKING:
    from recollect.distill.digest import Digest
    from recollect.recall.belief import Belief, Quote
    from recollect.recall.usefulness import Usage

Line = list[Span]
MEMORY_COLUMNS = ("id", "kind", "when", "said by", "content")
SHOWN_CHARS = 700
_LOOKED_AT = 100_000  # characters of a text in which words are looked for
_STEM = 5  # characters in which a word and its inflections usually agree
_BAR = 20
_MOST_SAID, _MOST_SHOWN = 10, 5


def hit_lines(hit: Hit, *, explain: bool = False) -> Iterator[Line]:
    """`[kind] content`, its tags and why, then where it comes from; with `explain` the parts of its score."""
    yield [(f"[{hit.kind or hit.tier}]", "bold cyan"), " ", present(hit.content).strip()]
    yield from _reasons(hit.tags, hit.why)
    for note in hit.notes:
        yield [("- note: ", "yellow"), one_line(note)]
    yield [("  " + " · ".join([*_source(hit), f"score {hit.score:.2f}"]), "dim")]
    if explain:
        for name in ("lexical", "semantic", "importance", "recency"):
            yield _bar(name, getattr(hit.parts, name))
        if hit.parts.use:
            yield [("    use        ", "dim"), f"{hit.parts.use:+.2f} ", ("how useful it proved", "dim")]
        yield _bar("final", hit.parts.final)


def _source(hit: Hit) -> Iterator[str]:
    """Where a hit is from. A turn is said by more than one, and a gist by nobody."""
    session = f"session {one_line(hit.session or hit.id, 60)}"
    if hit.tier != "memory":
        yield from () if hit.id == hit.session else (hit.id,)
        yield "turn" if hit.tier == "turn" else f"made from {session}"
        yield f"{hit.occurred_at:%Y-%m-%d} ({hit.age})"
        yield from (session,) if hit.tier == "turn" else ()
        return
    yield from (hit.id, hit.age, f"shared, {hit.trust}" if hit.context else said_by(hit.origin, hit.trust))
    yield from (session,) if hit.session else ()
    yield from (f"superseded by {hit.superseded_by}",) if hit.superseded_by else ()


def around(text: str, question: str, limit: int) -> str:
    """The text on one line, of a long one what stands around the question's words."""
    from recollect.store.searchtext import query_terms

    line = one_line(text[:_LOOKED_AT])
    if not line.isascii() and any(east_asian_width(char) in "WF" for char in line):
        limit //= 2  # such a character takes two places
    if len(line) <= limit:
        return line
    stems = "|".join(re.escape(term[:_STEM]) for term in query_terms(question))
    found = [(match.start(), match[0].lower()) for match in re.finditer(stems, line, re.IGNORECASE)] if stems else []
    starts = [max(0, place - limit // 5) for place, _ in found[:200]] or [0]
    start = max(starts, key=lambda at: (len({word for place, word in found if at <= place < at + limit}), -at))
    start = max(0, min(start, len(line) - limit))
    if start == 0:
        return one_line(line, limit)
    return "…" + one_line(line[start + 1 :], limit - 1)


def memory_lines(memory: Memory) -> Iterator[Line]:
    """Everything about a memory but its history."""
    yield [(f"[{memory.kind}]", "bold cyan"), " ", memory.content]
    yield from _reasons(memory.tags, memory.why)
    yield from _fields(
        ("id", memory.id),
        ("project", memory.project or "none"),
        ("said by", said_by(memory.origin, memory.trust).removeprefix("said by ")),
        ("made by", None if memory.maker == SAID else memory.maker),
        ("confirmed", _at(memory.confirmed_at)),
        ("pinned", "agents are told it before all else" if memory.pinned else None),
        ("session", memory.session),
        ("when", _at(memory.occurred_at, f" ({age_label(memory.occurred_at, now())})")),
        ("recorded", _at(memory.recorded_at)),
        ("importance", f"{memory.importance:g}"),
        ("confidence", f"{memory.confidence:g}"),
        ("read", counted(memory.access_count, "times")),
        ("version", str(memory.version)),
        ("expires", _at(memory.expires_at)),
        ("archived", _at(memory.archived_at, "; `recollect undo` puts it back")),
        ("superseded", _at(memory.superseded_at, f" by {memory.superseded_by}")),
        ("forgotten", _at(memory.deleted_at, ", softly; `recollect undo` brings it back")),
        ("anchors", ", ".join(memory.anchors)),
    )


def said_by(origin: str, trust: str) -> str:
    """Who said it, and how far that is trusted where it does not go without saying."""
    if trust == "user" and origin != "user":
        return f"said by {origin}, confirmed by user"
    return f"said by {origin}" + ("" if trust == origin else f", {trust}")


def belief_lines(told: Belief) -> Iterator[Line]:
    """Why a memory is believed: who said what, how it read before, what says otherwise, what became of its anchors."""
    for quote in told.quotes:
        yield from _quote_lines(quote)
    for saying in told.said[1:]:
        who = "confirmed by user" if saying.confirmed else said_by(saying.origin, saying.trust)
        where = f", session {one_line(saying.session, 60)}" if saying.session else ""
        yield _linked("again", f"{who}, {_at(saying.at)}{where}")
    for finding in told.findings:
        yield _linked("note", finding.note)
    for old in told.versions:
        yield _linked(f"version {old.version}", f"until {_at(old.until)}: {old.content}")
    for name, others in (
        ("disputed", told.disputes),
        ("merged", told.merged),
        ("superseded", told.superseded),
        ("superseded by", told.successors),
    ):
        for one in others:
            yield _linked(name, f"{one.id}: {one.content} ({said_by(one.origin, one.trust)}, {_at(one.occurred_at)})")
    if told.usage is not None:
        yield from usage_lines(told.usage)
    above = {one.id for one in (*told.merged, *told.superseded, *told.successors)}
    for related in told.relations:
        if (one := related.memory).id not in above:
            yield _linked(related.what, f"{one.id}: {one.content} ({said_by(one.origin, one.trust)})")


def usage_lines(told: Usage) -> Iterator[Line]:
    """How useful a memory proved, what was said of it, and where it was shown lately."""
    if told.feedback:
        yield _linked("useful", f"{told.usefulness:+.2f} of 1")
    for one in told.feedback[:_MOST_SAID]:
        where = f", session {one_line(one.session, 60)}" if one.session else ""
        note = f": {one_line(one.note, 200)}" if one.note else ""
        who = "by what the session shows" if one.source == "digest" else f"by {one.source}"
        yield _linked(one.verdict, f"{who}, {_at(one.at)}{where}{note}")
    for shown in told.injections[:_MOST_SHOWN]:
        what = f"{shown.host}, at a {shown.event}, {_at(shown.at)}, session {one_line(shown.session, 60)}"
        yield _linked("shown to", f"{what}, block {shown.block}")
    if len(told.injections) > _MOST_SHOWN:
        yield _linked("shown to", "… and before")


def _quote_lines(quote: Quote) -> Iterator[Line]:
    if quote.text is None:
        yield _linked("evidence", f"session {quote.span.session}: what was said is not here any more")
        return
    yield _linked("evidence", f"said by {quote.origin}, {_at(quote.at)}, session {quote.span.session}")
    yield [" " * 14, "“", _shortened(one_line(quote.text), quote.span.session), "”"]


def _linked(name: str, text: str) -> Line:
    return ["  ", (f"{name:<11}", "dim"), " ", one_line(text)]


def session_lines(session: Session) -> Iterator[Line]:
    """What is known about a session."""
    yield [(f"[{session.flavor}]", "bold cyan"), " ", session.title or session.id]
    yield from _fields(
        ("id", session.id),
        ("project", session.project or "none"),
        ("started", _at(session.started_at)),
        ("ended", _at(session.ended_at)),
        ("turns", str(session.turns)),
        ("parent", f"{session.parent} ({session.relation})" if session.parent else None),
        ("directory", session.cwd),
        ("branch", session.branch),
        ("models", ", ".join(session.models)),
        ("agent", session.agent_version),
    )


def digest_lines(digest: Digest) -> Iterator[Line]:
    """What a captured session was."""
    sure = f" ({digest.certainty:.0%} certain: {', '.join(digest.outcome_reasons)})" if digest.outcome_reasons else ""
    tests, cost = digest.tests, digest.cost
    usd = f", {cost.usd:.2f} USD ({cost.usd_source})" if cost.usd is not None else ""
    met = [f"{digest.corrections} corrections", f"{digest.interruptions} interruptions", f"{digest.retries} retries"]
    yield [("[digest]", "bold cyan"), " ", digest.goal or "no goal was said"]
    yield from _fields(
        ("outcome", f"{digest.outcome}{sure}"),
        ("time", f"{digest.active_seconds / 60:.0f} active minutes of {digest.wall_seconds / 60:.0f}"),
        ("tests", f"{tests.runs} runs, {tests.failed} failed, the last one {tests.last}" if tests.runs else None),
        ("edited", ", ".join(list(digest.files_edited)[:8])),
        ("commands", ", ".join(one.command for one in digest.commands[:5])),
        ("met", ", ".join(part for part in met if not part.startswith("0 "))),
        ("cost", f"{cost.tokens:,} tokens in {cost.requests:,} requests{usd}" if cost.requests else None),
    )
    for error in digest.errors[:5]:
        state = "resolved" if error.resolved else "open"
        yield [
            "  ",
            (f"{'error':<11}", "dim"),
            f" {one_line(error.line, 120)} ",
            (f"({error.count} x, {state})", "dim"),
        ]


def gist_lines(gist: Gist) -> Iterator[Line]:
    """The gist of a session."""
    yield [("[gist]", "bold cyan"), " ", gist.content]
    yield [(f"  made by {gist.maker}, {age_label(gist.created_at, now())}", "dim")]


def event_lines(event: Event) -> Iterator[Line]:
    """One message."""
    style = "bold green" if event.role == "user" else "bold blue"
    yield [(event.role, style), (f"  {event.occurred_at:%Y-%m-%d %H:%M}", "dim")]
    yield [event.text.rstrip()]
    yield [""]


def memory_row(memory: Memory) -> list[str]:
    """A memory in a table, under MEMORY_COLUMNS."""
    who = said_by(memory.origin, memory.trust).removeprefix("said by ")
    return [memory.id, memory.kind, age_label(memory.occurred_at, now()), who, one_line(memory.content, 100)]


def session_row(session: Session, about: str) -> list[str]:
    """A session in a table: id, last active, turns, and what it is about."""
    age = age_label(session.ended_at, now()) if session.ended_at else ""
    return [session.id, age, str(session.turns), one_line(about, 80)]


def _reasons(tags: tuple[str, ...], why: str | None) -> Iterator[Line]:
    if tags:
        yield ["- tags: ", ", ".join(tags)]
    if why:
        yield ["- why: ", one_line(why)]


def _fields(*fields: tuple[str, str | None]) -> Iterator[Line]:
    for name, value in fields:
        if value:
            yield ["  ", (f"{name:<11}", "dim"), " ", one_line(value)]


def _at(moment: datetime | None, more: str = "") -> str | None:
    return None if moment is None else f"{moment:%Y-%m-%d %H:%M} UTC{more}"


def _shortened(text: str, id_: str) -> str:
    text = present(text).strip()
    return text if len(text) <= SHOWN_CHARS else f"{text[:SHOWN_CHARS].rstrip()} … (`recollect show {id_}` for all)"


def _bar(name: str, value: float | None) -> Line:
    if value is None:
        return [(f"    {name:<11}", "dim"), ("not looked at", "dim")]
    filled = round(max(0.0, min(1.0, value)) * _BAR)
    style = "bold magenta" if name == "final" else "cyan"
    return [(f"    {name:<11}", "dim"), ("█" * filled, style), ("░" * (_BAR - filled), "dim"), f" {value:.2f}"]
