"""Sessions in a real browser: a transcript is read, an event is found, and what comes appears by itself."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any
from urllib.parse import quote

from recollect.store.ports.use import Injection
from recollect.web.address import link_to
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


def test_from_what_was_said_one_comes_to_what_the_agent_had_been_told(site: Site, look: Callable[..., Any]) -> None:
    """Why did it say that: the words, the link above them, the text as the agent received it, the memory."""
    page = look(f"/page/sessions/{site.sample.session}?at={site.sample.event}")
    page.get_by_role("link", name="It had been told").click()
    page.locator("#told[open]").wait_for()  # what a link leads to unfolds
    moment = page.locator("#told details.told").first
    moment.locator("summary").first.click()
    assert "<recollect-memory>" in moment.locator("pre.exact").inner_text()
    moment.get_by_text("The memories in it").click()
    moment.locator("a[href^='/page/memories/']").first.click()
    page.wait_for_url("**/page/memories/**")


def test_what_an_agent_is_told_arrives_folded_as_a_page_has_it(site: Site, look: Callable[..., Any]) -> None:
    page = look("/page/live")
    page.locator("[data-state]", has_text="Live").wait_for()
    with site.memory() as memory:
        memory.record("chat:told", "user", "Begin")
        one = memory.remember("What is told <b>now</b>")
        at = memory._clock()
        told = [Injection(one.id, "chat:told", at, "claude", "start", "b")]
        memory.store.use.inject(memory.scope, told, before=at - timedelta(days=3_000))  # what was told before stays
    line = page.locator(".line.new.is-told", has_text="1 memory")
    line.wait_for()
    assert not line.locator("pre").is_visible()
    arrived = line.locator("details").inner_html()
    line.locator("summary").click()
    assert line.locator("pre").inner_text() == "What is told <b>now</b>"
    page.reload()
    shown = page.locator(".line.is-told", has_text="1 memory").first.locator("details").inner_html()
    assert shown == arrived


def test_a_day_of_the_map_leads_to_its_sessions(site: Site, look: Callable[..., Any]) -> None:
    page = look("/page/sessions")
    page.locator(".heat svg a").last.click()
    page.wait_for_url("**since=*&until=*")
    assert page.locator(".session-row").count() >= 1


def test_without_scripts_nothing_dead_is_shown(site: Site) -> None:
    context = site.browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(link_to(site.service.data_dir, site.service.address))
    page.goto(f"{site.service.address}/page/live")
    assert not page.get_by_role("button", name="Pause").is_visible()
    assert page.get_by_role("link", name="Look again").is_visible()


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
