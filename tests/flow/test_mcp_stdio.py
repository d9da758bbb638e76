"""The server on standard input and output: answers at once, prints nothing else, follows its client, goes with it."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from recollect import Recollect, Scope
from recollect.settings import load
from tests.flow.mcp_fixture import ENVELOPE, HELLO, Talk

HEAVY = ("apsw", "numpy", "onnxruntime", "rich", "orjson", "asyncio", "recollect.facade", "recollect.store")
Start = Callable[..., Talk]


# -- starting ----------------------------------------------------------------------------------------------------------


def test_nothing_heavy_is_loaded_before_the_first_answer(work: Path) -> None:
    """So that it comes at once: no store, no model, no terminal."""
    script = (
        "import os, sys, threading\n"
        "from recollect.mcp.keeper import Keeper\n"
        "Keeper.start = lambda self: None\n"
        "from recollect.cli.main import main\n"
        "code = main(['mcp'])\n"
        f"sys.stderr.write('loaded ' + ','.join(m for m in {HEAVY!r} if m in sys.modules))\n"
    )
    hello = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": HELLO}
    listing = {"jsonrpc": "2.0", "id": 2, "method": "tools/list"}
    said = "".join(json.dumps(one) + "\n" for one in (hello, listing)).encode()
    done = subprocess.run([sys.executable, "-c", script], input=said, capture_output=True, cwd=work, check=True)
    assert len(done.stdout.splitlines()) == 2
    assert done.stderr.decode().rpartition("loaded ")[2] == ""


def test_it_greets_and_lists(talk: Start) -> None:
    server = talk()
    assert server.greet()["result"]["protocolVersion"] == "2025-11-25"
    assert len(server.ask("tools/list")["result"]["tools"]) == 8
    assert server.end() == (0, "")


def test_it_needs_no_greeting(talk: Start) -> None:
    server = talk()
    assert server.ask("server/discover", {"_meta": ENVELOPE})["result"]["supportedVersions"] == ["2026-07-28"]
    result = server.ask("tools/call", {"_meta": ENVELOPE, "name": "memory_status", "arguments": {}})["result"]
    assert (result["resultType"], result["isError"]) == ("complete", False)


def test_settings_that_cannot_be_read_are_a_failed_tool_not_a_dead_server(talk: Start, own_home: Path) -> None:
    config = own_home / ".config" / "recollect" / "config.toml"
    config.parent.mkdir(parents=True)
    config.write_text("not toml at all [")
    server = talk()
    server.greet()
    result = server.ask("tools/call", {"name": "memory_status", "arguments": {}})["result"]
    assert result["isError"] is True
    assert "cannot be read" in result["content"][0]["text"]
    assert server.ask("ping")["result"] == {}


def test_flags_without_http_are_refused(talk: Start) -> None:
    server = talk("--port", "1")
    assert server.process.wait(20) == 2


# -- lines -------------------------------------------------------------------------------------------------------------


def test_lines_torn_glued_blank_and_broken_are_all_read(talk: Start) -> None:
    server = talk()
    assert server.process.stdin
    ping = b'{"jsonrpc":"2.0","id":%d,"method":"ping"}'
    server.process.stdin.write(b"\n  \n" + ping % 1 + b"\n" + ping % 2 + b"\r\nnonsense\n" + (ping % 3)[:9])
    server.process.stdin.flush()
    time.sleep(0.05)
    server.process.stdin.write((ping % 3)[9:] + b"\n")
    server.process.stdin.flush()
    assert [server.hear()["id"] for _ in range(4)] == [1, 2, None, 3]


def test_a_line_without_end_is_refused_and_the_next_is_read(talk: Start) -> None:
    server = talk()
    server.send(b'{"x":"' + b"y" * 3_000_000 + b'"}')
    assert server.hear()["error"]["message"] == "a message has at most 1,048,576 bytes"
    assert server.ask("ping")["result"] == {}


def test_the_last_line_needs_no_end(talk: Start) -> None:
    server = talk()
    assert server.process.stdin
    server.process.stdin.write(b'{"jsonrpc":"2.0","id":7,"method":"ping"}')
    server.process.stdin.close()
    assert server.hear()["id"] == 7


def test_calls_that_were_asked_for_are_answered_before_it_leaves(talk: Start) -> None:
    server = talk()
    for number in (1, 2):
        call = {"name": "memory_save", "arguments": {"content": f"Fact {number}"}}
        server.send({"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": call})
    server.end()
    assert [server.hear()["id"] for _ in range(2)] == [1, 2]


def test_standard_output_carries_nothing_but_the_protocol(work: Path) -> None:
    script = (
        "import os\n"
        "from recollect.mcp.answering import Answering\n"
        "from recollect.mcp.protocol import Result\n"
        "def call(self, name, arguments):\n"
        "    print('printed'); os.system('echo echoed'); return Result('done ' + input_left())\n"
        "def input_left():\n"
        "    import sys; return repr(sys.stdin.read())\n"
        "Answering.call = call\n"
        "from recollect.cli.main import main\n"
        "main(['mcp'])\n"
    )
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "memory_status"}}
    said = (json.dumps(call) + "\n").encode()
    done = subprocess.run([sys.executable, "-c", script], input=said, capture_output=True, cwd=work, check=True)
    (line,) = done.stdout.splitlines()
    assert json.loads(line)["result"]["content"][0]["text"] == "done ''"
    assert b"printed" in done.stderr
    assert b"echoed" in done.stderr


def test_a_ping_does_not_wait_for_a_tool(work: Path) -> None:
    script = (
        "import time\n"
        "from recollect.mcp.answering import Answering\n"
        "from recollect.mcp.protocol import Result\n"
        "Answering.call = lambda self, name, arguments: (time.sleep(0.5), Result('late'))[1]\n"
        "from recollect.cli.main import main\n"
        "main(['mcp'])\n"
    )
    call = {"jsonrpc": "2.0", "id": "tool", "method": "tools/call", "params": {"name": "memory_status"}}
    again = {**call, "id": "dropped"}
    cancel = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": "dropped"}}
    ping = {"jsonrpc": "2.0", "id": "ping", "method": "ping"}
    said = "".join(json.dumps(one) + "\n" for one in (call, again, cancel, ping)).encode()
    done = subprocess.run([sys.executable, "-c", script], input=said, capture_output=True, cwd=work, check=True)
    assert [json.loads(line)["id"] for line in done.stdout.splitlines()] == ["ping", "tool"]


# -- whose memory ------------------------------------------------------------------------------------------------------


@pytest.fixture
def two_projects(work: Path, tmp_path: Path) -> Path:
    """Something known in the working directory, and something else in another."""
    other = tmp_path / "other place"
    other.mkdir()
    settings = load().settings
    for folder, text in ((work, "The falcon lives here"), (other, "The falcon lives elsewhere")):
        with Recollect.open(settings=settings, scope=Scope().within(str(folder)), background=False) as memory:
            memory.remember(text)
    return other


def found(server: Talk) -> list[str]:
    return re.findall(r"falcon lives (\w+)", server.tool("memory_search", query="falcon lives"))


def answer_roots(server: Talk, *uris: str) -> None:
    asked = server.hear()
    assert asked["method"] == "roots/list"
    server.send({"jsonrpc": "2.0", "id": asked["id"], "result": {"roots": [{"uri": uri} for uri in uris]}})


def test_the_project_is_that_of_the_working_directory(talk: Start, two_projects: Path) -> None:
    server = talk()
    server.greet()
    assert found(server) == ["here"]


def test_the_project_follows_the_clients_roots(talk: Start, two_projects: Path, work: Path) -> None:
    server = talk()
    server.greet(roots={"listChanged": True})
    answer_roots(server, "https://not.a.file/", "file:///no/such/place", two_projects.as_uri())
    assert found(server) == ["elsewhere"]
    server.send({"jsonrpc": "2.0", "method": "notifications/roots/list_changed"})
    answer_roots(server, work.as_uri())
    assert found(server) == ["here"]
    assert server.end() == (0, "")


def test_a_call_waits_a_moment_for_the_roots(talk: Start, two_projects: Path) -> None:
    server = talk()
    server.greet(roots={"listChanged": True})
    asked = server.hear()
    call = {"name": "memory_search", "arguments": {"query": "falcon lives"}}
    server.send({"jsonrpc": "2.0", "id": "early", "method": "tools/call", "params": call})
    time.sleep(0.3)
    server.send({"jsonrpc": "2.0", "id": asked["id"], "result": {"roots": [{"uri": two_projects.as_uri()}]}})
    assert "falcon lives elsewhere" in server.hear()["result"]["content"][0]["text"]


@pytest.mark.timed
def test_a_client_that_never_tells_its_roots_is_waited_for_a_moment_only(talk: Start, two_projects: Path) -> None:
    server = talk()
    server.greet(roots={})
    assert server.hear()["method"] == "roots/list"
    started = time.monotonic()
    assert found(server) == ["here"]
    assert time.monotonic() - started < 10


@pytest.mark.parametrize(
    ("words", "expected"), [(["--all-projects"], {"here", "elsewhere"}), (["--project", "x"], set())]
)
def test_a_project_that_was_fixed_stays(talk: Start, two_projects: Path, words: list[str], expected: set[str]) -> None:
    server = talk(*words)
    server.greet(roots={})
    answer_roots(server, two_projects.as_uri())
    assert set(found(server)) == expected


# -- the end -----------------------------------------------------------------------------------------------------------


@pytest.mark.timed
def test_it_ends_with_its_input(talk: Start) -> None:
    server = talk()
    server.greet()
    started = time.monotonic()
    assert server.end() == (0, "")
    assert time.monotonic() - started < 3


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_it_ends_when_told_to(talk: Start, number: signal.Signals) -> None:
    server = talk()
    server.greet()
    server.tool("memory_status")
    server.process.send_signal(number)
    assert server.process.wait(5) == 0
    assert server.process.stderr
    assert server.process.stderr.read() == b""


def test_it_ends_when_nobody_reads(talk: Start) -> None:
    server = talk()
    server.greet()
    assert server.process.stdout
    server.process.stdout.close()
    server.send({"jsonrpc": "2.0", "id": 99, "method": "ping"})
    assert server.process.wait(10) == 0


@pytest.mark.timed
def test_a_tool_that_hangs_does_not_keep_it(work: Path) -> None:
    script = (
        "import time\n"
        "from recollect.mcp.answering import Answering\n"
        "Answering.call = lambda self, name, arguments: time.sleep(600)\n"
        "from recollect.cli.main import main\n"
        "main(['mcp'])\n"
    )
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "memory_status"}}
    started = time.monotonic()
    subprocess.run(
        [sys.executable, "-c", script], input=json.dumps(call).encode(), capture_output=True, cwd=work, check=True
    )
    assert time.monotonic() - started < 6


PARENT = """
import os, subprocess, sys, time
wait, *inputs = map(int, sys.argv[1:])
command = [sys.executable, "-m", "recollect", "mcp"]
started = [subprocess.Popen(command, stdin=one, stdout=subprocess.PIPE) for one in inputs]
for one in started if wait else ():
    one.stdout.readline()
