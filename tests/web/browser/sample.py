"""What stands in the site the browser looks at: sessions of three agents, memories of every kind, patterns."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import recollect
from recollect import Recollect

ROOT = Path(__file__).resolve().parents[3]
DEMO = Path(recollect.__file__).parent / "demo"


@dataclass(frozen=True)
class Sample:
    """Names of what is there."""

    folder: Path
    project: Path
    memories: dict[str, str]  # a word for it -> its id
    session: str  # one with tool calls


def fill(data_dir: Path, folder: Path) -> Sample:
    """Put it all into a data directory."""
    project = folder / "tide"
    project.mkdir()
    transcripts = folder / "transcripts"
    command = [sys.executable, str(ROOT / "tools" / "learning_samples.py"), str(transcripts), str(project), "before"]
    subprocess.run(command, check=True)
    places = {
        "claude": [DEMO / "claude", transcripts / "claude"],
        "codex": [DEMO / "codex", transcripts / "codex"],
        "grok": [DEMO / "grok"],
    }
    with Recollect.open(data_dir, background=False, embedder=None) as memory:
        memory.sweep(places)
        for number in range(6):
            memory.record(
                "chat:talk", "user" if number % 2 == 0 else "assistant", f"Message {number} about the harbour"
            )
        memory.summarize("chat:talk")
        kept = {
            "tides": memory.remember(
                "The tide service caches forecasts for ten minutes",
                kind="decision",
                why="The upstream API allows 100 calls an hour",
                tags=["tide", "cache"],
            ),
            "tabs": memory.remember("Indent with tabs in the firmware folder", kind="preference", tags=["style"]),
            "port": memory.remember("The staging database listens on port 6543", kind="fact", tags=["staging"]),
        }
        memory.supersede(kept["port"].id, "The staging database listens on port 6544")
        memory.patterns.refresh()
        session = next(one.id for one in memory.sessions(500) if one.flavor == "claude" and one.turns)
        return Sample(folder, project, {word: one.id for word, one in kept.items()}, session)
