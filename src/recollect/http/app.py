"""The app: the gate, the routes of a role, and the OpenAPI that tells of them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Literal, get_args

from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from starlette.exceptions import HTTPException
from starlette.requests import Request

from recollect.http.errors import Refused, invalid
from recollect.http.foreign import LOOPBACK, Foreign
from recollect.http.gate import Gate
from recollect.http.knowing import Knowing
from recollect.http.limits import Limits
from recollect.http.openapi import document
from recollect.http.permissions import NEEDS
from recollect.http.routes import operations
from recollect.http.routing import Routes
from recollect.http.straight import Straight
from recollect.store.secretfile import own_secret
from recollect.version import __version__

if TYPE_CHECKING:
    from recollect.metrics import Metrics
    from recollect.serving import Serving

Role = Literal["ingestion", "retrieval", "all"]
ROLES: tuple[Role, ...] = get_args(Role)
SECRET_FILE = "serve.token"  # noqa: S105 (a name, not a secret)
PLACES = 4  # threads for each request that is worked on at once: others last long, stream, or ask a model
MORE_THREADS = 8  # beside those for requests
SHORTEST = 8  # characters of a secret somebody chose
# Which modules of `routes` a role has; each has `router()`.
PARTS: dict[Role, tuple[str, ...]] = {
    "ingestion": ("ingestion", "tasks", "record", "patterns"),
    "retrieval": ("retrieval", "sessions", "record", "patterns"),
    "all": ("ingestion", "retrieval", "sessions", "tasks", "record", "patterns"),
}
_HALVES: dict[Role, tuple[Role, int]] = {"ingestion": ("retrieval", 8002), "retrieval": ("ingestion", 8001)}

# Newer releases of FastAPI can send bodies and the texts of errors to a collector; our own tracing holds neither.
SILENT: Any = dict.fromkeys(("tracing", "metrics", "logs", "operation_spans", "auto_configure"), False)


def create_app(
    serving: Serving, role: Role = "all", *, metrics: Metrics | None = None, limits: Limits | None = None
) -> FastAPI:
    """The app of a role over an opened store. Whoever opened that closes it."""
    app = FastAPI(
        title="Recollect",
        version=__version__,
        description="A memory that lasts for AI agents, over HTTP.",
        openapi_url=None,
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        lifespan=_threads(serving.settings.serve_threads),
        telemetry=SILENT,
    )
    app.state.serving, app.state.role, app.state.metrics = serving, role, metrics
    for routes in (operations.router(), *_routers(role)):
        for route in routes.routes:
            if isinstance(route, APIRoute):
                route.operation_id = route.unique_id = route.operation_id or route.name
            app.router.routes.append(route)
    app.add_exception_handler(RequestValidationError, does_not_fit)
    app.add_exception_handler(HTTPException, said_otherwise)
    app.openapi = lambda: document(app)  # type: ignore[method-assign]
    app.add_middleware(
        Gate,
        serving=serving,
        routes=Routes(app.router.routes, needs_of(serving), *_elsewhere(role)),
        knowing=Knowing(serving, secrets_of(serving)),
        foreign=Foreign(names_of(serving), serving.settings.serve_origins, behind_tls=serving.hosted),
        metrics=metrics,
        limits=limits,
        straight=Straight(app.router.routes, PLACES * max(1, serving.settings.serve_threads)),
    )
    return app


def needs_of(serving: Serving) -> dict[tuple[str, str], str | None]:
    """What each route needs, by these settings."""
    return {**NEEDS, ("GET", "/metrics"): None} if serving.settings.metrics_public else dict(NEEDS)


def secrets_of(serving: Serving) -> Sequence[str]:
    """What opens the memory of this machine's user: the file, and the key in the settings; nothing for others."""
    if serving.hosted:
        return ()
    chosen = serving.settings.serve_api_key
    own = own_secret(serving.settings.data_dir, SECRET_FILE)
    return (own, chosen) if len(chosen) >= SHORTEST else (own,)


def names_of(serving: Serving) -> Sequence[str] | None:
    """The hosts it goes by: this machine's; on a server for others those in the settings, or any."""
    named = serving.settings.serve_hosts
    if serving.hosted:
        return named or None
    return (*LOOPBACK, serving.settings.serve_host, *named)


def _elsewhere(role: Role) -> tuple[list[Any], str | None]:
    """The routes of the other half, and how to find it."""
    if role == "all":
        return [], None
    other, port = _HALVES[role]
    there = f"This is the {role} service. The {other} service has it, at port {port} unless it was given another."
    return [route for router in _routers(other) for route in router.routes], there


def _routers(role: Role) -> Iterator[Any]:
    """The routes of a role's parts."""
    for part in PARTS[role]:
        if find_spec(f"recollect.http.routes.{part}") is not None:
            yield import_module(f"recollect.http.routes.{part}").router()


def _threads(number: int) -> Callable[[FastAPI], Any]:
    """As many threads as requests are worked on at once, as many for what lasts long, for what streams, and for models.

    Whose key it is and what was answered before is asked in other threads, as many too: nobody waits there for a route.
    """

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        from anyio.to_thread import current_default_thread_limiter

        at_once = max(1, number)
        current_default_thread_limiter().total_tokens = PLACES * at_once
        beside = ThreadPoolExecutor(2 * at_once + MORE_THREADS, thread_name_prefix="recollect-gate")
        asyncio.get_running_loop().set_default_executor(beside)  # the loop ends them when it ends
        yield

    return lifespan


async def does_not_fit(request: Request, error: Exception) -> Any:
    assert isinstance(error, RequestValidationError)
    raise invalid(error.errors())


async def said_otherwise(request: Request, error: Exception) -> Any:
    assert isinstance(error, HTTPException)
    if error.status_code == 400:
        raise Refused(422, "the body cannot be read", code="invalid_json")
    raise Refused(error.status_code, headers=dict(error.headers or {}))
