"""Coming in: a link works once, a cookie opens pages and nothing else, forms are of this visit (T17, T31)."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable

import pytest

from recollect.web.address import link_to
from recollect.web.manner import POLICY
from recollect.web.visits import LINK_SECONDS, MOST, VISIT_SECONDS, Passes
from tests.web.conftest import Web

Open = Callable[..., Web]


def test_a_link_lets_in_once(web: Open) -> None:
    one = web()
    link = link_to(one.data_dir, "")
    first = one.nobody()
    answer = first.get(link)
    assert (answer.status_code, answer.headers["location"]) == (303, "/memory")
    cookie = answer.headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=Strict" in cookie
    assert cookie.startswith("recollect-8010=")
    assert first.get("/page/control").status_code == 200
    again = one.nobody().get(link)
    assert again.status_code == 403
    assert "used already" in again.text
    assert "set-cookie" not in again.headers


def test_whoever_did_not_come_in_is_shown_the_door(web: Open) -> None:
    one = web()
    answer = one.nobody().get("/page/control")
    assert (answer.status_code, answer.headers["location"]) == (303, "/page/enter?next=/page/control")
    door = one.nobody().get("/page/enter")
    assert door.status_code == 200
    assert "recollect page --open" in door.text
    assert one.nobody().post("/page/leave", data={}).status_code == 401


def test_an_old_cookie_leads_to_the_door_and_not_round_and_round(web: Open) -> None:
    one = web()
    browser = one.nobody(Cookie="recollect-8010=" + "x" * 43)
    assert browser.get("/page/control").status_code == 303
    assert browser.get("/page/enter").status_code == 200
    assert browser.get("/page/static/page.css").status_code == 200


@pytest.mark.parametrize(
    "following", ["//evil.example/", "https://evil.example/", "/\\evil.example", "/page/../../x?a"]
)
def test_a_link_leads_nowhere_else(web: Open, following: str) -> None:
    one = web()
    answer = one.nobody().get(
        link_to(one.data_dir, ""), params={"link": link_to(one.data_dir, "").partition("=")[2], "next": following}
    )
    assert answer.headers["location"] == "/memory"


def test_a_cookie_opens_no_route_for_programs_and_a_key_no_page(web: Open) -> None:
    one = web()
    assert one.browser.get("/whoami").status_code == 401
    assert one.nobody(**one.auth()).get("/page/control").status_code == 303
    assert one.browser.get("/page/control").status_code == 200


def test_leaving_ends_the_visit_for_good(web: Open) -> None:
    one = web()
    browser = one.visitor()
    kept = dict(browser.cookies)
    assert one.post("/page/leave", browser).status_code == 303
    back = one.nobody(Cookie="; ".join(f"{name}={value}" for name, value in kept.items()))
    assert back.get("/page/control").status_code == 303


@pytest.mark.parametrize("token", ["", "0" * 40, "é"])
def test_a_form_of_another_visit_is_refused(web: Open, token: str) -> None:
    one = web()
    answer = one.browser.post("/page/leave", data={"csrf": token})
    assert answer.status_code == 403
    assert one.browser.get("/page/control").status_code == 200


def test_a_page_of_another_site_can_send_nothing(web: Open) -> None:
    one = web()
    token = one.csrf()
    for headers in (
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
        {"Host": "evil.example"},
    ):
        assert one.browser.post("/page/leave", data={"csrf": token}, headers=headers).status_code == 403, headers
    assert one.browser.get("/page/control").status_code == 200


def test_every_answer_has_the_policy_and_is_kept_by_nobody(web: Open) -> None:
    one = web()
    for path in ("/page/control", "/page/enter", "/page/nothing", "/page/static/page.css", "/page/static/none.css"):
        answer = one.browser.get(path)
        assert answer.headers["content-security-policy"] == POLICY
        assert answer.headers["x-content-type-options"] == "nosniff"
        kept = "immutable" if path.endswith("page.css") else "no-store"
        assert kept in answer.headers["cache-control"]


@pytest.mark.parametrize("name", ["..%2f..%2fapp.py", "page.py", "PAGE.css", "%2e%2e", "templates", "page.css%00"])
def test_only_files_for_pages_are_given(web: Open, name: str) -> None:
    assert web().browser.get(f"/page/static/{name}").status_code in (404, 422)


def test_a_form_must_be_a_form(web: Open) -> None:
    one = web()
    assert one.browser.post("/page/leave", json={"csrf": one.csrf()}).status_code == 415


def test_on_a_server_for_others_a_key_opens_its_own_pages(web: Open) -> None:
    one = web(hosted=True)
    assert one.browser.get("/page/control").status_code == 200
    wrong = one.nobody().post("/page/enter", data={"key": "rec_live_no"})
    assert wrong.status_code == 403
    assert "not a valid key" in wrong.text
    assert "set-cookie" not in wrong.headers
    assert one.nobody().get(link_to(one.data_dir, "")).status_code == 200  # the door: links are for one's own machine


def test_on_a_server_for_others_a_revoked_key_opens_nothing(web: Open) -> None:
    one = web(hosted=True)
    key = one.key("read")
    browser = one.visitor(key)
    assert browser.get("/page/control").status_code == 200
    found = next(k for k in one.serving.store.keys.find(one.memory.scope) if k.permissions == ("read",))
    one.serving.store.keys.revoke(one.memory.scope, found.id, at=one.clock())
    one.served.pages.state.knowing._known.clear()
    assert browser.get("/page/control").status_code == 303


def test_guessing_keys_is_stopped(web: Open) -> None:
    one = web(hosted=True)
    browser = one.nobody()
    found = {browser.post("/page/enter", data={"key": f"rec_live_{n}"}).status_code for n in range(25)}
    assert found == {403, 429}


def test_off_this_machine_the_cookie_goes_over_tls_only(web: Open) -> None:
    one = web(hosted=True)
    far = one.nobody(Host="memory.example")
    assert "; Secure" in far.post("/page/enter", data={"key": one.secret}).headers["set-cookie"]


def test_passes_are_private_files_that_say_nothing(web: Open) -> None:
    one = web()
    link_to(one.data_dir, "")
    for folder in (one.data_dir / "page" / "links", one.data_dir / "page" / "visits"):
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
        for file in folder.iterdir():
            assert stat.S_IMODE(file.stat().st_mode) == 0o600
            assert file.stat().st_size == 0


def test_a_pass_is_over_after_its_time(tmp_path: os.PathLike[str]) -> None:
    from pathlib import Path

    now = [1_000_000.0]
    passes = Passes(Path(tmp_path) / "passes", 100.0, lambda: now[0])
    text = passes.issue()
    os.utime(passes._file(text), (now[0], now[0]))
    assert passes.is_good(text)
    now[0] += 101
    assert not passes.is_good(text)
    assert not passes.use_up(text)
    assert LINK_SECONDS < VISIT_SECONDS


def test_there_are_never_very_many(tmp_path: os.PathLike[str]) -> None:
    from pathlib import Path

    folder = Path(tmp_path) / "passes"
    passes = Passes(folder, 100.0)
    texts = [passes.issue() for _ in range(MOST + 10)]
    assert len(list(folder.iterdir())) == MOST
    assert passes.is_good(texts[-1])


def test_behind_a_proxy_with_tls_its_own_pages_may_send_forms(web: Open) -> None:
    one = web(hosted=True, serve_hosts=("memory.example", "127.0.0.1"))
    far = one.nobody(Host="memory.example", Origin="https://memory.example")
    assert far.post("/page/enter", data={"key": one.secret}).status_code == 303
    other = one.nobody(Host="memory.example", Origin="https://memory.example.evil")
    assert other.post("/page/enter", data={"key": one.secret}).status_code == 403


def test_a_form_sent_after_the_visit_is_told_so(web: Open) -> None:
    one = web()
    answer = one.nobody().post("/page/leave", data={"csrf": "x"})
    assert answer.status_code == 401
    assert "visit is over" in answer.text
    assert "X-API-Key" not in answer.text


def test_forgetting_through_pages_is_watched_as_any_other(web: Open, caplog: pytest.LogCaptureFixture) -> None:
    one = web(hosted=True, serve_rate_per_minute=0)
    token = one.csrf()
    ids = [one.memory.remember(f"The door number {n} is blue").id for n in range(101)]
    for memory_id in ids:
        assert one.browser.post(f"/page/memories/{memory_id}/forget", data={"csrf": token}).status_code == 303
    assert one.metrics is not None
    assert "mass_delete" in caplog.text
