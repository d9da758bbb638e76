"""How often somebody may ask in a minute: by key, by user and by address, and how often an address may be wrong.

The counts are in Redis when there is one, so that all processes count together, else in this process. When Redis does
not answer, this process counts by itself for a while: nobody is refused because a server of ours is away.
"""

from __future__ import annotations

import asyncio
import ipaddress
import time
from collections.abc import Awaitable, Callable
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from limits import RateLimitItem, RateLimitItemPerMinute, WindowStats
from limits.aio.storage import MemoryStorage, RedisStorage
from limits.aio.strategies import MovingWindowRateLimiter, SlidingWindowCounterRateLimiter

from recollect.errors import InvalidInput

if TYPE_CHECKING:
    from recollect.keys import Grant
    from recollect.settings import Settings

T = TypeVar("T")
FAILURES = RateLimitItemPerMinute(20)  # wrong keys from one address; one who mistypes needs fewer, one who guesses more
REDIS_SECONDS = 0.25  # longer than a healthy Redis takes, shorter than anybody notices
AWAY_SECONDS = 10.0  # how long Redis is left alone after it did not answer


class Over(NamedTuple):
    """Too often: by what it was counted, and when to try again."""

    by: str
    seconds: int


class Limits:
    """The limits of these settings."""

    def __init__(self, settings: Settings) -> None:
        self._each = _a_minute(settings.serve_rate_per_minute)
        self._address = _a_minute(settings.serve_rate_per_ip_per_minute)
        self._here = _Counters(MemoryStorage())
        self._redis = _redis(settings.redis_url)
        self._shared = None if self._redis is None else _Counters(self._redis)
        self._away_until = 0.0

    async def over(self, grant: Grant | None, address: str) -> Over | None:
        """Count a request; what it is too often for, if it is."""
        wanted: list[tuple[str, RateLimitItem | None, tuple[str, ...]]] = [("ip", self._address, (address,))]
        if grant is not None:
            wanted.append(("key", self._each, (grant.key,)))
            wanted.append(("user", self._each, (grant.scope.tenant, grant.scope.user)))
        for by, item, names in wanted:
            found = None if item is None else await self._counted(item, (by, *names))
            if found is not None:
                return found
        return None

    async def over_named(self, tenant: str, user: str) -> Over | None:
        """Count a request of somebody else that is about this user; whether there are too many."""
        return None if self._each is None else await self._counted(self._each, ("user", tenant, user))

    async def _counted(self, item: RateLimitItem, names: tuple[str, ...]) -> Over | None:
        if await self._ask(lambda counters: counters.rate.hit(item, *names)):
            return None
        return Over(names[0], await self._seconds(lambda counters: counters.rate.get_window_stats(item, *names)))

    async def failed(self, address: str) -> None:
        """Somebody there was wrong."""
        await self._ask(lambda counters: counters.exact.hit(FAILURES, "failures", address))

    async def is_guessing(self, address: str) -> Over | None:
        """Whether too many were wrong from there."""
        if await self._ask(lambda counters: counters.exact.test(FAILURES, "failures", address)):
            return None
        names = ("failures", address)
        return Over("failures", await self._seconds(lambda counters: counters.exact.get_window_stats(FAILURES, *names)))

    async def close(self) -> None:
        """Let go of Redis."""
        if self._redis is not None:
            bridge: Any = self._redis.bridge
            await bridge.get_connection().aclose()

    async def _ask(self, ask: Callable[[_Counters], Awaitable[T]]) -> T:
        """Ask Redis, or if there is none, or it does not answer, what was counted here."""
        if self._shared is not None and time.monotonic() >= self._away_until:
            try:
                async with asyncio.timeout(REDIS_SECONDS):
                    return await ask(self._shared)
            except Exception:  # whatever is wrong with Redis, it is not this request's fault
                self._away_until = time.monotonic() + AWAY_SECONDS
        return await ask(self._here)

    async def _seconds(self, ask: Callable[[_Counters], Awaitable[WindowStats]]) -> int:
        """When there is room again, from 1 to 60 seconds."""
        return max(1, min(60, int((await self._ask(ask)).reset_time - time.time()) + 1))


class _Counters:
    """What is counted in one place: about right and small for requests, exact for the few failures."""

    def __init__(self, storage: MemoryStorage | RedisStorage) -> None:
        self.rate = SlidingWindowCounterRateLimiter(storage)
        self.exact = MovingWindowRateLimiter(storage)


@lru_cache(maxsize=4_096)
def network_of(address: str) -> str:
    """What counts as one address: an IPv6 subscriber has a whole network of them."""
    try:
        found = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return address[:60]
    if isinstance(found, ipaddress.IPv6Address):
        if found.ipv4_mapped is not None:
            return str(found.ipv4_mapped)
        return str(ipaddress.ip_network((found, 64), strict=False))
    return str(found)


def _a_minute(number: int) -> RateLimitItem | None:
    return RateLimitItemPerMinute(number) if number > 0 else None


def _redis(url: str) -> RedisStorage | None:
    if not url:
        return None
    address = f"async+redis+{url}" if url.startswith("unix:") else f"async+{url}"
    try:
        return RedisStorage(
            address,
            implementation="redispy",
            key_prefix="recollect:limits",
            socket_timeout=REDIS_SECONDS,
            socket_connect_timeout=REDIS_SECONDS,
        )
    except Exception:  # its text may hold the password that stands in the address
        raise InvalidInput("the setting redis_url cannot be read", hint="It looks like redis://host:6379/0.") from None
