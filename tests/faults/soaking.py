"""One client of a soak: `python -m tests.faults.soaking URL PASSWORD_FILE LOG SEED SECONDS`.

It works for six owners in turn, three tenants with two users each, until it is killed or the time is over. What the
store has acknowledged is noted in LOG at once; what should never happen is noted there too, as `wrong`.
"""

from __future__ import annotations

import os
import random
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from recollect.errors import RecollectError, StoreBusy, StoreUnavailable
from recollect.model import Scope
from recollect.settings import Settings
from recollect.store.postgres.store import PostgresStore
from tests.contract.samples import NOW, by_words, event, memory

OWNERS = [Scope(f"tenant{tenant}", f"user{user}") for tenant in range(3) for user in range(2)]


def canary(scope: Scope) -> str:
    return f"canary{scope.tenant[-1]}{scope.user[-1]}"


class Client:
    """The work of one process."""

    def __init__(self, store: PostgresStore, log: int, seed: int) -> None:
        self._store = store
        self._log = log
        self._chance = random.Random(seed)
        self._name = f"{os.getpid()}-{seed}"
        self._number = 0

    def work(self) -> None:
        """One call for one owner; the server may end it, nothing else may."""
        scope = self._chance.choice(OWNERS)
        act: Callable[[Scope], None] = self._chance.choice([self._append, self._remember, self._read, self._search])
        try:
            act(scope)
        except (StoreBusy, StoreUnavailable):
            self.note("ended", scope, act.__name__)
        except RecollectError as error:
            self.note("wrong", scope, f"{type(error).__name__}: {error}")

    def note(self, what: str, scope: Scope, which: str) -> None:
        os.write(self._log, f"{what}\t{OWNERS.index(scope)}\t{which}\n".encode())

    def _append(self, scope: Scope) -> None:
        self._number += 1
        given = event(f"chat:{self._name}", self._number, f"walrus {canary(scope)} {self._number}")
        assert self._store.sessions.append(scope, [given]) == [True]
        self.note("event", scope, given.key)

    def _remember(self, scope: Scope) -> None:
        self._number += 1
        kept, _ = self._store.memories.add(scope, memory(f"walrus {canary(scope)} {self._name} {self._number}"))
        self.note("memory", scope, kept.id)

    def _read(self, scope: Scope) -> None:
        texts = [one.content for one in self._store.memories.find(scope, NOW, limit=20)]
        for session in self._store.sessions.find(scope, limit=3):
            texts += [one.text for one in self._store.sessions.history(scope, session.id, last=10)]
        self._check(scope, texts)

    def _search(self, scope: Scope) -> None:
        tier = self._chance.choice(["memory", "turn"])
        matches = by_words(self._store, scope, tier, "walrus", limit=10)  # type: ignore[arg-type]
        found = self._store.search.documents(scope, tier, [match.doc for match in matches])  # type: ignore[arg-type]
        self._check(scope, [one.content for one in found])

    def _check(self, scope: Scope, texts: list[str]) -> None:
        for text in texts:
            if canary(scope) not in text:
                self.note("wrong", scope, f"foreign: {text}")


def main(url: str, password_file: str, log: str, seed: str, seconds: str) -> None:
    settings = replace(
        Settings(),
        database_url=url,
        database_credentials="file",
        database_credentials_file=Path(password_file),
        database_connections=2,
    )
    until = time.monotonic() + float(seconds)
    handle = os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    client = None
    while time.monotonic() < until:
        if client is not None:
            client.work()
            continue
        try:
            client = Client(PostgresStore(settings), handle, int(seed))
            os.write(handle, b"began\t0\t-\n")
        except (StoreBusy, StoreUnavailable):  # cancelled or cut off while it was opened
            os.write(handle, b"ended\t0\topening\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
