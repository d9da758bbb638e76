"""Secrets and private parts are taken out of what somebody wants remembered, as they are taken out of transcripts.

A memory is put before agents and into files; a key that was pasted into one would go wherever it goes.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from recollect.errors import InvalidInput
from recollect.hook import open_private, own_key
from recollect.model import parse_tags
from recollect.settings import Settings
from recollect.text import require_storable

if TYPE_CHECKING:
    from recollect.capture.privacy import Privacy
    from recollect.capture.redact import Redactor

CLEANED = ("content", "why")


def install_key(data_dir: Path) -> bytes:
    """The key of this installation, made if there is none."""
    folder = open_private(str(data_dir.absolute()))
    try:
        return own_key(folder)
    finally:
        os.close(folder)


def redactor_of(settings: Settings) -> Redactor:
    """Takes out what the settings say, and marks it with this installation's key."""
    return _redactor(str(settings.data_dir.absolute()), settings.redact_personal)


@lru_cache(maxsize=64)
def _redactor(data_dir: str, personal: bool) -> Redactor:
    """The key of an installation stays, so it is read once: every message that is recorded asks for it."""
    from recollect.capture.redact import Redactor

    return Redactor(install_key(Path(data_dir)), pii=personal)


def privacy_of(settings: Settings) -> Privacy:
    """Cleans, and counts, what a program gives in one call."""
    from recollect.capture.privacy import Privacy

    return Privacy(redactor_of(settings))


def without_secrets(given: Mapping[str, Any], settings: Settings) -> tuple[dict[str, Any], int]:
    """The same with each secret and each private part in the words replaced by its mark, and how many there were.

    What is kept along with the words is cleaned like them; a tag that holds a secret is left out.
    """
    from recollect.capture.privacy import PRIVATE, Privacy

    redactor = redactor_of(settings)
    privacy, clean, left_out = Privacy(redactor), dict(given), 0
    for name in CLEANED:
        if isinstance(clean.get(name), str):
            require_storable(clean[name], name)
            clean[name] = privacy.text(clean[name])
    if isinstance(clean.get("content"), str) and not clean["content"].replace(PRIVATE, "").strip():
        if privacy.counts["private"]:
            raise InvalidInput("content is private as a whole", hint="Leave something outside of <private>…</private>.")
        raise InvalidInput("content is empty")
    if clean.get("meta"):
        clean["meta"] = privacy.value(clean["meta"])
    if clean.get("tags"):
        tags = parse_tags(clean["tags"])
        clean["tags"] = tuple(tag for tag in tags if not redactor.redact(tag)[1])
        left_out = len(tags) - len(clean["tags"])
    return clean, privacy.taken + left_out
