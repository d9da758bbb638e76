"""Rows out of the pages of a SQLite file without SQLite: for files whose trees no longer lead to them.

Every page that holds rows is read by itself (https://www.sqlite.org/fileformat2.html). Which table a row belongs to
shows in the number and types of its columns. What is read here is not trusted: who asks must verify it.
"""

from __future__ import annotations

import mmap
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

_TABLE_LEAF, _INDEX_LEAF, _INDEX_INTERIOR = 13, 10, 2
_INTEGERS = {1: 1, 2: 2, 3: 3, 4: 4, 5: 6, 6: 8}  # serial type -> bytes


class Column(NamedTuple):
    """A column of a table, as `PRAGMA table_info` tells it."""

    name: str
    type: str
    required: bool
    is_rowid: bool


class Layout(NamedTuple):
    """A table: its columns, and whether its rows have a number of their own."""

    columns: Sequence[Column]
    has_rowid: bool


def scattered_rows(path: Path, tables: Mapping[str, Layout]) -> Iterator[tuple[str, dict[str, Any]]]:
    """(table, row) for every row on any page that fits one of the tables."""
    if not path.stat().st_size:
        return
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        for has_rowid, number, values in _Pages(data).rows():
            for name, layout in tables.items():
                if layout.has_rowid == has_rowid and _fits(values, layout.columns):
                    named = zip(layout.columns, values, strict=True)
                    yield name, {column.name: number if column.is_rowid else value for column, value in named}


def _fits(values: Sequence[Any], columns: Sequence[Column]) -> bool:
    return len(values) == len(columns) and all(map(_may_be, values, columns))


def _may_be(value: Any, column: Column) -> bool:
    if value is None:
        return column.is_rowid or not column.required
    kinds = {"INTEGER": (int,), "REAL": (int, float), "TEXT": (str,), "BLOB": (bytes,)}
    return not column.is_rowid and isinstance(value, kinds[column.type])


class _Pages:
    """A file as pages; sizes from its header while that makes sense, else the usual ones."""

    def __init__(self, data: mmap.mmap) -> None:
        self._data = data
        size = int.from_bytes(data[16:18])
        self._size = size if data[:6] == b"SQLite" and size in (512, 1024, 2048, 4096, 8192, 16384, 32768) else 4096
        self._usable = self._size - (data[20] if data[:6] == b"SQLite" and data[20] < 64 else 0)

    def rows(self) -> Iterator[tuple[bool, int, list[Any]]]:
        """(has a row number, the number, the columns) of every cell that can be read."""
        for start in range(0, len(self._data) - self._size + 1, self._size):
            page = self._data[start : start + self._size]
            header = 100 if start == 0 else 0
            if page[header] not in (_TABLE_LEAF, _INDEX_LEAF, _INDEX_INTERIOR):
                continue
            first = header + (12 if page[header] == _INDEX_INTERIOR else 8)
            count = int.from_bytes(page[header + 3 : header + 5])
            for at in range(first, min(first + 2 * count, self._size - 1), 2):
                try:
                    yield self._cell(page, page[header], int.from_bytes(page[at : at + 2]))
                except (IndexError, ValueError):
                    continue

    def _cell(self, page: bytes, kind: int, at: int) -> tuple[bool, int, list[Any]]:
        number = 0
        size, at = _varint(page, at + 4 if kind == _INDEX_INTERIOR else at)
        if kind == _TABLE_LEAF:
            number, at = _varint(page, at)
        if size > len(self._data):
            raise ValueError("larger than the file")
        return kind == _TABLE_LEAF, number, _record(self._payload(page, kind, size, at))

    def _payload(self, page: bytes, kind: int, size: int, at: int) -> bytes:
        """The bytes of a row: those on its page and those on the pages it overflows to."""
        most = self._usable - 35 if kind == _TABLE_LEAF else (self._usable - 12) * 64 // 255 - 23
        if size <= most:
            return page[at : at + size]
        least = (self._usable - 12) * 32 // 255 - 23
        local = least + (size - least) % (self._usable - 4)
        local = local if local <= most else least
        pieces, left = [page[at : at + local]], size - local
        following = int.from_bytes(page[at + local : at + local + 4])
        while left > 0:
            start = (following - 1) * self._size
            if not 0 < start < len(self._data):
                raise ValueError("leads out of the file")
            following = int.from_bytes(self._data[start : start + 4])
            pieces.append(self._data[start + 4 : start + 4 + min(left, self._usable - 4)])
            left -= self._usable - 4
        return b"".join(pieces)


def _record(data: bytes) -> list[Any]:
    """The columns of a row."""
    end, at = _varint(data, 0)
    types, values = [], []
    while at < end:
        kind, at = _varint(data, at)
        types.append(kind)
    at = end
    for kind in types:
        size = _INTEGERS.get(kind, 8 if kind == 7 else (kind - 12) // 2 if kind >= 12 else 0)
        if at + size > len(data):
            raise ValueError("cut short")
        values.append(_value(kind, data[at : at + size]))
        at += size
    return values


def _value(kind: int, data: bytes) -> Any:
    if kind in _INTEGERS:
        return int.from_bytes(data, signed=True)
    if kind >= 12:
        return data.decode("utf-8") if kind % 2 else data
    if kind == 7:
        import struct

        return struct.unpack(">d", data)[0]
    if kind in (8, 9):
        return kind - 8
    if kind:
        raise ValueError("not a type of value")
    return None


def _varint(data: bytes, at: int) -> tuple[int, int]:
    """A number of one to nine bytes, and where it ends."""
    value = 0
    for place in range(8):
        byte = data[at + place]
        value = value << 7 | byte & 127
        if byte < 128:
            return value, at + place + 1
    return value << 8 | data[at + 8], at + 9
