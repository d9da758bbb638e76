"""The protocol without a wire: one JSON-RPC message in, at most one out. Nothing here reads, writes or waits.

Two ways of speaking are understood. Up to 2025-11-25 a client introduces itself with `initialize`, and the version
agreed on holds for the conversation. From 2026-07-28 on there is no greeting: every request brings its version and its
sender's abilities along in `params._meta`, and `server/discover` tells what there is.

A message that cannot be answered as it stands gets a JSON-RPC error; nothing that comes in raises.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, NamedTuple

from recollect.mcp.tools import BY_NAME, INSTRUCTIONS, TOOLS
from recollect.version import __version__

GREETED = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
ENVELOPED = ("2026-07-28",)
BATCHES = ("2025-03-26",)  # the only version with several messages in one
LATEST = GREETED[-1]

PARSE_ERROR, INVALID_REQUEST, NO_METHOD, INVALID_PARAMS, INTERNAL = -32700, -32600, -32601, -32602, -32603
HEADER_MISMATCH, NO_SUCH_VERSION = -32020, -32022

MAX_MESSAGE = 1_048_576  # bytes
MAX_BATCH = 50
LIST_SECONDS = 3_600  # how long a client may keep the list of tools, which never changes while we run

_META = "io.modelcontextprotocol/"
VERSION_KEY, ABILITIES_KEY, SERVER_KEY = _META + "protocolVersion", _META + "clientCapabilities", _META + "serverInfo"
_ROOTS_ID = "recollect-roots-"
_SERVER = {"name": "recollect", "title": "Recollect", "version": __version__}
_ABILITIES = {"tools": {"listChanged": False}}

Json = dict[str, Any]


class Result(NamedTuple):
    """What a tool answered: text, and whether it says what went wrong."""

    text: str
    is_error: bool = False


Call = Callable[[str, Json], Result]


class Refusal(Exception):
    """A request that gets an error for an answer."""

    def __init__(self, code: int, message: str, data: Any = None) -> None:
        super().__init__(message)
        self.code, self.message, self.data = code, message, data

    def as_error(self) -> Json:
        error: Json = {"code": self.code, "message": self.message}
        return error if self.data is None else {**error, "data": self.data}


class Message(NamedTuple):
    """One message as it came: its value, or why it has none. A slow one calls a tool."""

    value: Any
    refusal: Refusal | None = None
    slow: bool = False


class Conversation:
    """One client's side of the protocol. `call` runs a tool; `moved` is told the roots the client works in."""

    def __init__(
        self,
        call: Call,
        *,
        version: str | None = None,
        moved: Callable[[list[str]], None] | None = None,
    ) -> None:
        self.version = version or LATEST
        self.greeted = False
        self.asked_roots = False  # whether an answer about roots is still to come
        self._call = call
        self._moved = moved
        self._has_roots = False
        self._asked = 0
        self._waiting: set[str | int] = set()  # tool calls that were read and are not answered yet
        self._cancelled: set[str | int] = set()

    def answer(self, data: bytes) -> bytes | None:
        """One message in, at most one out."""
        return self.reply(self.read(data))

    def read(self, data: bytes) -> Message:
        """The message in these bytes, before anything is done about it."""
        if len(data) > MAX_MESSAGE:
            return too_long()
        try:
            value = json.loads(data.decode("utf-8"))
        except (ValueError, RecursionError):  # not UTF-8, not JSON, a number without end, nested without end
            return Message(None, Refusal(PARSE_ERROR, "this is not JSON"))
        if isinstance(value, list):
            if self.version not in BATCHES:
                return Message(None, Refusal(INVALID_REQUEST, f"protocol {self.version} has no batches"))
            if not 0 < len(value) <= MAX_BATCH:
                return Message(None, Refusal(INVALID_REQUEST, f"a batch has 1 to {MAX_BATCH} messages"))
        calls = [one for one in (value if isinstance(value, list) else [value]) if _is_call(one)]
        self._waiting.update(one["id"] for one in calls)
        return Message(value, slow=bool(calls))

    def reply(self, message: Message) -> bytes | None:
        """What is to be sent for this message, if anything is."""
        answered = self.respond(message)
        return None if answered is None else encode(answered)

    def respond(self, message: Message) -> Json | list[Json] | None:
        """Like `reply`, before it is bytes."""
        if message.refusal is not None:
            return failure(None, message.refusal)
        if not isinstance(message.value, list):
            return self._one(message.value)
        answers = [self._one(one, in_batch=True) for one in message.value]
        return [one for one in answers if one is not None] or None

    def _one(self, value: Any, *, in_batch: bool = False) -> Json | None:
        id_: Any = value.get("id") if isinstance(value, dict) else None
        try:
            kind = _kind_of(value)
            if kind == "request" and in_batch and value["method"] == "initialize":
                raise Refusal(INVALID_REQUEST, "initialize stands alone")
            if kind == "request":
                return self._request(value["id"], value["method"], value.get("params"))
            if kind == "notification":
                return self._notified(value["method"], value.get("params"))
            self._answered(value)
            return None
        except Refusal as refusal:
            return failure(id_ if is_id(id_) else None, refusal)
        except Exception as error:
            return failure(id_ if is_id(id_) else None, Refusal(INTERNAL, f"unexpected {type(error).__name__}"))

    # -- requests --------------------------------------------------------------------------------------------------

    def _request(self, id_: str | int, method: str, params: Any) -> Json | None:
        if params is not None and not isinstance(params, dict):
            raise Refusal(INVALID_PARAMS, "params must be an object")
        params = params or {}
        try:
            if method != "initialize" and is_enveloped(params):
                check_envelope(params)
                result = self._enveloped(method, params)
            else:
                result = self._greeted(method, params)
        finally:
            cancelled = method == "tools/call" and self._done(id_)
        return None if cancelled else {"jsonrpc": "2.0", "id": id_, "result": result}

    def _done(self, id_: str | int) -> bool:
        """This tool call is over; whether its answer is no longer wanted."""
        cancelled = id_ in self._cancelled
        self._waiting.discard(id_)
        self._cancelled.discard(id_)
        return cancelled

    def _greeted(self, method: str, params: Json) -> Json:
        if method == "initialize":
            return self._initialize(params)
        if method == "ping":
            return {}
        return self._either(method, params)

    def _enveloped(self, method: str, params: Json) -> Json:
        result = {"resultType": "complete", "_meta": {SERVER_KEY: _SERVER}}
        if method == "server/discover":
            return {**result, **_CACHED, **discovered()}
        return {**result, **(_CACHED if method == "tools/list" else {}), **self._either(method, params)}

    def _either(self, method: str, params: Json) -> Json:
        if method == "tools/list":
            if params.get("cursor") is not None:
                raise Refusal(INVALID_PARAMS, "there is one page of tools; no cursor leads on")
            return {"tools": list(TOOLS)}
        if method == "tools/call":
            return self._tool(params)
        raise Refusal(NO_METHOD, f"no method {method[:60]}")

    def _initialize(self, params: Json) -> Json:
        asked, abilities = params.get("protocolVersion"), params.get("capabilities")
        if not isinstance(asked, str) or not isinstance(abilities, dict):
            raise Refusal(INVALID_PARAMS, "initialize needs protocolVersion and capabilities")
        self.version = asked if asked in GREETED else LATEST
        self.greeted = True
        self._has_roots = isinstance(abilities.get("roots"), dict)
        return {
            "protocolVersion": self.version,
            "capabilities": _ABILITIES,
            "serverInfo": _SERVER,
            "instructions": INSTRUCTIONS,
        }

    def _tool(self, params: Json) -> Json:
        name, arguments = params.get("name"), params.get("arguments")
        if not isinstance(name, str) or not isinstance(arguments, dict | None):
            raise Refusal(INVALID_PARAMS, "tools/call needs a name, and arguments that are an object")
        if name not in BY_NAME:
            raise Refusal(INVALID_PARAMS, f"unknown tool {name[:60]}")
        result = self._call(name, arguments or {})
        return {"content": [{"type": "text", "text": result.text}], "isError": result.is_error}

    # -- what gets no answer ---------------------------------------------------------------------------------------

    def _notified(self, method: str, params: Any) -> Json | None:
        if method == "notifications/cancelled":
            gone = params.get("requestId") if isinstance(params, dict) else None
            if is_id(gone) and gone in self._waiting:
                self._cancelled.add(gone)
        elif method in ("notifications/initialized", "notifications/roots/list_changed") and self._has_roots:
            return self._ask_roots()
        return None

    def is_cancelled(self, message: Message) -> bool:
        """Whether a tool call that was read need not be begun any more."""
        if not isinstance(message.value, dict) or message.value.get("id") not in self._cancelled:
            return False
        return self._done(message.value["id"])

    def _ask_roots(self) -> Json | None:
        if self._moved is None:
            return None
        self._asked += 1
        self.asked_roots = True
        return {"jsonrpc": "2.0", "id": f"{_ROOTS_ID}{self._asked}", "method": "roots/list"}

    def _answered(self, value: Json) -> None:
        """The client's answer to what we asked: its roots. An older answer than the last question is stale."""
        if self._moved is None or value.get("id") != f"{_ROOTS_ID}{self._asked}" or not self.asked_roots:
            return
        result = value.get("result")
        roots = result.get("roots") if isinstance(result, dict) else None
        found = [one.get("uri") for one in roots if isinstance(one, dict)] if isinstance(roots, list) else []
        self._moved([uri for uri in found if isinstance(uri, str)])
        self.asked_roots = False


