"""One answer from several places: the user's own memory, and shared contexts they asked for.

Each was asked with the same question by the same rules; here their hits become one list by score. Of equals the user's
own comes first, and what they know themselves is not said again as somebody else's.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from recollect.model import Hit, Recall
from recollect.recall import silence
from recollect.recall.diversify import no_flood
from recollect.text import dedup_key


def merged(own: Recall, shared: Sequence[tuple[Hit, str | None]], limit: int) -> Recall:
    """The best of both. A shared hit comes with who is to be heard only so often, None where nobody is."""
    best = sorted(shared, key=lambda one: -one[0].score)
    heard = [best[place][0] for place in no_flood([source for _, source in best], limit)]
    told = {dedup_key(hit.content) for hit in own.hits}
    fresh: list[Hit] = []
    for hit in heard:
        key = dedup_key(hit.content)
        if key not in told:
            told.add(key)
            fresh.append(hit)
    hits = tuple(sorted([*own.hits, *fresh], key=lambda hit: -hit.score)[:limit])  # stable: own before shared
    if not own.abstained or not hits:
        return replace(own, hits=hits)
    note = (own.note or "").removeprefix(silence.NOTE).removeprefix("; ") or None
    return replace(own, hits=hits, abstained=False, note=note)
