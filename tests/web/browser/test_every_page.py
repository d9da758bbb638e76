"""Every page in a real browser: light, dark and on a phone; nothing on the console, nothing against the policy, no
serious finding of axe, no text that runs out of its page.

`KEEP_PICTURES=docs/images/pages` keeps the pictures that the docs show.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.web.browser.conftest import Site

PAGES = {
    "memory": "/memory",
    "search": "/memory?q=tide+cache",
    "nothing": "/memory?q=zebra+stripes+quantum",
    "one-memory": "/page/memories/{memory}",
    "sessions": "/page/sessions",
    "session": "/page/sessions/{session}",
    "live": "/page/live",
    "patterns": "/page/patterns",
    "insights": "/page/insights",
    "control": "/page/control",
}
WAYS: dict[str, dict[str, Any]] = {
    "light": {"color_scheme": "light"},
    "dark": {"color_scheme": "dark"},
    "phone": {"color_scheme": "light", "viewport": {"width": 390, "height": 844}},
}


def address(name: str, site: Site) -> str:
    return PAGES[name].format(memory=site.sample.memories["tides"], session=site.sample.session)


@pytest.mark.parametrize("way", WAYS)
def test_every_page_is_sound(site: Site, look: Callable[..., Any], pictures: Path | None, way: str) -> None:
    """One heading, one place in the navigation, nothing wider than the window, nothing on the console."""
    page = look("/memory", **WAYS[way])
    found: dict[str, list[object]] = {}
    for name in PAGES:
        page.goto(site.service.address + address(name, site))
        wider = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
        marks = [page.locator("h1").count(), page.locator("header nav a[aria-current]").count(), max(0, wider)]
        if marks != [1, 1, 0] or site.problems:
            found[name] = [*marks, *site.problems]
            site.problems.clear()
        if pictures is not None:
            page.screenshot(path=pictures / f"{name}-{way}.png", full_page=True)
    assert found == {}


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_serious(site: Site, look: Callable[..., Any], scheme: str) -> None:
    from axe_playwright_python.sync_playwright import Axe

    found = {}
    page = look("/memory", color_scheme=scheme)
    for name in PAGES:
        page.goto(site.service.address + address(name, site))
        grave = [one for one in Axe().run(page).response["violations"] if one["impact"] in ("serious", "critical")]
        if grave:
            found[name] = [(one["id"], one["nodes"][0]["html"][:200], len(one["nodes"])) for one in grave]
    assert found == {}


def test_it_reads_without_scripts(site: Site, look: Callable[..., Any]) -> None:
    from recollect.web.address import link_to

    context = site.browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(link_to(site.service.data_dir, site.service.address))
    for name in PAGES:
        page.goto(site.service.address + address(name, site))
        assert page.locator("h1").count() == 1
        assert len(page.locator("main").inner_text()) > 40, name