_CACHED = {"ttlMs": LIST_SECONDS * 1_000, "cacheScope": "public"}


def discovered() -> Json:
    """What there is, for a client that does not greet."""
    return {"supportedVersions": list(ENVELOPED), "capabilities": _ABILITIES, "instructions": INSTRUCTIONS}


def is_enveloped(params: Any) -> bool:
    """Whether a request brings its own version along."""
    meta = params.get("_meta") if isinstance(params, dict) else None
    return isinstance(meta, dict) and VERSION_KEY in meta


def check_envelope(params: Json) -> None:
    """A request without greeting must name a version we know, and what its sender can do."""
    version = params["_meta"][VERSION_KEY]
    if not isinstance(version, str):
        raise Refusal(INVALID_PARAMS, f"{VERSION_KEY} must be text")
    if not isinstance(params["_meta"].get(ABILITIES_KEY), dict):
        raise Refusal(INVALID_PARAMS, f"params._meta needs {ABILITIES_KEY}")
    if version not in ENVELOPED:
        data = {"supported": [*GREETED, *ENVELOPED], "requested": version[:60]}
        raise Refusal(NO_SUCH_VERSION, "unsupported protocol version", data)


def is_id(value: Any) -> bool:
    """Whether this can name a request: text or a whole number."""
    return isinstance(value, str | int) and not isinstance(value, bool)


