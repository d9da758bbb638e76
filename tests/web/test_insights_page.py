"""The page of insights: every plot has a title, a legend and a table, and nothing of anybody else is in it (S4.19)."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from xml.etree import ElementTree

import pytest

from recollect.ids import stable_key
from recollect.model import Cost, Scope, Session
from recollect.pipeline.insights import Insights
from recollect.store.ports.distill import Caps, Charge
from recollect.store.ports.insights import RecallDay
from recollect.web import insights as told
from tests.contract.samples import event
from tests.flow.test_insights import NOW, filled
from tests.web.conftest import Web

Open = Callable[..., Web]
HOME = "/page/insights"


@pytest.fixture
def one(web: Open) -> Web:
    made = web()
    filled(made.memory)
    made.serving.store.insights.count_recalls(made.serving.owner, [RecallDay("2026-11-15", 9, 3, 12)])
    caps = Caps(1_000_000, 10.0)
    charge = Charge("gist", "some-model", 100, 10, 0.25, NOW)
    assert made.serving.store.ledger.reserve(made.serving.owner, charge, caps)
    return made


def test_the_page_tells_the_figures(one: Web) -> None:
    said = one.says(HOME)
    for words in ("Memories made 2", "Asked 9 33 % without an answer", "Sessions 3", "Turns stored 50 %"):
        assert words in said, words
    assert "Money $1.50" in said
    assert "gist some-model 1 110 $0.25" in said


def test_every_plot_is_a_picture_with_a_name_and_a_table(one: Web) -> None:
    page = one.get(HOME)
    plots = re.findall(r'<figure class="plot">.*?</figure>', page, flags=re.DOTALL)
    assert len(plots) == 11
    for plot in plots:
        svg = re.search(r"<svg.*?</svg>", plot, flags=re.DOTALL)
        assert svg
        assert ElementTree.fromstring(svg[0]).attrib["aria-label"]  # noqa: S314 (made here)
        assert '<th scope="col">' in plot
        assert "<tbody><tr>" in plot
        assert "style=" not in plot
    assert page.count('<ul class="legend">') >= 6


def test_days_projects_and_agents_are_chosen(one: Web) -> None:
    assert "Sessions 1" in one.says(HOME, days="7", agent="codex")
    assert "Money $0.50" in one.says(HOME, project="shop")
    page = one.get(HOME, days="90", project="shop", agent="claude")
    assert '<option value="90" selected>' in page
    assert '<option value="shop" selected>' in page
    assert '<option value="claude" selected>' in page
    assert "Week</th>" in page


def test_odd_words_in_the_address_do_no_harm(one: Web) -> None:
    odd = ("x", "0", "999999999", "-1", "²")
    queries = [{"days": days} for days in odd] + [{"project": "x" * 5_000}, {"agent": "\x07"}]
    for query in (*queries, {"agent": "<script>alert(1)</script>", "project": '"><b>'}):
        page = one.get(HOME, **query)
        assert "<script>alert" not in page
        assert '"><b>' not in page


def test_an_empty_memory_says_so(web: Open) -> None:
    said = web().says(HOME)
    for words in ("No memory is of these days.", "No session began in these days.", "Nothing waits."):
        assert words in said


def test_a_server_for_others_tells_each_their_own_and_nothing_of_the_whole(web: Open) -> None:
    made = web(hosted=True)
    filled(made.memory)
    other = made.visitor(made.key(user="bob", tenant="acme"))
    said = other.get(HOME).text
    assert "deploy" not in said
    assert "shop" not in said
    assert "Database" not in said
    assert "Database" not in made.get(HOME)
    assert "shop" in made.get(HOME)


def test_a_key_of_one_project_sees_that_project(web: Open) -> None:
    made = web(hosted=True)
    filled(made.memory)
    inside = made.visitor(made.key("read", "admin", project="shop")).get(HOME).text
    assert "farm" not in inside
    assert "Told only to whom the whole memory is open." in inside


def test_more_series_than_colours_are_told_together(one: Web) -> None:
    series = {f"agent {n}": (float(n), 1.0) for n in range(12)}
    few = told._few(series)
    assert len(few) == 8
    assert list(few)[-1] == "others"
    assert sum(map(sum, few.values())) == sum(map(sum, series.values()))


def test_names_from_outside_are_text_in_plots(one: Web) -> None:
    memory = one.memory
    memory.remember("hm", tags=["<script>alert(1)</script>"], occurred_at=NOW)
    page = one.get(HOME)
    assert "<script>alert" not in page
    assert "&lt;script&gt;alert(1)" in page


def test_the_figures_of_a_scope_are_those_of_the_page(one: Web) -> None:
    found = one.serving.memory(Scope(one.serving.owner.tenant, one.serving.owner.user)).insights(30)
    assert isinstance(found, Insights)
    assert told.tiles(found)[0][0] == "Memories made"
    assert set(told.panels(found)) >= {"memories", "tags", "recalls", "health", "coverage", "budget"}


def test_what_was_chosen_says_what_it_narrows(one: Web) -> None:
    assert "Only" not in one.says(HOME)
    said = one.says(HOME, agent="codex")
    assert "Only codex: sessions, their health and coverage, tokens and money. Memories are of all agents." in said
    assert "Only codex in shop: sessions" in one.says(HOME, agent="codex", project="shop")
    assert "Only shop: memories, sessions, their health and coverage, tokens" in one.says(HOME, project="shop")


def run_of_muse(web: Web) -> None:
    """A session with a model that no list has."""
    said = replace(event("claude:muse", 0, "hello", occurred_at=NOW), way="sweep")
    cost = Cost(stable_key("cost", "muse"), "claude:muse", NOW, "muse-9", input=900, output=100)
    web.serving.store.captures.ingest(web.serving.owner, Session("claude:muse", "claude"), [said], [cost])


def test_money_that_is_not_known_says_why(one: Web) -> None:
    run_of_muse(one)
    said = one.says(HOME)
    assert "1 of" in said
    assert "No price is known for muse-9; the setting `prices` tells it" in said


def test_without_any_price_the_tile_says_so(web: Open) -> None:
    made = web()
    run_of_muse(made)
    assert "Money – no price is known" in made.says(HOME)


def test_health_is_told_by_the_week(one: Web) -> None:
    page = one.get(HOME, days="30")
    table = page.partition('id="health"')[2].partition("</section>")[0]
    assert "Health of sessions, week by week" in table
    assert "week from" in table
    assert "<circle" in table
