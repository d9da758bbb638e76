"""The report as a page: whole by itself, plots that are valid, and nothing in it that a session could make happen."""

from __future__ import annotations

import re
from dataclasses import replace
from html.parser import HTMLParser
from xml.parsers.expat import ParserCreate

from hypothesis import given
from hypothesis import strategies as st
from tests.unit.learn.learning_fixture import START, all_signals, stale_edit

from recollect.learn.cluster import candidates_of
from recollect.learn.health import by_flavor, health_of
from recollect.learn.page import MARK, page
from recollect.learn.plots import Bar, bars
from recollect.learn.values import Detection

ALLOWED = set("html head meta title style body h1 h2 h3 p span i svg g rect text article ul li code".split())


class Tags(HTMLParser):
    """The elements and attributes of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.names: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.names |= {name for name, _ in attrs}


def detection(statement: str = "An edit fails") -> Detection:
    sessions = [stale_edit("a"), stale_edit("b", "codex"), stale_edit("c")]
    (found,) = candidates_of(all_signals(*sessions))
    health = by_flavor(health_of(one.digest) for one in sessions)
    examples = tuple(replace(one, statement=statement, detail={"command": statement}) for one in found.examples)
    told = replace(found, statement=statement, rule=statement, flavors=("claude", statement or "x"), examples=examples)
    return Detection((told,), 3, 3, health)


def test_a_page_is_whole_by_itself() -> None:
    text = page(detection(), START)
    assert text.startswith(MARK)
    assert not re.search(r"\s(?:src|href)=|url\(|@import", text)
    assert "default-src 'none'" in text
    assert "[CROSS-FLAVOR]" in text


def test_its_plots_are_valid() -> None:
    drawn = re.findall(r"<svg.*?</svg>", page(detection(), START), re.DOTALL)
    assert len(drawn) == 3
    for one in drawn:
        ParserCreate().Parse(one, True)


def test_nothing_found_is_said() -> None:
    assert "Nothing repeats often enough yet" in page(Detection((), 0, 0, ()), START)


@given(st.text(max_size=80) | st.sampled_from(["<script>alert(1)</script>", "'\"><img src=x onerror=y>", "]]>&lt;"]))
def test_text_of_a_session_is_only_ever_text(text: str) -> None:
    made = Tags(page(detection(text), START))
    assert made.tags <= ALLOWED
    assert not {name for name in made.names if name.startswith("on")}
    assert not made.names & {"src", "href", "style"}


@given(st.lists(st.tuples(st.text(max_size=30), st.floats(0, 1e6)), max_size=10))
def test_a_plot_is_valid_whatever_its_rows(rows: list[tuple[str, float]]) -> None:
    drawn = bars([Bar(label, ((n, value),), label) for n, (label, value) in enumerate(rows)], "a plot")
    ParserCreate().Parse(drawn, True)
    assert all(0 <= float(width) <= 920 for width in re.findall(r'<rect [^>]*width="([^"]+)"', drawn))
