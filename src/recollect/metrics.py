"""Every figure that a monitor may ask for, defined once: what happens is told here, Prometheus text comes out.

Two sorts come together. Counters, times and what is in flight are told as they happen (`request`, `recalled`, …).
Figures that only a store or a bus knows are read when somebody asks, by readers given to `watch`: each at most once in
its interval, for no longer than two seconds, so that no monitor can burden the store and none waits for it.
Where several processes serve together, `FOLDER_VARIABLE` names a private folder in the environment of all of them:
then whichever is asked tells of all. Labels are of few and known words; never an id, a path, a query or a key.
"""

from __future__ import annotations

import platform
import re
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from threading import Lock, Thread
from time import monotonic
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from recollect.errors import InvalidInput
from recollect.settings import Settings, environment
from recollect.store.ports.queue import TASK_KINDS
from recollect.version import __version__

if TYPE_CHECKING:
    from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram
    from prometheus_client.core import Metric

    from recollect.clock import Clock
    from recollect.model import Recall, Scope
    from recollect.store.port import Store
    from recollect.tracing import Tracing

PREFIX = "recollect_"
FOLDER_VARIABLE = "PROMETHEUS_MULTIPROC_DIR"  # the library's own name; it must stand before the first import of it
EVERY_SECONDS = 5.0  # how often the store is asked, however often a monitor asks
SELDOM_SECONDS = 300.0  # ... for what takes longer to count and changes slowly
READ_SECONDS = 2.0  # how long an answer waits for it; after that, what was read before is told
MOST_ROUTES = 200  # a label with more words than that is a mistake: the rest are `other`

# Around the goals: a search in 50 ms and at most 200, an ingest in 100 ms and at most 500.
QUICK = (0.005, 0.01, 0.025, 0.05, 0.1, 0.2, 0.35, 0.5, 1.0, 2.5, 5.0, 10.0)
LONG = (0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 180.0, 600.0)

Figures = Mapping[str, float | Mapping[str, float]]  # name (without prefix) -> value, or label word -> value
Reader = Callable[[], Figures]


# The words that stand in labels; any other is `other`, so that nobody can fill the monitor's memory.
METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")
LIMITS = ("key", "user", "ip", "failures", "tenant")
WAYS = ("ingest", "batch", "turn", "events", "bus")
RECALLS = ("answered", "abstained", "empty")
TASK_ENDS = ("done", "later", "failed", "dead", "lost")
NEW_EVENTS = ("stored", "added", "merged", "superseding", "disputed")  # of the bus: what brought something new
EVENTS = (*NEW_EVENTS, "known", "withheld", "failed", "dead", "bridged", "heard_twice", "taken_over", "waited")
ALARMS = ("wrong_keys", "mass_delete", "mass_export", "ingest_burst")
STORE_ERRORS = (
    *("store_unavailable", "store_busy", "store_full", "store_read_only", "store_corrupt", "store_too_new"),
    *("forked_handle", "engine_failed", "store_error"),
)
WATCHED = ("401", "403", "500", "503")  # what alerts ask for of a route


class Defined(NamedTuple):
    """One metric: its name without the prefix, what it is, what it tells, its labels and their words if few."""

    name: str
    type: Literal["counter", "gauge", "histogram", "read"]  # read: a gauge that a reader fills
    help: str
    labels: tuple[str, ...] = ()
    buckets: tuple[float, ...] = ()
    words: Mapping[str, tuple[str, ...]] = {}


