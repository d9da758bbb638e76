"""Memories that say the same in other words: which of them stays, and which are merged into it.

Memories come in; pairs go out, each of one that is to be merged and the one that stays. Words decide: the telling words
of both stand in the same order, and names, numbers, limits and denials are equal. Where vectors are at hand and agree
that two mean the same, one may say a little more than the other. A merged one is always directly like the one that
stays, never over a third; both are of one project. What stays is trusted at least as much, then weightier, more
important, newer; nothing about it is changed, so that nobody is trusted more than before.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator

from recollect.distill.values.holding import APART, DISPUTES
from recollect.distill.values.likeness import nearly_same, opposed, telling_words
from recollect.distill.values.sayings import rank_of
from recollect.distill.values.slots import Slot, slot_of
from recollect.model import Memory
from recollect.text import dedup_key

CLOSE = 0.95  # the cosine from which two texts mean the same, when nearly all of their words are the same too
_ONE_IN = 5  # of so many telling words, one more may stand in the other
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
    """The pairs of one project. All words of the shorter text stand in the longer, so its rarest word finds it."""
    words = {one.id: telling_words(one.content) for one in group}
    often = Counter(word for one in group for word in set(words[one.id]))
    rarest = {id_: min(found, key=lambda word: (often[word], word)) for id_, found in words.items() if found}
    by_word: dict[str, list[Memory]] = defaultdict(list)
    by_rarest: dict[str, list[Memory]] = defaultdict(list)
    for one in sorted(group, key=_worth, reverse=True):
        if one.id not in rarest:
            continue
        near = [*by_word[rarest[one.id]], *(kept for word in set(words[one.id]) for kept in by_rarest[word])]
        for kept in sorted({other.id: other for other in near}.values(), key=_worth, reverse=True):
            if (one.id, kept.id) not in not_again and _may(one, kept) and _is_same(one, kept, words, cosine):
                yield one, kept
                break
        else:
            by_rarest[rarest[one.id]].append(one)
            for word in set(words[one.id]):
                by_word[word].append(one)


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
    most = max(1, len(shorter) // _ONE_IN)
    if more > most or not set(shorter) <= set(longer) or opposed(one.content, other.content):
        return False
    first, second = _told(one), _told(other)
    if first is not None and second is not None:
        return first.agrees(second)
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
