"""P30, T32 as a state machine: whatever is captured, digested, evicted, forgotten or interrupted, in whatever order.

Raw bytes leave only after a digest covers their session, or the loss is named; rows never change by it; what is
reported is what lies on the disk; the caps hold; no clock and no date in a transcript ages anything away.
"""

from __future__ import annotations

import random
import tempfile
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck
from hypothesis import settings as how
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from recollect.capture.privacy import Privacy
from recollect.capture.redact import Redactor
from recollect.model import Scope
from recollect.pipeline import digests
from recollect.pipeline.ingest import Ingest
from recollect.pipeline.retention import Retention, retain
from recollect.settings import Settings
from recollect.store.sqlite.bodies import SqliteBodies
from recollect.store.sqlite.store import SqliteStore
from tests.flow.transcripts_fixture import Agents, claude_turn, grow, transcripts, uid

ANN = Scope("local", "ann")
DAY = 86_400.0
HUGE = 10**12
DATES = (None, "1969-07-20T20:17:00Z", "9999-12-31T23:59:59Z")
MADE = digests.digest_of
Chosen = st.integers(0, 9)


class Retaining(RuleBasedStateMachine):
    """The store, and beside it a model of when each body came."""

    def __init__(self) -> None:
        super().__init__()
        self.place = tempfile.TemporaryDirectory(prefix="recollect-retaining-")
        self.agents = Agents(Path(self.place.name) / "home")
        self.settings = Settings(data_dir=Path(self.place.name) / "data", raw_inline_bytes=400)
        self.store = SqliteStore(self.settings.data_dir)
        self.now = datetime(2026, 3, 1, tzinfo=UTC)
        self.made = 0
        self.turns: dict[str, int] = {}  # sessions that are there, and how many turns they have
        self.age, self.seen_at = 0.0, self.now  # the model's retention clock, and when it was last looked at
        self.started = False
        self.born: dict[str, float] = {}
        self.evicted: set[str] = set()
        self.untidy = False  # a process died and left files behind

    def teardown(self) -> None:
        self.store.close()
        self.place.cleanup()

    # -- what can happen -----------------------------------------------------------------------------------------------

    @initialize()
    def begin(self) -> None:
        self.evict(HUGE, HUGE, 3650, 0)

    @rule(turns=st.integers(1, 3), shared=st.booleans(), date=st.sampled_from(DATES))
    def capture(self, turns: int, shared: bool, date: str | None) -> None:
        session = uid("session", self.made)
        self.made += 1
        self.turns[session] = 0
        self.agents.claude(session, 0)
        self._grow(session, turns, shared, date)

    @precondition(lambda self: self.turns)
    @rule(which=Chosen, turns=st.integers(1, 2), shared=st.booleans())
    def session_grows(self, which: int, turns: int, shared: bool) -> None:
        self._grow(self._session(which), turns, shared, None)

    @rule(failing=st.sets(Chosen, max_size=4))
    def distil(self, failing: set[int]) -> None:
        """The distiller, which is out for some of the sessions."""
        broken = {f"claude:{self._session(which)}" for which in failing} if self.turns else set()

        def digest(session: Any, events: Any, costs: Any) -> Any:
            if session.id in broken:
                raise RuntimeError("out")
            return MADE(session, events, costs)

        digests.digest_of = digest
        try:
            digests.digest_due(self.store, ANN, lambda: self.now)
        finally:
            digests.digest_of = MADE

    @rule(
        soft=st.sampled_from((0.0, 0.3, 0.7, 1.2)),
        hard=st.sampled_from((0.0, 0.5, 2.0)),
        days=st.sampled_from((1, 3, 30)),
        distilled=st.sampled_from((0, HUGE)),
    )
    def keep_the_budget(self, soft: float, hard: float, days: int, distilled: int) -> None:
        used = sum(self._files().values())
        self.evict(int(used * soft), int(used * max(soft, hard)), days, distilled)

    @rule(days=st.sampled_from((1, 3, 30)))
    def only_age(self, days: int) -> None:
        self.evict(HUGE, HUGE, days, HUGE)

    @rule(hours=st.integers(0, 40))
    def time_passes(self, hours: int) -> None:
        self.now += timedelta(hours=hours)

    @rule(years=st.sampled_from((-40, -3, -1, 1, 7, 50)))
    def clock_jumps(self, years: int) -> None:
        moved = self.now + timedelta(days=365 * years)
        if 1980 < moved.year < 2300:
            self.now = moved

    @rule()
    def process_dies(self) -> None:
        """Between any two steps, for instance after a digest and before evicting."""
        self.store.close()
        self.store = SqliteStore(self.settings.data_dir)

    @rule(soft=st.floats(0, 1))
    def process_dies_while_evicting(self, soft: float) -> None:
        """The rows say `evicted`, the files are still there."""
        removing = SqliteBodies.remove
        SqliteBodies.remove = lambda *given: (_ for _ in ()).throw(KeyboardInterrupt)  # type: ignore[assignment,method-assign]
        try:
            self.evict(int(sum(self._files().values()) * soft), HUGE, 3650, HUGE)
        except KeyboardInterrupt:
            self.untidy = True
        finally:
            SqliteBodies.remove = removing  # type: ignore[method-assign]
        self.evicted |= self.born.keys() - self._live()
        self.process_dies()

    @precondition(lambda self: self.turns)
    @rule(which=Chosen)
    def read_again(self, which: int) -> None:
        """What was evicted does not come back by it."""
        live = self._live()
        self._take(self._session(which), again=True)
        assert self._live() == live

    @precondition(lambda self: self.turns)
    @rule(which=Chosen)
    def forget(self, which: int) -> None:
        session = self._session(which)
        self.agents.claude_path(session).unlink()
        self.store.keeping.forget_session(ANN, f"claude:{session}", at=self.now)
        del self.turns[session]
        named = {body for bodies in self._named().values() for body in bodies}
        self.born = {body: at for body, at in self.born.items() if body in named}
        self.evicted &= self.born.keys()

    # -- what must hold ------------------------------------------------------------------------------------------------

    @invariant()
    def the_disk_is_what_the_rows_say(self) -> None:
        live = self._live()
        assert live == self.born.keys() - self.evicted
        if not self.untidy:
            assert self._files().keys() == live
            assert sum(each.bytes for each in self.store.bodies.use(ANN)) == sum(self._files().values())

    def evict(self, soft: int, hard: int, days: int, distilled: int) -> None:
        """One round of retention, held against the rules."""
        rows, digested, named, before = self._rows(), self._digested(), self._named(), sum(self._files().values())
        self._tick()
        caps = {"raw_soft_cap_bytes": soft, "raw_hard_cap_bytes": hard, "raw_max_age_days": days}
        done = retain(self.store, ANN, replace(self.settings, **caps, distilled_cap_bytes=distilled), self.now)
        self.untidy = False
        gone = self.born.keys() - self.evicted - self._live()
        self.evicted |= gone
        assert self._rows() == rows  # texts, hashes and sizes are as they were
        for session, bodies in named.items():
            if gone & bodies:
                assert session in digested or session in done.data_loss
        assert set(done.data_loss) <= {session for session in named if named[session] & gone} - digested
        assert done.passes["hard"] or not done.data_loss
        assert before > hard or not done.passes["hard"]
        self._check_caps(done, soft, hard, digested, named)
        old = {body for body in self.born if self.age - self.born[body] > days * DAY}
        if done.passes["soft"] == done.passes["hard"] == 0:
            assert gone <= old
        for body in old - self.evicted:  # what is old is gone, unless it waits for a digest or lies beside younger ones
            sharing = [session for session, bodies in named.items() if body in bodies]
            beside = {other for session in sharing for other in named[session]} - self.evicted
            assert not digested.issuperset(sharing) or not beside <= old
        assert ("distilled_cap_bytes" in (done.alert or "")) == (distilled == 0)

    def _check_caps(
        self, done: Retention, soft: int, hard: int, digested: set[str], named: dict[str, set[str]]
    ) -> None:
        left = self._files()
        assert done.final_usage == sum(left.values()) <= hard
        if done.final_usage > soft:  # then all that is left waits for a digest, and that is said
            waiting = {body for session, bodies in named.items() if session not in digested for body in bodies}
            assert left.keys() <= waiting
            assert "raw_soft_cap_bytes" in (done.alert or "")

    # -- inside --------------------------------------------------------------------------------------------------------

    def _session(self, which: int) -> str:
        return list(self.turns)[which % len(self.turns)]

    def _grow(self, session: str, turns: int, shared: bool, date: str | None) -> None:
        for number in range(self.turns[session], self.turns[session] + turns):
            draw = random.Random("shared" if shared else f"{session}{number}")
            output = " ".join("".join(draw.choices("abcdefghijklmnop", k=5)) for _ in range(200))
            lines = claude_turn(session, number, output=output)
            grow(self.agents.claude_path(session), [{**line, "timestamp": date} for line in lines] if date else lines)
        self.turns[session] += turns
        self._take(session)

    def _take(self, session: str, again: bool = False) -> None:
        privacy = Privacy(Redactor(b"k" * 32))
        ingest = Ingest(self.store, ANN, self.settings, lambda: privacy, lambda: self.now, again=again)
        for transcript in transcripts("claude", self.agents.claude_root):
            if transcript.native == session:
                assert ingest.take(transcript).state in ("read", "unchanged")
        for bodies in self._named().values():
            for body in bodies & self._live():
                if body not in self.born or body in self.evicted:
                    self.born[body] = self.age  # new, or brought again by a new event
                    self.evicted.discard(body)

    def _tick(self) -> None:
        step = (self.now - self.seen_at).total_seconds() if self.started else 0.0
        self.age += min(max(0.0, step), DAY)
        self.seen_at, self.started = self.now, True

    def _files(self) -> dict[str, int]:
        found = (self.settings.data_dir / "bodies").glob("*/*/*")
        return {path.stem: path.stat().st_size for path in found}

    def _query(self, text: str) -> list[tuple[Any, ...]]:
        with self.store.database.reading() as connection:
            return list(connection.execute(text))

    def _live(self) -> set[str]:
        return {hash_.hex() for (hash_,) in self._query("SELECT hash FROM bodies WHERE evicted_at IS NULL")}

    def _rows(self) -> list[tuple[Any, ...]]:
        return [
            *self._query("SELECT key, text, text_hash, meta FROM events ORDER BY key"),
            *self._query("SELECT event, hash FROM event_bodies ORDER BY event, hash"),
            *self._query("SELECT hash, media, bytes, stored FROM bodies ORDER BY hash"),
            *self._query("SELECT session, covers, content FROM digests ORDER BY session"),
        ]

    def _named(self) -> dict[str, set[str]]:
        """The bodies each session names."""
        found: dict[str, set[str]] = {}
        events = "sessions s JOIN events e ON e.session = s.row"
        for session, hash_ in self._query(f"SELECT s.id, b.hash FROM {events} JOIN event_bodies b ON b.event = e.row"):
            found.setdefault(session, set()).add(hash_.hex())
        return found

    def _digested(self) -> set[str]:
        last = self._query(
            "SELECT s.id, max(e.position) FROM sessions s JOIN events e ON e.session = s.row GROUP BY s.row"
        )
        covers = dict(self._query("SELECT s.id, d.covers FROM digests d JOIN sessions s ON s.row = d.session"))
        return {session for session, position in last if covers.get(session, -1) >= position}


def check(examples: int, steps: int) -> None:
    given = how(max_examples=examples, stateful_step_count=steps, suppress_health_check=list(HealthCheck))
    run_state_machine_as_test(Retaining, settings=given)


@pytest.mark.slow
def test_raw_bytes_leave_only_after_verified_distillation() -> None:
    """P30, T32."""
    check(40, 20)


@pytest.mark.soak
def test_raw_bytes_leave_only_after_verified_distillation_500_times() -> None:
    """P30, T32."""
    check(500, 30)
