"""`recollect hook AGENT`: what an agent's hook says on standard input goes into the spool. Exits 0 whatever happens.

For the start of a session and for a prompt it prints what the agent is to know, if there is anything. The hooks that
`recollect install` writes start `hook.py` by itself, which is faster; this is the same by hand.
"""

from __future__ import annotations

import contextlib
import sys
import time
from typing import TYPE_CHECKING

from recollect.cli.opening import find_place

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    from recollect.cli.output import Output

SECONDS = 0.3  # for the answer, as in the hook itself


def configure(parser: ArgumentParser) -> None:
    parser.add_argument("agent", metavar="AGENT", help="claude, codex, grok, gemini, cursor or opencode")


def run(args: Namespace, console: Output) -> int:
    from recollect import hook
    from recollect.settings import environment

    env, name, answer = environment(), None, b""
    with contextlib.suppress(OSError, ValueError):
        data_dir = str(find_place(args, everywhere=True).loaded.settings.data_dir.absolute())
        if hook.INNER not in env:
            body = sys.stdin.buffer.read(hook.MAX_BODY + 1)
            name = hook.capture(data_dir, args.agent, body, env)
            answer = hook.reply(data_dir, args.agent, body, env, time.monotonic() + SECONDS)
    if console.json:
        console.document({"record": name, "answer": answer.decode() or None})
    elif answer:
        console.raw(answer.decode())
    return 0
