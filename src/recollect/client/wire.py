"""How requests and answers are on the wire: what is sent, what may come back, which tries are worth another.

Everything here is plain data in, plain data out; the two clients only carry bytes. An answer is bounded in size and in
time and must be JSON; redirects are not followed, since that would hand the key to another host. Whatever goes wrong is
one of the errors that the façade raises too, by the code the server tells; its words are shown, in short and harmless.
Each write bears an Idempotency-Key, so that another try does nothing twice.
"""

from __future__ import annotations

import random
import time
import uuid
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from recollect import errors
from recollect.client.address import Address
from recollect.errors import RecollectError
from recollect.text import one_line
from recollect.version import __version__

if TYPE_CHECKING:
    import types

MAX_ANSWER = 16 * 1_048_576  # bytes of one answer, or of one line of an export
BACKOFF_SECONDS, LONGEST_WAIT = 0.25, 10.0
_RANDOM = random.SystemRandom()


@dataclass(frozen=True, slots=True)
class Request:
    """What is asked of the server. `parts` is the path, each part still as it is."""

    method: str
    parts: tuple[str, ...]
    query: Mapping[str, Any] = field(default_factory=dict)
    body: Any = None
    writes: bool = False
    headers: Mapping[str, str] = field(default_factory=dict)

    @property
    def path(self) -> str:
        return "/" + "/".join(map(_part, self.parts))


@dataclass(frozen=True, slots=True)
class Sent:
    """A request as it goes out. The headers have the key in them, and are not shown."""

    method: str
    url: str
    headers: Mapping[str, str] = field(repr=False)
    content: bytes | None = field(repr=False)


class Trouble(Exception):
    """A try that failed: what to raise, and whether another may go better, and after how long."""

    def __init__(self, error: RecollectError, *, again: bool = False, wait: float | None = None) -> None:
        super().__init__(str(error))
        self.error = error
        self.again = again
        self.wait = wait


def library() -> types.ModuleType:
    """httpx, or what to install."""
    try:
        import httpx
    except ImportError:
        raise errors.InvalidInput(
            "a memory at an address needs the package httpx", hint="Install it: pip install 'recollect[client]'."
        ) from None
    return httpx


def sent(address: Address, request: Request) -> Sent:
    """The bytes of a request."""
    import orjson

    headers = {
        "Accept": "application/json, application/x-ndjson",
        "Accept-Encoding": "identity",  # a small answer that unfolds into a large one is not for us
        "User-Agent": f"recollect-python/{__version__}",
        **request.headers,
    }
    if address.key is not None:
        headers["Authorization"] = f"Bearer {address.key}"
    content = None
    if request.body is not None:
        headers["Content-Type"] = "application/json"
        try:
            content = orjson.dumps(request.body)
        except TypeError:
            raise errors.InvalidInput("this cannot be sent: JSON cannot hold it") from None
    if request.writes:
        headers["Idempotency-Key"] = uuid.uuid4().hex
    query = "&".join(f"{name}={quote(_plain(value), safe='')}" for name, value in request.query.items())
    base = address.write if request.writes else address.read
    return Sent(request.method, f"{base}{request.path}{'?' if query else ''}{query}", headers, content)


def _part(name: str) -> str:
    """A name as one part of a path, whatever is in it; dots alone would be taken for steps."""
    quoted = quote(name.encode("utf-8", "replace"), safe="")
    return quoted.replace(".", "%2E") if name in (".", "..") else quoted


def _plain(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value).encode("utf-8", "replace").decode()


# -- what comes back ---------------------------------------------------------------------------------------------------


class Gathering:
    """The body of an answer as it comes, up to a size and a moment: a slow drip must not go on for ever."""

    def __init__(self, deadline: float) -> None:
        self._deadline = deadline
        self._parts: list[bytes] = []
        self._size = 0

    def add(self, part: bytes) -> None:
        self._size += len(part)
        if self._size > MAX_ANSWER:
            raise Trouble(strange(f"it is larger than {MAX_ANSWER:,} bytes"))
        if time.monotonic() > self._deadline:
            raise too_slow()
        self._parts.append(part)

    def whole(self) -> bytes:
        return b"".join(self._parts)


