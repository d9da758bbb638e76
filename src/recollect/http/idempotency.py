"""A request that is sent twice is done once: what it was answered is kept for a day under the key its sender gave it.

The answer is written down before it is sent: whoever does not hear it asks again, and hears the same. It is kept with
the one it is about, so that whoever forgets something forgets what was answered of it. A request that was done and
could not be written down is done again: so its route gets a name for it, the same each time, to know its own work by.
Questions change nothing: their answers are not kept.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
import re
from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import parse_qsl

import orjson
from starlette.types import Message, Send

from recollect.errors import RecollectError
from recollect.http.errors import Refused
from recollect.http.foreign import only
from recollect.store.queueport import PLAIN

if TYPE_CHECKING:
    from recollect.http.gate import Passing
    from recollect.model import Scope
    from recollect.serving import Serving
    from recollect.store.queueport import Answered

HEADER = "Idempotency-Key"
KEPT = timedelta(hours=24)
MOST_BYTES = 1_048_576  # an answer that is larger is not kept: what was asked is done again
_METHODS = frozenset(("POST", "PATCH", "PUT", "DELETE"))
_KEY = re.compile(r"[\x21-\x7e]{1,255}")

Run = Callable[[Send], Awaitable[None]]


class Repeated(NamedTuple):
    """A request that may come again: whose answer it is, what it is called there, and what it asks."""

    scope: Scope
    key: str
    fingerprint: str


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
        if passing.needs == "read":
            await run(passing.answer)
            return
        one = _repeated(passing, key, body)
        passing.repeat_key = _name(passing, key, one.fingerprint)
        before = await asyncio.to_thread(self._begin, one)
        if before is None:
            await self._first(passing, one, run)
        elif before.state == "done":
            await _again(passing, before)
        elif before.state == "other":
            raise Refused(422, "this Idempotency-Key was used for another request", code="idempotency_mismatch")
        else:
            said = "a request with this Idempotency-Key is being answered"
            raise Refused(409, said, code="in_progress", headers={"Retry-After": "1"})

    def _begin(self, one: Repeated) -> Answered | None:
        now = self._serving.clock()
        return self._serving.store.answers.begin(one.scope, one.key, one.fingerprint, at=now, until=now + KEPT)

    async def _first(self, passing: Passing, one: Repeated, run: Run) -> None:
        held: list[Message] = []

        async def hold(message: Message) -> None:
            held.append(message)

        try:
            await run(hold)
        except BaseException:  # a server that ends breaks it off: whoever sends it again must not wait for nobody
            await asyncio.shield(asyncio.to_thread(self._end, one, 500, b""))
            raise
        status = held[0]["status"] if held else 500
        answer = b"".join(message.get("body", b"") for message in held)
        await asyncio.shield(asyncio.to_thread(self._end, one, status, answer))
        for message in held:
            await passing.answer(message)

    def _end(self, one: Repeated, status: int, answer: bytes) -> None:
        """Keep what was done; what was refused changed nothing, and may be tried again."""
        answers = self._serving.store.answers
        try:
            if 200 <= status < 300 and len(answer) <= MOST_BYTES:
                answers.finish(one.scope, one.key, status=status, body=answer, at=self._serving.clock())
            else:
                answers.drop(one.scope, one.key)
        except RecollectError as error:  # it is done: that this cannot be written down does not undo it
            logging.getLogger(__name__).warning("an answer could not be kept: %s", type(error).__name__)


async def _again(passing: Passing, before: Answered) -> None:
    headers = [
        (b"content-type", b"application/json"),
        (b"content-length", str(len(before.body)).encode()),
        (b"idempotent-replayed", b"true"),
    ]
    await passing.answer({"type": "http.response.start", "status": before.status, "headers": headers})
    await passing.answer({"type": "http.response.body", "body": before.body})


def _repeated(passing: Passing, key: str, body: bytes) -> Repeated:
    """A request by its key, kept with the one it acts for."""
    assert passing.grant is not None
    own = passing.grant.scope
    try:
        scope = passing.grant.narrowed(user=_user_in(passing, body))
    except RecollectError:  # the route says what is wrong with it
        scope = own
    if scope.user != own.user:  # they may have used the same key themselves
        key = f"for:{_hash(own.user.encode(), key.encode())}"
    return Repeated(scope, key, _fingerprint(passing, body))


def _user_in(passing: Passing, body: bytes) -> str | None:
    """The user a request names, in its address or its body."""
    query = parse_qsl(passing.scope.get("query_string", b"").decode("latin-1"), keep_blank_values=True)
    named: Any = dict(query).get("user_id")
    if named is None and body:
        given = orjson.loads(body)
        named = given.get("user_id") if isinstance(given, dict) else None
    return named if isinstance(named, str) else None


def _name(passing: Passing, key: str, fingerprint: str) -> str:
    """What its route knows this request by, whenever it comes; of another body it is another one."""
    assert passing.grant is not None
    scope = passing.grant.scope
    parts = (scope.tenant, scope.user, scope.project or "", key, fingerprint)
    return f"idem:{_hash(*(part.encode('utf-8', 'replace') for part in parts))[:32]}"


def _fingerprint(passing: Passing, body: bytes) -> str:
    """What is asked. That something was taken away quotes nothing of it."""
    scope = passing.scope
    query = scope.get("query_string", b"")
    asked = _hash(scope["method"].encode(), scope["path"].encode("utf-8", "replace"), query, body)
    return f"{PLAIN}{asked}" if scope["method"] == "DELETE" else asked


def _hash(*parts: bytes) -> str:
    return hashlib.sha256(b"\0".join(parts)).hexdigest()
