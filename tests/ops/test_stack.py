"""S1.61, S1.90: what docker-compose.yml starts, started as it says but without containers: it works, and it ends."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
import redis

from recollect.bus.signing import Signer, sign
from recollect.clock import iso, now
from tests.ops.files import COMPOSE, OPS, read_yaml
from tests.ops.test_secrets import make
from tests.services import postgres as postgres_server
from tests.services.redis import _program
from tests.services.shared import free_port

pytestmark = pytest.mark.slow
SERVICES = {"memory-ingestion": "8001", "memory-retrieval": "8002", "worker": "9102"}
PATIENCE = 60.0


@dataclass
class Stack:
    """The services of the file, in processes, with their ports and secrets put where they are here."""

    folder: Path
    database: str
    redis_port: int
    ports: dict[str, int]
    running: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)

    def environment(self, service: dict[str, Any]) -> dict[str, str]:
        parts = urlsplit(self.database)
        given = {name: self._here(str(value)) for name, value in service["environment"].items()}
        here = {
            "DB_HOST": str(parts.hostname),
            "DB_PORT": str(parts.port),
            "RECOLLECT_DATA_DIR": str(self.folder / "data"),
        }
        return {**os.environ, **given, **here}

    def command(self, service: dict[str, Any], *instead: str) -> list[str]:
        words = [self._here(word) for word in instead or service["command"]]
        return [sys.executable, "-m", "recollect", *words]

    def run(self, name: str, *instead: str) -> str:
        """Run a service that ends; returns what it said."""
        service = read_yaml(COMPOSE)["services"][name]
        ended = subprocess.run(
            self.command(service, *instead), env=self.environment(service), capture_output=True, text=True
        )
        assert ended.returncode == 0, ended.stderr
        return ended.stdout

    def start(self, name: str) -> None:
        service = read_yaml(COMPOSE)["services"][name]
        with (self.folder / f"{name}.log").open("ab") as log:
            self.running[name] = subprocess.Popen(
                self.command(service), env=self.environment(service), stdout=log, stderr=log
            )

    def wait_until_healthy(self, name: str) -> None:
        """By the health check of the file."""
        test = [self._here(word) for word in read_yaml(COMPOSE)["services"][name]["healthcheck"]["test"][1:]]
        until = time.monotonic() + PATIENCE
        while subprocess.run([sys.executable, *test[1:]], capture_output=True).returncode:
            assert self.running[name].poll() is None, (self.folder / f"{name}.log").read_text()
            assert time.monotonic() < until, (self.folder / f"{name}.log").read_text()
            time.sleep(0.2)

    def ask(self, name: str, path: str, body: object = None, key: str = "") -> tuple[int, Any]:
        request = urllib.request.Request(
            f"http://127.0.0.1:{self.ports[name]}{path}",
            data=None if body is None else json.dumps(body).encode(),
            headers={"Content-Type": "application/json", **({"X-API-Key": key} if key else {})},
        )
        try:
            with urllib.request.urlopen(request, timeout=30) as answer:  # noqa: S310
                text = answer.read().decode()
                return answer.status, json.loads(text) if text.startswith("{") else text
        except urllib.error.HTTPError as error:
            with error:
                return error.code, json.loads(error.read())

    def stop(self, name: str) -> float:
        began = time.monotonic()
        self.running[name].send_signal(signal.SIGTERM)
        self.running[name].wait(PATIENCE)
        return time.monotonic() - began

    def _here(self, word: str) -> str:
        word = re.sub(r"\$\{\w+:-([^}]*)\}", r"\1", word).replace("/run/secrets/", f"{self.folder / 'secrets'}/")
        word = word.replace("/opt/healthcheck.py", str(OPS / "healthcheck.py"))
        word = "127.0.0.1" if word == "0.0.0.0" else word  # noqa: S104  it is what must not be here
        for name, port in SERVICES.items():
            word = re.sub(rf"(^|:){port}\b", rf"\g<1>{self.ports[name]}", word)
        return word


@pytest.fixture
def stack(tmp_path: Path) -> Iterator[Stack]:
    if os.environ.get(postgres_server.VARIABLE) or shutil.which("psql") is None:
        pytest.skip("needs a server of its own, and psql")
    secrets, redis_port = tmp_path / "secrets", free_port()
    make(secrets)
    settings = (secrets / "recollect.toml").read_text().replace("@redis:6379", f"@127.0.0.1:{redis_port}")
    for name in ("recollect.toml", "redis_keys.json"):  # private, as what is mounted into a container need not be
        (secrets / name).chmod(0o600)
    (secrets / "recollect.toml").write_text(settings)
    with postgres_server.running(tmp_path, "stack-postgres") as server:
        script = (OPS / "postgres" / "init.sql").read_text().replace("/run/secrets/", f"{secrets}/")
        (tmp_path / "init.sql").write_text(script)
        named = {**os.environ, "DB_USER": "recollect_owner", "DB_NAME": "recollect"}
        command = ["psql", "--no-psqlrc", "-v", "ON_ERROR_STOP=1", "-f", str(tmp_path / "init.sql"), server.url]
        subprocess.run(command, env=named, check=True, capture_output=True)
        made = Stack(tmp_path, server.url, redis_port, {name: free_port() for name in SERVICES})
        words = [made._here(word) for word in read_yaml(COMPOSE)["services"]["redis"]["command"][1:]]
        (tmp_path / "redis").mkdir()
        where = ["--port", str(redis_port), "--bind", "127.0.0.1", "--dir", str(tmp_path / "redis")]
        server_of_redis = subprocess.Popen([_program(), *words, *where], stdout=subprocess.DEVNULL)
        try:
            yield made
        finally:
            for process in (*made.running.values(), server_of_redis):
                process.kill()
                process.wait(PATIENCE)


def test_the_services_of_compose_work_together_and_end_when_told(stack: Stack) -> None:
    stack.run("database-init")
    for name in SERVICES:
        stack.start(name)
    for name in SERVICES:
        stack.wait_until_healthy(name)
    made = ("keys", "create", "--tenant", "acme", "--user", "app", "--permissions", "read,write,act")
    key = stack.run("admin", *made).strip()

    body = {"content": "The staging database listens on port 5433", "content_type": "fact", "user_id": "ann"}
    status, stored = stack.ask("memory-ingestion", "/ingest", body, key)
    assert (status, stored["status"]) == (201, "stored")
    question = {"query": "which port has the staging database", "user_id": "ann"}
    status, found = stack.ask("memory-retrieval", "/search", question, key)
    assert status == 200
    assert [hit["id"] for hit in found["results"]] == [stored["memory_id"]]
    assert stack.ask("memory-retrieval", "/search", {**question, "user_id": "bob"}, key)[1]["results"] == []
    assert stack.ask("memory-retrieval", "/search", question)[0] == 401

    turn = {"user_message": "Where do we deploy?", "assistant_message": "To eu-west-1.", "user_id": "ann"}
    assert stack.ask("memory-ingestion", "/memory/ingest", turn, key)[0] == 202
    until = time.monotonic() + PATIENCE
    while 'recollect_tasks_total{kind="distill",outcome="done"} 0.0' in stack.ask("worker", "/metrics")[1]:
        assert time.monotonic() < until, "the worker did not do what was put into the queue"
        time.sleep(0.3)

    own = stack.run("admin", "keys", "create", "--tenant", "local", "--user", "ann", "--permissions", "read").strip()
    about = {"source": "test", "timestamp": iso(now())}
    event = {"event_type": "memory.fact", "content": "The canary is called Tweety", "user_id": "ann", "metadata": about}
    password, secret = (
        (stack.folder / "secrets" / f"redis_app_{name}").read_text().strip() for name in ("password", "key")
    )
    signed = sign(event, Signer("local", "app", secret.encode()), at=now())
    with redis.Redis(port=stack.redis_port, username="app", password=password) as publisher:
        assert publisher.publish("memory.ingest", json.dumps(signed)) == 1, "nobody listens"
        publisher.xadd("recollect:ingest", {"event": json.dumps({**event, "content": "Nobody signed this walrus"})})
    asked = {"query": "what is the canary called"}
    while not (found := stack.ask("memory-retrieval", "/search", asked, own)[1]["results"]):
        assert time.monotonic() < until + PATIENCE, "what was published did not arrive"
        time.sleep(0.3)
    assert "Tweety" in found[0]["content"]
    while 'recollect_bus_messages_total{outcome="dead"} 1.0' not in (told := stack.ask("worker", "/metrics")[1]):
        assert time.monotonic() < until + PATIENCE, "what nobody signed is not dead"
        time.sleep(0.3)
    assert 'recollect_bus_messages_total{outcome="added"} 1.0' in told
    assert 'recollect_ingested_total{way="bus"} 1.0' in told
    assert stack.ask("worker", "/health")[1]["bus"]["connected"]
    assert "forged" in stack.run("admin", "bus", "dead")
    assert json.loads(stack.run("admin", "bus", "drop", "all", "--yes", "--json"))["dropped"] == 1

    assert stack.ask("memory-ingestion", "/metrics", key=key)[0] == 403, "they are of all tenants"
    monitor = stack.run(
        "admin", "keys", "create", "--tenant", "ops", "--user", "monitor", "--permissions", "admin"
    ).strip()
    figures = stack.ask("memory-ingestion", "/metrics", key=monitor)[1]
    assert 'recollect_ingested_total{way="ingest"} 1.0' in figures
    assert 'recollect_reader_up{reader="queue"} 1.0' in figures
    for name in SERVICES:
        assert stack.stop(name) < 15, f"{name} took longer than compose waits"  # 5 s on a machine that has time
        assert stack.running[name].returncode == 0
        assert "Traceback" not in (stack.folder / f"{name}.log").read_text()
    logs = "".join((stack.folder / f"{name}.log").read_text() for name in SERVICES)
    assert "staging" not in logs
    assert "eu-west-1" not in logs
    assert key.rpartition("_")[2] not in logs
