"""P09: a handle opened before fork() is refused in the child, and the parent does not notice."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from recollect.errors import ForkedHandle
from recollect.store.ports.keeping import Ages
from recollect.store.ports.memories import Filter
from recollect.store.sqlite.store import SqliteStore
from tests.contract.samples import ANN, LATER, NOW, T0, embed_waiting, memory, minute, talk
from tests.faults.children import start
from tests.faults.conftest import Open

AGES = Ages(archive_before=T0, archive_reads=5, redact_before=T0, purge_before=T0)
CALLS = {
    "append": lambda s, p: s.sessions.append(ANN, talk("chat:1", "from the child", first=9)),
    "history": lambda s, p: s.sessions.history(ANN, "chat:1"),
    "find": lambda s, p: s.memories.find(ANN, Filter(now=LATER), limit=5),
    "add": lambda s, p: s.memories.add(ANN, memory("from the child")),
    "lexical": lambda s, p: s.search.lexical(ANN, "turn", ["walrus"], NOW, 5),
    "waiting": lambda s, p: s.vectors.waiting(5),
    "lease": lambda s, p: s.gists.lease(ANN, "chat:1", now=T0, until=minute(1)),
    "upkeep": lambda s, p: s.keeping.upkeep(now=T0, ages=AGES),
    "forget": lambda s, p: s.keeping.forget_session(ANN, "chat:1", at=LATER),
    "health": lambda s, p: s.keeping.health(deep=True),
    "backup": lambda s, p: s.backup(p),
}


@pytest.mark.parametrize("name", sorted(CALLS))
def test_a_handle_from_before_fork_is_refused_in_the_child(open_store: Open, tmp_path: Path, name: str) -> None:
    """P09."""
    store = open_store()
    store.sessions.append(ANN, talk("chat:1", "walrus"))
    embed_waiting(store)

    def use(say: object) -> None:
        try:
            CALLS[name](store, tmp_path / "copy.db")
        except ForkedHandle:
            store.close()  # does nothing here
            return
        raise AssertionError("the handle worked in the child")

    assert start(use).wait() == (0, [])
    assert not (tmp_path / "copy.db").exists()
    assert store.sessions.append(ANN, talk("chat:1", "assistant: in the parent", first=1)) == [True]
    assert [one.text for one in store.sessions.history(ANN, "chat:1")] == ["walrus", "in the parent"]
    assert store.keeping.health(deep=True).checks == {}


def test_a_child_may_open_a_store_of_its_own(open_store: Open, data_dir: Path) -> None:
    """P09: both write, neither loses anything."""
    store = open_store()
    store.sessions.append(ANN, talk("chat:parent", "before"))

    def write(say: object) -> None:
        own = SqliteStore(data_dir)
        for number in range(20):
            own.sessions.append(ANN, talk("chat:child", f"line {number}", first=number))
        own.close()

    child = start(write)
    for number in range(20):
        store.sessions.append(ANN, talk("chat:parent", f"line {number}", first=number + 1))
    assert child.wait() == (0, [])
    counts = [len(store.sessions.history(ANN, f"chat:{who}")) for who in ("parent", "child")]
    assert counts == [21, 20]


def test_a_child_that_ends_in_the_usual_way_harms_nothing(data_dir: Path) -> None:
    """P09: interpreter shutdown in the child closes inherited connections; the parent's log must stay whole."""
    program = """
        import os, sys
        from pathlib import Path
        from recollect.store.sqlite.store import SqliteStore
        from tests.contract.samples import ANN, talk

        store = SqliteStore(Path(sys.argv[1]))
        store.sessions.append(ANN, talk("chat:1", "before"))
        store.sessions.history(ANN, "chat:1")
        child = os.fork()
        if child == 0:
            sys.exit(0)
        assert os.waitpid(child, 0)[1] == 0
        store.sessions.append(ANN, talk("chat:1", "after", first=1))
        second = os.fork()
        if second == 0:
            sys.exit(0)
        assert os.waitpid(second, 0)[1] == 0
        assert len(store.sessions.history(ANN, "chat:1")) == 2
        assert store.keeping.health(deep=True).checks == {}
        os._exit(0)  # the parent dies without closing
    """
    root = Path(__file__).parents[2]
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program), str(data_dir)], cwd=root, capture_output=True, text=True
    )
    assert (done.returncode, done.stderr) == (0, "")
    store = SqliteStore(data_dir)
    assert [one.text for one in store.sessions.history(ANN, "chat:1")] == ["before", "after"]
    assert store.keeping.health(deep=True).checks == {}
    store.close()
