"""The pages as an app of their own, behind the same gate as the rest; and what sends each request to the right one."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.types import Receive, Scope, Send

from recollect.http.alarms import Alarms
from recollect.http.app import SILENT, Role, create_app, does_not_fit, names_of, needs_of, said_otherwise
from recollect.http.foreign import Foreign
from recollect.http.gate import Gate
from recollect.http.knowing import Knowing
from recollect.http.limits import Limits
from recollect.http.routing import Routes
from recollect.version import __version__
from recollect.web.manner import People
from recollect.web.visits import Visitors

if TYPE_CHECKING:
    from recollect.metrics import Metrics
    from recollect.serving import Serving

# Modules of `web.routes`, in the order in which their routes are tried.
PARTS = ("entering", "search", "memory", "sessions", "live", "patterns", "insights", "control")


def create_served(serving: Serving, role: Role = "all", *, metrics: Metrics | None = None) -> Served:
    """All that is served: the routes for programs and, where those are all there, the pages for people."""
    limits = Limits(serving.settings)
    programs = create_app(serving, role, metrics=metrics, limits=limits)
    shown = role == "all" and serving.settings.serve_page
    pages = create_pages(serving, metrics=metrics, limits=limits) if shown else None
    return Served(programs, pages, needs_of(serving))


class Served:
    """Programs and people come by the same port; the address tells them apart.

    A browser that is led to another address, by a hand that typed it, is answered with a page, too.
    """

    def __init__(self, programs: FastAPI, pages: FastAPI | None, needs: Mapping[tuple[str, str], str | None]) -> None:
        self.programs, self.pages = programs, pages
        self._routes = Routes(programs.router.routes, needs)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if self.pages is not None and self._is_typed(scope):
            await self.pages(scope, receive, send)
        else:
            await self._app(scope.get("path", ""))(scope, receive, send)

    def _is_typed(self, scope: Scope) -> bool:
        """Whether a person asks for what only programs get, who have a key; what is open to all is theirs as it is."""
        if scope["type"] != "http" or scope["method"] != "GET":
            return False
        sent = dict(scope["headers"])
        if b"text/html" not in sent.get(b"accept", b"") or sent.keys() & {b"authorization", b"x-api-key"}:
            return False
        found = self._routes.find("GET", scope["path"])
        return not found.known or found.needs is not None

    def template_of(self, method: str, path: str) -> str:
        """The route a request is for."""
        return Routes(self._app(path).router.routes, {}).find(method, path).template

    def _app(self, path: str) -> FastAPI:
        return self.pages if self.pages is not None and is_page(path) else self.programs


def is_page(path: str) -> bool:
    """Whether an address is one of a page."""
    return path in ("/", "/memory", "/page") or path.startswith("/page/")


def create_pages(serving: Serving, *, metrics: Metrics | None = None, limits: Limits | None = None) -> FastAPI:
    """The pages over an opened store."""
    app = FastAPI(
        title="Recollect pages",
        version=__version__,
        openapi_url=None,
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        telemetry=SILENT,
    )
    limits = limits or Limits(serving.settings)
    knowing = Knowing(serving)  # no secret of this machine: a visit opens its pages
    app.state.serving, app.state.metrics, app.state.knowing = serving, metrics, knowing
    app.state.limits, app.state.alarms = limits, Alarms(metrics)
    needs: dict[tuple[str, str], str | None] = {}
    for part in _parts():
        app.router.routes.extend(part.router().routes)
        needs.update(part.NEEDS)
    app.state.needs = needs
    app.add_exception_handler(RequestValidationError, does_not_fit)
    app.add_exception_handler(HTTPException, said_otherwise)
    app.add_middleware(
        Gate,
        serving=serving,
        routes=Routes(app.router.routes, needs),
        knowing=Visitors(serving, knowing),
        foreign=Foreign(names_of(serving), behind_tls=serving.hosted),
        metrics=metrics,
        manner=People(),
        limits=limits,
    )
    return app


def _parts() -> list[Any]:
    named = [f"recollect.web.routes.{part}" for part in PARTS]
    return [import_module(name) for name in named if find_spec(name) is not None]
