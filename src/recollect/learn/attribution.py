"""What a failure belongs to: to a refusal of the sandbox before it, to a change of versions, or to nothing else.

A failed step and its reading come in. Who works around a sandbox that forbids to write or to download meets errors that
nobody else would; who has just changed what a project depends on meets what is missing because of that. Both say
nothing about the environment itself.
"""

from __future__ import annotations

import re

from recollect.learn.reading import Reading, Step
from recollect.learn.troubles import REFUSALS, Trouble, trouble_of

_BACK = 40  # steps in which a refusal may lie behind a failure
_CHANGED = 500  # and those in which versions may have been changed
_MANIFEST = re.compile(
    r"(?:^|/)(?:go\.(?:mod|sum|work)|package(?:-lock)?\.json|pnpm-lock\.yaml|yarn\.lock|pyproject\.toml|uv\.lock"
    r"|poetry\.lock|Pipfile(?:\.lock)?|setup\.(?:py|cfg)|requirements[\w.-]*\.txt|Cargo\.(?:toml|lock)|Gemfile(?:\.lock)?"
    r"|mix\.(?:exs|lock)|composer\.(?:json|lock)|pom\.xml|build\.gradle(?:\.kts)?|Package\.swift)$"
)
_VERSIONS = re.compile(
    r"\bgo (?:get|mod (?:init|edit|tidy))\b|\b(?:npm|pnpm|yarn|bun) (?:i|install|add|update|upgrade|remove|init) ?\S*"
    r"|\b(?:pip3?|uv|poetry|pdm) (?:install|add|remove|update|upgrade|lock|init)\b"
    r"|\bcargo (?:add|update|remove|init|new)\b|\b(?:mix deps|bundle|composer)\b"
)


def refusal_before(reading: Reading, step: Step) -> Trouble | None:
    """The refusal of the same command that this failure follows, when there is one."""
    for one in reversed(reading.steps[max(step.number - _BACK, 0) : step.number]):
        if one.failed and (one.head == step.head or _program(one) == _program(step)):
            found = refusal_of(reading, one)
            if found is not None:
                return found
    return None


def refusal_of(reading: Reading, step: Step) -> Trouble | None:
    """Which refusal a failed step is, by all it printed: a host wraps it into words of its own."""
    text = " ".join(f"{step.line} {reading.outputs.get(step.number, '')[:4_000]}".split())
    found = trouble_of(text, frozenset(("shell",))) if "sandbox" in text.casefold() else None
    found = found or trouble_of(step.line, frozenset(("shell",)))
    return found if found is not None and found.name in REFUSALS else None


def after_version_change(reading: Reading, step: Step) -> bool:
    """Whether the session changed before, or with this very command, what the project depends on."""
    return any(
        _VERSIONS.search(one.command) is not None or (one.action == "edit" and any(map(_MANIFEST.search, one.files)))
        for one in reading.steps[max(step.number - _CHANGED, 0) : step.number + 1]
    )


def _program(step: Step) -> str:
    return step.head.partition(" ")[0] if step.command else ""
