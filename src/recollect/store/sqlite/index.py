"""The full-text entries of memories, gists and turns, and the queue of texts that wait for a vector.

What is indexed is computed from the rows, in the same transaction, both when an entry goes in and when it comes out:
call `drop` before the rows change and `add` after. All of it can be made again by `rebuild`.
"""

from __future__ import annotations

import json
from pathlib import Path

import apsw

from recollect.model import TIERS, Tier
from recollect.store.searchtext import INDEX_VERSION, index_text
from recollect.store.sql import load_queries
from recollect.store.sqlite import scoping

_Q = load_queries(Path(__file__).parent / "queries" / "index.sql")
TOOL_CHARS = 2_000  # of a tool's output, what is searched with its turn


def add(connection: apsw.Connection, tier: Tier, doc: int) -> None:
    """Make a row searchable now, and queue it for its vector."""
    entry, owner = _entry(connection, tier, doc)
    connection.execute(_Q[f"add_{tier}"], entry)
    connection.execute(_Q["count"], {"tier": tier, "by": 1})
    if tier == "turn":
        connection.execute(
            _Q["measure_turn"], {"doc": doc, "chars": len(str(entry["user"])) + len(str(entry["agent"]))}
        )
    connection.execute(_Q["wait"], {"tier": tier, "doc": doc, "owner": owner})


def drop(connection: apsw.Connection, tier: Tier, doc: int, *, vectors: bool) -> None:
    """Take a row out of the index; with `vectors`, its vectors too (else the new ones will replace them)."""
    entry, owner = _entry(connection, tier, doc)
    connection.execute(_Q[f"drop_{tier}"], entry)
    connection.execute(_Q["count"], {"tier": tier, "by": -1})
    if vectors:
        connection.execute(_Q["unwait"], {"tier": tier, "doc": doc})
        connection.execute(_Q["drop_vectors"], {"tier": tier, "doc": doc})
        connection.execute(_Q["rise_epoch"], {"owner": owner})


def rebuild(connection: apsw.Connection) -> dict[str, int]:
    """Every entry made again from the rows, in the caller's transaction."""
    counts: dict[str, int] = {}
    for tier in TIERS:
        connection.execute(_Q[f"clear_{tier}"])
        docs = [row[0] for row in connection.execute(_Q[_ALL[tier]])]
        for doc in docs:
            connection.execute(_Q[f"add_{tier}"], _entry(connection, tier, doc)[0])
        connection.execute(_Q["counted"], {"tier": tier, "rows": len(docs)})
        counts[tier] = len(docs)
    connection.execute(_Q["set_version"], {"version": INDEX_VERSION})
    return counts


def is_current(connection: apsw.Connection) -> bool:
    """Whether the index was made by the rule this version uses."""
    row = connection.execute(_Q["version"]).fetchone()
    return row is not None and row[0] == INDEX_VERSION


def turn_texts(rows: list[tuple[str, str]]) -> tuple[str, str]:
    """What the user said and what answered, from (role, text) of a turn's events in order."""
    user = [text for role, text in rows if role == "user"]
    agent = [text[:TOOL_CHARS] if role == "tool" else text for role, text in rows if role != "user"]
    return "\n".join(user), "\n".join(agent)


_ALL = {"memory": "all_memories", "gist": "all_gists", "turn": "all_turns"}


def _entry(connection: apsw.Connection, tier: Tier, doc: int) -> tuple[dict[str, object], int]:
    row = scoping.row(connection, _Q[tier], {"doc": doc})
    owner, project = row[1], row[2]
    entry: dict[str, object] = {"doc": doc, "scope": f"o{owner} o{owner}p{project or 0}"}
    if tier == "turn":
        events = list(connection.execute(_Q["turn_events"], {"doc": doc}))
        entry["user"], entry["agent"] = map(index_text, turn_texts(events))
    else:
        entry["content"] = index_text(row[3])
    if tier == "memory":
        entry["extra"] = index_text(" ".join([row[4] or "", *json.loads(row[5])]))
    return entry, owner
