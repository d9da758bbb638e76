"""What hooks tell of is read from the agents' own files; every way a run can come in leaves the same rows."""

from __future__ import annotations

import json
import os
import sys
import tempfile
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from itertools import permutations
from pathlib import Path
from typing import Any

import pytest

from recollect import Recollect, hook
from recollect.capture.beneath import open_beneath
from recollect.capture.spool import Spool
from recollect.errors import BadTranscript
from tests.faults.children import Say, start
from tests.flow.memory_fixture import HandClock
from tests.flow.transcripts_fixture import Agents, claude, claude_turn, everything, fresh, grow, texts, uid

S, T = uid("one"), uid("two")
CLAUDE = f"claude:{S}"


@pytest.fixture
def agents(own_home: Path) -> Agents:
    return Agents(own_home)


@pytest.fixture(autouse=True)
def an_hour_later(clock: HandClock) -> None:
    """Records bear the time of this machine; they are read an hour after."""
    clock.now = datetime.now(UTC) + timedelta(hours=1)


def tell(memory: Recollect, session: object, path: object = None, agent: str = "claude", **more: Any) -> None:
    """What a hook of the agent would leave."""
    told = {"session_id": session, "transcript_path": path, "hook_event_name": "Stop", "cwd": "/srv/app", **more}
    hook.capture(str(memory.settings.data_dir), agent, json.dumps(told, default=str).encode(), {})


def spooled(memory: Recollect) -> list[Path]:
    return list((memory.settings.data_dir / "spool").glob("*.record"))


# -- what a record leads to --------------------------------------------------------------------------------------------


def test_a_record_leads_to_its_transcript_and_is_gone(memory: Recollect, agents: Agents) -> None:
    path = agents.claude(S, 3)
    agents.claude(T, 1)  # nobody told of this one
    tell(memory, S, path)
    drained = memory.drain()
    assert (drained.records, drained.refused, drained.missing) == (1, 0, [])
    assert (drained.report.ingested, drained.report.events_added, drained.report.analyzed) == (1, 12, 1)
    assert {event.way for event in memory.history(CLAUDE)} == {"hook"}
    assert memory.digest(CLAUDE) is not None
    assert memory.store.sessions.get(memory.scope, f"claude:{T}") is None
    assert spooled(memory) == []
    assert memory.drain().records == 0


def test_many_records_of_one_session_read_it_once(memory: Recollect, agents: Agents) -> None:
    """P21: publish twice, effect once."""
    path = agents.claude(S, 3)
    for _ in range(20):
        tell(memory, S, path)
    drained = memory.drain()
    assert (drained.records, drained.report.discovered) == (20, 1)
    assert everything(memory) == fresh(memory)


def test_records_in_any_order_give_the_same(memory: Recollect, agents: Agents) -> None:
    """P21: of two sessions, told of in turns, while both grow."""
    paths = {S: agents.claude(S, 0), T: agents.claude(T, 0)}
    for number, session in enumerate([S, T, T, S, S, T, S, T]):
        grow(paths[session], claude_turn(session, number))
        tell(memory, session, paths[session], hook_event_name=("UserPromptSubmit", "Stop", "PreCompact")[number % 3])
        if number % 3 == 0:
            memory.drain()
    memory.drain()
    assert everything(memory) == fresh(memory)


def test_a_session_without_a_transcript_brings_its_words(memory: Recollect) -> None:
    tell(memory, S, None, prompt="Where does it listen?", hook_event_name="UserPromptSubmit", turn_id="t1")
    tell(memory, S, None, last_assistant_message="On port 5433.", turn_id="t1")
    memory.drain()
    assert texts(memory, CLAUDE) == ["Where does it listen?", "On port 5433."]
    session = memory.store.sessions.get(memory.scope.within(None), CLAUDE)
    assert session is not None
    assert (session.project, session.cwd) == ("/srv/app", "/srv/app")


def test_a_record_that_is_told_of_again_after_a_crash_adds_nothing(memory: Recollect, agents: Agents) -> None:
    """P21: whoever dies between storing and finishing leaves the record to the next one."""
    path = agents.claude(S, 2)
    tell(memory, S, path)
    tell(memory, T, None, prompt="Only a hook knows this.", hook_event_name="UserPromptSubmit")
    kept = {record: record.read_bytes() for record in spooled(memory)}
    memory.drain()
    before = everything(memory)
    for _ in range(3):
        for record, data in kept.items():
            record.write_bytes(data)
        drained = memory.drain()
        assert (drained.records, drained.report.events_added) == (2, 0)
    assert everything(memory) == before


def test_a_transcript_that_never_comes_is_named(memory: Recollect, agents: Agents) -> None:
    tell(memory, S, agents.claude_path(S))
    assert memory.drain().missing == [CLAUDE]
    assert spooled(memory) == []


