"""The search page (S4.19): what is found and why, what narrows it, and that looking counts as nothing."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

import pytest

from recollect.model import Evidence
from recollect.recall.meaning import Meaning
from tests.web.conftest import Web

Make = Callable[..., Web]
HOSTILE = "<script>alert(1)</script>\"'><img src=x onerror=alert(2)>"


def fill(web: Web) -> dict[str, str]:
    """A few memories of two projects and agents, with a transcript behind one of them."""
    memory, shop = web.memory, web.serving.memory(web.memory.scope.within("shop"))
    key = memory.record("claude:s1", "user", "From now on deploys run on Monday, because the team is there then.")
    memory.record("claude:s1", "assistant", "Understood: deploys on Monday.")
    memory.ensure_session("codex:s2")
    span = Evidence("claude:s1", key, 12, 33)
    return {
        "deploy": memory.remember(
            "Deploys run on Monday", "decision", "the team is there", ["deploy"], session="claude:s1", evidence=[span]
        ).id,
        "till": shop.remember("The till opens with key 7", "fact", tags=["till"]).id,
        "web": memory.remember("A page says deploys run on Sunday", origin="web", session="codex:s2").id,
        "event": key,
    }


def hits(page: str) -> list[str]:
    return re.findall(r'<a class="whole" data-step href="([^"]+)"', page)


def test_without_words_the_newest_memories_are_listed(web: Make) -> None:
    site = web()
    ids = fill(site)
    said = site.says("/memory")
    assert "3 memories, the newest first" in said
    assert "Deploys run on Monday" in said
    assert len(hits(site.get("/memory"))) == 3
    assert f"/page/memories/{ids['till']}" in hits(site.get("/memory"))


def test_a_hit_says_what_it_is_why_it_ranked_and_where_it_comes_from(web: Make) -> None:
    site = web()
    ids = fill(site)
    page = site.get("/memory", q="when do deploys run", tier="memory")
    assert hits(page)[0] == f"/page/memories/{ids['deploy']}"
    assert "<mark>Deploys</mark>" in page
    first = page[page.index('<article class="hit') : page.index("</article>")]
    for word in ("decision", "trust-user", "said by user", "Why: <bdi>the team is there", "#deploy", "just now"):
        assert word in first
    assert f"/page/sessions/claude%3As1?at={ids['event']}#e-" in first
    assert 'aria-label="Why it ranked: fit ' in first
    table = [re.sub(r"<[^>]+>", " ", row).split() for row in re.findall(r"<tr>(.*?)</tr>", first, re.DOTALL)][1:]
    score = float(re.findall(r'<span class="n">([\d.]+)</span></summary>', first)[0])
    assert sum(float(row[-1]) for row in table) == pytest.approx(score, abs=0.02)


NARROWED: tuple[tuple[dict[str, Any], set[str]], ...] = (
    ({"kind": "decision"}, {"deploy"}),
    ({"kind": ["decision", "fact"]}, {"deploy", "till"}),
    ({"tag": "till"}, {"till"}),
    ({"project": "shop"}, {"till"}),
    ({"agent": "codex"}, {"web"}),
    ({"trust": "quoted"}, {"web"}),
    ({"since": "2026-11-15", "until": "2026-11-15"}, {"deploy", "till", "web"}),
    ({"until": "2026-11-14"}, set()),
    ({"pinned": "1"}, set()),
    ({"kind": "no such", "since": "tomorrow", "page": "x", "tier": "9", "trust": "all"}, {"deploy", "till", "web"}),
)


def test_it_is_narrowed(web: Make) -> None:
    site = web()
    ids = fill(site)
    for query, expected in NARROWED:
        found = {one.rpartition("/")[2] for one in hits(site.get("/memory", **query))}
        assert found == {ids[name] for name in expected}, query


def test_facets_tell_how_many_there_are_and_are_switched_on_and_off(web: Make) -> None:
    site = web()
    fill(site)
    page = site.get("/memory", q="deploys", kind="decision")
    assert re.search(r'href="/memory\?q=deploys"[^>]*aria-current="true"[^>]*><span>decision', page)
    page = site.get("/memory")
    assert re.search(r'href="/memory\?kind=decision"[^>]*><span>decision</span><span class="n">1</span>', page)
    assert re.search(r'href="/memory\?agent=codex"[^>]*><span>codex</span><span class="n">1</span>', page)
    assert re.search(r'href="/memory\?project=shop"[^>]*><span>shop</span><span class="n">1</span>', page)
    assert re.search(r'href="/memory\?trust=user"[^>]*><span>user</span><span class="n">2</span>', page)


def test_a_facet_that_is_on_shows_its_other_values_with_what_a_click_gives(web: Make) -> None:
    site = web()
    fill(site)
    page = site.get("/memory", kind="decision")
    assert re.search(r'href="/memory"[^>]*aria-current="true"[^>]*><span>decision', page)
    other = re.search(r'href="(/memory\?kind=fact)"[^>]*><span>fact</span><span class="n">(\d+)</span>', page)
    assert other
    assert len(hits(site.get(other[1]))) == int(other[2]) == 1
    assert "kind=note" in page
    narrowed = site.get("/memory", kind="decision", trust="user")
    assert "kind=note" not in narrowed.partition("</aside>")[0], "it is quoted, so a click would find nothing"


def test_every_value_of_a_facet_is_there_the_rest_folded(web: Make) -> None:
    site = web()
    for number in range(12):
        site.memory.remember(f"Fact {number} of floor {number * 7}", "fact", tags=[f"tag{number:02}"])
    page = site.get("/memory")
    facets = page.partition("</aside>")[0]
    assert len(re.findall(r'href="/memory\?tag=tag\d\d"', facets)) == 12
    shown, _, folded = facets.partition('<details class="rest"')
    assert len(re.findall(r"\?tag=", shown)) == 8
    assert "<summary>4 more</summary>" in folded


def test_with_a_question_it_says_what_the_counts_are_of(web: Make) -> None:
    site = web()
    fill(site)
    told = "The counts are of all memories, whatever you ask."
    assert told in site.says("/memory", q="deploys").partition("Results")[0]
    assert told not in site.says("/memory")


def test_of_a_long_project_the_end_is_shown(web: Make) -> None:
    site = web()
    for name in ("github.com/somebody/a-project-with-a-very-long-name", "x" * 40 + "-the-end"):
        site.serving.memory(site.memory.scope.within(name)).remember("The till opens with key 7")
    facets = site.get("/memory").partition("</aside>")[0]
    assert re.search(r"<span>…[^<]*very-long-name</span>", facets)
    assert re.search(r"<span>…x+-the-end</span>", facets)


def test_turns_and_gists_lead_into_the_transcript(web: Make) -> None:
    site = web()
    ids = fill(site)
    found = hits(site.get("/memory", q="deploys on Monday", tier="turn"))
    assert found
    assert all(one.startswith(f"/page/sessions/claude%3As1?at={ids['event']}#e-") for one in found)


def test_when_nothing_is_close_enough_it_says_so_and_offers_the_nearest(web: Make) -> None:
    site = web()
    fill(site)
    said = site.says("/memory", q="quantum chromodynamics lattice")
    assert "Nothing is close enough" in said
    assert "Show the nearest anyway" in said
    page = site.get("/memory", q="quantum chromodynamics lattice deploys", anyway="1")
    assert hits(page)


def test_an_empty_memory_says_what_to_do(web: Make) -> None:
    site = web()
    for query in ({}, {"q": "deploys"}, {"q": "deploys", "anyway": "1"}):
        said = site.says("/memory", **query)
        assert "Nothing is remembered yet" in said, query
        assert "recollect sweep" in said
        assert "close enough" not in said
    assert "No memory fits these filters" in site.says("/memory", kind="lesson")


def test_on_a_server_for_others_nobody_is_told_to_run_a_command(web: Make) -> None:
    site = web(hosted=True)
    for query in ({}, {"q": "deploys"}, {"forgotten": "1"}):
        said = site.says("/memory", **query)
        assert "Nothing" in said
        assert "recollect " not in said


def test_what_is_missing_is_told_and_the_command_only_where_it_can_be_run(web: Make) -> None:
    for hosted in (False, True):
        site = web(hosted=hosted)
        site.serving.meaning = Meaning(site.serving.store, site.serving.settings)
        site.memory.remember("Deploys run on Monday")
        said = site.says("/memory", q="deploys Monday")
        assert "Note: the embedding model is not installed" in said
        assert ("recollect model install" in said) is not hosted


def test_a_page_that_is_not_there_blames_no_filter(web: Make) -> None:
    site = web()
    fill(site)
    said = site.says("/memory", page=99)
    assert "There is no page 99" in said
    assert "filters" not in said.partition("There is no page 99")[2][:200]
    assert 'href="/memory?kind=decision">' in site.get("/memory", page=99, kind="decision")


def test_with_filters_it_says_that_nothing_among_them_is_close(web: Make) -> None:
    """What is left out may well fit, and an agent would be told that."""
    site = web()
    fill(site)
    said = site.says("/memory", q="when do deploys run", tag="till")
    assert "Nothing that fits the filters is close enough" in said
    assert "would be told nothing" not in said
    assert "Ask without filters" in said
    assert "would be told nothing" in site.says("/memory", q="quantum chromodynamics lattice")
    assert "Nothing that fits the filters" in site.says("/memory", q="quantum chromodynamics", tier="gist")


def test_days_between_which_there_is_none_are_named(web: Make) -> None:
    site = web()
    fill(site)
    for query in ({}, {"q": "deploys"}):
        page = site.get("/memory", since="2026-11-16", until="2026-11-01", **query)
        assert "No day is both after 2026-11-16 and before 2026-11-01" in page
        assert "since=2026-11-01&amp;until=2026-11-16" in page
        assert "close enough" not in page
        assert hits(page) == []


def test_what_was_forgotten_is_found_and_brought_back(web: Make) -> None:
    site = web()
    ids = fill(site)
    site.memory.forget(ids["till"], soft=True)
    site.memory.forget(ids["web"], soft=True)
    assert f"/page/memories/{ids['till']}" not in site.get("/memory")
    assert 'name="forgotten"' in site.get("/memory")
    page = site.get("/memory", forgotten="1")
    assert {one.rpartition("/")[2] for one in hits(page)} == {ids["till"], ids["web"]}
    assert f'action="/page/memories/{ids["till"]}/back"' in page
    assert "forgotten just now" in site.says("/memory", forgotten="1")
    for query in ({"project": "shop"}, {"q": "TILL opens"}, {"kind": "fact"}):
        assert hits(site.get("/memory", forgotten="1", **query)) == [f"/page/memories/{ids['till']}"], query
    assert hits(site.get("/memory", forgotten="1", q="quantum")) == []
    assert "Nothing that was forgotten" in site.says("/memory", forgotten="1", q="quantum")
    site.post(f"/page/memories/{ids['till']}/back")
    assert hits(site.get("/memory", forgotten="1")) == [f"/page/memories/{ids['web']}"]


def test_what_is_gone_for_good_is_not_offered(web: Make) -> None:
    site = web()
    ids = fill(site)
    site.memory.forget(ids["till"], soft=True)
    site.clock.move(days=8)
    site.memory.run_jobs(["redact"])
    page = site.get("/memory", forgotten="1")
    assert hits(page) == []
    assert "Nothing can be brought back" in page


def test_who_may_only_read_is_offered_no_way_back(web: Make) -> None:
    site = web(hosted=True)
    kept = site.memory.remember("The door is blue")
    site.memory.forget(kept.id, soft=True)
    page = site.visitor(site.key("read")).get("/memory?forgotten=1").text
    assert "The door is blue" in page
    assert "/back" not in page
    assert "The door is blue" not in site.visitor(site.key("read", user="bob")).get("/memory?forgotten=1").text


def test_looking_counts_as_nothing(web: Make) -> None:
    site = web()
    ids = fill(site)
    for _ in range(3):
        assert hits(site.get("/memory", q="deploys run"))
        site.get(f"/page/memories/{ids['deploy']}")
    site.serving.flush()
    assert site.memory.get(ids["deploy"]).access_count == 0


def test_what_is_typed_is_suggested(web: Make) -> None:
    site = web()
    ids = fill(site)

    def suggested(text: str) -> list[tuple[str, str]]:
        items = json.loads(site.get("/page/suggest", q=text))["items"]
        return [(one["what"], one["address"]) for one in items]

    assert suggested("mond") == [("decision", f"/page/memories/{ids['deploy']}")]
    assert suggested("til") == [("tag", "/memory?tag=till"), ("fact", f"/page/memories/{ids['till']}")]
    assert suggested("sho") == [("project", "/memory?project=shop")]
    assert suggested("d") == suggested("") == suggested("zzzz") == suggested("%%%") == []


def test_pages_of_the_newest_do_not_overlap(web: Make) -> None:
    site = web()
    for number in range(45):
        site.memory.remember(f"Fact number {number} of floor {number * 7}", "fact", tags=[f"t{number}"])
    pages = [hits(site.get("/memory", page=number)) for number in (1, 2, 3)]
    assert [len(page) for page in pages] == [20, 20, 5]
    assert len({one for page in pages for one in page}) == 45
    assert "Older →" in site.get("/memory")
    assert "Older →" not in site.get("/memory", page=3)


def test_something_is_remembered_from_the_page(web: Make) -> None:
    site = web()
    answer = site.post("/page/remember", content="Deploys run on Monday", kind="decision", project="shop", why="calm")
    assert answer.status_code == 303
    (kept,) = site.memory.memories(5)
    assert answer.headers["location"] == f"/page/memories/{kept.id}?said=remembered-new-project"
    assert (kept.content, kept.kind, kept.project, kept.why, kept.trust) == (
        *("Deploys run on Monday", "decision", "shop", "calm"),
        "user",
    )


def test_known_projects_are_offered_and_a_new_one_is_said_to_be_new(web: Make) -> None:
    site = web()
    fill(site)
    page = site.get("/memory")
    assert re.search(r'<input id="project"[^>]* list="projects"', page)
    assert '<datalist id="projects"><option value="shop">' in page
    known = site.post("/page/remember", content="The till opens with key 8", project="shop")
    assert known.headers["location"].endswith("?said=remembered")
    new = site.post("/page/remember", content="The barn is red", project="shoop")
    assert new.headers["location"].endswith("?said=remembered-new-project")
    said = site.says(new.headers["location"])
    assert "shoop" in said
    assert "No session and no other memory belongs to shoop yet" in said


def test_what_cannot_be_kept_comes_back_in_its_form(web: Make) -> None:
    site = web()
    answer = site.post("/page/remember", content="  ", kind="decision", project="shop", why="<b>calm</b>")
    assert answer.status_code == 422
    form = answer.text.partition('action="/page/remember"')[2]
    assert 'value="shop"' in form
    assert 'value="&lt;b&gt;calm&lt;/b&gt;"' in form
    assert "<option selected>decision</option>" in form
    assert "“What is worth knowing”" in answer.text
    assert 'aria-current="page"' in answer.text
    assert site.memory.memories() == []


def test_markup_is_text_wherever_it_stands(web: Make) -> None:
    site = web()
    site.serving.memory(site.memory.scope.within(HOSTILE)).remember(
        f"hostile words {HOSTILE}",
        why=HOSTILE,
        tags=[HOSTILE[:45]],
        session=HOSTILE,
        evidence=[Evidence(HOSTILE, "ab" * 16)],
    )
    every: list[dict[str, Any]] = [{}, {"q": f"hostile words {HOSTILE}"}, {"project": HOSTILE, "tag": HOSTILE[:45]}]
    for query in every:
        page = site.get("/memory", **query)
        assert "hostile words &lt;script&gt;" in page or "q" in query
        assert "<script>alert" not in page
        assert "<img" not in page


def test_a_shared_context_is_asked_too(web: Make) -> None:
    site = web()
    fill(site)
    site.memory.contexts.create("team")
    site.memory.contexts.remember("team", "The team deploys with the blue button")
    context = site.memory.contexts.mine()[0]
    page = site.get("/memory", q="blue button deploys", context=context.id)
    assert "shared: team" in page
    shared = next(one for one in hits(page) if one not in hits(site.get("/memory", q="blue button deploys")))
    assert "Shared in team" in site.get(shared)
    assert "The team deploys" not in site.says("/memory", q="blue button deploys")
    assert site.get("/memory", q="blue button", context="@nobody~00000000")


def test_whoever_may_not_write_keeps_nothing(web: Make) -> None:
    site = web(hosted=True)
    browser = site.visitor(site.key("read", "speak"))
    assert site.post("/page/remember", browser, content="The door is blue").status_code == 403
    assert site.memory.memories() == []


def test_a_key_for_one_project_opens_no_shared_context(web: Make) -> None:
    site = web(hosted=True)
    site.memory.contexts.create("team")
    site.memory.contexts.remember("team", "The team deploys with the blue button")
    context = site.memory.contexts.mine()[0]
    browser = site.visitor(site.key("read", project="shop"))
    page = browser.get("/memory", params={"q": "blue button", "context": context.id, "anyway": "1"}).text
    assert "team" not in page
    assert "deploys with" not in page
