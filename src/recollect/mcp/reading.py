"""The tools that read: a memory and checked arguments in, the text of the result out."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from recollect.clock import now
from recollect.errors import InvalidInput
from recollect.inject.excerpt import excerpt
from recollect.inject.hosts import HOSTS, compiled
from recollect.inject.quote import label, quote
from recollect.inject.selection import INJECTABLE, STANDING, ranked, select
from recollect.mcp import rows
from recollect.model import MAX_TAG_CHARS, TIERS, Evidence, Hit, Memory, Recall, Turn
from recollect.recall.credit import credit_of, shared_note

if TYPE_CHECKING:
    from recollect.facade import Recollect

Arguments = dict[str, Any]
_EVIDENCE, _VERSIONS, _CHAIN = 3, 5, 5
_STANDING = 1_000  # memories among which the standing ones are chosen
_PART = 12_000  # bytes of one text in a result that may hold several


def search(memory: Recollect, given: Arguments) -> str:
    """Short rows; without a query, the newest memories."""
    query, limit, tier = given.pop("query", ""), given.pop("limit", 10), given.pop("tier", None)
    contexts = _contexts(memory, given, query)
    where = filters(given)
    if not query:
        newest = memory.memories(limit, **where)
        entries, how = [rows.memory_row(one, now()) for one in newest], "the newest memories"
    else:
        found = memory.recall(query, limit, tiers=(tier,) if tier else TIERS, contexts=contexts, **where)
        entries, how = [rows.hit_row(hit, query) for hit in found.hits], searched(found)
    if not entries:
        return nothing(how)
    return rows.page(entries, f"[{rows.counted(len(entries), 'row')}, {how}; memory_get gives the full text]")


def recall(memory: Recollect, given: Arguments) -> str:
    """Records in full, as `[type] content`."""
    return records_text(records(memory, given))


def records(memory: Recollect, given: Arguments) -> Recall:
    """The records for a question; a project tag is a tag or the name of a project."""
    query, limit = given["query"], given.get("limit", 5)
    kinds = [given["record_type"]] if "record_type" in given else None
    tag = given.get("project_tag")
    tags = [tag] if tag and len(tag) <= MAX_TAG_CHARS else None
    found = memory.recall(query, limit, kinds=kinds, tags=tags, project=None if tags else tag)
    if tags and not found.hits:
        found = memory.recall(query, limit, kinds=kinds, project=tag)
    return found


def records_text(found: Recall) -> str:
    """Records as an agent reads them."""
    if not found.hits:
        return nothing(searched(found))
    return rows.page(_record(hit, found.query) for hit in found.hits)


def _record(hit: Hit, query: str) -> str:
    return rows.record(hit.kind or hit.tier, excerpt(hit.content, query), hit.tags, hit.why)


def context(memory: Recollect, given: Arguments) -> str:
    """One block of the best of it, smaller where its letters take more bytes than usual."""
    query, most = given.pop("query", ""), given.pop("max_tokens", 1_500)
    contexts = _contexts(memory, given, query)
    where = filters(given)
    if not query:
        return _standing(memory, most, where)
    where["contexts"] = contexts
    made = memory.context(query, most, **where)
    while rows.size(made.text) > rows.MAX_BYTES and most > 1:
        most = max(1, min(most - 1, most * rows.MAX_BYTES // rows.size(made.text)))
        made = memory.context(query, most, **where)
    return made.text or nothing(made.note or "nothing was recalled")


def _standing(memory: Recollect, most: int, where: Arguments) -> str:
    """What is put before an agent at the start of a session, for one whose host cannot do that."""
    kinds = {"kinds": STANDING, **where}
    known = memory.memories(_STANDING, trusts=INJECTABLE, **kinds)
    block = compiled(select(ranked(known, now()), now()), HOSTS["prompt"], most)
    return block.text or "[nothing is always worth knowing here yet; give a query]"


# -- in full -----------------------------------------------------------------------------------------------------------


def get(memory: Recollect, given: Arguments) -> str:
    """Each id in full: memories with evidence and history, turns, sessions by their gist."""
    start = given.get("start", 0)
    missing = []
    entries = []
    for id_ in given["ids"]:
        found = _entry(memory, id_, start)
        if found is None:
            missing.append(label(id_, 80))
        else:
            entries.append(found)
    closing = [f"[nothing here has the id {id_}]" for id_ in missing]
    return rows.page(entries, *closing) if entries else "\n".join(closing)


def _entry(memory: Recollect, id_: str, start: int) -> str | None:
    kept = memory.store.memories.get(memory.scope, id_)
    if kept is not None:
        return f"[{kept.id} was forgotten]" if kept.deleted_at is not None else _memory(memory, kept, start)
    turn = memory.turn(id_)
    if turn is not None:
        return _turn(turn, start)
    return _session(memory, id_) or _shared(memory, id_, start)


def _shared(memory: Recollect, id_: str, start: int) -> str | None:
    """A memory of a context that the user shares with others."""
    found = memory.contexts.get(id_)
    if found is None:
        return None
    context, kept = found
    note = f"[{label(shared_note(context.name, credit_of(kept)))}]"
    return "\n".join([rows.memory_head(kept, now()), note, _part(kept.content, start), *rows.reasons(kept)])


def _memory(memory: Recollect, kept: Memory, start: int) -> str:
    lines = [rows.memory_head(kept, now()), _part(kept.content, start), *rows.reasons(kept)]
    for span in kept.evidence[:_EVIDENCE]:
        lines += _evidence(memory, span)
    lines += [rows.version_row(old) for old in memory.versions(kept.id)[-_VERSIONS:]]
    lines += [
        f"[superseded by {new.id}, {new.occurred_at:%Y-%m-%d}]\n> {rows.line(new.content, 500)}"
        for new in _successors(memory, kept)
    ]
    return "\n".join(lines)


def _part(text: str, start: int) -> str:
    """A text from a character on, quoted; where it has to be cut, how to read on."""
    shown = rows.cut(text[start : start + _PART], _PART, quote)
    end = start + len(shown)
    more = f"\n[cut: characters {start:,} to {end:,} of {len(text):,}; start={end} reads on]" if end < len(text) else ""
    return (quote(shown) if shown else "[nothing from there on]") + more


def _evidence(memory: Recollect, span: Evidence) -> Iterator[str]:
    yield f"[evidence: session {label(span.session, 255)}" + (f", event {span.event}]" if span.event else "]")
    if span.event is None:
        return
    for event in memory.history(span.session):
        if event.key == span.event:
            yield f"[said by {event.origin}, {event.occurred_at:%Y-%m-%d %H:%M} UTC]"
            yield f"> {rows.line(event.text[span.start or 0 : span.end], 500)}"


def _successors(memory: Recollect, kept: Memory) -> Iterator[Memory]:
    """What took its place, and what took the place of that."""
    seen, current = {kept.id}, kept
    while current.superseded_by and current.superseded_by not in seen and len(seen) <= _CHAIN:
        seen.add(current.superseded_by)
        following = memory.store.memories.get(memory.scope, current.superseded_by)
        if following is None:
            return
        yield following
        current = following


def _turn(turn: Turn, start: int) -> str:
    head = f"[{turn.id} · turn · {turn.occurred_at:%Y-%m-%d %H:%M} UTC · session {label(turn.session, 255)}]"
    text = f"user: {turn.user_text}" + (f"\nassistant: {turn.agent_text}" if turn.agent_text else "")
    return f"{head}\n{_part(text, start)}"


def _session(memory: Recollect, id_: str) -> str | None:
    session = memory.store.sessions.get(memory.scope, id_)
    if session is None:
        return None
    when = f"{session.started_at:%Y-%m-%d %H:%M} UTC" if session.started_at else "no time"
    lines = [f"[{label(id_, 255)} · session · {when} · {rows.counted(session.turns, 'turn')}]"]
    lines += [f"> {rows.line(session.title)}"] if session.title else []
    gist = memory.gist(id_)
    lines += [quote(gist.content)] if gist else []
    made = memory.memories(20, session=id_)
    return "\n".join([*lines, *(rows.memory_row(one, now()) for one in made)])


# -- words shared ------------------------------------------------------------------------------------------------------


def _contexts(memory: Recollect, given: Arguments, query: str) -> list[str]:
    """The shared contexts to ask: those that are named, else those that the user switched on for agents."""
    named = given.pop("contexts", None)
    if named and not query:
        raise InvalidInput("contexts are asked with a query")
    return named or [one.id for one in memory.contexts.switched_on()]


def filters(given: Arguments) -> Arguments:
    """What narrows a search, under the names the façade has."""
    where = dict(given)
    if "kind" in where:
        where["kinds"] = [where.pop("kind")]
    return where


def searched(found: Recall) -> str:
    """How the search was made, and why not better."""
    how = "searched by words alone" if found.mode == "lexical" else "searched by words and meaning"
    return how + (f" ({label(found.note, 200)})" if found.note else "")


def nothing(how: str) -> str:
    """The answer when there is none."""
    return f"[nothing is remembered about that; {how}]"
