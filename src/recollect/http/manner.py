"""How a request is spoken to: programs send a key and JSON and get JSON; people's browsers are another manner.

The gate is the same for both; what differs is where the key stands, how a body may come, which headers an answer has
and how a refusal looks.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol

from recollect.http import bodies
from recollect.http.errors import Refused
from recollect.http.foreign import Values
from recollect.http.knowing import key_in, keys_in

Headers = tuple[tuple[bytes, bytes], ...]
COMMON: Headers = (
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"x-frame-options", b"DENY"),
)


class Said(NamedTuple):
    """A refusal as it is sent."""

    status: int
    headers: list[tuple[bytes, bytes]]
    body: bytes


class Manner(Protocol):
    """One kind of caller. `headers` stand on every answer; of those in `own`, a route's are kept instead."""

    headers: Headers
    own: frozenset[bytes]
    repeats: bool  # whether a request may carry an Idempotency-Key
    open_to_all: bool  # whether a route that needs no key answers those with a wrong one too

    def key_in(self, values: Values) -> str | None: ...
    def check_head(self, method: str, values: Values) -> bool: ...
    async def check_body(self, body: bytes) -> None: ...
    def refusal(self, refused: Refused, request_id: str, method: str, path: str) -> Said: ...


class Programs:
    """Keys in headers, JSON in and out; nothing of an answer may be kept, and but for the API's own page none shown."""

    headers: Headers = (
        (b"cache-control", b"no-store"),
        (b"content-security-policy", b"default-src 'none'; frame-ancestors 'none'"),
        *COMMON,
    )
    own: frozenset[bytes] = frozenset((b"content-security-policy",))  # the page of the API lets its own style in
    repeats = True
    open_to_all = False

    def key_in(self, values: Values) -> str | None:
        if len(keys_in(values)) > 1:
            headers = {"WWW-Authenticate": "Bearer"}
            raise Refused(401, "a key was sent twice", hint="Send it in one header, once.", headers=headers)
        return key_in(values)

    def check_head(self, method: str, values: Values) -> bool:
        return bodies.check_head(method, values)

    async def check_body(self, body: bytes) -> None:
        await bodies.check(body)

    def refusal(self, refused: Refused, request_id: str, method: str, path: str) -> Said:
        body = refused.body(request_id)
        return Said(refused.status, [(b"content-type", b"application/json"), *given(refused)], body)


def given(refused: Refused) -> list[tuple[bytes, bytes]]:
    """The headers a refusal brings."""
    return [(name.lower().encode(), value.encode()) for name, value in refused.headers.items()]
