"""Does a question say a name? Tags are the names of what a memory is about: "k8s", "GitHub Actions", "error handling".

A name is said when its words stand in the question side by side, in the same order, whatever their case; a plural
counts.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

_WORD = re.compile(r"[^\W_]+")
_READ_CHARS = 4_000
_SHORTEST = 2  # a name of one character says nothing


@dataclass(frozen=True, slots=True)
class Words:
    """The words of a question, set apart by spaces, with one around them."""

    line: str

    def says(self, name: str) -> bool:
        """Whether the question says this name."""
        words = " ".join(_singular(word) for word in _WORD.findall(name.casefold()))
        return len(words) >= _SHORTEST and f" {words} " in self.line


def words_of(text: str) -> Words:
    """The words of a question, ready to be looked through."""
    return Words(f" {' '.join(_singular(word) for word in _WORD.findall(text[:_READ_CHARS].casefold()))} ")


def _singular(word: str) -> str:
    return word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith("ss") else word
