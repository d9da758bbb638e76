"""Search over rows: what every database does alike. The legs themselves, by words and by vectors, are its own.

Both legs apply the filter before they count to their limit: a narrow filter still gets the best that it lets through.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from recollect.clock import from_iso
from recollect.errors import StoreCorrupt
from recollect.model import Scope, Tier
from recollect.store.ports.memories import Filter
from recollect.store.ports.search import Document, Match, Surroundings
from recollect.store.rows import index
from recollect.store.rows.memories import filter_params, memory_of
from recollect.store.rows.tx import Database, Rows, Tx
from recollect.text import content_hash

FEW = 200  # documents under which every word is looked for
COMMON = 5  # a word that one text of so many holds costs most and says least …
_COMMON_IN = 5_000  # … and so does one that so many hold, of however many


def most_holding(size: int) -> int:
    """Of so many documents, how many may hold a word that tells something."""
    return size if size < FEW else min(size // COMMON, _COMMON_IN)


class RowSearch:
    """The documents behind what the legs find, and the turns around them."""

    def __init__(self, database: Database) -> None:
        self._db = database

    def documents(self, scope: Scope, tier: Tier, docs: Sequence[int]) -> list[Document]:
        """The documents themselves, in the order asked for; one that fails its hash is left out."""
        with self._db.read(scope) as tx:
            rows = tx.rows
            if rows is None or not docs:
                return []
            params: dict[str, object] = {**rows.params(), "docs": tx.many(docs)}
            found = tx.run(f"search.documents_{tier}", params).fetchall()
            if tier == "memory":
                made = {row[0]: _memory_document(row) for row in found}
            elif tier == "gist":
                made = {row[0]: _gist_document(row) for row in found}
            else:
                events = _events_by_turn(tx, params)
                made = {row[0]: _turn_document(row, events[row[0]]) for row in found if row[0] in events}
        return [document for doc in docs if (document := made.get(doc)) is not None]

    def around(self, scope: Scope, docs: Sequence[int]) -> list[Surroundings]:
        """The turns beside each of these turns."""
        with self._db.read(scope) as tx:
            rows = tx.rows
            if rows is None or not docs:
                return []
            params = {**rows.params(), "docs": tx.many(docs)}
            return [Surroundings(*row) for row in tx.run("search.around", params)]


def visible(tx: Tx, rows: Rows, tier: Tier, docs: Sequence[int]) -> list[int]:
    """Those of an owner's documents that the scope may see: a project narrows them."""
    if rows.any_project:
        return list(docs)
    return [row[0] for row in tx.run(f"search.visible_{tier}", {**rows.params(), "docs": tx.many(docs)})]


def seen_of(tx: Tx, rows: Rows, tier: Tier, found: Sequence[Match]) -> list[Match]:
    """Those of an owner's matches that the scope may see."""
    if rows.any_project:
        return list(found)
    seen = frozenset(visible(tx, rows, tier, [one.doc for one in found]))
    return [one for one in found if one.doc in seen]


def search_filter(tx: Tx, rows: Rows, where: Filter) -> dict[str, object]:
    return {
        **filter_params(tx, rows, where),
        "session_row": _session_row(tx, rows.owner, where.session),
        "exclude_row": _session_row(tx, rows.owner, where.exclude_session),
    }


def _session_row(tx: Tx, owner: int, session: str | None) -> int | None:
    """The session's row number: None for no session, -1 (matches nothing) for an unknown one."""
    if session is None:
        return None
    return tx.one("search.session_row", {"owner": owner, "id": session}) or -1


def _memory_document(row: tuple[Any, ...]) -> Document | None:
    try:
        memory = memory_of(row)
    except StoreCorrupt:
        return None
    told = (memory.id, memory.session, memory.project, memory.content, memory.origin, memory.occurred_at)
    return Document("memory", row[0], *told, memory.importance, memory)


def _gist_document(row: tuple[Any, ...]) -> Document:
    doc, session, project, content, occurred = row
    return Document("gist", doc, session, session, project, content, "assistant", from_iso(occurred))


def _events_by_turn(tx: Tx, params: dict[str, object]) -> dict[int, list[tuple[str, str]]]:
    events: dict[int, list[tuple[str, str]]] = defaultdict(list)
    damaged = set()
    for turn, role, text, digest in tx.run("search.turn_events", params):
        events[turn].append((role, text))
        if bytes.fromhex(content_hash(text)) != digest:
            damaged.add(turn)
    return {turn: rows for turn, rows in events.items() if turn not in damaged}


def _turn_document(row: tuple[Any, ...], events: list[tuple[str, str]]) -> Document:
    doc, key, session, project, occurred, _ = row
    user, agent = index.turn_texts(events)
    content = f"user: {user}\nassistant: {agent}" if user and agent else user or agent
    return Document(
        "turn", doc, key.hex(), session, project, content, "user" if user else "assistant", from_iso(occurred)
    )
