"""The control pages: what is captured and kept, for how long, by which models, who may open it; and to change that.

What belongs to the machine is shown and changed only where the server is its user's own. On a server for others a
person sees their own scope, and a key gives no other key more than it has itself.
"""

from __future__ import annotations

import secrets
from datetime import datetime, timedelta
from typing import Any

from fastapi import APIRouter
from starlette.responses import Response, StreamingResponse

from recollect.errors import InvalidInput, NotAllowed, NotFound, RecollectError
from recollect.http.errors import Refused
from recollect.http.routes.retrieval import lines_of
from recollect.keys import EXPIRES_DAYS, GRACE_DAYS, PERMISSIONS, Issued, Key, parse_permissions
from recollect.model import Scope
from recollect.web import control
from recollect.web.intake import intake
from recollect.web.pages import Fields, Page, Who

HOME = control.ADDRESS
FILE = f"{HOME}/export/file"
DAYS = (7, 30, 90, 365)  # how long a new key may work; and until it is revoked
_ENTRIES = 50  # of the record on one page
_LOOK = 20_000  # entries that are gone through, the newest
_PROPOSALS, _SHOWN = 50, 20  # of a shared context
_KEY = f"{HOME}/keys/{{key_id}}"
_ONCE = timedelta(days=7)  # a form that was sent is known so long: as long as a visit lasts

NEEDS: dict[tuple[str, str], str | None] = {
    ("GET", HOME): "read",
    ("GET", f"{HOME}/projects"): "read",
    ("POST", f"{HOME}/projects"): "admin",
    ("GET", f"{HOME}/privacy"): "read",
    ("GET", f"{HOME}/keys"): "admin",
    ("POST", f"{HOME}/keys"): "admin",
    ("POST", f"{_KEY}/revoke"): "admin",
    ("POST", f"{_KEY}/rotate"): "admin",
    ("GET", f"{HOME}/quota"): "read",
    ("POST", f"{HOME}/quota"): "admin",
    ("GET", f"{HOME}/export"): "read",
    ("GET", FILE): "read",
    ("GET", f"{HOME}/retention"): "read",
    ("POST", f"{HOME}/retention"): "admin",
    ("GET", f"{HOME}/models"): "read",
    ("POST", f"{HOME}/models"): "admin",
    ("GET", f"{HOME}/shared"): "read",
    ("POST", f"{HOME}/shared"): "write",
    ("POST", f"{HOME}/shared/proposals"): "speak",
    ("GET", f"{HOME}/agents"): "read",
    ("POST", f"{HOME}/agents"): "admin",
    ("GET", f"{HOME}/record"): "read",
    ("GET", f"{HOME}/settings"): "read",
    ("GET", f"{HOME}/about"): "read",
}


def router() -> APIRouter:
    """Every control page, and what its forms send."""
    routes = APIRouter(include_in_schema=False)
    handlers: dict[tuple[str, str], Any] = {
        ("GET", HOME): overview,
        ("GET", f"{HOME}/projects"): projects,
        ("POST", f"{HOME}/projects"): switch_project,
        ("GET", f"{HOME}/privacy"): privacy,
        ("GET", f"{HOME}/keys"): keys,
        ("POST", f"{HOME}/keys"): create_key,
        ("POST", f"{_KEY}/revoke"): revoke_key,
        ("POST", f"{_KEY}/rotate"): rotate_key,
        ("GET", f"{HOME}/quota"): quota,
        ("POST", f"{HOME}/quota"): set_quota,
        ("GET", f"{HOME}/export"): export,
        ("GET", FILE): export_file,
        ("GET", f"{HOME}/retention"): retention,
        ("POST", f"{HOME}/retention"): upkeep,
        ("GET", f"{HOME}/models"): models,
        ("POST", f"{HOME}/models"): set_budget,
        ("GET", f"{HOME}/shared"): shared,
        ("POST", f"{HOME}/shared"): join_or_leave,
        ("POST", f"{HOME}/shared/proposals"): decide,
        ("GET", f"{HOME}/agents"): agents,
        ("POST", f"{HOME}/agents"): check,
        ("GET", f"{HOME}/record"): record,
        ("GET", f"{HOME}/settings"): settings,
        ("GET", f"{HOME}/about"): about,
    }
    for (method, path), handler in handlers.items():
        routes.add_api_route(path, handler, methods=[method], response_model=None)
    return routes


