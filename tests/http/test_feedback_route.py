"""Feedback over HTTP: once a session and verdict, the user's word only with a key that may speak."""

from __future__ import annotations

import pytest

from tests.http.api_fixture import ANN, Api
from tests.http.api_fixture import api as api

pytestmark = pytest.mark.usefixtures("each_store")


def test_feedback_is_kept_once_and_moves_the_score(api: Api) -> None:
    ann = api.caller()
    kept = ann.keep("Deploys run on Monday")
    asked = {"query": "when do deploys run", "abstain": False, "mode": "lexical", "filters": {"tiers": ["memory"]}}
    before = ann.post("/search", asked)["results"][0]
    assert before["parts"]["use"] == 0.0
    first = ann.post(f"/memories/{kept}/feedback", {"verdict": "helpful", "session": "s1", "note": "it was so"})
    again = ann.post(f"/memories/{kept}/feedback", {"verdict": "helpful", "session": "s1"})
    assert first == again
    assert first["id"] == kept
    assert first["usefulness"] == pytest.approx(1 / 3)
    assert [(one["verdict"], one["session"], one["source"], one["note"]) for one in first["feedback"]] == [
        ("helpful", "s1", "user", "it was so")
    ]
    after = ann.post("/search", asked)["results"][0]
    assert after["parts"]["use"] == pytest.approx(1 / 3)
    assert after["score"] == pytest.approx(before["score"] + 0.1 / 3)
    back = ann.post(f"/memories/{kept}/feedback", {"verdict": "helpful", "session": "s1", "undo": True})
    assert (back["usefulness"], back["feedback"]) == (0.0, [])
    ann.post(f"/memories/{kept}/feedback", {"verdict": "helpful", "session": "s1", "undo": True}, 404)


def test_a_key_that_may_not_speak_gives_an_agents_word(api: Api) -> None:
    ann, tool = api.caller(), api.caller(ANN, permissions=("read", "write"))
    kept = ann.keep("Deploys run on Monday")
    told = tool.post(f"/memories/{kept}/feedback", {"verdict": "harmful"})
    assert told["feedback"][0]["source"] == "agent"


def test_a_key_that_may_only_read_gives_none(api: Api) -> None:
    ann, reader = api.caller(), api.caller(ANN, permissions=("read",))
    kept = ann.keep("Deploys run on Monday")
    reader.post(f"/memories/{kept}/feedback", {"verdict": "harmful"}, 403)
