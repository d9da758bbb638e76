"""Every page in a real browser: light, dark and on a phone; nothing on the console, nothing against the policy, no
serious finding of axe, no text that runs out of its page.

`make pictures` keeps small ones for the docs (docs/images/pages); `KEEP_PICTURES=DIR` keeps them as they are.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from recollect.web.control import SECTIONS
from tests.web.browser.conftest import Site

PAGES = {
    "memory": "/memory",
    "search": "/memory?q=tide+cache",
    "superseded": "/memory?q=staging+port&history=1&tier=memory",
    "nothing": "/memory?q=zebra+stripes+quantum",
    "forgotten": "/memory?forgotten=1",
    "one-memory": "/page/memories/{memory}",
    "forgetting": "/page/memories/{memory}/forget",
    "next": "/page/next?memory={memory}",
    "refused": "/page/memories/019a8000-0000-7000-8000-000000000000",
    "sessions": "/page/sessions",
    "session": "/page/sessions/{session}",
    "live": "/page/live",
    "patterns": "/page/patterns",
    "insights": "/page/insights",
    "control": "/page/control",
    **{f"control-{section.name}": f"/page/control/{section.name}" for section in SECTIONS},
}
# Sessions, the live log, patterns and insights, further inside.
PAGES |= {
    "session-at": "/page/sessions/{session}?at={event}",
    "session-found": "/page/sessions/{session}?q=tests",
    "event": "/page/sessions/{session}?event={event}",
    "session-forget": "/page/sessions/{session}/forget",
    "session-live": "/page/live?session={session}",
    "pattern": "/page/patterns/{pattern}",
    "merge": "/page/patterns/{pattern}/merge?into={other}",
    "roll-out": "/page/patterns/{pattern}/roll-out",
    "insights-year": "/page/insights?days=365&agent=claude",
}
WAYS: dict[str, dict[str, Any]] = {
    "light": {"color_scheme": "light"},
    "dark": {"color_scheme": "dark"},
    "phone": {"color_scheme": "light", "viewport": {"width": 390, "height": 844}},
}
NARROW = {"width": 320, "height": 844}  # the narrowest phone: what fits there by luck of a short path fits nowhere else
GRAVE = ("serious", "critical")


def address(name: str, site: Site) -> str:
    sample = site.sample
    named = {"memory": sample.memories["tides"], "session": sample.session, "event": sample.event}
    return PAGES[name].format(**named, pattern=sample.patterns[0], other=sample.patterns[1])


def wider(page: Any, way: str) -> int:
    """By how many pixels a page is wider than its window."""
    if way == "phone":
        page.set_viewport_size(NARROW)
    found = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
    if way == "phone":
        page.set_viewport_size(WAYS[way]["viewport"])
    return max(0, int(found))


def grave(page: Any, way: str) -> list[Any]:
    """What axe finds. A dark page differs from the light one by its colours alone, a phone's by where things are."""
    from axe_playwright_python.sync_playwright import Axe

    options: dict[str, Any] = {"resultTypes": ["violations"]}
    if way == "dark":
        options["runOnly"] = ["color-contrast"]
    if way == "phone":
        options["rules"] = {"color-contrast": {"enabled": False}}
    found = Axe().run(page, options=options).response["violations"]
    return [(one["id"], one["nodes"][0]["html"][:200], len(one["nodes"])) for one in found if one["impact"] in GRAVE]


@pytest.mark.parametrize("way", WAYS)
def test_every_page_is_sound(site: Site, look: Callable[..., Any], pictures: Path | None, way: str) -> None:
    """One heading, one place in the navigation, nothing wider than the window, nothing on the console, no serious
    finding of axe."""
    page = look("/memory", **WAYS[way])
    found: dict[str, list[object]] = {}
    for name in PAGES:
        page.goto(site.service.address + address(name, site))
        if name == "refused":
            site.problems[:] = [one for one in site.problems if "404" not in one]  # the browser notes the refusal
        marks = [page.locator("h1").count(), page.locator("header nav a[aria-current]").count(), wider(page, way)]
        serious = grave(page, way)
        if marks != [1, 1, 0] or site.problems or serious:
            found[name] = [*marks, *site.problems, *serious]
            site.problems.clear()
        if pictures is not None:
            page.screenshot(path=pictures / f"{name}-{way}.png", full_page=True)
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
