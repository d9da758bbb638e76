"""The page of a memory, what can be done to it there, and what the next run will be told.

Every change is a form that answers with the page to look at next. What somebody else changed meanwhile is never
overwritten: both wordings are shown. Only looking counts as nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from recollect.clock import parse_time
from recollect.errors import Conflict, InvalidInput, NotFound
from recollect.facade import Recollect
from recollect.inject.hosts import HOOKED
from recollect.model import KINDS, Memory, Scope, check_id
from recollect.pipeline.changing import changed as check_changed
from recollect.pipeline.changing import former
from recollect.pipeline.hubs import QUARANTINED
from recollect.recall.belief import Belief
from recollect.store.ports.use import GIVEN
from recollect.web.asking import HOME
from recollect.web.believing import standing_of, view_of
from recollect.web.marking import changes
from recollect.web.pages import Fields, Form, Page, Who
from recollect.web.paths import memory_address
from recollect.web.places import is_known, known_projects
from recollect.web.refusing import in_its_words

_ONE = "/page/memories/{memory_id}"
NEEDS: dict[tuple[str, str], str | None] = {
    ("GET", _ONE): "read",
    ("GET", f"{_ONE}/forget"): "delete",
    ("POST", f"{_ONE}/edit"): "write",
    ("POST", f"{_ONE}/wording"): "write",
    ("POST", f"{_ONE}/pin"): "speak",
    ("POST", f"{_ONE}/confirm"): "speak",
    ("POST", f"{_ONE}/feedback"): "write",
    ("POST", f"{_ONE}/archive"): "write",
    ("POST", f"{_ONE}/back"): "write",
    ("POST", f"{_ONE}/forget"): "delete",
    ("GET", "/page/next"): "read",
}
_TO_ITS_END = timedelta(days=1, microseconds=-1)  # a day that is named is still part of it


def router() -> APIRouter:
    routes = APIRouter(include_in_schema=False)
    handlers: dict[tuple[str, str], Any] = {
        ("GET", _ONE): show,
        ("GET", f"{_ONE}/forget"): before_forgetting,
        ("POST", f"{_ONE}/edit"): edit,
        ("POST", f"{_ONE}/wording"): put_wording_back,
        ("POST", f"{_ONE}/pin"): pin,
        ("POST", f"{_ONE}/confirm"): confirm,
        ("POST", f"{_ONE}/feedback"): give_feedback,
        ("POST", f"{_ONE}/archive"): archive,
        ("POST", f"{_ONE}/back"): bring_back,
        ("POST", f"{_ONE}/forget"): forget,
        ("GET", "/page/next"): next_run,
    }
    for (method, address), handler in handlers.items():
        routes.add_api_route(address, handler, methods=[method], response_model=None)
    return routes


# -- looking -----------------------------------------------------------------------------------------------------------


def show(memory_id: str, who: Who) -> Response:
    """Everything about one memory; of a shared one, what it says."""
    memory = who.memory
    try:
        belief = memory.belief(check_id(memory_id, "memory"))
    except NotFound:
        shared = memory.contexts.get(memory_id) if memory.scope.project is None else None
        if shared is None:
            raise
        return who.show("shared.html", context=shared[0], memory=shared[1])
    if belief.memory.deleted_at is not None and not belief.memory.content:
        raise NotFound("this memory was forgotten, and its text is gone")
    return _shown(who, belief)


def _shown(
    who: Page, belief: Belief, status: int = 200, form: Mapping[str, str] | None = None, **more: Any
) -> Response:
    """The page of a memory; with a form that somebody filled in, and why that cannot be saved."""
    kept, memory = belief.memory, who.memory
    values: dict[str, Any] = {
        "form": form or as_shown(kept, memory.scope),
        "version": kept.version,
        "vouched": True,
        "problem": None,
        "kinds": KINDS,
        "projects": known_projects(memory) if who.may("write") and memory.scope.project is None else [],
        "quarantined": bool(kept.meta.get(QUARANTINED)),
        **more,
    }
    return who.show("memory.html", status, view=view_of(memory, belief), memory=kept, **values)


def before_forgetting(memory_id: str, who: Who) -> Response:
    """What would go, before anything does."""
    memory = who.memory
    kept = memory.get(check_id(memory_id, "memory"))
    belief = memory.belief(kept.id)
    sessions = list(dict.fromkeys(span.session for span in kept.evidence))
    return who.show("forgetting.html", belief=belief, memory=kept, sessions=sessions)


def next_run(request: Request, who: Who) -> Response:
    """What an agent would be told now, when a session starts in a project."""
    asked = request.query_params
    project, host, id_ = (asked.get(name, "") for name in ("project", "host", "memory"))
    host = host if host in HOOKED else HOOKED[0]
    memory = who.asked.memory(project=check_id(project, "project")) if project else who.memory
    with memory.store.together(memory.scope):
        block = memory.standing(host, None if who.hosted else _directory(memory))
        known = memory.store.memories.get_many(memory.scope, block.ids)
    told = [known[one] for one in block.ids if one in known]
    about = memory.store.memories.get(who.memory.scope, id_) if id_ else None
    return who.show(
        "next.html",
        project=project or memory.scope.project or "",
        projects=known_projects(who.memory),
        host=host,
        hosts=HOOKED,
        block=block,
        told=told,
        about=about,
        why=standing_of(about, who.now)[1] if about is not None else "",
        off=not (memory.settings.inject_start and memory.settings.inject_max_tokens),
        budget=memory.settings.inject_max_tokens,
    )


def _directory(memory: Recollect) -> Path | None:
    """Where a session of the project ran last, if it is still there: what stands in its files is not told twice."""
    if memory.scope.project is None:
        return None
    for project, directory in memory.store.sessions.directories(memory.scope)[:20]:
        if project == memory.scope.project and Path(directory).is_absolute() and Path(directory).is_dir():
            return Path(directory)
    return None


# -- changing ----------------------------------------------------------------------------------------------------------


def edit(memory_id: str, who: Who, form: Fields) -> Response:
    """Other words, kind, why, tags, importance, end or project; refused when somebody changed it since it was shown."""
    memory = who.memory
    kept, version = memory.get(check_id(memory_id, "memory")), _whole(form, "version")
    given = _given(form, memory.scope)
    shown = {name: text for name, text in as_shown(kept, memory.scope).items() if name in given}
    vouched = form.flag("vouch") and who.may("speak") and kept.trust != "user"
    if version != kept.version and (given != shown or vouched):
        return _conflict(who, kept, given, vouched=form.flag("vouch"))
    try:
        changed = {name: _read(given, name) for name in given if given[name] != shown[name]}
        said = _save(who, kept, changed, vouched=vouched)
    except InvalidInput as error:
        problem = in_its_words(str(error), "/edit")
        return _shown(who, memory.belief(kept.id), 422, given, problem=problem, vouched=form.flag("vouch"))
    except Conflict:
        now = memory.get(kept.id)
        if now.version == kept.version:
            raise  # it is not about this memory: another one says the same
        return _conflict(who, now, given, vouched=form.flag("vouch"))
    return who.back(memory_address(kept.id), said)


def _save(who: Page, kept: Memory, changes: dict[str, Any], *, vouched: bool) -> str | None:
    """Write it down, as far as something is different; a word for what was done."""
    memory, version, moved = who.memory, kept.version, "project" in changes
    project = changes.pop("project", None)
    kind = changes.pop("kind", None) if vouched else None
    check_changed(kept, changes, memory.settings)  # before anything is done
    new = moved and project is not None and not is_known(memory, project)
    if moved:
        version = memory.to_project(kept.id, project, expected_version=version).version
    if changes:
        version = memory.update(kept.id, expected_version=version, **changes).version
    if vouched:
        memory.confirm(kept.id, kind, expected_version=version)
    if moved:
        return "moved-new-project" if new else "moved"
    return "edited" if changes else "confirmed" if vouched else None


def put_wording_back(memory_id: str, who: Who, form: Fields) -> Response:
    """A former wording, again; the one it has now is kept as a version."""
    memory = who.memory
    kept = memory.get(check_id(memory_id, "memory"))
    before = former(kept, memory.versions(kept.id), _whole(form, "number"))
    if before:
        memory.update(kept.id, expected_version=_whole(form, "version"), **before)
    return who.back(memory_address(kept.id), "edited" if before else None)


def pin(memory_id: str, who: Who, form: Fields) -> Response:
    """Agents are told it before all else, or no longer."""
    seen = _whole(form, "version")
    kept = who.memory.pin(check_id(memory_id, "memory"), on=not form.flag("off"), expected_version=seen)
    return who.back(memory_address(kept.id), "pinned" if kept.pinned else "unpinned")


def confirm(memory_id: str, who: Who, form: Fields) -> Response:
    """The person says that it is so."""
    kept = who.memory.confirm(check_id(memory_id, "memory"), expected_version=_whole(form, "version"))
    if form.flag("pin"):
        who.memory.pin(kept.id, expected_version=kept.version)
        return who.back(memory_address(kept.id), "pinned")
    return who.back(memory_address(kept.id), "confirmed")


def give_feedback(memory_id: str, who: Who, form: Fields) -> Response:
    """It helped, or it did harm; or that is taken back."""
    verdict = form.text("verdict", most=20)
    if verdict not in GIVEN:
        raise InvalidInput("a memory helped, did harm or was cited")
    undo = form.flag("undo")
    who.memory.feedback(check_id(memory_id, "memory"), verdict, undo=undo)
    return who.back(memory_address(memory_id), "taken-back" if undo else verdict)


def archive(memory_id: str, who: Who, form: Fields) -> Response:
    """Put away: found only when asked for."""
    kept = who.memory.archive(check_id(memory_id, "memory"))
    return who.back(memory_address(kept.id), "archived")


def bring_back(memory_id: str, who: Who, form: Fields) -> Response:
    """Back from wherever it was put: archived, superseded, merged, or forgotten not long ago."""
    memory = who.memory
    away = memory.store.memories.get(memory.scope, check_id(memory_id, "memory"))
    if away is not None and away.meta.get(QUARANTINED):
        who.asked.require("speak")  # an agent may have been talked into it by what is in quarantine
    if away is None:
        raise NotFound("no such memory")
    (kept,) = memory.reinstate(away.id)
    return who.back(memory_address(kept.id), "back")


def forget(memory_id: str, who: Who, form: Fields) -> Response:
    """Taken away: for a week, or for good; other wordings that were merged into it with it, where that was ticked."""
    memory, id_ = who.memory, check_id(memory_id, "memory")
    if form.text("how", most=10) != "good":
        memory.forget(id_, soft=True)
        return who.back(memory_address(id_), "forgotten")
    receipt = memory.forget(id_, with_merged=form.flag("merged"))
    if receipt.backups:
        return who.back(HOME, "deleted-but-in-backups")
    if any(place.startswith("memory ") for place in receipt.remains):
        return who.back(HOME, "deleted-but-for-wordings")
    return who.back(HOME, "deleted" if receipt.complete else "deleted-but-for-bytes")


def _whole(form: Form, name: str) -> int:
    """A whole number of the form; 0, which no version has, when it is none."""
    text = form.text(name, most=40)
    return int(text) if text.isdecimal() and len(text) < 10 else 0


def _given(form: Form, scope: Scope) -> dict[str, str]:
    """What the form says a memory is to be, as text; of one who sees one project alone, it stays there."""
    limits = {"content": 10_000, "kind": 40, "why": 1_000, "tags": 2_000, "importance": 40, "expires_at": 40}
    given = {name: form.text(name, most=most).strip() for name, most in limits.items()}
    asked = scope.project is None and form.many("project")
    return {**given, "project": form.text("project", most=300).strip()} if asked else given


def as_shown(memory: Memory, scope: Scope) -> dict[str, str]:
    """A memory as the form shows it: what comes back like this was not changed."""
    shown = {
        "content": memory.content,
        "kind": memory.kind,
        "why": memory.why or "",
        "tags": ", ".join(memory.tags),
        "importance": f"{memory.importance:g}",
        "expires_at": f"{memory.expires_at:%Y-%m-%d}" if memory.expires_at else "",
        **({"project": memory.project or ""} if scope.project is None else {}),
    }
    return {name: text.strip() for name, text in shown.items()}


def _read(given: Mapping[str, str], name: str) -> Any:
    """A field of the form as the memory has it."""
    text = given[name]
    if name == "tags":
        return [tag.strip() for tag in text.split(",") if tag.strip()]
    if name == "importance":
        try:
            return float(text)
        except ValueError:
            raise InvalidInput("importance must be a number from 0 to 1") from None
    if name == "expires_at":
        return _end_of(text) if text else None
    return text or None if name in ("why", "project") else text


def _end_of(day: str) -> datetime:
    try:
        return parse_time(day) + _TO_ITS_END
    except InvalidInput:
        raise InvalidInput("“Holds to the end of” is a day such as 2026-11-15") from None


def _conflict(who: Page, kept: Memory, given: Mapping[str, str], *, vouched: bool) -> Response:
    """Both wordings, and a form that puts one's own over what is there now."""
    return who.show(
        "conflict.html", 409, memory=kept, given=given, vouched=vouched, words=changes(kept.content, given["content"])
    )
