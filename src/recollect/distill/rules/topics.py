"""What a text names: anchors into a repository, and the plain topics it is about.

A text comes in; anchors (`file:src/a.py`, `symbol:name`) and tags go out, in the order they stand in it. Tags are words
of the text itself, of a short list of things that projects have.
"""

from __future__ import annotations

import re

MAX_ANCHORS, MAX_TOPICS = 6, 4
_PATH = re.compile(
    r"(?<![\w/:.])((?:[\w.@-]{1,60}/){1,12}[\w.@-]{1,80}\.\w{1,6}|[\w-]{1,80}\.(?:go|py"
    r"|ts|tsx|js|jsx|rs|ex|exs|rb|java|kt|swift|c|cpp"
    r"|h|cs|php|toml|yaml|yml|json|md|sh|sql))\b"
)
_SYMBOL = re.compile(r"`([A-Za-z_][\w.:]{2,60})(?:\(\))?`")
_TOPIC = re.compile(
    r"\b(tests?|commits?|branch(?:es)?|docs?|readme|lint(?:ing)?|format(?:ting)?|deploy\w*"
    r"|releases?|docker|ssh|security|credentials?"
    r"|tokens?|database|postgres|sqlite|redis|api|cli|ci|logging|hooks?|config(?:uration)?"
    r"|naming|style|comments?|dependenc\w+)\b",
    re.IGNORECASE,
)


def anchors_of(text: str) -> tuple[str, ...]:
    """Files and symbols that are named, each once."""
    files = [f"file:{one}" for one in dict.fromkeys(_PATH.findall(text))]
    symbols = [f"symbol:{one}" for one in dict.fromkeys(_SYMBOL.findall(text)) if f"file:{one}" not in files]
    return tuple((*files, *symbols)[:MAX_ANCHORS])


def topics_of(text: str) -> tuple[str, ...]:
    """Tags, in lower case, each once."""
    return tuple(dict.fromkeys(found.casefold() for found in _TOPIC.findall(text)))[:MAX_TOPICS]
