"""Nobody sees anybody else over HTTP: two tenants, two users, two projects, and every route there is.

Each owner's things all hold a word of theirs. Whatever a route answers to another key must not hold it, whichever ids,
names and cursors are sent: those of the owner are sent on purpose. The routes are those of the app, so a new one is
tried, or this says that it is not.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest
from fastapi.routing import APIRoute

from recollect.http.permissions import NEEDS
from recollect.ids import stable_key
from recollect.model import Scope
from recollect.store.ports.learn import Pattern
from tests.http.api_fixture import Api
from tests.http.api_fixture import api as api

pytestmark = pytest.mark.usefixtures("each_store")

OWNERS = {
    "acme-ann": Scope("acme", "ann"),
    "acme-bob": Scope("acme", "bob"),
    "other-ann": Scope("other", "ann"),
    "shop": Scope("parted", "ann", "shop"),
    "farm": Scope("parted", "ann", "farm"),
}
OWN = ("read", "write", "delete", "speak")
WORDS = {"acme-ann": "aardvark", "acme-bob": "buffalo", "other-ann": "eland", "shop": "hedgehog", "farm": "walrus"}
# What is asked of each route with a body; what has none stands here too, so that a new route is not forgotten.
BODIES: dict[tuple[str, str], Any] = {
    ("POST", "/ingest"): {"content": "The {word} is asleep"},
    ("POST", "/ingest/batch"): {"items": [{"content": "The {word} is asleep"}]},
    ("POST", "/memory/ingest"): {"user_message": "hm", "assistant_message": "ah", "session_id": "{session}x"},
    ("POST", "/v1/events"): {"events": [{"session": "{session}x", "role": "user", "content": "hm"}]},
    ("PATCH", "/memories/{memory_id}"): {"why": "because"},
    ("POST", "/memories/{memory_id}/confirm"): {},
    ("POST", "/memories/{memory_id}/feedback"): {"verdict": "harmful", "session": "{session}"},
    ("POST", "/search"): {"query": "{word}", "facets": True, "abstain": False},
    ("POST", "/context"): {"query": "{word}"},
    ("POST", "/messages"): {"session": "{session}", "message": "who sleeps?"},
    ("POST", "/prompt"): {"session": "{session}", "message": "who sleeps?"},
    ("POST", "/memory/search"): {"query": "{word}", "project_tag": "{word}"},
    ("POST", "/patterns/{pattern_id}/approve"): {"reason": "so it is"},
    ("POST", "/patterns/{pattern_id}/reject"): {},
    ("POST", "/patterns/{pattern_id}/edit"): {"rule": "Look first."},
}
NO_BODY = {
    *(("POST", "/memories/{memory_id}/restore"), ("POST", "/sessions/{session_id}/summarize")),
    *(("POST", "/tasks/{task_id}/cancel"), ("POST", "/tasks/{task_id}/requeue")),
}


@dataclass
class Things:
    """What one owner has, by name."""

    word: str
    session: str
    memory_id: str
    task_id: str
    pattern_id: str
    session_id: str
    cursor: str


def seeded(api: Api) -> dict[str, Things]:
    found = {}
    for name, scope in OWNERS.items():
        caller, word = api.caller(scope, OWN), WORDS[name]
        kept = caller.keep(f"The {word} sleeps at noon", content_type="fact", origin="user", tags=[word])
        caller.keep(f"Another {word} sleeps at dawn", tags=[word])
        session = f"chat:{word}"
        said = {"user_message": f"Remember the {word}", "assistant_message": f"The {word} it is", "session_id": session}
        task = caller.post("/memory/ingest", said, 202)["task"]
        caller.post(f"/sessions/{session}/summarize")
        cursor = caller.get("/memories", limit=1)["next_cursor"]
        pattern = stable_key(word)[:16]
        learned = {"statement": f"The {word} is chased", "rule": f"Let the {word} sleep.", "trust": "user"}
        at, inside = api.clock(), (scope.project,) if scope.project else ()
        one = Pattern(id=pattern, kind="correction", key=word, **learned, first_seen=at, last_seen=at, projects=inside)
        api.serving.store.patterns.put(scope, one, at=api.clock(), was=None)
        found[name] = Things(word, session, kept, task, pattern, session, cursor)
    api.embed()
    return found


def routes(api: Api) -> list[tuple[str, APIRoute]]:
    return [
        (method, route)
        for route in api.app.routes
        if isinstance(route, APIRoute)
        for method in sorted(route.methods)
        if NEEDS[method, route.path] is not None
    ]


def filled(value: Any, things: Things) -> Any:
    if isinstance(value, dict):
        return {name: filled(item, things) for name, item in value.items()}
    if isinstance(value, list):
        return [filled(item, things) for item in value]
    return value.format(**vars(things)) if isinstance(value, str) else value


# Each is tried by two others, in every way that one can be another: another user, another tenant's user of the same
# name, another project, from within a project and from outside.
VICTIMS = {
    "acme-ann": ("acme-bob", "shop"),
    "acme-bob": ("acme-ann", "other-ann"),
    "other-ann": ("acme-ann", "farm"),
    "shop": ("farm", "acme-bob"),
    "farm": ("shop", "other-ann"),
}


@pytest.mark.parametrize("thief", OWNERS)
def test_no_route_shows_anything_of_somebody_else(api: Api, thief: str) -> None:
    seen = seeded(api)
    caller = api.caller(OWNERS[thief], OWN)
    before = {name: api.caller(scope, OWN).send("GET", "/export").text for name, scope in OWNERS.items()}
    tried = 0
    for victim in VICTIMS[thief]:
        things, scope = seen[victim], OWNERS[victim]
        names = {"user_id": scope.user} | ({"context_id": scope.project} if scope.project else {})
        for method, route in routes(api):
            path = route.path_format.format(**vars(things))
            body = filled(BODIES.get((method, route.path_format)), things)
            narrowed: list[dict[str, str]] = [
                {"cursor": things.cursor},
                {"tag": things.word},
                {"session": things.session},
            ]
            for query in ({}, names, *(narrowed if method == "GET" else ())):
                answer = caller.send(method, path, body, params=query)
                assert answer.status_code < 500, (method, path, answer.text)
                shown = (
                    answer.text.replace(path, "")
                    .replace(things.session, "")
                    .replace(f"The {things.word} is asleep", "")
                )
                if answer.status_code < 400:
                    assert things.word not in shown, (method, path, query, answer.text[:400])
                    assert things.memory_id not in shown
                tried += 1
    assert tried >= 2 * (15 * 5 + 15 * 2)
    for name, scope in OWNERS.items():
        if name != thief:
            after = api.caller(scope, OWN).send("GET", "/export").text
            assert after.splitlines()[1:] == before[name].splitlines()[1:], "nothing of theirs was changed"


def test_every_route_with_a_body_is_tried(api: Api) -> None:
    posts = {(method, route.path_format) for method, route in routes(api) if method in ("POST", "PATCH")}
    assert posts == BODIES.keys() | NO_BODY


def test_what_is_another_users_is_unknown_and_naming_them_is_refused(api: Api) -> None:
    seen = seeded(api)
    bob = api.caller(OWNERS["acme-bob"], OWN)
    things = seen["acme-ann"]
    for method, path in (("GET", "/memories/{}"), ("PATCH", "/memories/{}"), ("DELETE", "/memories/{}")):
        body = {"why": "x"} if method == "PATCH" else None
        answer = bob.send(method, path.format(things.memory_id), body)
        assert (answer.status_code, answer.json()["error"]["code"]) == (404, "not_found")
        named = bob.send(method, path.format(things.memory_id), body, params={"user_id": "ann"})
        assert (named.status_code, named.json()["error"]["code"]) == (403, "scope_error")
    acting = api.caller(OWNERS["acme-bob"], (*OWN, "act"))
    assert acting.get(f"/memories/{things.memory_id}", user_id="ann")["id"] == things.memory_id
    acting.get(f"/memories/{seen['other-ann'].memory_id}", 404, user_id="ann")


def test_a_key_of_a_project_sees_it_and_what_belongs_to_none(api: Api) -> None:
    seeded(api)
    shop = api.caller(OWNERS["shop"], OWN)
    assert shop.get("/memory/stats")["tags"] == {"hedgehog": 2}
    assert shop.get("/memories", 403, context_id="farm")["error"]["code"] == "scope_error"
    whole = api.caller(Scope("parted", "ann"), OWN)
    assert whole.get("/memory/stats")["tags"] == {"hedgehog": 2, "walrus": 2}
    assert whole.get("/memory/stats", context_id="farm")["tags"] == {"walrus": 2}
