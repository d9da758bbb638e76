"""P34, P35: clients work, are cancelled, cut off and killed while the password changes: nothing acknowledged is lost,
and nobody ever sees a foreign row.
"""

from __future__ import annotations

import random
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from urllib.parse import urlsplit

import psycopg
import pytest

from tests.faults.migrating import ROOT, opened
from tests.faults.soaking import OWNERS, canary
from tests.faults.test_password_rotation import Rotated
from tests.services.postgres import Postgres

CLIENTS = 4
EVERY = 0.25  # seconds between two faults


class Soak:
    """The clients, and what is done to them."""

    def __init__(self, rotated: Rotated, folder: Path, seconds: float) -> None:
        self._rotated = rotated
        self._folder = folder
        self._until = time.monotonic() + seconds
        self._chance = random.Random(42)
        self._begun = 0
        self.faults: Counter[str] = Counter()

    def run(self) -> None:
        clients = [self._client() for _ in range(CLIENTS)]
        try:
            while time.monotonic() < self._until:
                time.sleep(EVERY)
                fault = self._chance.choice(["rotate", "cancel", "cancel", "cut", "kill"])
                if fault == "kill":
                    place = self._chance.randrange(CLIENTS)
                    clients[place].send_signal(signal.SIGKILL)
                    clients[place].wait()
                    clients[place] = self._client()
                elif fault == "rotate":
                    self._rotated.rotate()
                else:
                    self._signal("pg_cancel_backend" if fault == "cancel" else "pg_terminate_backend")
                self.faults[fault] += 1
            ended = [client.wait(60) for client in clients]
            assert ended == [0] * CLIENTS, (self._folder / "errors").read_text()
        finally:
            for client in clients:
                client.kill()
                client.wait()

    def _client(self) -> subprocess.Popen[bytes]:
        self._begun += 1
        place = urlsplit(self._rotated.url)
        url = f"postgresql://{self._rotated.role.name}@{place.hostname}:{place.port}{place.path}"
        left = str(max(0.5, self._until - time.monotonic()))
        words = [url, str(self._rotated.file), str(self._folder / "log"), str(self._begun), left]
        with (self._folder / "errors").open("ab") as errors:
            command = [sys.executable, "-m", "tests.faults.soaking", *words]
            return subprocess.Popen(command, cwd=ROOT, stdout=errors, stderr=errors)

    def _signal(self, function: str) -> None:
        """End what one of the clients is doing, or its connection."""
        with psycopg.connect(self._rotated.url, autocommit=True) as connection:
            text = "SELECT pid FROM pg_stat_activity WHERE usename = %s"
            found = connection.execute(text, (self._rotated.role.name,)).fetchall()
            if found:
                connection.execute(f"SELECT {function}(%s)", (self._chance.choice(found)[0],))  # type: ignore[arg-type]


def check_soak(postgres: Postgres, url: str, folder: Path, seconds: float) -> Counter[str]:
    opened(url).close()
    rotated = Rotated(postgres, url, folder / "password", postgres.new_role("soaked"))
    postgres.run(f"GRANT recollect_app TO {rotated.role.name}")
    rotated.rotate()
    soak = Soak(rotated, folder, seconds)
    soak.run()
    noted = [line.split("\t") for line in (folder / "log").read_text().splitlines()]
    assert [line for line in noted if line[0] == "wrong"] == []
    assert _lost(url, noted) == []
    assert _foreign(url) == []
    print(counts := Counter(line[0] for line in noted) + soak.faults)
    return counts


def _lost(url: str, noted: list[list[str]]) -> list[list[str]]:
    """What was acknowledged and is not there, for its owner, through the store."""
    store = opened(url)
    try:
        found: list[set[str]] = []
        for scope in OWNERS:
            with store.database.read(scope) as tx:
                rows = tx.connection.execute("SELECT encode(key, 'hex') FROM events UNION ALL SELECT id FROM memories")
                found.append({id_ for (id_,) in rows})
        assert store.keeping.health(deep=True).checks == {}
        return [line for line in noted if line[0] in ("event", "memory") and line[2] not in found[int(line[1])]]
    finally:
        store.close()


def _foreign(url: str) -> list[tuple[str, str]]:
    """Rows that stand with somebody whose word is not in them; asked as the superuser, who sees all."""
    wrong = []
    with psycopg.connect(url) as connection:
        for table, column in (("memories", "content"), ("events", "text")):
            text = f"SELECT o.tenant, o.username, t.{column} FROM recollect.{table} t JOIN recollect.owners o "
            rows = connection.execute(text + "ON o.tenant = t.tenant AND o.row = t.owner").fetchall()  # type: ignore[arg-type]
            words = {(scope.tenant, scope.user): canary(scope) for scope in OWNERS}
            wrong += [(table, said) for tenant, user, said in rows if words[tenant, user] not in said]
            assert rows
    return wrong


def test_nothing_is_lost_or_foreign_while_clients_are_cancelled_cut_off_and_killed(
    postgres: Postgres, postgres_url: str, tmp_path: Path
) -> None:
    counts = check_soak(postgres, postgres_url, tmp_path, 12.0)
    assert counts["event"] + counts["memory"] > 100
    assert min(counts[fault] for fault in ("rotate", "cancel", "cut", "kill")) >= 2
    assert counts["ended"] > 0, "some calls were really ended"


@pytest.mark.soak
def test_nothing_is_lost_or_foreign_in_ten_minutes(postgres: Postgres, postgres_url: str, tmp_path: Path) -> None:
    counts = check_soak(postgres, postgres_url, tmp_path, 600.0)
    assert counts["event"] + counts["memory"] > 5_000
    assert min(counts[fault] for fault in ("rotate", "cancel", "cut", "kill")) >= 100
