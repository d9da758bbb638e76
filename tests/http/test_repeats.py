"""Retries are safe: P44. What is sent twice with the same Idempotency-Key is done once, on each store."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from recollect.errors import StoreBusy, StoreUnavailable
from recollect.http.gate import _passing
from recollect.http.idempotency import Repeats
from recollect.http.manner import Programs
from recollect.ids import stable_key
from recollect.keys import PERMISSIONS, Grant
from recollect.store.ports.queue import ANSWERING
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


def test_a_change_that_is_answered_again_tells_its_version_again(each_store: str, inside: Make) -> None:
    app = inside()
    kept = app.client.post("/ingest", json={"content": "the deploy is on fridays"}).json()["memory_id"]
    ways: dict[str, Any] = {
        "PATCH": (f"/memories/{kept}", {"importance": 0.9}),
        "POST": (f"/memories/{kept}/confirm", {}),
    }
    for method, (path, body) in ways.items():
        key = {"Idempotency-Key": method}
        first, again = (app.client.request(method, path, json=body, headers=key) for _ in range(2))
        assert (first.status_code, again.headers["idempotent-replayed"]) == (200, "true")
        assert again.headers["ETag"] == first.headers["ETag"]
    gone = [app.client.delete(f"/memories/{kept}", headers={"Idempotency-Key": "d"}) for _ in range(2)]
    assert [("etag" in one.headers, one.status_code) for one in gone] == [(False, 200)] * 2


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


def test_what_a_request_is_known_by_is_no_hash_of_its_words(
    each_store: str, inside: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Secrets are taken out of what is kept. Who has the rows must not be able to try which ones they were."""
    app, kept = inside(), []
    store, begin = app.serving.store, app.serving.store.answers.begin

    def noted(scope: Any, key: str, fingerprint: str, **times: Any) -> Any:
        kept.append(fingerprint)
        return begin(scope, key, fingerprint, **times)

    monkeypatch.setattr(store.answers, "begin", noted)
    body = b'{"events":[{"session":"s:1","role":"user","content":"the password is Tr0ub4dor42"}]}'
    sent = app.client.post("/v1/events", content=body, headers={**KEY, "Content-Type": "application/json"})
    plain = sha256(b"\0".join((b"POST", b"/v1/events", b"", body))).hexdigest()
    whose = (app.serving.owner.tenant, app.serving.owner.user, "", KEY["Idempotency-Key"], plain)
    name = f"idem:{sha256(chr(0).join(whose).encode()).hexdigest()[:32]}:0"
    assert kept != [plain]
    assert sent.json()["ids"] != [stable_key("recorded", "s:1", "user_prompt", "key", name)]


def test_it_is_known_to_every_server_of_the_store_and_after_the_audits_key_was_exchanged(
    each_store: str, inside: Make, tmp_path: Path
) -> None:
    first = say(inside(), "the deploy is on fridays")
    file = tmp_path / "data" / "audit.key"
    file.write_text("ab" * 32 + "\n" + file.read_text())
    again = say(inside(), "the deploy is on fridays")
    assert first.content == again.content
    assert again.headers["idempotent-replayed"] == "true"


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


# -- done, and then something failed -----------------------------------------------------------------------------------

EVENTS = {
    "events": [
        {"session": "s:1", "role": "user", "content": "the same words"},
        {"session": "s:1", "role": "user", "content": "the same words"},
    ]
}
TURN = {"session_id": "s:1", "user_message": "which port?", "assistant_message": "8443"}


@pytest.mark.parametrize(("path", "body"), [("/v1/events", EVENTS), ("/memory/ingest", TURN)], ids=["events", "turn"])
@pytest.mark.parametrize("lost", ["commit", "answer"])
def test_what_was_done_before_it_failed_is_not_done_again(
    each_store: str, inside: Make, monkeypatch: pytest.MonkeyPatch, path: str, body: Any, lost: str
) -> None:
    """P44: the connection broke at the commit, or the process died before the answer was written down."""
    app = inside()
    store = app.serving.store
    with monkeypatch.context() as patch:
        if lost == "commit":
            append = store.sessions.append

            def broken(*given: Any) -> Any:
                append(*given)
                raise StoreUnavailable("the connection is lost")

            patch.setattr(store.sessions, "append", broken)
        else:
            patch.setattr(store.answers, "finish", lambda *_, **__: None)
        first = app.client.post(path, json=body, headers=KEY)
    assert first.status_code == (503 if lost == "commit" else 202)
    app.clock.move(seconds=ANSWERING.total_seconds() + 1)
    again = app.client.post(path, json=body, headers=KEY)
    assert (again.status_code, "idempotent-replayed" in again.headers) == (202, False)
    assert len(app.client.get("/sessions/s:1/history").json()["events"]) == 2
    other = app.client.post(path, json=body, headers={"Idempotency-Key": "another"})
    assert other.status_code == 202
    assert len(app.client.get("/sessions/s:1/history").json()["events"]) == 4, "another request is another request"


