"""The full-text entries of memories, gists and turns, and the queue of texts that wait for a vector.

What is indexed is computed from the rows, in the same transaction, both when an entry goes in and when it comes out:
call `drop` before the rows change and `add` after. All of it can be made again by `rebuild`.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

from recollect.model import TIERS, Tier
from recollect.store.rows.tx import Tx
from recollect.store.searchtext import INDEX_VERSION

TOOL_CHARS = 2_000  # of a tool's output, what is searched with its turn
_BATCH = 500  # rows made searchable at a time
CALL_CHARS = 500  # … and of what it was called with


def add(tx: Tx, tier: Tier, doc: int) -> None:
    """Make a row searchable now, and queue it for its vector."""
    texts, owner = texts_of(tx, tier, doc)
    tx.put_words(tier, doc, owner, texts)
    tx.run("index.wait", {"tier": tier, "doc": doc, "owner": owner})


def add_many(tx: Tx, tier: Tier, docs: Sequence[int]) -> None:
    """Make many rows searchable now, and queue them for their vectors."""
    for at in range(0, len(docs), _BATCH):
        batch = docs[at : at + _BATCH]
        tx.put_many_words(tier, texts_of_many(tx, tier, batch))
        tx.run(f"index.wait_{tier}", {"docs": tx.many(batch)})


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
        for at in range(0, len(docs), _BATCH):
            tx.put_many_words(tier, texts_of_many(tx, tier, docs[at : at + _BATCH]))
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


def texts_of_many(tx: Tx, tier: Tier, docs: Sequence[int]) -> list[tuple[int, int, dict[str, str]]]:
    """Document, owner and what is searched of it, for many rows of a tier."""
    rows = tx.run(f"index.texts_{tier}", {"docs": tx.many(docs)}).fetchall()
    if tier == "gist":
        return [(doc, owner, {"content": content}) for doc, owner, content in rows]
    if tier == "memory":
        return [(doc, owner, _memory_texts(*texts)) for doc, owner, *texts in rows]
    owners = {doc: owner for doc, owner, _, _ in rows}
    said: dict[int, list[tuple[str, str]]] = {doc: [] for doc in owners}
    for doc, _, who, text in rows:
        if who is not None:
            said[doc].append((who, text))
    found = {doc: turn_texts(spoken) for doc, spoken in said.items()}
    return [(doc, owners[doc], {"user": user, "agent": agent}) for doc, (user, agent) in found.items()]


def _memory_texts(content: str, why: str | None, tags: str) -> dict[str, str]:
    return {"content": content, "extra": " ".join([why or "", *json.loads(tags)])}


def texts_of(tx: Tx, tier: Tier, doc: int) -> tuple[dict[str, str], int]:
    """What is searched of a row, by column, and whose it is."""
    row = tx.row(f"index.{tier}", {"doc": doc})
    if tier == "turn":
        user, agent = turn_texts(list(tx.run("index.turn_events", {"doc": doc})))
        return {"user": user, "agent": agent}, row[0]
    if tier == "gist":
        return {"content": row[1]}, row[0]
    return _memory_texts(*row[1:]), row[0]
