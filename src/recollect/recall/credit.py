"""Who shared a memory: what a shared one tells in its `meta`, and that in words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from recollect.model import Memory

SHARED_META = "shared"  # in which context, by whom, approved by whom, by which proposal


def credit_of(memory: Memory) -> Mapping[str, Any]:
    """What a shared memory tells of who shared it; nothing for others."""
    credit = memory.meta.get(SHARED_META)
    return credit if isinstance(credit, Mapping) else {}


def shared_note(context: str, credit: Mapping[str, Any]) -> str:
    """Where a shared memory is from, as in `shared in team by ann, approved by bob`."""
    by = f" by {credit['by']}" if credit.get("by") else ""
    if credit.get("approved_by"):
        return f"shared in {context}{by}, approved by {credit['approved_by']}"
    return f"shared in {context}{by}" + ("" if credit.get("proposal") else ", not reviewed")
