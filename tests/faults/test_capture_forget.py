"""P13, T28: of a captured session that was forgotten no byte is left, and no way of reading it again brings it back."""

from __future__ import annotations

import json
import os
import random
import time
from collections.abc import Callable
from pathlib import Path

import pytest
import zstandard

from recollect import Recollect, hook
from recollect.capture.spool import GRACE_SECONDS
from recollect.settings import load
from recollect.store.sqlite.bodies import SqliteBodies
from tests.flow.transcripts_fixture import Agents, as_lines, claude_turn, grow, uid

S, OTHER = uid("one"), uid("other")
CLAUDE = f"claude:{S}"
PLACES = ("prompt", "answer", "command", "output", "title", "cwd", "branch", "model", "body", "image", "waiting")


def canary(place: str) -> str:
    """A word of letters only, so that nothing takes it for a secret."""
    draw = random.Random(place)
    return "walrus" + "".join(draw.choices("abcdefghijklmnopqrstuvwxyz", k=14))


WORDS = {place: canary(place) for place in PLACES}


@pytest.fixture
def agents(own_home: Path) -> Agents:
    return Agents(own_home)


@pytest.fixture
def data_dir(tmp_path: Path) -> Path:
    return tmp_path / "data"


def opened(data_dir: Path, **more: object) -> Recollect:
    settings = load(data_dir=data_dir, raw_inline_bytes=2_000, **more).settings
    return Recollect.open(settings=settings, embedder=None, background=False)


def plant(agents: Agents) -> Path:
    """A session with a word in every place that a captured session has."""
    w = WORDS
    path = agents.claude_path(S, f"-srv-{w['cwd']}")
    place = {"cwd": f"/srv/{w['cwd']}", "gitBranch": w["branch"]}
    lines = claude_turn(
        S, 0, w["prompt"], command=f"ls {w['command']}", output=w["output"], answer=w["answer"], **place
    )
    lines[1]["message"]["model"] = f"claude-{w['model']}"
    lines += claude_turn(S, 1, output=f"{'filler words ' * 300}{w['body']}{' filler words' * 300}", **place)
    image = {"type": "base64", "media_type": "image/png", "data": "d2FscnVz" * 100}
    seen = claude_turn(S, 2, **place)
    seen[0]["message"]["content"] = [{"type": "text", "text": "look"}, {"type": "image", "source": image}]
    lines += [*seen, {"type": "ai-title", "aiTitle": f"About {w['title']}", "sessionId": S}]
    path.write_bytes(as_lines(lines))
    return path


def tell(data_dir: Path, session: str, **more: object) -> None:
    body = json.dumps({"session_id": session, "hook_event_name": "Stop", "cwd": "/srv/x", **more}).encode()
    hook.capture(str(data_dir), "claude", body, {})


def left(data_dir: Path) -> dict[str, set[str]]:
    """Which words stand in which files, packed ones read through."""
    found: dict[str, set[str]] = {}
    for path in data_dir.rglob("*"):
        if not path.is_file():
            continue
        data = path.read_bytes()
        if path.suffix == ".zst":
            data = zstandard.decompress(data, max_output_size=10**8)
        for place, word in WORDS.items():
            needle = b"walrus" * 50 if place == "image" else word.encode()[-12:]
            if needle in data:
                found.setdefault(place, set()).add(path.name)
    return found


FORGETTING: dict[str, Callable[[Recollect], object]] = {
    "the session": lambda memory: memory.forget(session=CLAUDE),
    "everything": lambda memory: memory.forget(everything=True),
}


@pytest.mark.parametrize("what", FORGETTING)
def test_no_byte_of_a_forgotten_session_is_left(agents: Agents, data_dir: Path, what: str) -> None:
    """P13: rows, index, title, directory, branch, digest, costs, bodies, waiting and refused records."""
    plant(agents)
    agents.claude(OTHER, 2)
    with opened(data_dir) as memory:
        memory.sweep()
        memory.recall(WORDS["prompt"])
        memory.summarize(CLAUDE)
        tell(data_dir, S, prompt=WORDS["waiting"])
        assert left(data_dir).keys() == WORDS.keys()
        FORGETTING[what](memory)
        assert left(data_dir) == {}
        assert memory.health(deep=True).checks == {}
        assert len(memory.history(f"claude:{OTHER}")) == (0 if what == "everything" else 8)
    assert left(data_dir) == {}


@pytest.mark.parametrize("what", FORGETTING)
def test_reading_it_again_brings_nothing_back(agents: Agents, data_dir: Path, what: str) -> None:
    """T28: sweep, backfill, a hook, an import, a copy, a longer file. The path of the agent's own file may be noted."""
    path = plant(agents)
    with opened(data_dir) as memory:
        memory.sweep()
        exported = list(memory.export())
        FORGETTING[what](memory)
        memory.sweep()
        memory.backfill("claude")
        grow(path, claude_turn(S, 5, f"and more {WORDS['prompt']}"))
        memory.sweep()
        tell(data_dir, S, transcript_path=str(path), prompt=WORDS["prompt"])
        tell(data_dir, S, prompt=WORDS["waiting"])
        memory.drain()
        memory.load(exported)
        path.with_name(f"copy-of-{S}.jsonl").write_bytes(path.read_bytes())
        memory.sweep()
        assert memory.history(CLAUDE) == []
        assert memory.digest(CLAUDE) is None
        found = left(data_dir)
        assert found.keys() <= {"cwd"}  # where the agent's file lies, as long as it lies there
        path.with_name(f"copy-of-{S}.jsonl").unlink()
        path.unlink()
        FORGETTING["everything"](memory)
        assert left(data_dir) == {}


