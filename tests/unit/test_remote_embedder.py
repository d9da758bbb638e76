"""The remote embedder against a real server on this machine: good, slow, broken and hostile answers."""

from __future__ import annotations

import json
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler
from ipaddress import ip_address
from typing import Any

import numpy as np
import pytest
from tests.llm_fixture import Endpoint, send

from recollect.errors import BadVector, InvalidInput, ModelUnavailable, RecollectError
from recollect.models import address
from recollect.models.choose import choose
from recollect.models.port import Embedder
from recollect.models.remote import RemoteEmbedder
from recollect.settings import Settings

KEY = "sk-very-secret"
DIM = 3


class Server:
    """A server that speaks of vectors: the scripted one, and how long a client waited between its tries."""

    def __init__(self, endpoint: Endpoint) -> None:
        self.script = endpoint
        self.waits: list[float] = []

    def embedder(self, dim: int = DIM, timeout: float = 5.0) -> RemoteEmbedder:
        return RemoteEmbedder(f"{self.script.url}/", KEY, "some-model", dim, timeout=timeout, sleep=self.waits.append)


@pytest.fixture
def server(endpoint: Endpoint) -> Server:
    return Server(endpoint)


def vector_for(text: str) -> list[float]:
    return [float(len(text)), 1.0, 2.0]


def good(handler: BaseHTTPRequestHandler, body: dict[str, Any]) -> None:
    data = [{"index": place, "embedding": vector_for(text)} for place, text in enumerate(body["input"])]
    send(handler, 200, json.dumps({"data": data[::-1]}).encode())  # out of order, as the format allows


def status(code: int, **headers: str) -> Callable[[BaseHTTPRequestHandler, dict[str, Any]], None]:
    return lambda handler, _body: send(handler, code, b'{"error": "the server quotes sk-very-secret"}', **headers)


def answer(body: bytes) -> Callable[[BaseHTTPRequestHandler, dict[str, Any]], None]:
    return lambda handler, _body: send(handler, 200, body)


def row(*numbers: str) -> bytes:
    return f'{{"data": [{{"index": 0, "embedding": [{", ".join(numbers)}]}}]}}'.encode()


def fails_with(server: Server, kind: type[RecollectError], timeout: float = 5.0) -> RecollectError:
    with pytest.raises(kind) as caught:
        server.embedder(timeout=timeout).embed(["private text"])
    said = f"{caught.value!r} {caught.value} {caught.value.hint} {caught.value.__cause__!r}"
    assert KEY not in said
    assert "private text" not in said
    return caught.value


def test_vectors_come_in_order_and_of_length_one(server: Server) -> None:
    server.script.answers = [good]
    texts = ["a", "bb" * 5, "ccc"]
    vectors = server.embedder().embed(texts)
    expected = np.array([vector_for(text) for text in texts])
    np.testing.assert_allclose(vectors, expected / np.linalg.norm(expected, axis=1, keepdims=True), atol=1e-6)
    assert vectors.dtype == np.float32
    assert server.script.paths == ["/v1/embeddings"]
    assert server.script.asked == [{"model": "some-model", "input": texts, "encoding_format": "float"}]
    assert server.script.headers[0]["Authorization"] == f"Bearer {KEY}"


def test_no_texts_ask_nothing(server: Server) -> None:
    assert server.embedder().embed([]).shape == (0, DIM)
    assert server.script.asked == []


def test_many_texts_go_in_batches_of_64(server: Server) -> None:
    server.script.answers = [good]
    vectors = server.embedder().embed(["x" * n for n in range(1, 151)])
    assert [len(asked["input"]) for asked in server.script.asked] == [64, 64, 22]
    assert (np.diff(vectors[:, 0]) > 0).all()


def test_texts_that_servers_refuse_are_made_harmless(server: Server) -> None:
    server.script.answers = [good]
    server.embedder().embed(["", "half \ud800", "\x00 é 🚀"])
    assert server.script.asked[0]["input"] == [" ", "half ?", "\x00 é 🚀"]


@pytest.mark.parametrize("code", [429, 500, 503])
def test_a_passing_failure_is_tried_again(server: Server, code: int) -> None:
    server.script.answers = [status(code), good]
    assert server.embedder().embed(["a"]).shape == (1, DIM)
    assert server.waits == [0.5]


@pytest.mark.parametrize(("asked", "waited"), [("2", 2.0), ("86400", 10.0), ("Wed, 21 Oct 2026 07:28:00 GMT", 0.5)])
def test_retry_after_is_honoured_within_reason(server: Server, asked: str, waited: float) -> None:
    server.script.answers = [status(429, Retry_After=asked), good]
    server.embedder().embed(["a"])
    assert server.waits == [waited]


