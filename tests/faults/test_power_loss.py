"""P03: what was acknowledged survives a power cut, whatever part of the unsynced writes reached the disk.

A VFS under the real store notes every write, truncate and sync of the database and its log. From these notes the files
are built as a disk could hold them after a cut at some moment: all that was synced, and of the rest nothing, all of it,
some writes, or some 512-byte sectors of them.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

import apsw
import pytest

from recollect.errors import RecollectError
from recollect.store.ports.keeping import Ages
from recollect.store.sqlite.store import SqliteStore
from tests.contract.samples import ANN, T0, by_words, embed_waiting, event, gist, memory, minute

MODES = ("none", "all", "some", "torn")
SECTOR = 512
AGES = Ages(archive_before=T0, archive_reads=0, redact_before=T0, purge_before=T0)


class Note(NamedTuple):
    file: str
    what: str  # write, truncate, delete or sync
    offset: int = 0
    data: bytes = b""


@dataclass
class Tape:
    """Everything that happened to the files, and after which note each write was acknowledged."""

    notes: list[Note] = field(default_factory=list)
    acked: list[tuple[int, int]] = field(default_factory=list)
    opened: int = 0


class NotingFile(apsw.VFSFile):
    def __init__(self, tape: Tape, name: Any, flags: list[int]) -> None:
        path = name.filename() if isinstance(name, apsw.URIFilename) else name
        self._tape = tape
        self._file = Path(path).name if path else ""
        super().__init__("unix", name, flags)

    def _note(self, *what: Any) -> None:
        if self._file.startswith("recollect.db"):
            self._tape.notes.append(Note(self._file, *what))

    def xWrite(self, data: Any, offset: int) -> None:  # noqa: N802 - SQLite's name
        super().xWrite(data, offset)
        self._note("write", offset, bytes(data))

    def xTruncate(self, newsize: int) -> None:  # noqa: N802
        super().xTruncate(newsize)
        self._note("truncate", newsize)

    def xSync(self, flags: int) -> None:  # noqa: N802
        super().xSync(flags)
        self._note("sync")


class NotingDisk(apsw.VFS):
    """Stands under every connection opened while it is there."""

    def __init__(self, tape: Tape) -> None:
        self._tape = tape
        super().__init__("noting", "unix", makedefault=True)

    def xOpen(self, name: Any, flags: list[int]) -> NotingFile:  # noqa: N802
        return NotingFile(self._tape, name, flags)

    def xDelete(self, filename: str, syncdir: bool) -> None:  # noqa: N802
        super().xDelete(filename, syncdir)
        if Path(filename).name.startswith("recollect.db"):
            self._tape.notes.append(Note(Path(filename).name, "delete"))
            if syncdir:
                self._tape.notes.append(Note(Path(filename).name, "sync"))


@contextmanager
def noting(tape: Tape) -> Iterator[None]:
    disk = NotingDisk(tape)
    try:
        yield
    finally:
        disk.unregister()


def work(data_dir: Path, writes: int, synchronous: int | None = None) -> Tape:
    """Fill a new store while everything is noted."""
    tape = Tape()
    sizes = random.Random(3)
    with noting(tape):
        store = SqliteStore(data_dir)
        if synchronous is not None:
            store.database._writer.pragma("synchronous", synchronous)
        tape.opened = len(tape.notes)
        for number in range(writes):
            text = f"walrus {number} " + "x" * sizes.choice((5, 400, 3_000, 9_000))
            store.sessions.append(ANN, [event("chat:1", number, text, "assistant" if number % 3 else "user")])
            tape.acked.append((len(tape.notes), number))
            more_work(store, number)
        store.close()
    return tape


def more_work(store: SqliteStore, number: int) -> None:
    if number % 4 == 0:
        one, _ = store.memories.add(ANN, memory(f"fact {number}", tags=("t",), why="because"))
        store.memories.update(ANN, replace(one, content=f"fact {number} reworded"), at=minute(1), note="edit")
    if number % 6 == 1:
        store.gists.put(ANN, gist("chat:1", f"gist at {number} " + "y" * 500, number))
        embed_waiting(store)
    if number % 9 == 5:
        store.keeping.upkeep(now=T0, ages=AGES)  # empties the log
    if number % 11 == 7:
        store.keeping.rebuild()


def surviving(tape: Tape, cut: int, mode: str, chance: random.Random) -> dict[str, bytearray]:
    """The files as the disk could hold them when the power goes after `cut` notes."""
    synced: dict[str, list[Note]] = {}
    loose: dict[str, list[Note]] = {}
    for note in tape.notes[:cut]:
        if note.what != "sync":
            loose.setdefault(note.file, []).append(note)
            continue
        if not synced.get(note.file) or synced[note.file][-1:] == [Note(note.file, "delete")]:
            settle_deletes(synced, loose)
        synced.setdefault(note.file, []).extend(loose.pop(note.file, []))
    files: dict[str, bytearray] = {}
    for name in sorted(synced.keys() | loose.keys()):
        content = bytearray()
        for note in synced.get(name, []):
            apply(content, note)
        there = bool(synced.get(name)) and synced[name][-1].what != "delete"
        for note in loose.get(name, []):
            for piece in pieces(note, mode, chance):
                apply(content, piece)
                there = piece.what != "delete"
        if there:
            files[name] = content
    return files


def settle_deletes(synced: dict[str, list[Note]], loose: dict[str, list[Note]]) -> None:
    """SQLite's unix VFS syncs the directory with the first sync of a new log or journal: deletes are then durable."""
    for name, notes in loose.items():
        done = max((place + 1 for place, note in enumerate(notes) if note.what == "delete"), default=0)
        synced.setdefault(name, []).extend(notes[:done])
        del notes[:done]


