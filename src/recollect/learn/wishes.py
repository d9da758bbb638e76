"""What a sentence asks for, as the words that tell it: so that the same wish in other words is found again.

A sentence comes in; out goes whether it asks for something, its telling words in a plain form and order, and how it
reads as a wish. Words of one place (paths, names of functions, numbers) are left out: they are not what repeats.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from recollect.stopwords import STOP_WORDS

MAX_WORDS = 8
OWN_COMMAND = "own command: "  # before the name of a command that people gave their agent
_CLAUSES = re.compile(r"[,;:.!?()–—]+(?:\s|$)|\s+(?:and then|and also|and|but|then|so that|so)\s+", re.IGNORECASE)
_TOKEN = re.compile(r"[^\s]+")
_PLAIN = re.compile(r"[a-zäöüßéèñ]{2,}(?:'[a-z]+)?")
_LEAD = re.compile(
    r"^(?:(?:yes|yeah|yep|ok(?:ay)?|no|nope|please|now|also|and|but|so|then|next|well|hmm?|great|good|cool|sorry|actually"
    r"|just|maybe|first|alright|right|in the meantime)[\s,.:!-]+)*",
    re.IGNORECASE,
)
_ASKING = re.compile(
    r"^(?:(?:can|could|would|will) (?:you|we|u)(?: please| also| now| maybe| just| again| next)*|please"
    r"|let'?s(?: also)?|make sure(?: to| that)?|i(?:'d| would) like (?:you )?to|i want (?:you )?to"
    r"|we (?:should|need to|must)"
    r"|you (?:should|need to|must)|always|never|do(?:n'?t| not)|try to|remember to|be sure to)\s+",
    re.IGNORECASE,
)
_QUESTION = re.compile(r"^do(?:n'?t)? (?:we|you|i|they|it|the|these|those|this|that|any)\b", re.IGNORECASE)
_VERBS = frozenset(
    """
    add address amend apply ask avoid build bump change clean close commit compare consolidate copy cover create cut
    delete describe do document drop explain extract fix format generate give group ignore implement improve include
    install keep leave lint list make mark merge move name open prefer push put read rebase reduce refactor release
    remove rename replace report rerun resolve revert review rewrite run save send set ship show simplify skip sort
    split squash stash stop summarize switch sync test tidy translate undo update upgrade use validate verify wait
    write
    """.split()
)
# Words that every request has: they say that something is to be done, not what.
GENERIC = frozenset(
    """
    add address agent apply ask back branch bug build call change check clean close code command commands commit
    conflict continue create current cut delete diff directory do doc docs document done error explain feature file
    finish fix folder function generate get give go good great have hello help implement improve include issue keep
    latest leave line list look main make markdown merge message method model more move name new next old one open
    option output part plan pr project prompt pull push put question read readme rebase remove rename replace repo
    request rest run same save say search see send session set ship show side start state step still stop switch sync
    take task thing think time tool try two update use user value verify version wait want way web well word work
    write
    """.split()
)
_FILLERS = frozenset(
    """
    again already also always anything bit cool currently day easy else even ever every everything first fully
    hopefully idea instead kind last later let lot maybe meantime nice now ok okay once onto please pretty probably
    quick quickly really right simple simply small something soon sort stuff sure though today together too yes yet
    """.split()
)
_MOST_CLAUSES = 12


def clauses(text: str) -> Iterator[str]:
    """The parts of a sentence that may each ask for something."""
    for part in _CLAUSES.split(text)[:_MOST_CLAUSES]:
        if part and part.strip():
            yield part.strip()


def wish_of(clause: str) -> str | None:
    """What a clause asks to be done, without the polite words before it; None when it asks for no such thing."""
    text = _LEAD.sub("", clause.strip(), count=1)
    if _QUESTION.match(text):
        return None
    asking = _ASKING.match(text)
    if asking is not None:
        negative = re.match(r"(?:never|do(?:n'?t| not))", asking[0], re.IGNORECASE)
        return text.strip() if negative or asking[0].casefold().startswith("always") else text[asking.end() :].strip()
    first = _PLAIN.match(text.casefold())
    return text.strip() if first is not None and first[0] in _VERBS else None


def asked_words(text: str) -> list[str]:
    """The telling words of a text, each once, in a plain form, sorted."""
    found: dict[str, None] = {}
    for token in _TOKEN.findall(text):
        word = token.strip("\"'“”‘’.,;:!?()[]*_").casefold()
        if not _PLAIN.fullmatch(word) or word in STOP_WORDS or word in _FILLERS:
            continue
        found.setdefault(_stem(word.partition("'")[0]))
        if len(found) == MAX_WORDS:
            break
    return sorted(found)


def _stem(word: str) -> str:
    """A word without its commonest endings."""
    for ending, instead in (("ies", "y"), ("sses", "ss"), ("ing", ""), ("ed", ""), ("er", ""), ("s", "")):
        if word.endswith(ending) and len(word) - len(ending) >= 4 and not word.endswith("ss"):
            return word[: -len(ending)] + instead
    return word
