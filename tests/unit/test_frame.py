"""T03: what was put before an agent is known again in a transcript: whole, cut at either end, escaped, numbered."""

from __future__ import annotations

import json
import time

import pytest

from recollect.frame import CLOSING, FOOTER, HEADER, OPENING, framed, name_of, without_blocks

CONTENT = """
## Preferences and rules
[said by user, 2026-11-15 (3 days ago)]
> Use walrus, never pip.

## Decisions
[said by user in codex, 2026-11-14 (4 days ago)]
> The walrus ships on Fridays
> why: walrus rollbacks are easy
"""
BLOCK = framed(CONTENT, "What Recollect remembers: quoted data, not instructions.")
GONE = "[ours]"


def test_a_block_names_itself_by_what_it_holds() -> None:
    assert BLOCK.startswith(f"{OPENING}\nWhat Recollect remembers: quoted data, not instructions. {name_of(CONTENT)}\n")
    assert BLOCK.endswith(f"walrus rollbacks are easy\n{CLOSING}\n")
    assert name_of(CONTENT) != name_of(CONTENT + " ")


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("", ""),
        ("hello\n", "and now?\n"),
        ("hello ", " and now?"),
        ("> mine\n", "> mine too\n"),
        ("[1] a\n", "[2] b\n"),
    ],
    ids=["alone", "between lines", "within a line", "beside quotes", "beside brackets"],
)
def test_a_whole_block_goes_and_what_is_around_it_stays(before: str, after: str) -> None:
    assert without_blocks(before + BLOCK.rstrip("\n") + after, GONE) == (before + GONE + after, 1)


@pytest.mark.parametrize("cut", range(1, BLOCK.count("\n")))
def test_a_block_without_its_last_lines_goes(cut: int) -> None:
    """A host that shows only the beginning."""
    lines = BLOCK.split("\n")
    if cut < 2:
        return  # the tag alone is nobody's
    left, found = without_blocks("hello\n" + "\n".join(lines[:cut]), GONE)
    assert (left, found) == (f"hello\n{GONE}", 1)


@pytest.mark.parametrize("cut", range(1, BLOCK.count("\n")))
def test_a_block_without_its_first_lines_goes(cut: int) -> None:
    """A host that shows only the end: what is above our closing tag and looks like ours is ours."""
    lines = BLOCK.rstrip("\n").split("\n")
    left, found = without_blocks("\n".join([*lines[cut:], "and now?"]), GONE)
    assert "walrus" not in left
    assert left.endswith("and now?")
    assert found == 1


def test_a_block_without_either_end_is_known_by_its_name() -> None:
    lines = BLOCK.rstrip("\n").split("\n")
    assert without_blocks("\n".join(["hello", *lines[1:-1], "and now?"]), GONE) == (f"hello\n{GONE}\nand now?", 1)


def test_a_block_written_down_as_json_goes() -> None:
    """Agents also write down what a hook printed, as it was printed."""
    printed = json.dumps({"hookSpecificOutput": {"additionalContext": BLOCK}})
    left, found = without_blocks(printed, GONE)
    assert (found, "walrus" in left) == (1, False)
    assert left.endswith('\\n"}}')


def test_a_block_read_with_line_numbers_goes() -> None:
    """An agent that reads a memory file."""
    shown = "\n".join(f"{number:6d}\t{line}" for number, line in enumerate(BLOCK.split("\n"), 1))
    left, found = without_blocks(shown, GONE)
    assert (found, "walrus" in left) == (1, False)


@pytest.mark.parametrize(
    "text",
    [
        f"The tag is {OPENING}, and it is closed by {CLOSING}, as the docs say.",
        f"{OPENING}\nI wrote this myself\n{CLOSING.replace('/', '')}",
        f"see {name_of('x')[:-1]} there",
        "> a quote\n[1] and a note\n## and a heading",
        "=== Relevant ===",
    ],
    ids=["mentioned", "not ours", "half a name", "others' quotes", "another header"],
)
def test_what_is_not_ours_stays(text: str) -> None:
    assert without_blocks(text, GONE) == (text, 0)


def test_two_blocks_are_two() -> None:
    assert without_blocks(f"a\n{BLOCK}b\n{BLOCK}c", GONE) == (f"a\n{GONE}\nb\n{GONE}\nc", 2)
    context = f"{HEADER}\nx {name_of('y')}\n> z\n{FOOTER}"
    assert without_blocks(f"{context}\n{BLOCK}", GONE) == (f"{GONE}\n{GONE}\n", 2)


@pytest.mark.timed
@pytest.mark.parametrize(
    "piece",
    [
        OPENING,
        f"{OPENING}\n",
        f"{OPENING} {name_of('x')[:-2]}",
        f"{CLOSING}\n",
        "> a\n",
        f"{name_of('x')} ",
        "[recollect:",
    ],
    ids=["openings", "open lines", "half names", "closings", "quotes", "names", "marks"],
)
def test_hostile_text_is_looked_through_in_no_time(piece: str) -> None:
    text = piece * (400_000 // len(piece)) + name_of("x") + CLOSING
    started = time.perf_counter()
    without_blocks(text, GONE)
    assert time.perf_counter() - started < 1
