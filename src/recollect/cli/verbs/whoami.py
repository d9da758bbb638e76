"""`recollect whoami`: tenant, user, project and the rule that gave it, and where the data is. Opens nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from recollect.cli.opening import address_of, find_place

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    from recollect.cli.output import Output


def configure(parser: ArgumentParser) -> None:
    """No flags of its own."""


def run(args: Namespace, console: Output) -> int:
    place = find_place(args)
    scope = place.scope
    found = {
        "tenant": scope.tenant,
        "user": scope.user,
        "project": scope.project,
        "rule": place.rule,
        "directory": place.directory,
        "data_dir": str(place.loaded.settings.data_dir),
        "database": address_of(place) if place.loaded.settings.database_url else None,
    }
    if console.json:
        console.document(found)
        return 0
    for name, value in found.items():
        if value is not None or name == "project":
            console.line((f"{name.replace('_', ' '):<10}", "dim"), f" {value or 'none'}")
    return 0
