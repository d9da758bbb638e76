"""What a session was, computed without a model: what was asked, done, run, changed, spent, and how it ended.

`digest_of` walks the events once and keeps counters and a few short texts, never the events. It depends on what it is
given alone: the same rows give the same digest, byte for byte. A session that grew is digested again as a whole.
"""

from __future__ import annotations

import dataclasses
import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from recollect.clock import iso
from recollect.distill.corrections import asks, closes, host_command, is_approval, is_correction, rewinds, tells
from recollect.distill.fingerprint import Fingerprint, fingerprint, of_line, refused
from recollect.distill.outcome import Signs, judge
from recollect.distill.testruns import normal_command, piped, runner_of, runs_tests, steps, tally
from recollect.model import Cost, Event, Session
from recollect.text import one_line

DIGEST_VERSION = 1
GOAL_CHARS, QUOTE_CHARS, SUBJECT_CHARS = 300, 160, 120
TOP_TOOLS, TOP_FILES, TOP_COMMANDS, TOP_ERRORS, MAX_CORRECTIONS, MAX_COMMITS = 30, 50, 30, 50, 20, 50
PAUSE_SECONDS = 300.0  # a longer gap is time in which nobody worked
_LOOKED_AT = 4_000
_CALLS = frozenset(("tool_call", "edit", "test_run"))
_STARTERS = frozenset("task agent spawn_agent spawn_subagent subagent delegate delegate_task call_agent".split())
_SHELLS = ("session_id", "bash_id", "shell_id")  # how a later call names a command that still runs
_MAX_RUNNING = 20
_COMMIT = re.compile(r"(?:^|[;&|(\n])[ \t]*(?:\w+=\S*\s+)*git\s+(?:-[Cc]\s+\S+\s+)*commit\b(?![^\n]*--dry-run)")
_COMMITTED = re.compile(r"^\[[^\]\n]{1,200} ([0-9a-f]{7,40})\] ([^\n]*)", re.MULTILINE)
_NOT_COMMITTED = re.compile(r"nothing (?:added )?to commit|no changes added to commit|^(?:fatal|error): ", re.MULTILINE)
_REQUEST = re.compile(r"\b(?:gh\s+pr|glab\s+mr)\s+create\b")
_REQUEST_URL = re.compile(r"https?://[^\s'\"<>)]{1,300}/(?:pull|pulls|merge_requests)/\d+")
_SAID_NOTHING = (
    "The user doesn't want to ",
    "[Request interrupted",
)  # what the host writes when a person only stopped it


@dataclass(frozen=True, slots=True)
class CommandUse:
    """A shell command, how often it was run and how often it failed."""

    command: str
    count: int
    failed: int


@dataclass(frozen=True, slots=True)
class Tests:
    """Test runs: how many, how many of them passed and failed, and how the last one ended."""

    __test__ = False  # to pytest: a value, no case
    runs: int = 0
    passed: int = 0
    failed: int = 0
    last: str | None = None
    last_passed: int | None = None
    last_failed: int | None = None


@dataclass(frozen=True, slots=True)
class ErrorSeen:
    """An error by its fingerprint; `resolved` when what failed with it succeeded later."""

    key: str
    line: str
    count: int
    tool: str
    resolved: bool


@dataclass(frozen=True, slots=True)
class Correction:
    """What a person said was wrong, and where."""

    event: str
    position: int
    quote: str


@dataclass(frozen=True, slots=True)
class Spent:
    """Tokens and money of one model, or of all; `unpriced` requests have no price, and `usd` is None if none has."""

    model: str | None
    requests: int = 0
    tokens: int = 0
    input: int = 0
    cache_read: int = 0
    cache_write_5m: int = 0
    cache_write_1h: int = 0
    output: int = 0
    reasoning: int = 0
    usd: float | None = None
    usd_source: str = "none"  # reported, catalog, mixed or none
    unpriced: int = 0


