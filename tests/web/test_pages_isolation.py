"""Nobody sees or changes anybody else's through a page: two tenants, two users, two projects, and every route there is.

Everything of an owner holds a word that is never sent. Whatever a page answers to somebody else must not hold it,
whichever ids, names and words of that owner are sent: they are sent on purpose. The routes are those of the app. A
form without an id in its address must stand in `FORMS`, an id in an address must have a name in `Things`.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import quote

import pytest
from starlette.testclient import TestClient

from recollect.ids import stable_key
from recollect.model import Cost, Scope, Session
from recollect.pipeline.digests import digest_due
from recollect.settings import load
from recollect.store.ports.capture import Seen
from recollect.store.ports.learn import Pattern, Rollout, Sighting
from tests.contract.samples import event
from tests.http.test_gate import MATRIX
from tests.http.test_gate import PUBLIC as OPEN_TO_PROGRAMS
from tests.web.conftest import Web

Open = Callable[..., Web]
OWN = ("read", "write", "delete", "speak", "admin")
OWNERS = {
    "acme-ann": Scope("acme", "ann"),
    "acme-bob": Scope("acme", "bob"),
    "other-ann": Scope("other", "ann"),
    "shop": Scope("parted", "ann", "shop"),
    "farm": Scope("parted", "ann", "farm"),
}
WORDS = {"acme-ann": "aardvark", "acme-bob": "buffalo", "other-ann": "eland", "shop": "hedgehog", "farm": "walrus"}
PUBLIC = {("GET", "/"), ("GET", "/page/enter"), ("POST", "/page/enter"), ("GET", "/page/static/{name}")}
LASTING = ("GET", "/page/live/events")  # it never ends: tried by itself below
NOBODY = "0199aaaa-0000-7000-8000-000000000000"
# What is sent with every GET, one after the other.
QUERIES = (
    {},
    {"q": "{word}", "anyway": "1", "archived": "1", "history": "1"},
    {"forgotten": "1"},
    {"forgotten": "1", "q": "{word}", "project": "{project}"},
    {"tag": "{word}"},
    {"project": "{project}"},
    {"session": "{session_id}"},
    {"at": "{event}"},
    {"memory": "{memory_id}"},
    {"context": "{context}"},
    {"user": "{user}"},
    {"days": "365", "agent": "claude"},
    {"into": "{pattern_id}"},
)
# What is sent with a form whose address names nothing.
FORMS: dict[str, list[dict[str, Any]]] = {
    "/page/leave": [],  # it ends a visit, and nothing else
    "/page/remember": [{"content": "hm", "kind": "note", "project": "{project}"}],
    "/page/control/projects": [{"name": "{project}", "on": "no"}],
    "/page/control/keys": [{"days": "7", "permission": "read", "name": "x"}],
    "/page/control/quota": [{"user": "{user}", "memories": "1"}],
    "/page/control/retention": [{"job": "archive", "do": "run"}],
    "/page/control/models": [{"tokens": "1"}],
    "/page/control/shared": [{"context": "{context}", "do": do} for do in ("join", "leave")],
    "/page/control/shared/proposals": [
        {"context": "{context}", "proposal": "{proposal}", "do": do} for do in ("approve", "reject", "withdraw")
    ],
    "/page/control/agents": [{}],
    "/page/patterns/work": [{"do": do, "back": "{pattern_id}"} for do in ("refresh", "measure")],
}
# What is sent with every other form: enough for any of them to do what it does.
FIELDS: dict[str, Any] = {
    "content": "hm",
    "kind": "note",
    "version": "1",
    "number": "1",
    "importance": "0.5",
    "verdict": "helpful",
    "how": "good",
    "reason": "because",
    "statement": "hm",
    "rule": "hm",
    "target": "memory",
    "project": "{project}",
    "into": "{pattern_id}",
    "sure": "yes",
}


@dataclass
class Things:
    """What one owner has, by the names that stand in addresses and forms; `hidden` is never sent."""

    word: str
    hidden: str
    user: str
    project: str
    memory_id: str
    session_id: str
    pattern_id: str
    rollout_id: str
    key_id: str
    event: str
    context: str
    proposal: str
    task_id: str

    @property
    def event_id(self) -> str:
        return self.event

    @property
    def event_key(self) -> str:
        return self.event


def seeded(one: Web, *names: str) -> dict[str, Things]:
    return {name: _things(one, OWNERS[name], WORDS[name]) for name in names}


def _things(one: Web, scope: Scope, word: str) -> Things:
    store, at, hidden = one.serving.store, one.clock(), f"{word[::-1]}qx"
    owner, memory = scope.within(None), one.serving.memory(scope)
    project = scope.project or f"{word}-project"
    session = f"claude:{word}"
    said = [event(session, 1, f"Where does the {word} {hidden} sleep?"), event(session, 2, f"At {hidden}", "assistant")]
    said = [replace(each, way="sweep") for each in said]
    about = Session(session, "claude", title=f"The {word} {hidden}", project=project, cwd=f"/src/{hidden}")
    seen = Seen(f"/logs/{hidden}", "claude", session, "read", at, counts={f"withheld:secret:{hidden}": 1})
    cost = Cost(stable_key(session, "cost"), session, at, f"model-{hidden}", input=5, usd=0.1, usd_source="catalog")
    store.captures.ingest(owner, about, said, [cost], transcript=seen)
    digest_due(store, owner, one.clock)
    kept = one.serving.memory(owner.within(project)).remember(
        f"The {word} {hidden} sleeps at noon", "fact", tags=[word, f"{hidden}tag"], session=session
    )
    memory.update(kept.id, why=f"because {hidden}")
    gone = one.serving.memory(owner.within(project)).remember(f"The {word} {hidden} sleeps no more", "note")
    memory.forget(gone.id, soft=True)
    memory.summarize(session)
    pattern, rollout = _pattern(one, owner, project, session, word, hidden)
    key = store.keys.create(scope, at=at, name=f"key {hidden}").key.id
    context, proposal = _shared(one, owner.within(project), word, hidden)
    task = store.tasks.put(owner, "distill", session, at=at)
    return Things(
        word, hidden, scope.user, project, kept.id, session, pattern, rollout, key, said[0].key, context, proposal, task
    )


def _pattern(one: Web, owner: Scope, project: str, session: str, word: str, hidden: str) -> tuple[str, str]:
    at, name = one.clock(), stable_key(word)[:32]
    sight = Sighting(session, "claude", project, at, statement=f"{word} {hidden}", events=(stable_key(session, "1"),))
    found = Pattern(
        name, "error", word, f"The {word} {hidden} fails", "outcome", at, at,
        rule=f"Feed {hidden}", signals=3, sessions=1, flavors=("claude",), projects=(project,),
    )  # fmt: skip
    one.serving.store.patterns.put(owner, found, at=at, was=None, evidence=[sight])
    rolled = Rollout(stable_key(word, "r")[:32], name, 1, "memory", NOBODY, at, project, "in", f"Feed {hidden}")
    one.serving.store.patterns.put_rollout(owner, rolled)
    return name, rolled.id


def _shared(one: Web, owner: Scope, word: str, hidden: str) -> tuple[str, str]:
    """Of those two who are one person in two projects the context is one, too."""
    memory = one.serving.memory(owner)
    known = [each for each in memory.contexts.mine() if each.joined_at is not None]
    context = known[0] if known else memory.contexts.create(f"{word}-team", reviewed=True, own_approval=True)
    mine = memory.remember(f"We keep {hidden} for the team", "decision")
    return context.id, memory.contexts.propose(mine.id, context.id, f"for {hidden}").id


def routes(one: Web) -> Iterator[tuple[str, Any]]:
    """Method and route of every page."""
    for route in one.served.pages.routes:  # type: ignore[attr-defined]
        for method in sorted(route.methods):
            yield method, route


def filled(value: Any, things: Things) -> Any:
    return {name: text.format(**_names(things)) for name, text in value.items()}


def _names(things: Things) -> dict[str, str]:
    return {name: getattr(things, name) for name in dir(things) if not name.startswith("_")}


def path_of(route: Any, things: Things) -> str:
    """The address of a route with somebody's ids in it; a name that nobody has fails here."""
    return str(route.path_format.format(**{name: quote(value, safe="") for name, value in _names(things).items()}))


