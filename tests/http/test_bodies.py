"""What a body may be: P46, each limit broken by one and by a thousand times, before anything of it is kept."""

from __future__ import annotations

import json
import resource
import socket
import time
from collections.abc import Callable, Iterator

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.http import bodies
from recollect.http.errors import Refused
from tests.http.conftest import Inside, Service

Make = Callable[..., Inside]
JSON = {"Content-Type": "application/json"}
WHOLE = bodies.MOST_BYTES


def padded(size: int) -> bytes:
    """A search of exactly so many bytes."""
    body = b'{"query": "what is it"}'
    return body + b" " * (size - len(body))


@pytest.mark.parametrize(("size", "status"), [(WHOLE, 200), (WHOLE + 1, 413), (8 * WHOLE, 413)])
def test_a_body_has_at_most_one_mebibyte(inside: Make, size: int, status: int) -> None:
    assert inside().client.post("/search", content=padded(size), headers=JSON).status_code == status


@pytest.mark.parametrize(("size", "status"), [(WHOLE, 200), (WHOLE + 1, 413)])
def test_chunks_are_counted_as_they_come(inside: Make, size: int, status: int) -> None:
    def chunks() -> Iterator[bytes]:
        body = padded(size)
        for start in range(0, len(body), 60_000):
            yield body[start : start + 60_000]

    assert inside().client.post("/search", content=chunks(), headers=JSON).status_code == status


@pytest.mark.parametrize(("depth", "status"), [(63, 422), (64, 422), (65, 422), (100_000, 422)])
def test_json_is_no_deeper_than_64(inside: Make, depth: int, status: int) -> None:
    """Of 64 the schema says that it does not fit; deeper, nobody looks."""
    answer = inside().client.post("/search", content=b"[" * depth + b"]" * depth, headers=JSON)
    assert answer.status_code == status
    assert ("deeper" in answer.json()["error"]["message"]) is (depth > 64)


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"nothing",
        b'{"query": NaN}',
        b'{"query": "\\ud800"}',
        b'{"query": "\xff"}',
        b'{"query": "a\\u0000b"}',
        b'{"query": {"\\u0000": 1}}',
        b'{"query": ' + b"9" * 5_000 + b"}",
        b'{"query": "\x00"}',
        b"\xef\xbb\xbf{}",
    ],
    ids=lambda body: repr(body[:24]),
)
def test_what_is_not_good_json_is_422(inside: Make, body: bytes) -> None:
    answer = inside().client.post("/search", content=body, headers=JSON)
    assert answer.status_code == 422
    assert set(answer.json()["error"]) >= {"code", "message", "hint"}


@pytest.mark.parametrize(
    "kind",
    [
        *("text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", ""),
        *("application/jsonx", "application/json; charset=utf-16"),
    ],
)
def test_a_form_of_a_page_is_not_understood(inside: Make, kind: str) -> None:
    """T17: what a page can send without asking first."""
    headers = {"Content-Type": kind} if kind else {}
    assert inside().client.post("/search", content=b'{"query": "x"}', headers=headers).status_code == 415


def test_a_compressed_body_is_not_unpacked(inside: Make) -> None:
    headers = {**JSON, "Content-Encoding": "gzip"}
    assert inside().client.post("/search", content=b"\x1f\x8b", headers=headers).status_code == 415


def test_nul_in_an_address_is_422(inside: Make) -> None:
    client = inside().client
    assert client.get("/sessions/a%00b").status_code == 422
    assert client.get("/memories?tag=a%00b").status_code == 422


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers(-(2**63), 2**64 - 1) | st.text(st.characters(codec="utf-8")),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(st.characters(codec="utf-8")), inner),
        max_leaves=200,
    )
)
def test_the_check_refuses_exactly_what_it_says(value: object) -> None:
    body = json.dumps(value).encode()
    try:
        bodies.check_json(body)
        refused = False
    except Refused:
        refused = True
    assert refused is (depth(value) > 64 or "\0" in text(value))
    assert orjson.loads(body) == value


def depth(value: object) -> int:
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else None
    return 0 if inner is None else 1 + max(map(depth, inner), default=0)