def test_a_transcript_that_is_late_is_waited_for(memory: Recollect, agents: Agents, clock: HandClock) -> None:
    """The first hooks of a session come before its file."""
    clock.now = datetime.now(UTC)
    tell(memory, S, agents.claude_path(S), prompt="Please do thing 0.", hook_event_name="UserPromptSubmit")
    drained = memory.drain()
    assert (drained.waiting, drained.records, drained.missing) == (1, 0, [])
    agents.claude(S, 1)
    assert memory.drain().records == 1
    assert everything(memory) == fresh(memory)


def test_a_second_reader_is_told_that_one_is_at_it(memory: Recollect) -> None:
    tell(memory, S)
    with Spool(memory.settings.data_dir).alone():
        assert memory.drain().busy
    assert memory.drain().records == 1


def test_a_digest_that_cannot_be_made_leaves_no_record_stuck(
    memory: Recollect, agents: Agents, monkeypatch: pytest.MonkeyPatch
) -> None:
    """P26."""
    from recollect.pipeline import digests

    def failing(*given: object) -> None:
        raise RuntimeError("the distiller is out")

    path = agents.claude(S, 2)
    tell(memory, S, path)
    monkeypatch.setattr(digests, "digest_of", failing)
    drained = memory.drain()
    assert drained.report.problems[0]["transcript"] == CLAUDE
    assert spooled(memory) == []
    monkeypatch.undo()
    assert memory.sweep().analyzed == 1


def test_bad_records_are_put_aside_and_the_rest_is_read(memory: Recollect, agents: Agents) -> None:
    path = agents.claude(S, 1)
    tell(memory, T)
    (forged,) = spooled(memory)
    real = forged.read_bytes()
    forged.write_bytes(real[:-1] + bytes([real[-1] ^ 1]))
    tell(memory, S, path)
    for junk in (b"[]", b"\xff", b'{"session_id": {"a": 1}}', b'{"session_id": ""}', b""):
        hook.capture(str(memory.settings.data_dir), "claude", junk, {})
    drained = memory.drain()
    assert (drained.refused, drained.records) == (1, 6)
    assert len(memory.history(CLAUDE)) == 4


# -- three ways, one result --------------------------------------------------------------------------------------------

WAYS: dict[str, Callable[[Recollect, Path], object]] = {
    "hook": lambda memory, path: (tell(memory, S, path), memory.drain()),
    "sweep": lambda memory, path: memory.sweep(),
    "backfill": lambda memory, path: memory.backfill("claude"),
}


@pytest.mark.parametrize("order", list(permutations(WAYS)), ids="-".join)
def test_the_same_run_by_all_ways_in_any_order_is_there_once(
    memory: Recollect, agents: Agents, order: tuple[str, ...]
) -> None:
    """P29: the file is the same for all of them; then once more, then replayed ten times."""
    path = agents.claude(S, 3, output="z" * 70_000)
    agents.subagent(S, "x1")
    for way in order:
        WAYS[way](memory, path)
    rows = everything(memory)
    assert rows == fresh(memory)
    for way in order * 4:
        WAYS[way](memory, path)
    assert everything(memory) == rows


@pytest.mark.parametrize("order", list(permutations(WAYS)), ids="-".join)
def test_a_run_that_grows_between_the_ways_is_there_once(
    memory: Recollect, agents: Agents, order: tuple[str, ...]
) -> None:
    """P29."""
    path = agents.claude(S, 1)
    for number, way in enumerate(order, 1):
        WAYS[way](memory, path)
        grow(path, claude(S, 2, first=2 * number))
    memory.sweep()
    assert everything(memory) == fresh(memory)
    assert memory.coverage().totals()["ways"].keys() == WAYS.keys()


# -- paths are claims --------------------------------------------------------------------------------------------------


def hostile(tmp_path: Path, root: Path) -> dict[str, str]:
    """Where a notice could point that must not be read; each file that exists holds the word `canary`."""
    outside = tmp_path / "outside.jsonl"
    outside.write_text(json.dumps({**claude_turn(T, 0, "canary outside")[0]}) + "\n")
    inside = root / "-srv-app"
    inside.mkdir(parents=True, exist_ok=True)
    (tmp_path / "folder.jsonl").mkdir()
    os.mkfifo(tmp_path / "pipe.jsonl")
    (tmp_path / "dangling.jsonl").symlink_to(tmp_path / "nowhere")
    links = {"out": outside, "passwd": Path("/etc/passwd"), "gone": tmp_path / "nowhere", "loop": inside / "loop.jsonl"}
    for name, target in links.items():
        (inside / f"{name}.jsonl").symlink_to(target)
    (inside / "linked").symlink_to(tmp_path)
    os.mkfifo(inside / "pipe.jsonl")
    return {
        "up": "../../etc/passwd",
        "up from the root": f"{inside}/../../../../../etc/passwd",
        "up and outside": f"{inside}/../../../../outside.jsonl",
        "passwd": "/etc/passwd",
        "environment": "/proc/self/environ",
        "memory": "/proc/self/mem",
        "handle": "/dev/fd/0",
        "random": "/dev/urandom",
        "zero": "/dev/zero",
        "full": "/dev/full",
        "terminal": "/dev/tty",
        "pipe outside": str(tmp_path / "pipe.jsonl"),
        "pipe inside": str(inside / "pipe.jsonl"),
        "folder outside": str(tmp_path / "folder.jsonl"),
        "the root": str(root),
        "dangling": str(tmp_path / "dangling.jsonl"),
        "outside": str(outside),
        "link out": str(inside / "out.jsonl"),
        "link to passwd": str(inside / "passwd.jsonl"),
        "link to nothing": str(inside / "gone.jsonl"),
        "link to itself": str(inside / "loop.jsonl"),
        "through a linked folder": str(inside / "linked" / "outside.jsonl"),
        "NUL": f"{inside}/x\0.jsonl",
        "too long": "/" + "a/" * 2047 + "x",
        "longer": "/" + "b" * 10_000,
        "URL": "https://example.org/x.jsonl",
        "file URL": "file:///etc/passwd",
        "UNC": "\\\\server\\share\\x.jsonl",
        "home": "~/.ssh/id_rsa",
        "variable": "$HOME/.netrc",
        "shell": "$(touch /tmp/x).jsonl",
        "empty": "",
        "space": " ",
        "newline": f"{inside}/a\nb.jsonl",
        "not text": '["/etc/passwd"]',
        "surrogate": f"{inside}/\ud800.jsonl",
        "other agent": str(Path.home() / ".codex" / "auth.json"),
    }


