"""PrecisionMemBench: does recall return what it must, and nothing else?

    python bench/precision.py --data FOLDER/precisionmembench [--lexical] [--exact] [--misses] [--consolidate]

A belief becomes a memory: its domain is the project, its name and aliases are tags, superseded and resolved ones are
superseded and archived, pinned ones are listed and never recalled. Abstention is on: silence is part of the job.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections import defaultdict
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from recollect import Recollect, Scope
from recollect.models.minilm import MiniLM
from recollect.models.port import Embedder
from recollect.settings import load

REPOSITORY = Path(__file__).resolve().parents[1]
KINDS = {"entity": "fact", "relation": "fact", "open_question": "topic"}


class Beliefs:
    """The seeded beliefs as memories of their users, and which memory is which belief."""

    def __init__(self, folder: Path, store: Path, embedder: Embedder | None, *, consolidate: bool = False) -> None:
        self.rows = {row["_id"]: row for row in json.loads((folder / "beliefs.seed.json").read_text())}
        self._settings = load(data_dir=store, embedder="none").settings
        self._embedder = embedder
        self._consolidate = consolidate
        self.names: dict[str, str] = {}
        for belief in self.rows.values():
            self._seed(belief)
        self._settle()

    def _settle(self) -> None:
        """Make the vectors, and consolidate if that is to be measured."""
        for user in sorted({row["user_id"] for row in self.rows.values()}):
            with self.open(user, None) as memory:
                memory.embed_pending()
                if self._consolidate:
                    memory.consolidate()

    def open(self, user: str, project: str | None) -> Recollect:
        scope = Scope("bench", user, project)
        return Recollect.open(settings=self._settings, scope=scope, embedder=self._embedder, background=False)

    def _seed(self, belief: dict[str, Any]) -> None:
        domain = belief["scope"][0]
        project = None if domain == "user:universal" else domain
        subject = belief["canonical_name"].replace("_", " ")
        with self.open(belief["user_id"], project) as memory:
            kept = memory.remember(
                belief["content"],
                kind=KINDS.get(belief["type"], belief["type"]),
                tags=[tag[:50] for tag in (subject, *belief["aliases"])],
                importance=0.9 if belief["pinned"] else 0.5,
                confidence=belief["confidence"],
                occurred_at=belief["created_at"],
            )
            self.names[kept.id] = belief["_id"]
            if belief["epistemic_status"] == "superseded" or belief["resolved_at"]:
                memory.archive(kept.id)

    def learn(self, turn: dict[str, Any]) -> None:
        """What a session teaches on the way: a new belief, or new names for an old one."""
        created, updated = turn.get("createBeliefAtTurn"), turn.get("updateBeliefAtTurn")
        if created:
            belief = {"resolved_at": None, "pinned": False, "epistemic_status": "active", **created}
            self.rows[belief["_id"]] = belief
            self._seed(belief)
        if updated:
            belief = self.rows[updated["beliefId"]]
            memory_id = next(id_ for id_, name in self.names.items() if name == belief["_id"])
            with self.open(belief["user_id"], belief["scope"][0]) as memory:
                memory.update(memory_id, tags=[*memory.get(memory_id).tags, *updated["addAliases"]])
        if created or updated:
            self._settle()

    def relevant(self, user: str, scopes: list[str], query: str, limit: int) -> set[str]:
        """What recall returns of the beliefs that are neither pinned nor open questions nor about the user at large."""
        found: list[str] = []
        for domain in scopes:
            if domain != "user:universal" and limit > 0:
                with self.open(user, domain) as memory:
                    hits = memory.recall(query, limit=20, tiers=("memory",), project=domain).hits
                    found += [self.names[hit.id] for hit in hits]
        routed = [name for name in dict.fromkeys(found) if not self._routed_elsewhere(self.rows[name])]
        return set(routed[:limit])

    def pinned(self, user: str, scopes: list[str]) -> set[str]:
        """Current pinned beliefs of these domains: a listing, no search."""
        found = set()
        for domain in scopes:
            with self.open(user, domain) as memory:
                names = {self.names[one.id] for one in memory.memories(limit=1_000, project=domain, min_importance=0.9)}
                found |= {name for name in names if self.rows[name]["type"] != "open_question"}
        return found

    def _routed_elsewhere(self, belief: dict[str, Any]) -> bool:
        return bool(belief["pinned"] or belief["type"] == "open_question")


def judge(beliefs: Beliefs, case: dict[str, Any]) -> list[str]:
    """What is wrong with the answer to one case."""
    user, scopes, expect = case.get("userId", "test-user"), case["scope"], case["expect"]
    pinned = beliefs.pinned(user, scopes)
    limit = case.get("budget", {}).get("maxBeliefs", 12) - (len(pinned) if "budget" in case else 0)
    found = beliefs.relevant(user, scopes, case["query"], limit)
    wrong = []
    relevant = expect.get("relevantBeliefs", {})
    if "shouldOnlyInclude" in relevant:
        only = set(relevant["shouldOnlyInclude"])
        wrong += [f"extra {name}" for name in sorted(found - only)] + [
            f"missing {name}" for name in sorted(only - found)
        ]
    wrong += [f"forbidden {name}" for name in relevant.get("mustExclude", ()) if name in found]
    facts = expect.get("pinnedFacts", {})
    budgeted = pinned if case.get("budget", {}).get("maxBeliefs", 12) else set()
    wrong += [f"not pinned {name}" for name in facts.get("mustInclude", ()) if name not in budgeted]
    wrong += [f"pinned {name}" for name in facts.get("mustExclude", ()) if name in budgeted]
    return wrong


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--model-dir", type=Path, default=REPOSITORY / ".cache/models/all-MiniLM-L6-v2")
    parser.add_argument("--exact", action="store_true", help="questions by the exact model too")
    parser.add_argument("--lexical", action="store_true")
    parser.add_argument("--consolidate", action="store_true", help="after what is learned, as every night")
    parser.add_argument("--misses", action="store_true", help="list what is wrong, case by case")
    options = parser.parse_args()
    cases = json.loads((options.data / "retrieval.cases.json").read_text())
    embedder = None if options.lexical else MiniLM(options.model_dir, quick=not options.exact)
    with tempfile.TemporaryDirectory() as folder:
        beliefs = Beliefs(options.data, Path(folder) / "data", embedder, consolidate=options.consolidate)
        results = {case["caseId"]: (case, judge(beliefs, case)) for case in cases}
        for session in json.loads((options.data / "session-retrieval.cases.json").read_text()):
            for turn in session["turns"]:
                name = f"{session['caseId']} turn {turn['turnIndex']}"
                case = {"category": "Turns of sessions", "query": turn["userMessage"], **turn}
                results[name] = (case, judge(beliefs, case))
                beliefs.learn(turn)
    by_category: dict[str, list[bool]] = defaultdict(list)
    for name, (case, wrong) in results.items():
        by_category[case["category"]].append(not wrong)
        if wrong and options.misses:
            print(f"- {name}: {case['query'][:90]!r}: {'; '.join(wrong)}")
    print("| category | passed | of |\n|---|---|---|")
    for category, passed in sorted(by_category.items()):
        print(f"| {category} | {sum(passed)} | {len(passed)} |")
    every = [one for passed in by_category.values() for one in passed]
    print(f"| all | {sum(every)} | {len(every)} |")


if __name__ == "__main__":
    main()
