"""`recollect config`: every setting, its value and where it came from; `set` and `unset` write config.toml."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import TYPE_CHECKING, Any

from recollect.cli.opening import Place, find_place
from recollect.cli.values import read_stdin
from recollect.errors import InvalidInput, RecollectError
from recollect.settings import SECRETS, Settings

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    from recollect.cli.output import Output


def configure(parser: ArgumentParser) -> None:
    parser.add_argument("action", nargs="?", choices=("show", "set", "unset"), default="show", help="default: show")
    parser.add_argument("name", nargs="?", metavar="NAME", help="the setting")
    parser.add_argument("value", nargs="?", metavar="VALUE", help="set: its value; `-` reads it from standard input")


def run(args: Namespace, console: Output) -> int:
    if args.action == "set" and (args.name is None or args.value is None):
        raise InvalidInput("config set needs NAME and VALUE", hint="`recollect config` lists every setting.")
    if args.action == "unset" and (args.name is None or args.value is not None):
        raise InvalidInput("config unset needs NAME alone", hint="`recollect config` lists every setting.")
    if args.action == "show" and args.value is not None:
        raise InvalidInput("config show takes at most one NAME")
    if args.action == "show":
        return _show(args, console)
    return _write(args, console)


def _write(args: Namespace, console: Output) -> int:
    from recollect.cli.configfile import set_setting, unset_setting
    from recollect.settings import load

    file = load().config_file
    if args.action == "set":
        set_setting(file, args.name, read_stdin() if args.value == "-" else args.value)
        changed = True
    else:
        changed = unset_setting(file, args.name)
    if args.name == "share_patterns":
        _agree(args, console)
    if console.json:
        console.document({"config_file": file, "name": args.name, "changed": changed})
    else:
        done = {"set": "is set", "unset": "is unset"}[args.action] if changed else "was not set"
        console.line(f"{args.name} {done} in {file}.")
    return 0


def _agree(args: Namespace, console: Output) -> None:
    """Let the store know at once: who does not share any more is not to be counted until something else happens."""
    from recollect.cli.opening import open_place

    place = find_place(args, everywhere=True)
    if not place.has_store:
        return
    try:
        with open_place(place) as memory:
            memory.patterns.agree()
    except RecollectError as error:
        console.note(f"The store does not know yet ({error}): the next `recollect patterns` tells it.")


def _show(args: Namespace, console: Output) -> int:
    place = find_place(args, everywhere=True)
    names = [item.name for item in fields(Settings)]
    if args.name is not None:
        if args.name not in names:
            raise InvalidInput(f"unknown setting {args.name[:40]!r}", hint="Settings: " + ", ".join(names))
        names = [args.name]
    rows = [(name, origin_of(place, name), _shown(place, name)) for name in names]
    if console.json:
        settings = {name: {"value": _value(place, name), "origin": origin} for name, origin, _ in rows}
        console.document({"config_file": place.loaded.config_file, "settings": settings, **_models(place)})
        return 0
    console.table(("setting", "from", "value"), rows, cut=args.name is None)  # long ones go last, and are cut
    console.line(("config file  ", "dim"), str(place.loaded.config_file))
    for name, value in _models(place).items():
        console.line((f"{name.replace('_', ' '):<12} ", "dim"), str(value))
    return 0


def _value(place: Place, name: str) -> Any:
    value = getattr(place.loaded.settings, name)
    if name in SECRETS:
        return "set" if value else "not set"
    return value


def _shown(place: Place, name: str) -> str:
    value = _value(place, name)
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Mapping):
        return ", ".join(f"{key} = {_words(to)}" for key, to in value.items())
    if isinstance(value, tuple):
        return _words(value)
    return "" if value is None else str(value)


def _words(value: Any) -> str:
    return ", ".join(map(str, value)) if isinstance(value, tuple) else str(value)


def origin_of(place: Place, name: str) -> str:
    """Where a setting's value came from, in a word."""
    origin = place.loaded.origins[name]
    return "file" if origin == str(place.loaded.config_file) else origin


def _models(place: Place) -> dict[str, str]:
    """The embedder in force and the model the store's vectors are of, in words."""
    from recollect.cli.verbs.model import store_model
    from recollect.models.choose import choose

    try:
        embedder, why = choose(place.loaded.settings)
        chosen = f"{embedder.name} ({embedder.dim})" if embedder else f"none: {why}"
    except RecollectError as error:
        chosen = f"none: {error}"
    try:
        stored = store_model(place)
        kept = f"{stored[0]} ({stored[1]})" if stored else "none yet"
    except RecollectError as error:
        kept = f"unknown: {error}"
    return {"embedder": chosen, "store_model": kept}
