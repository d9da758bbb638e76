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
    """The routes of an app, in their order. `needs` has an entry for each, or it is refused.

    `elsewhere` are those of another server, and `there` says where that is.
    """

    def __init__(
        self,
        routes: Iterable[Any],
        needs: Mapping[tuple[str, str], str | None],
        elsewhere: Iterable[Any] = (),
        there: str | None = None,
    ) -> None:
        self._routes, self._elsewhere = _read(routes), _read(elsewhere)
        self._needs, self._there = needs, there

    def find(self, method: str, path: str) -> Found:
        """The first that fits method and path."""
        allowed: set[str] = set()
        for regex, template, methods in self._routes:
            if not regex.match(path):
                continue
            if method in methods:
                return self._found(method, template)
            allowed |= methods
        hint = self._there if self._is_elsewhere(method, path) else None
        if allowed:
            headers = {"Allow": ", ".join(sorted(allowed))}
            return Found("none", refused=Refused(405, hint=hint, headers=headers))
        return Found("none", refused=Refused(404, "there is no such address", hint=hint))

    def _is_elsewhere(self, method: str, path: str) -> bool:
        return any(method in methods and regex.match(path) for regex, _, methods in self._elsewhere)

    def _found(self, method: str, template: str) -> Found:
        if (method, template) not in self._needs:
            return Found(template, refused=Refused(403, "this is closed", hint="It has no entry in the permissions."))
        return Found(template, self._needs[method, template], known=True)


def _read(routes: Iterable[Any]) -> list[tuple[re.Pattern[str], str, frozenset[str]]]:
    return [(route.path_regex, route.path, frozenset(route.methods or ())) for route in routes]
