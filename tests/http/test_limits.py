"""Nobody asks too often, nobody guesses, nobody starves another: T24, T26, P47."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest

from recollect.facade import Recollect
from recollect.http import gate
from recollect.http.alarms import BURST_LEAST, WATCHES, Alarms
from recollect.http.limits import Limits, network_of
from recollect.http.turns import LONG, Crowded, Turns
from recollect.keys import Grant
from recollect.model import Scope
from recollect.settings import Settings
from tests.http.conftest import Inside

Make = Callable[..., Inside]


def test_a_thousand_guesses_are_twenty_a_minute(inside: Make) -> None:
    """T24: from then on nobody even looks whether a key is right; who had a good one before is not locked out."""
    app = inside(hosted=True, serve_rate_per_ip_per_minute=0)
    key, fresh = app.key(), app.key()
    client = app.stranger()
    assert client.get("/whoami", headers=app.auth(key)).status_code == 200
    heard = [client.get("/whoami", headers=app.auth(f"{key[:-4]}{n:04}")) for n in range(1_000)]
    assert [one.status_code for one in heard[:20]] == [401] * 20
    assert {one.status_code for one in heard[20:]} == {429}
    assert len({one.content for one in heard[:20]}) == 1
    assert len({one.content for one in heard[20:]}) == 1
    assert 1 <= int(heard[-1].headers["retry-after"]) <= 60
    assert client.get("/whoami", headers=app.auth(fresh)).status_code == 429
    assert client.get("/whoami", headers=app.auth(key)).status_code == 200
    assert b'recollect_alarms_total{kind="wrong_keys"} 1.0' in app.metrics.render()[0]


def test_a_key_that_asks_too_often_waits(inside: Make) -> None:
    app = inside(hosted=True, serve_rate_per_minute=10)
    busy, other = app.auth(app.key()), app.auth(app.key(user="bob"))
    heard = [app.stranger().get("/whoami", headers=busy) for _ in range(15)]
    assert [one.status_code for one in heard] == [200] * 10 + [429] * 5
    assert 1 <= int(heard[-1].headers["retry-after"]) <= 60
    assert heard[-1].json()["error"]["code"] == "too_many_requests"
    assert app.stranger().get("/whoami", headers=other).status_code == 200
    assert app.stranger().get("/whoami", headers=app.auth(app.key())).status_code == 429  # the same user's next key


def test_an_address_that_asks_too_often_waits(inside: Make) -> None:
    app = inside(hosted=True, serve_rate_per_minute=0, serve_rate_per_ip_per_minute=5)
    keys = [app.auth(app.key(user=f"u{n}")) for n in range(7)]
    assert [app.stranger().get("/whoami", headers=key).status_code for key in keys] == [200] * 5 + [429] * 2


def test_the_user_of_this_machine_is_not_limited(inside: Make) -> None:
    app = inside(serve_rate_per_minute=3, serve_rate_per_ip_per_minute=3)
    assert {app.client.get("/whoami").status_code for _ in range(30)} == {200}


@pytest.mark.parametrize(
    ("address", "counted"),
    [
        ("192.0.2.7", "192.0.2.7"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"),
        ("fe80::1%eth0", "fe80::/64"),
        ("::ffff:192.0.2.7", "192.0.2.7"),
        ("/run/socket", "/run/socket"),
    ],
)
def test_an_ipv6_subscriber_is_one_address(address: str, counted: str) -> None:
    assert network_of(address) == counted


GRANT = Grant("k", Scope("acme", "ann"), ("read",))


async def allowed(limits: Limits, times: int) -> int:
    return sum([await limits.over(GRANT, "192.0.2.1") is None for _ in range(times)])


def test_processes_count_together_in_redis(redis_url: str) -> None:
    settings = Settings(redis_url=redis_url, serve_rate_per_minute=10)

    async def both() -> int:
        first, second = Limits(settings), Limits(settings)
        let_in = await allowed(first, 6) + await allowed(second, 6)
        await first.close()
        await second.close()
        return let_in

    assert asyncio.run(both()) == 10


@pytest.mark.timed
def test_without_redis_each_counts_by_itself_and_nobody_waits() -> None:
    """A Redis that is away is no reason to refuse, nor to wait for it each time."""
    settings = Settings(redis_url="redis://127.0.0.1:1/0", serve_rate_per_minute=10)
    begun = time.monotonic()
    assert asyncio.run(allowed(Limits(settings), 15)) == 10
    assert time.monotonic() - begun < 2


# -- turns -------------------------------------------------------------------------------------------------------------


class Worked:
    """Requests that take so many seconds each, and when they began."""

    def __init__(self, turns: Turns, seconds: float) -> None:
        self.turns, self.seconds = turns, seconds
        self.waited: dict[str, list[float]] = {}
        self.refused: list[str] = []
        self.most: dict[str, int] = {}
        self._now: dict[str, int] = {}

    async def request(self, tenant: str) -> None:
        begun = time.perf_counter()
        try:
            turn = await self.turns.take(tenant)
        except Crowded:
            self.refused.append(tenant)
            return
        self.waited.setdefault(tenant, []).append(time.perf_counter() - begun)
        self._now[tenant] = self._now.get(tenant, 0) + 1
        self.most[tenant] = max(self.most.get(tenant, 0), self._now[tenant])
        try:
            await asyncio.sleep(self.seconds)
        finally:
            self._now[tenant] -= 1
            turn.give()


def test_one_tenant_cannot_starve_another() -> None:
    """P47: A sends two hundred at once, B one now and then; B never waits, A never has more than its share."""
    worked = Worked(Turns(8, 6), 0.01)

    async def both() -> None:
        flood = [asyncio.create_task(worked.request("a")) for _ in range(200)]
        for _ in range(10):
            await asyncio.sleep(0.02)
            await worked.request("b")
        await asyncio.gather(*flood)

    asyncio.run(both())
    assert worked.most["a"] == 6
    assert (len(worked.waited["a"]), len(worked.waited["b"]), worked.refused) == (200, 10, [])
    assert max(worked.waited["b"]) < 0.01


def test_when_all_is_taken_tenants_are_served_in_turn() -> None:
    worked = Worked(Turns(4, 4), 0.01)
    order: list[str] = []

    async def one(tenant: str) -> None:
        await worked.request(tenant)
        order.append(tenant)

    async def run() -> None:
        first = [asyncio.create_task(one("a")) for _ in range(20)]
        await asyncio.sleep(0)
        others = [asyncio.create_task(one(tenant)) for tenant in "bcbc"]
        await asyncio.gather(*first, *others)

    asyncio.run(run())
    assert max(place for place, tenant in enumerate(order) if tenant in "bc") < 12


def test_who_waits_too_long_or_is_one_too_many_is_told() -> None:
    worked = Worked(Turns(1, 1, waiting=2, seconds=0.05), 0.2)

    async def run() -> None:
        await asyncio.gather(*(worked.request("a") for _ in range(4)))

    asyncio.run(run())
    assert len(worked.refused) == 3  # one does not fit into the queue, two wait in vain
    assert worked.turns.busy == 0


def test_who_goes_away_while_waiting_leaves_no_gap() -> None:
    """The turn that gets free at that very moment goes to the next, and none is lost."""
    turns = Turns(1, 1)

    async def run() -> None:
        first = await turns.take("a")
        gone, waits = asyncio.create_task(turns.take("a")), asyncio.create_task(turns.take("a"))
        await asyncio.sleep(0)
        gone.cancel()
        first.give()
        second = await asyncio.wait_for(waits, 1)
        assert turns.busy == 1
        second.give()
        last = await turns.take("a")
        late = asyncio.create_task(turns.take("b"))
        await asyncio.sleep(0)
        last.give()
        late.cancel()  # it has its turn, and does not know yet
        await asyncio.gather(gone, late, return_exceptions=True)

    asyncio.run(run())
    assert turns.busy == 0


def test_what_lasts_long_is_in_nobodys_way() -> None:
    """A tenant's large batch, on a server that works on one at a time, holds up neither others nor itself."""
    turns = Turns(1, 1, beside=1)

    async def run() -> None:
        batch = await turns.take("a")
        for tenant in ("b", "a", "b"):
            (await asyncio.wait_for(turns.take(tenant), 1)).give()
        assert turns.busy == 0
        batch.give()
        assert turns.busy == 0

    asyncio.run(run())


