"""A server of one's own takes in what hooks leave, as it comes; pages say what waits and when something came."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from recollect import Recollect, hook
from recollect.pipeline.spooled import records
from tests.flow.transcripts_fixture import Agents, uid
from tests.http.conftest import Service
from tests.web.conftest import Web

Open = Callable[..., Web]


def tell(data_dir: Path, session: str, path: Path | None) -> None:
    """What a hook of Claude Code leaves."""
    told = {"session_id": session, "transcript_path": path, "hook_event_name": "Stop", "cwd": "/srv/app"}
    hook.capture(str(data_dir), "claude", json.dumps(told, default=str).encode(), {})


def until(true: Callable[[], Any], seconds: float = 20) -> bool:
    end = time.monotonic() + seconds
    while not true() and time.monotonic() < end:
        time.sleep(0.05)
    return bool(true())


@pytest.fixture
def start(tmp_path: Path, own_home: Path) -> Iterator[Callable[..., Service]]:
    """Starts the real server on one data directory: start("--hosted")."""
    made: list[Service] = []

    def begin(*words: str) -> Service:
        env = {"PATH": os.environ["PATH"], "HOME": str(own_home), "LANG": "C.UTF-8", "RECOLLECT_EMBEDDER": "none"}
        made.append(Service(tmp_path, *words, env=env))
        return made[-1]

    yield begin
    for one in made:
        one.close()


def sessions(service: Service) -> set[str]:
    with Recollect.open(service.data_dir, background=False, embedder=None) as memory:
        return {one.id for one in memory.sessions()}


@pytest.mark.parametrize("words", [(), ("--workers", "2")], ids=["alone", "two processes"])
def test_what_hooks_leave_is_taken_in_as_it_comes(
    start: Callable[..., Service], own_home: Path, words: tuple[str, ...]
) -> None:
    service, agents, one = start(*words), Agents(own_home), uid("one")
    tell(service.data_dir, one, agents.claude(one, 2))
    assert until(lambda: not records(service.data_dir))
    assert sessions(service) == {f"claude:{one}"}
    assert service.stop() == 0


def test_what_is_switched_off_meanwhile_is_not(start: Callable[..., Service], own_home: Path) -> None:
    """The page changes the settings of a server that runs."""
    service, agents, one = start(), Agents(own_home), uid("one")
    config = own_home / ".config" / "recollect" / "config.toml"
    config.parent.mkdir(parents=True, exist_ok=True)
    config.write_text('capture_off = ["claude"]\n')
    tell(service.data_dir, one, agents.claude(one, 2))
    assert until(lambda: not records(service.data_dir))
    assert sessions(service) == set()


@pytest.mark.parametrize("words", [("--hosted",), ("--no-worker",)])
def test_a_server_for_others_or_without_work_leaves_it(
    start: Callable[..., Service], own_home: Path, words: tuple[str, ...]
) -> None:
    service, agents, one = start(*words), Agents(own_home), uid("one")
    tell(service.data_dir, one, agents.claude(one, 2))
    time.sleep(3)
    assert len(records(service.data_dir)) == 1


@pytest.mark.parametrize("address", ["/page/live", "/page/insights", "/page/control/about"])
def test_pages_say_what_waits_and_when_something_came(web: Open, address: str) -> None:
    one = web()
    assert "Nothing was taken in yet." in one.says(address)
    one.memory.record("chat:1", "user", "hello")
    one.clock.now += timedelta(minutes=7)
    assert "Last taken in 7 minutes ago; nothing waits." in one.says(address).replace(" ;", ";")
    tell(one.data_dir, uid("one"), None)
    tell(one.data_dir, uid("two"), None)
    assert "Last taken in 7 minutes ago; 2 records of hooks wait." in one.says(address).replace(" ;", ";")


@pytest.mark.parametrize("address", ["/page/live", "/page/insights", "/page/control/about"])
def test_others_are_not_told_what_waits_on_the_machine(web: Open, address: str) -> None:
    one = web(hosted=True)
    tell(one.data_dir, uid("one"), None)
    assert "records of hooks" not in one.says(address)
