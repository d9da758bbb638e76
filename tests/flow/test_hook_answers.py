"""The hook as an agent starts it, for the events that take an answer: first the record, then one object or nothing."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from recollect import frame, hook, hookreply, promptindex
from recollect.warm.server import WarmServer
from tests.flow.test_hook import HOOK, LOADS, WATCHED, command, records
from tests.flow.test_warm_server import Echo
from tests.prepared_fixture import ASKING, ENTRY, Prepared, event

START, PROMPT = event("SessionStart", source="startup"), event("UserPromptSubmit", prompt=ASKING)
BLOCK = frame.framed(ENTRY, promptindex.NOTICE)


@pytest.fixture
def prepared(tmp_path: Path) -> Prepared:
    one = Prepared(tmp_path / "data").mode("recall")
    one.index()
    return one


def said(
    data_dir: Path, body: bytes, agent: str = "claude", *, cwd: Path | None = None, env: Mapping[str, str] | None = None
) -> bytes:
    """Start the hook; what it printed. It left a record and said that all is well."""
    before = len(records(data_dir))
    done = subprocess.run(
        command(data_dir, agent), input=body, capture_output=True, cwd=cwd, env={**os.environ, **(env or {})}
    )
    assert (done.returncode, done.stderr) == (0, b"")
    assert len(records(data_dir)) == before + 1
    return done.stdout


def shown(answer: bytes, name: str = "UserPromptSubmit") -> str:
    found = json.loads(answer)["hookSpecificOutput"]
    assert found.keys() == {"hookEventName", "additionalContext"}
    assert found["hookEventName"] == name
    return str(found["additionalContext"])


def test_a_start_prints_the_prepared_bytes(prepared: Prepared) -> None:
    content = prepared.start("What is known. é", "/home/ann/app")
    assert said(prepared.data_dir, START) == content
    assert said(prepared.data_dir, event("Stop")) == b""


def test_a_prompt_prints_what_fits_it(prepared: Prepared) -> None:
    assert shown(said(prepared.data_dir, PROMPT)) == BLOCK
    assert said(prepared.data_dir, PROMPT) == b""  # told once
    assert said(prepared.data_dir, event("UserPromptSubmit", prompt="make it so, please")) == b""


def test_a_prompt_is_answered_by_the_warm_process_if_there_is_one(prepared: Prepared) -> None:
    with WarmServer(prepared.data_dir, Echo) as warm:
        assert warm.listens(5)
        answers = {
            said(prepared.data_dir, event("UserPromptSubmit", prompt=ASKING, session_id=f"s-{n}")) for n in range(5)
        }
        assert ASKING in {shown(answer) for answer in answers}
    assert shown(said(prepared.data_dir, event("UserPromptSubmit", prompt=ASKING, session_id="s-9"))) == BLOCK


def test_our_own_model_calls_get_nothing(prepared: Prepared) -> None:
    """P18."""
    prepared.start("x")
    for body in (START, PROMPT):
        done = subprocess.run(
            command(prepared.data_dir), input=body, capture_output=True, env={**os.environ, hook.INNER: "1"}
        )
        assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    assert not (prepared.data_dir / "spool").exists()


def test_grok_gets_nothing(prepared: Prepared) -> None:
    prepared.start("x")
    assert said(prepared.data_dir, START, env={"GROK_SESSION_ID": "s-1"}) == b""
    assert said(prepared.data_dir, START, "grok") == b""
    assert said(prepared.data_dir, START) != b""


def test_when_the_record_cannot_be_written_nothing_is_said(prepared: Prepared) -> None:
    """The record comes first."""
    prepared.start("x")
    (prepared.data_dir / "spool").write_text("in the way")
    done = subprocess.run(command(prepared.data_dir), input=START, capture_output=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


def test_closed_or_broken_output_is_no_trouble(prepared: Prepared) -> None:
    prepared.start("x" * 60_000)
    code = "import os, sys; os.close(1); os.execv(sys.argv[1], sys.argv[1:])"
    done = subprocess.run([sys.executable, "-c", code, *command(prepared.data_dir)], input=START, timeout=5)
    assert done.returncode == 0
    read, write = os.pipe()
    os.close(read)
    done = subprocess.run(command(prepared.data_dir), input=START, stdout=write, stderr=subprocess.PIPE, timeout=5)
    os.close(write)
    assert (done.returncode, done.stderr) == (0, b"")
    assert len(records(prepared.data_dir)) == 2


@pytest.mark.timed
def test_a_reader_that_does_not_read_is_not_waited_for(prepared: Prepared) -> None:
    """P14: the pipe is full before the answer comes."""
    prepared.start("x" * 60_000)
    read, write = os.pipe()
    os.set_blocking(write, False)
    while True:
        try:
            os.write(write, b" " * 4096)
        except BlockingIOError:
            break
    os.set_blocking(write, True)
    began = time.monotonic()
    done = subprocess.run(command(prepared.data_dir), input=START, stdout=write, timeout=5)
    assert done.returncode == 0
    assert time.monotonic() - began < 1.0
    os.close(read)
    os.close(write)
    assert len(records(prepared.data_dir)) == 1


# -- what it loads and does --------------------------------------------------------------------------------------------

OF_ITSELF = {
    f"recollect.{name}" for name in ("hookreply", "promptindex", "quickhash", "stopwords", "unread", "warmwire")
}
OF_ITSELF |= {"hookreply", "promptindex", "warmwire"}
SMALL = {"_json", "_socket", "_sha2", "_sha256", "binascii", "math", "__future__"}


def loaded(data_dir: Path, body: bytes) -> set[str]:
    words = [sys.executable, "-I", "-S", "-X", "importtime", str(HOOK), str(data_dir), "claude"]
    done = subprocess.run(words, input=body, capture_output=True)
    assert done.returncode == 0
    assert done.stdout
    return {line.rpartition("|")[2].strip() for line in done.stderr.decode().splitlines()[1:]}


def bare() -> set[str]:
    words = [sys.executable, "-I", "-S", "-X", "importtime", "-c", "pass"]
    done = subprocess.run(words, capture_output=True, text=True)
    return {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()[1:]}


@pytest.mark.parametrize("body", [START, PROMPT], ids=["start", "prompt"])
def test_it_loads_only_what_is_listed(prepared: Prepared, body: bytes) -> None:
    """P14: nothing that takes long to load, and of Recollect only what answers."""
    prepared.start("x")
    assert loaded(prepared.data_dir, body) - bare() <= LOADS | OF_ITSELF | SMALL


def audited(prepared: Prepared, body: bytes, log: Path) -> list[str]:
    """Every event that the interpreter reports while the hook runs."""
    words = [sys.executable, "-I", "-S", "-c", WATCHED, str(log), str(HOOK), str(prepared.data_dir), "claude"]
    done = subprocess.run(words, input=body, capture_output=True)
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout
    return log.read_text().splitlines()


@pytest.mark.parametrize("body", [START, PROMPT], ids=["start", "prompt"])
def test_it_starts_no_process_and_opens_no_database(prepared: Prepared, body: bytes, tmp_path: Path) -> None:
    """P14, P17: the one thing it may connect to is the warm process's socket."""
    prepared.start("x")
    kinds = {line.split()[0] for line in audited(prepared, body, tmp_path / "events")}
    families = {kind.split(".")[0] for kind in kinds}
    assert not {"subprocess", "sqlite3", "urllib", "http", "ctypes", "pty"} & families
    assert not {"os.fork", "os.forkpty", "os.exec", "os.posix_spawn", "os.system", "os.spawn", "os.kill"} & kinds
    sockets = {kind for kind in kinds if kind.startswith("socket.")}
    assert sockets <= ({"socket.__new__", "socket.connect"} if body is PROMPT else set())


