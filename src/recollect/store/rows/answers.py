"""What requests were answered, in rows: of many that come with the same key at once, one is let in.

A key is its owner's own, and a project's where one is named: a request of the same key elsewhere is another request.
"""

from __future__ import annotations

from datetime import datetime

from recollect.clock import iso
from recollect.model import Scope, check_id
from recollect.store.ports.queue import ANSWERING, Answered
from recollect.store.rows.tasks import drop_before
from recollect.store.rows.tx import Database, Tx


def forget_answers(tx: Tx, owner: int, *, everything: bool = False) -> None:
    """Take an owner's away, and keep none that is begun: an answer may quote what is forgotten.

    What says of itself that it quotes nothing stays: whoever forgets something and did not hear so asks again.
    """
    if everything:
        tx.run("answers.forget_all", {"owner": owner})
        return
    tx.run("answers.forget", {"owner": owner})
    tx.run("answers.spoil", {"owner": owner})


class RowAnswers:
    """Answers by the key of their request."""

    def __init__(self, database: Database) -> None:
        self._db = database

    def begin(self, scope: Scope, key: str, fingerprint: str, *, at: datetime, until: datetime) -> Answered | None:
        check_id(key, "an idempotency key")
        times = {"at": iso(at), "until": iso(until), "lost": iso(at - ANSWERING)}
        for _ in range(3):
            with self._db.touch(scope.within(None)) as tx:
                asked = {"owner": tx.ensure().owner, "key": _name(scope, key)}
                if tx.run("answers.begin", {**asked, "fingerprint": fingerprint, **times}).fetchone():
                    return None
                found = tx.run("answers.get", asked).fetchone()
            if found is not None:  # else it was dropped in the meantime
                break
        else:
            return Answered("running")
        theirs, status, body = found
        if theirs != fingerprint:
            return Answered("other")
        return Answered("running") if status is None else Answered("done", status, bytes(body))

    def finish(self, scope: Scope, key: str, *, status: int, body: bytes, at: datetime) -> None:
        with self._db.touch(scope.within(None)) as tx:
            if tx.rows is None:
                return
            asked = {"owner": tx.rows.owner, "key": _name(scope, key)}
            if tx.run("answers.finish", {**asked, "status": status, "body": body}).fetchone() is None:
                tx.run("answers.drop", asked)

    def drop(self, scope: Scope, key: str) -> None:
        with self._db.touch(scope.within(None)) as tx:
            if tx.rows is not None:
                tx.run("answers.drop", {"owner": tx.rows.owner, "key": _name(scope, key)})

    def tidy(self, *, before: datetime) -> int:
        return drop_before(self._db, "answers.over", "answers.tidy", before)


def _name(scope: Scope, key: str) -> str:
    """What the row is called; no project and no key has the sign between them."""
    return f"{scope.project or ''}\x1f{key}"
