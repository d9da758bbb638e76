"""Whether two statements are the same one in other words, or one the denial of the other. No model; plain words.

Two texts come in. They are nearly the same when the telling words of both stand in the same order, whatever their
endings and fillers, and a long one may have one plain word more; names, numbers, code, paths, limits, denials and words
of how often, how much or how surely must be equal, and "must" is not "should". They are opposed when nothing but a
denial tells them apart. What is not plainly one or the other is neither.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from functools import lru_cache

_FEWEST = 3  # telling words below which a likeness says little
_PLENTY = 9  # telling words from which one more on one side may pass
_MOST = 120
_WORD = re.compile(
    r"`[^`\n]+`|[a-z][a-z0-9+.-]*://\S+|[~.]?/?[\w.@+-]+(?:/[\w.@+-]+)+/?|\d[\w.,:%-]*|[^\W\d_][\w'’.-]*", re.IGNORECASE
)
_NAME = re.compile(r"[\d_./@`+]|\w-\w|[a-z][A-Z]|[A-Z]{2}")
_DENYING = frozenset(
    "not never no none nothing nobody nor neither without avoid stop cannot refuse forbid forbidden don't dont".split()
)
_LIMITING = frozenset(
    """if unless except only until till when whenever before after while during first last least most more less over
    under than instead rather again once both either all every each some any""".split()
)
# How often, how much, how surely, where: "can hardly parse" is not "can parse", and "may" is not "must".
_GRADING = frozenset(
    """may might can could would able unable hardly barely scarcely rarely seldom almost nearly mostly mainly usually
    often sometimes occasionally frequently regularly twice thrice double half still yet already soon later eventually
    immediately previously formerly temporarily permanently everywhere anywhere somewhere nowhere elsewhere partly
    partially fully completely entirely wholly exactly roughly approximately about maybe perhaps possibly probably
    likely unlikely supposedly optional optionally solely exclusively merely alone too enough few many several much
    little hourly monthly yearly annually zero one two three four five six seven eight nine ten eleven twelve twenty
    thirty forty fifty sixty ninety hundred thousand dozen second third fourth off out down up back away
    against""".split()
)
_DUTIES = {"must": "must", "shall": "must", "should": "should", "ought": "should"}
# Prepositions are no fillers: "turn on" is not "turn off", and "from a to b" not "to a from b".
_FILLING = frozenset(
    """a an the this that these those our my your its their we i you it they is are be am do does will has have need
    needs always please really just also very simply currently now make sure ensure remember note user users user's
    wants want prefers prefer project repository repo codebase here so that's it's we're""".split()
)
# A word more of this kind makes it another thing.
_TELLING_APART = frozenset(
    """staging production prod dev development test tests testing local remote main master frontend backend client
    server windows linux macos mac ci old new read write input output left right public private internal external python
    go rust java javascript typescript node unit integration daily weekly nightly manual automatic default upper lower
    minimum maximum min max source target primary secondary fail lack skip ignore prevent disable deprecated obsolete
    broken""".split()
)
_ENDINGS = ("ization", "isation", "ments", "ment", "ingly", "ings", "ing", "edly", "ied", "ies", "ed", "es", "s", "ly")


@dataclass(frozen=True, slots=True)
class _Wording:
    """The telling words of a text in order, those of them that are exact or grade it, and how often it denies."""

    stems: tuple[str, ...]
    exact: frozenset[str]
    limits: tuple[str, ...]
    denials: int
    grades: tuple[str, ...]
    duties: frozenset[str]

    @property
    def fixed(self) -> tuple[object, ...]:
        """What must be equal in two texts that say the same."""
        return self.exact, self.limits, self.denials, self.grades


def telling_words(text: str) -> tuple[str, ...]:
    """The telling words of a text in their order: without endings and fillers, as two texts are held together."""
    return _wording(text).stems


def exact_words(text: str) -> frozenset[str]:
    """Those of them that are exact: names, numbers, code, paths."""
    return _wording(text).exact


def fixed_words(text: str) -> tuple[object, ...]:
    """What must be equal in two texts that say the same: names and numbers, limits, denials, grades."""
    return _wording(text).fixed


def duties(text: str) -> frozenset[str]:
    """How it binds: as a "must", as a "should", or not in words."""
    return _wording(text).duties


def nearly_same(one: str, other: str, *, more: int | None = None) -> bool:
    """Whether both say the same thing; `more` plain words may then stand in one of them alone, instead of few."""
    first, second = sorted((_wording(one), _wording(other)), key=lambda wording: len(wording.stems))
    if len(first.stems) < _FEWEST or first.fixed != second.fixed:
        return False
    if first.duties and second.duties and first.duties != second.duties:
        return False  # "run the tests" is "you should run the tests", and what must be is not what should
    if more is None:
        more = 1 if len(first.stems) >= _PLENTY else 0
    if len(second.stems) - len(first.stems) > more or not _runs_through(first.stems, second.stems):
        return False
    return not (set(second.stems) - set(first.stems)) & _apart()


def opposed(one: str, other: str) -> bool:
    """Whether one denies just what the other says."""
    first, second = _wording(one), _wording(other)
    return (
        len(first.stems) > 1
        and first.denials % 2 != second.denials % 2
        and (first.stems, first.exact, first.limits) == (second.stems, second.exact, second.limits)
    )


@lru_cache(maxsize=256)  # the same text is held against many others
def _wording(text: str) -> _Wording:
    stems, exact, limits, denials, grades, bound = [], set(), [], 0, [], set()
    for match in list(_WORD.finditer(unicodedata.normalize("NFKC", text)))[:_MOST]:
        word = match[0].strip("'’.-").replace("’", "'")
        folded = word.casefold()
        if folded in _DENYING or folded.endswith("n't"):
            denials += 1
        elif folded in _LIMITING:
            limits.append(folded)
        elif folded in _DUTIES:
            bound.add(_DUTIES[folded])
        elif folded in _GRADING:  # in its place, and without an ending taken off: "hardly" is not "hard"
            stems.append(folded)
            grades.append(folded)
        elif not word[:1].isalpha() or _is_name(word):
            stems.append(folded.strip("`"))
            exact.add(stems[-1])
        elif folded not in _FILLING and folded:
            stems.append(_stem(folded))
    return _Wording(tuple(stems), frozenset(exact), tuple(limits), denials, tuple(grades), frozenset(bound))


def _is_name(word: str) -> bool:
    """Whether a word is exact by its form: an identifier, an abbreviation, something with a digit in it."""
    return _NAME.search(word) is not None


def _stem(word: str) -> str:
    word = word.removesuffix("'s")
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= 3 and not (ending == "s" and word.endswith("ss")):
            word = word[: -len(ending)] + ("y" if ending in ("ies", "ied") else "")
            break
    if len(word) > 3 and word[-1] == word[-2] and word[-1] not in "aeiouls":
        word = word[:-1]
    return word.removesuffix("e")


@lru_cache(maxsize=1)
def _apart() -> frozenset[str]:
    """What tells things apart, as it stands among telling words."""
    return _TELLING_APART | {_stem(word) for word in _TELLING_APART}


def _runs_through(fewer: tuple[str, ...], more: tuple[str, ...]) -> bool:
    """Whether all words of the one stand in the other, in the same order."""
    rest = iter(more)
    return all(word in rest for word in fewer)
