"""JSON Lines as agents really leave them: whatever one line holds, the others are read, and nothing is guessed."""

from __future__ import annotations

import os
import tracemalloc
from pathlib import Path
from typing import Any

import orjson
import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.sources.reading_fixture import NOW

from recollect.capture import lines as reader
from recollect.capture.lines import MAX_LINE, records
from recollect.capture.transcript import Reading, Transcript
from recollect.errors import BadTranscript

ONE, TWO, THREE = ({"n": n, "type": "x", "said": "ä" * n} for n in (1, 2, 3))


def reading_of(path: Path) -> Reading:
    return Reading(Transcript("claude", path.parent, path, "n", (path,)), NOW)


def read(tmp_path: Path, data: bytes, name: str = "a.jsonl") -> tuple[list[dict[str, Any]], Reading]:
    path = tmp_path / name
    path.write_bytes(data)
    reading = reading_of(path)
    return list(records(reading)), reading


def line(*found: Any) -> bytes:
    return b"".join(map(orjson.dumps, found)) + b"\n"


def test_each_record_is_told_with_where_it_stands(tmp_path: Path) -> None:
    data = line(ONE) + line(TWO)
    (tmp_path / "a.jsonl").write_bytes(data)
    reading = reading_of(tmp_path / "a.jsonl")
    told = [(record, data[reading.at : reading.at + reading.size]) for record in records(reading)]
    assert told == [(ONE, orjson.dumps(ONE)), (TWO, orjson.dumps(TWO))]
    assert reading.complete_to == len(data)
    assert not reading.counts


DAMAGED = {
    "a byte order mark": (b"\xef\xbb\xbf" + line(ONE) + line(TWO), {}),
    "line ends of another system": (orjson.dumps(ONE) + b"\r\n" + orjson.dumps(TWO) + b"\r\n", {}),
    "blank lines": (b"\n\r\n  \n" + line(ONE) + b"\n\n\t\n" + line(TWO) + b"\n", {}),
    "two records on one line": (line(ONE, TWO), {"glued_lines": 1}),
    "two records with space between": (orjson.dumps(ONE) + b"  \t" + line(TWO), {"glued_lines": 1}),
    "garbage in the middle": (line(ONE) + b"\x80\x81 not json {{{\n" + line(TWO), {"bad_lines": 1}),
    "a torn record in the middle": (line(ONE) + b'{"n":9,"said":"half\n' + line(TWO), {"bad_lines": 1}),
    "a torn record before a whole one": (
        line(ONE) + b'{"n":9,"said":"half' + line(TWO),
        {"bad_lines": 1, "glued_lines": 1},
    ),
    "zeros where a machine lost power": (line(ONE) + b"\x00" * 500 + b"\n" + line(TWO), {}),
    "zeros before a record": (line(ONE) + b"\x00" * 500 + line(TWO), {}),
    "null": (line(ONE) + b"null\n" + line(TWO), {"not_objects": 1}),
    "a list": (line(ONE) + b"[]\n[{}]\n" + line(TWO), {"not_objects": 2}),
    "a number and a text": (line(ONE) + b'42\n"x"\n' + line(TWO), {"not_objects": 2}),
    "a hundred thousand brackets": (line(ONE) + b"[" * 100_000 + b"\n" + line(TWO), {"bad_lines": 1}),
    "a hundred thousand objects in each other": (
        line(ONE) + b'{"a":' * 100_000 + b"1" + b"}" * 100_000 + b"\n" + line(TWO),
        {"bad_lines": 1},
    ),
}


@pytest.mark.parametrize("what", DAMAGED)
def test_records_around_damage_are_read_and_the_damage_is_counted(tmp_path: Path, what: str) -> None:
    """A bad line costs itself only."""
    data, counts = DAMAGED[what]
    found, reading = read(tmp_path, data)
    assert found == [ONE, TWO]
    assert dict(reading.counts) == counts
    assert reading.complete_to == len(data)