DEFINED = (
    Defined(
        *("http_requests_total", "counter", "Requests answered.", ("route", "method", "status")),
        words={"method": METHODS},
    ),
    Defined("http_request_seconds", "histogram", "How long a request took.", ("route",), QUICK),
    Defined("http_in_flight", "gauge", "Requests being answered now."),
    Defined(
        *("rate_limited_total", "counter", "Requests refused because there were too many.", ("by",)),
        words={"by": LIMITS},
    ),
    Defined("ingested_total", "counter", "Things brought in that were new.", ("way",), words={"way": WAYS}),
    Defined("recalls_total", "counter", "Questions, by how they ended.", ("outcome",), words={"outcome": RECALLS}),
    Defined("recall_seconds", "histogram", "How long a recall took.", (), QUICK),
    Defined(
        *("tasks_total", "counter", "Background tasks that ended, by how.", ("kind", "outcome")),
        words={"kind": TASK_KINDS, "outcome": TASK_ENDS},
    ),
    Defined("task_seconds", "histogram", "How long a background task ran.", ("kind",), LONG),
    Defined(
        *("bus_messages_total", "counter", "Messages of the bus, by what became of them.", ("outcome",)),
        words={"outcome": EVENTS},
    ),
    Defined("quota_refused_total", "counter", "Writes refused because their owner has as much as they may."),
    Defined("alarms_total", "counter", "Unusual behaviour that was noticed.", ("kind",), words={"kind": ALARMS}),
    Defined(
        *("store_errors_total", "counter", "Calls that the store could not do, by error.", ("kind",)),
        words={"kind": STORE_ERRORS},
    ),
    Defined("queue_waiting", "read", "Background tasks that wait.", ("kind",)),
    Defined("queue_running", "read", "Background tasks that run."),
    Defined("queue_oldest_seconds", "read", "How long the longest-waiting task is due."),
    Defined("queue_dead", "read", "Background tasks that failed for good."),
    Defined("bus_lag", "read", "Messages in the stream that no consumer has finished."),
    Defined("bus_oldest_seconds", "read", "How long the longest-waiting message is in the stream."),
    Defined("bus_dead", "read", "Messages among the dead letters."),
    Defined("vectors_pending", "read", "Texts that wait for a vector."),
    Defined("coverage_ratio", "read", "Turns stored of the turns in agents' files; local only."),
    Defined("budget_tokens_left", "read", "Tokens that language models may still use today (UTC)."),
    Defined("budget_usd_left", "read", "USD that language models may still cost today (UTC)."),
    Defined("store_rows", "read", "Rows in the store.", ("table",)),
    Defined("store_bytes", "read", "Bytes the store takes.", ("part",)),
    Defined("disk_free_bytes", "read", "Bytes free where the data directory is."),
    Defined("last_backup_seconds", "read", "Age of the newest backup that is noted."),
    Defined("reader_up", "read", "Whether these figures could be read: 1 or 0.", ("reader",)),
    Defined("build_info", "read", "Always 1; its labels tell what runs.", ("version", "python")),
)
NAMES = {one.name: one for one in DEFINED}
_WORD = re.compile(r"[a-zA-Z0-9_.:/{}-]{1,80}\Z")


