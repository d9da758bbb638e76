"""What the agent explained in passing: how a thing works, what it needs, why it was done so and not otherwise.

They are the agent's words and stay quoted: recalled when asked for, never put before anybody by themselves. Of all its
sentences only those count that name something and limit, oppose or explain it; requests, narration, status, plans and
guesses do not. They are ranked by what they hold and by how much the session was about it, not by phrases, and the
first few that do not say the same are taken.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from math import log

from recollect.distill.draft import Draft
from recollect.distill.rules.lessons import HEDGED, NAMES, NARRATED
from recollect.distill.rules.story import Said, Story
from recollect.distill.sentences import Sentence, sentence_case
from recollect.stopwords import STOP_WORDS

_MAX_EXPLAINED = 5
_MAX_CANDIDATES = 2_000
_SHORTEST, _LONGEST = 60, 360
_SIGNLESS = 0.6  # what is lost by a statement that only tells
_SHARED = 0.5  # of the words of two that makes one of them enough
_LEAST = 2.5  # a lower score is not worth a memory
_LOOKED_AT = 3_000  # characters of a prompt

_EXPLAINS = re.compile(
    r"\b(?:because|since|so|therefore|which means|due to|instead of|rather than|no longer|not|only|but|must|always"
    r"|never"
    r"|has to|have to|needs?|requires?|required|can't|cannot|doesn't|don't|won't|isn't|unsupported|without|fails?"
    r"|default\w*|unless|when|if|until|otherwise|before|after|while|regardless|still|even)\b",
    re.IGNORECASE,
)
# It begins by pointing, by telling what was done, or by telling what to do; or it is about the work and not the thing.
_OTHERWISE = re.compile(
    r"^\W*(?:(?:this|that|it|they|these|those|he|she|its|their|here|there|both|also|same|you|if|yes|no|ok|good|right"
    r"|done|all|everything|i|we|my|your|our next|added|updated|created|removed|renamed|verified|documents?|documented"
    r"|contents|tests?|check|moved|corrected|tightened|refactored|replaced|implemented|wrote|extracted|introduced"
    r"|changed|confirmed|looking|detecting|function|issue|the (?:pr|plan|diff|commit|branch|test|tests|script|agent)"
    r"|folded|what i|use|run|add|create|remove|update|file|keep|leave|make|after|screen|put|set|write|try|see|ask"
    r"|given|based on"
    r"|after that|step|phase|task|option|approach|question|result|results|summary|status|pros?|cons?)\b|::|git )"
    r"|\b(?:want me to|shall i|should i|if you (?:want|like|prefer)|i can|i could|we could|pass(?:es|ed|ing)?|green"
    r"|committed|pushed|recommend\w*|next step|follow-?up|todo|your call|let me|i'll|i'm|you're|you said|you asked)\b"
    r"|\b(?:the (?:issue|problem) is|short version|as-is|in this (?:pr|session|case)|was actually|you described?)\b"
    r"|\blines? \d|\.\w{1,4}:\d|[?:]$|[{}<>|]{2}|→|✅|❌",
    re.IGNORECASE,
)
# Something the agent chose, with its because.
_CHOSE = re.compile(
    r"\b(?:kept|chose|avoided|went with|skipped|left|deliberately|intentionally|on purpose|by design|decided)\b.{5,200}"
    r"\b(?:because|since|so that|to avoid|to keep|to stay|rather than)\b",
    re.IGNORECASE,
)
_OF_THE_WORK = re.compile(
    r"^(?:all|done|fixed|pushed|committed|opened|created)\b"
    r"|\b(?:untracked|uncommitted|worktree|unstaged|stash|commits?|recommendation|option [a-d\d]|test run|ci)\b",
    re.IGNORECASE,
)
_WELL = re.compile(r"[`\w(.-]")
_CHOICE = re.compile(
    r"\b(?:kept|chose|avoided|went with|skipped|left|deliberate(?:ly)?|intentional(?:ly)?|on purpose|by design"
    r"|decided)\b",
    re.IGNORECASE,
)
_WRONG = re.compile(
    r"\b(?:root cause|bug|culprit|mistake|fail(?:s|ed|ure)|broke|breaks|crash\w*|fix(?:ed)?|race|missing)\b",
    re.IGNORECASE,
)
_SIGNS = (
    (1.5, re.compile(r"\b[A-Z][A-Z0-9]+_[A-Z0-9_]+\b")),
    (0.5, re.compile(r"\b(?:instead of|rather than|no longer|not just|only|but not)\b|, not\b", re.IGNORECASE)),
    (0.5, re.compile(r"\b(?:must|always|never|has to|have to|needs? to|requires?|required|needs)\b", re.IGNORECASE)),
    (0.7, re.compile(r"\b(?:default\w*|opt-in|opt-out|unless)\b", re.IGNORECASE)),
    (0.7, _CHOICE),
    (0.3, _WRONG),
)
_WORD = re.compile(r"[^\W\d_]{4,}")


@dataclass(slots=True)
class _Statement:
    said: Said
    sentence: Sentence
    text: str
    words: frozenset[str]
    score: float


def explained(story: Story) -> Iterator[Draft]:
    """The most telling statements, the best first."""
    often: Counter[str] = Counter()
    for said in story.said:
        often.update(_words(said.event.text))
    asked = _words(" ".join(prompt.text[:_LOOKED_AT] for prompt in story.prompts))
    many = log(1 + max(1, len(story.said)))
    found = [
        _scored(one, asked, {word: log(1 + often[word]) / many for word in one.words}, story)
        for one in _statements(story)
    ]
    kept: list[_Statement] = []
    for one in sorted(found, key=lambda one: (-one.score, -one.said.place)):
        if len(kept) == _MAX_EXPLAINED or one.score < _LEAST:
            break
        if all(len(one.words & other.words) <= _SHARED * min(len(one.words), len(other.words)) for other in kept):
            kept.append(one)
    yield from (_draft(story, one) for one in kept)


def _statements(story: Story) -> list[_Statement]:
    found: list[_Statement] = []
    for said in story.said:
        if said.refuted:
            continue
        for sentence, text in said.told():
            if _SHORTEST <= len(text) <= _LONGEST and _tells(text):
                found.append(_Statement(said, sentence, text, _words(text), 0.0))
    return found[-_MAX_CANDIDATES:]


def _tells(text: str) -> bool:
    """Whether it explains something that it names, plainly and for good."""
    return (
        _WELL.match(text) is not None
        and text.count("`") % 2 == 0
        and _EXPLAINS.search(text) is not None
        and NAMES.search(text) is not None
        and not (NARRATED.search(text.removeprefix("I ")) or HEDGED.search(text))
        and (_chose(text) or not _OTHERWISE.search(text))
    )


def _chose(text: str) -> bool:
    return _CHOSE.search(text) is not None and _OF_THE_WORK.search(text) is None


def _scored(one: _Statement, asked: frozenset[str], often: dict[str, float], story: Story) -> _Statement:
    text, known = one.text, max(3, len(one.words))
    names = len(NAMES.findall(text))
    signs = [weight for weight, sign in _SIGNS if sign.search(text)]
    score = sum(signs) - _SIGNLESS * (not signs)
    score += 1.2 * _chose(text)
    score += 0.3 * (names >= 2) + 0.6 * (names >= 3)
    score += 0.5 * (len(text) >= 130) + 0.8 * (len(text) >= 200) - 0.4 * (len(text) < 80)
    score += len(one.words & asked) / known + 1.5 * sum(often.values()) / known
    score += 0.6 * one.said.place / max(1, story.said_places[-1]) + (one.said is story.said[-1])
    one.score = score
    return one


def _words(text: str) -> frozenset[str]:
    return frozenset(_WORD.findall(text.casefold())) - STOP_WORDS


def _draft(story: Story, one: _Statement) -> Draft:
    kind = "decision" if _CHOICE.search(one.text) else "lesson" if _WRONG.search(one.text) else "fact"
    text = sentence_case(one.text)
    return Draft(
        kind=kind,
        content=text if text.endswith((".", "!", "`", ")")) else f"{text}.",
        evidence=(story.cite(one.said.event, one.sentence.start, one.sentence.end),),
        occurred_at=one.said.event.occurred_at,
        importance=round(min(0.48, 0.36 + 0.02 * one.score), 2),
        confidence=0.6,
    )
