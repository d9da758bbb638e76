"""`context`: the best of what was recalled, as delimited text that fits a number of tokens."""

from __future__ import annotations

from recollect.errors import InvalidInput
from recollect.frame import FOOTER, HEADER, name_of
from recollect.inject.quote import NOTICE, entry
from recollect.model import Context, Recall
from recollect.recall.budget import CountTokens, pack


def render(recall: Recall, max_tokens: int, count: CountTokens) -> Context:
    """Hits in order of relevance while they fit, the frame included; nothing found or fitting: empty, and why."""
    if max_tokens < 1:
        raise InvalidInput("max_tokens must be at least 1")
    if not recall.hits:
        return Context("", 0, (), recall.mode, recall.note or "nothing was recalled", recall.abstained)
    frame = count(f"{HEADER}\n{NOTICE} {name_of('')}\n") + count(f"{FOOTER}\n")
    entries = pack((entry(hit, recall.query) + "\n" for hit in recall.hits), max_tokens - frame, count)
    if not entries:
        return Context("", 0, (), recall.mode, f"the first hit alone does not fit into {max_tokens} tokens")
    content = "".join(entries)
    text = f"{HEADER}\n{NOTICE} {name_of(content)}\n{content}{FOOTER}\n"
    return Context(text, count(text), tuple(hit.id for hit in recall.hits[: len(entries)]), recall.mode, recall.note)
