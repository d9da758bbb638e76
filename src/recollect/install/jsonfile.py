"""What Recollect has in a JSON file of an agent: its hooks and its MCP server, put in and taken out.

A hook stands in a list under its event, either by itself (`{"command": …}`, Cursor) or in a group
(`{"hooks": [{"command": …}]}`, the others). `created` are the objects and lists that were not there before: they go
again when nothing of the user's is in them. Where that is not known any more, those that held only ours are taken.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from recollect.install.command import SERVER, is_hook, is_server
from recollect.install.errors import BadSettings
from recollect.install.jsontext import BOM, SPACE, Document, Key

HOOKS = "hooks"
Place = tuple[Key, ...]


@dataclass(frozen=True, slots=True)
class JsonFile:
    """One file, and what belongs into it."""

    path: Path
    hooks: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)  # event -> the entry in its list
    servers: str | None = None  # the object that MCP servers stand in
    server: Mapping[str, Any] = field(default_factory=dict)
    base: Mapping[str, Any] = field(default_factory=dict)  # what the agent wants in any such file
    locked: bool = False  # whether the agent locks the file while it writes it


@dataclass(slots=True)
class Merged:
    """The new text, what was created in it, and what to tell the user."""

    text: str
    created: set[Place]
    notes: list[str] = field(default_factory=list)


def merge(wanted: JsonFile, text: str | None, known: set[Place] | None) -> Merged:
    """The text with our entries in it; `known` is what earlier runs created, None when nobody knows."""
    created = set()
    if text is not None and has_ours(wanted, text):
        created = guessed(wanted, text) if known is None else set(known)
    done = Merged(text or "", set(created))
    document = _opened(wanted, text, done)
    for event, entry in wanted.hooks.items():
        document = _ensure(document, (HOOKS,), {}, done, wanted.path)
        document = _ensure(document, (HOOKS, event), [], done, wanted.path)
        document = _put_hook(document, event, entry)
    for place in reversed(list(_our_hooks(document))):
        if place[1] not in wanted.hooks:
            document = document.remove(place)
    if wanted.servers:
        document = _ensure(document, (wanted.servers,), {}, done, wanted.path)
        document = _put_server(document, wanted, done)
    done.text = document.text
    _check(wanted, text, created, done)
    return done


def strip(wanted: JsonFile, text: str, created: set[Place]) -> str:
    """The text without our entries; empty (but for blanks) when we made all of it."""
    if not text.strip(SPACE + BOM):
        return text
    document = _read(wanted, text)
    for place in reversed(list(_our_hooks(document))):
        document = document.remove(place)
    if wanted.servers and is_server(_servers(document, wanted).get(SERVER)):
        document = document.remove((wanted.servers, SERVER))
    for place in sorted(created - {()}, key=len, reverse=True):
        if _value(document, place) in ({}, []) and _is_single(document, place):
            document = document.remove(place)
    if () in created and document.value == dict(wanted.base):
        root = document.at(())
        assert root is not None
        around = document.text[: root.open] + document.text[root.close + 1 :]
        return document.text if around.strip(SPACE + BOM) else around
    return document.text


def guessed(wanted: JsonFile, text: str) -> set[Place]:
    """What may have been created for our entries: whatever they stand in."""
    document = _read(wanted, text)
    found: set[Place] = {place[:size] for place in _our_hooks(document) for size in (0, 1, 2)}
    if wanted.servers and is_server(_servers(document, wanted).get(SERVER)):
        found |= {(), (wanted.servers,)}
    return found


def has_ours(wanted: JsonFile, text: str | None) -> bool:
    """Whether anything that `install` writes is in the text."""
    if text is None or "recollect" not in text:
        return False
    document = _read(wanted, text)
    return any(True for _ in _our_hooks(document)) or is_server(_servers(document, wanted).get(SERVER))


def hook_commands(wanted: JsonFile, text: str) -> dict[str, str]:
    """Event -> the command of ours that stands there."""
    document = _read(wanted, text)
    return {str(place[1]): command for place in _our_hooks(document) for command in _commands(_value(document, place))}


# -- putting in --------------------------------------------------------------------------------------------------------


def _opened(wanted: JsonFile, text: str | None, done: Merged) -> Document:
    """The file as a document; where there is nothing, the least an agent takes, before the blanks that were there."""
    if text is not None and text.strip(SPACE + BOM):
        return _read(wanted, text)
    done.created.add(())
    mark = BOM if text and text.startswith(BOM) else ""
    blanks = "\n" if text is None else text.removeprefix(BOM)
    return _read(wanted, mark + json.dumps(dict(wanted.base), indent=2) + blanks)


def _ensure(document: Document, place: Place, empty: Any, done: Merged, path: Path) -> Document:
    """With an object or a list at this place."""
    found = _value(document, place)
    if found is None and place[-1] not in _value(document, place[:-1]):
        done.created.add(place)
        return document.append(place[:-1], empty, str(place[-1]))
    if not isinstance(found, type(empty)):
        what = "an object" if isinstance(empty, dict) else "a list"
        raise BadSettings(
            f"{path}: {'.'.join(map(str, place))} is not {what}", hint="Correct the file, then try again."
        )
    return document


def _put_hook(document: Document, event: str, entry: Mapping[str, Any]) -> Document:
    """With this entry under its event: in the place of the one that is there, for others may count the places."""
    ours = [place for place in _our_hooks(document) if place[1] == event]
    if not ours:
        return document.append((HOOKS, event), dict(entry))
    for place in reversed(ours[1:]):
        document = document.remove(place)
    place = ours[0]
    if "hooks" in entry and len(place) == 3:  # a group in which all is ours: what it is matched by stays
        for number in range(len(_value(document, place)["hooks"]) - 1, 0, -1):
            document = document.remove((*place, "hooks", number))
        place = (*place, "hooks", 0)
    handler = entry["hooks"][0] if "hooks" in entry else dict(entry)
    return document if _value(document, place) == handler else document.replace(place, handler)


def _put_server(document: Document, wanted: JsonFile, done: Merged) -> Document:
    assert wanted.servers
    servers = _servers(document, wanted)
    if SERVER not in servers:
        return document.append((wanted.servers,), dict(wanted.server), SERVER)
    there = servers[SERVER]
    if not is_server(there):
        done.notes.append(f"{wanted.path}: {wanted.servers}.{SERVER} is not ours and stays as it is")
        return document
    new = {**there, **wanted.server}
    for name in ("env", "environment"):  # what the user added to it stays
        if isinstance(there.get(name), dict) and name in new:
            new[name] = {**there[name], **wanted.server.get(name, {})}
    return document if new == there else document.replace((wanted.servers, SERVER), new)


def _check(wanted: JsonFile, text: str | None, created: set[Place], done: Merged) -> None:
    """That it can be taken out again, before anything is written."""
    back = strip(wanted, done.text, done.created)
    if has_ours(wanted, text):
        assert text is not None
        same = _values(strip(wanted, text, created)) == _values(back)
    else:
        same = back == ("\n" if text is None else text)
    if not same:
        raise BadSettings(f"{wanted.path} is laid out in a way that cannot be edited safely", hint="Edit it by hand.")


def _values(text: str) -> Any:
    return Document(text).value if text.strip(SPACE + BOM) else None


# -- looking -----------------------------------------------------------------------------------------------------------


def _read(wanted: JsonFile, text: str) -> Document:
    try:
        document = Document(text)
    except ValueError as error:
        raise BadSettings(
            f"{wanted.path} is not valid JSON: {error}", hint="Correct the file, then try again. Nothing was changed."
        ) from None
    if not isinstance(document.value, dict):
        raise BadSettings(f"{wanted.path} is not a JSON object", hint="Correct the file, then try again.")
    return document


def _value(document: Document, place: Place) -> Any:
    value = document.value
    for key in place:
        try:
            value = value[key]
        except (KeyError, IndexError, TypeError):
            return None
    return value


def _is_single(document: Document, place: Place) -> bool:
    """Whether the name is there once: of several the last one counts, and without it another would."""
    parent = document.at(place[:-1])
    return parent is not None and [child.key for child in parent.children].count(place[-1]) == 1


def _servers(document: Document, wanted: JsonFile) -> Mapping[str, Any]:
    found = document.value.get(wanted.servers) if wanted.servers else None
    return found if isinstance(found, dict) else {}


def _our_hooks(document: Document) -> Iterator[Place]:
    """Where our hooks stand, in order: a whole entry or group when nothing else is in it."""
    hooks = document.value.get(HOOKS)
    for event, entries in hooks.items() if isinstance(hooks, dict) else ():
        for index, entry in enumerate(entries) if isinstance(entries, list) else ():
            place: Place = (HOOKS, event, index)
            handlers = entry.get("hooks") if isinstance(entry, dict) else None
            if isinstance(handlers, list):
                ours = [number for number, one in enumerate(handlers) if list(_commands(one))]
                if ours and len(ours) == len(handlers):
                    yield place
                else:
                    yield from ((*place, "hooks", number) for number in ours)
            elif list(_commands(entry)):
                yield place


def _commands(entry: Any) -> Iterator[str]:
    """The commands of ours in an entry."""
    if isinstance(entry, dict):
        if is_hook(entry.get("command")):
            yield entry["command"]
        handlers = entry.get("hooks")
        for handler in handlers if isinstance(handlers, list) else ():
            yield from _commands(handler)
