"""`recollect keys`: API keys of one user: make one, list them, revoke one, replace one and let the old work a while."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from recollect.cli.opening import Place, find_place, open_place
from recollect.cli.values import time_ahead
from recollect.clock import now
from recollect.errors import InvalidInput
from recollect.keys import ENVS, EXPIRES_DAYS, GRACE_DAYS, PERMISSIONS, parse_permissions

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    from recollect.cli.output import Output
    from recollect.keys import Issued, Key

_ACTIONS = ("list", "create", "revoke", "rotate")
_COLUMNS = ("id", "env", "state", "may", "project", "expires", "last used", "name")
_ONCE = "This is the only time the key is shown. Keep it where secrets are kept."


def configure(parser: ArgumentParser) -> None:
    parser.add_argument("action", nargs="?", choices=_ACTIONS, default="list", help="default: list")
    parser.add_argument("id", nargs="?", metavar="ID", help="revoke, rotate: the id of the key")
    parser.add_argument("--name", default="", metavar="TEXT", help="create: what it is for")
    parser.add_argument("--env", choices=ENVS, default="live", help="create: where it is used (default: live)")
    parser.add_argument(
        "--permissions",
        "--permission",
        metavar="LIST",
        default="read,write",
        help=f"create: of {', '.join(PERMISSIONS)} (default: read,write)",
    )
    parser.add_argument(
        "--expires",
        metavar="WHEN",
        help=f"create, rotate: a date, a span such as 30d, or never (default: {EXPIRES_DAYS}d)",
    )
    parser.add_argument(
        "--grace", metavar="SPAN", help=f"rotate: how long the old key still works, or none (default: {GRACE_DAYS}d)"
    )


def run(args: Namespace, console: Output) -> int:
    if (args.id is not None) != (args.action in ("revoke", "rotate")):
        needs = "needs the id of a key" if args.id is None else "takes no id"
        raise InvalidInput(f"keys {args.action} {needs}", hint="`recollect keys` lists them.")
    place = find_place(args, everywhere=True)
    return {"list": _list, "create": _create, "revoke": _revoke, "rotate": _rotate}[args.action](args, place, console)


def _list(args: Namespace, place: Place, console: Output) -> int:
    found: list[Key] = []
    if place.has_store:
        with open_place(place) as memory:
            found = memory.store.keys.find(place.scope)
    at = now()
    if console.json:
        console.document({"keys": [_shown(key, at) for key in found]})
    elif not found:
        console.note("No keys. `recollect keys create` makes one.")
    else:
        console.table(_COLUMNS, [_row(key, at) for key in found])
    return 0


def _create(args: Namespace, place: Place, console: Output) -> int:
    permissions = parse_permissions(word for word in args.permissions.split(",") if word.strip())
    expires = _expires(args)
    with open_place(place) as memory:
        issued = memory.store.keys.create(
            place.scope, at=now(), env=args.env, permissions=permissions, name=args.name, expires_at=expires
        )
    return _issued(issued, place, console, {})


def _rotate(args: Namespace, place: Place, console: Output) -> int:
    until = now() if args.grace in ("none", "0") else time_ahead(args.grace) or now() + timedelta(days=GRACE_DAYS)
    expires = _expires(args)
    with open_place(place) as memory:
        issued = memory.store.keys.rotate(place.scope, args.id, at=now(), until=until, expires_at=expires)
        old = next(key for key in memory.store.keys.find(place.scope) if key.id == args.id)
    _issued(issued, place, console, {"replaces": _shown(old, now())})
    if not console.json and old.expires_at is not None:
        console.note(f"The old key {old.shown} works until {old.expires_at:%Y-%m-%d %H:%M} UTC.")
    return 0


def _revoke(args: Namespace, place: Place, console: Output) -> int:
    with open_place(place) as memory:
        key = memory.store.keys.revoke(place.scope, args.id, at=now())
    if console.json:
        console.document({"key": _shown(key, now())})
    else:
        console.line(f"{key.shown} opens nothing any more.")
    return 0


def _expires(args: Namespace) -> datetime | None:
    if args.expires == "never":
        return None
    return time_ahead(args.expires) or now() + timedelta(days=EXPIRES_DAYS)


def _issued(issued: Issued, place: Place, console: Output, more: dict[str, Any]) -> int:
    """The key itself, on standard output alone, so that it can be put where it belongs without being seen."""
    if console.json:
        console.document({"text": issued.text, "key": _shown(issued.key, now()), **more})
        return 0
    console.raw(issued.text + "\n")
    scope = place.scope
    where = f" in {issued.key.project}" if issued.key.project else ""
    until = f"until {issued.key.expires_at:%Y-%m-%d}" if issued.key.expires_at else "until it is revoked"
    console.note(f"For {scope.tenant}/{scope.user}{where}: {', '.join(issued.key.permissions)}; {until}.")
    console.note(_ONCE)
    return 0


def _shown(key: Key, at: datetime) -> dict[str, Any]:
    names = ("id", "env", "name", "permissions", "project", "created_at", "expires_at", "revoked_at", "replaced_by")
    told = {name: getattr(key, name) for name in (*names, "last_used_at")}
    return {**told, "shown": key.shown, "state": key.state(at)}


def _row(key: Key, at: datetime) -> tuple[str, ...]:
    expires = f"{key.expires_at:%Y-%m-%d}" if key.expires_at else "never"
    used = f"{key.last_used_at:%Y-%m-%d %H:%M}" if key.last_used_at else "never"
    may = ",".join(key.permissions)
    return (key.id, key.env, key.state(at), may, key.project or "-", expires, used, key.name or "-")
