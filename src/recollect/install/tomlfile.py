"""What Recollect has in a TOML file of an agent: one table for its MCP server, under a line that says whose it is.

It goes to the end of the file, and out again with all that stands in it, also what the agent itself noted there (Codex
adds tables such as `[mcp_servers.recollect.tools.…]`, which mean nothing without the server). Before either is done,
the new text is read to see that nothing else has changed.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from recollect.install.command import SERVER, is_server
from recollect.install.errors import BadSettings
from recollect.install.jsontext import BOM

SERVERS = "mcp_servers"
MARK = "# Written by `recollect install`; `recollect uninstall` takes it out."
JOINED = " The line before had no end."

_LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n|$)")
_TABLE = re.compile(rf"\[{SERVERS}\.{SERVER}(?P<inner>\.[^\]\r\n]+)?\]\s*(?:#.*)?")
_KEY = re.compile(r"[ \t]*[^\s#\[=][^=]*=")


@dataclass(frozen=True, slots=True)
class TomlFile:
    """One file, and the keys of the table in it, each with its value as it is written."""

    path: Path
    server: Mapping[str, str]


@dataclass(slots=True)
class Added:
    """The new text, and what to tell the user."""

    text: str
    notes: list[str]


def add(wanted: TomlFile, text: str | None) -> Added:
    """The text with our table in it; what others added to the table stays."""
    old = text or ""
    before = _read(wanted, old)
    there = _server(before)
    if there is not None and not has_ours(wanted, old):
        return Added(old, [f"{wanted.path}: [{SERVERS}.{SERVER}] is not ours and stays as it is"])
    if there is not None and not _changes(there, wanted):
        return Added(old, [])
    new = _appended(old, wanted) if there is None else _updated(old, wanted)
    after = _parsed(new)
    if after is None or _without(after) != _without(before) or _changes(_server(after), wanted):
        raise _odd(wanted)
    if take_out(wanted, new) != (old if there is None else take_out(wanted, old)):
        raise _odd(wanted)
    return Added(new, [])


def take_out(wanted: TomlFile, text: str) -> str:
    """The text without our table; as it is when there is none or it is not ours."""
    if not has_ours(wanted, text):
        return text
    new = _cut(text)
    after = _parsed(new)
    if after is None or _server(after) is not None or _without(after) != _without(_read(wanted, text)):
        raise _odd(wanted)
    return new


def has_ours(wanted: TomlFile, text: str | None) -> bool:
    """Whether our table is in the text."""
    return text is not None and MARK in text and is_server(_server(_read(wanted, text)))


def _appended(text: str, wanted: TomlFile) -> str:
    eol = "\r\n" if "\r\n" in text else "\n"
    joined = bool(text.removeprefix(BOM)) and not text.endswith(("\n", "\r"))
    lines = [MARK + (JOINED if joined else ""), f"[{SERVERS}.{SERVER}]"]
    lines += [f"{key} = {value}" for key, value in wanted.server.items()]
    gap = (eol if joined else "") + (eol if text.removeprefix(BOM) else "")
    return text + gap + "".join(line + eol for line in lines)


def _updated(text: str, wanted: TomlFile) -> str:
    """With our keys as they are wanted, each in its place."""
    lines = _lines(text)
    number = next(number for number, inner in _tables(lines) if not inner)
    eol = "\r\n" if lines[number].endswith("\r\n") else "\n"
    missing, place, end = dict(wanted.server), number + 1, _end(lines, number + 1)
    while place < end:
        last = _value_end(lines, place)
        key = lines[place].partition("=")[0].strip()
        if key in missing:
            lines[place:last] = [f"{key} = {missing.pop(key)}{eol}", *[""] * (last - place - 1)]
        place = last
    lines[number] = lines[number].rstrip("\r\n") + eol + "".join(f"{key} = {missing[key]}{eol}" for key in missing)
    return "".join(lines)


def _cut(text: str) -> str:
    """Without the lines of our tables, the line that marks them, and the empty line before."""
    mark = BOM if text.startswith(BOM) else ""
    lines = _lines(text.removeprefix(BOM))
    gone: set[int] = set()
    for number, _ in list(_tables(lines)):
        marked = bool(number) and lines[number - 1].startswith(MARK)
        first = number - 1 if marked else number
        end = _end(lines, number + 1)
        gone.update(range(first, end))
        joined = marked and JOINED in lines[first] and not "".join(lines[end : end + 1]).strip()
        if first and not lines[first - 1].strip():
            first -= 1
            gone.add(first)
        if joined and first:
            lines[first - 1] = lines[first - 1].rstrip("\r\n")
    return mark + "".join(line for number, line in enumerate(lines) if number not in gone)


def _lines(text: str) -> list[str]:
    return [line for line in _LINE.findall(text) if line]


def _tables(lines: list[str]) -> Iterator[tuple[int, bool]]:
    """The lines on which our tables begin, and whether each is one within our table; not what a text only quotes."""
    for number, line in enumerate(lines):
        found = _TABLE.fullmatch(line.strip())
        if found and _parsed("".join(lines[:number])) is not None:
            yield number, bool(found["inner"])


def _end(lines: list[str], number: int) -> int:
    """Where the keys of a table end, also those that stand behind a comment."""
    end = number
    while number < len(lines) and not lines[number].lstrip().startswith("["):
        if _KEY.match(lines[number]):
            number = end = _value_end(lines, number)
        else:
            number += 1
    return end


def _value_end(lines: list[str], number: int) -> int:
    """Where a key's value ends; it may take several lines."""
    last = number + 1
    while last < len(lines) and _parsed("".join(lines[number:last])) is None:
        last += 1
    return last


def _parsed(text: str) -> dict[str, Any] | None:
    try:
        return tomllib.loads(text.removeprefix(BOM), parse_float=str)
    except (tomllib.TOMLDecodeError, RecursionError):
        return None


def _read(wanted: TomlFile, text: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text.removeprefix(BOM), parse_float=str)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise BadSettings(
            f"{wanted.path} is not valid TOML: {error}", hint="Correct the file, then try again. Nothing was changed."
        ) from None


def _server(document: Mapping[str, Any]) -> Any:
    servers = document.get(SERVERS)
    return servers.get(SERVER) if isinstance(servers, dict) else None


def _without(document: Mapping[str, Any]) -> dict[str, Any]:
    """All but our server; that there are no others counts as there being none."""
    rest = dict(document)
    servers = rest.get(SERVERS)
    if isinstance(servers, dict):
        rest[SERVERS] = {name: value for name, value in servers.items() if name != SERVER}
    if rest.get(SERVERS) == {}:
        del rest[SERVERS]
    return rest


def _changes(there: Any, wanted: TomlFile) -> bool:
    """Whether what is there lacks something of what is wanted."""
    ours = tomllib.loads("\n".join(f"{key} = {value}" for key, value in wanted.server.items()))
    if not isinstance(there, dict):
        return True
    env = ours.pop("env", {})
    kept = there.get("env", {})
    return any(there.get(key) != value for key, value in ours.items()) or not env.items() <= kept.items()


def _odd(wanted: TomlFile) -> BadSettings:
    return BadSettings(
        f"{wanted.path} is laid out in a way that cannot be edited safely",
        hint=f"Edit [{SERVERS}.{SERVER}] by hand.",
    )
