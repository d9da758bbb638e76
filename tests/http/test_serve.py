"""`recollect serve` as a process: it starts anywhere, says where it is, loses nothing at its end, tells no secrets."""

from __future__ import annotations

import json
import os
import signal
import socket
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import httpx
import pytest

from recollect.http.app import SECRET_FILE
from recollect.keys import PERMISSIONS
from tests.http.conftest import LIMIT, Service

pytestmark = pytest.mark.slow
Start = Callable[..., Service]


def command(*words: str, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "recollect", *words], capture_output=True, text=True, cwd=cwd, timeout=LIMIT
    )


def test_it_starts_in_an_empty_home_and_answers(service: Service) -> None:
    with service.client() as client:
        who = client.get("/whoami").json()
        health = client.get("/health")
    assert who["permissions"] == list(PERMISSIONS)
    assert (health.status_code, health.json()["role"]) == (200, "all")
    mode = (service.data_dir / SECRET_FILE).stat().st_mode
    assert stat.S_IMODE(mode) == 0o600
    assert service.stop() == 0


def test_it_says_where_it_is_and_how_to_try_it(tmp_path: Path, own_home: Path) -> None:
    words = [sys.executable, "-m", "recollect", "serve", "--port", "0"]
    with subprocess.Popen(words, stderr=subprocess.PIPE, text=True, cwd=tmp_path) as process:
        assert process.stderr
        said, shown = process.stderr.readline(), process.stderr.readline()
        address = said.split()[1].rstrip(".")
        done = subprocess.run(["sh", "-c", shown.partition(": ")[2].strip()], capture_output=True, timeout=LIMIT)
        process.terminate()
        assert process.wait(LIMIT) == 0
    assert address.startswith("http://127.0.0.1:")
    assert b'"tenant":"local"' in done.stdout


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("--host", "0.0.0.0"), "can be reached from other machines"),  # noqa: S104
        (("--port", "1000000"), "cannot listen on"),
        (("--workers", "0"), "at least one process"),
        (("--role", "everything"), "invalid choice"),
    ],
    ids=["open", "port", "workers", "role"],
)
def test_what_cannot_be_is_said_at_once(words: tuple[str, ...], says: str, own_home: Path) -> None:
    ran = command("serve", *words)
    assert ran.returncode == 2
    assert says in ran.stderr
    assert "Traceback" not in ran.stderr


