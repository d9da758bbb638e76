"""Durable facts about a project, computed from what was run: how tests are run, what a missing command was replaced by,
and variables that switch things on, as the agent told them.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

from recollect.distill.draft import Draft
from recollect.distill.rules.story import Run, Story
from recollect.distill.sentences import sentence_case
from recollect.distill.testruns import runner_of, runs_tests
from recollect.text import one_line

_LOOKED_AT = 20_000
REPEATED = 2  # a command that passed so often is how it is done
COMMAND_CHARS = 100
_MAX_MISSING = 20
_TEMPORARY = re.compile(r"(?:^|\s)\S*(?<!=)/tmp/")  # what was run from there cannot be run again
_PLAIN_COMMAND = re.compile(r"[\w./:@=+, -]{3,100}")  # no pipes, quotes, substitutions: one that can be typed again
_CHECKS = re.compile(
    r"\b(?:lint|fmt|format|check|typecheck|type-check|vet|build|compile|mypy|ruff|clippy"
    r"|credo|dialyzer|tsc|golangci-lint run|pre-commit run|test)\b"
)
_EVERYTHING = frozenset(("./...", "tests/", "./tests", "test/", "./test", "src/"))
_MISSING = re.compile(
    r"(?:([\w.+-]{2,40}): command not found|command not found: ([\w.+-]{2,40})|\d+: ([\w.+-]{2,40}): not found)"
)
_GATE = re.compile(r"\b([A-Z][A-Z0-9]{2,}(?:_[A-Z0-9]+)+)\b(=[\w./-]{1,40})?")
_GATING = re.compile(
    r"\b(?:unless|only (?:if|when|runs?)|gated|opt[- ]in|opt[- ]out|required|must (?:already )?be"
    r"|to enable|skipped|secrets?|has to be set)\b",
    re.IGNORECASE,
)
_HEDGED = re.compile(
    r"\b(?:might|maybe|perhaps|probably|likely|suspect|could be|seems?|i think|would|almost certainly"
    r"|may not|pass(?:es|ed)?|green|defer|works?|still)\b|\?$|^[✅❌]",
    re.IGNORECASE,
)
_CODE = re.compile(r"\$\(|>>|^(?:echo|export|if|for)\b|^[A-Z_]+=\S+$")


def facts(story: Story) -> Iterator[Draft]:
    """What is so, as far as it shows."""
    yield from _test_commands(story)
    yield from _missing_commands(story)
    yield from _gates(story)


def _test_commands(story: Story) -> Iterator[Draft]:
    """The command that ran all tests and passed, with the other checks that did."""
    passed: Counter[str] = Counter()
    last: dict[str, Run] = {}
    checks: Counter[str] = Counter()
    for run in story.runs:
        if run.action != "shell" or run.result is None or run.failed is not False:
            continue
        for command in _typed(run):
            if run.tests == "passed" and _is_suite(command):
                passed[command] += 1
                last[command] = run
            elif not run.tests and _CHECKS.search(command):
                checks[command] += 1
                last.setdefault(command, run)
    passed = Counter({command: count for command, count in passed.items() if count >= REPEATED})
    if not passed:
        return
    best = min(passed, key=lambda one: (-passed[one], len(one), one))
    run = last[best]
    others = [one for one, count in checks.most_common(6) if count > 1 and one != best and _same_tool(one, best)][:3]
    more = f" Further checks that passed: {', '.join(f'`{one}`' for one in others)}." if others else ""
    assert run.result is not None
    yield Draft(
        kind="fact",
        content=f"The tests of this project are run with `{best}` (it passed here {times(passed[best])}).{more}",
        evidence=(story.cite(run.call), *((story.cite(last[others[0]].call),) if others else ())),
        occurred_at=run.result.occurred_at,
        importance=0.45,
        tags=("tests",),
        anchors=(f"command:{best}",),
        slot="test command",
        checked=True,
    )


def times(count: int) -> str:
    """How often, in words."""
    return "once" if count == 1 else "twice" if count == 2 else f"{count} times"


def _typed(run: Run) -> Iterator[str]:
    """The simple commands of a run as one would type them."""
    for part in re.split(r"\s*(?:&&|;|\n)\s*", run.target):
        part = part.strip()
        if (
            _PLAIN_COMMAND.fullmatch(part)
            and not part.startswith(("cd ", "echo ", "git ", "/", "~"))
            and not _TEMPORARY.search(part)
        ):
            yield part


def _is_suite(command: str) -> bool:
    _, whole = runner_of(command)
    if not whole or len(command) > COMMAND_CHARS or not runs_tests(command):
        return False
    given = [word for word in command.split()[1:] if ("/" in word and "=" not in word) or word == "."]
    return all(word in _EVERYTHING for word in given) and not re.search(r"\s-(?:run|k|tags)\b|\s--\s", command)


def _same_tool(one: str, other: str) -> bool:
    return one.split()[0] == other.split()[0]


def _missing_commands(story: Story) -> Iterator[Draft]:
    """A command that was not there, and the way it was run afterwards."""
    missing: dict[str, Run] = {}
    done: set[str] = set()
    for run in story.runs:
        if run.action != "shell" or run.result is None:
            continue
        shown = run.result.text[:_LOOKED_AT]
        for found in _MISSING.finditer(shown) if "not found" in shown else ():
            if len(missing) < _MAX_MISSING:
                missing.setdefault(next(name for name in found.groups() if name), run)
        if run.failed is not False or not missing:
            continue
        for name, first in missing.items():
            if name in done or first is run:
                continue
            way = _way(run, name)
            if way:
                done.add(name)
                assert first.result is not None
                yield Draft(
                    kind="fact",
                    content=f"`{name}` is not on the shell's PATH here; `{way} {name} …` works.",
                    evidence=(story.cite(first.result), story.cite(run.call)),
                    occurred_at=run.result.occurred_at,
                    importance=0.55,
                    anchors=(f"command:{way} {name}",),
                    slot=f"way to run {name}",
                    checked=True,
                )


def _way(run: Run, name: str) -> str:
    """What stands before a command that could not be run alone."""
    found = re.search(
        rf"(?:^|[;&|]\s*)((?:mise|nix|uv|poetry|docker|npx|bundle|pnpm|yarn|asdf|pixi|conda"
        rf"|devbox)\b[\w ./:@=-]{{0,40}}?)\s+{re.escape(name)}\s",
        run.target,
    )
    return one_line(found[1], 60) if found else ""


def _gates(story: Story) -> Iterator[Draft]:
    """A variable without which something does not run: the last that was said about each."""
    last: dict[str, Draft] = {}
    named: dict[str, int] = {}  # where each was named last
    for said in story.said:
        if said.refuted:
            continue
        if "_" not in said.event.text:
            continue
        named.update((found[1], said.place) for found in _GATE.finditer(said.event.text[:_LOOKED_AT]))
        for sentence, told in said.told():
            names = _GATE.findall(sentence.text)
            text = told.removeprefix("[ ] ").removeprefix("[x] ")
            if (
                not names
                or _CODE.search(text)
                or not 45 <= len(text) <= 320
                or not _GATING.search(text)
                or _HEDGED.search(text)
                or _of_moment(text)
            ):
                continue
            name = names[0][0]
            last.pop(name, None)
            last[name] = Draft(
                kind="fact",
                content=sentence_case(text),
                evidence=(story.cite(said.event, sentence.start, sentence.end),),
                occurred_at=said.event.occurred_at,
                importance=0.5,
                confidence=0.6,
                anchors=(f"symbol:{name}",),
            )
    held = [draft for name, draft in last.items() if not any(_renamed(name, other, named) for other in named)]
    yield from held[-2:]


def _renamed(name: str, other: str, named: dict[str, int]) -> bool:
    """Whether a variable was called otherwise later: with a part more or less."""
    mine, theirs = set(name.split("_")), set(other.split("_"))
    return named[other] > named.get(name, -1) and (mine < theirs or theirs < mine) and len(mine ^ theirs) == 1


def _of_moment(text: str) -> bool:
    return re.match(
        r"(?:now|next|let me|i'll|i'm|i |we need|then|first)\b", text, re.IGNORECASE
    ) is not None or text.endswith(":")
