"""The pages for tests: `web` answers in this process, to somebody who came in (or does not, with `stranger`)."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from html import unescape
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import httpx
import pytest
from starlette.testclient import TestClient

from recollect.facade import Recollect
from recollect.model import Scope
from recollect.web.address import link_to
from recollect.web.app import create_served
from tests.flow.memory_fixture import HandClock
from tests.http.conftest import Inside

BASE = "http://127.0.0.1:8010"
_CSRF = re.compile(r'name="csrf" value="([0-9a-f]{40})"')


class Web(Inside):
    """The app in this process, and a browser-like client that came in: `get`, and `post` with the form's token."""

    def __init__(self, data_dir: Path, clock: HandClock, *, hosted: bool = False, **settings: Any):
        super().__init__(data_dir, clock, hosted=hosted, **settings)
        self.data_dir = data_dir
        self.api = self.client  # for programs, with the key
        self.served = create_served(self.serving, metrics=self.metrics)
        self._first = TestClient(self.served, base_url=BASE)
        self._first.__enter__()
        self.browser = self.visitor(self.secret if hosted else None)

    @property
    def memory(self) -> Recollect:
        """The memory of whoever came in."""
        return self.serving.memory(Scope("acme", "ann") if self.serving.hosted else self.serving.owner)

    def nobody(self, **headers: str) -> TestClient:
        """A browser that did not come in."""
        client = ("127.0.0.1", 3)
        browser = TestClient(self.served, base_url=BASE, client=client, headers=headers, follow_redirects=False)
        browser.portal = self._first.portal  # one event loop for all of them, as in a server
        return browser

    def close(self) -> None:
        self._first.__exit__(None, None, None)
        super().close()

    def visitor(self, key: str | None = None) -> TestClient:
        """A browser that came in: with a link on one's own machine, with a key on a server for others."""
        browser = self.nobody()
        if self.serving.hosted:
            answer = browser.post("/page/enter", data={"key": key or self.secret})
        else:
            answer = browser.get(link_to(self.data_dir, ""))
        assert answer.status_code == 303, answer.text
        return browser

    def get(self, address: str, status: int = 200, **query: Any) -> str:
        """A page's text."""
        answer = self.browser.get(f"{address}?{urlencode(query, doseq=True)}" if query else address)
        assert answer.status_code == status, f"{answer.status_code} {answer.text[:2000]}"
        return answer.text

    def csrf(self, browser: TestClient | None = None) -> str:
        """The token that forms of this visit carry."""
        found = _CSRF.search((browser or self.browser).get("/page/control").text)
        assert found
        return found[1]

    def post(self, address: str, browser: TestClient | None = None, **fields: Any) -> httpx.Response:
        """Send a form of this visit; no redirect is followed."""
        chosen = browser or self.browser
        return chosen.post(address, data={"csrf": self.csrf(chosen), **fields})

    def says(self, address: str, **query: Any) -> str:
        """A page's words, without markup."""
        body = re.sub(r"<(script|style)[^>]*>.*?</\1>", " ", self.get(address, **query), flags=re.DOTALL)
        return " ".join(unescape(re.sub(r"<[^>]+>", " ", body)).split())


@pytest.fixture
def web(tmp_path: Path, clock: HandClock) -> Iterator[Callable[..., Web]]:
    """Opens the pages in this process: web(), web(hosted=True)."""
    made: list[Web] = []

    def make(**given: Any) -> Web:
        made.append(Web(tmp_path / "data", clock, **given))
        return made[-1]

    yield make
    for one in made:
        one.close()
