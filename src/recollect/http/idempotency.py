"""A request that is sent twice is done once: what it was answered is kept for a day under the key its sender gave it.

The answer is written down before it is sent: whoever does not hear it asks again, and hears the same.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
import re
from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import TYPE_CHECKING

from starlette.types import Message, Send

from recollect.errors import RecollectError
from recollect.http.errors import Refused
from recollect.http.foreign import only

if TYPE_CHECKING:
    from recollect.http.gate import Passing
    from recollect.serving import Serving
    from recollect.store.queueport import Answered

HEADER = "Idempotency-Key"
KEPT = timedelta(hours=24)
MOST_BYTES = 1_048_576  # an answer that is larger is not kept: what was asked is done again
_METHODS = frozenset(("POST", "PATCH", "PUT", "DELETE"))
_KEY = re.compile(r"[\x21-\x7e]{1,255}")

Run = Callable[[Send], Awaitable[None]]


class Repeats:
    """Does each request of a key once."""

    def __init__(self, serving: Serving) -> None:
        self._serving = serving

    async def run(self, passing: Passing, body: bytes, run: Run) -> None:
        """Run it, or answer as it was answered before."""
        if passing.grant is None or passing.scope["method"] not in _METHODS or not passing.values(HEADER):
            await run(passing.answer)
            return
        key = only(passing.values, HEADER)
        if key is None or not _KEY.fullmatch(key):
            raise Refused(422, f"{HEADER} has 1 to 255 visible characters", code="invalid_input")
        before = await asyncio.to_thread(self._begin, passing, key, _fingerprint(passing, body))
        if before is None:
            await self._first(passing, key, run)
        elif before.state == "done":
            await _again(passing, before)
        elif before.state == "other":
            raise Refused(422, "this Idempotency-Key was used for another request", code="idempotency_mismatch")
        else:
            said = "a request with this Idempotency-Key is being answered"
            raise Refused(409, said, code="in_progress", headers={"Retry-After": "1"})

    def _begin(self, passing: Passing, key: str, fingerprint: str) -> Answered | None:
        assert passing.grant is not None
        now = self._serving.clock()
        return self._serving.store.answers.begin(passing.grant.scope, key, fingerprint, at=now, until=now + KEPT)

    async def _first(self, passing: Passing, key: str, run: Run) -> None:
        held: list[Message] = []

        async def hold(message: Message) -> None:
            held.append(message)

        try:
            await run(hold)
        except Exception:
            await asyncio.to_thread(self._end, passing, key, 500, b"")
            raise
        status = held[0]["status"] if held else 500
        answer = b"".join(message.get("body", b"") for message in held)
        await asyncio.to_thread(self._end, passing, key, status, answer)
        for message in held:
            await passing.answer(message)

    def _end(self, passing: Passing, key: str, status: int, answer: bytes) -> None:
        """Keep what was done; what was refused changed nothing, and may be tried again."""
        assert passing.grant is not None
        store, scope = self._serving.store, passing.grant.scope
        try:
            if 200 <= status < 300 and len(answer) <= MOST_BYTES:
                store.answers.finish(scope, key, status=status, body=answer, at=self._serving.clock())
            else:
                store.answers.drop(scope, key)
        except RecollectError as error:  # it is done: that this cannot be written down does not undo it
            logging.getLogger(__name__).warning("an answer could not be kept: %s", error.code)


async def _again(passing: Passing, before: Answered) -> None:
    headers = [
        (b"content-type", b"application/json"),
        (b"content-length", str(len(before.body)).encode()),
        (b"idempotent-replayed", b"true"),
    ]
    await passing.answer({"type": "http.response.start", "status": before.status, "headers": headers})
    await passing.answer({"type": "http.response.body", "body": before.body})


def _fingerprint(passing: Passing, body: bytes) -> str:
    scope = passing.scope
    asked = [scope["method"].encode(), scope["path"].encode("utf-8", "replace"), scope.get("query_string", b""), body]
    return hashlib.sha256(b"\0".join(asked)).hexdigest()
