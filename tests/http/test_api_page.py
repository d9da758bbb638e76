"""`/docs`: the routes for people, on a page that fetches nothing and runs nothing."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Callable
from html.parser import HTMLParser

import pytest

from recollect.http.apipage import page
from recollect.http.app import ROLES, Role
from tests.http.conftest import Inside

Make = Callable[..., Inside]
_VOID = {"meta", "br", "link", "img", "input", "hr"}


class Read(HTMLParser):
    """What is on a page: its ids, its links, its tags; and whether every tag is closed."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.ids: list[str] = []
        self.links: list[str] = []
        self.tags: set[str] = set()
        self.attributes: set[str] = set()
        self.open: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        self.tags.add(tag)
        self.attributes |= given.keys()
        self.ids += [given["id"] or ""] if "id" in given else []
        self.links += [given["href"] or ""] if "href" in given else []
        if tag not in _VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


@pytest.mark.parametrize("role", ROLES)
def test_the_page_tells_of_every_route_and_every_value(inside: Make, role: Role) -> None:
    app = inside(role=role)
    answer = app.stranger().get("/docs")
    assert (answer.status_code, answer.headers["content-type"]) == (200, "text/html; charset=utf-8")
    told = app.stranger().get("/openapi.json").json()
    found = Read(answer.text)
    assert found.open == []
    for path, operations in told["paths"].items():
        for method in operations:
            assert f">{method.upper()} {path}</h2>" in answer.text
    assert set(told["components"]["schemas"]) <= set(found.ids)
    assert len(found.ids) == len(set(found.ids))
    assert {link[1:] for link in found.links if link.startswith("#")} <= set(found.ids), "every link leads somewhere"


def test_the_page_fetches_nothing_and_runs_nothing(inside: Make) -> None:
    answer = inside().stranger().get("/docs")
    found = Read(answer.text)
    assert not found.tags & {"script", "img", "link", "iframe", "form", "object"}
    assert not {name for name in found.attributes if name.startswith("on") or name in ("src", "style")}
    assert {link for link in found.links if not link.startswith("#")} == {"openapi.json"}
    [style] = re.findall(r"<style>(.*?)</style>", answer.text, re.DOTALL)
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    policy = answer.headers["content-security-policy"]
    assert policy.startswith(f"default-src 'none'; style-src 'sha256-{digest}'")
    assert "frame-ancestors 'none'" in policy
    assert answer.headers["x-content-type-options"] == "nosniff"


def test_what_stands_in_the_document_is_text_on_the_page() -> None:
    bad = '<script>alert("x")</script>'
    answer = {"description": bad, "content": {"application/json": {"schema": {"$ref": f"#/components/schemas/{bad}"}}}}
    operation = {
        "summary": bad,
        "parameters": [{"name": bad, "in": "query", "schema": {"enum": [bad]}, "description": bad}],
        "responses": {"200": answer},
    }
    fields = {bad: {"type": bad, "default": bad, "description": bad}}
    told = {
        "info": {"title": bad, "version": bad, "description": bad},
        "paths": {f"/{bad}": {"get": operation}},
        "components": {"schemas": {bad: {"description": bad, "properties": fields}}},
    }
    made = page(told, {("GET", f"/{bad}"): bad}, f"http://{bad}")
    assert "script" not in Read(made).tags


def test_a_host_that_was_made_up_is_text_too(inside: Make) -> None:
    app = inside(hosted=True)
    answer = app.stranger().get("/docs", headers={"Host": "a.example"})
    assert "curl http://a.example/whoami -H &quot;X-API-Key: $MEMORY_API_KEY&quot;" in answer.text
