"""What is brought in over HTTP is kept, once, as what it is, by whom it was said (S1.33–S1.44, S4.6–S4.17, D15)."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import pytest

from recollect.clock import now
from recollect.errors import StoreBusy
from recollect.model import Scope
from recollect.pipeline.tasks import TaskWorker
from tests.http.api_fixture import ALL, ANN, BOB, Api
from tests.http.api_fixture import api as api

pytestmark = pytest.mark.usefixtures("each_store")
WRITER = ("read", "write")  # a key as it is made when nothing is said


def worked(api: Api) -> None:
    """Let the worker do what is due."""
    api.clock.move(hours=1)
    serving = api.serving

    def late() -> datetime:
        return max(api.clock(), now())  # a store puts tasks by its own clock

    TaskWorker(serving.store, lambda scope: serving.memory(scope), serving.settings, late).run_due()


def test_the_example_of_the_requirements_works_as_written(api: Api) -> None:
    backend = api.caller(Scope("acme", "app"))
    sent = {
        "content": "User prefers dark mode",
        "content_type": "preference",
        "source_type": "conversation",
        "user_id": "user123",
        "tags": ["ui"],
        "metadata": {"source": "chat"},
    }
    kept = backend.post("/ingest", sent, 201)
    assert (kept["status"], kept["kind"], kept["redacted"]) == ("stored", "preference", 0)
    wanted = {"content_types": ["preference"], "tags": ["ui"], "min_importance": 0.3}
    asked = {"query": "dark mode", "user_id": "user123", "top_k": 5, "filters": wanted}
    assert [hit["id"] for hit in backend.post("/search", asked)["results"]] == [kept["memory_id"]]
    context = backend.post("/context", {"query": "dark mode", "user_id": "user123", "max_tokens": 500})
    assert "User prefers dark mode" in context["context"]
    assert 0 < context["token_count"] <= 500
    record = backend.get(f"/memory/{kept['memory_id']}", user_id="user123")
    assert (record["metadata"], record["source_type"], record["tags"]) == ({"source": "chat"}, "conversation", ["ui"])
    assert backend.post("/search", {"query": "dark mode"})["count"] == 0, "it is the user's, not the backend's"


def test_what_is_known_is_not_kept_twice_and_says_so(api: Api) -> None:
    ann = api.caller()
    first = ann.post("/ingest", {"content": "The build takes ten minutes"}, 201)
    again = ann.post("/ingest", {"content": "the build  takes ten minutes"}, 200)
    assert (again["status"], again["memory_id"]) == ("known", first["memory_id"])


def test_a_new_value_takes_the_place_of_the_old_one(api: Api) -> None:
    ann = api.caller()
    old = ann.post("/ingest", {"content": "The staging port is 8080", "content_type": "fact", "origin": "user"}, 201)
    api.clock.move(days=1)
    new = ann.post("/ingest", {"content": "The staging port is 8443", "content_type": "fact", "origin": "user"}, 201)
    assert (new["status"], new["others"]) == ("superseding", [old["memory_id"]])
    assert ann.get(f"/memories/{old['memory_id']}")["superseded_by"] == new["memory_id"]


def test_secrets_are_taken_out_and_counted(api: Api) -> None:
    ann = api.caller()
    key = "AKIA" + "IOSFODNN7EXAMPLQ"
    kept = ann.post("/ingest", {"content": f"The key {key} opens the bucket"}, 201)
    assert kept["redacted"] == 1
    assert key not in ann.get(f"/memories/{kept['memory_id']}")["content"]


TOKEN = "ghp_" + "a1B2c3D4e5F6g7H8i9J0" + "kLmNoPqRsTuVwXyZ"
SECRET = f"The walrus deploys with {TOKEN} on Fridays"
RECORDED: dict[str, tuple[str, dict[str, Any], int]] = {
    "events": (
        "/v1/events",
        {
            "events": [
                {"session": "chat:1", "role": "user", "content": SECRET, "title": SECRET, "metadata": {"note": SECRET}},
                {"session": "chat:1", "role": "assistant", "content": f"Used {TOKEN} once and {TOKEN} twice."},
            ]
        },
        5,
    ),
    "a turn": (
        "/memory/ingest",
        {"session_id": "chat:1", "user_message": SECRET, "assistant_message": SECRET, "metadata": {"note": [SECRET]}},
        4,
    ),
}


@pytest.mark.parametrize("way", RECORDED)
@pytest.mark.parametrize("permissions", [ALL, WRITER], ids=["speaks", "does not speak"])
def test_secrets_are_taken_out_of_what_is_recorded_and_counted(api: Api, way: str, permissions: Any) -> None:
    ann = api.caller(permissions=permissions)
    path, body, found = RECORDED[way]
    assert ann.post(path, body, 202)["redacted"] == found
    assert ann.post("/search", {"query": "when does the walrus deploy"})["count"] == 1
    asked = [
        ann.send("POST", "/search", {"query": "when does the walrus deploy"}).text,
        ann.send("POST", "/context", {"query": "when does the walrus deploy"}).text,
        ann.send("GET", "/sessions").text,
        ann.send("GET", "/sessions/chat:1/history").text,
        ann.send("GET", "/export").text,
    ]
    assert ["[REDACTED:" in one for one in asked] == [True, True, way == "events", True, True]
    assert [TOKEN in one for one in asked] == [False] * 5


def test_what_holds_no_secret_says_so(api: Api) -> None:
    said = {"user_message": "hello", "assistant_message": "hi"}
    assert api.caller().post("/memory/ingest", said, 202)["redacted"] == 0


def test_what_comes_with_a_memory_is_cleaned_too(api: Api) -> None:
    ann = api.caller()
    sent = {"content": "The walrus deploys", "metadata": {"with": [TOKEN]}, "tags": ["ops", TOKEN]}
    kept = ann.post("/ingest", sent, 201)
    assert kept["redacted"] == 2
    record = ann.get(f"/memories/{kept['memory_id']}")
    assert record["tags"] == ["ops"]
    assert TOKEN not in ann.send("GET", f"/memories/{kept['memory_id']}").text


@pytest.mark.parametrize(
    ("sent", "kind", "origin", "trust"),
    [
        ({}, "note", "import", "quoted"),
        ({"content_type": "conversation"}, "note", "import", "quoted"),
        ({"content_type": "fact", "origin": "assistant"}, "fact", "assistant", "quoted"),
        ({"content_type": "fact", "origin": "user"}, "fact", "user", "user"),
        ({"content_type": "preference"}, "preference", "user", "user"),
        ({"content_type": "preference", "origin": "import"}, "note", "import", "quoted"),
    ],
    ids=["nothing said", "conversation", "assistant", "user", "preference", "preference of an import"],
)
def test_what_a_key_that_speaks_keeps(api: Api, sent: dict[str, Any], kind: str, origin: str, trust: str) -> None:
    ann = api.caller()
    kept = ann.post("/ingest", {"content": "Tea is better than coffee", **sent}, 201)
    record = ann.get(f"/memories/{kept['memory_id']}")
    assert (record["kind"], record["origin"], record["trust"]) == (kind, origin, trust)
    assert kept["kind"] == kind
    assert (kept["notice"] is not None) == (sent.get("content_type") == "preference" and kind == "note")


def test_a_key_that_does_not_speak_makes_no_word_the_users(api: Api) -> None:
    app = api.caller(permissions=WRITER)
    refused = app.post("/ingest", {"content": "Tea is better", "origin": "user"}, 403)
    assert refused["error"]["code"] == "not_allowed"
    kept = app.post("/ingest", {"content": "Tea is better", "content_type": "preference"}, 201)
    assert kept["kind"] == "note"
    assert "note" in kept["notice"]
    app.post(f"/memories/{kept['memory_id']}/confirm", {"kind": "preference"}, 403)
    assert api.caller().post(f"/memories/{kept['memory_id']}/confirm", {"kind": "preference"})["trust"] == "user"


def test_another_user_is_for_a_key_that_acts(api: Api) -> None:
    ann = api.caller(permissions=WRITER)
    refused = ann.post("/ingest", {"content": "Bob likes tea", "user_id": "bob"}, 403)
    assert refused["error"]["code"] == "scope_error"
    ann.post("/ingest", {"content": "Ann likes tea", "user_id": "ann"}, 201)
    api.caller(permissions=("read", "write", "act")).post(
        "/ingest", {"content": "Bob likes tea", "user_id": "bob"}, 201
    )
    assert api.caller(BOB).get("/memory/stats")["memories"] == 1


def test_a_bad_item_of_a_batch_costs_only_itself(api: Api) -> None:
    items: list[Any] = [
        {"content": "Releases are on Friday"},
        {"content": "releases are on friday"},
        {"content": ""},
        {"content": "x", "colour": "red"},
        "not an object",
        {"content": "Of somebody else", "user_id": "bob"},
        {"content": "Said by the user", "origin": "user"},
        {"content": "The office closes at six"},
    ]
    told = api.caller(permissions=WRITER).post("/ingest/batch", {"items": items})
    assert (told["stored"], told["known"], told["failed"]) == (2, 1, 5)
    codes = [one["error"]["code"] if one["error"] else one["status"] for one in told["results"]]
    assert codes == [
        *("stored", "known", "invalid_input", "invalid_input", "invalid_input", "scope_error", "not_allowed"),
        "stored",
    ]
    assert told["results"][3]["error"]["fields"] == [{"field": "colour", "problem": "Extra inputs are not permitted"}]
    assert told["results"][0]["memory_id"] == told["results"][1]["memory_id"]


@pytest.mark.parametrize("items", [[], [{"content": "x"}] * 1001], ids=["none", "too many"])
def test_a_batch_has_from_one_to_a_thousand_items(api: Api, items: list[Any]) -> None:
    api.caller().post("/ingest/batch", {"items": items}, 422)


def test_a_turn_becomes_a_memory_after_the_worker_ran(api: Api) -> None:
    ann = api.caller()
    said = {"user_message": "From now on always use tabs in this repository.", "assistant_message": "Tabs it is."}
    taken = ann.post("/memory/ingest", {**said, "session_id": "chat:7", "metadata": {"page": 3}}, 202)
    assert (taken["status"], taken["session_id"]) == ("queued", "chat:7")
    assert ann.get(f"/tasks/{taken['task']}")["state"] == "waiting"
    assert ann.get("/memories")["memories"] == [], "the caller did not wait for it"
    worked(api)
    assert ann.get(f"/tasks/{taken['task']}")["state"] == "done"
    (made,) = ann.get("/memories")["memories"]
    assert (made["kind"], made["trust"], made["session"]) == ("preference", "user", "chat:7")
    assert made["evidence"][0]["event"] == taken["turn_id"]
    events = ann.get("/sessions/chat:7/history")["events"]
    assert [(one["role"], one["metadata"]) for one in events] == [("user", {"page": 3}), ("assistant", {"page": 3})]


def test_a_turn_through_a_key_that_does_not_speak_makes_nothing_trusted(api: Api) -> None:
    app = api.caller(permissions=WRITER)
    said = {"user_message": "From now on always use tabs in this repository.", "assistant_message": "Tabs it is."}
    app.post("/memory/ingest", said, 202)
    worked(api)
    assert [one["trust"] for one in app.get("/memories")["memories"] if one["trust"] != "quoted"] == []
    assert app.post("/search", {"query": "use tabs in this repository"})["results"][0]["tier"] == "turn"


def test_a_turn_sent_twice_is_one_turn_and_its_session_is_of_the_day(api: Api) -> None:
    ann = api.caller()
    said = {"user_message": "Hello there", "assistant_message": "Good day", "key": "turn-1"}
    first = ann.post("/memory/ingest", said, 202)
    again = ann.post("/memory/ingest", said, 202)
    assert first["session_id"] == "api:2026-11-15"
    assert first["turn_id"] == again["turn_id"]
    assert len(ann.get("/sessions/api:2026-11-15/history")["events"]) == 2


def test_a_turn_belongs_to_its_project_by_either_name(api: Api) -> None:
    ann = api.caller()
    said = {"user_message": "Hello there", "assistant_message": "Good day"}
    ann.post("/memory/ingest", {**said, "session_id": "chat:1", "context_id": "shop"}, 202)
    ann.post("/memory/ingest", {**said, "session_id": "chat:2", "project_tag": "shop"}, 202)
    told = {one["id"]: one["project"] for one in ann.get("/sessions")["sessions"]}
    assert told == {"chat:1": "shop", "chat:2": "shop"}


def test_events_are_recorded_all_or_none(api: Api) -> None:
    ann = api.caller()
    events = [
        {"session": "chat:1", "role": "user", "content": "Which port?", "key": "a", "title": "Ports"},
        {"session": "chat:1", "role": "assistant", "content": "8443", "key": "b"},
    ]
    taken = ann.post("/v1/events", {"events": events}, 202)
    assert taken["accepted"] == 2
    assert ann.post("/v1/events", {"events": events}, 202)["ids"] == taken["ids"]
    assert ann.get("/sessions/chat:1")["session"]["title"] == "Ports"
    ann.post("/v1/events", {"events": [*events, {"session": "chat:2", "role": "nobody", "content": "x"}]}, 422)
    assert len(ann.get("/sessions/chat:1/history")["events"]) == 2


def test_events_with_a_title_are_recorded_all_or_none_at_the_limit_too(api: Api) -> None:
    ann, store = api.caller(), api.serving.store
    store.quotas.set(ANN, memories=None, ingests=1, at=api.clock())
    ann.post("/v1/events", {"events": [{"session": "chat:1", "role": "user", "content": "hi", "key": "a"}]}, 202)
    more = [{"session": "chat:2", "role": "user", "content": "more", "title": "Ports"}]
    assert ann.post("/v1/events", {"events": more}, 429)["error"]["code"] == "quota_exceeded"
    ann.get("/sessions/chat:2", 404)
    named = [{"session": "chat:1", "role": "user", "content": "hi", "key": "a", "title": "Greetings"}]
    ann.post("/v1/events", {"events": named}, 202)
    assert ann.get("/sessions/chat:1")["session"]["title"] == "Greetings", "what is known is never refused"


def test_a_title_brings_no_forgotten_conversation_back(api: Api) -> None:
    ann = api.caller()
    said = [{"session": "chat:1", "role": "user", "content": "hi", "key": "a", "title": "Ports"}]
    ann.post("/v1/events", {"events": said}, 202)
    ann.delete("/sessions/chat:1")
    ann.post("/v1/events", {"events": said}, 202)
    ann.get("/sessions/chat:1", 404)


def test_a_title_renames_no_session_of_another_project(api: Api) -> None:
    ann = api.caller()
    said = {"session": "chat:1", "role": "user", "content": "hi", "key": "a"}
    ann.post("/v1/events", {"events": [{**said, "title": "Ports"}], "context_id": "shop"}, 202)
    ann.post("/v1/events", {"events": [{**said, "title": "Mine now"}], "context_id": "other"}, 403)
    assert ann.get("/sessions/chat:1")["session"]["title"] == "Ports"


def test_a_session_of_another_project_is_not_written_to(api: Api) -> None:
    ann = api.caller(ANN)
    ann.say("chat:1", "hello", context_id="shop")
    events = [{"session": "chat:1", "role": "user", "content": "again"}]
    assert ann.post("/v1/events", {"events": events, "context_id": "other"}, 403)["error"]["code"] == "scope_error"


def test_a_turn_is_distilled_once(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    """The write put the task; to tell which it is puts no other, even when it was done at once."""
    ann, store = api.caller(), api.serving.store
    append = store.sessions.append

    def done_at_once(*given: Any) -> Any:
        added = append(*given)
        late = now() + timedelta(minutes=1)
        for task in store.tasks.claim(worker="w", at=late, until=late + timedelta(minutes=1), limit=10):
            store.tasks.finish(task, at=late)
        return added

    monkeypatch.setattr(store.sessions, "append", done_at_once)
    taken = ann.post("/memory/ingest", {"user_message": "hello", "assistant_message": "hi"}, 202)
    found = [one for one in store.tasks.find(ANN, limit=10) if one.kind == "distill"]
    assert [one.id for one in found] == [taken["task"]]


def test_once_a_turn_is_recorded_nothing_is_written_that_may_fail(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    def busy(*_: Any, **__: Any) -> Any:
        raise StoreBusy("not now")

    monkeypatch.setattr(api.serving.store.tasks, "put", busy)
    api.caller().post("/memory/ingest", {"user_message": "hello", "assistant_message": "hi"}, 202)


def test_a_turn_without_a_session_is_of_the_day_it_was_said(api: Api) -> None:
    """However late it is sent again."""
    ann = api.caller()
    said = {"user_message": "hello", "assistant_message": "hi", "occurred_at": "2026-11-15T11:59:00Z"}
    first = ann.post("/memory/ingest", said, 202)
    api.clock.move(hours=20)
    assert ann.post("/memory/ingest", said, 202) == first
    assert first["session_id"] == "api:2026-11-15"
