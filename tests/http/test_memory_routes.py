"""Memories over HTTP: read by id, listed in pages, changed by who read the newest version, taken away and back."""

from __future__ import annotations

import base64
import json
from datetime import UTC, datetime
from itertools import chain
from typing import Any

import pytest

from recollect.distill.memory import new_memory
from recollect.errors import StoreFull
from recollect.http.routes.retrieval import lines_of
from recollect.keys import id_of
from recollect.model import Scope
from recollect.store.portable import export_memory
from tests.http.api_fixture import ANN, NOBODY, Api
from tests.http.api_fixture import api as api

pytestmark = pytest.mark.usefixtures("each_store")


def pages(read: Any, path: str, name: str, **query: Any) -> list[list[str]]:
    """The ids of a list, page by page, to its end."""
    found: list[list[str]] = []
    cursor = None
    while True:
        told = read.get(path, **query, **({"cursor": cursor} if cursor else {}))
        found.append([one["id"] for one in told[name]])
        cursor = told["next_cursor"]
        if cursor is None:
            return found


def test_a_memory_has_its_version_as_its_tag(api: Api) -> None:
    ann = api.caller()
    kept = ann.keep("Deploys run on Monday", why="the team is there", importance=0.9, confidence=0.8)
    answer = ann.send("GET", f"/memories/{kept}")
    assert answer.headers["ETag"] == '"1"'
    told = answer.json()
    assert (told["id"], told["why"], told["importance"], told["confidence"]) == (kept, "the team is there", 0.9, 0.8)
    assert ann.get(f"/memory/{kept}") == told
    assert ann.get(f"/memory/{kept.upper()}") == told


def test_a_change_is_made_to_what_was_read_or_not_at_all(api: Api) -> None:
    ann = api.caller()
    kept = ann.keep("Deploys run on Monday")
    changed = ann.send("PATCH", f"/memories/{kept}", {"content": "Deploys run on Tuesday"}, headers={"If-Match": '"1"'})
    assert (changed.status_code, changed.headers["ETag"]) == (200, '"2"')
    late = ann.send("PATCH", f"/memories/{kept}", {"content": "Deploys run on Sunday"}, headers={"If-Match": '"1"'})
    assert (late.status_code, late.json()["error"]["code"]) == (409, "conflict")
    late = ann.send("PATCH", f"/memories/{kept}", {"archived": True}, headers={"If-Match": '"1"'})
    assert late.status_code == 409
    told = ann.get(f"/memories/{kept}/versions")
    assert [(old["version"], old["content"]) for old in told["versions"]] == [(1, "Deploys run on Monday")]
    ann.patch(f"/memories/{kept}", {"tags": ["deploy"]}, headers={"If-Match": "*"})
    assert ann.get(f"/memories/{kept}")["tags"] == ["deploy"]


@pytest.mark.parametrize("tag", ["three", '"-1"', '"1", "2"', '"99999999999"'])
def test_an_odd_tag_is_refused(api: Api, tag: str) -> None:
    ann = api.caller()
    kept = ann.keep("Deploys run on Monday")
    assert ann.send("PATCH", f"/memories/{kept}", {"why": "x"}, headers={"If-Match": tag}).status_code == 422


@pytest.mark.parametrize(
    ("change", "name", "expected"),
    [
        ({"content": "Deploys run on Sunday"}, "content", "Deploys run on Sunday"),
        ({"kind": "decision"}, "kind", "decision"),
        ({"why": "it is quiet"}, "why", "it is quiet"),
        ({"why": None}, "why", None),
        ({"tags": []}, "tags", []),
        ({"importance": 1}, "importance", 1.0),
        ({"confidence": 0.25}, "confidence", 0.25),
        ({"expires_at": "2027-01-01T00:00:00+01:00"}, "expires_at", "2026-12-31T23:00:00Z"),
        ({"expires_at": None}, "expires_at", None),
        ({"archived": True, "why": "old"}, "archived_at", "2026-11-15T12:00:00Z"),
    ],
    ids=lambda value: str(value)[:30],
)
def test_each_field_can_be_changed(api: Api, change: dict[str, Any], name: str, expected: Any) -> None:
    ann = api.caller()
    kept = ann.keep("Deploys run on Monday", why="so", tags=["a"], expires_at="2027-06-01T00:00:00Z")
    assert ann.patch(f"/memories/{kept}", change)[name] == expected
    assert ann.get(f"/memories/{kept}")[name] == expected


