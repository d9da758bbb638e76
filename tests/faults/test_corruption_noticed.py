"""P06: a damaged file is noticed and never makes anything but our own errors; damaged texts are never passed on."""

from __future__ import annotations

import random
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import apsw
import pytest

from recollect.errors import RecollectError
from recollect.model import TIERS
from recollect.store import portable
from recollect.store.ports.memories import Filter
from recollect.store.sqlite.store import FILE_NAME, SqliteStore
from tests.contract.samples import (
    ANN,
    LATER,
    TINY,
    by_meaning,
    by_words,
    embed_waiting,
    event,
    gist,
    memory,
    minute,
    talk,
)

WHERE = Filter(now=LATER, archived=True, history=True)
EVENTS = {f"walrus question {n} " + "lorem ipsum " * (n * 7 % 90) for n in range(30)}
MEMORIES = {f"walrus fact {n} " + "dolor sit amet " * (n * 5 % 40) for n in range(30)}


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """The bytes of a sound database with something of everything."""
    folder = tmp_path_factory.mktemp("sound") / "data"
    store = SqliteStore(folder)
    for number, text in enumerate(sorted(EVENTS)):
        store.sessions.append(ANN, [event(f"chat:{number % 4}", number, text, "assistant" if number % 3 else "user")])
    for number, text in enumerate(sorted(MEMORIES)):
        kept, _ = store.memories.add(ANN, memory(text, tags=("t",), why="because", meta={"n": number}))
        store.memories.touch(ANN, {kept.id: 1}, at=minute(1))
    for number in range(4):
        store.gists.put(ANN, gist(f"chat:{number}", f"walrus gist {number}", number))
    embed_waiting(store)
    store.close()
    return (folder / FILE_NAME).read_bytes()


def damaged(sound: bytes, folder: Path, offset: int, flip: int) -> Path:
    content = bytearray(sound)
    content[offset] ^= flip
    folder.mkdir(mode=0o700)
    (folder / FILE_NAME).write_bytes(content)
    return folder


def attempt(call: Callable[[], Any], default: Any = ()) -> Any:
    """What the call gives, or nothing when it gives one of our errors; any other exception is a failure of the test."""
    try:
        return call()
    except RecollectError:
        return default


def spoken(document: str) -> Iterator[str]:
    for line in document.split("\n"):
        yield line.removeprefix("user: ").removeprefix("assistant: ")


def use(store: SqliteStore) -> None:
    """Every reading call and some writing ones; texts that have a hash come back exact or not at all."""
    sessions = attempt(lambda: store.sessions.find(ANN, limit=50))
    for session in {*(one.id for one in sessions), *(f"chat:{n}" for n in range(4))}:
        history = attempt(lambda session=session: store.sessions.history(ANN, session))
        assert {one.text for one in history} <= EVENTS
        attempt(lambda session=session: store.gists.get(ANN, session))
        attempt(lambda session=session: store.gists.unsummarized(ANN, session))
        for one in history:
            turn = attempt(lambda one=one: store.sessions.turn(ANN, one.key), None)
            if turn is not None:
                assert set(filter(None, [*spoken(turn.user_text), *spoken(turn.agent_text)])) <= EVENTS
    found = attempt(lambda: store.memories.find(ANN, WHERE, limit=100))
    assert {one.content for one in found} <= MEMORIES
    for one in found:
        attempt(lambda one=one: store.memories.versions(ANN, one.id))
    for tier in TIERS:
        look(store, tier)
    attempt(lambda: list(portable.export(store, ANN, now=LATER)))
    attempt(lambda: store.gists.recent(ANN, exclude_session=None, limit=50))
    for item in attempt(lambda: store.vectors.waiting(50)):
        attempt(lambda item=item: store.vectors.put(("tiny", 64), [(item, TINY.embed(item.texts))]))
    attempt(lambda: store.sessions.append(ANN, talk("chat:new", "hello", "assistant: world")))
    attempt(lambda: store.memories.add(ANN, memory("something new")))


def look(store: SqliteStore, tier: Any) -> None:
    matches = attempt(lambda: by_words(store, ANN, tier, "walrus", WHERE))
    matches = [*matches, *attempt(lambda: by_meaning(store, ANN, tier, "walrus", WHERE))]
    documents = attempt(lambda: store.search.documents(ANN, tier, [match.doc for match in matches]))
    if tier == "memory":
        assert {one.content for one in documents} <= MEMORIES
    if tier == "turn":
        assert {line for one in documents for line in spoken(one.content)} <= EVENTS


def is_found(folder: Path) -> bool:
    """Whether opening, or the deep look, says that something is wrong."""
    try:
        store = SqliteStore(folder)
    except RecollectError:
        return True
    try:
        return bool(store.keeping.health(deep=True).checks)
    except RecollectError:
        return True
    finally:
        store.close()


def flip_and_use(sound: bytes, folder: Path, offset: int, flip: int) -> None:
    damaged(sound, folder, offset, flip)
    store = attempt(lambda: SqliteStore(folder), None)
    if store is not None:
        try:
            use(store)
            attempt(lambda: store.keeping.health(deep=True))
        finally:
            store.close()
    shutil.rmtree(folder)


def flips(sound: bytes, count: int, seed: int) -> Iterator[tuple[int, int]]:
    """Half of them anywhere, half where something stands."""
    chance = random.Random(seed)
    used = [place for place, byte in enumerate(sound) if byte]
    for number in range(count):
        yield chance.choice(used) if number % 2 else chance.randrange(len(sound)), chance.randrange(1, 256)


