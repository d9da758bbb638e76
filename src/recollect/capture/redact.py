"""Secrets are taken out before anything is stored: `[REDACTED:type:fingerprint]` stands where one was.

One pass over the text looks for the literals of all rules at once; a rule is tried only where one of its literals
stands, and a text without any is returned as it came. The fingerprint is keyed: the same secret is recognised again,
and nobody without the key can test a guess. Marks of an earlier pass are never touched.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_right
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from hashlib import blake2b

from recollect.capture.secretrules import FIRST_NAMED, LONG_RUN, PERSONAL, RULES, secret_span, unknown_token

SHORTEST = 12  # nothing shorter can hold both a secret and what makes it one
SHORTEST_WITH_RUN = 37  # as long as this, a text may hold a token of an unknown maker; a bare UUID is shorter
MAX_DEPTH = 12  # of names, each in the value of the one before
MAX_ROUNDS = 4  # taking one secret out may bring another to light; it rarely does

Hit = tuple[int, int, int]  # which literal, from, to
Finder = Callable[[str], list[Hit]]

_MARK = re.compile(r"\[REDACTED:[a-z-]{1,20}:[0-9a-f]{8}\]")
_UNKNOWN, _PERSONAL = len(RULES), len(RULES) + 1  # ranks behind those of the rules

# A text by the kinds of its characters: `a` for a letter or digit, `-` for what joins a prefix to it, a space for the
# rest. The long run behind a prefix is then found as fast as any other substring.
_KINDS = bytes(97 if chr(byte).isalnum() and byte < 128 else 45 if byte in b"_-" else 32 for byte in range(256))
_RUN = b"-" + b"a" * LONG_RUN

_INVISIBLE = (0xAD, 0x34F, 0x180E, *range(0x200B, 0x2010), *range(0x202A, 0x202F), *range(0x2060, 0x2070), 0xFEFF)
_LOOK_ALIKE = (*range(0xFF01, 0xFF5F), *range(0x2102, 0x213A), *range(0x24B6, 0x24EA), *range(0x1D400, 0x1D800))


def _disguises() -> dict[str, str]:
    """What hides between letters, and letters that only look different, with the ASCII they stand for."""
    plain = {chr(code): unicodedata.normalize("NFKC", chr(code)) for code in _LOOK_ALIKE}
    return dict.fromkeys(map(chr, _INVISIBLE), "") | {
        char: shown for char, shown in plain.items() if len(shown) == 1 and shown.isascii()
    }


_DISGUISES = _disguises()
_AS_IT_READS = str.maketrans(_DISGUISES)
_LITERALS = sorted({literal for rule in RULES for literal in rule.literals})
_RULES_OF = [tuple((n, rule) for n, rule in enumerate(RULES) if literal in rule.literals) for literal in _LITERALS]
_FIRST_DISGUISE = len(_LITERALS)


@dataclass(frozen=True, slots=True, order=True)
class Span:
    """Where a secret stands, and the rule that found it: of two on the same place the lower rank names it."""

    start: int
    end: int
    rank: int
    type: str


def literal_finder(literals: list[str]) -> Finder:
    """All places of all literals in one pass, overlapping ones too."""
    try:
        from ahocorasick_rs import AhoCorasick, Implementation
    except ImportError:  # no wheel for this platform: the same answer, slower
        return _slow_finder(literals)
    automaton = AhoCorasick(literals, implementation=Implementation.DFA)
    search = automaton.find_matches_as_indexes
    return lambda text: search(text, True)


def _slow_finder(literals: list[str]) -> Finder:
    def find(text: str) -> list[Hit]:
        hits = []
        for index, literal in enumerate(literals):
            start = text.find(literal)
            while start >= 0:
                hits.append((index, start, start + len(literal)))
                start = text.find(literal, start + 1)
        return hits

    return find


_find = literal_finder([*_LITERALS, *_DISGUISES])


class Redactor:
    """Takes secrets out of text; with `pii`, also e-mail addresses, phone numbers, IBANs and card numbers."""

    def __init__(self, key: bytes, *, pii: bool = False) -> None:
        self._key = key
        self._pii = pii

    def redact(self, text: str) -> tuple[str, dict[str, int]]:
        """The text without its secrets, and how many of each type were taken out."""
        if len(text) < SHORTEST and not self._pii:
            return text, {}
        hits = _find(text)
        # Nearly every text ends here, so nothing more is done for it.
        if not hits and (len(text) < SHORTEST_WITH_RUN or _RUN not in _shape(text)) and not self._pii:
            return text, {}
        return self._redact(text, hits)

    def _redact(self, text: str, hits: list[Hit]) -> tuple[str, dict[str, int]]:
        counts: dict[str, int] = {}
        for _ in range(MAX_ROUNDS):
            flat = None
            if not text.isascii() and any(index >= _FIRST_DISGUISE for index, _, _ in hits):
                flat = Flat(text)
                hits = _find(flat.text)
            plain = flat.text if flat else text
            spans = self._spans(plain, hits)
            if not spans:
                break
            text = self._replace(text, flat, spans)
            for span in spans:
                counts[span.type] = counts.get(span.type, 0) + 1
            hits = _find(text)
        return text, counts

    def _spans(self, text: str, hits: list[Hit]) -> list[Span]:
        """What to take out, in order and apart from each other."""
        marks = Marks(text)
        found = [*_by_literal(text, hits, marks), *_by_run(text, marks)]
        if self._pii:
            found += _by_person(text, marks)
        return _merged(found) if found else found

    def _replace(self, text: str, flat: Flat | None, spans: list[Span]) -> str:
        plain = flat.text if flat else text
        parts, done = [], 0
        for span in spans:
            start, end = flat.original(span.start, span.end) if flat else (span.start, span.end)
            parts += [text[done:start], self._mark(span.type, plain[span.start : span.end])]
            done = end
        return "".join([*parts, text[done:]])

    def _mark(self, type_: str, secret: str) -> str:
        digest = blake2b(secret.encode("utf-8", "surrogatepass"), key=self._key, person=b"redact")
        return f"[REDACTED:{type_}:{digest.hexdigest()[:8]}]"


def unmarked(text: str) -> str:
    """A text with its marks as any installation would write them: the type, and no fingerprint."""
    return _MARK.sub(lambda mark: f"{mark[0].rpartition(':')[0]}]", text) if "[REDACTED:" in text else text


class Marks:
    """Where earlier marks stand: nothing is looked for in them, and no pattern reads into one."""

    def __init__(self, text: str) -> None:
        spans = [match.span() for match in _MARK.finditer(text)] if "[REDACTED:" in text else []
        self._starts, self._ends = [start for start, _ in spans], [end for _, end in spans]
        self._size = len(text)

    def room(self, position: int) -> int:
        """Up to where a pattern that begins at the position may read; 0 inside a mark."""
        if not self._starts:
            return self._size
        index = bisect_right(self._starts, position)
        if index and position < self._ends[index - 1]:
            return 0
        return self._starts[index] if index < len(self._starts) else self._size


class Flat:
    """A text as it reads: nothing invisible, look-alikes as what they look like, and the way back to the original."""

    def __init__(self, text: str) -> None:
        self.text = text.translate(_AS_IT_READS)
        self._original = text

    def original(self, start: int, end: int) -> tuple[int, int]:
        """The span in the original; what is invisible at its edges stays outside."""
        return self._position(start), self._position(end - 1) + 1

    def _position(self, flat: int) -> int:
        return flat + bisect_right(self._left_out, flat)

    @cached_property
    def _left_out(self) -> list[int]:
        """Where each invisible character would stand; needed only where a secret is."""
        invisible = (place for place, char in enumerate(self._original) if _DISGUISES.get(char) == "")
        return [place - before for before, place in enumerate(invisible)]


def _by_literal(text: str, hits: list[Hit], marks: Marks) -> Iterator[Span]:
    read = depth = 0  # up to where the last matches have read, and how many began before that
    for index, position, _ in hits:
        room = marks.room(position)
        if index >= _FIRST_DISGUISE or not room:
            continue
        for rank, rule in _RULES_OF[index]:
            match = rule.match(text, position, room)
            if not match:
                continue
            if rank >= FIRST_NAMED:
                # Names within the value of a name within the value of a name: not without end.
                depth = depth + 1 if position < read else 0
                read = max(read, match.end())
                if depth > MAX_DEPTH:
                    continue
            if rule.holds is None or rule.holds(match):
                yield Span(*secret_span(match), rank, rule.type)


def _shape(text: str) -> bytes:
    return text.encode("ascii", "replace").translate(_KINDS)


def _by_run(text: str, marks: Marks) -> Iterator[Span]:
    shape = _shape(text)
    start = shape.find(_RUN)
    while start >= 0:
        span = unknown_token(text, start + 1)
        if span and span[1] <= marks.room(span[0]):
            yield Span(*span, _UNKNOWN, "token")
        start = shape.find(_RUN, start + LONG_RUN)


def _by_person(text: str, marks: Marks) -> Iterator[Span]:
    for type_, pattern, holds in PERSONAL:
        for match in pattern.finditer(text):
            room = marks.room(match.start())
            if match.end() <= room and holds(match[0]):
                yield Span(*match.span(), _PERSONAL, type_)


def _merged(found: list[Span]) -> list[Span]:
    """Overlapping spans as one, named by the most exact rule among them."""
    merged: list[Span] = []
    for span in sorted(found):
        if merged and span.start < merged[-1].end:
            last = merged.pop()
            best = min(last, span, key=lambda one: one.rank)
            span = Span(last.start, max(last.end, span.end), best.rank, best.type)
        merged.append(span)
    return merged
