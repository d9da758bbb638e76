"""`recollect budget`: what language models were paid today, by project and use, and what is left; sets the caps."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from recollect.cli.opening import Place, find_place, open_place
from recollect.errors import InvalidInput, RecollectError

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from datetime import datetime

    from recollect.cli.output import Output
    from recollect.store.ports.distill import Spending


def configure(parser: ArgumentParser) -> None:
    parser.add_argument("--tokens", metavar="N", help="set: tokens a day, all projects together")
    parser.add_argument("--usd", metavar="X", help="set: USD a day; with --project, for that project alone")


def run(args: Namespace, console: Output) -> int:
    if args.tokens is not None and args.project is not None:
        raise InvalidInput("tokens are counted over all projects", hint="--project goes with --usd.")
    changed = _write(args)
    place = find_place(args, everywhere=True)
    found = _budget(place)
    if console.json:
        console.document({**found, "changed": changed})
        return 0
    for name in changed:
        console.line(f"{name} is set in {place.loaded.config_file}.")
        if place.loaded.origins[name] not in (str(place.loaded.config_file), "default"):
            console.note(f"{place.loaded.origins[name]} goes before it.")
    _show(found, console)
    return 0


def _write(args: Namespace) -> list[str]:
    """Put the caps into config.toml; returns the names of the settings that were written."""
    from recollect.cli.configfile import set_entry, set_setting
    from recollect.settings import load

    for flag, text in (("tokens", args.tokens), ("usd", args.usd)):
        if text is not None:
            _amount(flag, text)  # else one cap is written and the other refused
    file = load().config_file
    changed = []
    if args.tokens is not None:
        set_setting(file, "llm_daily_tokens", args.tokens)
        changed.append("llm_daily_tokens")
    if args.usd is not None and args.project is not None:
        set_entry(file, "llm_project_daily_usd", find_place(args).scope.project or "", _amount("usd", args.usd))
        changed.append("llm_project_daily_usd")
    elif args.usd is not None:
        set_setting(file, "llm_daily_usd", args.usd)
        changed.append("llm_daily_usd")
    return changed


def _amount(flag: str, text: str) -> float:
    """An amount, by the rule of the setting for all projects."""
    from recollect.settings import load

    name = f"llm_daily_{flag}"
    try:
        amount: float = getattr(
            load({f"RECOLLECT_{name.upper()}": text, "RECOLLECT_CONFIG": os.devnull}).settings, name
        )
    except InvalidInput:
        such = {"tokens": "a whole number of tokens a day", "usd": "an amount in USD a day, such as 0.50"}[flag]
        raise InvalidInput(
            f"--{flag} {text[:20]!r} is not an amount", hint=f"Give {such}; 0 means that nothing may be spent."
        ) from None
    return amount


def _budget(place: Place) -> dict[str, Any]:
    """The model in force, and today's spending against each cap."""
    from recollect.clock import now

    settings = place.loaded.settings
    about = _model(place)
    rows, silent = _spent(place, about["model"])
    caps = settings.llm_project_daily_usd
    projects = [place.scope.project] if place.scope.project else sorted({*caps, *(row.project or "" for row in rows)})
    spent = {name: sum(row.usd for row in rows if row.project == name) for name in projects if name}
    mine = [row for row in rows if place.scope.project in (None, row.project)]
    return {
        "day": now().date().isoformat(),
        **about,
        "silent_until": silent,
        "tokens": _account(sum(row.input + row.output for row in rows), settings.llm_daily_tokens),
        "usd": _account(round(sum(row.usd for row in rows), 6), settings.llm_daily_usd),
        "projects": {name: _account(round(usd, 6), caps.get(name)) for name, usd in spent.items()},
        "spent": mine,
    }


def _account(spent: float, cap: float | None) -> dict[str, float | None]:
    return {"spent": spent, "cap": cap, "left": None if cap is None else max(0, round(cap - spent, 6))}


def _spent(place: Place, model: str | None) -> tuple[list[Spending], datetime | None]:
    """Today's rows of the whole owner, since the caps are theirs; and until when the model is left alone, if it is."""
    from recollect.clock import now
    from recollect.pipeline.spending import silent_until

    if not place.has_store:
        return [], None
    with open_place(place) as memory:
        ledger, owner = memory.store.ledger, place.scope.within(None)
        silent = silent_until(ledger, owner, model, now()) if model else None
        return ledger.spent(owner, since=now()), silent


def _model(place: Place) -> dict[str, Any]:
    from recollect.models.language import choose_language
    from recollect.pipeline.spending import price_of

    settings = place.loaded.settings
    try:
        model, why = choose_language(settings)
    except RecollectError as error:
        model, why = None, str(error)
    known = model is not None and price_of(model.name, 1, 1, settings) is not None
    return {"model": model.name if model else None, "why_none": why, "price_known": known}


def _show(found: dict[str, Any], console: Output) -> None:
    console.line(("language model ", "dim"), found["model"] or f"none: {found['why_none']}")
    console.line(("today          ", "dim"), f"{found['day']} (UTC)")
    console.line(("tokens         ", "dim"), _words(found["tokens"], "{:,.0f}"))
    console.line(("USD            ", "dim"), _words(found["usd"], "{:.4f}"))
    for name, account in found["projects"].items():
        if account["cap"] is not None:
            console.line(("USD            ", "dim"), f"{_words(account, '{:.4f}')}  {name}")
    if found["silent_until"]:
        console.note(f"The model does not answer; it is left alone until {found['silent_until']:%H:%M} UTC.")
    if found["spent"]:
        console.table(("project", "use", "model", "calls", "tokens", "USD"), list(_rows(found["spent"])))
    if found["model"] and not found["price_known"]:
        console.note("The price of this model is not known: only tokens are capped. The setting `prices` tells it.")


def _words(account: dict[str, Any], form: str) -> str:
    spent, cap, left = (form.format(account[name]) for name in ("spent", "cap", "left"))
    return f"{spent} of {cap}, {left} left"


def _rows(spent: Iterable[Spending]) -> Iterable[tuple[str, ...]]:
    for row in spent:
        tokens = f"{row.input + row.output:,}"
        yield row.project or "-", row.use, row.model, f"{row.calls:,}", tokens, f"{row.usd:.4f}"
