"""Text as the search sees it: what is indexed, what a question asks for, and what is embedded.

Full-text engines split at spaces. Scripts written without them (Chinese, Japanese, Thai …) are therefore indexed as
single characters and overlapping pairs, and camelCase names also as their words. Index and question use the same rule;
`INDEX_VERSION` rises when it changes, and the index is then built again.
"""

from __future__ import annotations

import re
import unicodedata
from itertools import pairwise

from recollect.stopwords import STOP_WORDS

INDEX_VERSION = "2"
MAX_INDEXED_CHARS = 65_536
MAX_QUERY_CHARS = 20_000
MAX_TERMS = 32

_SPACELESS = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff"
    "\U00020000-\U0003ffff]+"
)
# Tried only where a word begins, and never backwards, so that a megabyte without a space costs one pass.
_CAMEL = re.compile(
    r"(?<![A-Za-z0-9])(?:[a-z0-9]*+(?<=[a-z])[A-Z]|[A-Z][a-z0-9]++(?<=[a-z])[A-Z]|[A-Z]{2,}+[a-z])[A-Za-z0-9]*+"
)
_ACCENTS = re.compile("[\u0300-\u036f]+")
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_BREAK = re.compile(
    "[\\s!-/:-@\\[-`{-~\x00-\x1f\x7f-\xa9\xab-\xb1\xb4\xb6-\xb8\xbb\xbf\u2000-\u206f\u3000-\u303f\uff00-\uff0f\uff1a-\uff20\ud800-\udfff]+"
)


def index_text(text: str) -> str:
    """`text` as it goes into the full-text index."""
    text = text[:MAX_INDEXED_CHARS]
    if not text.isascii():
        text = _SPACELESS.sub(_pieces, _unaccented(text))
    return _CAMEL.sub(_with_words, text)


def query_terms(query: str) -> list[str]:
    """The distinct words a question asks for, without stop words unless it has nothing else; at most 32."""
    text = query[:MAX_QUERY_CHARS]
    if not text.isascii():
        text = _SPACELESS.sub(_pairs, _unaccented(text))
    words = [word for word in _BREAK.split(_CAMEL.sub(_with_words, text)) if any(map(str.isalnum, word))]
    folded = dict.fromkeys(word.lower()[:100] for word in words)
    telling = [word for word in folded if word not in STOP_WORDS]
    return (telling or list(folded))[:MAX_TERMS]


def _unaccented(text: str) -> str:
    """Accents of every script dropped (FTS5 itself knows only the Latin ones); kana and Hangul stay whole."""
    bare = _ACCENTS.sub("", unicodedata.normalize("NFD", text))
    return unicodedata.normalize("NFC", bare)


def _with_words(match: re.Match[str]) -> str:
    return f"{match[0]} {_HUMP.sub(' ', match[0])}"


def _pieces(match: re.Match[str]) -> str:
    run = match[0]
    return f" {' '.join(run)} {' '.join(map(''.join, pairwise(run)))} "


def _pairs(match: re.Match[str]) -> str:
    run = match[0]
    return f" {' '.join(map(''.join, pairwise(run))) or run} "


MIN_PIECE, MAX_PIECE, MAX_PIECES = 40, 300, 12  # characters of a sentence that is embedded, and how many of them
ANSWER_CHARS = 600  # of an answer, what is embedded
WEAKER_SHARE = 0.1  # of a turn's cosine, what its less similar side (question or answer) counts
_SPEAKER = re.compile(r"([A-Z][\w'-]{0,30}(?: [A-Z][\w'-]{0,30}){0,2}): ")
_NOT_SPEAKERS = frozenset(
    "Note Error Warning Question Answer Update Edit Example Todo Context Task Goal Summary".split()
)
_SENTENCE_END = re.compile(r"(?<=[.!?。！？])\s+|\n+")


def embedded_texts(user: str, agent: str) -> tuple[tuple[str, ...], int]:
    """The texts whose vectors stand for a turn, and how many of them the user said.

    Facts are mentioned in passing: a vector for each sentence of the user finds them where one for the whole message
    does not. An answer is represented by how it begins, unless a named person gave it.
    """
    said = _voiced(user)
    if _SPEAKER.match(agent):
        answered = _voiced(agent)
    else:
        answered = [_head(agent.strip(), ANSWER_CHARS).strip()] if agent.strip() else []
    return tuple([*said, *answered] or [" "]), len(said)


def _voiced(text: str) -> list[str]:
    """The sentences of a message; where it begins with a speaker's name ("Ann: …"), each of them does."""
    speaker = _SPEAKER.match(text)
    if not speaker or speaker[1] in _NOT_SPEAKERS:
        return sentences(text)
    return [f"{speaker[1]}: {piece}" for piece in sentences(text[speaker.end() :])]


def sentences(text: str) -> list[str]:
    """At most 12 pieces of 40 to about 300 characters, cut where sentences end."""
    pieces: list[str] = []
    gathered = ""
    for sentence in _SENTENCE_END.split(text[:MAX_INDEXED_CHARS].strip()):
        gathered = f"{gathered} {sentence.strip()}".strip()
        if len(gathered) >= MIN_PIECE:
            pieces += _cut(gathered)
            gathered = ""
        if len(pieces) >= MAX_PIECES:
            return pieces[:MAX_PIECES]
    if gathered and pieces:
        pieces[-1] += f" {gathered}"
    elif gathered:
        pieces.append(gathered)
    return pieces


def _cut(text: str) -> list[str]:
    """A long sentence in pieces."""
    pieces: list[str] = []
    while text and len(pieces) < MAX_PIECES:
        piece = _head(text, MAX_PIECE)
        pieces.append(piece.strip())
        text = text[len(piece) :].strip()
    return pieces


def _head(text: str, limit: int) -> str:
    """The beginning of a text, ended in its second half where a paragraph, a sentence or a word ends."""
    if len(text) <= limit:
        return text
    for end in ("\n", ". ", "? ", "! ", " "):
        at = text.rfind(end, limit // 2, limit)
        if at > 0:
            return text[: at + len(end)]
    return text[:limit]
