"""One setting in config.toml, set or taken out: its line changes, every other byte stays.

The new text must read back as exactly that change before it replaces the file; a layout this cannot edit is refused.
"""

from __future__ import annotations

import json
import os
import re
import tomllib
from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

from recollect.cli.files import write_private
from recollect.errors import InvalidInput
from recollect.settings import PREFIX, Settings, load

_TABLES = {
    "projects": '"/path" = "name"',
    "sources": 'claude = ["/path"]',
    "prices": '"gpt-5.5" = [1.25, 10.0, 0.125]',
    "llm_project_daily_usd": '"/path/of/project" = 0.5',
}
_TABLE = re.compile(r"^[ \t]*\[", re.MULTILINE)


def set_setting(file: Path, name: str, value: str) -> None:
    """Write `name = value`; the value must be one the setting can have."""
    _write(file, name, _checked(file, name, value))


def check_setting(file: Path, name: str, value: str) -> None:
    """InvalidInput unless the setting can have this value; nothing is written."""
    _checked(file, name, value)


def set_list(file: Path, name: str, words: Sequence[str]) -> None:
    """Write `name = ["word", …]`, whatever the words hold; no words take the setting out."""
    _known(file, name)
    for word in words:
        if not word.strip() or not word.isprintable():
            raise InvalidInput(f"an entry of {name} is text on one line")
    if words:
        _write(file, name, list(words))
    else:
        unset_setting(file, name)


def _write(file: Path, name: str, typed: Any) -> None:
    line = f"{name} = {_toml(typed)}"
    text, end = _read(file)
    top, rest = text[:end], text[end:]
    found = _line(name).search(top)
    if found:
        new = top[: found.start()] + line + top[found.end() :] + rest
    else:
        gap = "" if not top or top.endswith("\n") else "\n"
        new = f"{top}{gap}{line}\n{rest}"
    _replace(file, text, new, name, typed)


def unset_setting(file: Path, name: str) -> bool:
    """Take the setting's line out; False when there is none."""
    _known(file, name)
    text, end = _read(file)
    found = _line(name).search(text[:end])
    if not found:
        return False
    stop = found.end() + 1 if text[found.end() : found.end() + 1] == "\n" else found.end()
    _replace(file, text, text[: found.start()] + text[stop:], name, None)
    return True


def set_entry(file: Path, table: str, key: str, value: float) -> None:
    """Write `"key" = value` under `[table]`, which is made if it is missing."""
    line = f"{json.dumps(key, ensure_ascii=False)} = {_toml(value)}"
    text, _ = _read(file)
    head = re.search(rf"^[ \t]*\[[ \t]*{table}[ \t]*\][^\r\n]*(?:\r?\n|$)", text, re.MULTILINE)
    if head is None:
        gap = "" if not text or text.endswith("\n") else "\n"
        new = f"{text}{gap}\n[{table}]\n{line}\n".lstrip("\n" if not text else "")
    else:
        after = _TABLE.search(text, head.end())
        end = after.start() if after else len(text)
        names = "|".join({re.escape(json.dumps(key, ensure_ascii=False)), re.escape(f"'{key}'"), re.escape(key)})
        found = re.compile(rf"^[ \t]*(?:{names})[ \t]*=[^\r\n]*", re.MULTILINE).search(text, head.end(), end)
        gap = "" if head[0].endswith("\n") else "\n"
        if found:
            new = text[: found.start()] + line + text[found.end() :]
        else:
            new = f"{text[: head.end()]}{gap}{line}\n{text[head.end() :]}"
    _replace(file, text, new, table, {**_table_of(file, text, table), key: value})


def _table_of(file: Path, text: str, table: str) -> dict[str, Any]:
    try:
        found = tomllib.loads(text).get(table, {})
    except tomllib.TOMLDecodeError as error:
        raise InvalidInput(f"{file} cannot be read: {error}", hint="Correct or remove the file.") from None
    return found if isinstance(found, dict) else {}


def _known(file: Path, name: str) -> None:
    names = [item.name for item in fields(Settings)]
    if name not in names:
        raise InvalidInput(f"unknown setting {name[:40]!r}", hint="Settings: " + ", ".join(names))
    if name in _TABLES:
        raise InvalidInput(f"{name} are edited in {file}", hint=f"Under [{name}], lines such as {_TABLES[name]}.")


def _checked(file: Path, name: str, value: str) -> Any:
    """The value as its setting's type, by the rule that reads variables; a path stays as it was written."""
    _known(file, name)
    if not value.isprintable():
        raise InvalidInput(f"the value of {name} holds a character that cannot be written on one line")
    if not value:
        if next(item.type for item in fields(Settings) if item.name == name) != "str":
            raise InvalidInput(f"{name} needs a value", hint=f"`recollect config unset {name}` takes it out.")
        return ""
    variable = PREFIX + name.upper()
    try:
        loaded = load({variable: value, "RECOLLECT_CONFIG": os.devnull})
    except InvalidInput as error:
        raise InvalidInput(str(error).replace(f" ({variable})", "")) from None
    typed = getattr(loaded.settings, name)
    if isinstance(typed, tuple):
        return list(typed)
    return value if isinstance(typed, Path) else typed


def _toml(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return repr(value) if isinstance(value, int | float) else json.dumps(value, ensure_ascii=False)


def _line(name: str) -> re.Pattern[str]:
    return re.compile(rf"^[ \t]*{name}[ \t]*=[^\r\n]*", re.MULTILINE)


def _read(file: Path) -> tuple[str, int]:
    """The text, and where its first table begins: settings stand before it."""
    try:
        text = file.read_bytes().decode("utf-8") if file.exists() else ""
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidInput(f"{file} cannot be read: {error}") from None
    table = _TABLE.search(text)
    return text, table.start() if table else len(text)


def _replace(file: Path, old: str, new: str, name: str, value: Any) -> None:
    try:
        wanted = tomllib.loads(old)
        wanted.pop(name, None)
        if value is not None:
            wanted[name] = value
        same = tomllib.loads(new) == wanted
    except tomllib.TOMLDecodeError as error:
        raise InvalidInput(f"{file} cannot be read: {error}", hint="Correct or remove the file.") from None
    if not same:
        raise InvalidInput(f"{file} is laid out in a way that cannot be edited safely", hint="Edit it by hand.")
    try:
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise InvalidInput(f"{file.parent} cannot be made: {error.strerror}") from None
    write_private(file.resolve() if file.is_symlink() else file, [new.encode()], replace=True)
