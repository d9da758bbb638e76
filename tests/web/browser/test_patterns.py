"""Patterns and insights in a real browser: one is approved, rolled out as shown and taken back; plots have no fault."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.web.browser.conftest import Site
from tests.web.browser.test_every_page import WAYS

Look = Callable[..., Any]


def test_a_pattern_is_approved_rolled_out_as_shown_and_taken_back(
    site: Site, look: Look, pictures: Path | None
) -> None:
    """From the queue, with a mouse: what is shown before is what is written, and nothing else."""
    file = site.sample.project / "AGENTS.md"
    file.write_text("# Mine\n")
    page = look("/page/patterns")
    page.locator("article.pattern a").first.click()
    page.get_by_label("Rule, as agents are told it").fill("Look twice & again before you leap.")
    page.get_by_label("Why (kept with the decision)").fill("every week")
    page.get_by_role("button", name="Approve").click()
    assert "Approved." in page.get_by_role("status").inner_text()
    page.get_by_role("link", name="Roll it out").click()
    page.get_by_label("AGENTS.md").check()
    page.get_by_label("Where").select_option(
        label=page.locator("#place option", has_text=str(file.parent)).inner_text()
    )
    page.get_by_role("button", name="Show what would be written").click()
    assert "+- Look twice & again before you leap." in page.locator("pre.diff").inner_text()
    assert file.read_text() == "# Mine\n"
    assert faults(page, "roll-out-shown", pictures) == {}
    page.get_by_role("button", name="Write exactly this").click()
    assert "Look twice & again before you leap." in file.read_text()
    assert faults(page, "rolled-out", pictures) == {}
    page.get_by_role("link", name="Take it back").click()
    assert faults(page, "roll-back", pictures) == {}
    page.get_by_role("button", name="Take exactly this out").click()
    assert "Taken back." in page.get_by_role("status").inner_text()
    assert file.read_text() == "# Mine\n"


def test_looking_again_tells_how_far_it_is_and_ends(site: Site, look: Look) -> None:
    page = look("/page/patterns")
    page.get_by_role("button", name="Look at every session again").click()
    page.get_by_text(re.compile("^Looked at")).wait_for(timeout=60_000)


@pytest.mark.parametrize("way", WAYS)
def test_a_pattern_and_its_roll_out_are_sound(site: Site, look: Look, pictures: Path | None, way: str) -> None:
    page, found = look("/page/patterns", **WAYS[way]), {}
    page.locator("article.pattern a").first.click()
    here = page.url
    for name, address in (("pattern", here), ("roll-out", f"{here}/roll-out"), ("weeks", "/page/insights?days=365")):
        page.goto(address if address.startswith("http") else site.service.address + address)
        wider = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
        grave = serious(page) if way == "light" and name != "weeks" else []
        if wider > 0 or grave or page.locator("h1").count() != 1:
            found[name] = (wider, grave)
        if pictures is not None:
            page.screenshot(path=pictures / f"{name}-{way}.png", full_page=True)
    assert found == {}


def faults(page: Any, name: str, pictures: Path | None) -> dict[str, object]:
    """What is wrong with a page as it stands: in light, in dark, and on a phone."""
    found: dict[str, object] = {}
    for way, given in WAYS.items():
        page.emulate_media(color_scheme=given["color_scheme"], reduced_motion="reduce")  # no colour halfway to another
        page.set_viewport_size(given.get("viewport", {"width": 1200, "height": 900}))
        wider = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
        grave = serious(page)
        if wider > 0 or grave:
            found[way] = (wider, grave)
        if pictures is not None:
            page.screenshot(path=pictures / f"{name}-{way}.png", full_page=True)
    page.emulate_media(color_scheme="light")
    page.set_viewport_size({"width": 1200, "height": 900})
    return found


def serious(page: Any) -> list[tuple[str, str]]:
    """What axe finds that keeps people out, and where."""
    from axe_playwright_python.sync_playwright import Axe

    found = [one for one in Axe().run(page).response["violations"] if one["impact"] in ("serious", "critical")]
    return [(one["id"], one["nodes"][0]["html"][:200]) for one in found]
