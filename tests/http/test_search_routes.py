"""Questions over HTTP: ranked, explained, filtered, counted; or nothing, and said so (S1.45–S1.52, S1.104, S4.11)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import anyio.to_thread
import pytest

from tests.http.api_fixture import Api
from tests.http.api_fixture import api as api
from tests.http.conftest import Inside

pytestmark = pytest.mark.usefixtures("each_store")


def found(answer: Any) -> list[str]:
    return [hit["content"] for hit in answer["results"]]


def test_relevance_is_sixty_thirty_ten_and_shows_its_parts(api: Api) -> None:
    ann = api.caller()
    ann.keep("The deploy script needs a token", importance=0.4, occurred_at="2026-10-16T12:00:00Z")
    (hit,) = ann.post("/search", {"query": "deploy script token", "profile": "balanced"})["results"]
    parts = hit["parts"]
    assert parts["importance"] == hit["importance"] == 0.4
    assert parts["recency"] == pytest.approx(1 / (1 + 30 * 0.01))
    assert hit["age_days"] == 30
    similarity = (parts["final"] - 0.3 * parts["importance"] - 0.1 * parts["recency"]) / 0.6
    assert 0.9 <= similarity <= 1
    assert hit["score"] == parts["final"]


def test_an_answer_is_written_in_the_thread_that_made_it(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever has waited for a thread does not wait for a second one."""
    ann = api.caller()
    ann.keep("The deploy script needs a token")
    threads: list[str] = []
    really = anyio.to_thread.run_sync

    async def counted(work: Callable[..., Any], *args: Any, **given: Any) -> Any:
        threads.append(getattr(work, "__name__", str(work)))
        return await really(work, *args, **given)

    monkeypatch.setattr(anyio.to_thread, "run_sync", counted)
    assert [one["content"] for one in ann.get("/memories")["memories"]] == ["The deploy script needs a token"]
    assert len(threads) == 1, threads


def test_meaning_is_searched_once_there_are_vectors(api: Api) -> None:
    ann = api.caller()
    ann.keep("The deploy script needs a token")
    assert ann.post("/search", {"query": "deploy token"})["mode"] == "lexical"
    api.embed()
    told = ann.post("/search", {"query": "deploy token"})
    assert told["mode"] == "hybrid"
    assert told["results"][0]["parts"]["semantic"] is not None
    assert ann.post("/search", {"query": "deploy token", "mode": "lexical"})["mode"] == "lexical"


def test_filters_narrow_an_answer(api: Api) -> None:
    ann = api.caller()
    ann.keep("The red deploy", tags=["red"], content_type="fact", importance=0.9, occurred_at="2026-01-05T00:00:00Z")
    ann.keep("The blue deploy", tags=["blue"], content_type="decision", importance=0.2, context_id="shop")
    ann.say("chat:1", "Tell me of the green deploy", "It is green")

    def only(**filters: Any) -> list[str]:
        return sorted(found(ann.post("/search", {"query": "deploy", "filters": filters, "abstain": False})))

    assert only(content_types=["fact"]) == only(kinds=["fact"]) == only(tags=["red"]) == ["The red deploy"]
    assert only(min_importance=0.5) == only(until="2026-06-01T00:00:00Z", tiers=["memory"]) == ["The red deploy"]
    assert only(since="2026-06-01T00:00:00Z", tiers=["memory"]) == ["The blue deploy"]
    assert only(as_of="2026-02-01T00:00:00Z", tiers=["memory"]) == ["The red deploy"]
    assert len(only(tiers=["turn"])) == len(only(session="chat:1")) == 1
    assert only(exclude_session="chat:1") == ["The blue deploy", "The red deploy"]
    assert only(content_types=["fact"], kinds=["decision"]) == ["The blue deploy", "The red deploy"]


def test_facets_count_what_the_filters_let_through(api: Api) -> None:
    ann = api.caller()
    ann.keep("The red deploy", tags=["red"], content_type="fact", occurred_at="2026-01-05T00:00:00Z")
    ann.keep("The blue deploy", tags=["blue", "red"], content_type="decision")
    asked = {"query": "red", "facets": True, "top_k": 1}
    assert ann.post("/search", asked)["facets"] == {
        "memories": 2,
        "kinds": {"decision": 1, "fact": 1},
        "tags": {"red": 2, "blue": 1},
        "sessions": {},
        "months": {"2026-11": 1, "2026-01": 1},
    }
    narrowed = ann.post("/search", {**asked, "filters": {"since": "2026-06-01T00:00:00Z"}})["facets"]
    assert narrowed["kinds"] == {"decision": 1}
    assert ann.post("/search", {"query": "red"})["facets"] is None


