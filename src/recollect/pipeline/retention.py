"""The raw budget: bodies leave when space is needed or they are old, and never before their session has a digest.

Passes, in order: `age` (digested, older than the limit), `soft` (digested, oldest first, until the soft cap holds), `hard`
(whatever is oldest, until the hard cap holds; a session that had no digest is named as data loss). Rows, digests and
memories are never touched: above their cap there is only an alert.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import datetime

from recollect.model import Scope
from recollect.settings import Settings
from recollect.store.port import RawUse, Store

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
    old = store.bodies.tick(now) - settings.raw_max_age_days * _DAY
    use = store.bodies.use(scope)
    done.final_usage = sum(each.bytes for each in use)

    def evict(chosen: Iterator[RawUse], name: str, enough: Callable[[], bool], undigested: bool = False) -> None:
        for each in chosen:
            if enough():
                return
            freed = store.bodies.evict(scope, each.session, at=now, undigested=undigested)
            if freed:
                done.freed += freed
                done.passes[name] += 1
                if undigested and not each.digested:
                    done.data_loss.append(each.session)
            done.final_usage = sum(left.bytes for left in store.bodies.use(scope)) if freed else done.final_usage

    evict((each for each in use if each.digested and each.born < old), "age", lambda: False)
    soft, hard = settings.raw_soft_cap_bytes, settings.raw_hard_cap_bytes
    if done.final_usage > soft:
        left = store.bodies.use(scope)
        evict((each for each in left if each.digested), "soft", lambda: done.final_usage <= soft)
    if done.final_usage > hard:
        evict(iter(store.bodies.use(scope)), "hard", lambda: done.final_usage <= hard, undigested=True)
    done.alert = _alert(store, settings)
    return done


def _alert(store: Store, settings: Settings) -> str | None:
    kept = store.keeping.health(deep=False).bytes.get("database", 0)
    if kept <= settings.distilled_cap_bytes:
        return None
    return f"the database has {kept:,} bytes, more than distilled_cap_bytes ({settings.distilled_cap_bytes:,})"
