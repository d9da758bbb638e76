"""The full-text entries of memories, gists and turns, and the queue of texts that wait for a vector.

What is indexed is computed from the rows, in the same transaction, both when an entry goes in and when it comes out:
call `drop` before the rows change and `add` after. All of it can be made again by `rebuild`.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

import apsw

from recollect.model import TIERS, Tier
from recollect.store.searchtext import INDEX_VERSION, index_text
from recollect.store.sql import load_queries
from recollect.store.sqlite import scoping

_Q = load_queries(Path(__file__).parent / "queries" / "index.sql")
_TOKENIZER = ["unicode61", "remove_diacritics", "2", "categories", "L* M* N* Co"]
TOOL_CHARS = 2_000  # of a tool's output, what is searched with its turn
CALL_CHARS = 500  # … and of what it was called with


def add(connection: apsw.Connection, tier: Tier, doc: int) -> None:
    """Make a row searchable now, and queue it for its vector."""
    entry, owner = _entry(connection, tier, doc)
    connection.execute(_Q[f"add_{tier}"], entry)
    connection.execute(_Q["count"], {"tier": tier, "owner": owner, "by": 1})
    connection.execute(_Q["wait"], {"tier": tier, "doc": doc, "owner": owner})


def drop(connection: apsw.Connection, tier: Tier, doc: int, *, vectors: bool) -> None:
    """Take a row out of the index; with `vectors`, its vectors too (else the new ones will replace them)."""
    entry, owner = _entry(connection, tier, doc)
    connection.execute(_Q[f"drop_{tier}"], entry)
    connection.execute(_Q["count"], {"tier": tier, "owner": owner, "by": -1})
    if vectors:
        connection.execute(_Q["unwait"], {"tier": tier, "doc": doc})
        connection.execute(_Q["drop_vectors"], {"tier": tier, "doc": doc})
        connection.execute(_Q["rise_epoch"], {"owner": owner})


def rebuild(connection: apsw.Connection) -> dict[str, int]:
    """Every entry made again from the rows, in the caller's transaction."""
    counts: dict[str, int] = {}
    connection.execute(_Q["forget_counts"])
    for tier in TIERS:
        connection.execute(_Q[f"clear_{tier}"])
        docs = [row[0] for row in connection.execute(_Q[_ALL[tier]])]
        for doc in docs:
            entry, owner = _entry(connection, tier, doc)
            connection.execute(_Q[f"add_{tier}"], entry)
            connection.execute(_Q["count"], {"tier": tier, "owner": owner, "by": 1})
        counts[tier] = len(docs)
    connection.execute(_Q["set_version"], {"version": INDEX_VERSION})
    return counts


def is_current(connection: apsw.Connection) -> bool:
    """Whether the index was made by the rule this version uses."""
    row = connection.execute(_Q["version"]).fetchone()
    return row is not None and row[0] == INDEX_VERSION


def turn_texts(rows: list[tuple[str, str]]) -> tuple[str, str]:
    """What the user said and what answered, from (speaker, text) of a turn's events in order.

    Of what answered, words come first, then what tools were called with, then what they gave, both clipped: an answer
    at the end of much work is still found and shown.
    """
    user = [text for who, text in rows if who == "user"]
    said = [text for who, text in rows if who not in ("user", "call", "tool")]
    called = [text[:CALL_CHARS] for who, text in rows if who == "call"]
    shown = [text[:TOOL_CHARS] for who, text in rows if who == "tool"]
    return "\n".join(user), "\n".join(said + called + shown)


_ALL = {"memory": "all_memories", "gist": "all_gists", "turn": "all_turns"}


def stems(connection: apsw.Connection, text: str) -> list[str]:
    """The words of a text as FTS5 folds and stems them."""
    tokenizer = connection.fts5_tokenizer("porter", _TOKENIZER)
    found = tokenizer(text.encode(), apsw.FTS5_TOKENIZE_DOCUMENT, None, include_offsets=False, include_colocated=False)
    return [str(token) for token in found]


def owned(owner: int, words: Iterable[str]) -> str:
    """Words as they stand in the index: each behind the number of its owner."""
    return " ".join([f"{owner}x{word}" for word in words])


def _entry(connection: apsw.Connection, tier: Tier, doc: int) -> tuple[dict[str, object], int]:
    """What goes into the index for a row, and whose it is."""
    row = scoping.row(connection, _Q[tier], {"doc": doc})
    owner = row[0]

    def words(text: str) -> str:
        return owned(owner, stems(connection, index_text(text)))

    if tier == "turn":
        user, agent = turn_texts(list(connection.execute(_Q["turn_events"], {"doc": doc})))
        return {"doc": doc, "user": words(user), "agent": words(agent)}, owner
    if tier == "gist":
        return {"doc": doc, "content": words(row[1])}, owner
    return {"doc": doc, "content": words(row[1]), "extra": words(" ".join([row[2] or "", *json.loads(row[3])]))}, owner
