"""A request that is sent twice is done once: what it was answered is kept for a day under the key its sender gave it.

The answer is written down before it is sent: whoever does not hear it asks again, and hears the same. It is kept with
the one it is about, so that whoever forgets something forgets what was answered of it. A request that was done and
could not be written down is done again: so its route gets a name for it, the same each time, to know its own work by.
Questions change nothing: their answers are not kept. What is kept of a request is no plain hash of it: it may hold a
secret that is taken out before anything else is kept, and a plain hash of that could be guessed.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
import re
from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import TYPE_CHECKING, NamedTuple

import orjson
from starlette.types import Message, Send

from recollect.errors import RecollectError
from recollect.http.errors import Refused
from recollect.http.foreign import only
from recollect.http.named import user_in
from recollect.store.ports.queue import PLAIN
from recollect.store.terms import terms_of

if TYPE_CHECKING:
    from recollect.http.gate import Passing
    from recollect.model import Scope
    from recollect.serving import Serving
    from recollect.store.ports.queue import Answered
    from recollect.store.signing import Signer

HEADER = "Idempotency-Key"
KEPT = timedelta(hours=24)
MOST_BYTES = 1_048_576  # an answer that is larger is not kept: what was asked is done again
_METHODS = frozenset(("POST", "PATCH", "PUT", "DELETE"))
_TAGGED = frozenset(f"/memories/{{memory_id}}{verb}" for verb in ("", "/confirm", "/restore"))
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
        self._signer = terms_of(serving.settings).signer  # its file is the same for all servers of a store

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
        one, before = await asyncio.to_thread(self._begin, passing, key, body)
        passing.repeat_key = _name(passing, key, one.fingerprint)
        if before is None:
            await self._first(passing, one, run)
        elif before.state == "done":
            await _again(passing, before)
        elif before.state == "other":
            raise Refused(422, "this Idempotency-Key was used for another request", code="idempotency_mismatch")
        else:
            said = "a request with this Idempotency-Key is being answered"
            raise Refused(409, said, code="in_progress", headers={"Retry-After": "1"})

    def _begin(self, passing: Passing, key: str, body: bytes) -> tuple[Repeated, Answered | None]:
        one, now = _repeated(passing, key, body, self._signer), self._serving.clock()
        answers = self._serving.store.answers
        return one, answers.begin(one.scope, one.key, one.fingerprint, at=now, until=now + KEPT)

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
        *_tag(passing, before),
    ]
    await passing.answer({"type": "http.response.start", "status": before.status, "headers": headers})
    await passing.answer({"type": "http.response.body", "body": before.body})


def _tag(passing: Passing, before: Answered) -> list[tuple[bytes, bytes]]:
    """The ETag of an answer that is a memory: its version, as it was then."""
    told = orjson.loads(before.body) if passing.route in _TAGGED else None
    version = told.get("version") if isinstance(told, dict) else None
    return [(b"etag", f'"{version}"'.encode())] if isinstance(version, int) else []


def _repeated(passing: Passing, key: str, body: bytes, signer: Signer) -> Repeated:
    """A request by its key, kept with the one it acts for."""
    assert passing.grant is not None
    own = passing.grant.scope
    try:
        scope = passing.grant.narrowed(user=user_in(passing.scope, body))
    except RecollectError:  # the route says what is wrong with it
        scope = own
    if scope.user != own.user:  # they may have used the same key themselves
        key = f"for:{_hash(own.user.encode(), key.encode())}"
    return Repeated(scope, key, _fingerprint(passing, body, signer))


def _name(passing: Passing, key: str, fingerprint: str) -> str:
    """What its route knows this request by, whenever it comes; of another body it is another one."""
    assert passing.grant is not None
    scope = passing.grant.scope
    parts = (scope.tenant, scope.user, scope.project or "", key, fingerprint)
    return f"idem:{_hash(*(part.encode('utf-8', 'replace') for part in parts))[:32]}"


def _fingerprint(passing: Passing, body: bytes, signer: Signer) -> str:
    """What is asked. That something was taken away quotes nothing of it."""
    scope = passing.scope
    where = (scope["method"].encode(), scope["path"].encode("utf-8", "replace"), scope.get("query_string", b""))
    asked = signer.know(b"\0".join((*where, body))).hex()
    return f"{PLAIN}{asked}" if scope["method"] == "DELETE" else asked


def _hash(*parts: bytes) -> str:
    return hashlib.sha256(b"\0".join(parts)).hexdigest()
