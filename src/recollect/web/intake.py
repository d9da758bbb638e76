"""What the pages say of what comes in: how many records of hooks wait on this machine, and when something came last."""

from __future__ import annotations

from datetime import datetime
from typing import NamedTuple

from recollect.pipeline.spooled import records
from recollect.web.pages import Page


class Intake(NamedTuple):
    """How far what happens is taken in."""

    waiting: int  # records of hooks that nobody read yet
    last: datetime | None  # when an event was taken in


def intake(page: Page) -> Intake | None:
    """For whoever looks after the machine; None on a server for others, whose agents are elsewhere."""
    if page.hosted:
        return None
    found = page.memory.store.browse.last(page.memory.scope, since=page.now, limit=1, most=0)
    came = [one.at for one in found if one.thing == "event"]
    return Intake(len(records(page.asked.serving.settings.data_dir)), max(came, default=None))
