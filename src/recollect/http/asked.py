"""Who asks: what the gate found out about a request, for the route that answers it.

A route takes it as a dependency and opens memories with it; there is no other way to a store from there, so nothing can
be asked for that the key does not open.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from starlette.requests import Request

from recollect.facade import Recollect
from recollect.keys import Grant
from recollect.metrics import Metrics
from recollect.serving import Serving


@dataclass(frozen=True, slots=True)
class Asked:
    """A request that was let in."""

    grant: Grant
    serving: Serving
    request_id: str
    address: str  # of the client, as far as it is known
    metrics: Metrics | None = None
    repeat_key: str | None = None  # of a request with an Idempotency-Key: the same each time it is sent

    def memory(self, *, user: str | None = None, project: str | None = None) -> Recollect:
        """The memory of the key's user and project, or of those the request names, as far as the key may."""
        scope = self.grant.narrowed(user=user, project=project)
        return self.serving.memory(scope, speaks="speak" in self.grant.permissions)

    def require(self, permission: str) -> None:
        """NotAllowed when the key is not for that."""
        self.grant.require(permission)

    def may(self, permission: str) -> bool:
        """Whether the key is for that."""
        return permission in self.grant.permissions

    def clock(self) -> datetime:
        """The time here."""
        return self.serving.clock()


async def asked(request: Request) -> Asked:
    """The dependency of every route that is not public."""
    found: Asked = request.state.asked
    return found


async def asked_if_known(request: Request) -> Asked | None:
    """The same for a public route: None for somebody without a key."""
    found: Asked | None = getattr(request.state, "asked", None)
    return found
