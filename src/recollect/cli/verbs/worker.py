"""`recollect worker`: do what was put into the queue, for every user of the store, until it is told to end; and store
what comes by Redis, when there is one.

As many of these as one likes may run, on one machine or on several. SIGTERM and Ctrl-C let it end what it is at; what
takes longer than some seconds is given back for the next.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from recollect.cli.opening import find_place, require_config
from recollect.cli.values import whole
from recollect.errors import InvalidInput
from recollect.stopping import Stop, asked_to_stop

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    from recollect.cli.output import Output
    from recollect.cli.workerhealth import WorkerHealth
    from recollect.pipeline.tasks import Done, TaskWorker
    from recollect.serving import Serving
    from recollect.store.ports.queue import Backlog


def configure(parser: ArgumentParser) -> None:
    parser.add_argument("--once", action="store_true", help="do what is due now, and end")
    parser.add_argument(
        "--threads", type=whole, default=1, metavar="N", help="tasks done at the same time (default: 1)"
    )
    from argparse import BooleanOptionalAction

    parser.add_argument(
        "--bus",
        action=BooleanOptionalAction,
        help="store events that come by Redis too (default: when redis_url is set); not with --once",
    )
    parser.add_argument("--hosted", action="store_true", help="for a server that others use: their quotas hold")
    parser.add_argument(
        "--metrics-port", type=whole, metavar="N", help="tell there how it is: GET /metrics and /health, no key"
    )
    parser.add_argument(
        "--metrics-host", default="127.0.0.1", metavar="NAME", help="for whom: this machine (default), or an address"
    )


def run(args: Namespace, console: Output) -> int:
    from recollect.http import logs
    from recollect.pipeline.tasks import TaskWorker
    from recollect.serving import Serving

    if not 1 <= args.threads <= 64:
        raise InvalidInput("--threads is 1 to 64")
    require_config()
    place = find_place(args, everywhere=True)
    if not args.once:  # else somebody reads along, or a timer keeps what it says
        logs.set_up(requests=False)
    with asked_to_stop() as stop:
        serving = Serving(place.loaded.settings, hosted=args.hosted)
        try:
            with _figures(args, serving) as health, _bus(args, serving, health):
                parts = (serving.store, serving.memory, serving.settings, serving.clock)
                worker = TaskWorker(*parts, threads=args.threads, on_done=_counting(health))
                return _once(worker, serving, console) if args.once else _always(worker, stop, console)
        finally:
            serving.close()


@contextmanager
def _figures(args: Namespace, serving: Serving) -> Iterator[WorkerHealth | None]:
    """The figures and the health of this process, told on a port of their own; None when nobody asks for them."""
    if args.metrics_port is None or args.once:
        yield None
        return
    from recollect.cli.workerhealth import WorkerHealth
    from recollect.metrics import Listener, Metrics, watch_store

    metrics = Metrics()
    watch_store(metrics, serving.store, serving.settings, clock=serving.clock, hosted=args.hosted)
    health = WorkerHealth(metrics, serving.settings)
    listener = Listener(metrics, args.metrics_port, args.metrics_host, health=health.tell)
    try:
        yield health
    finally:
        listener.close()


@contextmanager
def _bus(args: Namespace, serving: Serving, health: WorkerHealth | None) -> Iterator[None]:
    """What is published on Redis is stored while this is open."""
    settings = serving.settings
    wanted = bool(settings.redis_url) if args.bus is None else args.bus
    if not wanted or args.once:
        yield
        return
    from recollect.bus.consumer import Consumer

    count = (lambda outcome, n: None) if health is None else health.metrics.bus
    parts = (settings.redis_url, serving.memory, settings, serving.clock)
    consumer = Consumer(*parts, count=count, hosted=args.hosted)
    if health is not None:
        health.metrics.watch("bus", consumer.gauges)
        health.bus = consumer
    consumer.start()
    try:
        yield
    finally:
        consumer.stop()


def _counting(health: WorkerHealth | None) -> Callable[[Done], None]:
    def count(done: Done) -> None:
        if health is not None:
            health.metrics.task(done.kind, done.outcome, done.seconds)
            health.ended(done.outcome)

    return count


def _once(worker: TaskWorker, serving: Serving, console: Output) -> int:
    done = worker.run_due()
    backlog = serving.store.tasks.backlog(at=serving.clock())
    if console.json:
        console.document({"tasks": dict(done), "backlog": backlog})
    else:
        ended = ", ".join(f"{count:,} {outcome}" for outcome, count in sorted(done.items()))
        console.line(f"Tasks: {ended or 'none was due'}.")
        console.line(_words_of(backlog))
    return 1 if done["failed"] or done["dead"] else 0


def _always(worker: TaskWorker, stop: Stop, console: Output) -> int:
    worker.start()
    if console.json:
        import json
        import os

        console.raw(json.dumps({"worker": worker.name, "pid": os.getpid()}) + "\n")
    else:
        console.line(f"Working as {worker.name}. Ctrl-C ends it; `recollect tasks` shows what waits.")
    console.flush()
    stop.wait()
    worker.stop()
    return 0


def _words_of(backlog: Backlog) -> str:
    words = (
        f"{backlog.waiting:,} wait, {backlog.later:,} are due later, {backlog.running:,} run, {backlog.dead:,} dead."
    )
    return words + (" `recollect tasks --state dead` says why." if backlog.dead else "")
