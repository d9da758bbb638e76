"""Coming in and leaving, and the few files every page needs: what is open to everybody."""

from __future__ import annotations

import re
from typing import Annotated

from fastapi import APIRouter, Depends
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from recollect.errors import InvalidKey
from recollect.http.errors import Refused
from recollect.http.limits import network_of
from recollect.serving import Serving
from recollect.web.manner import ENTER, cookie
from recollect.web.pages import Fields, Form, Who, fields_of, host_of, visit_in
from recollect.web.templating import KINDS, STATIC, render
from recollect.web.visits import VISIT_SECONDS, links, visits

HOME = "/memory"
HOSTED_SECONDS = 12 * 3_600  # a key is typed again the next day
NEEDS: dict[tuple[str, str], str | None] = {
    ("GET", "/"): None,
    ("GET", ENTER): None,
    ("POST", ENTER): None,
    ("POST", "/page/leave"): "read",
    ("GET", "/page/static/{name}"): None,
}
_NEXT = re.compile(r"/(memory|page/[A-Za-z0-9/_.:%@-]{0,300})")
_FILE = re.compile(r"[a-z]{1,40}\.(css|js|svg)")


def router() -> APIRouter:
    routes = APIRouter(include_in_schema=False)
    routes.add_api_route("/", home, methods=["GET"], response_model=None)
    routes.add_api_route(ENTER, enter, methods=["GET"], response_model=None)
    routes.add_api_route(ENTER, enter_with_key, methods=["POST"], response_model=None)
    routes.add_api_route("/page/leave", leave, methods=["POST"], response_model=None)
    routes.add_api_route("/page/static/{name}", static_file, methods=["GET"], response_model=None)
    return routes


def home() -> Response:
    return RedirectResponse(HOME, 303)


def enter(request: Request, link: str = "", next: str = "") -> Response:  # noqa: A002 (the name in the address)
    """With a link that was not used yet: in. Without: how to get one."""
    serving: Serving = request.app.state.serving
    if link and not serving.hosted:
        if links(serving.settings.data_dir).use_up(link):
            return _let_in(request, visits(serving.settings.data_dir).issue(), int(VISIT_SECONDS), next)
        return _door(serving, next, "This link was used already, or is too old.", 403)
    return _door(serving, next)


async def enter_with_key(request: Request, form: Annotated[Form, Depends(fields_of)]) -> Response:
    """A key opens the pages of its own scope."""
    state = request.app.state
    serving: Serving = state.serving
    if not serving.hosted:
        raise Refused(403, "a key opens no page here", hint="Run `recollect page` on this machine.")
    text, following = form.text("key", most=300).strip(), form.text("next", most=400)
    address = network_of(request.client.host) if request.client else "-"
    over = await state.limits.is_guessing(address)
    if over is not None:
        raise Refused(429, "too many wrong keys; wait a little", headers={"Retry-After": str(over.seconds)})
    try:
        grant = await state.knowing.grant(text)
    except InvalidKey:
        await state.limits.failed(address)
        state.alarms.note("wrong_key", address)
        return await run_in_threadpool(_door, serving, following, "This is not a valid key.", 403)
    grant.require("read")
    return _let_in(request, text, HOSTED_SECONDS, following)


def leave(request: Request, page: Who, form: Fields) -> Response:
    """End the visit."""
    if not page.hosted:
        visits(page.asked.serving.settings.data_dir).use_up(visit_in(request))
    answer = RedirectResponse(ENTER, 303)
    answer.headers["Set-Cookie"] = cookie(host_of(request), "", 0)
    return answer


def static_file(name: str) -> Response:
    """A file of ours, by a name that cannot lead elsewhere."""
    file = STATIC / name
    if not _FILE.fullmatch(name) or not file.is_file():
        raise Refused(404, "there is no such file")
    kept = {"Cache-Control": "private, max-age=31536000, immutable"}
    return Response(file.read_bytes(), media_type=KINDS["." + name.rpartition(".")[2]], headers=kept)


def _let_in(request: Request, visit: str, seconds: int, following: str) -> Response:
    answer = RedirectResponse(following if _NEXT.fullmatch(following) else HOME, 303)
    answer.headers["Set-Cookie"] = cookie(host_of(request), visit, seconds)
    return answer


def _door(serving: Serving, following: str, problem: str | None = None, status: int = 200) -> Response:
    kept = following if _NEXT.fullmatch(following) else ""
    return HTMLResponse(render("enter.html", hosted=serving.hosted, problem=problem, following=kept), status)
