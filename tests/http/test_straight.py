"""A route that is answered straight answers as it would the usual way, whatever it is sent."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any
from unittest.mock import patch

import pytest
from fastapi import Depends
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from recollect.http.answering import Router
from recollect.http.asked import Asked
from recollect.http.routes.retrieval import search
from recollect.http.straight import Straight
from recollect.metrics import Metrics
from tests.http.conftest import Inside

Make = Callable[..., Inside]
BODIES: dict[str, dict[str, Any]] = {
    "/ingest": {"content": "The deploy runs at noon.", "content_type": "fact"},
    "/ingest/batch": {"items": [{"content": "One."}, {"content": "Two."}]},
    "/memory/ingest": {"user_message": "Is it noon?", "assistant_message": "It is."},
    "/v1/events": {"events": [{"session": "s", "role": "user", "content": "Hello."}]},
    "/search": {"query": "deploy", "top_k": 3, "facets": True},
    "/context": {"query": "deploy", "max_tokens": 200},
    "/messages": {"session": "s", "message": "When is the deploy?"},
    "/prompt": {"session": "s", "message": "When is the deploy?"},
    "/memory/search": {"query": "deploy"},
}
WILD = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=6,
)
FIELDS = st.sampled_from(["query", "top_k", "filters", "facets", "mode", "profile", "abstain", "user_id", "context_id"])


def the_usual_way() -> Any:
    async def never(self: Straight, method: str, template: str, body: bytes, who: Asked) -> None:
        return None

    return patch.object(Straight, "answer", never)


def answer(api: Inside, path: str, body: bytes) -> tuple[int, dict[str, str], bytes]:
    told = api.client.post(path, content=body, headers={"Content-Type": "application/json"})
    return told.status_code, {name: told.headers[name] for name in told.headers if name != "x-request-id"}, told.content


def shape(value: Any) -> Any:
    """What it is made of, without what differs from time to time."""
    if isinstance(value, dict):
        return {name: shape(one) for name, one in value.items()}
    if isinstance(value, list):
        return [shape(one) for one in value]
    return type(value)


def test_all_routes_that_take_a_body_and_who_asks(inside: Make) -> None:
    straight = Straight(inside().app.routes)
    assert straight.routes == {("POST", path) for path in BODIES}


def test_what_a_route_demands_beside_its_function_is_not_passed_over() -> None:
    routes = Router(dependencies=[Depends(never_let_in)])
    routes.post("/search")(search)
    assert Straight(routes.routes).routes == frozenset()


def never_let_in() -> None:
    raise AssertionError


@pytest.mark.parametrize("path", BODIES)
def test_it_is_the_same_answer(inside: Make, path: str) -> None:
    told = []
    for number, usual in enumerate((True, False)):
        api = inside(tenant=f"tenant{number}", embedder="off")
        api.client.post("/ingest", json={"content": "The deploy is on Friday.", "content_type": "decision"})
        with the_usual_way() if usual else nullcontext():
            first, again = (answer(api, path, json.dumps(BODIES[path]).encode()) for _ in range(2))
        told.append([(status, headers, shape(json.loads(text))) for status, headers, text in (first, again)])
    assert told[0] == told[1]
    assert told[0][0][0] < 300


@pytest.mark.parametrize("path", BODIES)
@pytest.mark.parametrize("body", [b"", b"{}", b"[]", b"null", b'"text"', b'{"surely": "not"}', b"9" * 5_000])
def test_what_does_not_fit_is_refused_as_ever(inside: Make, path: str, body: bytes) -> None:
    api = inside()
    with the_usual_way():
        usual = answer(api, path, body)
    status, headers, text = answer(api, path, body)
    assert (status, headers) == usual[:2]
    assert status == 422
    told, expected = json.loads(text)["error"], json.loads(usual[2])["error"]
    assert {**told, "request_id": ""} == {**expected, "request_id": ""}


def test_whatever_is_asked(inside: Make) -> None:
    api = inside(hosted=True)
    api.client.post("/ingest", json={"content": "The deploy is on Friday.", "content_type": "decision"})

    @settings(max_examples=200, deadline=None, suppress_health_check=list(HealthCheck))
    @given(st.dictionaries(FIELDS, WILD, max_size=4), st.booleans())
    def check(wild: dict[str, Any], asks: bool) -> None:
        body = json.dumps({**({"query": "deploy"} if asks else {}), **wild}).encode()
        with the_usual_way():
            usual = answer(api, "/search", body)
        straight = answer(api, "/search", body)
        assert straight[:2] == usual[:2]
        assert shape(json.loads(straight[2])) == shape(json.loads(usual[2]))

    check()


def test_it_is_not_mistaken_for_a_body_when_a_route_fails(inside: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    """A route's own ValueError is not a body that does not fit: it is not run a second time."""
    api, ran = inside(), []

    def fails(*_: Any) -> None:
        ran.append(1)
        raise ValueError

    monkeypatch.setattr(Metrics, "recalled", fails)
    assert api.client.post("/search", json={"query": "deploy"}).status_code == 500
    assert len(ran) == 1
