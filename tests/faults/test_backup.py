"""P12: a backup of a store in use is whole, restores into an empty place, and is refused once it was cut or changed."""

from __future__ import annotations

import random
import threading
import time
from hashlib import sha256
from pathlib import Path

import apsw
import pytest

from recollect.errors import InvalidInput, RecollectError, StoreUnavailable
from recollect.model import TIERS
from recollect.store import portable
from recollect.store.moving import contents
from recollect.store.sqlite import backup as copies
from recollect.store.sqlite.store import FILE_NAME, SqliteStore
from tests.contract.samples import (
    ANN,
    BOB,
    LATER,
    by_meaning,
    by_words,
    embed_waiting,
    event,
    gist,
    memory,
    talk,
)
from tests.faults.children import Say, start
from tests.faults.conftest import Open
from tests.faults.filled import fill as filled


def everything(store: SqliteStore) -> list[object]:
    dumped: list[object] = [list(portable.export(store, scope, now=LATER)) for scope in (ANN, BOB)]
    for tier in TIERS:
        for leg in (by_words, by_meaning):
            dumped.append(leg(store, ANN, tier, "walrus"))
    return dumped


def fill(store: SqliteStore, items: int = 40) -> None:
    for number in range(items):
        store.sessions.append(
            ANN, [event(f"chat:{number % 5}", number, f"walrus {number} " + "x " * (number * 17 % 700))]
        )
        store.memories.add(ANN, memory(f"walrus fact {number}", tags=("t",), why="because"))
    for number in range(5):
        store.gists.put(ANN, gist(f"chat:{number}", f"walrus gist {number}"))
        store.sessions.ensure(ANN, f"chat:{number}", at=LATER, title=f"title {number}")
    store.memories.add(BOB, memory("penguin"))
    embed_waiting(store)


def restored(copy: Path, home: Path) -> SqliteStore:
    home.mkdir(mode=0o700)
    copies.restore(copy, home / FILE_NAME)
    return SqliteStore(home)


def test_a_restored_backup_is_the_same_store(store: SqliteStore, tmp_path: Path) -> None:
    """P12."""
    fill(store)
    before = everything(store)
    copy = tmp_path / "copy.db"
    assert store.backup(copy) == copy.stat().st_size > 0
    assert copy.stat().st_mode & 0o777 == 0o600
    assert sorted(path.name for path in tmp_path.iterdir()) == ["copy.db", "data", "home"]
    store.sessions.append(ANN, talk("chat:later", "after the backup"))
    again = restored(copy, tmp_path / "restored")
    assert everything(again) == before
    assert again.keeping.health(deep=True).checks == {}
    assert (tmp_path / "restored" / FILE_NAME).stat().st_mode & 0o777 == 0o600
    again.sessions.append(ANN, talk("chat:later", "written after the restore"))
    assert len(by_words(again, ANN, "turn", "restore")) == 1
    again.close()


def test_a_restored_backup_has_the_bodies_and_every_other_table(store: SqliteStore, tmp_path: Path) -> None:
    """P12: what lies in files beside the database comes back as files."""
    filled(store)
    scopes = [ANN, BOB]
    bodies = {s: [b for one in store.sessions.history(s, "claude:1") for b in one.bodies] for s in scopes}
    before = {s: [store.bodies.get(s, body.hash) for body in bodies[s]] for s in scopes}
    assert all(found and all(found) for found in before.values())
    shapes = store.tables.shapes()
    told = {s: contents(store, s, shapes) for s in store.tables.owners()}
    store.backup(tmp_path / "copy.db")
    again = restored(tmp_path / "copy.db", tmp_path / "restored")
    assert {s: [again.bodies.get(s, body.hash) for body in bodies[s]] for s in scopes} == before
    assert {s: contents(again, s, shapes) for s in again.tables.owners()} == told
    assert again.keeping.health(deep=True).checks == {}
    assert again.tables.shapes() == shapes
    again.close()


