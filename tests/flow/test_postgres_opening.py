"""A memory at an address: opened like any other; the driver is asked for only then, and nothing secret is told."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import psycopg
import pytest

from recollect import Recollect, Scope
from recollect.errors import InvalidInput, StoreUnavailable
from recollect.settings import Settings
from tests.services.postgres import Postgres
from tests.services.stores import Emptied


def test_a_program_opens_it_by_its_address(emptied: Emptied, tmp_path: Path) -> None:
    url, scope = emptied.url(0), Scope("acme", "ann", "app")
    with Recollect.open(tmp_path / "data", url, scope, background=False) as memory:
        memory.remember("Deploys happen on Fridays", kind="decision")
    with Recollect.open(tmp_path / "other machine", url, scope, background=False) as memory:
        assert [hit.content for hit in memory.recall("when are deploys", mode="lexical").hits]
    with Recollect.open(tmp_path / "data", url, Scope("acme", "bob", "app"), background=False) as memory:
        assert memory.memories() == []


def test_the_address_in_the_settings_is_used_and_an_argument_goes_before_it(emptied: Emptied, tmp_path: Path) -> None:
    settings = Settings(data_dir=tmp_path / "data", database_url=emptied.url(0))
    with Recollect.open(settings=settings, background=False) as memory:
        kept = memory.remember("kept on the server")
    with Recollect.open(settings=settings, url=f"sqlite:///{tmp_path}/own", background=False) as memory:
        assert memory.memories() == []
        assert memory.settings.data_dir == tmp_path / "own"
    with Recollect.open(settings=settings, background=False) as memory:
        assert memory.get(kept.id).content == "kept on the server"


def test_what_belongs_to_this_machine_is_in_the_data_directory(emptied: Emptied, tmp_path: Path) -> None:
    folder = tmp_path / "data"
    with Recollect.open(folder, emptied.url(0), background=False) as memory:
        memory.remember("The key is sk-ant-api03-" + "a1B2" * 24)
        assert memory.sweep({"claude": []}).discovered == 0
    assert {"sweep.lock"} <= {path.name for path in folder.iterdir()}
    assert "recollect.db" not in {path.name for path in folder.iterdir()}
    assert oct(folder.stat().st_mode & 0o777) == "0o700"
    folder.chmod(0o777)
    with pytest.raises(StoreUnavailable, match="others may write"):
        Recollect.open(folder, emptied.url(0), background=False)


def test_a_store_named_by_hand_does_not_change_what_hooks_show(
    emptied: Emptied, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Hooks speak for the store that the settings name without any flag."""
    folder, url = tmp_path / "data", emptied.url(0)
    with Recollect.open(folder, background=False) as memory:
        memory.remember("We deploy on Fridays", kind="decision")
        memory.prepare(tmp_path)
    shown = {path.name: path.read_bytes() for path in (folder / "prepared").iterdir() if path.is_file()}
    assert shown
    with Recollect.open(folder, url, background=False) as memory:
        memory.remember("Another memory altogether", kind="decision")
        assert memory.prepare(tmp_path).written == 0
    assert {path.name: path.read_bytes() for path in (folder / "prepared").iterdir() if path.is_file()} == shown
    monkeypatch.setenv("RECOLLECT_DATABASE_URL", url)
    with Recollect.open(folder, background=False) as memory:
        assert memory.prepare(tmp_path).written > 0


def test_a_login_set_beside_an_address_is_not_shown_to_another_server(emptied: Emptied, tmp_path: Path) -> None:
    (tmp_path / "password").write_text("of another server")
    beside = {"database_credentials": "file", "database_credentials_file": tmp_path / "password"}
    settings = Settings(data_dir=tmp_path / "data", database_url="postgresql://ann@elsewhere.invalid/db", **beside)
    Recollect.open(settings=settings, url=emptied.url(0), background=False).close()
    alone = replace(settings, database_url="")
    with pytest.raises(StoreUnavailable, match="password authentication failed"):
        Recollect.open(settings=alone, url=emptied.url(0), background=False)


@pytest.mark.parametrize("package", ["psycopg", "psycopg_pool"])
def test_without_the_driver_it_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, package: str
) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(StoreUnavailable, match=package) as caught:
        Recollect.open(tmp_path / "data", "postgresql://ann:hunter22@127.0.0.1:1/memory")
    assert "recollect[postgres]" in str(caught.value.hint)
    assert "hunter22" not in f"{caught.value!r} {caught.value.hint}"


@pytest.mark.parametrize("url", ["mysql://ann:hunter22@host/db", "nothing", "sqlite://relative"])
def test_another_address_is_refused(tmp_path: Path, url: str) -> None:
    with pytest.raises(InvalidInput, match="not the address of a store") as caught:
        Recollect.open(tmp_path, url)
    assert "hunter22" not in str(caught.value)


def test_a_server_that_is_not_there_is_told_without_the_password(tmp_path: Path) -> None:
    with pytest.raises(StoreUnavailable, match="No connection to postgresql://ann@127") as caught:
        Recollect.open(tmp_path / "data", "postgresql://ann:hunter22@127.0.0.1:1/memory")
    assert "hunter22" not in f"{caught.value!r} {caught.value.hint}"


def test_a_database_that_not_everybody_may_connect_to_still_tells_its_size(postgres: Postgres, tmp_path: Path) -> None:
    url = postgres.empty_database()
    with psycopg.connect(url, autocommit=True) as owner:
        owner.execute(f'REVOKE CONNECT ON DATABASE "{owner.info.dbname}" FROM PUBLIC')
    with Recollect.open(tmp_path / "data", url, background=False) as memory:
        assert sum(memory.health().bytes.values()) > 0
