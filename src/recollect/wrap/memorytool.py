"""Anthropic's memory tool (`memory_20250818`) kept in Recollect: a tree of files under /memories, in one scope.

In: what the model sends as the tool's input. Out: the text it is told, in the words the tool's documentation has, and
whether it is an error. Each file is one memory, so that recall finds what the model wrote, `versions` shows how it read
before, and what the model deletes can be restored for a while. A folder is there while a file is in it. No path leads
to a real file: there are none.

    tool = MemoryTool(memory)
    message = client.messages.create(..., tools=[tool.definition])
    results = [tool.result(block) for block in message.content if block.type == "tool_use" and block.name == "memory"]
"""

from __future__ import annotations

import json
import re
from collections import OrderedDict
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from recollect.errors import Conflict, NotFound, RecollectError
from recollect.text import present
from recollect.wrap.shelf import MOST, Paper, Shelf, retried

if TYPE_CHECKING:
    from recollect.client.api import MemoryAPI

TYPE = "memory_20250818"
ROOT = "/memories"
MAX_PATH_CHARS, MAX_DEPTH = 200, 8
MAX_LINES = 999_999
MAX_VIEW_CHARS = 20_000  # of one answer; the rest is read with view_range
_ANSWERS = 256  # answers to calls that are remembered, should one be made again
_ECHOED = 1_000  # characters of what was looked for that an answer repeats
_AROUND = 4  # lines shown before and after an edit
_UNSAFE = re.compile("[\x00-\x1f\x7f-\x9f\\\\\u2028\u2029\ud800-\udfff]|%(?:2e|2f|5c|00)", re.IGNORECASE)

Tree = dict[str, Paper]


class Told(NamedTuple):
    """What the model is told."""

    text: str
    is_error: bool = False


class _Refused(Exception):
    """What cannot be done, in the words for the model."""


