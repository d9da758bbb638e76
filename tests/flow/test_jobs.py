"""Jobs: one runner at a time, seen and ended from elsewhere, and nothing half done when they end."""

from __future__ import annotations

import os
import platform
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from recollect import Recollect
from recollect.errors import InvalidInput, StoreFull
from recollect.pipeline import jobs
from recollect.pipeline.jobs import LEASE, Ran, Runner, Status, cancel, run, statuses, take
from recollect.pipeline.maintaining import BY_NAME, JOBS, REGULAR
from recollect.store.port import Store
from tests.flow.conftest import Cli
from tests.flow.memory_fixture import HandClock
from tests.services.postgres import Postgres, as_role
from tests.services.stores import Emptied


@pytest.fixture(params=["sqlite", "postgres"])
def store(request: pytest.FixtureRequest, memory: Recollect) -> Store:
    """An empty store of each kind."""
    if request.param == "sqlite":
        return memory.store
    stores: Emptied = request.getfixturevalue("emptied")
    return stores.give(0)


@pytest.fixture(autouse=True)
def looks_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jobs, "LOOK_SECONDS", 0.0)


def test_a_job_is_done_noted_and_let_go(store: Store, clock: HandClock) -> None:
    ran = run(store.notes, "archive", clock, lambda stop: {"memories": 3})
    assert (ran.state, ran.counts, ran.started_at) == ("done", {"memories": 3}, clock())
    [status] = statuses(store.notes, ("archive",), clock())
    assert (status.runner, status.last) == (None, ran)


def test_while_one_runs_a_job_the_other_leaves_it_alone(store: Store, clock: HandClock) -> None:
    def work(stop: Callable[[], bool]) -> dict[str, int]:
        assert run(store.notes, "purge", clock, _never).state == "busy"
        assert run(store.notes, "archive", clock, lambda stop: {}).state == "done"
        [status] = statuses(store.notes, ("purge",), clock())
        assert status.runner is not None
        assert status.runner.pid == os.getpid()
        return {}

    assert run(store.notes, "purge", clock, work).state == "done"
    assert run(store.notes, "purge", clock, lambda stop: {}).state == "done"


def _never(stop: Callable[[], bool]) -> dict[str, int]:
    raise AssertionError("somebody else is at it")


def leased(store: Store, clock: HandClock, host: str, pid: int) -> None:
    """As if a process there had taken the job just now."""
    runner = Runner("theirs", host, pid, clock(), clock() + LEASE)
    store.notes.put("job:purge", jobs._text(Status("purge", runner)))


def test_a_runner_that_died_is_replaced_at_once_here_and_after_its_lease_elsewhere(
    store: Store, clock: HandClock
) -> None:
    dead = subprocess.Popen([sys.executable, "-c", ""])
    dead.wait()
    leased(store, clock, platform.node(), os.getppid())
    assert take(store.notes, "purge", clock) is None
    leased(store, clock, platform.node(), dead.pid)
    assert statuses(store.notes, ("purge",), clock())[0].runner is None
    assert take(store.notes, "purge", clock) is not None
    leased(store, clock, "another machine", dead.pid)
    assert take(store.notes, "purge", clock) is None
    clock.move(minutes=LEASE.total_seconds() / 60 + 1)
    ours = take(store.notes, "purge", clock)
    assert ours is not None
    assert not ours.stop()
    leased(store, clock, "another machine", dead.pid)
    assert ours.stop()  # it finds that the job is another's now
    ours.finish(Ran("purge", "done", clock()))
    assert take(store.notes, "purge", clock) is None  # and lets nothing go that is theirs


def test_a_runner_that_goes_on_keeps_its_lease(store: Store, clock: HandClock) -> None:
    def work(stop: Callable[[], bool]) -> dict[str, int]:
        for _ in range(10):
            clock.move(minutes=LEASE.total_seconds() / 60 * 0.6)
            assert not stop()
            assert take(store.notes, "embed", clock) is None
        return {}

    assert run(store.notes, "embed", clock, work).state == "done"


