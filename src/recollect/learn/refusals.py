"""Refused calls: which of them are a no to what the agent was about to do, and what the person said with them.

A `Stop` and its reading come in. At a permission prompt people also ask about what they see, answer in a review, or hit
the wrong key; and they refuse a call that they had ordered because of how it was made. None of these says that the
agent must not do such a thing by itself.
"""

from __future__ import annotations

import re

from recollect.distill.corrections import is_approval
from recollect.distill.rules.story import Prompt
from recollect.learn.commandwords import GIT_WRITES, heads
from recollect.learn.doing import doing
from recollect.learn.reading import Reading, Step, Stop
from recollect.learn.wishes import clauses, wish_of

HOST_WORDS = ("The user doesn't want to ", "[Request interrupted", "interrupted", "aborted", "User rejected")
_CHARS = 1_000
_ASKS = re.compile(
    r"\?|^(?:is|are|was|were|does|do|did|why|what|how|when|where|which|who|should|could|can|would|will|any chance)\b",
    re.IGNORECASE,
)
_TAKEN_BACK = re.compile(
    r"\b(?:sorry|oops|my (?:bad|mistake|fault)|by (?:mistake|accident)|accident\w*|mis-?s?t[yi]p\w*|mis-?click\w*"
    r"|wrong key|didn'?t mean to)\b|^(?:continue|go (?:on|ahead)|proceed|carry on|resume|retry|try again|do it)\b",
    re.IGNORECASE,
)
_NO = r"\b(?:don['’]?t|do not|did ?n[o'’]?t|never|no|not|stop|without)\b[^.?!\n]{0,30}"
_GIT = re.compile(_NO + r"\b(?:commit\w*|push\w*|check\w*\b.{0,6}\bin|merg\w*|pr|pull request)\b", re.IGNORECASE)
_EDIT = re.compile(
    _NO + r"\b(?:edit\w*|chang\w*|touch\w*|modif\w*|writ\w*|implement\w*|cod(?:e|ing))\b"
    r"|\b(?:wait|hold on|hold off|not (?:yet|now)|let['’]?s (?:talk|discuss)|ask (?:me )?(?:first|before))\b",
    re.IGNORECASE,
)
_ORDERS_GIT = re.compile(
    r"(?<!not )(?<!n't )(?<!n’t )(?<!never )\b(?:commit|push|amend|ship|merge|release|check (?:it|this|that|them)? ?in"
    r"|(?:open|create|make|draft|a) (?:\w+ ){0,2}(?:pr|pull request))\b",
    re.IGNORECASE,
)


def words_of(reading: Reading, stop: Stop) -> str:
    """What the person said with a refusal, or right after it."""
    if stop.said and not stop.said.lstrip().startswith(HOST_WORDS):
        return stop.said[:_CHARS]
    turn = reading.turn_at(stop.place)
    return reading.prompts[turn].text[:_CHARS] if turn < len(reading.prompts) else ""


def is_denial(reading: Reading, stop: Stop, what: str) -> bool:
    """Whether a refused call is a no to such calls.

    It is none when the words that go with it ask something, take it back or speak of other things, and when the call
    had been ordered. A refusal without any words is one.
    """
    said = words_of(reading, stop).strip()
    if said and (_ASKS.search(said) or _TAKEN_BACK.search(said) or is_approval(said) or not objects(said, what)):
        return False
    return not _ordered(reading, stop, what)


def objects(said: str, what: str) -> bool:
    """Whether words say no to the doing itself, by its name, and not to how it was done."""
    if what == "git writes":
        return _GIT.search(said) is not None
    if what == "edits":
        return _EDIT.search(said) is not None
    names = "|".join(re.escape(word) for word in ("run", "start", *what.split()))
    return re.search(rf"{_NO}\b(?:{names})\b", said, re.IGNORECASE) is not None


def _ordered(reading: Reading, stop: Stop, what: str) -> bool:
    """Whether a prompt asked for such a thing since it was done last."""
    last = -1
    for step in reading.steps:
        if step.place >= stop.place:
            break
        if step.passed and _such(step, stop, what):
            last = step.place
    asked = [one for one in reading.prompts if last < one.place < stop.place and one.event.kind == "user_prompt"]
    return any(_orders(one, what) for one in asked)


def _such(step: Step, stop: Stop, what: str) -> bool:
    if what == "edits":
        return step.action == "edit"
    if what != "git writes":
        return step.head == what
    refused = GIT_WRITES & set(heads(stop.call.text[:4_000])) if stop.call is not None else set()
    return bool(refused & set(heads(step.command)))


def _orders(prompt: Prompt, what: str) -> bool:
    text = prompt.text[:_CHARS]
    if what == "git writes":
        return _ORDERS_GIT.search(text) is not None
    if what == "edits":
        ways = (doing(wish) for one in clauses(text) if (wish := wish_of(one)))
        return prompt.approval or any(way != "look" and not way.startswith("not") for way in ways)
    return all(word in text.casefold() for word in what.casefold().split())
