"""Which words of a prompt its author typed: what stands in fences, quotes, tags or long pastes is somebody else's.

A preference may only be taken from these. Doubt counts against: a typed sentence that is left out costs a memory, a
pasted one that is taken for the user's own would let anybody's text speak for them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

LONG_PROMPT = 1_500  # characters: a longer prompt is a paste with an introduction, and perhaps a request at its end
_EDGE = 600  # how much of its first and last paragraph may be the author's
_LONG_LINE = 600  # nobody types such a paragraph without a break
_FENCE = re.compile(r"^[ \t]*(```|~~~).*?(?:^[ \t]*\1[`~]*[ \t]*$|\Z)", re.MULTILINE | re.DOTALL)
_TAGGED = re.compile(r"<([A-Za-z][\w-]{1,40})(?:\s[^<>]{0,200})?>.*?(?:</\1>|\Z)", re.DOTALL)
# Lines of a quotation, a log, a table, a diff, a traceback, a list of addresses, or another tool's output.
_FOREIGN_LINE = re.compile(
    r"^(?:[ \t]*[>|│┃⎿⏺●❯$#%+@]|\t| {4,}\S|[-+]{3} |[ \t]*at \S+\(|\d{4}-\d\d-\d\d[T ]\d\d:|\[\d|[A-Z][\w-]+: .{0,40}@)"
)
_QUOTED = re.compile(r"[\"“«][^\"“”«»\n]{25,}[\"”»]")
# What announces somebody else's words: everything behind it on that and the following lines.
_ANNOUNCED = re.compile(
    r"(?:here(?:'s| is| are)|this is|see|got|received|says?|said|wrote|writes|reads?|output|email|e-mail|mail|message"
    r"|comment|review|feedback|log|issue|ticket|description|following|below|from \w+|hier ist|voici|aquí)\b"
    r"[^\n]{0,60}:[ \t]*\n",
    re.IGNORECASE,
)


def own_words(text: str) -> list[tuple[int, int]]:
    """The spans of a prompt that are its author's own, in order."""
    foreign = sorted(_foreign(text))
    spans: list[tuple[int, int]] = []
    at = 0
    for start, end in [*foreign, (len(text), len(text))]:
        if start > at and text[at:start].strip():
            spans.append((at, start))
        at = max(at, end)
    return spans


def is_own(text: str, start: int, end: int) -> bool:
    """Whether a span of a prompt is all its author's."""
    return any(first <= start and end <= last for first, last in own_words(text))


def _foreign(text: str) -> Iterator[tuple[int, int]]:
    for pattern in (_FENCE, _TAGGED, _QUOTED):
        yield from (match.span() for match in pattern.finditer(text))
    announced = _ANNOUNCED.search(text)
    if announced:
        blank = text.find("\n\n", announced.end())
        yield announced.end(), len(text) if blank < 0 or len(text) > LONG_PROMPT else blank
    at = 0
    for line in text.split("\n"):
        if len(line) > _LONG_LINE or _FOREIGN_LINE.match(line):
            yield at, at + len(line) + 1
        at += len(line) + 1
    if len(text) > LONG_PROMPT:
        first, last = text.find("\n\n"), text.rfind("\n\n")
        head = min(first if first >= 0 else _EDGE, _EDGE)
        tail = max(last, len(text) - _EDGE) if last >= 0 else len(text)
        if head < tail:
            yield head, tail