@pytest.mark.slow
def test_a_flipped_byte_gives_our_errors_or_true_texts(sound: bytes, tmp_path: Path) -> None:
    """P06: 40 flips, 0 foreign exceptions, 0 changed texts passed on."""
    for number, (offset, flip) in enumerate(flips(sound, 40, seed=6)):
        flip_and_use(sound, tmp_path / str(number), offset, flip)


@pytest.mark.soak
def test_many_flipped_bytes_give_our_errors_or_true_texts(sound: bytes, tmp_path: Path) -> None:
    """P06: 200 flips and more."""
    for number, (offset, flip) in enumerate(flips(sound, 1_000, seed=7)):
        flip_and_use(sound, tmp_path / str(number), offset, flip)


def test_a_flipped_byte_in_the_header_or_schema_gives_our_errors(sound: bytes, tmp_path: Path) -> None:
    """P06: the first page decides about everything."""
    chance = random.Random(8)
    for number in range(40):
        flip_and_use(sound, tmp_path / str(number), chance.randrange(0, 2_000), chance.randrange(1, 256))


@pytest.mark.slow
def test_a_flip_inside_a_stored_time_gives_our_errors(sound: bytes, tmp_path: Path) -> None:
    """P06: a time that cannot be read is damage like any other."""
    places = [place for place in range(len(sound)) if sound.startswith(b"2026-03-01T", place)]
    chance = random.Random(10)
    for number in range(40):
        offset = chance.choice(places) + chance.randrange(20)
        flip_and_use(sound, tmp_path / str(number), offset, chance.choice((0x01, 0x1F, 0x40)))


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE vectors SET vector = 7",
        "UPDATE vectors SET vector = 'text'",
        "UPDATE vectors SET vector = x'00'",
        "UPDATE events SET text = x'ff00'",
        "UPDATE events SET text_hash = 7, meta = 'no json'",
        "UPDATE events SET occurred_at = 7, key = 'text' || row",
        "UPDATE memories SET content = 7",
        "UPDATE memories SET content = x'ff', tags = '{'",
        "UPDATE memories SET recorded_at = 'never', evidence = '[5]'",
        "UPDATE memories SET tags = '5', anchors = 'null', meta = '[]'",
        "UPDATE sessions SET ended_at = 'never', meta = 'x'",
        "UPDATE sessions SET started_at = x'ff'",
        "UPDATE gists SET created_at = '', content = x'ff'",
        "UPDATE turns SET occurred_at = 'x', key = 7",
        "UPDATE meta SET value = 'x'",
    ],
    ids=lambda change: change.removeprefix("UPDATE "),
)
def test_a_value_of_another_kind_gives_our_errors(sound: bytes, tmp_path: Path, change: str) -> None:
    """P06: a flipped record header makes a number or a text of what was bytes."""
    folder = damaged(sound, tmp_path / "data", 0, 0)
    connection = apsw.Connection(str(folder / FILE_NAME))
    connection.execute(change)
    connection.close()
    store = attempt(lambda: SqliteStore(folder), None)
    if store is not None:
        try:
            use(store)
            attempt(lambda: store.keeping.health(deep=True))
        finally:
            store.close()


@pytest.mark.slow
@pytest.mark.parametrize("texts", [sorted(EVENTS), sorted(MEMORIES)], ids=["events", "memories"])
def test_a_flip_inside_a_text_is_always_found(sound: bytes, tmp_path: Path, texts: list[str]) -> None:
    """P06: 100 % by the hash each text has; also when it is no longer UTF-8."""
    chance = random.Random(9)
    missed = []
    for number in range(24):
        text = chance.choice(texts).encode()
        start = sound.find(text[:40])
        assert start >= 0
        offset, flip = start + chance.randrange(min(40, len(text))), chance.choice((1, 0x20, 0x80, 0xFF))
        folder = damaged(sound, tmp_path / str(number), offset, flip)
        if not is_found(folder):
            missed.append((number, offset, flip))
    assert missed == []


def test_a_sound_file_is_called_sound(sound: bytes, tmp_path: Path) -> None:
    """Else the tests above would show nothing."""
    folder = damaged(sound, tmp_path / "same", 0, 0)
    assert not is_found(folder)


@pytest.mark.parametrize(
    "content",
    [b"not a database at all" * 50, b"\x00" * 8192, b"SQLite format 3\x00" + b"\xff" * 5000],
    ids=["text", "zeros", "header only"],
)
def test_a_file_that_is_no_database_is_refused(tmp_path: Path, content: bytes) -> None:
    """P06."""
    folder = tmp_path / "data"
    folder.mkdir(mode=0o700)
    (folder / FILE_NAME).write_bytes(content)
    with pytest.raises(RecollectError):
        SqliteStore(folder)
    assert (folder / FILE_NAME).read_bytes() == content


@pytest.mark.parametrize("keep", [0.2, 0.5, 0.9, 0.97])
def test_a_file_that_was_cut_gives_our_errors(sound: bytes, tmp_path: Path, keep: float) -> None:
    """P06."""
    folder = tmp_path / "data"
    folder.mkdir(mode=0o700)
    (folder / FILE_NAME).write_bytes(sound[: int(len(sound) * keep)])
    assert is_found(folder)
    store = attempt(lambda: SqliteStore(folder), None)
    if store is not None:
        use(store)
        store.close()