def test_nothing_likely_is_nothing_and_said(api: Api) -> None:
    ann = api.caller()
    ann.keep("The deploy script needs a token")
    told = ann.post("/search", {"query": "penguins of the antarctic"})
    assert (told["results"], told["count"], told["abstained"]) == ([], 0, True)
    context = ann.post("/context", {"query": "penguins of the antarctic"})
    assert (context["context"], context["token_count"], context["metadata"]["abstained"]) == ("", 0, True)


def test_records_come_as_text_for_a_model(api: Api) -> None:
    ann = api.caller()
    ann.keep("We deploy from main", content_type="decision", tags=["ops", "shop"], why="it is tested")
    ann.keep("Deploys of main are slow", content_type="lesson", tags=["ops"])
    told = ann.post("/memory/search", {"query": "deploy main", "record_type": "decision"})
    assert "[decision] We deploy from main\n- tags: ops, shop\n- why: it is tested" in told["text"]
    assert found(told) == ["We deploy from main"]
    assert found(ann.post("/memory/search", {"query": "deploy main", "project_tag": "shop"})) == ["We deploy from main"]
    api.embed()
    assert ann.post("/memory/search", {"query": "penguins"}) == {
        "results": [],
        "count": 0,
        "abstained": True,
        "mode": "hybrid",
        "note": "nothing here is close enough to the question",
        "text": "",
    }


def test_context_fits_and_leaves_out_the_session_it_is_for(api: Api) -> None:
    ann = api.caller()
    for number in range(8):
        ann.keep(f"Deploy rule {number}: " + "check the logs of the service twice " * 3)
    ann.say("chat:1", "The deploy rule of this very chat", "Noted")
    told = ann.post("/context", {"query": "deploy rule", "max_tokens": 200, "session_id": "chat:1"})
    assert 0 < told["token_count"] <= 200
    assert told["token_count"] == -(-len(told["context"]) // 4)
    assert told["metadata"]["count"] == len(told["metadata"]["ids"]) > 0
    assert "this very chat" not in told["context"]
    small = ann.post("/context", {"query": "deploy rule", "max_tokens": 1})
    assert (small["context"], small["metadata"]["abstained"]) == ("", False)
    assert small["metadata"]["note"] == "the first hit alone does not fit into 1 tokens"
    assert ann.post("/context", {"query": "deploy rule", "top_k": 1})["metadata"]["count"] == 1


def test_a_whole_chat_request_and_a_whole_prompt(api: Api) -> None:
    ann = api.caller()
    ann.say("chat:old", "The staging server is called otter", "I will remember otter")
    ann.say("chat:new", "Hello", "Hello to you")
    asked = {"persona": "You are terse.", "session": "chat:new", "message": "What is the staging server called?"}
    told = ann.post("/messages", asked)["messages"]
    assert [one["role"] for one in told] == ["system", "user", "assistant", "user"]
    assert told[0]["content"].startswith("You are terse.")
    assert "otter" in told[0]["content"]
    prompt = ann.post("/prompt", {"session": "chat:new", "message": "What is the staging server called?"})["prompt"]
    assert "otter" in prompt
    assert "Hello to you" in prompt


def test_a_superseded_value_is_found_as_of_its_time(api: Api) -> None:
    ann = api.caller()
    ann.keep("The staging port is 8080", content_type="fact", origin="user")
    api.clock.move(days=2)
    ann.keep("The staging port is 8443", content_type="fact", origin="user")
    asked = {"query": "staging port"}
    assert found(ann.post("/search", asked)) == ["The staging port is 8443"]
    then = {"filters": {"as_of": "2026-11-16T12:00:00Z"}}
    assert found(ann.post("/search", {**asked, **then})) == ["The staging port is 8080"]


def test_a_text_that_nothing_fits_into_is_counted_as_empty_not_as_silence(inside: Callable[..., Inside]) -> None:
    app = inside()
    app.client.post("/ingest", json={"content": "The blue deploy is on fridays"})
    for asked in ({"query": "blue deploy", "max_tokens": 1}, {"query": "penguins of the antarctic"}):
        assert app.client.post("/context", json=asked).json()["context"] == ""
    told = app.metrics.render()[0].decode()
    assert 'recollect_recalls_total{outcome="empty"} 1.0' in told
    assert 'recollect_recalls_total{outcome="abstained"} 1.0' in told
