"""How fast and how large the pages are with very much in the store, every one of them beside its goal.

    python bench/pages.py [--memories 100000] [--sessions 2000] [--owners 1] [--asks 50] [--stores sqlite,postgres]
                          [--data-dir DIR] [--only WORD] [--profile] [--json FILE]

In: sizes. Out: one table line a page: the 95th percentile of the time the server takes, and the bytes it sends. The
pages are those of the app: one that is not asked for here is named at the end. They are asked in this process, without
a network; each ask is another query, memory or session. The vectors of memories and turns are given (embedding them
takes hours and changes no cost here); questions are embedded by the real model where its weights are.
With `--owners` all that is in the store is divided among so many, and one of them looks. Each page is asked a few times
before, as by somebody who has looked around a little: the vectors of whoever goes on asking are kept at hand.
With `--data-dir` the store is built once and used again; with `--profile` the time of each slow page is taken apart.
"""

from __future__ import annotations

import argparse
import cProfile
import io
import json
import pstats
import random
import re
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

import fastapi.routing
from starlette.testclient import TestClient

from corpus import Corpus
from latency import Report, clocked, percentile
from load import WEIGHTS, MiniLMShaped
from postgres import database
from recollect.capture.bodies import body_of
from recollect.capture.toolcall import describe
from recollect.clock import now
from recollect.facade import Recollect
from recollect.http.serve import spare_collector
from recollect.ids import stable_key
from recollect.model import Cost, Event, Gist, Scope, Session
from recollect.models.port import Embedder
from recollect.pipeline.digests import digest_due
from recollect.recall.meaning import UNSET
from recollect.serving import Serving
from recollect.settings import Settings, load
from recollect.store.opening import open_store
from recollect.store.port import Store
from recollect.store.ports.capture import Seen
from recollect.store.ports.learn import Pattern, Sighting
from recollect.web.address import link_to
from recollect.web.app import Served, create_served
from recollect.web.routes.patterns import EVERYWHERE

BASE = "http://127.0.0.1:8010"
AGENTS = ("claude", "codex", "grok", "gemini")
PROJECTS = tuple(
    f"github.com/acme/{name}" for name in ("shop", "farm", "harbor", "mill", "dock", "barn", "pier", "inn")
)
SMALL, RARE = "github.com/acme/lighthouse", "lantern"  # of a few of the oldest memories
LONG = "claude:long"  # the session of four megabytes
BODIED = "claude:bodied"  # a session of one event, with a body
LONG_BYTES = 4_000_000
BATCH = 1_000
GOAL_MS, LONG_MS = 50.0, 300.0
FIRST_BYTES, BLOCKING_BYTES, LONG_PAGE_BYTES = 100_000, 50_000, 1_000_000
SLOWEST = 14  # lines of a profile
WARM = 12  # asks before the clock runs
# What is never asked here, and why.
LEFT_OUT = {
    "/": "it leads to /memory",
    "/page/live/events": "it lasts as long as somebody follows",
    "/page/control/export/file": "it lasts as long as there is something to read",
    "/page/sessions/{session_id:path}/export": "likewise",
    "/page/static/{name}": "its files are in the size of the first page",
}
Asks = Callable[["Known", random.Random], str]


@dataclass(frozen=True, slots=True)
class Known:
    """What there is in the store, to ask for."""

    memories: Sequence[str]
    sessions: Sequence[str]
    events: Sequence[tuple[str, str]]  # a session and the key of one of its events
    patterns: Sequence[str]
    questions: Sequence[str]
    rollout: tuple[str, str]  # a pattern and where it was put
    body: str  # of the event of `BODIED`


# -- building ----------------------------------------------------------------------------------------------------------