def _show(page: Page, name: str, status: int = 200, **values: Any) -> Response:
    """One control page, with the way to the others."""
    here = control.section(page, name)
    return page.show(f"control_{name}.html", status, here=here, sections=control.sections(page), **values)


def overview(page: Who) -> Response:
    """What can be seen and switched here."""
    return page.show("control.html", here=None, sections=control.sections(page), home=HOME)


# -- what is captured --------------------------------------------------------------------------------------------------


def projects(page: Who, name: str = "") -> Response:
    """Agents, projects and directories, and whether they are captured."""
    control.section(page, "projects")
    now = control.switches()
    listed = control.places(now, page.memory.store.stats.captured(page.scope))
    return _show(page, "projects", now=now, places=listed, done=control.switched(name, page.said, now, listed))


def switch_project(page: Who, form: Fields) -> Response:
    """Capture one of them, or do not, from now on."""
    control.own(page)
    on = form.text("on", most=3) == "yes"
    name = control.switch(form.text("name"), on)
    where = f"{HOME}/projects#{control.row_of(name)}"
    return page.back(where, said="switched-on" if on else "switched-off", name=name)


def privacy(page: Who) -> Response:
    """What was taken out before anything was stored, by reason and agent."""
    names, rows = control.taken(page.memory.store.stats.captured(page.scope).withheld)
    chosen = None if page.hosted else page.asked.serving.settings
    return _show(page, "privacy", agents=names, rows=rows, settings=chosen)


# -- who may open it ---------------------------------------------------------------------------------------------------


def keys(page: Who) -> Response:
    """The keys of this scope."""
    return _keys(page)


def _keys(page: Page, issued: Issued | None = None) -> Response:
    found = page.memory.store.keys.find(page.scope)
    mine = [word for word in PERMISSIONS if page.may(word)]
    chosen: dict[str, Any] = {"days": DAYS, "usual_days": EXPIRES_DAYS, "grace_days": GRACE_DAYS, "permissions": mine}
    chosen |= {"once": secrets.token_hex(16), "own_key": page.asked.grant.key}
    return _show(page, "keys", keys=found, issued=issued, **chosen)


def create_key(page: Who, form: Fields) -> Response:
    """A new key, whose text is shown this once; a form that is sent again (a reload does that) makes no other."""
    permissions = parse_permissions(form.many("permission"))
    _check_given(page, permissions)
    ways = {"permissions": permissions, "name": form.text("name", most=200).strip(), **_expiry(page, form)}
    once = f"page key {form.text('once', most=100) or secrets.token_hex(16)}"
    answers, until = page.memory.store.answers, page.now + _ONCE
    if answers.begin(page.scope, once, "", at=page.now, until=until) is not None:  # whichever worker had it before
        return page.back(f"{HOME}/keys", said="key-made-before")
    try:
        issued = page.memory.store.keys.create(page.scope, at=page.now, **ways)
    except RecollectError:
        answers.drop(page.scope, once)
        raise
    answers.finish(page.scope, once, status=200, body=b"", at=page.now)
    return _keys(page, issued)


def revoke_key(key_id: str, page: Who, form: Fields) -> Response:
    """From now on it opens nothing."""
    page.memory.store.keys.revoke(page.scope, key_id, at=page.now)
    return page.back(f"{HOME}/keys", said="key-revoked")


def rotate_key(key_id: str, page: Who, form: Fields) -> Response:
    """A new key for the same things; the old one works for some days yet."""
    store = page.memory.store
    old = next((key for key in store.keys.find(page.scope) if key.id == key_id), None)
    if old is None:
        raise NotFound("no such key", hint="The page of the keys lists yours.")
    if old.state(page.now) == "replaced":
        return page.back(f"{HOME}/keys", said="key-replaced-before")
    _check_given(page, old.permissions)
    until, ends = page.now + timedelta(days=GRACE_DAYS), _same_span(page, old)
    issued = store.keys.rotate(page.scope, key_id, at=page.now, until=until, expires_at=ends)
    return _keys(page, issued)


