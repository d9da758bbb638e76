"""What a session's requests took, summed up.

Costs come in, one for each time a request was told; sums go out, of all and by model. A request counts once, however
often it was told.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from recollect.distill.digestparts import Spent
from recollect.model import Cost


def spent(costs: Iterable[Cost]) -> tuple[Spent, tuple[Spent, ...]]:
    """What all requests took, and by model; of two with the same key the one with more output holds."""
    best: dict[str, Cost] = {}
    for cost in costs:
        if cost.key not in best or cost.output > best[cost.key].output:
            best[cost.key] = cost
    by_model: dict[str | None, list[Cost]] = {}
    for cost in best.values():
        by_model.setdefault(cost.model, []).append(cost)
    models = [_sum(model, group) for model, group in by_model.items()]
    models.sort(key=lambda spent: (-spent.tokens, spent.model or ""))
    return _sum(None, list(best.values())), tuple(models)


def _sum(model: str | None, costs: Sequence[Cost]) -> Spent:
    priced = [cost for cost in costs if cost.usd is not None]
    sources = {cost.usd_source for cost in priced}
    return Spent(
        model=model,
        requests=len(costs),
        tokens=sum(cost.tokens for cost in costs),
        input=sum(cost.input for cost in costs),
        cache_read=sum(cost.cache_read for cost in costs),
        cache_write_5m=sum(cost.cache_write_5m for cost in costs),
        cache_write_1h=sum(cost.cache_write_1h for cost in costs),
        output=sum(cost.output for cost in costs),
        reasoning=sum(cost.reasoning for cost in costs),
        usd=round(math.fsum(cost.usd or 0.0 for cost in priced), 6) if priced else None,
        usd_source=(sources.pop() if len(sources) == 1 else "mixed") if sources else "none",
        unpriced=len(costs) - len(priced),
    )