def test_a_lasting_failure_ends_after_three_tries(server: Server) -> None:
    server.script.answers = [status(500)]
    assert "status 500, 3 times" in str(fails_with(server, ModelUnavailable))
    assert len(server.script.asked) == 3
    assert server.waits == [0.5, 1.0]


@pytest.mark.parametrize("code", [400, 401, 403, 404, 413])
def test_our_own_mistakes_are_not_tried_again(server: Server, code: int) -> None:
    server.script.answers = [status(code)]
    assert f"status {code}" in str(fails_with(server, ModelUnavailable))
    assert len(server.script.asked) == 1


def test_a_server_that_hangs_is_given_up(server: Server) -> None:
    server.script.answers = [lambda _handler, _body: void(server.script.closing.wait(10))]
    assert "in time, 3 times" in str(fails_with(server, ModelUnavailable, timeout=0.1))
    assert len(server.script.asked) == 3


def test_a_server_that_drips_is_given_up(server: Server) -> None:
    def drip(handler: BaseHTTPRequestHandler, _body: dict[str, Any]) -> None:
        handler.send_response(200)
        handler.send_header("Content-Length", "100000")
        handler.end_headers()
        while not server.script.closing.wait(0.03):
            handler.wfile.write(b" ")

    server.script.answers = [drip]
    assert "in time" in str(fails_with(server, ModelUnavailable, timeout=0.2))


def test_an_endless_answer_is_cut(server: Server) -> None:
    sent = 0

    def flood(handler: BaseHTTPRequestHandler, _body: dict[str, Any]) -> None:
        nonlocal sent
        handler.send_response(200)
        handler.end_headers()
        while not server.script.closing.is_set():
            sent += handler.wfile.write(b" " * 65_536)

    server.script.answers = [flood]
    assert "larger than" in str(fails_with(server, ModelUnavailable))
    assert sent < 50_000_000


@pytest.mark.parametrize("code", [301, 302, 307, 308])
def test_a_redirect_is_not_followed(server: Server, code: int) -> None:
    server.script.answers = [status(code, Location=f"http://127.0.0.1:{server.script.port}/elsewhere"), good]
    assert "redirect" in str(fails_with(server, ModelUnavailable))
    assert server.script.paths == ["/v1/embeddings"]


@pytest.mark.parametrize(
    "body",
    [
        row("NaN", "1", "1"),
        row("1e999", "1", "1"),
        row("1" + "0" * 400, "1", "1"),
        row("0", "0", "0"),
        row("1", "2"),
        row("1", "2", "3", "4"),
        row('"a"', "1", "1"),
        row("null", "1", "1"),
        row("[1]", "1", "1"),
    ],
    ids=["nan", "infinite", "huge", "zeros", "too short", "too long", "word", "null", "nested"],
)
def test_a_bad_vector_is_refused(server: Server, body: bytes) -> None:
    server.script.answers = [answer(body)]
    fails_with(server, BadVector)
    assert len(server.script.asked) == 1


def test_a_wrong_dimension_names_both(server: Server) -> None:
    server.script.answers = [good]
    with pytest.raises(BadVector, match="3 dimensions, the setting says 5"):
        server.embedder(dim=5).embed(["a"])


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"<html>",
        b"[]",
        b"null",
        b'{"data": 3}',
        b'{"data": []}',
        b'{"data": [3]}',
        b'{"data": [{"index": 0}]}',
        b'{"data": [{"index": 1, "embedding": [1, 1, 1]}]}',
        b'{"data": [{"index": 0, "embedding": [1, 1, 1]}, {"index": 0, "embedding": [1, 1, 1]}]}',
        b'{"data": [{"index": "x", "embedding": [1, 1, 1]}]}',
        b"[" * 60_000,
        b"\xff\xfe",
    ],
)
def test_an_answer_of_another_kind_is_refused(server: Server, body: bytes) -> None:
    server.script.answers = [answer(body)]
    fails_with(server, ModelUnavailable)


def test_a_closed_port_is_one_clear_error(server: Server) -> None:
    embedder = RemoteEmbedder("http://127.0.0.1:1/v1", KEY, "m", DIM, sleep=server.waits.append)
    with pytest.raises(ModelUnavailable, match="ConnectionRefusedError"):
        embedder.embed(["a"])
    assert server.waits == []