def test_a_job_ends_when_somebody_elsewhere_asks_for_it(store: Store, clock: HandClock) -> None:
    def work(stop: Callable[[], bool]) -> dict[str, int]:
        steps = 0
        while not stop() and steps < 5:
            steps += 1
            if steps == 2:
                assert cancel(store.notes, tuple(JOBS), clock()) == ["embed"]
        return {"steps": steps}

    ran = run(store.notes, "embed", clock, work)
    assert (ran.state, ran.counts) == ("cancelled", {"steps": 2})
    assert cancel(store.notes, tuple(JOBS), clock()) == []
    assert run(store.notes, "embed", clock, lambda stop: {}).state == "done"


FAILURES: dict[str, tuple[BaseException, str, str | None]] = {
    "ours": (StoreFull(), "failed", "disk is full"),
    "a mistake": (RuntimeError("walrus content"), "failed", "RuntimeError"),
    "interrupted": (KeyboardInterrupt(), "cancelled", None),
    "terminated": (SystemExit(143), "cancelled", None),
}


@pytest.mark.parametrize(("error", "state", "told"), FAILURES.values(), ids=FAILURES)
def test_a_job_that_fails_says_why_and_is_let_go(
    store: Store, clock: HandClock, error: BaseException, state: str, told: str | None
) -> None:
    """And never tells content."""

    def work(stop: Callable[[], bool]) -> dict[str, int]:
        raise error

    if isinstance(error, StoreFull):
        assert run(store.notes, "purge", clock, work).state == "failed"
    else:
        with pytest.raises(type(error)):
            run(store.notes, "purge", clock, work)
    [status] = statuses(store.notes, ("purge",), clock())
    assert status.last is not None
    assert (status.runner, status.last.state) == (None, state)
    assert (told or "") in (status.last.error or "")
    assert "walrus" not in (store.notes.get("job:purge") or "")


def test_a_note_somebody_spoiled_stops_nobody(store: Store, clock: HandClock) -> None:
    for bad in ("", "nonsense", "[]", '{"runner": {"id": 1}}', '{"runner": 7}'):
        store.notes.put("job:purge", bad)
        assert run(store.notes, "purge", clock, lambda stop: {}).state == "done"


@pytest.mark.usefixtures("each_store")
def test_every_regular_job_runs_and_a_second_round_changes_nothing(cli: Cli) -> None:
    """S1.117 to S1.120, on both stores."""
    cli("remember", "walrus")
    first = cli("maintain", "--json")
    assert first.code == 0, first.err
    assert [one["job"] for one in first.json["jobs"]] == list(REGULAR)
    assert {one["state"] for one in first.json["jobs"]} == {"done"}
    again = cli("maintain", "--json").json["jobs"]
    assert all(one["counts"].get(name, 0) == 0 for one in again for name in ("gists", "texts") if one["job"] != "sizes")
    shown = cli("maintain", "--status", "--json").json["jobs"]
    assert {one["job"]: one["last"] and one["last"]["state"] for one in shown} == {
        job: None if job in BY_NAME else "done" for job in JOBS
    }
    sizes = next(one for one in again if one["job"] == "sizes")["counts"]
    assert sizes["bytes"] > sizes["index_bytes"] > 0
    assert sizes["memories"] == 1


@pytest.mark.usefixtures("each_store")
@pytest.mark.parametrize("job", [job for job in JOBS if job != "reembed"])
def test_a_job_by_name(cli: Cli, job: str) -> None:
    cli("remember", "walrus")
    ran = cli("maintain", "--job", job)
    assert ran.code == 0, ran.err
    assert job in ran.out
    assert "done" in ran.out
    looked = cli("maintain", "--job", job, "--dry-run")
    assert "would do" in looked.out


