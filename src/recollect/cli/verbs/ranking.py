"""`recollect ranking`: the weights hits are ranked by, fitted to what you used; shown, or reset to the usual ones."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from recollect.cli.opening import open_memory
from recollect.errors import InvalidInput

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    from recollect.cli.output import Output
    from recollect.facade import Recollect
    from recollect.pipeline.ranking import Fitted

ACTIONS = {
    "fit": "look for better weights in feedback and history; they are taken on only when better on what was held out",
    "show": "the usual weights and your own, and what those were taken on for",
    "reset": "back to the usual weights",
}


def configure(parser: ArgumentParser) -> None:
    actions = "; ".join(f"{name}: {told}" for name, told in ACTIONS.items())
    parser.add_argument("action", nargs="?", choices=ACTIONS, default="show", metavar="ACTION", help=actions)
    parser.add_argument("--dry-run", action="store_true", help="fit: tell what came out, take nothing on")


def run(args: Namespace, console: Output) -> int:
    if args.dry_run and args.action != "fit":
        raise InvalidInput("--dry-run is for fit")
    with open_memory(args, everywhere=True) as memory:
        return {"fit": _fit, "show": _show, "reset": _reset}[args.action](memory, args, console)


def _fit(memory: Recollect, args: Namespace, console: Output) -> int:
    shown = 0
    with console.progress("reading sessions", None) as advance:

        def progress(done: int, total: int) -> None:
            nonlocal shown
            advance(done - shown, total)
            shown = done

        done = memory.ranking.fit(dry_run=args.dry_run, progress=progress)
    if console.json:
        told = done.fit
        console.document({"fitted": done, "better": told.better, "adopted": done.adopted, "weights": done.weights})
        return 0
    _told(done, console)
    return 0


def _told(done: Fitted, console: Output) -> None:
    from recollect.learn.weighing import FEWEST, MARGIN, default

    found = done.fit
    console.line(
        f"{found.examples} examples ({done.from_feedback} from feedback, {done.from_history} from history): "
        f"{found.trained} to learn from, {found.held_out} held out."
    )
    if not found.enough:
        console.line(f"Not enough data: {FEWEST} examples are needed. Nothing was changed.")
        return
    _table(console, default(), found.weights, "new")
    console.line(f"learned from  {found.train_before:.3f} -> {found.train_after:.3f}")
    console.line(
        f"held out      {found.before:.3f} -> {found.after:.3f} "
        f"(better in {found.wins}, worse in {found.losses} of {found.held_out})"
    )
    if done.adopted:
        console.line("Taken on. `recollect ranking reset` goes back to the usual weights.")
    elif found.better:
        console.line("Better: without --dry-run it would be taken on.")
    else:
        console.line(f"Not better by {MARGIN:.2f} on what was held out: the weights stay as they are.")


def _show(memory: Recollect, args: Namespace, console: Output) -> int:
    found = memory.ranking.show()
    if console.json:
        console.document(found)
        return 0
    _table(console, found.default, found.own, "own")
    if found.own is None:
        console.note("These are the usual weights. `recollect ranking fit` looks for better ones.")
        return 0
    said = found.figures
    console.line(f"fitted        {found.at:%Y-%m-%d %H:%M} UTC")
    console.line(
        f"examples      {said.get('examples')} ({said.get('trained')} learned from, {said.get('held_out')} held out)"
    )
    console.line(f"held out      {said.get('before', 0):.3f} -> {said.get('after', 0):.3f}")
    return 0


def _reset(memory: Recollect, args: Namespace, console: Output) -> int:
    there = memory.ranking.reset()
    if console.json:
        console.document({"reset": there, "weights": memory.ranking.show().default})
        return 0
    console.line("The usual weights hold again." if there else "The usual weights hold already.")
    return 0


def _table(console: Output, usual: Mapping[str, float], other: Mapping[str, float] | None, name: str) -> None:
    columns = ("weight", "usual", *((name,) if other is not None else ()))
    rows = [
        [weight, f"{usual[weight]:.3f}", *([f"{other[weight]:.3f}"] if other is not None else [])] for weight in usual
    ]
    console.table(columns, rows)
