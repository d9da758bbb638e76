"""`recollect doctor` looks at Redis when one is set: whether it answers, what waits, what is dead, and what is odd."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from recollect.bus.connecting import connect
from recollect.cli.main import main
from tests.bus.test_bus_verb import stream as stream
from tests.services.shared import free_port

Look = Callable[..., list[dict[str, str]]]


@pytest.fixture
def look(stream: str, capsys: pytest.CaptureFixture[str]) -> Look:
    """What doctor finds of the bus, and its exit code."""

    def rows(code: int = 0) -> list[dict[str, str]]:
        assert main(["doctor", "--json"]) == code
        return [one for one in json.loads(capsys.readouterr().out)["findings"] if one["name"].startswith("bus")]

    return rows


def test_a_bus_that_is_well_is_one_row(look: Look) -> None:
    (row,) = look()
    assert (row["state"], row["text"]) == ("ok", "Redis answers; 0 events wait, 0 dead letters")


def test_events_that_nobody_reads_and_dead_letters_are_told(look: Look, stream: str) -> None:
    client = connect(os.environ["REDIS_URL"])
    client.xadd(stream, {"event": "{}"})
    (row,) = look()
    assert row["state"] == "note"
    assert row["text"] == "Redis answers; 1 event waits and nobody reads the stream, 0 dead letters"
    assert "recollect worker" in row["todo"]
    client.delete(stream)
    for _ in range(2):
        client.xadd(f"{stream}:dead", {"event": "{", "code": "bad_message"})
    (row,) = look()
    assert (row["state"], row["text"]) == ("note", "Redis answers; 0 events wait, 2 dead letters")
    assert "recollect bus dead" in row["todo"]
    client.close()


def test_a_redis_that_is_away_is_to_be_mended(look: Look, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REDIS_URL", f"redis://:secret@127.0.0.1:{free_port()}")
    (row,) = look(code=1)
    assert row["state"] == "bad"
    assert "Is it running" in row["todo"]
    assert "secret" not in str(row)


@pytest.mark.parametrize("url", ["redis://localhost:x", "http://localhost"])
def test_an_address_that_is_none_is_to_be_mended(look: Look, monkeypatch: pytest.MonkeyPatch, url: str) -> None:
    monkeypatch.setenv("REDIS_URL", url)
    (row,) = look(code=1)
    assert (row["state"], "redis_url" in row["text"]) == ("bad", True)


def test_without_redis_nothing_is_said_of_it(look: Look, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("REDIS_URL")
    assert look() == []


def test_what_is_odd_about_its_settings_is_told(look: Look, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("RECOLLECT_REDIS_CHANNEL")
    keys = tmp_path / "keys.json"
    keys.write_text('{"acme": {"main": "' + "s" * 32)
    keys.chmod(0o600)
    monkeypatch.setenv("RECOLLECT_REDIS_KEYS_FILE", str(keys))
    _, channel, signing = look(code=1)
    assert (channel["state"], "redis_channel" in channel["todo"]) == ("note", True)
    assert (signing["state"], "redis_keys_file" in signing["todo"]) == ("bad", True)
    assert "ssss" not in str(signing)


def test_events_that_wait_for_too_long_are_to_be_mended(look: Look, stream: str) -> None:
    client = connect(os.environ["REDIS_URL"])
    client.xadd(stream, {"event": "{}"}, id="1000-0")
    client.xgroup_create(stream, "verb", id="0")
    client.xreadgroup("verb", "me", {stream: ">"})
    (row,) = look(code=1)
    assert row["state"] == "bad"
    assert "1 event waits, the oldest for" in row["text"]
    assert "log" in row["todo"]
    client.close()
