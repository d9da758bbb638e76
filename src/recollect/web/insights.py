"""Insights as plots: figures by day come in, panels go out, each with a title, a plot, a legend and its table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date
from typing import NamedTuple

from markupsafe import Markup

from recollect.pipeline.insights import OTHERS, Insights, Share
from recollect.text import one_line
from recollect.web import plots
from recollect.web.daily import columns
from recollect.web.pricing import unpriced
from recollect.web.templating import count, money, size

_SERIES = plots.COLOURS  # colours that can be told apart
_TAGS = 10
_LEAST = 0.01  # USD that are worth a bar
_NAME = 38  # characters of a name above a bar

Rows = Sequence[Sequence[str]]


class Panel(NamedTuple):
    """One plot with what explains it."""

    name: str  # in the address, behind #
    title: str
    plot: Markup | None  # None: there is nothing to show
    headings: Sequence[str]
    rows: Rows
    legend: Markup = Markup("")
    note: str = ""
    empty: str = ""


class Meter(NamedTuple):
    """How much of what may be used is."""

    name: str
    used: float
    cap: float
    told: str

    @property
    def share(self) -> float:
        return min(1.0, self.used / self.cap) if self.cap else float(self.used > 0)


def tiles(found: Insights) -> list[tuple[str, str, str]]:
    """The few figures that say most: name, figure, what stands below it."""
    recalls = sum(one.recalls for one in found.recalls)
    silent = _percent(sum(one.abstained for one in found.recalls), recalls)
    cost = found.costs.total
    return [
        ("Memories made", count(_sum(found.memories)), "that hold now"),
        ("Asked", count(recalls), f"{silent} without an answer" if recalls else "not counted yet"),
        ("Sessions", count(_sum(found.sessions)), _outcome(found.outcomes)),
        (
            "Health of sessions",
            "–" if found.mean_health is None else f"{found.mean_health:.0f}",
            "out of 100, on average",
        ),
        ("Turns stored", _covered(found), "of those in agents’ files"),
        ("Tokens", short(cost.tokens), f"{count(cost.requests)} requests"),
        ("Money", money(cost.usd) if cost.priced else "–", _priced(cost)),
    ]


def narrowed(found: Insights) -> str:
    """What was chosen, and which figures it narrows; nothing when all is shown."""
    if not found.agent and not found.project:
        return ""
    told = " in ".join(one_line(name, _NAME) for name in (found.agent, found.project) if name)
    kept = "Questions and room are of all projects and agents."
    if not found.agent:
        return f"Only {told}: memories, sessions, their health and coverage, tokens and money. {kept}"
    also = f"Memories are of all agents{' in this project' if found.project else ''}."
    return f"Only {told}: sessions, their health and coverage, tokens and money. {also} {kept}"


def panels(found: Insights) -> dict[str, Panel]:
    """Every plot of the page, by name."""
    made = (
        _memories(found),
        _tags(found),
        _recalls(found),
        _sessions(found),
        _health(found),
        _tokens(found),
        _usd(found),
        _shares("projects", "By project", found.costs.projects, "Project"),
        _shares("models", "By model", found.costs.models, "Model"),
        _coverage(found),
        _budget(found),
    )
    return {panel.name: panel for panel in made}


def meters(found: Insights) -> list[Meter]:
    """Storage and today's budget against their caps."""
    kept, budget = found.kept, found.budget
    made = []
    if kept.database is not None:
        told = f"{size(kept.database)} of {size(kept.distilled_cap)}"
        made.append(Meter("Database", kept.database, kept.distilled_cap, told))
    raw = kept.storage.body_bytes
    told = f"{size(raw)} of {size(kept.raw_soft_cap)}, at most {size(kept.raw_hard_cap)}"
    made.append(Meter("Bodies beside it", raw, kept.raw_soft_cap, told))
    made.append(
        Meter(
            "Language models today, tokens",
            budget.tokens_today,
            budget.tokens_cap,
            f"{count(budget.tokens_today)} of {count(budget.tokens_cap)}",
        )
    )
    made.append(
        Meter(
            "Language models today, money",
            budget.usd_today,
            budget.usd_cap,
            f"{money(budget.usd_today)} of {money(budget.usd_cap)}",
        )
    )
    return made


