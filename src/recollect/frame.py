"""The frame around recalled text: how `inject` marks it, and how `capture` knows it again and leaves it out.

A text for a prompt stands between `=== Relevant Context ===` and a line of the same sign; what is put before an agent
by itself stands between `<recollect-memory>` and `</recollect-memory>`. Every block names itself by the hash of what it
holds, so that it is known even where its first or its last lines were cut off.
"""

from __future__ import annotations

import hashlib
import re

HEADER = "=== Relevant Context ==="
FOOTER = "========================"
OPENING, CLOSING = "<recollect-memory>", "</recollect-memory>"
MARK = "[recollect:"

_NAMED = rf"{re.escape(MARK)}[0-9a-f]{{12}}\]"
# A whole block (a cut one ends where the text does), or what stands behind a block's own name: quoted lines, sources,
# headings. A hook's output may be written down as JSON, with its line ends escaped.
BLOCK = re.compile(
    rf"{re.escape(HEADER)}\n.*?(?:^{re.escape(FOOTER)}$|\Z)"
    rf"|{OPENING}(?:\s|\\[rn])[^\n]{{0,400}}?{_NAMED}.*?(?:{CLOSING}|\Z)"
    rf"|^(?:(?!{OPENING})[^\n])*{_NAMED}[^\n]*"
    rf"(?:\n(?:[>\[=][^\n]*|## [^\n]{{1,40}}|(?=\n(?:## |\[))))*+(?:\n{CLOSING})?",
    re.DOTALL | re.MULTILINE,
)
_NAME = re.compile(rf"{re.escape(MARK)}([0-9a-f]{{12}})\]")
_LINE_OF_OURS = (">", "[", "## ")


def name_of(content: str) -> str:
    """The name a block carries."""
    return f"{MARK}{hashlib.sha256(content.encode('utf-8', 'replace')).hexdigest()[:12]}]"


def block_name(text: str) -> str:
    """The name that the first block in a text carries, without its brackets; empty when there is none."""
    found = _NAME.search(text)
    return found[1] if found else ""


def framed(content: str, notice: str) -> str:
    """A block that can stand before an agent: what it is, its own name, the content, and the tag around it."""
    return f"{OPENING}\n{notice} {name_of(content)}\n{content}{CLOSING}\n"


def without_blocks(text: str, instead: str) -> tuple[str, int]:
    """A text with every block of ours replaced, and how many there were."""
    found = 0
    if HEADER in text or MARK in text:
        text, found = BLOCK.subn(instead, text)
    if CLOSING in text:
        text, ends = _without_ends(text, instead)
        found += ends
    return text, found


def _without_ends(text: str, instead: str) -> tuple[str, int]:
    """The last lines of a block whose beginning was cut off: from its closing tag upwards while they look like ours."""
    lines = text.split("\n")
    kept: list[str] = []
    found = 0
    for line in lines:
        if line.strip() != CLOSING:
            kept.append(line)
            continue
        while kept and (kept[-1].startswith(_LINE_OF_OURS) or (not kept[-1] and _is_ours(kept))):
            kept.pop()
        kept.append(instead)
        found += 1
    return "\n".join(kept), found


def _is_ours(lines: list[str]) -> bool:
    """Whether a blank line stands between two of our lines."""
    return len(lines) > 1 and lines[-2].startswith(_LINE_OF_OURS)
