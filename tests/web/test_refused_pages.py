"""What cannot be done is said on a page that leads on: the usual head, the form's own words, and the way back."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest

from tests.web.conftest import Web

Make = Callable[..., Web]
NOBODY = "019a8000-0000-7000-8000-000000000000"
BROWSER = {"Accept": "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"}


@pytest.mark.parametrize(
    ("address", "fields", "status", "said", "back"),
    [
        ("/page/control/quota", {"memories": "many"}, 422, "A limit is a whole number", "/page/control/quota"),
        ("/page/control/models", {"tokens": "x"}, 422, "“Tokens”", "/page/control/models"),
        ("/page/control/keys", {"days": "7"}, 422, "A key needs a permission", "/page/control/keys"),
        ("/page/control/keys/abc/revoke", {}, 404, "No key", "/page/control/keys"),
        ("/page/control/projects", {"name": ""}, 422, "Name an agent, a project", "/page/control/projects"),
        (f"/page/memories/{NOBODY}/archive", {}, 404, "No memory", f"/page/memories/{NOBODY}"),
    ],
)
def test_a_form_that_is_refused_leads_back_to_itself(
    web: Make, address: str, fields: dict[str, str], status: int, said: str, back: str
) -> None:
    site = web()
    answer = site.post(address, **fields)
    assert answer.status_code == status
    main = answer.text.partition("<main")[2]
    assert said in main
    assert f'href="{back}" data-back>Back to the form</a>' in main
    assert answer.text.count('<nav aria-label="Pages">') == 1


def test_a_page_that_is_not_there_has_the_usual_head_and_leads_where_it_hangs(web: Make) -> None:
    site = web()
    page = site.get(f"/page/memories/{NOBODY}", 404)
    assert '<a href="/memory" aria-current="page">Memory</a>' in page
    assert 'href="/memory">Back to the memory</a>' in page
    page = site.get("/page/sessions/claude%3Anone", 404)
    assert '<a href="/page/sessions" aria-current="page">Sessions</a>' in page
    assert 'href="/page/sessions">Back to the sessions</a>' in page
    assert 'aria-current="page"' not in site.get("/page/nowhere", 404)


def test_whoever_is_not_in_sees_no_head(web: Make) -> None:
    site = web()
    foreign = site.nobody(Host="evil.example").get("/memory", headers=BROWSER)
    assert foreign.status_code == 403
    assert "<nav" not in foreign.text
    over = site.nobody().post("/page/remember", data={"content": "x"})
    assert over.status_code == 401
    assert "<nav" not in over.text


TYPED = {
    "/sessions": "/page/sessions",
    "/sessions/": "/page/sessions",
    "/sessions/claude:s1": "/page/sessions/claude:s1",
    "/memories": "/memory",
    f"/memories/{NOBODY}": f"/page/memories/{NOBODY}",
    "/page/memories": "/memory",
    "/patterns": "/page/patterns",
    "/insights": "/page/insights",
    "/control": "/page/control",
    "/live": "/page/live",
    "/search": "/memory",
}


@pytest.mark.parametrize("typed", TYPED)
def test_an_address_typed_by_hand_leads_to_its_page(web: Make, typed: str) -> None:
    site = web()
    answer = site.browser.get(typed, headers=BROWSER)
    assert (answer.status_code, answer.headers["location"]) == (303, TYPED[typed])
    out = site.nobody().get(typed, headers=BROWSER)
    assert out.status_code == 303
    assert re.fullmatch(r"/page/enter\?next=/(memory|page/[\w/%-]+)", out.headers["location"])


def test_any_other_address_is_answered_with_a_page(web: Make) -> None:
    site = web()
    answer = site.browser.get("/nowhere/at/all", headers=BROWSER)
    assert answer.status_code == 404
    assert '<nav aria-label="Pages">' in answer.text
    assert site.browser.get("/sessions/a%22b", headers=BROWSER).status_code == 404


def test_programs_are_answered_as_before(web: Make) -> None:
    """With a key, without asking for a page, or where everybody may look."""
    site = web()
    for headers in ({}, {"Accept": "application/json"}, {"Accept": "*/*"}):
        answer = site.browser.get("/sessions", headers=headers)
        assert (answer.status_code, answer.headers["content-type"]) == (401, "application/json")
    for headers in (site.auth(), {"Authorization": f"Bearer {site.secret}"}):
        assert "sessions" in site.nobody().get("/sessions", headers={**BROWSER, **headers}).json()
    assert site.nobody().get("/health", headers=BROWSER).headers["content-type"] == "application/json"
    assert site.nobody().post("/sessions", headers=BROWSER).headers["content-type"] == "application/json"
