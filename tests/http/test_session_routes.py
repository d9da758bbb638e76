"""Sessions and tasks over HTTP: listed, read page by page, summarised, forgotten; work seen, cancelled, done again."""

from __future__ import annotations

import pytest

from tests.http.api_fixture import ANN, NOBODY, Api, Caller
from tests.http.api_fixture import api as api
from tests.http.test_memory_routes import pages

pytestmark = pytest.mark.usefixtures("each_store")


def test_sessions_are_listed_in_pages_the_latest_first(api: Api) -> None:
    ann = api.caller()
    for number in range(5):
        ann.say(f"chat:{number}", "hello", "hi")
        api.clock.move(minutes=1)
    assert pages(ann, "/sessions", "sessions", limit=2) == [["chat:4", "chat:3"], ["chat:2", "chat:1"], ["chat:0"]]
    first = ann.get("/sessions", limit=2)
    ann.delete("/sessions/chat:4")
    ann.say("chat:5", "hello", "hi")
    second = ann.get("/sessions", limit=2, cursor=first["next_cursor"])
    assert [one["id"] for one in second["sessions"]] == ["chat:2", "chat:1"], "nothing is hidden by what changed"


def test_pages_of_many_sessions_at_one_time_give_each_once(api: Api) -> None:
    ann = api.caller()
    events = [{"session": f"chat:{n:03}", "role": "user", "content": "hello"} for n in range(150)]
    ann.post("/v1/events", {"events": events}, 202)
    found = pages(ann, "/sessions", "sessions", limit=20)
    assert [len(page) for page in found] == [20] * 7 + [10]
    assert sorted(one for page in found for one in page) == [f"chat:{n:03}" for n in range(150)]


def test_a_session_is_read_whole_and_page_by_page(api: Api) -> None:
    ann = api.caller()
    ann.say("team/room:1", *(f"line {n}" for n in range(6)))
    told = ann.get("/sessions/team/room:1")
    assert (told["session"]["turns"], told["gist"], told["digest"], told["memories"]) == (3, None, None, [])
    assert ann.get("/sessions/team%2Froom:1") == told
    first = ann.get("/sessions/team/room:1/history", limit=4)
    assert [one["content"] for one in first["events"]] == ["line 0", "line 1", "line 2", "line 3"]
    rest = ann.get("/sessions/team/room:1/history", limit=4, after=first["next_after"])
    assert [one["content"] for one in rest["events"]] == ["line 4", "line 5"]
    assert rest["next_after"] is None
    assert [one["origin"] for one in rest["events"]] == ["user", "assistant"]


def test_a_gist_is_made_on_demand(api: Api) -> None:
    ann = api.caller()
    ann.say("chat:1", "The staging server is called otter and runs in Oslo.", "I have noted that otter runs in Oslo.")
    assert ann.get("/sessions/chat:1/gist") == {"session": "chat:1", "gist": None, "unsummarized": 2}
    made = ann.post("/sessions/chat:1/summarize")
    assert "otter" in made["gist"]["content"]
    assert made["unsummarized"] == 0
    assert ann.get("/sessions/chat:1/gist") == made
    assert ann.get("/sessions/chat:1")["gist"] == made["gist"]


def test_a_session_is_forgotten_for_good(api: Api) -> None:
    ann = api.caller()
    ann.say("chat:1", "hello", "hi")
    assert ann.delete("/sessions/chat:1")["counts"]["events"] == 2
    for path in ("/sessions/chat:1", "/sessions/chat:1/history", "/sessions/chat:1/gist"):
        assert ann.get(path, 404)["error"]["code"] == "not_found"
    ann.delete("/sessions/chat:1", 404)
    ann.post("/sessions/chat:1/summarize", expect=404)


def turn(caller: Caller, session: str) -> str:
    said = {"user_message": "hello", "assistant_message": "hi", "session_id": session}
    return str(caller.post("/memory/ingest", said, 202)["task"])


def test_tasks_are_seen_cancelled_and_put_again(api: Api) -> None:
    ann = api.caller()
    task = turn(ann, "chat:1")
    told = ann.get(f"/tasks/{task}")
    assert (told["kind"], told["subject"], told["state"], told["attempts"]) == ("distill", "chat:1", "waiting", 0)
    assert ann.post(f"/tasks/{task}/cancel")["state"] == "cancelled"
    assert [one["id"] for one in ann.get("/tasks", state="cancelled")["tasks"]] == [task]
    assert ann.post(f"/tasks/{task}/requeue")["state"] == "waiting"
    assert ann.get("/tasks", state="dead") == {"tasks": [], "next_cursor": None}
    for path in (f"/tasks/{NOBODY}/cancel", f"/tasks/{NOBODY}/requeue"):
        ann.post(path, expect=404)
    ann.get(f"/tasks/{NOBODY}", 404)
    ann.get("/tasks", 422, state="odd")


def test_tasks_are_listed_in_pages(api: Api) -> None:
    ann = api.caller()
    for number in range(5):
        turn(ann, f"chat:{number}")
    found = pages(ann, "/tasks", "tasks", limit=3)
    assert [one for page in found for one in page] == [one["id"] for one in ann.get("/tasks", limit=100)["tasks"]]
    assert len(found[0]) == 3


def test_tasks_that_are_put_meanwhile_do_not_end_the_list(api: Api) -> None:
    ann, store = api.caller(), api.serving.store
    old = [store.tasks.put(ANN, "distill", f"old:{n}", at=api.clock()) for n in range(5)]
    page = ann.get("/tasks", limit=2)
    assert [one["id"] for one in page["tasks"]] == old[:2:-1]
    for number in range(150):
        store.tasks.put(ANN, "distill", f"new:{number}", at=api.clock())
    rest = []
    while page["next_cursor"]:
        page = ann.get("/tasks", limit=2, cursor=page["next_cursor"])
        rest += [one["id"] for one in page["tasks"]]
    assert rest == old[2::-1]
