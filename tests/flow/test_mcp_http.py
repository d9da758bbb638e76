"""The server over HTTP: one address, JSON in and out, and nothing for anybody who has no business here."""

from __future__ import annotations

import json
import os
import signal
import socket
import stat
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from http.client import HTTPConnection
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from recollect import Recollect, Scope
from recollect.errors import StoreUnavailable
from recollect.mcp.token import FILE_NAME, own_token
from recollect.settings import load
from tests.flow.mcp_fixture import ENVELOPE, HELLO, Served

PING = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
SAVE = {"name": "memory_save", "arguments": {"content": "A page wrote this"}}
CALL = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": SAVE}


class Answer(NamedTuple):
    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


def send(
    served: Served, message: Any = PING, method: str = "POST", path: str = "/mcp", **changes: str | None
) -> Answer:
    """One request; headers are given with `_` for `-`, None leaves one out."""
    body = message if isinstance(message, bytes) else json.dumps(message).encode()
    headers: dict[str, str | None] = {
        "Authorization": f"Bearer {served.token}",
        "Content-Type": "application/json",
        **{name.replace("_", "-"): value for name, value in changes.items()},
    }
    connection = HTTPConnection("127.0.0.1", served.port, timeout=10)
    try:
        connection.request(method, path, body, {name: value for name, value in headers.items() if value is not None})
        response = connection.getresponse()
        return Answer(response.status, {name.lower(): value for name, value in response.getheaders()}, response.read())
    finally:
        connection.close()


def raw(served: Served, data: bytes) -> bytes:
    """Bytes as they are, and all that comes back until the server closes."""
    with socket.create_connection(("127.0.0.1", served.port), timeout=10) as wire:
        wire.sendall(data)
        wire.shutdown(socket.SHUT_WR)
        return b"".join(iter(lambda: wire.recv(65_536), b""))


# -- speaking ----------------------------------------------------------------------------------------------------------


def test_a_message_is_answered_as_json(served: Served) -> None:
    answer = send(served, {**PING, "method": "initialize", "params": HELLO})
    assert (answer.status, answer.headers["content-type"]) == (200, "application/json")
    assert answer.json["result"]["protocolVersion"] == "2025-11-25"
    assert "mcp-session-id" not in answer.headers


@pytest.mark.parametrize(
    "message",
    [{"jsonrpc": "2.0", "method": "notifications/initialized"}, {"jsonrpc": "2.0", "id": 3, "result": {}}],
    ids=["notification", "answer"],
)
def test_what_needs_no_answer_is_accepted(served: Served, message: Any) -> None:
    answer = send(served, message)
    assert (answer.status, answer.body) == (202, b"")


@pytest.mark.parametrize(
    ("message", "headers", "status", "code"),
    [
        (b"{", {}, 400, -32700),
        (7, {}, 400, -32600),
        ({**PING, "method": "nope"}, {}, 200, -32601),
        (PING, {"MCP_Protocol_Version": "1999-01-01"}, 400, -32600),
        ([PING], {"MCP_Protocol_Version": "2025-11-25"}, 400, -32600),
    ],
    ids=["not json", "not a message", "no method", "no such version", "no batch"],
)
def test_errors_have_their_status(
    served: Served, message: Any, headers: dict[str, str], status: int, code: int
) -> None:
    answer = send(served, message, **headers)
    assert (answer.status, answer.json["error"]["code"]) == (status, code)


def test_a_batch_is_for_clients_of_that_version_or_of_none(served: Served) -> None:
    for headers in ({}, {"MCP_Protocol_Version": "2025-03-26"}):
        assert [one["id"] for one in send(served, [PING, {**PING, "id": 2}], **headers).json] == [1, 2]


ENVELOPED = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"_meta": ENVELOPE, "name": "memory_status"}}
AGREEING = {"MCP_Protocol_Version": "2026-07-28", "Mcp_Method": "tools/call", "Mcp_Name": "memory_status"}


