"""The file of a backup: one compressed stream of tables that shows when it was cut or changed.

    RECOLLECT-BACKUP 1        in clear
    zstd:                     {"format": 1, "schema": 3, "made_at": …, "tables": {name: [columns]}}
      for each table          {"data": bytes}, then so many bytes of rows, as often as needed
                              {"table": …, "rows": …, "sha256": …}
      last                    {"end": true, "rows": …, "sequences": {…}, "sha256": of all that stands before}
    SHA-256                   32 bytes, of all that stands before in the file

The checksums show damage. Who can write the file can write them too: against that, the file's own digest is noted where
the backup was made, and `restore` can be told to expect it.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import IO, Any, cast

import zstandard

from recollect.errors import InvalidInput, StoreTooNew

MAGIC = b"RECOLLECT-BACKUP 1\n"
FORMAT = 1
_SEAL = 32
_BLOCK = 1 << 20
_LINE = 1 << 20  # longest line of JSON
_WINDOW = 1 << 27  # what a file may ask for to be unpacked
_LEVEL = 6

Piece = bytes | bytearray | memoryview


@dataclass(frozen=True, slots=True)
class Table:
    """One table in a backup: its columns, how many rows, and the hash over them."""

    name: str
    columns: tuple[str, ...]
    rows: int
    digest: str


@dataclass(frozen=True, slots=True)
class Manifest:
    """What a backup says of itself."""

    schema: int
    made_at: str
    tables: tuple[Table, ...] = ()
    sequences: Mapping[str, int] = field(default_factory=dict)

    @property
    def counts(self) -> dict[str, int]:
        return {table.name: table.rows for table in self.tables}


class Writer:
    """Writes one backup, table after table."""

    def __init__(self, file: IO[bytes], *, schema: int, made_at: str, columns: Mapping[str, tuple[str, ...]]) -> None:
        self._sealed = _Sealed(file)
        self._sealed.write(MAGIC)
        packing = zstandard.ZstdCompressor(level=_LEVEL, write_checksum=True)
        self._stream = packing.stream_writer(cast("IO[bytes]", self._sealed), closefd=False)
        self._content = sha256()
        self._rows = 0
        head = {"format": FORMAT, "schema": schema, "made_at": made_at}
        self._line({**head, "tables": {name: list(found) for name, found in columns.items()}})

    def table(self, name: str, pieces: Iterable[Piece]) -> int:
        """Every row of a table, as the database gives them; returns how many."""
        counted = Counted()
        waiting = bytearray()
        for piece in pieces:
            counted.add(piece)
            waiting += piece
            if len(waiting) >= _BLOCK:
                self._data(bytes(waiting))
                waiting.clear()
        if waiting:
            self._data(bytes(waiting))
        self._line({"table": name, "rows": counted.rows, "sha256": counted.digest})
        self._rows += counted.rows
        return counted.rows

    def finish(self, sequences: Mapping[str, int]) -> None:
        """The end mark and the seal."""
        end = {"end": True, "rows": self._rows, "sequences": dict(sequences), "sha256": self._content.hexdigest()}
        self._line(end)
        self._stream.close()  # type: ignore[no-untyped-call]
        self._sealed.seal()

    def _data(self, data: bytes) -> None:
        self._line({"data": len(data)})
        self._write(data)

    def _line(self, value: Mapping[str, Any]) -> None:
        self._write(json.dumps(value, separators=(",", ":")).encode() + b"\n")

    def _write(self, data: bytes) -> None:
        self._content.update(data)
        self._stream.write(data)


class Counted:
    """Rows that pass: how many, and their hash. Rows are lines, in PostgreSQL's text form."""

    def __init__(self) -> None:
        self.rows = 0
        self._hash = sha256()

    def add(self, piece: Piece) -> None:
        self._hash.update(piece)
        self.rows += bytes(piece).count(b"\n")

    @property
    def digest(self) -> str:
        return self._hash.hexdigest()


