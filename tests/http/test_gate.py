"""Nobody gets past the gate: no key, a wrong key, a strange host, a foreign page, a route that nobody declared."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any

import pytest
from fastapi.routing import APIRoute

from recollect.http.permissions import NEEDS
from tests.http.conftest import Inside

Make = Callable[..., Inside]
HEADERS = {
    "cache-control": "no-store",
    "x-content-type-options": "nosniff",
    "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
    "referrer-policy": "no-referrer",
    "x-frame-options": "DENY",
}
PUBLIC = {("GET", "/health"), ("GET", "/openapi.json"), ("GET", "/docs")}
MATRIX: list[tuple[dict[str, str | None], int]] = [
    ({}, 0),
    ({"Host": "localhost:1"}, 0),
    ({"Host": "[::1]:8010"}, 0),
    ({"Origin": "http://127.0.0.1:8010"}, 0),
    ({"Sec-Fetch-Site": "same-origin"}, 0),
    ({"Sec-Fetch-Site": "none"}, 0),
    ({"Host": ""}, 403),
    ({"Host": "evil.example:8010"}, 403),
    ({"Host": "127.0.0.1.evil.example"}, 403),
    ({"Host": "127.0.0.1:8010@evil.example"}, 403),
    ({"Origin": "https://evil.example"}, 403),
    ({"Origin": "null"}, 403),
    ({"Origin": "http://127.0.0.1:9999"}, 403),
    ({"Sec-Fetch-Site": "cross-site"}, 403),
    ({"Sec-Fetch-Site": "same-site"}, 403),
    ({"X-API-Key": None}, 401),
]


def routes(app: Any) -> Iterator[tuple[str, str, str]]:
    """Method, template and a path of every route."""
    for route in app.routes:
        for method in route.methods:
            yield method, route.path, re.sub(r"\{[^}]+\}", "0199aaaa-0000-7000-8000-000000000000", route.path)


def test_every_route_says_what_it_needs(inside: Make) -> None:
    """C14: deny by default."""
    served = {(method, template) for method, template, _ in routes(inside().app)}
    assert served == set(NEEDS)
    assert {entry for entry, needs in NEEDS.items() if needs is None} == PUBLIC


def test_a_route_that_nobody_declared_is_closed(inside: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(NEEDS, ("GET", "/whoami"))
    answer = inside().client.get("/whoami")
    assert (answer.status_code, answer.json()["error"]["code"]) == (403, "not_allowed")


@pytest.mark.parametrize("hosted", [False, True], ids=["local", "hosted"])
def test_no_route_answers_without_a_key(inside: Make, hosted: bool) -> None:
    """P43: also not an address that does not exist, and not by any other method."""
    app = inside(hosted=hosted)
    client = app.stranger()
    bodies = set()
    for method, template, path in [*routes(app.app), ("GET", "-", "/nothing"), ("PUT", "-", "/ingest")]:
        answer = client.request(method, path, content=b"{" * 2_000_000 if method == "POST" else None)
        if (method, template) not in PUBLIC:
            assert answer.status_code == 401, (method, path)
            bodies.add(answer.content)
    assert len(bodies) == 1


def test_all_that_is_wrong_with_a_key_sounds_the_same(inside: Make) -> None:
    """T24: unknown, wrong, expired, revoked, no key at all; T25: never in the address."""
    app = inside(hosted=True, serve_rate_per_ip_per_minute=0)
    key, late, gone = app.key(), app.key(expires_at=app.clock() + timedelta(seconds=1)), app.key()
    app.serving.store.keys.revoke(app.serving.owner.__class__("acme", "ann"), gone.split("_")[2], at=app.clock())
    app.clock.move(seconds=5)
    wrong = [key[:-1] + ("x" if key[-1] != "x" else "y"), key.replace(key[9:25], "a" * 16), late, gone, "x", "é", " "]
    heard = set()
    for text in wrong:
        for headers in ({"X-API-Key": text.encode()}, {"Authorization": f"Bearer {text}".encode()}):
            answer = app.stranger().get("/whoami", headers=headers)
            told = {name: value for name, value in answer.headers.items() if name != "x-request-id"}
            heard.add((answer.status_code, answer.content, tuple(sorted(told.items()))))
    heard_at_all = app.stranger().get(f"/whoami?api_key={key}&key={key}")
    assert len(heard) == 1
    assert heard_at_all.status_code == 401
    twice = app.stranger().get("/whoami", headers=[("X-API-Key", key), ("X-API-Key", key)])
    assert twice.status_code == 401
    both = app.stranger().get("/whoami", headers={"X-API-Key": key, "Authorization": f"Bearer {key}"})
    assert (both.status_code, both.json()["error"]["message"]) == (401, "a key was sent twice")
    assert both.json()["error"]["hint"] == "Send it in one header, once."
    assert app.stranger().get("/whoami", headers={"Authorization": f"bearer {key}"}).status_code == 200


@pytest.mark.parametrize(("changes", "status"), MATRIX, ids=[str(row[0])[:60] for row in MATRIX])
def test_sixteen_rows_on_every_route(inside: Make, changes: dict[str, str | None], status: int) -> None:
    """T17: a page the user visits can neither read nor change anything, whatever name it makes point here."""
    app = inside()
    headers = {name: value for name, value in {**app.auth(), **changes}.items() if value is not None}
    for method, template, path in routes(app.app):
        answer = app.stranger().request(method, path, headers=headers)
        wanted = 0 if status == 401 and (method, template) in PUBLIC else status
        if wanted:
            assert answer.status_code == wanted, (method, path, answer.text)
        else:
            assert answer.status_code not in (401, 403), (method, path, answer.text)
        assert "access-control-allow-origin" not in answer.headers


def test_pages_that_may_ask_are_named(inside: Make) -> None:
    app = inside(serve_origins=["https://app.example"])
    page = {"Origin": "https://app.example", "Sec-Fetch-Site": "cross-site"}
    asked = app.client.get("/whoami", headers=page)
    assert (asked.status_code, asked.headers["access-control-allow-origin"]) == (200, "https://app.example")
    shown = {name.strip() for name in asked.headers["access-control-expose-headers"].split(",")}
    assert shown == {"ETag", "Idempotent-Replayed", "Retry-After", "X-Request-Id"}
    ask = {**page, "Access-Control-Request-Method": "POST"}
    may = app.stranger().options("/search", headers=ask)
    assert (may.status_code, may.headers["access-control-allow-origin"]) == (204, "https://app.example")
    other = app.stranger().options("/search", headers={**ask, "Origin": "https://evil.example"})
    assert other.status_code == 403
    assert "access-control-allow-origin" not in other.headers


def test_a_server_for_others_goes_by_the_names_it_was_given(inside: Make) -> None:
    app = inside(hosted=True, serve_hosts=["memory.example"])
    assert app.client.get("/whoami", headers={"Host": "memory.example"}).status_code == 200
    assert app.client.get("/whoami", headers={"Host": "127.0.0.1:8010"}).status_code == 403


def test_a_server_for_others_opens_to_keys_alone(inside: Make) -> None:
    app = inside(hosted=True, serve_api_key="a-secret-of-the-operator")
    assert app.stranger().get("/whoami", headers=app.auth("a-secret-of-the-operator")).status_code == 401


def test_the_key_in_the_settings_opens_the_local_server(inside: Make) -> None:
    app = inside(serve_api_key="a-secret-of-the-user")
    told = app.stranger().get("/whoami", headers=app.auth("a-secret-of-the-user")).json()
    assert (told["key"], "act" in told["permissions"]) == ("local", True)


def test_every_answer_has_the_same_headers(inside: Make) -> None:
    app = inside()
    asked = [
        app.client.get("/health"),
        app.client.get("/nothing"),
        app.client.put("/health"),
        app.client.post("/search", content=b"{", headers={"Content-Type": "application/json"}),
        app.client.post("/search", content=b"{}", headers={"Content-Type": "text/plain"}),
        app.client.post("/search", json={}),
        app.client.get("/memories/0199aaaa-0000-7000-8000-000000000000"),
        app.client.get("/whoami", headers={"Host": "evil.example"}),
        app.client.get("/metrics"),
        app.client.head("/health"),
        app.stranger().get("/whoami"),
    ]
    assert [one.status_code for one in asked] == [200, 404, 405, 422, 415, 422, 404, 403, 200, 200, 401]
    for answer in asked:
        assert {name: answer.headers.get(name) for name in HEADERS} == HEADERS, answer.url
        assert re.fullmatch(r"[0-9a-f]{16}", answer.headers["x-request-id"])
        if answer.status_code >= 400:
            assert set(answer.json()["error"]) >= {"code", "message", "hint"}


@pytest.mark.parametrize(
    ("given", "kept"), [("abc-123_DEF.9", True), ("short", False), ("x" * 65, False), ("a b c d e f", False)]
)
def test_a_request_keeps_its_id_if_that_is_a_plain_word(inside: Make, given: str, kept: bool) -> None:
    answer = inside().client.get("/health", headers={"X-Request-Id": given})
    assert (answer.headers["x-request-id"] == given) is kept


def test_a_key_can_only_narrow(inside: Make) -> None:
    """C15: tenant and user come from the key."""
    app = inside(hosted=True)
    plain, acting = app.key("read", "write"), app.key("read", "write", "act")
    mine = app.stranger().get("/quota?user_id=ann", headers=app.auth(plain))
    theirs = app.stranger().get("/quota?user_id=bob", headers=app.auth(plain))
    acted = app.stranger().get("/quota?user_id=bob", headers=app.auth(acting))
    assert [mine.status_code, theirs.status_code, acted.status_code] == [200, 403, 200]
    assert theirs.json()["error"]["code"] == "scope_error"


def test_a_key_is_for_what_it_was_made_for(inside: Make) -> None:
    app = inside(hosted=True)
    reader = app.auth(app.key("read"))
    assert app.stranger().post("/ingest", json={"content": "x"}, headers=reader).status_code == 403
    assert app.stranger().get("/memories", headers=reader).status_code == 200


def test_a_revoked_key_opens_nothing_after_two_seconds(inside: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    app = inside(hosted=True)
    now = [1_000.0]
    gate = app.app.middleware_stack
    while not hasattr(gate, "_knowing"):
        gate = gate.app
    monkeypatch.setattr(gate._knowing, "_clock", lambda: now[0])
    key = app.key()
    assert app.stranger().get("/whoami", headers=app.auth(key)).status_code == 200
    app.serving.store.keys.revoke(app.serving.owner.__class__("acme", "ann"), key.split("_")[2], at=app.clock())
    now[0] += 2.1
    assert app.stranger().get("/whoami", headers=app.auth(key)).status_code == 401


def test_the_openapi_document_names_errors_keys_and_operations(inside: Make) -> None:
    app = inside()
    told = app.stranger().get("/openapi.json").json()
    names = []
    for path, operations in told["paths"].items():
        for method, operation in operations.items():
            names.append(operation["operationId"])
            assert {"401", "403", "422", "429", "500", "503"} <= set(operation["responses"]), (method, path)
    assert len(names) == len(set(names))
    assert all(re.fullmatch(r"[a-z][a-z0-9_]*", name) for name in names)
    assert set(told["components"]["securitySchemes"]) == {"ApiKey", "Bearer"}
    assert all(isinstance(route, APIRoute) for route in app.app.routes)