def nowhere(route: Any) -> str:
    return re.sub(r"\{[^}]+\}", NOBODY, route.path)


def state(one: Web, scope: Scope) -> list[Any]:
    """All that could be changed of somebody's."""
    store, owner = one.serving.store, scope.within(None)
    contexts = [(each, store.contexts.proposals(owner, each.id, limit=50)) for each in store.contexts.mine(owner)]
    keys = [replace(key, last_used_at=None) for key in store.keys.find(owner)]
    patterns = [(each, store.patterns.versions(owner, each.id)) for each in store.patterns.find(owner, limit=50)]
    audit = [entry.subject for entry in store.audit.find(owner, limit=1_000) if entry.action != "export"]
    return [list(one.serving.memory(owner).export())[1:], contexts, keys, patterns, store.quotas.get(owner).own, audit]


@pytest.mark.usefixtures("each_store")
@pytest.mark.parametrize(("thief", "victim"), [("acme-bob", "acme-ann"), ("other-ann", "acme-ann"), ("shop", "farm")])
def test_no_page_shows_or_changes_anything_of_somebody_else(web: Open, thief: str, victim: str) -> None:
    one = web(hosted=True, serve_rate_per_minute=0, serve_rate_per_ip_per_minute=0)
    scope, things = OWNERS[thief], seeded(one, thief, victim)[victim]
    browser = one.visitor(one.key(*OWN, tenant=scope.tenant, user=scope.user, project=scope.project))
    token, before = one.csrf(browser), _of_victim(one, thief, victim)
    for method, route in routes(one):
        if (method, route.path) in {LASTING, ("POST", "/page/leave"), *PUBLIC}:
            continue
        for answer in _tried(browser, token, method, route, things):
            shown = (method, str(answer.request.url), answer.status_code, answer.text[:300])
            assert answer.status_code < 500, shown
            assert things.hidden not in answer.text, shown
            if "{" in route.path:
                assert answer.status_code == 404, shown
    assert _of_victim(one, thief, victim) == before, "nothing of theirs was changed"


