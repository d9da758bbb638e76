"""How people's browsers are spoken to: a cookie instead of a key, forms instead of JSON, pages instead of errors."""

from __future__ import annotations

import hashlib
import hmac
import re
from urllib.parse import quote

from recollect.http import bodies
from recollect.http.errors import Refused
from recollect.http.foreign import LOOPBACK, Values, only
from recollect.http.manner import COMMON, Headers, Said, given
from recollect.web.templating import render

COOKIE = "recollect"
ENTER = "/page/enter"
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; "
    "frame-ancestors 'none'; base-uri 'none'"
)
FORM = "application/x-www-form-urlencoded"
_AGAIN = "Come in again in another window, then go back to the form in this one and send it once more."
_PORT = re.compile(r":(\d{1,5})$")
_REQUEST = re.compile(r"(?:GET|HEAD|POST|PUT|PATCH|DELETE) /(\w*)")  # in a hint it is advice for programs
_PLACES = {
    "memories": "It may be forgotten, or in a project that is not open to you. The memory page finds what there is.",
    "sessions": "It may be forgotten, or in a project that is not open to you. The sessions page lists what there is.",
    "tasks": "The live page shows what is being done.",
}


class People:
    """Whoever looks at pages."""

    headers: Headers = (
        (b"cache-control", b"no-store"),
        (b"content-security-policy", POLICY.encode()),
        (b"cross-origin-opener-policy", b"same-origin"),
        (b"cross-origin-resource-policy", b"same-origin"),
        (b"referrer-policy", b"same-origin"),  # with none at all browsers send forms with the origin "null"
        *(pair for pair in COMMON if pair[0] != b"referrer-policy"),
    )
    own = frozenset((b"cache-control",))
    repeats = False
    open_to_all = True

    def __init__(self, *, hosted: bool) -> None:
        self._hosted = hosted

    def key_in(self, values: Values) -> str | None:
        return cookie_in(values)

    def check_head(self, method: str, values: Values) -> bool:
        return bodies.check_head(method, values, FORM)

    async def check_body(self, body: bytes) -> None:
        if b"%00" in body or b"\0" in body:
            raise Refused(422, "text cannot hold the character NUL", code="invalid_input")

    def refusal(self, refused: Refused, request_id: str, method: str, path: str) -> Said:
        """A page that says what is wrong; whoever is not known yet is asked to come in."""
        if refused.status == 401 and method in ("GET", "HEAD"):
            return Said(303, [(b"location", f"{ENTER}?next={quote(path)}".encode())], b"")
        if refused.status == 401:
            refused = Refused(401, "your visit is over", hint=_AGAIN)
        told = {"refused": refused, "hint": hint_for_people(refused.hint), "request_id": request_id}
        shown = render("refused.html", **told, hosted=self._hosted)
        kept = [pair for pair in given(refused) if pair[0] != b"www-authenticate"]
        return Said(refused.status, [(b"content-type", b"text/html; charset=utf-8"), *kept], shown.encode())


def hint_for_people(hint: str | None) -> str | None:
    """The hint, unless it is a request that programs make: then where a person finds the same, if anywhere."""
    request = _REQUEST.search(hint or "")
    return hint if request is None else _PLACES.get(request[1])


def cookie_name(host: str | None) -> str:
    """A cookie is sent to every port of a machine, so its name has the port."""
    port = _PORT.search(host or "")
    return f"{COOKIE}-{port[1]}" if port else COOKIE


def cookie_in(values: Values) -> str | None:
    """What our cookie holds; given twice it is none."""
    name = cookie_name(only(values, "Host"))
    pairs = [part.strip().partition("=") for header in values("Cookie") or () for part in header.split(";")]
    found = [value for key, _, value in pairs if key == name]
    return found[0] if len(found) == 1 and found[0] else None


def cookie(host: str | None, value: str, seconds: int) -> str:
    """The header that sets it. Off one's own machine it goes over TLS only."""
    name = (host or "").rpartition(":")[0] if _PORT.search(host or "") else host or ""
    secure = "" if name.casefold() in LOOPBACK else "; Secure"
    return f"{cookie_name(host)}={value}; Path=/; Max-Age={seconds}; HttpOnly; SameSite=Strict{secure}"


def csrf_of(visit: str) -> str:
    """What every form of a visit carries: another site's page cannot know it."""
    return hmac.new(visit.encode(), b"recollect form", hashlib.sha256).hexdigest()[:40]
