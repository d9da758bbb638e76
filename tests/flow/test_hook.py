"""The hook as an agent starts it: one record each time, no word, no child, nothing loaded that is not its own."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path

import pytest

from recollect import hook
from recollect.capture.notice import notice_of
from recollect.capture.spool import Record, Spool

HOOK = Path(hook.__file__)
STOP = {
    "session_id": "s-1",
    "transcript_path": "/home/ann/.claude/projects/app/s-1.jsonl",
    "cwd": "/home/ann/app",
    "hook_event_name": "Stop",
    "last_assistant_message": "It is on port 5433.",
}


def command(data_dir: Path, agent: str = "claude", *options: str) -> list[str]:
    return [sys.executable, "-I", "-S", *options, str(HOOK), str(data_dir), agent]


def run(
    data_dir: Path,
    stdin: object = STOP,
    agent: str = "claude",
    *,
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
) -> float:
    """Start the hook, check that it kept silent and said all is well; returns the seconds it took."""
    body = stdin if isinstance(stdin, bytes) else json.dumps(stdin).encode()
    began = time.monotonic()
    done = subprocess.run(
        command(data_dir, agent), input=body, capture_output=True, cwd=cwd, env={**os.environ, **(env or {})}
    )
    took = time.monotonic() - began
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    return took


def records(data_dir: Path) -> list[Record]:
    spool = Spool(data_dir)
    return [spool.read(path) for path in spool.waiting()]


def test_what_stands_on_stdin_is_kept_byte_for_byte(tmp_path: Path) -> None:
    body = b'{"session_id": "s-1",\r\n "prompt": "\xe2\x80\xa8 \xff caf\xc3\xa9"}\n'
    run(tmp_path / "data", body, "codex", cwd=tmp_path, env={"CLAUDE_PROJECT_DIR": "/home/ann/app", "SECRET": "x"})

    (record,) = records(tmp_path / "data")
    assert (record.agent, record.body, record.truncated) == ("codex", body, False)
    assert record.hints == {"CLAUDE_PROJECT_DIR": "/home/ann/app", "cwd": str(tmp_path)}
    assert abs(record.at.timestamp() - time.time()) < 60


def test_records_are_read_in_the_order_they_came(tmp_path: Path) -> None:
    for number in range(5):
        run(tmp_path, {**STOP, "session_id": f"s-{number}"})
    assert [json.loads(record.body)["session_id"] for record in records(tmp_path)] == [f"s-{n}" for n in range(5)]


def test_hooks_that_start_together_share_one_new_key(tmp_path: Path) -> None:
    data_dir = tmp_path / "deep" / "data"
    started = [subprocess.Popen(command(data_dir), stdin=subprocess.PIPE) for _ in range(8)]
    for number, process in enumerate(started):
        process.communicate(json.dumps({**STOP, "session_id": f"s-{number}"}).encode())
        assert process.returncode == 0
    assert {json.loads(record.body)["session_id"] for record in records(data_dir)} == {f"s-{n}" for n in range(8)}
    assert sorted(path.name for path in data_dir.iterdir()) == ["install.key", "spool"]


def test_everything_it_makes_is_private_whatever_the_umask(tmp_path: Path) -> None:
    """T14."""
    before = os.umask(0)
    try:
        run(tmp_path / "made" / "data")
    finally:
        os.umask(before)
    modes = {path.name: path.stat().st_mode & 0o777 for path in (tmp_path / "made").rglob("*")}
    modes |= {"made": (tmp_path / "made").stat().st_mode & 0o777}
    assert {mode for name, mode in modes.items() if name in ("made", "data", "spool")} == {0o700}
    assert {mode for name, mode in modes.items() if name not in ("made", "data", "spool")} == {0o600}


def test_our_own_model_calls_are_not_captured(tmp_path: Path) -> None:
    """P18."""
    for value in ("1", ""):
        run(tmp_path / "data", env={"RECOLLECT_INNER": value})
    assert not (tmp_path / "data").exists()


@pytest.mark.parametrize("words", [[], ["data"], ["/nowhere/data", "walrus"], ["", "claude"], ["data", "claude"]])
def test_a_wrong_command_line_is_no_trouble_for_the_agent(words: list[str], tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-I", "-S", str(HOOK), *words], input=b"{}", capture_output=True, cwd=tmp_path, timeout=5
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    assert not list(tmp_path.rglob("*.record"))


def test_an_unknown_agent_is_a_miss(tmp_path: Path) -> None:
    run(tmp_path, agent="walrus")
    assert records(tmp_path) == []
    assert Spool(tmp_path).missed() == 1


def ignores(pid: int, number: int) -> bool:
    status = Path(f"/proc/{pid}/status").read_text()
    mask = next(line.split()[1] for line in status.splitlines() if line.startswith("SigIgn"))
    return bool(int(mask, 16) >> (number - 1) & 1)


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs /proc to see when the hook is ready")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGHUP, signal.SIGTERM])
def test_the_signals_that_end_a_session_do_not_end_its_hook(number: signal.Signals, tmp_path: Path) -> None:
    """P19: a closed terminal or Ctrl-C reaches the hook that is to write it down."""
    process = subprocess.Popen(command(tmp_path), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    while not ignores(process.pid, signal.SIGTERM):
        time.sleep(0.001)
    process.send_signal(number)
    assert process.communicate(json.dumps(STOP).encode()) == (b"", b"")
    assert process.returncode == 0
    assert [record.body for record in records(tmp_path)] == [json.dumps(STOP).encode()]


@pytest.mark.parametrize("missing", [(0,), (1, 2), (0, 1, 2)], ids=str)
def test_closed_streams_are_no_trouble(missing: tuple[int, ...], tmp_path: Path) -> None:
    closed = "; ".join(f"os.close({number})" for number in missing)
    code = f"import os, sys; {closed}; os.execv(sys.argv[1], sys.argv[1:])"
    done = subprocess.run([sys.executable, "-c", code, *command(tmp_path)], input=b"{}", timeout=5)
    assert done.returncode == 0
    assert [record.body for record in records(tmp_path)] == [b"" if 0 in missing else b"{}"]


# -- what it loads and does --------------------------------------------------------------------------------------------

LOADS = {"os", "stat", "_stat", "posixpath", "genericpath", "_collections_abc", "_blake2", "_signal", "_thread", "time"}


def loaded(*words: str) -> set[str]:
    done = subprocess.run([sys.executable, "-I", "-S", "-X", "importtime", *words], input=b"{}", capture_output=True)
    assert done.returncode == 0
    return {line.rpartition("|")[2].strip() for line in done.stderr.decode().splitlines()[1:]}


def test_it_loads_only_what_is_listed(tmp_path: Path) -> None:
    """P14: beyond what every interpreter loads."""
    extra = loaded(str(HOOK), str(tmp_path), "claude") - loaded("-c", "pass")
    assert extra <= LOADS
    assert len(records(tmp_path)) == 1


WATCHED = """
import os, sys
log, __file__ = sys.argv[1:3]
sys.argv = sys.argv[2:]
seen = os.open(log, os.O_WRONLY | os.O_CREAT)
with open(__file__) as file:
    code = compile(file.read(), __file__, "exec")