def _check_given(page: Page, permissions: tuple[str, ...]) -> None:
    """Nobody gives what they do not have."""
    more = [word for word in permissions if not page.may(word)]
    if more:
        raise NotAllowed(f"this key may not {more[0]}, so it can give no other key that", hint="Ask who made it.")


def _expiry(page: Page, form: Fields) -> dict[str, Any]:
    text = form.text("days", most=10)
    if text == "never":
        return {"expires_at": page.asked.grant.expires_at}
    if not text.isascii() or not text.isdigit() or not 0 < int(text) <= 3_650:
        raise InvalidInput("a key works for 1 to 3,650 days, or until it is revoked")
    return {"expires_at": _at_most(page, page.now + timedelta(days=int(text)))}


def _same_span(page: Page, old: Key) -> Any:
    """When the key that replaces another ends: after as long as that one was made for."""
    span = None if old.expires_at is None else page.now + (old.expires_at - old.created_at)
    return _at_most(page, span)


def _at_most(page: Page, ends: datetime | None) -> datetime | None:
    """Nobody gives more time than they have themselves."""
    own = page.asked.grant.expires_at
    return ends if own is None else own if ends is None else min(own, ends)


def quota(page: Who, user: str = "") -> Response:
    """What is used of what may be used; whoever acts for others may ask for one of them."""
    whose = _whose(page, user)
    return _show(page, "quota", quota=page.memory.store.quotas.get(whose), whose=whose)


def set_quota(page: Who, form: Fields) -> Response:
    """Limits for one user alone, on one's own machine; elsewhere they are the operator's to set."""
    control.own(page)
    whose = _whose(page, form.text("user", most=500))
    limits = {name: _limit(form.text(name, most=20).strip()) for name in ("memories", "ingests")}
    page.memory.store.quotas.set(whose, **limits, at=page.now)
    return page.back(
        f"{HOME}/quota", said="quota-set", **({"user": whose.user} if whose.user != page.scope.user else {})
    )


def _whose(page: Page, user: str) -> Scope:
    return page.asked.grant.narrowed(user=user.strip() or None).within(None)


def _limit(text: str) -> int | None:
    if not text:
        return None
    if not text.isascii() or not text.isdigit():
        raise InvalidInput("a limit is a whole number; 0 means no limit, an empty field the one everybody has")
    return int(text)


# -- what is given out and what goes -----------------------------------------------------------------------------------


def export(page: Who) -> Response:
    """What an export holds, and the way to it."""
    store = page.memory.store
    named = [one.name for one in store.stats.captured(page.scope).projects]
    held = store.stats.held(page.scope)
    memories = store.quotas.get(page.scope).memories if page.scope.project is None else None
    return _show(page, "export", projects=named, held=held, memories=memories, file=FILE)


def export_file(page: Who, project: str = "") -> Response:
    """Everything of the scope, or of one project, as JSON Lines; it is sent while it is read."""
    memory = page.asked.memory(project=project or None)
    headers = {"Content-Disposition": f'attachment; filename="recollect-{page.now:%Y-%m-%d}.jsonl"'}
    return StreamingResponse(lines_of(memory), media_type="application/x-ndjson", headers=headers)


def retention(page: Who) -> Response:
    """What takes room, how long things stay, and how upkeep went the last time."""
    return _retention(page)


def _retention(page: Page, looked: Any = None) -> Response:
    control.section(page, "retention")
    captured = page.memory.store.stats.captured(page.scope)
    told: dict[str, Any] = {
        "budgets": control.budgets(page, captured),
        "rules": control.rules(page.asked.serving.settings),
    }
    return _show(page, "retention", jobs=control.jobs(page), offered=control.JOBS, looked=looked, **told)


def upkeep(page: Who, form: Fields) -> Response:
    """Count what the chosen jobs would do, or do them."""
    control.own(page)
    chosen = control.chosen_jobs(form.many("job"))
    if not chosen:
        raise InvalidInput("no job was chosen", hint="Tick at least one.")
    if form.text("do", most=10) == "look":
        return _retention(page, page.memory.run_jobs(chosen, dry_run=True))
    page.memory.run_jobs(chosen)
    return page.back(f"{HOME}/retention", said="upkeep-done")


