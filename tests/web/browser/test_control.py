"""The control pages in a real browser: a key is shown once; a project is switched, and one sees which."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.web.browser.conftest import Site
from tests.web.browser.test_every_page import WAYS

Look = Callable[..., Any]


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
    assert "Switched off: grok." in page.get_by_role("status").inner_text()
    config = site.sample.folder / "home" / ".config" / "recollect" / "config.toml"
    assert config.read_text() == 'capture_off = ["grok"]\n'
    row.get_by_role("button", name="Switch on").click()
    assert config.read_text() == ""


def test_what_was_switched_stays_in_sight_with_its_name(site: Site, look: Look) -> None:
    page = look("/page/control/projects", **WAYS["phone"])
    page.get_by_label("An agent, a project or a directory").fill("nonsense")
    page.get_by_role("button", name="Switch off").last.click()
    page.wait_for_url("**#row-*")
    seen = page.locator("tr:target, [role=status]").evaluate_all(
        "all => all.map((one) => one.getBoundingClientRect()).map((box) => box.top >= 0 && box.bottom <= innerHeight)"
    )
    assert seen == [True, True]
    assert "Nothing here is called so" in page.get_by_role("status").inner_text()
    page.locator("tr:target").get_by_role("button", name="Switch on").click()


def test_a_form_that_was_refused_is_found_again_as_it_was_filled_in(site: Site, look: Look) -> None:
    page = look("/page/control/models")
    page.get_by_label("Tokens").fill("plenty")
    page.get_by_role("button", name="Set the budget").click()
    assert "“Tokens” must be a number" in page.locator("main").inner_text()
    page.get_by_role("link", name="Back to the form").click()
    page.wait_for_url("**/page/control/models")
    assert page.get_by_label("Tokens").input_value() == "plenty"
    site.problems[:] = [one for one in site.problems if "422" not in one]  # the browser notes the refusal
