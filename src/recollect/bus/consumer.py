"""Reads the stream and stores what it says, until stopped: each event at least once, with the effect of once.

An event is acknowledged only after the store committed it. One that cannot be right goes to the dead letters at once;
one that fails is tried five times, with longer and longer pauses, while the others go on. What is nobody's fault (Redis
or the store is away) is waited for and counts as no attempt. What a reader left behind is taken over by another when
nobody touched it for three times as long as an event may take.
"""

from __future__ import annotations

import heapq
import logging
import os
import secrets
import socket
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from recollect.bus.bridge import Bridge
from recollect.bus.cautions import cautions
from recollect.bus.connecting import connect, failures
from recollect.bus.errors import BusUnavailable, Replayed
from recollect.bus.message import parse
from recollect.bus.signing import WINDOW, Keyring, check_fresh, takes_signed_only, verify
from recollect.bus.storing import Accepted, record, remember
from recollect.bus.stream import Entry, Figures, Stream
from recollect.clock import Clock, now
from recollect.errors import (
    InvalidInput,
    NotAllowed,
    QuotaExceeded,
    RecollectError,
    ScopeError,
    StoreBusy,
    StoreFull,
    StoreReadOnly,
    StoreTooNew,
    StoreUnavailable,
)
from recollect.model import Scope
from recollect.settings import Settings

if TYPE_CHECKING:
    from recollect.facade import Recollect

ATTEMPTS = 5
BATCH = 128
TRIM_SECONDS = 30.0
FIGURES_SECONDS = 1.0  # how old what is told of the stream may be while all is well
NONCE_SECONDS = 3_600  # much longer than a signed event stays fresh: what waited in the stream is read late
_LONGEST_PAUSE = 5.0
_LAST_SECONDS = 4.0  # to end in
_HOPELESS = (InvalidInput, ScopeError, NotAllowed, QuotaExceeded)  # trying again changes nothing
_NOBODYS_FAULT = (StoreFull, StoreReadOnly, StoreTooNew, BusUnavailable)
_PERHAPS_AWAY = (StoreUnavailable, StoreBusy, OSError)


@dataclass(frozen=True, slots=True)
class Patience:
    """How long things may take, in seconds."""

    handler: float = 30.0  # storing one event
    idle: float = 90.0  # silence after which what somebody left is taken over
    poll: float = 1.0  # waiting for the next event
    pause: float = 1.0  # before the second attempt; twice as long before each further one

    def __post_init__(self) -> None:
        if self.idle < 3 * self.handler:
            raise InvalidInput("what is taken over must have been left for three times as long as an event may take")


class _Stopped(Exception):
    """It was told to end while it waited."""


