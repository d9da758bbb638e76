"""Who may speak to the local HTTP server, by the headers alone: before a byte of a body is read.

A web page the user visits can reach a port of this machine, and can make a name of its own point to it. So the Host
must be a name of this machine, a page of another origin is refused, and a token is needed always.
"""

from __future__ import annotations

import hmac
import re
from typing import Protocol

from recollect.http.foreign import LOOPBACK, Denied, Foreign, only

PATH = "/mcp"
_DIGITS = re.compile(r"\d{1,15}", re.ASCII)


class Headers(Protocol):
    """Headers as they came, by name in any case."""

    def get_all(self, name: str) -> list[str] | None: ...


class Guard:
    """Checks requests for a server that was told to listen on `host`."""

    def __init__(self, host: str, token: str, most: int) -> None:
        self._foreign = Foreign((*LOOPBACK, host))
        self._token = token.encode("utf-8")
        self._most = most

    def check(self, method: str, path: str, headers: Headers) -> Denied | int:
        """How many bytes of body may be read, or why none."""
        return (
            self._foreign.check(headers.get_all)
            or self._unknown(headers)
            or _misplaced(method, path)
            or self._length(headers)
        )

    def _unknown(self, headers: Headers) -> Denied | None:
        scheme, _, given = (only(headers.get_all, "Authorization") or "").partition(" ")
        right = hmac.compare_digest(given.strip().encode("utf-8", "replace"), self._token)
        if scheme.casefold() != "bearer" or not right:
            return Denied(401, "a bearer token is needed")
        return None

    def _length(self, headers: Headers) -> Denied | int:
        kind, _, _ = (only(headers.get_all, "Content-Type") or "").partition(";")
        if kind.strip().casefold() != "application/json":
            return Denied(415, "only application/json is understood")
        if headers.get_all("Transfer-Encoding"):
            return Denied(411, "the body needs a Content-Length")
        length = only(headers.get_all, "Content-Length")
        if not length or not _DIGITS.fullmatch(length):
            return Denied(411, "the body needs a Content-Length")
        if int(length) > self._most:
            return Denied(413, f"a body has at most {self._most:,} bytes")
        return int(length)


def _misplaced(method: str, path: str) -> Denied | None:
    if path.partition("?")[0] != PATH:
        return Denied(404, f"there is only {PATH}")
    return None if method == "POST" else Denied(405, "messages come by POST; there is no stream to open")