@dataclass(frozen=True, slots=True)
class Digest:
    """What a session was. Lists are bounded and in a fixed order; paths beneath its directory are relative to it."""

    session: str
    flavor: str
    version: int
    goal: str | None
    outcome: str
    certainty: float
    outcome_reasons: tuple[str, ...]
    started: str | None
    ended: str | None
    wall_seconds: float
    active_seconds: float
    prompts: int
    turns: int
    tools: Mapping[str, int]
    actions: Mapping[str, int]
    files_read: Mapping[str, int]
    files_edited: Mapping[str, int]
    edits: int
    commands: tuple[CommandUse, ...]
    tests: Tests
    errors: tuple[ErrorSeen, ...]
    retries: int
    api_retries: int
    corrections: int
    corrected: tuple[Correction, ...]
    interruptions: int
    denials: int
    compactions: int
    rewinds: int
    subagents: int
    commits: int
    committed: tuple[str, ...]
    pull_requests: tuple[str, ...]  # made in it, or worked on as the agent noted
    cost: Spent
    models: tuple[Spent, ...]
    last_prompt: str | None
    last_words: str | None

    def as_dict(self) -> dict[str, Any]:
        """For JSON, in the order of the fields."""
        return dataclasses.asdict(self)

    @classmethod
    def from_dict(cls, given: Mapping[str, Any]) -> Digest:
        """Back from `as_dict`, also by way of JSON."""
        values: dict[str, Any] = {
            name: tuple(value) if isinstance(value, list) else value for name, value in given.items()
        }
        for name, kind in _PARTS.items():
            values[name] = tuple(kind(**part) for part in given[name])
        return cls(**values | {"tests": Tests(**given["tests"]), "cost": Spent(**given["cost"])})


_PARTS: dict[str, Any] = {"commands": CommandUse, "errors": ErrorSeen, "corrected": Correction, "models": Spent}


def digest_of(session: Session, events: Iterable[Event], costs: Sequence[Cost]) -> Digest:
    """The digest of a session from its events, in order of position, and what its requests took."""
    walk = _Walk(session)
    for event in events:
        walk.take(event)
    return walk.digest(costs)


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
class _Use:
    count: int = 0
    failed: int = 0
    failing: int = 0  # in a row


@dataclass(slots=True)
class _Seen:
    line: str
    tool: str
    first: int
    count: int = 0
    open: set[str] = field(default_factory=set)  # targets that failed with it and did not succeed since


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


