"""A long text cut down to the sentences that answer: a whole turn would use up a budget that several hits could share.

Sentences that hold the question's words come first, then the beginning; they are given in their own order, with an
ellipsis for what was left out. A text that is short enough stays as it is.
"""

from __future__ import annotations

import re

from recollect.store.searchtext import query_terms

LIMIT = 700
_SENTENCE = re.compile(r"(?:[^.!?。！？\n]|[.!?]+(?![\s.!?]|$))*(?:[.!?。！？]+(?=\s|$)|[。！？]|\n|$)")
_ANSWER = "\nassistant: "
_STEM = 5  # characters in which a word and its inflections usually agree


def excerpt(text: str, question: str, limit: int = LIMIT) -> str:
    """`text` in about `limit` characters. What was asked and what was answered both keep their place."""
    if len(text) <= limit:
        return text
    asked, mark, answered = text.partition(_ANSWER)
    if not mark:
        return _cut(text, question, limit)
    room = max(limit // 2, limit - len(answered))
    head = _cut(asked, question, room)
    return f"{head}{_ANSWER}{_cut(answered, question, max(limit // 3, limit - len(head)))}"


def _cut(text: str, question: str, limit: int) -> str:
    if len(text) <= limit:
        return text
    stems = [term[:_STEM] for term in query_terms(question)]
    sentences = [found for match in _SENTENCE.finditer(text[:100_000]) if (found := match[0].strip())]
    if not sentences:
        return text[: limit - 1] + "…"
    worth = [sum(stem in sentence.casefold() for stem in stems) for sentence in sentences]
    kept: set[int] = set()
    used = 0
    for i in sorted(range(len(sentences)), key=lambda i: (-worth[i], i)):
        if used + len(sentences[i]) <= limit:
            kept.add(i)
            used += len(sentences[i]) + 2
    if not kept:
        return sentences[max(range(len(sentences)), key=lambda i: (worth[i], -i))][: limit - 1] + "…"
    return _joined(sentences, sorted(kept))


def _joined(sentences: list[str], kept: list[int]) -> str:
    parts = []
    for before, i in zip([-1, *kept], kept, strict=False):
        parts.append((" … " if i > before + 1 else " ") + sentences[i])
    return ("".join(parts) + (" …" if kept[-1] < len(sentences) - 1 else "")).strip()
