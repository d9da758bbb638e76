"""What every role answers: how it is, its figures, who asks, what they may, and the OpenAPI document."""

from __future__ import annotations

from typing import Annotated, Any

import orjson
from fastapi import Depends
from starlette.requests import Request
from starlette.responses import Response

from recollect.clock import iso
from recollect.http.answering import Router
from recollect.http.apipage import POLICY, page
from recollect.http.asked import Asked, asked, asked_if_known
from recollect.http.errors import Refused
from recollect.http.health import STUCK, Health
from recollect.http.permissions import NEEDS
from recollect.http.schemas.operations import HealthAnswer, QuotaAnswer, Used, WhoAnswer
from recollect.http.schemas.values import UserId
from recollect.store.ports.access import Quota

_HEALTH: dict[int | str, dict[str, Any]] = {
    200: {"model": HealthAnswer, "description": "Work gets done"},
    503: {"model": HealthAnswer, "description": "It is stuck"},
}


def router() -> Router:
    """The routes."""
    routes = Router(tags=["operations"])
    health = Health()

    @routes.get("/health", summary="Whether work gets done", responses=_HEALTH)
    async def get_health(request: Request, who: Annotated[Asked | None, Depends(asked_if_known)]) -> Response:
        """`ok`, `degraded` or `stuck`: by what waits and for how long, not by whether the process runs."""
        state = request.app.state
        told = await health.tell(state.serving, state.role, who)
        return _json(told, 503 if told["status"] == STUCK else 200)

    @routes.get("/metrics", summary="Figures for a monitor, as Prometheus text", response_class=Response)
    def get_metrics(request: Request) -> Response:
        """Counters, times, and what waits."""
        metrics = request.app.state.metrics
        if metrics is None:
            raise Refused(404, "metrics are off", hint="pip install 'recollect[server]'")
        text, kind = metrics.render()
        return Response(text, media_type=kind)

    @routes.get("/whoami", summary="Whose key this is, and what it may")
    def whoami(who: Annotated[Asked, Depends(asked)]) -> WhoAnswer:
        """The tenant, user and project a key opens, what it is for, and what is left of the quota."""
        scope, grant = who.grant.scope, who.grant
        return WhoAnswer(
            tenant=scope.tenant,
            user=scope.user,
            context_id=scope.project,
            permissions=list(grant.permissions),
            key=grant.key,
            expires_at=None if grant.expires_at is None else iso(grant.expires_at),
            quota=_quota(who.serving.store.quotas.get(scope)),
        )

    @routes.get("/quota", summary="What is used of what one may have")
    def get_quota(who: Annotated[Asked, Depends(asked)], user_id: UserId | None = None) -> QuotaAnswer:
        """Memories, and what was brought in today; null: without a limit."""
        return _quota(who.serving.store.quotas.get(who.grant.narrowed(user=user_id)))

    @routes.get("/openapi.json", include_in_schema=False)
    def openapi(request: Request) -> Response:
        return _json(request.app.openapi(), 200)

    @routes.get("/docs", include_in_schema=False)
    def docs(request: Request) -> Response:
        address = f"{request.url.scheme}://{request.url.netloc}"
        needs = {(method, path.replace(":path}", "}")): need for (method, path), need in NEEDS.items()}
        made = page(request.app.openapi(), needs, address)
        return Response(made, media_type="text/html", headers={"Content-Security-Policy": POLICY})

    return routes


def _quota(quota: Quota) -> QuotaAnswer:
    memories, ingests = quota.left
    return QuotaAnswer(
        memories=Used(used=quota.memories, limit=quota.limits.memories or None, left=memories),
        ingests_today=Used(used=quota.ingests, limit=quota.limits.ingests or None, left=ingests),
        resets_at=iso(quota.resets_at),
    )


def _json(value: Any, status: int) -> Response:
    return Response(orjson.dumps(value), status, media_type="application/json")