class _Walk:
    """What is gathered on the way through a session."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self.counts: Counter[str] = Counter()
        self.tools: Counter[str] = Counter()
        self.actions: Counter[str] = Counter()
        self.read: Counter[str] = Counter()
        self.edited: Counter[str] = Counter()
        self.commands: dict[str, _Use] = {}
        self.pending: dict[str, _Call] = {}
        self.errors: dict[str, _Seen] = {}
        self.failing: dict[str, set[str]] = {}  # target -> errors it failed with
        self.suites: dict[str, set[str]] = {}  # test runner -> targets that failed
        self.running: list[tuple[str, str]] = []  # target and command of calls that returned before they ended
        self.watched: dict[str, tuple[str, str]] = {}
        self.tests = Tests()
        self.corrected: list[Correction] = []
        self.committed: dict[str, None] = {}
        self.requests: dict[str, None] = {}
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
        self._succeeded("api")

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
        use = self.commands.setdefault(target, _Use())
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
            self._erred(fingerprint(event.text), call.tool, call.target)
        elif not self._hides_error(call, event.text):
            self._succeeded(call.target)

    def _unedit(self, call: _Call) -> None:
        self.counts["edits"] -= 1
        self.edited.subtract(call.files)
        if self.last.edit == call.place:
            self.last.edit = call.edit_before

    def _hides_error(self, call: _Call, output: str) -> bool:
        """Whether a command that failed before only seems to succeed, because its output goes through another."""
        return call.target in self.failing and piped(call.command) and fingerprint(output) is not None

    def _ran(self, call: _Call, event: Event, failed: bool | None) -> None:
        use = self.commands.setdefault(call.target, _Use())
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
        if not failed:
            self._shipped(call, event.text, event.meta.get("exit") == 0)

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
            self.suites.setdefault(runner, set()).add(call.target)
            if not failed:  # the exit code hid it
                self._erred(fingerprint(event.text), call.tool, call.target)
        elif whole:  # all is well, also with what failed when it was run alone
            for name in (runner, "") if runner else sorted(self.suites):
                for target in sorted(self.suites.pop(name, ())):
                    self._succeeded(target)

    def _shipped(self, call: _Call, output: str, ended: bool) -> None:
        if _COMMIT.search(call.command) and "git init" not in call.command:  # a repository made to try something
            self._made_commits(output[:_LOOKED_AT], ended)
        if _REQUEST.search(call.command):
            self._requested(output[-_LOOKED_AT:], made=True)

    def _made_commits(self, output: str, ended: bool) -> None:
        """What git says it committed; a commit that went well in silence is one too."""
        said = [f"{commit} {one_line(subject, SUBJECT_CHARS)}" for commit, subject in _COMMITTED.findall(output)]
        new = [one for one in said if one not in self.committed]
        quiet = ended and not said and not _NOT_COMMITTED.search(output)
        if new or quiet:
            self.counts["commits"] += len(new) or 1
            self.committed |= dict.fromkeys(new)
            self.last.shipped = self.place

    def _requested(self, text: str, made: bool) -> None:
        """Pull requests that were made; one the host only noticed may be somebody else's."""
        for url in _REQUEST_URL.findall(text):
            if made and url not in self.requests:
                self.last.shipped = self.place
            self.requests[url] = None

    # -- what goes wrong

    def _erred(self, error: Fingerprint | None, tool: str, target: str) -> None:
        if error is None:
            return
        seen = self.errors.setdefault(error.key, _Seen(error.line, tool, len(self.errors)))
        seen.count += 1
        seen.open.add(target)
        self.failing.setdefault(target, set()).add(error.key)

    def _succeeded(self, target: str) -> None:
        done = steps(target)
        for failed in [one for one in self.failing if one == target or steps(one) <= done]:
            for key in self.failing.pop(failed):
                self.errors[key].open.discard(failed)

    def broke(self, event: Event) -> None:
        if event.text.strip():
            self._erred(fingerprint(event.text) or of_line(event.text.strip().split("\n", 1)[0]), "", "api")
        self.end = "error"

    def retried(self, event: Event) -> None:
        self.counts["api_retries"] += 1

    def compacted(self, event: Event) -> None:
        self.counts["compactions"] += 1

    def noted(self, event: Event) -> None:
        what = event.meta.get("what")
        if what == "pull_request":
            self._requested(event.text, made=False)
        elif what == "session_end":
            self.closed = True
        elif what in ("rewind", "rollback"):
            self.counts["rewinds"] += 1

    # -- what it comes to

    def signs(self) -> Signs:
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
            tests_left=sum(len(targets & self.failing.keys()) for targets in self.suites.values()),
            shipped_after_test=last.shipped > last.test,
            failing=self.last_command_failed,
        )

    def digest(self, costs: Sequence[Cost]) -> Digest:
        verdict = judge(self.signs())
        total, models = _spent(costs)
        first, final = self.first_at or self.session.started_at, self.last_at or self.session.ended_at
        counts = self.counts
        return Digest(
            session=self.session.id,
            flavor=self.session.flavor,
            version=DIGEST_VERSION,
            goal=self.goal or self.first_prompt,
            outcome=verdict.outcome,
            certainty=verdict.certainty,
            outcome_reasons=verdict.reasons,
            started=iso(first) if first else None,
            ended=iso(final) if final else None,
            wall_seconds=_seconds(first, final),
            active_seconds=round(self.active, 3),
            prompts=counts["prompts"],
            turns=counts["turns"],
            tools=_top(self.tools, TOP_TOOLS),
            actions=_top(self.actions, TOP_TOOLS),
            files_read=_top(self.read, TOP_FILES),
            files_edited=_top(self.edited, TOP_FILES),
            edits=counts["edits"],
            commands=self._used(),
            tests=self.tests,
            errors=self._seen(),
            retries=counts["retries"],
            api_retries=counts["api_retries"],
            corrections=counts["corrections"],
            corrected=tuple(self.corrected),
            interruptions=counts["interruptions"],
            denials=counts["denials"],
            compactions=counts["compactions"],
            rewinds=counts["rewinds"],
            subagents=counts["subagents"],
            commits=counts["commits"],
            committed=tuple(self.committed)[-MAX_COMMITS:],
            pull_requests=tuple(self.requests)[-MAX_COMMITS:],
            cost=total,
            models=models,
            last_prompt=self.last_prompt,
            last_words=self.last_text or None,
        )

    def _used(self) -> tuple[CommandUse, ...]:
        order = sorted(self.commands.items(), key=lambda one: (-one[1].count, -one[1].failed, one[0]))
        return tuple(CommandUse(command, use.count, use.failed) for command, use in order if command and use.count)[
            :TOP_COMMANDS
        ]

    def _seen(self) -> tuple[ErrorSeen, ...]:
        order = sorted(self.errors.items(), key=lambda one: (-one[1].count, one[1].first))
        found = (ErrorSeen(key, seen.line, seen.count, seen.tool, not seen.open) for key, seen in order)
        return tuple(found)[:TOP_ERRORS]


