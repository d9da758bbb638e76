"""The raw budget, case by case: what leaves, in which order, what is said of it, and what never leaves."""

from __future__ import annotations

import random
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import psycopg
import pytest
import zstandard

from recollect import Recollect
from recollect.errors import StoreCorrupt
from recollect.store.sqlite.bodies import SqliteBodies
from recollect.store.sqlite.store import SqliteStore
from tests.flow.conftest import Cli
from tests.flow.memory_fixture import IN_A_FILE, HandClock
from tests.flow.transcripts_fixture import Agents, as_lines, claude_turn, everything, grow, uid

pytestmark = pytest.mark.usefixtures("each_store")

S, T, U = uid("one"), uid("two"), uid("three")
SMALL = {"raw_inline_bytes": 1_000}


@pytest.fixture
def agents(own_home: Path) -> Agents:
    return Agents(own_home)


def words(seed: object, count: int = 900) -> str:
    """A text of several thousand characters that packs badly and looks like no secret."""
    draw = random.Random(str(seed))
    return " ".join("".join(draw.choices("abcdefghijklmnop", k=5)) for _ in range(count))


def files(memory: Recollect) -> dict[str, int]:
    """The bodies there are and their sizes: files, or on a server the bytes in their rows."""
    if memory.settings.database_url:
        with psycopg.connect(memory.settings.database_url) as connection:
            rows = connection.execute(
                "SELECT encode(hash, 'hex'), length(data) FROM recollect.bodies WHERE data IS NOT NULL"
            )
            return dict(rows.fetchall())
    return {path.stem: path.stat().st_size for path in (memory.settings.data_dir / "bodies").glob("*/*/*")}


def hashes(memory: Recollect, session: str) -> list[str]:
    return [body.hash for event in memory.history(f"claude:{session}") for body in event.bodies]


def no_digest(monkeypatch: pytest.MonkeyPatch, *sessions: str) -> None:
    """The distiller fails for these."""
    from recollect.pipeline import digests

    made = digests.digest_of

    def failing(session, events, costs):  # type: ignore[no-untyped-def]
        if session.id.partition(":")[2] in sessions:
            raise RuntimeError("out")
        return made(session, events, costs)

    monkeypatch.setattr(digests, "digest_of", failing)


# -- what a body is ----------------------------------------------------------------------------------------------------


def test_a_big_text_is_kept_whole_beside_its_row(opened: Callable[..., Recollect], agents: Agents) -> None:
    memory = opened(**SMALL)
    output = words("big")
    agents.claude(S, 1, output=output)
    memory.sweep()
    (body,) = hashes(memory, S)
    stored = memory.store.bodies.get(memory.scope, body)
    assert stored == output.encode()
    assert list(files(memory)) == [body]
    (event,) = [event for event in memory.history(f"claude:{S}") if event.bodies]
    assert len(event.text) < 1_100
    assert event.text.startswith(output[:90])
    assert event.text.endswith(output[-30:])
    assert event.bodies[0].size == len(output)


@IN_A_FILE
def test_body_files_are_private(opened: Callable[..., Recollect], agents: Agents) -> None:
    """T14."""
    memory = opened(**SMALL)
    agents.claude(S, 1, output=words("big"))
    memory.sweep()
    for path in (memory.settings.data_dir / "bodies").rglob("*"):
        assert path.stat().st_mode & 0o777 == (0o700 if path.is_dir() else 0o600)


def flipped(place: int) -> Callable[[bytes], bytes]:
    return lambda data: bytes(byte ^ 0x10 if at == place % len(data) else byte for at, byte in enumerate(data))


