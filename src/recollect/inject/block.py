"""A marked block in a file of the user's: put in, refreshed, taken out, with every other byte as it was.

The block stands between two lines, `<!-- recollect:begin -->` and `<!-- recollect:end -->`. Only such whole lines
count, and only a beginning with an end behind it and no other mark between; any other mark is text like the rest. What
stands between the two is ours; if somebody wrote something there all the same, it is moved behind the block, not lost.
Taking the block out gives back the bytes that were there before it was put in: behind a text without a line end one is
added, and a blank line at the beginning of the block says so.
"""

from __future__ import annotations

import codecs
import re
from dataclasses import dataclass
from itertools import pairwise

from recollect.frame import CLOSING, OPENING

BEGIN, END = "<!-- recollect:begin -->", "<!-- recollect:end -->"
_BOMS = (  # the longer first: one begins like another
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_MARK_LINE = re.compile(rf"(?:^|(?<=^\ufeff))(?:{BEGIN}|{END})[ \t]*\r?$", re.MULTILINE)
_OURS = re.compile(rf"{OPENING}\r?\n.*?\n{CLOSING}\r?\n?", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Text:
    """The content of a file as text that can be turned back into the very same bytes."""

    text: str
    encoding: str

    @property
    def newline(self) -> str:
        """How this file ends its lines."""
        return "\r\n" if self.text.count("\r\n") * 2 > self.text.count("\n") else "\n"

    def encoded(self, text: str) -> bytes:
        return text.encode(self.encoding, "surrogatepass" if self.encoding.startswith("utf-") else "strict")


def spliced(content: bytes, body: str) -> bytes:
    """The content with this text as its block; an empty text takes the block out."""
    if not body.strip():
        return removed(content)
    before = read(content)
    spans = _spans(before.text)
    if not spans:
        return before.encoded(before.text + _appended(before, body))
    text = before.text
    for start, end in reversed(spans[1:]):
        text = _cut(text, start, end)
    start, end = spans[0]
    newline = _newline_at(text, start)
    kept = _foreign(text[start:end])
    block = _block(before, body, newline, joined=_is_joined(text, start))
    return before.encoded(text[:start] + block + (newline + kept if kept else "") + text[end:])


def removed(content: bytes) -> bytes:
    """The content without its block."""
    before = read(content)
    text = before.text
    for start, end in reversed(_spans(text)):
        text = _cut(text, start, end)
    return before.encoded(text)


def read(content: bytes, mark: str = BEGIN) -> Text:
    """The content as text: by its byte order mark, as UTF-8, or else with each byte as a character.

    `mark` is what stands in it if we wrote into it before.
    """
    for order, encoding in _BOMS:
        if content.startswith(order) and mark.encode() not in content:  # else it was no such file when we wrote
            try:
                text = content.decode(encoding, "surrogatepass")
            except UnicodeDecodeError:
                break
            if text.encode(encoding, "surrogatepass") == content:
                return Text(text, encoding)
    try:
        return Text(content.decode("utf-8"), "utf-8")
    except UnicodeDecodeError:
        return Text(content.decode("latin-1"), "latin-1")


def _spans(text: str) -> list[tuple[int, int]]:
    """Where blocks stand: from the beginning of the first mark to the end of the second, without its line end."""
    marks = [(match.start(), match[0].rstrip(), match.end()) for match in _MARK_LINE.finditer(text)]
    return [
        (start, end - (1 if text[end - 1 : end] == "\r" else 0))
        for (start, first, _), (_, second, end) in pairwise(marks)
        if (first, second) == (BEGIN, END)
    ]


def _newline_at(text: str, start: int) -> str:
    """How the lines of a block end: as the one behind its beginning does."""
    place = text.find("\n", start)
    return "\r\n" if place > 0 and text[place - 1] == "\r" else "\n"


def _is_joined(text: str, start: int) -> bool:
    """Whether the line end before a block was put there with it."""
    return text[text.find("\n", start) + 1 :].startswith(("\n", "\r\n"))


def _block(before: Text, body: str, newline: str, *, joined: bool) -> str:
    lines = [BEGIN, *([""] if joined else []), *body.rstrip("\n").split("\n"), END]
    block = newline.join(lines)
    # A file in some encoding of one byte a character gets no others.
    return block.encode("ascii", "replace").decode() if before.encoding == "latin-1" else block


def _appended(before: Text, body: str) -> str:
    """What is put behind the text when there is no block yet."""
    newline = before.newline
    joined = bool(before.text) and not before.text.endswith("\n")
    return (newline if joined else "") + _block(before, body, newline, joined=joined) + newline


def _cut(text: str, start: int, end: int) -> str:
    """The text without one block, and without the line ends that were put around it."""
    newline, kept = _newline_at(text, start), _foreign(text[start:end])
    head, tail = text[:start], text[end:]
    tail = tail[len(newline) :] if tail.startswith(newline) else tail
    bare = head[: -len(newline)] if head.endswith(newline) and _is_joined(text, start) else head
    if not kept and not tail:
        return bare
    if bare and bare != head and not bare.endswith("\n"):
        bare = head  # lines that were apart stay apart
    return bare + (kept + newline if kept else "") + tail


def _foreign(block: str) -> str:
    """What stands between the marks and is not ours."""
    inner = block.split("\n", 1)[-1].rsplit("\n", 1)[0] if block.count("\n") > 1 else ""
    return _OURS.sub("", inner).strip("\r\n")
