"""A shell command line as far as it tells what was run: its simple commands as words, and whether one runs tests.

No shell is imitated: what stands in quotes is one word, the text of a here document is nobody's command, and what only
stands before a command (`sudo`, `env A=1`, `timeout 60`, `uv run`) is left out. Every step is linear in the text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

LOOKED_AT = 4_000  # characters of a command line that are looked at, here documents apart
WITH_DOCUMENTS = 64_000
_DEPTH = 2  # a command in a command in a command: `bash -c "ssh host 'pytest'"`
_FURTHER = 5  # words between `docker run` or `uv run --with x` and the command they run

_DOCUMENT = re.compile(r"(?<!<)<<(?!<)-?[ \t]*['\"\\]?(\w{1,40})")
_PIECE = re.compile(
    r"'([^']*)(?:'|\Z)"  # 1: in single quotes
    r'|"((?:[^"\\]|\\.)*)(?:"|\\?\Z)'  # 2: in double quotes
    r"|\\([^\n])"  # 3: one character taken as it is
    r"|([^\s'\"\\;&|()`<>#]+|#)"  # 4: plain
    r"|([;&|()`\n]+)"  # 5: between two commands
    r"|([<>]+&?|[^\S\n]+|\\\n?)",  # 6: between two words, on the next line too
    re.DOTALL,
)
_ASSIGNED = re.compile(r"[A-Za-z_]\w*\+?=")


def _pairs(*table: tuple[str, str]) -> frozenset[str]:
    return frozenset(f"{tool} {word}" for tools, words in table for tool in tools.split() for word in words.split())


_BEFORE = frozenset(
    "sudo doas time timeout gtimeout env exec nice nohup command builtin npx bunx pnpx stdbuf caffeinate xargs watch "
    "if then else elif do while until ! { xvfb-run unbuffer setsid ionice flock".split()
)
_TIMED = frozenset("timeout gtimeout nice ionice flock".split())
_RUNNING = _pairs(  # a tool and its word behind which another command stands
    ("uv poetry pipenv hatch pdm rye pixi conda mamba micromamba doppler op coverage", "run"),
    ("bundle pnpm yarn npm mise direnv rtx asdf opam dotenv", "exec x dlx"),
    ("docker podman docker-compose compose kubectl nerdctl", "exec run compose"),
    ("nix devbox devenv", "develop shell run"),
)
_SHELLS = frozenset("bash sh zsh dash ksh fish".split())
_INTERPRETER = re.compile(r"(?:python|pypy)[\d.]*|ruby|node|php|perl|tsx|ts-node|elixir|lua")
_INLINE = frozenset(("-c", "-e", "-p", "-r", "--eval", "--print"))

_RUNNERS = frozenset(
    "pytest py.test tox nox unittest jest vitest mocha ava rspec phpunit pest ctest gotestsum ginkgo karma jasmine "
    "bats busted nose2 nosetests trial behave prove ptw pytest-watch cargo-nextest runtests run-tests run_tests tape "
    "testem wtr stestr".split()
)
_TESTING = _pairs(  # a tool and its first word that runs tests
    (
        "go deno bun swift dotnet mix flutter dart bazel bazelisk buck2 zig ng rails artisan lein stack cabal dune",
        "test",
    ),
    ("playwright hatch pdm manage.py composer forge hardhat anchor truffle meson invoke inv", "test"),
    ("cargo", "test nextest t"),
    ("cypress", "run"),
    ("npm", "t tst"),
)
_CHECKING = _pairs(("make gmake gradle gradlew ninja", "check"), ("mvn mvnw", "verify"))
# Tools that run what a project named itself: one task, or as many as are given.
_ONE = frozenset("npm pnpm yarn bun deno mise poe moon hatch pixi composer rails mix lerna rush".split())
_MANY = frozenset(
    "make gmake just task rake mvn mvnw gradle gradlew ninja ant gulp grunt nx turbo sbt xcodebuild earthly invoke inv "
    "zig".split()
)
_VALUED = frozenset("--filter -F -C --prefix --cwd --dir -w --workspace workspace -f".split())  # a word follows
_PASSED = frozenset(("run", "run-script", "workspace"))
_TASK = re.compile(
    r"(?!(?:clean|build|lint|fmt|format|gen|generate|install|setup|download|list|watch|docs?)[:_-])"
    r"(?:[\w.@/+:-]*[:_./+-])?(?:e2e|tests?|unittests?|specs?|test[A-Z]\w*|\w+Test)(?:[:_./-]\S*)?"
)
_NOT_RUN = frozenset("--version --help -h --no-run --collect-only --co --list --listTests --fixtures".split())
_SCRIPT = re.compile(
    r"(?:.*[-_.])?(?:tests?|e2e|runtests?|spec)(?:[-_.].*)?\.(?:sh|bash|py|rb|js|mjs|cjs|ts|pl|php|exs|t)"
)
_NAMED = frozenset("test tests run-tests run_tests runtests".split())
_SYSTEM = ("/usr/", "/bin/")


# Some part of this stands in every command that runs tests.
_HINTS = (
    *("test", "Test", "spec", "tox", "nox", "e2e", "check", "verify", "npm", "cargo", "cypress"),
    *sorted(name for name in _RUNNERS if "test" not in name and "spec" not in name and name not in ("tox", "nox")),
)


def commands(text: str, depth: int = 0) -> Iterator[list[str]]:
    """The simple commands of a command line, each as the words behind what only stands before it."""
    if "<<" in text:
        text = _without_documents(text[:WITH_DOCUMENTS])
    for words in _simple(text[:LOOKED_AT]):
        for command in _bare(words):
            yield command
            if depth < _DEPTH:
                for inner in _inner(command):
                    yield from commands(inner, depth + 1)


def is_test(command: str) -> bool:
    """Whether a shell command runs tests."""
    for hint in _HINTS:  # most commands hold none, and taking one apart costs ten times as much
        if hint in command:
            return any(_tests(words) for words in commands(command))
    return False


def name_of(word: str) -> str:
    """A program's name, wherever it lies."""
    return word.rpartition("/")[2].removesuffix(".exe").removesuffix(".cmd")