CHANGED = {
    "costs": "input = 'x'",
    "transcripts": "read_at = 'x'",
    "spending": "usd = 'x'",
    "injected": "at = 'x'",
    "quotas": "memories = 'x'",
    "body_files": "data = x'00'",
    "members": "role = 'admin'",
    "distillations": "kept = 'x'",
    "digests": "covers = 'x'",
}


@pytest.mark.parametrize("table", CHANGED)
def test_a_backup_with_a_row_changed_in_any_table_is_refused(store: SqliteStore, tmp_path: Path, table: str) -> None:
    """P12: by the catalog, so that a new table is sealed too."""
    filled(store)
    store.backup(tmp_path / "copy.db")
    connection = apsw.Connection(str(tmp_path / "copy.db"))
    connection.execute(f"UPDATE {table} SET {CHANGED[table]}")
    assert connection.changes() > 0
    connection.close()
    refused(tmp_path / "copy.db", tmp_path)


@pytest.mark.parametrize("change", ["owner = '../../../outside'", "hash = '../../outside'", "hash = x'00'"])
def test_a_forged_body_is_not_written_anywhere(store: SqliteStore, tmp_path: Path, change: str) -> None:
    """A backup whose seal was made to fit names a path: it is refused, and nothing lies outside."""
    filled(store)
    copy = tmp_path / "copy.db"
    store.backup(copy)
    connection = apsw.Connection(str(copy))
    connection.execute(f"UPDATE body_files SET {change} WHERE owner = 1")
    seal = copies.digest(connection)
    connection.execute("UPDATE meta SET value = ? WHERE key = 'backup_seal'", (seal,))
    connection.close()
    home = tmp_path / "deep" / "restored"
    home.mkdir(mode=0o700, parents=True)
    with pytest.raises(InvalidInput):
        copies.restore(copy, home / FILE_NAME)
    assert not (home / FILE_NAME).exists()
    assert list(tmp_path.glob("**/*outside*")) == []


def test_a_backup_of_before_there_were_bodies_in_it_is_still_taken(store: SqliteStore, tmp_path: Path) -> None:
    """Its bodies are known as evicted; `doctor` finds nothing wrong."""
    filled(store)
    copy = tmp_path / "copy.db"
    store.backup(copy)
    total = sha256()
    connection = apsw.Connection(str(copy))
    connection.execute("DROP TABLE body_files; DELETE FROM meta WHERE key = 'backup_seal'")
    for name in copies._FIRST:
        for row in connection.execute(copies._Q[name]):
            total.update(repr(row).encode())
    connection.execute("INSERT INTO meta VALUES ('backup_digest', ?)", (total.hexdigest(),))
    connection.close()
    again = restored(copy, tmp_path / "restored")
    assert again.bodies.use(ANN) == []
    assert again.keeping.health(deep=True).checks == {}
    again.close()


def write_for_ever(data_dir: Path, who: int, say: Say) -> None:
    store = SqliteStore(data_dir)
    number = 0
    while True:
        store.sessions.append(ANN, [event(f"chat:{who}", number, f"walrus {who} {number}")])
        say(str(number))
        number += 1


@pytest.mark.timed
@pytest.mark.slow
def test_a_backup_under_writers_has_all_that_was_acknowledged_before(data_dir: Path, tmp_path: Path) -> None:
    """P12: four processes write; three backups, each restored and compared."""
    SqliteStore(data_dir).close()
    writers = [start(lambda say, who=who: write_for_ever(data_dir, who, say)) for who in range(4)]
    store = SqliteStore(data_dir)
    for number in range(300):  # enough pages that a backup takes more than one step
        store.sessions.append(BOB, [event("chat:big", number, f"{number} " + "y" * 20_000)])
    taken = []
    try:
        for attempt in range(3):
            acked = [int(writer.hear() or 0) for writer in writers]
            started = time.monotonic()
            store.backup(tmp_path / f"copy{attempt}.db")
            assert time.monotonic() - started < 20
            taken.append(acked)
    finally:
        for writer in writers:
            writer.kill()
        store.close()
    for attempt, acked in enumerate(taken):
        again = restored(tmp_path / f"copy{attempt}.db", tmp_path / f"home{attempt}")
        assert again.keeping.health(deep=True).checks == {}
        assert len(again.sessions.history(BOB, "chat:big")) == 300
        for who, last in enumerate(acked):
            there = [int(one.text.split()[2]) for one in again.sessions.history(ANN, f"chat:{who}")]
            assert there == list(range(len(there)))
            assert len(there) > last
        again.close()


