"""The frame around recalled text: how `inject` marks it, and how `capture` knows it again and leaves it out.

Every block names itself by the hash of what it holds, so that it is known even where its first line was cut off.
"""

from __future__ import annotations

import hashlib
import re

HEADER = "=== Relevant Context ==="
FOOTER = "========================"
MARK = "[recollect:"

# A whole block (a cut one ends where the text does), or what stands behind a block's own name: quoted lines, sources.
BLOCK = re.compile(
    rf"{re.escape(HEADER)}\n.*?(?:^{re.escape(FOOTER)}$|\Z)"
    rf"|^[^\n]*{re.escape(MARK)}[0-9a-f]{{12}}\][^\n]*(?:\n[>\[=][^\n]*)*",
    re.DOTALL | re.MULTILINE,
)


def name_of(content: str) -> str:
    """The name a block carries."""
    return f"{MARK}{hashlib.sha256(content.encode('utf-8', 'replace')).hexdigest()[:12]}]"
