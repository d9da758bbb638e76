"""What a request cost by the published price list, where the agent did not say it itself.

A model that is not in the list has no price: a wrong figure is worse than none.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path

from recollect.model import Cost

_DECORATION = re.compile(r"(?:-\d{8}|-\d{4}-\d{2}-\d{2}|-latest|-v\d+(?::\d+)?|@[\w.-]+|\[[\w.-]+\])+$")
_PREFIX = re.compile(r"^(?:[\w.-]+/)*(?:us\.|eu\.|apac\.|global\.)?(?:anthropic\.|openai\.|google\.|xai\.)?")


@cache
def catalog() -> Mapping[str, Sequence[float]]:
    """The prices that ship with Recollect."""
    import tomllib

    return tomllib.loads(Path(__file__).with_name("prices.toml").read_text(encoding="utf-8"))


def priced(cost: Cost, own: Mapping[str, Sequence[float]] | None = None) -> Cost:
    """The cost with its price, if it has none yet and its model's price is known; `own` prices come first."""
    if cost.usd is not None or not cost.model:
        return cost
    name = _DECORATION.sub("", _PREFIX.sub("", cost.model.casefold()))
    prices = (own or {}).get(cost.model) or (own or {}).get(name) or catalog().get(name)
    if not prices or len(prices) < 2:
        return cost
    paid, output = prices[0], prices[1]
    cached = prices[2] if len(prices) > 2 else paid
    short = prices[3] if len(prices) > 3 else paid
    long = prices[4] if len(prices) > 4 else short
    usd = cost.input * paid + cost.output * output + cost.cache_read * cached
    usd += cost.cache_write_5m * short + cost.cache_write_1h * long
    return replace(cost, usd=round(usd / 1e6, 9), usd_source="catalog")
