"""Durable facts about a project and its machine, computed from what was run, and the documents that came of it.

How tests are run (commands that passed), what a missing command was replaced by, variables that switch things on, work
that was put aside, issues that were filed and documents that were written because somebody asked for them.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

from recollect.distill.draft import Draft
from recollect.distill.rulestory import Run, Story
from recollect.distill.sentences import plain
from recollect.distill.testruns import runner_of, runs_tests
from recollect.text import one_line

_LOOKED_AT = 20_000
_REPEATED = 2  # a command that passed so often is how it is done
_COMMAND_CHARS = 100
_MAX_MISSING = 20
_TEMPORARY = "/tmp/"  # noqa: S108 - what was run from there cannot be run again
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
_ROOT_FILE = re.compile(r"(?:^|/)(?:README|CHANGELOG|LICENSE|CONTRIBUTING)\b[^/]*$", re.IGNORECASE)
_STASHED = re.compile(r"\bgit\s+stash\s+(?:push|save)?\b[^\n;&|]*")
_UNSTASHED = re.compile(r"\bgit\s+stash\s+(?:pop|apply|drop|clear)\b")
_STASH_SAID = re.compile(r"Saved working directory and index state (On [^\n]{3,200}|WIP on [^\n]{3,200})")
_ISSUE_MADE = re.compile(r"\b(?:gh|glab)\s+issue\s+create\b")
_ISSUE_URL = re.compile(r"https?://[^\s'\"<>)\]]{1,200}/issues/[\w-]+")
_TITLE = re.compile(r"""--title[= ]+(?:"([^"\n]{3,200})"|'([^'\n]{3,200})')""")
_WRITTEN = re.compile(
    r"\b(?:written|wrote|created|saved|documented|captured|recorded|summari[sz]ed|added)\b[^\n`\[]{0,40}[`\[(]([\w./@-]{3,160}\.(?:md"
    r"|mdx|rst|txt|adoc))\b",
    re.IGNORECASE,
)
_WRITE = re.compile(
    r"\b(?:write|document|note|put|save|capture|summari[sz]e|record|design|spec|schreib"
    r"|dokumentier|écris|escribe)\w*\b.{0,80}\b(?:down|docs?|file|markdown|md|memo|plan"
    r"|design|notes?|pick (?:it|this) up)\b|\bwrite the design\b",
    re.IGNORECASE | re.DOTALL,
)


def facts(story: Story) -> Iterator[Draft]:
    """What is so, as far as it shows."""
    yield from _test_commands(story)
    yield from _missing_commands(story)
    yield from _gates(story)
    yield from _stashes(story)
    yield from _issues(story)
    yield from _documents(story)


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
    passed = Counter({command: count for command, count in passed.items() if count >= _REPEATED})
    if not passed:
        return
    best = min(passed, key=lambda one: (-passed[one], len(one), one))
    run = last[best]
    others = [one for one, count in checks.most_common(6) if count > 1 and one != best and _same_tool(one, best)][:3]
    more = f" Further checks that passed: {', '.join(f'`{one}`' for one in others)}." if others else ""
    assert run.result is not None
    yield Draft(
        kind="fact",
        content=f"The tests of this project are run with `{best}` (it passed here {_times(passed[best])}).{more}",
        evidence=(story.cite(run.call), *((story.cite(last[others[0]].call),) if others else ())),
        occurred_at=run.result.occurred_at,
        importance=0.45,
        tags=("tests",),
        anchors=(f"command:{best}",),
        slot="test command",
        checked=True,
    )


def _times(count: int) -> str:
    return "once" if count == 1 else "twice" if count == 2 else f"{count} times"


def _typed(run: Run) -> Iterator[str]:
    """The simple commands of a run as one would type them."""
    for part in re.split(r"\s*(?:&&|;|\n)\s*", run.target):
        part = part.strip()
        if (
            _PLAIN_COMMAND.fullmatch(part)
            and not part.startswith(("cd ", "echo ", "git ", "/", "~"))
            and _TEMPORARY not in part
        ):
            yield part


