"""`recollect uninstall`: takes out what `install` put into the settings of agents; memories stay."""

from __future__ import annotations

from typing import TYPE_CHECKING

from recollect.cli.installing import add_arguments, show_done, show_installed, this_machine

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    from recollect.cli.output import Output


def configure(parser: ArgumentParser) -> None:
    add_arguments(parser, "uninstall")


def run(args: Namespace, console: Output) -> int:
    from recollect.install.run import uninstall

    on = this_machine(args)
    if not args.agent:
        show_installed(on, console)
        return 0
    plans = uninstall(on, args.agent, dry_run=args.dry_run)
    show_done(plans, on, console, dry_run=args.dry_run, then=False)
    if not plans and not console.json:
        console.line("Recollect is installed for no agent.")
    return 0
