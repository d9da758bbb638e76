"""Routes whose answers are written in the thread that made them.

FastAPI holds what a route returns against its model once more, and goes through another thread for it. An answer of
ours is a checked model already, and who has waited for a thread should not wait for a second one.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from inspect import iscoroutinefunction
from typing import Any, get_type_hints

from fastapi import APIRouter
from starlette.responses import Response

from recollect.http.schemas.values import Told


class Router(APIRouter):
    """Routes as FastAPI has them; what they tell is sent as it was written."""

    def add_api_route(self, path: str, endpoint: Callable[..., Any], **given: Any) -> None:
        super().add_api_route(path, _written(endpoint, given.get("status_code") or 200), **given)


def _written(endpoint: Callable[..., Any], status: int) -> Callable[..., Any]:
    """The endpoint with its answer as bytes; one that answers with something else as it is."""
    hints = get_type_hints(endpoint)
    told = hints.get("return")
    if iscoroutinefunction(endpoint) or not (isinstance(told, type) and issubclass(told, Told)):
        return endpoint
    aside = next((name for name, hint in hints.items() if hint is Response), "")  # where it says more than the answer

    @wraps(endpoint)
    def written(**given: Any) -> Response:
        made: Told = endpoint(**given)
        answer = Response(made.model_dump_json(), status, media_type="application/json")
        if (more := given.get(aside)) is not None:
            answer.status_code = more.status_code or status
            answer.headers.raw.extend(more.headers.raw)
        return answer

    return written
