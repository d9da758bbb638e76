"""Whether an agent used what a memory says, told from the words of a session; no model is asked.

The words of memories and a session's events come in; out comes which memories were used, and when. A memory counts as
used when the agent itself, in one thing it writes or runs after it was shown, says enough of the words that tell the
memory apart, and nobody and nothing said them to it before: not the person, no tool, no file it read. So a word that
the prompt has proves nothing, and being shown proves nothing either. Words from all over a long session prove nothing:
sooner or later an agent says most of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from itertools import chain

from recollect.model import Event
from recollect.promptindex import words
from recollect.usualwords import COMMON_WORDS, USUAL_WORDS

SHARE = 0.25  # of what the memory tells that nobody had said, by weight
LEAST = 3.0  # and at least this much: three words, or one that is like a name
_NAMED = 3.0  # what a word with digits weighs, such as a port or a hash
_YEARS = ("19", "20")
_MOST_WORDS = 60  # of a memory
_HEARD_CHARS = 20_000  # of one event; what is longer is mostly a file or a log
_SAID_CHARS = 2_000  # of what an agent says; what is longer has most words by chance
_OWN = ("assistant_text", "tool_call", "edit", "test_run")  # what an agent does, not what it thinks
_OURS = ("injected_context", "thinking", "summary", "compaction")


def telling(text: str) -> dict[str, float]:
    """The words that tell a text apart, each with its weight."""
    found: dict[str, float] = {}
    for word in words(text[:_HEARD_CHARS]):
        if len(word) > 2 and word not in COMMON_WORDS and word not in USUAL_WORDS:
            found[word] = _NAMED if _is_named(word) else 1.0
        if len(found) >= _MOST_WORDS:
            break
    return found


@dataclass(slots=True)
class _Following:
    """One memory while a session goes on."""

    shown: datetime
    left: dict[str, float]  # what nobody said yet
    used_at: datetime | None = None

    def hear(self, text: str) -> None:
        """Somebody else said this: from now on it proves nothing."""
        for word in [word for word in self.left if _begins(word) in text]:
            del self.left[word]

    def speak(self, event: Event, text: str) -> None:
        """The agent says or does this."""
        enough = max(LEAST, SHARE * sum(self.left.values()))
        near = [word for word in self.left if _begins(word) in text]
        if self.used_at is not None or sum(self.left[word] for word in near) < enough:
            return
        spoken = set(words(event.text[:_SAID_CHARS]))
        if sum(self.left[word] for word in near if word in spoken) >= enough:
            self.used_at = event.occurred_at


def used(
    shown: Mapping[str, tuple[datetime, Mapping[str, float]]], events: Iterable[Event], before: Iterable[Event] = ()
) -> dict[str, datetime]:
    """Of memories with when they were shown and their words, those that were used, and when.

    What was said `before` the events was said before, whatever its time.
    """
    following = {id_: _Following(at, dict(told)) for id_, (at, told) in shown.items() if told}
    for event, late in chain(((one, False) for one in before), ((one, True) for one in events)):
        if event.origin == "injected" or event.kind in _OURS:
            continue
        text = event.text[:_HEARD_CHARS].casefold()
        own = late and event.origin == "assistant" and event.kind in _OWN
        for one in following.values():
            if own and event.occurred_at >= one.shown:
                one.speak(event, text)
            else:
                one.hear(text)
    return {id_: one.used_at for id_, one in following.items() if one.used_at is not None}


def _is_named(word: str) -> bool:
    """Whether a word is hardly said by chance: it has four digits and is no year. `sha256` and `http2` are usual."""
    year = word.isdigit() and len(word) == 4 and word.startswith(_YEARS)
    return sum(sign.isdigit() for sign in word) >= 4 and not year


def _begins(word: str) -> str:
    """What a stem's inflections begin with: the index makes `deploy` into `deploi`."""
    return word[:-1] if word.endswith("i") and len(word) > 3 else word