class Consumer:
    """One reader of the stream, and the bridge that fills it from the channel.

    `memory_of` gives the memory of a scope; it is not closed here. `count` is told what became of how many events.
    Where it is `hosted`, nobody's word is taken for a user's that is not signed.
    """

    def __init__(
        self,
        redis_url: str,
        memory_of: Callable[[Scope], Recollect],
        settings: Settings,
        clock: Clock = now,
        *,
        count: Callable[[str, int], None] = lambda outcome, n: None,
        patience: Patience | None = None,
        hosted: bool = False,
        bridge: bool = True,
        name: str | None = None,
    ) -> None:
        self.name = name or f"{socket.gethostname()[:60]}-{os.getpid()}-{secrets.token_hex(4)}"
        self.stream = Stream(connect(redis_url), settings)
        self.bridge = Bridge(redis_url, settings, count=count) if bridge else None
        self.last_error = ""
        self._memory_of = memory_of
        self._settings = settings
        self._clock = clock
        self._count = count
        self._patience = patience or Patience()
        self._keys = Keyring(settings.redis_keys_file)
        self._hosted, self._signed_only = hosted, takes_signed_only(settings, hosted=hosted)
        self._stopping = threading.Event()
        self._thread: threading.Thread | None = None
        self._ready = False  # the group is there
        self._hand: dict[str, Entry] = {}  # given to us and not at an end
        self._stored: list[str] = []  # at an end, and Redis does not know yet
        self._later: list[tuple[float, str, float]] = []  # when, which, after what pause
        self._held_at = self._trimmed_at = self._looked_at = self._figured_at = 0.0
        self._figures: Figures | None = None  # as they were lately; None: Redis is away
        self._well_at = time.monotonic()  # when an event came to an end, or none was left to do
        self._said = ""  # what it was said to wait for

    # -- from outside ----------------------------------------------------------------------------------------------

    def start(self) -> None:
        """Begin, in threads of its own."""
        for caution in cautions(self._settings, hosted=self._hosted):
            logging.getLogger(__name__).warning("%s %s", caution.text, caution.todo)
        if self.bridge is not None:
            self.bridge.start()
        self._thread = threading.Thread(target=self.run, name="recollect-bus", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Finish what is being stored, leave the rest to others, and end; within some seconds, whatever is away."""
        self._stopping.set()
        if self.bridge is not None:
            self.bridge.stop()
        if self._thread is not None:
            self._thread.join(_LAST_SECONDS)
        if self._thread is None or not self._thread.is_alive():  # else it is at something, and others will find it
            with suppress(*failures()):
                self._release()
        self.stream.redis.close()

    def run(self) -> None:
        """Work in this thread until `stop` is called from another."""
        pause = 0.1
        while not self._stopping.is_set():
            try:
                self._look()
                self.step(self._patience.poll)
                pause = 0.1
                self._goes_on()
            except _Stopped:
                return
            except Exception as error:  # whatever it is, the stream keeps what is not stored
                self._ready = False  # a Redis that came back empty has no group
                self._figured_at = 0.0
                if isinstance(error, failures()):
                    self._figures = None
                self._waits_for(error)
                self._stopping.wait(pause)
                pause = min(2 * pause, _LONGEST_PAUSE)

    def health(self) -> dict[str, Any]:
        """How it stands, for whoever asks; never an error.

        Once it runs, it tells what its own thread saw last: nobody waits here for a Redis that hangs. `stalled_seconds`
        is how long it has had something to do and did nothing: about one while all is well.
        """
        figures = self.figures() if self._thread is None else self._figures
        stalled = 0.0 if self._thread is None else round(time.monotonic() - self._well_at, 1)
        told: dict[str, Any] = {"connected": figures is not None, "last_error": self.last_error or None}
        told["stalled_seconds"] = stalled
        if self.bridge is not None:
            told["listening"] = self.bridge.listening
        if figures is None:
            return told
        names = ("lag", "waiting", "pending", "dead", "oldest_seconds", "length", "readers")
        return told | {name: getattr(figures, name) for name in names}

    def figures(self) -> Figures | None:
        """How the stream is; None while Redis is away."""
        try:
            return self.stream.figures()
        except failures():
            return None

    def gauges(self) -> Mapping[str, float]:
        """The same for `metrics.watch`; raises while Redis is away."""
        figures = self.stream.figures()
        oldest = figures.oldest_seconds
        return {"bus_lag": float(figures.lag), "bus_dead": float(figures.dead), "bus_oldest_seconds": oldest}

    def _look(self) -> None:
        """How the stream is, once in a while."""
        if time.monotonic() - self._figured_at >= FIGURES_SECONDS:
            self._figures = self.figures()
            self._figured_at = time.monotonic()
            if self._figures is not None and not (self._figures.waiting or self._hand or self._later):
                self._well_at = time.monotonic()

    def _waits_for(self, error: Exception) -> None:
        """Say once what it waits for: its type and what to do about it. Its words may hold what an event says."""
        hint = error.hint if isinstance(error, RecollectError) else None
        self.last_error = type(error).__name__
        said = f"{self.last_error} ({hint})" if hint else self.last_error
        if said != self._said:
            self._said = said
            logging.getLogger(__name__).warning("the bus waits: %s", said)

    def _goes_on(self) -> None:
        self.last_error = self._said = ""

    # -- one round -------------------------------------------------------------------------------------------------

    def step(self, wait: float = 0.0) -> int:
        """Bring to an end what is in hand, or else what is there next; returns how many events that was."""
        if not self._ready:
            self.stream.ensure()
            self._ready = True
        self._acknowledge()
        if not self._hand:
            self.take(wait)
        ended = len(self._hand)
        self.work()
        ended -= len(self._hand)
        if time.monotonic() - self._trimmed_at > TRIM_SECONDS:
            self._trimmed_at = time.monotonic()
            self.stream.trim()
        return ended

    def take(self, wait: float = 0.0) -> None:
        """Take events in hand: one that is to be tried again, else one that others left, else the next ones."""
        self._held_at = time.monotonic()
        entry = self._due() or self._left_behind()
        if entry is not None:
            self._hand = {entry.id: entry}
            return
        if self._later:
            wait = min(wait, max(0.001, self._later[0][0] - time.monotonic()))
        self._hand = {entry.id: entry for entry in self.stream.read(self.name, BATCH, wait)}

    def _due(self) -> Entry | None:
        while self._later and self._later[0][0] <= time.monotonic():
            _, id_, pause = heapq.heappop(self._later)
            entry = self.stream.again(self.name, id_, pause / 2)  # nothing, if somebody else took it meanwhile
            if entry is not None:
                return entry
        return None

    def _left_behind(self) -> Entry | None:
        if time.monotonic() - self._looked_at < min(self._patience.poll, self._patience.idle / 3):
            return None
        entry = self.stream.take_over(self.name, self._patience.idle)
        if entry is None:
            self._looked_at = time.monotonic()
        else:
            self._count("taken_over", 1)
        return entry

    def work(self) -> None:
        """Store what is in hand, and acknowledge it."""
        said: dict[tuple[Scope, bool], list[Accepted]] = {}
        for entry in list(self._hand.values()):
            if self._stopping.is_set():
                return  # nothing of this is lost: others are given it
            event = self._accept(entry)
            if event is None:
                continue
            if event.message.kind is None:
                said.setdefault((event.scope, event.speaks), []).append(event)
            else:
                self._store([event])
        for events in said.values():
            self._store(events)

    # -- whether to store it ---------------------------------------------------------------------------------------

    def _accept(self, entry: Entry) -> Accepted | None:
        """The event in an entry, if it is one and whoever sent it may; else it is dealt with."""
        if entry.deliveries > ATTEMPTS:
            self._bury(entry, "abandoned", f"given out {entry.deliveries} times, and nobody came to an end with it")
            return None
        found: list[Accepted] = []
        error = self._patiently(lambda: found.append(self._accepted(entry)))
        if error is not None:
            self._failed(entry, error)
            return None
        return found[0]

    def _accepted(self, entry: Entry) -> Accepted:
        at = self._clock()
        arrived = entry.added_at if entry.added_at < at + WINDOW else at  # a made-up id may be of any time to come
        message = parse(entry.event, arrived=arrived)
        if message.proof is None and not self._signed_only:
            return Accepted(entry.id, message, message.scope(self._settings.tenant), speaks=not self._hosted)
        signer = verify(message, self._keys)
        assert message.proof is not None
        if not self.stream.may_again(entry.event):
            check_fresh(message, arrived)
            if not self.stream.first_use((signer.tenant, signer.key, message.proof.nonce), entry.id, NONCE_SECONDS):
                raise Replayed("this signed event was sent before")
        scope = replace(message.scope(signer.tenant), key=f"bus:{signer.key}")  # so the audit tells who signed it
        return Accepted(entry.id, message, scope, signer.speaks)

    # -- storing it ------------------------------------------------------------------------------------------------

    def _store(self, events: Sequence[Accepted]) -> None:
        """Events of one scope, together; when that fails, each by itself, so that one costs only itself."""
        self._stay()
        outcome = "stored"

        def together() -> None:
            nonlocal outcome
            memory = self._memory_of(events[0].scope)
            if events[0].message.kind is None:
                record(memory, events)
            else:
                outcome = remember(memory, events[0], self._clock)

        error = self._patiently(together)
        if error is None:
            self._ended([event.entry for event in events], outcome)
        elif len(events) > 1:
            for event in events:
                self._store([event])
        else:
            self._failed(self._hand[events[0].entry], error)

    def _failed(self, entry: Entry, error: Exception) -> None:
        """It is the event's own fault: bury it, or try again later."""
        if isinstance(error, _HOPELESS) or entry.deliveries >= ATTEMPTS:
            if isinstance(error, RecollectError):
                self._bury(entry, error.code, str(error))
            else:  # its words may hold what the event says
                self._bury(entry, "unexpected", type(error).__name__)
            return
        pause = self._patience.pause * 2 ** (entry.deliveries - 1)
        heapq.heappush(self._later, (time.monotonic() + pause, entry.id, pause))
        self._hand.pop(entry.id, None)
        self._well_at = time.monotonic()
        self._count("failed", 1)
        logging.getLogger(__name__).warning("an event failed, attempt %d: %s", entry.deliveries, type(error).__name__)

    def _patiently(self, work: Callable[[], None]) -> Exception | None:
        """Do it, however long the store is away; returns the failure that waiting does not heal."""
        pause = 0.1
        while True:
            try:
                work()
                if self.last_error:
                    self._goes_on()
                return None
            except failures():
                raise  # nothing goes on without Redis
            except Exception as error:
                if not self._is_store_away(error):
                    return error
                self._count("waited", 1)
                self._waits_for(error)
                pause = self._wait(pause)

    def _wait(self, pause: float) -> float:
        if self._stopping.wait(pause):
            raise _Stopped
        self._stay()
        self._look()
        return min(2 * pause, _LONGEST_PAUSE)

    def _is_store_away(self, error: Exception) -> bool:
        if isinstance(error, _NOBODYS_FAULT):
            return True
        if not isinstance(error, _PERHAPS_AWAY):
            return False
        try:
            self._memory_of(Scope(self._settings.tenant)).store.notes.get("bus")
        except Exception:
            return True
        return False

    # -- telling Redis ---------------------------------------------------------------------------------------------

    def _ended(self, ids: Sequence[str], outcome: str) -> None:
        for id_ in ids:
            self._hand.pop(id_, None)
        self._stored += ids
        self._well_at = time.monotonic()
        self._count(outcome, len(ids))
        self._acknowledge()

    def _acknowledge(self) -> None:
        if self._stored:
            self.stream.done(self._stored)
            self._stored = []

    def _bury(self, entry: Entry, code: str, reason: str) -> None:
        self.stream.bury(entry, code=code, reason=reason, at=self._clock())
        self._hand.pop(entry.id, None)
        self._well_at = time.monotonic()
        self._count("dead", 1)

    def _stay(self) -> None:
        """Tell that this reader is still at what it has in hand, before anybody takes it over."""
        if time.monotonic() - self._held_at > self._patience.handler:
            with suppress(*failures()):
                self.stream.hold(self.name, list(self._hand))
                self._held_at = time.monotonic()

    def _release(self) -> None:
        """Let others have what this reader did not come to, at once."""
        self._acknowledge()
        ids = [*self._hand, *(id_ for _, id_, _ in self._later)]
        self.stream.hold(self.name, ids, idle=self._patience.idle)
        self._hand, self._later = {}, []
        self.stream.leave(self.name)
