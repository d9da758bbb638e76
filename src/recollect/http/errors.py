"""What went wrong, as HTTP says it: one mapping from our errors to a status, and one form for all of them.

`{"error": {"code", "message", "hint", "fields"?}}`. A store's own words stay inside: they may name a file or a host.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import orjson

from recollect.errors import (
    Conflict,
    InvalidInput,
    InvalidKey,
    ModelError,
    NotAllowed,
    NotFound,
    QuotaExceeded,
    RecollectError,
    ScopeError,
    StoreBusy,
    StoreError,
    StoreFull,
    StoreReadOnly,
    StoreUnavailable,
)

# The first class that fits decides.
_STATUS: tuple[tuple[type[RecollectError], int], ...] = (
    (InvalidKey, 401),
    (NotAllowed, 403),
    (ScopeError, 403),
    (NotFound, 404),
    (Conflict, 409),
    (QuotaExceeded, 429),
    (InvalidInput, 422),
    (StoreBusy, 503),
    (StoreUnavailable, 503),
    (StoreFull, 503),
    (StoreReadOnly, 503),
    (ModelError, 503),
)
_SOON = {StoreBusy: 1, StoreUnavailable: 5, StoreFull: 60, StoreReadOnly: 30}
WORDS = {
    400: "bad_request",
    401: "invalid_key",
    403: "not_allowed",
    404: "not_found",
    405: "method_not_allowed",
    408: "too_slow",
    409: "conflict",
    411: "length_required",
    412: "conflict",
    413: "too_large",
    415: "not_json",
    422: "invalid_input",
    429: "too_many_requests",
    500: "internal",
    503: "unavailable",
}
_SAID = {
    404: "there is nothing here",
    405: "this cannot be done here",
    400: "the request cannot be understood",
    413: "the body is too large",
}

# What a person at this machine would type, as a request; other commands are no advice for somebody far away.
_ASKED = (("`recollect list`", "GET /memories lists them."), ("`recollect tasks`", "GET /tasks lists them."))
_COMMAND = "recollect "
_MORE = "Forget what is not needed, or ask whoever runs this service for more."
_TOMORROW = (
    "Come again when Retry-After says: a new day begins at midnight UTC. Or ask whoever runs this service for more."
)


class Refused(Exception):
    """A request that ends here, and how that is said."""

    def __init__(
        self,
        status: int,
        message: str | None = None,
        *,
        code: str | None = None,
        hint: str | None = None,
        headers: Mapping[str, str] | None = None,
        fields: Sequence[Mapping[str, str]] | None = None,
    ) -> None:
        self.status = status
        self.code = code or WORDS.get(status, "error")
        self.message = message or _SAID.get(status, "this cannot be done")
        self.hint = hint
        self.headers = dict(headers or {})
        self.fields = fields
        super().__init__(self.code)

    def body(self, request_id: str = "") -> bytes:
        """The answer; when it is our fault, with what finds it in the log."""
        error: dict[str, Any] = {"code": self.code, "message": self.message, "hint": self.hint}
        if self.status == 500:
            error["request_id"] = request_id
        if self.fields is not None:
            error["fields"] = list(self.fields)
        return orjson.dumps({"error": error})


def refusal_of(error: RecollectError, seconds_left: int = 3600) -> Refused:
    """How an error of ours is said; `seconds_left` is when a new day of ingests begins."""
    status = next((status for kind, status in _STATUS if isinstance(error, kind)), 500)
    headers = {}
    if isinstance(error, QuotaExceeded) and error.what.startswith("ingest"):
        headers["Retry-After"] = str(seconds_left)
    elif status == 503:
        headers["Retry-After"] = str(next((s for kind, s in _SOON.items() if isinstance(error, kind)), 5))
    if status == 401:
        headers["WWW-Authenticate"] = "Bearer"
    if isinstance(error, StoreError):
        said = (type(error).__doc__ or "").strip()
        return Refused(status, said, code=error.code if status == 503 else "internal", headers=headers)
    return Refused(status, str(error), code=error.code, hint=_hint(error), headers=headers)


def _hint(error: RecollectError) -> str | None:
    """What to do about it from far away."""
    if error.hint is None or _COMMAND not in error.hint:
        return error.hint
    if isinstance(error, QuotaExceeded):
        return _TOMORROW if error.what.startswith("ingest") else _MORE
    return next((said for command, said in _ASKED if command in error.hint), None)


def invalid(errors: Sequence[Mapping[str, Any]]) -> Refused:
    """A request that does not fit its schema: which fields, and what is wrong with each; never what was in them."""
    fields = [
        {"field": ".".join(str(part)[:60] for part in one.get("loc", ())), "problem": str(one.get("msg", ""))[:200]}
        for one in errors[:50]
    ]
    where = f": {fields[0]['field']}" if fields else ""
    return Refused(422, f"the request does not fit{where}", code="invalid_input", fields=fields)