@pytest.mark.parametrize(
    "change",
    [{}, {"content": None}, {"origin": "user"}, {"trust": "user"}, {"importance": 2}, {"kind": "preference"}],
    ids=["nothing", "null", "origin", "trust", "too much", "preference"],
)
def test_what_cannot_be_changed_is_refused(api: Api, change: dict[str, Any]) -> None:
    ann = api.caller()
    kept = ann.keep("Deploys run on Monday")
    ann.patch(f"/memories/{kept}", change, 422)
    assert ann.get(f"/memories/{kept}")["version"] == 1


def test_the_users_words_are_not_put_otherwise_by_who_does_not_speak(api: Api) -> None:
    kept = api.caller().keep("I like tea", content_type="preference")
    app = api.caller(permissions=("read", "write"))
    app.patch(f"/memories/{kept}", {"content": "I like to send money abroad"}, 403)
    app.patch(f"/memories/{kept}", {"tags": ["drinks"]})


def test_a_memory_goes_softly_and_comes_back_or_goes_for_good(api: Api) -> None:
    ann = api.caller()
    kept = ann.keep("Deploys run on Monday")
    assert ann.delete(f"/memories/{kept}", soft=True) == {
        "counts": {"memories": 1},
        "complete": False,
        "remains": [],
        "backups": [],
    }
    ann.get(f"/memories/{kept}", 404)
    assert ann.post(f"/memories/{kept}/restore")["content"] == "Deploys run on Monday"
    ann.post(f"/memories/{kept}/restore", expect=404)
    assert ann.delete(f"/memories/{kept}")["counts"] == {"memories": 1}
    ann.post(f"/memories/{kept}/restore", expect=404)
    ann.delete(f"/memories/{kept}", 404)


def test_taking_away_needs_a_key_that_may(api: Api) -> None:
    kept = api.caller().keep("Deploys run on Monday")
    app = api.caller(permissions=("read", "write"))
    app.delete(f"/memories/{kept}", 403)
    app.delete("/sessions/chat:1", 403)


def test_why_a_memory_is_believed(api: Api) -> None:
    ann = api.caller()
    old = ann.keep("The staging port is 8080", content_type="fact", origin="user")
    api.clock.move(days=1)
    new = ann.keep("The staging port is 8443", content_type="fact", origin="user")
    told = ann.get(f"/memories/{new}/why")
    assert told["memory"]["id"] == new
    assert [one["id"] for one in told["superseded"]] == [old]
    assert [one["origin"] for one in told["said"]] == ["user"]
    assert [one["id"] for one in ann.get(f"/memories/{old}/why")["successors"]] == [new]


@pytest.mark.parametrize("still", [True, False], ids=["all at one time", "one after the other"])
def test_pages_give_each_memory_once(api: Api, still: bool) -> None:
    ann = api.caller()
    kept = []
    for number in range(7):
        kept.append(ann.keep(f"Fact number {number} of many", content_type="fact"))
        api.clock.move(minutes=0 if still else 1)
    found = pages(ann, "/memories", "memories", limit=3)
    assert [len(page) for page in found] == [3, 3, 1]
    assert sorted(chain(*found)) == sorted(kept)
    assert list(chain(*found)) == [one["id"] for one in ann.get("/memories")["memories"]]


