"""BERT's uncased WordPiece: text in, token ids out, the same ids the model was trained with.

Text is read a slice at a time and reading stops at the token limit, so a huge or hostile text costs no
more than its first few hundred words. Markers such as "[SEP]" in a text are ordinary text here, never
control tokens. Invariant: id 0 ([PAD]) never comes out, so the model may take it for padding.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator
from functools import lru_cache
from itertools import chain, islice
from pathlib import Path

MAX_TOKENS = 256
MAX_WORD = 100  # characters; the reference gives up on longer words
SLICE = 2048  # characters normalised at a time
CACHED_WORDS = 16_384
CACHED_CHARS = 8_192

# The blocks that the reference sets apart character by character.
IDEOGRAPHS = (
    (0x4E00, 0x9FFF),
    (0x3400, 0x4DBF),
    (0x20000, 0x2A6DF),
    (0x2A700, 0x2B73F),
    (0x2B740, 0x2B81F),
    (0x2B920, 0x2CEAF),
    (0xF900, 0xFAFF),
    (0x2F800, 0x2FA1F),
)


def is_punctuation(char: str) -> bool:
    """ASCII symbols such as $ and ^ count too, though Unicode files them elsewhere."""
    return (char.isascii() and char.isprintable() and not char.isalnum() and char != " ") or (
        unicodedata.category(char).startswith("P")
    )


def normal_form(char: str) -> str:
    """Return what one character becomes: lower case without accents, spaces around what stands alone."""
    if char in "\t\n\r":
        return " "
    category = unicodedata.category(char)
    if char in "\0\ufffd" or category in ("Cc", "Cf", "Co", "Cs"):
        return ""
    if category.startswith("Z"):
        return " "
    bare = "".join(c for c in unicodedata.normalize("NFD", char) if unicodedata.category(c) != "Mn").lower()
    spaced = "".join(f" {c} " if is_punctuation(c) else c for c in bare)
    code = ord(char)
    return f" {spaced} " if any(low <= code <= high for low, high in IDEOGRAPHS) else spaced


class CharTable(dict[int, str]):
    """`str.translate` table filled on demand; bounded, because a text may hold every character there is."""

    def __missing__(self, code: int) -> str:
        if len(self) >= CACHED_CHARS:
            self.clear()
        form = self[code] = normal_form(chr(code))
        return form


class WordPiece:
    """The tokenizer for one vocabulary; safe to share between threads."""

    def __init__(self, vocabulary: dict[str, int]) -> None:
        self._vocabulary = vocabulary
        self._longest = max(map(len, vocabulary))
        self._unknown = (vocabulary["[UNK]"],)
        self._start = vocabulary["[CLS]"]
        self._end = vocabulary["[SEP]"]
        self._chars = CharTable()
        self._pieces = lru_cache(maxsize=CACHED_WORDS)(self._split)

    @classmethod
    def from_file(cls, path: Path) -> WordPiece:
        """Read a `vocab.txt`: one token a line, its id the line number."""
        # Not splitlines(): some tokens are characters that it takes for line ends.
        lines = path.read_text(encoding="utf-8").removesuffix("\n").split("\n")
        return cls({token: number for number, token in enumerate(lines)})

    def encode(self, text: str, max_tokens: int = MAX_TOKENS) -> list[int]:
        """Return [CLS] + at most `max_tokens` - 2 ids + [SEP]."""
        ids = chain.from_iterable(map(self._pieces, self._words(text)))
        return [self._start, *islice(ids, max_tokens - 2), self._end]

    def _words(self, text: str) -> Iterator[str]:
        """Yield normalised words; a word cut by the end of a slice is finished in the next one."""
        rest = ""
        for at in range(0, len(text), SLICE):
            form = rest + text[at : at + SLICE].translate(self._chars)
            words = form.split(" ")
            # One character over the limit is enough to know that the word is too long.
            rest = words.pop()[: MAX_WORD + 1]
            yield from filter(None, words)
        if rest:
            yield rest

    def _split(self, word: str) -> tuple[int, ...]:
        """Take the longest known piece from the left, again and again; one unknown piece spoils the word."""
        if len(word) > MAX_WORD:
            return self._unknown
        ids: list[int] = []
        start = 0
        while start < len(word):
            mark = "##" if start else ""
            for end in range(min(len(word), start + self._longest), start, -1):
                known = self._vocabulary.get(mark + word[start:end])
                if known is not None:
                    ids.append(known)
                    start = end
                    break
            else:
                return self._unknown
        return tuple(ids)
