"""What people ask for: one signal for each wish of a session, by its telling words, and for each own command.

Only the author's own words count, never a paste, and only where a person typed them: what a script or another agent
gives to an agent is not the user's word. A wish that only steers the conversation (`keep going`) is none. Whether a
wish repeats is for `cluster` to see.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from recollect.distill.rules.story import Prompt
from recollect.distill.sentences import Sentence, plain
from recollect.learn.doing import STEERING, doing
from recollect.learn.reading import Reading
from recollect.learn.values import Signal
from recollect.learn.wishes import GENERIC, OWN_COMMAND, asked_words, clauses, wish_of

_MOST, _SENTENCES, _WORDS = 60, 8, (2, 8)
_LONGEST = 200
_EMPTY = GENERIC | STEERING
_SLASH = re.compile(r"/([a-z][a-z:_-]{2,40})(?=\s|$)")


def instruction_signals(reading: Reading) -> Iterator[Signal]:
    """The wishes of a session, each once."""
    seen: set[str] = set()
    for prompt in reading.typed:
        slash = _SLASH.match(prompt.text.lstrip())
        if slash:
            found = [(f"{OWN_COMMAND}{slash[1]}", f"/{slash[1]}", "user")]
        else:
            found = [one for sentence in prompt.own()[:_SENTENCES] for one in _wishes(reading, prompt, sentence)]
        for key, said, origin in found:
            if key in seen:
                continue
            seen.add(key)
            yield reading.signal(
                "instruction_repeated",
                key,
                said,
                [prompt.event.key],
                prompt.event.occurred_at,
                origin=origin,
                detail={"wish": said, "doing": doing(said)},
            )
            if len(seen) == _MOST:
                return


def _wishes(reading: Reading, prompt: Prompt, sentence: Sentence) -> Iterator[tuple[str, str, str]]:
    """(key, wish, origin) of what a sentence asks for; a sentence that repeats what a tool showed is not the user's."""
    for clause in clauses(plain(sentence.text)):
        wish = wish_of(clause)
        if wish is None or len(wish) > _LONGEST:
            continue
        words = asked_words(wish)
        if _WORDS[0] <= len(words) <= _WORDS[1] and not _EMPTY.issuperset(words):
            pasted = reading.testimony.repeats(prompt.event, sentence.start, sentence.end)
            yield " ".join(words), wish, "other" if pasted else "user"
