"""The live log over HTTP: one look at the store a second for everybody who follows the same scope, and a stream each.

In: a server and a scope. Out: server-sent events. Whoever comes back with the id of the last line they got is told what
came since, each line once. The id hides the numbers in it: they are the store's, and would tell how much others write.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
import hashlib
import logging
import secrets
import struct
from collections.abc import AsyncIterator, Awaitable, Callable
from functools import partial
from typing import Any

import orjson

from recollect.clock import iso
from recollect.model import Scope
from recollect.pipeline.following import Exact, Following, Line, catch_up, unknown
from recollect.pipeline.told import text_of
from recollect.serving import Serving
from recollect.store.ports.browse import Mark
from recollect.store.secretfile import own_secret
from recollect.text import one_line, present
from recollect.web.paths import at_event, memory_address, session_address

KEY_FILE = "live.key"
SECONDS = 1.0  # between two looks
ALIVE_SECONDS = 15.0  # after which a stream that has nothing to tell says so
CHECKED_SECONDS = 10.0  # how often it is asked whether somebody may still look
WAITING = 1_000  # lines for one reader who does not read; then the stream ends, and goes on when they come back
_HEADLINE = 140  # characters of what the host said, while it is folded
_PACKED = struct.Struct(">5q")
_NONCE = 12
_LARGEST = 250_000_000_000_000_000  # microseconds that are still a time, and more rows than there will ever be

MayLook = Callable[[], Awaitable[bool]]


class Marks:
    """Marks as text that tells nothing, good for every process on the same data directory."""

    def __init__(self, serving: Serving) -> None:
        self._key = own_secret(serving.settings.data_dir, KEY_FILE).encode()[:64]

    def write(self, mark: Mark) -> str:
        nonce = secrets.token_bytes(_NONCE)
        return base64.urlsafe_b64encode(nonce + self._hidden(nonce, _PACKED.pack(*mark))).decode().rstrip("=")

    def read(self, text: str | None) -> Mark | None:
        """Back from that text; None when it is not one. Whoever makes one up gets another place in their own log."""
        try:
            raw = base64.b64decode((text or "") + "=" * (-len(text or "") % 4), altchars=b"-_", validate=True)
            found = Mark(*_PACKED.unpack(self._hidden(raw[:_NONCE], raw[_NONCE:])))
        except (ValueError, struct.error, binascii.Error):
            return None
        return found if all(0 <= number < _LARGEST for number in found) else None

    def _hidden(self, nonce: bytes, given: bytes) -> bytes:
        pad = hashlib.blake2b(nonce, key=self._key, digest_size=_PACKED.size).digest()
        return bytes(a ^ b for a, b in zip(given, pad, strict=True))


class Reader:
    """Lines that wait for one who follows."""

    def __init__(self) -> None:
        self.lines: asyncio.Queue[Line] = asyncio.Queue(WAITING)
        self.is_behind = False  # more came than could wait: it ends here, and goes on from the store

    def give(self, line: Line) -> None:
        if self.lines.full():
            self.is_behind = True
        if not self.is_behind:
            self.lines.put_nowait(line)


class Live:
    """Those who look, by scope: as long as somebody does, one task asks the store for them all."""

    def __init__(self) -> None:
        self.hubs: dict[tuple[str, str, str | None], Hub] = {}

    async def stream(
        self, serving: Serving, scope: Scope, *, after: Mark | None, session: str | None, may_look: MayLook
    ) -> AsyncIterator[bytes]:
        """Server-sent events of a scope, or of one session of it, until somebody goes away or may not look any more."""
        marks = await asyncio.to_thread(Marks, serving)
        hub = self.hubs.setdefault((scope.tenant, scope.user, scope.project), Hub(serving, scope))
        reader = hub.join()
        try:
            yield b"retry: 2000\n\n"
            await hub.looks.wait()  # from here on nothing is missed
            told: set[str] = set()
            if after is not None:
                missed = partial(catch_up, serving.store, scope, after, exact=exact_words(serving))
                for line in await asyncio.to_thread(missed):
                    told.add(line.id)
                    if _is_wanted(line, session):
                        yield event_of(line, marks)
            async for each in _coming(reader, serving, may_look):
                if each is None:
                    yield b": still here\n\n"
                elif each.id not in told and _is_wanted(each, session):
                    yield event_of(each, marks)
            yield b"event: end\ndata: {}\n\n"
        finally:
            hub.leave(reader)
            if not hub.readers:
                self.hubs.pop((scope.tenant, scope.user, scope.project), None)


class Hub:
    """What looks at the store for everybody who follows one scope."""

    def __init__(self, serving: Serving, scope: Scope) -> None:
        self._serving, self._scope = serving, scope
        self.readers: set[Reader] = set()
        self.looks = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    def join(self) -> Reader:
        reader = Reader()
        self.readers.add(reader)
        if self._task is None:
            self._task = asyncio.create_task(self._look())
        return reader

    def leave(self, reader: Reader) -> None:
        self.readers.discard(reader)
        if not self.readers and self._task is not None:
            self._task.cancel()

    async def _look(self) -> None:
        following: Following | None = None
        while not self._serving.stopping:
            try:
                if following is None:
                    parts = (self._serving.store, self._scope, self._serving.clock)
                    begin = partial(Following, *parts, exact=exact_words(self._serving))
                    following = await asyncio.to_thread(begin)
                    self.looks.set()
                for line in await asyncio.to_thread(following.look):
                    for reader in self.readers:
                        reader.give(line)
            except Exception as error:  # a store that cannot answer now is asked again
                logging.getLogger(__name__).warning("the live log cannot look: %s", type(error).__name__)
            await asyncio.sleep(SECONDS)
        self.looks.set()


async def _coming(reader: Reader, serving: Serving, may_look: MayLook) -> AsyncIterator[Line | None]:
    """Lines as they come; None where there was none for a while."""
    loop = asyncio.get_running_loop()
    alive = checked = loop.time()
    while not serving.stopping and not reader.is_behind:
        try:
            async with asyncio.timeout(SECONDS):
                line: Line | None = await reader.lines.get()
        except TimeoutError:
            line = None
        now = loop.time()
        if now - checked > CHECKED_SECONDS:
            checked = now
            if not await may_look():
                return
        if line is not None or now - alive > ALIVE_SECONDS:
            alive = now
            yield line


def exact_words(serving: Serving) -> Exact:
    """What agents of this machine were told, word for word; on a server for others nobody's agents are here."""
    return unknown if serving.hosted else partial(text_of, serving.settings.data_dir)


