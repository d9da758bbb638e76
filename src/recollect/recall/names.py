"""Does a question say a name? Tags are the names of what a memory is about: "k8s", "GitHub Actions", "error handling".

A name is said when its words stand in the question side by side, in the same order, whatever their case; a plural
counts, and so does one slip of the finger in a longer word ("eror handling"), if it begins the same.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

_WORD = re.compile(r"[^\W_]+")
_READ_WORDS = 200
_SHORTEST = 2  # a name of one character says nothing
_LONG_ENOUGH = 5  # letters under which a letter too many or two swapped make another word
_LONG_ENOUGH_TO_MISTYPE = 7  # … and a wrong letter does: "reach" is not "react"
_SAME_START = 2


@dataclass(frozen=True, slots=True)
class Words:
    """The words of a question, in order, and what they begin with."""

    words: tuple[str, ...]
    starts: frozenset[str]

    def says(self, name: str) -> bool:
        """Whether the question says this name."""
        wanted = _words_in(name)
        if not wanted or wanted[0][:_SAME_START] not in self.starts:
            return False
        starts = range(len(self.words) - len(wanted) + 1)
        return any(all(map(_same, wanted, self.words[start:])) for start in starts)


@lru_cache(maxsize=4_096)
def _words_in(name: str) -> tuple[str, ...]:
    """The words of a name, none if it is too short; the same few names stand on many memories."""
    words = tuple(map(_singular, _WORD.findall(name.casefold())))
    return words if len("".join(words)) >= _SHORTEST else ()


def words_of(text: str) -> Words:
    """The words of a question, ready to be looked through."""
    found = _WORD.findall(text[: _READ_WORDS * 20].casefold())[:_READ_WORDS]
    words = tuple(map(_singular, found))
    return Words(words, frozenset(word[:_SAME_START] for word in words))


def _singular(word: str) -> str:
    return word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith("ss") else word


def _same(one: str, other: str) -> bool:
    """Equal, or one letter wrong, missing, too many or swapped with the next."""
    if one == other:
        return True
    short, long = sorted((one, other), key=len)
    if len(long) < _LONG_ENOUGH or len(long) > len(short) + 1 or one[:_SAME_START] != other[:_SAME_START]:
        return False
    at = next((i for i, (a, b) in enumerate(zip(short, long, strict=False)) if a != b), len(short))
    if len(short) < len(long):
        return short[at:] == long[at + 1 :]
    swapped = short[at : at + 2] == long[at : at + 2][::-1] and short[at + 2 :] == long[at + 2 :]
    return swapped or (len(long) >= _LONG_ENOUGH_TO_MISTYPE and short[at + 1 :] == long[at + 1 :])
