"""With --json every verb prints exactly one JSON document, and nothing else, on stdout."""

from __future__ import annotations

from pathlib import Path

import pytest

from recollect.cli.main import VERBS
from tests.flow.conftest import Cli

SWEPT = set(
    "discovered ingested skipped_unchanged analyzed failed withheld empty events_added events_changed turns busy "
    "by_agent counts problems retention memories".split()
)
COVERED = set(
    "sessions turns_on_disk turns_stored turns_withheld percent ways withheld gaps unread_files failed_files hooks "
    "lines_not_understood unread failed by_session".split()
)
RUNS = {
    "demo": (
        ["demo"],
        set(
            "sweep coverage sessions digest second_sweep distilled memories mode answers gist standing seconds".split()
        ),
    ),
    "install": (["install"], {"dry_run", "agents", "not_found", "due"}),
    "uninstall": (["uninstall"], {"dry_run", "agents"}),
    "whoami": (["whoami"], {"tenant", "user", "project", "rule", "directory", "data_dir", "database"}),
    "sweep": (["sweep"], SWEPT | {"dry_run", "hooks"}),
    "backfill": (["backfill", "claude"], SWEPT | {"dry_run", "cost_estimate_usd"}),
    "coverage": (["coverage"], COVERED),
    "hook": (["hook", "claude"], {"record", "answer"}),
    "remember": (["remember", "another thing"], {"memory", "known"}),
    "recall": (["recall", "thing"], {"query", "hits", "abstained", "mode", "note"}),
    "context": (["context", "thing"], {"text", "tokens", "ids", "mode", "note", "abstained"}),
    "list": (["list"], {"memories", "limit", "offset"}),
    "show": (
        ["show", "ID"],
        set("memory quotes said versions superseded merged successors disputes findings relations usage".split()),
    ),
    "insights": (["insights"], {"insights"}),
    "sessions": (["sessions"], {"sessions", "limit", "offset"}),
    "follow": (["follow", "--once"], {"lines"}),
    "detect": (["detect"], {"candidates", "sessions", "signals", "health", "html"}),
    "patterns": (["patterns"], {"patterns"}),
    "consolidate": (
        ["consolidate"],
        {"steps", "memories", "changed", "share", "counts", "too_much", "run", "skipped", "dry_run"},
    ),
    "replay": (["replay"], {"replay"}),
    "feedback": (["feedback", "ID", "helpful"], {"memory", "usefulness", "feedback", "injections"}),
    "ranking": (["ranking"], {"default", "own", "at", "figures"}),
    "confirm": (["confirm", "ID"], {"memory"}),
    "edit": (["edit", "ID", "--why", "so"], {"memory", "changed"}),
    "archive": (["archive", "ID"], {"memory", "archived"}),
    "pin": (["pin", "ID"], {"memory", "pinned"}),
    "contexts": (["contexts"], {"contexts"}),
    "forget": (["forget", "ID", "--yes"], {"dry_run", "counts", "complete", "remains", "backups", "soft"}),
    "undo": (["undo", "ID"], {"memory"}),
    "keys": (["keys", "create"], {"text", "key"}),
    "quota": (["quota"], {"tenant", "user", "memories", "ingests", "resets_at"}),
    "audit": (["audit", "verify"], {"whole", "chains", "anchor_faults"}),
    "tasks": (["tasks"], {"tasks", "backlog"}),
    "worker": (["worker", "--once"], {"tasks", "backlog"}),
    "export": (["export"], {"records"}),
    "import": (["import", "-"], {"lines", "counts"}),
    "backup": (["backup", "b.db"], set("file from rows id path host made_at expires_at bytes sha256".split())),
    "restore": (["restore", "b.db", "--data-dir", "fresh"], {"database", "counts"}),
    "move": (["move", "--from", "sqlite", "--to", "STORE"], {"dry_run", "owners", "pending"}),
    "doctor": (["doctor", "--deep"], {"ok", "findings"}),
    "config": (["config"], {"config_file", "settings", "embedder", "store_model"}),
    "database": (["database", "url"], {"url", "origin", "credentials", "data_dir"}),
    "budget": (
        ["budget"],
        set("day model why_none price_known silent_until tokens usd projects spent changed".split()),
    ),
    "model": (["model"], {"embedder", "model", "dim", "folder", "installed", "intact", "store_model"}),
    "reembed": (["reembed"], {"embedded", "pending", "model", "dim"}),
    "maintain": (["maintain"], {"dry_run", "upkeep", "pending", "jobs"}),
}


def test_every_verb_is_here() -> None:
    # The standard output of `mcp` is the protocol; these others have tests of their own, with what they need.
    assert RUNS.keys() == VERBS.keys() - {"mcp", "serve", "page", "bus"}


@pytest.mark.parametrize("verb", RUNS)
def test_the_document_has_its_parts(cli: Cli, verb: str, minilm_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    words, parts = RUNS[verb]
    if verb in ("reembed", "demo", "recall"):
        monkeypatch.setenv("RECOLLECT_MODEL_DIR", str(minilm_dir))
    id_ = cli("remember", "--json", "one thing").json["memory"]["id"]
    if verb == "undo":
        cli("forget", id_, "--soft", "--yes")
    if verb == "restore":
        cli("backup", "b.db")
    given = {"ID": id_, "STORE": f"sqlite:///{Path.cwd()}/moved"}
    ran = cli(*(given.get(word, word) for word in words), "--json")
    assert ran.code == 0, ran.out + ran.err
    assert ran.json.keys() == parts


def test_a_remembered_thing_is_found_by_its_meaning_at_once(
    cli: Cli, minilm_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RECOLLECT_MODEL_DIR", str(minilm_dir))
    cli("remember", "My daughter cannot eat peanuts")
    cli("remember", "The build runs on Jenkins")
    found = cli("recall", "food allergies of the child", "--json", "-n", "1").json
    assert found["mode"] == "hybrid"
    assert found["hits"][0]["content"] == "My daughter cannot eat peanuts"
    assert found["hits"][0]["parts"]["semantic"] > 0
