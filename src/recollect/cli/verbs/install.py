"""`recollect install`: hooks, MCP server and skills into the settings of agents; without a name it only shows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from recollect.cli.installing import add_arguments, show_choice, show_done, this_machine
from recollect.cli.opening import find_place, open_place
from recollect.errors import RecollectError

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
    if not args.dry_run:
        _warn_of_url(args, console)
        _lay_ready(args, console)
    return 0


def _warn_of_url(args: Namespace, console: Output) -> None:
    """Agents hand few variables on: a database that only this command knows of is not the one they would use."""
    loaded = find_place(args, everywhere=True).loaded
    if loaded.settings.database_url and loaded.origins["database_url"] != str(loaded.config_file):
        console.note("Agents may not learn of the database: `recollect config set database_url -` reads it from input.")


def _lay_ready(args: Namespace, console: Output) -> None:
    """What is known already, for the first session to begin with."""
    place = find_place(args, everywhere=True)
    if not place.has_store:
        return
    try:
        with open_place(place) as memory:
            memory.prepare()
    except RecollectError as error:
        console.note(f"The hooks are installed, but what is remembered cannot be laid ready for them: {error}")
        if error.hint:
            console.note(error.hint)
