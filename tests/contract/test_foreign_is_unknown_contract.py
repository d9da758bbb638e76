"""P34, P37, T11: what belongs to somebody else is answered exactly as what nobody ever had.

The same answer, the same error, and the same queries on the way to it: neither words nor counts nor time tell an id
that another has from one that was made up.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import pytest

from recollect.capture.bodies import body_of
from recollect.errors import RecollectError
from recollect.ids import stable_key, uuid7
from recollect.model import TIERS, Memory, Scope, Session, Tier
from recollect.store.port import Store
from recollect.store.ports.capture import Seen
from recollect.store.ports.distill import Caps, Charge
from recollect.store.ports.memories import Filter
from recollect.store.ports.search import TermWeights
from recollect.store.postgres.tx import PostgresTx
from recollect.store.sqlite.database import SqliteTx
from recollect.store.sqlite.store import SqliteStore
from tests.contract.samples import ANN, BOB, EVE, LATER, T0, TINY, by_words, embed_waiting, event, gist, memory, talk

OTHERS = {"of the same tenant": BOB, "of another tenant": EVE, "in another project": ANN.within("zeus")}
ME = {"of the same tenant": ANN, "of another tenant": ANN, "in another project": ANN.within("apollo")}
CAPS = Caps(tokens=10**9, usd=10**6)
QUESTION = TINY.embed(["walrus"])[0]


@dataclass(frozen=True)
class Ids:
    """Everything by which something can be asked for."""

    session: str
    turn: str
    memory: Memory
    body: str
    ticket: int
    transcript: str
    slot: str
    injected: str
    docs: dict[str, list[int]]


def fill(store: Store, scope: Scope, word: str) -> Ids:
    """Something of everything."""
    session = f"chat:{word}"
    events = talk(session, f"walrus {word}", "assistant: yes", f"walrus again {word}")
    store.sessions.append(scope, events)
    body = body_of(word.encode() * 10, "text/plain")
    big = replace(event(session, 7, "big", key=stable_key(word)), way="sweep", bodies=(body,))
    name, injected = f"/logs/{word}.jsonl", stable_key("injected", word)
    store.captures.ingest(scope, Session(session, "chat"), [big])
    store.captures.note(scope.within(None), Seen(name, "chat", session, "read", T0))
    store.captures.injected(scope.within(None), [injected], at=T0)
    store.gists.put(scope, gist(session, f"walrus {word}"))
    kept, _ = store.memories.add(
        scope, memory(f"walrus {word}", project=scope.project, session=session, slot=f"{word} slot", tags=(word,))
    )
    ticket = store.ledger.reserve(scope, Charge("session", "m", 1, 1, 0.1, T0, scope.project), CAPS)
    assert ticket is not None
    embed_waiting(store)
    docs = {tier: [match.doc for match in by_words(store, scope, tier, word)] for tier in TIERS}
    assert all(docs.values())
    return Ids(session, events[0].key, kept, body.hash, ticket, name, f"{word} slot", injected, docs)


def made_up(like: Ids) -> Ids:
    """Ids of the same form that nobody has."""
    return Ids(
        "chat:never",
        stable_key("never"),
        replace(like.memory, id=uuid7(), session="chat:never", slot="never slot"),
        body_of(b"never", "text/plain").hash,
        like.ticket + 10**6,
        "/logs/never.jsonl",
        "never slot",
        stable_key("injected", "never"),
        {tier: [doc + 10**6 for doc in docs] for tier, docs in like.docs.items()},
    )


Ask = Callable[[Store, Scope, Ids], Any]
ASKED: dict[str, Ask] = {
    "sessions.get": lambda s, me, it: s.sessions.get(me, it.session),
    "sessions.history": lambda s, me, it: s.sessions.history(me, it.session),
    "sessions.turn": lambda s, me, it: s.sessions.turn(me, it.turn),
    "captures.seen": lambda s, me, it: s.captures.seen(me, it.transcript),
    "captures.costs": lambda s, me, it: s.captures.costs(me, it.session),
    "captures.was_injected": lambda s, me, it: s.captures.was_injected(me, it.injected),
    "digests.get": lambda s, me, it: s.digests.get(me, it.session),
    "distillations.get": lambda s, me, it: s.distillations.get(me, it.session),
    "ledger.settle": lambda s, me, it: s.ledger.settle(me, it.ticket, Charge("session", "m", 1, 1, 0.0, T0)),
    "bodies.get": lambda s, me, it: s.bodies.get(me, it.body),
    "bodies.evict": lambda s, me, it: s.bodies.evict(me, it.session, at=LATER, undigested=True),
    "gists.get": lambda s, me, it: s.gists.get(me, it.session),
    "gists.put": lambda s, me, it: s.gists.put(me, gist(it.session, "taken over")),
    "gists.unsummarized": lambda s, me, it: s.gists.unsummarized(me, it.session),
    "gists.lease": lambda s, me, it: s.gists.lease(me, it.session, now=T0, until=LATER),
    "gists.release": lambda s, me, it: s.gists.release(me, it.session),
    "memories.get": lambda s, me, it: s.memories.get(me, it.memory.id),
    "memories.versions": lambda s, me, it: s.memories.versions(me, it.memory.id),
    "memories.replaced": lambda s, me, it: s.memories.replaced(me, it.memory.id),
    "memories.of_session": lambda s, me, it: s.memories.of_session(me, it.session),
    "memories.in_slot": lambda s, me, it: s.memories.in_slot(me, it.slot, history=True),
    "memories.from_source": lambda s, me, it: s.memories.from_source(me, it.session),
    "memories.touch": lambda s, me, it: s.memories.touch(me, {it.memory.id: 1}, at=LATER),
    "memories.update": lambda s, me, it: s.memories.update(me, it.memory, at=LATER, note="edit"),
    "memories.find": lambda s, me, it: s.memories.find(me, Filter(now=LATER, session=it.session), limit=9),
    "search.lexical": lambda s, me, it: s.search.lexical(
        me, "turn", ["walrus"], Filter(now=LATER, session=it.session), 9
    ),
    "search.semantic": lambda s, me, it: s.search.semantic(
        me, "turn", QUESTION, Filter(now=LATER, session=it.session), 9
    ),
    "search.cosines": lambda s, me, it: [s.search.cosines(me, tier, QUESTION, it.docs[tier]) for tier in TIERS],
    "search.vectors": lambda s, me, it: [s.search.vectors(me, tier, it.docs[tier]) for tier in TIERS],
    "search.documents": lambda s, me, it: [s.search.documents(me, tier, it.docs[tier]) for tier in TIERS],
    "search.around": lambda s, me, it: s.search.around(me, it.docs["turn"]),
    "browse.extent": lambda s, me, it: s.browse.extent(me, it.session),
    "browse.children": lambda s, me, it: s.browse.children(me, [it.session], limit=9),
    "browse.passages": lambda s, me, it: s.browse.passages(me, it.session, after=-1, first=9, most=99),
    "browse.matching": lambda s, me, it: s.browse.matching(me, it.session, ["walrus"], limit=9),
    "browse.media": lambda s, me, it: s.browse.media(me, it.session, it.body),
    "keeping.forget_memory": lambda s, me, it: s.keeping.forget_memory(me, it.memory.id, at=LATER),
    "keeping.forget_session": lambda s, me, it: s.keeping.forget_session(me, it.session, at=LATER),
    "keeping.forgotten": lambda s, me, it: s.keeping.forgotten(me, it.session),
}
# A session's id is the owner's: in another project of theirs it is known to be taken, and stays as it is.
OF_THE_OWNER = {"captures.seen", "captures.was_injected"}


@contextmanager
def queries(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """The names of the queries that are run meanwhile."""
    names: list[str] = []
    with monkeypatch.context() as patch:
        for kind in (PostgresTx, SqliteTx):
            run = kind.run

            def noted(self: Any, query: str, *rest: Any, _run: Any = run) -> Any:
                names.append(query)
                return _run(self, query, *rest)

            patch.setattr(kind, "run", noted)
        yield names


def answer(store: Store, me: Scope, it: Ids, ask: Ask) -> str:
    """What is said, without the ids that were asked for."""
    try:
        said = repr(ask(store, me, it))
    except RecollectError as error:
        said = f"{type(error).__name__}: {error} {error.hint}"
    for id_ in (it.session, it.turn, it.memory.id, it.body, it.transcript, it.slot, it.injected, str(it.ticket)):
        said = said.replace(id_, "ID")
    return said


@pytest.mark.parametrize("whose", OTHERS)
@pytest.mark.parametrize("name", ASKED)
def test_what_another_has_is_answered_as_what_nobody_has(
    store: Store, monkeypatch: pytest.MonkeyPatch, whose: str, name: str
) -> None:
    if whose == "in another project" and name in OF_THE_OWNER:
        pytest.skip("belongs to the owner, in whatever project")
    me = ME[whose]
    fill(store, me, "penguin")
    theirs = fill(store, OTHERS[whose], "albatross")
    answer(store, me, made_up(theirs), ASKED[name])  # what is looked up once and remembered is remembered
    with queries(monkeypatch) as for_theirs:
        said = answer(store, me, theirs, ASKED[name])
    with queries(monkeypatch) as for_nobodys:
        unknown = answer(store, me, made_up(theirs), ASKED[name])
    assert said == unknown
    assert "albatross" not in said
    assert for_theirs == for_nobodys, "the way to the answer tells them apart"


@pytest.mark.parametrize("name", ASKED)
def test_what_one_has_oneself_is_answered_otherwise(store: Store, name: str) -> None:
    """Else the test above would show nothing."""
    mine = fill(store, ANN, "penguin")
    if name in (
        "browse.children",
        "captures.costs",
        "digests.get",
        "distillations.get",
        "memories.versions",
        "memories.replaced",
    ):
        pytest.skip("nothing there to be answered")
    if name in ("gists.put", "gists.release", "memories.touch", "keeping.forgotten"):
        pytest.skip("says nothing, or nothing else")
    assert answer(store, ANN, mine, ASKED[name]) != answer(store, ANN, made_up(mine), ASKED[name])


def test_no_count_is_of_others(store: Store) -> None:
    """How many there are, and how rare a word is, is worked out from one's own alone."""
    mine = fill(store, ANN, "penguin")

    def weights(tier: Tier) -> TermWeights:
        found = store.search.weigh(ANN, tier, ["walrus", "penguin", "albatross"])
        # The embedded store scores with the row count of its one index: how much is in the whole file.
        return replace(found, scored=0.0) if isinstance(store, SqliteStore) else found

    def figures() -> list[Any]:
        return [
            *(store.search.population(ANN, tier) for tier in TIERS),
            *(weights(tier) for tier in TIERS),
            store.memories.marks(ANN, now=LATER),
            store.ledger.spent(ANN, since=T0),
            store.bodies.use(ANN),
            len(store.captures.coverage(ANN)),
            store.search.cosines(ANN, "memory", QUESTION, mine.docs["memory"]),
        ]

    before = figures()
    for scope in (BOB, EVE):
        for number in range(5):
            fill(store, scope, f"albatross{number}")
    assert figures() == before
