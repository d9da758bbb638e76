"""A rule as a skill: a file `SKILL.md` that is wholly ours and says so, with a hash of all the rest.

By it a file that nobody touched is known again; only such a file is replaced or taken away.
"""

from __future__ import annotations

import hashlib
import json
import re

from recollect.inject.ruleblock import EditedByHand, instruction

_STAMP = re.compile(r"^# Written by `recollect patterns` \(([0-9a-f]{16})\)\n", re.MULTILINE)
_HEAD = "---\n"
_NOT_NAME = re.compile(r"[^a-z0-9]+")


def skill_name(kind: str, pattern: str) -> str:
    """The name of a skill, and of its directory."""
    return f"learned-{_NOT_NAME.sub('-', kind.casefold()).strip('-')}-{pattern[:8]}"


def skill(kind: str, pattern: str, rule: str, seen: str) -> bytes:
    """The file: when to use it, the rule, and what it rests on, in our own words."""
    told = instruction(rule)
    description = json.dumps(f"Learned from past sessions. Use it whenever this applies: {told}", ensure_ascii=False)
    text = (
        f"{_HEAD}name: {skill_name(kind, pattern)}\ndescription: {description}\n---\n\n"
        f"# Learned from past sessions\n\n{told}\n\n{seen} Pattern `{pattern}`.\n"
    )
    stamp = f"# Written by `recollect patterns` ({_hash(text)})\n"
    return f"{_HEAD}{stamp}{text[len(_HEAD) :]}".encode()


def is_untouched(content: bytes) -> bool:
    """Whether these are the bytes that some roll-out wrote."""
    text = content.decode("utf-8", "replace")
    stamp = _STAMP.search(text)
    return stamp is not None and _hash(text[: stamp.start()] + text[stamp.end() :]) == stamp[1]


def check_untouched(content: bytes, *, force: bool = False) -> None:
    """EditedByHand when somebody changed it, unless `force`; one that is not ours is never ours to change."""
    if not content or is_untouched(content):
        return
    if _STAMP.search(content.decode("utf-8", "replace")) is None:
        raise EditedByHand("there is another skill of this name", hint="Rename it, then try again.")
    if not force:
        raise EditedByHand("the skill was edited by hand", hint="Give --force: your version is kept beside it.")


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]
