"""What a check found: each thing looked at, how it is, and what to do when it is not well; told as lines or as JSON."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal, NamedTuple

if TYPE_CHECKING:
    from recollect.cli.output import Output

_MARKS = {"ok": ("ok  ", "green"), "note": ("note", "yellow"), "bad": ("BAD ", "bold red")}


class Finding(NamedTuple):
    """One thing looked at: how it is, and what to do when it is not well."""

    name: str
    state: Literal["ok", "note", "bad"]
    text: str
    todo: str | None = None


def tell(findings: Sequence[Finding], console: Output, **more: object) -> int:
    """Show them all; returns the exit code: 1 when something is bad. `more` goes into the JSON document."""
    bad = sum(finding.state == "bad" for finding in findings)
    if console.json:
        console.document({"ok": not bad, "findings": [finding._asdict() for finding in findings], **more})
        return 1 if bad else 0
    for finding in findings:
        console.line(_MARKS[finding.state], "  ", (f"{finding.name:<15}", "bold"), f" {finding.text}")
        if finding.todo:
            console.line(f"{'':22}→ {finding.todo}")
    console.line("All is well." if not bad else f"{bad} thing{'s' if bad > 1 else ''} to mend.")
    return 1 if bad else 0
