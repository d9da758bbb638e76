"""What is shared outlives a repair: contexts keep their memories and members, and nobody becomes one by damage."""

from __future__ import annotations

from pathlib import Path

from recollect.model import Scope
from recollect.store.ports.memories import Filter
from recollect.store.sqlite.salvage import salvage
from recollect.store.sqlite.store import FILE_NAME, SqliteStore
from tests.contract.samples import ANN, BOB, LATER, T0, memory


def test_a_repaired_store_has_its_contexts_and_their_members(tmp_path: Path) -> None:
    stranger = ("acme", "bbb")  # a name that no other row has: it may be bob's, with a bit turned
    damaged = SqliteStore(tmp_path / "damaged")
    for scope in (ANN, BOB):
        damaged.memories.add(scope, memory(f"walrus of {scope.user}"))
    context = damaged.contexts.create(ANN, "team", at=T0).id
    for member in (("acme", "bob"), stranger):
        damaged.contexts.add_member(ANN, context, member, "reader", at=T0)
        damaged.contexts.join(Scope(*member), context, at=T0)
    damaged.memories.add(ANN.in_context(context), memory("walrus of the team", origin="import"))
    damaged.close()
    mended = SqliteStore(tmp_path / "mended")
    try:
        assert salvage(tmp_path / "damaged" / FILE_NAME, mended)["memories"] == 3
        assert [(one.user, one.role) for one in mended.contexts.members(ANN, context)] == [
            ("ann", "admin"),
            ("bob", "reader"),
        ]
        [shared] = mended.memories.find(BOB.in_context(context), Filter(now=LATER), limit=9)
        assert shared.content == "walrus of the team"
        assert mended.contexts.mine(Scope(*stranger)) == []
    finally:
        mended.close()