class MemoryTool:
    """The files of one memory. `name` keeps several trees apart in one scope."""

    type = TYPE

    def __init__(self, memory: MemoryAPI, name: str = "memory-tool") -> None:
        self._shelf = Shelf(memory, name)
        self._told: OrderedDict[str, Told] = OrderedDict()
        self._commands: Mapping[str, Callable[[Mapping[str, Any]], str]] = {
            "view": self._view,
            "create": self._create,
            "str_replace": self._replace,
            "insert": self._insert,
            "delete": self._delete,
            "rename": self._rename,
        }

    @property
    def definition(self) -> dict[str, str]:
        """The entry for a request's `tools`."""
        return {"type": TYPE, "name": "memory"}

    def result(self, block: Any) -> dict[str, Any]:
        """The `tool_result` for a `tool_use` block; the same call again is answered as it was the first time."""
        call = _part(block, "id")
        told = self.run(_part(block, "input"), call=call if isinstance(call, str) else None)
        return {"type": "tool_result", "tool_use_id": call, "content": told.text, "is_error": told.is_error}

    def run(self, given: object, *, call: str | None = None) -> Told:
        """Do one command. Nothing that a model sends, and no trouble of the store, raises here."""
        if call is not None and call in self._told:
            return self._told[call]
        told = self._tell(given)
        if call is not None:
            self._told[call] = told
            while len(self._told) > _ANSWERS:
                self._told.popitem(last=False)
        return told

    def _tell(self, given: object) -> Told:
        try:
            if not isinstance(given, Mapping):
                raise _Refused("Error: The input must be an object with a command")
            command = self._commands.get(str(given.get("command")))
            if command is None:
                raise _Refused(f"Error: Unknown command. Use one of: {', '.join(self._commands)}")
            return Told(retried(lambda: command(given)))
        except _Refused as error:
            return Told(str(error), is_error=True)
        except RecollectError as error:
            return Told(f"Error: The memory could not do that: {error}", is_error=True)

    # -- the commands ------------------------------------------------------------------------------------------------

    def _view(self, given: Mapping[str, Any]) -> str:
        path, tree = _path(given, "path"), self._tree()
        file = tree.get(path)
        if file is not None:
            return _shown(file, given.get("view_range"))
        if path != ROOT and not _beneath(tree, path):
            raise _Refused(f"The path {path} does not exist. Please provide a valid path.")
        return _listed(tree, path)

    def _create(self, given: Mapping[str, Any]) -> str:
        path, text, tree = _path(given, "path"), _text(given, "file_text"), self._tree()
        there = tree.get(path)
        if there is not None and there.text == text:
            return f"File created successfully at: {path}"  # made again after an answer that was lost
        _check_free(tree, path, f"Error: File {path} already exists")
        if len(tree) >= MOST:
            raise _Refused(f"Error: There are {MOST:,} files already. Delete or join some first")
        try:
            paper = self._shelf.add(path, _fitting(self._shelf, path, text))
        except Conflict:
            raise _Refused(f"Error: File {path} already exists") from None
        return f"File created successfully at: {path}{_redacted(paper.text, text)}"

    def _replace(self, given: Mapping[str, Any]) -> str:
        path, old, new = _path(given, "path"), _text(given, "old_str"), _text(given, "new_str", default="")
        file = self._file(path, f"Error: The path {path} does not exist. Please provide a valid path.")
        places = [match.start() for match in re.finditer(re.escape(old), file.text)] if old else []
        said = old if len(old) <= _ECHOED else f"{old[:_ECHOED]}…"
        if not places:
            raise _Refused(f"No replacement was performed, old_str `{said}` did not appear verbatim in {path}.")
        if len(places) > 1:
            lines = ", ".join(str(file.text.count("\n", 0, place) + 1) for place in places)
            raise _Refused(
                f"No replacement was performed. Multiple occurrences of old_str `{said}` in lines: {lines}. "
                "Please ensure it is unique"
            )
        text = file.text[: places[0]] + new + file.text[places[0] + len(old) :]
        kept = self._shelf.change(file, text=_fitting(self._shelf, path, text))
        first = text.count("\n", 0, places[0])
        snippet = _numbered(kept.text.split("\n"), first - _AROUND, first + new.count("\n") + _AROUND + 1)
        return f"The memory file has been edited.{_redacted(kept.text, text)}\n{snippet}"

    def _insert(self, given: Mapping[str, Any]) -> str:
        path, added = _path(given, "path"), _text(given, "insert_text")
        file = self._file(path, f"Error: The path {path} does not exist")
        lines = _lines(file.text)
        at = given.get("insert_line")
        if isinstance(at, bool) or not isinstance(at, int) or not 0 <= at <= len(lines):
            raise _Refused(
                f"Error: Invalid `insert_line` parameter: {str(at)[:40]}. "
                f"It should be within the range of lines of the file: [0, {len(lines)}]"
            )
        text = "\n".join([*lines[:at], added.removesuffix("\n"), *lines[at:]])
        text += "\n" if file.text.endswith("\n") or (at == len(lines) and added.endswith("\n")) else ""
        kept = self._shelf.change(file, text=_fitting(self._shelf, path, text))
        return f"The file {path} has been edited.{_redacted(kept.text, text)}"

    def _delete(self, given: Mapping[str, Any]) -> str:
        path, tree = _path(given, "path"), self._tree()
        if path == ROOT:
            raise _Refused(f"Error: The path {ROOT} itself cannot be deleted")
        doomed = [tree[path]] if path in tree else _beneath(tree, path)
        if not doomed:
            raise _Refused(f"Error: The path {path} does not exist")
        for paper in doomed:
            self._shelf.drop(paper)
        return f"Successfully deleted {path}"

    def _rename(self, given: Mapping[str, Any]) -> str:
        old, new, tree = _path(given, "old_path"), _path(given, "new_path"), self._tree()
        moved = [tree[old]] if old in tree else _beneath(tree, old)
        if old == ROOT or new == ROOT:
            raise _Refused(f"Error: The path {ROOT} itself cannot be renamed")
        if not moved:
            raise _Refused(f"Error: The path {old} does not exist")
        if new.startswith(f"{old}/"):
            raise _Refused(f"Error: The path {old} cannot be moved into itself")
        _check_free(tree, new, f"Error: The destination {new} already exists")
        names = {paper.id: new + paper.name.removeprefix(old) for paper in moved}
        for paper in moved:  # all of them before the first is moved
            _fitting(self._shelf, _checked(names[paper.id], "new_path"), paper.text)
        left = [paper.name for paper in moved if not self._move(paper, names[paper.id])]
        if left:
            raise _Refused(
                f"Error: {', '.join(left[:5])} kept being changed by others and was not renamed. Rename it again"
            )
        return f"Successfully renamed {old} to {new}"

    def _move(self, paper: Paper, name: str) -> bool:
        """Give one file another path, as it reads by then: the others of its folder are moved whatever becomes of it.

        One that somebody deleted or moved meanwhile is left to them; False when others change it each time.
        """

        def again() -> None:
            there = self._shelf.get(paper.name)
            if there is not None and there.id == paper.id:
                self._shelf.change(there, name=name)

        try:
            self._shelf.change(paper, name=name)
        except (Conflict, NotFound):
            try:
                retried(again)
            except (Conflict, NotFound):
                return False
        return True

    # -- the tree ----------------------------------------------------------------------------------------------------

    def _tree(self) -> Tree:
        return {paper.name: paper for paper in self._shelf.all()}

    def _file(self, path: str, missing: str) -> Paper:
        paper = self._shelf.get(path)
        if paper is None:
            raise _Refused(missing)
        return paper


def _beneath(tree: Tree, path: str) -> list[Paper]:
    """Every file in a folder, however deep."""
    return [paper for name, paper in tree.items() if name.startswith(f"{path}/")]