@pytest.mark.parametrize(
    ("value", "kept"),
    [
        (b'"a\\ud83d"', "a\ufffd"),
        (b'"\\ud83d\\ude00 \\udc00"', "\U0001f600 \ufffd"),
        (b'"a\\u0000b"', "a\0b"),
        (b'"a\x80b"', "a\ufffdb"),
        ('"a\u2028b\u2029c\x85d"'.encode(), "a\u2028b\u2029c\x85d"),
        (b"NaN", None),
        (b"-Infinity", None),
        (b"1e999", None),
        (b"9" * 5_000, None),
        (b"-" + b"9" * 400, None),
        (b"123456789012345678901234567890", 123456789012345678901234567890.0),
        (b'{"\\ud800":["\\udfff"]}', {"\ufffd": ["\ufffd"]}),
    ],
)
def test_values_no_store_can_hold_do_not_cost_their_record(tmp_path: Path, value: bytes, kept: Any) -> None:
    """Half a character, a number beyond all bounds: the record is read, and the value made storable."""
    found, reading = read(tmp_path, b'{"n":1,"v":' + value + b"}\n" + line(TWO))
    assert found == [{"n": 1, "v": kept}, TWO]
    assert not reading.counts
    orjson.dumps(found)


def test_the_last_of_two_fields_of_one_name_holds(tmp_path: Path) -> None:
    assert read(tmp_path, b'{"a":1,"a":2}\n')[0] == [{"a": 2}]
    assert read(tmp_path, b'{"a":1,"a":2}{"a":3}\n')[0] == [{"a": 2}, {"a": 3}]


def test_an_empty_file_is_no_trouble(tmp_path: Path) -> None:
    assert read(tmp_path, b"")[0] == []
    assert read(tmp_path, b"\xef\xbb\xbf")[0] == []


@pytest.mark.parametrize("tail", [b'{"n":3,"said":"\xc3', b'{"n":3,"sa', b'{"n":3}{"n":4', b"{", b"nul"])
def test_a_torn_tail_is_left_for_the_next_time(tmp_path: Path, tail: bytes) -> None:
    """What a live writer has not finished, in the middle of a character too, is neither taken nor counted as bad."""
    whole = line(ONE) + line(TWO)
    found, reading = read(tmp_path, whole + tail)
    assert found[:2] == [ONE, TWO]
    assert reading.complete_to == len(whole)
    assert reading.counts["torn"] == 1
    assert not reading.counts["bad_lines"]


def test_a_whole_record_without_its_line_end_is_taken_and_looked_at_again(tmp_path: Path) -> None:
    found, reading = read(tmp_path, line(ONE) + orjson.dumps(TWO))
    assert found == [ONE, TWO]
    assert reading.complete_to == len(line(ONE))


@pytest.mark.parametrize("cut", range(1, len(orjson.dumps({"type": "user", "message": THREE}))))
def test_no_part_of_a_record_being_written_passes_for_a_record(tmp_path: Path, cut: int) -> None:
    """Cut behind an inner object, the rest of the line still comes: the line is neither used nor passed over."""
    data = line(ONE) + orjson.dumps({"type": "user", "message": THREE})[:cut]
    found, reading = read(tmp_path, data)
    assert found == [ONE]
    assert reading.complete_to == len(line(ONE))


def test_lines_of_many_megabytes_are_whole(tmp_path: Path) -> None:
    big = {"data": "é" * 3_000_000}
    found, reading = read(tmp_path, line(ONE) + line(big) + line(TWO))
    assert found == [ONE, big, TWO]
    assert not reading.counts


@pytest.mark.parametrize("around", [-2, -1, 0, 1, 2])
def test_lines_that_end_where_a_chunk_ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, around: int) -> None:
    monkeypatch.setattr(reader, "CHUNK", 64)
    first = {"v": "x" * (64 - 9 + around)}
    found, _ = read(tmp_path, line(first) + line(ONE) + b"\n" + line(first) + line(TWO))
    assert found == [first, ONE, first, TWO]


@pytest.mark.parametrize(("size", "kept"), [(MAX_LINE, True), (MAX_LINE + 1, False)])
def test_the_limit_of_a_line_is_exact(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, size: int, kept: bool) -> None:
    monkeypatch.setattr(reader, "MAX_LINE", 1_000)
    monkeypatch.setattr(reader, "CHUNK", 300)
    long = b'{"v":"' + b"x" * (size - MAX_LINE + 1_000 - 8) + b'"}'
    for data in (long + b"\n" + line(ONE), line(ONE) + long):
        found, reading = read(tmp_path, data)
        assert len(found) == 1 + kept
        assert reading.counts["oversized_lines"] == (not kept)


