"""What sessions show by themselves, in rows: kept with what it was made from, and gone with the session."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from recollect.model import Scope
from recollect.store.ports.learn import SignalState
from recollect.store.rows.tx import Database


class RowSignals:
    """The signals of every owner's sessions, as text."""

    def __init__(self, database: Database) -> None:
        self._db = database

    def states(self, scope: Scope) -> dict[str, SignalState]:
        """What there is to make signals from, by session; those without a digest are left out."""
        with self._db.read(scope) as tx:
            if tx.rows is None:
                return {}
            found = tx.run("signals.states", tx.rows.params()).fetchall()
        return {
            session: SignalState(version, covers, made_at, -1 if last is None else last, mark)
            for session, version, covers, made_at, last, mark in found
        }

    def kept(self, scope: Scope, sessions: Sequence[str]) -> dict[str, tuple[str, str]]:
        """The mark and the text that are kept of these sessions."""
        with self._db.read(scope) as tx:
            if tx.rows is None or not sessions:
                return {}
            params = {"owner": tx.rows.owner, "sessions": json.dumps(list(sessions))}
            return {session: (mark, content) for session, mark, content in tx.run("signals.kept", params)}

    def keep(self, scope: Scope, made: Mapping[str, tuple[SignalState, str, str]]) -> None:
        """Keep the mark and the text of each session, made from that state; not if it changed since."""
        with self._db.write(scope) as tx:
            if tx.rows is None:
                return
            for session, (state, mark, content) in made.items():
                of = {"version": state.version, "covers": state.covers, "made_at": state.made_at, "last": state.last}
                named = {"owner": tx.rows.owner, "session": session, "mark": mark, "content": content}
                tx.run("signals.keep", {**of, **named})