def test_a_port_that_is_taken_is_named(own_home: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        ran = command("serve", "--port", str(taken.getsockname()[1]))
    assert (ran.returncode, "Choose another --port" in ran.stderr) == (2, True)


def test_a_role_has_its_own_routes(start: Start) -> None:
    with start("--role", "retrieval").client() as client:
        assert client.post("/ingest", json={"content": "x"}).status_code == 404
        assert client.post("/search", json={"query": "x"}).status_code == 200
    with start("--role", "ingestion").client() as client:
        assert client.post("/ingest", json={"content": "x is here"}).status_code == 201
        assert client.post("/search", json={"query": "x"}).status_code == 404


def test_a_server_for_others_has_keys_and_no_secret(each_store: str, start: Start, tmp_path: Path) -> None:
    service = start("--hosted")
    where = ("--data-dir", str(tmp_path / "data"), "--tenant", "acme", "--user", "ann")
    key = command("keys", "create", "--permissions", "read,write,act", *where).stdout.strip()
    with service.client(key) as client:
        who = client.get("/whoami").json()
        assert (who["tenant"], who["user"], who["permissions"]) == ("acme", "ann", ["read", "write", "act"])
        assert who["quota"]["memories"]["limit"] == 50_000
        kept = client.post("/ingest", json={"content": "the deploy is on fridays", "user_id": "bob"})
        assert kept.status_code == 201
        assert client.get("/memories?user_id=bob").json()["memories"]
        assert not client.get("/memories").json()["memories"]
    assert not (service.data_dir / SECRET_FILE).exists()
    log = service.log.read_text()
    assert key.split("_")[2] in log
    assert key.split("_", 3)[3] not in log


def test_nothing_secret_and_no_content_is_logged(service: Service) -> None:
    """T25: neither keys nor what was said, asked or wrong."""
    secret, word = service.secret, "xylophone-marmalade"
    with service.client() as client:
        client.post("/ingest", json={"content": f"the {word} is blue"})
        client.post("/search", json={"query": word})
        client.post("/search", json={"query": [word], word: 1})
        client.get(f"/sessions/{word}", headers={"X-Request-Id": f"a {word}"})
        client.get(f"/memories?tag={word}&api_key={secret}")
        client.get(f"/{word}")
        httpx.get(f"{service.address}/whoami", headers={"Authorization": f"Bearer {word}"})
    assert service.stop() == 0
    log = service.log.read_text()
    assert log.count('"route"') >= 7
    assert word not in log
    assert secret not in log
    assert "Traceback" not in log


@pytest.mark.timed
def test_a_signal_under_load_loses_nothing(each_store: str, start: Start) -> None:
    """P48: it ends within five seconds; what was acknowledged is there, once; what was not may be sent again."""
    service = start()
    acknowledged: list[str] = []
    stop = threading.Event()

    def write(number: int) -> None:
        with service.client() as client:
            count = 0
            while not stop.is_set():
                key = f"{number}-{count}"
                event = {"session": f"s:{number}", "role": "assistant", "content": f"line {key} of it", "key": key}
                try:
                    if client.post("/v1/events", json={"events": [event]}).status_code != 202:
                        break
                except httpx.HTTPError:
                    break
                acknowledged.append(key)
                count += 1

    threads = [threading.Thread(target=write, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    until = time.monotonic() + LIMIT
    while len(acknowledged) < 50 and time.monotonic() < until:
        time.sleep(0.05)
    begun = time.monotonic()
    service.process.send_signal(signal.SIGTERM)
    assert service.process.wait(LIMIT) == 0
    assert time.monotonic() - begun < 5.5
    stop.set()
    for thread in threads:
        thread.join()
    assert len(acknowledged) >= 50
    found: list[str] = []
    with start().client() as client:
        for number in range(8):
            after, more = None, True
            while more:
                params = {"limit": 100, **({"after": after} if after else {})}
                told = client.get(f"/sessions/s:{number}/history", params=params).json()
                rows = next(value for value in told.values() if isinstance(value, list))
                found += [row["content"].split()[1] for row in rows]
                after = told.get("next_after") or told.get("next_cursor") or told.get("next")
                more = bool(after)
    assert set(acknowledged) <= set(found)
    assert len(found) == len(set(found))


@pytest.mark.timed
def test_several_processes_answer_on_one_address(start: Start) -> None:
    service = start("--workers", "2")
    with service.client() as client:
        assert all(client.get("/whoami").status_code == 200 for _ in range(20))
        children = children_of(service.process.pid)
        assert len(children) == 2
        for child in children:  # in large pages, on Linux
            assert b"GLIBC_TUNABLES=glibc.malloc.hugetlb=1" in Path(f"/proc/{child}/environ").read_bytes().split(b"\0")
            assert os.getpgid(child) == child, "Ctrl-C reaches whoever looks after them, once"
        os.kill(children[0], signal.SIGKILL)
        until = time.monotonic() + LIMIT
        while len(set(children_of(service.process.pid)) - {children[0]}) < 2 and time.monotonic() < until:
            time.sleep(0.2)
    left = children_of(service.process.pid)
    assert len(left) == 2
    begun = time.monotonic()
    assert service.stop() == 0
    assert time.monotonic() - begun < 6
    assert not any(Path(f"/proc/{child}").exists() for child in left)


def test_processes_end_with_the_one_that_looks_after_them(start: Start) -> None:
    service = start("--workers", "2")
    left = children_of(service.process.pid)
    service.process.kill()
    service.process.wait()
    until = time.monotonic() + LIMIT
    while any(Path(f"/proc/{child}").exists() for child in left) and time.monotonic() < until:
        time.sleep(0.2)
    assert not [child for child in left if Path(f"/proc/{child}").exists()]


def test_processes_that_serve_together_have_one_model(start: Start, minilm_dir: Path) -> None:
    """Its weights lie in memory once, however many answer, and each of them embeds questions with them."""
    service = start("--workers", "2", env={**os.environ, "RECOLLECT_MODEL_DIR": str(minilm_dir)})
    with service.client() as client:
        client.post("/ingest", json={"content": "The deploy goes out on Thursdays.", "content_type": "fact"})
        until = time.monotonic() + LIMIT
        while client.get("/health").json()["pending_vectors"] and time.monotonic() < until:
            time.sleep(0.1)
    children = children_of(service.process.pid)
    for _ in range(4):  # a connection each: they are shared out
        with service.client() as client:
            assert client.post("/memory/search", json={"query": "when do we deploy"}).json()["mode"] == "hybrid"
    for child in children:
        facts = dict(line.split(":") for line in Path(f"/proc/{child}/smaps_rollup").read_text().splitlines()[1:])
        assert int(facts["Shared_Dirty"].split()[0]) > 50_000, "kB: both models and what was made before"


def test_where_none_can_begin_one_says_why(tmp_path: Path, own_home: Path) -> None:
    nowhere = "postgresql://ann@127.0.0.1:1/nothing"
    words = [sys.executable, "-m", "recollect", "serve", "--workers", "2", "--port", "0", "--data-dir", str(tmp_path)]
    env = {**os.environ, "RECOLLECT_DATABASE_URL": nowhere}
    done = subprocess.run(words, capture_output=True, text=True, env=env, timeout=LIMIT)
    assert done.returncode == 1
    assert done.stderr.count("error: No connection to") == 1


def children_of(pid: int) -> list[int]:
    found = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return [int(child) for child in found]


def test_a_tenant_that_floods_is_slowed_and_another_is_not(each_store: str, start: Start, tmp_path: Path) -> None:
    """P47: A sends far more than its limit; B's every request is answered."""
    env = {**os.environ, "RECOLLECT_SERVE_RATE_PER_MINUTE": "100", "RECOLLECT_SERVE_AT_ONCE": "4"}
    service = start("--hosted", env=env)
    where = ("--data-dir", str(tmp_path / "data"), "--user", "ann", "--tenant")
    flooding, quiet = (command("keys", "create", *where, name).stdout.strip() for name in ("a", "b"))
    stop, heard = threading.Event(), []

    def flood() -> None:
        with service.client(flooding) as client:
            while not stop.is_set():
                answer = client.post("/search", json={"query": "when is the deploy"})
                heard.append((answer.status_code, answer.headers.get("retry-after")))

    threads = [threading.Thread(target=flood) for _ in range(10)]
    for thread in threads:
        thread.start()
    with service.client(quiet) as client:
        answers = []
        for _ in range(10):
            answers.append(client.post("/search", json={"query": "when is the deploy"}).status_code)
            time.sleep(0.2)
    stop.set()
    for thread in threads:
        thread.join()
    assert answers == [200] * 10
    assert {status for status, _ in heard} == {200, 429}
    assert sum(status == 200 for status, _ in heard) <= 110
    assert all(after for status, after in heard if status == 429)


@pytest.mark.timed
def test_with_redis_it_takes_events_and_says_how_that_goes(start: Start, redis_url: str) -> None:
    service = start(env={**os.environ, "REDIS_URL": redis_url})
    with service.client() as client:
        until = time.monotonic() + LIMIT
        while not (bus := client.get("/health").json()["bus"])["connected"] and time.monotonic() < until:
            time.sleep(0.2)
        assert bus["connected"]
        assert client.get("/whoami").status_code == 200
    begun = time.monotonic()
    assert service.stop() == 0
    assert time.monotonic() - begun < 6
    levels = {json.loads(line).get("level") for line in service.log.read_text().splitlines() if line.startswith("{")}
    assert "error" not in levels, "what it let go of at its end was let go of in time"


def test_the_page_is_found_by_its_verb_while_the_server_runs(start: Start, tmp_path: Path) -> None:
    """`recollect page` gives a link that opens the page once; when nothing runs it says how to start it."""
    service = start()
    found = json.loads(command("page", "--json", "--data-dir", str(service.data_dir)).stdout)
    assert found["address"] == service.address
    with httpx.Client(timeout=LIMIT) as browser:
        assert browser.get(found["page"]).headers["location"] == "/memory"
        assert browser.get(f"{service.address}/memory").status_code == 200
        assert browser.get(found["page"]).status_code == 403
    service.stop()
    gone = command("page", "--data-dir", str(service.data_dir))
    assert gone.returncode == 1
    assert "recollect serve --open" in gone.stderr
