"""First person into third: "I want my tests to run" -> "the user wants their tests to run". English, best effort.

Only sentences that speak of "I" are touched; whatever the rules do not know stays as it was said.
"""

from __future__ import annotations

import re

from recollect.distill.sentences import sentence_case

_UNINFLECTED = frozenset(
    """am was were had did could would should might must may can will shall cannot won went said got made took came saw
    knew thought found gave told felt left kept began wrote ran set put read met let bought built lost paid sent
    spent taught understood wore drove ate drank chose forgot held led heard sat slept spoke stood became
    ever""".split()
)
_SKIPPED = frozenset(
    """also always already currently just kinda never now often only rarely really sometimes still then usually
    mostly""".split()
)
_IRREGULAR = {
    "have": "has",
    "do": "does",
    "go": "goes",
    "be": "is",
    "am": "is",
    "don't": "doesn't",
    "haven't": "hasn't",
}
_CONTRACTED = {"i'm": "{} is", "i've": "{} has", "i'd": "{} would", "i'll": "{} will"}
_OTHERS = {"my": "their", "mine": "theirs", "me": "them", "myself": "themselves"}
_WORD = re.compile(r"[A-Za-z]+(?:['’][A-Za-z]+)?")


def third_person(sentence: str, who: str = "the user") -> str:
    """The sentence with its speaker as `who`."""
    pieces: list[str] = []
    last, after_i = 0, False
    for match in _WORD.finditer(sentence):
        word = match[0].replace("’", "'")
        pieces.append(sentence[last : match.start()])
        last = match.end()
        lowered = word.casefold()
        if word == "I" or (lowered in _CONTRACTED and word[0] == "I"):
            pieces.append(_CONTRACTED.get(lowered, "{}").format(who))
            after_i = word == "I"
        elif after_i and lowered not in _SKIPPED and not lowered.endswith("ly"):
            pieces.append(_inflect(word))
            after_i = False
        else:
            pieces.append(_OTHERS.get(lowered, match[0]))
    pieces.append(sentence[last:])
    return sentence_case("".join(pieces))


def _inflect(verb: str) -> str:
    lowered = verb.casefold()
    if lowered in _IRREGULAR:
        return _IRREGULAR[lowered]
    if lowered in _UNINFLECTED or lowered.endswith(("ed", "n't", "s")):
        return verb
    if lowered.endswith(("sh", "ch", "x", "z", "o")):
        return verb + "es"
    if lowered.endswith("y") and lowered[-2:-1] not in "aeiou":
        return verb[:-1] + "ies"
    return verb + "s"
