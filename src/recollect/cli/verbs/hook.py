"""`recollect hook AGENT`: what an agent's hook says on standard input goes into the spool. Exits 0, says nothing.

The hooks that `recollect install` writes start `hook.py` by itself, which is faster; this is the same by hand.
"""

from __future__ import annotations

import contextlib
import sys
from typing import TYPE_CHECKING

from recollect.cli.opening import find_place

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    from recollect.cli.output import Output


def configure(parser: ArgumentParser) -> None:
    parser.add_argument("agent", metavar="AGENT", help="claude, codex or grok")


def run(args: Namespace, console: Output) -> int:
    from recollect import hook
    from recollect.settings import environment

    env, name = environment(), None
    with contextlib.suppress(OSError, ValueError):
        data_dir = find_place(args, everywhere=True).loaded.settings.data_dir.absolute()
        if hook.INNER not in env:
            name = hook.capture(str(data_dir), args.agent, sys.stdin.buffer.read(hook.MAX_BODY + 1), env)
    if console.json:
        console.document({"record": name})
    return 0
