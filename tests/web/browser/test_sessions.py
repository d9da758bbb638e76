"""Sessions in a real browser: a transcript is read, an event is found, and what comes appears by itself."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from urllib.parse import quote

from tests.web.browser.conftest import Site


def test_a_session_is_found_and_a_call_unfolded(site: Site, look: Callable[..., Any]) -> None:
    page = look("/page/sessions?agent=claude")
    page.locator(".session-row .name a").first.click()
    page.wait_for_selector("#transcript")
    call = page.locator("details.tool").first
    call.locator("summary").click()
    assert call.locator("pre").first.is_visible()


def test_words_are_sought_inside_and_lead_to_their_place(site: Site, look: Callable[..., Any]) -> None:
    page = look("/page/sessions/chat:talk")
    page.get_by_label("Search inside").fill("harbour")
    page.get_by_role("button", name="Search").click()
    page.locator(".found a").first.click()
    assert page.locator(".here").is_visible()
    assert "#e-" in page.url


def test_the_live_log_receives_a_new_turn(site: Site, look: Callable[..., Any]) -> None:
    page = look("/page/live")
    page.locator("[data-state]", has_text="Live").wait_for()
    with site.memory() as memory:
        memory.record("chat:new", "user", "A turn that has just come <b>in</b>")
        kept = memory.remember("What was made just now")
    line = page.locator(".line.new.is-prompt", has_text="A turn that has just come <b>in</b>")
    line.wait_for()
    assert line.count() == 1
    made = page.locator(".line.new.is-memory a", has_text="memory").first
    made.wait_for()
    assert made.get_attribute("href") == f"/page/memories/{kept.id}"
    page.get_by_label("What is said").uncheck()
    assert not line.is_visible()


def test_a_session_is_followed_on_its_own_page(site: Site, look: Callable[..., Any]) -> None:
    with site.memory() as memory:
        memory.record("chat:goes on", "user", "The first words")
    page = look(f"/page/sessions/{quote('chat:goes on')}")
    with site.memory() as memory:
        memory.record("chat:goes on", "assistant", "Said before anybody followed")
    page.get_by_text("Follow this session").click()
    page.locator(".line", has_text="Said before anybody followed").wait_for()
    with site.memory() as memory:
        memory.record("chat:goes on", "assistant", "Said while somebody follows")
        memory.record("chat:elsewhere", "user", "Not of this session")
    page.locator(".line", has_text="Said while somebody follows").wait_for()
    assert page.locator(".line").count() == 2