def test_another_request_of_a_key_that_is_over_is_another(inside: Make) -> None:
    app = inside()
    for words in ("first", "second"):
        body = {"events": [{"session": "s:1", "role": "user", "content": words}]}
        assert app.client.post("/v1/events", json=body, headers=KEY).status_code == 202
        app.clock.move(hours=25)
    assert len(app.client.get("/sessions/s:1/history").json()["events"]) == 2


def test_events_and_their_titles_are_one_write(each_store: str, inside: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    """Once the events are there, nothing may fail."""
    app = inside()
    body = {"events": [{"session": "s:1", "role": "user", "content": "hello", "title": "Greetings"}]}

    def busy(*_: Any, **__: Any) -> Any:
        raise StoreBusy("not now")

    with monkeypatch.context() as patch:
        patch.setattr(app.serving.store.sessions, "append", busy)
        assert app.client.post("/v1/events", json=body).status_code == 503
    assert app.client.get("/sessions/s:1").status_code == 404
    with monkeypatch.context() as patch:
        patch.setattr(app.serving.store.sessions, "ensure", busy)
        assert app.client.post("/v1/events", json=body).status_code == 202
    assert app.client.get("/sessions/s:1").json()["session"]["title"] == "Greetings"


def test_a_request_that_is_broken_off_may_be_sent_again(inside: Make) -> None:
    """A server that ends breaks off what it is at: nobody is told for two minutes that it is being answered."""
    app = inside()
    told: list[Any] = []

    async def send(message: Any) -> None:
        told.append(message)

    async def ask(run: Any) -> None:
        headers = [(b"idempotency-key", b"order-66")]
        scope = {"type": "http", "method": "POST", "path": "/ingest", "query_string": b"", "headers": headers}
        passing = _passing(scope, send, Programs())
        passing.grant = Grant("k", app.serving.owner, PERMISSIONS)
        await Repeats(app.serving).run(passing, b"{}", run)

    async def broken_off(_: Any) -> None:
        raise asyncio.CancelledError

    async def answered(answer: Any) -> None:
        await answer({"type": "http.response.start", "status": 201, "headers": []})
        await answer({"type": "http.response.body", "body": b"{}"})

    with pytest.raises(asyncio.CancelledError):
        asyncio.run(ask(broken_off))
    asyncio.run(ask(answered))
    assert told[0]["status"] == 201


# -- what is forgotten is not answered any more ------------------------------------------------------------------------


def test_what_somebody_forgot_is_not_answered_to_whoever_acted_for_them(each_store: str, inside: Make) -> None:
    """P13: the answer is kept with the one it is about."""
    app = inside(hosted=True)
    backend = app.stranger(**app.auth(app.key(user="backend")))
    bob = app.stranger(**app.auth(app.key(user="bob")))
    kept = backend.post("/ingest", json={"content": "bob is in clinic nine", "user_id": "bob"}, headers=KEY)
    place, who = f"/memories/{kept.json()['memory_id']}", {"user_id": "bob"}
    change = {"json": {"tags": ["health"]}, "params": who, "headers": {"Idempotency-Key": "change"}}
    for _ in range(2):
        told = backend.patch(place, **change)
        assert (told.status_code, "clinic nine" in told.text) == (200, True)
    assert told.headers["idempotent-replayed"] == "true"
    assert bob.delete(place).status_code == 200
    after = backend.patch(place, **change)
    assert (after.status_code, "clinic" in after.text) == (404, False)


def test_a_question_is_asked_again(each_store: str, inside: Make) -> None:
    """Nothing is kept of what was found."""
    app = inside()
    kept = app.client.post("/ingest", json={"content": "the deploy is on fridays"}).json()["memory_id"]
    asked = {"json": {"query": "when is the deploy?"}, "headers": KEY}
    assert "fridays" in app.client.post("/search", **asked).text
    again = app.client.post("/search", **asked)
    assert "idempotent-replayed" not in again.headers
    app.client.delete(f"/memories/{kept}")
    assert "fridays" not in app.client.post("/search", **asked).text


def test_who_acts_for_somebody_uses_keys_of_their_own(inside: Make) -> None:
    app = inside(hosted=True)
    backend, bob = (app.stranger(**app.auth(app.key(user=user))) for user in ("backend", "bob"))
    assert backend.post("/ingest", json={"content": "of one", "user_id": "bob"}, headers=KEY).status_code == 201
    assert bob.post("/ingest", json={"content": "of another"}, headers=KEY).status_code == 201
    assert backend.post("/ingest", json={"content": "of a third", "user_id": "ann"}, headers=KEY).status_code == 201


def test_what_was_taken_away_is_so_however_often_it_is_asked(each_store: str, inside: Make) -> None:
    """P44 for DELETE, and when something else is taken away in between."""
    app = inside()
    ids = [app.client.post("/ingest", json={"content": f"fact {n}"}).json()["memory_id"] for n in range(2)]

    def forget(number: int) -> Any:
        return app.client.delete(f"/memories/{ids[number]}", headers={"Idempotency-Key": f"delete-{number}"})

    first, other, again = forget(0), forget(1), forget(0)
    assert [first.status_code, other.status_code, again.status_code] == [200, 200, 200]
    assert again.headers["idempotent-replayed"] == "true"
    assert again.content == first.content


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
