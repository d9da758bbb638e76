"""Publishing from Python: an event comes in, is checked and signed as a consumer would check it, and is in the stream.

With only the `redis` package one needs none of this: `XADD recollect:ingest * event '<JSON>'` does the same.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from types import TracebackType
from typing import Any, Self

from recollect.bus.canonical import canonical
from recollect.bus.connecting import connect, told
from recollect.bus.message import CONVERSATION, parse
from recollect.bus.signing import Signer, sign
from recollect.bus.stream import Stream
from recollect.clock import Clock, iso, now, parse_time
from recollect.settings import Settings


class Publisher:
    """Sends events to the memory. With a `signer` each is signed, anew each time it is sent."""

    def __init__(
        self,
        redis_url: str,
        *,
        user: str,
        source: str = "python",
        settings: Settings | None = None,
        signer: Signer | None = None,
        clock: Clock = now,
    ) -> None:
        self._settings = settings or Settings()
        self._redis = connect(redis_url)
        self._stream = Stream(self._redis, self._settings)
        self._user, self._source, self._signer, self._clock = user, source, signer, clock

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        self._redis.close()

    def said(
        self, content: str, *, role: str = "user", session: str | None = None, event_id: str | None = None, **more: Any
    ) -> str:
        """One message of a conversation; returns its place in the stream."""
        return self.publish(self.event(CONVERSATION, content, event_id, role=role, session_id=session, **more))

    def told(self, content: str, kind: str = "note", *, event_id: str | None = None, **more: Any) -> str:
        """One thing to remember; returns its place in the stream."""
        return self.publish(self.event(f"memory.{kind}", content, event_id, **more))

    def event(
        self,
        event_type: str,
        content: str,
        event_id: str | None = None,
        *,
        timestamp: datetime | str | None = None,
        **more: Any,
    ) -> dict[str, Any]:
        """An event of this user and source, now unless said otherwise; further names go into its metadata."""
        at = self._clock() if timestamp is None else parse_time(timestamp)
        metadata = {"source": self._source, "timestamp": iso(at), **{k: v for k, v in more.items() if v is not None}}
        made = {"event_type": event_type, "content": content, "user_id": self._user, "metadata": metadata}
        return made if event_id is None else {**made, "id": event_id}

    def publish(self, event: Mapping[str, Any]) -> str:
        """Put an event into the stream, where it stays until it is stored; InvalidInput for what is no event."""
        with told():
            return self._stream.add(self._sealed(event))

    def announce(self, event: Mapping[str, Any]) -> int:
        """Publish it on the channel; returns how many heard it. Nobody: it is gone."""
        with told():
            return int(self._redis.publish(self._settings.redis_channel, self._sealed(event)))

    def _sealed(self, event: Mapping[str, Any]) -> bytes:
        at = self._clock()
        text = canonical(dict(event) if self._signer is None else sign(event, self._signer, at=at))
        parse(text, arrived=at)
        return text