@pytest.mark.parametrize(
    ("message", "headers", "status", "code"),
    [
        (ENVELOPED, {}, 200, None),
        (ENVELOPED, {"Mcp_Name": "=?base64?bWVtb3J5X3N0YXR1cw==?="}, 200, None),
        (ENVELOPED, {"Mcp_Name": "=?base64?!?="}, 400, -32020),
        (ENVELOPED, {"Mcp_Name": "memory_save"}, 400, -32020),
        (ENVELOPED, {"Mcp_Method": "tools/list"}, 400, -32020),
        (ENVELOPED, {"Mcp_Method": None}, 400, -32020),
        (ENVELOPED, {"MCP_Protocol_Version": "2025-11-25"}, 400, -32020),
        ({**ENVELOPED, "params": {"name": "memory_status"}}, {}, 400, -32602),
        ({**ENVELOPED, "method": "nope"}, {"Mcp_Method": "nope"}, 404, -32601),
        ({"jsonrpc": "2.0", "method": "notifications/cancelled"}, {}, 202, None),
    ],
)
def test_headers_and_message_must_agree_where_each_brings_its_version(
    served: Served, message: Any, headers: dict[str, Any], status: int, code: int | None
) -> None:
    answer = send(served, message, **{**AGREEING, **headers})
    assert answer.status == status
    if code is not None:
        assert answer.json["error"]["code"] == code


def test_many_clients_at_once(served: Served) -> None:
    def ask(number: int) -> int:
        call = {"name": "memory_save", "arguments": {"content": f"Fact {number}"}}
        return send(served, {**CALL, "params": call}).status

    with ThreadPoolExecutor(8) as pool:
        assert set(pool.map(ask, range(24))) == {200}
    status = {"name": "memory_status", "arguments": {}}
    assert "24 memories" in send(served, {**CALL, "params": status}).json["result"]["content"][0]["text"]


def test_one_connection_carries_many_messages(served: Served) -> None:
    connection = HTTPConnection("127.0.0.1", served.port, timeout=10)
    headers = {"Authorization": f"Bearer {served.token}", "Content-Type": "application/json"}
    for number in range(3):
        connection.request("POST", "/mcp", json.dumps({**PING, "id": number}).encode(), headers)
        assert json.loads(connection.getresponse().read())["id"] == number
    connection.close()


# -- who may speak -----------------------------------------------------------------------------------------------------

MATRIX: list[tuple[dict[str, Any], int]] = [
    ({}, 200),
    ({"Host": "localhost:1"}, 200),
    ({"Host": "[::1]:8642"}, 200),
    ({"Origin": "{own}"}, 200),
    ({"Sec_Fetch_Site": "same-origin"}, 200),
    ({"Host": "evil.example"}, 403),
    ({"Host": "127.0.0.1.evil.example:8642"}, 403),
    ({"Origin": "https://evil.example"}, 403),
    ({"Origin": "null"}, 403),
    ({"Origin": "http://localhost:3000"}, 403),
    ({"Sec_Fetch_Site": "cross-site"}, 403),
    ({"Authorization": None}, 401),
    ({"Authorization": "Bearer wrong"}, 401),
    ({"Content_Type": "text/plain"}, 415),
    ({"Content_Type": "application/x-www-form-urlencoded", "Origin": "https://evil.example"}, 403),
    ({"Content_Type": None}, 415),
]


def test_the_header_matrix(served: Served, tmp_path: Path) -> None:
    """T17: sixteen rows; what is refused changes nothing, and no answer invites a page."""
    assert len(MATRIX) == 16
    for number, (changes, status) in enumerate(MATRIX):
        given = {
            name: value.format(own=f"http://127.0.0.1:{served.port}") if value else value
            for name, value in changes.items()
        }
        call = {**CALL, "params": {**SAVE, "arguments": {"content": f"Row {number}"}}}
        answer = send(served, call, **given)
        assert answer.status == status, changes
        assert not [name for name in answer.headers if name.startswith("access-control")]
        assert str(tmp_path / "data") not in answer.body.decode()
    with Recollect.open(data_dir=tmp_path / "data", scope=Scope(), background=False) as memory:
        kept = {one.content for one in memory.memories(50)}
    assert kept == {f"Row {number}" for number, (_, status) in enumerate(MATRIX) if status == 200}


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [("GET", "/mcp", 405), ("DELETE", "/mcp", 405), ("OPTIONS", "/mcp", 405), ("POST", "/", 404), ("PUT", "/mcp", 405)],
)
def test_there_is_one_address_and_one_way(served: Served, method: str, path: str, status: int) -> None:
    answer = send(served, method=method, path=path)
    assert answer.status == status
    assert status != 405 or answer.headers["allow"] == "POST"
    assert send(served, method=method, path=path, Authorization=None).status == 401


def test_a_body_too_large_is_refused_unread(served: Served) -> None:
    head = f"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {served.token}\r\n"
    head += "Content-Type: application/json\r\nContent-Length: 1048577\r\nExpect: 100-continue\r\n\r\n"
    answer = raw(served, head.encode())
    assert answer.startswith(b"HTTP/1.1 413")
    assert b"100 Continue" not in answer