def test_only_so_many_step_aside_and_one_of_a_tenant() -> None:
    """P47: whoever sends nothing but large batches has one aside, and those behind it wait as before."""
    turns = Turns(2, 2, beside=2)

    async def run() -> None:
        batches = [await turns.take("a"), await turns.take("a")]
        batches.append(await asyncio.wait_for(turns.take("a"), 1))  # one of the two stepped aside
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(turns.take("a"), LONG * 3)
        assert turns.busy == 2
        batches[0].give()
        batches.append(await asyncio.wait_for(turns.take("a"), 1))  # there is room aside again
        for batch in batches[1:]:
            batch.give()
        assert turns.busy == 0

    asyncio.run(run())


# -- alarms ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("what", "most"), [("wrong_key", 30), ("delete", 100), ("export", 3)])
def test_an_alarm_is_told_once_in_its_time(what: str, most: int, caplog: pytest.LogCaptureFixture) -> None:
    """S1s.7: and by the id of a key, never by the key."""
    now = [0.0]
    alarms = Alarms(clock=lambda: now[0])
    assert [alarms.note(what, "abc") for _ in range(most * 3)].count(True) == 1
    assert not alarms.note(what, "another")
    now[0] += 4_000
    assert [alarms.note(what, "abc") for _ in range(most * 3)].count(True) == 1
    assert len(caplog.records) == 2


