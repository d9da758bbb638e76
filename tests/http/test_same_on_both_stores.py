"""The same calls are answered the same, whichever database is behind them; only ids differ."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from tests.flow.memory_fixture import HandClock
from tests.http.api_fixture import Api, opened_api
from tests.services.stores import Emptied

_ID = re.compile(
    r"[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}|\b[0-9a-f]{32}\b|recollect:[0-9a-f]{12}"
)
_CURSOR = re.compile(r'"next_cursor":"[^"]+"')
_CLOCKS = re.compile(r'"(made_at|due_at)":"[^"]+"')  # of the queue, which goes by the time of the machine

_LEFT = re.compile(r'"complete":(true|false),"remains":\[[^]]*\],"backups"')

ITEMS = [
    {
        "content": "The deploy script needs a token",
        "content_type": "lesson",
        "tags": ["deploy", "ci"],
        "importance": 0.8,
    },
    {"content": "Staging runs on port 8080", "content_type": "fact", "origin": "user"},
    {"content": "The café in Oslo opens at nine", "tags": ["café"], "occurred_at": "2026-02-01T09:00:00Z"},
    {"content": "部署脚本需要令牌", "metadata": {"ключ": ["значение", 1.5, None]}},
    {"content": "staging  runs on PORT 8080", "content_type": "fact"},
    {"content": ""},
]
PROGRAM: list[tuple[str, str, Any]] = [
    ("POST", "/ingest/batch", {"items": ITEMS}),
    ("POST", "/ingest", {"content": "Staging runs on port 8443", "content_type": "fact", "origin": "user"}),
    ("POST", "/ingest", {"content": "Of the shop alone", "context_id": "shop", "tags": ["ci"]}),
    ("POST", "/v1/events", {"events": [{"session": "chat:1", "role": "user", "content": "Which port is staging on?"}]}),
    ("POST", "/memory/ingest", {"user_message": "Always use tabs here.", "assistant_message": "Yes.", "key": "k"}),
    ("GET", "/memories?limit=3", None),
    ("GET", "/memories?tag=ci&history=true", None),
    ("GET", "/memories?since=2026-01-01T00:00:00Z&until=2026-03-01T00:00:00Z", None),
    ("GET", "/memory/records?project_tag=shop", None),
    ("GET", "/memory/stats", None),
    ("GET", "/memory/stats?context_id=shop", None),
    ("POST", "/search", {"query": "deploy token", "facets": True}),
    ("POST", "/search", {"query": "staging port", "filters": {"kinds": ["fact"]}, "profile": "relevance"}),
    ("POST", "/search", {"query": "café Oslo", "filters": {"tags": ["café"]}, "context_id": "shop"}),
    ("POST", "/search", {"query": "部署脚本", "abstain": False}),
    ("POST", "/memory/search", {"query": "deploy token", "project_tag": "ci"}),
    ("POST", "/context", {"query": "staging port", "max_tokens": 300}),
    ("POST", "/messages", {"session": "chat:2", "message": "Which port?", "persona": "Be terse."}),
    ("POST", "/prompt", {"session": "chat:1", "message": "Which port is staging on?"}),
    ("GET", "/sessions", None),
    ("GET", "/sessions/chat:1", None),
    ("GET", "/sessions/chat:1/history", None),
    ("POST", "/sessions/chat:1/summarize", None),
    ("GET", "/sessions/chat:1/gist", None),
    ("GET", "/tasks", None),
    ("DELETE", "/sessions/chat:1", None),
    ("GET", "/sessions/chat:1", None),
    ("GET", "/export", None),
]


def answers(api: Api, embedded: bool) -> list[tuple[str, int, str]]:
    """What each call of the program is answered, with ids told apart only by when they first came up."""
    ann, names, told = api.caller(), dict[str, str](), []
    for method, path, body in PROGRAM:
        answer = ann.send(method, path, body)
        api.clock.move(minutes=7)
        if embedded:
            api.embed()
        text = _CLOCKS.sub('"at":0', _CURSOR.sub('"next_cursor":"…"', answer.text))
        text = _ID.sub(lambda found: names.setdefault(found[0], f"id-{len(names)}"), text)
        told.append((f"{method} {path}", answer.status_code, text))
    return told


@pytest.mark.parametrize("embedded", [False, True], ids=["words", "words and meaning"])
def test_the_same_program_is_answered_the_same(tmp_path: Path, emptied: Emptied, embedded: bool) -> None:
    with opened_api(tmp_path / "one", HandClock()) as api:
        ours = answers(api, embedded)
    with opened_api(tmp_path / "two", HandClock(), database_url=emptied.url(0)) as api:
        theirs = answers(api, embedded)
    assert [status for _, status, _ in ours].count(200) >= 20
    for mine, other in zip(ours, theirs, strict=True):
        assert _rounded(mine) == _rounded(other)


def _rounded(told: tuple[str, int, str]) -> tuple[str, int, str]:
    """Scores to three digits: vectors are kept in another precision. What a database cannot scrub at once it says."""
    name, status, text = told
    text = _LEFT.sub('"backups"', text)
    return name, status, re.sub(r"\d\.\d{4,}", lambda found: f"{float(found[0]):.3f}", text)
