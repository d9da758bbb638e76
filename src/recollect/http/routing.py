"""Which route a request is for, found as the router finds it, before anything of it is run; and what it needs."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from recollect.http.errors import Refused


class Found(NamedTuple):
    """A route's template and the permission it needs; or why there is none."""

    template: str
    needs: str | None = None
    known: bool = False
    refused: Refused | None = None


class Routes:
    """The routes of an app, in their order. `needs` has an entry for each, or it is refused."""

    def __init__(self, routes: Iterable[Any], needs: Mapping[tuple[str, str], str | None]) -> None:
        self._routes: list[tuple[re.Pattern[str], str, frozenset[str]]] = [
            (route.path_regex, route.path, frozenset(route.methods or ())) for route in routes
        ]
        self._needs = needs

    def find(self, method: str, path: str) -> Found:
        """The first that fits method and path."""
        allowed: set[str] = set()
        for regex, template, methods in self._routes:
            if not regex.match(path):
                continue
            if method in methods:
                return self._found(method, template)
            allowed |= methods
        if allowed:
            headers = {"Allow": ", ".join(sorted(allowed))}
            return Found("none", refused=Refused(405, headers=headers))
        return Found("none", refused=Refused(404, "there is no such address"))

    def _found(self, method: str, template: str) -> Found:
        if (method, template) not in self._needs:
            return Found(template, refused=Refused(403, "this is closed", hint="It has no entry in the permissions."))
        return Found(template, self._needs[method, template], known=True)
