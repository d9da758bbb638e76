"""`recollect sweep` as a user starts it: what it says, what it returns, what it never touches, how it ends."""

from __future__ import annotations

import fcntl
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from recollect import hook
from recollect.store.sqlite.store import SqliteStore
from tests.flow.conftest import Cli
from tests.flow.transcripts_fixture import Agents, uid

S, T = uid("one"), uid("two")


@pytest.fixture
def agents(own_home: Path) -> Agents:
    return Agents(own_home)


@pytest.fixture
def data_dir(own_home: Path) -> Path:
    return own_home / ".local" / "share" / "recollect"


def contents(folder: Path) -> dict[str, bytes | None]:
    """Every file and directory below, with its bytes."""
    return {str(path): path.read_bytes() if path.is_file() else None for path in sorted(folder.rglob("*"))}


# -- what it says ------------------------------------------------------------------------------------------------------


def test_the_report_in_words(cli: Cli, agents: Agents) -> None:
    agents.claude(S, 2)
    ran = cli("sweep")
    assert ran.code == 0
    assert "discovered 1 / ingested 1 / skipped_unchanged 0 / analyzed 1 / failed 0" in ran.out
    assert "retention: freed 0 B, final_usage 0 B, age=0 soft=0 hard=0" in ran.out
    assert "skipped_unchanged 1" in cli("sweep").out


def test_the_report_as_json(cli: Cli, agents: Agents) -> None:
    agents.claude(S, 2)
    agents.claude_path(T).mkdir()
    found = cli("sweep", "--json").json
    assert {name: found[name] for name in ("discovered", "ingested", "skipped_unchanged", "analyzed", "failed")} == {
        "discovered": 2,
        "ingested": 1,
        "skipped_unchanged": 0,
        "analyzed": 1,
        "failed": 1,
    }
    assert found["by_agent"] == {"claude": 1}
    assert found["problems"][0]["transcript"].endswith(f"{T}.jsonl")
    assert found["retention"].keys() == {"freed", "final_usage", "passes", "data_loss", "alert"}
    assert found["dry_run"] is False


def test_the_report_tells_what_hooks_brought(cli: Cli, agents: Agents, data_dir: Path) -> None:
    path = agents.claude(S, 1, said="We always deploy on Tuesdays, never on Fridays. Remember that.")
    body = json.dumps({"session_id": S, "transcript_path": str(path), "hook_event_name": "Stop"}).encode()
    hook.capture(str(data_dir), "claude", body, {})
    ran = cli("sweep")
    assert ran.out.startswith("1 record of hooks: 1 session, ")
    assert "ingested 0 / skipped_unchanged 1" in ran.out
    assert "  memories: 1 added" in ran.out
    assert "of hooks" not in cli("sweep").out
    agents.claude(S, 3)
    hook.capture(str(data_dir), "claude", body, {})
    told = cli("sweep", "--json").json["hooks"]
    assert (told["records"], told["report"]["ingested"]) == (1, 1)
    assert cli("sweep", "--dry-run", "--json").json["hooks"] is None


def test_only_a_sweep_that_could_read_nothing_fails(cli: Cli, agents: Agents) -> None:
    assert cli("sweep").code == 0  # nothing there at all
    agents.claude_path(T).mkdir()
    failed = cli("sweep")
    assert failed.code == 1
    assert f"{T}.jsonl" in failed.err
    agents.claude(S, 1)
    assert cli("sweep").code == 0
    assert cli("sweep").code == 0


@pytest.mark.parametrize(
    ("word", "said"),
    [("walrus", "walrus"), ("=x", ""), ("claude=/nowhere/at/all", "/nowhere/at/all"), ("claude=", "not a directory")],
    ids=["unknown agent", "no agent", "no directory", "empty directory"],
)
def test_a_source_that_cannot_be_is_said_clearly(cli: Cli, word: str, said: str) -> None:
    ran = cli("sweep", "--source", word)
    assert ran.code == 2
    assert said in ran.err
    assert json.loads(cli("sweep", "--json", "--source", word).out)["error"]["code"] == "invalid_input"


