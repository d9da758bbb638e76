"""Text as sentences, each with its exact place: what rules look at, one by one.

A text comes in; spans of its sentences go out, in order, without list marks, headings and quotation marks around them.
Fenced code is nobody's sentence, and neither are tables. Every step is linear, and a sentence that never ends is cut.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from recollect.text import one_line

MAX_SENTENCE = 600
MAX_TEXT = 40_000  # characters of one text that are looked at: both ends of a longer one
_FENCE = re.compile(r"^[ \t]{0,12}(?:```|~~~)")
_MARK = re.compile(r"[ \t]*(?:(?:[-*+•–—>]|#{1,6}|\d{1,2}[.)]|\(?[A-Ha-h][.)])[ \t]+|[*_]{1,3}(?=\w))*")
# A sentence ends at its stop before white space, and at two or more dots anywhere: people type "this..and that".
_END = re.compile(r"[.!?…]+[\"'”’)\]*_]*(?=\s|$)|\.{2,}|[。！？]")
_NO_END = re.compile(
    r"(?:\b(?:e\.g|i\.e|etc|vs|cf|bzw|z\.B|d\.h|ca|approx|resp|Mr|Dr|No|Nr|p\.ej)|^\W{0,4}\d{1,2}|\b[A-Z])\.$"
)
_LINK = re.compile(r"!?\[([^\]\n]{0,200})\]\([^)\n]{0,400}\)")
_BOLD = re.compile(r"\*\*|(?<![\w*`])[*_](?=\w)|(?<=\w)[*_](?![\w*`(])")
_HANGING = re.compile(r"(?:\s+(?:and|or|with|to|in|the|a|an|of|for|at|by|as|is|that|from|on))+$", re.IGNORECASE)
# A first word that is spelled as it is: code, a path, a name with a capital inside or a number.
_SPELLED = re.compile(r"[`(]|\S*[\w)][._/(=\\:]\w|\S*[_(/]|[a-z]+[A-Z]|\S*\d")
_LEFT = " \t\r\n\"'“”‘’«»|"


class Sentence(NamedTuple):
    """Where a sentence stands in its text."""

    text: str
    start: int
    end: int


def sentences(text: str, start: int = 0, end: int | None = None) -> Iterator[Sentence]:
    """The sentences of a text, or of a part of it."""
    end = len(text) if end is None else end
    if end - start > MAX_TEXT:
        yield from sentences(text, start, start + MAX_TEXT // 2)
        yield from sentences(text, end - MAX_TEXT // 2, end)
        return
    fenced = False
    at = start
    for line in text[start:end].split("\n"):
        if _FENCE.match(line):
            fenced = not fenced
        elif not fenced and line.strip() and not line.lstrip().startswith("|"):
            yield from _of_line(text, line, at)
        at += len(line) + 1


def _of_line(text: str, line: str, at: int) -> Iterator[Sentence]:
    mark = _MARK.match(line)
    begin = seen = mark.end() if mark else 0
    ticks = 0
    for stop in _END.finditer(line, begin):
        ticks += line.count("`", seen, stop.start())
        seen = stop.start()
        if ticks % 2 or _NO_END.search(line[max(begin, stop.start() - 8) : stop.end()]):
            continue  # in code, or no end at all
        yield from _cut(text, at + begin, at + stop.end())
        begin = stop.end()
    yield from _cut(text, at + begin, at + len(line))


def _cut(text: str, start: int, end: int) -> Iterator[Sentence]:
    end = min(end, start + MAX_SENTENCE)
    while start < end and text[start] in _LEFT:
        start += 1
    while start < end and text[end - 1] in _LEFT:
        end -= 1
    if start < end:
        yield Sentence(text[start:end], start, end)


def plain(text: str, limit: int = 0) -> str:
    """Text as one reads it: on one line, links by their names, nothing bold."""
    return one_line(_BOLD.sub("", _LINK.sub(r"\1", text)), limit)


def sentence_case(text: str) -> str:
    """Text that begins as a sentence does, unless its first word is code."""
    return text if _SPELLED.match(text) else text[:1].upper() + text[1:]


def whole_words(text: str, limit: int) -> str:
    """Text on one line of at most so many characters that ends with a clause, or at least with a word."""
    text = one_line(text)
    if len(text) <= limit:
        return text
    cut = text[: limit + 1]
    clause = max(cut.rfind(mark) for mark in (". ", "; ", ", ", " - ", " — ", " ("))
    cut = cut[:clause] if clause > limit // 2 else cut[: max(cut.rfind(" "), 0)] or text[:limit]
    cut = _HANGING.sub("", cut.rstrip(" ,;:-—(")).rstrip(" ,;:-—(")
    return f"{cut[: limit - 1]}`" if cut.count("`") % 2 else cut
