"""Importance and tags of a memory when nobody gave them: by its kind, how strongly it is put, and its #hashtags."""

from __future__ import annotations

import re

_BY_KIND = {"preference": 0.7, "decision": 0.7, "lesson": 0.7, "fact": 0.5, "reference": 0.5}
_OTHERWISE = 0.4
_STRONG = re.compile(r"\b(?:always|never|must|important|critical|do not|don't|require[sd]?|warning)\b", re.IGNORECASE)
_HASHTAG = re.compile(r"(?<![\w&#/])#([^\W\d_][\w-]{1,49})")


def importance_of(kind: str, content: str) -> float:
    """From 0 to 1."""
    return round(_BY_KIND.get(kind, _OTHERWISE) + (0.1 if _STRONG.search(content) else 0.0), 2)


def tags_of(content: str) -> tuple[str, ...]:
    """The hashtags in a text, in lower case, each once, at most eight."""
    return tuple(dict.fromkeys(tag.casefold() for tag in _HASHTAG.findall(content)))[:8]
