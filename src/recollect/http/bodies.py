"""The body of a request: how it may come, how long it may be, and what JSON it may be; all before a route sees it."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Sequence
from typing import Any

import orjson
from starlette.types import Receive

from recollect.http.errors import Refused
from recollect.http.foreign import Values, only

MOST_BYTES = 1_048_576
MOST_DEPTH = 64
SECONDS = 10.0  # how long a body may take to come
LARGE = 65_536  # from here on it is looked at beside the event loop
_DIGITS = re.compile(r"\d{1,15}", re.ASCII)
_STRING = re.compile(rb'"(?:[^"\\]++|\\.)*+"', re.DOTALL)
_NOT_BRACKETS = bytes(byte for byte in range(256) if byte not in b"[]{}")
_CLOSE = {"Connection": "close"}  # what is on its way is not read any more


def check_head(method: str, values: Values, wanted: str = "application/json") -> bool:
    """Whether there is a body to read; Refused when it may not come, by what its headers say of it."""
    chunked, length = values("Transfer-Encoding"), values("Content-Length")
    if not chunked and not length:
        return False
    if chunked and length:
        raise Refused(400, "a body has a length or comes in chunks, not both", headers=_CLOSE)
    if length:
        given = only(values, "Content-Length")
        if given is None or not _DIGITS.fullmatch(given):
            raise Refused(400, "Content-Length is not a number", headers=_CLOSE)
        if int(given) == 0:
            return False
        if int(given) > MOST_BYTES:
            raise _too_large()
    if method in ("GET", "HEAD"):
        raise Refused(400, "a request that reads has no body", headers=_CLOSE)
    kind, _, more = (only(values, "Content-Type") or "").partition(";")
    charset = more.replace(" ", "").casefold()
    if kind.strip().casefold() != wanted or charset not in ("", "charset=utf-8", 'charset="utf-8"'):
        hint = f"Send it with `Content-Type: {wanted}`."
        raise Refused(415, f"only {wanted} is understood", hint=hint, headers=_CLOSE)
    if (only(values, "Content-Encoding") or "identity").casefold() != "identity":
        raise Refused(415, "a body comes as it is, not compressed", headers=_CLOSE)
    return True


async def read(receive: Receive) -> bytes:
    """The whole body, counted as it comes."""
    parts: list[bytes] = []
    size = 0
    try:
        async with asyncio.timeout(SECONDS):
            while True:
                message = await receive()
                if message["type"] == "http.disconnect":
                    raise Refused(400, "the body did not come", headers=_CLOSE)
                part = message.get("body", b"")
                size += len(part)
                if size > MOST_BYTES:
                    raise _too_large()
                parts.append(part)
                if not message.get("more_body", False):
                    return b"".join(parts)
    except TimeoutError:
        raise Refused(408, f"the body took longer than {SECONDS:.0f} seconds", headers=_CLOSE) from None


async def check(body: bytes) -> None:
    """Refused unless it is JSON that every part of us can take."""
    if len(body) > LARGE:
        await asyncio.to_thread(check_json, body)
    else:
        check_json(body)


def check_json(body: bytes) -> None:
    """No deeper than 64, no number without end, no half of a character, no NUL."""
    if body.count(b"[") + body.count(b"{") > MOST_DEPTH and _depth(body) > MOST_DEPTH:
        raise Refused(422, f"the JSON is deeper than {MOST_DEPTH}", code="invalid_input")
    try:
        value = orjson.loads(body)
    except orjson.JSONDecodeError as error:
        where = f" (line {error.lineno}, column {error.colno})"
        raise Refused(422, f"the body is not valid JSON{where}", code="invalid_json") from None
    if rb"\u0000" in body and _has_nul(value):
        raise Refused(422, "text cannot hold the character NUL", code="invalid_input")


def _depth(body: bytes) -> int:
    """How deep the brackets go, strings apart; brackets that do not match are found when it is read."""
    deepest = depth = 0
    for byte in _STRING.sub(b"", body).translate(None, _NOT_BRACKETS):
        if byte in b"[{":
            depth += 1
            deepest = max(deepest, depth)
        else:
            depth -= 1
    return deepest


def _has_nul(value: Any) -> bool:
    waiting: list[Any] = [value]
    while waiting:
        one = waiting.pop()
        if isinstance(one, str):
            if "\0" in one:
                return True
        elif isinstance(one, dict):
            waiting += [*one, *one.values()]
        elif isinstance(one, Sequence):
            waiting += one
    return False


def _too_large() -> Refused:
    return Refused(413, f"a body has at most {MOST_BYTES:,} bytes", headers=_CLOSE)
