"""`recollect serve` at work: opens the store once, listens, works through tasks beside it, and ends all of it in order.

With several workers this process only binds the address, hands what comes to the others and looks after them: each is
the same command at the end of a line of its own, and one that ends before it is told to is started again.
"""

from __future__ import annotations

import gc
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from http.client import HTTPConnection, HTTPException
from ipaddress import ip_address
from typing import TYPE_CHECKING, Any

import orjson

from recollect.facade import Recollect
from recollect.http import logs
from recollect.http.app import SECRET_FILE, Role
from recollect.http.doorman import Doorman
from recollect.http.listening import LAST_SECONDS, bound, listen
from recollect.metrics import FOLDER_VARIABLE, Metrics, forget_process, watch_store
from recollect.serving import Serving
from recollect.settings import Settings, environment, load
from recollect.tracing import open_tracing, traced
from recollect.web.address import forget_address, link_to, tell_address
from recollect.web.app import create_served

if TYPE_CHECKING:
    from recollect.cli.output import Output

# Objects made before it is looked which of them are needed. Python's own 700 is for scripts; with 20,000, what had been
# left behind stopped one page in thirty for 17 ms.
COLLECTED = 5_000
# Every question goes through all of the model's weights: in large pages they are found quicker. glibc asks Linux for
# them when it is told so before the program starts; what somebody else told it stays.
LARGE_PAGES = {"GLIBC_TUNABLES": "glibc.malloc.hugetlb=1"}
AGAIN_SECONDS = 1.0  # how long a process that ended is waited for before it is started again


@dataclass(frozen=True, slots=True)
class Plan:
    """What is to be served, and how."""

    settings: Settings
    role: Role
    hosted: bool
    workers: int
    works: bool  # tasks and the bus are worked through here
    logs: bool  # a line for every request
    inherited: int | None
    as_json: bool
    opens: bool = False  # the page, in a browser


def serve(plan: Plan, console: Output) -> int:
    """Serve until told to stop."""
    if plan.inherited is not None:
        where = socket.socket(fileno=plan.inherited)
        threading.Thread(target=_end_with, args=(os.getppid(),), name="recollect-parent", daemon=True).start()
    else:
        where = bound(plan.settings.serve_host, plan.settings.serve_port)
    if plan.workers > 1:
        return _supervise(plan, where, console)
    logs.set_up(requests=plan.logs)
    serving, tracing = Serving(plan.settings, hosted=plan.hosted), open_tracing()
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
        told = (lambda: _ready(plan, where, console), serving.end_work)
        listen(seen, where, serving.settings, *told, handed=plan.inherited is not None)
    finally:
        _gone(plan)
        serving.end_work()
        if spool is not None:
            spool.join(LAST_SECONDS)
        serving.close()
        tracing.close()
    return 0


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
    if plan.inherited is not None:
        return
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


def _gone(plan: Plan) -> None:
    if plan.inherited is None:
        forget_address(plan.settings.data_dir)


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


# -- several processes -------------------------------------------------------------------------------------------------


def _supervise(plan: Plan, where: socket.socket, console: Output) -> int:
    """Start so many of us behind one socket, keep that many, and end them together."""
    folder = tempfile.mkdtemp(prefix="recollect-metrics-")
    stopping: list[int] = []
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stopping.append(1))
    children: list[subprocess.Popen[bytes]] = []
    doorman = Doorman(where)
    try:
        children = [_start(doorman, folder) for _ in range(plan.workers)]
        while not stopping and not _answers(where):
            failed = next((child.returncode for child in children if child.poll() is not None), None)
            if failed is not None:
                return failed  # it has said why
            time.sleep(0.1)
        if not stopping:
            _ready(plan, where, console)
        while not stopping:
            time.sleep(0.2)
            for place, child in enumerate(children):
                if child.poll() is not None and not stopping:
                    _forget(folder, child.pid)
                    time.sleep(AGAIN_SECONDS)
                    children[place] = _start(doorman, folder)
    finally:
        doorman.close()
        _end(children)
        shutil.rmtree(folder, ignore_errors=True)
        where.close()
        _gone(plan)
    return 0


def _answers(where: socket.socket) -> bool:
    """Whether one of them answers."""
    host, port = where.getsockname()[:2]
    if ip_address(host).is_unspecified:
        host = "::1" if ":" in host else "127.0.0.1"
    link = HTTPConnection(host, port, timeout=1)
    try:
        link.request("GET", "/health")
        return link.getresponse().status > 0
    except (OSError, HTTPException):
        return False
    finally:
        link.close()


def _start(doorman: Doorman, folder: str) -> subprocess.Popen[bytes]:
    """The command this process was started with, at the end of a line."""
    with doorman.line() as line:
        words = [sys.executable, "-P", "-m", "recollect", *sys.argv[1:], "--inherit", str(line.fileno())]
        told = {**LARGE_PAGES, **environment(), FOLDER_VARIABLE: folder}
        # In a group of its own: Ctrl-C is for this process, which ends the others. Told twice, they would not finish.
        return subprocess.Popen(words, pass_fds=(line.fileno(),), env=told, process_group=0)


def _end_with(parent: int) -> None:
    """End when the process that looks after this one is gone: nobody else would."""
    while os.getppid() == parent:
        time.sleep(1.0)
    os.kill(os.getpid(), signal.SIGTERM)


def _forget(folder: str, pid: int) -> None:
    from pathlib import Path

    forget_process(Path(folder), pid)


def _end(children: list[subprocess.Popen[bytes]]) -> None:
    for child in children:
        if child.poll() is None:
            child.send_signal(signal.SIGTERM)
    until = time.monotonic() + LAST_SECONDS
    for child in children:
        try:
            child.wait(max(0.1, until - time.monotonic()))
        except subprocess.TimeoutExpired:
            child.kill()
            child.wait()
