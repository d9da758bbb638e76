"""What narrows a search: how many memories there are of each kind, project, agent, trust and tag; and what is on.

In: what is asked for, and the counts of what fits it. Out: facets and chips with the addresses that switch them. A
number beside a value is what a click finds: of a facet that is on, the others are counted as if it were off.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

from recollect.store.ports.stats import Facets
from recollect.web.asking import Links, Wanted
from recollect.web.paths import project_label

SHOWN = 8  # values of one facet, those there are most of; the rest is folded
_LABEL = 27  # characters of a value that have room
_TITLES = {"kinds": "Kind", "projects": "Project", "agents": "Agent", "trusts": "Trust", "tags": "Tag"}
_BEFORE = {"kinds": "", "projects": "project ", "agents": "agent ", "trusts": "trust ", "tags": "#"}
_FLAGS = {"pinned": "pinned", "archived": "with archived", "history": "with superseded", "forgotten": "forgotten"}


class Value(NamedTuple):
    """One value of a facet: how many memories have it, and where it is switched on or off."""

    name: str
    label: str
    number: int
    address: str
    on: bool


class Facet(NamedTuple):
    """What memories can be narrowed by: the values shown, and those folded away."""

    title: str
    values: list[Value]
    rest: list[Value]


def facets_of(asked: Wanted, counted: Facets, count: Callable[[Wanted], Facets]) -> list[Facet]:
    """Every facet that has a value; `counted` is of all that is asked for, `count` counts for something else."""
    links, made = Links(asked), []
    for facet, title in _TITLES.items():
        on: tuple[str, ...] = getattr(asked, facet)
        counts: Mapping[str, int] = getattr(count(asked.but(**{facet: ()})) if on else counted, facet)
        values = [_value(name, counts, asked.without(facet, name), on=True) for name in on]
        values += [_value(name, counts, links.to(facet, name), on=False) for name in counts if name not in on]
        most = max(SHOWN, len(on))
        made.append(Facet(title, values[:most], values[most:]))
    return [facet for facet in made if facet.values]


def _value(name: str, counts: Mapping[str, int], address: str, *, on: bool) -> Value:
    return Value(name, project_label(name, _LABEL), counts.get(name, 0), address, on)


def chips_of(asked: Wanted) -> list[tuple[str, str]]:
    """What narrows it now, in words, each with the address without it."""
    chips = [
        (f"{before}{value}", asked.without(facet, value))
        for facet, before in _BEFORE.items()
        for value in getattr(asked, facet)
    ]
    single = (("since", "since {}"), ("until", "until {}"))
    chips += [
        (told.format(value), asked.address(**{name: ""})) for name, told in single if (value := getattr(asked, name))
    ]
    return chips + [(told, asked.address(**{name: False})) for name, told in _FLAGS.items() if getattr(asked, name)]