def text(value: object) -> str:
    if isinstance(value, dict):
        return "".join(key + text(one) for key, one in value.items())
    return "".join(map(text, value)) if isinstance(value, list) else value if isinstance(value, str) else ""


def test_brackets_in_text_are_not_depth() -> None:
    bodies.check_json(json.dumps({"content": '[{"' * 5_000 + "\\"}).encode())


# -- on a real socket --------------------------------------------------------------------------------------------------


def said(service: Service, *parts: bytes) -> bytes:
    """What the server says to these bytes."""
    with socket.create_connection(("127.0.0.1", service.port), timeout=20) as link:
        try:
            for part in parts:
                link.sendall(part)
        except (BrokenPipeError, ConnectionResetError):
            pass
        found = b""
        try:
            while piece := link.recv(65_536):
                found += piece
                if b"\r\n\r\n" in found:
                    break
        except ConnectionResetError:
            pass
        return found


def head(service: Service, *lines: str) -> bytes:
    told = ["POST /search HTTP/1.1", f"Host: 127.0.0.1:{service.port}", f"X-API-Key: {service.secret}"]
    return "\r\n".join([*told, "Content-Type: application/json", *lines, "", ""]).encode()


@pytest.mark.slow
def test_too_much_is_refused_before_it_is_read(start: Callable[..., Service]) -> None:
    """P46 by a thousand times: by its length at once, and without one as soon as it is too much. C15."""
    service = start()
    before = memory_of(service)
    assert said(service, head(service, f"Content-Length: {1000 * WHOLE}")).startswith(b"HTTP/1.1 413")
    assert said(service, head(service, f"Content-Length: {10**30}")).startswith(b"HTTP/1.1 400")
    endless = [b"10000\r\n" + b" " * 65_536 + b"\r\n"] * 400
    for _ in range(5):
        said(service, head(service, "Transfer-Encoding: chunked"), *endless)
    with service.client() as client:
        assert client.get("/health").status_code == 200
    assert memory_of(service) - before < 64 * 1024 * 1024


@pytest.mark.slow
def test_a_key_is_asked_for_before_a_body(start: Callable[..., Service]) -> None:
    """C15: 401 while the body has not begun to come."""
    service = start()
    lines = ["POST /ingest HTTP/1.1", "Host: 127.0.0.1", "Content-Type: application/json", "Expect: 100-continue"]
    answer = said(service, "\r\n".join([*lines, "Content-Length: 1000", "", ""]).encode())
    assert answer.startswith(b"HTTP/1.1 401")


@pytest.mark.slow
@pytest.mark.parametrize(
    "sent",
    [
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc",
        b"GET /health HTTP/9.9\r\n\r\n",
        b"GET /health\r\n\r\n",
        b"POST /search HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        b"\x00" * 5_000,
    ],
    ids=["TLS", "version", "no version", "smuggled", "zeros"],
)
def test_what_is_no_http_gets_a_plain_no(start: Callable[..., Service], sent: bytes) -> None:
    answer = said(start(), sent)
    assert answer == b"" or answer[9:12] in (b"400", b"403"), answer
    assert answer == b"" or b"x-content-type-options: nosniff" in answer


@pytest.mark.timed
@pytest.mark.slow
def test_half_open_connections_stop_nobody(start: Callable[..., Service]) -> None:
    """P46: 300 that never say what they want; others are answered, and the server still ends in time."""
    service = start()
    halves = [b"", b"POST /search HT", head(service, "Content-Length: 100"), head(service, "Content-Length: 9") + b"{"]
    links = []
    for number in range(300):
        link = socket.create_connection(("127.0.0.1", service.port), timeout=20)
        link.sendall(halves[number % len(halves)])
        links.append(link)
    with service.client() as client:
        begun = time.monotonic()
        assert [client.get("/whoami").status_code for _ in range(20)] == [200] * 20
        assert time.monotonic() - begun < 5
        assert client.post("/search", json={"query": "still there"}).status_code == 200
    begun = time.monotonic()
    assert service.stop() == 0
    assert time.monotonic() - begun < 6
    for link in links:
        link.close()


def memory_of(service: Service) -> int:
    """The bytes it has in memory."""
    with open(f"/proc/{service.process.pid}/statm") as file:  # noqa: PTH123
        return int(file.read().split()[1]) * resource.getpagesize()
