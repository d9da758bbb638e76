"""`recollect backup`: a verified copy of the whole store, made while it is in use."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from recollect.cli.opening import open_memory
from recollect.errors import InvalidInput

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    from recollect.cli.output import Output


def configure(parser: ArgumentParser) -> None:
    parser.add_argument("file", type=Path, metavar="FILE", help="where to; must not exist")


def run(args: Namespace, console: Output) -> int:
    if not args.file.parent.is_dir():
        raise InvalidInput(f"there is no directory {args.file.parent}")
    with open_memory(args, everywhere=True) as memory:
        size = memory.backup(args.file)
    if console.json:
        console.document({"file": args.file, "bytes": size})
    else:
        console.line(f"Wrote a verified backup of {size:,} bytes to {args.file}: every user and project in it.")
    return 0
