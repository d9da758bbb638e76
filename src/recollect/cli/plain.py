"""Values as JSON can hold them: times as ISO 8601, paths and texts as text that is safe to show."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from recollect.clock import iso
from recollect.text import present


def plain(value: Any) -> Any:
    """The same value out of dicts, lists, texts and numbers."""
    if isinstance(value, str):
        return present(value)
    if value is None or isinstance(value, bool | int | float):
        return value
    if isinstance(value, datetime):
        return iso(value)
    if isinstance(value, Path):
        return present(str(value))
    if isinstance(value, Mapping):
        return {present(str(key)): plain(item) for key, item in value.items()}
    if is_dataclass(value) and not isinstance(value, type):
        return {item.name: plain(getattr(value, item.name)) for item in fields(value)}
    return [plain(item) for item in value]
