"""JSON in one form only, so that what was signed in one language verifies in another (the form of RFC 8785).

Names in the order of their UTF-16 code units, no white space, numbers as JavaScript writes them, UTF-8. Reading is
strict: a name twice in one object, a number without end or too many levels are refused.
"""

from __future__ import annotations

import json
import math
import re
from typing import Any

from recollect.bus.errors import BadMessage

MAX_DEPTH = 16
_SURROGATE = re.compile("[\ud800-\udfff]")
_EXACT = 10**21  # from here on JavaScript writes an exponent


def read(text: bytes) -> Any:
    """The value of strict JSON in UTF-8; BadMessage for anything else."""
    try:
        value = json.loads(text.decode("utf-8"), object_pairs_hook=_object, parse_constant=_refuse)
        return _shallow(value, MAX_DEPTH)
    except UnicodeDecodeError:
        raise BadMessage("not UTF-8 text") from None
    except BadMessage:
        raise
    except RecursionError:
        raise BadMessage("too many levels") from None
    except ValueError:
        raise BadMessage("not JSON, or cut off") from None


def canonical(value: Any) -> bytes:
    """The bytes that are signed and hashed."""
    parts: list[str] = []
    _write(value, parts)
    return "".join(parts).encode("utf-8")


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise BadMessage("a name stands twice in one object")
    return found


def _refuse(word: str) -> Any:
    raise BadMessage(f"{word} is not a number that JSON knows")


def _shallow(value: Any, levels: int) -> Any:
    if isinstance(value, dict | list):
        if levels == 0:
            raise BadMessage("too many levels")
        for item in value.values() if isinstance(value, dict) else value:
            _shallow(item, levels - 1)
    elif isinstance(value, float) and not math.isfinite(value):
        raise BadMessage("a number is too large")
    return value


def _write(value: Any, parts: list[str]) -> None:
    if isinstance(value, dict):
        names = sorted(value, key=lambda name: name.encode("utf-16-be", "surrogatepass"))
        for place, name in enumerate(names):
            parts.append("," if place else "{")
            parts += (_text(name), ":")
            _write(value[name], parts)
        parts.append("}" if names else "{}")
    elif isinstance(value, list | tuple):
        for place, item in enumerate(value):
            parts.append("," if place else "[")
            _write(item, parts)
        parts.append("]" if value else "[]")
    elif value is None or isinstance(value, bool):
        parts.append(json.dumps(value))
    elif isinstance(value, str):
        parts.append(_text(value))
    elif isinstance(value, int | float):
        parts.append(_number(value))
    else:
        raise BadMessage(f"JSON has no {type(value).__name__}")


def _text(text: str) -> str:
    if not text.isascii() and _SURROGATE.search(text):
        raise BadMessage("half of a character cannot be kept")
    return json.dumps(text, ensure_ascii=False)


def _number(value: float) -> str:
    """As ECMAScript writes it: the shortest digits that mean this number, an exponent only far from 1."""
    if isinstance(value, int) and abs(value) < _EXACT:
        return str(value)
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        raise BadMessage("a number is too large")
    if number == 0:
        return "0"
    sign = "-" if number < 0 else ""
    mantissa, _, exponent = f"{abs(number)!r}".partition("e")
    whole, _, fraction = mantissa.partition(".")
    fraction = "" if fraction == "0" else fraction
    digits = (whole + fraction).lstrip("0")
    point = len(whole) + int(exponent or 0) - (len(whole + fraction) - len(digits))
    digits = digits.rstrip("0")
    return sign + _placed(digits, point)


def _placed(digits: str, point: int) -> str:
    """Digits with the point after so many of them."""
    if 0 < point <= 21:
        return digits.ljust(point, "0") if len(digits) <= point else f"{digits[:point]}.{digits[point:]}"
    if -6 < point <= 0:
        return f"0.{'0' * -point}{digits}"
    exponent = point - 1
    tail = f".{digits[1:]}" if len(digits) > 1 else ""
    return f"{digits[0]}{tail}e{'+' if exponent > 0 else '-'}{abs(exponent)}"
