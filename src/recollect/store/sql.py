"""SQL kept in files: each query stands under a line `-- name: what_it_does`."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

_PART = re.compile(r"\{(\w+)\}")
_COMMENT = re.compile(r"^--.*\n?", re.MULTILINE)  # what stands above the next query is not part of this one
_NAME = re.compile(r"^-- name: (\w+)[ \t]*$", re.MULTILINE)


def load_queries(path: Path) -> dict[str, str]:
    """The named queries of one file. `{name}` in one stands for the part of that name in `parts.sql` beside it.

    A part may have another in it.
    """
    queries = _read(path)
    if any("{" in body for body in queries.values()):
        parts = _read(path.with_name("parts.sql"))
        whole = {name: _PART.sub(lambda match: parts[match[1]], body) for name, body in parts.items()}
        queries = {name: _PART.sub(lambda match: whole[match[1]], body) for name, body in queries.items()}
    return queries


class Queries(dict[str, str]):
    """Every query of a folder as `file.name`; a file is read when one of its queries is first asked for."""

    def __init__(self, folder: Path, spelled: Callable[[str], str] = lambda sql: sql) -> None:
        super().__init__()
        self._folder = folder
        self._spelled = spelled

    def __missing__(self, name: str) -> str:
        file = name.partition(".")[0]
        for query, body in load_queries(self._folder / f"{file}.sql").items():
            self[f"{file}.{query}"] = self._spelled(body)
        return self[name] if name in self else dict.__getitem__(self, name)


def _read(path: Path) -> dict[str, str]:
    pieces = _NAME.split(path.read_text(encoding="utf-8"))
    return {name: _COMMENT.sub("", body).strip() for name, body in zip(pieces[1::2], pieces[2::2], strict=True)}


def load_migrations(folder: Path, pattern: str = "*.sql") -> list[tuple[int, str]]:
    """(number, script) of every migration, in order; numbers are 1, 2, 3 … without a hole."""
    found = [(int(file.name[:4]), file.read_text(encoding="utf-8")) for file in sorted(folder.glob(pattern))]
    assert [number for number, _ in found] == list(range(1, len(found) + 1)), "migrations must be numbered 1, 2, 3 …"
    return found
