"""A standby answers questions as its primary does, and refuses to be written to."""

from __future__ import annotations

import time
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

import pytest

from recollect import Recollect, Scope
from recollect.errors import StoreReadOnly
from recollect.models.tiny import TinyEmbedder
from recollect.settings import Settings
from tests.services.postgres import running, standby

pytestmark = pytest.mark.slow
ANN, BOB = Scope("acme", "ann"), Scope("acme", "bob")


def opened(url: str, folder: Path, scope: Scope) -> Recollect:
    settings = Settings(data_dir=folder, database_url=url)
    return Recollect.open(settings=settings, scope=scope, embedder=TinyEmbedder(), background=False)


def tells(memory: Recollect, word: str) -> bool:
    return any(word in hit.content for hit in memory.recall(word).hits)


def test_a_standby_answers_and_takes_nothing_in(tmp_path: Path) -> None:
    with running(tmp_path, "primary", {"wal_level": "replica", "max_wal_senders": "4"}) as server:
        url = server.empty_database()
        with opened(url, tmp_path / "a", ANN) as primary, opened(url, tmp_path / "b", BOB) as other:
            primary.remember("the walrus lives in the harbour")
            other.remember("the walrus of bob is secret")
            primary.embed_pending()
            with standby(server, tmp_path) as address:
                copy = urlunsplit(urlsplit(address)._replace(path=urlsplit(url).path))
                with opened(copy, tmp_path / "c", ANN) as reader:
                    found = reader.recall("walrus harbour").hits
                    assert [hit.content for hit in found] == ["the walrus lives in the harbour"]
                    again = primary.recall("walrus harbour").hits
                    assert [hit.score for hit in found] == pytest.approx([hit.score for hit in again], abs=1e-6)
                    primary.remember("the walrus moved to the lighthouse")
                    until = time.monotonic() + 30
                    while not tells(reader, "lighthouse") and time.monotonic() < until:
                        time.sleep(0.05)
                    assert tells(reader, "lighthouse")
                    with pytest.raises(StoreReadOnly):
                        reader.remember("this cannot be kept")
