"""What people remarked about the thing at hand: "the tool's users won't have that variable", "leave the others as is".

It is no rule and no plain decision, so it stays quoted, recalled when asked for: but what somebody wants of a thing,
denies it or keeps it to is often why it is as it is. Requests and questions are no remarks, nor is what stands in a
long prompt: that is the task itself, or was pasted. A remark must say what it is about; the most telling are taken.
"""

from __future__ import annotations

import re
from bisect import bisect
from collections.abc import Iterator

from recollect.distill.draft import Draft
from recollect.distill.rules.cues import BROKEN, FILLER, PRONOUN, REQUEST, SLASH, WORD
from recollect.distill.rules.lessons import NAMES
from recollect.distill.rules.story import Prompt, Story
from recollect.distill.sentences import Sentence, plain, sentence_case

_MAX_REMARKS = 3
_SHORTEST, _LONGEST = 20, 400
_LONG_PROMPT = 800  # characters
_FEWEST = 4  # words
_LEAST = 1.2

# What a remark holds. The weights were fitted to labelled sessions and rounded.
_SIGNS = (
    (1.1, re.compile(r"\b(?:use|using|keep|store|put|leave|skip|drop|name|call)\b", re.IGNORECASE)),
    (0.6, re.compile(r"\b(?:error|fail\w*|broken|bug|wrong|issue|problem|missing)\b", re.IGNORECASE)),
    (0.4, NAMES),
    (0.3, re.compile(r"\b(?:needs?|must|has to|have to|required?)\b", re.IGNORECASE)),
    (
        0.7,
        re.compile(
            r"\b(?:i|we) (?:\w+ )?(?:want|would like|'d like|prefer|like)\b|\bi'd (?:\w+ )?like\b", re.IGNORECASE
        ),
    ),
    (0.8, re.compile(r"\b(?:is|are|be|has|have)\b", re.IGNORECASE)),
    (0.8, re.compile(r"\b(?:should|shouldn'?t|ought)\b", re.IGNORECASE)),
    (
        0.9,
        re.compile(
            r"\b(?:don'?t|do not|never|no need|not|avoid|stop|without|isn'?t|doesn'?t|can'?t|won'?t)\b", re.IGNORECASE
        ),
    ),
    (-1.7, BROKEN),
)
_OUGHT = re.compile(r"\b(?:should|ought|needs?|must|has to|have to|want|like|let'?s|make sure)\b", re.IGNORECASE)
_COMMAND = re.compile(r"^\W*(?:\$ |[A-Z_]{3,}=|(?:env|sudo|cd|git|go|npm|make|docker|python3?) [\w./=-]+ )")
_OF_THE_WORK = re.compile(
    r"\b(?:commit|push|merge|rebase|close the|talk about|good news|bad news|thanks?|sorry|continue|go on|let'?s go)\b",
    re.IGNORECASE,
)


def remarks(story: Story) -> Iterator[Draft]:
    """The most telling remarks, in the order of how much they tell."""
    edits = [run.place for run in story.runs if run.action == "edit" and run.failed is not True]
    found: list[tuple[float, Prompt, Sentence, str]] = []
    for number, prompt in enumerate(story.prompts):
        if prompt.refused is not None or len(prompt.text) > _LONG_PROMPT:
            continue
        until = story.prompts[number + 1].place if number + 1 < len(story.prompts) else 1 << 60
        worked = bisect(edits, until) > bisect(edits, prompt.place)
        for sentence in prompt.own():
            said = plain(sentence.text).replace("’", "'")
            if number == 0 and _OUGHT.search(said):
                continue  # what a first prompt wants is the task
            if _SHORTEST <= len(said) <= _LONGEST and _remarks(said):
                found.append((_score(said, prompt, worked), prompt, sentence, said))
    found = [one for one in found if one[0] >= _LEAST]
    for _, prompt, sentence, said in sorted(found, key=lambda one: (-one[0], -one[1].place))[:_MAX_REMARKS]:
        yield Draft(
            kind="note",
            content=f"Said by the user: {sentence_case(FILLER.sub('', said))}",
            evidence=(story.cite(prompt.event, sentence.start, sentence.end),),
            occurred_at=prompt.event.occurred_at,
            importance=0.46,
            confidence=0.5,
            passing=True,
        )


def _remarks(said: str) -> bool:
    if said.count("`") % 2 or said.count('"') % 2 or said.endswith(("?", ":", "(", ",")):
        return False
    if SLASH.match(said) or _COMMAND.match(said) or REQUEST.search(said) or _OF_THE_WORK.search(said):
        return False
    told = FILLER.sub("", said)
    if PRONOUN.match(told) and not NAMES.search(told):
        return False
    return len(WORD.findall(NAMES.sub(" ", told))) >= _FEWEST


def _score(said: str, prompt: Prompt, worked: bool) -> float:
    score = sum(weight for weight, sign in _SIGNS if sign.search(said))
    return score + 0.5 * worked + 0.8 * prompt.correction + 0.7 * prompt.answering - 0.7
