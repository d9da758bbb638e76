"""`recollect serve` at work: opens the store once, listens, works through tasks beside it, and ends all of it in order.

With several workers each of them does so, and this process only looks after them (`workers`).
"""

from __future__ import annotations

import gc
import os
import socket
import threading
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import orjson

from recollect.facade import Recollect
from recollect.http import logs
from recollect.http.app import SECRET_FILE, Role
from recollect.http.listening import LAST_SECONDS, bound, listen
from recollect.http.workers import Workers, read_model
from recollect.metrics import Metrics, watch_store
from recollect.recall.meaning import UNSET
from recollect.serving import Serving
from recollect.settings import Settings, load
from recollect.store.opening import located
from recollect.tracing import open_tracing, traced
from recollect.web.address import forget_address, link_to, tell_address
from recollect.web.app import create_served

if TYPE_CHECKING:
    from recollect.cli.output import Output
    from recollect.models.port import Embedder

# Objects made before it is looked which of them are needed. Python's own 700 is for scripts; with 20,000, what had been
# left behind stopped one page in thirty for 17 ms.
COLLECTED = 5_000


@dataclass(frozen=True, slots=True)
class Plan:
    """What is to be served, and how."""

    settings: Settings
    role: Role
    hosted: bool
    workers: int
    works: bool  # tasks and the bus are worked through here
    logs: bool  # a line for every request
    as_json: bool
    opens: bool = False  # the page, in a browser


def serve(plan: Plan, console: Output) -> int:
    """Serve until told to stop."""
    where = bound(plan.settings.serve_host, plan.settings.serve_port)
    ready = partial(_ready, plan, where, console)
    if plan.workers == 1:
        _answer(plan, where, ready)
    else:
        model = read_model(located(plan.settings), texts=plan.works)
        workers = Workers(where, plan.workers)
        line = workers.run(ready)
        if line is not None:  # this is one of them now
            _answer(plan, line, handed=True, model=model or UNSET)
            return 0
        if workers.code:
            return workers.code
    forget_address(plan.settings.data_dir)
    return 0


def _answer(
    plan: Plan,
    where: socket.socket,
    ready: Callable[[], None] = lambda: None,
    *,
    handed: bool = False,
    model: Embedder | None = UNSET,
) -> None:
    """Open the store and answer until told to stop; `handed`: connections are handed over on `where`."""
    logs.set_up(requests=plan.logs)
    serving, tracing = Serving(plan.settings, hosted=plan.hosted, embedder=model), open_tracing()
    spool: threading.Thread | None = None
    try:
        metrics = Metrics(tracing=tracing)
        watch_store(
            metrics, serving.store, serving.settings, clock=serving.clock, scope=serving.owner, hosted=plan.hosted
        )
        app = create_served(serving, plan.role, metrics=metrics)
        serving.start(_worker(metrics) if plan.works else None)
        if plan.works:
            _start_bus(serving, metrics)
            spool = _start_draining(serving) if not plan.hosted and plan.role == "all" else None
        seen = traced(app, tracing, app.template_of)
        spare_collector()
        listen(seen, where, serving.settings, ready, serving.end_work, handed=handed)
    finally:
        serving.end_work()
        if spool is not None:
            spool.join(LAST_SECONDS)
        serving.close()
        tracing.close()


def spare_collector() -> None:
    """What was made by now stays: it is not looked through again and again for what nobody needs any more."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(COLLECTED, 50, 50)


def address_of(where: socket.socket) -> str:
    """Where it listens, as an address."""
    host, port = where.getsockname()[:2]
    return f"http://{f'[{host}]' if ':' in host else host}:{port}"


def _ready(plan: Plan, where: socket.socket, console: Output) -> None:
    """Say where it is and how to try it."""
    address = address_of(where)
    page = _page(plan, address)
    if plan.as_json:
        told = {"address": address, "pid": os.getpid(), "role": plan.role, "hosted": plan.hosted, "page": page}
        console.raw(orjson.dumps(told).decode() + "\n")  # one line: whoever started it reads no further
        console.flush()
        return
    settings = plan.settings
    if plan.hosted:
        console.note(f"Serving {address} for others. Make a key: recollect keys create --user NAME")
        console.note(f"Try it: curl -H 'X-API-Key: KEY' {address}/whoami")
        return
    console.note(f"Serving {address}. The key is in {SECRET_FILE} in the data directory.")
    file = settings.data_dir.absolute() / SECRET_FILE
    console.note(f"Try it: curl -H \"X-API-Key: $(cat '{file}')\" {address}/whoami")
    if page is not None:
        console.note(f"See it in a browser (this link works once; `recollect page` gives another):\n  {page}")


def _page(plan: Plan, address: str) -> str | None:
    """A link to the page, and it is opened if that was asked; `recollect page` finds the address from now on."""
    if plan.role != "all" or plan.hosted or not plan.settings.serve_page:
        return None
    tell_address(plan.settings.data_dir, address)
    link = link_to(plan.settings.data_dir, address)
    if plan.opens:
        import webbrowser

        webbrowser.open(link)
    return link


# -- work beside the requests ------------------------------------------------------------------------------------------


def _worker(metrics: Metrics) -> Callable[[Serving], Any]:
    """What works through the queue."""
    from recollect.pipeline.tasks import Done, TaskWorker

    def told(done: Done) -> None:
        metrics.task(done.kind, done.outcome, done.seconds)

    def worker(serving: Serving) -> TaskWorker:
        parts = (serving.store, serving.memory, serving.settings, serving.clock)
        return TaskWorker(*parts, on_done=told, embeds=False)

    return worker


def _start_bus(serving: Serving, metrics: Metrics) -> None:
    """What takes events from Redis, when the settings name one."""
    if serving.settings.redis_url:
        from recollect.bus.consumer import Consumer

        parts = (serving.settings.redis_url, serving.memory, serving.settings, serving.clock)
        serving.bus = Consumer(*parts, count=metrics.bus, hosted=serving.hosted)
        metrics.watch("bus", serving.bus.gauges)
        serving.bus.start()


def _start_draining(serving: Serving) -> threading.Thread:
    """What takes in what hooks of this machine leave, as it comes; one process at a time does, whoever is at it."""
    from recollect.pipeline.spooled import SECONDS, Draining

    def drain() -> None:
        now = load().settings  # the page may have switched something off since we began
        settings = replace(serving.settings, capture_off=now.capture_off, capture_only=now.capture_only)
        with Recollect.open(settings=settings, scope=serving.owner, background=False) as memory:
            memory.drain()

    def look() -> None:
        draining = Draining(lambda: serving.settings.data_dir, drain)
        while not serving.wait(SECONDS):
            draining.look()

    thread = threading.Thread(target=look, name="recollect-spool", daemon=True)
    thread.start()
    return thread