def _of_victim(one: Web, thief: str, victim: str) -> list[Any]:
    """What could be changed; of somebody's other project what it holds, since all else is that person's own."""
    if victim == "farm":
        return list(one.serving.memory(OWNERS[victim]).export())[1:]
    return state(one, OWNERS[victim])


def _tried(browser: TestClient, token: str, method: str, route: Any, things: Things) -> Iterator[Any]:
    path = path_of(route, things)
    if method == "GET":
        for query in QUERIES:
            if not query or "{" not in route.path or query.keys() & {"q", "at"}:
                yield browser.get(path, params=filled(query, things) or None)
        return
    for fields in FORMS[route.path] if "{" not in route.path else [FIELDS]:
        yield browser.post(path, data={"csrf": token, **filled(fields, things)})


def test_each_of_them_sees_their_own(web: Open) -> None:
    """Else the test above would be met by pages that show nothing."""
    one = web(hosted=True, serve_rate_per_minute=0, serve_rate_per_ip_per_minute=0)
    things = seeded(one, "acme-ann")["acme-ann"]
    browser, shown = one.visitor(one.key(*OWN)), set()
    for method, route in routes(one):
        if method == "GET" and (method, route.path) not in {LASTING, *PUBLIC}:
            answers = list(_tried(browser, "", method, route, things))
            if any(things.hidden in answer.text for answer in answers):
                shown.add(route.path)
    assert things.hidden in browser.get("/memory?forgotten=1").text
    lists = {"/memory", "/page/suggest", "/page/sessions", "/page/patterns", "/page/insights", "/page/live"}
    wanted = {*lists, "/page/memories/{memory_id}", "/page/sessions/{session_id:path}", "/page/patterns/{pattern_id}"}
    assert shown >= {*wanted, "/page/control/keys", "/page/control/privacy", "/page/control/shared"}


