"""An opened API for tests: the real app over a real store, keys of several owners, and a worker that is run by hand."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from fastapi import FastAPI
from starlette.testclient import TestClient

from recollect.http.app import create_app
from recollect.model import Scope
from recollect.models.tiny import TinyEmbedder
from recollect.pipeline.embedding import embed_waiting
from recollect.serving import Serving
from recollect.settings import load
from tests.flow.memory_fixture import HandClock

ANN, BOB, EVE = Scope("acme", "ann"), Scope("acme", "bob"), Scope("other", "ann")
ALL = ("read", "write", "delete", "speak", "act")
NOBODY = "019a8000-0000-7000-8000-000000000000"  # an id that nothing has


@dataclass
class Caller:
    """Somebody with a key. What they send is JSON; what comes back is the status and the body."""

    client: TestClient
    key: str

    def send(self, method: str, path: str, body: Any = None, **more: Any) -> Any:
        """The whole answer."""
        headers = {"X-API-Key": self.key, **more.pop("headers", {})}
        more["params"] = more.get("params") or None  # an empty one would take away what stands in the path
        return self.client.request(method, path, json=body, headers=headers, **more)

    def get(self, path: str, expect: int = 200, **query: Any) -> Any:
        return self._told(self.send("GET", path, params=query), expect)

    def post(self, path: str, body: Any = None, expect: int = 200, **query: Any) -> Any:
        return self._told(self.send("POST", path, body, params=query), expect)

    def patch(self, path: str, body: Any, expect: int = 200, **more: Any) -> Any:
        return self._told(self.send("PATCH", path, body, **more), expect)

    def delete(self, path: str, expect: int = 200, **query: Any) -> Any:
        return self._told(self.send("DELETE", path, params=query), expect)

    def keep(self, content: str, **more: Any) -> str:
        """A memory, by its id."""
        return str(self.post("/ingest", {"content": content, **more}, 201)["memory_id"])

    def say(self, session: str, *lines: str, **more: Any) -> None:
        """What the user and the assistant say in turn."""
        roles = ("user", "assistant")
        events = [{"session": session, "role": roles[n % 2], "content": line} for n, line in enumerate(lines)]
        self.post("/v1/events", {"events": events, **more}, 202)

    def _told(self, answer: Any, expect: int) -> Any:
        assert answer.status_code == expect, f"{answer.status_code}: {answer.text[:500]}"
        return answer.json()


@dataclass
class Api:
    """The service, and whoever calls it."""

    serving: Serving
    app: FastAPI
    client: TestClient
    clock: HandClock
    _callers: dict[tuple[Any, ...], Caller] = field(default_factory=dict)

    def caller(self, scope: Scope = ANN, permissions: Sequence[str] = ALL) -> Caller:
        """Somebody with a key of this scope."""
        name = (scope.tenant, scope.user, scope.project, *permissions)
        if name not in self._callers:
            made = self.serving.store.keys.create(scope, at=self.clock(), permissions=permissions)
            self._callers[name] = Caller(self.client, made.text)
        return self._callers[name]

    def embed(self) -> None:
        """Make the vectors that wait."""
        embed_waiting(self.serving.store, TinyEmbedder())


@pytest.fixture
def api(tmp_path: Path, clock: HandClock) -> Iterator[Api]:
    """The whole API, served to others, in one role; nothing runs beside it."""
    with opened_api(tmp_path / "data", clock) as made:
        yield made


class opened_api:  # noqa: N801 (used like a function)
    """The API over a data directory or, where the settings say so, a database."""

    def __init__(self, data_dir: Path, clock: Callable[[], Any], role: Any = "all", **settings: Any) -> None:
        unlimited = {"serve_rate_per_minute": 0, "serve_rate_per_ip_per_minute": 0}
        loaded = load(data_dir=data_dir, **{**unlimited, **settings}).settings
        self.serving = Serving(loaded, hosted=True, clock=clock, embedder=TinyEmbedder())
        self.clock, self.role = clock, role

    def __enter__(self) -> Api:
        app = create_app(self.serving, self.role)
        self._client = TestClient(app, raise_server_exceptions=False)
        return Api(self.serving, app, self._client, self.clock)  # type: ignore[arg-type]

    def __exit__(self, *_: object) -> None:
        self._client.close()
        self.serving.close()
