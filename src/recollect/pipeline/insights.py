"""Insights: what a memory kept, was asked, saw run and what that cost, in figures by day.

A store and a stretch of days come in, one `Insights` goes out: every list in it is bounded, and every series has one
figure for each bar of a plot. The web page and `recollect insights` show the same figures.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import NamedTuple

from recollect.errors import InvalidInput
from recollect.model import KINDS, Scope, check_id
from recollect.settings import Settings
from recollect.store.port import Store
from recollect.store.ports.distill import Spending
from recollect.store.ports.insights import (
    FILES,
    FlavorCoverage,
    Names,
    Newest,
    RecallDay,
    SessionDay,
    Storage,
    Taken,
    TaskCount,
    Window,
)

DAYS, LONGEST = 30, 730
BARS = 45  # more days than this are told by the week
_WEEK = 7
_MOST = 12  # projects and models that are told by name
OTHERS = "others"
NO_PROJECT = "no project"

Series = Mapping[str, tuple[float, ...]]  # a name -> one figure for each bar


class Share(NamedTuple):
    """What one project, model or agent took of the whole."""

    name: str
    tokens: int
    usd: float
    requests: int
    priced: int


class Use(NamedTuple):
    """What language models of ours were asked for one use."""

    use: str
    model: str
    calls: int
    tokens: int
    usd: float


@dataclass(frozen=True, slots=True)
class Costs:
    """What agents' requests took, where that is known."""

    tokens: Series  # by agent
    usd: Series  # by agent
    kinds: Mapping[str, int]  # tokens by what they were: input, cache read, cache write, output
    total: Share
    agents: tuple[Share, ...]
    projects: tuple[Share, ...]
    models: tuple[Share, ...]


@dataclass(frozen=True, slots=True)
class Budget:
    """What language models of ours were paid, on what, and what of today's caps is left."""

    usd: Series  # by use
    uses: tuple[Use, ...]
    tokens_today: int
    usd_today: float
    tokens_cap: int
    usd_cap: float


@dataclass(frozen=True, slots=True)
class Kept:
    """What the memory takes against what it may."""

    storage: Storage
    database: int | None  # bytes of the whole store; None: not for whoever asks
    distilled_cap: int
    raw_soft_cap: int
    raw_hard_cap: int


@dataclass(frozen=True, slots=True)
class Insights:
    """A stretch of days in figures. `bars` are the first days of stretches of `step` days."""

    days: int
    step: int
    since: datetime
    until: datetime
    project: str | None
    agent: str | None
    bars: tuple[str, ...]
    memories: Series  # by kind
    newest: Newest
    recalls: tuple[RecallDay, ...]  # one for each bar
    sessions: Series  # by agent
    outcomes: Mapping[str, int]
    health: Mapping[str, tuple[float | None, ...]]  # by agent, the mean; None: no session with a digest
    weeks: tuple[str, ...]  # the first days of the weeks
    weekly_health: Mapping[str, tuple[float | None, ...]]  # the same, week by week: one day's mean tells little
    mean_health: float | None
    agents_health: Mapping[str, float]  # the mean of each agent's sessions
    coverage: tuple[FlavorCoverage, ...]
    costs: Costs
    budget: Budget
    kept: Kept
    tasks: tuple[TaskCount, ...]
    names: Names


def gather(
    store: Store,
    scope: Scope,
    settings: Settings,
    now: datetime,
    days: int = DAYS,
    *,
    project: str | None = None,
    agent: str | None = None,
    whole: bool = False,
    files: int = FILES,
) -> Insights:
    """The figures of the last days, today included; of one project or agent, where these are told apart.

    `whole`: who asks looks after the store, and is told what all of it takes. `files`: how many of agents' files are
    held against the store.
    """
    if isinstance(days, bool) or not isinstance(days, int) or not 1 <= days <= LONGEST:
        raise InvalidInput(f"insights are of 1 to {LONGEST} days")
    named = None if project is None else check_id(project, "project")
    bars = Bars(now, days)
    weeks = Bars(now, days, _WEEK)
    window = Window(bars.since, bars.until, named, agent, bars.step)
    found = store.insights
    with store.together(scope):
        ran = found.sessions(scope, window)
        return Insights(
            days=days,
            step=bars.step,
            since=bars.since,
            until=bars.until,
            project=named,
            agent=agent,
            bars=bars.names,
            memories=_in_order(
                bars.series((one.day, one.kind, one.memories) for one in found.memories(scope, window)),
                KINDS,
            ),
            newest=found.newest(scope, window),
            recalls=_asked(bars, found.recalls(scope, window)),
            sessions=bars.series((one.day, one.flavor, one.sessions) for one in ran),
            outcomes=_outcomes(ran),
            health=_health(bars, ran),
            weeks=weeks.names,
            weekly_health=_health(weeks, ran),
            mean_health=_mean(ran),
            agents_health=_means(ran),
            coverage=tuple(found.coverage(scope, window, files=files)),
            costs=_costs(bars, found.costs(scope, window)),
            budget=_budget(bars, store.ledger.spent(scope, since=bars.since), settings, now, named),
            kept=Kept(
                found.storage(scope),
                found.database_bytes() if whole else None,
                settings.distilled_cap_bytes,
                settings.raw_soft_cap_bytes,
                settings.raw_hard_cap_bytes,
            ),
            tasks=tuple(found.tasks(scope)),
            names=found.names(scope),
        )


