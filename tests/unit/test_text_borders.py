"""Text in is storable and recognised again, text out shows nothing hidden (D6, S1s.3, T20)."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.errors import InvalidInput
from recollect.text import content_hash, dedup_key, estimate_tokens, one_line, present, require_text, storable

ANY_TEXT = st.text(st.characters(codec=None))


@given(ANY_TEXT)
def test_captured_text_can_always_be_stored(text: str) -> None:
    kept = storable(text)
    kept.encode("utf-8")
    assert "\x00" not in kept
    assert len(kept) == len(text)


@given(st.text(st.characters(codec="utf-8", exclude_characters="\x00")))
def test_storable_text_is_kept_exactly(text: str) -> None:
    assert storable(text) == text


@pytest.mark.parametrize(
    ("bad", "says"),
    [
        ("", "is empty"),
        (" \n\t", "is empty"),
        ("x" * 10_001, "10,001 characters"),
        ("a\x00b", "U+0000 at 1"),
        ("a\ud800", "U+D800 at 1"),
        (7, "must be text, not int"),
        (b"bytes", "must be text, not bytes"),
        (None, "must be text"),
    ],
)
def test_a_memory_that_cannot_be_kept_is_refused_with_the_reason(bad: object, says: str) -> None:
    with pytest.raises(InvalidInput, match=says.replace("+", r"\+")):
        require_text(bad, "content")


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Use Port 5433", "use port 5433"),
        ("use  port\n5433 ", "use port 5433"),
        ("Café", "Cafe\u0301"),
        ("ﬁle", "file"),
        ("STRASSE", "straße"),
        ("ｆｕｌｌ", "full"),
    ],
)
def test_the_same_text_in_another_case_space_or_form_is_the_same(one: str, other: str) -> None:
    assert dedup_key(one) == dedup_key(other)
    assert content_hash(one) != content_hash(other)


@given(st.text())
def test_the_dedup_key_does_not_depend_on_form_or_case(text: str) -> None:
    assert dedup_key(unicodedata.normalize("NFD", text)) == dedup_key(unicodedata.normalize("NFC", text))
    assert dedup_key(f"  {text}\t") == dedup_key(text)


def test_different_texts_have_different_keys() -> None:
    assert dedup_key("port 5433") != dedup_key("port 5434")


FORBIDDEN = [
    *range(0x09),
    *range(0x0B, 0x20),
    *range(0x7F, 0xA0),
    *range(0x200B, 0x2010),
    *range(0x2028, 0x202F),
    *range(0x2060, 0x2070),
    0xFEFF,
    *range(0xE0000, 0xE0080),
    *range(0xE0100, 0xE01F0),
]


def test_no_hidden_character_gets_out() -> None:
    """T20: every forbidden code point, one by one."""
    # A carriage return ends a line; ESC and CSI take the character after them along, as a terminal would.
    instead = {"\r": "a\nb", "\x1b": "a", "\x9b": "a"}
    for code in FORBIDDEN:
        assert present(f"a{chr(code)}b") == instead.get(chr(code), "ab"), hex(code)


@given(ANY_TEXT)
def test_whatever_comes_in_nothing_hidden_goes_out(text: str) -> None:
    shown = present(text)
    assert not any(ord(c) in set(FORBIDDEN) or 0xD800 <= ord(c) <= 0xDFFF for c in shown)


@pytest.mark.parametrize(
    ("raw", "shown"),
    [
        ("\x1b[31mred\x1b[0m", "red"),
        ("\x1b]0;title\x07x", "x"),
        ("\x1b]52;c;aGVsbG8=\x07x", "x"),
        ("\x1b]8;;http://evil\x1b\\link\x1b]8;;\x1b\\", "link"),
        ("\x1bP1$q\x1b\\x", "x"),
        ("safe\rover", "safe\nover"),
        ("a\r\nb", "a\nb"),
        ("tab\tand\nline", "tab\tand\nline"),
        ("‮evil", "evil"),
        ("مرحبا שלום", "مرحبا שלום"),
        ("👩\u200d💻 ok", "👩💻 ok"),
        ("✔\ufe0f", "✔\ufe0f"),
        ("x\ufe00\ufe01\ufe02", "x"),
    ],
)
def test_what_is_shown(raw: str, shown: str) -> None:
    assert present(raw) == shown


def test_a_line_is_one_line_and_not_too_long() -> None:
    assert one_line(" a\n\tb  c ") == "a b c"
    assert one_line("abcdefgh", 5) == "abcd…"
    assert one_line("abcde", 5) == "abcde"


def test_four_characters_are_about_a_token() -> None:
    assert [estimate_tokens("x" * n) for n in (0, 1, 4, 5, 8)] == [0, 1, 1, 2, 2]
