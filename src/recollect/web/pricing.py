"""Why there is no price: what a page says of models that the price list does not have."""

from __future__ import annotations

from collections.abc import Sequence

from recollect.text import one_line

_NAMED, _NAME = 3, 40  # models that are named, and characters of one


def unpriced(models: Sequence[str], *, hosted: bool = False) -> str:
    """In one sentence; nothing when each has a price. On a server for others the settings are somebody else's."""
    if not models:
        return ""
    named = ", ".join(one_line(model, _NAME) for model in models[:_NAMED])
    more = f" and {len(models) - _NAMED} more" if len(models) > _NAMED else ""
    known = f"No price is known for {named}{more}"
    return f"{known}." if hosted else f"{known}; the setting `prices` tells it, for what is taken in from then on."
