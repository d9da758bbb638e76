"""How useful a memory proved, from -1 to 1: confirmed uses for it, harm against it, both fading. Never how often it was
shown.

    s = the sum over its verdicts of  weight x 0.5 ^ (age in days / half-life)
    usefulness = s / (|s| + 2)

A verdict is one a memory, session and kind. `helpful` weighs 1; `cited` and `success` half of that, because they are
mostly told by the words of a session; `harmful` -4, so that four people who were helped are needed for one who was led
astray. Without a verdict it is 0, and the memory ranks as if there were no feedback at all.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from recollect.clock import age_days
from recollect.errors import InvalidInput
from recollect.store.ports.use import Feedback, Injection, Verdict

if TYPE_CHECKING:
    from recollect.model import Scope
    from recollect.store.port import Store

WEIGHTS = {"helpful": 1.0, "cited": 0.5, "success": 0.5, "harmful": -4.0}
HALF_LIFE_DAYS = 90.0
_SPREAD = 2.0  # one helpful is worth a third of what can be reached, one harmful two thirds
_SHOWN = 20  # injections that are told of a memory


@dataclass(frozen=True, slots=True)
class Usage:
    """What is known about the use of a memory: what it comes to, what was said, and where it was shown lately."""

    memory: str
    usefulness: float
    feedback: tuple[Feedback, ...] = ()
    injections: tuple[Injection, ...] = ()


def usefulness(verdicts: Iterable[Verdict], now: datetime, half_life: float = HALF_LIFE_DAYS) -> float:
    """What these verdicts come to at a time; those of later do not count."""
    if half_life <= 0:
        raise InvalidInput("use_half_life_days must be more than 0")
    total = 0.0
    for verdict, at in verdicts:
        if at <= now:
            total += WEIGHTS[verdict] * 0.5 ** (age_days(at, now) / half_life)
    return total / (abs(total) + _SPREAD)


def usage(store: Store, scope: Scope, memory_id: str, now: datetime, half_life: float) -> Usage:
    """All of it for one memory."""
    said = store.use.feedback(scope, memory_id)
    worth = usefulness(store.use.verdicts(scope, [memory_id]).get(memory_id, ()), now, half_life)
    shown = store.use.injections(scope, memory=memory_id, limit=_SHOWN)
    return Usage(memory_id, worth, tuple(said), tuple(shown))