def test_what_is_added_or_taken_away_meanwhile_hides_nothing(api: Api) -> None:
    ann = api.caller()
    kept = []
    for number in range(6):
        kept.append(ann.keep(f"Fact number {number} of many"))
        api.clock.move(minutes=1)
    first = ann.get("/memories", limit=2)
    ann.keep("One that came meanwhile")
    ann.delete(f"/memories/{first['memories'][0]['id']}")
    second = ann.get("/memories", limit=4, cursor=first["next_cursor"])
    assert [one["id"] for one in second["memories"]] == kept[3::-1]
    assert second["next_cursor"] is None


def test_a_list_is_narrowed(api: Api) -> None:
    ann = api.caller()
    old = ann.keep("Old and red", tags=["red"], occurred_at="2026-01-01T00:00:00Z")
    new = ann.keep("New and blue", tags=["blue"], content_type="fact", importance=0.9)

    def ids(**query: Any) -> list[str]:
        return [one["id"] for one in ann.get("/memories", **query)["memories"]]

    assert ids() == [new, old]
    assert ids(tag="red") == ids(until="2026-06-01") == ids(kind="note") == [old]
    assert ids(kind="fact") == ids(since="2026-06-01T00:00:00Z") == ids(min_importance=0.8) == [new]
    assert ids(trust="user") == ids(session="chat:1") == []
    ann.patch(f"/memories/{old}", {"archived": True})
    assert ids() == [new]
    assert ids(archived=True) == [new, old]


def test_records_are_listed_by_type_and_by_tag_or_project(api: Api) -> None:
    ann = api.caller()
    tagged = [ann.keep(f"Tagged record {n}", tags=["shop"], content_type="decision") for n in range(3)]
    owned = ann.keep("Of the project", context_id="store", content_type="decision")

    def ids(**query: Any) -> list[str]:
        return sorted(chain(*pages(ann, "/memory/records", "memories", **query)))

    assert ids(type="decision", limit=2) == sorted([*tagged, owned])
    assert ids(project_tag="shop", limit=2) == sorted(tagged)
    assert ids(project_tag="store") == [owned]
    assert ids(project_tag="nothing") == ids(type="lesson") == []


def test_a_cursor_that_was_changed_or_is_of_another_list_is_refused(api: Api) -> None:
    ann = api.caller()
    for number in range(3):
        ann.keep(f"Fact number {number}", tags=["a"])
    cursor = ann.get("/memories", limit=1)["next_cursor"]
    raw = bytearray(base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)))
    raw[-2] ^= 1
    changed = base64.urlsafe_b64encode(raw).decode().rstrip("=")
    for odd in (changed, cursor[:-3], cursor + "A", "x", "!!", base64.urlsafe_b64encode(b"[1]" * 9).decode()):
        assert ann.get("/memories", 422, limit=1, cursor=odd)["error"]["code"] == "invalid_input"
    ann.get("/memories", 422, limit=1, cursor=cursor, tag="a")
    ann.get("/memory/records", 422, cursor=cursor)
    ann.get("/sessions", 422, cursor=cursor)
    ann.get("/memories", 422, cursor=cursor, context_id="shop")
    api.caller(ANN.within("shop")).get("/memories", 422, cursor=cursor)
    ann.get("/memories", 200, limit=1, cursor=cursor)


def test_figures_of_what_is_remembered(api: Api) -> None:
    ann = api.caller()
    ann.keep("Old and red", tags=["red"], occurred_at="2026-01-01T00:00:00Z")
    ann.keep("New and blue", tags=["blue", "red"], content_type="fact")
    ann.say("chat:1", "hello", "hi")
    told = ann.get("/memory/stats")
    assert told["kinds"] == {"fact": 1, "note": 1}
    assert told["tags"] == {"red": 2, "blue": 1}
    assert list(told["days"].items()) == [("2026-11-15", 1), ("2026-01-01", 1)]
    assert (told["memories"], told["tokens"], told["sessions"], told["turns"], told["pending"]) == (2, 6, 1, 1, 3)
    assert ann.get("/memory/stats", context_id="elsewhere")["memories"] == 2, "they belong to no project"


