"""Agents of a machine whose memory is on a server: hooks, MCP, watching; and a server that goes away meanwhile."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg import sql

from recollect import Recollect, Scope, hook
from recollect.pipeline.spooled import records
from recollect.settings import load
from tests.flow.conftest import Cli
from tests.flow.mcp_fixture import Talk
from tests.flow.transcripts_fixture import Agents, uid
from tests.services.postgres import Postgres
from tests.services.stores import Emptied

pytestmark = pytest.mark.slow

S, T = uid("one"), uid("two")
PORT = "Never put job state into Redis, it belongs to Postgres."


@pytest.fixture
def url(emptied: Emptied, monkeypatch: pytest.MonkeyPatch) -> str:
    found = emptied.url(0)
    monkeypatch.setenv("RECOLLECT_DATABASE_URL", found)
    return found


def until(true: Callable[[], Any], seconds: float = 30) -> bool:
    end = time.monotonic() + seconds
    while not true() and time.monotonic() < end:
        time.sleep(0.05)
    return bool(true())


def tell(session: str, path: Path, event: str = "Stop") -> None:
    """What a hook of Claude Code leaves in the data directory."""
    told = {"session_id": session, "transcript_path": str(path), "hook_event_name": event, "cwd": "/srv/app"}
    hook.capture(str(load().settings.data_dir), "claude", json.dumps(told).encode(), {})


def sessions(url: str | None = None) -> set[str]:
    with Recollect.open(url=url, scope=Scope(), background=False) as memory:
        return {session.id for session in memory.sessions()}


def test_an_mcp_server_saves_finds_and_reads_what_hooks_told_of(
    talk: Callable[..., Talk], own_home: Path, url: str
) -> None:
    agents = Agents(own_home)
    tell(S, agents.claude(S, 2))
    server = talk()
    server.greet()
    assert "added" in server.tool("memory_save", content="The build needs Node 22")
    assert "Node 22" in server.tool("memory_search", query="what does the build need")
    assert until(lambda: not records(load().settings.data_dir))
    assert server.end() == (0, "")
    assert sessions() == {f"claude:{S}"}
    assert not (load().settings.data_dir / "recollect.db").exists()


def test_when_the_server_is_away_a_tool_says_so_without_the_password(
    talk: Callable[..., Talk], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RECOLLECT_DATABASE_URL", "postgresql://ann:hunter22@127.0.0.1:1/memory")
    server = talk()
    server.greet()
    result = server.ask("tools/call", {"name": "memory_search", "arguments": {"query": "x"}})["result"]
    assert result["isError"] is True
    assert "recollect doctor" in result["content"][0]["text"]  # an agent is not told where the server is
    code, err = server.end()
    assert (code, "hunter22" in f"{result}{err}") == (0, False)


def test_watching_goes_on_when_every_connection_is_cut_and_ends_when_told(own_home: Path, url: str) -> None:
    agents = Agents(own_home)
    agents.claude(S, 1)
    words = [sys.executable, "-m", "recollect", "sweep", "--watch"]
    process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=os.environ)
    try:
        assert until(lambda: f"claude:{S}" in sessions())
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'recollect' "
                "AND datname = current_database() AND pid <> pg_backend_pid()"
            )
        tell(T, agents.claude(T, 2))
        assert until(lambda: f"claude:{T}" in sessions())
        process.send_signal(signal.SIGTERM)
        _, err = process.communicate(timeout=20)
    finally:
        if process.poll() is None:
            process.kill()
            process.communicate()
    assert (process.returncode, "Traceback" in err) == (0, False)


@pytest.mark.soak
def test_watching_outlasts_a_server_that_is_away_for_long(
    own_home: Path, postgres: Postgres, postgres_url: str
) -> None:
    agents, env = Agents(own_home), {**os.environ, "RECOLLECT_DATABASE_URL": postgres_url}
    name = sql.Identifier(postgres_url.rpartition("/")[2])
    words = [sys.executable, "-m", "recollect", "sweep", "--watch"]
    agents.claude(S, 1)
    process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=env)
    try:
        assert until(lambda: f"claude:{S}" in sessions(postgres_url))
        postgres.run(sql.SQL("ALTER DATABASE {} ALLOW_CONNECTIONS false").format(name))
        postgres.run(
            sql.SQL("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = {}").format(
                sql.Literal(postgres_url.rpartition("/")[2])
            )
        )
        tell(T, agents.claude(T, 2))
        time.sleep(40)
        assert process.poll() is None
        postgres.run(sql.SQL("ALTER DATABASE {} ALLOW_CONNECTIONS true").format(name))
        assert until(lambda: f"claude:{T}" in sessions(postgres_url), 60)
        process.send_signal(signal.SIGTERM)
        _, err = process.communicate(timeout=20)
    finally:
        if process.poll() is None:
            process.kill()
            process.communicate()
    assert (process.returncode, err.count("Still watching")) == (0, 1)


def test_the_next_run_begins_with_what_the_server_holds(cli: Cli, own_home: Path, url: str, work: Path) -> None:
    """What hooks show is laid ready on this machine; the hook itself asks no server."""
    cli("remember", PORT, "--kind", "preference", "--all-projects")
    cli("sweep")
    data = str(load().settings.data_dir)
    body = {"session_id": S, "hook_event_name": "SessionStart", "source": "startup", "cwd": str(work)}
    away = {**os.environ, "RECOLLECT_DATABASE_URL": "postgresql://127.0.0.1:1/away"}
    answer = hook.reply(data, "claude", json.dumps(body).encode(), away, time.monotonic() + 5)
    assert PORT.split(",")[0] in answer.decode()


def test_hooks_fill_the_spool_while_the_server_is_away_and_nothing_is_lost(
    cli: Cli, own_home: Path, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    agents = Agents(own_home)
    with monkeypatch.context() as away:
        away.setenv("RECOLLECT_DATABASE_URL", "postgresql://127.0.0.1:1/away")
        tell(S, agents.claude(S, 2))
        assert cli("sweep").code == 1
        assert records(load().settings.data_dir)
    assert cli("sweep", "--spool").code == 0
    assert not records(load().settings.data_dir)
    assert sessions() == {f"claude:{S}"}
