"""How many of the patterns that `recollect detect` finds are real, and how long it takes.

    python bench/detect_quality.py --transcripts DIR [--store DIR] [--show] [--time]

`DIR` holds one folder of transcripts an agent (`claude/`, `codex/`, …); they are swept into a store that is thrown away
(or kept in `--store` for the next run). Sessions are in two halves by the hash of their ids. Patterns of `dev` are real
when a reader said so of that very candidate (`verdicts.json`); one that nobody looked at counts as not real. Those of
`frozen` were never looked at: one is real when it matches a label that was written before there was a detector, by
its kind, by its telling words, and by at least two of the sessions in which the label saw it. `--show` prints those of
`dev`. `--time` measures 150 sessions, and 300: the same under other ids, each read for the first time, from what was
kept of the first, and once more when nothing changed.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
import tempfile
import time
from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from recollect import Recollect
from recollect.capture.sources import FLAVORS
from recollect.clock import now
from recollect.ids import stable_key
from recollect.learn.cluster import candidates_of
from recollect.learn.rank import ranked
from recollect.learn.signals import signals_of
from recollect.learn.values import Candidate, Detection, Signal
from recollect.model import Session
from recollect.pipeline.detecting import detect
from recollect.pipeline.digests import digest_due

LABELS = Path(__file__).parents[1] / "tests" / "fixtures" / "learn" / "labels"
HALVES = ("dev", "frozen")
GOAL, SECONDS, GROWTH = 0.80, 5.0, 2.2
SHARED = 2  # sessions that a candidate and the label it matches have in common
TIMED, MOST = 150, 1_000


def half_of(session: str) -> str:
    """Which half a session is in: by the hash of its id, so that nobody chose."""
    return HALVES[hashlib.sha256(session.encode()).digest()[0] % 2]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--transcripts", type=Path, required=True, help="directory with one folder an agent")
    parser.add_argument("--labels", type=Path, default=LABELS, help="directory with the labels")
    parser.add_argument("--store", type=Path, help="keep the swept sessions here for the next run")
    parser.add_argument("--show", action="store_true", help="print the candidates of dev (never those of frozen)")
    parser.add_argument("--time", action="store_true", help="measure the time for 150 and 300 sessions")
    args = parser.parse_args()
    labels = {half: json.loads((args.labels / f"{half}.json").read_text()) for half in HALVES}
    verdicts = json.loads((args.labels / "verdicts.json").read_text())
    with ExitStack() as stack:
        folder = args.store or Path(stack.enter_context(tempfile.TemporaryDirectory()))
        memory = stack.enter_context(Recollect.open(folder, background=False, embedder=None))
        if not memory.sessions(1):
            memory.sweep(
                {agent: [args.transcripts / agent] for agent in FLAVORS if (args.transcripts / agent).is_dir()}
            )
        for half in HALVES:
            found = detected(memory, half)
            real = [one for one in found if is_real(one, half, labels[half], verdicts)]
            doubted = {one for one, verdict in verdicts.items() if not verdict.get("cross_flavor", True)}
            report(half, found, real, doubted if half == "dev" else set(), show=args.show and half == "dev")
            seen = [one["id"] for one in labels[half]["patterns"] if any(matches(each, one) for each in found)]
            print(f"       {len(seen)} of {len(labels[half]['patterns'])} labelled patterns found")
        if args.time:
            timed(memory)
    return 0


def detected(memory: Recollect, half: str) -> list[Candidate]:
    """The candidates of one half."""
    sessions = [one for one in memory.sessions(MOST) if half_of(one.id) == half]
    signals = [signal for session in sessions for signal in shown(memory, session)]
    parents = {one.id: one.parent for one in sessions if one.parent}
    return ranked(candidates_of(signals, parents=parents), now())


def shown(memory: Recollect, session: Session) -> list[Signal]:
    digest = memory.digest(session.id)
    return signals_of(session, digest, memory.history(session.id)) if digest else []


def is_real(candidate: Candidate, half: str, labels: dict[str, Any], verdicts: dict[str, Any]) -> bool:
    if half == "dev":
        return bool(verdicts.get(candidate.id, {}).get("real"))
    return any(matches(candidate, label) for label in labels["patterns"])


def matches(candidate: Candidate, label: dict[str, Any]) -> bool:
    """Whether a candidate is what a label tells of: kind, telling words, and sessions in common."""
    if candidate.kind not in label["kinds"]:
        return False
    told = " ".join((candidate.key, candidate.statement, candidate.rule or "", *texts(candidate.examples))).casefold()
    shared = sum(any(one.startswith(start) for one in candidate.sessions) for start in label["sessions"])
    return shared >= min(SHARED, len(label["sessions"])) and all(
        any(term in told for term in group) for group in label["needs"]
    )


def texts(signals: Iterable[Signal]) -> list[str]:
    return [f"{one.statement} {one.detail.get('command', '')}" for one in signals]


def report(half: str, found: Sequence[Candidate], real: Sequence[Candidate], doubted: set[str], *, show: bool) -> None:
    share = len(real) / len(found) if found else 1.0
    cross = [one for one in found if one.cross_flavor]
    real_cross = sum(one.cross_flavor and one.id not in doubted for one in real)
    print(f"\n{half}: {len(found)} candidates, {len(cross)} of several agents ({real_cross} of them real)")
    print(f"  {ok(share >= GOAL)} precision {share:.2f} ({len(real)} real)   goal >= {GOAL:.2f}")
    for one in found if show else ():
        mark = "real" if one in real else "NOT "
        print(f"  {mark} {one.id} {'[CROSS-FLAVOR] ' if one.cross_flavor else ''}{one.kind}: {one.statement}")


def timed(memory: Recollect) -> None:
    """The time of one core for `detect` over 150 sessions of a store, the longest there are, and twice as many."""
    every = [one for one in memory.sessions(MOST) if memory.digest(one.id) is not None]
    longest = sorted(every, key=lambda one: (-one.turns, one.id))[:TIMED]
    took: list[tuple[float, float, float]] = []
    with tempfile.TemporaryDirectory() as folder, Recollect.open(folder, background=False, embedder=None) as copy:
        for number in range(2):
            for session in longest:
                copied(memory, copy, session, number)
            digest_due(copy.store, copy.scope, now)
            every, _ = clocked(copy, kept=False)
            first, found = clocked(copy)
            again, same = clocked(copy)
            assert found.sessions == len(longest) * (number + 1)
            assert found == same
            took.append((every, first, again))
    (once_all, once_first, once_again), (twice_all, twice_first, twice_again) = took
    growth, count = twice_all / once_all, len(longest)
    print(f"\n  {ok(once_all < SECONDS)} {count} sessions, the longest: {once_all:.2f} s   goal < {SECONDS:.0f} s")
    print(f"  {ok(growth <= GROWTH)} {2 * count} sessions: {twice_all:.2f} s, x {growth:.2f}   goal <= {GROWTH}")
    print(f"       {count} sessions, read and kept: {once_first:.2f} s; when nothing changed: {once_again:.2f} s")
    print(
        f"       {2 * count} sessions, half of them new: {twice_first:.2f} s; when nothing changed: {twice_again:.2f} s"
    )


def clocked(memory: Recollect, *, kept: bool = True) -> tuple[float, Detection]:
    """The time of one core for one `detect`."""
    began, at = time.process_time(), datetime(2026, 11, 16, tzinfo=UTC)
    found = detect(memory.store, memory.scope, now=at, kept=kept)
    return time.process_time() - began, found


def copied(source: Recollect, target: Recollect, session: Session, number: int) -> None:
    """A session under another id, with keys of its own."""
    name = f"{session.id}-{number}"
    events = [
        replace(event, session=name, key=stable_key(event.key, str(number)), bodies=())
        for event in source.history(session.id)
    ]
    parent = session.parent and f"{session.parent}-{number}"
    target.store.captures.ingest(target.scope, replace(session, id=name, parent=parent), events)


def ok(reached: bool) -> str:
    return "ok  " if reached else "MISS"


if __name__ == "__main__":
    sys.exit(main())
