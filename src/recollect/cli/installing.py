"""How installing is told: the agents, what becomes of which file, and what is left to do; as text or as JSON."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from recollect.cli.opening import find_place

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    from recollect.cli.output import Output
    from recollect.install.files import Change
    from recollect.install.hosts import Host
    from recollect.install.plan import Plan
    from recollect.install.run import Machine

_WIDTH = 500  # a longer line of a diff is cut: some agents keep megabytes on one


def add_arguments(parser: ArgumentParser, verb: str) -> None:
    names = "claude-code, codex, grok, gemini, opencode, cursor"
    every = "those found on this machine" if verb == "install" else "those it is installed for"
    parser.add_argument(
        "agent", nargs="*", metavar="AGENT", help=f"{names}; all: {every}; none: change nothing, only show"
    )
    parser.add_argument("--dry-run", action="store_true", help="show every line that would change, and change nothing")


def this_machine(args: Namespace) -> Machine:
    """The user's home and this installation."""
    from recollect.install.run import machine
    from recollect.settings import environment

    return machine(Path.home(), environment(), find_place(args, everywhere=True).loaded.settings.data_dir)


def show_choice(on: Machine, console: Output) -> None:
    """The agents there are, what installing would do, and how to have it done."""
    from recollect.install.hosts import NAMES
    from recollect.install.plan import is_installed
    from recollect.install.run import hosts, install, problem

    found = hosts(on)
    bad = {each.name: error for each in found if (error := problem(on, each.name))}
    good = [each for each in found if each.name not in bad]
    plans = install(on, [each.name for each in good], dry_run=True) if good else []
    missing = [name for name in NAMES if name not in {each.name for each in found}]
    due = [each.host.name for each in plans if each.changes]
    if console.json:
        agents = [{**as_dict(each, diffs=False), "installed": is_installed(each.host)} for each in plans]
        agents += [{**_known(each), "error": str(bad[each.name])} for each in found if each.name in bad]
        console.document({"dry_run": True, "agents": agents, "not_found": missing, "due": due})
        return
    console.line("Agents on this machine:" if found else "No agent was found on this machine.")
    for plan in plans:
        state = "not installed" if not is_installed(plan.host) else "installed" if not plan.changes else "to be renewed"
        console.line(f"  {plan.host.name:<12} {state:<14} ", (short(plan.host.sign or "", on.home), "dim"))
    for name, error in bad.items():
        console.line(f"  {name:<12} cannot be edited: {error}")
    if missing:
        console.line("Not found: " + ", ".join(missing))
    for plan in plans:
        if plan.changes:
            console.line("")
            console.line(f"For {plan.host.title} it would")
            _show_changes(plan, on.home, console, would=True)
    console.line("")
    if due:
        console.line("Nothing was changed. To do it:  ", (f"recollect install {' '.join(due)}", "bold"))
        console.line("`--dry-run` with it shows every line.")
    else:
        console.line("There is nothing to do." if found else f"Name one to install for it anyway: {', '.join(NAMES)}")


def show_installed(on: Machine, console: Output) -> None:
    """Where Recollect is installed, and how to have it taken out."""
    from recollect.install.run import uninstall

    plans = [plan for plan in uninstall(on, ["all"], dry_run=True) if plan.changes]
    if console.json:
        console.document({"dry_run": True, "agents": [as_dict(plan, diffs=False) for plan in plans]})
        return
    for plan in plans:
        console.line(f"From {plan.host.title} it would")
        _show_changes(plan, on.home, console, would=True)
        console.line("")
    names = " ".join(plan.host.name for plan in plans)
    if names:
        console.line("Nothing was changed. To do it:  ", (f"recollect uninstall {names}", "bold"))
    else:
        console.line("Recollect is installed for no agent.")


def show_done(plans: Sequence[Plan], on: Machine, console: Output, *, dry_run: bool, then: bool) -> None:
    """What was done, or with `dry_run` what would be, line by line."""
    if console.json:
        console.document({"dry_run": dry_run, "agents": [as_dict(plan, diffs=dry_run) for plan in plans]})
        return
    for plan in plans:
        console.line((plan.host.title, "bold"), "" if plan.changes else ": nothing to do")
        if dry_run:
            for change in plan.changes:
                console.line(diff(change))
        else:
            _show_changes(plan, on.home, console, would=False)
        for note in plan.notes:
            console.line(f"  note: {short(note, on.home)}")
        if then and plan.changes and not dry_run:
            if plan.host.sign is None:
                console.line(f"  {plan.host.title} was not found here; its settings wait for it.")
            console.line(f"  {plan.host.then}")
    if dry_run:
        console.line("Nothing was changed.")


def as_dict(plan: Plan, *, diffs: bool) -> dict[str, Any]:
    changes = [
        {
            "path": str(change.path),
            "action": _action(change),
            "about": change.about,
            "backup": change.backup,
            **({"diff": diff(change)} if diffs else {}),
        }
        for change in plan.changes
    ]
    return {**_known(plan.host), "changes": changes, "notes": plan.notes, "then": plan.host.then}


def diff(change: Change) -> str:
    """The change of one file as a unified diff."""
    from difflib import unified_diff

    before, after = (
        (data or b"").decode("utf-8", "replace").splitlines(keepends=False) for data in (change.before, change.after)
    )
    names = (
        str(change.path) if change.before is not None else "/dev/null",
        str(change.path) if change.after is not None else "/dev/null",
    )
    return "\n".join(_cut(line) for line in unified_diff(before, after, *names, lineterm=""))


def short(text: str, home: Path) -> str:
    """With `~` for the user's home."""
    return text.replace(f"{home}/", "~/")


def _known(host: Host) -> dict[str, Any]:
    return {"agent": host.name, "title": host.title, "found": host.sign}


def _action(change: Change) -> str:
    return "make" if change.before is None else "remove" if change.after is None else "change"


def _show_changes(plan: Plan, home: Path, console: Output, *, would: bool) -> None:
    words = {"make": "made", "remove": "removed", "change": "changed"}
    for change in plan.changes:
        action = _action(change)
        copy = f"; a copy in {change.target.name}.recollect-backup" if change.backup else ""
        about = (f"  ({change.about}{copy})", "dim")
        console.line(f"  {action if would else words[action]:<8} {short(str(change.path), home)}", about)


def _cut(line: str) -> str:
    return line if len(line) <= _WIDTH else f"{line[:_WIDTH]}… ({len(line):,} characters)"
