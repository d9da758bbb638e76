"""`recollect audit`: what was done, newest first; whether the record of it is whole; a witness of it elsewhere."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from recollect.cli.opening import Place, find_place, open_place
from recollect.cli.values import whole
from recollect.cli.wording import counted
from recollect.clock import now
from recollect.errors import InvalidInput

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    from recollect.cli.output import Output
    from recollect.store.ports.audit import Chain, Entry, Verdict

BROKEN = 2  # the exit code of a record that was changed
_COLUMNS = ("row", "when (UTC)", "who", "key", "action", "result", "ms", "subject")


def configure(parser: ArgumentParser) -> None:
    parser.add_argument(
        "action",
        nargs="?",
        choices=("list", "verify", "anchor"),
        default="list",
        help="default: list; verify and anchor look at every user, with --user at one",
    )
    parser.add_argument("--only", metavar="ACTION", help="list: only this kind of action, such as forget")
    parser.add_argument("--subject", metavar="ID", help="list: only what was done to this")
    parser.add_argument(
        "--anchor", metavar="FILE", type=Path, help="verify: against this copy of the anchor; anchor: write to it"
    )
    parser.add_argument("-n", "--limit", type=whole, default=50, metavar="N", help="list: at most this many (50)")
    parser.add_argument("--offset", type=whole, default=0, metavar="N", help="list: leave out the first N")


def run(args: Namespace, console: Output) -> int:
    place = find_place(args, everywhere=True)
    if not place.has_store:
        raise InvalidInput("there is no store yet, so nothing was done", hint="`recollect whoami` tells where it is.")
    return {"list": _list, "verify": _verify, "anchor": _anchor}[args.action](args, place, console)


def _list(args: Namespace, place: Place, console: Output) -> int:
    with open_place(place) as memory:
        found = memory.store.audit.find(
            place.scope, limit=args.limit, offset=args.offset, action=args.only, subject=args.subject
        )
    console.page("entries", found, (args.limit, args.offset), (_COLUMNS, _row), "Nothing was done here yet.")
    return 0


def _verify(args: Namespace, place: Place, console: Output) -> int:
    one = place.scope if args.user is not None else None
    with open_place(place) as memory:
        verdict = memory.store.audit.verify(one, anchor=args.anchor)
    if console.json:
        console.document({"whole": verdict.whole, "chains": verdict.chains, "anchor_faults": verdict.faults})
    else:
        _tell(verdict, console)
    return 0 if verdict.whole else BROKEN


def _tell(verdict: Verdict, console: Output) -> None:
    for fault in verdict.faults:
        console.line(("broken  ", "bold red"), fault)
    for chain in verdict.chains:
        if chain.fault:
            console.line(("broken  ", "bold red"), f"{_whose(chain)}: {chain.fault}")
    whole_ones = [chain for chain in verdict.chains if not chain.fault]
    rows = sum(chain.rows for chain in whole_ones)
    anchored = sum(min(chain.anchored, chain.rows) for chain in whole_ones)
    before = sum(chain.before for chain in whole_ones)
    if not whole_ones and verdict.chains:
        return
    whose = f"{counted(rows, 'rows')} of {counted(len(whole_ones), 'users')}"
    console.line(("whole   ", "green"), f"{whose}; {anchored:,} of them anchored")
    if before:
        console.line(f"        and {counted(before, 'rows')} from before there were chains")
    if rows and not anchored:
        console.note("Nothing is anchored: rows cut off at the end would not be missed. `recollect audit anchor`.")


def _whose(chain: Chain) -> str:
    return f"{chain.tenant}/{chain.user}"


def _anchor(args: Namespace, place: Place, console: Output) -> int:
    with open_place(place) as memory:
        grown = memory.store.audit.anchor(at=now(), file=args.anchor)
    settings = place.loaded.settings
    file = args.anchor or settings.audit_anchor_file or settings.data_dir / "audit.anchor"
    if console.json:
        console.document({"anchored": grown, "file": file})
    else:
        console.line(f"{counted(grown, 'chains')} had grown: anchored in {file}.")
    return 0


def _row(entry: Entry) -> tuple[str, ...]:
    number = "-" if entry.number is None else f"{entry.number}"
    took = "-" if entry.duration_ms is None else f"{entry.duration_ms}"
    when = f"{entry.at:%Y-%m-%d %H:%M:%S}"
    subject = entry.subject if entry.session is None else f"session {entry.session}"
    return (number, when, entry.actor or "-", entry.key or "-", entry.action, entry.result, took, subject)
