"""`recollect restore`: a backup becomes the store of a data directory or a PostgreSQL database that has nothing."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from recollect.cli.agentshell import only_a_person
from recollect.cli.opening import find_place, open_place
from recollect.cli.wording import in_words
from recollect.errors import InvalidInput, StoreTooNew
from recollect.settings import environment

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    from recollect.cli.opening import Place
    from recollect.cli.output import Output

_OF_DATABASE = b"RECOLLECT-BACKUP "


def configure(parser: ArgumentParser) -> None:
    parser.add_argument("file", type=Path, metavar="FILE", help="a file that `recollect backup` wrote")
    parser.add_argument("--sha256", metavar="HEX", help="refuse any other file than this one, as `backup` printed it")


def run(args: Namespace, console: Output) -> int:
    only_a_person(environment(), "restore a backup")
    place = find_place(args, everywhere=True)
    if not args.file.is_file():
        raise InvalidInput(f"there is no backup {args.file}")
    if args.sha256 is not None:
        _expect(args.file, args.sha256)
    told = _into_database(args.file, place) if place.loaded.settings.database_url else _into_file(args.file, place)
    with open_place(place) as memory:
        counts = memory.health().counts
    if console.json:
        console.document({**told, "counts": counts})
        return 0
    console.line(f"Restored {told['database']}: {in_words(counts) or 'empty'}.")
    console.line(f"It is as of {told.get('made_at', 'the backup')}: what was forgotten after that is in it again.")
    return 0


def _expect(file: Path, wanted: str) -> None:
    from recollect.store.copies import file_digest

    found = file_digest(file)
    if found != wanted.strip().casefold():
        raise InvalidInput(
            f"{file} is not the backup that was asked for: its SHA-256 is {found}",
            hint="`recollect backup --list --json` on the store it was made of tells what it should be.",
        )


def _into_database(file: Path, place: Place) -> dict[str, Any]:
    from recollect.store.opening import require_driver

    require_driver()
    from recollect.store.postgres import backup

    with file.open("rb") as opened:
        if opened.read(15) == b"SQLite format 3":
            raise InvalidInput(
                f"{file} is a backup of a data directory",
                hint="Restore it into an empty data directory, then `recollect move --from sqlite --to postgres`.",
            )
    manifest = backup.restore(file, place.loaded.settings)
    return {"database": "the database", "schema": manifest.schema, "made_at": manifest.made_at}


def _into_file(file: Path, place: Place) -> dict[str, Any]:
    from recollect.store import datadir
    from recollect.store.sql import load_migrations
    from recollect.store.sqlite import backup, database

    with file.open("rb") as opened:
        if opened.read(len(_OF_DATABASE)) == _OF_DATABASE:
            raise InvalidInput(
                f"{file} is a backup of a PostgreSQL store", hint="Give the address of an empty database with --url."
            )
    schema, known = backup.verify(file), len(load_migrations(Path(database.__file__).parent / "migrations"))
    if schema > known:
        raise StoreTooNew(f"the backup {file} has schema {schema}; this Recollect knows {known}")
    datadir.prepare(place.loaded.settings.data_dir)
    backup.restore(file, place.database)
    return {"database": place.database}