def _without_documents(text: str) -> str:
    """The text without its here documents; `<<` that no line ends is something else."""
    lines = text.split("\n")
    last = {line.strip(): number for number, line in enumerate(lines)}
    kept, end = [], None
    for number, line in enumerate(lines):
        if end is not None:
            end = None if line.strip() == end else end
            continue
        kept.append(line)
        found = _DOCUMENT.search(line)
        if found and last.get(found[1], 0) > number:
            end = found[1]
    return "\n".join(kept)


def _simple(text: str) -> Iterator[list[str]]:
    """Words between separators, quotes taken off; the targets of redirections and comments are left out."""
    words: list[str] = []
    word: str | None = None
    drop, comment = "", False  # why the next word is not one of the command's
    for piece in _PIECE.finditer(text):
        between = piece[5] or piece[6]
        if not between:
            comment = comment or (piece[4] == "#" and word is None)
            word = (word or "") + (piece[1] or piece[2] or piece[3] or piece[4] or "")
            continue
        if word is not None and not drop and not comment:
            words.append(word)
        if word is not None or drop == "rest":
            word, drop = None, ""
        if between[0] in "<>":
            drop = "target"
        elif piece[5] and (not comment or "\n" in between):
            yield words
            words, comment = [], False
            drop = "rest" if between[-1] == ")" else ""  # `$(…)x`: x is the rest of a word
    yield [*words, word] if word is not None and not drop and not comment else words


def _bare(words: list[str]) -> Iterator[list[str]]:
    """The command without what stands before it; behind a tool that runs another, each place where that may begin."""
    at, size, further = 0, len(words), 1
    while at < size:
        name = name_of(words[at])
        if _ASSIGNED.match(words[at]):
            at += 1
        elif name in _BEFORE:
            at = _past_options(words, at + 1)
            while name in _TIMED and at < size and words[at][:1].isdigit():
                at += 1
        elif at + 1 < size and f"{name} {words[at + 1]}" in _RUNNING:
            at, further = _past_options(words, at + 2), _FURTHER
        else:
            break
    for start in range(at, min(at + further, size)):
        yield words[start:]


def _past_options(words: list[str], at: int) -> int:
    """Behind a tool's options, and behind `--`."""
    while at < len(words) and words[at].startswith("-"):
        at += 1
        if words[at - 1] == "--":
            break
    return at


def _inner(words: list[str]) -> Iterator[str]:
    """Command lines given to a shell or to another machine as text."""
    name = name_of(words[0])
    if name in _SHELLS:
        at = next(
            (at for at, word in enumerate(words[:-1]) if word[:1] == "-" and word[1:2] != "-" and word[-1] == "c"), 0
        )
        if at:
            yield words[at + 1]
    elif name == "ssh" and len(words) > 2:
        yield " ".join(words[2:])
    elif name == "eval":
        yield " ".join(words[1:])


def _tests(words: list[str]) -> bool:
    if not _NOT_RUN.isdisjoint(words):
        return False
    name, first = name_of(words[0]), words[0]
    if name in _SHELLS:
        return "-n" not in words and any(_is_script(word) for word in words[1:2])
    if _INTERPRETER.fullmatch(name):
        return _interpreted(words)
    if "/" in first and (_is_script(first) or (name in _NAMED and not first.startswith(_SYSTEM))):
        return True
    return _runner(name, words[1:])


def _interpreted(words: list[str]) -> bool:
    """`python -m pytest`, `node --test`, `python manage.py test`, `ruby -Itest test/a_test.rb`."""
    for at, word in enumerate(words[1:8], 1):
        if word == "-m" and words[at + 1 : at + 2] != ["coverage"]:
            return at + 1 < len(words) and _runner(words[at + 1], words[at + 2 :])
        if word == "--test":
            return True
        if word in _INLINE:
            return False
        if not word.startswith("-") and ("/" in word or "." in word or word == "artisan"):
            return _is_script(word) or _runner(name_of(word), words[at + 1 :])
    return False


def _runner(name: str, rest: list[str]) -> bool:
    if name in _RUNNERS:
        return True
    given = [word for before, word in zip([name, *rest], rest, strict=False) if before not in _VALUED]
    wanted = [word for word in given if word[:1] not in ("-", "+") and word not in _PASSED]
    if not wanted:
        return False
    if f"{name} {wanted[0]}" in _TESTING:
        return not (name == "go" and "-c" in rest)  # `go test -c` only compiles
    tasks = wanted[:1] if name in _ONE else wanted[:12] if name in _MANY else []
    return any(f"{name} {task}" in _CHECKING or (len(task) < 100 and _TASK.fullmatch(task)) for task in tasks)


def _is_script(word: str) -> bool:
    return len(word) < 300 and _SCRIPT.fullmatch(name_of(word)) is not None
