"""Secrets are made once, for their reader alone; Redis lets nobody in without one, and with it only what is needed."""

from __future__ import annotations

import os
import subprocess
import time
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest
import redis as client

from recollect.settings import load
from tests.ops.files import COMPOSE, OPS, read_yaml
from tests.services.redis import _program
from tests.services.shared import answers, free_port


@pytest.fixture
def secrets(tmp_path: Path) -> Path:
    folder = tmp_path / "secrets"
    make(folder)
    return folder


def make(folder: Path) -> str:
    script = ["sh", str(OPS / "make-secrets.sh"), str(folder)]
    return subprocess.run(script, capture_output=True, text=True, check=True).stdout


def test_every_secret_of_the_services_is_made(secrets: Path) -> None:
    wanted = {Path(one["file"]).name for one in read_yaml(COMPOSE)["secrets"].values()}
    assert wanted == {file.name for file in secrets.iterdir()} - {"redis_password"}
    assert secrets.stat().st_mode & 0o777 == 0o700
    words = [(secrets / name).read_text().strip() for name in wanted if name.endswith(("password", "key"))]
    assert len(set(words)) == len(words)
    assert all(len(word) == 64 for word in words)


def test_what_is_there_stays_as_it_is(secrets: Path) -> None:
    before = {file.name: file.read_bytes() for file in secrets.iterdir()}
    (secrets / "audit_key").unlink()
    assert make(secrets) == "wrote audit_key\n"
    after = {file.name: file.read_bytes() for file in secrets.iterdir()}
    assert after.pop("audit_key") != before.pop("audit_key")
    assert after == before


def test_the_settings_in_it_are_read(secrets: Path) -> None:
    settings = load({"RECOLLECT_CONFIG": str(secrets / "recollect.toml"), "HOME": os.environ["HOME"]}).settings
    password = (secrets / "redis_password").read_text().strip()
    assert settings.redis_url == f"redis://recollect:{password}@redis:6379/0"
    assert set(tomllib.loads((secrets / "recollect.toml").read_text())) == {"redis_url"}


@pytest.fixture
def guarded(secrets: Path, tmp_path: Path) -> Iterator[tuple[int, str]]:
    """A Redis started as docker-compose.yml starts it: its port, and the password."""
    command = read_yaml(COMPOSE)["services"]["redis"]["command"]
    words = [word.replace("/run/secrets/", f"{secrets}/") for word in command[1:]]
    folder, port = tmp_path / "redis", free_port()
    folder.mkdir()
    where = ("--port", str(port), "--bind", "127.0.0.1", "--dir", str(folder))
    process = subprocess.Popen([_program(), *words, *where], stdout=subprocess.DEVNULL)
    try:
        until = time.monotonic() + 20
        while not answers(port, b"PING\r\n", b"+PONG"):
            assert time.monotonic() < until
            time.sleep(0.05)
        yield port, (secrets / "redis_password").read_text().strip()
    finally:
        process.terminate()
        process.wait(10)
    assert (folder / "appendonly.aof").exists() or (folder / "appendonlydir").exists()


def test_redis_lets_nobody_do_anything_without_the_password(guarded: tuple[int, str]) -> None:
    """But ping, which is what the health check does."""
    port, _ = guarded
    with client.Redis(port=port) as anybody:
        assert anybody.ping()
        for refused in (("GET", "x"), ("XADD", "s", "*", "a", "b"), ("PUBLISH", "memory.ingest", "x"), ("INFO",)):
            with pytest.raises(client.exceptions.NoPermissionError):
                anybody.execute_command(*refused)


def test_the_services_may_what_they_need_and_no_more(guarded: tuple[int, str]) -> None:
    port, password = guarded
    with client.Redis(port=port, username="recollect", password=password) as ours:
        assert ours.xadd("recollect:ingest", {"event": "{}"})
        ours.xgroup_create("recollect:ingest", "recollect", id="0")
        assert ours.xreadgroup("recollect", "me", {"recollect:ingest": ">"})
        assert ours.publish("memory.ingest", "x") == 0
        assert ours.eval("return redis.call('incr', KEYS[1])", 1, "LIMITS:x") == 1  # as rate limits are counted
        assert ours.info("server")
        for refused in (("FLUSHALL",), ("CONFIG", "GET", "*"), ("SHUTDOWN",), ("KEYS", "*"), ("ACL", "LIST")):
            with pytest.raises(client.exceptions.NoPermissionError):
                ours.execute_command(*refused)
