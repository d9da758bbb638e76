"""A session in a few sentences: what the user asked and said, what was answered. No language model is needed.

A summarizer turns a list of utterances into prose. Long sessions are cut into chunks, each chunk is summarized, and the
summaries are summarized again, so any summarizer, whatever it can read at once, serves any session.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from recollect.distill.thirdperson import third_person
from recollect.model import Event
from recollect.stopwords import STOP_WORDS
from recollect.text import one_line

CHUNK_CHARS = 24_000
MAX_SENTENCES = 6
SENTENCE_CHARS = 240

_FENCE = re.compile(r"```.*?(?:```|\Z)", re.DOTALL)
_SENTENCE = re.compile(r"(?:[^.!?。！？\n]|[.!?]+(?![\s.!?]|$))+(?:[.!?。！？]+(?=\s|$)|[。！？]|(?=\n)|$)")
_WORD = re.compile(r"\w{2,}")
_NOISE = re.compile(r"^(?:[-*#>|`\s\d.)]+|https?://\S+)$")
_ASK = re.compile(
    r"\?\s*$|^(?:can|could|would|will) you\b|^(?:please|how|what|why|when|where|which|who|is|are|do|does)\b", re.I
)


@dataclass(frozen=True, slots=True)
class Utterance:
    """One thing somebody said."""

    role: str
    text: str


class Summarizer(Protocol):
    """Makes prose of what was said. `name` is kept with the gist, to tell who made it."""

    name: str

    def summarize(self, utterances: Sequence[Utterance]) -> str: ...


def gist_of(events: Sequence[Event], summarizer: Summarizer, earlier: str = "") -> str:
    """The gist of a session's events, carried on from that of `earlier` ones; empty when nothing was said."""
    said = [
        Utterance(event.role, event.text)
        for event in events
        if event.role in ("user", "assistant") and event.text.strip()
    ]
    if said and earlier:
        said.insert(0, Utterance("gist", earlier))
    return _merged(said, summarizer)


def gist_of_gists(gists: Sequence[str], summarizer: Summarizer) -> str:
    """The gist of what several gists tell, in their order; empty when there are none."""
    return _merged([Utterance("gist", gist) for gist in gists if gist.strip()], summarizer)


def _merged(said: Sequence[Utterance], summarizer: Summarizer) -> str:
    """Chunk by chunk, and then the chunks, until one is left."""
    while said:
        chunks = _chunks(said)
        parts = [summarizer.summarize(chunk) for chunk in chunks]
        if len(chunks) == 1:
            return parts[0]
        said = [Utterance("gist", part) for part in parts if part]
    return ""


def _chunks(said: Sequence[Utterance]) -> list[list[Utterance]]:
    """Runs of utterances of about CHUNK_CHARS each; one longer than that is cut."""
    chunks: list[list[Utterance]] = [[]]
    size = 0
    for utterance in said:
        text = utterance.text[:CHUNK_CHARS]
        if chunks[-1] and size + len(text) > CHUNK_CHARS:
            chunks.append([])
            size = 0
        chunks[-1].append(Utterance(utterance.role, text))
        size += len(text)
    return chunks


class ExtractiveSummarizer:
    """Picks the sentences that carry most of what was talked about, in the order they were said, in third person."""

    name = "extractive"

    def summarize(self, utterances: Sequence[Utterance]) -> str:
        sentences = [(turn, one.role, text) for turn, one in enumerate(utterances) for text in _sentences(one.text)]
        if not sentences:
            return ""
        weights = _word_weights([text for _, _, text in sentences])
        scores = [_worth(role, text, weights) for _, role, text in sentences]
        order = sorted(range(len(sentences)), key=lambda i: (-scores[i], i))
        picked = sorted(_spread(order, sentences))
        return " ".join(_told(sentences[i][1], sentences[i][2]) for i in picked)


def _sentences(text: str) -> list[str]:
    plain = _FENCE.sub("\n", text)
    found = (one_line(match[0].strip(" -*#>\t")) for match in _SENTENCE.finditer(plain))
    return [sentence for sentence in found if len(sentence) >= 8 and not _NOISE.match(sentence)]


def _word_weights(sentences: Sequence[str]) -> dict[str, float]:
    """How much a word says about this talk: often used, but not in every sentence."""
    counts = Counter(word for text in sentences for word in set(_words(text)))
    total = len(sentences)
    return {word: math.log1p(n) * math.log(1 + total / n) for word, n in counts.items()}


def _words(text: str) -> list[str]:
    return [word for word in _WORD.findall(text.casefold()) if word not in STOP_WORDS]


def _worth(role: str, text: str, weights: dict[str, float]) -> float:
    words = set(_words(text))
    if not words:
        return 0.0
    carried = sum(weights.get(word, 0.0) for word in words) / math.sqrt(len(words) + 4)
    return carried * (1.5 if role in ("user", "gist") else 1.0) * (0.5 if len(text) > SENTENCE_CHARS else 1.0)


def _spread(order: Sequence[int], sentences: Sequence[tuple[int, str, str]]) -> list[int]:
    """The best sentences that do not repeat each other, at most two from one utterance."""
    picked: list[int] = []
    used: list[set[str]] = []
    turns: Counter[int] = Counter()
    for i in order:
        words = set(_words(sentences[i][2]))
        repeats = any(len(words & other) > 0.6 * len(words) for other in used)
        if not words or repeats or turns[sentences[i][0]] >= 2:
            continue
        picked.append(i)
        used.append(words)
        turns[sentences[i][0]] += 1
        if len(picked) >= MAX_SENTENCES:
            break
    return picked or list(order[:1])


def _told(role: str, sentence: str) -> str:
    """The sentence as a report of who said it."""
    sentence = one_line(sentence, SENTENCE_CHARS)
    if not sentence.endswith((".", "!", "?", "…", "。", "！", "？")):
        sentence += "."
    if role == "gist":
        return sentence
    if role == "assistant":
        return f"The assistant said: {sentence}"
    if _ASK.search(sentence):
        return f"The user asked: {sentence}"
    if re.search(r"\bI\b|\bI['’]", sentence):
        return third_person(sentence)
    return f"The user said: {sentence}"
