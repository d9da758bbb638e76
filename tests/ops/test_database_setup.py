"""What docker-compose.yml does to an empty server: an owner who is nobody special, a login that sees one user."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

import psycopg
import pytest

from tests.flow.conftest import Cli, Ran
from tests.ops.files import OPS
from tests.ops.test_secrets import make
from tests.services import postgres as postgres_server

pytestmark = pytest.mark.slow


@dataclass
class Server:
    """A server that init.sql was run on, and the secrets it was given."""

    url: str
    secrets: Path

    def as_(self, login: str, secret: str) -> dict[str, str]:
        """The variables that docker-compose.yml gives a service."""
        parts = urlsplit(self.url)
        return {
            "RECOLLECT_DATABASE_URL": "postgresql://",
            "RECOLLECT_DATABASE_CREDENTIALS": "file",
            "RECOLLECT_DATABASE_CREDENTIALS_FILE": str(self.secrets / secret),
            "RECOLLECT_AUDIT_KEY_FILE": str(self.secrets / "audit_key"),
            "DB_HOST": str(parts.hostname),
            "DB_PORT": str(parts.port),
            "DB_NAME": "coda",
            "DB_USER": login,
        }


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    """A server of its own: roles belong to all of one."""
    if os.environ.get(postgres_server.VARIABLE):
        pytest.skip("a server from outside is not set up anew")
    make(tmp_path / "secrets")
    with postgres_server.running(tmp_path, "ops-postgres") as running:
        script = (OPS / "postgres" / "init.sql").read_text().replace("/run/secrets/", f"{tmp_path / 'secrets'}/")
        (tmp_path / "init.sql").write_text(script)
        psql = shutil.which("psql")
        if psql is None:
            pytest.skip("psql is not here")
        environment = {**os.environ, "DB_USER": "coda", "DB_NAME": "coda"}
        command = [psql, "--no-psqlrc", "-v", "ON_ERROR_STOP=1", "-f", str(tmp_path / "init.sql"), running.url]
        subprocess.run(command, env=environment, check=True, capture_output=True)
        yield Server(running.url, tmp_path / "secrets")


def test_the_stack_of_compose_works_with_the_names_of_ones_choice(
    server: Server, cli: Cli, work: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """S1.61: database and owner are called `coda` here; the services' login is another's."""

    def as_(login: str, secret: str, *words: str) -> Ran:
        for name, value in server.as_(login, secret).items():
            monkeypatch.setenv(name, value)
        return cli(*words)

    def owner(*words: str) -> Ran:
        return as_("coda", "db_owner_password", *words)

    def service(*words: str) -> Ran:
        return as_("recollect_web", "db_app_password", *words)

    asked = ("--app-login", "recollect_web", "--password-file", str(server.secrets / "db_app_password"))
    assert owner("database", "init", *asked).code == 0
    assert "was there already" in owner("database", "init", *asked).out  # with every `up`
    checked = service("database")
    assert checked.code == 0, checked.out + checked.err
    assert "the tables belong to another" in checked.out
    assert service("remember", "the walrus sleeps at noon", "--kind", "fact", "--user", "ann").code == 0
    assert "walrus" in service("recall", "walrus", "--user", "ann").out
    assert "walrus" not in service("recall", "walrus", "--user", "bob").out
    assert service("backup", "copy").code == 1, "a service must not be able to read everybody"
    assert owner("maintain").code == 0
    assert owner("backup", "copy").code == 0
    assert (work / "copy").stat().st_size > 0


def test_the_owner_is_nobody_special(server: Server) -> None:
    with psycopg.connect(server.url) as connection:
        flags = "rolsuper, rolbypassrls, rolcreatedb, rolcreaterole, rolreplication"
        row = connection.execute(f"SELECT {flags} FROM pg_roles WHERE rolname = 'coda'").fetchone()
        assert row == (False, False, False, True, False)
        kept = connection.execute("SELECT rolpassword FROM pg_authid WHERE rolname = 'coda'").fetchone()
    assert kept is not None
    assert kept[0].startswith("SCRAM-SHA-256$")
