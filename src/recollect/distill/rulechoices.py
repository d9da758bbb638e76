"""Choices the agent made and gave its reason for: something kept, avoided or left, with its because.

They are the agent's words and stay quoted: recalled when asked for, never put before anybody by themselves. Hedged,
narrated and refuted ones are left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from recollect.distill.draft import Draft
from recollect.distill.rulelessons import HEDGED, NAMES, NARRATED
from recollect.distill.rulestory import Story

_MAX_CHOICES = 2
_SHORTEST, _LONGEST = 40, 320

_CHOICE = re.compile(
    r"\b(?:kept|chose|avoided|went with|skipped|left|deliberately|intentionally|on purpose|by design|decided)\b.{5,200}"
    r"\b(?:because|since|so that|to avoid|to keep|to stay|rather than)\b",
    re.IGNORECASE,
)
_STATUS = re.compile(
    r"^(?:all|done|fixed|pushed|committed|opened|created)\b"
    r"|\b(?:untracked|uncommitted|worktree|unstaged|stash|commits?|recommendation|option [a-d\d]|test run|ci)\b",
    re.IGNORECASE,
)


def choices(story: Story) -> Iterator[Draft]:
    """The last choices that were explained."""
    found: list[Draft] = []
    for said in story.said:
        if said.refuted:
            continue
        for sentence, text in said.told():
            if not _SHORTEST <= len(text) <= _LONGEST or not _CHOICE.search(text) or not _tells(text):
                continue
            found.append(
                Draft(
                    kind="decision",
                    content=text[:1].upper() + text[1:],
                    evidence=(story.cite(said.event, sentence.start, sentence.end),),
                    occurred_at=said.event.occurred_at,
                    importance=0.48,
                    confidence=0.6,
                )
            )
    yield from found[-_MAX_CHOICES:]


def _tells(text: str) -> bool:
    """Whether it speaks of a thing by its name, and for good."""
    narrated = NARRATED.search(text.removeprefix("I ")) or HEDGED.search(text) or _STATUS.search(text)
    return narrated is None and NAMES.search(text) is not None and text.count("`") % 2 == 0
