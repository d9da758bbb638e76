"""Text as the search sees it: what is indexed, what a question asks for, and what is embedded.

Full-text engines split at spaces. Scripts written without them (Chinese, Japanese, Thai …) are therefore indexed as
single characters and overlapping pairs, and camelCase names also as their words. Index and question use the same rule;
`INDEX_VERSION` rises when it changes, and the index is then built again.
"""

from __future__ import annotations

import re
import unicodedata
from itertools import pairwise

INDEX_VERSION = "1"
MAX_INDEXED_CHARS = 65_536
MAX_QUERY_CHARS = 20_000
MAX_TERMS = 32

_SPACELESS = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff"
    "\U00020000-\U0003ffff]+"
)
# Tried only where a word begins, so that a megabyte without a space costs one pass and not one for each character.
_CAMEL = re.compile(r"(?<![A-Za-z0-9])[A-Za-z0-9]*(?:[a-z](?=[A-Z])|[A-Z]{2}(?=[a-z]))[A-Za-z0-9]*")
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_BREAK = re.compile(
    "[\\s!-/:-@\\[-`{-~\x00-\x1f\x7f-\xa9\xab-\xb1\xb4\xb6-\xb8\xbb\xbf\u2000-\u206f\u3000-\u303f\uff00-\uff0f\uff1a-\uff20\ud800-\udfff]+"
)

STOP_WORDS = frozenset(
    """a about above after again against all am an and any are aren as at be because been before being below between
    both but by can cannot could couldn did didn do does doesn doing don down during each few for from further had
    hadn has hasn have haven having he her here hers herself him himself his how i if in into is isn it its itself
    just let ll me more most mustn my myself no nor not now of off on once only or other ought our ours ourselves
    out over own re same shan she should shouldn so some such t than that the their theirs them themselves then
    there these they this those through to too under until up ve very was wasn we were weren what when where which
    while who whom why will with won would wouldn you your yours yourself yourselves s d m""".split()
)


def index_text(text: str) -> str:
    """`text` as it goes into the full-text index."""
    text = text[:MAX_INDEXED_CHARS]
    if not text.isascii():
        text = _SPACELESS.sub(_pieces, unicodedata.normalize("NFC", text))
    return _CAMEL.sub(_with_words, text)


def query_terms(query: str) -> list[str]:
    """The distinct words a question asks for, without stop words unless it has nothing else; at most 32."""
    text = query[:MAX_QUERY_CHARS]
    if not text.isascii():
        text = _SPACELESS.sub(_pairs, unicodedata.normalize("NFC", text))
    words = [word for word in _BREAK.split(_CAMEL.sub(_with_words, text)) if any(map(str.isalnum, word))]
    folded = dict.fromkeys(word.lower()[:100] for word in words)
    telling = [word for word in folded if word not in STOP_WORDS]
    return (telling or list(folded))[:MAX_TERMS]


def _with_words(match: re.Match[str]) -> str:
    return f"{match[0]} {_HUMP.sub(' ', match[0])}"


def _pieces(match: re.Match[str]) -> str:
    run = match[0]
    return f" {' '.join(run)} {' '.join(map(''.join, pairwise(run)))} "


def _pairs(match: re.Match[str]) -> str:
    run = match[0]
    return f" {' '.join(map(''.join, pairwise(run))) or run} "


CHUNK_CHARS = 1_000  # about the 256 tokens the default embedder reads


def embedded_texts(user: str, agent: str) -> tuple[str, ...]:
    """The texts whose vectors stand for a turn."""
    return (f"{user[:CHUNK_CHARS]}\n{agent[:CHUNK_CHARS]}".strip() or " ",)
