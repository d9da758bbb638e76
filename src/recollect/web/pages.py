"""What a page's route needs: who looks, their memory, the form they sent, and ways to answer."""

from __future__ import annotations

import hmac
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import Annotated, Any
from urllib.parse import parse_qs, urlencode

from fastapi import Depends
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse

from recollect.errors import InvalidInput
from recollect.facade import Recollect
from recollect.http.asked import Asked, asked
from recollect.http.errors import Refused
from recollect.http.foreign import only
from recollect.model import Scope
from recollect.web.manner import cookie_in, csrf_of
from recollect.web.said import SAID
from recollect.web.templating import render

MOST_FIELDS = 200


@dataclass(frozen=True)
class Page:
    """Somebody who looks at a page."""

    asked: Asked
    path: str
    csrf: str  # what every form they send carries
    said: str | None  # a word for what was done just before

    @cached_property
    def memory(self) -> Recollect:
        """Their memory."""
        return self.asked.memory()

    @property
    def scope(self) -> Scope:
        return self.asked.grant.scope

    @property
    def now(self) -> datetime:
        return self.asked.clock()

    @property
    def hosted(self) -> bool:
        """Whether the server is for others too: then nothing of its machine is shown or changed."""
        return self.asked.serving.hosted

    @property
    def notice(self) -> str | None:
        """What was done just before, in words."""
        return SAID.get(self.said or "")

    def may(self, permission: str) -> bool:
        """Whether they may do that."""
        return self.asked.may(permission)

    def show(self, template: str, status: int = 200, **values: Any) -> HTMLResponse:
        """A page of this template."""
        return HTMLResponse(render(template, page=self, **values), status)

    def back(self, address: str, said: str | None = None, **query: str) -> RedirectResponse:
        """After something was done: the page to look at now, with a word for what was done."""
        more = urlencode({**({"said": said} if said else {}), **query})
        place, _, mark = address.partition("#")
        joined = f"{place}{'&' if '?' in place else '?'}{more}" if more else place
        return RedirectResponse(f"{joined}#{mark}" if mark else joined, 303)


@dataclass(frozen=True, slots=True)
class Form:
    """What somebody filled in."""

    fields: Mapping[str, Sequence[str]]

    def text(self, name: str, default: str = "", most: int = 10_000) -> str:
        """A field's text, line ends as everywhere else; InvalidInput when it is longer than that."""
        found = self.fields.get(name)
        value = found[0].replace("\r\n", "\n") if found else default
        if len(value) > most:
            raise InvalidInput(f"{name} has more than {most:,} characters")
        return value

    def many(self, name: str) -> list[str]:
        """All values of a field."""
        return list(self.fields.get(name, ()))

    def flag(self, name: str) -> bool:
        """Whether a box was ticked."""
        return bool(self.text(name))

    def number(self, name: str, default: float | None = None) -> float | None:
        """A number, or the default where there is none."""
        try:
            return float(self.text(name, most=40)) if self.text(name, most=40).strip() else default
        except ValueError:
            raise InvalidInput(f"{name} must be a number") from None


def visit_in(request: Request) -> str:
    """What the cookie holds."""
    return cookie_in(lambda name: request.headers.getlist(name)) or ""


async def page_of(request: Request) -> Page:
    """The dependency of every page that is not public."""
    found = await asked(request)
    return Page(found, request.url.path, csrf_of(visit_in(request)), request.query_params.get("said"))


async def fields_of(request: Request) -> Form:
    """A form as it came; for the one page where nobody has a visit yet."""
    try:
        text = (await request.body()).decode("ascii")
        return Form(parse_qs(text, keep_blank_values=True, max_num_fields=MOST_FIELDS, errors="strict"))
    except ValueError:
        raise Refused(422, "the form cannot be read", code="invalid_input") from None


async def form_of(request: Request) -> Form:
    """A form that one of our own pages sent."""
    form = await fields_of(request)
    if not hmac.compare_digest(form.text("csrf", most=100).encode(), csrf_of(visit_in(request)).encode()):
        raise Refused(403, "this form is not of this visit", hint="Open the page again and send it from there.")
    return form


def host_of(request: Request) -> str | None:
    """The host as the browser knows it."""
    return only(lambda name: request.headers.getlist(name), "Host")


Who = Annotated[Page, Depends(page_of)]
Fields = Annotated[Form, Depends(form_of)]
