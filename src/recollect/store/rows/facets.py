"""How many memories there are of each kind, tag, project, agent and trust; and names that begin as somebody types.

In: a transaction and a filter. Out: counts and names, each list bounded, and never more rows looked at than was said.
"""

from __future__ import annotations

from recollect.store.port import Filter
from recollect.store.rows.memories import contained, filter_params
from recollect.store.rows.tx import Rows, Tx
from recollect.store.statsport import Facets, Named

_FACETS = ("kind", "tag", "project", "agent", "trust")


def facets(tx: Tx, rows: Rows, where: Filter, *, look: int, most: int) -> Facets:
    """What the filter lets through among the newest `look` memories, counted."""
    params = {**filter_params(tx, rows, where), "look": look, "most": most}
    counts: dict[str, dict[str, int]] = {name: {} for name in _FACETS}
    seen = looked = 0
    for facet, value, count in tx.run("stats.facets", params):
        if facet == "all":
            seen = int(count)
        elif facet == "looked":
            looked = int(count)
        else:
            counts[facet][value] = int(count)
    told = (dict(sorted(each.items(), key=lambda item: (-item[1], item[0]))) for each in counts.values())
    return Facets(seen, looked < look, *told)


def named(tx: Tx, rows: Rows, beginning: str, *, look: int, most: int) -> Named:
    """Tags of the newest `look` memories that begin so, and projects that hold it in their name."""
    inside = contained(beginning)
    params = {**rows.params(), "beginning": inside[1:], "inside": inside, "look": look, "most": most}
    found = [(what, name) for what, name in tx.run("stats.named", params)]
    return Named(*(tuple(name for what, name in found if what == wanted) for wanted in ("tag", "project")))
