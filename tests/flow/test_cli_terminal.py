"""On a real terminal: colours and tables, questions before forgetting, a quiet end on Ctrl-C and a closed pipe."""

from __future__ import annotations

import contextlib
import os
import pty
import re
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from recollect import Recollect, Scope
from recollect.model import os_user
from tests.flow.conftest import Cli

Talk = Callable[..., tuple[int, str]]


@pytest.fixture
def terminal(work: Path, own_home: Path) -> Talk:
    """Run a command on a pseudo terminal, answering with `typed`."""

    def run(*words: str, typed: str = "", env: dict[str, str] | None = None) -> tuple[int, str]:
        ours, theirs = pty.openpty()
        process = subprocess.Popen(
            [sys.executable, "-m", "recollect", *words],
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            cwd=work,
            env={**os.environ, "HOME": str(own_home), "TERM": "xterm-256color", "COLUMNS": "100", **(env or {})},
        )
        os.close(theirs)
        os.write(ours, typed.encode())
        shown = _read_all(ours, process)
        os.close(ours)
        return process.wait(timeout=60), shown

    return run


def _read_all(handle: int, process: subprocess.Popen[bytes]) -> str:
    data, end = b"", time.monotonic() + 60
    with contextlib.suppress(OSError):  # Linux: the other side is closed
        while time.monotonic() < end:
            ready, _, _ = select.select([handle], [], [], 0.2)
            if ready:
                piece = os.read(handle, 65536)
                if not piece:
                    break
                data += piece
            elif process.poll() is not None:
                break
    return data.decode()


def test_colours_on_a_terminal_only_and_not_when_refused(terminal: Talk, command: Cli) -> None:
    command("remember", "We ship on Tuesdays", "--kind", "decision")
    _, coloured = terminal("recall", "ship", "--mode", "lexical", "--explain")
    assert "\x1b[1;36m[decision]" in coloured
    assert "█" in coloured
    _, plain = terminal("recall", "ship", "--mode", "lexical", env={"NO_COLOR": "1"})
    assert "36m" not in plain
    assert "\x1b" not in command("recall", "ship", "--mode", "lexical").out
    _, table = terminal("list")
    assert "We ship on Tuesdays" in table
    assert "─" in table
    _, document = terminal("list", "--json")
    assert "\x1b" not in document


LONG = "We ship on Tuesdays because the release train leaves then and nobody is there on Fridays"


def rows_of(shown: str) -> list[str]:
    return [re.sub("\x1b\\[[0-9;]*m", "", line).rstrip() for line in shown.splitlines()]


@pytest.mark.parametrize("columns", [40, 60, 80, 100, 200])
def test_a_table_keeps_its_ids_and_its_text_at_any_width(terminal: Talk, command: Cli, columns: int) -> None:
    id_ = command("remember", "--json", LONG, "--kind", "decision").json["memory"]["id"]
    _, shown = terminal("list", env={"COLUMNS": str(columns), "NO_COLOR": "1"})
    lines = rows_of(shown)
    assert id_ in shown
    assert max(map(len, lines)) <= columns
    told = [line for line in lines if any(word in line for word in ("Tuesdays", "train", "Fridays"))]
    assert sum(len(re.search(r"(?:\S+ )*\S+$", line)[0]) for line in told) >= len(LONG) - len(told)  # type: ignore[index]
    assert len(told) <= -(-len(LONG) // (columns // 2)) + 1
    assert any("decision" in line and "user" in line for line in lines)


@pytest.mark.parametrize("columns", [60, 80])
def test_sessions_and_settings_fit_a_narrow_terminal(terminal: Talk, command: Cli, columns: int) -> None:
    session = "claude:01a1e2f1-ff11-74df-b168-b1e4ecd740f7"
    with Recollect.open(scope=Scope("local", os_user()), background=False) as memory:
        memory.record(session, "user", "Why does the foghorn of the lighthouse fail on Tuesdays?")
    narrow = {"COLUMNS": str(columns), "NO_COLOR": "1"}
    _, shown = terminal("sessions", "--all-projects", env=narrow)
    assert session in shown
    assert "Why does the foghorn of" in shown
    _, shown = terminal("config", env=narrow)
    settings = [line for line in rows_of(shown) if " default " in line]
    assert len(settings) > 30
    assert max(map(len, settings)) <= columns
    assert sum(line.endswith("…") for line in settings if "deny_paths" in line) == 1
    _, whole = terminal("config", "show", "deny_paths", env=narrow)
    assert "~/.azure" in whole


@pytest.mark.parametrize("columns", [60, 100])
def test_a_turn_takes_three_lines_of_a_terminal(terminal: Talk, columns: int) -> None:
    said = "Nothing of any use. " * 50 + "The lighthouse is green. " + "Nothing of any use. " * 50
    with Recollect.open(scope=Scope("local", os_user()), background=False) as memory:
        memory.record_many([("s", "user", "What colour has it?", 1), ("s", "assistant", said, 2)])
    words = ("recall", "lighthouse", "--mode", "lexical", "--no-abstain", "--tier", "turn", "--all-projects")
    _, shown = terminal(*words, env={"COLUMNS": str(columns), "NO_COLOR": "1"})
    turn = rows_of(shown)[0]
    assert turn.startswith("[turn] …")
    assert "The lighthouse is green" in turn
    assert 2 * columns < len(turn) <= 3 * columns


def test_markup_in_a_memory_is_only_text(terminal: Talk, command: Cli) -> None:
    command("remember", "[bold red]not markup[/] :smile: [link=file:///x]y[/link]")
    _, shown = terminal("recall", "markup", "--mode", "lexical")
    assert "[bold red]not markup[/] :smile: [link=file:///x]y[/link]" in shown.replace("\r\n", "")


@pytest.mark.parametrize(("typed", "left"), [("y\n", 0), ("n\n", 1), ("\n", 1)])
def test_forgetting_asks_first(terminal: Talk, command: Cli, typed: str, left: int) -> None:
    command("remember", "We ship on Tuesdays")
    code, shown = terminal("forget", "--all", typed=typed)
    assert code == 0
    assert "for good? [y/N]" in shown
    assert len(command("list", "--json").json["memories"]) == left


def test_a_closed_pipe_ends_it_quietly(work: Path, command: Cli) -> None:
    for number in range(3):
        command("remember", f"{number} " + "long " * 1_000)
    process = subprocess.Popen(
        [sys.executable, "-m", "recollect", "export"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=work
    )
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.close()
    assert process.stderr.read() == b""
    process.stderr.close()
    assert process.wait(timeout=60) == 141


def test_a_full_output_is_an_error(work: Path, command: Cli) -> None:
    if not Path("/dev/full").exists():
        pytest.skip("this system has no /dev/full")
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(
            [sys.executable, "-m", "recollect", "whoami"], stdout=full, stderr=subprocess.PIPE, cwd=work, check=False
        )
    assert done.returncode == 1
    assert b"No space left" in done.stderr
    assert b"Traceback" not in done.stderr


def test_control_c_ends_it_quietly(work: Path, own_home: Path) -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "recollect", "import", "-"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=work,
        env={**os.environ, "HOME": str(own_home)},
    )
    assert process.stdin is not None
    process.stdin.write(b'{"type":"recollect","format":1}\n')
    process.stdin.flush()
    database = own_home / ".local" / "share" / "recollect" / "recollect.db"
    end = time.monotonic() + 30
    while not database.exists() and time.monotonic() < end:
        time.sleep(0.05)
    time.sleep(0.5)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=30)
    assert process.returncode == 130
    assert (out, err) == (b"", b"")
