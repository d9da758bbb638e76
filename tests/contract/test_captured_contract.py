"""Where sessions came from and what of them was not kept, in figures: those of the scope, nobody else's."""

from __future__ import annotations

from dataclasses import replace

from recollect.capture.bodies import body_of
from recollect.model import Scope, Session
from recollect.store.port import Store
from recollect.store.ports.capture import Seen
from recollect.store.ports.stats import Captured, Source, Withheld
from tests.contract.samples import ANN, BOB, EVE, T0, event, minute


def take(store: Store, scope: Scope, session: str, number: int, project: str | None = None, **counts: int) -> None:
    flavor = session.partition(":")[0]
    made = replace(event(session, number, f"hello {number}"), way="sweep")
    told = {name.replace("__", ":").replace("_", " "): count for name, count in counts.items()}
    seen = Seen(f"/logs/{session}", flavor, session, "read", T0, counts=told)
    store.captures.ingest(scope, Session(session, flavor, project=project), [made], transcript=seen)


def keep(store: Store) -> None:
    take(store, ANN, "claude:1", 1, "shop", withheld__secret__github=2, withheld__private=1, lines=40)
    take(store, ANN, "claude:2", 5, "farm", withheld__secret__github=3)
    take(store, ANN, "codex:1", 3, "shop", withheld__denied=1, withheld__switched_off=4)
    take(store, ANN, "codex:2", 9)
    take(store, BOB, "grok:1", 2, "zoo", withheld__private=7)


def test_sessions_are_counted_by_agent_and_project(store: Store) -> None:
    keep(store)
    found = store.stats.captured(ANN)
    assert found.agents == (Source("claude", 2, minute(5)), Source("codex", 2, minute(9)))
    assert found.projects == (Source("farm", 1, minute(5)), Source("shop", 2, minute(3)))


def test_what_was_taken_out_is_counted_by_reason_and_agent(store: Store) -> None:
    keep(store)
    assert store.stats.captured(ANN).withheld == (
        Withheld("claude", "secret:github", 5),
        Withheld("codex", "switched off", 4),
        Withheld("codex", "denied", 1),
        Withheld("claude", "private", 1),
    )


def test_bodies_are_counted_until_they_are_evicted(store: Store) -> None:
    body = body_of(b"x" * 100_000, "text/plain")
    made = replace(event("claude:1", 1, "long"), way="sweep", bodies=(body,))
    store.captures.ingest(ANN, Session("claude:1", "claude"), [made])
    found = store.stats.captured(ANN)
    assert found.bodies == 1
    assert found.body_bytes > 0
    store.bodies.evict(ANN, "claude:1", at=T0, undigested=True)
    assert store.stats.captured(ANN).bodies == store.stats.captured(ANN).body_bytes == 0


def test_a_project_is_told_of_itself_and_of_no_file(store: Store) -> None:
    """Agents' files are the owner's: which project they belong to is not told of them."""
    keep(store)
    found = store.stats.captured(ANN.within("farm"))
    assert found.projects == (Source("farm", 1, minute(5)),)
    assert {one.name: one.sessions for one in found.agents} == {"claude": 1, "codex": 1}
    assert found.withheld == ()
    assert found.bodies == 0


def test_only_so_many_are_told(store: Store) -> None:
    keep(store)
    found = store.stats.captured(ANN, most=1)
    assert (len(found.agents), len(found.projects), len(found.withheld)) == (1, 1, 1)


def test_strangers_have_nothing(store: Store) -> None:
    keep(store)
    assert store.stats.captured(EVE) == Captured()
    assert [one.name for one in store.stats.captured(BOB).projects] == ["zoo"]
