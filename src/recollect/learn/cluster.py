"""Signals of many sessions as candidates: what has the same key is one, and what says nearly the same is merged.

A candidate needs evidence from several tasks (`evidence`: a session and those that worked for it are one). Its id
depends on its kind and its key alone, so it is the same in every run and when sessions are added; where several keys
were found to be one thing, the one that was seen first names it, and the others are its aliases. The order of the
signals does not matter, and the work grows with their number.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence

from recollect.ids import stable_key
from recollect.learn.evidence import proven
from recollect.learn.groups import Group
from recollect.learn.values import MAX_EXAMPLES, Candidate, Signal, Waste
from recollect.learn.wishclusters import wish_groups
from recollect.learn.wishes import OWN_COMMAND
from recollect.learn.wording import rule_of, statement_of

MIN_FREQUENCY = 3
LIKENESS = 0.86  # cosine at which two statements say the same
_WISHES = ("instruction_repeated", "correction")
_MAIN = ("error_repeated", "rediscovery", "red_green")  # a detour on the way over one of these is part of it
_RARE = 5  # groups that may share a word that tells them apart
_SAME = 0.75  # share of words that makes two shapes the same
_FEWEST_WORDS = 5
Likeness = Callable[[str, str], float]


def candidate_id(kind: str, key: str) -> str:
    """The id of what has this kind and key, in every run."""
    return stable_key("pattern", kind, key)[:16]


def candidates_of(
    signals: Iterable[Signal],
    *,
    min_frequency: int = MIN_FREQUENCY,
    parents: Mapping[str, str] | None = None,
    likeness: Likeness | None = None,
) -> list[Candidate]:
    """The candidates, in the order of their ids."""
    every = sorted(signals, key=lambda one: (one.at, one.session, one.kind, one.key, one.statement))
    roots = roots_of(every, parents or {})
    groups = [*_by_key(every), *wish_groups(every, roots, min_frequency)]
    found = (proven(group, roots, min_frequency) for group in _merged(groups, likeness))
    made = [_candidate(group) for group in found if group is not None]
    return sorted(made, key=lambda one: one.id)


def _by_key(signals: list[Signal]) -> list[Group]:
    found: dict[tuple[str, str], Group] = {}
    detours = []
    for one in signals:
        if one.kind in _WISHES and not one.key.startswith(OWN_COMMAND):
            continue
        if one.kind == "detour":
            detours.append(one)
        else:
            found.setdefault((one.kind, one.key), Group(one.kind, one.key)).signals.append(one)
    for one in detours:
        home = next((found[kind, one.key] for kind in _MAIN if (kind, one.key) in found), None)
        if home is None:
            found.setdefault((one.kind, one.key), Group(one.kind, one.key)).signals.append(one)
    return list(found.values())


def _merged(groups: list[Group], likeness: Likeness | None) -> list[Group]:
    """Groups of one kind whose keys are nearly the same, as one; named by the one that was seen first."""
    shared: dict[str, list[int]] = defaultdict(list)
    words = [frozenset(group.key.split()) if group.kind == "error_repeated" else frozenset() for group in groups]
    for number, found in enumerate(words):
        if len(found) >= _FEWEST_WORDS:
            for word in found:
                shared[word].append(number)
    into: dict[int, int] = {}
    for word in sorted(shared):
        near = shared[word]
        if len(near) > _RARE:
            continue
        for at, left in enumerate(near):
            for right in near[at + 1 :]:
                if _top(into, left) != _top(into, right) and _alike(groups, words, left, right, likeness):
                    into[max(_top(into, left), _top(into, right))] = min(_top(into, left), _top(into, right))
    for number in sorted(into, reverse=True):
        home, gone = groups[_top(into, number)], groups[number]
        home.signals += gone.signals
        home.others |= {gone.key} | gone.others
    return [group for number, group in enumerate(groups) if number not in into]


def _top(into: Mapping[int, int], number: int) -> int:
    while number in into:
        number = into[number]
    return number


def _alike(groups: list[Group], words: list[frozenset[str]], left: int, right: int, likeness: Likeness | None) -> bool:
    shared = len(words[left] & words[right]) / len(words[left] | words[right])
    if shared >= _SAME:
        return True
    return likeness is not None and shared >= _SAME / 2 and likeness(groups[left].key, groups[right].key) >= LIKENESS


def _candidate(group: Group) -> Candidate:
    signals = sorted(group.signals, key=lambda one: (one.at, one.session, one.key, one.statement))
    flavors = tuple(sorted({one.flavor for one in signals}))
    return Candidate(
        id=candidate_id(group.kind, group.key),
        kind=group.kind,
        key=group.key,
        statement=statement_of(group.kind, group.key, signals),
        rule=rule_of(group.kind, group.key, signals),
        trust=_trust(signals),
        signals=sum(one.count for one in signals),
        sessions=tuple(sorted({one.session for one in signals})),
        flavors=flavors,
        projects=tuple(sorted({one.project for one in signals if one.project})),
        first_seen=signals[0].at,
        last_seen=signals[-1].at,
        waste=sum((one.cost for one in signals), Waste()),
        cross_flavor=len(flavors) > 1,
        examples=_examples(signals),
        aliases=tuple(sorted(candidate_id(group.kind, key) for key in group.others - {group.key})),
    )


def _trust(signals: list[Signal]) -> str:
    """As most of the signals are vouched for."""
    people = sum(one.origin == "user" for one in signals)
    vouched = people + sum(one.origin == "outcome" for one in signals)
    if 2 * people >= len(signals):
        return "user"
    return "outcome" if 2 * vouched >= len(signals) else "observed"


def _examples(signals: list[Signal]) -> tuple[Signal, ...]:
    """A few, of as many agents and sessions as there are, the newest first."""
    chosen: list[Signal] = []
    seen: set[str] = set()
    newest = sorted(signals, key=lambda one: (one.at, one.session, one.key), reverse=True)
    for one in newest:
        if one.flavor not in seen:
            seen.add(one.flavor)
            chosen.append(one)
    for one in newest:
        if one.session not in {other.session for other in chosen}:
            chosen.append(one)
    return tuple(chosen[:MAX_EXAMPLES])


def roots_of(signals: Sequence[Signal], parents: Mapping[str, str]) -> dict[str, str]:
    """For each session the task it belongs to: itself, or the first of those it worked for."""
    above = {one.session: one.root for one in signals if one.root != one.session} | dict(parents)
    found = {}
    for one in signals:
        top, seen = one.session, {one.session}
        while top in above and above[top] not in seen:
            top = above[top]
            seen.add(top)
        found[one.session] = top
    return found
