"""An agent at a user's: a home with our hooks in its settings, a project under git, a scripted model, our command."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from recollect import Event, Recollect, Session
from recollect.capture.spool import Spool
from recollect.distill.digest import Digest
from recollect.model import Cost
from tests.hosts.agents import Agent
from tests.hosts.scripted_model import Answer, ScriptedModel

HOST_SECONDS = 90
REMOTE, PROJECT, BRANCH = "git@github.com:Acme/Widget.git", "github.com/acme/widget", "trunk"
NOTHING: Mapping[str, str] = {}
T = TypeVar("T")


@dataclass
class Host:
    agent: Agent
    home: Path
    project: Path
    data_dir: Path
    model: ScriptedModel
    env: dict[str, str]

    def begin(
        self,
        prompt: str,
        *script: Answer,
        options: Sequence[str] = (),
        env: Mapping[str, str] = NOTHING,
        **how: Any,
    ) -> subprocess.Popen[str]:
        """Start the agent with a prompt, in a process group of its own."""
        self.model.follow(*script)
        with tempfile.TemporaryFile("w+", encoding="utf-8") as stdin:
            stdin.write(self.agent.typed(prompt))
            stdin.seek(0)
            return subprocess.Popen(
                self.agent.words(prompt, *options, **how),
                env={**self.env, **env},
                cwd=self.project,
                stdin=stdin,
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
        found: dict[str, Any] = json.loads(done.stdout)
        return found

    def drain(self) -> dict[str, Any]:
        """What hooks told of, taken in; returns the report."""
        drained = self.recollect("sweep", "--spool")
        assert (drained["refused"], drained["missing"], self.waiting()) == (0, [], [])
        return {"records": drained["records"], **drained["report"]}

    def waiting(self) -> list[Path]:
        """The records that hooks left and nobody has read."""
        return Spool(self.data_dir).waiting()

    def covered(self) -> bool:
        """Whether every turn on disk is stored, no file is unread, and no hook failed to write."""
        found = self.recollect("coverage")
        shown = {name: found[name] for name in ("percent", "gaps", "unread_files", "failed_files")}
        assert shown == {"percent": 100.0, "gaps": 0, "unread_files": 0, "failed_files": 0}
        assert found["hooks"] == {"missed": 0, "refused": 0, "waiting": 0}
        return bool(found["turns_on_disk"])

    def sessions(self) -> list[Session]:
        with self._opened() as memory:
            return memory.sessions()

    def events(self) -> list[Event]:
        """All that was kept, the sessions in the order they began."""
        with self._opened() as memory:
            return [event for each in reversed(memory.sessions()) for event in memory.history(each.id)]

    def costs(self) -> list[Cost]:
        with self._opened() as memory:
            return [cost for each in memory.sessions() for cost in memory.store.captures.costs(memory.scope, each.id)]

    def digest(self, session: str) -> Digest | None:
        with self._opened() as memory:
            return memory.digest(session)

    def files_with(self, text: str) -> list[Path]:
        """The files of ours in which these bytes stand."""
        files = [path for path in self.data_dir.rglob("*") if path.is_file()]
        assert files
        return [path for path in files if text.encode() in path.read_bytes()]

    def _opened(self) -> Recollect:
        return Recollect.open(self.data_dir, embedder=None, background=False)


def kill(process: subprocess.Popen[str]) -> None:
    """kill -9 for the agent and all it started."""
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()


def await_line(host: Host, *pieces: str) -> None:
    """Until all of these stand in a transcript: agents write them a moment later than they do things."""
    until = time.monotonic() + HOST_SECONDS
    while time.monotonic() < until:
        for path in host.agent.transcripts(host.home):
            content = path.read_bytes()
            if all(piece.encode() in content for piece in pieces):
                return
        time.sleep(0.02)
    raise AssertionError(f"no transcript with {pieces}")


def only(found: list[T]) -> T:
    """The only one there is."""
    (one,) = found
    return one


def said(events: list[Event], kind: str) -> list[str]:
    """The texts of one kind."""
    return [event.text for event in events if event.kind == kind]
