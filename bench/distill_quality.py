"""How good the memories are that are distilled without a model, against sessions labelled by careful reading.

    python bench/distill_quality.py --transcripts DIR --labels tests/fixtures/distill [--half dev|dev2|…] [--show]

`DIR` holds one folder of transcripts an agent (`claude/`, `codex/`, …); the sessions that are labelled are swept into a
store that is thrown away (or kept in `--store` for the next run). Each is distilled and vetted as the pipeline does it.
A memory matches a label when it holds one of each group of its telling terms, or cites the words the label cites.
Precision: produced that match something worth keeping or acceptable. Recall: importance of what was found of what was
worth keeping. Junk: produced that cite a trap, or match nothing and are ephemeral by `EPHEMERAL`. Details are shown for
the sessions that rules may learn from (`dev`, `dev3`), never for those that are only scored: `frozen`, and `dev2`,
which was set aside when more labels were written.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from recollect import Recollect
from recollect.capture.sources import FLAVORS
from recollect.clock import now
from recollect.distill.rules.session import distill
from recollect.distill.vetting.vet import Vetted, vet
from recollect.model import Event, Evidence, Memory

HALVES = ("dev", "dev2", "dev3", "frozen")
OPEN = ("dev", "dev3")  # rules may be learned from these, so what is made of them may be looked at
GOALS = {"precision": 0.80, "recall": 0.60, "junk": 0.10}
# What is told of the moment: narration, status, plans, requests to do something once.
EPHEMERAL = re.compile(
    r"(?:i'll|i'm|i will|i am going|i'm going|let me|let's (?:start|continue|move on|look"
    r"|check)|now |next|first,|then i"
    r"|done|fixed|committed|pushed|merged|created a (?:commit|pr)|all (?:tests|green|good|set)|ready|running|looking"
    r"|can you|could you|would you|please|want me|should i|shall i|would you like|commit|push|open a|create a|rebase"
    r"|run |re-?run|retry|check |fix |continue|the user is |working on)\b",
    re.IGNORECASE,
)


@dataclass(slots=True)
class Half:
    """What was counted over the sessions of one half."""

    sessions: int = 0
    produced: int = 0
    right: int = 0
    junk: int = 0
    worth: float = 0.0
    found: float = 0.0
    kinds: dict[str, Counter[str]] = field(default_factory=dict)
    refused: Counter[str] = field(default_factory=Counter)
    seconds: float = 0.0
    megabytes: float = 0.0
    slowest: float = 0.0

    @property
    def figures(self) -> dict[str, float]:
        return {
            "precision": self.right / self.produced if self.produced else 1.0,
            "recall": self.found / self.worth if self.worth else 1.0,
            "junk": self.junk / self.sessions if self.sessions else 0.0,
        }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--transcripts", type=Path, required=True, help="directory with one folder an agent")
    parser.add_argument("--labels", type=Path, required=True, help="directory with a folder for each half")
    parser.add_argument("--half", choices=HALVES, help="score one half only")
    parser.add_argument("--show", action="store_true", help="print what was produced and missed (never of frozen)")
    parser.add_argument("--store", type=Path, help="keep the swept sessions here for the next run")
    args = parser.parse_args()
    if args.show and args.half not in OPEN:
        parser.error("--show needs --half dev or dev3: nobody looks into the frozen half")
    halves = [args.half] if args.half else list(HALVES)
    labels = {
        half: [json.loads(file.read_text()) for file in sorted((args.labels / half).glob("*.json"))] for half in halves
    }
    with ExitStack() as stack:
        folder = args.store or Path(stack.enter_context(tempfile.TemporaryDirectory()))
        memory = stack.enter_context(Recollect.open(folder, background=False, embedder=None))
        wanted = {label["session"] for half in halves for label in labels[half]}
        if any(memory.store.sessions.get(memory.scope, session) is None for session in wanted):
            memory.sweep(places(args.transcripts, wanted))
        for half in halves:
            scored = Half()
            for label in labels[half]:
                score(memory, label, scored, show=args.show)
            report(half, scored)
    return 0


def places(root: Path, sessions: set[str]) -> dict[str, list[str]]:
    """Folders of the agents whose sessions are labelled."""
    agents = {session.partition(":")[0] for session in sessions}
    return {agent: [str(root / agent)] for agent in sorted(agents & set(FLAVORS)) if (root / agent).is_dir()}


def score(memory: Recollect, label: dict[str, Any], half: Half, *, show: bool) -> None:
    session = memory.store.sessions.get(memory.scope, label["session"])
    if session is None:
        sys.exit(f"{label['session']} is not among the transcripts")
    events = memory.history(session.id)
    by_key = {event.key: event for event in events}
    began = time.process_time()
    drafts = distill(session, events, None)
    took = time.process_time() - began
    vetted: Vetted = vet(drafts, by_key, session=session.id, project=session.project, now=now())
    half.sessions += 1
    half.seconds += took
    half.slowest = max(half.slowest, took)
    half.megabytes += sum(len(event.text) for event in events) / 1e6
    half.refused += vetted.refused
    worth, fine, traps = label["worth"], label["acceptable"], label["traps"]
    half.worth += sum(one["importance"] for one in worth)
    found: set[str] = set()
    if show:
        print(f"\n== {session.id}")
    for one in vetted.kept:
        hits = [each["id"] for each in (*worth, *fine) if matches(one, each, by_key)]
        trapped = any(overlaps(one.evidence, trap["event"], trap["quote"], by_key) for trap in traps)
        cited = any(cites(one, each, by_key) for each in (*worth, *fine))
        right = bool(hits) and (cited or not trapped)
        junk = not right and (trapped or EPHEMERAL.match(one.content) is not None)
        if right:
            found.update(hits)
        count = half.kinds.setdefault(one.kind, Counter())
        count.update(produced=1, right=right, junk=junk)
        half.produced += 1
        half.right += right
        half.junk += junk
        if show:
            mark = "ok  " if right else "JUNK" if junk else "miss"
            print(f"  {mark} {one.kind:<10} {one.trust:<7} {one.importance:.2f} {','.join(hits):<8} {one.content}")
            if one.why:
                print(f"         why: {one.why}")
    half.found += sum(one["importance"] for one in worth if one["id"] in found)
    if show:
        for one in worth:
            if one["id"] not in found:
                print(f"   not found: {one['id']} {one['kind']} {one['importance']} {one['statement'][:160]}")
        if vetted.refused:
            print(f"   refused: {dict(vetted.refused)}")


def matches(memory: Memory, label: dict[str, Any], events: dict[str, Event]) -> bool:
    """Whether a memory tells what a label tells."""
    if memory.kind == "preference" and label["said_by"] != "user":
        return False  # nobody's wish was there
    text = f"{memory.content} {memory.why or ''}".casefold()
    told = all(any(term.casefold() in text for term in group) for group in label["needs"])
    return (bool(label["needs"]) and told) or cites(memory, label, events)


def cites(memory: Memory, label: dict[str, Any], events: dict[str, Event]) -> bool:
    return any(overlaps(memory.evidence, one["event"], one["quote"], events) for one in label["evidence"])


def overlaps(evidence: tuple[Evidence, ...], key: str, quote: str, events: dict[str, Event]) -> bool:
    """Whether one of the spans shares characters with a quote in the same event."""
    event = events.get(key)
    at = event.text.find(quote) if event else -1
    if at < 0:
        return False
    spans: Iterator[Evidence] = (span for span in evidence if span.event == key)
    return any((span.start or 0) < at + len(quote) and at < (10**9 if span.end is None else span.end) for span in spans)


def report(half: str, scored: Half) -> None:
    figures = scored.figures
    each = scored.produced / max(scored.sessions, 1)
    print(f"\n{half}: {scored.sessions} sessions, {scored.produced} memories, {each:.1f} a session")
    for name, value in figures.items():
        reached = value <= GOALS[name] if name == "junk" else value >= GOALS[name]
        sign = "<=" if name == "junk" else ">="
        print(f"  {'ok  ' if reached else 'MISS'} {name:<10} {value:.2f}   goal {sign} {GOALS[name]:.2f}")
    for kind, count in sorted(scored.kinds.items()):
        print(f"       {kind:<10} {count['produced']:3} produced, {count['right']:3} right, {count['junk']:2} junk")
    if scored.refused:
        print(f"       refused by the vetting: {dict(sorted(scored.refused.items()))}")
    rate = scored.seconds / scored.megabytes if scored.megabytes else 0.0
    print(f"       {rate:.3f} s a MB of text, slowest session {scored.slowest:.3f} s")


if __name__ == "__main__":
    sys.exit(main())
