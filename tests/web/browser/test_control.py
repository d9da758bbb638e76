"""The control pages in a real browser: each is sound and fits a phone; a key is shown once; a project is switched."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from recollect.web.control import SECTIONS
from tests.web.browser.conftest import Site
from tests.web.browser.test_every_page import WAYS

Look = Callable[..., Any]


@pytest.mark.parametrize("way", WAYS)
def test_every_control_page_is_sound(site: Site, look: Look, pictures: Path | None, way: str) -> None:
    page = look("/page/control", **WAYS[way])
    for section in SECTIONS:
        page.goto(f"{site.service.address}/page/control/{section.name}")
        assert page.locator("h1").count() == 1
        assert page.locator("header nav a[aria-current]").inner_text() == "Control"
        wider = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
        assert wider <= 0, f"{section.name}: {wider} pixels run out of the page"
        if pictures is not None:
            page.screenshot(path=pictures / f"control-{section.name}-{way}.png", full_page=True)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_serious_in_them(site: Site, look: Look, scheme: str) -> None:
    from axe_playwright_python.sync_playwright import Axe

    page, found = look("/page/control", color_scheme=scheme), {}
    for section in SECTIONS:
        page.goto(f"{site.service.address}/page/control/{section.name}")
        grave = [one for one in Axe().run(page).response["violations"] if one["impact"] in ("serious", "critical")]
        if grave:
            found[section.name] = [(one["id"], one["nodes"][0]["html"][:200], len(one["nodes"])) for one in grave]
    assert found == {}


def test_a_key_is_made_and_shown_once(site: Site, look: Look) -> None:
    page = look("/page/control/keys")
    page.get_by_label("What it is for").fill('<img src=x onerror="alert(1)">')
    page.get_by_role("button", name="Make a key").click()
    text = page.locator("output#key").inner_text()
    assert text.startswith("rec_live_")
    page.goto(f"{site.service.address}/page/control/keys")
    assert text not in page.content()
    assert page.get_by_text('<img src=x onerror="alert(1)">').count() == 1


def test_an_agent_is_switched_off_and_on(site: Site, look: Look) -> None:
    page = look("/page/control/projects")
    row = page.locator("tr", has=page.get_by_role("rowheader", name="grok", exact=True))
    row.get_by_role("button", name="Switch off").click()
    assert "Switched off" in page.get_by_role("status").inner_text()
    config = site.sample.folder / "home" / ".config" / "recollect" / "config.toml"
    assert config.read_text() == 'capture_off = ["grok"]\n'
    row.get_by_role("button", name="Switch on").click()
    assert config.read_text() == ""
