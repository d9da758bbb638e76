"""Wishes that repeat in other words: pairs of words that people keep asking for together.

`do meaningful commits` and `put it in meaningful commits` share two words that hardly stand together by chance. Such
pairs are counted over tasks; those that hold together, and are in more tasks than other signals need (two words meet by
chance sooner than two errors), are groups. All of a group want the same done (`doing`), and its wording is one that was
itself said that often. Pairs that stand in nearly the same sessions and share a word are one wish.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from itertools import combinations

from recollect.learn.doing import STEERING
from recollect.learn.groups import Group
from recollect.learn.values import Signal
from recollect.learn.wishes import GENERIC, OWN_COMMAND

_HOLDS = 0.4  # share of the tasks with the rarer word in which both stand together
_OVERLAP = 0.6  # of the tasks of the smaller pair, that makes two pairs one wish
_WORDINGS = 50  # that are tried as the one to be shown: those of the fewest words
_KINDS = ("instruction_repeated", "correction")
_EMPTY = GENERIC | STEERING
Pair = tuple[str, str]


def wish_groups(signals: list[Signal], roots: Mapping[str, str], min_frequency: int) -> list[Group]:
    """Groups of wishes that were made in more than `min_frequency` tasks."""
    found: list[Group] = []
    for kind in _KINDS:
        of_kind = [one for one in signals if one.kind == kind and not one.key.startswith(OWN_COMMAND)]
        found += _groups(kind, of_kind, roots, min_frequency)
    return found


def _groups(kind: str, signals: list[Signal], roots: Mapping[str, str], min_frequency: int) -> list[Group]:
    words: dict[str, set[str]] = defaultdict(set)
    pairs: dict[Pair, list[Signal]] = defaultdict(list)
    for one in signals:
        said = one.key.split()
        for word in said:
            words[word].add(roots[one.session])
        for pair in combinations(said, 2):
            if not _EMPTY.issuperset(pair):
                pairs[pair].append(one)
    for pair, said_of in pairs.items():
        pairs[pair] = _agreeing(said_of, roots)
    tasks = {pair: {roots[one.session] for one in found} for pair, found in pairs.items()}
    kept = [
        pair
        for pair, where in tasks.items()
        if len(where) > min_frequency and len(where) >= _HOLDS * min(len(words[pair[0]]), len(words[pair[1]]))
    ]
    made = [_group(kind, every, pairs) for every in _together(kept, tasks, pairs)]
    return [one for one in made if _often_said(one.signals, roots) > min_frequency]


def _agreeing(signals: list[Signal], roots: Mapping[str, str]) -> list[Signal]:
    """Of wishes with the same words those that want the same done, as most tasks do."""
    ways: dict[str, list[Signal]] = defaultdict(list)
    for one in signals:
        ways[_way(one)].append(one)
    return min(ways.items(), key=lambda item: (-len({roots[one.session] for one in item[1]}), item[0]))[1]


def _way(signal: Signal) -> str:
    return signal.detail.get("doing", "")


def _often_said(signals: list[Signal], roots: Mapping[str, str]) -> int:
    """In how many tasks the wording that is shown was said."""
    shown = set(wording_of(signals).key.split())
    return len({roots[one.session] for one in signals if shown <= set(one.key.split())})


def wording_of(signals: Sequence[Signal]) -> Signal:
    """The wish that says best what all of them want: the one whose words most of them have; of equals the shortest."""
    words = [frozenset(one.key.split()) for one in signals]
    fewest = sorted(dict.fromkeys(words), key=lambda key: (len(key), sorted(key)))[:_WORDINGS]
    said = {key: sum(key <= other for other in words) for key in fewest}
    known = [one for one, key in zip(signals, words, strict=True) if key in said]
    return min(
        known,
        key=lambda one: (-said[frozenset(one.key.split())], len(one.statement), one.at, one.session, one.statement),
    )


def _together(kept: list[Pair], tasks: Mapping[Pair, set[str]], pairs: Mapping[Pair, list[Signal]]) -> list[list[Pair]]:
    """Pairs that are one wish, each list in the order in which they were first said."""
    order = sorted(kept, key=lambda pair: (pairs[pair][0].at, pair))
    by_word: dict[str, list[Pair]] = defaultdict(list)
    for pair in order:
        for word in pair:
            by_word[word].append(pair)
    home: dict[Pair, Pair] = {}
    lists: dict[Pair, list[Pair]] = {}
    for pair in order:
        near = (other for word in pair for other in by_word[word] if other in home)
        alike = (other for other in near if _way(pairs[other][0]) == _way(pairs[pair][0]))
        same = next((other for other in alike if _overlap(tasks[pair], tasks[other]) >= _OVERLAP), None)
        home[pair] = home[same] if same is not None else pair
        lists.setdefault(home[pair], []).append(pair)
    return list(lists.values())


def _overlap(left: set[str], right: set[str]) -> float:
    return len(left & right) / min(len(left), len(right))


def _group(kind: str, every: list[Pair], pairs: Mapping[Pair, list[Signal]]) -> Group:
    signals = {(one.session, one.key): one for pair in every for one in pairs[pair]}
    first, *others = [" ".join(pair) for pair in every]
    return Group(kind, first, list(signals.values()), set(others))