def pieces(note: Note, mode: str, chance: random.Random) -> Iterator[Note]:
    if mode == "none":
        return
    if mode == "all" or (mode == "some" and chance.random() < 0.5):
        yield note
    if mode == "torn":
        if note.what != "write":
            if chance.random() < 0.5:
                yield note
            return
        for start in range(0, len(note.data), SECTOR):
            if chance.random() < 0.5:
                yield Note(note.file, "write", note.offset + start, note.data[start : start + SECTOR])


def apply(content: bytearray, note: Note) -> None:
    if note.what != "write":
        del content[note.offset :]
        return
    if len(content) < note.offset:
        content.extend(bytes(note.offset - len(content)))
    content[note.offset : note.offset + len(note.data)] = note.data


def wrong_with(files: dict[str, bytearray], folder: Path, acked: list[int]) -> str | None:
    """What is wrong with such a disk: damaged, or without something that was acknowledged."""
    folder.mkdir(mode=0o700)
    for name, content in files.items():
        (folder / name).write_bytes(content)
    try:
        store = SqliteStore(folder)
    except RecollectError as error:
        return f"cannot be opened: {error}"
    try:
        checks = store.keeping.health(deep=True).checks
        if checks:
            return f"damaged: {dict(checks)}"
        there = {int(one.text.split()[1]) for one in store.sessions.history(ANN, "chat:1")}
        if lost := set(acked) - there:
            return f"lost: {sorted(lost)}"
        if acked and not by_words(store, ANN, "turn", f"walrus {acked[-1]}"):
            return f"not searchable: {acked[-1]}"
    except RecollectError as error:
        return f"cannot be read: {error}"
    finally:
        store.close()
        for file in folder.iterdir():
            file.unlink()
        folder.rmdir()
    return None


def cut_many_times(tape: Tape, folder: Path, images: int) -> dict[tuple[int, str], str]:
    """What was wrong, by moment of the cut and mode."""
    chance = random.Random(17)
    moments = sorted(chance.sample(range(len(tape.notes) + 1), min(images // len(MODES), len(tape.notes))))
    found: dict[tuple[int, str], str] = {}
    for cut in moments:
        acked = [number for after, number in tape.acked if after <= cut]
        for mode in MODES:
            verdict = wrong_with(surviving(tape, cut, mode, chance), folder / f"{cut}-{mode}", acked)
            if verdict is not None:
                found[cut, mode] = verdict
    return found


@pytest.mark.slow
def test_acknowledged_writes_survive_a_power_cut(tmp_path: Path) -> None:
    """P03: 200 images around the real schema, full-text index and migration included."""
    tape = work(tmp_path / "data", writes=24)
    assert len(tape.notes) > 400
    assert {note.file for note in tape.notes} == {"recollect.db", "recollect.db-wal", "recollect.db-journal"}
    assert cut_many_times(tape, tmp_path, 200) == {}


@pytest.mark.soak
def test_acknowledged_writes_survive_2000_power_cuts(tmp_path: Path) -> None:
    """P03."""
    tape = work(tmp_path / "data", writes=60)
    assert cut_many_times(tape, tmp_path, 2_400) == {}


@pytest.mark.slow
def test_a_power_cut_while_the_store_is_made_leaves_none_or_all_of_it(tmp_path: Path) -> None:
    """P03, P08."""
    tape = work(tmp_path / "data", writes=0)
    tape.notes = tape.notes[: tape.opened]
    assert cut_many_times(tape, tmp_path, 60) == {}


@pytest.mark.slow
@pytest.mark.parametrize(("synchronous", "expected"), [(1, "lost"), (0, "lost")], ids=["NORMAL", "OFF"])
def test_the_power_cut_would_show_a_store_that_does_not_sync(tmp_path: Path, synchronous: int, expected: str) -> None:
    """P03: the same cuts on a store with less than synchronous=FULL do lose what was acknowledged."""
    tape = work(tmp_path / "data", writes=12, synchronous=synchronous)
    found = cut_many_times(tape, tmp_path, 80)
    assert any(verdict.startswith(expected) for verdict in found.values())
