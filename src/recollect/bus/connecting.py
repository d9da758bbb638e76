"""A client of Redis as the bus needs it: short waits, and no sending again behind our back.

A client that repeats a command whose answer was lost adds an event twice. Whoever calls knows better what may be
repeated, and does it.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from recollect.bus.errors import BusUnavailable
from recollect.errors import InvalidInput

ANSWER_SECONDS = 5.0  # how long one command may take beyond what it was asked to wait
SCHEMES = ("redis://", "rediss://", "unix://")


def connect(url: str) -> Any:
    """A client; it connects when it is first used."""
    try:
        import redis
        from redis.backoff import NoBackoff
        from redis.retry import Retry
    except ImportError:
        raise InvalidInput("events by Redis need its client", hint="pip install 'recollect[server]'") from None
    if not url.startswith(SCHEMES):
        raise InvalidInput(
            "the setting redis_url is not an address of Redis" if url else "there is no Redis: redis_url is not set",
            hint="Set it: `recollect config set redis_url redis://localhost:6379`, or the variable REDIS_URL.",
        )
    try:
        return redis.Redis.from_url(
            url,
            socket_timeout=ANSWER_SECONDS,
            socket_connect_timeout=ANSWER_SECONDS,
            health_check_interval=30,
            retry=Retry(NoBackoff(), 0),
            protocol=2,  # a login that may do little need not say HELLO
        )
    except ValueError:
        raise InvalidInput("the setting redis_url is not an address of Redis") from None


@contextmanager
def told() -> Iterator[None]:
    """Failures of Redis in our words, for whoever cannot wait until it is back."""
    from redis.exceptions import RedisError

    try:
        yield
    except RedisError as error:
        raise BusUnavailable(
            f"Redis did not do it: {type(error).__name__}", hint="Is it running at redis_url, and may this login do it?"
        ) from None


def failures() -> tuple[type[Exception], ...]:
    """What a client raises when Redis is away or does not do what it is asked."""
    from redis.exceptions import RedisError

    return (RedisError,)
