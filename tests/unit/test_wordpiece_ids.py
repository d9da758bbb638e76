"""Token ids are those of the reference, and hostile text costs little."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.models.wordpiece import CACHED_CHARS, MAX_TOKENS, SLICE, CharTable, WordPiece

REFERENCE: list[dict[str, Any]] = json.loads(
    (Path(__file__).parents[1] / "fixtures" / "minilm" / "reference.json").read_text(encoding="utf-8")
)
SMALL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "a", "##a", "b", "##b", "ab", "##abb", "(", ")", "[", "]", "sep", "一"]
CLS, SEP, UNK = 2, 3, 1


@pytest.fixture(scope="module")
def full(minilm_dir: Path) -> WordPiece:
    return WordPiece.from_file(minilm_dir / "vocab.txt")


def small() -> WordPiece:
    return WordPiece({token: number for number, token in enumerate(SMALL)})


def inner(text: str) -> list[str]:
    first, *ids, last = small().encode(text)
    assert (first, last) == (CLS, SEP)
    return [SMALL[number] for number in ids]


@pytest.mark.parametrize("case", REFERENCE, ids=lambda case: case["name"])
def test_ids_equal_the_reference(full: WordPiece, case: dict[str, Any]) -> None:
    assert full.encode(case["text"]) == case["ids"]


@pytest.mark.parametrize(
    ("text", "pieces"),
    [
        ("", []),
        ("ab", ["ab"]),
        ("aabb", ["a", "##abb"]),
        ("aba", ["ab", "##a"]),
        ("abc", ["[UNK]"]),
        ("(AB)", ["(", "ab", ")"]),
        ("á", ["a"]),
        ("a\u200bb", ["ab"]),
        ("a一b", ["a", "一", "b"]),
        ("a" * 100, ["a"] + ["##a"] * 99),
        ("a" * 101, ["[UNK]"]),
        ("[SEP]", ["[", "sep", "]"]),
        ("\ud800a", ["a"]),
    ],
    ids=[
        "empty",
        "word",
        "longest first",
        "rest",
        "unknown",
        "punctuation",
        "accent",
        "invisible",
        "ideograph",
        "longest word",
        "too long",
        "marker is text",
        "lone surrogate",
    ],
)
def test_pieces(text: str, pieces: list[str]) -> None:
    assert inner(text) == pieces


def test_truncation_keeps_both_ends() -> None:
    ids = small().encode("a " * 1000)
    assert len(ids) == MAX_TOKENS
    assert (ids[0], ids[-1]) == (CLS, SEP)


@pytest.mark.parametrize("shift", range(-3, 4))
def test_a_word_across_two_slices_stays_whole(shift: int) -> None:
    text = "(" + " " * (SLICE + shift - 2) + "aabb ab"
    assert inner(text) == ["(", "a", "##abb", "ab"]


@given(st.text(alphabet="ab(á一 \n\u0301\x00", max_size=40), st.integers(0, 3 * SLICE))
def test_leading_space_changes_nothing(text: str, spaces: int) -> None:
    assert inner(" " * spaces + text) == inner(text)


@given(st.text())
def test_padding_id_never_comes_out(text: str) -> None:
    assert 0 not in small().encode(text)
    assert 0 not in small().encode("[PAD]" + text)


@pytest.mark.timed
@pytest.mark.parametrize(
    "text",
    [
        "a" * 1_000_000,
        "e" + "\u0301\u0323" * 50_000,
        " " * 1_000_000,
        "\x00" * 100_000,
        "(" * 100_000,
        "".join(map(chr, range(0x100, 0xD800))),
        "\ud800" * 100_000,
    ],
    ids=["one word", "combining marks", "spaces", "nulls", "brackets", "every character", "surrogates"],
)
def test_hostile_text_is_quick(text: str) -> None:
    wordpiece = small()
    began = time.process_time()
    assert len(wordpiece.encode(text)) <= MAX_TOKENS
    assert time.process_time() - began < 0.5


def test_character_table_is_bounded() -> None:
    table = CharTable()
    "".join(map(chr, range(0x20000))).translate(table)
    assert len(table) <= CACHED_CHARS
