"""The gate: what every request passes before a byte of its body is read, and what every answer carries.

In: an ASGI request. First its headers: an id, where it comes from, whose key it has, how often that one asks, what the
route needs. Then its body, counted and looked at. Then a turn beside the others (exports last long, and have turns of
their own). Only then a route sees it. Whatever happens, there is an answer in one form, with the same headers, and one
line in the log.
"""

from __future__ import annotations

import asyncio
import logging
import re
import secrets
import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from recollect.errors import InvalidKey, QuotaExceeded, RecollectError, StoreError
from recollect.http import bodies, logs
from recollect.http.alarms import Alarms
from recollect.http.asked import Asked
from recollect.http.errors import Refused, refusal_of
from recollect.http.foreign import Foreign, Values, only
from recollect.http.idempotency import Repeats
from recollect.http.knowing import LOCAL, Knows
from recollect.http.limits import Limits, Over, network_of
from recollect.http.manner import Manner, Programs
from recollect.http.named import users_in
from recollect.http.routing import Found, Routes
from recollect.http.straight import Straight
from recollect.http.turns import Crowded, Turn, Turns

if TYPE_CHECKING:
    from recollect.keys import Grant
    from recollect.metrics import Metrics
    from recollect.serving import Serving

_ID = re.compile(r"[A-Za-z0-9_.-]{8,64}")
_INGESTS = frozenset(("/ingest", "/ingest/batch", "/memory/ingest", "/v1/events", "/page/remember"))
_UNKNOWN = "not a valid key"
_EXPORTS = ("/export", "/page/control/export/file", "/page/sessions/{session_id:path}/export")
_SUMMARIES = ("/sessions/{session_id:path}/summarize", "/page/sessions/{session_id:path}/summarize")
LIVE = "/page/live/events"
_DONE = 303  # what a page's form is answered when it was done
_EXPOSED = (b"access-control-expose-headers", b"ETag, Idempotent-Replayed, Retry-After, X-Request-Id")
_STREAMS, _STREAMS_EACH = 500, 8  # pages that follow what happens, and those of one user; each waits without a thread
_EXPORTS_OF = 4  # one request of so many may be an export, which lasts as long as its reader reads
_READING = 30.0  # seconds a reader may take for one piece of an answer


@dataclass(slots=True)
class Passing:
    """One request on its way: what is found out about it, and how far its answer got."""

    scope: Scope
    send: Send
    values: Values
    request_id: str
    address: str
    begun_at: float
    manner: Manner
    origin: bytes | None = None  # of a page that may ask
    route: str = "none"
    needs: str | None = None  # the permission
    repeat_key: str | None = None  # what this request is called, however often it comes
    tenant: str = ""
    grant: Grant | None = None
    status: int = 0
    turn: Turn | None = None
    written: int = 0  # what it would bring in
    more: list[tuple[bytes, bytes]] = field(default_factory=list)

    async def answer(self, message: Message) -> None:
        """Send a message on, with what every answer carries."""
        if message["type"] == "http.response.start":
            self.status = message["status"]
            kept = self._kept(message.get("headers", ()))
            named = {name for name, _ in kept}
            always = [pair for pair in self.manner.headers if pair[0] not in named]
            own = [*always, (b"x-request-id", self.request_id.encode()), *self.more]
            if self.origin is not None:
                own += [(b"access-control-allow-origin", self.origin), (b"vary", b"Origin"), _EXPOSED]
            message = {**message, "headers": [*kept, *own]}
        if not message.get("more_body"):
            await self.send(message)
            return
        try:
            async with asyncio.timeout(_READING):
                await self.send(message)
        except TimeoutError:
            raise Broken from None  # whoever does not read does not keep others waiting

    def _kept(self, headers: Iterable[tuple[bytes, bytes]]) -> list[tuple[bytes, bytes]]:
        """What a route said itself, but for what is not its to say."""
        ours = {name for name, _ in self.manner.headers} - self.manner.own
        return [pair for pair in headers if pair[0] not in ours]

    def give_turn(self) -> None:
        """Let the next one begin."""
        if self.turn is not None:
            self.turn.give()
            self.turn = None


