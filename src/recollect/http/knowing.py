"""Whose key it is: what a request was sent with becomes a `Grant`, or nothing.

What was found is remembered for two seconds, by a hash; so a key that is revoked opens nothing two seconds later, and a
busy client costs one lookup in that time. On one's own machine the secret in the data directory opens everything.
"""

from __future__ import annotations

import asyncio
import hmac
import time
from collections.abc import Callable, Sequence
from typing import Protocol

from recollect.errors import InvalidKey
from recollect.http.foreign import Values
from recollect.keys import PERMISSIONS, Grant, digest, id_of
from recollect.serving import Serving

REMEMBERED = 2.0  # seconds
LATELY = 600.0  # seconds in which a key that was good is asked for even when its address was wrong too often
MOST = 10_000
LOCAL = "local"  # the id of the secret that is no key of a store


class Knows(Protocol):
    """Tells who somebody is by the text they were given: a key, or what a page's cookie holds."""

    def was_good(self, text: str) -> bool: ...
    async def grant(self, text: str) -> Grant: ...


class Knowing:
    """Tells who somebody is. `secrets` open the memory of this machine's user, and act for others of its tenant."""

    def __init__(
        self, serving: Serving, secrets: Sequence[str] = (), clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._serving = serving
        self._secrets = [digest(secret) for secret in secrets]
        self._local = Grant(LOCAL, serving.owner, PERMISSIONS)
        self._clock = clock
        self._known: dict[bytes, tuple[float, Grant]] = {}

    def was_good(self, text: str) -> bool:
        """Whether this opened something lately."""
        found = self._known.get(digest(text))
        return found is not None and self._clock() < found[0] + LATELY

    async def grant(self, text: str) -> Grant:
        """What it opens; InvalidKey when that is nothing."""
        given = digest(text)
        found = self._known.get(given)
        if found is not None and self._clock() < found[0] + REMEMBERED and not self._is_over(found[1]):
            return found[1]
        if any([hmac.compare_digest(given, secret) for secret in self._secrets]):  # noqa: C419 (all are compared)
            grant = self._local
        elif self._secrets and not id_of(text):
            raise InvalidKey
        else:
            grant = await asyncio.to_thread(self._serving.store.keys.check, text, at=self._serving.clock())
        self._remember(given, grant)
        return grant

    def _is_over(self, grant: Grant) -> bool:
        return grant.expires_at is not None and grant.expires_at <= self._serving.clock()

    def _remember(self, given: bytes, grant: Grant) -> None:
        while len(self._known) >= MOST:
            self._known.pop(next(iter(self._known)))
        self._known.pop(given, None)
        self._known[given] = (self._clock(), grant)


def key_in(values: Values) -> str | None:
    """The key of a request: `X-API-Key`, or `Authorization: Bearer`; given twice it is none."""
    given = keys_in(values)
    return given[0].strip() if len(given) == 1 and given[0].strip() else None


def keys_in(values: Values) -> list[str]:
    """All that stands where a key may stand."""
    return [*(values("X-API-Key") or ()), *(_bearer(one) for one in values("Authorization") or ())]


def _bearer(value: str) -> str:
    scheme, _, text = value.strip().partition(" ")
    return text if scheme.casefold() == "bearer" else ""
