"""Rules in a marked block of a file that agents load: each is one line, put in and taken out by the id of its pattern.

The bytes of a file come in and go out. The block stands between two comments; the first names the hash of what is
between them, so that a block somebody changed by hand is known and not written over. By force it is: what is in it and
was not written by a roll-out, be it a line more or a rule in other words, then stays behind the block. Rules stand in
the order of their ids: the block depends on which rules are in it, not on how they came there, and a rule that somebody
else's Recollect put into the same file stays. With the last rule the block goes, and every other byte is as it was
before the first.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from itertools import pairwise

from recollect.errors import Conflict
from recollect.inject.block import Text, read
from recollect.inject.defang import defang, unimported
from recollect.text import one_line

MARK = "<!-- recollect:patterns "
END = f"{MARK}end -->"
HEADING = "## Learned from past sessions"
RULE_CHARS = 400
_BEGIN_LINE = re.compile(rf"{MARK}begin ([0-9a-f]{{16}})( joined)? -->")
_MARK_LINE = re.compile(
    rf"(?:^|(?<=^\ufeff)){MARK}(?:begin [0-9a-f]{{16}}(?: joined)?|end) -->[ \t]*\r?$", re.MULTILINE
)
_RULE = re.compile(r"- (.*) <!-- pattern ([0-9a-f]{8,64}) -->")

Written = Mapping[str, Collection[str]]  # what roll-outs wrote into a file, by the ids of their patterns
_NOTHING: Written = {}


class EditedByHand(Conflict):
    """The block was changed by somebody else."""


@dataclass(frozen=True, slots=True)
class _Block:
    """A block in a text: where it stands, its rules by id, and what somebody else wrote into it."""

    start: int
    end: int  # behind the last mark, before its line end
    newline: str
    joined: bool  # whether the line end before it was put there with it
    rules: dict[str, str]
    foreign: tuple[str, ...]
    whole: bool  # as it was written


def instruction(rule: str) -> str:
    """A rule as it may stand in such a file: one line that opens, imports and runs nothing."""
    return unimported(one_line(defang(rule), RULE_CHARS))


def with_rule(content: bytes, pattern: str, rule: str, *, force: bool = False, written: Written = _NOTHING) -> bytes:
    """The content with this rule in its block; EditedByHand when the block was changed, unless `force`.

    In a block that was changed, only what is `written` is ours.
    """
    text = read(content, MARK)
    rule = _plain(text, instruction(rule))
    block = _found(text, {**written, pattern: (*written.get(pattern, ()), rule)})
    if block is None:
        newline = text.newline
        joined = bool(text.text) and not text.text.endswith("\n")
        made = _written({pattern: rule}, newline, joined=joined)
        return text.encoded(text.text + (newline if joined else "") + made + newline)
    if block.whole and block.rules.get(pattern) == rule:
        return content
    _check(block, force)
    return text.encoded(_with(text.text, block, {**block.rules, pattern: rule}))


def without_rule(content: bytes, pattern: str, *, force: bool = False, written: Written = _NOTHING) -> bytes:
    """The content without the rule of this pattern; what else somebody wrote into the block stays, outside of it."""
    text = read(content, MARK)
    block = _found(text, {**written, pattern: written.get(pattern, ())})
    if block is None or (block.whole and pattern not in block.rules):
        return content
    _check(block, force)
    return text.encoded(_with(text.text, block, {id_: one for id_, one in block.rules.items() if id_ != pattern}))


def rules_in(content: bytes) -> dict[str, str]:
    """The rules in the block, by the ids of their patterns."""
    block = _found(read(content, MARK))
    return {} if block is None else dict(block.rules)


def _check(block: _Block, force: bool) -> None:
    if not block.whole and not force:
        raise EditedByHand(
            "the block of learned rules was edited by hand",
            hint="Undo the edit, or give --force: what you wrote there then stays behind the block.",
        )


def _plain(text: Text, rule: str) -> str:
    """A file in some encoding of one byte a character gets no others."""
    return rule.encode("ascii", "replace").decode() if text.encoding == "latin-1" else rule


def _found(source: Text, written: Written = _NOTHING) -> _Block | None:
    text = source.text
    marks = list(_MARK_LINE.finditer(text))
    spans = [(a, b) for a, b in pairwise(marks) if _BEGIN_LINE.match(a[0]) and b[0].startswith(END)]
    if not spans:
        return None
    if len(spans) > 1:
        raise Conflict("there are two blocks of learned rules in the file", hint="Delete one of them.")
    first, last = spans[0]
    begin = _BEGIN_LINE.match(first[0])
    assert begin is not None
    lines = [line.removesuffix("\r") for line in text[first.end() : last.start()].split("\n")[1:-1]]
    untouched = begin[1] == _hash(lines)
    rules: dict[str, str] = {}
    foreign = []
    for line in lines:
        rule = _RULE.fullmatch(line)
        if rule is None:
            foreign += [line] if line not in ("", HEADING) else []
        elif rule[2] not in rules and (untouched or _is_ours(source, rule[2], rule[1], written)):
            rules[rule[2]] = rule[1]
        else:
            foreign.append(f"- {rule[1]}")  # without our mark: from here on it is the user's
    newline = "\r\n" if first[0].endswith("\r") else "\n"
    end = last.end() - (1 if last[0].endswith("\r") else 0)
    whole = untouched and not foreign
    return _Block(first.start(), end, newline, begin[2] is not None, rules, tuple(foreign), whole)


def _is_ours(source: Text, pattern: str, rule: str, written: Written) -> bool:
    """Whether a roll-out wrote this; of a pattern we know nothing of, it may be a colleague's."""
    return pattern not in written or rule in {_plain(source, instruction(one)) for one in written[pattern]}


def _with(text: str, block: _Block, rules: dict[str, str]) -> str:
    """The text with these rules in the place of those in the block; without any, without the block."""
    newline, head, tail = block.newline, text[: block.start], text[block.end :]
    kept = newline.join(block.foreign)
    if rules:
        return head + _written(rules, newline, joined=block.joined) + (newline + kept if kept else "") + tail
    if kept:
        return head + kept + tail
    tail = tail.removeprefix(newline)
    # Lines that were apart stay apart: the line end before the block goes only where nothing follows.
    return head.removesuffix(newline) if block.joined and not tail else head + tail


def _written(rules: dict[str, str], newline: str, *, joined: bool) -> str:
    lines = [HEADING, "", *(f"- {rules[id_]} <!-- pattern {id_} -->" for id_ in sorted(rules))]
    begin = f"{MARK}begin {_hash(lines)}{' joined' if joined else ''} -->"
    return newline.join([begin, *lines, END])


def _hash(lines: list[str]) -> str:
    return hashlib.sha256("\n".join(lines).encode("utf-8", "surrogatepass")).hexdigest()[:16]
