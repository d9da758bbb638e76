"""Memories that say the same in other words: which of them stays, and which are merged into it.

Memories come in; pairs go out, each of one that is to be merged and the one that stays. Words decide: the telling words
of both stand in the same order, and names, numbers, limits, denials, duties (may, must, should) and words of how often
or how much are equal. Where vectors are at hand and agree that two mean the same, one may say a little more than the
other. A merged one is always directly like the one that stays, never over a third; both are of one project. What stays
is trusted at least as much, then weightier, more important, newer; nothing about it is changed, so that nobody is
trusted more than before.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import cache
from itertools import combinations
from math import comb

from recollect.distill.values.holding import APART, DISPUTES
from recollect.distill.values.likeness import duties, fixed_words, nearly_same, opposed, telling_words
from recollect.distill.values.sayings import rank_of
from recollect.distill.values.slots import Slot, slot_of
from recollect.model import Memory
from recollect.text import dedup_key

CLOSE = 0.95  # the cosine from which two texts mean the same, when nearly all of their words are the same too
_ONE_IN = 5  # of so many telling words, one more may stand in the other
_WAYS = 30  # of leaving out words that are tried for a text
_FEWEST = 4  # telling words from which that may be
_PATTERN = "pattern"  # in `meta`: a rule that was rolled out, and is taken back by its id
_WEIGHT = {"preference": 3, "decision": 2, "fact": 1, "lesson": 1, "reference": 1}

Cosine = Callable[[str, str], float | None]  # of two memories, by their ids; None: no vector
Pair = tuple[Memory, Memory]  # what is merged, and what stays


def unknown(one: str, other: str) -> float | None:
    """The cosine where there are no vectors."""
    return None


def duplicates(memories: Iterable[Memory], cosine: Cosine = unknown, refused: Collection[Pair] = ()) -> list[Pair]:
    """What is to be merged into what, the weightiest first; never one of `refused`."""
    groups: dict[str | None, list[Memory]] = defaultdict(list)
    for memory in memories:
        if _is_free(memory):
            groups[memory.project].append(memory)
    not_again = {(loser.id, kept.id) for loser, kept in refused}
    return [pair for group in groups.values() for pair in _within(group, cosine, not_again)]


def _is_free(memory: Memory) -> bool:
    """Whether a memory holds, and nobody has to look at it first."""
    ended = (memory.superseded_at, memory.archived_at, memory.deleted_at)
    return all(at is None for at in ended) and not any(memory.meta.get(mark) for mark in (APART, DISPUTES))


def _within(group: list[Memory], cosine: Cosine, not_again: Collection[tuple[str, str]]) -> Iterator[Pair]:
    """The pairs of one project."""
    words = {one.id: telling_words(one.content) for one in group}
    traces = _Traces(group, words)
    for one in sorted(group, key=_worth, reverse=True):
        if not words[one.id]:
            continue
        for kept in sorted(traces.near(one), key=_worth, reverse=True):
            if (one.id, kept.id) not in not_again and _may(one, kept) and _is_same(one, kept, words, cosine):
                yield one, kept
                break
        else:
            traces.keep(one)


class _Traces:
    """Finds the memories that may say the same as one, without holding each against all others.

    The words of the shorter of two all stand in the longer, in their order, and only few others do: so the rarest words
    of the shorter are what is left of the rarest of the longer when as many are left out as it has more. With how many
    words there are, and with all that must be equal, those words are the trace by which the two meet. What tells the
    value of the same thing meets by that.
    """

    def __init__(self, group: list[Memory], words: Mapping[str, tuple[str, ...]]) -> None:
        often = Counter(word for one in group for word in set(words[one.id]))
        fixed = {one.id: fixed_words(one.content) for one in group}
        ranked = {id_: sorted(enumerate(found), key=lambda at: (often[at[1]], at[1])) for id_, found in words.items()}
        self._own = {id_: _trace(found, len(found), fixed[id_]) for id_, found in ranked.items()}
        there = set(self._own.values())
        self._longer = {
            id_: [trace for trace in _shortened(found, fixed[id_]) if trace in there] for id_, found in ranked.items()
        }
        self._slots = {one.id: told for one in group if (told := _told(one)) is not None}
        self._kept: dict[object, list[Memory]] = defaultdict(list)  # by their own traces, and by their slots
        self._as_longer: dict[int, list[Memory]] = defaultdict(list)

    def near(self, one: Memory) -> Collection[Memory]:
        """Those that were kept and may say the same."""
        own = self._own[one.id]
        found = [*self._kept[own], *self._as_longer[own]]
        found += [kept for trace in self._longer[one.id] for kept in self._kept[trace]]
        if one.id in self._slots:
            found += self._kept[self._slots[one.id]]
        return {kept.id: kept for kept in found}.values()

    def keep(self, one: Memory) -> None:
        self._kept[self._own[one.id]].append(one)
        for trace in self._longer[one.id]:
            self._as_longer[trace].append(one)
        if one.id in self._slots:
            self._kept[self._slots[one.id]].append(one)


_Ranked = Sequence[tuple[int, str]]  # words with their places in the text, the rarest first


def _trace(rarest: _Ranked, length: int, fixed: tuple[object, ...]) -> int:
    """The rarest of so many words, in the order of the text, as a number."""
    chosen = sorted(rarest[: _looked_at(length)])
    return hash((length, tuple(word for _, word in chosen), fixed))


def _shortened(ranked: _Ranked, fixed: tuple[object, ...]) -> Iterator[int]:
    """The traces of what is left of a text when as many words are left out as may be."""
    for left_out in range(1, len(ranked)):
        length = len(ranked) - left_out
        if left_out > _most_more(length):
            break
        first = ranked[: _looked_at(length) + left_out]
        yield from {_trace(chosen, length, fixed) for chosen in combinations(first, len(first) - left_out)}


@cache
def _looked_at(length: int) -> int:
    """How many of the rarest words are a trace: as many as leave few ways of leaving out the rest."""
    more = _most_more(length)
    return max(1, *(many for many in range(1, length + 1) if comb(many + more, more) <= _WAYS))


def _most_more(length: int) -> int:
    """How many words more than so many another may have."""
    return max(1, length // _ONE_IN)


def _worth(memory: Memory) -> tuple[object, ...]:
    """Of two that say the same, the one with more of this stays."""
    kind, confirmed = _WEIGHT.get(memory.kind, 0), memory.confirmed_at is not None
    trusted = (rank_of(memory.trust), memory.pinned, confirmed, kind, memory.importance)
    return (*trusted, memory.occurred_at, len(memory.content), memory.id)


def _may(loser: Memory, kept: Memory) -> bool:
    """Whether nothing is lost when the one is merged into the other."""
    if loser.pinned or loser.meta.get(_PATTERN) or not (loser.kind == kept.kind or "note" in (loser.kind, kept.kind)):
        return False
    return kept.expires_at is None or (loser.expires_at is not None and loser.expires_at <= kept.expires_at)


def _is_same(one: Memory, other: Memory, words: dict[str, tuple[str, ...]], cosine: Cosine) -> bool:
    shorter, longer = sorted((words[one.id], words[other.id]), key=len)
    more = len(longer) - len(shorter)
    most = _most_more(len(shorter))
    if more > most or not set(shorter) <= set(longer) or opposed(one.content, other.content):
        return False
    first, second = _told(one), _told(other)
    if first is not None and second is not None:
        return first.agrees(second)
    if duties(one.content) != duties(other.content):
        return False
    if nearly_same(one.content, other.content):
        return True
    if len(shorter) < _FEWEST or not nearly_same(one.content, other.content, more=most):
        return False
    return (cosine(one.id, other.id) or 0.0) >= CLOSE


def _told(memory: Memory) -> Slot | None:
    """What a memory tells the value of; of a slot that somebody named, the text is the value."""
    told = slot_of(memory.content)
    if told is not None or memory.slot is None:
        return told
    subject, _, attribute = memory.slot.partition("|")
    return Slot(subject, attribute, dedup_key(memory.content))
