"""Retries are safe: P44. What is sent twice with the same Idempotency-Key is done once, on each store."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from tests.http.conftest import Inside, Service

Make = Callable[..., Inside]
KEY = {"Idempotency-Key": "order-66"}


def say(app: Inside, content: str, **headers: str) -> Any:
    return app.client.post("/ingest", json={"content": content}, headers={**KEY, **headers})


def test_the_same_request_gets_the_same_answer(each_store: str, inside: Make) -> None:
    app = inside()
    first, again = say(app, "the deploy is on fridays"), say(app, "the deploy is on fridays")
    assert (first.status_code, again.status_code) == (201, 201)
    assert first.content == again.content
    assert "idempotent-replayed" not in first.headers
    assert again.headers["idempotent-replayed"] == "true"
    assert len(app.client.get("/memories").json()["memories"]) == 1


def test_another_request_of_the_same_key_is_refused(each_store: str, inside: Make) -> None:
    app = inside()
    assert say(app, "the deploy is on fridays").status_code == 201
    other = say(app, "the deploy is on mondays")
    assert (other.status_code, other.json()["error"]["code"]) == (422, "idempotency_mismatch")
    assert len(app.client.get("/memories").json()["memories"]) == 1


def test_a_key_is_its_owners(each_store: str, inside: Make) -> None:
    app = inside(hosted=True)
    for user in ("ann", "bob"):
        heard = app.stranger().post(
            "/ingest", json={"content": f"the deploy of {user}"}, headers={**KEY, **app.auth(app.key(user=user))}
        )
        assert heard.status_code == 201


def test_what_was_refused_may_be_tried_again(each_store: str, inside: Make) -> None:
    app = inside()
    missing = "/memories/0199aaaa-0000-7000-8000-000000000000"
    assert [app.client.delete(missing, headers=KEY).status_code for _ in range(2)] == [404, 404]
    assert app.client.post("/ingest", json={"content": ""}, headers={"Idempotency-Key": "b"}).status_code == 422
    assert say(app, "the deploy is on fridays", **{"Idempotency-Key": "b"}).status_code == 201


def test_an_answer_is_kept_for_a_day(each_store: str, inside: Make) -> None:
    app = inside()
    say(app, "the deploy is on fridays")
    app.clock.move(hours=23)
    assert "idempotent-replayed" in say(app, "the deploy is on fridays").headers
    app.clock.move(hours=2)
    later = say(app, "the deploy is on fridays")
    assert "idempotent-replayed" not in later.headers
    assert later.status_code == 200  # known


@pytest.mark.parametrize(
    "key", ["", "x" * 256, "a b", "é".encode().decode("latin-1")], ids=["none", "long", "space", "é"]
)
def test_a_key_is_a_plain_word(inside: Make, key: str) -> None:
    heard = inside().client.post("/ingest", json={"content": "x"}, headers={"Idempotency-Key": key.encode("latin-1")})
    assert heard.status_code == 422


@pytest.mark.slow
def test_a_hundred_at_once_make_one_row(service: Service) -> None:
    """P44: each is told 409, or what the one that was done was told."""
    with service.client() as client, ThreadPoolExecutor(25) as pool:

        def send(_: int) -> tuple[int, bytes]:
            body = {"events": [{"session": "s:1", "role": "assistant", "content": "said once"}]}
            heard = client.post("/v1/events", json=body, headers=KEY)
            return heard.status_code, heard.content

        heard = list(pool.map(send, range(100)))
        statuses = Counter(status for status, _ in heard)
        assert set(statuses) <= {202, 409}
        assert statuses[202] >= 1
        assert len({body for status, body in heard if status == 202}) == 1
        told = client.get("/sessions/s:1/history").json()
    assert (
        sum(said["content"] == "said once" for said in next(iter(v for v in told.values() if isinstance(v, list)))) == 1
    )
