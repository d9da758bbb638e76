"""Whom a request names, in its address or its body, before a route reads either."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import parse_qsl

import orjson
from starlette.types import Scope

_MOST = 10  # users of one batch


def user_in(scope: Scope, body: bytes) -> str | None:
    """The one user it is about."""
    named: Any = _asked(scope).get("user_id")
    if named is None and body:
        given = orjson.loads(body)
        named = given.get("user_id") if isinstance(given, dict) else None
    return named if isinstance(named, str) else None


def users_in(scope: Scope, body: bytes) -> set[str]:
    """All of them, those of the items of a batch too, as far as ten."""
    given = orjson.loads(body) if body else None
    lists = [one for one in given.values() if isinstance(one, list)] if isinstance(given, dict) else []
    places: list[Any] = [_asked(scope), given, *(item for one in lists for item in one)]
    found: set[str] = set()
    for place in places:
        named = place.get("user_id") if isinstance(place, Mapping) else None
        if isinstance(named, str):
            found.add(named)
        if len(found) >= _MOST:
            break
    return found


def _asked(scope: Scope) -> dict[str, str]:
    return dict(parse_qsl(scope.get("query_string", b"").decode("latin-1"), keep_blank_values=True))