sys.addaudithook(lambda event, args: os.write(seen, f"{event} {args[0] if event == 'open' else ''}\\n".encode()))
exec(code, globals())
"""


def audited(data_dir: Path, log: Path) -> list[str]:
    """Every event that the interpreter reports while the hook runs."""
    words = [sys.executable, "-I", "-S", "-c", WATCHED, str(log), str(HOOK), str(data_dir), "claude"]
    done = subprocess.run(words, input=json.dumps(STOP).encode(), capture_output=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    return log.read_text().splitlines()


def test_it_starts_no_process_opens_no_socket_and_no_database(tmp_path: Path) -> None:
    """P14, P17: nothing it could wait for, nothing that could stay behind."""
    data_dir = tmp_path / "data"
    events = audited(data_dir, tmp_path / "events")

    kinds = {line.split()[0] for line in events}
    assert kinds & {"os.mkdir", "os.link"}, "the events were not seen"
    families = {kind.split(".")[0] for kind in kinds}
    assert not {"socket", "subprocess", "sqlite3", "urllib", "http", "ctypes", "pty"} & families
    assert not {"os.fork", "os.forkpty", "os.exec", "os.posix_spawn", "os.system", "os.spawn", "os.kill"} & kinds
    opened = {line.split(" ", 1)[1] for line in events if line.startswith("open ")}
    outside = {name for name in opened if name.startswith("/") and name != str(data_dir)}
    assert [name for name in outside if not name.endswith((".so", ".pyc", ".py"))] == []
    assert len(records(data_dir)) == 1


# -- hostile surroundings ----------------------------------------------------------------------------------------------

INJECTIONS = [
    "$(touch {})",
    "`touch {}`",
    "; touch {} #",
    "'; touch {} #",
    '"; touch {} #',
    "| touch {}",
    "&& touch {}",
    "|| touch {}",
    "& touch {} &",
    "\ntouch {}\n",
    "\r\ntouch {}\r\n",
    "-rf $(touch {})",
    "--exec=touch {}",
    "${{IFS}}$(touch${{IFS}}{})",
    "$((`touch {}`))",
    "<(touch {})",
    "> {}",
    "__import__('os').system('touch {}')",
    "%(touch {})s {{0.__class__}}",
    "\x1b]0;touch {}\x07",
]
FIELDS = (
    *("session_id", "transcript_path", "agent_transcript_path", "cwd", "hook_event_name", "prompt", "reason", "source"),
    *("last_assistant_message", "turn_id", "agent_id", "trigger", "tool_name", "model", "permission_mode"),
)


@pytest.mark.parametrize("payload", INJECTIONS)
def test_no_text_is_ever_run(payload: str, tmp_path: Path) -> None:
    """T15: in every field, in the environment and as the agent's name."""
    sentinel = tmp_path / "sentinel"
    text = payload.format(sentinel)
    env = dict.fromkeys(hook.HINTS, text)
    run(tmp_path / "data", dict.fromkeys(FIELDS, text), env=env)
    run(tmp_path / "data", {"session_id": "s-1", **{field: [{field: text}] for field in FIELDS[1:]}}, env=env)
    run(tmp_path / "data", {}, agent=text)

    for record in records(tmp_path / "data"):
        notice_of(record)
    assert len(records(tmp_path / "data")) == 2
    assert not sentinel.exists()