class Bars:
    """The stretches that the figures are told by: days, or weeks when there are many."""

    def __init__(self, now: datetime, days: int, step: int | None = None) -> None:
        self.step = step or (1 if days <= BARS else _WEEK)
        number = -(-days // self.step)
        today = now.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
        self.until = today + timedelta(days=1)
        self.since = self.until - timedelta(days=number * self.step)
        self._first = self.since.date()
        self.names = tuple((self._first + timedelta(days=n * self.step)).isoformat() for n in range(number))

    def place(self, day: str) -> int:
        """Which bar a day belongs to."""
        return (date.fromisoformat(day) - self._first).days // self.step

    def series(self, found: Iterable[tuple[str, str, float]]) -> Series:
        """(day, name, figure) as one series a name, in the order of their names."""
        made: dict[str, list[float]] = {}
        for day, name, figure in found:
            place = self.place(day)
            if 0 <= place < len(self.names):
                made.setdefault(name, [0] * len(self.names))[place] += figure
        return {name: tuple(made[name]) for name in sorted(made)}


def _in_order(series: Series, names: Sequence[str]) -> Series:
    return {name: series[name] for name in names if name in series}


def _asked(bars: Bars, found: Iterable[RecallDay]) -> tuple[RecallDay, ...]:
    made = [RecallDay(name, 0, 0, 0) for name in bars.names]
    for one in found:
        place = bars.place(one.day)
        if 0 <= place < len(made):
            there = made[place]
            made[place] = RecallDay(
                there.day,
                there.recalls + one.recalls,
                there.abstained + one.abstained,
                there.memories + one.memories,
            )
    return tuple(made)


def _outcomes(ran: Iterable[SessionDay]) -> dict[str, int]:
    counted: Counter[str] = Counter()
    for one in ran:
        counted[one.outcome] += one.sessions
    return dict(sorted(counted.items(), key=lambda item: (-item[1], item[0])))


def _health(bars: Bars, ran: Sequence[SessionDay]) -> dict[str, tuple[float | None, ...]]:
    """The mean health of each agent's sessions, bar by bar."""
    points = bars.series((one.day, one.flavor, one.points) for one in ran if one.scored)
    scored = bars.series((one.day, one.flavor, one.scored) for one in ran if one.scored)
    return {
        name: tuple(
            round(total / number, 1) if number else None
            for total, number in zip(points[name], scored[name], strict=True)
        )
        for name in points
    }


def _mean(ran: Iterable[SessionDay], flavor: str | None = None) -> float | None:
    wanted = [one for one in ran if flavor in (None, one.flavor)]
    scored = sum(one.scored for one in wanted)
    return round(sum(one.points for one in wanted) / scored, 1) if scored else None


def _means(ran: Sequence[SessionDay]) -> dict[str, float]:
    means = {name: _mean(ran, name) for name in sorted({one.flavor for one in ran})}
    return {name: mean for name, mean in means.items() if mean is not None}


def _costs(bars: Bars, found: Sequence[Taken]) -> Costs:
    agents, projects, models = ([one for one in found if one.of == of] for of in ("agent", "project", "model"))
    kinds = {
        "input": sum(one.input for one in models),
        "cache read": sum(one.cache_read for one in models),
        "cache write": sum(one.cache_write for one in models),
        "output": sum(one.output for one in models),
    }
    return Costs(
        tokens=bars.series((one.day, one.name, one.tokens) for one in agents),
        usd=bars.series((one.day, one.name, one.usd) for one in agents if one.priced),
        kinds=kinds,
        total=_share("all", models),
        agents=_shares(agents),
        projects=_shares(projects, NO_PROJECT),
        models=_shares(models, "unknown"),
    )


def _share(name: str, found: Sequence[Taken]) -> Share:
    return Share(
        name,
        sum(one.tokens for one in found),
        round(sum(one.usd for one in found), 6),
        sum(one.requests for one in found),
        sum(one.priced for one in found),
    )


def _shares(found: Iterable[Taken], unnamed: str = "") -> tuple[Share, ...]:
    """Who took what, the dearest first; the small ones together."""
    groups: dict[str, list[Taken]] = defaultdict(list)
    for one in found:
        groups[one.name or unnamed].append(one)
    shares = sorted((_share(name, group) for name, group in groups.items()), key=lambda one: (-one.usd, -one.tokens))
    if len(shares) <= _MOST:
        return tuple(shares)
    rest = [one for share in shares[_MOST - 1 :] for one in groups[share.name]]
    return (*shares[: _MOST - 1], _share(OTHERS, rest))


def _budget(bars: Bars, spent: Sequence[Spending], settings: Settings, now: datetime, project: str | None) -> Budget:
    today = now.astimezone(UTC).date().isoformat()
    mine = [one for one in spent if project in (None, one.project)]
    uses: dict[tuple[str, str], Use] = {}
    for one in mine:
        known = uses.get((one.use, one.model), Use(one.use, one.model, 0, 0, 0.0))
        uses[one.use, one.model] = Use(
            *(one.use, one.model, known.calls + one.calls, known.tokens + one.input + one.output),
            round(known.usd + one.usd, 6),
        )
    return Budget(
        usd=bars.series((one.day, one.use, one.usd) for one in mine),
        uses=tuple(sorted(uses.values(), key=lambda one: (-one.usd, -one.tokens, one.use))),
        tokens_today=sum(one.input + one.output for one in spent if one.day == today),
        usd_today=round(sum(one.usd for one in spent if one.day == today), 6),
        tokens_cap=settings.llm_daily_tokens,
        usd_cap=settings.llm_daily_usd,
    )