@IN_A_FILE
@pytest.mark.parametrize(
    "damage",
    {
        "first byte": flipped(0),
        "header": flipped(5),
        "last byte": flipped(-1),
        "middle": flipped(1_000),
        "cut": lambda data: data[: len(data) // 2],
        "emptied": lambda data: b"",
        "another body": lambda data: zstandard.compress(b"something else"),
    }.items(),
    ids=lambda item: item[0],
)
def test_a_damaged_body_is_noticed(
    opened: Callable[..., Recollect], agents: Agents, cli: Cli, damage: tuple[str, Callable[[bytes], bytes]]
) -> None:
    """P06: when it is read, and by the doctor."""
    memory = opened(**SMALL)
    agents.claude(S, 1, output=words("big"))
    agents.claude(T, 1, output=words("other"))
    memory.sweep()
    ((hash_,), (other,)) = hashes(memory, S), hashes(memory, T)
    (path,) = (memory.settings.data_dir / "bodies").glob(f"*/*/{hash_}.zst")
    path.write_bytes(damage[1](path.read_bytes()))
    with pytest.raises(StoreCorrupt):
        memory.store.bodies.get(memory.scope, hash_)
    assert memory.store.bodies.get(memory.scope, other) is not None
    assert hash_ in memory.health(deep=True).checks["bodies"]
    ran = cli("doctor", "--deep", "--data-dir", str(memory.settings.data_dir))
    assert ran.code == 1
    assert hash_ in ran.out


@IN_A_FILE
def test_a_body_whose_file_is_gone_is_noticed_and_mended(opened: Callable[..., Recollect], agents: Agents) -> None:
    memory = opened(**SMALL)
    agents.claude(S, 1, output=words("big"))
    memory.sweep()
    (hash_,) = hashes(memory, S)
    (path,) = (memory.settings.data_dir / "bodies").glob("*/*/*")
    path.unlink()
    assert memory.store.bodies.get(memory.scope, hash_) is None
    assert "bodies" in memory.health(deep=True).checks
    memory.backfill("claude")
    assert memory.store.bodies.get(memory.scope, hash_) is not None
    assert memory.health(deep=True).checks == {}


# -- what leaves -------------------------------------------------------------------------------------------------------


def test_above_the_soft_cap_the_oldest_digested_leave(
    opened: Callable[..., Recollect], agents: Agents, clock: HandClock
) -> None:
    memory = opened(**SMALL)
    for session in (S, T, U):
        agents.claude(session, 1, output=words(session))
        memory.sweep()
        clock.move(hours=1)
    use = [each.bytes for each in memory.store.bodies.use(memory.scope)]
    rows = everything(memory)
    memory = opened(**SMALL, raw_soft_cap_bytes=use[2] + use[1])
    done = memory.sweep().retention
    assert (done.freed, done.final_usage, done.passes) == (use[0], use[1] + use[2], {"age": 0, "soft": 1, "hard": 0})
    assert done.data_loss == []
    assert files(memory).keys() == {*hashes(memory, T), *hashes(memory, U)}
    assert memory.store.bodies.get(memory.scope, hashes(memory, S)[0]) is None
    assert everything(memory) == rows  # texts, hashes and sizes are as they were
    assert memory.health(deep=True).checks == {}


def test_without_a_digest_nothing_leaves_and_that_is_said(
    opened: Callable[..., Recollect], agents: Agents, monkeypatch: pytest.MonkeyPatch
) -> None:
    """P30: an alert comes before the hard cap could force a loss."""
    no_digest(monkeypatch, S, T)
    memory = opened(**SMALL, raw_soft_cap_bytes=10)
    agents.claude(S, 1, output=words(S))
    agents.claude(T, 1, output=words(T))
    done = memory.sweep().retention
    assert (done.freed, done.data_loss) == (0, [])
    assert "raw_soft_cap_bytes" in str(done.alert)
    assert len(files(memory)) == 2
    monkeypatch.undo()
    done = memory.sweep().retention
    assert done.alert is None
    assert files(memory) == {}


def test_the_store_itself_refuses_to_evict_before_the_digest(
    opened: Callable[..., Recollect], agents: Agents, clock: HandClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """P30: whatever its caller believes; also when the session grew after its digest."""
    no_digest(monkeypatch, T)
    memory = opened(**SMALL)
    path = agents.claude(S, 1, output=words(S))
    agents.claude(T, 1, output=words(T))
    memory.sweep()
    no_digest(monkeypatch, S)
    grow(path, claude_turn(S, 1))
    memory.sweep()
    for session in (S, T):
        assert memory.store.bodies.evict(memory.scope, f"claude:{session}", at=clock.now) == (0, ())
    assert len(files(memory)) == 2


def test_above_the_hard_cap_losses_are_named(
    opened: Callable[..., Recollect], agents: Agents, clock: HandClock, monkeypatch: pytest.MonkeyPatch, cli: Cli
) -> None:
    """P30, P32: digested sessions leave first, whatever their age."""
    no_digest(monkeypatch, S, T)
    memory = opened(**SMALL)
    for session in (S, T, U):
        agents.claude(session, 1, output=words(session))
        memory.sweep()
        clock.move(hours=1)
    use = {each.session: each.bytes for each in memory.store.bodies.use(memory.scope)}
    caps = {"raw_soft_cap_bytes": 10**9, "raw_hard_cap_bytes": use[f"claude:{T}"]}
    done = opened(**SMALL, **caps).sweep().retention
    assert done.passes == {"age": 0, "soft": 0, "hard": 2}
    assert done.data_loss == [f"claude:{S}"]
    assert files(memory).keys() == set(hashes(memory, T))
    monkeypatch.setenv("RECOLLECT_RAW_HARD_CAP_BYTES", "1")
    ran = cli("sweep", "--data-dir", str(memory.settings.data_dir))
    assert f"data_loss: the bodies of claude:{T}" in ran.err


def test_a_shared_body_waits_for_all_who_share_it(
    opened: Callable[..., Recollect], agents: Agents, monkeypatch: pytest.MonkeyPatch
) -> None:
    """P30: it counts once, leaves when the last of them has a digest, and a loss is named for those without."""
    no_digest(monkeypatch, T)
    memory = opened(**SMALL, raw_soft_cap_bytes=10)
    for session in (S, T):
        agents.claude(session, 1, output=words("shared"))
    report = memory.sweep()
    assert report.retention.freed == 0
    assert report.retention.final_usage == sum(files(memory).values())
    assert len(files(memory)) == 1
    done = opened(**SMALL, raw_soft_cap_bytes=10, raw_hard_cap_bytes=10).sweep().retention
    assert done.data_loss == [f"claude:{T}"]
    assert files(memory) == {}


def test_bodies_of_digested_sessions_leave_with_age(
    opened: Callable[..., Recollect], agents: Agents, clock: HandClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    no_digest(monkeypatch, T)
    memory = opened(**SMALL, raw_max_age_days=3)
    agents.claude(S, 1, output=words(S))
    agents.claude(T, 1, output=words(T))
    freed = []
    for _ in range(5):
        freed.append(memory.sweep().retention.passes["age"])
        clock.move(days=1)
    assert freed == [0, 0, 0, 0, 1]
    assert files(memory).keys() == set(hashes(memory, T))


def test_a_session_that_still_grows_is_not_old(
    opened: Callable[..., Recollect], agents: Agents, clock: HandClock
) -> None:
    """Its last body counts, not its first: none leaves before its time."""
    memory = opened(**SMALL, raw_max_age_days=3)
    path = agents.claude(S, 1, output=words(0))
    for number in range(1, 7):
        memory.sweep()
        clock.move(days=1)
        if number < 5:
            grow(path, claude_turn(S, number, output=words(number)))
    assert len(files(memory)) == 5
    clock.move(days=1)
    memory.sweep()
    clock.move(days=1)
    memory.sweep()
    assert files(memory) == {}


@IN_A_FILE
@pytest.mark.parametrize("years", [1, 10, 100, -1, -50])
def test_a_clock_that_jumps_ages_nothing(
    opened: Callable[..., Recollect], agents: Agents, clock: HandClock, years: int
) -> None:
    """T32."""
    memory = opened(**SMALL, raw_max_age_days=30)
    agents.claude(S, 1, output=words(S))
    memory.sweep()
    start = clock.now
    for _ in range(10):
        clock.now = start + timedelta(days=365 * years)
        assert memory.sweep().retention.freed == 0
        clock.now = start
        assert memory.sweep().retention.freed == 0
    assert len(files(memory)) == 1


def test_a_clock_set_back_makes_nothing_younger(
    opened: Callable[..., Recollect], agents: Agents, clock: HandClock
) -> None:
    """T32: the days that passed before it stay counted."""
    memory = opened(**SMALL, raw_max_age_days=3)
    agents.claude(S, 1, output=words(S))
    freed = []
    for number in range(6):
        freed.append(memory.sweep().retention.passes["age"])
        clock.move(days=-4000 if number == 2 else 1)
    assert freed == [0, 0, 0, 0, 0, 1]


@IN_A_FILE
@pytest.mark.parametrize("date", ["1969-07-20T20:17:00Z", "0001-01-01T00:00:00Z", "9999-12-31T23:59:59Z", "soon"])
def test_dates_in_transcripts_age_nothing(opened: Callable[..., Recollect], agents: Agents, date: str) -> None:
    """T32."""
    memory = opened(**SMALL, raw_max_age_days=1)
    agents.claude_path(S).write_bytes(
        as_lines({**line, "timestamp": date} for line in claude_turn(S, 0, output=words(S)))
    )
    assert memory.sweep().retention.freed == 0
    assert memory.sweep().retention.freed == 0
    assert len(files(memory)) == 1


def test_the_distilled_cap_only_alerts(opened: Callable[..., Recollect], agents: Agents) -> None:
    memory = opened(**SMALL, distilled_cap_bytes=1)
    agents.claude(S, 1, output=words(S))
    done = memory.sweep().retention
    assert "distilled_cap_bytes" in str(done.alert)
    assert (done.freed, len(files(memory))) == (0, 1)
    assert memory.digest(f"claude:{S}") is not None


def test_what_was_evicted_does_not_come_back_by_reading_again(opened: Callable[..., Recollect], agents: Agents) -> None:
    """P29."""
    memory = opened(**SMALL, raw_soft_cap_bytes=1)
    path = agents.claude(S, 2, output=words(S))
    memory.sweep()
    assert files(memory) == {}
    rows = everything(memory)
    opened(**SMALL).backfill("claude")  # where there would be room
    assert everything(memory) == rows
    assert files(memory) == {}
    grow(path, claude_turn(S, 2, output=words("new")))
    opened(**SMALL).sweep()
    assert files(memory).keys() == {hashes(memory, S)[-1]}


@IN_A_FILE
def test_what_a_dead_process_left_behind_is_taken_away(
    opened: Callable[..., Recollect], agents: Agents, monkeypatch: pytest.MonkeyPatch
) -> None:
    """P30, P13: it died after the rows said `evicted` and before the files were gone; or while it wrote one."""
    memory = opened(**SMALL, raw_soft_cap_bytes=1)
    agents.claude(S, 1, output=words(S))

    def dies(*given: object) -> int:
        raise KeyboardInterrupt

    monkeypatch.setattr(SqliteBodies, "remove", dies)
    with pytest.raises(KeyboardInterrupt):
        memory.sweep()
    assert len(files(memory)) == 1
    assert memory.store.bodies.use(memory.scope) == []
    folder = next((memory.settings.data_dir / "bodies").glob("*/*"))
    (folder / ".0123.tmp").write_bytes(b"half a body")
    (folder / f"{'ab' * 32}.zst").write_bytes(b"nobody's")
    monkeypatch.undo()
    memory.sweep()
    assert files(memory) == {}
    assert isinstance(memory.store, SqliteStore)
