"""A session in a few sentences: what the user asked and said, what was answered. No language model is needed.

Only what was said counts: what was run, changed or printed stands in the digest, and what somebody pasted is no speech.

A summarizer turns a list of utterances into prose. Long sessions are cut into chunks, each chunk is summarized, and the
summaries are summarized again, so any summarizer, whatever it can read at once, serves any session.
"""

from __future__ import annotations

import json
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

SPOKEN = ("user_prompt", "assistant_text")  # kinds of events that are speech
CHUNK_CHARS = 24_000
MAX_SENTENCES = 6
SENTENCE_CHARS = 240

_FENCE = re.compile(r"```.*?(?:```|\Z)", re.DOTALL)
_TAGGED = re.compile(r"<([a-z]+(?:[-_][a-z]+)+)(?: [^<>]{0,200})?>.{0,4000}?</\1>", re.DOTALL)
_BOLD = re.compile(r"\*\*(\S[^*\n]{0,300}?)\*\*")
# A prompt of a shell, a line of a diff, a place in a file, a frame of a stack, a word of a log, a member of JSON.
_PRINTED = re.compile(
    r"\s*(?:[$❯] \S|\||diff --git |index [0-9a-f]{6}|@@ |\+\+\+ |--- |[+-](?![\s+-])|\S{1,300}:\d+(?::\d+)?:\s"
    r"|at \S+ ?\(|File \"|(?:FAIL|PASS|FAILED|PASSED|ERROR|WARN|INFO|DEBUG)\b|[{\[]?\s*\"[\w-]+\":)"
)
_PATH = re.compile(r"\w[./_]\w")  # in a line that is one word
_LETTERS, _JUDGED = 0.7, 20  # of a line that long, the share of letters and spaces from which on it is prose
_SENTENCE_SPACES = 4
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
        if event.kind in SPOKEN and event.role in ("user", "assistant") and event.text.strip()
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
    plain = _BOLD.sub(r"\1", spoken(text))
    found = (one_line(match[0].strip(" -*#>\t")) for match in _SENTENCE.finditer(plain))
    return [sentence for sentence in found if len(sentence) >= 8 and not _NOISE.match(sentence)]


def spoken(text: str) -> str:
    """What a person or an agent says in a text: without code, tags, data, and lines that a program printed."""
    plain = _TAGGED.sub("\n", _FENCE.sub("\n", text))
    if plain.lstrip()[:1] in ("{", "["):
        plain = _said_in_data(plain)
    return "\n".join(line for line in plain.split("\n") if not _is_pasted(line))


def _said_in_data(text: str) -> str:
    """The sentences in an answer that is JSON; any other text as it is."""
    try:
        given = json.loads(text)
    except (ValueError, RecursionError):
        return text
    found, waiting = [], [given]
    while waiting:
        one = waiting.pop()
        if isinstance(one, str) and one.count(" ") >= _SENTENCE_SPACES:
            found.append(one)
        elif isinstance(one, dict | list):
            waiting += reversed(list(one.values()) if isinstance(one, dict) else one)
    return "\n".join(found)


def _is_pasted(line: str) -> bool:
    """Whether a line was printed by a program or is code: too many signs, or the shape of a command, diff or trace."""
    if _PRINTED.match(line) or (len(line.split(None, 1)) == 1 and _PATH.search(line)):
        return True
    return len(line) >= _JUDGED and sum(sign.isalpha() or sign.isspace() for sign in line) < _LETTERS * len(line)


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
