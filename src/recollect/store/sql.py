"""SQL kept in files: each query stands under a line `-- name: what_it_does`."""

from __future__ import annotations

import re
from pathlib import Path

_NAME = re.compile(r"^-- name: (\w+)[ \t]*$", re.MULTILINE)


def load_queries(path: Path) -> dict[str, str]:
    """The named queries of one file."""
    pieces = _NAME.split(path.read_text(encoding="utf-8"))
    return {name: body.strip() for name, body in zip(pieces[1::2], pieces[2::2], strict=True)}


def load_migrations(folder: Path) -> list[tuple[int, str]]:
    """(number, script) of every migration, in order; numbers are 1, 2, 3 … without a hole."""
    found = [(int(file.name[:4]), file.read_text(encoding="utf-8")) for file in sorted(folder.glob("*.sql"))]
    assert [number for number, _ in found] == list(range(1, len(found) + 1)), "migrations must be numbered 1, 2, 3 …"
    return found
