"""The words of a text as every full-text index here has them: split, folded and stemmed by FTS5's own tokenizer."""

from __future__ import annotations

import threading
from typing import Any

_TOKENIZER = ["unicode61", "remove_diacritics", "2", "categories", "L* M* N* Co"]
_mine = threading.local()  # a SQLite connection is used by one thread at a time


def stems(text: str) -> list[str]:
    """The words of a text, folded and stemmed."""
    tokenizer = getattr(_mine, "tokenizer", None) or _tokenizer()
    return [str(token) for token in tokenizer(text.encode(), 4, None, include_offsets=False, include_colocated=False)]


def _tokenizer() -> Any:
    import apsw

    assert apsw.FTS5_TOKENIZE_DOCUMENT == 4
    _mine.connection = apsw.Connection(":memory:")
    _mine.tokenizer = _mine.connection.fts5_tokenizer("porter", _TOKENIZER)
    return _mine.tokenizer
