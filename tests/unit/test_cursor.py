"""Whether a transcript changed, and whether it only grew: told from the outside, never wrongly trusted."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from recollect.capture.cursor import HEAD, TAIL, fingerprint, only_grown
from recollect.capture.sources import source
from recollect.capture.transcript import Transcript
from recollect.errors import BadTranscript

CLAUDE = source("claude")


def at(path: Path, **changes: object) -> Transcript:
    return Transcript("claude", path.parent, path, path.stem, changes.get("files", (path,)), changes.get("part"))  # type: ignore[arg-type]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "s.jsonl"
    path.write_bytes(bytes(range(256)) * 64)
    return path


def grown(path: Path) -> None:
    with path.open("ab") as file:
        file.write(b"more")


def one_byte(place: int) -> Callable[[Path], None]:
    def change(path: Path) -> None:
        data = bytearray(path.read_bytes())
        data[place] ^= 1
        path.write_bytes(data)

    return change


def shorter(path: Path) -> None:
    os.truncate(path, path.stat().st_size - 1)


def touched(path: Path) -> None:
    os.utime(path, ns=(0, 12345))


def replaced(path: Path) -> None:
    other = path.with_name("other")
    other.write_bytes(path.read_bytes() + b"more")
    other.replace(path)


def unchanged(path: Path) -> None:
    path.read_bytes()


def both(*changes: Callable[[Path], None]) -> Callable[[Path], None]:
    return lambda path: [change(path) for change in changes] and None


CHANGES: dict[str, tuple[Callable[[Path], None], bool]] = {
    "grown": (grown, True),
    "touched": (touched, False),
    "shorter": (shorter, False),
    "first byte": (one_byte(0), False),
    "middle byte": (one_byte(8_000), False),
    "last byte": (one_byte(-1), False),
    "replaced by a longer one": (replaced, False),
    "first byte, and grown": (both(one_byte(0), grown), False),
    "end of the head, and grown": (both(one_byte(HEAD - 1), grown), False),
    "beginning of the tail, and grown": (both(one_byte(-TAIL), grown), False),
    "last byte, and grown": (both(one_byte(-1), grown), False),
    "shorter, and grown beyond": (both(shorter, grown), False),
}


@pytest.mark.parametrize("name", CHANGES)
def test_a_change_shows_and_only_growth_is_growth(path: Path, name: str) -> None:
    change, only = CHANGES[name]
    before = fingerprint(at(path), CLAUDE)
    change(path)
    os.utime(path, ns=(0, path.stat().st_mtime_ns + 1))
    assert fingerprint(at(path), CLAUDE) != before
    assert only_grown(before, at(path)) is only


def test_an_unchanged_file_looks_the_same(path: Path) -> None:
    before = fingerprint(at(path), CLAUDE)
    unchanged(path)
    assert fingerprint(at(path), CLAUDE) == before
    assert not only_grown(before, at(path))


def test_a_small_file_is_read_again_from_the_start(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    path.write_bytes(b"x" * (HEAD - 1))
    before = fingerprint(at(path), CLAUDE)
    grown(path)
    assert not only_grown(before, at(path))


def test_several_files_are_never_only_grown(path: Path, tmp_path: Path) -> None:
    other = tmp_path / "beside.json"
    other.write_bytes(b"{}")
    both_files = at(path, files=(path, other))
    before = fingerprint(both_files, CLAUDE)
    assert before.count("|") == 1
    grown(path)
    assert fingerprint(both_files, CLAUDE) != before
    assert not only_grown(before, both_files)
    assert not only_grown(before, at(path))


@pytest.mark.parametrize("known", ["", "#", "1:2:3", "a:b:c:d:e:f", "1:2:-5:4:x:y", "1:2:99999999999999999999:4:x:y"])
def test_what_was_written_down_wrongly_is_read_anew(path: Path, known: str) -> None:
    assert only_grown(known, at(path)) is False


def test_a_file_that_is_gone_cannot_be_looked_at(path: Path) -> None:
    before = fingerprint(at(path), CLAUDE)
    path.unlink()
    assert only_grown(before, at(path)) is False
    with pytest.raises(BadTranscript):
        fingerprint(at(path), CLAUDE)


def test_a_database_session_has_its_own_stamp(tmp_path: Path) -> None:
    """A database changes with every session in it."""
    assert not only_grown("5.6", at(tmp_path / "x.db", part="ses_1"))
