"""The projects somebody has, as forms offer them."""

from __future__ import annotations

from recollect.facade import Recollect

MOST = 200  # that are offered


def known_projects(memory: Recollect) -> list[str]:
    """Those with a session or a memory, by name."""
    return list(memory.store.stats.named(memory.scope, "", look=1, most=MOST).projects)


def is_known(memory: Recollect, project: str) -> bool:
    """Whether something belongs to it already."""
    found = memory.store.stats.named(memory.scope, project, look=1, most=MOST).projects
    return project in found
