"""Text at the borders: what comes in is made storable, what goes out is made safe to show.

Captured text is never refused: what no database can hold (NUL, lone surrogates) becomes U+FFFD. Text somebody writes
on purpose (a memory) is refused instead, because there is a person to fix it. Stored text is otherwise exact; only
`present` changes how it looks, on every way out.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata

from recollect.errors import InvalidInput

MAX_MEMORY_CHARS = 10_000

_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")
_SPACES = re.compile(r"\s+")
# Escape sequences as a terminal reads them: CSI, then OSC/DCS/PM/APC/SOS strings (bounded, so linear), then any pair.
_ESCAPES = re.compile(
    "(?:\x1b\\[|\x9b)[0-?]{0,64}[ -/]{0,16}[@-~]"
    "|(?:\x1b[\\]PX^_]|[\x9d\x90\x98\x9e\x9f])[^\x07\x1b\x9c]{0,4096}(?:\x07|\x1b\\\\|\x9c)"
    "|\x1b[ -~]"
)
_LINE_ENDS = re.compile("\r\n?")
_HIDDEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\U000e0000-\U000e007f\U000e0100-\U000e01ef"
    "\ud800-\udfff]"
)
_SELECTORS = re.compile("[\ufe00-\ufe0f]{2,}")  # more than one on a character show nothing, and may hide something


def storable(text: str) -> str:
    """The text with what no store can hold replaced by U+FFFD."""
    if "\x00" not in text:
        if text.isascii():
            return text
        try:
            text.encode()  # many times faster than looking for surrogates
            return text
        except UnicodeEncodeError:
            pass
    return _UNSTORABLE.sub("\ufffd", text)


def require_text(value: object, what: str, limit: int = MAX_MEMORY_CHARS) -> str:
    """`value` as text fit to keep: not empty, not too long, no NUL or lone surrogate; else InvalidInput."""
    if not isinstance(value, str):
        raise InvalidInput(f"{what} must be text, not {type(value).__name__}")
    if not value.strip():
        raise InvalidInput(f"{what} is empty")
    if len(value) > limit:
        raise InvalidInput(
            f"{what} has {len(value):,} characters; the limit is {limit:,}",
            hint="Keep the sentence that matters, or record the whole text as a conversation turn.",
        )
    require_storable(value, what)
    return value


def require_storable(value: str, what: str) -> None:
    """InvalidInput when no store can hold the text."""
    bad = _UNSTORABLE.search(value)
    if bad:
        raise InvalidInput(f"{what} holds a character that cannot be stored (U+{ord(bad[0]):04X} at {bad.start()})")


def content_hash(text: str) -> str:
    """SHA-256 of the exact text: a changed byte shows."""
    return hashlib.sha256(text.encode("utf-8")).hexdigest()


def dedup_key(text: str) -> str:
    """The same for texts that differ only in case, white space or Unicode form."""
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())
    return hashlib.sha256(_SPACES.sub(" ", folded).strip().encode("utf-8")).hexdigest()


def present(text: str) -> str:
    """Text as it may be shown anywhere: no escape sequences, control, direction or invisible characters."""
    if text.isascii() and text.isprintable():
        return text
    return _SELECTORS.sub("", _HIDDEN.sub("", _LINE_ENDS.sub("\n", _ESCAPES.sub("", text))))


def one_line(text: str, limit: int = 0) -> str:
    """Presented text on one line, cut with an ellipsis when longer than `limit`."""
    line = _SPACES.sub(" ", present(text)).strip()
    return line[: limit - 1].rstrip() + "…" if limit and len(line) > limit else line


def estimate_tokens(text: str) -> int:
    """About four characters to a token, rounded up."""
    return -(-len(text) // 4)
