"""`recollect replay`: on your own history, how often memory would have told in time what was found out again.

Nothing is changed, and nothing from after a moment is used to answer it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from recollect.cli.opening import open_memory
from recollect.cli.values import time_ago, whole
from recollect.errors import InvalidInput

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    from recollect.cli.output import Output
    from recollect.learn.replay import Replay, Replayed, Tally
    from recollect.learn.values import Waste

_EMPTY = "Nothing was needed twice yet. `recollect sweep` takes sessions in; a need takes two tasks that met the same."
_TELLS = {
    "start": "told when the session began",
    "prompt": "told on a prompt",
    "asked": "told when asked",
    "led": "only leads to the session that knew",
    "missed": "not surfaced",
}


def configure(parser: ArgumentParser) -> None:
    parser.add_argument("--since", metavar="WHEN", help="only sessions that began after this: 2026-11-01, 30d")
    parser.add_argument(
        "-n", "--limit", type=whole, default=500, metavar="N", help="replay at most N needs, the newest (default: 500)"
    )
    parser.add_argument(
        "--examples", type=whole, default=2, metavar="N", help="show N examples of each way it went (default: 2)"
    )


def run(args: Namespace, console: Output) -> int:
    since = time_ago(args.since)
    if args.examples < 0:
        raise InvalidInput("--examples is at least 0")
    shown = 0
    with open_memory(args, everywhere=True) as memory, console.progress("replaying sessions", None) as advance:

        def progress(done: int, total: int) -> None:
            nonlocal shown
            advance(done - shown, total)
            shown = done

        found = memory.replay(since=since, limit=args.limit, progress=progress)
    if console.json:
        console.document({"replay": found})
    else:
        _show(found, args.examples, console)
    return 0


def _show(found: Replay, examples: int, console: Output) -> None:
    if not found.total.needs:
        console.note(_EMPTY)
        return
    headers = ("needed again", "times", "told unasked", "told if asked", "only led", "missed", "took")
    every = [*found.tallies, *([found.total] if len(found.tallies) > 1 else [])]
    console.table(headers, [_row(one) for one in every])
    total = found.total
    console.line("")
    console.line(("memory off  ", "bold"), f"0 of {total.needs} told; finding them out again took {_cost(total.cost)}.")
    console.line(
        ("memory on   ", "bold"),
        f"{_of(total.pushed, total.needs)} told without being asked: at most {_cost(total.saved)} less.",
    )
    console.line(
        ("and asking  ", "bold"),
        f"{_of(total.told, total.needs)} told in all: at most {_cost(total.saved + total.saved_asked)} less.",
    )
    console.line(
        ("its price   ", "bold"),
        f"{found.start_tokens:,} tokens at the start of {found.sessions:,} sessions, {found.prompt_tokens:,} on"
        f" prompts, {found.asked_tokens:,} if asked.",
    )
    if total.ruled:
        console.line(
            ("and rules   ", "bold"),
            f"{_of(total.ruled, total.needs)} more had a rule that could have been approved by then"
            f" (`recollect patterns`); they took {_cost(total.ruled_cost)}.",
        )
    _examples(found, examples, console)
    for note in found.notes:
        console.note(f"{note[0].upper()}{note[1:]}.")
    if found.left_out:
        console.note(f"{found.left_out:,} older needs were left out: --limit {found.total.needs + found.left_out}")


def _row(one: Tally) -> list[str]:
    ways = one.ways
    figures = (one.needs, one.pushed, ways["asked"], ways["led"], ways["missed"])
    return [one.kind, *(str(figure) for figure in figures), _cost(one.cost)]


def _of(number: int, needs: int) -> str:
    return f"{number} of {needs} ({100 * number / needs:.0f} %)"


def _cost(waste: Waste) -> str:
    usd = "" if waste.usd is None else f", {waste.usd:.2f} USD"
    return f"{waste.seconds / 60:.0f} min, {waste.tokens:,} tokens{usd}"


def _examples(found: Replay, most: int, console: Output) -> None:
    for way, told in _TELLS.items():
        chosen = [one for one in found.found if one.way == way][:most]
        if chosen:
            console.heading(told[0].upper() + told[1:])
        for one in chosen:
            _example(one, console)


def _example(one: Replayed, console: Output) -> None:
    console.line((f"[{one.kind}] ", "bold cyan"), one.statement)
    console.line(("  needed  ", "dim"), f"{one.at:%Y-%m-%d %H:%M} in {one.session}, {_cost(one.cost)}")
    if one.question:
        console.line(("  asked   ", "dim"), one.question)
    console.line(("  known   ", "dim"), f"since {one.known_since:%Y-%m-%d %H:%M}, last in {one.known_in}")
    if one.by is not None:
        console.line(("  memory  ", "dim"), f"{one.by.tier} {one.by.id}: {one.by.said}")
