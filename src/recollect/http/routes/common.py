"""What every route needs: who asks, the memory they ask of, and how versions are told in headers."""

from __future__ import annotations

import re
from typing import Annotated, Any

from fastapi import Depends, Header

from recollect.errors import InvalidInput, NotFound
from recollect.facade import Recollect
from recollect.http.asked import Asked, asked
from recollect.http.schemas.asking import Whose
from recollect.model import Session

Who = Annotated[Asked, Depends(asked)]
IfMatch = Annotated[
    str | None,
    Header(
        alias="If-Match",
        max_length=60,
        description='The version you read, as in its ETag: `"3"`. Changed meanwhile: 409.',
    ),
]
# What an answer with a version says in its headers, for the description of the route.
TAGGED: dict[int | str, dict[str, Any]] = {
    200: {"headers": {"ETag": {"description": "The version of the memory.", "schema": {"type": "string"}}}}
}
_VERSION = re.compile(r'"?(\d{1,9})"?', re.ASCII)


def opened(who: Asked, given: Whose | Any) -> Recollect:
    """The memory a request is about: the key's own, or that of the user and project it names."""
    return who.memory(user=given.user_id, project=given.context_id)


def etag(version: int) -> dict[str, str]:
    """The header that tells a version."""
    return {"ETag": f'"{version}"'}


def expected(if_match: str | None) -> int | None:
    """The version a change is for; None: whichever there is."""
    if if_match is None or if_match.strip() == "*":
        return None
    found = _VERSION.fullmatch(if_match.strip())
    if found is None or int(found[1]) >= 2**31:
        raise InvalidInput("If-Match is not a version", hint='Send the ETag of the memory, such as "3".')
    return int(found[1])


def session_of(memory: Recollect, session: str) -> Session:
    """A session of this scope, or NotFound."""
    found = memory.store.sessions.get(memory.scope, session)
    if found is None:
        raise NotFound("no such session", hint="GET /sessions lists them.")
    return found
