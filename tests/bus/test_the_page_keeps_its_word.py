"""What docs/redis.md shows works as it stands there: its shell, its Python, its logins (S1.59)."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from tests.bus.conftest import Bus, event, until
from tests.bus.test_servers_go_away import PUBLISHER, READER
from tests.flow.memory_fixture import IN_A_FILE

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "redis.md").read_text()
CLIENT = """#!{python}
import sys
import redis
assert sys.argv[1] == "-u"
print(redis.Redis.from_url(sys.argv[2]).execute_command(*sys.argv[3:]).decode())
"""


@pytest.fixture
def signed(bus: Bus, tmp_path: Path) -> Iterator[Bus]:
    """A bus with the names and the secret of the page."""
    keys = tmp_path / "keys.json"
    keys.write_text(json.dumps({"acme": {"main": "0123456789abcdef0123456789abcdef"}}))
    keys.chmod(0o600)
    own = Bus(bus.url, replace(bus.settings, redis_keys_file=keys), bus.store)
    own.settings = replace(own.settings, redis_stream="recollect:ingest", redis_channel="memory.ingest")
    own.stream.name, own.stream.dead_name = "recollect:ingest", "recollect:ingest:dead"
    yield own
    own.close()


def blocks(language: str, word: str) -> list[str]:
    found = [one for one in re.findall(rf"```{language}\n(.*?)```", PAGE, re.DOTALL) if word in one]
    assert found
    return found


@IN_A_FILE
@pytest.mark.skipif(not (shutil.which("openssl") and shutil.which("bash")), reason="needs bash and openssl")
def test_what_the_shell_publishes_and_signs_is_stored(signed: Bus, tmp_path: Path) -> None:
    client = tmp_path / "redis-cli"
    client.write_text(CLIENT.format(python=sys.executable))
    client.chmod(0o755)
    outside = {**os.environ, "REDIS_URL": signed.url, "PATH": f"{tmp_path}:{os.environ['PATH']}"}
    for block in blocks("bash", "redis-cli"):
        subprocess.run(["bash", "-euc", block], check=True, env=outside, capture_output=True)
    signed.drain()
    assert signed.stream.dead() == []
    assert signed.said(tenant="acme") == ["We deploy on Fridays."]
    assert [one.content for one in signed.of().memories()] == ["Production runs in Frankfurt."]


@IN_A_FILE
def test_what_python_publishes_and_signs_is_stored(signed: Bus) -> None:
    for block in blocks("python", "REDIS_URL"):
        subprocess.run([sys.executable, "-c", block], check=True, env={**os.environ, "REDIS_URL": signed.url})
    signed.drain()
    assert signed.stream.dead() == []
    assert signed.said(tenant="acme") == ["Grüße aus Köln."]
    assert signed.said() == ["When do we deploy?", "On Fridays."]


@IN_A_FILE
def test_the_event_of_the_page_is_one(signed: Bus) -> None:
    shown = json.loads(blocks("json", "event_type")[0])
    assert shown.keys() == event(id="x").keys()
    signed.add(shown)
    signed.drain()
    assert signed.said() == ["We deploy on Fridays."]


def test_the_logins_of_the_page_are_those_that_are_tried() -> None:
    first, second = (line for line in PAGE.splitlines() if line.startswith("ACL SETUSER"))
    assert tuple(word for word in first.split() if word.startswith("+")) == PUBLISHER
    assert tuple(word for word in second.split() if word.startswith("+")) == READER


@IN_A_FILE
def test_two_memories_on_one_redis_need_a_channel_each(bus: Bus) -> None:
    """Streams do not touch each other; a channel is everybody's who listens on it."""
    shared = [replace(bus.settings, redis_stream=f"{bus.settings.redis_stream}:{n}") for n in (1, 2)]
    own = replace(shared[1], redis_stream=f"{bus.settings.redis_stream}:3", redis_channel="c.own")
    readers = [bus.consumer(settings=settings, bridge=True) for settings in (*shared, own)]
    for reader in readers:
        reader.start()
        until(lambda reader=reader: reader.bridge.listening)
    assert bus.redis.publish(bus.settings.redis_channel, json.dumps(event("Heard by both."))) == 2
    until(lambda: bus.counts["bridged"] == 2)
    assert [reader.stream.figures().length for reader in readers] == [1, 1, 0]
