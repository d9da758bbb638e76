"""Sessions: which there are, one as a readable transcript, what is done with one."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import orjson
from fastapi import APIRouter
from markupsafe import Markup
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response, StreamingResponse

from recollect.errors import NotFound
from recollect.model import Event, Session
from recollect.pipeline.exporting import note_session
from recollect.pipeline.gists import IDLE
from recollect.pipeline.transcribing import markdown_of, records_of
from recollect.web import sessions as gathered
from recollect.web.insights import short
from recollect.web.live import Marks, exact_words
from recollect.web.marking import excerpt, marked
from recollect.web.pages import Fields, Page, Who
from recollect.web.paths import anchor, session_address
from recollect.web.plots import heat, heat_legend
from recollect.web.pricing import unpriced
from recollect.web.transcript import EVENTS, MOST, told_between, turns_of

LIST, ONE = "/page/sessions", "/page/sessions/{session_id:path}"
NEEDS: dict[tuple[str, str], str | None] = {
    ("GET", LIST): "read",
    ("GET", ONE): "read",
    ("GET", f"{ONE}/forget"): "delete",
    ("POST", f"{ONE}/forget"): "delete",
    ("POST", f"{ONE}/summarize"): "write",
    ("POST", f"{ONE}/distill"): "write",
    ("GET", f"{ONE}/export"): "read",
    ("GET", f"{ONE}/body"): "read",
}
_CHUNK = 65_536  # bytes of an export that are sent at a time
_UNSAFE = re.compile(r"[^A-Za-z0-9._-]+")
_IMAGES = ("image/png", "image/jpeg", "image/gif", "image/webp")
_WHOLE = 400_000  # characters of an event that a page shows
_EXCERPT = 320


def router() -> APIRouter:
    """The pages. What an address ends with stands before the address of the session itself."""
    routes = APIRouter(include_in_schema=False)
    for method, template, route in (
        ("GET", LIST, list_page),
        ("GET", f"{ONE}/forget", forget_page),
        ("POST", f"{ONE}/forget", forget),
        ("POST", f"{ONE}/summarize", summarize),
        ("POST", f"{ONE}/distill", distill),
        ("GET", f"{ONE}/export", export),
        ("GET", f"{ONE}/body", body),
        ("GET", ONE, session_page),
    ):
        routes.add_api_route(template, route, methods=[method], response_model=None)
    return routes


def list_page(request: Request, page: Who) -> HTMLResponse:
    """Sessions, the latest first, and how many there were a day."""
    asked = gathered.wanted(request.query_params)
    seen = gathered.overview(page.memory, asked, page.now)
    title = "Sessions a day in the last half year"
    plot = heat(seen.days, page.now.date(), title, weeks=gathered.WEEKS, address=asked.on_day)
    linked = Markup('<a href="{}">{}</a>')
    days = [(linked.format(asked.on_day(day), f"{day}"), n) for day, n in sorted(seen.days.items(), reverse=True)]
    return page.show(
        "sessions.html",
        asked=asked,
        seen=seen,
        plot=plot,
        legend=heat_legend(max(seen.days.values(), default=0)),
        days=days,
        shown_project=gathered.shown_project,
    )


def session_page(request: Request, session_id: str, page: Who) -> HTMLResponse:
    """One session: what it was, and its transcript page by page; or one event, or what was sought in it."""
    session, params = _session(page, session_id), request.query_params
    if key := params.get("event", "")[:64]:
        return _event_page(page, session, key)
    at = _event(page, session, params.get("at", "")[:64])
    brief = at is not None or bool(params.get("q", "").strip()) or gathered.number_in(params, "page") > 1
    told = gathered.around(page.memory, session, brief=brief, exact=exact_words(page.asked.serving))
    number = gathered.number_in(params, "page") if at is None else at.position // EVENTS + 1
    pages = max(1, -(-told.extent.events // EVENTS))
    number, after = min(number, pages), (min(number, pages) - 1) * EVENTS - 1
    browse, scope = page.memory.store.browse, page.memory.scope
    passages = browse.passages(scope, session.id, after=max(-1, after - 1), first=EVENTS + (after > -1), most=MOST)
    before = passages[0].turn if after > -1 and passages else None
    shown = passages[1:] if before is not None else passages
    until = shown[-1].event.occurred_at if shown and number < pages else None
    here = told_between(told.told, None if before is None else passages[0].event.occurred_at, until)
    turns = turns_of(
        shown,
        marked=at.key if at else None,
        continues=bool(shown) and shown[0].turn == before,
        told=here,
        helpers=gathered.helpers(page.memory, session),
    )
    return page.show(
        "session.html",
        it=told,
        anchor=anchor,
        brief=brief,
        address=session_address(session.id),
        turns=turns,
        had=0 if at is None else _had(told, at),
        number=number,
        pages=pages,
        span=(after + 2, after + 1 + len(shown)),
        q=params.get("q", "").strip()[:200],
        found=_found(page, session, params.get("q", "")),
        most=gathered.MATCHES,
        after=Marks(page.asked.serving).write(browse.mark(scope, at=page.now)),
        searching="q" in params,
        unpriced=unpriced(told.unpriced, hosted=page.hosted),
        short=short,
        gist_after=(page.asked.serving.settings.summarize_after, int(IDLE.total_seconds() // 60)),
    )


def _event_page(page: Page, session: Session, key: str) -> HTMLResponse:
    """One event as a whole; of one that is kept apart, as much as a page can show."""
    event = _event(page, session, key)
    if event is None:
        raise NotFound("no such event in this session")
    whole = event.text
    for apart in event.bodies:
        data = page.memory.store.bodies.get(page.memory.scope, apart.hash) if apart.media == "text/plain" else None
        whole = data.decode("utf-8", "replace") if data is not None else whole
    meta = orjson.dumps(dict(event.meta), option=orjson.OPT_INDENT_2, default=str).decode() if event.meta else ""
    return page.show(
        "event.html",
        anchor=anchor,
        session=session,
        event=event,
        text=whole[:_WHOLE],
        left=max(0, len(whole) - _WHOLE),
        meta=meta[:_WHOLE],
        address=session_address(session.id),
        images=[one for one in event.bodies if one.media in _IMAGES],
    )


def forget_page(session_id: str, page: Who) -> HTMLResponse:
    """What would be gone."""
    session = _session(page, session_id)
    told, others = gathered.around(page.memory, session), gathered.forgotten_with(page.memory, session)
    made = [
        *told.memories,
        *(one for each in others for one in page.memory.memories(100, session=each.id, archived=True)),
    ]
    goes = page.memory.store.keeping.would_forget(page.memory.scope, session.id)
    here = session_address(session.id)
    return page.show("session_forget.html", it=told, others=others, made=made, goes=goes, address=here)


def forget(session_id: str, page: Who, form: Fields) -> Response:
    """Take it away for good."""
    session = _session(page, session_id)
    page.memory.forget(session=session.id)
    return page.back(LIST, "session-deleted")


def summarize(session_id: str, page: Who, form: Fields) -> Response:
    """Make its gist now."""
    session = _session(page, session_id)
    made = page.memory.summarize(session.id)
    return page.back(f"{session_address(session.id)}#gist", "summarized" if made else "nothing-to-summarize")


def distill(session_id: str, page: Who, form: Fields) -> Response:
    """Make memories of it again; what is known already is not made twice."""
    session = _session(page, session_id)
    done = page.memory.distill([session.id])
    return page.back(f"{session_address(session.id)}#memories", "distilled" if done.changed else "nothing-new")


def export(request: Request, session_id: str, page: Who) -> Response:
    """The whole session as a file: JSON Lines that can be imported, or Markdown."""
    session, memory = _session(page, session_id), page.memory
    name = _UNSAFE.sub("-", session.id).strip("-.")[:80] or "session"
    note_session(memory.store, memory.scope, session, now=page.now)
    if request.query_params.get("as") == "markdown":
        pieces: Iterator[bytes] = (piece.encode() for piece in markdown_of(memory.store, memory.scope, session))
        return _file(pieces, f"{name}.md", "text/markdown; charset=utf-8")
    records = records_of(memory.store, memory.scope, session, now=page.now)
    return _file((orjson.dumps(one) + b"\n" for one in records), f"{name}.jsonl", "application/x-ndjson")


def body(session_id: str, page: Who, name: str = "") -> Response:
    """A body of one of its events: an image as it is, anything else as a file of plain text."""
    session, name = _session(page, session_id), name[:64]
    media = page.memory.store.browse.media(page.memory.scope, session.id, name)
    data = None if media is None else page.memory.store.bodies.get(page.memory.scope, name)
    if data is None:
        raise NotFound("this body is not kept any more")
    if media in _IMAGES:
        return Response(data, media_type=media)
    return _file(iter([data]), f"{name[:12]}.txt", "text/plain; charset=utf-8")


# -- small things ------------------------------------------------------------------------------------------------------


def _session(page: Page, session_id: str) -> Session:
    found = page.memory.store.sessions.get(page.memory.scope, session_id[:255]) if session_id else None
    if found is None:
        raise NotFound("no such session", hint="It may have been forgotten.")
    return found


def _event(page: Page, session: Session, key: str) -> Event | None:
    found = page.memory.store.sessions.events(page.memory.scope, [key]) if key else []
    return found[0] if found and found[0].session == session.id else None


def _had(it: gathered.Around, event: Event) -> int:
    """How many memories the agent had been told by then."""
    before = (one for one in it.told if one.event == "start" or one.at <= event.occurred_at)
    return len({id_ for one in before for id_, _ in one.memories})


def _found(page: Page, session: Session, text: str) -> list[dict[str, Any]]:
    """Where the words somebody typed stand in a session."""
    words = gathered.words_of(text[:200])
    if not words:
        return []
    matches = page.memory.store.browse.matching(page.memory.scope, session.id, words, limit=gathered.MATCHES)
    pattern = gathered.pattern_of(words)
    return [
        {
            "event": one.event,
            "turn": one.turn + 1,
            "pieces": marked(excerpt(one.event.text, pattern, _EXCERPT), pattern),
        }
        for one in matches
    ]


def _file(pieces: Iterator[bytes], name: str, media: str) -> Response:
    """An answer that is saved, never shown: it may hold anything."""
    headers = {"Content-Disposition": f'attachment; filename="{name}"'}
    return StreamingResponse(_together(pieces), media_type=media, headers=headers)


def _together(pieces: Iterator[bytes]) -> Iterator[bytes]:
    kept: list[bytes] = []
    size = 0
    for piece in pieces:
        kept.append(piece)
        size += len(piece)
        if size >= _CHUNK:
            yield b"".join(kept)
            kept, size = [], 0
    yield b"".join(kept)