def test_nothing_is_loaded_from_a_hostile_directory(prepared: Prepared, tmp_path: Path) -> None:
    """T16: neither in place of what the answer needs, nor in place of the answer."""
    repo, sentinel = tmp_path / "repo", tmp_path / "sentinel"
    (repo / "recollect").mkdir(parents=True)
    evil = f"open({str(sentinel)!r}, 'a').write(__name__ + '\\n')\n"
    names = ("json", "_json", "_socket", "math", "binascii", "hashlib", "unicodedata", "_sha256", "_sha2")
    ours = ("__init__", "hook", "hookreply", "promptindex", "warmwire", "stopwords", "quickhash", "unread")
    for name in (*names, *ours, *(f"recollect/{each}" for each in ours)):
        (repo / f"{name}.py").write_text(evil)
    hostile = Prepared(repo).mode("nudge")
    hostile.start("obey", str(repo))
    prepared.start("ours", str(repo))
    env = {"PYTHONPATH": str(repo), "PYTHONHOME": str(repo), "RECOLLECT_DATA_DIR": str(repo), "HOME": str(repo)}

    start = said(prepared.data_dir, event("SessionStart", cwd=str(repo)), cwd=repo, env=env)
    prompt = event("UserPromptSubmit", cwd=str(repo), prompt="café: which port has postgres for local development")
    assert shown(start, "SessionStart") == "ours"
    assert shown(said(prepared.data_dir, prompt, cwd=repo, env=env)) == BLOCK
    assert not sentinel.exists()


@pytest.mark.parametrize(
    "cwd", ["/proc/self/cwd", "/../../..", "$(touch {0})", "/`touch {0}`", "/\n", "//", "/" + "a/" * 2000, "~", "C:\\x"]
)
def test_a_hostile_working_directory_is_only_a_name(prepared: Prepared, cwd: str, tmp_path: Path) -> None:
    content = prepared.start("everywhere")
    sentinel = tmp_path / "sentinel"
    assert said(prepared.data_dir, event("SessionStart", cwd=cwd.format(sentinel))) == content
    assert not sentinel.exists()


def test_by_hand_it_does_the_same(prepared: Prepared, own_home: Path) -> None:
    """`recollect hook AGENT`."""
    content = prepared.start("x")
    words = [sys.executable, "-m", "recollect", "hook", "claude", "--data-dir", str(prepared.data_dir)]

    def by_hand(body: bytes, *more: str) -> Any:
        done = subprocess.run([*words, *more], input=body, capture_output=True)
        assert (done.returncode, done.stderr) == (0, b"")
        return done.stdout

    assert by_hand(START) == content
    assert by_hand(event("Stop")) == b""
    found = json.loads(by_hand(START, "--json"))
    assert found["record"].endswith(".record")
    assert found["answer"].encode() == content
    assert json.loads(by_hand(event("Stop"), "--json"))["answer"] is None
    assert len(records(prepared.data_dir)) == 4


def test_the_names_of_events_that_are_answered_are_the_ones_looked_for() -> None:
    names = {name.encode() for events in hookreply.EVENTS.values() for name in events}
    assert all(any(part in name for part in hook.ANSWERED) for name in names)
