"""What stands in the site the browser looks at: sessions of three agents, memories of every kind, patterns, and one
session whose agent was told something.
"""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

import recollect
from recollect import Recollect
from recollect.clock import now
from recollect.frame import block_name
from recollect.pipeline.folder import Folder
from recollect.pipeline.prepare import standing
from recollect.store.ports.use import Injection
from tests.flow.patterns_fixture import keep, missing_go

ROOT = Path(__file__).resolve().parents[3]
DEMO = Path(recollect.__file__).parent / "demo"


@dataclass(frozen=True)
class Sample:
    """Names of what is there."""

    folder: Path
    project: Path
    memories: dict[str, str]  # a word for it -> its id
    session: str  # one with tool calls
    event: str = ""  # the first thing its agent said
    patterns: tuple[str, ...] = ()  # those to review, the most worthwhile first


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
        keep(memory, *(missing_go(f"other {number}", day=number) for number in range(3)), project="other")
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
        memory.forget(memory.remember("The harbour mascot is a walrus").id, soft=True)
        memory.patterns.refresh()
        session = max((one for one in memory.sessions(500) if one.flavor == "claude"), key=lambda one: one.turns).id
        said = next(one.key for one in memory.history(session) if one.kind == "assistant_text")
        tell(memory, session)
        patterns = tuple(one.id for one in memory.patterns.find("candidate"))
        return Sample(folder, project, {word: one.id for word, one in kept.items()}, session, said, patterns)


def tell(memory: Recollect, session: str) -> None:
    """What the agent of a session was told when it began, as its hook would have noted and kept it."""
    block = standing(memory.store, memory.scope, memory.settings, now(), "claude")
    name, began = block_name(block.text), memory.history(session)[0].occurred_at
    shown = [Injection(one, session, began, "claude", "start", name) for one in block.ids]
    memory.store.use.inject(memory.scope, shown, before=began - timedelta(days=1))
    with Folder(memory.settings.data_dir, "told") as texts:
        texts.put(name, block.output.encode())
