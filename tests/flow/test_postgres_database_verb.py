"""`recollect database`: the owner makes or renews everything, a login uses it, a check finds what is wrong."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import psycopg
import pytest
from psycopg import sql

from recollect.store.postgres import schema
from recollect.store.postgres.administering import AppLogin, let_in
from recollect.store.postgres.store import SESSION, PostgresStore
from tests.flow.conftest import Cli
from tests.services.postgres import Postgres, as_role
from tests.services.stores import Emptied


@pytest.fixture
def owner(postgres: Postgres, postgres_url: str) -> Iterator[str]:
    """The address of a database for its owner, who is no superuser and was given what an administrator gives."""
    role = postgres.new_role("owner", "CREATEROLE")
    name = sql.Identifier(urlsplit(postgres_url).path.removeprefix("/"))
    postgres.run(sql.SQL("ALTER DATABASE {} OWNER TO {}").format(name, sql.Identifier(role.name)))
    postgres.run("CREATE EXTENSION vector", postgres_url)
    for each in (schema.APP, schema.BACKUP):  # they may be there for another database of this server
        made = f"DO $$ BEGIN CREATE ROLE {each} NOLOGIN; EXCEPTION WHEN duplicate_object THEN NULL; END $$"
        postgres.run(made)
        grant = sql.SQL("GRANT {} TO {} WITH ADMIN OPTION")
        postgres.run(grant.format(sql.Identifier(each), sql.Identifier(role.name)))
    yield as_role(postgres_url, role)
    postgres.run(sql.SQL("REASSIGN OWNED BY {} TO CURRENT_USER").format(sql.Identifier(role.name)), postgres_url)
    postgres.run(sql.SQL("DROP OWNED BY {}").format(sql.Identifier(role.name)), postgres_url)


def login_of(url: str, name: str) -> str:
    """The same database for another user, without a password."""
    parts = urlsplit(url)
    return urlunsplit(parts._replace(netloc=f"{name}@{parts.netloc.rpartition('@')[2]}"))


@pytest.fixture
def app(postgres: Postgres) -> str:
    """The name of a login that is still to be made."""
    name = postgres.new_role("app").name
    postgres.run(sql.SQL("DROP ROLE {}").format(sql.Identifier(name)))
    return name


def test_init_makes_it_and_does_no_more_the_second_time(cli: Cli, owner: str) -> None:
    first, second = (cli("database", "init", "--url", owner, "--json").json for _ in range(2))
    assert (first["before"], first["schema"]) == (0, schema.newest())
    assert (second["before"], second["schema"]) == (schema.newest(), schema.newest())
    assert cli("database", "--url", owner).code == 0


def test_a_login_is_let_in_and_no_secret_is_shown(
    cli: Cli, owner: str, app: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "app.password"
    ran = cli("database", "init", "--url", owner, "--app-login", app, "--password-file", str(file))
    assert (ran.code, oct(file.stat().st_mode & 0o777)) == (0, "0o600")
    assert file.read_text().strip() not in ran.out + ran.err
    monkeypatch.setenv("RECOLLECT_DATABASE_URL", login_of(owner, app))
    monkeypatch.setenv("RECOLLECT_DATABASE_CREDENTIALS", "file")
    monkeypatch.setenv("RECOLLECT_DATABASE_CREDENTIALS_FILE", str(file))
    assert cli("remember", "kept by the app").code == 0
    assert "kept by the app" in cli("list").out
    found = cli("database", "--json").json["database"]
    assert (found["login"], found["role"], found["owns"], found["faults"]) == (app, schema.APP, False, [])


def test_the_password_may_come_from_outside_and_can_be_changed(cli: Cli, owner: str, app: str) -> None:
    words = ("database", "init", "--url", owner, "--app-login", app, "--password-file", "-")
    url = login_of(owner, app)
    assert cli(*words, stdin=b"from a vault\n").code == 0
    with psycopg.connect(url, password="from a vault") as connection:
        assert connection.execute("SELECT session_user").fetchone() == (app,)
    assert cli(*words, stdin=b"another one\n").code == 0
    with pytest.raises(psycopg.OperationalError):
        psycopg.connect(url, password="from a vault")
    assert cli(*words, stdin=b"\n").code == 2


def test_a_password_is_in_no_statement_that_a_server_could_log(cli: Cli, owner: str, app: str) -> None:
    cli("database", "init", "--url", owner)
    sent: list[str] = []

    class Noting(psycopg.Cursor[Any]):
        def execute(self, query: Any, *args: Any, **options: Any) -> Any:
            sent.append(query if isinstance(query, str) else query.as_string(self))
            return super().execute(query, *args, **options)

    with psycopg.connect(owner, cursor_factory=Noting) as connection:
        assert let_in(connection, AppLogin(app, "from a vault"))
    assert any("PASSWORD 'SCRAM-SHA-256$" in statement for statement in sent)
    assert not any("from a vault" in statement for statement in sent)
    with psycopg.connect(login_of(owner, app), password="from a vault") as connection:
        assert connection.execute("SELECT 1").fetchone() == (1,)


def test_a_login_that_is_made_works_by_itself_as_our_connections_do(cli: Cli, owner: str, app: str) -> None:
    """A pooler in transaction mode forgets what a connection has set."""
    cli("database", "init", "--url", owner, "--app-login", app, "--password-file", "-", stdin=b"secret enough")
    with psycopg.connect(login_of(owner, app), password="secret enough") as connection:
        shown = {
            name: connection.execute(sql.SQL("SHOW {}").format(sql.Identifier(name))).fetchone() for name in SESSION
        }
        path = connection.execute("SHOW search_path").fetchone()
    assert shown == {name: (value,) for name, value in SESSION.items()}
    assert path == ("recollect, public, pg_temp",)


def test_behind_a_pooler_nothing_is_prepared(emptied: Emptied) -> None:
    emptied.url(0)
    for pooler, threshold in ((False, 5), (True, None)):
        store = PostgresStore(replace(emptied.settings(0), database_pooler=pooler))
        try:
            with store.database.read(None) as tx:
                assert tx.connection.prepare_threshold == threshold
        finally:
            store.close()


@pytest.mark.parametrize("options", ["SUPERUSER", "BYPASSRLS", "IN ROLE recollect_backup"])
def test_a_login_above_the_policies_is_not_let_in(cli: Cli, postgres: Postgres, owner: str, options: str) -> None:
    cli("database", "init", "--url", owner)
    role = postgres.new_role("mighty", options)
    ran = cli("database", "init", "--url", owner, "--app-login", role.name)
    assert (ran.code, "above the policies" in ran.err) == (2, True)


@pytest.mark.parametrize("name", ["recollect_app", "recollect_backup", "pg_thing", "", "x" * 64, "a\x00b"])
def test_a_name_that_cannot_be_a_login_is_refused(cli: Cli, owner: str, name: str) -> None:
    assert cli("database", "init", "--url", owner, "--app-login", name).code == 2


def test_an_odd_name_is_a_name_and_nothing_else(
    cli: Cli, postgres: Postgres, postgres_url: str, owner: str, app: str
) -> None:
    odd = f'{app}"; DROP SCHEMA recollect; --'
    words = ("database", "init", "--url", owner, "--app-login", odd, "--password-file", "-")
    assert cli(*words, stdin=b"secret enough").code == 0
    assert cli("database", "--url", owner).code == 0
    postgres.run(sql.SQL("DROP OWNED BY {}").format(sql.Identifier(odd)), postgres_url)
    postgres.run(sql.SQL("DROP ROLE {}").format(sql.Identifier(odd)))


def test_partitions_are_chosen_when_the_tables_are_made_and_hold(cli: Cli, owner: str) -> None:
    assert cli("database", "init", "--url", owner, "--partitions", "4", "--json").json["partitions"] == 4
    assert cli("database", "init", "--url", owner, "--json").json["partitions"] == 4
    assert cli("remember", "kept in a partition", "--url", owner).code == 0
    assert cli("database", "--url", owner, "--json").json["database"]["partitions"] == 4
    refused = cli("database", "init", "--url", owner, "--partitions", "8")
    assert (refused.code, "in 4 partitions" in refused.err) == (2, True)


def test_a_check_finds_a_dropped_policy_and_init_sets_it_again(cli: Cli, owner: str) -> None:
    cli("database", "init", "--url", owner)
    with psycopg.connect(owner) as connection:
        connection.execute("DROP POLICY own ON recollect.memories")
    ran = cli("database", "check", "--url", owner)
    assert (ran.code, "policies on memories" in ran.out, "database init" in ran.out) == (1, True, True)
    assert cli("recall", "x", "--url", owner).code == 1
    assert cli("doctor", "--url", owner).code == 1
    cli("database", "init", "--url", owner)
    assert cli("database", "check", "--url", owner).code == 0


def test_what_only_an_administrator_can_do_is_told_as_a_statement(
    cli: Cli, postgres: Postgres, postgres_url: str
) -> None:
    role = postgres.new_role("owner", "CREATEROLE")
    name = sql.Identifier(urlsplit(postgres_url).path.removeprefix("/"))
    postgres.run(sql.SQL("ALTER DATABASE {} OWNER TO {}").format(name, sql.Identifier(role.name)))
    url = as_role(postgres_url, role)
    without_vector = cli("database", "init", "--url", url)
    assert (without_vector.code, "CREATE EXTENSION vector" in without_vector.err) == (1, True)
    assert role.password not in without_vector.err
    postgres.run(sql.SQL("ALTER DATABASE {} OWNER TO CURRENT_USER").format(name))


def test_only_the_owner_can_init(cli: Cli, postgres: Postgres, postgres_url: str, owner: str) -> None:
    """And nobody is told to put an application's login above the policies."""
    stranger = as_role(postgres_url, postgres.new_role("stranger"))
    early = cli("database", "init", "--url", stranger)
    assert (early.code, "owner" in early.err) == (1, True)
    cli("database", "init", "--url", owner)
    late = cli("database", "init", "--url", stranger)
    assert (late.code, f"the tables belong to {urlsplit(owner).username}" in late.err) == (1, True)
    assert "GRANT" not in early.err + late.err


def test_url_tells_where_without_opening_it(cli: Cli, tmp_path: Path) -> None:
    shown = cli("database", "url", "--url", "postgresql://ann:hunter22@nowhere.invalid/memory?sslmode=require")
    assert shown.out == "postgresql://ann@nowhere.invalid/memory\n"
    assert "hunter22" not in shown.err
    assert cli("database", "url", "--data-dir", str(tmp_path / "d")).out == f"sqlite:///{str(tmp_path)[1:]}/d\n"


def test_without_a_database_it_says_how_to_name_one(cli: Cli) -> None:
    ran = cli("database")
    assert (ran.code, "--url postgresql://" in ran.err) == (2, True)


@pytest.mark.parametrize("words", ["check --partitions 3", "url --app-login x", "init --password-file f"])
def test_flags_go_with_what_they_are_for(cli: Cli, words: str) -> None:
    assert cli("database", *words.split(), "--url", "postgresql://nowhere.invalid/x").code == 2
