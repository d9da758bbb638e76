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
from recollect.web.refusing import hint_for_people, in_its_words, is_inside, page_for, title_of, way_back
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

    def key_in(self, values: Values) -> str | None:
        return cookie_in(values)

    def check_head(self, method: str, values: Values) -> bool:
        return bodies.check_head(method, values, FORM)

    async def check_body(self, body: bytes) -> None:
        if b"%00" in body or b"\0" in body:
            raise Refused(422, "text cannot hold the character NUL", code="invalid_input")

    def refusal(self, refused: Refused, request_id: str, method: str, path: str) -> Said:
        """A page that says what is wrong; whoever is not known yet is asked to come in.

        Whoever typed the address of a program's route is sent to the page that shows the same.
        """
        looked, meant = method in ("GET", "HEAD"), page_for(path)
        if refused.status == 401 and looked:
            return Said(303, [(b"location", f"{ENTER}?next={quote(meant or path)}".encode())], b"")
        if refused.status == 404 and looked and meant:
            return Said(303, [(b"location", quote(meant, safe="/:@").encode())], b"")
        if refused.status == 401:
            refused = Refused(401, "your visit is over", hint=_AGAIN)
        shown = render(
            "refused.html",
            refused=refused,
            title=title_of(refused.status),
            message=in_its_words(refused.message, path),
            hint=hint_for_people(refused.hint),
            request_id=request_id,
            back=way_back(method, path),
            inside=is_inside(refused, path),
            path=path,
        )
        kept = [pair for pair in given(refused) if pair[0] != b"www-authenticate"]
        return Said(refused.status, [(b"content-type", b"text/html; charset=utf-8"), *kept], shown.encode())


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
