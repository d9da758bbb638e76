"""The bench the real agents are tried on: a home, a project under git, our hooks, and a model that is scripted."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from recollect import Event, Recollect, Session
from recollect.capture.spool import Spool
from recollect.model import Cost
from tests.hosts.agents import Agent, find_claude, find_codex
from tests.hosts.scripted_model import Answer, ScriptedModel, serving

HOST_SECONDS = 90
REMOTE, PROJECT = "git@github.com:Acme/Widget.git", "github.com/acme/widget"


@dataclass
class Bench:
    """One agent in one home."""

    agent: Agent
    home: Path
    project: Path
    data_dir: Path
    model: ScriptedModel
    opened: Callable[..., Recollect]
    env: dict[str, str] = field(default_factory=dict)

    def begin(
        self, prompt: str, *script: Answer, resume: str | None = None, fork: bool = False, env: Mapping[str, str] = {}
    ) -> subprocess.Popen[str]:
        """Start the agent with a prompt, in a process group of its own."""
        self.model.follow(*script)
        return subprocess.Popen(
            self.agent.words(prompt, resume=resume, fork=fork),
            env={**self.env, **env},
            cwd=self.project,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )

    def run(self, prompt: str, *script: Answer, **how: Any) -> subprocess.CompletedProcess[str]:
        """Let the agent do a prompt, to the end."""
        process = self.begin(prompt, *script, **how)
        try:
            out, err = process.communicate(timeout=HOST_SECONDS)
        except subprocess.TimeoutExpired:
            kill(process)
            raise
        done = subprocess.CompletedProcess(process.args, process.returncode, out, err)
        assert done.returncode == 0, done
        return done

    def recollect(self, *words: str) -> dict[str, Any]:
        """Our command, as the user would type it."""
        command = [sys.executable, "-m", "recollect", *words, "--json", "--data-dir", str(self.data_dir)]
        done = subprocess.run(command, env=self.env, cwd=self.home, capture_output=True, text=True, timeout=60)
        assert done.returncode == 0, done
        return json.loads(done.stdout)  # type: ignore[no-any-return]

    def drain(self) -> dict[str, Any]:
        return self.recollect("sweep", "--spool")

    def waiting(self) -> list[Path]:
        """The records that hooks left and nobody has read."""
        return Spool(self.data_dir).waiting()

    def sessions(self) -> list[Session]:
        with self.opened(embedder=None) as memory:
            return memory.sessions()

    def events(self, session: str | None = None) -> list[Event]:
        """All events of the one session there is, or of the one named."""
        with self.opened(embedder=None) as memory:
            return memory.history(session or only(memory.sessions()).id)

    def costs(self) -> list[Cost]:
        with self.opened(embedder=None) as memory:
            found = [memory.store.captures.costs(memory.scope, each.id) for each in memory.sessions()]
        return [cost for each in found for cost in each]

    def files_with(self, text: str) -> list[Path]:
        """The files of ours in which these bytes stand, whatever they are."""
        files = [path for path in self.data_dir.rglob("*") if path.is_file()]
        assert files
        return [path for path in files if text.encode() in path.read_bytes()]


def only[T](found: list[T]) -> T:
    (one,) = found
    return one
