"""What a person took back later in the same session: "scrap that", "forget what I said about mocks".

Drafts go in; those that still hold come out. A bare "scrap that" takes back what the prompt before it said; one that
names what it is about takes back everything earlier that shares most of those words.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from recollect.distill.draft import Draft
from recollect.distill.rules.standing import SO
from recollect.distill.rules.story import Prompt, Story
from recollect.stopwords import STOP_WORDS

_SHARED = 0.5  # of the words after "about" that a draft must have
_SAID = r"(?:what i (?:just )?(?:said|told you|wrote)|the rule|that rule|my (?:rule|preference|wish|decision))"
_ABOUT = re.compile(
    rf"\b(?:forget|ignore|disregard|scrap|drop|cancel) {_SAID}(?: earlier| before)?"
    r" (?:about|on|regarding|for|that)\b(.+)",
    re.IGNORECASE,
)
_THAT = re.compile(
    SO
    + rf"(?:(?:scrap|forget|ignore|disregard|cancel) (?:that|this|it|{_SAID})(?: again| please| then)?\s*(?:[.,;:!-]|$)"
    r"|i take (?:that|it) back\b|(?:vergiss|streich) das\b|oublie ça\b|olvida eso\b)",
    re.IGNORECASE,
)
_WORD = re.compile(r"[^\W_]{3,}")


def still_held(drafts: Iterable[Draft], story: Story) -> list[Draft]:
    """The drafts that nobody took back."""
    place = {prompt.event.key: number for number, prompt in enumerate(story.prompts)}
    back = [(number, *_taken_back(prompt)) for number, prompt in enumerate(story.prompts)]
    taken = [(number, bare, about) for number, bare, about in back if bare or about]
    if not taken:
        return list(drafts)

    def holds(draft: Draft) -> bool:
        at = max((place[span.event] for span in draft.evidence if span.event in place), default=None)
        if at is None:
            return True
        words = _words(draft.content)
        return not any(
            number > at
            and ((bare and number == at + 1) or any(len(named & words) >= _SHARED * len(named) for named in about))
            for number, bare, about in taken
        )

    return [draft for draft in drafts if holds(draft)]


def _taken_back(prompt: Prompt) -> tuple[bool, list[frozenset[str]]]:
    """Whether a prompt takes back the one before it, and the words of whatever else it takes back by name."""
    said = [sentence.text for sentence in prompt.own()]
    named = [_words(found[1]) for text in said if (found := _ABOUT.search(text))]
    return any(_THAT.search(text) and not _ABOUT.search(text) for text in said[:2]), [words for words in named if words]


def _words(text: str) -> frozenset[str]:
    return frozenset(word[:5] for word in _WORD.findall(text.casefold()) if word not in STOP_WORDS)
