"""From the channel to the stream: what is published while somebody listens is kept from then on.

A channel keeps nothing: what is published while no bridge listens is gone, and nobody is told. Several bridges do no
harm: of those that hear an event, one adds it.
"""

from __future__ import annotations

import hashlib
import logging
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from recollect.bus.connecting import connect, failures
from recollect.bus.message import FIELD, MAX_BYTES
from recollect.settings import Settings

HEARD_SECONDS = 60  # how long the same bytes are one event: bridges hear it within moments
_LONGEST_PAUSE = 5.0
_LAST_SECONDS = 1.0  # to end in


class Bridge:
    """Listens in a thread of its own from `start` to `stop`, and connects again as often as it must."""

    def __init__(
        self,
        redis_url: str,
        settings: Settings,
        *,
        count: Callable[[str, int], None] = lambda outcome, n: None,
        pause_seconds: float = 0.2,
    ) -> None:
        self._redis = connect(redis_url)
        self._channel = settings.redis_channel
        self._stream = settings.redis_stream
        self._count = count
        self._pause = pause_seconds
        self._stopping = threading.Event()
        self._listening = threading.Event()
        self._thread: threading.Thread | None = None

    @property
    def listening(self) -> bool:
        """Whether what is published now is heard."""
        return self._listening.is_set()

    def start(self, wait: float = 0.0) -> None:
        """Begin to listen; returns when it does, or after so many seconds."""
        self._thread = threading.Thread(target=self._run, name="recollect-bridge", daemon=True)
        self._thread.start()
        self._listening.wait(wait)

    def stop(self) -> None:
        """End; what was heard is in the stream."""
        self._stopping.set()
        if self._thread is not None:
            self._thread.join(_LAST_SECONDS)
        self._redis.close()

    def _run(self) -> None:
        pause = self._pause
        while not self._stopping.is_set():
            try:
                self._listen()
                pause = self._pause
            except failures() as error:
                if self._listening.is_set():
                    pause = self._pause
                    logging.getLogger(__name__).warning("the channel is not heard: %s", type(error).__name__)
                self._listening.clear()
                self._stopping.wait(pause)
                pause = min(2 * pause, _LONGEST_PAUSE)

    def _listen(self) -> None:
        with self._redis.pubsub() as heard:
            heard.subscribe(self._channel)
            while not self._stopping.is_set():
                told = heard.get_message(timeout=0.2)
                if told is None:
                    continue
                if told["type"] == "subscribe":
                    self._listening.set()
                elif told["type"] == "message":
                    self._keep(bytes(told["data"]))

    def _keep(self, event: bytes) -> None:
        """Into the stream. It was heard once and is told never again, so this waits for Redis as long as it takes."""
        pause = self._pause
        while True:
            try:
                added = self._add(event[: MAX_BYTES + 1])
                self._count("bridged" if added else "heard_twice", 1)
                return
            except failures():
                if self._stopping.wait(pause):
                    raise
                pause = min(2 * pause, _LONGEST_PAUSE)

    def _add(self, event: bytes) -> bool:
        """Add it, unless another bridge did: the mark and the entry are made together or not at all."""
        from redis.exceptions import WatchError

        mark = f"{self._stream}:heard:{hashlib.sha256(event).hexdigest()}"
        with self._redis.pipeline(transaction=True) as both, suppress(WatchError):
            both.watch(mark)
            if both.exists(mark):
                return False
            both.multi()
            both.set(mark, "1", ex=HEARD_SECONDS)
            both.xadd(self._stream, {FIELD: event})
            answers: list[Any] = both.execute()
            return len(answers) == 2
        return False
