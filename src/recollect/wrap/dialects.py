"""How chat services write a conversation: where the user's words stand in a request, and the answer's in what comes.

In: the arguments of a call and what it returned, as objects or as plain mappings, of OpenAI's two interfaces, of
Anthropic's, and of everything made like them. Out: the user's words; the arguments with recalled text before those
words; the words of the answer. Nothing of the services' own libraries is imported. What is not text (images, tool calls
and their results) is neither read nor changed, and what was given is never written into.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

_TEXTS = ("text", "input_text")


@dataclass(frozen=True, slots=True)
class Dialect:
    """One way of writing: the argument with the conversation, the type of a text part, and how answers are read."""

    argument: str
    part: str
    answer: Callable[[Any], str]
    chunk: Callable[[Any], str]
    snapshot: str = ""  # where an open stream keeps what came so far


def part(value: Any, name: str) -> Any:
    """A field of an object or of a mapping; None where there is none."""
    return value.get(name) if isinstance(value, Mapping) else getattr(value, name, None)


def words(value: Any) -> str:
    return value if isinstance(value, str) else ""


# -- the request -------------------------------------------------------------------------------------------------------


def asked(dialect: Dialect, given: Mapping[str, Any]) -> str | None:
    """What the user says in this call; None when the last word is not theirs, as after a tool's result."""
    talk = given.get(dialect.argument)
    if isinstance(talk, str):
        return talk if talk.strip() else None
    last = _last(talk)
    if last is None:
        return None
    content = last.get("content")
    texts = [content] if isinstance(content, str) else [words(part(one, "text")) for one in _texts(content)]
    text = "\n".join(one for one in texts if one.strip())
    return text or None


def with_context(dialect: Dialect, given: Mapping[str, Any], context: str) -> dict[str, Any]:
    """The same call with this text right before the user's words, as part of the same message.

    There it has no more weight than what a user says, the roles still take turns, and what stands before it in the
    conversation is what a service has in its cache.
    """
    talk = given[dialect.argument]
    if isinstance(talk, str):
        return {**given, dialect.argument: f"{context}\n{talk}"}
    last = _last(talk)
    assert last is not None
    content = last["content"]
    if isinstance(content, str):
        new: Any = f"{context}\n{content}"
    else:
        place = next(number for number, one in enumerate(content) if part(one, "type") in _TEXTS)
        new = [*content[:place], {"type": dialect.part, "text": context}, *content[place:]]
    return {**given, dialect.argument: [*talk[:-1], {**last, "content": new}]}


def _last(talk: Any) -> Mapping[str, Any] | None:
    """The last message, if it is the user's."""
    if not isinstance(talk, Sequence) or not talk:
        return None
    last = talk[-1]
    is_users = isinstance(last, Mapping) and last.get("role") == "user"
    return last if is_users and isinstance(last.get("content"), str | list | tuple) else None


def _texts(content: Any) -> list[Any]:
    return [one for one in content if part(one, "type") in _TEXTS]


# -- the answer --------------------------------------------------------------------------------------------------------


def _first(value: Any) -> Any:
    return value[0] if isinstance(value, Sequence) and value and not isinstance(value, str) else None


def _chat_answer(answer: Any) -> str:
    return words(part(part(_first(part(answer, "choices")), "message"), "content"))


def _chat_chunk(chunk: Any) -> str:
    return words(part(part(_first(part(chunk, "choices")), "delta"), "content"))


def _blocks_answer(answer: Any) -> str:
    blocks = part(answer, "content")
    return "".join(words(part(one, "text")) for one in blocks or () if part(one, "type") == "text")


def _blocks_chunk(event: Any) -> str:
    return words(part(part(event, "delta"), "text")) if part(event, "type") == "content_block_delta" else ""


def _response_answer(answer: Any) -> str:
    whole = part(answer, "output_text")
    if isinstance(whole, str):
        return whole
    said = [part(one, "content") or () for one in part(answer, "output") or () if part(one, "type") == "message"]
    return "".join(words(part(one, "text")) for parts in said for one in parts if part(one, "type") == "output_text")


def _response_chunk(event: Any) -> str:
    return words(part(event, "delta")) if part(event, "type") == "response.output_text.delta" else ""


CHAT = Dialect("messages", "text", _chat_answer, _chat_chunk, "current_completion_snapshot")
BLOCKS = Dialect("messages", "text", _blocks_answer, _blocks_chunk, "current_message_snapshot")
RESPONSES = Dialect("input", "input_text", _response_answer, _response_chunk)
# The calls of a client that carry a conversation, by where they are found in it.
CALLS: Mapping[tuple[str, ...], Dialect] = {
    ("chat", "completions", "create"): CHAT,
    ("chat", "completions", "parse"): CHAT,
    ("chat", "completions", "stream"): CHAT,
    ("messages", "create"): BLOCKS,
    ("messages", "parse"): BLOCKS,
    ("messages", "stream"): BLOCKS,
    ("beta", "messages", "create"): BLOCKS,
    ("beta", "messages", "parse"): BLOCKS,
    ("beta", "messages", "stream"): BLOCKS,
    ("responses", "create"): RESPONSES,
    ("responses", "parse"): RESPONSES,
}
