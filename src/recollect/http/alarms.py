"""What nobody does by accident: many wrong keys, a great deal deleted or exported, far more written than ever.

It is counted in the metrics and logged once in its time, with the id of the key or the address; it stops nobody. The
limits that stop somebody are elsewhere: these are for whoever looks after the service.
"""

from __future__ import annotations

import logging
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass

from recollect.metrics import Metrics

MOST = 10_000  # keys and addresses that are watched at once


@dataclass(frozen=True, slots=True)
class Watch:
    """So many in so many seconds are unusual."""

    kind: str
    most: int
    seconds: float


WATCHES = {
    # Nobody mistypes a key so often; the limit of an address is 20 a minute, so this is one who goes on.
    "wrong_key": Watch("wrong_keys", 30, 300.0),
    # A person tidies up a few dozen; a stolen key, or a loop, hundreds.
    "delete": Watch("mass_delete", 100, 600.0),
    # An export is everything; a backup needs one a day.
    "export": Watch("mass_export", 3, 3600.0),
}
# A burst is so many times what this key wrote in the minutes before, and at least so much in one minute.
BURST_TIMES, BURST_LEAST, BURST_MEMORY = 10.0, 120, 0.9


class Alarms:
    """Counts by who did it, and tells once in a while."""

    def __init__(self, metrics: Metrics | None = None, clock: Callable[[], float] = time.monotonic) -> None:
        self._metrics, self._clock = metrics, clock
        self._counts: OrderedDict[tuple[str, str], tuple[float, int]] = OrderedDict()  # begun, how many
        self._usual: OrderedDict[str, tuple[float, int, float]] = OrderedDict()  # minute begun, how many, usual

    def note(self, what: str, who: str, n: int = 1) -> bool:
        """Somebody did it; whether that is an alarm now."""
        watch, now = WATCHES[what], self._clock()
        begun, count = self._counts.pop((what, who), (now, 0))
        if now - begun >= watch.seconds:
            begun, count = now, 0
        self._counts[what, who] = (begun, count + n)
        _bounded(self._counts)
        if count <= watch.most < count + n:
            self._tell(watch.kind, who, count + n)
            return True
        return False

    def wrote(self, who: str, n: int = 1) -> bool:
        """Somebody brought something in; whether it is a burst now, measured by what they usually bring."""
        now = self._clock()
        begun, count, usual = self._usual.pop(who, (now, 0, 0.0))
        minutes = int((now - begun) / 60)
        if minutes:
            usual = (BURST_MEMORY * usual + (1 - BURST_MEMORY) * count) * BURST_MEMORY ** min(minutes - 1, 1_000)
            begun, count = now, 0
        self._usual[who] = (begun, count + n, usual)
        _bounded(self._usual)
        most = max(BURST_LEAST, BURST_TIMES * usual)
        if count <= most < count + n:
            self._tell("ingest_burst", who, count + n)
            return True
        return False

    def _tell(self, kind: str, who: str, count: int) -> None:
        logging.getLogger(__name__).warning("alarm %s: %d by %s", kind, count, who[:60])
        if self._metrics is not None:
            self._metrics.alarm(kind)


def _bounded(
    kept: OrderedDict[tuple[str, str], tuple[float, int]] | OrderedDict[str, tuple[float, int, float]],
) -> None:
    while len(kept) > MOST:
        kept.popitem(last=False)
