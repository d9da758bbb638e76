"""Texts as a page shows them: pieces that are marked or not, an excerpt of a long one, the difference of two.

Everything here is text in and pieces of text out; what a piece looks like is for the template to say.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from difflib import SequenceMatcher
from typing import Literal, NamedTuple

from recollect.store.searchtext import query_terms

_STEM = 5  # characters in which a word and its inflections usually agree
_LOOKED_AT = 20_000  # characters of a text in which words are looked for
_WORDS = re.compile(r"\s+|\w+|[^\w\s]")
_SENTENCES = re.compile(r".+?(?:[.!?\n]+\s*|$)", re.DOTALL)
_MOST_WORK = 250_000  # pairs of words that are held against each other


class Piece(NamedTuple):
    """Some text, and whether it is marked."""

    text: str
    marked: bool = False


class Change(NamedTuple):
    """Some text that stayed, came or went."""

    what: Literal["same", "ins", "del"]
    text: str


def words_in(question: str) -> re.Pattern[str] | None:
    """What is marked in a hit: the words asked for and their inflections; None when there are none."""
    terms = [
        re.escape(term[:_STEM]) + (r"\w*" if len(term) >= _STEM else r"s?(?!\w)") for term in query_terms(question)
    ]
    return re.compile(rf"(?<!\w)(?:{'|'.join(sorted(terms, key=len, reverse=True))})", re.IGNORECASE) if terms else None


def marked(text: str, words: re.Pattern[str] | None) -> list[Piece]:
    """A text in pieces, those that match marked."""
    if words is None:
        return [Piece(text)]
    pieces, end = [], 0
    for found in words.finditer(text):
        pieces += [Piece(text[end : found.start()]), Piece(found[0], True)]
        end = found.end()
    return [piece for piece in [*pieces, Piece(text[end:])] if piece.text]


def excerpt(text: str, words: re.Pattern[str] | None, most: int) -> str:
    """The text, or of a long one the stretch with most of the words."""
    if len(text) <= most:
        return text
    places = [found.start() for found in words.finditer(text[:_LOOKED_AT])][:200] if words else []
    starts = [max(0, place - most // 5) for place in places] or [0]
    start = max(starts, key=lambda at: (sum(at <= place < at + most for place in places), -at))
    start = min(start, len(text) - most)
    if start:
        start = _after_space(text, start)
    end = start + most
    if end < len(text):
        end = max(start + most // 2, text.rfind(" ", start, end))
    return f"{'… ' if start else ''}{text[start:end].strip()}{' …' if end < len(text) else ''}"


def around(text: str, start: int, end: int, room: int) -> tuple[str, str, str]:
    """A span of a text, with so many characters before and after it, ended at words."""
    start, end = max(0, min(start, len(text))), max(0, min(end, len(text)))
    first, last = max(0, start - room), min(len(text), end + room)
    if first:
        first = min(start, _after_space(text, first))
    if last < len(text):
        last = max(end, text.rfind(" ", end, last)) if " " in text[end:last] else last
    before, after = text[first:start], text[end:last]
    return f"{'…' if first else ''}{before}", text[start:end], f"{after}{'…' if last < len(text) else ''}"


def changes(old: str, new: str) -> list[Change]:
    """What is different, word by word; in long texts sentence by sentence."""
    before, after = _WORDS.findall(old), _WORDS.findall(new)
    if len(before) * len(after) > _MOST_WORK:
        before, after = _SENTENCES.findall(old), _SENTENCES.findall(new)
    if len(before) * len(after) > _MOST_WORK:
        return [Change("del", old), Change("ins", new)]
    found: list[Change] = []
    for tag, a, b, c, d in SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        if tag == "equal":
            found.append(Change("same", "".join(before[a:b])))
        else:
            found += [Change("del", "".join(before[a:b])), Change("ins", "".join(after[c:d]))]
    return _smooth([change for change in found if change.text])


def _smooth(found: Sequence[Change]) -> list[Change]:
    """Changes with nothing but white space between them as one: people read phrases, not words."""
    done: list[Change] = []
    gone = came = ""
    for place, change in enumerate(found):
        blank = change.what == "same" and not change.text.strip() and (gone or came) and place + 1 < len(found)
        if change.what == "same" and not blank:
            done += [Change("del", gone), Change("ins", came), change]
            gone = came = ""
        else:
            gone += change.text if change.what != "ins" else ""
            came += change.text if change.what != "del" else ""
    done += [Change("del", gone), Change("ins", came)]
    return [change for change in done if change.text]


def _after_space(text: str, at: int) -> int:
    space = text.find(" ", at, at + 40)
    return at if space < 0 else space + 1
