"""Patterns over HTTP: looked at with `read`, decided on with `speak`, and only one's own (S3.40)."""

from __future__ import annotations

from typing import Any

import pytest

from recollect.model import Scope
from recollect.store.ports.learn import Pattern
from tests.contract.test_patterns_contract import pattern
from tests.http.api_fixture import ANN, BOB, Api
from tests.http.api_fixture import api as api

pytestmark = pytest.mark.usefixtures("each_store")
ONE, TWO = "abcd1234abcd1234", "ef567890ef567890"


def keep(api: Api, scope: Scope = ANN, **changes: Any) -> Pattern:
    one = pattern(**{"id": ONE, **changes})
    return api.serving.store.patterns.put(scope, one, at=api.clock(), was=None)


def test_they_are_listed_the_worthiest_first_a_page_at_a_time(api: Api) -> None:
    keep(api, score=0.1)
    keep(api, id=TWO, score=0.9, projects=())
    keep(api, id="1" * 16, flavors=("claude",), score=5.0, state="approved")
    ann = api.caller()
    first = ann.get("/patterns", limit=2)
    assert [one["id"] for one in first["patterns"]] == [TWO, ONE], "what spans agents first"
    rest = ann.get("/patterns", limit=2, cursor=first["next_cursor"])
    assert ([one["id"] for one in rest["patterns"]], rest["next_cursor"]) == (["1" * 16], None)
    assert [one["id"] for one in ann.get("/patterns", state="approved")["patterns"]] == ["1" * 16]
    assert ann.get("/patterns", 422, state="blessed")["error"]["code"] == "invalid_input"
    assert ann.get("/patterns", 422, cursor="made-up")["error"]["code"] == "invalid_input"


def test_a_decision_is_kept_with_who_and_why(api: Api) -> None:
    keep(api)
    ann = api.caller()
    done = ann.post(f"/patterns/{ONE}/approve", {"reason": "every week", "rule": "Look before."})
    assert (done["state"], done["version"], done["rule"], done["reviewer"]) == ("approved", 2, "Look before.", "ann")
    assert ann.post(f"/patterns/{ONE[:6]}/edit", {"statement": "Files are missed."})["version"] == 3
    told = ann.get(f"/patterns/{ONE}")
    assert [(one["change"], one["reason"]) for one in told["history"]] == [
        ("found", None),
        ("approve", "every week"),
        ("edit", None),
    ]
    assert ann.post(f"/patterns/{ONE}/reject")["state"] == "rejected"
    assert api.caller().post(f"/patterns/{ONE}/approve")["state"] == "approved", "nothing needs to be said"


def test_only_a_key_that_speaks_for_the_user_decides(api: Api) -> None:
    keep(api)
    reader = api.caller(ANN, ("read", "write"))
    assert reader.get(f"/patterns/{ONE}")["state"] == "candidate"
    for what, body in (("approve", {}), ("reject", {}), ("edit", {"rule": "Do as I say."})):
        assert reader.post(f"/patterns/{ONE}/{what}", body, 403)["error"]["code"] == "not_allowed"
    assert api.caller(ANN, ("write", "speak")).get("/patterns", 403)["error"]["code"] == "not_allowed"


def test_anybody_elses_are_unknown(api: Api) -> None:
    keep(api)
    bob = api.caller(BOB)
    assert bob.get("/patterns")["patterns"] == []
    bob.get(f"/patterns/{ONE}", 404)
    for what in ("approve", "reject"):
        bob.post(f"/patterns/{ONE}/{what}", {}, 404)
    found = api.serving.store.patterns.get(ANN, ONE)
    assert found is not None
    assert found.state == "candidate"


def test_a_key_of_a_project_sees_what_is_of_it_alone(api: Api) -> None:
    keep(api, projects=("shop",))
    keep(api, id=TWO, projects=("shop", "farm"))
    shop = api.caller(ANN.within("shop"))
    assert [one["id"] for one in shop.get("/patterns")["patterns"]] == [ONE]
    shop.get(f"/patterns/{TWO}", 404)


@pytest.mark.parametrize(
    "body",
    [{"rule": ""}, {"rule": " \n"}, {"rule": "x" * 301}, {"statement": "x" * 201}, {"trust": "user"}, {"reason": 7}],
    ids=["empty", "blank", "long rule", "long statement", "a field of one's own", "a number"],
)
def test_what_does_not_fit_is_refused(api: Api, body: dict[str, Any]) -> None:
    keep(api)
    api.caller().post(f"/patterns/{ONE}/edit", body, 422)
    api.caller().post(f"/patterns/{ONE}/approve", body, 422)


def test_nothing_to_change_and_odd_ids_are_refused(api: Api) -> None:
    keep(api)
    ann = api.caller()
    ann.post(f"/patterns/{ONE}/edit", {}, 422)
    for odd in ("ab", "../../etc", "ABCD1234", "x" * 70):
        assert ann.send("GET", f"/patterns/{odd}").status_code in (404, 422)
