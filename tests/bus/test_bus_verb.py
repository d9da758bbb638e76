"""`recollect bus` and `recollect worker --bus`: publish, see what waits, why something is dead, put it back."""

from __future__ import annotations

import io
import json
import os
import secrets
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from recollect.bus.connecting import connect
from recollect.bus.stream import Stream
from recollect.cli.main import main
from recollect.cli.output import Output
from recollect.settings import load
from recollect.store.opening import open_store
from tests.bus.conftest import until

Run = Callable[..., dict[str, Any]]


@pytest.fixture
def stream(redis_url: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> str:
    name = f"verb:{secrets.token_hex(4)}"
    monkeypatch.setenv("REDIS_URL", redis_url)
    for variable, value in {"STREAM": name, "CHANNEL": name, "GROUP": "verb"}.items():
        monkeypatch.setenv(f"RECOLLECT_REDIS_{variable}", value)
    monkeypatch.setenv("RECOLLECT_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.setenv("RECOLLECT_USER", "ann")
    return name


@pytest.fixture
def bus(stream: str, capsys: pytest.CaptureFixture[str]) -> Run:
    def run(*words: str, code: int = 0) -> dict[str, Any]:
        assert main(["bus", *words, "--json"]) == code, capsys.readouterr()
        told: dict[str, Any] = json.loads(capsys.readouterr().out)
        return told

    return run


def test_a_published_event_waits_until_somebody_reads_it(
    bus: Run, stream: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert bus()["lag"] == 0
    entry = bus("publish", "We deploy on Fridays.", "--session", "chat:1", "--project", "shop")["entry"]
    status = bus("status")
    assert (status["stream"], status["lag"], status["dead"], status["readers"]) == (stream, 1, 0, 0)
    ((id_, fields),) = connect(os.environ["REDIS_URL"]).xrange(stream)
    assert id_.decode() == entry
    event = json.loads(fields[b"event"])
    assert (event["content"], event["user_id"]) == ("We deploy on Fridays.", "ann")
    assert {"source": "cli", "session_id": "chat:1", "context_id": "shop"}.items() <= event["metadata"].items()
    assert main(["bus"]) == 0
    shown = capsys.readouterr()
    assert "1 entry, group" in shown.out
    assert "1 (0 given to 0 readers)" in shown.out
    assert "recollect worker" in shown.err


def test_on_the_channel_nobody_hears_it(bus: Run) -> None:
    assert bus("publish", "hello", "--channel", code=1) == {"entry": None, "heard": 0}


@pytest.mark.parametrize(
    ("words", "about"),
    [
        (("publish",), "needs a text"),
        (("requeue",), "needs the id"),
        (("drop",), "needs the id"),
        (("status", "x"), "too many"),
        (("publish", " "), "content"),
        (("publish", "x", "--type", "memory.nothing"), "event_type"),
        (("publish", "x", "--role", "root"), "role"),
        (("publish", "x", "--sign", "main"), "no key"),
        (("dead", "--limit", "0"), "limit"),
    ],
)
def test_wrong_words_are_told(bus: Run, words: tuple[str, ...], about: str) -> None:
    assert about in bus(*words, code=2)["error"]["message"]


# -- dropping ----------------------------------------------------------------------------------------------------------


@pytest.fixture
def letters(stream: str) -> list[str]:
    """Five dead letters, oldest first."""
    client = connect(os.environ["REDIS_URL"])
    ids = [client.xadd(f"{stream}:dead", {"event": f"{{{n}", "code": "bad_message"}).decode() for n in range(5)]
    client.close()
    return ids


def left(bus: Run) -> list[str]:
    return [one["id"] for one in reversed(bus("dead")["dead"])]


def test_one_dead_letter_or_all_of_them_are_dropped(bus: Run, letters: list[str]) -> None:
    assert bus("drop", letters[1], "--yes") == {"dry_run": False, "dropped": 1}
    assert left(bus) == [letters[0], *letters[2:]]
    assert bus("drop", letters[1], "--yes", code=1)["error"]["code"] == "not_found"
    assert bus("drop", "all", "--yes") == {"dry_run": False, "dropped": 4}
    assert (left(bus), bus()["dead"]) == ([], 0)
    assert bus("drop", "all") == {"dry_run": False, "dropped": 0}, "there is nothing to ask about"


def test_nothing_is_dropped_unasked(bus: Run, letters: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    told = bus("drop", "all", code=2)["error"]
    assert "5 dead letters" in told["message"]
    assert "--yes" in told["hint"]
    assert bus("drop", "all", "--dry-run") == {"dry_run": True, "dropped": 5}
    assert bus("drop", letters[0], "--dry-run") == {"dry_run": True, "dropped": 1}
    assert left(bus) == letters
    assert main(["bus", "drop", letters[0], "--yes"]) == 0
    assert "Dropped 1 dead letter." in capsys.readouterr().out


def test_a_person_is_asked_first(
    bus: Run, letters: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(Output, "can_ask", True)
    for said, remaining in (("n\n", letters), ("y\n", [])):
        monkeypatch.setattr(sys, "stdin", io.StringIO(said))
        assert main(["bus", "drop", "all"]) == 0
        assert "Drop 5 dead letters for good?" in capsys.readouterr().err
        assert left(bus) == remaining


def test_all_is_all_however_many_there_are(bus: Run, stream: str) -> None:
    client = connect(os.environ["REDIS_URL"])
    with client.pipeline() as many:
        for number in range(1_203):
            many.xadd(f"{stream}:dead", {"event": f"{{{number}", "code": "bad_message"})
        many.execute()
    assert len(bus("requeue", "all")["requeued"]) == 1_203
    assert (bus()["dead"], bus()["length"]) == (0, 1_203)
    assert [fields[b"event"] for _, fields in client.xrange(stream, count=2)] == [b"{0", b"{1"], "oldest first"
    client.close()


def test_what_dies_meanwhile_is_not_dropped_unseen(stream: str, letters: list[str]) -> None:
    client = connect(os.environ["REDIS_URL"])
    kept = Stream(client, load().settings)
    last = kept.last_dead()
    late = client.xadd(f"{stream}:dead", {"event": "{", "code": "bad_message"}).decode()
    assert last == letters[-1]
    assert kept.drop_dead(until=last) == 5
    assert [letter.id for letter in kept.dead()] == [late]
    client.close()


def test_without_redis_it_says_what_to_set(
    monkeypatch: pytest.MonkeyPatch, stream: str, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("REDIS_URL", "redis://127.0.0.1:1")
    assert main(["bus"]) == 1
    assert "Is it running" in capsys.readouterr().err
    monkeypatch.delenv("REDIS_URL")
    assert main(["bus"]) == 2
    assert "redis_url" in capsys.readouterr().err


@pytest.mark.timed
def test_a_worker_stores_events_and_dead_letters_come_back(bus: Run, stream: str, tmp_path: Path) -> None:
    """The whole of it as an operator does it: worker, publish, dead, requeue, SIGTERM."""
    words = [sys.executable, "-m", "recollect", "worker", "--json"]
    environment = {**os.environ, "RECOLLECT_EMBEDDER": "none"}
    worker = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment)
    assert worker.stdout is not None
    assert "pid" in worker.stdout.readline()
    client = connect(os.environ["REDIS_URL"])
    try:
        bus("publish", "The staging port is 5433.", "--type", "memory.fact")
        client.xadd(stream, {"event": "{"})
        until(lambda: bus()["dead"] == 1 and bus()["lag"] == 0)
        (letter,) = bus("dead", "--show")["dead"]
        assert (letter["code"], letter["attempts"], letter["event"]) == ("bad_message", 1, "{")
        assert list(bus("requeue", letter["id"])["requeued"]) == [letter["id"]]
        until(lambda: bus("dead")["dead"] and bus("dead")["dead"][0]["id"] != letter["id"])
        assert len(bus("requeue", "all")["requeued"]) == 1
        assert bus("requeue", "1-1", code=1)["error"]["code"] == "not_found"
        until(lambda: client.publish(stream, json.dumps(said("Heard on the channel."))) == 1)
        until(lambda: "Heard on the channel" in str(client.xrange(stream)) and bus()["lag"] == 0)
    finally:
        began = time.monotonic()
        worker.send_signal(signal.SIGTERM)
        _, complaints = worker.communicate(timeout=20)
    assert (worker.returncode, complaints) == (0, "")
    assert time.monotonic() - began < 5
    store = open_store(load().settings)
    from recollect import Recollect, Scope

    memory = Recollect(store, Scope("local", "ann"), load().settings, embedder=None, background=False)
    assert [one.content for one in memory.memories()] == ["The staging port is 5433."]
    assert [one.text for one in store.sessions.history(memory.scope, "chat:2")] == ["Heard on the channel."]
    store.close()


def said(content: str) -> dict[str, Any]:
    metadata = {"source": "test", "timestamp": "2026-11-15T12:00:00Z", "session_id": "chat:2"}
    return {"event_type": "conversation.message", "content": content, "user_id": "ann", "metadata": metadata}


def test_without_the_bus_a_worker_leaves_the_stream_alone(bus: Run, stream: str) -> None:
    bus("publish", "It waits.")
    words = [sys.executable, "-m", "recollect", "worker", "--json", "--no-bus"]
    worker = subprocess.Popen(words, stdout=subprocess.PIPE, env={**os.environ, "RECOLLECT_EMBEDDER": "none"})
    assert worker.stdout is not None
    worker.stdout.readline()
    worker.terminate()
    worker.communicate(timeout=20)
    assert bus()["waiting"] == 1