@pytest.mark.slow
def test_a_backup_while_threads_of_this_process_write(store: SqliteStore, tmp_path: Path) -> None:
    """P12: the same store object, four threads; all acknowledged before the start is in it."""
    stop = threading.Event()
    acked = [-1] * 4
    errors: list[BaseException] = []

    def write(who: int) -> None:
        number = 0
        try:
            while not stop.is_set():
                store.sessions.append(ANN, [event(f"chat:{who}", number, f"walrus {who} {number}")])
                acked[who] = number
                number += 1
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=write, args=(who,)) for who in range(4)]
    for thread in threads:
        thread.start()
    results = []
    for attempt in range(4):
        time.sleep(0.05)
        before = list(acked)
        store.backup(tmp_path / f"copy{attempt}.db")
        results.append(before)
    stop.set()
    for thread in threads:
        thread.join()
    assert errors == []
    for attempt, before in enumerate(results):
        again = restored(tmp_path / f"copy{attempt}.db", tmp_path / f"home{attempt}")
        assert again.keeping.health(deep=True).checks == {}
        for who, last in enumerate(before):
            assert len(again.sessions.history(ANN, f"chat:{who}")) > last
        again.close()


@pytest.mark.timed
@pytest.mark.slow
def test_writers_do_not_keep_a_backup_from_ending(data_dir: Path, tmp_path: Path) -> None:
    """P12: a backup that begins again at every write would never end on a large store."""
    store = SqliteStore(data_dir)
    for number in range(40):
        store.sessions.append(BOB, [event("chat:big", number, "y" * 500_000)])
    writers = [start(lambda say, who=who: write_for_ever(data_dir, who, say)) for who in range(2)]
    for writer in writers:
        writer.hear()
    started = time.monotonic()
    try:
        store.backup(tmp_path / "copy.db")
    finally:
        for writer in writers:
            writer.kill()
        store.close()
    assert time.monotonic() - started < 30
    assert copies.verify(tmp_path / "copy.db") > 0


@pytest.fixture
def copy(store: SqliteStore, tmp_path: Path) -> Path:
    fill(store)
    store.backup(tmp_path / "copy.db")
    return tmp_path / "copy.db"


@pytest.mark.parametrize("keep", [0, 1, 50, 100, 512, 4096, 8192, 0.3, 0.5, 0.9, -4096, -1])
def test_a_backup_that_was_cut_is_refused(copy: Path, tmp_path: Path, keep: float) -> None:
    """P12: also at the end of a page."""
    data = copy.read_bytes()
    copy.write_bytes(data[: int(keep * len(data)) if isinstance(keep, float) else int(keep) or 0])
    refused(copy, tmp_path)


def refused(copy: Path, tmp_path: Path) -> None:
    home = tmp_path / "restored"
    home.mkdir(mode=0o700)
    with pytest.raises(InvalidInput):
        copies.verify(copy)
    with pytest.raises(InvalidInput):
        copies.restore(copy, home / FILE_NAME)
    assert list(home.iterdir()) == []


@pytest.mark.parametrize("where", [b"walrus 7", b"walrus fact 9", b"walrus gist 2", b"title 3", b"because"], ids=str)
@pytest.mark.parametrize("flip", [0x20, 0xFF])
def test_a_backup_with_a_flipped_bit_in_a_text_is_refused(copy: Path, tmp_path: Path, where: bytes, flip: int) -> None:
    """P12: integrity_check alone would not see it."""
    data = bytearray(copy.read_bytes())
    data[data.rfind(where)] ^= flip
    copy.write_bytes(data)
    refused(copy, tmp_path)


