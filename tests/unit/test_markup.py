"""T20: what stands in a shape is text, whatever it looks like."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from markupsafe import Markup

from recollect.web.markup import filled


@given(st.text())
def test_text_is_escaped_as_markupsafe_does(words: str) -> None:
    assert filled('<b title="{}">{}</b>', words, words) == Markup('<b title="{}">{}</b>').format(words, words)


def test_markup_and_numbers_stay_as_they_are() -> None:
    made = filled('<i x="{:.1f}" n="{}">{}</i>', 1.25, 3, Markup("<b>&amp;</b>"))
    assert made == Markup('<i x="1.2" n="3"><b>&amp;</b></i>')
    assert isinstance(made, Markup)


def test_an_object_is_its_escaped_text() -> None:
    class Odd:
        def __str__(self) -> str:
            return "<script>"

    assert filled("<p>{}</p>", Odd()) == "<p>&lt;script&gt;</p>"