class Reader:
    """Reads one backup from front to back: `tables` must be gone through before `manifest` is whole."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.manifest: Manifest | None = None
        self._content = sha256()
        self._waiting = b""

    def __enter__(self) -> Reader:
        _check_seal(self.path)
        self._file = self.path.open("rb")
        try:
            self._begin()
        except BaseException:
            self._file.close()
            raise
        return self

    def _begin(self) -> None:
        self._file.seek(len(MAGIC))
        source = _Part(self._file, self.path.stat().st_size - _SEAL)
        unpacking = zstandard.ZstdDecompressor(max_window_size=_WINDOW)
        self._stream = unpacking.stream_reader(cast("IO[bytes]", source), closefd=False)
        head = self._line()
        if isinstance(head.get("format"), int) and head["format"] > FORMAT:
            raise StoreTooNew(f"the backup {self.path} has format {head['format']}; this Recollect knows {FORMAT}")
        try:
            self.schema, self.made_at = int(head["schema"]), str(head["made_at"])
            self.columns = {str(name): tuple(map(str, found)) for name, found in head["tables"].items()}
        except (KeyError, TypeError, ValueError, AttributeError):
            raise self._damaged() from None

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def tables(self) -> Iterator[tuple[str, Iterator[bytes]]]:
        """Each table's name and its rows, in pieces; whatever is not as it was written is InvalidInput."""
        found: list[Table] = []
        for name, columns in self.columns.items():
            counted = Counted()
            yield name, self._rows(name, counted)
            if self._last.get("table") != name or (self._last.get("rows"), self._last.get("sha256")) != (
                counted.rows,
                counted.digest,
            ):
                raise self._damaged()
            found.append(Table(name, columns, counted.rows, counted.digest))
        before = self._content.hexdigest()
        end = self._line()
        if end.get("end") is not True or end.get("sha256") != before or self._waiting or self._stream.read(1):
            raise self._damaged()
        if end.get("rows") != sum(table.rows for table in found):
            raise self._damaged()
        sequences = {str(name): int(value) for name, value in dict(end.get("sequences") or {}).items()}
        self.manifest = Manifest(self.schema, self.made_at, tuple(found), sequences)

    def _rows(self, name: str, counted: Counted) -> Iterator[bytes]:
        while True:
            self._last = self._line()
            size = self._last.get("data")
            if size is None:
                return
            if not isinstance(size, int) or not 0 < size <= 1 << 31:
                raise self._damaged()
            while size:
                piece = self._take(min(size, _BLOCK))
                if not piece:
                    raise self._damaged()
                size -= len(piece)
                counted.add(piece)
                yield piece

    def _line(self) -> dict[str, Any]:
        while b"\n" not in self._waiting:
            more = self._read()
            if not more or len(self._waiting) > _LINE:
                raise self._damaged()
            self._waiting += more
        line, _, self._waiting = self._waiting.partition(b"\n")
        self._content.update(line + b"\n")
        try:
            value = json.loads(line)
        except (ValueError, RecursionError):
            raise self._damaged() from None
        if not isinstance(value, dict):
            raise self._damaged()
        return value

    def _take(self, size: int) -> bytes:
        if not self._waiting:
            self._waiting = self._read()
        piece, self._waiting = self._waiting[:size], self._waiting[size:]
        self._content.update(piece)
        return piece

    def _read(self) -> bytes:
        try:
            return bytes(self._stream.read(_BLOCK))
        except zstandard.ZstdError:
            raise self._damaged() from None

    def _damaged(self) -> InvalidInput:
        return InvalidInput(f"the backup {self.path} is damaged or cut short")


def verify(path: Path) -> Manifest:
    """What a whole, unchanged backup says of itself; else InvalidInput saying what is wrong with it."""
    with Reader(path) as reader:
        for _, pieces in reader.tables():
            for _ in pieces:
                pass
        assert reader.manifest is not None
        return reader.manifest


def is_backup(path: Path) -> bool:
    """Whether a file says that it is one of these, whole or not."""
    try:
        with path.open("rb") as file:
            return file.read(len(MAGIC)) == MAGIC
    except OSError:
        return False


def _check_seal(path: Path) -> None:
    """InvalidInput for a file that is not whole, or not what was written."""
    if not path.is_file():
        raise InvalidInput(f"there is no backup {path}")
    if not is_backup(path):
        raise InvalidInput(f"{path} is not a backup of a PostgreSQL store")
    left = path.stat().st_size - _SEAL
    total = sha256()
    with path.open("rb") as file:
        while left > 0:
            piece = file.read(min(left, _BLOCK))
            if not piece:
                break
            total.update(piece)
            left -= len(piece)
        if left or file.read() != total.digest():
            raise InvalidInput(f"the backup {path} is damaged, cut short or changed")


class _Sealed:
    """A file that is hashed as it is written."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self._hash = sha256()

    def write(self, data: bytes) -> int:
        self._hash.update(data)
        return self._file.write(data)

    def flush(self) -> None:
        self._file.flush()

    def seal(self) -> None:
        self._file.write(self._hash.digest())
        self._file.flush()
        os.fsync(self._file.fileno())


class _Part:
    """A file up to a place."""

    def __init__(self, file: IO[bytes], end: int) -> None:
        self._file = file
        self._end = end

    def read(self, size: int = -1) -> bytes:
        left = self._end - self._file.tell()
        return self._file.read(left if size < 0 else min(size, left))
