"""Secrets are taken out of what somebody wants remembered, by the rules by which they are taken out of transcripts.

A memory is put before agents and into files; a key that was pasted into one would go wherever it goes.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from recollect.errors import InvalidInput
from recollect.settings import Settings
from recollect.text import require_storable

CLEANED = ("content", "why")


def without_secrets(given: Mapping[str, Any], settings: Settings) -> tuple[dict[str, Any], int]:
    """The same with each secret in the words replaced by its mark, and how many there were."""
    from recollect.capture.redact import Redactor
    from recollect.pipeline.sweep import install_key

    redactor = Redactor(install_key(settings.data_dir), pii=settings.redact_personal)
    clean, taken = dict(given), 0
    for name in CLEANED:
        if isinstance(clean.get(name), str):
            require_storable(clean[name], name)
            clean[name], found = redactor.redact(clean[name])
            taken += sum(found.values())
    if isinstance(clean.get("content"), str) and not clean["content"].strip():
        raise InvalidInput("content is empty")
    return clean, taken
