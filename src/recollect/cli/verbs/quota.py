"""`recollect quota`: how much a user has of what they may have, and limits of their own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from recollect.cli.opening import Place, find_place, open_place
from recollect.clock import now
from recollect.errors import InvalidInput

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    from recollect.cli.output import Output
    from recollect.store.ports.access import Quota

_NAMES = ("memories", "ingests")
_SUCH = "a whole number, 0 for without end, or `default` for what everybody has"


def configure(parser: ArgumentParser) -> None:
    parser.add_argument("action", nargs="?", choices=("show", "set"), default="show", help="default: show")
    parser.add_argument("--memories", metavar="N", help="set: how many memories; 0: without end; default: as all")
    parser.add_argument("--ingests", metavar="N", help="set: how many ingests a day (UTC); 0, default: likewise")


def run(args: Namespace, console: Output) -> int:
    given = {name: getattr(args, name) for name in _NAMES if getattr(args, name) is not None}
    if bool(given) != (args.action == "set"):
        raise InvalidInput("quota set needs --memories or --ingests; quota show takes neither")
    limits = {name: _limit(name, text) for name, text in given.items()}
    place = find_place(args, everywhere=True)
    with open_place(place) as memory:
        quota = memory.store.quotas.get(place.scope)
        if limits:
            own = dict(zip(_NAMES, quota.own, strict=True)) | limits
            quota = memory.store.quotas.set(place.scope, **own, at=now())
    _show(place, quota, console)
    return 0


def _limit(name: str, text: str) -> int | None:
    if text == "default":
        return None
    if not text.isascii() or not text.isdigit():
        raise InvalidInput(f"--{name} {text[:20]!r} is not a limit", hint=f"Give {_SUCH}.")
    return int(text)


def _show(place: Place, quota: Quota, console: Output) -> None:
    from recollect.store.terms import HOSTED_QUOTAS

    used = (quota.memories, quota.ingests)
    limits = (quota.limits.memories, quota.limits.ingests)
    usual = (HOSTED_QUOTAS.memories, HOSTED_QUOTAS.ingests)
    hosted = [
        limit or (None if own is not None else most) for limit, own, most in zip(limits, quota.own, usual, strict=True)
    ]
    rows = list(zip(_NAMES, used, limits, quota.left, quota.own, hosted, strict=True))
    if console.json:
        told: dict[str, Any] = {
            name: {"used": has, "limit": limit or None, "left": left, "own": own is not None, "hosted_limit": most}
            for name, has, limit, left, own, most in rows
        }
        scope = place.scope
        console.document({"tenant": scope.tenant, "user": scope.user, **told, "resets_at": quota.resets_at})
        return
    console.line(("user            ", "dim"), f"{place.scope.tenant}/{place.scope.user}")
    for (_, has, limit, left, own, most), title in zip(rows, ("memories        ", "ingests today   "), strict=True):
        words = f"{has:,} of {limit:,}, {left:,} left" if limit else f"{has:,}, without a limit"
        words += f" here; `serve --hosted` lets in {most:,}" if most and not limit else ""
        console.line((title, "dim"), words + (" (set for this user)" if own is not None else ""))
    console.line(("a new day begins", "dim"), f" {quota.resets_at:%Y-%m-%d %H:%M} UTC")