def test_every_form_is_tried_and_every_name_in_an_address_is_known(web: Open) -> None:
    one = web()
    forms = {route.path for method, route in routes(one) if method == "POST" and "{" not in route.path}
    assert forms - {"/page/enter"} == FORMS.keys()
    names = {name for _, route in routes(one) for name in route.param_convertors}
    assert names <= {*Things.__annotations__, "event_id", "event_key", "name"}


def test_every_page_says_what_it_needs(web: Open) -> None:
    one = web()
    needs = one.served.pages.state.needs  # type: ignore[attr-defined]
    assert {(method, route.path) for method, route in routes(one)} == set(needs)
    assert {entry for entry, need in needs.items() if need is None} == PUBLIC
    assert {need for (method, _), need in needs.items() if method == "POST"} <= {None, "read", *OWN}
    changing = {path for (method, path), need in needs.items() if method == "POST" and need == "read"}
    assert changing == {"/page/leave"}


# -- the door ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("hosted", [False, True], ids=["local", "hosted"])
def test_whoever_did_not_come_in_gets_nothing(web: Open, hosted: bool) -> None:
    """Without a cookie, with a key instead of one, with a cookie that nobody was given."""
    one = web(hosted=hosted, serve_rate_per_ip_per_minute=0)
    cookie = "recollect-8010="
    for headers in ({}, one.auth(), {"Authorization": f"Bearer {one.secret}"}, {"Cookie": cookie + "x" * 43}):
        browser = one.nobody(**headers)
        for method, route in routes(one):
            if (method, route.path) in PUBLIC:
                continue
            answer = browser.request(method, nowhere(route), data={"csrf": "0" * 40} if method == "POST" else None)
            if answer.status_code == 429 and "Cookie" in headers:
                continue  # whoever guesses that often is not even asked to come in
            if method == "GET":
                assert answer.status_code == 303, route.path
                assert answer.headers["location"].startswith("/page/enter?next=/")
            else:
                assert answer.status_code == 401, route.path


def test_old_cookies_do_not_shut_out_whoever_came_in(web: Open) -> None:
    """Another window whose visit is over asks again and again, from the same machine."""
    one = web()
    old = one.nobody(Cookie="recollect-8010=" + "x" * 43)
    assert {old.get("/page/control").status_code for _ in range(30)} == {303, 429}
    assert one.browser.get("/page/control").status_code == 200
    assert one.visitor().get("/page/control").status_code == 200


def test_a_cookie_opens_no_route_for_programs(web: Open) -> None:
    one = web()
    for route in one.app.routes:
        for method in route.methods:  # type: ignore[attr-defined]
            if (method, route.path) not in OPEN_TO_PROGRAMS and route.path != "/memory":  # type: ignore[attr-defined]
                answer = one.browser.request(method, nowhere(route), json={} if method in ("POST", "PATCH") else None)
                assert answer.status_code == 401, (method, route)


def test_sixteen_rows_on_every_page(web: Open) -> None:
    """T17: a page of another site can neither read nor change anything, whatever name it makes point here."""
    one = web()
    foreign = ("is not served here", "pages of other sites are not served", "Pages of other sites are not served")
    for changes, status in MATRIX:
        headers = {name: value for name, value in changes.items() if value is not None}
        for method, route in routes(one):
            if (method, route.path) == LASTING and status != 403:
                continue
            data = {} if method == "POST" else None
            answer = one.browser.request(method, nowhere(route), headers=headers, data=data)
            refused = answer.status_code == 403 and any(said in answer.text for said in foreign)
            assert refused is (status == 403), (changes, method, route.path, answer.status_code, answer.text[:200])
            assert "access-control-allow-origin" not in answer.headers