def build(store: Store, scope: Scope, memories: int, sessions: int, seed: int = 7) -> None:
    """Fill a store: sessions with turns, tool calls, costs and digests, one very long one, memories, patterns."""
    corpus, began = Corpus(seed), time.perf_counter()
    names = [take_session(store, scope, corpus, number, sessions) for number in range(sessions - 1)]
    take_long_session(store, scope, corpus)
    told(f"{sessions:,} sessions", began)
    digest_due(store, scope, now)
    told("digests", began)
    made = sorted((corpus.memory() for _ in range(memories)), key=lambda memory: memory.occurred_at)
    made = [replace(memory, **placed(corpus.random, names)) for memory in made]
    made[: len(made) // 2_000] = [replace(one, project=SMALL, tags=(RARE,)) for one in made[: len(made) // 2_000]]
    for at in range(0, memories, BATCH):
        store.memories.add_many(scope, [(memory, ()) for memory in made[at : at + BATCH]])
    told(f"{memories:,} memories", began)
    for number in range(200):
        put_pattern(store, scope, corpus, number, names)
    embed(store)
    told("vectors", began)


def told(what: str, began: float) -> None:
    print(f"built: {what} after {time.perf_counter() - began:.0f} s", file=sys.stderr, flush=True)


def placed(chosen: random.Random, sessions: Sequence[str]) -> dict[str, Any]:
    """Most memories belong to a project, half of them come from a session."""
    session = chosen.choice(sessions) if chosen.random() < 0.5 else None
    trust = chosen.choice(("user", "checked", "quoted"))
    return {"project": chosen.choice((*PROJECTS, None)), "session": session, "trust": trust, "maker": "rules"}


class Telling:
    """A session being told, twenty seconds an event."""

    def __init__(self, session: str, at: datetime) -> None:
        self.session, self.at = session, at
        self.events: list[Event] = []

    def add(self, kind: str, text: str, role: str, meta: dict[str, Any] | None = None) -> None:
        key = stable_key(self.session, str(len(self.events)))
        origin = {"user": "user", "assistant": "assistant", "tool": "tool"}[role]
        made = Event(key, self.session, kind, role, origin, text, self.at, self.at, meta=meta or {}, way="sweep")
        self.events.append(made)
        self.at += timedelta(seconds=20)

    def call(self, tool: str, given: dict[str, Any], output: str, code: int = 0) -> None:
        kind, text, meta = describe(tool, given, f"c{len(self.events)}")
        self.add(kind, text, "assistant", dict(meta))
        self.add("tool_result", output, "tool", {"call": meta["call"], "exit": code, "error": code != 0})


def take_session(store: Store, scope: Scope, corpus: Corpus, number: int, of: int) -> str:
    chosen, flavor = corpus.random, AGENTS[number % len(AGENTS)]
    name = f"{flavor}:{number:05}"
    telling = Telling(name, now() - timedelta(days=180 * (1 - number / of), minutes=chosen.randrange(600)))
    for _ in range(chosen.randint(4, 20)):
        telling.add("user_prompt", corpus.sentence(), "user")
        telling.add("assistant_text", " ".join(corpus.sentences(2)), "assistant")
        path = f"/src/app/{chosen.choice(corpus.words)}.py"
        telling.call("Edit", {"file_path": path, "old_string": "a", "new_string": "b"}, "ok")
        telling.call("Bash", {"command": "pytest -q"}, "2 passed" if chosen.random() < 0.8 else "1 failed", 0)
    telling.add("assistant_text", "Done. " + corpus.sentence(), "assistant")
    keep(store, scope, corpus, telling, flavor, number)
    return name


def take_long_session(store: Store, scope: Scope, corpus: Corpus) -> None:
    telling, size = Telling(LONG, now() - timedelta(days=1)), 0
    while size < LONG_BYTES:
        telling.add("user_prompt", corpus.sentence(), "user")
        telling.add("thinking", " ".join(corpus.sentences(4)), "assistant")
        telling.add("assistant_text", " ".join(corpus.sentences(6)), "assistant")
        output = "\n".join(corpus.sentences(60))
        telling.call("Bash", {"command": "cat log.txt"}, output)
        size += len(output) + 1_800
    keep(store, scope, corpus, telling, "claude", 0)


def keep(store: Store, scope: Scope, corpus: Corpus, telling: Telling, flavor: str, number: int) -> None:
    chosen, name = corpus.random, telling.session
    about = Session(
        name, flavor, corpus.sentence()[:60], PROJECTS[number % len(PROJECTS)], cwd="/src/app", models=("opus",)
    )  # fmt: skip
    costs = [
        Cost(
            *(stable_key(name, "cost", str(n)), name, event.occurred_at, "claude-opus-4-5"),
            input=chosen.randrange(5_000),
            cache_read=chosen.randrange(50_000),
            output=chosen.randrange(2_000),
            usd=chosen.random() / 10,
            usd_source="catalog",
        )
        for n, event in enumerate(telling.events)
        if event.role == "assistant"
    ]
    turns = tuple(event.key for event in telling.events if event.role == "user")
    counts = {"withheld:secret:github": chosen.randrange(3), "withheld:denied": chosen.randrange(2)}
    seen = Seen(f"/logs/{name}.jsonl", flavor, name, "read", telling.at, turns=turns, counts=counts)
    store.captures.ingest(scope, about, telling.events, costs, transcript=seen)
    gist = Gist(name, " ".join(corpus.sentences(3)), len(telling.events) - 1, telling.at, telling.at, maker="rules")
    store.gists.put(scope, gist)


def put_pattern(store: Store, scope: Scope, corpus: Corpus, number: int, sessions: Sequence[str]) -> None:
    shown = corpus.random.sample(list(sessions), min(40, len(sessions)))
    seen = [Sighting(one, one.partition(":")[0], PROJECTS[0], now(), statement=corpus.sentence()) for one in shown]
    pattern = Pattern(
        f"{number:032x}", "error", f"key {number}", corpus.sentence(), "outcome", now() - timedelta(90), now(),
        rule=corpus.sentence(), signals=80, sessions=len(shown), flavors=AGENTS, projects=PROJECTS[:2], seconds=900.0,
        tokens=40_000, usd=1.5, score=corpus.random.random(),
    )  # fmt: skip
    store.patterns.put(scope, pattern, at=now(), was=None, evidence=seen)


def embed(store: Store) -> None:
    """Every text its vectors: as many as it has parts."""
    model = MiniLMShaped()
    while waiting := store.vectors.waiting(BATCH):
        rows = [(item, model.embed([""] * len(item.texts))) for item in waiting]
        store.vectors.put((model.name, model.dim), rows)


def put_rest(settings: Settings, scope: Scope) -> tuple[tuple[str, str], str]:
    """What only single pages show, once however often it is put: a pattern that was rolled out, and a body."""
    body = body_of(b"what a tool printed " * 50, "text/plain")
    said = Event(stable_key(BODIED, "0"), BODIED, "message", "user", "user", "Look at this.", now(), now(), way="sweep")
    with Recollect.open(settings=settings, scope=scope, background=False) as memory:
        memory.store.captures.ingest(scope, Session(BODIED, "claude"), [replace(said, bodies=(body,))], [])
        one = min(found.id for found in memory.store.patterns.find(scope, limit=100))
        memory.patterns.approve(one)
        memory.patterns.roll_out(one, "memory")
        return (one, memory.patterns.rollouts(one)[0].id), body.hash


def known(store: Store, scope: Scope, asks: int, rollout: tuple[str, str], body: str) -> Known:
    """Ids and questions, as many as are asked for."""
    from recollect.store.ports.memories import Filter

    corpus = Corpus(11)
    found = store.memories.find(scope, Filter(now=now()), limit=max(200, asks))
    sessions = [one.id for one in store.sessions.find(scope, limit=max(200, asks)) if one.id not in (LONG, BODIED)]
    events = [(one, store.sessions.history(scope, one, first=3)[-1].key) for one in sessions[:asks]]
    patterns = [one.id for one in store.patterns.find(scope, limit=100)]
    asked = corpus.questions([one.content for one in found])
    questions = [next(asked) for _ in range(max(200, asks))]
    return Known([one.id for one in found], sessions, events, patterns, questions, rollout, body)


# -- asking ------------------------------------------------------------------------------------------------------------


def at(path: str, **query: str) -> str:
    return f"{path}?{urlencode(query)}" if query else path


def session(name: str) -> str:
    return f"/page/sessions/{quote(name, safe='')}"


# Name -> (the route it is of, the address of one ask). What is not `/memory` begins with its address.
PAGES: dict[str, tuple[str, Asks]] = {
    "/memory": ("/memory", lambda has, any_: "/memory"),
    "/memory, a question": ("/memory", lambda has, any_: at("/memory", q=any_.choice(has.questions))),
    "/memory, a word and a kind": (
        "/memory",
        lambda has, any_: at("/memory", q=any_.choice(any_.choice(has.questions).split()), kind="fact"),
    ),
    "/memory, from a day on": ("/memory", lambda has, any_: at("/memory", since=_day(any_))),  # facets counted anew
    "/memory, a project": ("/memory", lambda has, any_: at("/memory", project=any_.choice(PROJECTS))),
    "/memory, a small project": ("/memory", lambda has, any_: at("/memory", project=SMALL)),
    "/memory, a rare tag": ("/memory", lambda has, any_: at("/memory", tag=RARE)),
    "/memory, a tag": ("/memory", lambda has, any_: at("/memory", tag=f"tag{any_.randrange(200)}")),
    "/page/suggest": ("/page/suggest", lambda has, any_: at("/page/suggest", q=any_.choice(has.questions)[:5])),
    "/page/memories/…": ("/page/memories/{memory_id}", lambda has, any_: f"/page/memories/{any_.choice(has.memories)}"),
    "/page/memories/…/forget": (
        "/page/memories/{memory_id}/forget",
        lambda has, any_: f"/page/memories/{any_.choice(has.memories)}/forget",
    ),
    "/page/next": ("/page/next", lambda has, any_: at("/page/next", project=any_.choice(PROJECTS))),
    "/page/sessions": ("/page/sessions", lambda has, any_: "/page/sessions"),
    "/page/sessions, of one agent and project": (
        "/page/sessions",
        lambda has, any_: at("/page/sessions", agent=any_.choice(AGENTS), project=any_.choice(PROJECTS)),
    ),
    "/page/sessions/…": ("/page/sessions/{session_id:path}", lambda has, any_: session(any_.choice(has.sessions))),
    "/page/sessions/… at an event": (
        "/page/sessions/{session_id:path}",
        lambda has, any_: _at_event(*any_.choice(has.events)),
    ),
    "/page/sessions/…, 4 MB": ("/page/sessions/{session_id:path}", lambda has, any_: session(LONG)),
    "/page/sessions/…, 4 MB, searched": (
        "/page/sessions/{session_id:path}",
        lambda has, any_: at(session(LONG), q=any_.choice(has.questions).split()[-1]),
    ),
    "/page/sessions/…/forget": (
        "/page/sessions/{session_id:path}/forget",
        lambda has, any_: f"{session(any_.choice(has.sessions))}/forget",
    ),
    "/page/live": ("/page/live", lambda has, any_: "/page/live"),
    "/page/patterns": ("/page/patterns", lambda has, any_: "/page/patterns"),
    "/page/patterns/…": (
        "/page/patterns/{pattern_id}",
        lambda has, any_: f"/page/patterns/{any_.choice(has.patterns)}",
    ),
    "/page/patterns/…/merge": (
        "/page/patterns/{pattern_id}/merge",
        lambda has, any_: at(f"/page/patterns/{has.patterns[0]}/merge", into=any_.choice(has.patterns[1:])),
    ),
    "/page/patterns/…/roll-out": (
        "/page/patterns/{pattern_id}/roll-out",
        lambda has, any_: at(f"/page/patterns/{has.rollout[0]}/roll-out", to="memory", place=EVERYWHERE),
    ),
    "/page/patterns/…/roll-back": (
        "/page/patterns/{pattern_id}/roll-back",
        lambda has, any_: at(f"/page/patterns/{has.rollout[0]}/roll-back", rollout=has.rollout[1]),
    ),
    "/page/sessions/…/body": (
        "/page/sessions/{session_id:path}/body",
        lambda has, any_: at(f"{session(BODIED)}/body", name=has.body),
    ),
    "/page/insights": ("/page/insights", lambda has, any_: "/page/insights"),
    "/page/insights, a year": ("/page/insights", lambda has, any_: at("/page/insights", days="365")),
    "/page/enter": ("/page/enter", lambda has, any_: "/page/enter"),
}


def _day(chosen: random.Random) -> str:
    """Some day long ago: all that is kept since is nearly everything, and nobody asked for it just before."""
    return (now() - timedelta(days=chosen.randrange(200, 2_000))).date().isoformat()


def _at_event(name: str, key: str) -> str:
    return at(session(name), at=key)


def plain(served: Served) -> dict[str, tuple[str, Asks]]:
    """Pages that need nothing to be named: all that have no hole in their address and are not in the table."""
    named = {route for route, _ in PAGES.values()}
    found = [route.path for route in served.pages.routes if "GET" in route.methods and "{" not in route.path]  # type: ignore[attr-defined]
    left = [path for path in found if path not in named | LEFT_OUT.keys()]
    return {path: (path, lambda has, any_, path=path: path) for path in left}  # type: ignore[misc]


@contextmanager
def visitor(settings: Settings, embedder: Embedder) -> Iterator[tuple[TestClient, Served]]:
    """A browser that came in, in this process."""
    serving = Serving(settings, hosted=False, embedder=embedder)
    served = create_served(serving)
    assert isinstance(served, Served)
    with TestClient(served, base_url=BASE, client=("127.0.0.1", 1), follow_redirects=False) as browser:
        browser.get(link_to(settings.data_dir, ""))
        spare_collector()  # as `recollect serve` does before it answers
        yield browser, served
    serving.close()


def measure(report: Report, store: str, browser: TestClient, has: Known, pages: dict[str, Any], asks: int) -> list[str]:
    """Ask every page so often; the names of those that are too slow."""
    slow = []
    for name, (_, ask) in pages.items():
        chosen = random.Random(3)
        for _ in range(WARM):
            answer = browser.get(ask(has, chosen))
        if answer.status_code != 200:
            report.add(store, f"{name}, p95", None, "ms", note=f"not measured: it answers {answer.status_code}")
            continue
        spent, size = [], 0
        for _ in range(asks):
            address = ask(has, chosen)
            spent.append(clocked(lambda address=address: browser.get(address)))  # type: ignore[misc]
            size = max(size, len(browser.get(address).content)) if len(spent) <= 5 else size
        walls, busy = zip(*spent, strict=True)
        middle, value, cpu = percentile(walls, 50), percentile(walls, 95), percentile(busy, 95)
        goal = LONG_MS if "4 MB" in name else GOAL_MS
        note = f"p50 {middle:.1f} ms; processor p95 {cpu:.1f} ms; {size / 1000:,.1f} kB"
        report.add(store, f"{name}, p95", value, "ms", goal=(f"<= {goal:.0f} ms", value <= goal), note=note)
        if value > goal:
            slow.append(name)
        if "4 MB" in name:
            fits = ("<= 1,000 kB", size <= LONG_PAGE_BYTES)
            report.add(store, f"{name}, bytes", size / 1000, "kB", goal=fits)
    return slow


def sizes(report: Report, browser: TestClient, has: Known) -> None:
    """The first page with all that it loads, and what keeps it from being shown."""
    page = browser.get("/memory")
    whole, blocking = len(page.content), 0
    for tag in re.findall(r"<(?:link|script)[^>]*>", page.text):
        found = re.search(r'(?:href|src)="(/page/static/[^"]+)"', tag)
        if found is None:
            continue
        size = len(browser.get(found[1]).content)
        whole += size
        if "stylesheet" in tag or (tag.startswith("<script") and "defer" not in tag):
            blocking += size
    report.add(
        "size", "first page with its css, js and icon", whole / 1000, "kB", goal=("< 100 kB", whole < FIRST_BYTES)
    )
    report.add(
        "size", "of that, what must be there before it is shown", blocking / 1000, "kB",
        goal=("<= 50 kB", blocking <= BLOCKING_BYTES),
    )  # fmt: skip


def profiled(browser: TestClient, has: Known, pages: dict[str, Any], names: Sequence[str]) -> None:
    """Where the time of these pages goes; what a route does is done in this thread for it."""
    real = fastapi.routing.run_in_threadpool
    for name in names:
        profile, chosen = cProfile.Profile(), random.Random(3)

        async def direct(work: Callable[..., Any], *args: Any, profile: Any = profile, **given: Any) -> Any:
            return profile.runcall(work, *args, **given)

        fastapi.routing.run_in_threadpool = direct  # type: ignore[assignment]
        try:
            for _ in range(5):
                browser.get(pages[name][1](has, chosen))
        finally:
            fastapi.routing.run_in_threadpool = real
        text = io.StringIO()
        pstats.Stats(profile, stream=text).strip_dirs().sort_stats("cumulative").print_stats(3 * SLOWEST)
        pstats.Stats(profile, stream=text).strip_dirs().sort_stats("tottime").print_stats(SLOWEST)
        print(f"\n--- {name}, five times ---\n{text.getvalue()}")


def run(report: Report, options: argparse.Namespace, store: str, folder: Path, url: str) -> None:
    """Build what is not there, then ask."""
    chosen = {"serve_rate_per_minute": 0, "serve_rate_per_ip_per_minute": 0, "vector_memory_bytes": 2_000_000_000}
    real = WEIGHTS.is_dir()
    settings = load(data_dir=folder, user="us", model_dir=WEIGHTS if real else None, **chosen).settings
    settings = replace(settings, database_url=url)
    scope = Scope(settings.tenant, settings.user)
    opened = open_store(settings)
    if not opened.sessions.find(scope, limit=1):
        shares = (options.memories // options.owners, options.sessions // options.owners)
        for number in range(options.owners):
            owner = scope if number == 0 else Scope(settings.tenant, f"user-{number}")
            build(opened, owner, *shares, seed=7 + number)
        opened.keeping.vacuum()  # as `recollect maintain` does every night
    has = known(opened, scope, options.asks, *put_rest(settings, scope))
    opened.close()
    with visitor(settings, UNSET if real else MiniLMShaped()) as (browser, served):
        pages = {**PAGES, **plain(served)}
        pages = {name: page for name, page in pages.items() if options.only in name}
        slow = measure(report, store, browser, has, pages, options.asks)
        sizes(report, browser, has)
        asked = {route for route, _ in {**PAGES, **plain(served)}.values()} | LEFT_OUT.keys()
        routes = {route.path for route in served.pages.routes if "GET" in route.methods}  # type: ignore[attr-defined]
        for path in sorted(routes - asked):
            print(f"not asked: GET {path}", file=sys.stderr)
        if options.profile:
            profiled(browser, has, pages, slow or list(pages)[:1])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--memories", type=int, default=100_000)
    parser.add_argument("--sessions", type=int, default=2_000)
    parser.add_argument("--owners", type=int, default=1, help="among whom they are divided")
    parser.add_argument("--asks", type=int, default=50)
    parser.add_argument("--stores", default="sqlite")
    parser.add_argument("--data-dir", type=Path, help="build the store here, or use the one that was (sqlite)")
    parser.add_argument("--only", default="", help="pages with this in their name")
    parser.add_argument("--profile", action="store_true", help="take the slow pages apart")
    parser.add_argument("--json", type=Path, help="write the figures to this file too")
    options = parser.parse_args()
    report = Report()
    for name in options.stores.split(","):
        with ExitStack() as stack:
            made = Path(stack.enter_context(tempfile.TemporaryDirectory())) / "data"
            url = stack.enter_context(database(None)) if name == "postgres" else ""
            folder = options.data_dir if options.data_dir and name == "sqlite" else made
            run(report, options, name, folder.absolute(), url)
    if options.json:
        figures = [asdict(figure) for figure in report.figures]
        options.json.write_text(json.dumps({"figures": figures}, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
