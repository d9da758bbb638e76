"""`recollect follow`: what happens, line by line, as it is taken in; until it is interrupted.

What agents say and do, memories and gists that are made, tasks that ended, and what agents were told. With --json it is
one object a line; with --once, one document.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from recollect.cli.opening import open_memory
from recollect.cli.values import whole
from recollect.cli.wording import counted
from recollect.clock import iso
from recollect.model import check_id
from recollect.text import one_line, present

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from collections.abc import Iterable

    from recollect.cli.output import Output
    from recollect.pipeline.following import Line

_SECONDS = 1.0
_STYLES = {"prompt": "bold cyan", "memory": "green", "gist": "green", "told": "yellow", "error": "red"}


def configure(parser: ArgumentParser) -> None:
    parser.add_argument("--session", metavar="S", help="only this session")
    parser.add_argument("-n", "--recent", type=whole, default=10, metavar="N", help="first the last N (default: 10)")
    parser.add_argument("--once", action="store_true", help="only those, then end")


def run(args: Namespace, console: Output) -> int:
    from functools import partial

    from recollect.clock import now
    from recollect.pipeline.following import Following, recent
    from recollect.pipeline.told import text_of

    only = None if args.session is None else check_id(args.session, "session")
    with open_memory(args, everywhere=True) as memory:
        parts, exact = (memory.store, memory.scope, now), partial(text_of, memory.settings.data_dir)
        lines, mark = recent(*parts, limit=max(1, min(args.recent, 500)), exact=exact)
        shown = _wanted(lines, only) if args.recent > 0 else []
        if args.once and console.json:
            console.document({"lines": [_plain(line) for line in shown]})
            return 0
        _tell(shown, only, console)
        following = None if args.once else Following(*parts, mark, exact=exact)
        while following is not None:
            time.sleep(_SECONDS)
            _tell(_wanted(following.look(), only), only, console)
    return 0


def _wanted(lines: Iterable[Line], only: str | None) -> list[Line]:
    return [line for line in lines if only is None or line.session == only]


def _tell(lines: Iterable[Line], only: str | None, console: Output) -> None:
    for line in lines:
        if console.json:
            import json

            console.raw(json.dumps(_plain(line)) + "\n")
            continue
        style = "red" if line.failed else _STYLES.get(line.what, "")
        note = f"{one_line(line.note)}: " if line.note else ""
        where = f" [{one_line(line.session, 40)}]" if line.session and only is None else ""
        text = line.text if line.what == "told" else one_line(line.text, 300)
        if line.memories:
            text = f"{counted(line.memories, 'memories')}\n{text}"
        console.line((f"{line.at:%H:%M:%S} ", "dim"), (f"{line.what:<9} ", style), note, text, (where, "dim"))
    console.flush()


def _plain(line: Line) -> dict[str, Any]:
    told: dict[str, Any] = {"at": iso(line.at), "what": line.what, "note": line.note, "text": present(line.text)}
    told |= {"session": line.session, "event": line.event, "memory": line.memory, "failed": line.failed}
    return told | ({"memories": line.memories, "exact": line.exact} if line.memories else {})
