"""Programs that act for others: the user they name is counted as one, whoever names them and however."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.http.conftest import Inside

Make = Callable[..., Inside]
WAYS: dict[str, tuple[str, str, Any]] = {
    "in a body": ("POST", "/search", {"query": "anything", "user_id": "ann"}),
    "in an address": ("GET", "/memories?user_id=ann", None),
    "in a batch": ("POST", "/ingest/batch", {"items": [{"content": "x"}, {"content": "y z", "user_id": "ann"}]}),
}


def statuses(app: Inside, way: str, times: int) -> list[int]:
    """What so many programs hear, each with a key and a user of its own."""
    method, path, body = WAYS[way]
    keys = [app.auth(app.key(user=f"bot-{number}")) for number in range(times)]
    return [app.stranger().request(method, path, json=body, headers=key).status_code for key in keys]


@pytest.mark.parametrize("way", WAYS)
def test_a_user_that_many_programs_act_for_is_one_user(inside: Make, way: str) -> None:
    app = inside(hosted=True, serve_rate_per_minute=5)
    heard = statuses(app, way, 7)
    assert heard[5:] == [429, 429]
    assert 429 not in heard[:5]
    assert b'recollect_rate_limited_total{by="user"} 2.0' in app.metrics.render()[0]
    own = app.auth(app.key(user="ann"))
    assert app.stranger().get("/whoami", headers=own).status_code == 429, "their own key is of the same user"


def test_another_user_is_not_counted_for_them(inside: Make) -> None:
    app = inside(hosted=True, serve_rate_per_minute=5)
    statuses(app, "in a body", 7)
    bob = app.auth(app.key(user="bob"))
    assert app.stranger().post("/search", json={"query": "x"}, headers=bob).status_code == 200


def test_a_key_that_may_not_act_counts_for_nobody_else(inside: Make) -> None:
    """What it may not ask does not use up what somebody else may ask."""
    app = inside(hosted=True, serve_rate_per_minute=5)
    for number in range(8):
        key = app.auth(app.key("read", user=f"eve-{number}"))
        assert app.stranger().get("/memories?user_id=ann", headers=key).status_code == 403
    own = app.auth(app.key(user="ann"))
    assert app.stranger().get("/whoami", headers=own).status_code == 200
