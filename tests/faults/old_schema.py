"""A SQLite store as an older release left it."""

from __future__ import annotations

from pathlib import Path

import apsw

from recollect.store.sql import load_migrations
from recollect.store.sqlite import database
from recollect.store.sqlite.database import APPLICATION_ID
from recollect.store.sqlite.store import FILE_NAME


def leave(data_dir: Path, upto: int, rows: str) -> None:
    """Make the schema of that number, with these rows in it."""
    data_dir.mkdir(exist_ok=True)
    connection = apsw.Connection(str(data_dir / FILE_NAME))
    for number, script in load_migrations(Path(database.__file__).parent / "migrations")[:upto]:
        connection.execute(script)
        connection.pragma("user_version", number)
    connection.pragma("application_id", APPLICATION_ID)
    connection.execute(rows)
    connection.close()
