"""Whether one text says what another says already, by their words: for near-duplicates and for agents' own files.

Four of five telling words of the one must stand in the other, in about the same order. Numbers and negations must agree
exactly: "port 5433" is not "port 5544", and "use pip" is not "never use pip".
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise

from recollect.stopwords import STOP_WORDS

SHARE = 0.8
_WORD = re.compile(r"\w+")
_ACCENTS = re.compile("[\u0300-\u036f]+")
_SPACELESS = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\U00020000-\U0003ffff]+"
)
_NEGATED = re.compile(r"n['’]t\b")
_NEGATIONS = frozenset("not no never nor cannot without avoid stop non 不 没 未 勿 別".split())
_BETWEEN = re.compile(r"\n{2,}|\n(?=(?:[-*+]|\d{1,3}[.)]) )")
_MOST_WORDS = 400


@dataclass(frozen=True, slots=True)
class Sense:
    """What a text says: its telling words in order, its numbers, and whether it denies something."""

    words: tuple[str, ...]
    numbers: frozenset[str]
    denies: bool


def sense(text: str) -> Sense:
    """The words of a text, folded."""
    folded = unicodedata.normalize("NFKC", text).casefold()
    if not folded.isascii():
        folded = _ACCENTS.sub("", unicodedata.normalize("NFD", folded))
        folded = _SPACELESS.sub(_pairs, unicodedata.normalize("NFC", folded))
    found = _WORD.findall(_NEGATED.sub(" not", folded))[: 4 * _MOST_WORDS]
    denies = any(word in _NEGATIONS or word[0] in _NEGATIONS for word in found)
    words = [_stem(word) for word in found if word not in STOP_WORDS and word not in _NEGATIONS][:_MOST_WORDS]
    return Sense(tuple(words), frozenset(word for word in words if any(map(str.isdigit, word))), denies)


def repeats(one: Sense, other: Sense) -> bool:
    """Whether `one` says nothing that `other` does not say."""
    if not one.words or one.denies != other.denies or not one.numbers <= other.numbers:
        return False
    wanted = set(one.words)
    shared = wanted & set(other.words)
    if len(shared) < SHARE * len(wanted):
        return False
    return _in_order(one.words, other.words, shared) >= SHARE * len(shared)


class Known:
    """Many texts, asked whether one of them says something."""

    def __init__(self, texts: Iterable[str] = ()) -> None:
        self._senses = [found for text in texts if (found := sense(text)).words]
        self._places: dict[str, list[int]] = {}
        for number, one in enumerate(self._senses):
            for word in set(one.words):
                self._places.setdefault(word, []).append(number)

    def says(self, one: Sense) -> bool:
        """Whether one of the texts says this already."""
        wanted = set(one.words)
        shared: Counter[int] = Counter()
        for word in wanted:
            shared.update(self._places.get(word, ()))
        return any(
            count >= SHARE * len(wanted) and repeats(one, self._senses[number]) for number, count in shared.items()
        )


def pieces(text: str) -> list[str]:
    """A document as what can say something: each line, and each paragraph or list item of several."""
    lines = [line.strip() for line in text.split("\n")]
    runs = _BETWEEN.split("\n".join(lines))
    return [line for line in lines if line] + [run for run in runs if "\n" in run]


def _in_order(one: tuple[str, ...], other: tuple[str, ...], shared: set[str]) -> int:
    """How many of the shared words stand in both texts in the same order."""
    first = [word for word in dict.fromkeys(one) if word in shared]
    second = [word for word in other if word in shared]
    best = [0] * (len(second) + 1)
    for word in first:
        before = 0
        for place, found in enumerate(second, 1):
            before, best[place] = best[place], before + 1 if word == found else max(best[place], best[place - 1])
    return best[-1]


def _stem(word: str) -> str:
    return word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith("ss") else word


def _pairs(match: re.Match[str]) -> str:
    run = match[0]
    return f" {' '.join(map(''.join, pairwise(run))) or run} "
