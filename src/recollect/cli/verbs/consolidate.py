"""`recollect consolidate`: near-duplicates merged, stale put away, memories related, gists rolled up.

It shows what it does as a diff of memories. With --dry-run it only shows; --undo gives back what a run changed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from recollect.cli.opening import open_memory
from recollect.errors import InvalidInput
from recollect.text import one_line

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    from recollect.cli.output import Output, Span
    from recollect.facade import Recollect
    from recollect.learn.consolidation import Plan
    from recollect.pipeline.consolidating import Consolidated
    from recollect.store.ports.relations import Rollup, Run, Step

_SHOWN = 20  # steps of each kind
_CHARS = 140
_HEADINGS = {
    "release": "Given back: what they were merged into says it no longer",
    "merge": "Merged: the same in other words",
    "demote": "Put away: passing, old, and nobody read it",
    "relate": "Related",
    "rollup": "Rolled up from gists",
}


def configure(parser: ArgumentParser) -> None:
    parser.add_argument("--dry-run", action="store_true", help="show what would be done, and stop")
    parser.add_argument("--undo", metavar="RUN", help="give back what a run changed; 6 characters of its id are enough")
    parser.add_argument(
        "--share", type=float, metavar="S", help="stop when more than this share of memories would change (default: .2)"
    )
    parser.add_argument("--history", action="store_true", help="the runs there were, the latest first")
    parser.add_argument("--show", metavar="RUN", help="what a run changed")
    parser.add_argument("--rollups", action="store_true", help="the profile of each project, its weeks and months")
    parser.add_argument("--full", action="store_true", help="show every step")


def run(args: Namespace, console: Output) -> int:
    ways = [args.dry_run, args.undo is not None, args.history, args.show is not None, args.rollups]
    if ways.count(True) > 1 or (args.share is not None and any(ways[1:])):
        raise InvalidInput("--dry-run, --undo, --history, --show and --rollups are different things")
    if args.share is not None and not 0 <= args.share <= 1:
        raise InvalidInput("--share is a number from 0 to 1", hint="--share .2 is one memory in five.")
    with open_memory(args, everywhere=True) as memory:
        if args.undo is not None:
            return _undo(memory, args.undo, console)
        if args.history:
            return _history(memory.consolidation.runs(), console)
        if args.show is not None:
            return _show(memory, args, console)
        if args.rollups:
            return _rollups(memory.consolidation.rollups(), console)
        return _consolidate(memory, args, console)


def _consolidate(memory: Recollect, args: Namespace, console: Output) -> int:
    done = memory.consolidate(dry_run=args.dry_run, share=args.share)
    most = memory.settings.consolidate_share if args.share is None else args.share
    if console.json:
        console.document({**_told(done.plan, most), "run": done.run, "skipped": done.skipped, "dry_run": args.dry_run})
        return 0
    _steps(memory, done.plan.steps, console, full=args.full)
    if args.dry_run:
        too_much = f"; more than {most:.0%} is refused" if done.plan.is_too_much(most) else ""
        console.line(f"Would change {done.plan.changed:,} of {done.plan.memories:,} memories{too_much}.")
    else:
        _ended(done, console)
    return 0


def _told(plan: Plan, most: float) -> dict[str, Any]:
    figures = {"memories": plan.memories, "changed": plan.changed, "share": plan.share}
    return {"steps": plan.steps, **figures, "counts": plan.counts, "too_much": plan.is_too_much(most)}


def _ended(done: Consolidated, console: Output) -> None:
    if done.run is None:
        console.line("Nothing to do." if not done.plan.steps else "Nothing was done: others changed it meanwhile.")
        return
    console.line(f"Run {done.run.id}: {done.run.what}.")
    if done.skipped:
        console.note(f"{done.skipped:,} left for the next time: somebody changed them meanwhile.")
    console.note(f"`recollect consolidate --undo {done.run.id[-8:]}` gives it back.")


def _steps(memory: Recollect, steps: Sequence[Step], console: Output, *, full: bool) -> None:
    for kind, heading in _HEADINGS.items():
        found = [step for step in steps if step.kind == kind]
        if not found:
            continue
        console.heading(f"{heading} ({len(found):,})")
        for step in found if full else found[:_SHOWN]:
            console.lines(list(_diff(memory, step)))
        if len(found) > _SHOWN and not full:
            console.note(f"{len(found) - _SHOWN:,} more: --full")


def _diff(memory: Recollect, step: Step) -> Iterator[list[Span]]:
    """What a step takes away and what stands for it."""
    if step.kind in ("relate", "rollup"):
        yield [("~ ", "cyan"), (f"{step.subject[-8:]}  " if step.kind == "relate" else "", "dim"), step.what]
        return
    back = step.kind == "release"
    for sign, style, id_ in (
        ("- ", "red", "" if back else step.subject),
        ("+ ", "green", step.subject if back else step.other),
    ):
        one = memory.store.memories.get(memory.scope, id_) if id_ else None
        if one is not None:
            about = f"{one.project or 'no project'}, {one.kind}, {one.trust}"
            yield [(sign, style), (f"{id_[-8:]}  ", "dim"), one_line(one.content, _CHARS), (f"  ({about})", "dim")]


def _undo(memory: Recollect, name: str, console: Output) -> int:
    undone = memory.consolidation.undo(name)
    if console.json:
        console.document({"run": undone.run, "restored": undone.restored, "kept": undone.kept})
        return 0
    console.line(f"Undone: {undone.restored:,} steps of run {undone.run.id}.")
    if undone.kept:
        console.note(f"{len(undone.kept):,} stay: changed or forgotten since ({', '.join(undone.kept[:5])}).")
    return 0


def _history(runs: list[Run], console: Output) -> int:
    if console.json:
        console.document({"runs": [{**_plain(one), "what": one.what, "changed": one.changed} for one in runs]})
    elif not runs:
        console.note("Nothing was consolidated yet.")
    else:
        rows = [
            [
                one.id,
                f"{one.made_at:%Y-%m-%d %H:%M}",
                one.project or "everywhere",
                f"{one.changed:,} of {one.memories:,}",
                one.what + (f" (undone {one.undone_at:%Y-%m-%d %H:%M})" if one.undone_at else ""),
            ]
            for one in runs
        ]
        console.table(("run", "when", "project", "changed", "done"), rows)
    return 0


def _plain(run: Run) -> dict[str, Any]:
    from dataclasses import asdict

    return asdict(run)


def _show(memory: Recollect, args: Namespace, console: Output) -> int:
    run, steps = memory.consolidation.find(args.show), memory.consolidation.steps(args.show)
    if console.json:
        console.document({"run": run, "steps": steps})
        return 0
    _steps(memory, steps, console, full=args.full)
    console.line(f"Run {run.id}: {run.what}" + (f", undone {run.undone_at:%Y-%m-%d %H:%M}." if run.undone_at else "."))
    return 0


def _rollups(rollups: list[Rollup], console: Output) -> int:
    if console.json:
        console.document({"rollups": rollups})
        return 0
    if not rollups:
        console.note("There are none yet: `recollect consolidate` makes them from the gists of sessions.")
    for one in rollups:
        count = len(one.covers)
        about = f"{one.project or 'no project'}, {one.period}: {count} session" + ("s" if count != 1 else "")
        console.heading(about)
        console.line(one.content)
    return 0