class Metrics:
    """The figures of one process, or of all processes that share a folder."""

    def __init__(self, *, clock: Callable[[], float] = monotonic, tracing: Tracing | None = None) -> None:
        try:
            import prometheus_client
        except ImportError:
            raise InvalidInput("metrics need prometheus-client", hint="pip install 'recollect[server]'") from None
        folder = environment().get(FOLDER_VARIABLE)
        self._folder = Path(folder) if folder else None
        self._registry = prometheus_client.CollectorRegistry()
        self._counters = {one.name: _counter(one, self._registry) for one in DEFINED if one.type == "counter"}
        self._times = {one.name: _histogram(one, self._registry) for one in DEFINED if one.type == "histogram"}
        self._gauges = {one.name: _gauge(one, self._registry) for one in DEFINED if one.type == "gauge"}
        self._readers: dict[str, _Reading] = {}
        self._routes: set[str] = set()
        self._asked: set[tuple[str, str]] = set()
        self._clock, self._tracing = clock, tracing
        for one in DEFINED:
            if one.type == "counter" and one.labels and set(one.words) == set(one.labels):
                self._begin(one.name, *(one.words[label] for label in one.labels))

    # -- what is told ----------------------------------------------------------------------------------------------

    def request(self, route: str, method: str, status: int, seconds: float) -> None:
        """A request was answered; `route` is its template (`/memories/{id}`), never the path that was asked for."""
        asked = self._route(route), _known(method, METHODS)
        if asked not in self._asked:
            self._asked.add(asked)
            self._begin("http_requests_total", *((word,) for word in asked), WATCHED)
        self._counters["http_requests_total"].labels(*asked, str(status)).inc()
        self._times["http_request_seconds"].labels(asked[0]).observe(seconds)

    @contextmanager
    def in_flight(self) -> Iterator[None]:
        """A request is being answered while this is open."""
        self._gauges["http_in_flight"].inc()
        try:
            yield
        finally:
            self._gauges["http_in_flight"].dec()

    def limited(self, by: str) -> None:
        """A request was refused because there were too many: by key, user, ip, failures or tenant."""
        self._counters["rate_limited_total"].labels(_known(by, LIMITS)).inc()

    def ingested(self, way: str, n: int = 1) -> None:
        """Something new was kept; `way` is how it came: ingest, batch, turn, events or bus."""
        if n > 0:
            self._counters["ingested_total"].labels(_known(way, WAYS)).inc(n)

    def recalled(self, outcome: str, seconds: float) -> None:
        """A question was asked: answered, abstained or empty."""
        known = _known(outcome, RECALLS)
        self._counters["recalls_total"].labels(known).inc()
        self._times["recall_seconds"].observe(seconds)
        if self._tracing is not None:
            self._tracing.past("recall", seconds, {"recollect.outcome": known})

    def answered(self, recall: Recall, seconds: float) -> None:
        """A question was answered with this."""
        self.recalled("answered" if recall.hits else "abstained" if recall.abstained else "empty", seconds)

    def task(self, kind: str, outcome: str, seconds: float) -> None:
        """A background task ended: done, later, failed (it is tried again), dead or lost."""
        kind, outcome = _known(kind, TASK_KINDS), _known(outcome, TASK_ENDS)
        self._counters["tasks_total"].labels(kind, outcome).inc()
        self._times["task_seconds"].labels(kind).observe(seconds)
        if self._tracing is not None:
            figures = {"recollect.kind": kind, "recollect.outcome": outcome}
            self._tracing.past("task", seconds, figures, failed=outcome in ("failed", "dead"))

    def bus(self, outcome: str, n: int = 1) -> None:
        """What became of messages of the bus; those that brought something new are ingested, too."""
        self._counters["bus_messages_total"].labels(_known(outcome, EVENTS)).inc(n)
        if outcome in NEW_EVENTS:
            self.ingested("bus", n)

    def quota_refused(self) -> None:
        """A write was refused because its owner has as much as they may."""
        self._counters["quota_refused_total"].inc()

    def alarm(self, kind: str) -> None:
        """Something unusual was noticed: wrong keys, a great deal deleted, exported or written."""
        self._counters["alarms_total"].labels(_known(kind, ALARMS)).inc()

    def store_error(self, kind: str) -> None:
        """The store could not do a call; `kind` is the error's code, such as store_busy."""
        self._counters["store_errors_total"].labels(_known(kind, STORE_ERRORS)).inc()

    def _begin(self, name: str, *words: tuple[str, ...]) -> None:
        """Let a counter be 0 for every choice of these words: what a monitor first sees at 1 has not risen for it."""
        for chosen in product(*words):
            self._counters[name].labels(*chosen)

    # -- what is read ----------------------------------------------------------------------------------------------

    def watch(self, name: str, read: Reader, *, every: float = EVERY_SECONDS) -> None:
        """Let `read` tell figures whenever a monitor asks, at most once in `every` seconds; `name` tells it apart."""
        self._readers[_word(name)] = _Reading(read, every, self._clock)

    def read(self, name: str) -> Figures | None:
        """What this reader tells; None when it does not within two seconds."""
        reading = self._readers[name]
        reading.start()
        return reading.figures if reading.wait(monotonic() + READ_SECONDS) else None

    def render(self) -> tuple[bytes, str]:
        """All of it as Prometheus text, and its content type."""
        from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, ProcessCollector, generate_latest

        asked = CollectorRegistry()
        if self._folder is None:
            asked.register(_Told(self._own))
            ProcessCollector(registry=asked)
        else:
            from prometheus_client import multiprocess

            shared: Any = multiprocess
            shared.MultiProcessCollector(asked, path=str(self._folder))
        asked.register(_Told(self._read))
        return generate_latest(asked), CONTENT_TYPE_LATEST

    def _own(self) -> Iterable[Metric]:
        """What was told to this process, without the times at which each counter was made: nobody asks for those."""
        for family in self._registry.collect():
            family.samples = [sample for sample in family.samples if not sample.name.endswith("_created")]
            yield family

    def _read(self) -> Iterable[Metric]:
        """Every figure the readers have, as families."""
        python = platform.python_version()
        yield _family(NAMES["build_info"], [((__version__, python), 1.0)])
        for reading in self._readers.values():
            reading.start()  # all at once: together they take as long as the slowest
        until = monotonic() + READ_SECONDS
        up = [((name,), float(reading.wait(until))) for name, reading in self._readers.items()]
        yield _family(NAMES["reader_up"], up)
        found: dict[str, float | Mapping[str, float]] = {}
        for reading in self._readers.values():
            found.update(reading.figures)
        for name, value in found.items():
            one = NAMES.get(name)
            if one is None or one.type != "read":
                continue
            rows = [((_word(word),), n) for word, n in value.items()] if isinstance(value, Mapping) else [((), value)]
            yield _family(one, rows)

    def _route(self, route: str) -> str:
        if route not in self._routes:
            if len(self._routes) >= MOST_ROUTES or not _WORD.match(route):
                return "other"
            self._routes.add(route)
        return route


