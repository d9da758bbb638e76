"""Each role has its own half of the routes; a memory by its id is given by both (S1.32, S1.45)."""

from __future__ import annotations

from pathlib import Path

import pytest
from fastapi.routing import APIRoute

from recollect.http.app import ROLES, Role
from recollect.http.permissions import NEEDS
from tests.flow.memory_fixture import HandClock
from tests.http.api_fixture import opened_api


@pytest.mark.parametrize(
    ("role", "has", "lacks"), [("ingestion", "/ingest", "/search"), ("retrieval", "/search", "/ingest")]
)
def test_a_role_answers_its_half(tmp_path: Path, clock: HandClock, role: Role, has: str, lacks: str) -> None:
    with opened_api(tmp_path / "data", clock, "all") as whole:
        kept = whole.caller().keep("The build takes ten minutes")
    with opened_api(tmp_path / "data", clock, role) as api:
        ann = api.caller()
        assert ann.get(f"/memory/{kept}")["id"] == kept
        ann.post(
            has,
            {"content": "Another thing"} if has == "/ingest" else {"query": "build"},
            201 if has == "/ingest" else 200,
        )
        assert ann.post(lacks, {}, 404)["error"]["code"] == "not_found"


@pytest.mark.parametrize(
    ("role", "method", "path", "hint"),
    [
        ("ingestion", "POST", "/search", "The retrieval service has it, at port 8002"),
        ("ingestion", "GET", "/sessions/a:1", "The retrieval service has it, at port 8002"),
        ("retrieval", "POST", "/ingest", "The ingestion service has it, at port 8001"),
        ("ingestion", "POST", "/nowhere", None),
        ("all", "POST", "/nowhere", None),
    ],
)
def test_what_the_other_half_has_is_said_to_be_there(
    tmp_path: Path, clock: HandClock, role: Role, method: str, path: str, hint: str | None
) -> None:
    with opened_api(tmp_path / "data", clock, role) as api:
        refused = api.caller().send(method, path)
        assert refused.status_code in (404, 405)
        told = refused.json()["error"]["hint"]
        assert told is None if hint is None else hint in told


def test_every_permission_is_of_a_route_and_every_route_has_one(tmp_path: Path, clock: HandClock) -> None:
    seen = set()
    for role in ROLES:
        with opened_api(tmp_path / role, clock, role) as api:
            routes = [route for route in api.app.routes if isinstance(route, APIRoute)]
            found = [(method, route.path) for route in routes for method in route.methods]
            assert len(found) == len(set(found)), "no route is there twice"
            seen |= set(found)
    assert seen == NEEDS.keys()