def test_a_line_over_the_limit_is_counted_and_takes_no_memory(tmp_path: Path) -> None:
    """A file of one endless line must not fill the memory of the machine."""
    path = tmp_path / "a.jsonl"
    with path.open("wb") as file:
        file.write(line(ONE) + b'{"v":"')
        file.seek(6 * MAX_LINE, os.SEEK_CUR)
        file.write(b'"}\n' + line(TWO))
    reading = reading_of(path)
    tracemalloc.start()
    try:
        assert list(records(reading)) == [ONE, TWO]
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert reading.counts["oversized_lines"] == 1
    assert reading.complete_to == path.stat().st_size
    assert peak < MAX_LINE + (8 << 20)


def test_compressed_files_are_read_through(tmp_path: Path) -> None:
    packed = zstandard.ZstdCompressor().compress(line(ONE) + line(TWO))
    assert read(tmp_path, packed, "a.jsonl.zst")[0] == [ONE, TWO]


def test_a_compressed_file_that_was_appended_to_is_read_to_its_end(tmp_path: Path) -> None:
    pack = zstandard.ZstdCompressor().compress
    assert read(tmp_path, pack(line(ONE)) + pack(line(TWO)), "a.jsonl.zst")[0] == [ONE, TWO]


def test_a_compressed_file_cut_short_gives_what_it_holds(tmp_path: Path) -> None:
    many = [{"n": n, "said": os.urandom(40).hex()} for n in range(9_000)]
    packed = zstandard.ZstdCompressor().compress(b"".join(map(line, many)))
    found, reading = read(tmp_path, packed[: len(packed) // 2], "a.jsonl.zst")
    assert 1_000 < len(found) < 9_000
    assert found == many[: len(found)]
    assert reading.counts["bad_lines"] == 0


def test_what_is_no_compressed_file_is_counted(tmp_path: Path) -> None:
    found, reading = read(tmp_path, b"this is not zstandard", "a.jsonl.zst")
    assert (found, reading.counts["torn"]) == ([], 1)


def test_a_file_beside_the_root_is_not_read(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "out.jsonl").write_bytes(line(ONE))
    (tmp_path / "in" / "link.jsonl").symlink_to(tmp_path / "out.jsonl")
    for path in (tmp_path / "out.jsonl", tmp_path / "in" / ".." / "out.jsonl", tmp_path / "in" / "link.jsonl"):
        reading = Reading(Transcript("claude", tmp_path / "in", path, "n", (path,)), NOW)
        with pytest.raises(BadTranscript):
            list(records(reading))


def test_a_pipe_in_the_place_of_a_file_does_not_block(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "a.jsonl")
    with pytest.raises(BadTranscript, match="plain file"):
        list(records(reading_of(tmp_path / "a.jsonl")))


PIECES = st.sampled_from(
    [
        *(
            b"{",
            b"}",
            b"[",
            b"]",
            b'"',
            b":",
            b",",
            b"\n",
            b"\\",
            b"\\u",
            b"d8",
            b"\x00",
            b"\xff",
            b"\xc3",
            b"1e9",
            b" ",
        ),
        *(b"NaN", b"null", b"\xef\xbb\xbf", b'{"a":1}', b'{"type":"user","b":[1,2],"c":"x"}', b"-", b"9" * 20),
    ]
)


@given(st.lists(PIECES, max_size=60).map(b"".join) | st.binary(max_size=300))
def test_any_bytes_are_read_without_a_fault(tmp_path_factory: pytest.TempPathFactory, data: bytes) -> None:
    found, reading = read(tmp_path_factory.getbasetemp(), data)
    assert all(type(record) is dict for record in found)
    assert 0 <= reading.complete_to <= len(data)
    orjson.dumps(found)


@given(st.lists(PIECES, max_size=40).map(b"".join), st.data())
def test_a_file_that_grew_gives_what_it_gave_and_then_more(
    tmp_path_factory: pytest.TempPathFactory, data: bytes, draw: st.DataObject
) -> None:
    """Whatever a file holds, reading a beginning of it tells nothing that reading the whole does not."""
    folder = tmp_path_factory.getbasetemp()
    cut = draw.draw(st.integers(0, len(data)))
    before, reading = read(folder, data[:cut])
    after, _ = read(folder, data)
    assert after[: len(before)] == before
    assert reading.complete_to <= cut