def test_a_form_of_another_visit_changes_nothing(web: Open) -> None:
    one = web()
    things = _things(one, one.memory.scope, "otter")
    before = state(one, one.memory.scope)
    other = {"csrf": one.csrf(one.visitor())}
    for sent in ({}, {"csrf": ""}, {"csrf": "0" * 40}, other):
        for method, route in routes(one):
            if method != "POST" or (method, route.path) in PUBLIC:
                continue
            for fields in (FORMS[route.path] or [{}]) if "{" not in route.path else [FIELDS]:
                answer = one.browser.post(path_of(route, things), data={**filled(fields, things), **sent})
                assert answer.status_code == 403, route.path
    assert one.browser.get("/page/control").status_code == 200
    assert state(one, one.memory.scope) == before
    assert not load().config_file.exists()


def test_a_key_that_may_only_read_changes_nothing(web: Open) -> None:
    one = web(hosted=True, serve_rate_per_minute=0, serve_rate_per_ip_per_minute=0)
    things = _things(one, OWNERS["acme-ann"], "otter")
    browser = one.visitor(one.key("read"))
    token, before = one.csrf(browser), state(one, OWNERS["acme-ann"])
    for method, route in routes(one):
        if method != "POST" or route.path in ("/page/leave", "/page/enter"):
            continue
        for fields in FORMS[route.path] if "{" not in route.path else [FIELDS]:
            answer = browser.post(path_of(route, things), data={"csrf": token, **filled(fields, things)})
            assert answer.status_code == 403, (route.path, answer.status_code)
    assert state(one, OWNERS["acme-ann"]) == before


# -- what never ends ---------------------------------------------------------------------------------------------------


def test_whoever_follows_is_told_of_their_own_alone(web: Open) -> None:
    one = web(hosted=True, serve_rate_per_minute=0, serve_rate_per_ip_per_minute=0)
    ann, bob = (one.visitor(one.key("read", user=user)) for user in ("ann", "bob"))
    store = one.serving.store

    def say(number: int) -> None:
        for user, word in (("ann", "aardvark"), ("bob", "buffalo")):
            said = event(f"chat:{user}", number, f"said by {word}", recorded_at=one.clock())
            store.sessions.append(Scope("acme", user), [said])

    heard = {
        user: asyncio.run(_follow(one, browser, lambda number=number: say(number)))  # type: ignore[misc]
        for number, (user, browser) in enumerate((("ann", ann), ("bob", bob)))
    }
    assert "said by aardvark" in heard["ann"]
    assert "buffalo" not in heard["ann"]
    assert "said by buffalo" in heard["bob"]
    assert "aardvark" not in heard["bob"]


async def _follow(one: Web, browser: TestClient, say: Callable[[], None], seconds: float = 4.0) -> str:
    """What a stream tells until something was said in it, or for so long."""
    heard: list[bytes] = []
    spoken = asyncio.Event()

    async def send(message: Any) -> None:
        heard.append(message.get("body", b""))
        if b"said by" in heard[-1]:
            spoken.set()

    async def receive() -> Any:
        await asyncio.sleep(3_600)

    cookie = "; ".join(f"{name}={value}" for name, value in browser.cookies.items())
    headers = [(b"host", b"127.0.0.1:8010"), (b"cookie", cookie.encode())]
    scope = {"type": "http", "method": "GET", "path": LASTING[1], "raw_path": LASTING[1].encode(), "query_string": b""}
    scope |= {"headers": headers, "client": ("127.0.0.1", 3), "server": ("127.0.0.1", 8010), "scheme": "http"}
    following = asyncio.create_task(
        one.served({**scope, "http_version": "1.1", "asgi": {"version": "3.0"}}, receive, send)
    )
    await asyncio.sleep(0.3)
    await asyncio.to_thread(say)
    with suppress(TimeoutError):
        await asyncio.wait_for(spoken.wait(), seconds)
    following.cancel()
    await asyncio.gather(following, return_exceptions=True)
    return b"".join(heard).decode()