os.write(1, (" ".join(str(one.pid) for one in started) + "\\n").encode())
time.sleep(wait)
"""


def alive(pid: int) -> bool:
    try:
        return "Z" not in Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False


def gone(pids: list[int], seconds: float) -> bool:
    until = time.monotonic() + seconds
    while any(map(alive, pids)) and time.monotonic() < until:
        time.sleep(0.1)
    return not any(map(alive, pids))


def start_parent(cwd: Path, count: int, wait: int) -> tuple[subprocess.Popen[bytes], list[int]]:
    """A process that starts servers, whose inputs stay open in our hands: they never see the end of them."""
    pipes = [os.pipe() for _ in range(count)]
    words = [sys.executable, "-c", PARENT, str(wait), *(str(reading) for reading, _ in pipes)]
    parent = subprocess.Popen(words, stdout=subprocess.PIPE, cwd=cwd, pass_fds=[reading for reading, _ in pipes])
    for reading, writing in pipes:
        os.close(reading)
        os.write(writing, b'{"jsonrpc":"2.0","id":1,"method":"ping"}\n' if wait else b"")
    return parent, [writing for _, writing in pipes]


def children(parent: subprocess.Popen[bytes]) -> list[int]:
    assert parent.stdout
    with parent.stdout:
        return [int(word) for word in parent.stdout.readline().split()]


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="looks into /proc")
def test_fifty_servers_are_gone_when_their_parents_are_killed(work: Path) -> None:
    """P17, C7: not by the end of their input, which somebody else still holds open."""
    started = [start_parent(work, 10, 600) for _ in range(5)]
    servers = [pid for parent, _ in started for pid in children(parent)]
    assert len(servers) == 50
    for parent, _ in started:
        parent.kill()
        parent.wait()
    all_gone = gone(servers, 10)
    for writing in (one for _, held in started for one in held):
        os.close(writing)
    assert all_gone


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="looks into /proc")
def test_a_server_whose_parent_died_before_it_began_does_not_stay(work: Path) -> None:
    parent, (writing,) = start_parent(work, 1, 0)
    servers = children(parent)
    parent.wait()
    if " 1 " not in Path(f"/proc/{servers[0]}/stat").read_text().rpartition(")")[2][:5]:
        pytest.skip("orphans have another parent here; they leave after a minute")
    all_gone = gone(servers, 15)
    os.close(writing)
    assert all_gone