@pytest.mark.parametrize(
    "url",
    [
        "http://example.com/v1",
        "http://127.0.0.1.example.com/v1",
        "http://localhost@example.com/v1",
        "https://user:word@example.com/v1",
        "ftp://localhost/v1",
        "file:///etc/passwd",
        "example.com/v1",
        "https://",
        "https://example.com:port/v1",
        "https://example.com/v1?key=1",
        "",
    ],
)
def test_an_unsafe_address_is_refused(url: str) -> None:
    with pytest.raises(InvalidInput):
        RemoteEmbedder(url, KEY, "m", DIM)


CLOSED = [
    "169.254.169.254",  # where most clouds give a machine its credentials
    "169.254.170.2",  # and a container
    "169.254.1.1:8080",
    "2852039166",  # the same as one number
    "0xA9FEA9FE",
    "0251.0376.0251.0376",
    "169.254.43518",
    "169.254.169.254.",
    "[::ffff:169.254.169.254]",  # as an IPv6 address, in every way there is
    "[::ffff:a9fe:a9fe]",
    "[::a9fe:a9fe]",
    "[64:ff9b::a9fe:a9fe]",
    "[2002:a9fe:a9fe::1]",
    "[fe80::1]",
    "[fe80::1%25eth0]",
    "[fd00:ec2::254]",
    "[fd20:ce::254]",
    "100.100.100.200",
    "168.63.129.16",
    "192.0.0.192",
    "0.0.0.0",  # noqa: S104
    "0",
    "[::]",
    "224.0.0.1",
    "255.255.255.255",
    "metadata.google.internal",
    "METADATA.google.internal.",
    "metadata",
    "metadata.goog",
    "instance-data.ec2.internal",
]


@pytest.mark.parametrize("scheme", ["http", "https"])
@pytest.mark.parametrize("host", CLOSED)
def test_no_model_is_at_the_link_or_at_a_clouds_own_service(scheme: str, host: str) -> None:
    """Not even where it was named as one that may be asked over plain http."""
    bare = host.strip("[]").removesuffix(":8080")
    with pytest.raises(InvalidInput):
        RemoteEmbedder(f"{scheme}://{host}/latest/meta-data", KEY, "m", DIM, plain=(host, bare))


@pytest.mark.parametrize(
    "host", ["10.0.0.7", "192.168.1.4", "[fd00::7]", "172.16.0.1", "metadata.example.com", "8.8.8.8"]
)
def test_other_machines_may_have_a_model(host: str) -> None:
    RemoteEmbedder(f"https://{host}/v1", KEY, "m", DIM)


def test_a_name_that_leads_to_such_an_address_is_sent_nothing(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(address, "_OTHERS", frozenset([ip_address("127.0.0.1"), ip_address("::1")]))
    embedder = RemoteEmbedder(server.script.url.replace("127.0.0.1", "localhost"), KEY, "m", DIM)
    with pytest.raises(ModelUnavailable, match="ClosedAddress"):
        embedder.embed(["a"])
    assert server.script.asked == []


def test_plain_http_goes_only_to_hosts_that_were_named() -> None:
    RemoteEmbedder("http://Embedder:8080/v1", KEY, "m", DIM, plain=("embedder",))
    with pytest.raises(InvalidInput, match="over https"):
        RemoteEmbedder("http://other:8080/v1", KEY, "m", DIM, plain=("embedder",))
    named = Settings(embedder="remote", embedding_url="http://embedder:80/v1", embedding_plain_hosts=("embedder",))
    assert choose(named)[0] is not None


@pytest.mark.parametrize(
    "url", ["https://example.com/v1", "http://localhost:8080", "http://127.0.0.1/v1", "http://[::1]:1/v1"]
)
def test_a_safe_address_is_taken(url: str) -> None:
    embedder: Embedder = RemoteEmbedder(url, KEY, "m", DIM)
    assert (embedder.name, embedder.dim) == ("m", DIM)


@pytest.mark.parametrize("key", ["a\r\nX-Evil: 1", "schlüssel", "a\x00b"])
def test_a_key_that_breaks_the_header_is_refused_without_showing_it(key: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        RemoteEmbedder("https://example.com", key, "m", DIM)
    assert key not in str(caught.value)


def test_the_key_is_not_shown() -> None:
    embedder = RemoteEmbedder("https://example.com", KEY, "m", DIM)
    assert KEY not in f"{embedder!r} {embedder}"


def test_without_a_key_none_is_sent(server: Server) -> None:
    server.script.answers = [good]
    RemoteEmbedder(f"http://127.0.0.1:{server.script.port}", "", "m", DIM).embed(["a"])
    assert "Authorization" not in server.script.headers[0]
    assert server.script.paths == ["/embeddings"]


def void(_value: object) -> None:
    """For a lambda that must return nothing."""