def test_a_burst_is_measured_by_what_is_usual() -> None:
    now = [0.0]
    alarms = Alarms(clock=lambda: now[0])

    def minute(n: int) -> bool:
        heard = [alarms.wrote("abc") for _ in range(n)]
        now[0] += 60
        return any(heard)

    assert minute(BURST_LEAST + 1)  # of one who never wrote before
    assert not any(minute(100) for _ in range(60))
    assert not minute(BURST_LEAST + 80)  # a little more than usual
    assert minute(2_000)


def test_mass_deletes_and_exports_are_alarms(inside: Make) -> None:
    """Each is told once; as many as a person may tidy up are none."""
    app = inside()

    def alarms(kind: str) -> float:
        [line] = [
            line for line in app.metrics.render()[0].decode().splitlines() if f'alarms_total{{kind="{kind}"' in line
        ]
        return float(line.rpartition(" ")[2])

    assert (alarms("mass_delete"), alarms("mass_export")) == (0, 0)
    kept = [{"content": f"The locker number {n} is the {n}th of the harbour."} for n in range(105)]
    told = app.client.post("/ingest/batch", json={"items": kept}).json()["results"]
    ids = [one["memory_id"] for one in told]
    for number, memory_id in enumerate(ids, 1):
        assert app.client.delete(f"/memories/{memory_id}").status_code == 200
        assert alarms("mass_delete") == (number > WATCHES["delete"].most)
    for number in range(1, 6):
        assert app.client.get("/export").status_code == 200
        assert alarms("mass_export") == (number > WATCHES["export"].most)


# -- exports -----------------------------------------------------------------------------------------------------------


