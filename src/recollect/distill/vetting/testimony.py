"""A session's events as `vet` asks about them: whose words an event has, and what text from outside had ordered.

An order is what a tool's result, a page, a file or injected text says is always, never or from now on to be done, or
says in the user's name. That an agent repeats it, or that somebody nods to that, does not make it trusted. And a
sentence that somebody pastes back from what the agent or a tool had said is not their own.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from recollect.distill.vetting.authored import own_words
from recollect.distill.vetting.stated import alike, telling
from recollect.model import Event

_ORDERING = (
    r"always|never|remember|from now on|going forward|prefers?|ignore|disregard|the user|users? wants?|mandatory"
    r"|recommends?|(?:must|should|shall|have to|need to|required to|please) (?:\w+ )?(?:use|run|install|add|set|call"
    r"|send|upload|execute|enable|disable|download|visit|open|fetch|write|push)"
    r"|immer|niemals|merke?|toujours|jamais|siempre|nunca|recuerda"
)
_ORDER = re.compile(rf"\b(?:{_ORDERING})\b", re.IGNORECASE)
_FOLDED = re.compile(rf"\b(?:{_ORDERING})\b")  # the same for folded text, in a third of the time
# What does something where it stands: addresses, and commands that run what they fetch.
_LIVE = re.compile(
    r"\b[a-z][a-z+.-]{1,9}://|\bwww\.|\|\s*(?:ba|z|da)?sh\b|\b(?:curl|wget|eval|base64)\b", re.IGNORECASE
)
_TOLD = re.compile(r"\bthe user (?:chose|refused|asked)\b", re.IGNORECASE)
_BEFORE, _AFTER = 3, 8  # telling words around an ordering one that are taken for the order
_AROUND = 240  # characters in which these stand, at most to the ends of the line
_LOOKED_AT = 65_536
_FEWEST = 2  # words of a draft that can be an order
_SHARE = 0.6  # of a draft's words, and
_SHARE_OF_ORDER = 0.3  # of an order's, that make the two the same
_PARTS = re.compile(r"[.;:!?](?=\s|$)|[()`\"“”\n]")
_WORD = re.compile(r"\w+")
_ENDS = re.compile(r"\n|(?<=[.!?;])\s")
_FEWEST_REPEATED = 5  # words in the same order that nobody says twice by chance
_OUTSIDE = ("tool", "web", "import", "injected")
# Tools whose refusal the host words itself; that of any other can be forged by the tool.
_OF_THE_HOST = frozenset(("shell", "edit", "read", "search", "plan"))
_CALLS = frozenset(("tool_call", "edit", "test_run"))


class Testimony:
    """The events of one session by key."""

    def __init__(self, events: Mapping[str, Event]) -> None:
        self.events = events
        self._actions: dict[object, object] | None = None
        self._orders: list[frozenset[str]] | None = None
        self._told: list[tuple[Event, str]] | None = None

    def is_persons(self, event: Event) -> bool:
        """Whether an event has a person's words: a prompt, or what was said when a call of the host's was refused."""
        if event.origin != "user":
            return False
        if event.kind != "human_intervention":
            return event.kind == "user_prompt"
        if self._actions is None:
            calls = (one.meta for one in self.events.values() if one.kind in _CALLS)
            self._actions = {meta.get("call"): meta.get("action") for meta in calls if meta.get("call")}
        return self._actions.get(event.meta.get("call")) in _OF_THE_HOST

    def repeats(self, event: Event, start: int, end: int) -> bool:
        """Whether a sentence of a prompt, or a line of it, stands word for word in what was shown before.

        What the author had said first is theirs, however often it was repeated since.
        """
        return any(self._stood(event, words) for words in _lines_of(event.text[start:end]))

    def _stood(self, event: Event, words: list[str]) -> bool:
        line, longest = f" {' '.join(words)} ", max(words, key=len)
        for earlier, folded in self._shown():
            if earlier.position >= event.position:
                break
            if longest not in folded or _of_one_call(earlier, event):
                continue  # the host reports a refusal to the agent in the user's own words
            if not self.is_persons(earlier):
                if line in _as_line(folded):
                    return True
            elif any(line in _as_line(folded[first:last]) for first, last in own_words(folded)):
                return False
        return False

    def _shown(self) -> list[tuple[Event, str]]:
        """What was said and shown in the session, in order, folded."""
        if self._told is None:
            order = sorted(self.events.values(), key=lambda one: one.position)
            self._told = [(one, one.text[:_LOOKED_AT].casefold()) for one in order]
        return self._told

    def ordered(self, content: str) -> bool:
        """Whether text from outside ordered what a part of a content says."""
        if self._orders is None:
            outside = (one for one in self.events.values() if one.origin in _OUTSIDE)
            texts = (one.text[:_LOOKED_AT] for one in outside if one.meta.get("action") != "ask")
            self._orders = list(dict.fromkeys(order for text in texts for order in _orders_in(text)))
        return any(self._is_ordered(set(telling(part))) for part in (content, *_PARTS.split(content)))

    def _is_ordered(self, words: set[str]) -> bool:
        if len(words) < _FEWEST:
            return False
        for order in self._orders or ():
            shared = sum(word in order or any(alike(word, other) for other in order) for word in words)
            if shared >= max(_FEWEST, _SHARE * len(words), _SHARE_OF_ORDER * len(order)):
                return True
        return False


def _of_one_call(result: Event, said: Event) -> bool:
    call = said.meta.get("call")
    return said.kind == "human_intervention" and call is not None and result.meta.get("call") == call


def _lines_of(text: str) -> Iterator[list[str]]:
    """The words of a text that is a sentence, and of its lines, where they are enough to be somebody's."""
    for part in dict.fromkeys((text, *_ENDS.split(text))):
        words = _WORD.findall(part.casefold())
        if len(words) >= _FEWEST_REPEATED:
            yield words


def _as_line(folded: str) -> str:
    return f" {' '.join(_WORD.findall(folded))} "


def is_live(content: str) -> bool:
    """Whether a text has something in it that does something where it stands: an address, a command that fetches."""
    return _LIVE.search(content) is not None


def is_order(content: str) -> bool:
    """Whether a text says what is to be done, or what the user wants; that they chose or refused is not an order."""
    return _ORDER.search(_TOLD.sub("", content)) is not None


def _orders_in(text: str) -> Iterator[frozenset[str]]:
    folded = text.casefold()
    alike = len(folded) == len(text)  # else its places are others
    for found in _FOLDED.finditer(folded) if alike else _ORDER.finditer(text):
        start = max(text.rfind("\n", 0, found.start()) + 1, found.start() - _AROUND)
        stop = text.find("\n", found.end())
        end = min(len(text) if stop < 0 else stop, found.end() + _AROUND)
        before, after = telling(text[start : found.start()]), telling(text[found.start() : end])
        yield frozenset(before[-_BEFORE:] + after[:_AFTER])