def _check_free(tree: Tree, path: str, taken: str) -> None:
    """Nothing has this path, and no file stands where one of its folders would."""
    if path == ROOT or path in tree or _beneath(tree, path):
        raise _Refused(taken)
    above = path.rpartition("/")[0]
    while above != ROOT:
        if above in tree:
            raise _Refused(f"Error: The path {above} is a file, not a directory")
        above = above.rpartition("/")[0]


# -- what the model sends ----------------------------------------------------------------------------------------------


def _part(block: Any, name: str) -> Any:
    return block.get(name) if isinstance(block, Mapping) else getattr(block, name, None)


def _path(given: Mapping[str, Any], name: str) -> str:
    path = given.get(name)
    if not isinstance(path, str) or not path:
        raise _Refused(f"Error: `{name}` is missing")
    return _checked(path.rstrip("/") or path, name)


def _checked(path: str, name: str) -> str:
    """A path within /memories, written in the one way it can be written."""
    shown = present(path)[:MAX_PATH_CHARS]
    if path != ROOT and not path.startswith(f"{ROOT}/"):
        raise _Refused(f"Error: `{name}` must start with {ROOT}, got: {shown}")
    parts = path.split("/")[2:]
    if _UNSAFE.search(path) or any(part in ("", ".", "..") or part != part.strip() for part in parts):
        raise _Refused(f"Error: `{name}` is not a plain path within {ROOT}: {shown}")
    if len(path) > MAX_PATH_CHARS or len(parts) > MAX_DEPTH:
        raise _Refused(f"Error: `{name}` has more than {MAX_PATH_CHARS} characters or {MAX_DEPTH} levels")
    return path


def _text(given: Mapping[str, Any], name: str, default: str | None = None) -> str:
    text = given.get(name, default)
    if not isinstance(text, str):
        raise _Refused(f"Error: `{name}` must be text")
    return text


def _fitting(shelf: Shelf, path: str, text: str) -> str:
    room = shelf.room - len(path)
    if len(text) > room:
        raise _Refused(f"Error: {path} would have {len(text):,} characters. The limit is {room:,}; use several files")
    bad = re.search("[\x00\ud800-\udfff]", text)
    if bad:
        raise _Refused(f"Error: The text holds a character that cannot be stored (U+{ord(bad[0]):04X})")
    return text


# -- what it is told ---------------------------------------------------------------------------------------------------


def _redacted(kept: str, given: str) -> str:
    return "" if kept == given else " What reads like a secret was taken out before it was stored."


def _lines(text: str) -> list[str]:
    """The lines of a file; a line end at the end begins no further one."""
    return text.removesuffix("\n").split("\n") if text else []


def _numbered(lines: list[str], start: int, end: int) -> str:
    start, end = max(0, start), min(len(lines), end)
    return "\n".join(f"{number + 1:6d}\t{lines[number]}" for number in range(start, end))


def _shown(file: Paper, view_range: object) -> str:
    lines = file.text.split("\n")
    if len(lines) > MAX_LINES:
        raise _Refused(f"File {file.name} exceeds maximum line limit of {MAX_LINES:,} lines.")
    start, end = _range(view_range, len(lines))
    body = _numbered(lines, start - 1, end)
    if len(body) > MAX_VIEW_CHARS:
        body = f"{body[:MAX_VIEW_CHARS]}\n[cut here: read the rest with view_range]"
    return f"Here's the content of {file.name} with line numbers:\n{body}"


def _range(given: object, lines: int) -> tuple[int, int]:
    """The lines asked for, from 1; -1 as the last is the end."""
    if given is None:
        return 1, lines
    match given:
        case [int(start), int(end)] if start >= 1 and (end == -1 or end >= start):
            return start, lines if end == -1 else end
    raise _Refused(f"Error: Invalid `view_range` parameter: {json.dumps(given, default=str)[:40]}. Give [first, last]")


def _listed(tree: Tree, path: str) -> str:
    """A folder two levels deep, each with the size of what is in it."""
    sizes: dict[str, int] = {path: 0}
    for paper in sorted(_beneath(tree, path), key=lambda paper: paper.name):
        parts = paper.name.removeprefix(f"{path}/").split("/")
        if any(part.startswith(".") or part == "node_modules" for part in parts):
            continue
        size = len(paper.text.encode())
        sizes[path] += size
        for depth in range(1, min(2, len(parts)) + 1):
            name = f"{path}/{'/'.join(parts[:depth])}" + ("/" if depth < len(parts) else "")
            sizes[name] = sizes.get(name, 0) + size
    rows = [f"{_size(sizes[name])}\t{name}" for name in sizes]
    head = f"Here're the files and directories up to 2 levels deep in {path}, excluding hidden items and node_modules:"
    return "\n".join([head, *rows])


def _size(count: int) -> str:
    """`12B`, `1.5K`, `2K`."""
    if count < 1_024:
        return f"{count}B"
    value = f"{count / 1_024:.1f}".removesuffix(".0")
    return f"{value}K" if count < 1_024**2 else f"{count / 1_024**2:.1f}".removesuffix(".0") + "M"
