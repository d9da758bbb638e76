"""The live log: what happened last, and a stream of what happens."""

from __future__ import annotations

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response, StreamingResponse

from recollect.errors import InvalidKey
from recollect.http.gate import LIVE
from recollect.model import MAX_ID_CHARS
from recollect.pipeline.following import recent
from recollect.web.intake import intake
from recollect.web.live import Live, Marks, address_of, exact_words, headline
from recollect.web.pages import Page, Who, visit_in
from recollect.web.visits import Visitors

NEEDS: dict[tuple[str, str], str | None] = {("GET", "/page/live"): "read", ("GET", LIVE): "read"}
SHOWN = 60  # lines on a page that is opened


def router() -> APIRouter:
    """The page, and its stream."""
    routes = APIRouter(include_in_schema=False)
    live = Live()

    def live_page(page: Who, session: str = "") -> HTMLResponse:
        """The last lines there were; a script adds what comes."""
        serving, only = page.asked.serving, session[:MAX_ID_CHARS] or None
        parts = (serving.store, page.memory.scope, serving.clock)
        lines, mark = recent(*parts, limit=SHOWN, exact=exact_words(serving))
        told = [(line, address_of(line)) for line in reversed(lines) if only is None or line.session == only]
        after = Marks(serving).write(mark)
        return page.show("live.html", lines=told, after=after, only=only, headline=headline, intake=intake(page))

    async def live_events(request: Request, page: Who, session: str = "", after: str = "") -> Response:
        """What happens from a mark on, as server-sent events."""
        serving = page.asked.serving
        last = request.headers.get("Last-Event-ID") or after
        mark = Marks(serving).read(last[:200])
        only = session[:MAX_ID_CHARS] or None

        async def may_look() -> bool:
            return await _may_look(request, page)

        told = live.stream(serving, page.asked.memory().scope, after=mark, session=only, may_look=may_look)
        return StreamingResponse(told, media_type="text/event-stream", headers={"X-Accel-Buffering": "no"})

    routes.add_api_route("/page/live", live_page, methods=["GET"], response_model=None)
    routes.add_api_route(LIVE, live_events, methods=["GET"], response_model=None)
    return routes


async def _may_look(request: Request, page: Page) -> bool:
    """Whether the visit is still good: a key that was revoked follows nothing any more."""
    try:
        grant = await Visitors(page.asked.serving, request.app.state.knowing).grant(visit_in(request))
    except InvalidKey:
        return False
    return grant.scope == page.scope and "read" in grant.permissions
