"""The warm process: a memory that stays open, so that a prompt's hook can ask it instead of opening one."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from recollect.model import Scope
    from recollect.settings import Settings
    from recollect.warm.server import WarmServer


def warm_server(settings: Settings, owner: Scope) -> WarmServer:
    """A server for this user's hooks, still to be started; it opens a memory of its own when it is first asked."""
    from recollect.warm.answers import Answers
    from recollect.warm.server import WarmServer

    def answers() -> Answers:
        from recollect.facade import Recollect

        return Answers(lambda: Recollect.open(settings=settings, scope=owner.within(None), background=False))

    return WarmServer(settings.data_dir, answers)
