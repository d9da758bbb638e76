"""What was merged into a memory that goes: it takes that one's place, so that what was said twice is not lost with one.

The wordings of a memory are asked for before it goes, and take its place after: where it held they hold, where it was
superseded or put away so are they. One that says the very same as another that holds is merged into that.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from recollect.clock import from_iso, iso
from recollect.store.rows.audit import audit
from recollect.store.rows.tx import Rows, Tx

_MERGED, _BY_RULE = "merged", "by_rule"  # what `meta` says of how a memory ended


@dataclass(frozen=True, slots=True)
class Wordings:
    """The memories that were merged into one, by their ids, and how that one stood."""

    of: str
    ids: tuple[str, ...]
    by: str | None
    ended_at: datetime | None
    archived_at: datetime | None
    marks: dict[str, Any]


def wordings_of(tx: Tx, owner: int, memory_id: str) -> Iterator[Wordings]:
    """What was merged into a memory that is about to go, if anything was."""
    ids = tuple(id_ for (id_,) in tx.run("keeping.merged_into", {"owner": owner, "id": memory_id}))
    if not ids:
        return
    by, ended, archived, meta = tx.row("keeping.standing", {"owner": owner, "id": memory_id})
    marks = {name: value for name, value in json.loads(meta).items() if name in (_MERGED, _BY_RULE)}
    yield Wordings(memory_id, ids, by, ended and from_iso(ended), archived and from_iso(archived), marks)


def all_wordings(tx: Tx, owner: int, memory_id: str) -> list[str]:
    """Every memory that was merged into one, also by way of others."""
    found = [memory_id]
    for one in found:  # grows while it is gone through
        ids = [id_ for (id_,) in tx.run("keeping.merged_into", {"owner": owner, "id": one})]
        found += [id_ for id_ in ids if id_ not in found]
    return found[1:]


def release(tx: Tx, owner: int, left: Iterable[Wordings], at: datetime) -> list[str]:
    """Let them take the place of what is gone; returns the ids of those that hold again."""
    back = []
    for one in left:
        for id_ in one.ids:
            if _take_place(tx, owner, id_, one, at):
                back.append(id_)
    return back


def _take_place(tx: Tx, owner: int, id_: str, gone: Wordings, at: datetime) -> bool:
    """False when it went too, or does not hold by itself."""
    found = tx.run("keeping.standing", {"owner": owner, "id": id_}).fetchone()
    if found is None:
        return False
    meta = {name: value for name, value in json.loads(found[3]).items() if name not in (_MERGED, _BY_RULE)}
    by, ended, marks = gone.by, gone.ended_at, gone.marks
    there = by is not None and tx.one("keeping.memory", {**Rows(owner, None).params(), "id": by}) is not None
    if not there:
        by = None
        if _MERGED in marks:  # into what is gone too
            ended, marks = None, {}
    if ended is None and (twin := tx.run("keeping.twin_of", {"owner": owner, "id": id_}).fetchone()):
        by, ended, marks = twin[0], at, {_MERGED: {"into": twin[0], "lent": []}}
    tx.run(
        "keeping.stand",
        {
            "owner": owner,
            "id": id_,
            "by": by,
            "meta": json.dumps({**meta, **marks}, ensure_ascii=False),
            "ended_at": ended and iso(ended),
            "archived_at": gone.archived_at and iso(gone.archived_at),
        },
    )
    audit(tx, owner, at, "reinstate", id_, {"from": gone.of})
    return ended is None and gone.archived_at is None
