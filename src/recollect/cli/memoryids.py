"""The id of a memory from what a person typed: the whole of it, or as much of its beginning or end as tells it apart.

Ids begin with the time they were made at, so of two memories of the same minute the ends differ sooner.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from recollect.errors import InvalidInput
from recollect.model import ORIGINS, check_id

if TYPE_CHECKING:
    from recollect.facade import Recollect
    from recollect.model import Scope

LEAST = 6  # characters of an id that may stand for it
WHOLE = 36  # as many as an id has: no need to look for more of it
_PAGE, _PAGES, _LISTED = 1_000, 100, 5


def whole_id(memory: Recollect, given: str, scope: Scope | None = None) -> str:
    """The id of the one memory that begins or ends so; what fits none comes back as it is, several are refused."""
    scope, piece = scope or memory.scope, check_id(given, "id").casefold()
    if not LEAST <= len(piece) < WHOLE or memory.store.memories.get(scope, given) is not None:
        return given
    fits = sorted(
        {id_ for id_ in _ids(memory, scope) if id_.casefold().startswith(piece) or id_.casefold().endswith(piece)}
    )
    if len(fits) > 1:
        more = f" and {len(fits) - _LISTED:,} more" if len(fits) > _LISTED else ""
        raise InvalidInput(
            f"{given} fits {len(fits):,} memories: {', '.join(fits[:_LISTED])}{more}",
            hint="Give more of the id; its end tells more than its beginning.",
        )
    return fits[0] if fits else given


def _ids(memory: Recollect, scope: Scope) -> Iterator[str]:
    """Every memory's id, as far as a scan may go; those that were softly forgotten too."""
    memories, where = memory.store.memories, memory.filter(archived=True, history=True)
    for page in range(_PAGES):
        found = memories.find(scope, where, limit=_PAGE, offset=page * _PAGE)
        yield from (one.id for one in found)
        if len(found) < _PAGE:
            break
    for origin in ORIGINS:  # each has one
        yield from (one.id for one in memories.from_source(scope, origin, deleted=True))
