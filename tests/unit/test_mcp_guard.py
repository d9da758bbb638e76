"""Who may speak to the local server, row by row: T17."""

from __future__ import annotations

from email.message import Message

import pytest

from recollect.mcp.guard import Denied, Guard

TOKEN = "t" * 43
GOOD = {
    "Host": "127.0.0.1:8642",
    "Authorization": f"Bearer {TOKEN}",
    "Content-Type": "application/json",
    "Content-Length": "20",
}


def verdict(
    changes: dict[str, str | None] | None = None, method: str = "POST", path: str = "/mcp", host: str = "127.0.0.1"
) -> int:
    """The status a request with these headers gets; 200 when it may go on."""
    headers = Message()
    for name, value in {**GOOD, **(changes or {})}.items():
        if value is not None:
            headers[name] = value
    found = Guard(host, TOKEN, 1_000).check(method, path, headers)
    return found.status if isinstance(found, Denied) else 200


@pytest.mark.parametrize(
    ("changes", "status"),
    [
        ({}, 200),
        ({"Host": "localhost:1"}, 200),
        ({"Host": "[::1]:8642"}, 200),
        ({"Origin": "http://127.0.0.1:8642"}, 200),
        ({"Sec-Fetch-Site": "same-origin", "Content-Type": "application/json; charset=utf-8"}, 200),
        ({"Host": None}, 403),
        ({"Host": "evil.example:8642"}, 403),
        ({"Host": "127.0.0.1.evil.example"}, 403),
        ({"Origin": "https://evil.example"}, 403),
        ({"Origin": "null"}, 403),
        ({"Origin": "http://127.0.0.1:9999"}, 403),
        ({"Sec-Fetch-Site": "cross-site"}, 403),
        ({"Authorization": None}, 401),
        ({"Authorization": "Bearer wrong"}, 401),
        ({"Content-Type": "text/plain"}, 415),
        ({"Content-Length": "1001"}, 413),
    ],
    ids=lambda value: str(value)[:60],
)
def test_the_sixteen_rows(changes: dict[str, str | None], status: int) -> None:
    assert verdict(changes) == status


@pytest.mark.parametrize(
    ("changes", "status"),
    [
        ({"Authorization": f"Basic {TOKEN}"}, 401),
        ({"Authorization": "Bearer "}, 401),
        ({"Authorization": "Bearer é"}, 401),
        ({"Content-Type": None}, 415),
        ({"Content-Type": "application/x-www-form-urlencoded"}, 415),
        ({"Content-Length": None}, 411),
        ({"Content-Length": "-1"}, 411),
        ({"Content-Length": "٣"}, 411),
        ({"Transfer-Encoding": "chunked"}, 411),
        ({"Host": "user@127.0.0.1"}, 403),
        ({"Host": "127.0.0.1:8642/"}, 403),
        ({"Origin": "http://127.0.0.1:8642.evil.example"}, 403),
        ({"Host": "evil.example", "Authorization": None}, 403),
    ],
    ids=lambda value: str(value)[:60],
)
def test_odd_headers_open_nothing(changes: dict[str, str | None], status: int) -> None:
    assert verdict(changes) == status


@pytest.mark.parametrize("name", ["Host", "Authorization", "Content-Length", "Origin"])
def test_a_header_given_twice_counts_for_nothing(name: str) -> None:
    headers = Message()
    for one, value in {**GOOD, "Origin": "http://127.0.0.1:8642"}.items():
        headers[one] = value
    headers[name] = headers[name]
    assert isinstance(Guard("127.0.0.1", TOKEN, 1_000).check("POST", "/mcp", headers), Denied)


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/mcp", 405),
        ("DELETE", "/mcp", 405),
        ("OPTIONS", "/mcp", 405),
        ("POST", "/", 404),
        ("POST", "/mcp/../etc", 404),
        ("POST", "/mcp?x=1", 200),
    ],
)
def test_there_is_one_place_and_one_way(method: str, path: str, status: int) -> None:
    assert verdict(method=method, path=path) == status
    assert verdict({"Authorization": None}, method, path) == 401


def test_the_host_it_listens_on_is_its_own() -> None:
    assert verdict({"Host": "box.lan:80"}, host="box.lan") == 200
    assert verdict({"Host": "[fe80::1]:80"}, host="fe80::1") == 200
    assert verdict({"Host": "box.lan"}) == 403
