"""P13: of what was forgotten no byte is left in what was prepared for agents, there or in files of the user's."""

from __future__ import annotations

import random
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from recollect import Recollect, Scope
from recollect.lock import alone
from recollect.model import Session
from recollect.pipeline import prepare as preparing
from recollect.settings import load

APP, LIB = "github.com/ann/walrus-app", "lib"
PLACES = ("content", "why", "tag", "anchor", "user_content", "cwd", "session")


def canary(place: str) -> str:
    return "walrus" + "".join(random.Random(place).choices("abcdefghijklmnopqrstuvwxyz", k=14))


WORDS = {place: canary(place) for place in PLACES}


def left_in(*folders: Path) -> dict[str, list[str]]:
    """Which words stand in which files, their names included."""
    found: dict[str, list[str]] = {}
    for folder in folders:
        for path in folder.rglob("*"):
            data = path.read_bytes() if path.is_file() else b""
            for place, word in WORDS.items():
                if word.encode() in data + str(path.relative_to(folder)).encode():
                    found.setdefault(place, []).append(path.name)
    return found


@pytest.fixture
def work(tmp_path: Path) -> Path:
    """Where the user's own files are."""
    (tmp_path / "work").mkdir()
    return tmp_path / "work"


@pytest.fixture
def memory(tmp_path: Path, work: Path) -> Recollect:
    """A memory with a word in every place, prepared in every form."""
    (tmp_path / "src" / WORDS["cwd"]).mkdir(parents=True)
    (work / "AGENTS.md").write_text("mine\n")
    named = (str(work / "all.md"), str(work / "{project}.md"))
    settings = load(data_dir=tmp_path / "data", memory_files=named).settings
    memory = Recollect.open(settings=settings, scope=Scope(project=APP), embedder=None, background=False)
    other = Recollect(memory.store, Scope(project=LIB), settings, embedder=None, background=False)
    other.remember("The penguin stays", kind="fact")
    session = f"claude:{WORDS['session']}"
    facts = Session(session, "claude", cwd=str(tmp_path / "src" / WORDS["cwd"]))
    memory.store.sessions.ensure(memory.scope, session, at=memory._clock(), facts=facts)
    memory.remember(
        f"About {WORDS['content']}",
        kind="decision",
        why=f"because {WORDS['why']}",
        tags=[WORDS["tag"]],
        anchors=[f"file:src/{WORDS['anchor']}.py"],
        session=session,
    )
    memory.remember(f"Prefer {WORDS['user_content']}", kind="preference", session=session)
    memory.put_into(work / "AGENTS.md")
    memory.put_into(work / "made.md")
    memory.prepare()
    return memory


WAYS: dict[str, Callable[[Recollect], object]] = {
    "each memory": lambda memory: [memory.forget(one.id) for one in memory.memories() if one.project == APP],
    "the session": lambda memory: memory.forget(session=f"claude:{WORDS['session']}"),
    "the project": lambda memory: memory.forget(everything=True),
    "the owner": lambda memory: Recollect(
        memory.store, Scope(), memory.settings, embedder=None, background=False
    ).forget(everything=True),
}


@pytest.mark.parametrize("way", WAYS)
def test_no_byte_of_it_is_left_in_what_was_prepared(memory: Recollect, tmp_path: Path, work: Path, way: str) -> None:
    before = left_in(tmp_path / "data", work)
    assert before.keys() >= {"content", "why", "tag", "user_content"}
    assert {"AGENTS.md", "made.md", "all.md"} <= set(before["content"])
    WAYS[way](memory)
    gone = {"content", "why", "tag", "anchor", "user_content"}
    if way != "each memory":  # the session itself is still there
        gone |= {"cwd", "session"}
    after = left_in(tmp_path / "data", work)
    assert not gone & after.keys(), after
    memory.close()
    assert not gone & left_in(tmp_path / "data", work).keys()
    assert (work / "AGENTS.md").read_text() == "mine\n"
    assert not (work / "made.md").exists()
    if way != "the owner":
        assert "penguin" in (work / "all.md").read_text()
    else:
        assert not (work / "all.md").exists()


