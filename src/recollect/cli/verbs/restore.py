"""`recollect restore`: a backup becomes the database of a data directory that has none."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from recollect.cli.opening import find_place, open_place
from recollect.cli.wording import in_words
from recollect.errors import StoreTooNew

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    from recollect.cli.output import Output


def configure(parser: ArgumentParser) -> None:
    parser.add_argument("file", type=Path, metavar="FILE", help="a file that `recollect backup` wrote")


def run(args: Namespace, console: Output) -> int:
    from recollect.store import datadir
    from recollect.store.sql import load_migrations
    from recollect.store.sqlite import backup, database

    place = find_place(args, everywhere=True)
    schema, known = backup.verify(args.file), len(load_migrations(Path(database.__file__).parent / "migrations"))
    if schema > known:
        raise StoreTooNew(f"the backup {args.file} has schema {schema}; this Recollect knows {known}")
    datadir.prepare(place.loaded.settings.data_dir)
    backup.restore(args.file, place.database)
    with open_place(place) as memory:
        counts = memory.health().counts
    if console.json:
        console.document({"database": place.database, "counts": counts})
    else:
        console.line(f"Restored {place.database}: {in_words(counts) or 'empty'}.")
    return 0