@pytest.mark.usefixtures("each_store")
def test_words_that_do_not_fit(cli: Cli) -> None:
    assert cli("maintain", "--job", "nonsense").code == 2
    assert cli("maintain", "--status", "--cancel").code == 2
    assert "No job is running" in cli("maintain", "--cancel").out
    failed = cli("maintain", "--job", "reembed")
    assert failed.code == 1
    assert "failed" in failed.out


def test_a_dry_run_of_everything_changes_nothing(memory: Recollect, clock: HandClock) -> None:
    memory.remember("old walrus")
    clock.move(days=800)
    planned = {ran.job: ran.counts for ran in memory.run_jobs(dry_run=True)}
    assert planned["archive"] == {"memories": 1}
    assert planned["embed"] == {"texts": 1}
    assert memory.store.notes.all(jobs.PREFIX) == {}
    assert len(memory.memories()) == 1
    assert memory.maintain().archived == 1


def test_jobs_that_nobody_knows_are_refused(memory: Recollect) -> None:
    with pytest.raises(InvalidInput):
        memory.run_jobs(["archive", "nonsense"])


@pytest.mark.usefixtures("each_store")
@pytest.mark.parametrize("asked", ["SIGTERM", "SIGINT", "cancel"])
def test_a_running_process_ends_cleanly_when_asked(
    asked: str, work: Path, cli: Cli, own_home: Path, clock: HandClock
) -> None:
    """It lets its lease go, and the next one does what is left."""
    cli("remember", "walrus")
    code = (
        "import sys, time\n"
        "from recollect.pipeline import embedding, jobs, maintaining\n"
        "from recollect.cli.main import main\n"
        "jobs.LOOK_SECONDS = 0.01\n"
        "def slow(work, name, stop):\n"
        "    print('running', flush=True)\n"
        "    while not stop():\n"
        "        time.sleep(0.02)\n"
        "    return {'steps': 1}\n"
        "maintaining._do = slow\n"
        "sys.exit(main(['maintain', '--job', 'embed', '--json']))\n"
    )
    child = subprocess.Popen(
        [sys.executable, "-c", code], cwd=work, stdout=subprocess.PIPE, env={**os.environ, "HOME": str(own_home)}
    )
    try:
        assert child.stdout is not None
        assert child.stdout.readline() == b"running\n"
        busy = cli("maintain", "--job", "embed", "--json").json["jobs"][0]
        assert busy["state"] == "busy"
        if asked == "cancel":
            assert cli("maintain", "--cancel", "--json").json["asked"] == ["embed"]
        else:
            child.send_signal(getattr(signal, asked))
        assert child.wait(30) == {"SIGTERM": 143, "SIGINT": 130, "cancel": 1}[asked]
    finally:
        child.kill()
        child.wait()
        assert child.stdout is not None
        child.stdout.close()
    last = cli("maintain", "--status", "--job", "embed", "--json").json["jobs"][0]
    assert (last["runner"], last["last"]["state"]) == (None, "cancelled")
    assert cli("maintain", "--job", "embed", "--json").json["jobs"][0]["state"] == "done"


def test_a_login_that_does_not_own_the_tables_leaves_them_to_the_server(
    postgres: Postgres, postgres_url: str, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RECOLLECT_DATABASE_URL", postgres_url)
    assert cli("remember", "walrus").code == 0
    role = postgres.new_role()
    postgres.run(f"GRANT recollect_app TO {role.name}", postgres_url)
    monkeypatch.setenv("RECOLLECT_DATABASE_URL", as_role(postgres_url, role))
    ran = {one["job"]: one for one in cli("maintain", "--json").json["jobs"]}
    assert (ran["vacuum"]["state"], ran["archive"]["state"]) == ("skipped", "done")
    assert "own" in ran["vacuum"]["error"]


def test_vacuuming_leaves_no_connection_with_more_rights(emptied: Emptied) -> None:
    store = emptied.give(0)
    store.keeping.vacuum()
    for _ in range(6):
        with store.database.read(None) as tx:
            assert tx.connection.execute("SELECT current_user").fetchone() == ("recollect_app",)