def test_without_a_token_no_body_is_asked_for(served: Served) -> None:
    head = "POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: 20\r\n"
    answer = raw(served, (head + "Expect: 100-continue\r\n\r\n").encode())
    assert answer.startswith(b"HTTP/1.1 401")
    assert b"100 Continue" not in answer


@pytest.mark.parametrize(
    "data",
    [
        b"\r\n\r\n",
        b"GET /mcp\r\n\r\n",
        b"POST /mcp HTTP/1.1\r\n\r\n",
        b"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nHost: 127.0.0.1\r\n\r\n",
        b"POST /mcp HTTP/9.9\r\nHost: 127.0.0.1\r\n\r\n",
        b"BREW /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
        b"POST /mcp HTTP/1.1\r\n" + b"X: y\r\n" * 200 + b"\r\n",
        b"POST /" + b"a" * 70_000 + b" HTTP/1.1\r\n\r\n",
    ],
    ids=["blank", "old", "no host", "two hosts", "far version", "odd method", "tls", "many headers", "long path"],
)
def test_what_is_no_request_is_turned_away_and_the_server_stays(served: Served, data: bytes) -> None:
    assert b" 200 " not in raw(served, data).split(b"\r\n")[0]
    assert send(served).status == 200


# -- the token ---------------------------------------------------------------------------------------------------------


def test_the_token_is_private_and_stays_the_same(tmp_path: Path) -> None:
    token = own_token(tmp_path / "data")
    assert len(token) >= 40
    assert stat.S_IMODE((tmp_path / "data" / FILE_NAME).stat().st_mode) == 0o600
    assert own_token(tmp_path / "data") == token
    assert [path.name for path in (tmp_path / "data").iterdir()] == [FILE_NAME]


def test_servers_that_start_at_once_agree_on_a_token(tmp_path: Path) -> None:
    with ThreadPoolExecutor(8) as pool:
        assert len(set(pool.map(lambda _: own_token(tmp_path / "data"), range(16)))) == 1


@pytest.mark.parametrize("what", ["open to others", "link", "short", "directory", "pipe"])
def test_a_token_that_is_not_ours_alone_is_refused(tmp_path: Path, what: str) -> None:
    folder = tmp_path / "data"
    folder.mkdir(mode=0o700)
    file = folder / FILE_NAME
    if what == "link":
        (tmp_path / "elsewhere").write_text("t" * 43)
        (tmp_path / "elsewhere").chmod(0o600)
        file.symlink_to(tmp_path / "elsewhere")
    elif what == "directory":
        file.mkdir()
    elif what == "pipe":
        os.mkfifo(file, 0o600)
    else:
        file.write_text("short" if what == "short" else "t" * 43)
        file.chmod(0o644 if what == "open to others" else 0o600)
    with pytest.raises(StoreUnavailable):
        own_token(folder)


# -- starting and ending -----------------------------------------------------------------------------------------------


def test_it_says_where_it_is_and_where_the_token_is_but_not_the_token(served: Served) -> None:
    assert served.note.startswith(f"Serving http://127.0.0.1:{served.port}/mcp. The token is in mcp.token")
    assert served.token not in served.note


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_it_ends_when_told_to(served: Served, number: signal.Signals) -> None:
    assert send(served, CALL).status == 200
    served.process.send_signal(number)
    out, err = served.process.communicate(timeout=10)
    assert (served.process.returncode, out, err) == (0, b"", b"")


def test_it_listens_on_this_machine_only(served: Served) -> None:
    listening = Path("/proc/net/tcp").read_text() if Path("/proc/net/tcp").exists() else ""
    local = [line.split()[1] for line in listening.splitlines()[1:] if line.split()[1].endswith(f":{served.port:04X}")]
    assert all(address.startswith("0100007F") for address in local)


def test_a_port_that_is_taken_is_said(served: Served, work: Path, tmp_path: Path) -> None:
    words = ["mcp", "--http", "--port", str(served.port), "--data-dir", str(tmp_path / "data")]
    done = subprocess.run([sys.executable, "-m", "recollect", *words], capture_output=True, cwd=work, timeout=20)
    assert done.returncode == 2
    assert b"cannot listen on 127.0.0.1 port" in done.stderr


def test_the_project_is_that_of_its_directory(served: Served, work: Path, tmp_path: Path) -> None:
    assert load(data_dir=tmp_path / "data").settings.project == ""
    status = {"name": "memory_status", "arguments": {}}
    text = send(served, {**CALL, "params": status}).json["result"]["content"][0]["text"]
    assert f"[project: {work}]" in text
