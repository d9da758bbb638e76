"""The raw budget: bodies leave when space is needed or they are old, and never before their session has a digest.

Passes, in order: `age` (digested, older than the limit), `soft` (digested, oldest first, until the soft cap holds) and
`hard` (digested, then whatever is oldest, until the hard cap holds; a session without a digest is named as data loss).
What stays above the soft cap for want of digests is an alert, before it can become a loss. Rows, digests and memories
are never touched: above their cap there is only an alert.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime

from recollect.model import Scope
from recollect.settings import Settings
from recollect.store.port import Store
from recollect.store.ports.capture import RawUse

_DAY = 86_400


@dataclass(slots=True)
class Retention:
    """What one round freed, by pass, and what it had to lose."""

    freed: int = 0
    final_usage: int = 0
    passes: dict[str, int] = field(default_factory=lambda: {"age": 0, "soft": 0, "hard": 0})
    data_loss: list[str] = field(default_factory=list)
    alert: str | None = None


def retain(store: Store, scope: Scope, settings: Settings, now: datetime) -> Retention:
    """One round of all passes."""
    done = Retention()
    store.bodies.tidy(scope)
    old = store.bodies.tick(now) - settings.raw_max_age_days * _DAY
    use = store.bodies.use(scope)
    done.final_usage = sum(each.bytes for each in use)

    def evict(chosen: Iterable[RawUse], name: str, enough: Callable[[], bool], undigested: bool = False) -> None:
        for each in chosen:
            if enough():
                return
            gone = store.bodies.evict(scope, each.session, at=now, undigested=undigested)
            if gone.bytes:
                done.freed += gone.bytes
                done.final_usage -= gone.bytes
                done.passes[name] += 1
            done.data_loss += [session for session in gone.undigested if session not in done.data_loss]

    soft, hard = settings.raw_soft_cap_bytes, settings.raw_hard_cap_bytes
    evict([each for each in use if each.digested and each.born < old], "age", lambda: False)
    if done.final_usage > soft:
        left = store.bodies.use(scope)
        evict([each for each in left if each.digested], "soft", lambda: done.final_usage <= soft)
    if done.final_usage > hard:
        left = sorted(store.bodies.use(scope), key=lambda each: not each.digested)
        evict(left, "hard", lambda: done.final_usage <= hard, undigested=True)
    done.final_usage = sum(each.bytes for each in store.bodies.use(scope))
    done.alert = "; ".join(_alerts(store, settings, done.final_usage)) or None
    return done


def _alerts(store: Store, settings: Settings, raw: int) -> Iterator[str]:
    soft, hard = settings.raw_soft_cap_bytes, settings.raw_hard_cap_bytes
    if raw > soft:
        yield (
            f"{raw:,} bytes of bodies have no digest yet, more than raw_soft_cap_bytes ({soft:,}): "
            f"beyond raw_hard_cap_bytes ({hard:,}) the oldest are lost"
        )
    kept = store.keeping.health(deep=False).bytes.get("database", 0)
    if kept > settings.distilled_cap_bytes:
        yield f"the database has {kept:,} bytes, more than distilled_cap_bytes ({settings.distilled_cap_bytes:,})"