# -- the plots ---------------------------------------------------------------------------------------------------------


def _memories(found: Insights) -> Panel:
    return _by_day("memories", "Memories by kind", found, found.memories, empty="No memory is of these days.")


def _recalls(found: Insights) -> Panel:
    series = {
        "answered": tuple(float(one.recalls - one.abstained) for one in found.recalls),
        "abstained": tuple(float(one.abstained) for one in found.recalls),
    }
    return _by_day(
        "recalls",
        "How often it was asked",
        found,
        series if _sum(series) else {},
        note="Questions by commands, tools and programs, in all projects; it abstains when nothing is close enough.",
        empty="Nothing was asked in these days, or not since this is counted.",
    )


def _sessions(found: Insights) -> Panel:
    return _by_day("sessions", "Sessions by agent", found, found.sessions, empty="No session began in these days.")


def _tokens(found: Insights) -> Panel:
    return _by_day(
        "tokens",
        "Tokens by agent",
        found,
        found.costs.tokens,
        note="Of them " + ", ".join(f"{short(number)} {name}" for name, number in found.costs.kinds.items()) + ".",
        empty="Nothing is known of what sessions of these days took.",
    )


def _usd(found: Insights) -> Panel:
    total = found.costs.total
    unknown = total.requests - total.priced
    hosted = found.kept.database is None
    why = unpriced([one.name for one in found.costs.models if one.priced < one.requests], hosted=hosted)
    note = f"{count(unknown)} of {count(total.requests)} requests are not in it. {why}" if unknown else ""
    return _by_day(
        "usd", "Money by agent, in USD", found, found.costs.usd, note=note, empty=why or "Nothing is known of costs."
    )


def _budget(found: Insights) -> Panel:
    series = found.budget.usd
    return _by_day(
        "budget",
        "What Recollect’s own language model was paid, in USD",
        found,
        series if _sum(series) else {},
        empty="Nothing was spent: without a language model all is done by rules.",
    )


def _health(found: Insights) -> Panel:
    series = _few_lines(found.weekly_health)
    rows = [
        (f"week from {day}", *("–" if each[place] is None else f"{each[place]:.0f}" for each in series.values()))
        for place, day in enumerate(found.weeks)
        if any(each[place] is not None for each in series.values())
    ]
    return Panel(
        "health",
        "Health of sessions, week by week",
        plots.lines([_label(day) for day in found.weeks], series, "Mean health of sessions by week", top=100.0)
        if series
        else None,
        ("Week", *series),
        rows,
        plots.legend(series) if series else Markup(""),
        "100 less what went wrong: failures, retries, corrections, errors left open. For comparing many sessions.",
        "No session of these days has a digest.",
    )


def _tags(found: Insights) -> Panel:
    tags = list(found.newest.tags.items())
    rows = [plots.Bar(name, ((0, float(number)),), count(number)) for name, number in tags[:_TAGS]]
    return Panel(
        "tags",
        "Tags used most",
        plots.bars(rows, "Memories by tag") if rows else None,
        ("Tag", "Memories"),
        [(name, count(number)) for name, number in tags],
        note=f"Of the newest {count(found.newest.memories)} memories." if rows else "",
        empty="No memory of these days has a tag.",
    )


def _shares(name: str, title: str, shares: Sequence[Share], heading: str) -> Panel:
    """What each took: by money where prices are known, else by tokens."""
    priced = any(one.usd > 0 for one in shares)
    rows = [
        plots.Bar(
            _tail(one.name),
            ((0, one.usd if priced else float(one.tokens)),),
            money(one.usd) if priced else short(one.tokens),
        )
        for one in shares
        if not priced or one.usd >= _LEAST
    ]
    return Panel(
        name,
        f"{title}, in {'USD' if priced else 'tokens'}",
        plots.bars(rows, title) if rows else None,
        (heading, "USD", "Tokens", "Requests"),
        [(one.name, money(one.usd) if one.priced else "–", count(one.tokens), count(one.requests)) for one in shares],
        note="The table has those without a price too, and their tokens." if priced else "",
        empty="Nothing is known of what sessions of these days took.",
    )


