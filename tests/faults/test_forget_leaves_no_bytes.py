"""P13: after forget no byte of it is left in any file of the data directory, and everything else is still there."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from recollect.store.ports.keeping import Ages, Receipt
from recollect.store.ports.memories import Filter
from recollect.store.rows import index
from recollect.store.sqlite.database import Database
from recollect.store.sqlite.store import SqliteStore
from tests.contract.samples import (
    ANN,
    BOB,
    LATER,
    T0,
    by_meaning,
    by_words,
    embed_waiting,
    event,
    gist,
    memory,
    minute,
)

PLACES = ("event", "answer", "tool", "title", "session_meta", "event_meta", "gist", "old_gist", "content", "why", "tag",
          "memory_meta", "anchor", "old_content", "old_why", "old_tag", "old_title")  # fmt: skip


def canary(place: str, number: int) -> str:
    """A word no stemmer changes. Full-text terms share beginnings, so what is looked for is its end."""
    return f"q{random.Random(f'{place}{number}').getrandbits(80):020x}7"


def plant(store: SqliteStore, number: int, padding: int = 0) -> dict[str, str]:
    """One session and one memory of it with a canary in every place that can hold a text."""
    word = {place: canary(place, number) for place in PLACES}
    session, more = f"chat:{number}", " filler" * (padding // 7)
    store.sessions.append(
        ANN,
        [
            event(session, 0, f"{word['event']}{more}", meta={"k": word["event_meta"]}),
            event(session, 1, f"{word['answer']}{more}", "assistant"),
            event(session, 2, f"{word['tool']}{more}", "tool"),
        ],
    )
    for which in ("old_title", "title"):
        store.sessions.ensure(ANN, session, at=T0, title=word[which], meta={"k": word["session_meta"]})
    for which in ("old_gist", "gist"):
        store.gists.put(ANN, gist(session, f"{word[which]}{more[:5000]}", 2))
    first = memory(
        f"{word['old_content']}{more[:9000]}",
        id=f"m-{number}",
        session=session,
        why=word["old_why"],
        tags=(word["old_tag"],),
        anchors=(word["anchor"],),
        meta={"k": word["memory_meta"]},
    )
    store.memories.add(ANN, first)
    second = replace(first, content=f"{word['content']}{more[:9000]}", why=word["why"], tags=(word["tag"],))
    store.memories.update(ANN, second, at=minute(1), note="edit")
    return word


def left_in(folder: Path, words: dict[str, str]) -> dict[str, list[str]]:
    """Which canaries stand in which files: whole, or their last twelve letters."""
    found: dict[str, list[str]] = {}
    for file in sorted(folder.rglob("*")):
        if file.is_file():
            data = file.read_bytes()
            for place, word in words.items():
                if word.encode()[-12:] in data:
                    found.setdefault(place, []).append(file.name)
    return found


def fill_others(store: SqliteStore) -> None:
    for number in range(30):
        store.sessions.append(ANN, [event("chat:other", number, f"walrus {number} " + "x" * (number * 61 % 1500))])
        store.memories.add(ANN, memory(f"penguin fact {number}"))
    store.memories.add(BOB, memory("penguin of bob"))


def others_are_there(store: SqliteStore) -> None:
    assert store.keeping.health(deep=True).checks == {}
    assert len(store.sessions.history(ANN, "chat:other")) == 30
    assert len(by_words(store, ANN, "turn", "walrus")) == 30
    assert len(by_words(store, ANN, "memory", "penguin")) == 30
    assert len(by_meaning(store, ANN, "memory", "penguin")) == 30


WAYS: dict[str, Callable[[SqliteStore], list[Receipt]]] = {
    "memory and session": lambda store: [
        store.keeping.forget_memory(ANN, "m-1", at=LATER),
        store.keeping.forget_session(ANN, "chat:1", at=LATER),
    ],
    "session": lambda store: [store.keeping.forget_session(ANN, "chat:1", at=LATER)],
}


@pytest.mark.parametrize("padding", [0, 700, 30_000, 400_000])
@pytest.mark.parametrize("way", sorted(WAYS))
def test_no_byte_of_a_forgotten_session_is_left(store: SqliteStore, data_dir: Path, way: str, padding: int) -> None:
    """P13: canaries in every column, in the full-text index, the history and the log; sizes up to overflow pages."""
    fill_others(store)
    words = plant(store, 1, padding)
    embed_waiting(store)
    here = left_in(data_dir, words)
    assert here.keys() >= set(PLACES) - {"old_title", "old_gist"}
    receipts = WAYS[way](store)
    assert all(receipt.complete for receipt in receipts)
    assert left_in(data_dir, words) == {}
    others_are_there(store)
    store.close()
    assert left_in(data_dir, words) == {}


def test_no_byte_of_a_forgotten_memory_is_left(store: SqliteStore, data_dir: Path) -> None:
    """P13."""
    fill_others(store)
    words = plant(store, 1)
    embed_waiting(store)
    store.keeping.forget_memory(ANN, "m-1", at=LATER)
    ours = {place: word for place, word in words.items() if place in PLACES[8:16]}
    assert len(ours) == 8
    assert left_in(data_dir, ours) == {}
    assert left_in(data_dir, {"event": words["event"]}) != {}
    others_are_there(store)


def test_no_byte_of_a_forgotten_owner_is_left(store: SqliteStore, data_dir: Path) -> None:
    """P13."""
    words = {f"{place} {number}": word for number in range(6) for place, word in plant(store, number, 900).items()}
    store.memories.add(BOB, memory("penguin of bob"))
    embed_waiting(store)
    assert store.keeping.forget_all(ANN, at=LATER).complete
    assert left_in(data_dir, words) == {}
    assert len(by_words(store, BOB, "memory", "penguin")) == 1


def test_no_byte_is_left_of_a_redacted_memory(store: SqliteStore, data_dir: Path) -> None:
    """P13: deleting hides; the redacting round of upkeep takes the bytes away."""
    fill_others(store)
    words = {place: word for place, word in plant(store, 1).items() if place in PLACES[8:16]}
    embed_waiting(store)
    one = store.memories.get(ANN, "m-1")
    assert one is not None
    store.memories.update(ANN, replace(one, deleted_at=T0), at=T0, note="delete")
    ages = Ages(archive_before=T0, archive_reads=0, redact_before=LATER, purge_before=T0)
    assert store.keeping.upkeep(now=LATER, ages=ages).redacted == 1
    assert left_in(data_dir, words) == {}


def test_vectors_of_forgotten_texts_are_gone_from_the_file(store: SqliteStore, data_dir: Path) -> None:
    """P13: a vector gives its text away nearly as well as the text."""
    fill_others(store)
    plant(store, 1)
    embed_waiting(store)
    with store.database.reading() as connection:
        rows = connection.execute(
            "SELECT doc FROM memories, vectors WHERE id = 'm-1' AND doc = row AND tier = 'memory'"
        )
        assert rows.fetchall()
        blobs = [
            row[0]
            for row in connection.execute(
                "SELECT vector FROM vectors WHERE tier = 'memory' AND doc = (SELECT row FROM memories WHERE id = 'm-1')"
            )
        ]
    assert blobs
    store.keeping.forget_memory(ANN, "m-1", at=LATER)
    for file in data_dir.iterdir():
        data = file.read_bytes()
        assert not any(bytes(blob)[:64] in data for blob in blobs)


def mix(folder: Path, seed: int, steps: int) -> None:
    """Sessions and memories of many sizes come, change and go; what went must have left nothing."""
    chance = random.Random(seed)
    store = SqliteStore(folder)
    alive: dict[int, dict[str, str]] = {}
    gone: dict[str, str] = {}
    try:
        for number in range(steps):
            action = chance.random()
            if action < 0.6 or not alive:
                alive[number] = plant(store, number, chance.choice((0, 0, 50, 300, 1_200, 5_000, 20_000, 60_000)))
            elif action < 0.7:
                embed_waiting(store)
            elif action < 0.8:
                grow(store, chance.choice(sorted(alive)), number)
            else:
                which = chance.choice(sorted(alive))
                if chance.random() < 0.3:
                    store.keeping.forget_memory(ANN, f"m-{which}", at=LATER)
                store.keeping.forget_session(ANN, f"chat:{which}", at=LATER)
                words = {f"{place} {which}": word for place, word in alive.pop(which).items()}
                gone |= words
                assert left_in(folder, words) == {}, f"seed {seed}, step {number}"
        assert store.keeping.health(deep=True).checks == {}
        for number, words in alive.items():
            assert by_words(store, ANN, "turn", words["event"])
            assert store.sessions.history(ANN, f"chat:{number}")
    finally:
        store.close()
    assert left_in(folder, gone) == {}


def grow(store: SqliteStore, which: int, number: int) -> None:
    store.sessions.append(ANN, [event(f"chat:{which}", 100 + number, "more " * (number * 13 % 400), "assistant")])


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_no_mix_of_adding_and_forgetting_leaves_a_byte(tmp_path: Path, seed: int) -> None:
    """P13: pages split and merge while rows come and go; no copy may stay behind in one of them."""
    mix(tmp_path / "data", seed, 60)


def small_mix(folder: Path, seed: int, steps: int) -> None:
    """Rows of less than a page: SQLite moves them from page to page, and secure_delete cleans only where they are."""
    chance = random.Random(seed)
    store = SqliteStore(folder)
    alive: dict[int, tuple[str, str]] = {}
    try:
        for number in range(steps):
            if chance.random() < 0.65 or not alive:
                word = canary("small", seed * 1000 + number)
                text = f"{word} {'f' * chance.randrange(900)}"
                what = "memory" if chance.random() < 0.5 else "session"
                alive[number] = (what, word)
                if what == "memory":
                    store.memories.add(ANN, memory(text, id=f"m{number}", tags=(word,)))
                else:
                    store.sessions.append(ANN, [event(f"chat:{number}", 0, text)])
                continue
            which = chance.choice(sorted(alive))
            what, word = alive.pop(which)
            if what == "memory":
                store.keeping.forget_memory(ANN, f"m{which}", at=LATER)
            else:
                store.keeping.forget_session(ANN, f"chat:{which}", at=LATER)
            assert left_in(folder, {what: word}) == {}, f"seed {seed}, step {number}"
        assert store.keeping.health(deep=True).checks == {}
    finally:
        store.close()


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, 3, 6])
def test_small_rows_that_come_and_go_leave_no_byte(tmp_path: Path, seed: int) -> None:
    """P13."""
    small_mix(tmp_path / "data", seed, 400)


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(200, 204))
def test_many_small_rows_that_come_and_go_leave_no_byte(tmp_path: Path, seed: int) -> None:
    """P13."""
    small_mix(tmp_path / "data", seed, 1_000)


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(100, 106))
def test_no_long_mix_of_adding_and_forgetting_leaves_a_byte(tmp_path: Path, seed: int) -> None:
    """P13."""
    mix(tmp_path / "data", seed, 300)


@pytest.mark.parametrize("broken", ["full-text entry", "secure delete of FTS5", "log"])
def test_the_search_for_bytes_would_show_a_forget_that_skips_a_step(
    store: SqliteStore, data_dir: Path, monkeypatch: pytest.MonkeyPatch, broken: str
) -> None:
    """P13: else the tests above would show nothing."""
    fill_others(store)
    words = plant(store, 1, 700)
    if broken == "full-text entry":
        monkeypatch.setattr(index, "drop", lambda *args, **options: None)
    elif broken == "secure delete of FTS5":
        with store.database.writing() as connection:
            for table in ("memory_fts", "gist_fts", "turn_fts"):
                connection.execute(f"INSERT INTO {table} ({table}, rank) VALUES ('secure-delete', 0)")
    else:
        monkeypatch.setattr(store.database, "checkpoint", lambda: True)
    store.keeping.forget_session(ANN, "chat:1", at=LATER)
    assert left_in(data_dir, words) != {}


@pytest.mark.slow
def test_the_small_mix_would_show_a_forget_that_does_not_rewrite_pages(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """P13: secure_delete alone leaves copies in the slack of pages that SQLite rebalanced."""
    monkeypatch.setattr(Database, "scrub", Database.checkpoint)
    with pytest.raises(AssertionError, match="seed 6"):
        small_mix(tmp_path / "data", 6, 400)


def test_the_audit_says_that_something_was_forgotten_but_not_what(store: SqliteStore) -> None:
    """P13: the receipt in the audit log has counts, no content."""
    words = plant(store, 1)
    store.keeping.forget_session(ANN, "chat:1", at=LATER)
    with store.database.reading() as connection:
        rows = connection.execute("SELECT action, subject, details FROM audit ORDER BY row").fetchall()
    assert rows[-1][0] == "forget"
    assert '"events": 3' in rows[-1][2]
    assert not any(word in repr(rows) for word in words.values())
    assert store.memories.find(ANN, Filter(now=LATER), limit=5) == []
