"""A bus of a test's own: a stream and a channel on the real Redis, a real store behind it, readers as many as asked."""

from __future__ import annotations

import json
import secrets
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from recollect import Recollect, Scope
from recollect.bus.connecting import connect
from recollect.bus.consumer import Consumer, Patience
from recollect.bus.stream import Stream
from recollect.models.tiny import TinyEmbedder
from recollect.settings import Settings, load
from recollect.store.opening import open_store
from recollect.store.port import Store

QUICK = Patience(handler=0.05, idle=0.2, poll=0.05, pause=0.01)
AT = datetime(2026, 11, 15, 12, tzinfo=UTC)


def event(content: str = "We deploy on Fridays.", kind: str = "conversation.message", **more: Any) -> dict[str, Any]:
    """An event of ann's, as a publisher writes it."""
    named = {name: more.pop(name) for name in ("id", "user_id", "event_type") if name in more}
    metadata = {"source": "chat", "timestamp": "2026-11-15T12:00:00Z", "session_id": "chat:1", **more}
    return {"event_type": kind, "content": content, "user_id": "ann", "metadata": metadata, **named}


class Bus:
    """What a test works with."""

    def __init__(self, url: str, settings: Settings, store: Store) -> None:
        name = secrets.token_hex(4)
        self.url = url
        self.settings = replace(settings, redis_stream=f"s:{name}", redis_channel=f"c.{name}")
        self.store = store
        self.redis = connect(url)
        self.stream = Stream(self.redis, self.settings)
        self.counts: Counter[str] = Counter()
        self._consumers: list[Consumer] = []

    def memory(self, scope: Scope) -> Recollect:
        return Recollect(self.store, scope, self.settings, embedder=TinyEmbedder(), background=False)

    def of(self, user: str = "ann", tenant: str = "local", project: str | None = None) -> Recollect:
        return self.memory(Scope(tenant, user, project))

    def consumer(self, memory_of: Callable[[Scope], Recollect] | None = None, **given: Any) -> Consumer:
        settings = given.pop("settings", self.settings)
        given = {"patience": QUICK, "bridge": False, "count": self.count, **given}
        self._consumers.append(Consumer(self.url, memory_of or self.memory, settings, **given))
        return self._consumers[-1]

    def count(self, outcome: str, n: int) -> None:
        self.counts[outcome] += n

    def add(self, *events: dict[str, Any] | bytes) -> list[str]:
        return [self.stream.add(one if isinstance(one, bytes) else json.dumps(one).encode()) for one in events]

    def drain(self, consumer: Consumer | None = None, seconds: float = 20.0) -> Consumer:
        """Let a reader work until nothing waits and nothing is pending."""
        reader = consumer or self.consumer()
        until = time.monotonic() + seconds
        while True:
            reader.step(0.01)
            if not self.stream.figures().lag:
                return reader
            assert time.monotonic() < until, self.stream.figures()

    def said(self, session: str = "chat:1", user: str = "ann", tenant: str = "local") -> list[str]:
        return [one.text for one in self.of(user, tenant).store.sessions.history(Scope(tenant, user), session)]

    def close(self) -> None:
        for consumer in self._consumers:
            consumer.stop()
        self.redis.close()


@pytest.fixture
def bus(each_store: str, redis_url: str, tmp_path: Path) -> Iterator[Bus]:
    settings = load(data_dir=tmp_path / "data").settings
    store = open_store(settings)
    bus = Bus(redis_url, settings, store)
    yield bus
    bus.close()
    store.close()


def until(what: Callable[[], Any], seconds: float = 20.0) -> Any:
    """Wait until something is so."""
    end = time.monotonic() + seconds
    while not (found := what()):
        assert time.monotonic() < end, "it never came"
        time.sleep(0.01)
    return found
