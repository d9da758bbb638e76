"""`recollect export`: all of the user (or of one --project, or one session) as JSON Lines, to stdout or a file."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from recollect.cli.files import write_private
from recollect.cli.opening import open_memory
from recollect.clock import now
from recollect.errors import NotFound

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    from recollect.cli.output import Output
    from recollect.facade import Recollect


def configure(parser: ArgumentParser) -> None:
    parser.add_argument("file", nargs="?", type=Path, metavar="FILE", help="where to (default: standard output)")
    parser.add_argument("--session", metavar="ID", help="only this session, and the memories made of it")
    parser.add_argument("--force", action="store_true", help="replace FILE if it exists")


def run(args: Namespace, console: Output) -> int:
    with open_memory(args, everywhere=True) as memory:
        records = _Counted(memory.export() if args.session is None else _session(memory, args.session))
        if args.file is not None:
            write_private(args.file, (line.encode() for line in map(_line, records)), replace=args.force)
        elif console.json:
            console.raw(json.dumps({"records": list(records)}) + "\n")
        else:
            for record in records:
                console.raw(_line(record))
    if args.file is not None and console.json:
        console.document({"file": args.file, "records": records.number})
    elif args.file is not None:
        console.line(f"Wrote {records.number:,} records to {args.file}.")
    return 0


def _session(memory: Recollect, session: str) -> Iterator[dict[str, Any]]:
    from recollect.pipeline.exporting import export_session

    found = memory.store.sessions.get(memory.scope, session)
    if found is None:
        raise NotFound(f"no session {session[:60]}", hint="`recollect sessions` lists them.")
    return export_session(memory.store, memory.scope, found, now=now())


class _Counted:
    """Records, counted as they pass."""

    def __init__(self, records: Iterator[dict[str, Any]]) -> None:
        self._records = records
        self.number = 0

    def __iter__(self) -> Iterator[dict[str, Any]]:
        for record in self._records:
            self.number += 1
            yield record


def _line(record: dict[str, Any]) -> str:
    """One line of ASCII: safe on any terminal, and lossless."""
    return json.dumps(record, separators=(",", ":")) + "\n"
