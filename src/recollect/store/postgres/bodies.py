"""Bodies in PostgreSQL: the compressed bytes lie in the row that names them, and come and go with it."""

from __future__ import annotations

from recollect.model import Body, Scope
from recollect.store.rows.bodies import RowBodies, packed, unpacked
from recollect.store.rows.tx import Tx


class PostgresBodies(RowBodies):
    """Bodies as rows."""

    def keep(self, tx: Tx, owner: int, body: Body) -> None:
        if body.data is not None:
            data = packed(body.data)
            self._add(tx, owner, body, len(data), data)

    def mend(self, tx: Tx, owner: int, body: Body) -> None:
        """Nothing can be missing that the row says is there."""

    def remove(self, scope: Scope | None, owner: int, hashes: list[bytes]) -> None:
        """The bytes went with the transaction."""

    def tidy(self, scope: Scope) -> int:
        """Take away the rows of bodies that no event names."""
        with self._db.write(scope) as tx:
            return len(self.sweep_unreferenced(tx, tx.rows.owner)) if tx.rows else 0

    def _content(self, tx: Tx, owner: int, body_hash: str) -> bytes | None:
        found = tx.run("capture.body_data", {"owner": owner, "hash": bytes.fromhex(body_hash)}).fetchone()
        return None if found is None or found[0] is None else unpacked(found[0], body_hash)
