"""A block in a file of the user's: every byte around it stays, and taking it out gives back what was there before."""

from __future__ import annotations

import codecs

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recollect.inject.block import BEGIN, END, removed, spliced

BODY = "<recollect-memory>\nWhat Recollect remembers.\n> one\n</recollect-memory>\n"
OTHER = "<recollect-memory>\nWhat Recollect remembers.\n> two and «é»\n</recollect-memory>\n"
BLOCK = f"{BEGIN}\n{BODY}{END}"
JOINED = f"{BEGIN}\n\n{BODY}{END}"  # behind a text that had no line end


def text(content: bytes) -> str:
    return content.decode()


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("", f"{BLOCK}\n"),
        ("# Mine\n", f"# Mine\n{BLOCK}\n"),
        ("# Mine", f"# Mine\n{JOINED}\n"),
        ("# Mine\n\n\n", f"# Mine\n\n\n{BLOCK}\n"),
        ("\n", f"\n{BLOCK}\n"),
    ],
    ids=["empty", "a line", "no line end", "blank lines", "a blank line"],
)
def test_a_block_is_put_at_the_end(before: str, after: str) -> None:
    made = spliced(before.encode(), BODY)
    assert text(made) == after
    assert removed(made) == before.encode()
    assert spliced(made, BODY) == made


def test_a_block_is_refreshed_where_it_stands() -> None:
    around = f"first\n\n{BLOCK}\n\nlast, no line end"
    made = spliced(around.encode(), OTHER)
    assert text(made) == around.replace(BODY, OTHER)
    assert spliced(made, BODY) == around.encode()


@pytest.mark.parametrize(
    ("around", "left"),
    [
        (f"{BLOCK}\nrest\n", "rest\n"),
        (f"a\n{BLOCK}\nb\n", "a\nb\n"),
        (f"a\n\n{BLOCK}\n\nb\n", "a\n\n\nb\n"),
        (f"a\n{BLOCK}", "a\n"),
        (f"a\n{JOINED}", "a"),
        (f"a\n{JOINED}\nb\n", "a\nb\n"),
        (f"\ufeff{BLOCK}\nrest", "\ufeffrest"),
    ],
    ids=[
        *("first", "between lines", "between paragraphs", "no line end behind it", "nor before it was put there"),
        *("that was last", "behind a byte order mark"),
    ],
)
def test_a_block_that_was_moved_can_be_taken_out(around: str, left: str) -> None:
    assert text(removed(around.encode())) == left


def test_nothing_to_say_takes_the_block_out() -> None:
    assert spliced(spliced(b"mine\n", BODY), "") == b"mine\n"
    assert spliced(b"mine\n", " \n") == b"mine\n"


@pytest.mark.parametrize(
    "content",
    [
        f"{BEGIN}\nmine\n",
        f"mine\n{END}\n",
        f"{END}\nmine\n{BEGIN}\n",
        f"{BEGIN}\n{BEGIN}\nmine\n",
        f"{END}\n{END}\n",
        f"The marks are {BEGIN} and {END}, says the manual.\n",
        f"  {BEGIN}\n  mine\n  {END}\n",
        f"{BEGIN} mine\n{END}\n",
        f"<!--recollect:begin-->\nmine\n{END}\n",
    ],
    ids=[
        *("no end", "no beginning", "reversed", "two beginnings", "two ends"),
        *("mentioned", "indented", "not alone in its line", "otherwise written"),
    ],
)
def test_half_marks_are_text_like_any_other(content: str) -> None:
    """They stay, a whole block is put behind them, and taking it out leaves them again."""
    made = spliced(content.encode(), BODY)
    assert text(made).startswith(content)
    assert text(made).count(BODY) == 1
    assert text(spliced(made, OTHER)).count(OTHER) == 1
    assert text(spliced(made, OTHER)).startswith(content)
    assert removed(made) == content.encode()


def test_of_two_blocks_one_stays() -> None:
    twice = f"a\n{BLOCK}\nb\n{BLOCK}\nc\n"
    assert text(spliced(twice.encode(), OTHER)) == f"a\n{BLOCK.replace(BODY, OTHER)}\nb\nc\n"
    assert text(removed(twice.encode())) == "a\nb\nc\n"


def test_marks_within_marks_are_the_innermost_pair() -> None:
    nested = f"{BEGIN}\nmine\n{BLOCK}\nmine too\n{END}\n"
    assert text(spliced(nested.encode(), OTHER)) == nested.replace(BODY, OTHER)
    assert text(removed(nested.encode())) == f"{BEGIN}\nmine\nmine too\n{END}\n"


@pytest.mark.parametrize("inner", [f"mine\n{BODY}", f"{BODY}mine\n", "mine\n", f"{BODY}mine\n\nmine too\n{BODY}"])
def test_what_somebody_wrote_between_the_marks_is_not_lost(inner: str) -> None:
    content = f"a\n{BEGIN}\n{inner}{END}\nb\n"
    mine = [line for line in inner.split("\n") if line.startswith("mine")]
    for made in (text(spliced(content.encode(), OTHER)), text(removed(content.encode()))):
        assert [line for line in made.split("\n") if line.startswith("mine")] == mine
        assert "> one" not in made
        assert made.startswith("a\n")
        assert made.endswith("b\n")
    again = spliced(spliced(content.encode(), OTHER), BODY)
    assert text(again).count("mine\n") == 1


def test_line_ends_are_those_of_the_file() -> None:
    made = spliced(b"one\r\ntwo\r\n", BODY)
    assert made.count(b"\n") == made.count(b"\r\n")
    assert removed(made) == b"one\r\ntwo\r\n"
    assert removed(spliced(made, OTHER)) == b"one\r\ntwo\r\n"


@pytest.mark.parametrize(
    "before",
    [
        codecs.BOM_UTF8 + "# Mine é\n".encode(),
        codecs.BOM_UTF16_LE + "# Mine é\n".encode("utf-16-le"),
        codecs.BOM_UTF16_BE + "# Mine é".encode("utf-16-be"),
        codecs.BOM_UTF32_LE + "# Mine\r\n".encode("utf-32-le"),
        "# Mine é\n".encode("latin-1"),
        "# 私の\n".encode("shift-jis"),
        bytes(range(256)),
        b"\xff\xfe\x00",
    ],
    ids=["utf-8 with mark", "utf-16 le", "utf-16 be", "utf-32", "latin-1", "shift-jis", "all bytes", "odd utf-16"],
)
def test_any_encoding_keeps_its_bytes(before: bytes) -> None:
    made = spliced(before, OTHER)
    assert made.startswith(before)
    assert spliced(made, OTHER) == made
    assert removed(made) == before


PIECES = st.sampled_from(
    [
        *(b"a", b"\n", b"\n\n", b"\r\n", b"\r", b" ", b"\t", b"\xff", b"\xe9", b"\x00", b"\xc3\xa9", b"\xef\xbb\xbf"),
        *(b"\xff\xfe", b"\xfe\xff", BEGIN.encode(), END.encode(), BODY.encode(), b"<recollect-memory>\n", b"> x\n"),
    ]
)


@settings(max_examples=600)
@given(st.lists(PIECES | st.binary(max_size=4), max_size=14).map(b"".join), st.sampled_from([BODY, OTHER]))
def test_whatever_a_file_holds_comes_back(content: bytes, body: str) -> None:
    made = spliced(content, body)
    without = removed(content)
    assert removed(made) != made
    assert spliced(made, body) == made
    if without == content:  # it had none
        assert removed(made) == content
        assert removed(spliced(made, OTHER)) == content
    else:
        assert removed(without) == without
