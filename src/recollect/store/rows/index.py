"""The full-text entries of memories, gists and turns, and the queue of texts that wait for a vector.

What is indexed is computed from the rows, in the same transaction, both when an entry goes in and when it comes out:
call `drop` before the rows change and `add` after. All of it can be made again by `rebuild`.
"""

from __future__ import annotations

import json

from recollect.model import TIERS, Tier
from recollect.store.rows.tx import Tx
from recollect.store.searchtext import INDEX_VERSION

TOOL_CHARS = 2_000  # of a tool's output, what is searched with its turn
CALL_CHARS = 500  # … and of what it was called with


def add(tx: Tx, tier: Tier, doc: int) -> None:
    """Make a row searchable now, and queue it for its vector."""
    texts, owner = texts_of(tx, tier, doc)
    tx.put_words(tier, doc, owner, texts)
    tx.run("index.wait", {"tier": tier, "doc": doc, "owner": owner})


def drop(tx: Tx, tier: Tier, doc: int, *, vectors: bool) -> None:
    """Take a row out of the index; with `vectors`, its vectors too (else the new ones will replace them)."""
    owner = tx.take_words(tier, doc)
    if vectors:
        tx.run("index.unwait", {"tier": tier, "doc": doc})
        tx.run("index.drop_vectors", {"tier": tier, "doc": doc, "owner": owner})


def rebuild(tx: Tx) -> dict[str, int]:
    """Every entry made again from the rows this transaction sees."""
    counts: dict[str, int] = {}
    tx.run("index.forget_counts")
    for tier in TIERS:
        tx.run(f"index.clear_{tier}")
        docs = [row[0] for row in tx.run(f"index.all_{tier}")]
        for doc in docs:
            texts, owner = texts_of(tx, tier, doc)
            tx.put_words(tier, doc, owner, texts)
        counts[tier] = len(docs)
    return counts


def set_current(tx: Tx) -> None:
    """Note that the index was made by the rule this version uses."""
    tx.run("index.set_version", {"version": INDEX_VERSION})


def is_current(tx: Tx) -> bool:
    """Whether the index was made by the rule this version uses."""
    row = tx.run("index.version").fetchone()
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


def texts_of(tx: Tx, tier: Tier, doc: int) -> tuple[dict[str, str], int]:
    """What is searched of a row, by column, and whose it is."""
    row = tx.row(f"index.{tier}", {"doc": doc})
    if tier == "turn":
        user, agent = turn_texts(list(tx.run("index.turn_events", {"doc": doc})))
        return {"user": user, "agent": agent}, row[0]
    if tier == "gist":
        return {"content": row[1]}, row[0]
    return {"content": row[1], "extra": " ".join([row[2] or "", *json.loads(row[3])])}, row[0]
