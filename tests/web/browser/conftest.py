"""A real browser on a real server: `site` is one `recollect serve` with something in it, `look` opens pages there.

Whatever a page writes to the console, whatever it may not do by its policy, and whatever it asks of another machine
makes the test fail.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from recollect import Recollect
from recollect.web.address import link_to
from tests.http.conftest import Service
from tests.web.browser.chromium import FLAGS, find_chromium
from tests.web.browser.sample import Sample, fill

playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")

WATCH = """
window.broken = [];
document.addEventListener("securitypolicyviolation", (event) => {
  window.broken.push(event.violatedDirective + " " + event.blockedURI + " " + event.sourceFile);
});
"""


@dataclass
class Site:
    """A running server, what is in it, and what went wrong in pages of it."""

    service: Service
    sample: Sample
    browser: Any
    problems: list[str] = field(default_factory=list)

    def opened(self, **given: Any) -> Any:
        """A window of a browser that came in."""
        given.setdefault("viewport", {"width": 1200, "height": 900})
        context = self.browser.new_context(locale="en-GB", timezone_id="UTC", **given)
        context.add_init_script(WATCH)
        page = context.new_page()
        page.on("console", lambda said: self._heard(said.type, said.text))
        page.on("pageerror", lambda error: self.problems.append(f"script: {error}"))
        page.on("request", lambda asked: self._asked(asked.url))
        page.goto(link_to(self.service.data_dir, self.service.address))
        return page

    def memory(self) -> Recollect:
        """Its memory, beside the server."""
        return Recollect.open(self.service.data_dir, background=False)

    def check(self, page: Any) -> None:
        """Nothing went wrong in this page."""
        self.problems += page.evaluate("window.broken")
        assert self.problems == []

    def _heard(self, kind: str, text: str) -> None:
        if kind in ("error", "warning"):
            self.problems.append(f"{kind}: {text}")

    def _asked(self, address: str) -> None:
        if not address.startswith((self.service.address, "about:")):
            self.problems.append(f"it asked {address}")


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    binary, variables = find_chromium()
    with playwright.sync_playwright() as started:
        env = {"PATH": os.environ["PATH"], "HOME": os.environ["HOME"], **variables}
        browser = started.chromium.launch(executable_path=str(binary), args=list(FLAGS), env=env)
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Service, Sample]]:
    """One server for the tests of a file, with a home and a data directory of its own."""
    folder = tmp_path_factory.mktemp("site")
    home = folder / "home"
    home.mkdir()
    env = {"PATH": os.environ["PATH"], "HOME": str(home), "LANG": "C.UTF-8"}
    sample = fill(folder / "data", folder)
    started = Service(folder, env=env)
    yield started, sample
    started.close()


@pytest.fixture
def site(service: tuple[Service, Sample], chromium: Any) -> Iterator[Site]:
    found = Site(*service, chromium)
    yield found
    for context in chromium.contexts:
        context.close()


@pytest.fixture
def look(site: Site) -> Iterator[Callable[..., Any]]:
    """Opens an address in a window: look("/memory"); what went wrong there fails the test at its end."""
    opened: list[Any] = []

    def go(address: str, **given: Any) -> Any:
        page = site.opened(**given)
        opened.append(page)
        page.goto(site.service.address + address)
        return page

    yield go
    for page in opened:
        if not page.is_closed():
            site.check(page)


@pytest.fixture
def pictures() -> Path | None:
    """Where pictures of pages are kept, when somebody wants them: KEEP_PICTURES=DIR."""
    wanted = os.environ.get("KEEP_PICTURES")
    if not wanted:
        return None
    folder = Path(wanted)
    folder.mkdir(parents=True, exist_ok=True)
    return folder
