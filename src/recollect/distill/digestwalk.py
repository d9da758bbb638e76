"""One pass over the events of a session, which gathers what its digest is made of.

Events come in, in order of their position, one by one; counters, a few short texts and the signs of how it ended are
left, from which `digest` makes the digest. No event is kept.
"""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from recollect.distill.corrections import asks, closes, host_command, is_approval, is_correction, rewinds, tells
from recollect.distill.digestparts import GOAL_CHARS, MAX_CORRECTIONS, QUOTE_CHARS, Correction, Tests
from recollect.distill.failures import Failures
from recollect.distill.fingerprint import fingerprint, of_line, refused
from recollect.distill.outcome import Signs
from recollect.distill.shipping import Shipped
from recollect.distill.testruns import normal_command, piped, runner_of, runs_tests, tally
from recollect.model import Event, Session
from recollect.text import one_line

PAUSE_SECONDS = 300.0  # a longer gap is time in which nobody worked
_LOOKED_AT = 4_000
_CALLS = frozenset(("tool_call", "edit", "test_run"))
_STARTERS = frozenset("task agent spawn_agent spawn_subagent subagent delegate delegate_task call_agent".split())
_SHELLS = ("session_id", "bash_id", "shell_id")  # how a later call names a command that still runs
_MAX_RUNNING = 20
# What the host writes when a person only stopped it.
_SAID_NOTHING = ("The user doesn't want to ", "[Request interrupted")


@dataclass(slots=True)
class _Call:
    """A tool call whose result has not come yet."""

    tool: str
    action: str
    target: str  # what has to succeed for its error to be resolved
    command: str
    files: list[str]
    place: int
    edit_before: int  # where the last edit was
    look: bool = False  # only asks how a command is doing that still runs


@dataclass(slots=True)
class Use:
    """How often a command was run, and failed."""

    count: int = 0
    failed: int = 0
    failing: int = 0  # in a row


@dataclass(slots=True)
class _Last:
    """Positions of the last of each thing; -1 when there was none."""

    prompt: int = -1
    work: int = -1
    edit: int = -1
    test: int = -1
    edit_before_test: int = -1
    shipped: int = -1
    objection: int = -1


