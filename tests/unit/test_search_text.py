"""What is indexed and asked for: scripts without spaces, names in code, stop words, and no syntax ever (T22)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.store.searchtext import MAX_TERMS, index_text, query_terms


@pytest.mark.parametrize(
    ("query", "terms"),
    [
        ("Which port does the database use?", ["port", "database", "use"]),
        ("to be or not to be", ["to", "be", "or", "not"]),
        ("getUserById", ["getuserbyid", "user", "id"]),
        ("parse_HTTPResponse", ["parse", "httpresponse", "http", "response"]),
        ("東京タワー", ["東京", "京タ", "タワ", "ワー"]),
        ("猫", ["猫"]),
        ("src/app.py:42", ["src", "app", "py", "42"]),
        ("😀 !!! …", []),
        ("", []),
        ("naïve Straße", ["naive", "straße"]),
        ("x x X", ["x"]),
    ],
)
def test_what_a_question_asks_for(query: str, terms: list[str]) -> None:
    assert query_terms(query) == terms


@given(st.text(st.characters(codec=None)))
def test_no_question_can_hold_syntax(query: str) -> None:
    for term in query_terms(query):
        assert not set(term) & set("\"*:^(){}+-'\x00")
        assert any(map(str.isalnum, term))
        term.encode("utf-8")


def test_a_huge_question_is_cut_to_a_few_words() -> None:
    assert len(query_terms(" ".join(f"word{n}" for n in range(50_000)))) == MAX_TERMS


@pytest.mark.parametrize(
    ("text", "holds"),
    [
        ("東京タワー", ["東", "東京", "ワー"]),
        ("call getUserById now", ["getUserById", "User"]),
        ("ภาษาไทย", ["ภา", "ไท"]),
        ("plain words", ["plain", "words"]),
    ],
)
def test_what_is_indexed(text: str, holds: list[str]) -> None:
    words = index_text(text).split()
    assert set(holds) <= set(words)
