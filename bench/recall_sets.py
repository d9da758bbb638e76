"""The recall benchmarks as values: conversations to record, questions to ask, and what must come back.

Read from a folder given by path; nothing of them is part of the project. A set is split once and for all, by a fixed
seed, into a part to tune on and a part that is only ever scored.
"""

from __future__ import annotations

import json
import lzma
import random
import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from typing import Any


@dataclass(frozen=True, slots=True)
class Message:
    """One message of a session; `id` names it where a set asks for messages."""

    role: str
    text: str
    id: str = ""


@dataclass(frozen=True, slots=True)
class Conversation:
    """One session of a set."""

    id: str
    at: datetime
    messages: tuple[Message, ...]


@dataclass(frozen=True, slots=True)
class Query:
    """A question, the sessions or messages that answer it, and whether its part is frozen."""

    text: str
    gold: frozenset[str]
    frozen: bool
    kind: str = ""


@dataclass(frozen=True, slots=True)
class Round:
    """Record these sessions into the store at hand (a new one when `fresh`), then ask these questions."""

    fresh: bool
    sessions: tuple[Conversation, ...]
    queries: tuple[Query, ...]


def _load(path: Path) -> Any:
    with lzma.open(path) as file:
        return json.load(file)


def _halves(keys: list[str], seed: int = 7) -> set[str]:
    """The frozen half."""
    shuffled = sorted(keys)
    random.Random(seed).shuffle(shuffled)
    return set(shuffled[: len(shuffled) // 2])


def longmemeval(folder: Path, pooled: bool) -> Iterator[Round]:
    """LongMemEval_S: each question over its own haystack, or all of them over all haystacks."""
    items = _load(folder / "longmemeval_s_dev.json.xz")
    frozen = _halves([item["question_id"] for item in items])
    seen: set[str] = set()
    questions: list[Query] = []
    for item in items:
        stack = list(zip(item["haystack_session_ids"], item["haystack_dates"], item["haystack_sessions"], strict=True))
        if pooled:
            stack = [row for row in stack if row[0] not in seen]
        sessions = tuple(
            Conversation(
                id_,
                datetime.strptime(date, "%Y/%m/%d (%a) %H:%M").replace(tzinfo=UTC),
                tuple(Message(turn["role"], turn["content"]) for turn in turns if turn["content"].strip()),
            )
            for id_, date, turns in stack
        )
        seen.update(session.id for session in sessions)
        query = Query(
            item["question"],
            frozenset(item["answer_session_ids"]),
            item["question_id"] in frozen,
            item["question_type"],
        )
        if pooled:
            questions.append(query)
            yield Round(not questions[1:], sessions, ())
        else:
            yield Round(True, sessions, (query,))
    if pooled:
        yield Round(False, (), tuple(questions))


def locomo(folder: Path) -> Iterator[Round]:
    """LoCoMo: messages of two people, questions with the messages that answer them."""
    samples = _load(folder / "locomo_dev.json.xz")
    frozen = _halves([sample["sample_id"] for sample in samples], seed=3)
    for sample in samples:
        talk = sample["conversation"]
        sessions = []
        for number in range(1, 100):
            if f"session_{number}" not in talk:
                continue
            at = datetime.strptime(talk[f"session_{number}_date_time"], "%I:%M %p on %d %B, %Y").replace(tzinfo=UTC)
            messages = tuple(
                Message(
                    "user" if turn["speaker"] == talk["speaker_a"] else "assistant",
                    f"{turn['speaker']}: {turn['text']}",
                    turn["dia_id"],
                )
                for turn in talk[f"session_{number}"]
            )
            sessions.append(Conversation(f"session_{number}", at, messages))
        queries = []
        for qa in sample["qa"]:
            gold = frozenset(
                f"D{a}:{b}" for text in qa.get("evidence", []) for a, b in re.findall(r"D:?(\d+):(\d+)", text)
            )
            if gold:
                queries.append(Query(qa["question"], gold, sample["sample_id"] in frozen, str(qa["category"])))
        yield Round(True, tuple(sessions), tuple(queries))


def realmem(folder: Path) -> Iterator[Round]:
    """RealMem: running conversations; a message asks about sessions before its own."""
    documents = _load(folder / "realmem_dev.json.xz")
    frozen = _halves(list(documents), seed=3)
    for name, document in documents.items():
        before: tuple[Conversation, ...] = ()
        fresh = True
        for dialogue in document["dialogues"]:
            turns = dialogue["dialogue_turns"]
            at = datetime.strptime(dialogue["current_time"][:10], "%Y-%m-%d").replace(tzinfo=UTC)
            queries = []
            for turn, reply in pairwise(turns):
                gold = frozenset(reply.get("memory_session_uuids") or ())
                if turn.get("is_query") and gold:
                    queries.append(Query(turn["content"], gold, name in frozen))
            if queries and before:
                yield Round(fresh, before, tuple(queries))
                fresh, before = False, ()
            messages = tuple(
                Message(turn["speaker"].lower(), turn["content"]) for turn in turns if turn["content"].strip()
            )
            before += (Conversation(dialogue["session_uuid"], at, messages),)
