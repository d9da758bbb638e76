"""The proxies send every request to a service that answers it, keep figures inside, and log nothing that was asked."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from fnmatch import fnmatchcase
from functools import cache
from importlib import import_module

import pytest

from recollect.http.app import PARTS
from recollect.http.permissions import NEEDS
from tests.ops.files import OPS

NGINX = (OPS / "proxy" / "nginx.conf").read_text()
CADDY = (OPS / "proxy" / "Caddyfile").read_text()
SERVICES = {"8001": "ingestion", "8002": "retrieval"}


@cache
def routes_of(role: str) -> set[tuple[str, str]]:
    """Method and template of everything a role answers."""
    modules = ("operations", *PARTS[role])
    routers = [import_module(f"recollect.http.routes.{name}").router() for name in modules]
    return {(method, route.path) for router in routers for route in router.routes for method in route.methods}


def nginx(method: str, path: str) -> str | None:
    """Which service nginx asks; None: it answers 404 itself. Exact places first, then patterns in their order."""
    if re.search(rf"location = {re.escape(path)} {{ return 404; }}", NGINX):
        return None
    for pattern, target in re.findall(r"location ~ (\S+) {.*?proxy_pass http://(\S+);", NGINX, re.DOTALL):
        if re.search(pattern, path):
            chosen = target
            break
    else:
        [chosen] = re.findall(r"location / {\s*proxy_pass http://(\S+);", NGINX)
    if chosen.startswith("$"):
        words = dict(re.findall(r"^\s+(default|GET|HEAD)\s+(\w+);", NGINX, re.MULTILINE))
        chosen = words.get(method, words["default"])
    [port] = re.findall(rf"upstream {chosen} {{\s*server 127\.0\.0\.1:(\d+)", NGINX)
    return SERVICES[port]


def caddy(method: str, path: str) -> str | None:
    """Which service Caddy asks: the first `handle` that fits, and no other."""
    text = re.sub(r"#.*", "", CADDY)
    matchers: dict[str, tuple[list[str], list[str]]] = {}
    for name, paths in re.findall(r"^\t@(\w+) path (.*)$", text, re.MULTILINE):
        matchers[name] = ([], paths.split())
    for name, methods, paths in re.findall(r"@(\w+) {\s*method (.*)\n\s*path (.*)\n", text):
        matchers[name] = (methods.split(), paths.split())
    for name, what in re.findall(r"^\thandle(?: @(\w+))? {\s*(.*?)\s*}", text, re.MULTILINE | re.DOTALL):
        methods, paths = matchers[name] if name else ([], ["*"])
        if (not methods or method in methods) and any(fnmatchcase(path, one) for one in paths):
            return None if what == "respond 404" else SERVICES[what.rpartition(":")[2]]
    raise AssertionError("no handle without a matcher")


def asked() -> Iterator[tuple[str, str, str]]:
    for method, template in NEEDS:
        path = re.sub(r"{\w+:path}", "claude:ab/cd", template)
        yield method, template, re.sub(r"{\w+}", "01a1e363-ffee-70ef-be36-0ee04af4e2f7", path)


@pytest.mark.parametrize("choose", [nginx, caddy], ids=["nginx", "caddy"])
@pytest.mark.parametrize(("method", "template", "path"), list(asked()), ids=lambda value: value)
def test_a_request_reaches_a_service_that_answers_it(
    choose: Callable[[str, str], str | None], method: str, template: str, path: str
) -> None:
    service = choose(method, path)
    if template == "/metrics":
        assert service is None
    else:
        assert service is not None
        assert (method, template) in routes_of(service)


def test_neither_logs_a_query_a_header_or_a_body() -> None:
    [form] = re.findall(r"log_format recollect.*?;", NGINX, re.DOTALL)
    assert set(re.findall(r"\$(\w+)", form)) <= {"time_iso8601", "request_method", "uri", "status", "request_time"}
    assert "request>headers delete" in CADDY
    assert r'request>uri regexp "\?.*" ""' in CADDY


def test_nobody_is_believed_who_says_where_a_request_came_from() -> None:
    assert "proxy_set_header X-Forwarded-For $remote_addr;" in NGINX


def test_tls_is_not_optional() -> None:
    assert "return 308 https://" in NGINX
    assert "ssl_protocols TLSv1.2 TLSv1.3;" in NGINX
    assert "Strict-Transport-Security" in NGINX
    assert "Strict-Transport-Security" in CADDY
