"""The search page (S4.19): what is found and why, what narrows it, and that looking counts as nothing."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

import pytest

from recollect.model import Evidence
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
    for word in ("decision", "trust-user", "said by user", "Why: the team is there", "#deploy", "just now"):
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
    said = web().says("/memory")
    assert "Nothing is remembered yet" in said
    assert "recollect sweep" in said
    assert "No memory fits these filters" in web().says("/memory", kind="lesson")


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
    assert answer.headers["location"] == f"/page/memories/{kept.id}?said=remembered"
    assert (kept.content, kept.kind, kept.project, kept.why, kept.trust) == (
        *("Deploys run on Monday", "decision", "shop", "calm"),
        "user",
    )


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