def forget_process(folder: Path, pid: int) -> None:
    """A process that shared the folder ended: what it had in flight is not in flight any more."""
    from prometheus_client import multiprocess

    shared: Any = multiprocess
    shared.mark_process_dead(pid, path=str(folder))


class Listener:
    """Answers `GET /metrics` on a port of its own, for a process that has no other; until `close`.

    With `health`, also `GET /health`: whether work gets done (else 503), and figures about it. It tells figures and
    nothing else, and asks for no key: listen where only the monitor can reach it.
    """

    def __init__(
        self,
        metrics: Metrics,
        port: int,
        host: str = "127.0.0.1",
        health: Callable[[], tuple[bool, Mapping[str, Any]]] | None = None,
    ) -> None:
        from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

        import orjson

        class Answer(BaseHTTPRequestHandler):
            timeout = 5  # seconds a client may take to ask
            server_version, sys_version = "recollect", ""

            def do_GET(self) -> None:
                path = self.path.partition("?")[0]
                status, body, kind = 404, b"", "text/plain"
                if path == "/metrics":
                    status, (body, kind) = 200, metrics.render()
                elif path == "/health" and health is not None:
                    well, told = health()
                    status, body, kind = 200 if well else 503, orjson.dumps(told), "application/json"
                self.send_response(status)
                self.send_header("Content-Type", kind)
                self.send_header("Content-Length", str(len(body)))
                self.send_header("Cache-Control", "no-store")
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: object) -> None:
                pass

        try:
            self._server = ThreadingHTTPServer((host, port), Answer)
        except OSError as error:
            why = error.strerror or type(error).__name__
            raise InvalidInput(f"metrics cannot be told on port {port}: {why}") from None
        self._server.daemon_threads = True
        self.port = int(self._server.server_address[1])
        self._thread = Thread(target=self._server.serve_forever, args=(0.2,), name="recollect-metrics", daemon=True)
        self._thread.start()

    def close(self) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


# -- what a store can tell ---------------------------------------------------------------------------------------------


def watch_store(
    metrics: Metrics,
    store: Store,
    settings: Settings,
    *,
    clock: Clock,
    scope: Scope | None = None,
    hosted: bool = False,
) -> None:
    """Let a store tell its figures. `scope` is whose budget and coverage are told; on a server for many, nobody's."""
    metrics.watch("queue", lambda: queue_figures(store, clock))
    metrics.watch("store", lambda: slow_figures(store, settings, clock), every=SELDOM_SECONDS)
    if scope is not None and not hosted:
        metrics.watch("budget", lambda: budget_figures(store, settings, scope, clock))
        metrics.watch("coverage", lambda: coverage_figures(store, scope), every=SELDOM_SECONDS)


def queue_figures(store: Store, clock: Clock) -> Figures:
    """What waits: tasks by kind, how long the oldest is due, and texts without a vector."""
    backlog = store.tasks.backlog(at=clock())
    return {
        "vectors_pending": store.vectors.pending(),
        "queue_waiting": dict(backlog.by_kind),
        "queue_running": backlog.running,
        "queue_oldest_seconds": backlog.oldest_seconds,
        "queue_dead": backlog.dead,
    }