def _is_suite(command: str) -> bool:
    _, whole = runner_of(command)
    if not whole or len(command) > _COMMAND_CHARS or not runs_tests(command):
        return False
    given = [word for word in command.split()[1:] if "/" in word or word == "."]
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
    for said in story.said:
        if said.refuted:
            continue
        if "_" not in said.event.text:
            continue
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
                content=text[:1].upper() + text[1:],
                evidence=(story.cite(said.event, sentence.start, sentence.end),),
                occurred_at=said.event.occurred_at,
                importance=0.5,
                confidence=0.6,
                anchors=(f"symbol:{name}",),
            )
    yield from list(last.values())[-2:]


def _of_moment(text: str) -> bool:
    return re.match(
        r"(?:now|next|let me|i'll|i'm|i |we need|then|first)\b", text, re.IGNORECASE
    ) is not None or text.endswith(":")


def _stashes(story: Story) -> Iterator[Draft]:
    """Work that was put aside and not taken back."""
    kept: Run | None = None
    for run in story.runs:
        if run.action != "shell" or run.failed is not False or run.result is None or "stash" not in run.target:
            continue
        if _UNSTASHED.search(run.call.text):
            kept = None
        elif _STASHED.search(run.call.text) and _STASH_SAID.search(run.result.text[:_LOOKED_AT]):
            kept = run
    if kept is not None and kept.result is not None:
        said = _STASH_SAID.search(kept.result.text[:_LOOKED_AT])
        assert said is not None
        yield Draft(
            kind="fact",
            content=f"Work was put into a git stash and not taken back in that session: {one_line(said[1], 160)}.",
            evidence=(story.cite(kept.result, said.start(), said.end()), story.cite(kept.call)),
            occurred_at=kept.result.occurred_at,
            importance=0.5,
            checked=True,
        )


def _issues(story: Story) -> Iterator[Draft]:
    """Issues that were filed."""
    for run in story.runs:
        if (
            run.action != "shell"
            or run.failed is not False
            or run.result is None
            or not _ISSUE_MADE.search(run.call.text)
        ):
            continue
        url = _ISSUE_URL.search(run.result.text[-_LOOKED_AT:])
        if url is None:
            continue
        title = _TITLE.search(run.call.text[:_LOOKED_AT])
        name = one_line((title[1] or title[2]) if title else "", 160)
        at = run.result.text.find(url[0])
        yield Draft(
            kind="reference",
            content=f"Issue filed in that session: {name + ' ' if name else ''}{url[0]}",
            evidence=(story.cite(run.result, at, at + len(url[0])), story.cite(run.call)),
            occurred_at=run.result.occurred_at,
            importance=0.45,
            checked=True,
        )


def _documents(story: Story) -> Iterator[Draft]:
    """A document that was written because somebody asked for it, if it was not gone in the end."""
    made: dict[str, Draft] = {}
    edited = {
        path
        for run in story.runs
        if run.action == "edit" and run.failed is not True
        for path in run.call.meta.get("files") or ()
    }
    gone = {word for run in story.runs if run.action == "shell" and "rm " in run.target for word in run.target.split()}
    for number, prompt in enumerate(story.prompts):
        if prompt.refused is not None or len(prompt.text) > 1_500 or not _WRITE.search(prompt.text):
            continue
        until = story.prompts[number + 1].place if number + 1 < len(story.prompts) else 1 << 60
        own = prompt.own()
        for said in story.between(prompt.place, until) if own else ():
            found = _WRITTEN.search(said.event.text[:_LOOKED_AT])
            if not found or _ROOT_FILE.search(found[1]) or any(word.endswith(found[1]) for word in gone):
                continue
            if any(str(path).endswith(found[1]) for path in edited):
                made[found[1]] = Draft(
                    kind="reference",
                    content=f'`{found[1]}` was written when the user asked: "{plain(own[0].text, 200)}"',
                    evidence=(
                        story.cite(said.event, found.start(), found.end(1)),
                        story.cite(prompt.event, own[0].start, own[0].end),
                    ),
                    occurred_at=said.event.occurred_at,
                    importance=0.5,
                    anchors=(f"file:{found[1]}",),
                    checked=True,
                )
    yield from made.values()