def failure(id_: str | int | None, refusal: Refusal) -> Json:
    """The answer that says why there is none."""
    return {"jsonrpc": "2.0", "id": id_, "error": refusal.as_error()}


def too_long() -> Message:
    """A message that was not even kept."""
    return Message(None, Refusal(INVALID_REQUEST, f"a message has at most {MAX_MESSAGE:,} bytes"))


def encode(value: Any) -> bytes:
    """As one line of JSON."""
    try:
        return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8")
    except UnicodeEncodeError:  # half a surrogate pair, in an id that a client chose
        return json.dumps(value, separators=(",", ":")).encode("ascii")


def _kind_of(value: Any) -> str:
    """request, notification or answer; anything else is refused."""
    if not isinstance(value, dict) or value.get("jsonrpc") != "2.0":
        raise Refusal(INVALID_REQUEST, "a message is an object with jsonrpc 2.0")
    if "method" not in value:
        if "result" in value or "error" in value:
            return "answer"  # never answered, however odd: two servers would talk without end
        raise Refusal(INVALID_REQUEST, "a message has a method, or answers one")
    if not isinstance(value["method"], str):
        raise Refusal(INVALID_REQUEST, "method must be text")
    if "id" not in value:
        return "notification"
    if not is_id(value["id"]):
        raise Refusal(INVALID_REQUEST, "id must be text or a whole number")
    return "request"


def _is_call(value: Any) -> bool:
    return isinstance(value, dict) and value.get("method") == "tools/call" and is_id(value.get("id"))
