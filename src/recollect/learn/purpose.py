"""Failures made on purpose: they show what was asked for, not what goes wrong.

A failed step comes in; yes or no goes out. It was on purpose when the person named the very thing that is missing, or
asked for an error to be tried out; and when the agent said that the failure was what it expected, right after it, or
that it should fail, right before.
"""

from __future__ import annotations

import re

from recollect.learn.reading import Reading, Step

_AFTER = re.compile(
    r"\bas expected\b|\bexpected (?:failure|error)|\bexpected to fail"
    r"|(?:fail\w*|error\w*|that)(?:'s| is| was| were| are) expected\b"
    r"|\bcorrectly (?:fails?|failed|rejects?|rejected|errors?|refuses?)\b|\bfails? (?:correctly|as intended)"
    r"|^(?:good|great|nice|perfect)\b[^\w\n]{1,3}(?:the )?(?:error|failure)",
    re.IGNORECASE | re.MULTILINE,
)
_BEFORE = re.compile(
    r"\b(?:should|must|will|expect\w* (?:it|this|them|the \w+) to) (?:now |still |all )?fail\b"
    r"|\b(?:see|watch) (?:it|them|the \w+) fail\b"
    r"|\b(?:verify|confirm|check|make sure)[^.\n]{0,40} (?:it|test|they) fails?\b",
    re.IGNORECASE,
)
_ASKED = re.compile(
    r"\bnon-?existent\b|\b(?:trigger|cause|provoke|simulate|force)\w*\b[^.\n]{0,30}\b(?:error|failure)"
    r"|\b(?:test|try|check|verify)\b[^.\n]{0,30}\berror[- ](?:handling|capture|case|path|message)"
    r"|\b(?:fail\w*|error\w*|break\w*)\b[^.\n]{0,20}\b(?:on purpose|deliberately|intentionally)",
    re.IGNORECASE,
)
_LONGEST = 2_000  # characters of a prompt that asks for an error; longer ones speak of much else
_NAMED = re.compile(r"[\w.~+-]*[/.][\w./+-]+|[\w-]*_[\w.-]+")  # a path, or a name as programs have it
_FEWEST = 5  # characters that make a name one


def on_purpose(reading: Reading, step: Step) -> bool:
    """Whether this failure was wanted."""
    number = step.number
    before = reading.steps[number - 1].end if number else -1
    after = reading.steps[number + 1].place if number + 1 < len(reading.steps) else step.end + _FEWEST
    prompt = _prompt_of(reading, step)
    return (
        _AFTER.search(reading.told_between(step.end, after)) is not None
        or _BEFORE.search(reading.told_between(before, step.place)) is not None
        or (len(prompt) <= _LONGEST and _ASKED.search(prompt) is not None)
    )


def named_by_prompt(reading: Reading, step: Step) -> bool:
    """Whether the person had named what the error says is missing: then nobody guessed."""
    prompt = _prompt_of(reading, step)
    if not prompt:
        return False
    missing = {name.rstrip(".:,") for name in _NAMED.findall(step.line)} | set(step.files[:1])
    return any(len(name) >= _FEWEST and name in prompt for name in missing | {_tail(name) for name in missing})


def _tail(path: str) -> str:
    return path.rstrip("/").rpartition("/")[2]


def _prompt_of(reading: Reading, step: Step) -> str:
    """What the person had said last."""
    turn = reading.turn_at(step.place)
    return reading.prompts[turn - 1].text if turn else ""
