"""How many memories there are of each kind, tag, project, agent and trust; and names that begin as somebody types.

In: a transaction and a filter. Out: counts and names, each list bounded, and never more rows looked at than was said.
Who looks through memories asks for the same counts again and again: they are kept until the store changes.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Hashable, Mapping
from dataclasses import dataclass

from recollect.store.ports.memories import Filter
from recollect.store.ports.stats import Facets, Named
from recollect.store.rows.memories import contained, filter_params
from recollect.store.rows.tx import Rows, Tx

_FACETS = ("kind", "tag", "project", "agent", "trust")
_KEPT = 256  # owners and filters whose counts are kept


@dataclass(frozen=True, slots=True)
class _Counted:
    """Counts, and from when until when they are right if nothing is written."""

    facets: Facets
    since: str
    until: str | None


class KeptFacets:
    """Counts, each with the state that the store was in. That is read before they are counted.

    So what is kept under a state was counted in that state or a later one, and who comes with the same state finds a
    store to which nothing was written since.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._counted: OrderedDict[Hashable, tuple[Hashable, _Counted]] = OrderedDict()

    def facets(self, tx: Tx, rows: Rows, where: Filter, state: Hashable, *, look: int, most: int) -> Facets:
        """What the filter lets through among the newest `look` memories, as it was counted, or counted now."""
        params = _params(tx, rows, where, look, most)
        now = str(params.pop("now"))
        key = tuple(params.values())
        with self._lock:
            then, known = self._counted.get(key, (None, None))
        if known is not None and then == state and known.since <= now and (known.until is None or now < known.until):
            return known.facets
        found, until = _count(tx, {**params, "now": now}, look)
        with self._lock:
            self._counted[key] = state, _Counted(found, now, until)
            self._counted.move_to_end(key)
            while len(self._counted) > _KEPT:
                self._counted.popitem(last=False)
        return found


def _params(tx: Tx, rows: Rows, where: Filter, look: int, most: int) -> dict[str, object]:
    return {**filter_params(tx, rows, where), "look": look, "most": most}


def _count(tx: Tx, params: Mapping[str, object], look: int) -> tuple[Facets, str | None]:
    """The counts, and when the first of what is counted expires."""
    counts: dict[str, dict[str, int]] = {name: {} for name in _FACETS}
    seen = looked = 0
    until: str | None = None
    for facet, value, count in tx.run("stats.facets", params):
        if facet == "all":
            seen = int(count)
        elif facet == "looked":
            looked = int(count)
        elif facet == "until":
            until = value
        else:
            counts[facet][value] = int(count)
    told = (dict(sorted(each.items(), key=lambda item: (-item[1], item[0]))) for each in counts.values())
    return Facets(seen, looked < look, *told), until


def named(tx: Tx, rows: Rows, beginning: str, *, look: int, most: int) -> Named:
    """Tags of the newest `look` memories that begin so, and projects that hold it in their name."""
    inside = contained(beginning)
    params = {**rows.params(), "beginning": inside[1:], "inside": inside, "look": look, "most": most}
    found = [(what, name) for what, name in tx.run("stats.named", params)]
    return Named(*(tuple(name for what, name in found if what == wanted) for wanted in ("tag", "project")))