@pytest.mark.timed
def test_no_byte_outside_the_roots_is_read(memory: Recollect, agents: Agents, tmp_path: Path) -> None:
    """T13: paths of every hostile kind; each is over within half a second, and what they point to is not kept."""
    payloads = hostile(tmp_path, agents.claude_root)
    assert len(payloads) >= 30
    for name, path in payloads.items():
        began = time.monotonic()
        tell(memory, uid(name), path)
        tell(memory, uid(name), agents.claude_path(uid("none")), agent_transcript_path=path)
        drained = memory.drain()
        assert time.monotonic() - began < 0.5, name
        assert drained.records == 2, name
        assert drained.report.ingested == 0, name
        assert drained.report.events_added == 0, name
    stored = str(everything(memory))
    assert "canary" not in stored
    assert "root:" not in stored
    assert memory.store.sessions.find(memory.scope, limit=10) == []


def test_nothing_outside_is_even_opened(agents: Agents, tmp_path: Path) -> None:
    """T13: every path this process opens, as the interpreter tells it."""
    payloads = hostile(tmp_path, agents.claude_root)
    agents.claude(S, 1)

    def work(say: Say) -> None:
        opened: list[str] = []
        sys.addaudithook(lambda event, given: opened.append(str(given[0])) if event == "open" else None)
        with Recollect.open(tmp_path / "data", embedder=None, background=False) as memory:
            for name, path in payloads.items():
                tell(memory, uid(name), path, agent_transcript_path=path)
            tell(memory, S)
            memory.drain()
            say(str(len(memory.history(CLAUDE))))
        forbidden = {path for path in payloads.values() if path.startswith("/")} - {str(agents.claude_root)}
        forbidden |= {"/etc/passwd", str(tmp_path / "outside.jsonl")}
        say(str(sorted(forbidden & {os.path.normpath(path) for path in opened})))

    assert start(work).wait() == (0, ["4", "[]"])


@pytest.mark.skipif(os.getuid() != 0, reason="only root can give a file away")
def test_a_file_of_another_user_is_not_read() -> None:
    """T13: seen from a process that is not root."""

    def work(say: Say) -> None:
        os.setuid(12345)
        for path in paths:
            try:
                open_beneath(root, path).close()
            except BadTranscript as error:
                say(str(error))
            else:
                say("read")

    with tempfile.TemporaryDirectory() as folder:  # others may look into it, unlike tmp_path
        root = Path(folder)
        root.chmod(0o755)
        paths = [root / "theirs.jsonl", root / "ours.jsonl"]
        for path, owner in zip(paths, (0, 12345), strict=True):
            path.write_bytes(b"{}\n")
            path.chmod(0o644)
            os.chown(path, owner, owner)
        assert start(work).wait() == (0, ["theirs.jsonl belongs to another user", "read"])


@pytest.mark.parametrize(
    "session",
    ["../../../../outside", "/etc/passwd", "..", ".", "a/../../b", "~", "x" * 200, "%2e%2e%2f", "con", "-rf", "a:b/c"],
)
def test_a_session_id_never_becomes_a_path(memory: Recollect, tmp_path: Path, session: str) -> None:
    """T13: its words are kept under its name, and no file is made anywhere for it."""
    before = {path for path in tmp_path.rglob("*") if memory.settings.data_dir not in path.parents}
    tell(memory, session, None, prompt="walrus " * 20_000, hook_event_name="UserPromptSubmit")
    memory.drain()
    stored = memory.history(f"claude:{session}")
    assert [event.text[:6] for event in stored] == ["walrus"]
    assert stored[0].bodies
    after = {path for path in tmp_path.rglob("*") if memory.settings.data_dir not in path.parents}
    assert after == before
    names = {path.name for path in memory.settings.data_dir.rglob("*")}
    assert not [name for name in names if "passwd" in name or "outside" in name]
