"""The catalogue as files for a repository: one page to read, one file of JSON, both the same for the same patterns.

Patterns and what was done to them come in, bytes by name go out. Their wording is written as it was reviewed; what it
rests on is counted, never quoted: no session, project or event is named.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

from recollect.clock import iso
from recollect.inject.ruleblock import instruction
from recollect.store.ports.learn import Pattern, PatternVersion

PAGE, DATA = "patterns.md", "patterns.json"
PAGE_MARK = "<!-- made by recollect patterns export -->\n"
DATA_MARK = '{\n "made_by": "recollect patterns export",\n'

Told = tuple[Pattern, Sequence[PatternVersion]]


def files_of(patterns: Sequence[Told]) -> dict[str, bytes]:
    """The files by name."""
    data = {"made_by": "recollect patterns export", "format": 1, "patterns": [_record(*one) for one in patterns]}
    page = [PAGE_MARK, "# Learned patterns\n", *(_section(*one) for one in patterns)]
    if not patterns:
        page.append("\nNone yet.\n")
    return {
        PAGE: "".join(page).encode("utf-8", "replace"),
        DATA: (json.dumps(data, indent=1, ensure_ascii=False) + "\n").encode("utf-8", "replace"),
    }


def is_ours(name: str, content: bytes) -> bool:
    """Whether a file of this name was written by an export."""
    return content.startswith((PAGE_MARK if name == PAGE else DATA_MARK).encode())


def _record(pattern: Pattern, versions: Sequence[PatternVersion]) -> dict[str, object]:
    return {
        "id": pattern.id,
        "state": pattern.state,
        "kind": pattern.kind,
        "statement": pattern.statement,
        "rule": pattern.rule,
        "trust": pattern.trust,
        "version": pattern.version,
        "agents": list(pattern.flavors),
        "sessions": pattern.sessions,
        "projects": len(pattern.projects),
        "first_seen": f"{pattern.first_seen:%Y-%m-%d}",
        "last_seen": f"{pattern.last_seen:%Y-%m-%d}",
        "minutes": round(pattern.seconds / 60, 1),
        "history": [
            {
                "version": one.version,
                "change": one.change,
                "by": one.actor,
                "reason": one.reason,
                "rule": one.rule,
                "at": iso(one.at),
            }
            for one in versions
        ],
    }


def _section(pattern: Pattern, versions: Sequence[PatternVersion]) -> str:
    agents = ", ".join(pattern.flavors)
    seen = f"{pattern.first_seen:%Y-%m-%d} to {pattern.last_seen:%Y-%m-%d}"
    lines = [
        f"\n## {instruction(pattern.statement)}\n",
        f"- rule: {instruction(pattern.rule) if pattern.rule else 'none'}",
        f"- id: `{pattern.id}`, {pattern.state}, version {pattern.version}, {pattern.kind}, trust {pattern.trust}",
        f"- seen: {pattern.sessions} sessions, {agents}, {seen}",
    ]
    for one in versions:
        by = f" by {instruction(one.actor)}" if one.actor else ""
        why = f": {instruction(one.reason)}" if one.reason else ""
        lines.append(f"- {one.at:%Y-%m-%d}: {one.change}{by}{why}")
    return "\n".join(lines) + "\n"
