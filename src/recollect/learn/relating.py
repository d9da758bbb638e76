"""What memories have to do with each other, told by what is stored of them. No model.

Memories come in, those that were superseded too; relations go out. One supersedes another when it took its place, and
is evidence of another when it was merged into it, or when a fact or an event rests on the very words a decision, lesson
or preference rests on. It was caused by another when its why says what that one says. It depends on another when it
says so ("depends on Redis") by a name that is a tag of that one. Two are of the same subject when they tell of the same
thing, rest on the same file or symbol, or share a name that few others have. Relations stay within a project, and
nothing is trusted more because of one.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from itertools import combinations

from recollect.distill.values.holding import MERGED
from recollect.distill.values.likeness import exact_words, telling_words
from recollect.model import Memory

FEW = 6  # memories that may share what makes them of one subject
MOST = 5  # subjects' relations of one memory
_SHARED_WORDS, _SHARE = 3, 0.6  # of a why and what it says
_COMMON = 200  # memories of a project that may have a word: what more have says nothing of a cause
_NAME_CHARS = 4
_NAMED_SO = 3  # memories that may have the tag by which another depends on them
_DEPENDS = re.compile(
    r"\b(?:depend(?:s|ed|ing)?|rel(?:y|ies|ied)|(?:is|are) (?:built|based)) (?:up)?on\b|\brequires?\b"
    r"|\b(?:is|are) backed by\b",
    re.IGNORECASE,
)
_AFTER = 6  # words in which what it depends on is named
_WORDS = re.compile(r"[\w@/.+-]+")
_RESTING = ("decision", "lesson", "preference")
_SHOWING = ("fact", "event", "reference", "note")

Key = tuple[str, str, str]  # source, target, kind


def relations(memories: Iterable[Memory]) -> set[Key]:
    """Every relation between these memories."""
    groups: dict[str | None, list[Memory]] = defaultdict(list)
    for memory in memories:
        if memory.deleted_at is None:
            groups[memory.project].append(memory)
    return {key for group in groups.values() for key in _within(group)}


def _within(group: list[Memory]) -> Iterator[Key]:
    there = {one.id for one in group}
    for one in group:
        if one.superseded_by in there and one.superseded_by != one.id and one.superseded_by is not None:
            if MERGED in one.meta:
                yield one.id, one.superseded_by, "evidence_of"
            else:
                yield one.superseded_by, one.id, "supersedes"
    live = sorted((one for one in group if _holds(one)), key=lambda one: (one.occurred_at, one.id))
    yield from _of_one_subject(live)
    yield from _caused(live)
    yield from _depending(live)
    yield from _shown(live)


def _holds(memory: Memory) -> bool:
    return memory.superseded_at is None and memory.archived_at is None


def _of_one_subject(live: list[Memory]) -> Iterator[Key]:
    """Those that share most of what few others have; each is told once, from the lesser id to the greater."""
    shared: dict[str, list[str]] = defaultdict(list)
    for one in live:
        for subject in _subjects(one):
            shared[subject].append(one.id)
    weights: dict[str, Counter[str]] = defaultdict(Counter)
    for ids in shared.values():
        if 1 < len(ids) <= FEW:
            for first, second in combinations(ids, 2):
                weights[first][second] += 1.0 / len(ids)  # type: ignore[assignment]
                weights[second][first] += 1.0 / len(ids)  # type: ignore[assignment]
    for id_, others in weights.items():
        best = sorted(others, key=lambda other: (-others[other], other))[:MOST]
        yield from ((min(id_, other), max(id_, other), "same_subject") for other in best)


def _subjects(memory: Memory) -> set[str]:
    names = {name for name in exact_words(memory.content) if len(name) >= _NAME_CHARS and not name[0].isdigit()}
    named = {f"name {name}" for name in names if any(char.isalpha() for char in name)}
    anchored = {f"anchor {anchor}" for anchor in memory.anchors}
    told = {f"slot {memory.slot.partition('|')[0]}"} if memory.slot else set()
    return named | anchored | told


def _caused(live: list[Memory]) -> Iterator[Key]:
    """For a memory with a why, the one whose words that why says most of; never one of later."""
    by_word: dict[str, list[int]] = defaultdict(list)
    words = [set(telling_words(one.content)) for one in live]
    for place, found in enumerate(words):
        for word in found:
            by_word[word].append(place)
    for place, one in enumerate(live):
        why = set(telling_words(one.why or ""))
        rare = [by_word[word] for word in why if len(by_word[word]) <= _COMMON]
        common: Counter[int] = Counter(other for places in rare for other in places if other != place)
        fitting = [
            (count / min(len(why), len(words[other])), -other)
            for other, count in common.items()
            if count >= _SHARED_WORDS and live[other].occurred_at <= one.occurred_at
        ]
        best = max(fitting, default=(0.0, 0))
        if best[0] >= _SHARE:
            yield one.id, live[-best[1]].id, "caused_by"


def _depending(live: list[Memory]) -> Iterator[Key]:
    """Those that say what they depend on, by a tag that few have."""
    tagged: dict[str, list[Memory]] = defaultdict(list)
    for one in live:
        for tag in {tag.casefold() for tag in one.tags if len(tag) > 2}:
            tagged[tag].append(one)
    for one in live:
        for match in _DEPENDS.finditer(one.content):
            clause = re.split(r"[.;:\n](?:\s|$)", one.content[match.end() :], maxsplit=1)[0]
            words = [word.strip(".").casefold() for word in _WORDS.findall(clause)[:_AFTER]]
            spans = {" ".join(words[at:end]) for at in range(len(words)) for end in range(at + 1, len(words) + 1)}
            for name in spans & tagged.keys():
                others = [other for other in tagged[name] if other.id != one.id]
                if len(others) <= _NAMED_SO:
                    yield from ((one.id, other.id, "depends_on") for other in others)


def _shown(live: list[Memory]) -> Iterator[Key]:
    """Facts and events that rest on an event which something weightier rests on too."""
    at: dict[tuple[str, str], list[Memory]] = defaultdict(list)
    for one in live:
        for span in one.evidence:
            if span.event is not None:
                at[span.session, span.event].append(one)
    for together in at.values():
        if len(together) <= FEW:
            resting = [one for one in together if one.kind in _RESTING]
            showing = [one for one in together if one.kind in _SHOWING]
            yield from ((one.id, other.id, "evidence_of") for one in showing for other in resting)