def test_a_fork_of_a_forgotten_session_brings_no_body_back(agents: Agents, data_dir: Path) -> None:
    """T28: its lines carry the ids of what was forgotten; only what the fork added itself is kept."""
    path = plant(agents)
    with opened(data_dir) as memory:
        memory.sweep()
        memory.forget(session=CLAUDE)
        fork = agents.claude_path(OTHER)
        copied = path.read_bytes().replace(S.encode(), OTHER.encode()).replace(b"/srv/", b"/opt/")
        fork.write_bytes(copied.replace(WORDS["title"].encode(), b"x") + as_lines(claude_turn(OTHER, 9)))
        path.unlink()
        memory.sweep()
        assert len(memory.history(f"claude:{OTHER}")) == 4
        assert left(data_dir).keys() <= {"cwd", "model", "branch"}  # what the fork itself is
        assert not list((data_dir / "bodies").rglob("*.zst"))


def test_a_body_that_others_share_stays_for_them(agents: Agents, data_dir: Path) -> None:
    plant(agents)
    shared = f"{'filler words ' * 300}{WORDS['body']}{' filler words' * 300}"
    agents.claude(OTHER, 1, output=shared)
    with opened(data_dir) as memory:
        memory.sweep()
        memory.forget(session=CLAUDE)
        (body,) = [body for event in memory.history(f"claude:{OTHER}") for body in event.bodies]
        assert memory.store.bodies.get(memory.scope, body.hash) == shared.encode()
        memory.forget(session=f"claude:{OTHER}")
        assert left(data_dir) == {}


def test_an_evicted_body_leaves_no_row_behind(agents: Agents, data_dir: Path) -> None:
    plant(agents)
    with opened(data_dir, raw_soft_cap_bytes=1) as memory:
        memory.sweep()
        hashes = [body.hash for event in memory.history(CLAUDE) for body in event.bodies]
        assert len(hashes) == 2
        memory.forget(session=CLAUDE)
    for hash_ in hashes:
        assert bytes.fromhex(hash_) not in (data_dir / "recollect.db").read_bytes()


def test_a_forget_that_died_before_the_files_were_gone_is_completed(
    agents: Agents, data_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """P13: the rows are gone, the process too; the next sweep takes the files."""
    path = plant(agents)
    with opened(data_dir) as memory:
        memory.sweep()
        monkeypatch.setattr(SqliteBodies, "sweep_unreferenced", lambda *given: [])
        memory.forget(session=CLAUDE)
        assert left(data_dir).keys() == {"body", "image"}
        monkeypatch.undo()
        path.unlink()
        memory.sweep()
    assert left(data_dir) == {}


# -- the spool ---------------------------------------------------------------------------------------------------------


def refused(data_dir: Path, session: str, word: str) -> None:
    """A record that is torn, and old enough not to be waited for."""
    tell(data_dir, session, prompt=word)
    path = max((data_dir / "spool").glob("*.record"))
    path.write_bytes(path.read_bytes()[:-1])

    moment = time.time() - GRACE_SECONDS - 5
    os.utime(path, (moment, moment))


@pytest.mark.parametrize("what", FORGETTING)
def test_refused_records_go_with_what_is_forgotten(agents: Agents, data_dir: Path, what: str) -> None:
    """P13: nobody can say any more whose they were."""
    plant(agents)
    with opened(data_dir) as memory:
        memory.sweep()
        refused(data_dir, S, WORDS["waiting"])
        assert memory.drain().refused == 1
        assert "waiting" in left(data_dir)
        FORGETTING[what](memory)
        assert left(data_dir) == {}
        assert memory.coverage().refused_records == 1  # that there was one is still counted


def test_records_of_other_sessions_stay(agents: Agents, data_dir: Path) -> None:
    plant(agents)
    agents.claude(OTHER, 2)
    with opened(data_dir) as memory:
        memory.sweep()
        tell(data_dir, S, prompt=WORDS["waiting"])
        tell(data_dir, OTHER)
        memory.forget(session=CLAUDE)
        assert len(list((data_dir / "spool").glob("*.record"))) == 1
        tell(data_dir, S, prompt=WORDS["waiting"])
        memory.forget(everything=True)
        assert list((data_dir / "spool").glob("*.record")) == []
        assert memory.drain().records == 0


def test_forgetting_a_project_takes_its_records(agents: Agents, data_dir: Path) -> None:
    plant(agents)
    with opened(data_dir) as memory:
        memory.sweep()
        tell(data_dir, S, prompt=WORDS["waiting"], cwd=f"/srv/{WORDS['cwd']}")
        tell(data_dir, OTHER, cwd="/srv/other")
        inside = Recollect(memory.store, memory.scope.within(f"/srv/{WORDS['cwd']}"), memory.settings, embedder=None)
        inside.forget(everything=True)
        assert left(data_dir) == {}
        assert len(list((data_dir / "spool").glob("*.record"))) == 1
