"""`recollect move`: every user of one store into another, as it is; can be killed and run again, and is compared after.

Where from and where to: `sqlite` (the data directory in force), `postgres` (the setting database_url), or an address of
either kind. The source stays as it was.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, cast

from recollect.errors import InvalidInput, StoreUnavailable

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from collections.abc import Iterator

    from recollect.cli.output import Output
    from recollect.settings import Settings
    from recollect.store.moving import Movable, Moved

_SHOWN = ("sessions", "events", "gists", "memories", "bodies", "tombstones", "audit")


def configure(parser: ArgumentParser) -> None:
    where = "sqlite, postgres, sqlite:///DIR or postgresql://…"
    parser.add_argument("--from", dest="source", required=True, metavar="STORE", help=f"where from: {where}")
    parser.add_argument("--to", dest="target", required=True, metavar="STORE", help=f"where to: {where}")
    parser.add_argument("--merge", action="store_true", help="add to users who have something in the target already")
    parser.add_argument("--dry-run", action="store_true", help="count what would be moved, and stop")


def run(args: Namespace, console: Output) -> int:
    from contextlib import closing

    from recollect.cli.agentshell import only_a_person
    from recollect.cli.opening import find_place
    from recollect.clock import now
    from recollect.pipeline.jobs import terminable
    from recollect.settings import environment
    from recollect.store.moving import move
    from recollect.store.opening import open_store

    if args.url is not None:
        raise InvalidInput("move takes --from and --to instead of --url")
    if not args.dry_run:
        only_a_person(environment(), "move one store into another")
    settings = find_place(args, everywhere=True).loaded.settings
    places = _located(args.source, settings), _located(args.target, settings)
    _must_exist(places[0])
    with (
        terminable(),
        closing(cast("Movable", open_store(places[0]))) as source,
        closing(cast("Movable", open_store(places[1]))) as target,
        console.progress("moving", None) as advance,
    ):
        moved = move(source, target, now=now(), merge=args.merge, dry_run=args.dry_run, progress=advance)
        pending = 0 if args.dry_run else target.vectors.pending()
    if console.json:
        console.document({"dry_run": args.dry_run, "owners": moved, "pending": pending})
    else:
        _say(console, moved, pending, dry_run=args.dry_run)
    return 1 if any(one.state in ("refused", "differs") for one in moved) else 0


def _located(text: str, settings: Settings) -> Settings:
    from recollect.store.opening import located

    if text == "sqlite":
        return replace(settings, database_url="")
    if text in ("postgres", "postgresql"):
        if not settings.database_url:
            raise InvalidInput(
                "the setting database_url names no database", hint="Set it, or give postgresql://user@host/database."
            )
        return settings
    return located(settings, text)


def _must_exist(settings: Settings) -> None:
    from recollect.store.sqlite.store import FILE_NAME

    if not settings.database_url and not (settings.data_dir / FILE_NAME).exists():
        raise StoreUnavailable(f"there is no store in {settings.data_dir}", hint="Give --data-dir, or sqlite:///DIR.")


def _say(console: Output, moved: list[Moved], pending: int, *, dry_run: bool) -> None:
    if not moved:
        console.line("There is nobody in the source.")
        return
    rows = [
        (f"{one.user} ({one.tenant})", one.state, *(f"{one.counts.get(name, 0):,}" for name in _SHOWN), one.digest[:12])
        for one in moved
    ]
    console.table(("user", "state", *_SHOWN, "digest"), rows)
    for line in _notes(moved):
        console.note(line)
    if dry_run:
        console.line("Nothing was moved.")
        return
    whole = sum(one.state in ("moved", "there") for one in moved)
    console.line(f"{whole} of {len(moved)} are the same in both stores, row by row. The source is as it was.")
    if pending:
        console.line(f"{pending:,} texts wait for a vector: `recollect maintain` makes them.")


def _notes(moved: list[Moved]) -> Iterator[str]:
    for one in moved:
        for note in dict.fromkeys(one.notes):
            yield f"{one.user} ({one.tenant}): {note}"
