"""`recollect insights`: what was kept, asked, run and spent in the last days, in figures with bars."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields, is_dataclass
from typing import TYPE_CHECKING, Any

from recollect.cli.opening import find_place, open_place
from recollect.cli.wording import counted
from recollect.errors import InvalidInput

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    from recollect.cli.output import Output
    from recollect.pipeline.insights import Insights

_BAR, _NAME, _FIGURE, _LINE = 24, 24, 12, 48
_FILES = 10_000  # of agents' files that are looked at: here nobody waits for a page
_LEAST = 0.005  # USD that are worth a line
_STEPS = "▁▂▃▄▅▆▇█"


def configure(parser: ArgumentParser) -> None:
    parser.add_argument("--days", default="30", metavar="N", help="of the last N days, today included (30)")
    parser.add_argument("--agent", metavar="NAME", help="of the sessions of one agent: claude, codex, …")


def run(args: Namespace, console: Output) -> int:
    from recollect.clock import now
    from recollect.pipeline.insights import gather

    if not (args.days.isascii() and args.days.isdigit()):
        raise InvalidInput(f"--days {args.days[:20]!r} is not a number of days", hint="For example --days 90.")
    place = find_place(args, everywhere=True)
    named = {"project": place.scope.project, "agent": args.agent}
    with open_place(place._replace(scope=place.scope.within(None))) as memory:
        days = min(int(args.days[:6]), 100_000)
        found = gather(memory.store, memory.scope, memory.settings, now(), days, whole=True, files=_FILES, **named)
    if console.json:
        console.document({"insights": _named(found)})
    else:
        _show(found, console)
    return 0


def _show(found: Insights, console: Output) -> None:
    where = "".join(f", {name}" for name in (found.project, found.agent) if name)
    console.line((f"The last {counted(found.days, 'days')}{where}", "bold"), f"; days in UTC, to {found.bars[-1]}")
    _kept(found, console)
    console.heading("Sessions by agent")
    _series(found.sessions, console, "No session began in these days.")
    if found.outcomes:
        console.line("  " + ", ".join(f"{name} {number:,}" for name, number in found.outcomes.items()))
    if found.mean_health is not None:
        console.heading("Health of sessions, out of 100")
        _bars([(name, mean, f"{mean:.0f}") for name, mean in found.agents_health.items()], console, top=100.0)
    if found.coverage:
        console.heading("Turns in agents' files, and stored")
        due = [(one.flavor, one.stored, one.turns - one.kept_out) for one in found.coverage if one.turns]
        _bars([(name, 100 * n / max(1, all_), f"{n:,} of {all_:,}") for name, n, all_ in due], console, top=100.0)
    _spent(found, console)
    _room(found, console)


def _kept(found: Insights, console: Output) -> None:
    console.heading("Memories by kind")
    _series(found.memories, console, "No memory is of these days.")
    tags = list(found.newest.tags.items())[:10]
    if tags:
        console.line("  tags: " + ", ".join(f"{name} {number}" for name, number in tags))
    console.heading("Asked")
    recalls, abstained = sum(one.recalls for one in found.recalls), sum(one.abstained for one in found.recalls)
    if recalls:
        answered = [float(one.recalls - one.abstained) for one in found.recalls]
        silent = [float(one.abstained) for one in found.recalls]
        _series({"answered": answered, "abstained": silent}, console, "")
        given = counted(sum(one.memories for one in found.recalls), "memories")
        console.line(f"  {counted(recalls, 'questions')}, {abstained:,} without an answer; {given} given back")
    else:
        console.line("  Nothing was asked in these days, or not since this is counted.")


def _spent(found: Insights, console: Output) -> None:
    costs = found.costs
    console.heading("Tokens by agent")
    _series(costs.tokens, console, "Nothing is known of what sessions of these days took.")
    if costs.total.requests:
        parts = ", ".join(f"{name} {number:,}" for name, number in costs.kinds.items())
        console.line(f"  {costs.total.tokens:,} in {counted(costs.total.requests, 'requests')}: {parts}")
    if costs.total.priced:
        console.heading("USD by agent")
        _series(costs.usd, console, "", form="{:,.2f}")
        for title, shares in (("by project", costs.projects), ("by model", costs.models)):
            console.line((f"  {title}", "dim"))
            _bars([(one.name, one.usd, f"{one.usd:,.2f}") for one in shares if one.usd >= _LEAST], console)
        unknown = costs.total.requests - costs.total.priced
        if unknown:
            console.line(f"  {counted(unknown, 'requests')} have no known price, and are not in it.")


def _room(found: Insights, console: Output) -> None:
    kept, budget = found.kept, found.budget
    console.heading("What Recollect takes itself")
    rows: list[tuple[str, float, float, str]] = [
        ("tokens today", budget.tokens_today, budget.tokens_cap, "{:,.0f}"),
        ("USD today", budget.usd_today, budget.usd_cap, "{:,.2f}"),
        ("bodies, MB", kept.storage.body_bytes / 1e6, kept.raw_soft_cap / 1e6, "{:,.1f}"),
    ]
    if kept.database is not None:
        rows.append(("database, MB", kept.database / 1e6, kept.distilled_cap / 1e6, "{:,.1f}"))
    shares = [
        (name, 100 * used / cap if cap else 0.0, f"{form.format(used)} of {form.format(cap)}")
        for name, used, cap, form in rows
    ]
    _bars(shares, console, top=100.0)
    if budget.uses:
        used = [(one.use, one.model, f"{one.calls:,}", f"{one.tokens:,}", f"{one.usd:.4f}") for one in budget.uses]
        console.table(("for", "model", "calls", "tokens", "USD"), used)
    tiers = [(one.tier, f"{one.documents:,}", f"{one.pending:,}") for one in kept.storage.tiers]
    console.table(("tier", "documents", "wait for a vector"), tiers)
    if found.tasks:
        console.table(("task", "state", "how many"), [(one.kind, one.state, f"{one.tasks:,}") for one in found.tasks])


# -- bars --------------------------------------------------------------------------------------------------------------


def _series(series: Mapping[str, Sequence[float]], console: Output, empty: str, form: str = "{:,.0f}") -> None:
    """A bar a name for all days together, and the days in one line."""
    totals = [(name, sum(values), form.format(sum(values))) for name, values in series.items()]
    if not totals:
        console.line(f"  {empty}")
        return
    _bars(totals, console, {name: _spark(values, console) for name, values in series.items()})


def _bars(
    rows: Iterable[tuple[str, float, str]],
    console: Output,
    sparks: Mapping[str, str] | None = None,
    top: float | None = None,
) -> None:
    rows = list(rows)
    longest = top or max((value for _, value, _ in rows), default=0.0) or 1.0
    full, empty = ("█", "░") if console.fancy else ("#", ".")
    for name, value, figure in rows:
        length = max(0, min(_BAR, round(value / longest * _BAR)))
        shown = name if len(name) <= _NAME else f"…{name[1 - _NAME :]}"
        line = f"  {shown:<{_NAME}} {full * length}{empty * (_BAR - length)} {figure:>{_FIGURE}}"
        console.line(line + (f"  {sparks[name]}" if sparks and sparks.get(name) else ""))


def _spark(values: Sequence[float], console: Output) -> str:
    """The days in one line, where it can be shown: a step a day, the tallest is the most there was."""
    most = max(values, default=0.0)
    if not console.fancy or most <= 0:
        return ""
    return "".join(" " if not value else _STEPS[min(7, int(value / most * 7.999))] for value in values[-_LINE:])


def _named(value: Any) -> Any:
    """Figures by their names, for JSON."""
    if is_dataclass(value) and not isinstance(value, type):
        return {item.name: _named(getattr(value, item.name)) for item in fields(value)}
    if isinstance(value, Mapping):
        return {name: _named(item) for name, item in value.items()}
    if isinstance(value, tuple):
        known = getattr(value, "_asdict", None)
        return _named(known()) if known is not None else [_named(item) for item in value]
    return value