def test_the_search_for_bytes_would_show_a_forget_that_prepares_nothing(
    memory: Recollect, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else the test above would show nothing."""
    monkeypatch.setattr(preparing, "forget", lambda *args, **options: preparing.Prepared())
    memory.forget(everything=True)
    assert "content" in left_in(tmp_path / "data")


def test_what_was_prepared_goes_even_when_it_cannot_be_made_anew(
    memory: Recollect, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*args: object, **options: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(preparing._Round, "run", broken)
    assert not memory.forget(everything=True).complete
    monkeypatch.undo()
    assert not {"content", "why", "user_content"} & left_in(tmp_path / "data").keys()


def test_what_was_prepared_goes_even_while_another_process_prepares(
    memory: Recollect, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is forgotten is forgotten: the receipt comes, says that it is not complete, and the end makes it good."""
    monkeypatch.setattr(preparing, "WAIT_SECONDS", 0.05)
    with alone(tmp_path / "data" / preparing.LOCK):
        receipt = memory.forget(everything=True)
        assert receipt.counts["memories"] == 2
        assert not receipt.complete
        assert not {"content", "why"} & left_in(*(tmp_path / "data" / name for name in ("prepared", "memory"))).keys()
    memory.close()
    assert not {"content", "why", "user_content"} & left_in(tmp_path / "data").keys()


def test_a_file_that_cannot_be_changed_makes_the_receipt_incomplete(memory: Recollect, work: Path) -> None:
    (work / "AGENTS.md").chmod(0o444)
    assert not memory.forget(everything=True).complete
    (work / "AGENTS.md").chmod(0o644)
    memory.prepare()
    assert (work / "AGENTS.md").read_text() == "mine\n"


CHILD = """
import os, sys, threading, time
from recollect import Recollect, Scope
from recollect.settings import load
settings = load(data_dir=sys.argv[1]).settings
memory = Recollect.open(settings=settings, scope=Scope(project="app"), embedder=None, background=False)
for number in range(1000):
    memory.remember(f"thing {number} of child {os.getpid()}", kind="fact")
    memory.prepare()
    print(number, flush=True)
"""


@pytest.mark.slow
def test_killed_at_any_point_it_leaves_whole_files_and_the_next_round_tidies(tmp_path: Path) -> None:
    """Ten kills at seeded random points; every file a hook could print is whole."""
    chance, data = random.Random(7), tmp_path / "data"
    project = tmp_path / "app"
    project.mkdir()
    for _ in range(10):
        child = subprocess.Popen([sys.executable, "-c", CHILD, str(data)], stdout=subprocess.PIPE, cwd=tmp_path)
        assert child.stdout is not None
        for _ in range(chance.randrange(1, 6)):
            child.stdout.readline()
        try:
            child.wait(chance.random() * 0.05)
        except subprocess.TimeoutExpired:
            child.kill()
        child.wait()
        child.stdout.close()
        for path in (data / "prepared" / "start").iterdir():
            if path.suffix in (".claude", ".codex", ".gemini", ".cursor"):
                content = path.read_bytes()
                assert content == b"" or (content.startswith(b"{") and content.endswith(b"}\n")), path
    with Recollect.open(settings=load(data_dir=data).settings, embedder=None, background=False) as memory:
        memory.prepare()
    assert list(data.rglob(".aside*")) == []


@pytest.mark.slow
def test_many_processes_preparing_at_once_end_with_what_is_true(tmp_path: Path) -> None:
    data = tmp_path / "data"
    code = CHILD.replace("range(1000)", "range(6)")
    children = [
        subprocess.Popen([sys.executable, "-c", code, str(data)], stdout=subprocess.DEVNULL, cwd=tmp_path)
        for _ in range(3)
    ]
    assert [child.wait() for child in children] == [0, 0, 0]
    settings = load(data_dir=data).settings
    with Recollect.open(settings=settings, scope=Scope(project="app"), embedder=None, background=False) as memory:
        assert len(memory.memories()) == 18
        assert memory.prepare() == preparing.Prepared()
