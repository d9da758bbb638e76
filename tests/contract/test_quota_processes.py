"""Processes that write for one owner at the same time get in to exactly the limit, and make one chain (T26, P49)."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from recollect.settings import Settings
from recollect.store.opening import open_store
from tests.contract.samples import ANN
from tests.services.stores import Emptied

PROCESSES, EACH, LIMIT = 4, 12, 30
WRITER = """
import sys
from pathlib import Path
from recollect.errors import QuotaExceeded
from recollect.settings import Settings
from recollect.store.opening import open_store
from tests.contract.samples import ANN, memory

folder, url, which, who, each, limit = sys.argv[1:]
store = open_store(Settings(data_dir=Path(folder), database_url=url, **{which: int(limit)}))
kept = 0
for number in range(int(each)):
    try:
        kept += store.memories.add(ANN, memory(f"fact {who} {number}"))[1]
    except QuotaExceeded as refused:
        assert refused.left == 0
store.close()
print(kept)
"""


@pytest.mark.parametrize("which", ["quota_memories", "quota_ingests_per_day"])
@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
def test_processes_at_the_limit_get_in_to_exactly_the_limit(
    request: pytest.FixtureRequest, tmp_path: Path, kind: str, which: str
) -> None:
    settings = Settings(data_dir=tmp_path / "data")
    if kind == "postgres":
        emptied: Emptied = request.getfixturevalue("emptied")
        emptied.give(1)
        settings = emptied.settings(1, settings)
    words = (str(settings.data_dir), settings.database_url, which)
    writers = [
        subprocess.Popen(
            [sys.executable, "-c", WRITER, *words, str(who), str(EACH), str(LIMIT)], stdout=subprocess.PIPE
        )
        for who in range(PROCESSES)
    ]
    kept = [int(writer.communicate(timeout=120)[0]) for writer in writers]
    assert sum(kept) == LIMIT
    store = open_store(settings)
    try:
        assert store.quotas.get(ANN).memories == store.quotas.get(ANN).ingests == LIMIT
        (chain,) = store.audit.verify().chains
        assert (chain.rows, chain.fault) == (LIMIT, None)
    finally:
        store.close()