def test_nothing_is_loaded_from_a_hostile_directory(tmp_path: Path) -> None:
    """T16: modules that lie in the working directory or on PYTHONPATH, start-up files, a package of our name."""
    repo, sentinel = tmp_path / "repo", tmp_path / "sentinel"
    (repo / "recollect").mkdir(parents=True)
    evil = f"open({str(sentinel)!r}, 'a').write(__name__ + '\\n')\n"
    names = ("json", "os", "stat", "time", "_thread", "_blake2", "hashlib", "sitecustomize", "usercustomize", "hook")
    for name in (*names, "recollect/__init__", "recollect/hook", "startup"):
        (repo / f"{name}.py").write_text(evil)
    (repo / ".env").write_text("RECOLLECT_DATA_DIR=/nowhere\nRECOLLECT_INNER=1\n")
    (repo / "pyvenv.cfg").write_text("home = /nowhere\n")
    env = {"PYTHONPATH": str(repo), "PYTHONSTARTUP": str(repo / "startup.py"), "PYTHONHOME": str(repo)}
    env |= {"PYTHONINSPECT": "1", "PYTHONUSERBASE": str(repo), "RECOLLECT_DATA_DIR": str(repo / "elsewhere")}

    run(tmp_path / "data", cwd=repo, env=env)

    assert not sentinel.exists()
    assert not (repo / "elsewhere").exists()
    assert [record.hints["cwd"] for record in records(tmp_path / "data")] == [str(repo)]


def test_a_removed_working_directory_is_no_trouble(tmp_path: Path) -> None:
    code = "import os, sys; os.rmdir(os.getcwd()); os.execv(sys.argv[1], sys.argv[1:])"
    (tmp_path / "gone").mkdir()
    words = [sys.executable, "-c", code, *command(tmp_path / "data")]
    assert subprocess.run(words, input=b"{}", cwd=tmp_path / "gone").returncode == 0
    assert [dict(record.hints) for record in records(tmp_path / "data")] == [{}]


def test_a_record_inside_a_record_stays_text(tmp_path: Path) -> None:
    """T35: framing in what a tool printed, even a true record of before, makes no further record."""
    run(tmp_path, {"session_id": "s-true"})
    (true,) = Spool(tmp_path).waiting()
    forged = hook.frame(bytes(32), "claude", b'{"session_id": "s-forged"}', {})
    bodies = [
        true.read_bytes(),
        b'{"session_id":"s-2"}' + true.read_bytes() + forged,
        forged * 3,
        b'{"session_id":"s-2"}\n\n' + forged + b'\n{"session_id":"s-3"}',
        '{"session_id":"s-2","prompt":"\u2028{\\"session_id\\":\\"s-4\\"}\\n"}'.encode(),
    ]
    for body in bodies:
        run(tmp_path, body)
    assert [record.body for record in records(tmp_path)][1:] == bodies
    assert [notice.session for record in records(tmp_path) if (notice := notice_of(record))] == [
        "claude:s-true",
        "claude:s-2",
    ]
