"""What people suggested in passing: "can we leave room for three of them?", "should it warn when there is no helper?".

Nobody stated it, so it is never the user's word on anything: it stays quoted, recalled when asked for. But what was
talked over often became so, and a later reader wants to know whose idea it was. Questions about the work itself
(commit, run, explain) suggest nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from recollect.distill.draft import Draft
from recollect.distill.rules.cues import FILLER, MOMENT, PRONOUN
from recollect.distill.rules.story import Prompt, Story
from recollect.distill.sentences import Sentence, plain, whole_words

_MAX_SUGGESTED = 2
_SHORTEST, _LONGEST = 50, 400

_SUGGESTS = re.compile(
    r"^(?:(?:and|but|so|ok(?:ay)?|hm+|yes|yeah|no|also|then|ah|oh|i think|maybe|actually|well|like)\b[\s,:]*)*"
    r"(?:can(?:'?t| not)? (?!you\b|i\b|u\b)|could(?:n'?t)? (?!you\b|i\b|u\b)|should(?:n'?t)? (?!i\b|you\b)|wouldn'?t"
    r"|what if|why (?:don'?t|not)|how about|i(?:'d| would) (?!like you)|i wouldn'?t|let'?s|we (?:should|could|can|also"
    r"|just|need))\b",
    re.IGNORECASE,
)
_OF_THE_WORK = re.compile(
    r"\b(?:add|commit|push|prs?|pull request|merge|rebase|branch|review|run|rerun|test it|check|look|continue|next"
    r"|explain|show|tell|summar\w+|open|issue|brainstorm|discuss|read|write (?:down|up)|start|fix|try"
    r"|do (?:this|that|it)|ci|lint|figure out|confirm|indicate this|be the case)\b",
    re.IGNORECASE,
)


def suggested(story: Story) -> Iterator[Draft]:
    """The longest suggestions: they say most."""
    found: list[tuple[Prompt, Sentence, str]] = []
    for prompt in story.prompts:
        for sentence in prompt.own() if prompt.refused is None else ():
            said = plain(sentence.text).replace("’", "'")
            if _SHORTEST <= len(said) <= _LONGEST and _suggests(said):
                found.append((prompt, sentence, said))
    for prompt, sentence, said in sorted(found, key=lambda one: -len(one[2]))[:_MAX_SUGGESTED]:
        yield Draft(
            kind="decision",
            content=f"Suggested by the user: {whole_words(FILLER.sub('', said), _LONGEST)}",
            evidence=(story.cite(prompt.event, sentence.start, sentence.end),),
            occurred_at=prompt.event.occurred_at,
            importance=0.46,
            confidence=0.5,
        )


def _suggests(said: str) -> bool:
    if _SUGGESTS.match(said) is None or said.count("`") % 2 or said.count('"') % 2:
        return False
    return not (_OF_THE_WORK.search(said) or MOMENT.search(said) or PRONOUN.match(FILLER.sub("", said)))
