"""Routes that are answered straight: the model of their body reads it, in the thread that answers.

FastAPI finds a route once more for each request, solves what it depends on and unwinds what might be open. That is much
code, and a processor whose caches a question's model has just emptied reads all of it anew. A route that takes a body
and who asks needs none of it. What does not fit its model goes the usual way after all, which says what is wrong with
it.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from inspect import iscoroutinefunction
from typing import Any, NamedTuple, get_type_hints

from fastapi.routing import APIRoute
from pydantic import BaseModel
from starlette.responses import Response

from recollect.http.asked import Asked
from recollect.http.routes.common import Who
from recollect.http.schemas.values import Told


class _Way(NamedTuple):
    """How a route is called: what its body is, and by which names it takes that and the rest."""

    endpoint: Callable[..., Response]
    model: type[BaseModel]
    given: str
    who: str
    aside: str | None  # where it says more than the answer

    def answer(self, body: bytes, who: Asked) -> Response | None:
        """What the route answers; None: this is no such body."""
        try:
            given = self.model.model_validate(json.loads(body))
        except ValueError:
            return None
        named: dict[str, Any] = {self.given: given, self.who: who}
        if self.aside is not None:
            named[self.aside] = _nothing_said()
        return self.endpoint(**named)


class Straight:
    """Those of an app's routes that are answered straight, in at most so many threads."""

    def __init__(self, routes: Iterable[Any] = (), threads: int = 1) -> None:
        found = [(route, _way_to(route)) for route in routes if isinstance(route, APIRoute)]
        self._ways = {
            (verb, route.path): way for route, way in found if way is not None for verb in route.methods or ()
        }
        self._threads = ThreadPoolExecutor(threads, thread_name_prefix="recollect-route")  # they start when needed

    @property
    def routes(self) -> frozenset[tuple[str, str]]:
        """The methods and templates of those routes."""
        return frozenset(self._ways)

    async def answer(self, method: str, template: str, body: bytes, who: Asked) -> Response | None:
        """What the route answers; None: it has to be asked the usual way."""
        way = self._ways.get((method, template))
        if way is None or not body:
            return None
        run = copy_context().run  # a span that is made in the thread belongs to the request's
        return await asyncio.get_running_loop().run_in_executor(self._threads, run, way.answer, body, who)

    def close(self) -> None:
        """Let the threads end once they are through."""
        self._threads.shutdown(wait=False)


def _way_to(route: APIRoute) -> _Way | None:
    """How to call a route that takes a body and who asks, and says more aside at the most; None: it takes more."""
    hints: Mapping[str, Any] = get_type_hints(route.endpoint, include_extras=True)
    told = hints.get("return")
    if iscoroutinefunction(route.endpoint) or not (isinstance(told, type) and issubclass(told, Told)):
        return None
    if route.dependencies:  # what it demands beside its function is FastAPI's to see to
        return None
    named: dict[str, str] = {}
    for name, hint in hints.items():
        if name == "return":
            continue
        kind = _kind_of(hint)
        if kind is None or kind in named:
            return None
        named[kind] = name
    if "given" not in named or "who" not in named:
        return None
    return _Way(route.endpoint, hints[named["given"]], named["given"], named["who"], named.get("aside"))


def _kind_of(hint: Any) -> str | None:
    if hint == Who:
        return "who"
    if hint is Response:
        return "aside"
    return "given" if isinstance(hint, type) and issubclass(hint, BaseModel) else None


def _nothing_said() -> Response:
    """What a route may set a status and headers of."""
    aside = Response()
    del aside.headers["content-length"]
    aside.status_code = None  # type: ignore[assignment]
    return aside