_HANDLERS = {
    "user_prompt": _Walk.prompted,
    "assistant_text": _Walk.said,
    "tool_result": _Walk.returned,
    "human_intervention": _Walk.intervened,
    "error": _Walk.broke,
    "retry": _Walk.retried,
    "compaction": _Walk.compacted,
    "state": _Walk.noted,
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


def _top(counter: Counter[str], limit: int) -> dict[str, int]:
    found = sorted((one for one in counter.items() if one[1] > 0), key=lambda one: (-one[1], one[0]))
    return dict(found[:limit])


def _seconds(first: datetime | None, final: datetime | None) -> float:
    return round(max((final - first).total_seconds(), 0.0), 3) if first and final else 0.0


def _spent(costs: Iterable[Cost]) -> tuple[Spent, tuple[Spent, ...]]:
    """What all requests took, and by model; of two with the same key the one with more output holds."""
    best: dict[str, Cost] = {}
    for cost in costs:
        if cost.key not in best or cost.output > best[cost.key].output:
            best[cost.key] = cost
    by_model: dict[str | None, list[Cost]] = {}
    for cost in best.values():
        by_model.setdefault(cost.model, []).append(cost)
    models = [_sum(model, group) for model, group in by_model.items()]
    models.sort(key=lambda spent: (-spent.tokens, spent.model or ""))
    return _sum(None, list(best.values())), tuple(models)


def _sum(model: str | None, costs: Sequence[Cost]) -> Spent:
    priced = [cost for cost in costs if cost.usd is not None]
    sources = {cost.usd_source for cost in priced}
    return Spent(
        model=model,
        requests=len(costs),
        tokens=sum(cost.tokens for cost in costs),
        input=sum(cost.input for cost in costs),
        cache_read=sum(cost.cache_read for cost in costs),
        cache_write_5m=sum(cost.cache_write_5m for cost in costs),
        cache_write_1h=sum(cost.cache_write_1h for cost in costs),
        output=sum(cost.output for cost in costs),
        reasoning=sum(cost.reasoning for cost in costs),
        usd=round(math.fsum(cost.usd or 0.0 for cost in priced), 6) if priced else None,
        usd_source=(sources.pop() if len(sources) == 1 else "mixed") if sources else "none",
        unpriced=len(costs) - len(priced),
    )
