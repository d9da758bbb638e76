"""Search and the page of a memory in a real browser: found, traced to its words, corrected, told, forgotten."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from recollect.model import Evidence
from tests.web.browser.conftest import Site

Look = Callable[..., Any]
SAID = "Please note for later: the lighthouse keeper is called Odd, and nobody else has the key to the lamp room."


@pytest.fixture
def lamp(site: Site) -> Iterator[str]:
    """A memory that an assistant made of what a user said, by its id; gone again at the end."""
    with site.memory() as memory:
        key = memory.record("claude:lamp", "user", SAID)
        memory.record("claude:lamp", "assistant", "Noted: the keeper of the lighthouse is Odd.")
        span = Evidence("claude:lamp", key, SAID.index("the lighthouse"), SAID.index(", and"))
        content = "The lighthouse keeper is called Odd"
        kept = memory.remember(
            content, "fact", origin="assistant", session="claude:lamp", evidence=[span], tags=["lamp"]
        )
    yield kept.id
    with site.memory() as memory:
        memory.forget(session="claude:lamp")


def test_why_an_agent_said_something_is_found_corrected_and_told_the_next_time(look: Look, lamp: str) -> None:
    page = look("/memory")
    page.get_by_role("searchbox").or_(page.get_by_role("combobox", name="Search memories")).first.fill(
        "lighthouse keeper"
    )
    page.get_by_role("button", name="Search").click()
    hit = page.locator("article.hit", has_text="is called Odd").first
    hit.get_by_role("link", name="Evidence: claude").click()
    assert "nobody else has the key" in page.locator("main").inner_text()
    page.goto(page.url.partition("/page/")[0] + f"/page/memories/{lamp}")
    assert page.locator("blockquote mark").inner_text() == "the lighthouse keeper is called Odd"
    page.locator("#edit summary").click()
    page.get_by_label("What is so").fill("The lighthouse keeper is called Even")
    page.get_by_role("button", name="Save").click()
    assert "The former wording is kept" in page.get_by_role("status").inner_text()
    assert page.locator(".diff del").inner_text() == "Odd"
    assert page.locator(".diff ins").inner_text() == "Even"
    page.get_by_role("link", name="See what the next run will be told").click()
    assert "It is among them" in page.locator("main").inner_text()
    assert "The lighthouse keeper is called Even" in page.locator("pre.told").inner_text()


def test_it_is_narrowed_with_links_and_the_words_stay(look: Look, lamp: str) -> None:
    page = look("/memory?q=lighthouse")
    page.locator(".facets").get_by_role("link", name="fact").click()
    assert "kind=fact" in page.url
    assert "q=lighthouse" in page.url
    assert {one.inner_text() for one in page.locator("article.hit .badge.kind").all()} == {"fact"}
    page.locator(".chips a", has_text="fact").click()
    assert "kind=" not in page.url


def test_what_is_typed_is_suggested_and_arrows_lead_there(look: Look, lamp: str) -> None:
    page = look("/memory")
    page.keyboard.press("/")
    page.keyboard.type("lightho", delay=15)
    option = page.get_by_role("option").filter(has_text="lighthouse keeper")
    option.wait_for()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    page.wait_for_url("**/page/memories/**")
    assert page.url.endswith(lamp)


def test_why_it_ranked_is_a_bar_with_its_numbers_on_demand(look: Look, lamp: str) -> None:
    page = look("/memory?q=lighthouse+keeper&tier=memory")
    first = page.locator("article.hit").first
    assert first.locator("svg.parts").is_visible()
    assert not first.locator("table").is_visible()
    first.locator("details.ranked summary").click()
    assert "Importance" in first.locator("table").inner_text()


def test_it_is_forgotten_and_brought_back_and_gone(site: Site, look: Look, lamp: str) -> None:
    page = look(f"/page/memories/{lamp}")
    page.get_by_role("link", name="Forget …").click()
    assert "What goes" in page.locator("main").inner_text()
    page.get_by_role("button", name="Forget, with undo").click()
    assert "brought back for a week" in page.get_by_role("status").inner_text()
    page.get_by_role("button", name="Undo").click()
    assert "It is back" in page.get_by_role("status").inner_text()
    page.get_by_role("link", name="Forget …").click()
    page.on("dialog", lambda dialog: dialog.accept())
    page.get_by_role("button", name="Forget for good").click()
    assert "Forgotten" in page.get_by_role("status").inner_text()
    assert page.goto(page.url.partition("/memory")[0] + f"/page/memories/{lamp}").status == 404
    site.problems[:] = [one for one in site.problems if "404" not in one]  # the browser notes the refusal


def test_two_who_correct_it_at_once_see_both_wordings(site: Site, look: Look, lamp: str) -> None:
    page = look(f"/page/memories/{lamp}")
    with site.memory() as memory:
        memory.update(lamp, content="The lighthouse keeper is called Ada")
    page.locator("#edit summary").click()
    page.get_by_label("What is so").fill("The lighthouse keeper is called Even")
    page.get_by_role("button", name="Save").click()
    assert "It was changed meanwhile" in page.locator("h1").inner_text()
    assert "called Ada" in page.locator("main").inner_text()
    page.get_by_role("button", name="Save mine over it").click()
    assert "called Even" in page.locator("article.statement").inner_text()
    site.problems[:] = [one for one in site.problems if "409" not in one]  # the browser notes the refusal


def test_a_forgotten_memory_is_found_again_and_brought_back(look: Look, lamp: str) -> None:
    page = look(f"/page/memories/{lamp}/forget")
    page.get_by_role("button", name="Forget, with undo").click()
    page.get_by_role("link", name="← All memories").click()
    page.get_by_text("More filters").click()
    page.get_by_label("forgotten instead").check()
    page.get_by_role("button", name="Apply").click()
    hit = page.locator("article.hit", has_text="is called Odd")
    assert "forgotten" in hit.inner_text()
    hit.get_by_role("button", name="Bring it back").click()
    assert "It is back" in page.get_by_role("status").inner_text()
    assert page.url.split("?")[0].endswith(lamp)


def test_the_undo_stands_in_its_notice(look: Look, lamp: str) -> None:
    page = look(f"/page/memories/{lamp}")
    page.get_by_role("button", name="Archive").click()
    assert page.get_by_role("status").get_by_role("button", name="Undo").count() == 1
    page.get_by_role("status").get_by_role("button", name="Undo").click()
    assert "It is back" in page.get_by_role("status").inner_text()


HIDDEN = "document.querySelector('.suggestions').hidden"


def test_suggestions_go_when_the_field_is_left(look: Look, lamp: str) -> None:
    page = look("/memory")
    for key in ("Tab", "Shift+Tab", "Escape"):
        page.keyboard.press("/")
        page.locator("#q").fill("")
        page.keyboard.type("lightho", delay=15)
        page.get_by_role("option").first.wait_for()
        page.keyboard.press(key)
        assert page.evaluate(HIDDEN), key
        assert page.locator("#q").get_attribute("aria-expanded") == "false"
    page.keyboard.press("/")
    page.keyboard.type("lightho", delay=15)
    page.get_by_role("option").filter(has_text="lighthouse keeper").click()
    page.wait_for_url(f"**/{lamp}")


def test_an_answer_that_comes_late_opens_nothing(look: Look, lamp: str) -> None:
    page = look("/memory")
    page.route("**/page/suggest*", lambda route: (page.wait_for_timeout(400), route.continue_()))
    page.keyboard.press("/")
    page.keyboard.type("lighthouse")
    page.wait_for_timeout(150)
    page.keyboard.press("Escape")
    page.wait_for_timeout(700)
    assert page.evaluate(HIDDEN)


def test_what_is_hidden_is_not_seen_whatever_else_it_is(look: Look) -> None:
    page = look("/memory")
    shown = page.evaluate(
        "() => { const one = document.createElement('p'); one.className = 'row notice'; one.hidden = true;"
        " document.body.append(one); return getComputedStyle(one).display }"
    )
    assert shown == "none"


def test_a_new_project_is_told_while_it_is_typed(look: Look, lamp: str) -> None:
    page = look(f"/page/memories/{lamp}#project")
    field, told = page.get_by_label("Project"), page.get_by_text("New: no session and no memory belongs to it yet.")
    assert field.is_visible(), "a link to it opens the form"
    assert not told.is_visible()
    field.fill("lighthuose")
    assert told.is_visible()
    known = page.locator("#projects option").first.get_attribute("value")
    assert known
    field.fill(known)
    assert not told.is_visible()


def test_text_runs_as_its_language_does(site: Site, look: Look) -> None:
    with site.memory() as memory:
        kept = memory.remember("قاعدة البيانات تستمع على المنفذ", "fact")
    page = look("/memory")
    side = "one => getComputedStyle(one).direction"
    assert page.locator("article.hit .content", has_text="قاعدة").evaluate(side) == "rtl"
    page.goto(f"{site.service.address}/page/memories/{kept.id}")
    assert page.locator("h1").evaluate(side) == "rtl"
    assert page.locator("#content").evaluate(side) == "rtl"
    with site.memory() as memory:
        memory.forget(kept.id)
