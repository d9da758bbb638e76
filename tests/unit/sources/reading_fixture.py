"""Reading a folder of transcripts in a test: what a source yields, hand-made files, and records of any shape."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

import orjson
from hypothesis import strategies as st

from recollect.capture.sources import source
from recollect.capture.transcript import Reading, Transcript
from recollect.model import EVENT_KINDS, ORIGINS, ROLES, Cost, Event, Session

FIXTURES = Path(__file__).parents[2] / "fixtures"
NOW = datetime(2026, 9, 1, tzinfo=UTC)


class Replay(NamedTuple):
    """One transcript, read."""

    session: Session
    events: list[Event]
    costs: list[Cost]
    counts: Counter[str]

    def texts(self, kind: str) -> list[str]:
        return [event.text for event in self.events if event.kind == kind]

    def one(self, kind: str) -> Event:
        (found,) = [event for event in self.events if event.kind == kind]
        return found

    @property
    def kinds(self) -> Counter[str]:
        return Counter(event.kind for event in self.events)


def replay(transcript: Transcript, repeats: bool = False) -> Replay:
    """Everything in a transcript; what holds for every event of every agent is checked on the way.

    With `repeats`, a record may be there twice: then its events have the same key, and say the same.
    """
    reading = Reading(transcript, NOW)
    found = list(source(transcript.flavor).read(reading))
    events = [item for item in found if isinstance(item, Event)]
    for event in events:
        assert event.kind in EVENT_KINDS, event
        assert event.role in ROLES, event
        assert event.origin in ORIGINS, event
        assert event.occurred_at.tzinfo is not None
    said = {(event.key, event.kind, event.text) for event in events}
    assert len({event.key for event in events}) == (len(said) if repeats else len(events)), transcript.path
    return Replay(reading.as_session(), events, [item for item in found if isinstance(item, Cost)], reading.counts)


def replays(flavor: str, root: Path) -> dict[str, Replay]:
    """Every transcript under a root, by the native id of its session."""
    found = (replay(transcript) for transcript in source(flavor).discover(root))
    return {item.session.id.partition(":")[2]: item for item in found}


def written(path: Path, *records: Any) -> Path:
    """A hand-made JSON Lines file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"".join(orjson.dumps(record) + b"\n" for record in records))
    return path


def any_records(fields: str, words: str) -> st.SearchStrategy[list[Any]]:
    """Records with an agent's field names and words in all the wrong places."""
    leaves = st.one_of(
        st.none(),
        st.booleans(),
        st.integers(-5, 2**53),
        st.floats(),
        st.text(max_size=8),
        st.sampled_from(words.split()),
    )
    names = st.sampled_from(fields.split())
    inner = st.dictionaries(names, leaves, max_size=4)
    values = leaves | inner | st.lists(inner | leaves, max_size=3)
    deep = values | st.dictionaries(names, values, max_size=5) | st.lists(st.dictionaries(names, values, max_size=4))
    kinds = st.fixed_dictionaries({"type": st.sampled_from(words.split()) | values})
    record = st.tuples(kinds, st.dictionaries(names, deep, max_size=8)).map(lambda two: two[0] | two[1])
    return st.lists(record, max_size=6)