class Lines:
    """An export as it comes, line by line. Its first line says that it is one."""

    def __init__(self) -> None:
        self._rest: list[bytes] = []  # of a line that has not ended yet
        self._size = 0
        self._begun = False

    def add(self, part: bytes) -> Iterator[dict[str, Any]]:
        first, *others = part.split(b"\n")
        self._rest.append(first)
        self._size += len(first)
        if self._size > MAX_ANSWER:
            raise Trouble(strange("a line of it does not end"))
        for following in others:
            line, self._rest, self._size = b"".join(self._rest), [following], len(following)
            if line:
                yield self._record(line)

    def end(self) -> Iterator[dict[str, Any]]:
        line = b"".join(self._rest)
        if line or not self._begun:
            yield self._record(line)

    def _record(self, line: bytes) -> dict[str, Any]:
        value = _loaded(line)
        if not isinstance(value, dict) or not (self._begun or value.get("type") == "recollect"):
            raise Trouble(strange("it is no export"))
        self._begun = True
        return value


def answered(status: int, headers: Mapping[str, str], raw: bytes) -> Any:
    """The JSON of a good answer; Trouble for any other."""
    if 200 <= status < 300:
        return _loaded(raw)
    raise refused(status, headers, raw)


def refused(status: int, headers: Mapping[str, str], raw: bytes) -> Trouble:
    """What an answer that is not good means."""
    if 300 <= status < 400:
        error: RecollectError = errors.StoreUnavailable(
            "the server answered with a redirect, which is not followed", hint="Give the final address."
        )
        return Trouble(error)
    try:
        told = _loaded(raw)
    except Trouble:
        told = None
    error, code = _error(status, told.get("error") if isinstance(told, dict) else None)
    again = status >= 500 or status == 429 or code == "in_progress"
    return Trouble(error, again=again, wait=_seconds(headers.get("retry-after")))


def _loaded(raw: bytes) -> Any:
    import orjson

    try:
        return orjson.loads(raw)
    except ValueError:
        raise Trouble(strange("it is not JSON")) from None


def strange(why: str) -> RecollectError:
    """The server said something that is none of Recollect's answers."""
    return errors.StoreUnavailable(
        f"what the server answered cannot be used: {why}", hint="Is it a Recollect server, of this version?"
    )


def too_slow() -> Trouble:
    return Trouble(errors.StoreUnavailable("the server did not answer in time"), again=True)


def unreachable(kind: str) -> Trouble:
    """There was no connection, or it broke. The kind of trouble alone: its text may quote an address or a header."""
    error = errors.StoreUnavailable(f"the server cannot be reached ({kind})", hint="Is it running? `recollect serve`")
    return Trouble(error, again=True)


def failed(error: Exception) -> Trouble:
    """What one of httpx's errors means."""
    httpx = library()
    if isinstance(error, httpx.TimeoutException):
        return too_slow()
    return unreachable(type(error).__name__)


_BY_STATUS: Mapping[int, type[RecollectError]] = {
    401: errors.InvalidKey,
    403: errors.NotAllowed,
    404: errors.NotFound,
    409: errors.Conflict,
    412: errors.Conflict,
    429: errors.QuotaExceeded,
}


def _error(status: int, told: Any) -> tuple[RecollectError, str]:
    """The error by the code the server tells, else by the status, with what it says for people."""
    said = told if isinstance(told, dict) else {}
    code, message, hint = (
        said.get(name) if isinstance(said.get(name), str) else "" for name in ("code", "message", "hint")
    )
    by_status = _BY_STATUS.get(status, errors.StoreUnavailable if status >= 500 else errors.InvalidInput)
    kind = errors.StoreBusy if code == "in_progress" else _classes().get(str(code), by_status)
    text = one_line(str(message), 500) or f"the server answered with status {status}"
    problems = said.get("fields")
    if isinstance(problems, list):
        text += _fields(problems)
    return kind(text, hint=one_line(str(hint), 500) or None), str(code)


def _fields(problems: list[Any]) -> str:
    told = [one for one in problems[:3] if isinstance(one, dict)]
    shown = "; ".join(one_line(f"{one.get('field')} {one.get('problem')}", 200) for one in told)
    return f" ({shown})" if shown else ""


def _classes() -> dict[str, type[RecollectError]]:
    """Every error there is, by its code."""
    kinds = [RecollectError]
    for kind in kinds:  # grows while it is gone through
        kinds += kind.__subclasses__()
    return {kind().code: kind for kind in kinds if kind.__module__ == errors.__name__}


# -- another try -------------------------------------------------------------------------------------------------------


def pause(number: int, tries: int, trouble: Trouble) -> float | None:
    """How long to wait after this try, the first being 1; None: that was the last."""
    if not trouble.again or number >= tries:
        return None
    if trouble.wait is not None:
        return trouble.wait if trouble.wait <= LONGEST_WAIT else None
    return float(min(LONGEST_WAIT, BACKOFF_SECONDS * 2 ** (number - 1)) * _RANDOM.uniform(0.75, 1.25))


def _seconds(value: str | None) -> float | None:
    return float(value) if value and value.isascii() and value.isdigit() and len(value) < 9 else None