def event_of(line: Line, marks: Marks) -> bytes:
    """A line as one server-sent event."""
    return b"id: %s\ndata: %s\n\n" % (marks.write(line.mark).encode(), orjson.dumps(shown(line)))


def shown(line: Line) -> dict[str, Any]:
    """A line as a page has it: text as it may be shown, and where to look further."""
    return {
        "id": line.id,
        "at": iso(line.at),
        "what": line.what,
        "note": present(line.note),
        "text": present(line.text),
        "more": line.more,
        "headline": headline(line),
        "exact": line.exact,
        "failed": line.failed,
        "session": None if line.session is None else present(line.session),
        "address": address_of(line),
    }


def headline(line: Line) -> str:
    """What stands for a line while it is folded; nothing for one that is not."""
    if line.what == "told":
        return f"{line.memories:,} {'memory' if line.memories == 1 else 'memories'}"
    return one_line(line.text, _HEADLINE) if line.what == "context" else ""


def address_of(line: Line) -> str | None:
    """The page of what a line is about."""
    if line.what == "told" and line.session is not None:
        return f"{session_address(line.session)}#told"
    if line.memory is not None:
        return memory_address(line.memory)
    if line.session is None:
        return None
    return session_address(line.session) if line.event is None else at_event(line.session, line.event)


def _is_wanted(line: Line, session: str | None) -> bool:
    return session is None or line.session == session
