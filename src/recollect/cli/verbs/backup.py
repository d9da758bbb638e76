"""`recollect backup`: a verified copy of the whole store, made while it is in use; which there are, until when.

A backup holds what is forgotten later until its file is deleted: each is noted with a day for that.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from recollect.cli.opening import address_of, find_place, open_place
from recollect.cli.wording import in_words
from recollect.errors import InvalidInput

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    from recollect.cli.opening import Place
    from recollect.cli.output import Output
    from recollect.facade import Recollect
    from recollect.store.copies import Copy

_ROWS = ("sessions", "events", "gists", "memories")
_OUTCOMES = {
    "deleted": "deleted",
    "due": "would be deleted",
    "gone": "was deleted already",
    "elsewhere": "is on another machine: run it there",
    "changed": "is not the file that was made: left alone",
}


def configure(parser: ArgumentParser) -> None:
    parser.add_argument("file", nargs="?", type=Path, metavar="FILE", help="where to; must not exist")
    parser.add_argument(
        "--keep-days", type=int, metavar="N", help="when it is to be deleted (setting backup_keep_days)"
    )
    parser.add_argument("--list", action="store_true", help="the backups that were made, and until when they are kept")
    parser.add_argument("--prune", action="store_true", help="delete those whose time is over")
    parser.add_argument("--dry-run", action="store_true", help="with --prune: say what would go, and stop")


def run(args: Namespace, console: Output) -> int:
    if [args.file is not None, args.list, args.prune].count(True) != 1:
        raise InvalidInput("give FILE, --list or --prune", hint="`recollect backup FILE` makes one.")
    if args.keep_days is not None and args.keep_days < 0:
        raise InvalidInput("--keep-days must be 0 or more")
    if args.file is not None and not args.file.parent.is_dir():
        raise InvalidInput(f"there is no directory {args.file.parent}")
    place = find_place(args, everywhere=True)
    if not place.has_store:
        raise InvalidInput(
            f"there is no store at {address_of(place)}, so nothing was backed up",
            hint="Name the right one: --data-dir, --url, or RECOLLECT_CONFIG with the settings of the service. "
            "`recollect whoami` tells which are in force.",
        )
    with open_place(place) as memory:
        if args.list:
            return _list(memory, console)
        if args.prune:
            return _prune(memory, console, dry_run=args.dry_run)
        return _make(memory, place, console, args)


def _make(memory: Recollect, place: Place, console: Output, args: Namespace) -> int:
    from recollect.clock import now
    from recollect.pipeline.backups import back_up

    keep = memory.settings.backup_keep_days if args.keep_days is None else args.keep_days
    copy = back_up(memory.store, args.file, now, keep_days=keep)
    counts = memory.health().counts
    source, rows = address_of(place), {name: counts[name] for name in _ROWS}
    if console.json:
        console.document({"file": args.file, "from": source, "rows": rows, **_told(copy)})
        return 0
    console.line(f"Wrote a verified backup of {copy.bytes:,} bytes to {args.file}: every user and project in it.")
    held = in_words(rows)
    console.line(f"From {source}: {held}." if held else f"From {source}, which is empty: is it the one you mean?")
    console.line(f"To be deleted by {copy.expires_at:%Y-%m-%d}. SHA-256 {copy.digest}")
    return 0


def _list(memory: Recollect, console: Output) -> int:
    from recollect.pipeline.backups import listed

    found = listed(memory.store)
    if console.json:
        console.document({"backups": [_told(copy) for copy in found]})
    elif not found:
        console.note("No backups are noted. `recollect backup FILE` makes one.")
    else:
        rows = [
            (f"{copy.made_at:%Y-%m-%d %H:%M}", f"{copy.expires_at:%Y-%m-%d}", f"{copy.bytes:,}", copy.host, copy.path)
            for copy in found
        ]
        console.table(("made", "delete by", "bytes", "machine", "file"), rows)
    return 0


def _prune(memory: Recollect, console: Output, *, dry_run: bool) -> int:
    from recollect.clock import now
    from recollect.pipeline.backups import prune

    done = prune(memory.store, now, dry_run=dry_run)
    if console.json:
        console.document({"dry_run": dry_run, "pruned": [{**_told(one.copy), "outcome": one.outcome} for one in done]})
    elif not done:
        console.line("No backup is due to be deleted.")
    else:
        for one in done:
            console.line(f"{one.copy.path} {_OUTCOMES[one.outcome]}.")
    return 1 if any(one.outcome in ("elsewhere", "changed") for one in done) else 0


def _told(copy: Copy) -> dict[str, object]:
    from dataclasses import asdict

    told = asdict(copy)
    digest = told.pop("digest")
    return {**told, "sha256": digest}
