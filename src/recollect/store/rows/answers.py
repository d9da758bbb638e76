"""What requests were answered, in rows: of many that come with the same key at once, one is let in.

A key is its owner's own, and a project's where one is named: a request of the same key elsewhere is another request.
"""

from __future__ import annotations

from datetime import datetime

from recollect.clock import iso
from recollect.model import Scope, check_id
from recollect.store.queueport import ANSWERING, Answered
from recollect.store.rows.tasks import drop_before
from recollect.store.rows.tx import Database, Tx


def forget_answers(tx: Tx, owner: int) -> None:
    """Take all of an owner's away: an answer may quote what is forgotten."""
    tx.run("answers.forget", {"owner": owner})


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
        self._change("finish", scope, {"key": _name(scope, key), "status": status, "body": body})

    def drop(self, scope: Scope, key: str) -> None:
        self._change("drop", scope, {"key": _name(scope, key)})

    def _change(self, query: str, scope: Scope, params: dict[str, object]) -> None:
        with self._db.touch(scope.within(None)) as tx:
            if tx.rows is not None:
                tx.run(f"answers.{query}", {"owner": tx.rows.owner, **params})

    def tidy(self, *, before: datetime) -> int:
        return drop_before(self._db, "answers.over", "answers.tidy", before)


def _name(scope: Scope, key: str) -> str:
    """What the row is called; no project and no key has the sign between them."""
    return f"{scope.project or ''}\x1f{key}"
