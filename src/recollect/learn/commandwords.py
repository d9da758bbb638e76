"""Shell commands by what they do: `go test`, `git commit`, `mise run lint`, without where and on what.

A command line comes in; the heads of its simple commands go out, in order. Also which of them only look around, which
check the work, and which write to a repository: what a reader of sessions needs to tell apart.
"""

from __future__ import annotations

import re
from functools import lru_cache

from recollect.capture.shell import commands, name_of

_WORD = re.compile(r"[a-z][a-z:_-]{0,30}")
_PROGRAM = re.compile(r"[A-Za-z][\w.+-]{0,30}")
# Programs whose first word says what they do.
_WITH_VERB = frozenset(
    """git gh go cargo npm pnpm yarn bun deno mise just make task docker kubectl terraform pip pip3 uv poetry mix rails
    bundle gradle mvn dotnet swift flutter brew apt apt-get systemctl aws gcloud az helm conda rustup nix bd codex
    claude composer php-artisan ng nx turbo tox nox hatch pdm golangci-lint ruff pre-commit alembic""".split()
)
_RUNS = frozenset(("run", "r", "exec", "x", "run-script"))  # the word behind it is a task of the project
_TASKS = frozenset("npm pnpm yarn bun deno mise just make task poetry uv nx turbo hatch pdm rails".split())
_VERSION = re.compile(r"[\d.]+$")  # python3.12 is python
LOOKING = frozenset(
    """cat ls find head tail sed awk rg grep wc nl less more tree stat file which type pwd echo printf test true false
    sort uniq cut diff jq xxd od date env printenv id whoami uname sleep cd mkdir touch cp mv rm chmod""".split()
)
_OF_THE_SHELL = frozenset(
    "for in do done fi case esac while until if then else elif select function export set".split()
)
_GIT_LOOKS = frozenset(("status", "diff", "log", "show", "blame", "branch", "ls-files", "rev-parse", "remote", "fetch"))
GIT_WRITES = frozenset(("git commit", "git push", "git add", "git rm", "gh pr"))
_READS = frozenset("cat sed head tail nl less more rg grep awk wc find".split())
_CHECKS = re.compile(
    r"(?:^|[ :_-])(?:lint|fmt|format|tests?|check|vet|typecheck|clippy|build|compile|credo|dialyzer|ruff|mypy|pyright"
    r"|eslint|tsc|prettier|gofmt|pytest|golangci-lint|rspec|jest|vitest|phpunit)(?:$|[ :_-])"
)


@lru_cache(maxsize=4096)
def heads(command: str) -> tuple[str, ...]:
    """What a command line does, one after the other: each simple command by its program and verb."""
    found = (_head(words) for words in commands(command) if words)
    return tuple(dict.fromkeys(head for head in found if head))


def main_head(command: str) -> str:
    """The one thing a command line is about: its last step that does not only look around, else its first."""
    every = heads(command)
    doing = [head for head in every if not looks(head)]
    return doing[-1] if doing else every[0] if every else ""


def looks(head: str) -> bool:
    """Whether a step only looks around, or moves files."""
    program, _, verb = head.partition(" ")
    return program in LOOKING or (program == "git" and verb in _GIT_LOOKS)


def reads_files(head: str) -> bool:
    """Whether a step reads files that are named to it."""
    return head.partition(" ")[0] in _READS


def checks(head: str) -> bool:
    """Whether a step checks the work: formats, lints, builds or tests it."""
    return not head.startswith(("git ", "gh ")) and _CHECKS.search(head) is not None


def lints(head: str) -> bool:
    """Whether a step runs a linter."""
    return re.search(r"lint|ruff|clippy|credo", head) is not None


def _head(words: list[str]) -> str:
    program = _VERSION.sub("", name_of(words[0]))
    if not _PROGRAM.fullmatch(program) or program in _OF_THE_SHELL:
        return ""
    verbs = [word for word in words[1:6] if not word.startswith("-") and "=" not in word]
    if program not in _WITH_VERB or not verbs or not _WORD.fullmatch(verbs[0]):
        return program
    if verbs[0] in _RUNS and program in _TASKS and len(verbs) > 1 and _WORD.fullmatch(verbs[1]):
        return f"{program} {verbs[0]} {verbs[1]}"
    return f"{program} {verbs[0]}"
