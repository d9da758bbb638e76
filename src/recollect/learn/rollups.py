"""What happened in a week, in a month and in all of a project, from the gists of its sessions. No model.

Gists and the roll-ups there are come in; those that are to be made anew, or dropped, go out. Each says which sessions
it covers and how far: as long as none of their gists changed, it stays as it is. A month is made of its gists, chunk by
chunk; the profile of a project is made of its months.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime

from recollect.clock import iso
from recollect.distill.gist import ExtractiveSummarizer, gist_of_gists
from recollect.model import Gist
from recollect.store.ports.relations import Rollup

PROFILE = "profile"
_ANSWER = "The assistant said:"
_PART = re.compile(r"(?<=[.!?…]) (?=The (?:user|assistant) \w+:)")

Place = tuple[str | None, str]  # project and period


def due(gists: Iterable[Gist], there: Sequence[Rollup], now: datetime) -> Iterator[tuple[Place, Rollup | None]]:
    """Every roll-up that must be made anew, and None in the place of one that covers nothing any more."""
    known = {(one.project, one.period): one for one in there}
    wanted = _by_period(gists)
    months: dict[str | None, dict[str, str]] = defaultdict(dict)
    for place in sorted({*wanted, *known}, key=lambda place: (place[0] or "", place[1] == PROFILE, place[1])):
        project, period = place
        found = wanted.get(place, [])
        covers = _covers(found)
        one = known.get(place)
        if not found:
            yield place, None
            continue
        if one is None or dict(one.covers) != covers:
            texts = [_asked(gist.content) for gist in found]
            if period == PROFILE:
                texts = [text for _, text in sorted(months[project].items())]
            content = gist_of_gists(texts, ExtractiveSummarizer())
            one = Rollup(period, content, covers, now, project, ExtractiveSummarizer.name)
            yield place, one
        if _is_month(period):
            months[project][period] = one.content


def _by_period(gists: Iterable[Gist]) -> dict[Place, list[Gist]]:
    """The gists of each period, the oldest first; a session counts where it last went on."""
    found: dict[Place, list[Gist]] = defaultdict(list)
    for gist in sorted(gists, key=lambda one: (one.occurred_at, one.session)):
        if gist.content.strip():
            for period in (*periods_of(gist.occurred_at), PROFILE):
                found[gist.project, period].append(gist)
    return found


def periods_of(moment: datetime) -> tuple[str, str]:
    """The week and the month of a moment, in UTC."""
    year, week, _ = moment.isocalendar()
    return f"{year:04}-W{week:02}", f"{moment:%Y-%m}"


def _asked(gist: str) -> str:
    """A gist without what an assistant said on the way: over many sessions, what people wanted tells more."""
    parts = _PART.split(gist)
    return " ".join(part for part in parts if not part.startswith(_ANSWER)) or parts[0]


def _is_month(period: str) -> bool:
    return period != PROFILE and "W" not in period


def _covers(gists: Iterable[Gist]) -> dict[str, tuple[int, str]]:
    return {gist.session: (gist.covers, iso(gist.created_at)) for gist in gists}


def told_of(rollup: Rollup | None) -> Mapping[str, object]:
    """A roll-up as a step holds it; nothing for none."""
    if rollup is None:
        return {}
    covers = {session: list(upto) for session, upto in rollup.covers.items()}
    return {"content": rollup.content, "covers": covers, "maker": rollup.maker, "made_at": iso(rollup.made_at)}
