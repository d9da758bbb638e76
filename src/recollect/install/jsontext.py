"""JSON as text: an entry goes in or out, and every other character stays where it is.

Comments and trailing commas, which some agents allow, are kept. Putting an entry in and taking it out again gives the
very same text, whatever its layout; what was put between in the meantime stays.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NoReturn

from recollect.install.errors import BadSettings

BOM = "\ufeff"
SPACE = " \t\r\n"

Key = str | int
Path = Sequence[Key]

_TOKEN = re.compile(
    r"""
    "(?:[^"\\]|\\.)*"  # a text
    | (?P<comment>//[^\r\n]*|/\*.*?\*/)
    | [,\[\]{}]
    | [^\s,\[\]{}"/]+  # a number, a word or a colon
    """,
    re.VERBOSE | re.DOTALL,
)
_NOT_SPACE = re.compile(rf"[^{SPACE}]")
_INDENT = re.compile(r"[ \t]*")


@dataclass(frozen=True, slots=True)
class Child:
    """A member or an element: where its text begins, where its value begins and ends, and the value."""

    key: Key
    start: int
    value_start: int
    end: int
    value: Any


@dataclass(frozen=True, slots=True)
class Container:
    """An object or an array: where it opens and closes, what is in it, and the comma after each child that has one."""

    open: int
    close: int
    children: tuple[Child, ...]
    commas: tuple[int, ...]

    def child(self, key: Key) -> Child | None:
        """The child of this name; of several the last, as readers of JSON have it."""
        return next((child for child in reversed(self.children) if child.key == key), None)

    @property
    def trailing_comma(self) -> bool:
        return bool(self.children) and len(self.commas) == len(self.children)


class Document:
    """One text of JSON, and what was found where in it."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._comments: list[tuple[int, int]] = []
        self._trailing: set[int] = set()
        body = text.removeprefix(BOM)
        self._strict = " " * (len(text) - len(body)) + body
        try:
            self.value = _decode(self._strict)
        except ValueError:
            self._strict = self._plain(self._strict)
            self.value = _decode(self._strict)

    def _plain(self, text: str) -> str:
        """The same text as plain JSON: comments and trailing commas become blanks, so that every place stays."""
        pieces, last, comma = list(text), "", -1
        for match in _TOKEN.finditer(text):
            piece = match[0]
            if match.lastgroup == "comment":
                self._comments.append(match.span())
                pieces[match.start() : match.end()] = " " * len(piece)
                continue
            if piece in ("]", "}") and comma >= 0:
                self._trailing.add(comma)
                pieces[comma] = " "
            comma = match.start() if piece == "," and last not in ("", "{", "[", ",") else -1
            last = piece
        return "".join(pieces)

    # -- looking ---------------------------------------------------------------------------------------------------

    def at(self, path: Path) -> Container | None:
        """The object or array at this path, or None when there is none."""
        place = self._next(0)
        for key in path:
            found = self._container(place).child(key) if self._strict[place] in "{[" else None
            if found is None:
                return None
            place = found.value_start
        return self._container(place) if self._strict[place] in "{[" else None

    def _container(self, place: int) -> Container:
        named = self._strict[place] == "{"
        children: list[Child] = []
        commas: list[int] = []
        here = self._next(place + 1)
        while self._strict[here] not in "}]":
            start, key = here, len(children)
            if named:
                key, here = _DECODER.raw_decode(self._strict, here)
                here = self._next(self._next(here) + 1)
            value, end = _DECODER.raw_decode(self._strict, here)
            children.append(Child(key, start, here, end, value))
            here = self._next(end)
            if self._strict[here] == ",":
                commas.append(here)
                here = self._next(here + 1)
        if children:
            commas += [comma for comma in self._trailing if children[-1].end <= comma < here]
        return Container(place, here, tuple(children), tuple(commas))

    def _next(self, place: int) -> int:
        match = _NOT_SPACE.search(self._strict, place)
        return match.start() if match else len(self._strict)

    # -- the layout of the whole -----------------------------------------------------------------------------------

    @cached_property
    def eol(self) -> str:
        return "\r\n" if "\r\n" in self.text else "\n"

    @cached_property
    def _root(self) -> Container:
        return self._container(self._next(0))

    @cached_property
    def _on_one_line(self) -> bool:
        inside = self.text[self._root.open : self._root.close]
        return bool(self._root.children) and "\n" not in inside and "\r" not in inside

    @cached_property
    def _unit(self) -> str:
        """What one level is indented by."""
        if self._root.children and self._breaks_before(self._root, 0):
            return self._indent(self._root.children[0].start) or "  "
        return "  "

    @cached_property
    def _gap(self) -> str:
        """What stands after a colon or a comma on one line."""
        first = self._root.children[0] if self._root.children else None
        return "" if first is not None and self.text[first.value_start - 1] == ":" else " "

    def _indent(self, place: int) -> str:
        """The blanks that the line of this place begins with."""
        line = max(self.text.rfind("\n", 0, place), self.text.rfind("\r", 0, place)) + 1
        match = _INDENT.match(self.text, line)
        return match[0] if match else ""

    def _before(self, parent: Container, index: int) -> int:
        """Where what stands before a child begins: after the bracket or the comma."""
        return parent.commas[index - 1] + 1 if index else parent.open + 1

    def _breaks_before(self, parent: Container, index: int) -> bool:
        gap = self.text[self._before(parent, index) : parent.children[index].start]
        return "\n" in gap or "\r" in gap

    def _after_words(self, start: int, end: int) -> int:
        """Where the blanks that end this stretch begin: after its last comment or comma."""
        words = start + len(self.text[start:end].rstrip(SPACE))
        return max([words, *(stop for begin, stop in self._comments if start <= begin < end)])

    def _ends_in_line_comment(self, place: int) -> bool:
        return any(end == place and self.text.startswith("//", start) for start, end in self._comments)

    # -- changing --------------------------------------------------------------------------------------------------

    def append(self, path: Path, value: Any, key: str | None = None) -> Document:
        """One more member or element at the end of the object or array at this path."""
        parent = self._must(path)
        if not parent.children:
            return self._first(parent, value, key)
        last = parent.children[-1]
        place = self._after_words(last.end, parent.close)
        if self._breaks_before(parent, len(parent.children) - 1) or self._ends_in_line_comment(place):
            indent = self._indent(last.start)
            item = self.eol + indent + self._rendered(value, key, indent)
        else:
            item = self._gap + self._rendered(value, key, None)
        if parent.trailing_comma:
            return self._with((place, place, item + ","))
        if place == last.end:
            return self._with((place, place, f",{item}"))
        return self._with((last.end, last.end, ","), (place, place, item))

    def _first(self, parent: Container, value: Any, key: str | None) -> Document:
        """The first child of an empty one; the blanks that were in it stay, behind."""
        place = self._after_words(parent.open + 1, parent.close)
        if self._on_one_line:
            return self._with((place, place, self._rendered(value, key, None)))
        outer = self._indent(parent.open)
        inner = outer + self._unit
        item = self.eol + inner + self._rendered(value, key, inner) + self.eol + outer
        return self._with((place, place, item))

    def replace(self, path: Path, value: Any) -> Document:
        """Another value in the place of this one."""
        child = self._must(path[:-1]).child(path[-1])
        assert child is not None
        indent = self._indent(child.start) if "\n" in self.text[child.value_start : child.end] else None
        return self._with((child.value_start, child.end, self._rendered(value, None, indent)))

    def remove(self, path: Path) -> Document:
        """Without this member or element, and without the comma and the blanks that came with it."""
        parent = self._must(path[:-1])
        child = parent.child(path[-1])
        assert child is not None
        index = parent.children.index(child)
        start = self._after_words(self._before(parent, index), child.start)
        if index < len(parent.commas):
            comma = parent.commas[index]
            return self._cut(start, child.end, (comma, comma + 1, ""))
        if index:
            comma = parent.commas[index - 1]
            return self._cut(start, child.end, (comma, comma + 1, ""))
        rest = self.eol + self._indent(parent.open)
        more = len(rest) if self.text.startswith(rest, child.end) and not self._on_one_line else 0
        return self._cut(start, child.end + more)

    def _cut(self, start: int, end: int, *more: tuple[int, int, str]) -> Document:
        """Taken out; a line that ends in a comment keeps its end."""
        after = max([end, *(stop for _, stop, _ in more if stop > end)])
        if self._ends_in_line_comment(start) and self.text[after : after + 1] not in ("\r", "\n"):
            start += 2 if self.text.startswith("\r\n", start) else 1
        return self._with((start, end, ""), *more)

    def _must(self, path: Path) -> Container:
        found = self.at(path)
        if found is None:
            raise BadSettings(f"there is no object or list at {'.'.join(map(str, path)) or 'the top'}")
        return found

    def _rendered(self, value: Any, key: str | None, indent: str | None) -> str:
        """The text of a value, with its name; on one line when there is no indent."""
        if indent is None:
            text = json.dumps(value, ensure_ascii=False, separators=(f",{self._gap}", f":{self._gap}"))
            return text if key is None else f"{json.dumps(key, ensure_ascii=False)}:{self._gap}{text}"
        text = json.dumps(value, ensure_ascii=False, indent=self._unit)
        text = text.replace("\n", self.eol + indent)
        return text if key is None else f"{json.dumps(key, ensure_ascii=False)}: {text}"

    def _with(self, *edits: tuple[int, int, str]) -> Document:
        text = self.text
        for start, end, new in sorted(edits, key=lambda edit: edit[:2], reverse=True):
            text = text[:start] + new + text[end:]
        return Document(text)


def _refuse(word: str) -> NoReturn:
    raise ValueError(f"{word} is not JSON")


def _integer(text: str) -> int | str:
    return int(text) if len(text) < 20 else text  # Python refuses to read thousands of digits


_DECODER = json.JSONDecoder(parse_int=_integer, parse_float=str, parse_constant=_refuse)


def _decode(text: str) -> Any:
    try:
        value, end = _DECODER.raw_decode(text, len(text) - len(text.lstrip(SPACE)))
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    rest = text[end:].lstrip(SPACE)
    if rest:
        raise ValueError(f"there is more after its end: {rest[:20]!r}")
    return value
