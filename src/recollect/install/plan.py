"""What installing or uninstalling would do to which file: worked out first, for every agent, and then done or shown.

Whatever is wrong with a file is found here, before anything is written anywhere.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from recollect.install import files, jsonfile, ownfile, tomlfile
from recollect.install.files import Change
from recollect.install.hosts import Host, Part
from recollect.install.inventory import AgentNote, FileNote, Inventory
from recollect.install.jsonfile import JsonFile
from recollect.install.jsontext import BOM, SPACE
from recollect.install.ownfile import OwnFile
from recollect.install.tomlfile import TomlFile


@dataclass(slots=True)
class Plan:
    """What becomes of one agent's files, and what to tell the user."""

    host: Host
    changes: list[Change] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    folders: set[Path] = field(default_factory=set)  # to be removed at the end, if they are empty
    ours: bool = False  # whether anything of ours was there before


def install(host: Host, inventory: Inventory, variables: dict[str, str]) -> Plan:
    """Put everything in; the inventory is brought up to date on the way."""
    plan, note = Plan(host), inventory.of(host.name)
    note.variables = variables
    for part in host.parts:
        before = files.read(part.path)
        after = _put(part, before, note, plan)
        if after != before:
            note.folders |= set(files.missing_folders(files.real(part.path)))
            backup = before is not None and not isinstance(part, OwnFile) and not _has_ours(part, before)
            plan.changes.append(Change(part.path, before, after, backup, _about(part)))
    return plan


def uninstall(host: Host, inventory: Inventory) -> Plan:
    """Take everything out that is ours; what somebody changed stays, and is named."""
    plan, note = Plan(host), inventory.agents.pop(host.name, None)
    for part in host.parts:
        before = files.read(part.path)
        if before is None or not _has_ours(part, before):
            plan.changes += _needless_copy(part, before)
            continue
        plan.ours = True
        after = before if isinstance(part, OwnFile) else _taken(part, before, note)
        if isinstance(part, OwnFile):
            if ownfile.is_untouched(before):
                after = None
                plan.folders.add(part.path.parent)
            else:
                plan.notes.append(f"{part.path} was changed since it was installed and stays")
        if after != before:
            plan.changes.append(Change(part.path, before, after, about=_about(part)))
            plan.changes += _old_backup(part, after, plan)
    plan.folders |= note.folders if note else set()
    return plan


def is_installed(host: Host) -> bool:
    """Whether anything of ours is in the settings of this agent."""
    return any(_has_ours(part, data) for part, data in _present(host))


def hook_commands(host: Host) -> dict[str, str]:
    """Event -> the hook of ours that the agent calls then."""
    found: dict[str, str] = {}
    for part, data in _present(host):
        if isinstance(part, JsonFile) and part.hooks:
            found |= jsonfile.hook_commands(part, _text(data))
    return found


def _present(host: Host) -> Iterator[tuple[Part, bytes]]:
    for part in host.parts:
        data = files.read(part.path)
        if data is not None:
            yield part, data


# -- one file ----------------------------------------------------------------------------------------------------------


def _put(part: Part, before: bytes | None, note: AgentNote, plan: Plan) -> bytes | None:
    """The bytes with what is ours in them."""
    known = note.files.get(part.path)
    there = before is not None and _has_ours(part, before)
    plan.ours |= there
    new = FileNote(made=before is None or (there and known is not None and known.made))
    if isinstance(part, OwnFile):
        return _put_own(part, before, plan)
    text = None if before is None else _text(before)
    if isinstance(part, TomlFile):
        added = tomlfile.add(part, text)
        plan.notes += added.notes
        result = added.text
    else:
        merged = jsonfile.merge(part, text, known.created if known else None)
        plan.notes += merged.notes
        new.created = merged.created
        result = merged.text
    note.files[part.path] = new
    return _data(result)


def _put_own(part: OwnFile, before: bytes | None, plan: Plan) -> bytes | None:
    if before is None or before == part.data or ownfile.is_untouched(before):
        return part.data
    whose = "was changed since it was installed" if ownfile.is_stamped(before) else "is not ours"
    plan.notes.append(f"{part.path} {whose} and stays as it is")
    return before


def _taken(part: JsonFile | TomlFile, before: bytes, note: AgentNote | None) -> bytes | None:
    """The bytes without what is ours; None when the file was ours altogether."""
    known = note.files.get(part.path) if note else None
    made = known.made if known else not files.backup_of(part.path).exists()
    if isinstance(part, TomlFile):
        text = tomlfile.take_out(part, _text(before))
    else:
        created = known.created if known else None
        if created is None:
            created = jsonfile.guessed(part, _text(before))
            created = created if made else created - {()}
        text = jsonfile.strip(part, _text(before), created)
    return None if made and not text.strip(SPACE + BOM) else _data(text)


def _old_backup(part: Part, after: bytes | None, plan: Plan) -> Iterator[Change]:
    """The copy from before the first change goes when it is what is there again."""
    path = files.backup_of(part.path)
    copy = files.read(path)
    if copy is not None and copy == after:
        yield Change(path, copy, None, about="the copy")
    elif copy is not None:
        plan.notes.append(f"{path} stays: {part.path.name} has changed since that copy was made")


def _needless_copy(part: Part, data: bytes | None) -> Iterator[Change]:
    """A copy of what is there: an installer was killed right after it had made it."""
    path = files.backup_of(part.path)
    copy = files.read(path)
    if copy is not None and copy == data:
        yield Change(path, copy, None, about="the copy")


def _has_ours(part: Part, data: bytes) -> bool:
    if isinstance(part, OwnFile):
        return ownfile.is_stamped(data)
    if isinstance(part, TomlFile):
        return tomlfile.has_ours(part, _text(data))
    return jsonfile.has_ours(part, _text(data))


def _about(part: Part) -> str:
    """In a word, what of ours is in such a file."""
    if isinstance(part, OwnFile):
        return part.what
    if isinstance(part, TomlFile):
        return "MCP server"
    hooks = f"{len(part.hooks)} hooks" if part.hooks else ""
    return ", ".join(filter(None, (hooks, "MCP server" if part.servers else "")))


def _text(data: bytes) -> str:
    """Bytes that are no UTF-8 come back as they were."""
    return data.decode("utf-8", "surrogateescape")


def _data(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")
