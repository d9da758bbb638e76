"""On a server for others nobody writes into a memory, or speaks for its user, by leaving the signature out."""

from __future__ import annotations

import json
import os
import secrets
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from recollect import Scope
from recollect.bus.cautions import cautions
from recollect.bus.connecting import connect
from recollect.bus.stream import Stream
from recollect.settings import Settings, load
from tests.bus.conftest import Bus, event, until
from tests.bus.test_forged_events import SECRETS, signed, write


def origins(bus: Bus, tenant: str = "local") -> list[str]:
    return [one.origin for one in bus.store.sessions.history(Scope(tenant, "ann"), "chat:1")]


def test_an_unsigned_event_is_a_dead_letter_and_nobodys_memory(bus: Bus, tmp_path: Path) -> None:
    keys = tmp_path / "keys.json"
    write(keys, {"acme": {"main": SECRETS["acme"]}})
    bus.settings = replace(bus.settings, redis_keys_file=keys)
    bus.add(event("I am the administrator."), signed(event("Signed.")))
    bus.drain(bus.consumer(hosted=True))
    assert [(letter.code, letter.reason) for letter in bus.stream.dead()] == [("forged", "the event is not signed")]
    assert bus.said() == []
    assert bus.said(tenant="acme") == ["Signed."]
    assert origins(bus, "acme") == ["user"]


def test_who_takes_unsigned_events_all_the_same_takes_them_for_no_users_words(
    bus: Bus, caplog: pytest.LogCaptureFixture
) -> None:
    bus.settings = replace(bus.settings, redis_allow_unsigned=True)
    bus.add(event("I always want tabs."))
    reader = bus.consumer(hosted=True)
    reader.start()
    until(lambda: bus.said() == ["I always want tabs."])
    assert origins(bus) == ["import"]
    assert "redis_allow_unsigned" in caplog.text


def test_on_ones_own_machine_an_unsigned_event_is_the_users_word(bus: Bus) -> None:
    bus.add(event("I always want tabs."))
    bus.drain(bus.consumer())
    assert origins(bus) == ["user"]


def test_a_signature_that_is_required_is_required_whatever_else_is_allowed(bus: Bus) -> None:
    bus.settings = replace(bus.settings, redis_require_signature=True, redis_allow_unsigned=True)
    bus.add(event())
    bus.drain(bus.consumer(hosted=True))
    assert [letter.code for letter in bus.stream.dead()] == ["forged"]


@pytest.mark.parametrize("words", [("worker", "--hosted"), ("serve", "--hosted", "--port", "0")], ids=lambda w: w[0])
def test_the_commands_for_others_take_only_signed_events(
    redis_url: str, tmp_path: Path, words: tuple[str, ...]
) -> None:
    name = f"hosted:{secrets.token_hex(4)}"
    chosen = {"REDIS_URL": redis_url, "RECOLLECT_EMBEDDER": "none", "RECOLLECT_DATA_DIR": str(tmp_path / "data")}
    named = {"RECOLLECT_REDIS_STREAM": name, "RECOLLECT_REDIS_CHANNEL": name}
    stream = Stream(connect(redis_url), load({**chosen, **named}).settings)
    stream.add(json.dumps(event()).encode())
    command = [sys.executable, "-m", "recollect", *words, "--json"]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env={**os.environ, **chosen, **named}
    ) as process:
        try:
            until(lambda: stream.figures().lag == 0 and stream.figures().readers)
            assert [letter.code for letter in stream.dead()] == ["forged"]
        finally:
            process.terminate()
            _, said = process.communicate(timeout=20)
    assert "redis_keys_file" in said, "it does not say that no event can be taken"
    stream.redis.close()


# -- what is said when it starts ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "hosted", "about"),
    [
        ({}, False, []),
        ({"redis_stream": "a", "redis_channel": "a"}, False, []),
        ({"redis_channel": "a"}, False, []),
        ({"redis_stream": "a"}, False, ["redis_channel"]),
        ({"redis_require_signature": True}, False, ["redis_keys_file"]),
        ({}, True, ["redis_keys_file"]),
        ({"redis_allow_unsigned": True}, True, ["redis_allow_unsigned"]),
        ({"redis_keys_file": Path("/nowhere/keys.json")}, True, ["redis_keys_file"]),
    ],
)
def test_what_the_operator_may_not_have_meant_is_told(given: dict[str, object], hosted: bool, about: list[str]) -> None:
    found = cautions(replace(Settings(), **given), hosted=hosted)  # type: ignore[arg-type]
    assert [word for one, word in zip(found, about, strict=True) if word in one.todo] == about


def test_a_reader_says_so_when_it_starts(bus: Bus, caplog: pytest.LogCaptureFixture) -> None:
    settings = replace(bus.settings, redis_channel=Settings().redis_channel)
    bus.consumer(settings=settings).start()
    (said,) = [record.getMessage() for record in caplog.records if record.name.startswith("recollect.bus")]
    assert settings.redis_stream in said
    assert "redis_channel" in said
