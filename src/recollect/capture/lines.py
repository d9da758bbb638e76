"""JSON Lines as agents really leave them, streamed: one record at a time, whatever the size of the file.

Split at the byte \\n only. A line may hold two records (a process died before its newline), a broken one (counted and
skipped), bytes that are no UTF-8, a byte order mark, CRLF, or be the torn tail of a live file: left for next time, so
`complete_to` stays before a line that has no end yet. `.zst` files are read through; memory is bounded by the longest
line kept.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

import orjson

from recollect.capture.beneath import open_beneath
from recollect.capture.transcript import Reading

CHUNK = 1 << 20
MAX_LINE = 32 << 20
_HALF = re.compile("[\ud800-\udfff]")


def _whole_number(digits: str) -> int | float | None:
    """As orjson reads them: what does not fit into 64 bits is a float, or nothing when it is no number at all then."""
    return int(digits) if len(digits) < 19 else _finite(digits)


def _finite(digits: str) -> float | None:
    number = float(digits)
    return number if math.isfinite(number) else None


# For lines that are not one plain JSON value. NaN and the infinities are nothing: no store and no clock takes them.
_DECODER = json.JSONDecoder(parse_int=_whole_number, parse_float=_finite, parse_constant=lambda name: None)


def records(reading: Reading, path: Path | None = None, *, noise: tuple[bytes, ...] = ()) -> Iterator[dict[str, Any]]:
    """The objects of a JSON Lines file of the transcript, with `reading.at` and `.size` telling where each was.

    Lines whose first type is one of `noise` (`"type":"progress"`) are passed over without being parsed.
    """
    path = path or reading.transcript.files[0]
    reading.file, reading.complete_to = str(path), 0
    with open_transcript(reading.transcript.root, path) as file:
        for at, line, ended in lines(file, reading):
            if noise and ended and line.startswith(noise, line.find(b'"type":')):
                reading.complete_to = at + len(line) + 1
                continue
            reading.at, reading.size = at, len(line)
            try:
                record = orjson.loads(line)
            except ValueError:
                yield from _salvaged(reading, line, ended)
                continue
            if ended:
                reading.complete_to = at + len(line) + 1
            if type(record) is dict:
                yield record
            elif line.strip():
                reading.counts["not_objects"] += 1


def open_transcript(root: Path, path: Path) -> BinaryIO:
    """The file's bytes, unpacked when it is compressed."""
    file = open_beneath(root, path)
    if path.suffix != ".zst":
        return file
    import zstandard

    return zstandard.ZstdDecompressor(max_window_size=1 << 27).stream_reader(
        file, closefd=True, read_across_frames=True
    )


def lines(file: BinaryIO, reading: Reading) -> Iterator[tuple[int, bytes, bool]]:
    """(offset, line without its \\n, whether it had one). Lines over 32 MiB are counted and left out."""
    at, held, held_size, dropping = 0, [], 0, False
    while chunk := _read(file, reading):
        pieces = chunk.split(b"\n")
        if len(pieces) == 1:
            if not dropping:
                held.append(chunk)
            held_size += len(chunk)
            if held_size > MAX_LINE and not dropping:
                dropping, held = True, []
            continue
        if held_size + len(pieces[0]) <= MAX_LINE:
            held.append(pieces[0])
            first = b"".join(held)
            yield at, first, True
        else:
            reading.counts["oversized_lines"] += 1
        at += held_size + len(pieces[0]) + 1
        for line in pieces[1:-1]:
            yield at, line, True
            at += len(line) + 1
        held, held_size, dropping = [pieces[-1]], len(pieces[-1]), False
    if dropping:
        reading.counts["oversized_lines"] += 1
    elif held_size:
        yield at, b"".join(held), False


def _read(file: BinaryIO, reading: Reading) -> bytes:
    try:
        return file.read(CHUNK)
    except Exception as error:  # zstandard's own error for a torn frame has no common base with OSError
        if type(error).__module__.split(".")[0] != "zstandard":
            raise
        reading.counts["torn"] += 1
        return b""


def _salvaged(reading: Reading, line: bytes, ended: bool) -> Iterator[dict[str, Any]]:
    """What can be had from a line that is not one JSON value: several glued together, or the beginning of one."""
    text = line.decode("utf-8", "replace").strip().strip("\x00").removeprefix("\ufeff").strip()
    place, found = 0, 0
    while place < len(text):
        try:
            record, place = _decoded(text, place)
        except (ValueError, RecursionError):
            break
        while place < len(text) and text[place].isspace():
            place += 1
        if isinstance(record, dict):
            found += 1
            yield record
        else:
            reading.counts["not_objects"] += 1
    if found > 1:
        reading.counts["glued_lines"] += 1
    if not ended:  # whatever stands in it, the rest of the line may still come
        if place < len(text):
            reading.counts["torn"] += 1
        return
    if place < len(text):
        place, rest = _next_object(text, place)
        if rest is not None:
            reading.counts["glued_lines"] += 1
            yield rest
        reading.counts["bad_lines"] += 1
    reading.complete_to = reading.at + len(line) + 1


def _decoded(text: str, place: int) -> tuple[Any, int]:
    """The value that begins there, and where it ends; half a character (a lone surrogate) becomes U+FFFD."""
    value, end = _DECODER.raw_decode(text, place)
    return (_mended(value) if "\\u" in text else value), end


def _mended(value: Any) -> Any:
    if isinstance(value, str):
        return _HALF.sub("\ufffd", value)
    if isinstance(value, dict):
        return {_mended(name): _mended(item) for name, item in value.items()}
    return [_mended(item) for item in value] if isinstance(value, list) else value


def _next_object(text: str, place: int) -> tuple[int, dict[str, Any] | None]:
    """A whole record after a torn one on the same line, where the second begins as records do."""
    start = text.find('{"', place + 1)
    tries = 0
    while start > 0 and tries < 64:
        try:
            record, end = _decoded(text, start)
        except (ValueError, RecursionError):
            record, end = None, 0
        if isinstance(record, dict) and end == len(text) and len(record) > 2:
            return end, record
        start, tries = text.find('{"', start + 1), tries + 1
    return place, None