def models(page: Who) -> Response:
    """Which models there are, and what they took today."""
    return _show(page, "models", **control.models(page))


def set_budget(page: Who, form: Fields) -> Response:
    """What language models may cost in a day."""
    control.own(page)
    control.set_budget(form.text("tokens", most=20), form.text("usd", most=20))
    return page.back(f"{HOME}/models", said="budget-set")


# -- what is shared ----------------------------------------------------------------------------------------------------


def shared(page: Who, context: str = "") -> Response:
    """The contexts one is in or asked to join; or one of them: who is in it, what was proposed, what it holds."""
    control.section(page, "shared")
    contexts = page.memory.contexts
    if not context:
        return _show(page, "shared", contexts=contexts.mine(), chosen=page.asked.serving.settings.contexts)
    found = contexts.find(context)
    return page.show(
        "control_context.html",
        here=control.section(page, "shared"),
        sections=control.sections(page),
        context=found,
        members=contexts.members(found.id),
        proposals=contexts.proposals(found.id, "open", limit=_PROPOSALS),
        memories=contexts.memories(found.id, limit=_SHOWN),
    )


def join_or_leave(page: Who, form: Fields) -> Response:
    """Enter a context one was asked into, or be a member no more."""
    control.section(page, "shared")
    contexts, what = page.memory.contexts, form.text("do", most=10)
    found = contexts.find(form.text("context", most=500), invited=True)
    if what == "join":
        contexts.join(found.id)
        return page.back(f"{HOME}/shared", said="joined", context=found.id)
    if what != "leave":
        raise Refused(422, "a context is joined or left")
    contexts.leave(found.id)
    return page.back(f"{HOME}/shared", said="left")


def decide(page: Who, form: Fields) -> Response:
    """Let a proposal in, say no to it, or take one's own back."""
    control.section(page, "shared")
    contexts, what, proposal = page.memory.contexts, form.text("do", most=10), form.text("proposal", most=100)
    found, why = contexts.find(form.text("context", most=500)), form.text("why", most=2_000).strip() or None
    if what == "approve":
        contexts.approve(found.id, proposal, why)
    elif what == "reject":
        contexts.reject(found.id, proposal, why)
    elif what == "withdraw":
        contexts.withdraw(found.id, proposal)
    else:
        raise Refused(422, "a proposal is approved, rejected or withdrawn")
    return page.back(f"{HOME}/shared", said=f"proposal-{what}", context=found.id)


# -- the machine -------------------------------------------------------------------------------------------------------


def agents(page: Who) -> Response:
    """Where Recollect is installed."""
    return _agents(page)


def _agents(page: Page, findings: Any = None) -> Response:
    control.section(page, "agents")
    found, missing = control.agents(page)
    last = {one.name: one for one in page.memory.store.stats.captured(page.scope).agents}
    return _show(page, "agents", agents=found, missing=missing, last=last, findings=findings)


def check(page: Who, form: Fields) -> Response:
    """What `recollect doctor` finds now; nothing is changed."""
    control.own(page)
    return _agents(page, control.check(page))


def record(page: Who, offset: str = "", action: str = "") -> Response:
    """What was done to this memory, the newest first."""
    control.section(page, "record")
    start = int(offset) if offset.isascii() and offset.isdigit() and len(offset) < 6 else 0
    wanted: dict[str, Any] = {"offset": start, "action": action[:60] or None, "look": _LOOK}
    found = page.memory.store.audit.find(page.scope, limit=_ENTRIES + 1, **wanted)
    more = start + _ENTRIES if len(found) > _ENTRIES else None
    shown = found[:_ENTRIES]
    there = control.readable(page, [one.subject for one in shown])
    told: dict[str, Any] = {"start": start, "more": more, "size": _ENTRIES, "action": action[:60]}
    return _show(page, "record", entries=shown, memories=there, **told)


def settings(page: Who) -> Response:
    """Every setting, as `recollect config` tells it."""
    control.section(page, "settings")
    file, rows = control.settings_told(page)
    return _show(page, "settings", file=file, rows=rows)


def about(page: Who) -> Response:
    """Version, sizes, health."""
    return _show(page, "about", **control.about(page), intake=intake(page))
