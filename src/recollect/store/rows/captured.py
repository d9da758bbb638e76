"""What came from where: the sessions of each agent and project, and what was taken out before it was stored."""

from __future__ import annotations

from recollect.clock import from_iso
from recollect.store.ports.stats import WITHHELD, Captured, Source, Withheld
from recollect.store.rows.tx import Rows, Tx


def captured(tx: Tx, rows: Rows, most: int) -> Captured:
    """The figures of a scope. Agents' files are an owner's: in a project nothing is told of them."""
    params = {**rows.params(), "most": most}
    agents, projects = (
        tuple(Source(name, int(count), from_iso(last)) for name, count, last in tx.run(f"captured.{what}", params))
        for what in ("agents", "projects")
    )
    told = tx.run("captured.withheld", {**params, "prefix": WITHHELD})
    withheld = tuple(Withheld(agent, what, int(count)) for agent, what, count in told)
    bodies, size = tx.row("captured.bodies", params)
    return Captured(agents, projects, withheld, int(bodies), int(size))
