"""`recollect patterns`: what repeats, as you reviewed it. Approve, word, reject, merge; roll out, roll back, measure.

An agent may look; what decides, or puts something before agents, is for a person to do.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from recollect.cli.opening import open_memory
from recollect.cli.values import whole
from recollect.errors import InvalidInput, NotFound

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    from recollect.cli.output import Output
    from recollect.facade import Recollect
    from recollect.pipeline.rolling import Change
    from recollect.store.ports.learn import Pattern

# Action -> (what it takes, what it does).
ACTIONS = {
    "list": ("", "the patterns, of one --state or all that are open or approved"),
    "refresh": ("", "look at every session again; `list` does so when there is nothing yet"),
    "show": ("ID", "everything about one: counts, evidence, where it was put"),
    "approve": ("ID", "say that it is so; in other words with --rule"),
    "edit": ("ID", "word it otherwise: --rule, --statement"),
    "reject": ("ID", "say no; it stays away until much more shows it"),
    "retire": ("ID", "an approved one is of no use any more"),
    "merge": ("ID INTO", "the first is the second in other words"),
    "history": ("ID", "what was done to it, by whom and why"),
    "export": ("DIR", "the catalogue as files for a repository"),
    "roll-out": ("ID", "put its rule before agents: --to, --in or --everywhere; shows the diff"),
    "roll-back": ("ID", "take it back: every other byte is as it was"),
    "measure": ("[ID]", "what became of what was rolled out, before and after"),
    "common": ("", "what at least --k users of this store have seen, among those who set share_patterns"),
}
_LOOKING = ("list", "refresh", "show", "history", "export", "measure", "common")
_STATES = ("candidate", "approved", "rejected", "retired", "merged", "all")
_TARGETS = ("agents-md", "claude-md", "skill", "memory")


def configure(parser: ArgumentParser) -> None:
    actions = "; ".join(f"{name}: {told}" for name, (_, told) in ACTIONS.items())
    parser.add_argument("action", nargs="?", choices=ACTIONS, default="list", metavar="ACTION", help=actions)
    parser.add_argument("what", nargs="*", metavar="WHAT", help="the ID of a pattern, or its beginning; a DIR")
    parser.add_argument("--state", choices=_STATES, help="list, export: only these")
    parser.add_argument("--rule", metavar="TEXT", help="approve, edit: the rule in these words")
    parser.add_argument("--statement", metavar="TEXT", help="approve, edit: what repeats, in these words")
    parser.add_argument("--why", metavar="TEXT", help="the reason for what you decide")
    parser.add_argument("--to", choices=_TARGETS, help="roll-out, roll-back: which kind of place")
    parser.add_argument(
        "--in", dest="directory", type=Path, metavar="DIR", help="roll-out, roll-back: the project of this directory"
        " (roll-out: default, the working directory's)"
    )  # fmt: skip
    parser.add_argument("--everywhere", action="store_true", help="roll-out: for you, in whatever project")
    parser.add_argument(
        "--hold-back", action="append", default=[], metavar="PROJECT", help="roll-out: a project that does without,"
        " to be measured against; may be given often"
    )  # fmt: skip
    parser.add_argument("--dry-run", action="store_true", help="roll-out, roll-back: show the diff, change nothing")
    parser.add_argument("--force", action="store_true", help="roll-out, roll-back: though the block was edited by hand")
    parser.add_argument("--yes", action="store_true", help="roll-out: do not ask")
    parser.add_argument("--html", type=Path, metavar="FILE", help="measure: also write a page with plots to FILE")
    parser.add_argument("--k", type=whole, default=5, metavar="N", help="common: seen by N users, 5 at least (default)")


def run(args: Namespace, console: Output) -> int:
    takes = ACTIONS[args.action][0]
    fewest = len([word for word in takes.split() if not word.startswith("[")])
    if not fewest <= len(args.what) <= len(takes.split()):
        raise InvalidInput(f"it goes like this: recollect patterns {args.action} {takes}".rstrip())
    if args.action not in _LOOKING:
        from recollect.cli.agentshell import only_a_person
        from recollect.settings import environment

        only_a_person(environment(), "decide on patterns and put them before agents")
    with open_memory(args, everywhere=True) as memory:
        memory.patterns.agree()
        return _DOING[args.action](memory, args, console)


def _list(memory: Recollect, args: Namespace, console: Output) -> int:
    patterns = memory.patterns
    if not patterns.find():
        _looked(memory, console)
    found = patterns.find(None if args.state in (None, "all") else args.state)
    if args.state is None:
        found = [one for one in found if one.state in ("candidate", "approved")]
    if console.json:
        console.document({"patterns": found})
    elif not found:
        console.note("No patterns. `recollect patterns refresh` looks at every session again.")
    else:
        rows = [
            [
                one.id,
                one.state,
                str(one.sessions),
                ", ".join(one.flavors),
                f"{'[CROSS-FLAVOR] ' * one.cross_flavor}{one.statement}",
            ]
            for one in found
        ]
        console.table(("id", "state", "sessions", "agents", "pattern"), rows)
    return 0


def _refresh(memory: Recollect, args: Namespace, console: Output) -> int:
    done = _looked(memory, console)
    told = (
        f"{done.sessions:,} sessions: {len(done.new)} new patterns, {len(done.changed)} changed, "
        f"{len(done.reopened)} reopened, {len(done.gone)} gone."
    )
    return _say(console, {"refreshed": done}, told)


def _looked(memory: Recollect, console: Output) -> Any:
    shown = 0
    with console.progress("reading sessions", None) as advance:

        def progress(done: int, total: int) -> None:
            nonlocal shown
            advance(done - shown, total)
            shown = done

        return memory.patterns.refresh(progress)


def _known(memory: Recollect, name: str, console: Output) -> str:
    """The id of a pattern; one that `detect` told of and that is not kept yet is found first."""
    try:
        return memory.patterns.get(name).id
    except NotFound:
        _looked(memory, console)
        return memory.patterns.get(name).id


def _show(memory: Recollect, args: Namespace, console: Output) -> int:
    pattern = memory.patterns.get(_known(memory, args.what[0], console))
    evidence, rollouts = memory.patterns.evidence(pattern.id), memory.patterns.rollouts(pattern.id)
    if console.json:
        console.document({"pattern": pattern, "evidence": evidence, "rollouts": rollouts})
        return 0
    _card(console, pattern)
    if evidence:
        console.heading("Seen")
        seen = [[f"{one.at:%Y-%m-%d %H:%M}", one.session, one.project or "-", one.statement] for one in evidence]
        console.table(("when", "session", "project", "what"), seen)
    if rollouts:
        console.heading("Rolled out")
        rows = [[f"{one.begun_at:%Y-%m-%d %H:%M}", one.target, one.state, one.place] for one in rollouts]
        console.table(("when", "to", "state", "where"), rows)
    return 0


def _card(console: Output, one: Pattern) -> None:
    cross = "[CROSS-FLAVOR] " if one.cross_flavor else ""
    console.line((f"[{one.kind}]", "bold cyan"), " ", f"{cross}{one.statement}")
    console.line(("- rule: ", "dim"), one.rule or "none")
    usd = "" if one.usd is None else f", {one.usd:.2f} USD"
    facts = [
        ("id", one.id),
        ("state", f"{one.state}, version {one.version}"),
        ("seen", f"{one.sessions} sessions, {one.signals} times, {', '.join(one.flavors)}"),
        ("when", f"{one.first_seen:%Y-%m-%d} to {one.last_seen:%Y-%m-%d}"),
        ("cost", f"{one.seconds / 60:.0f} min, {one.tokens:,} tokens{usd}"),
        ("trust", one.trust),
    ]
    if one.reviewer:
        facts.append(("decided", f"by {one.reviewer}{f': {one.reason}' if one.reason else ''}"))
    if one.merged_into:
        facts.append(("merged", f"into {one.merged_into}"))
    for name, value in facts:
        console.line((f"  {name:<8} ", "dim"), value)


def _approve(memory: Recollect, args: Namespace, console: Output) -> int:
    name = _known(memory, args.what[0], console)
    done = memory.patterns.approve(name, args.why, rule=args.rule, statement=args.statement)
    return _decided(console, "Approved", done)


def _edit(memory: Recollect, args: Namespace, console: Output) -> int:
    name = _known(memory, args.what[0], console)
    done = memory.patterns.edit(name, rule=args.rule, statement=args.statement, reason=args.why)
    code = _decided(console, "Worded anew", done)
    if not console.json and any(one.state != "out" for one in memory.patterns.rollouts(done.id)):
        console.note("It stands as before where it was rolled out; roll it out again to change it there.")
    return code


def _reject(memory: Recollect, args: Namespace, console: Output) -> int:
    return _decided(console, "Rejected", memory.patterns.reject(_known(memory, args.what[0], console), args.why))


def _retire(memory: Recollect, args: Namespace, console: Output) -> int:
    return _decided(console, "Retired", memory.patterns.retire(args.what[0], args.why))


def _merge(memory: Recollect, args: Namespace, console: Output) -> int:
    name, into = (_known(memory, one, console) for one in args.what)
    return _decided(console, "Merged; it is now", memory.patterns.merge(name, into, args.why))


def _decided(console: Output, what: str, pattern: Pattern) -> int:
    if console.json:
        console.document({"pattern": pattern})
        return 0
    console.line(f"{what}:")
    _card(console, pattern)
    return 0


def _history(memory: Recollect, args: Namespace, console: Output) -> int:
    found = memory.patterns.history(args.what[0])
    if console.json:
        console.document({"versions": found})
    elif not found:
        console.note("Nobody decided on it yet.")
    else:
        rows = [
            [
                str(one.version),
                f"{one.at:%Y-%m-%d %H:%M}",
                one.change,
                one.actor or "-",
                one.reason or "-",
                one.rule or one.statement,
            ]
            for one in found
        ]
        console.table(("version", "when", "what", "by", "why", "rule"), rows)
    return 0


def _export(memory: Recollect, args: Namespace, console: Output) -> int:
    from recollect.inject import userfile
    from recollect.pipeline.cataloguing import is_ours

    folder = Path(args.what[0])
    if not folder.is_dir():
        raise InvalidInput(f"{folder} is not a directory", hint="Make it first, for example docs/ of a repository.")
    files = memory.patterns.export(None if args.state == "all" else args.state or "approved")
    for name in files:
        there = userfile.content_of(folder / name)
        if there and not is_ours(name, there):
            raise InvalidInput(f"{folder / name} was not made by an export", hint="Give another directory.")
    for name, content in files.items():
        userfile.change(folder / name, lambda _, content=content: content, shared=True)  # type: ignore[misc]
    return _say(console, {"files": [str(folder / name) for name in files]}, f"Wrote {', '.join(files)} to {folder}.")


def _roll_out(memory: Recollect, args: Namespace, console: Output) -> int:
    if args.to is None:
        raise InvalidInput("where to?", hint=f"--to {' | '.join(_TARGETS)}")
    if args.everywhere and args.directory is not None:
        raise InvalidInput("--in names a project, --everywhere says there is none")
    name = _known(memory, args.what[0], console)
    directory = None if args.everywhere else args.directory or Path.cwd()
    where: dict[str, Any] = {"directory": directory, "force": args.force, "held_back": tuple(args.hold_back)}
    planned = memory.patterns.roll_out(name, args.to, dry_run=True, **where)
    if not console.json:
        _diffs(console, [planned])
    if args.dry_run or not planned.changed:
        done = planned if args.dry_run else memory.patterns.roll_out(name, args.to, **where)
    elif console.can_ask and not args.yes and not console.confirm(f"Change {planned.place}?"):
        return _say(console, {"change": None}, "Nothing was changed.")
    else:
        done = memory.patterns.roll_out(name, args.to, expected=planned.fingerprint, **where)
    if console.json:
        console.document({"change": done})
        return 0
    what = "Would be rolled out to" if args.dry_run else "Rolled out to" if done.changed else "It is there already:"
    console.line(f"{what} {done.place}{f' ({done.note})' if done.note else ''}.")
    return 0


def _roll_back(memory: Recollect, args: Namespace, console: Output) -> int:
    which: dict[str, Any] = {"target": args.to, "directory": args.directory, "force": args.force}
    done = memory.patterns.roll_back(args.what[0], dry_run=args.dry_run, reason=args.why, **which)
    if console.json:
        console.document({"changes": done})
        return 0
    _diffs(console, done)
    for one in done:
        what = "Would be taken back from" if args.dry_run else "Taken back from" if one.changed else "Nothing left in"
        console.line(f"{what} {one.place}{f' ({one.note})' if one.note else ''}.")
    return 0


def _diffs(console: Output, changes: Sequence[Change]) -> None:
    for one in changes:
        for line in one.diff.splitlines():
            style = "green" if line.startswith("+") else "red" if line.startswith("-") else "dim"
            console.line((line, style))


def _measure(memory: Recollect, args: Namespace, console: Output) -> int:
    from recollect.cli.measured import show, write

    found = memory.patterns.measure(args.what[0] if args.what else None)
    if args.html is not None:
        write(args.html, found)
    if console.json:
        console.document({"measured": found, "html": args.html})
    else:
        show(found, console)
        if args.html is not None:
            console.line(f"Wrote {args.html}.")
    return 0


def _common(memory: Recollect, args: Namespace, console: Output) -> int:
    found = memory.patterns.common(args.k)
    if console.json:
        console.document({"common": found, "k": args.k})
    elif not found:
        console.note(f"Nothing that at least {args.k} users who share their patterns have seen.")
    else:
        rows = [
            [
                one.id,
                one.kind,
                str(one.users),
                "-" if one.approved is None else str(one.approved),
                one.rule or one.statement or "(worded differently: not told)",
            ]
            for one in found
        ]
        console.table(("fingerprint", "kind", "users", "approved by", "in the words of so many"), rows)
    return 0


def _say(console: Output, document: dict[str, Any], text: str) -> int:
    if console.json:
        console.document(document)
    else:
        console.line(text)
    return 0


_DOING: dict[str, Callable[[Recollect, Namespace, Output], int]] = {
    "list": _list,
    "refresh": _refresh,
    "show": _show,
    "approve": _approve,
    "edit": _edit,
    "reject": _reject,
    "retire": _retire,
    "merge": _merge,
    "history": _history,
    "export": _export,
    "roll-out": _roll_out,
    "roll-back": _roll_back,
    "measure": _measure,
    "common": _common,
}
