"""Captured sessions in any store: events once, costs once, what a file held, digests, bodies and their budget."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from recollect.capture.bodies import body_of
from recollect.distill.digest import DIGEST_VERSION, digest_of
from recollect.errors import NotFound, ScopeError
from recollect.ids import stable_key
from recollect.model import Cost, Event, Scope, Session
from recollect.store.port import Store
from recollect.store.ports.capture import Seen
from tests.contract.samples import LATER, T0, event, minute

ANN = Scope("acme", "ann")
BOB = Scope("acme", "bob")
S = "claude:1"
FACTS = Session(
    S, "claude", title="Fix the build", project="apollo", parent="claude:0", relation="fork", cwd="/w", branch="main",
    commit="abc", models=("opus",), agent_version="2.1", interactive=True,
)  # fmt: skip


def happened(number: int, text: str, kind: str = "assistant_text", role: str = "assistant", **more: object) -> Event:
    made = event(S, number, text, key=stable_key("k", str(number)))
    return replace(made, kind=kind, role=role, way="sweep", **more)  # type: ignore[arg-type]


def prompt(number: int, text: str) -> Event:
    return happened(number, text, "user_prompt", "user", origin="user")


def seen(*turns: str, **more: object) -> Seen:
    return replace(Seen("/logs/1.jsonl", "claude", S, "read", T0, turns=turns), **more)  # type: ignore[arg-type]


def test_what_a_session_is_comes_back(store: Store) -> None:
    store.captures.ingest(ANN, FACTS, [prompt(0, "hello")])
    kept = store.sessions.get(ANN, S)
    assert kept is not None
    assert replace(kept, started_at=None, ended_at=None) == replace(FACTS, turns=1)


def test_what_is_not_known_now_leaves_what_was(store: Store) -> None:
    store.captures.ingest(ANN, FACTS, [prompt(0, "hello")])
    store.captures.ingest(ANN, Session(S, "claude", branch="topic", models=("haiku",)), [happened(1, "hi")])
    kept = store.sessions.get(ANN, S)
    assert kept is not None
    assert (kept.branch, kept.title, kept.project) == ("topic", "Fix the build", "apollo")
    assert kept.models == ("haiku", "opus")


def test_an_event_is_kept_once_and_says_how_it_came(store: Store) -> None:
    events = [prompt(0, "hello"), happened(1, "hi", meta={"model": "opus"})]
    first = store.captures.ingest(ANN, FACTS, events, transcript=seen())
    again = store.captures.ingest(ANN, FACTS, [replace(one, way="backfill") for one in events], transcript=seen())
    assert (first.added, again.added, again.known) == (2, 0, 2)
    assert [(one.text, one.way, dict(one.meta)) for one in store.sessions.history(ANN, S)] == [
        ("hello", "sweep", {}),
        ("hi", "sweep", {"model": "opus"}),
    ]


def test_an_event_written_anew_changes_where_it_stands(store: Store) -> None:
    store.captures.ingest(ANN, FACTS, [prompt(0, "hello"), happened(1, "half a sen"), happened(2, "after")])
    done = store.captures.ingest(ANN, FACTS, [happened(1, "half a sentence about walruses")])
    assert (done.added, done.changed) == (0, 1)
    assert [one.text for one in store.sessions.history(ANN, S)][1] == "half a sentence about walruses"
    turn = store.sessions.turn(ANN, prompt(0, "").key)
    assert turn is not None
    assert "walruses" in turn.agent_text


def test_where_lines_stay_the_first_reading_holds(store: Store) -> None:
    store.captures.ingest(ANN, FACTS, [prompt(0, "hello"), happened(1, "the whole output")])
    done = store.captures.ingest(ANN, FACTS, [happened(1, "[cleared]")], changes=False)
    assert (done.known, done.changed) == (1, 0)
    assert store.sessions.history(ANN, S)[1].text == "the whole output"


def test_what_a_host_injects_before_the_first_prompt_is_no_turn(store: Store) -> None:
    told = happened(0, "the date is today", "injected_context", "system", origin="tool")
    for events in ([told, prompt(1, "fix it"), happened(2, "done")], [prompt(3, "and this")]):
        store.captures.ingest(ANN, FACTS, events)
    kept = store.sessions.get(ANN, S)
    assert kept is not None
    assert kept.turns == 2
    turn = store.sessions.turn(ANN, prompt(1, "").key)
    assert turn is not None
    assert (turn.user_text, turn.agent_text) == ("fix it", "done")


def test_a_forgotten_event_stays_forgotten(store: Store) -> None:
    store.captures.ingest(ANN, FACTS, [prompt(0, "hello")])
    store.keeping.forget_session(ANN, S, at=T0)
    done = store.captures.ingest(ANN, FACTS, [prompt(0, "hello")])
    assert (done.added, done.forgotten) == (0, 1)
    assert store.sessions.get(ANN, S) is None


def test_a_session_is_forgotten_with_its_subagents_and_without_its_forks(store: Store) -> None:
    store.captures.ingest(ANN, FACTS, [prompt(0, "hello")])
    for number, (name, parent, relation) in enumerate(
        [("sub", S, "subagent"), ("subsub", "claude:sub", "subagent"), ("fork", S, "fork")], 1
    ):
        about = Session(f"claude:{name}", "claude", parent=parent, relation=relation)
        store.captures.ingest(ANN, about, [replace(prompt(number, name), session=about.id)])
    receipt = store.keeping.forget_session(ANN, S, at=T0)
    assert receipt.counts["sessions"] == 3
    assert [one.id for one in store.sessions.find(ANN, limit=10)] == ["claude:fork"]


def test_of_a_request_written_several_times_the_largest_counts_once(store: Store) -> None:
    def cost(output: int, **more: object) -> Cost:
        return Cost(stable_key("c"), S, T0, "opus", input=10, cache_read=5, output=output, **more)  # type: ignore[arg-type]

    for output in (7, 61, 20):
        store.captures.ingest(ANN, FACTS, [prompt(0, "hello")], [cost(output)])
    assert [(one.input, one.cache_read, one.output, one.tokens) for one in store.captures.costs(ANN, S)] == [
        (10, 5, 61, 76)
    ]
    assert store.captures.costs(BOB, S) == []


def test_coverage_holds_the_file_against_the_rows(store: Store) -> None:
    asked = [prompt(0, "one"), prompt(1, "two"), prompt(2, "three"), prompt(3, "private")]
    keys = tuple(one.key for one in asked)
    store.captures.ingest(ANN, FACTS, asked[:2], transcript=seen(*keys, withheld=keys[3:], counts={"bad_lines": 2}))
    (found,) = store.captures.coverage(ANN)
    assert (found.stored, found.forgotten, found.missing) == (2, 0, keys[2:3])
    assert dict(found.ways) == {keys[0]: "sweep", keys[1]: "sweep"}
    assert found.seen.counts == {"bad_lines": 2}
    assert store.captures.coverage(BOB) == []
    store.keeping.forget_session(ANN, S, at=T0)
    store.captures.note(ANN, seen(*keys))  # the file is still there, and is read again
    (found,) = store.captures.coverage(ANN)
    assert (found.stored, found.forgotten) == (0, 2)


def test_what_was_read_of_a_file_is_remembered_with_the_events_or_not_at_all(store: Store) -> None:
    mark = seen(fingerprint="1:2:3", complete_to=99)
    store.captures.ingest(ANN, FACTS, [prompt(0, "hello")], transcript=replace(mark, state="reading", fingerprint=""))
    there = store.captures.seen(ANN, mark.name)
    assert there is not None
    assert (there.state, there.fingerprint) == ("reading", "")
    store.captures.ingest(ANN, FACTS, [], transcript=mark)
    assert store.captures.seen(ANN, mark.name) == mark
    assert store.captures.seen(ANN, "/logs/other.jsonl") is None
    assert store.captures.seen(BOB, mark.name) is None


def test_agents_files_are_an_owners_not_a_projects(store: Store) -> None:
    inside = ANN.within("apollo")
    for call in (
        lambda: store.captures.seen(inside, "x"),
        lambda: store.captures.note(inside, seen()),
        lambda: store.captures.coverage(inside),
    ):
        with pytest.raises(ScopeError):
            call()


def test_a_digest_is_due_until_it_knows_the_last_event(store: Store) -> None:
    events = [prompt(0, "fix it"), happened(1, "done")]
    store.captures.ingest(ANN, FACTS, events)
    assert store.digests.due(ANN, version=DIGEST_VERSION) == [S]
    digest = digest_of(FACTS, events, ())
    store.digests.put(ANN, digest, covers=1, at=T0)
    assert store.digests.due(ANN, version=DIGEST_VERSION) == []
    assert store.digests.due(ANN, version=DIGEST_VERSION + 1) == [S]
    assert store.digests.get(ANN, S) == digest
    kept = store.sessions.get(ANN, S)
    assert kept is not None
    assert kept.outcome == digest.outcome
    store.captures.ingest(ANN, FACTS, [happened(2, "more")])
    assert store.digests.due(ANN, version=DIGEST_VERSION) == [S]


def test_recorded_conversations_have_no_digest_due(store: Store) -> None:
    store.sessions.append(ANN, [event("chat:1", 0, "hello")])
    assert store.digests.due(ANN, version=DIGEST_VERSION) == []
    with pytest.raises(NotFound):
        store.digests.put(ANN, digest_of(Session("chat:nobody", "chat"), (), ()), covers=0, at=T0)


def big(number: int, word: str) -> Event:
    return happened(number, f"{word} …", bodies=(body_of(word.encode() * 1_000, "text/plain"),))


def test_a_body_is_kept_apart_once_and_comes_back_whole(store: Store) -> None:
    store.captures.ingest(ANN, FACTS, [prompt(0, "hello"), big(1, "walrus"), big(2, "walrus")])
    (body,) = store.sessions.history(ANN, S)[1].bodies
    assert (body.media, body.size, body.data) == ("text/plain", 6_000, None)
    assert store.bodies.get(ANN, body.hash) == b"walrus" * 1_000
    assert store.bodies.get(BOB, body.hash) is None
    assert store.bodies.get(ANN.within("zeus"), body.hash) is None
    assert len(store.bodies.use(ANN)) == 1


def test_no_body_goes_before_its_session_has_a_digest(store: Store) -> None:
    """P30."""
    events = [prompt(0, "hello"), big(1, "walrus")]
    store.captures.ingest(ANN, FACTS, events)
    body = events[1].bodies[0].hash
    assert store.bodies.evict(ANN, S, at=T0).bytes == 0
    assert store.bodies.get(ANN, body) is not None
    store.digests.put(ANN, digest_of(FACTS, events, ()), covers=1, at=T0)
    (use,) = store.bodies.use(ANN)
    assert use.digested
    assert store.bodies.evict(ANN, S, at=T0) == (use.bytes, ())
    assert store.bodies.get(ANN, body) is None
    assert store.bodies.use(ANN) == []
    row = store.sessions.history(ANN, S)[1]
    assert (row.text, row.bodies[0].hash, row.bodies[0].size) == ("walrus …", body, 6_000)


def test_a_body_that_another_undigested_session_shares_stays(store: Store) -> None:
    events = [prompt(0, "hello"), big(1, "walrus")]
    store.captures.ingest(ANN, FACTS, events)
    other = replace(big(3, "walrus"), session="claude:2")
    store.captures.ingest(ANN, Session("claude:2", "claude"), [other])
    store.digests.put(ANN, digest_of(FACTS, events, ()), covers=1, at=T0)
    assert store.bodies.evict(ANN, S, at=T0).bytes == 0
    assert store.bodies.get(ANN, events[1].bodies[0].hash) is not None


def test_the_hard_way_takes_even_what_has_no_digest(store: Store) -> None:
    store.captures.ingest(ANN, FACTS, [prompt(0, "hello"), big(1, "walrus")])
    assert store.bodies.evict(ANN, S, at=T0, undigested=True).undigested == (S,)
    assert store.bodies.use(ANN) == []


def test_the_retention_clock_never_jumps(store: Store) -> None:
    """T32."""
    start = store.bodies.tick(T0)
    assert store.bodies.tick(minute(5)) == start + 300
    assert store.bodies.tick(T0 - timedelta(days=9_000)) == start + 300
    assert store.bodies.tick(LATER + timedelta(days=9_000)) <= start + 300 + 86_400


def test_blocks_that_were_injected_are_known_again(store: Store) -> None:
    store.captures.injected(ANN, ["ab" * 32], at=T0)
    store.captures.injected(ANN, ["ab" * 32], at=T0)
    assert store.captures.was_injected(ANN, "ab" * 32)
    assert not store.captures.was_injected(ANN, "cd" * 32)
    assert not store.captures.was_injected(BOB, "ab" * 32)


def test_a_session_forgotten_while_it_is_read_stays_forgotten(store: Store) -> None:
    """Asked in the transaction that adds: what the reader checked before does not count."""
    store.captures.ingest(ANN, FACTS, [prompt(0, "hello")])
    store.keeping.forget_session(ANN, S, at=T0)
    done = store.captures.ingest(ANN, FACTS, [prompt(1, "my secret plan")], transcript=seen(prompt(1, "").key))
    assert (done.added, done.forgotten) == (0, 1)
    assert store.sessions.get(ANN, S) is None
    (found,) = store.captures.coverage(ANN)
    assert (found.seen.state, found.missing) == ("withheld", ())
    child = Session("claude:1/agent-x", "claude", parent=S, relation="subagent")
    assert store.captures.ingest(ANN, child, [replace(prompt(2, "plan"), session=child.id)]).added == 0


def test_a_digest_is_due_again_when_a_cost_or_a_changed_text_comes_later(store: Store) -> None:
    events = [prompt(0, "fix it"), happened(1, "do")]
    store.captures.ingest(ANN, FACTS, events)

    def made() -> None:
        store.digests.put(ANN, digest_of(FACTS, events, store.captures.costs(ANN, S)), covers=1, at=T0)
        assert store.digests.due(ANN, version=DIGEST_VERSION) == []

    made()
    cost = Cost(stable_key("c"), S, T0, "opus", input=10, output=7)
    store.captures.ingest(ANN, FACTS, [], [cost])
    assert store.digests.due(ANN, version=DIGEST_VERSION) == [S]
    made()
    store.captures.ingest(ANN, FACTS, events, [cost])  # nothing new
    assert store.digests.due(ANN, version=DIGEST_VERSION) == []
    store.captures.ingest(ANN, FACTS, [happened(1, "done at last")])
    assert store.digests.due(ANN, version=DIGEST_VERSION) == [S]


def test_the_body_of_an_imported_event_comes_when_its_file_is_read(store: Store) -> None:
    whole = big(1, "walrus")
    store.sessions.append(ANN, [prompt(0, "hello"), replace(whole, bodies=())])
    store.captures.ingest(ANN, FACTS, [whole])
    assert store.bodies.get(ANN, whole.bodies[0].hash) == b"walrus" * 1_000
    assert [body.hash for body in store.sessions.history(ANN, S)[1].bodies] == [whole.bodies[0].hash]
