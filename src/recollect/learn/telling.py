"""Whether a text that memory would have shown tells what was needed, and not only something near it.

A need and a shown text come in, yes or no goes out. The check is strict and by words, so that nobody has to believe a
figure: a command must stand there as it works, an environment must be told of by the name of the trouble, a fix must be
a lesson made of that very error, and what the user wants must be in the user's own words. A turn that shows the same
error tells nobody who has just seen it anything: it only leads to where it was got over.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from recollect.inject.sameness import pieces, repeats, sense
from recollect.learn.errorlines import missing_program
from recollect.learn.needs import Need
from recollect.learn.troubles import NAMED
from recollect.learn.wishes import asked_words

_MOST_PIECES, _PIECE_CHARS = 200, 1_000
_ABSENT = r"(?:not (?:found|installed|on the path|available|there|in)|isn't|is not|missing|unavailable|absent)"


@dataclass(frozen=True, slots=True)
class Shown:
    """A text that memory shows: a memory, a gist or a turn."""

    id: str
    tier: str
    text: str
    session: str | None = None
    kind: str | None = None  # of a memory
    tags: tuple[str, ...] = ()
    from_user: bool = False  # the words are the user's own


def tells(need: Need, shown: Shown, error: str | None) -> bool:
    """Whether this says what was needed; `error` is the fingerprint of what had failed."""
    parts = [part[:_PIECE_CHARS] for part in pieces(shown.text)[:_MOST_PIECES]]
    if need.kind == "correction":
        wanted = set(need.key.split())
        return shown.from_user and any(wanted <= set(asked_words(part)) for part in parts)
    if need.rule and _says(need.rule, parts):
        return True
    if need.kind == "command":
        return _tells_command(need, shown.text)
    if need.kind == "environment":
        return shown.tier != "turn" and any(_tells_environment(need.key, part) for part in parts)
    if need.kind == "fix":
        return shown.kind == "lesson" and error is not None and f"error-{error}" in shown.tags
    return False


def leads(need: Need, shown: Shown) -> bool:
    """Whether it leads to a session in which this was found out: there an agent could look it up."""
    return shown.session is not None and shown.session in need.sessions


def _says(rule: str, parts: list[str]) -> bool:
    wanted = sense(rule)
    return any(repeats(wanted, sense(part)) for part in parts)


def _tells_command(need: Need, text: str) -> bool:
    """The command as it worked, or all that was added to it beside what it is a form of."""
    flat = " ".join(text.split())
    if any(worked and worked in flat for worked in (one.detail.get("worked", "") for one in need.earlier)):
        return True
    head, _, change = need.key.partition(": ")
    added = [word[1:] for word in change.split() if word.startswith("+") and len(word) > 2]
    folded = flat.casefold()
    return bool(added) and _stands(head, folded) and all(_stands(word, folded) for word in added)


def _stands(word: str, text: str) -> bool:
    return re.search(rf"(?<![\w-]){re.escape(word)}", text) is not None


def _tells_environment(key: str, part: str) -> bool:
    what, _, name = key.partition(": ")
    if what == "program missing":
        found = missing_program(part)
        if found is not None and re.sub(r"[\d.]+$", "", found).casefold() == name:
            return True
        return (
            re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-]).{{0,40}}\b{_ABSENT}\b", part, re.IGNORECASE) is not None
        )
    trouble = NAMED.get(key)
    return trouble is not None and trouble.pattern.search(part) is not None
