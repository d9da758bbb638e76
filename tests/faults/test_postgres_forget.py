"""P13 on PostgreSQL: a receipt says no more than is true of the server's files, and says what makes it so."""

from __future__ import annotations

import json
from pathlib import Path

import psycopg
import pytest

from recollect.store.postgres.keeping import REMAINS
from recollect.store.postgres.store import PostgresStore
from tests.contract.samples import ANN, LATER, embed_waiting, gist, memory, talk
from tests.services.postgres import VARIABLE, Postgres
from tests.services.stores import Emptied

CANARY = "xylophonewalrusquartz"


@pytest.fixture
def folder(postgres: Postgres, run_folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the server of this test run keeps its files."""
    state = run_folder / "postgres.json"
    if not state.exists():
        pytest.skip(f"{VARIABLE} names a server whose files are out of reach")
    return Path(json.loads(state.read_text())["folder"]) / "data"


def hits(folder: Path, url: str) -> set[str]:
    """The tables of this database that have the canary in one of their files."""
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("CHECKPOINT")
        files = connection.execute(
            "SELECT c.relname, pg_relation_filepath(c.oid) FROM pg_class c WHERE c.relkind IN ('r', 'i', 't', 'm')"
        ).fetchall()
    found = set()
    for name, path in files:
        for file in (folder / path).parent.glob(f"{Path(path).name}*") if path else ():
            if file.name.split(".")[0].split("_")[0] == Path(path).name and CANARY.encode() in file.read_bytes():
                found.add(name)
    return found


@pytest.fixture
def store(emptied: Emptied) -> PostgresStore:
    return emptied.give(20)


def test_a_receipt_claims_nothing_that_the_files_do_not_bear_out(
    store: PostgresStore, emptied: Emptied, folder: Path
) -> None:
    """P13: after `forget` the bytes are there and the receipt says so; after `scrub` they are gone."""
    url = emptied.settings(20).database_url
    store.sessions.append(ANN, talk("chat:1", f"{CANARY} said", f"assistant: {CANARY} answered"))
    store.sessions.ensure(ANN, "chat:1", at=LATER, title=f"{CANARY} title", meta={"k": CANARY})
    store.gists.put(ANN, gist("chat:1", f"{CANARY} gist"))
    kept = memory(f"{CANARY} memory", why=f"{CANARY} why", tags=(CANARY,), session="chat:1")
    store.memories.add(ANN, kept)
    embed_waiting(store)
    assert {"events", "memories", "gists", "sessions", "words"} <= hits(folder, url)
    receipt = store.keeping.forget_session(ANN, "chat:1", at=LATER)
    assert (receipt.complete, receipt.remains) == (False, REMAINS)
    assert hits(folder, url)
    store.keeping.vacuum(full=True)
    assert hits(folder, url) == set()
    assert not store.keeping.scrub_due()
    assert store.keeping.health(deep=True).checks == {}


def test_what_is_forgotten_while_the_files_are_written_anew_stays_due(
    store: PostgresStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    from recollect.store.postgres import lifecycle

    first, second = memory("walrus one"), memory("walrus two")
    for one in (first, second):
        store.memories.add(ANN, one)
    store.keeping.forget_memory(ANN, first.id, at=LATER)
    vacuum = lifecycle.vacuum

    def meanwhile(*args: object, **options: object) -> dict[str, int]:
        store.keeping.forget_memory(ANN, second.id, at=LATER)
        return vacuum(*args, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(lifecycle, "vacuum", meanwhile)
    store.keeping.vacuum(full=True)
    assert store.keeping.scrub_due()
    monkeypatch.undo()
    store.keeping.vacuum(full=True)
    assert not store.keeping.scrub_due()


def test_files_that_could_not_be_written_anew_stay_due(store: PostgresStore, monkeypatch: pytest.MonkeyPatch) -> None:
    from recollect.store.postgres import lifecycle

    one = memory("walrus")
    store.memories.add(ANN, one)
    store.keeping.forget_memory(ANN, one.id, at=LATER)

    def broken(*args: object, **options: object) -> dict[str, int]:
        raise KeyboardInterrupt

    monkeypatch.setattr(lifecycle, "vacuum", broken)
    with pytest.raises(KeyboardInterrupt):
        store.keeping.vacuum(full=True)
    assert store.keeping.scrub_due()