def slow_figures(store: Store, settings: Settings, clock: Clock) -> Figures:
    """Rows, bytes, room on the disk, and how old the newest backup is."""
    health = store.keeping.health(deep=False)
    figures: dict[str, float | Mapping[str, float]] = {
        "store_rows": dict(health.counts),
        "store_bytes": dict(health.bytes),
    }
    place = next((one for one in (settings.data_dir, *settings.data_dir.parents) if one.is_dir()), None)
    if place is not None:
        figures["disk_free_bytes"] = shutil.disk_usage(place).free
    from recollect.pipeline.backups import listed

    made = [copy.made_at for copy in listed(store)]
    if made:
        figures["last_backup_seconds"] = max(0.0, (clock() - max(made)).total_seconds())
    return figures


def budget_figures(store: Store, settings: Settings, scope: Scope, clock: Clock) -> Figures:
    """What language models may still use and cost today; nothing where there is none."""
    if settings.llm == "none":
        return {}
    rows = store.ledger.spent(scope.within(None), since=clock())
    tokens = sum(row.input + row.output for row in rows)
    usd = sum(row.usd for row in rows)
    return {
        "budget_tokens_left": max(0, settings.llm_daily_tokens - tokens),
        "budget_usd_left": max(0.0, settings.llm_daily_usd - usd),
    }


def coverage_figures(store: Store, scope: Scope) -> Figures:
    """Turns stored of the turns that were in agents' files when they were last read."""
    from recollect.pipeline.coverage import coverage

    return {"coverage_ratio": coverage(store, scope, ()).totals()["percent"] / 100}


# -- inside ------------------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class _Reading:
    """One reader, what it told last, and the thread that asks it now."""

    read: Reader
    every: float
    clock: Callable[[], float]
    figures: Figures = field(default_factory=dict)
    up: bool = False
    next_at: float = float("-inf")
    thread: Thread | None = None
    lock: Lock = field(default_factory=Lock)

    def start(self) -> None:
        """Ask again if it is time; one that has not answered yet is not asked twice."""
        with self.lock:
            if self.clock() < self.next_at or (self.thread is not None and self.thread.is_alive()):
                return
            self.next_at = self.clock() + self.every
            self.thread = Thread(target=self._ask, name="recollect-metrics", daemon=True)
            self.thread.start()

    def wait(self, until: float) -> bool:
        """Whether what it tells is fresh; waits for that until then."""
        thread = self.thread
        if thread is not None:
            thread.join(max(0.0, until - monotonic()))
            if thread.is_alive():
                return False
        return self.up

    def _ask(self) -> None:
        try:
            self.figures, self.up = self.read(), True
        except Exception:  # a reader is not ours: whatever it does, the other figures are told
            self.figures, self.up = {}, False


class _Told:
    """A collector that tells what a function yields."""

    def __init__(self, tell: Callable[[], Iterable[Metric]]) -> None:
        self._tell = tell

    def collect(self) -> Iterable[Metric]:
        return self._tell()

    def describe(self) -> Iterable[Metric]:
        return ()


def _counter(one: Defined, registry: CollectorRegistry) -> Counter:
    from prometheus_client import Counter

    return Counter(PREFIX + one.name.removesuffix("_total"), one.help, one.labels, registry=registry)


def _histogram(one: Defined, registry: CollectorRegistry) -> Histogram:
    from prometheus_client import Histogram

    return Histogram(PREFIX + one.name, one.help, one.labels, registry=registry, buckets=one.buckets)


def _gauge(one: Defined, registry: CollectorRegistry) -> Gauge:
    from prometheus_client import Gauge

    return Gauge(PREFIX + one.name, one.help, one.labels, registry=registry, multiprocess_mode="livesum")


def _family(one: Defined, rows: Sequence[tuple[tuple[str, ...], float]]) -> Any:
    from prometheus_client.core import GaugeMetricFamily

    family = GaugeMetricFamily(PREFIX + one.name, one.help, labels=one.labels)
    for labels, value in rows:
        family.add_metric(labels, value)
    return family


def _known(word: str, words: tuple[str, ...]) -> str:
    return word if word in words else "other"


def _word(text: str) -> str:
    return text if _WORD.match(text) else "other"
