"""Figures by day: each answer is one bounded statement that stays within an index, or a handful of them."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from recollect.clock import iso
from recollect.model import KINDS, TIERS, Scope
from recollect.store.ports.insights import (
    FILES,
    KEPT_DAYS,
    MOST,
    NEWEST,
    FlavorCoverage,
    MemoryDay,
    Names,
    Newest,
    Read,
    RecallDay,
    SessionDay,
    Storage,
    Taken,
    TaskCount,
    TierSize,
    Window,
)
from recollect.store.rows.tx import Database, Rows, Tx, project_row

_KEY_BYTES = 16


class RowInsights:
    """What a scope did, in figures."""

    def __init__(self, database: Database) -> None:
        self._db = database

    def memories(self, scope: Scope, window: Window) -> list[MemoryDay]:
        """Memories by kind."""
        with self._db.read(scope) as tx:
            if tx.rows is None:
                return []
            params = {**_params(tx, tx.rows, window), "kinds": json.dumps(KINDS)}
            return [MemoryDay(day, kind, int(count)) for day, kind, count in tx.run("insights.memories", params)]

    def newest(self, scope: Scope, window: Window, *, limit: int = NEWEST, most: int = 20) -> Newest:
        """The tags and reads of the newest memories."""
        with self._db.read(scope) as tx:
            if tx.rows is None:
                return Newest()
            params = {**_params(tx, tx.rows, window), "limit": limit, "most": most}
            found = tx.run("insights.newest", params).fetchall()
        tags: dict[str, int] = {}
        reads: list[Read] = []
        totals = (0, 0, 0)
        for what, name, text, one, two, three in found:
            if what == "all":
                totals = (int(one), int(two), int(three))
            elif what == "tag":
                tags[name] = int(one)
            else:
                reads.append(Read(name, text, int(one)))
        order = sorted(tags.items(), key=lambda item: (-item[1], item[0]))
        return Newest(*totals, dict(order), tuple(sorted(reads, key=lambda one: (-one.reads, one.id))))

    def sessions(self, scope: Scope, window: Window) -> list[SessionDay]:
        """Sessions by the day they began, and their health."""
        with self._db.read(scope) as tx:
            if tx.rows is None:
                return []
            found = tx.run("insights.sessions", _params(tx, tx.rows, window)).fetchall()
        return [SessionDay(day, flavor, outcome, *map(int, counts)) for day, flavor, outcome, *counts in found]

    def costs(self, scope: Scope, window: Window) -> list[Taken]:
        """What requests took, by day and agent, by project, by model."""
        with self._db.read(scope) as tx:
            if tx.rows is None:
                return []
            found = tx.run("insights.costs", _params(tx, tx.rows, window)).fetchall()
        return [_taken(*row) for row in found]

    def coverage(self, scope: Scope, window: Window, *, files: int = FILES) -> list[FlavorCoverage]:
        """The turns of the newest files, and how many of them are stored."""
        if scope.project is not None:
            return []
        with self._db.snapshot(scope) as tx:
            if tx.rows is None:
                return []
            params = {**_params(tx, tx.rows, window), "files": files}
            return _coverage(tx, tx.rows, tx.run("insights.files", params).fetchall())

    def recalls(self, scope: Scope, window: Window) -> list[RecallDay]:
        """How often it was asked, by day; that is counted for an owner, and not for one project."""
        if scope.project is not None:
            return []
        with self._db.read(scope) as tx:
            if tx.rows is None:
                return []
            params = {"owner": tx.rows.owner, **_days(window)}
            return [RecallDay(day, *map(int, counts)) for day, *counts in tx.run("insights.recalls", params)]

    def count_recalls(self, scope: Scope, counted: Sequence[RecallDay]) -> None:
        """Add to the days; what is older than it is kept goes."""
        with self._db.write(scope) as tx:
            rows = tx.rows
            if rows is None or not counted:
                return
            for one in counted:
                tx.run("insights.count_recalls", {"owner": rows.owner, **one._asdict()})
            last = datetime.fromisoformat(max(one.day for one in counted)) - timedelta(days=KEPT_DAYS)
            tx.run("insights.drop_recalls", {"owner": rows.owner, "day": last.date().isoformat()})

    def storage(self, scope: Scope) -> Storage:
        """What an owner's memory takes."""
        if scope.project is not None:
            return Storage()
        with self._db.read(scope) as tx:
            if tx.rows is None:
                return Storage()
            params = {"owner": tx.rows.owner}
            documents = {tier: int(count) for tier, count in tx.run("insights.documents", params)}
            waiting = {tier: int(count) for tier, count in tx.run("insights.pending", params)}
            bodies, size, evicted = tx.row("insights.bodies", params)
        tiers = tuple(TierSize(tier, documents.get(tier, 0), waiting.get(tier, 0)) for tier in TIERS)
        return Storage(tiers, int(bodies), int(size), int(evicted))

    def tasks(self, scope: Scope) -> list[TaskCount]:
        """What waits, runs or is dead, by kind."""
        with self._db.read(scope) as tx:
            if tx.rows is None:
                return []
            return [TaskCount(kind, state, int(n)) for kind, state, n in tx.run("insights.tasks", tx.rows.params())]

    def names(self, scope: Scope, *, most: int = 200) -> Names:
        """The agents and the projects there are sessions of."""
        with self._db.read(scope) as tx:
            if tx.rows is None:
                return Names()
            params = {**tx.rows.params(), "most": most}
            flavors = tuple(name for (name,) in tx.run("insights.flavors", params))
            return Names(flavors, tuple(name for (name,) in tx.run("insights.projects", params)))

    def database_bytes(self) -> int:
        """What the database takes."""
        with self._db.read(None) as tx:
            return tx.one("insights.database_bytes") or 0