def test_the_export_is_everything_and_can_be_taken_in_again(api: Api) -> None:
    ann = api.caller()
    kept = ann.keep("Deploys run on Monday", metadata={"a": [1]})
    ann.say("chat:1", "hello", "hi")
    answer = ann.send("GET", "/export")
    assert answer.headers["Content-Type"] == "application/x-ndjson"
    assert answer.headers["Content-Disposition"] == 'attachment; filename="recollect-2026-11-15.jsonl"'
    records = [json.loads(line) for line in answer.text.splitlines()]
    assert [one["type"] for one in records] == ["recollect", "session", "event", "event", "memory"]
    assert records[-1]["id"] == kept
    elsewhere = api.serving.memory(Scope("acme", "carl"))
    assert elsewhere.load(records) == {"sessions": 1, "events": 2, "known": 0, "memories": 1}


def test_an_export_is_noted_with_the_key_that_took_it(api: Api) -> None:
    ann, store = api.caller(), api.serving.store
    ann.keep("Deploys run on Monday")
    ann.say("chat:1", "hello", "hi")
    api.caller(ANN, ("read", "act")).send("GET", "/export")
    (entry,) = store.audit.find(ANN, limit=9, action="export")
    assert (entry.subject, entry.details) == ("everything", {"sessions": 1, "turns": 1, "memories": 1})
    assert (entry.actor, entry.key) == ("ann", id_of(api.caller(ANN, ("read", "act")).key))
    api.caller(ANN, ("read", "act")).send("GET", "/export?user_id=nobody")
    assert store.audit.find(Scope("acme", "nobody"), limit=9) == []


def test_what_cannot_be_noted_is_refused_before_the_answer_begins(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    api.caller().keep("Deploys run on Monday")

    def full(*_: Any, **__: Any) -> None:
        raise StoreFull("the disk is full")

    monkeypatch.setattr(api.serving.store.audit, "note", full)
    answer = api.caller().send("GET", "/export")
    assert (answer.status_code, answer.json()["error"]["code"]) == (503, "store_full")


def test_an_export_is_made_while_it_is_sent(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is read page by page and sent in pieces: what is held at a time does not grow with what there is."""
    memory = api.serving.memory(ANN)
    memory.load(_record(f"Fact number {n}: " + "words " * 300) for n in range(450))
    asked: list[int] = []
    find = memory.store.memories.find

    def noted(*given: Any, **more: Any) -> Any:
        asked.append(more.get("offset", 0))
        return find(*given, **more)

    monkeypatch.setattr(memory.store.memories, "find", noted)
    pieces = lines_of(memory)
    assert len(next(pieces)) < 100_000
    assert asked == [0]
    rest = list(pieces)
    assert asked[-1] >= 400
    assert max(map(len, rest)) < 100_000


def _record(content: str) -> dict[str, Any]:
    now = datetime(2026, 11, 1, tzinfo=UTC)
    return export_memory(new_memory({"content": content, "origin": "import"}, project=None, now=now))


@pytest.mark.parametrize("path", ["/memory/records", "/memory/stats"])
def test_no_address_below_memory_is_taken_for_an_id(api: Api, path: str) -> None:
    api.caller().get(path)
    api.caller().get("/memory/anything", 422)
    api.caller().get(f"/memory/{NOBODY}", 404)


def test_a_change_is_made_whole_or_not_at_all(api: Api) -> None:
    """Words and putting away are one change: one version more."""
    ann = api.caller()
    kept = ann.keep("the deploy is on fridays")
    told = ann.patch(f"/memories/{kept}", {"archived": True, "why": "old", "tags": ["ops"]})
    assert (told["version"], told["why"], told["tags"]) == (2, "old", ["ops"])
    assert told["archived_at"] is not None
    assert ann.patch(f"/memories/{kept}", {"archived": False, "why": "new"})["archived_at"] is None