def _coverage(found: Insights) -> Panel:
    rows = [
        plots.Bar(
            one.flavor,
            ((2, float(one.stored)), (7, float(one.kept_out)), (1, float(max(0, one.missing)))),
            f"{count(one.stored)} of {count(one.turns)}",
        )
        for one in found.coverage
        if one.turns
    ]
    files = sum(one.files for one in found.coverage)
    names = [(2, "stored"), (7, "kept out on purpose"), (1, "missing")]
    return Panel(
        "coverage",
        "Turns in agents’ files, and which are stored",
        plots.bars(rows, "Coverage by agent") if rows else None,
        ("Agent", "Files", "Turns", "Stored", "Kept out", "Missing"),
        [
            (one.flavor, *map(count, (one.files, one.turns, one.stored, one.kept_out, max(0, one.missing))))
            for one in found.coverage
        ],
        plots.legend((name for _, name in names), [colour for colour, _ in names]) if rows else Markup(""),
        f"Of the newest {count(files)} files." if rows else "",
        "No agent’s file of these days was read.",
    )


# -- small things ------------------------------------------------------------------------------------------------------


def _by_day(
    name: str, title: str, found: Insights, series: Mapping[str, Sequence[float]], *, note: str = "", empty: str = ""
) -> Panel:
    few = _few(series)
    labels = [_label(day) for day in found.bars]
    rows = [
        (_day(day, found), *(_figure(values[place]) for values in few.values()))
        for place, day in enumerate(found.bars)
        if any(values[place] for values in few.values())
    ]
    return Panel(
        name,
        title,
        columns(labels, few, title) if few else None,
        (_step(found), *few),
        rows,
        plots.legend(few) if few else Markup(""),
        note if few else "",
        empty,
    )


def _few(series: Mapping[str, Sequence[float]]) -> dict[str, Sequence[float]]:
    """As many series as there are colours: the largest by name, the others together."""
    if len(series) <= _SERIES:
        return dict(series)
    kept = set(sorted(series, key=lambda name: -sum(series[name]))[: _SERIES - 1])
    rest = [values for name, values in series.items() if name not in kept]
    return {
        **{name: values for name, values in series.items() if name in kept},
        OTHERS: [sum(figures) for figures in zip(*rest, strict=True)],
    }


def _few_lines(series: Mapping[str, Sequence[float | None]]) -> dict[str, Sequence[float | None]]:
    """Of lines, those that tell of most days."""
    order = sorted(series, key=lambda name: (sum(value is None for value in series[name]), name))
    return {name: series[name] for name in sorted(order[:_SERIES])}


def _tail(name: str) -> str:
    """The end of a long name: of a path it tells most."""
    name = one_line(name)
    return name if len(name) <= _NAME else f"…{name[1 - _NAME :]}"


def _label(day: str) -> str:
    at = date.fromisoformat(day)
    return f"{at:%b} {at.day}"


def _day(day: str, found: Insights) -> str:
    return day if found.step == 1 else f"week from {day}"


def _step(found: Insights) -> str:
    return "Day" if found.step == 1 else "Week"


def _sum(series: Mapping[str, Sequence[float]]) -> float:
    return sum(sum(values) for values in series.values())


def _figure(value: float) -> str:
    return f"{value:,.0f}" if value == int(value) else f"{value:,.4f}" if value < 1 else f"{value:,.2f}"


def short(number: float) -> str:
    """A large number in few characters."""
    for unit, letter in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(number) >= unit:
            return f"{number / unit:.3g}{letter}"
    return f"{number:.0f}"


def _percent(part: float, whole: float) -> str:
    return f"{100 * part / whole:.0f} %" if whole else "–"


def _covered(found: Insights) -> str:
    due = sum(one.turns - one.kept_out for one in found.coverage)
    return f"{100 * sum(one.stored for one in found.coverage) / due:.4g} %" if due else "–"


def _outcome(outcomes: Mapping[str, int]) -> str:
    known = {name: number for name, number in outcomes.items() if name in ("success", "fail")}
    return ", ".join(f"{count(number)} {name}" for name, number in known.items()) or "began in these days"


def _priced(cost: Share) -> str:
    if not cost.requests:
        return "nothing is known"
    if not cost.priced:
        return "no price is known"
    return "all requests" if cost.priced == cost.requests else f"{_percent(cost.priced, cost.requests)} of the requests"
