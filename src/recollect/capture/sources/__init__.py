"""The agents whose sessions can be read. Adding one is a module here, a line in the table, and its fixtures."""

from __future__ import annotations

from importlib import import_module
from typing import cast

from recollect.capture.transcript import Source
from recollect.errors import InvalidInput

FLAVORS = ("claude", "codex", "grok", "gemini", "opencode", "copilot", "cursor", "qwen", "kimi", "pi", "droid")


def source(flavor: str) -> Source:
    """The source of one agent, loaded when it is first asked for."""
    if flavor not in FLAVORS:
        raise InvalidInput(f"no agent is called {flavor[:40]!r}", hint="Agents: " + ", ".join(FLAVORS))
    return cast(Source, import_module(f"recollect.capture.sources.{flavor}"))
