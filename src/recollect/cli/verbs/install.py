"""`recollect install`: hooks, MCP server and skills into the settings of agents; without a name it only shows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from recollect.cli.installing import add_arguments, show_choice, show_done, this_machine

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    from recollect.cli.output import Output


def configure(parser: ArgumentParser) -> None:
    add_arguments(parser, "install")


def run(args: Namespace, console: Output) -> int:
    from recollect.install.run import install

    on = this_machine(args)
    if not args.agent:
        show_choice(on, console)
        return 0
    plans = install(on, args.agent, dry_run=args.dry_run)
    show_done(plans, on, console, dry_run=args.dry_run, then=True)
    return 0
