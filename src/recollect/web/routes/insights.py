"""The page of insights: what was kept, asked, run and spent in a stretch of days, as plots with their tables."""

from __future__ import annotations

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from recollect.model import MAX_ID_CHARS
from recollect.pipeline.insights import DAYS, LONGEST
from recollect.web import insights as told
from recollect.web.intake import intake
from recollect.web.pages import Who

HOME = "/page/insights"
CHOICES = (7, 30, 90, 365)
NEEDS: dict[tuple[str, str], str | None] = {("GET", HOME): "read"}


def router() -> APIRouter:
    routes = APIRouter(include_in_schema=False)
    routes.add_api_route(HOME, insights, methods=["GET"], response_model=None)
    return routes


def insights(who: Who, request: Request) -> Response:
    """The figures of some days, of one project or agent or of all."""
    asked = request.query_params
    days = _days(asked.get("days", ""))
    project, agent = (_name(asked.get(name, "")) for name in ("project", "agent"))
    found = who.memory.insights(days, project=project, agent=agent, whole=not who.hosted)
    return who.show(
        "insights.html",
        found=found,
        choices=sorted({*CHOICES, days}),
        tiles=told.tiles(found),
        panels=told.panels(found),
        meters=told.meters(found),
        short=told.short,
        intake=intake(who),
        narrowed=told.narrowed(found),
    )


def _days(text: str) -> int:
    return int(text) if text.isascii() and text.isdigit() and len(text) <= 4 and 1 <= int(text) <= LONGEST else DAYS


def _name(text: str) -> str | None:
    """A name as it may stand in an address; one that cannot be any is none."""
    text = text.strip()
    return text if text and len(text) <= MAX_ID_CHARS and text.isprintable() else None