def test_a_source_narrows_the_sweep(cli: Cli, agents: Agents, tmp_path: Path) -> None:
    agents.claude(S, 1)
    agents.codex(T, 1)
    elsewhere = Agents(tmp_path / "elsewhere")
    elsewhere.codex(uid("three"), 1)
    assert cli("sweep", "--json", "--source", "codex").json["by_agent"] == {"codex": 1}
    assert cli("sweep", "--json", "--source", f"codex={elsewhere.codex_root}").json["ingested"] == 1
    assert cli("sweep", "--json").json["by_agent"] == {"claude": 1}


# -- dry ---------------------------------------------------------------------------------------------------------------


def test_a_dry_run_makes_no_data_directory(cli: Cli, agents: Agents, data_dir: Path) -> None:
    agents.claude(S, 2)
    before = contents(agents.home)
    ran = cli("sweep", "--dry-run")
    assert ran.code == 0
    assert "would be ingested 1" in ran.out
    assert not data_dir.exists()
    assert contents(agents.home) == before


def test_a_dry_run_changes_no_byte(cli: Cli, agents: Agents, data_dir: Path) -> None:
    agents.claude(S, 2)
    cli("remember", "something")
    hook.capture(str(data_dir), "claude", b'{"session_id": "s"}', {})
    agents.claude(T, 3, output="x" * 100_000)
    agents.claude_path(uid("bad")).mkdir()
    before = contents(data_dir)
    found = cli("sweep", "--dry-run", "--json").json
    assert (found["ingested"], found["failed"], found["events_added"], found["dry_run"]) == (2, 1, 0, True)
    assert contents(data_dir) == before
    cli("sweep")
    before = contents(data_dir)
    assert cli("sweep", "--dry-run", "--json").json["skipped_unchanged"] == 2
    assert contents(data_dir) == before


@pytest.mark.parametrize("other", ["--watch", "--spool"])
def test_a_dry_run_goes_with_nothing_that_writes(cli: Cli, other: str) -> None:
    assert cli("sweep", "--dry-run", other).code == 2


# -- one at a time -----------------------------------------------------------------------------------------------------


def test_a_second_sweep_says_that_one_is_running(command: Cli, cli: Cli, agents: Agents, data_dir: Path) -> None:
    agents.claude(S, 2)
    cli("remember", "something")
    with (data_dir / "sweep.lock").open("w") as lock:
        (data_dir / "sweep.lock").chmod(0o600)
        fcntl.flock(lock, fcntl.LOCK_EX)
        ran = command("sweep")
        assert ran.code == 0
        assert "Another sweep is running" in ran.err
        assert command("sweep", "--json").json["busy"] is True
    assert cli("sweep", "--json").json["ingested"] == 1


# -- watching ----------------------------------------------------------------------------------------------------------


@contextmanager
def watching(home: Path, *words: str) -> Iterator[subprocess.Popen[str]]:
    process = subprocess.Popen(
        [sys.executable, "-m", "recollect", "sweep", "--watch", *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "HOME": str(home)},
    )
    try:
        yield process
    finally:
        if process.poll() is None:
            process.kill()
        process.communicate()


def until(what: Callable[[], bool], seconds: float = 30) -> None:
    end = time.monotonic() + seconds
    while not what():
        assert time.monotonic() < end, "it did not happen in time"
        time.sleep(0.05)


def known(data_dir: Path, session: str) -> bool:
    from recollect.model import Scope

    if not (data_dir / "recollect.db").exists():
        return False
    store = SqliteStore(data_dir)
    try:
        return bool(store.sessions.get(Scope("local"), session))
    finally:
        store.close()


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=lambda number: number.name)
def test_watching_takes_in_what_hooks_tell_of_and_ends_when_told(
    agents: Agents, data_dir: Path, number: signal.Signals
) -> None:
    agents.claude(S, 1)
    with watching(agents.home) as process:
        until(lambda: known(data_dir, f"claude:{S}"))
        path = agents.claude(T, 2)
        body = json.dumps({"session_id": T, "transcript_path": str(path), "hook_event_name": "Stop"}).encode()
        hook.capture(str(data_dir), "claude", body, {})
        until(lambda: known(data_dir, f"claude:{T}") and not list((data_dir / "spool").glob("*.record")))
        process.send_signal(number)
        _, err = process.communicate(timeout=20)
    assert process.returncode == (0 if number == signal.SIGTERM else 130)  # a service that is stopped did not fail
    assert "Traceback" not in err
    assert not (data_dir / "recollect.db-wal").exists()  # it closed the store
    assert not list((data_dir / "spool").glob("*.record"))
