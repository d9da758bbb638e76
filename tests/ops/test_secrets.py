"""Secrets are made once, for their reader alone; Redis lets nobody in without one, and with it only what is needed."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest
import redis as client
import yaml

from recollect.bus.message import parse
from recollect.bus.signing import Keyring, verify
from recollect.clock import now
from recollect.settings import load
from tests.ops.files import COMPOSE, OPS, ROOT, read_yaml
from tests.services.redis import _program
from tests.services.shared import answers, free_port

APPS = {"redis_app_password", "redis_app_key"}  # for an application that publishes; no service of ours reads them


@pytest.fixture
def secrets(tmp_path: Path) -> Path:
    folder = tmp_path / "secrets"
    make(folder)
    return folder


def make(folder: Path, **variables: str) -> str:
    script = ["sh", str(OPS / "make-secrets.sh"), str(folder)]
    env = {**os.environ, **variables}
    return subprocess.run(script, capture_output=True, text=True, check=True, env=env).stdout


def test_every_secret_of_the_services_is_made(secrets: Path) -> None:
    wanted = {Path(one["file"]).name for one in read_yaml(COMPOSE)["secrets"].values()}
    made = {file.name for file in secrets.iterdir()}
    assert made == wanted | {"redis_password"} | APPS
    assert secrets.stat().st_mode & 0o777 == 0o700
    words = [(secrets / name).read_text().strip() for name in made if name.endswith(("password", "key"))]
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


def test_what_the_application_signs_with_its_key_is_its_tenants(secrets: Path, tmp_path: Path) -> None:
    make(tmp_path / "others", TENANT="acme")
    for folder, tenant in ((secrets, "local"), (tmp_path / "others", "acme")):
        file = folder / "redis_keys.json"
        file.chmod(0o600)  # in a container it need not be: see Keyring
        signer = Keyring(file).find(tenant, "app")
        assert signer is not None
        assert signer.secret == (folder / "redis_app_key").read_bytes().strip()
        assert signer.speaks


@pytest.mark.parametrize("tenant", ['a": {}, "b', "two words", "$(id)"])
def test_a_tenant_that_is_no_name_is_refused(tmp_path: Path, tenant: str) -> None:
    with pytest.raises(subprocess.CalledProcessError) as refused:
        make(tmp_path / "secrets", TENANT=tenant)
    assert "TENANT" in refused.value.stderr
    assert not (tmp_path / "secrets" / "redis_keys.json").exists()


def test_a_folder_of_an_earlier_version_gets_what_it_lacks(secrets: Path) -> None:
    """As the changelog says: without redis.acl it is written anew, with the login that the services have already."""
    before = (secrets / "redis.acl").read_text()
    for name in (*APPS, "redis_keys.json", "redis.acl"):
        (secrets / name).unlink()
    assert "wrote redis_keys.json\n" in make(secrets)
    after = (secrets / "redis.acl").read_text()
    lines = [[line for line in text.splitlines() if "user app" not in line] for text in (before, after)]
    assert lines[0] == lines[1]


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


def test_an_application_may_publish_and_nothing_else(guarded: tuple[int, str], secrets: Path) -> None:
    port, _ = guarded
    password = (secrets / "redis_app_password").read_text().strip()
    with client.Redis(port=port, username="app", password=password) as app:
        assert app.xadd("recollect:ingest", {"event": "{}"})
        assert app.publish("memory.ingest", "{}") == 0
        for refused in (
            ("XRANGE", "recollect:ingest", "-", "+"),
            ("XADD", "recollect:ingest:dead", "*", "a", "b"),
            ("XADD", "other", "*", "a", "b"),
            ("PUBLISH", "other", "x"),
            ("SUBSCRIBE", "memory.ingest"),
            ("XTRIM", "recollect:ingest", "MAXLEN", "0"),
            ("DEL", "recollect:ingest"),
            ("GET", "x"),
            ("INFO",),
        ):
            with pytest.raises(client.exceptions.NoPermissionError):
                app.execute_command(*refused)


# -- what the page shows -----------------------------------------------------------------------------------------------


def block(language: str, word: str) -> str:
    page = (ROOT / "docs" / "deploy.md").read_text(encoding="utf-8")
    [found] = [one for one in re.findall(rf"```{language}\n(.*?)```", page, re.DOTALL) if word in one]
    return str(found)


def test_an_application_joins_a_network_where_there_is_redis_alone(secrets: Path) -> None:
    theirs, ours = yaml.safe_load(block("yaml", "external")), read_yaml(COMPOSE)
    [(joined, how)] = theirs["networks"].items()
    assert how == {"external": True}
    assert ours["networks"]["bus"]["name"].replace("${NETWORK_NAME:-recollect}", "recollect") == joined
    assert ours["networks"]["bus"]["internal"] is True
    assert [name for name, service in ours["services"].items() if "bus" in service["networks"]] == ["redis"]
    for name, one in theirs["secrets"].items():
        assert Path(one["file"]).name == name
        assert (secrets / name).is_file()
    assert set(theirs["services"]["app"]["secrets"]) == set(theirs["secrets"]) == APPS


def test_what_the_application_of_the_page_publishes_is_in_the_stream(guarded: tuple[int, str], secrets: Path) -> None:
    port, password = guarded
    shown = (
        block("python", "redis_app_").replace("/run/secrets", str(secrets)).replace("redis:6379", f"127.0.0.1:{port}")
    )
    subprocess.run([sys.executable, "-c", shown], check=True)
    with client.Redis(port=port, username="recollect", password=password) as ours:
        [(_, fields)] = ours.xrange("recollect:ingest")
    (secrets / "redis_keys.json").chmod(0o600)
    message = parse(fields[b"event"], arrived=now())
    assert verify(message, Keyring(secrets / "redis_keys.json")).tenant == "local"