@pytest.mark.slow
def test_a_backup_flipped_anywhere_is_refused_or_restores_the_same(copy: Path, tmp_path: Path) -> None:
    """P12: 60 flips; bytes that mean nothing (slack, counters) may go unnoticed, rows may not."""
    sound = copy.read_bytes()
    reference = restored(copy, tmp_path / "reference")
    expected = [list(portable.export(reference, scope, now=LATER)) for scope in (ANN, BOB)]
    reference.close()
    chance = random.Random(12)
    used = [place for place, byte in enumerate(sound) if byte]
    for number in range(60):
        data = bytearray(sound)
        data[chance.choice(used)] ^= chance.randrange(1, 256)
        copy.write_bytes(data)
        try:
            again = restored(copy, tmp_path / f"home{number}")
        except RecollectError:
            continue
        try:
            assert [list(portable.export(again, scope, now=LATER)) for scope in (ANN, BOB)] == expected
        finally:
            again.close()


def test_files_that_are_no_backup_are_refused(tmp_path: Path) -> None:
    """P12."""
    other = tmp_path / "other.db"
    connection = apsw.Connection(str(other))
    connection.execute("CREATE TABLE theirs (a)")
    connection.close()
    (tmp_path / "text").write_text("hello " * 1000)
    (tmp_path / "empty").write_bytes(b"")
    (tmp_path / "folder").mkdir()
    home = tmp_path / "restored"
    home.mkdir(mode=0o700)
    for name in ("other.db", "text", "empty", "folder", "missing"):
        with pytest.raises(InvalidInput):
            copies.verify(tmp_path / name)
        with pytest.raises(InvalidInput):
            copies.restore(tmp_path / name, home / FILE_NAME)
    assert list(home.iterdir()) == []


def test_a_restore_never_goes_over_a_database(copy: Path, data_dir: Path) -> None:
    """P12."""
    before = (data_dir / FILE_NAME).read_bytes()
    with pytest.raises(StoreUnavailable):
        copies.restore(copy, data_dir / FILE_NAME)
    assert (data_dir / FILE_NAME).read_bytes() == before


def test_a_restore_does_not_mix_with_what_an_old_store_left(
    copy: Path, store: SqliteStore, data_dir: Path, tmp_path: Path
) -> None:
    """P12: a log without its database would be read into the restored one."""
    store.memories.add(ANN, memory("written after the backup"))
    home = tmp_path / "restored"
    home.mkdir(mode=0o700)
    (home / f"{FILE_NAME}-wal").write_bytes((data_dir / f"{FILE_NAME}-wal").read_bytes())
    try:
        copies.restore(copy, home / FILE_NAME)
    except StoreUnavailable:
        assert not (home / FILE_NAME).exists()
        return
    again = SqliteStore(home)
    assert by_words(again, ANN, "memory", "written") == []
    again.close()


def test_a_backup_never_goes_over_a_file(store: SqliteStore, tmp_path: Path) -> None:
    """P12."""
    target = tmp_path / "precious"
    target.write_text("precious")
    with pytest.raises(InvalidInput):
        store.backup(target)
    assert target.read_text() == "precious"
    with pytest.raises(RecollectError):
        store.backup(tmp_path / "no such folder" / "copy.db")


def test_a_backup_can_be_made_again_from_a_restored_store(copy: Path, tmp_path: Path, open_store: Open) -> None:
    """P12: a copy of a copy."""
    again = restored(copy, tmp_path / "second")
    again.sessions.append(ANN, talk("chat:new", "walrus of the second life"))
    again.backup(tmp_path / "copy2.db")
    again.close()
    third = restored(tmp_path / "copy2.db", tmp_path / "third")
    assert len(by_words(third, ANN, "turn", "second life")) == 1
    third.close()