class Reader:
    """One request, read as slowly as the test likes."""

    def __init__(self, app: Inside, path: str, key: str, method: str = "GET") -> None:
        self.go, self.began = asyncio.Event(), asyncio.Event()
        self.status, self.ended = 0, False
        headers = [(b"host", b"127.0.0.1:8010"), (b"x-api-key", key.encode())]
        about = {"type": "http", "asgi": {"version": "3.0", "spec_version": "2.4"}, "http_version": "1.1"}
        where = {"method": method, "path": path, "raw_path": path.encode(), "query_string": b"", "root_path": ""}
        scope = {**about, **where, "scheme": "http", "headers": headers, "client": ("127.0.0.1", 5), "server": None}
        self.task = asyncio.create_task(app.app(scope, self._receive, self._send))

    async def _receive(self) -> dict[str, Any]:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def _send(self, message: Any) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            return
        self.began.set()
        if message.get("more_body"):
            await self.go.wait()
        else:
            self.ended = True


def test_an_export_keeps_its_turn_to_the_end_and_takes_none_from_others(inside: Make) -> None:
    """One tenant's exports follow each other; whoever asks anything else is answered meanwhile."""
    app = inside(hosted=True, serve_threads=8)
    ann, eve = app.key(), app.key(tenant="other")

    async def run() -> None:
        first = Reader(app, "/export", ann)
        await asyncio.wait_for(first.began.wait(), 10)
        second, others = Reader(app, "/export", ann), [Reader(app, "/export", eve), Reader(app, "/whoami", ann)]
        for one in others:
            one.go.set()
            await asyncio.wait_for(one.task, 10)
        assert [one.status for one in others] == [200, 200]
        await asyncio.sleep(0.2)
        assert not second.began.is_set()
        second.go.set()
        first.go.set()
        await asyncio.wait_for(asyncio.gather(first.task, second.task), 10)
        assert (first.ended, second.status, second.ended) == (True, 200, True)

    asyncio.run(run())


def test_a_summary_that_takes_long_keeps_nobody_from_an_answer(inside: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    """A language model may think for minutes; questions go on meanwhile, and another tenant's summaries too."""
    app = inside(hosted=True, serve_threads=2)
    key, other_key, thinks = app.key(), app.key(tenant="other"), threading.Event()
    begun = {"acme": threading.Event(), "other": threading.Event()}
    for tenant in begun:
        app.serving.memory(Scope(tenant, "ann")).record("chat:1", "user", "hello")

    def summarize(memory: Recollect, session: str) -> None:
        begun[memory.scope.tenant].set()
        thinks.wait(20)

    monkeypatch.setattr(Recollect, "summarize", summarize)

    async def run() -> None:
        summaries = [Reader(app, "/sessions/chat:1/summarize", key, "POST") for _ in range(3)]
        assert await asyncio.to_thread(begun["acme"].wait, 10)
        summaries.append(Reader(app, "/sessions/chat:1/summarize", other_key, "POST"))
        assert await asyncio.to_thread(begun["other"].wait, 5), "one tenant's summaries are not all there are"
        others = [Reader(app, "/sessions", one) for one in (key, other_key)]
        await asyncio.wait_for(asyncio.gather(*(one.task for one in others)), 10)
        assert [one.status for one in others] == [200, 200]
        assert not any(one.task.done() for one in summaries)
        thinks.set()
        await asyncio.wait_for(asyncio.gather(*(one.task for one in summaries)), 10)
        assert {one.status for one in summaries} == {200}

    asyncio.run(run())


def test_an_export_that_nobody_reads_is_broken_off(inside: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gate, "_READING", 0.2)
    app = inside(hosted=True, serve_threads=4)
    key = app.key()

    async def run() -> None:
        lost = Reader(app, "/export", key)
        with pytest.raises(gate.Broken):
            await asyncio.wait_for(lost.task, 10)
        assert (lost.status, lost.ended) == (200, False)
        following = Reader(app, "/export", key)
        following.go.set()
        await asyncio.wait_for(following.task, 10)
        assert following.ended

    asyncio.run(run())
