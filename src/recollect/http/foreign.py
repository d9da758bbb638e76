"""Whether a request comes from where it may, by Host, Origin and Sec-Fetch-Site alone.

A web page the user visits can reach a port of this machine, and can make a name of its own point to it. So the Host
must be a name the server goes by, and a page of another origin is refused. Both servers, MCP's and the REST one, ask
this; nothing here knows of keys or bodies.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

LOOPBACK = frozenset(("127.0.0.1", "localhost", "[::1]"))
_HOST = re.compile(r"(\[[0-9a-f:.]+\]|[a-z0-9._-]+)(?::\d{1,5})?", re.ASCII)

Values = Callable[[str], Sequence[str] | None]  # every value a header was given, by its name


class Denied(NamedTuple):
    """Why a request goes no further."""

    status: int
    why: str


class Foreign:
    """Tells requests of strangers. `names`: hosts the server goes by, None for any; `origins`: pages that may ask.

    `behind_tls`: whether its own pages may be known as https, as they are behind a proxy.
    """

    def __init__(self, names: Iterable[str] | None, origins: Iterable[str] = (), *, behind_tls: bool = False) -> None:
        self._behind_tls = behind_tls or names is None
        self._names = None if names is None else frozenset(written(name) for name in names)
        self.origins = frozenset(origins)

    def check(self, values: Values) -> Denied | None:
        """Why the request may not come in, or None."""
        host = only(values, "Host")
        name = _HOST.fullmatch(host.casefold()) if host else None
        if not host or not name or (self._names is not None and name[1] not in self._names):
            return Denied(403, "this host is not served here")
        given = values("Origin")
        if given and (len(given) != 1 or not self._is_served(given[0], host)):
            return Denied(403, "this origin is not served here")
        site = values("Sec-Fetch-Site")
        if site and site[0] not in ("same-origin", "none") and not (given and given[0] in self.origins):
            return Denied(403, "pages of other sites are not served")
        return None

    def _is_served(self, origin: str, host: str) -> bool:
        """The server's own page, or one it was told of."""
        return (
            origin in self.origins or origin == f"http://{host}" or (self._behind_tls and origin == f"https://{host}")
        )


def written(host: str) -> str:
    """A host as it stands in a Host header."""
    return f"[{host}]" if ":" in host and not host.startswith("[") else host.casefold()


def only(values: Values, name: str) -> str | None:
    """A header that was given once; twice is as good as not at all, because two readers would disagree."""
    found = values(name)
    return found[0].strip() if found and len(found) == 1 else None