class Walk:
    """What is gathered on the way through a session."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self.counts: Counter[str] = Counter()
        self.tools: Counter[str] = Counter()
        self.actions: Counter[str] = Counter()
        self.read: Counter[str] = Counter()
        self.edited: Counter[str] = Counter()
        self.commands: dict[str, Use] = {}
        self.pending: dict[str, _Call] = {}
        self.failures = Failures()
        self.shipped = Shipped()
        self.running: list[tuple[str, str]] = []  # target and command of calls that returned before they ended
        self.watched: dict[str, tuple[str, str]] = {}
        self.tests = Tests()
        self.corrected: list[Correction] = []
        self.goal: str | None = None
        self.first_prompt: str | None = None
        self.goal_tells = False
        self.last_prompt: str | None = None
        self.last_text = ""
        self.prompt_kind = ""
        self.answering = False
        self.end = ""
        self.closed = False
        self.last_command_failed = 0
        self.last = _Last()
        self.place = 0
        self.first_at: datetime | None = None
        self.last_at: datetime | None = None
        self.active = 0.0

    def take(self, event: Event) -> None:
        self.place += 1
        self._clock(event)
        kind = event.kind
        if kind in _CALLS:
            self._called(event)
        else:
            handle = _HANDLERS.get(kind)
            if handle is not None:
                handle(self, event)

    def _clock(self, event: Event) -> None:
        at = event.occurred_at
        if event.meta.get("time") == "file":  # when the file was written says nothing about when things happened
            return
        if self.first_at is None or self.last_at is None:
            self.first_at = self.last_at = at
            return
        if at > self.last_at:
            gap = (at - self.last_at).total_seconds()
            self.active += gap if gap <= PAUSE_SECONDS else 0.0
            self.last_at = at
        elif at < self.first_at:
            self.first_at = at

    # -- what people say

    def prompted(self, event: Event) -> None:
        if event.role != "user" or not event.text.strip():
            return
        command = host_command(event.text[:_LOOKED_AT])
        if command is not None:
            self.closed = closes(command)
            self.counts["rewinds"] += rewinds(command)
            self.first_prompt = self.first_prompt or one_line(event.text[:_LOOKED_AT], GOAL_CHARS)
            return
        shown = one_line(event.text[:_LOOKED_AT], GOAL_CHARS)
        self._aim(event.text, shown)
        if event.origin == "user":
            self.counts["prompts"] += 1
            self.last_prompt = shown
            self.prompt_kind = self._judged(event)
        self.counts["asked"] += 1
        self.last.prompt = self.place
        self.end, self.closed = "prompt", False

    def _aim(self, text: str, shown: str) -> None:
        """The goal is the first prompt that tells one. After a bare command of the person's own only the next can."""
        if self.goal_tells:
            return
        if tells(text[:_LOOKED_AT]):
            self.goal, self.goal_tells = shown, True
        elif self.goal is None:
            self.goal = shown
        elif self.goal.startswith("/"):
            self.goal_tells = True

    def _judged(self, event: Event) -> str:
        if self.counts["texts"] + self.counts["calls"] == 0:
            return "other"
        if is_correction(event.text, self.answering):
            self._objected(event)
            return "correction"
        return "approval" if is_approval(event.text) else "other"

    def _objected(self, event: Event) -> None:
        self.counts["corrections"] += 1
        self.last.objection = self.place
        if len(self.corrected) < MAX_CORRECTIONS:
            quote = one_line(event.text[:_LOOKED_AT], QUOTE_CHARS)
            self.corrected.append(Correction(event.key, event.position, quote))

    def intervened(self, event: Event) -> None:
        """A person stopped the agent or refused a call; the stop that comes with a refusal is part of it."""
        denied = "call" in event.meta
        if not denied and self.end == "denial":
            return
        self.counts["denials" if denied else "interruptions"] += 1
        self.last.objection = self.place
        said = event.text.strip()
        if said and not said.startswith(_SAID_NOTHING) and is_correction(said):
            self._objected(event)
        self.end = "denial" if denied else "interruption"

    # -- what the agent says and does

    def said(self, event: Event) -> None:
        if event.meta.get("sidechain") or not event.text.strip():
            return
        self.counts["texts"] += 1
        self.last_text = one_line(event.text[:_LOOKED_AT], GOAL_CHARS)
        self.answering = asks(event.text)
        self._worked("text")
        self.failures.succeeded("api")

    def _worked(self, how: str) -> None:
        if self.last.work < self.last.prompt:
            self.counts["turns"] += 1
        self.last.work = self.place
        self.end, self.closed = how, False

    def _called(self, event: Event) -> None:
        meta = event.meta
        tool, action = str(meta.get("tool") or "unknown")[:100], str(meta.get("action") or "other")[:20]
        self.counts["calls"] += 1
        self.tools[tool] += 1
        self.actions[action] += 1
        given = meta.get("files")
        named = given if isinstance(given, list | tuple) else ()
        files = [self._relative(path) for path in named if isinstance(path, str)]
        edit_before = self.last.edit
        if action == "edit":
            self.counts["edits"] += 1
            self.edited.update(files)
            self.last.edit = self.place
        elif action == "read":
            self.read.update(files)
        elif action == "task" and tool.casefold() in _STARTERS:
            self.counts["subagents"] += 1
        look = action == "shell" and _looks(event)
        target, command = "\0".join((tool, *files[:3])), ""
        if action == "shell":
            target, command = self._watched(event) if look else self._commanded(event)
        call = _Call(tool, action, target, command, files, self.place, edit_before, look)
        self.pending[str(meta.get("call") or event.key)] = call
        self._worked("call")

    def _commanded(self, event: Event) -> tuple[str, str]:
        """(target, command) of a shell call."""
        target = normal_command(event.text)
        use = self.commands.setdefault(target, Use())
        use.count += 1
        self.counts["retries"] += use.failing > 0
        return target, event.text[:_LOOKED_AT]

    def _watched(self, event: Event) -> tuple[str, str]:
        """(target, command) a look is at: the newest that still ran when the look's shell was first named."""
        shell = str(next(event.meta["input"][name] for name in _SHELLS if name in event.meta["input"]))
        if shell not in self.watched and self.running:
            self.watched[shell] = self.running.pop()
        return self.watched.get(shell, ("", ""))

    def _relative(self, path: str) -> str:
        path = path.strip()[:500]
        root = (self.session.cwd or "").rstrip("/\\")
        if root and path.startswith(root) and path[len(root) : len(root) + 1] in ("/", "\\"):
            return path[len(root) + 1 :] or path
        return path

    # -- what came of it

    def returned(self, event: Event) -> None:
        if self.end == "call":
            self.end = "result"
        call = self.pending.pop(str(event.meta.get("call")), None)
        if call is None:
            return
        failed = _failed(event.meta)
        stopped = bool(event.meta.get("interrupted")) or (failed is True and refused(event.text))
        if call.action == "edit" and (failed or stopped):
            self._unedit(call)
        if call.action == "shell" and not stopped:
            self._ran(call, event, failed)
        if stopped or failed is None:
            return
        if failed:
            self.failures.erred(fingerprint(event.text), call.tool, call.target)
        elif not self._hides_error(call, event.text):
            self.failures.succeeded(call.target)

    def _unedit(self, call: _Call) -> None:
        self.counts["edits"] -= 1
        self.edited.subtract(call.files)
        if self.last.edit == call.place:
            self.last.edit = call.edit_before

    def _hides_error(self, call: _Call, output: str) -> bool:
        """Whether a command that failed before only seems to succeed, because its output goes through another."""
        return call.target in self.failures.failing and piped(call.command) and fingerprint(output) is not None

    def _ran(self, call: _Call, event: Event, failed: bool | None) -> None:
        use = self.commands.setdefault(call.target, Use())
        if "exit" not in event.meta and not failed and not call.look:
            self.running = [*self.running, (call.target, call.command)][-_MAX_RUNNING:]
        if failed:
            use.failed += 1
            use.failing += 1
        elif failed is False:
            use.failing = 0
        self.last_command_failed = use.failing if failed else 0
        if runs_tests(call.command):
            self._tested(call, event, failed)
        if not failed and self.shipped.ran(call.command, event.text, event.meta.get("exit") == 0):
            self.last.shipped = self.place

    def _tested(self, call: _Call, event: Event, failed: bool | None) -> None:
        told = tally(event.text, call.command, None if failed is None else not failed)
        old, result = self.tests, told.result
        if result == "unknown" and "exit" not in event.meta:  # nobody saw how it ended
            return
        passed, failures = old.passed + (result == "passed"), old.failed + (result == "failed")
        self.tests = dataclasses.replace(old, runs=old.runs + 1, passed=passed, failed=failures)
        runner, whole = runner_of(call.target)
        if result == "unknown":
            return
        self.tests = dataclasses.replace(self.tests, last=result, last_passed=told.passed, last_failed=told.failed)
        self.last.test, self.last.edit_before_test = self.place, self.last.edit
        if result == "failed":
            self.failures.tests_failed(runner, call.target)
            if not failed:  # the exit code hid it
                self.failures.erred(fingerprint(event.text), call.tool, call.target)
        elif whole:
            self.failures.suite_passed(runner)

    # -- what the host says

    def broke(self, event: Event) -> None:
        if event.text.strip():
            self.failures.erred(fingerprint(event.text) or of_line(event.text.strip().split("\n", 1)[0]), "", "api")
        self.end = "error"

    def retried(self, event: Event) -> None:
        self.counts["api_retries"] += 1

    def compacted(self, event: Event) -> None:
        self.counts["compactions"] += 1

    def noted(self, event: Event) -> None:
        what = event.meta.get("what")
        if what == "pull_request":
            self.shipped.note(event.text)  # it may be somebody else's: nothing was shipped by it
        elif what == "session_end":
            self.closed = True
        elif what in ("rewind", "rollback"):
            self.counts["rewinds"] += 1

    def signs(self) -> Signs:
        """What tells how it ended."""
        last = self.last
        return Signs(
            prompts=self.counts["asked"],
            texts=self.counts["texts"],
            calls=self.counts["calls"],
            edits=self.counts["edits"],
            end=self.end,
            closed=self.closed,
            last_words=self.prompt_kind,
            worked_since=last.work > last.prompt,
            test=self.tests.last or ("unknown" if self.tests.runs else ""),
            edited_before_test=last.edit_before_test >= 0,
            edited_after_test=last.edit > last.test >= 0,
            objected_after_test=last.objection > last.test >= 0,
            shipped=last.shipped >= 0,
            edited_after_shipping=last.edit > last.shipped >= 0,
            objected_after_shipping=last.objection > last.shipped >= 0,
            tests_left=self.failures.tests_left(),
            shipped_after_test=last.shipped > last.test,
            failing=self.last_command_failed,
        )


_HANDLERS = {
    "user_prompt": Walk.prompted,
    "assistant_text": Walk.said,
    "tool_result": Walk.returned,
    "human_intervention": Walk.intervened,
    "error": Walk.broke,
    "retry": Walk.retried,
    "compaction": Walk.compacted,
    "state": Walk.noted,
}


def _looks(event: Event) -> bool:
    """Whether a shell call says nothing and names a shell: it waits for a command that still runs."""
    given = event.meta.get("input")
    return not event.text.strip() and isinstance(given, Mapping) and any(name in given for name in _SHELLS)


def _failed(meta: Mapping[str, Any]) -> bool | None:
    """Whether a tool call failed, or None when nobody said."""
    error, code = meta.get("error"), meta.get("exit")
    if error is True or (isinstance(code, int) and code != 0):
        return True
    return False if error is False or code == 0 else None