class Gate:
    """Stands before the app."""

    def __init__(
        self,
        app: ASGIApp,
        *,
        serving: Serving,
        routes: Routes,
        knowing: Knows,
        foreign: Foreign,
        metrics: Metrics | None = None,
        manner: Manner | None = None,
        limits: Limits | None = None,
        straight: Straight | None = None,
    ) -> None:
        self._app, self._serving, self._routes = app, serving, routes
        self._knowing, self._foreign, self._metrics = knowing, foreign, metrics
        settings = serving.settings
        threads = max(1, settings.serve_threads)
        self._manner = manner or Programs()
        self._limits = limits or Limits(settings)
        self._straight = straight or Straight()
        self._turns = Turns(threads, max(1, settings.serve_at_once) if serving.hosted else threads, beside=threads)
        exports = max(1, threads // _EXPORTS_OF)
        self._apart = {  # what lasts as long as its reader reads, or a language model thinks, has turns of its own
            **dict.fromkeys(_EXPORTS, Turns(exports, 1 if serving.hosted else exports)),
            **dict.fromkeys(_SUMMARIES, Turns(threads, max(1, threads // 2) if serving.hosted else threads)),
            LIVE: Turns(_STREAMS, _STREAMS_EACH),
        }
        self._alarms = Alarms(metrics)
        self._repeats = Repeats(serving)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._app(scope, receive, self._closing(send))
            return
        if scope["type"] != "http":
            await send({"type": "websocket.close", "code": 1008})
            return
        passing = _passing(scope, send, self._manner)
        if self._metrics is None:
            await self._answered(passing, receive)
            return
        with self._metrics.in_flight():
            await self._answered(passing, receive)

    def _closing(self, send: Send) -> Send:
        """Lets go of what it holds before it is told that all is over: nobody waits for anything after that."""

        async def told(message: Message) -> None:
            if message["type"].startswith("lifespan.shutdown"):
                await self._limits.close()
                self._straight.close()
            await send(message)

        return told

    async def _answered(self, passing: Passing, receive: Receive) -> None:
        """An answer, whatever happens."""
        try:
            await self._pass(passing, receive)
        except Refused as refused:
            await _refuse(passing, refused)
        except RecollectError as error:
            self._count(error)
            await _refuse(passing, refusal_of(error, self._seconds_left()))
        except Exception as error:
            logging.getLogger(__name__).error("request %s failed: %s", passing.request_id, type(error).__name__)
            await _refuse(passing, Refused(500, "this failed here, not because of the request"))
        finally:
            passing.give_turn()
            self._note(passing)

    # -- the steps -------------------------------------------------------------------------------------------------

    async def _pass(self, passing: Passing, receive: Receive) -> None:
        method, values = passing.scope["method"], passing.values
        self._check_origin(passing)
        if method == "OPTIONS" and passing.origin is not None and values("Access-Control-Request-Method"):
            await _preflight(passing)
            return
        found = self._routes.find("GET" if method == "HEAD" else method, passing.scope["path"])
        passing.route, passing.needs = found.template, found.needs
        await self._let_in(passing, found)
        _check_words(passing.scope)
        body = b""
        if self._manner.check_head(method, values):
            body = await bodies.read(receive)
            await self._manner.check_body(body)
        if passing.grant is not None:
            await self._count_named(passing, passing.grant, body)
            await self._take_turn(passing)
        if self._manner.repeats:
            await self._repeats.run(passing, body, lambda answer: self._route(passing, body, receive, answer))
        else:
            await self._route(passing, body, receive, passing.answer)

    def _check_origin(self, passing: Passing) -> None:
        denied = self._foreign.check(passing.values)
        if denied is not None:
            raise Refused(denied.status, denied.why, code="foreign")
        origin = only(passing.values, "Origin")
        if origin is not None and origin in self._foreign.origins:
            passing.origin = origin.encode("latin-1")

    async def _let_in(self, passing: Passing, found: Found) -> None:
        """By the key, how often it asks, and what the route needs."""
        text, public = self._manner.key_in(passing.values), found.needs is None and found.known
        if text is not None and not (public and self._manner.open_to_all):
            passing.grant = grant = await self._who(text, passing.address)
            passing.tenant = grant.scope.tenant
        elif not public:
            raise Refused(401, _UNKNOWN, hint=_how(), headers={"WWW-Authenticate": "Bearer"})
        if passing.grant is None or passing.grant.key != LOCAL:
            over = await self._limits.over(passing.grant, passing.address)
            if over is not None:
                raise self._too_often(over)
        if found.refused is not None:
            raise found.refused
        if passing.grant is not None and found.needs is not None:
            passing.grant.require(found.needs)

    async def _count_named(self, passing: Passing, grant: Grant, body: bytes) -> None:
        """Whoever acts for others is counted for each of them too."""
        if not self._manner.repeats or grant.key == LOCAL or "act" not in grant.permissions:
            return
        for user in users_in(passing.scope, body) - {grant.scope.user}:
            over = await self._limits.over_named(grant.scope.tenant, user)
            if over is not None:
                raise self._too_often(over)

    async def _who(self, text: str, address: str) -> Grant:
        if not self._knowing.was_good(text):
            over = await self._limits.is_guessing(address)
            if over is not None:
                raise self._too_often(over)
        try:
            return await self._knowing.grant(text)
        except InvalidKey:
            await self._limits.failed(address)
            self._alarms.note("wrong_key", address)
            raise Refused(401, _UNKNOWN, hint=_how(), headers={"WWW-Authenticate": "Bearer"}) from None

    def _too_often(self, over: Over) -> Refused:
        if self._metrics is not None:
            self._metrics.limited(over.by)
        if over.by == "failures":
            self._alarms.note("wrong_key", "many addresses")
        return Refused(429, "too many requests; wait a little", headers={"Retry-After": str(over.seconds)})

    async def _take_turn(self, passing: Passing) -> None:
        turns = self._apart.get(passing.route, self._turns)
        taker = passing.tenant
        if passing.route == LIVE and passing.grant is not None:
            taker = f"{taker}\0{passing.grant.scope.user}"
        try:
            passing.turn = await turns.take(taker)
        except Crowded as crowded:
            if self._metrics is not None:
                self._metrics.limited("tenant")
            status, said = (429, "too many requests at once") if crowded.own else (503, "there is no room now")
            raise Refused(status, said, headers={"Retry-After": "2"}) from None

    async def _route(self, passing: Passing, body: bytes, receive: Receive, answer: Send) -> None:
        """Let a route answer; it gets the body that was read."""
        scope = passing.scope
        state: dict[str, Any] = dict(scope.get("state") or {})
        if passing.route in _INGESTS:
            passing.written = max(1, body.count(b'"content"'))
        if passing.grant is not None:
            asked = (passing.grant, self._serving, passing.request_id, passing.address)
            state["asked"] = who = Asked(*asked, metrics=self._metrics, repeat_key=passing.repeat_key)
            told = await self._straight.answer(scope["method"], passing.route, body, who)
            if told is not None:
                await told(scope, receive, answer)
                return
        method = "GET" if scope["method"] == "HEAD" else scope["method"]
        await self._app({**scope, "method": method, "state": state}, _replayed(body, receive), answer)

    # -- what is told of it ----------------------------------------------------------------------------------------

    def _note(self, passing: Passing) -> None:
        seconds, method = time.perf_counter() - passing.begun_at, passing.scope["method"]
        key = passing.grant.key if passing.grant is not None else None
        if self._metrics is not None:
            self._metrics.request(passing.route, method, passing.status, seconds)
        if key is not None and (200 <= passing.status < 300 or passing.status == _DONE):
            self._watch(passing, method, key)
        logger = logs.access()
        if logger.isEnabledFor(logging.INFO):
            told = {"method": method, "route": passing.route, "status": passing.status, "ms": seconds * 1000}
            whose = {"key": key, "tenant": passing.tenant or None, "address": passing.address}
            logger.info(logs.line(self._serving.clock(), request=passing.request_id, **told, **whose))

    def _watch(self, passing: Passing, method: str, key: str) -> None:
        if method == "DELETE" or (method == "POST" and passing.route.endswith("/forget")):
            self._alarms.note("delete", key)
        elif passing.route in _EXPORTS:
            self._alarms.note("export", key)
        elif passing.written:
            self._alarms.wrote(key, passing.written)

    def _count(self, error: RecollectError) -> None:
        if isinstance(error, StoreError | QuotaExceeded):
            logging.getLogger(__name__).warning("a request was refused: %s", type(error).__name__)
        if self._metrics is not None and isinstance(error, QuotaExceeded):
            self._metrics.quota_refused()
        elif self._metrics is not None and isinstance(error, StoreError):
            self._metrics.store_error(error.code)

    def _seconds_left(self) -> int:
        """Until a new day begins."""
        now = self._serving.clock()
        return 86_400 - (now.hour * 3_600 + now.minute * 60 + now.second)


# -- small things ------------------------------------------------------------------------------------------------------


def _passing(scope: Scope, send: Send, manner: Manner) -> Passing:
    found: dict[str, list[str]] = {}
    for name, value in scope["headers"]:
        found.setdefault(name.decode("latin-1").lower(), []).append(value.decode("latin-1"))
    given = found.get("x-request-id", [""])[0]
    request_id = given if _ID.fullmatch(given) else secrets.token_hex(8)
    client = scope.get("client")
    address = network_of(client[0]) if client else "-"
    return Passing(scope, send, lambda name: found.get(name.lower()), request_id, address, time.perf_counter(), manner)


def _check_words(scope: Scope) -> None:
    """What stands in the address goes to the store as it is."""
    if "\0" in scope["path"] or b"%00" in scope.get("query_string", b""):
        raise Refused(422, "text cannot hold the character NUL", code="invalid_input")


def _replayed(body: bytes, receive: Receive) -> Receive:
    """The body once; then whatever comes, which is that the client went away."""
    waiting: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def replay() -> Message:
        return waiting.pop() if waiting else await receive()

    return replay


async def _refuse(passing: Passing, refused: Refused) -> None:
    """Say no; when an answer was begun already, all that is left is to break it off."""
    if passing.status:
        raise Broken
    method, path = passing.scope["method"], passing.scope["path"]
    said = passing.manner.refusal(refused, passing.request_id, method, path)
    headers = [*said.headers, (b"content-length", str(len(said.body)).encode())]
    await passing.answer({"type": "http.response.start", "status": said.status, "headers": headers})
    await passing.answer({"type": "http.response.body", "body": said.body})


async def _preflight(passing: Passing) -> None:
    """A page that may ask asks whether it may."""
    passing.route = "preflight"
    headers = [
        (b"access-control-allow-methods", b"GET, POST, PATCH, DELETE"),
        (
            b"access-control-allow-headers",
            b"Authorization, Content-Type, Idempotency-Key, If-Match, X-API-Key, X-Request-Id",
        ),
        (b"access-control-max-age", b"600"),
    ]
    await passing.answer({"type": "http.response.start", "status": 204, "headers": headers})
    await passing.answer({"type": "http.response.body", "body": b""})


def _how() -> str:
    return "Send it as `X-API-Key: …` or `Authorization: Bearer …`."


class Broken(Exception):
    """An answer that was begun cannot be ended; the connection is closed."""
