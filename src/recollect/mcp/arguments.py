"""What a model gave a tool, held against the tool's schema: forgiving in form, strict in meaning.

Models leave things empty, write numbers as text and give one word for a list; that is understood. A name that the tool
does not have is refused, because a filter that is silently left out gives a wrong answer.
"""

from __future__ import annotations

from typing import Any

from recollect.errors import InvalidInput
from recollect.mcp.tools import BY_NAME, Schema

_TRUTH = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}


def checked(name: str, given: dict[str, Any]) -> dict[str, Any]:
    """The arguments of this tool, in their own types. What is empty is as if it had not been given."""
    schema: Schema = BY_NAME[name]["inputSchema"]
    known = schema["properties"]
    unknown = sorted(given.keys() - known.keys())
    if unknown:
        takes = ", ".join(known) or "nothing"
        raise InvalidInput(f"{name} has no argument {unknown[0][:40]!r}", hint=f"It takes: {takes}.")
    typed = {word: _typed(word, value, known[word]) for word, value in given.items() if not _is_empty(value)}
    found = {word: value for word, value in typed.items() if value != []}
    for word in schema.get("required", ()):
        if word not in found:
            raise InvalidInput(f"{name} needs {word}", hint=known[word]["description"])
    return found


def _is_empty(value: Any) -> bool:
    return value is None or value == [] or (isinstance(value, str) and not value.strip())


def _typed(word: str, value: Any, schema: Schema) -> Any:
    if schema["type"] == "integer":
        return _whole(word, value, schema)
    if schema["type"] == "boolean":
        return _truth(word, value)
    if schema["type"] == "array":
        return _words(word, value, schema)
    if not isinstance(value, str):
        raise InvalidInput(f"{word} must be text")
    if len(value) > schema.get("maxLength", 10_000):
        raise InvalidInput(f"{word} has more than {schema.get('maxLength', 10_000):,} characters")
    return value.strip()


def _whole(word: str, value: Any, schema: Schema) -> int:
    lowest, highest = schema["minimum"], schema["maximum"]
    if isinstance(value, str) and len(value) < 20 and value.strip().isascii() and value.strip().isdigit():
        value = int(value)
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int) or not lowest <= value <= highest:
        raise InvalidInput(f"{word} must be a whole number from {lowest:,} to {highest:,}")
    return value


def _truth(word: str, value: Any) -> bool:
    if isinstance(value, str):
        value = _TRUTH.get(value.strip().casefold())
    if not isinstance(value, bool):
        raise InvalidInput(f"{word} must be true or false")
    return value


def _words(word: str, value: Any, schema: Schema) -> list[str]:
    values = [value] if isinstance(value, str) else value
    if not isinstance(values, list) or not all(isinstance(one, str) for one in values):
        raise InvalidInput(f"{word} must be a list of texts")
    found = list(dict.fromkeys(one.strip() for one in values if one.strip()))
    if len(found) > schema["maxItems"]:
        raise InvalidInput(f"{word} has {len(found)} entries; the limit is {schema['maxItems']}")
    return found
