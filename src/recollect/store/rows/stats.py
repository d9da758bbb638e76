"""Figures of what a scope sees, counted in one statement over the rows that the filter lets through."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any

from recollect.model import Scope
from recollect.store.ports.memories import Filter
from recollect.store.ports.stats import MOST, Captured, Facets, Held, Named, Period, Tally
from recollect.store.rows.captured import captured
from recollect.store.rows.facets import KeptFacets, named
from recollect.store.rows.memories import filter_params
from recollect.store.rows.tx import Database

_WIDTHS = {"day": 10, "month": 7}  # characters of a stored time


class RowStats:
    """Counts of memories, sessions and turns."""

    def __init__(self, database: Database, state: Callable[[], int] | None = None) -> None:
        """`state` tells whether anything was written since it was asked last; without it, the rows tell."""
        self._db = database
        self._state = state
        self._kept = KeptFacets()

    def tally(self, scope: Scope, where: Filter, *, by: Period, most: int = MOST) -> Tally:
        """The memories a filter lets through, counted by kind, tag, session and day or month."""
        with self._db.read(scope) as tx:
            rows = tx.rows
            if rows is None:
                return Tally()
            params = {**filter_params(tx, rows, where), "width": _WIDTHS[by], "most": most}
            found = tx.run("stats.tally", params).fetchall()
        facets: dict[str, dict[str, int]] = {"kind": {}, "tag": {}, "session": {}, "period": {}}
        memories = tokens = 0
        for facet, value, count, size in found:
            if facet == "all":
                memories, tokens = int(count), int(size or 0)
            else:
                facets[facet][value] = int(count)
        return Tally(memories, tokens, *(_ordered(name, facets[name]) for name in facets))

    def held(self, scope: Scope) -> Held:
        """How many sessions and turns there are, and how many texts wait for their vector."""
        with self._db.read(scope) as tx:
            rows = tx.rows
            if rows is None:
                return Held()
            return Held(*map(int, tx.row("stats.held", rows.params())))

    def captured(self, scope: Scope, *, most: int = 200) -> Captured:
        """Which agents and projects sessions came from, and what was taken out of them."""
        with self._db.read(scope) as tx:
            rows = tx.rows
            return Captured() if rows is None else captured(tx, rows, most)

    def facets(self, scope: Scope, where: Filter, *, look: int, most: int = MOST) -> Facets:
        """The memories a filter lets through among the newest `look`, counted by kind, tag, project, agent, trust."""
        state: Hashable = self._state() if self._state else None
        with self._db.read(scope) as tx:
            rows = tx.rows
            if rows is None:
                return Facets()
            if state is None:
                state = tx.row("stats.state", rows.params())
            return self._kept.facets(tx, rows, where, state, look=look, most=most)

    def named(self, scope: Scope, beginning: str, *, look: int, most: int) -> Named:
        """Tags and projects as somebody begins to type them."""
        with self._db.read(scope) as tx:
            rows = tx.rows
            return Named() if rows is None else named(tx, rows, beginning, look=look, most=most)


def _ordered(facet: str, counts: dict[str, int]) -> dict[str, Any]:
    """The latest time first; of anything else what there is most of, then by name."""
    if facet == "period":
        return dict(sorted(counts.items(), reverse=True))
    return dict(sorted(counts.items(), key=lambda item: (-item[1], item[0])))