def _params(tx: Tx, rows: Rows, window: Window) -> dict[str, object]:
    return {
        **rows.params(),
        **_days(window),
        "since": iso(window.since),
        "until": iso(window.until),
        "project": project_row(tx, rows.owner, window.project),
        "flavor": window.flavor,
        "step": max(1, window.step),
        "rows": MOST,
    }


def _taken(of: str, name: str, day: str, requests: int, *figures: float) -> Taken:
    read, cached, written, output, usd, priced = figures
    tokens = (int(requests), int(read), int(cached), int(written), int(output))
    return Taken(of, name, day, *tokens, max(float(usd), 0.0), int(priced))


def _days(window: Window) -> dict[str, object]:
    """The first day of the window, and the first after it."""
    return {"first": _day(window.since), "end": _day(window.until)}


def _day(moment: datetime) -> str:
    return moment.astimezone(UTC).date().isoformat()


def _coverage(tx: Tx, rows: Rows, files: Sequence[tuple[Any, ...]]) -> list[FlavorCoverage]:
    """Each turn of an agent's files once, however many of them hold it."""
    number: Counter[str] = Counter(flavor for flavor, _, _ in files)
    turns: dict[str, set[str]] = {flavor: set() for flavor in number}
    withheld: set[str] = set()
    for flavor, packed, kept_out in files:
        turns[flavor] |= _keys(packed)
        withheld |= _keys(kept_out)
    every = set().union(*turns.values())
    absent = _those(tx, rows, "absent", every)
    stored = every - absent
    buried = _those(tx, rows, "buried", absent - withheld)
    return [
        FlavorCoverage(
            *(flavor, number[flavor], len(keys), len(keys & stored)),
            len((keys & (withheld | buried)) - stored),
        )
        for flavor, keys in sorted(turns.items())
    ]


def _those(tx: Tx, rows: Rows, what: str, keys: set[str]) -> set[str]:
    """Which of these keys are of no event, or of one that was forgotten: nearly always few."""
    if not keys:
        return set()
    return {key for (key,) in tx.run(f"insights.{what}", {"owner": rows.owner, "keys": json.dumps(sorted(keys))})}


def _keys(packed: bytes) -> set[str]:
    return {packed[at : at + _KEY_BYTES].hex() for at in range(0, len(packed), _KEY_BYTES)}
