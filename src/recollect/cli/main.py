"""`recollect VERB …`: finds the verb, imports that one module, runs it, and turns every failure into a line and a code.

Exit codes: 0 done, 1 it failed, 2 wrong usage or input, 130 interrupted, 141 nobody reads the output any more.
`--version` and `--help` load nothing.
"""

from __future__ import annotations

import os
import sys

from recollect.version import __version__

TYPE_CHECKING = False  # as type checkers know it, without the cost of importing `typing`
if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence
    from typing import NoReturn

    from recollect.cli.output import Output

# Verb -> (module in `verbs`, what it does), under the heading it is listed with.
GROUPS: dict[str, dict[str, tuple[str, str]]] = {
    "Start here": {
        "demo": ("demo", "see it work on sample sessions, in a temporary directory"),
        "install": ("install", "put hooks, tools and skills into your agents' settings; without a name it only shows"),
        "uninstall": ("uninstall", "take them out again; what is remembered stays"),
        "whoami": ("whoami", "whose memory and which project this is, and by which rule"),
    },
    "Capture": {
        "sweep": ("sweep", "capture every agent's sessions that are new or changed; --watch keeps doing it"),
        "backfill": ("backfill", "take an agent's old sessions in, by project, session or number"),
        "coverage": ("coverage", "the turns in agents' files against the turns stored, gaps by name"),
        "hook": ("hook", "put what an agent's hook says into the spool; prints nothing, exits 0"),
    },
    "Remember and recall": {
        "remember": ("remember", "keep one thing worth knowing"),
        "confirm": ("confirm", "say that a memory is so: it is trusted as your own word, and may be a preference"),
        "edit": ("edit", "change what a memory says or is; --project NAME or --global puts it elsewhere"),
        "pin": ("pin", "have agents told a memory before all else; --off ends it"),
        "recall": ("recall", "ask; get the right few things back, each explained, or nothing"),
        "context": ("context", "what was recalled as text for a prompt, within a number of tokens"),
        "mcp": ("mcp", "memory as tools for agents: an MCP server on standard input, or --http"),
    },
    "Look": {
        "list": ("list", "memories, newest first"),
        "show": ("show", "everything about one memory, turn or session"),
        "sessions": ("sessions", "sessions, newest first; what was said in one; its gist"),
        "insights": ("insights", "what was kept, asked, run and spent in the last days, in figures with bars"),
        "follow": ("follow", "what happens, line by line: what agents say, do and are told, what is made of it"),
        "page": ("page", "see it all in a browser: a link to the page of a running `serve`"),
    },
    "Learn": {
        "detect": ("detect", "what repeats across sessions and agents, ranked, with a rule that would spare it"),
        "patterns": ("patterns", "what repeats, as you reviewed it: approve, roll out, roll back, measure"),
        "feedback": ("feedback", "say that a memory was helpful, harmful or cited; take it back"),
        "ranking": ("ranking", "the weights hits are ranked by: fitted to what you used, shown, reset"),
        "consolidate": ("consolidate", "merge near-duplicates, put stale away, relate, roll up; review it, undo it"),
        "replay": ("replay", "on your own history: what memory would have told in time, and what that saves"),
    },
    "Share": {
        "contexts": ("contexts", "contexts shared with others: members, proposals and decisions, the commons"),
    },
    "Forget": {
        "archive": ("archive", "put a memory away: it is found only when asked for; --undo puts it back"),
        "forget": ("forget", "take a memory, a session, a source or everything away"),
        "undo": ("undo", "bring back what was softly forgotten, superseded, merged, archived or revoked"),
    },
    "Open it to others": {
        "serve": ("serve", "the memory over HTTP: on this machine, or with --hosted for others with keys"),
        "worker": ("worker", "do what waits in the background, for every user; as many of them as you like"),
        "tasks": ("tasks", "what waits in the background and what became of it; cancel one, requeue one"),
        "bus": ("bus", "events by Redis: what waits, dead letters and why, requeue one, publish one"),
        "keys": ("keys", "API keys: make, list, rotate, revoke"),
        "quota": ("quota", "how much a user has of what they may have; set it"),
        "audit": ("audit", "what was done by whom; whether the record of it is whole"),
    },
    "Move and save": {
        "export": ("export", "write everything as JSON Lines"),
        "import": ("import_", "take exported JSON Lines in"),
        "backup": ("backup", "write a verified copy of the whole store"),
        "restore": ("restore", "put a backup into an empty data directory or database"),
        "move": ("move", "every user of one store into another: sqlite to postgres, and back"),
    },
    "Look after": {
        "doctor": ("doctor", "check everything and say what to do; --repair mends"),
        "config": ("config", "every setting, its value and where it came from; set one"),
        "database": ("database", "the PostgreSQL database in use: check it, init it, tell its address"),
        "budget": ("budget", "what language models cost today and what they may; set it"),
        "model": ("model", "the embedding model: status, install"),
        "reembed": ("reembed", "make every vector again with the configured embedder"),
        "maintain": ("maintain", "the jobs that are due: gists, vectors, archive, redact, purge, vacuum, sizes"),
    },
}
VERBS = {verb: entry for group in GROUPS.values() for verb, entry in group.items()}
_WITH_VALUE = ("--data-dir", "--url", "--user", "--tenant", "--project")


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code."""
    words = list(sys.argv[1:] if argv is None else argv)
    if words[:1] in (["--version"], ["-V"]):
        sys.stdout.write(f"recollect {__version__}\n")
        return 0
    if words in ([], ["--help"], ["-h"], ["help"]):
        (sys.stdout if words else sys.stderr).write(overview())
        return 0 if words else 2
    return _guarded(_verb_first(words))


def overview() -> str:
    """What `recollect --help` says."""
    lines = ["usage: recollect VERB …", "", "A memory that lasts for AI agents.", ""]
    for heading, verbs in GROUPS.items():
        lines += [f"{heading}:", *(f"  {verb:<10} {help_}" for verb, (_, help_) in verbs.items()), ""]
    return "\n".join([*lines, "`recollect VERB --help` tells more. `recollect --version` prints the version.", ""])


def parser_of(verb: str) -> argparse.ArgumentParser:
    """The parser of one verb, with its own flags and those every verb has."""
    from argparse import ArgumentParser, HelpFormatter
    from functools import partial
    from importlib import import_module

    from recollect.cli.opening import add_flags
    from recollect.errors import InvalidInput

    class Parser(ArgumentParser):
        def error(self, message: str) -> NoReturn:
            raise InvalidInput(f"{self.prog}: {message}", hint=f"`{self.prog} --help` shows what it takes.")

    module, help_ = VERBS[verb]
    parser = Parser(
        prog=f"recollect {verb}",
        description=f"{help_[0].upper()}{help_[1:]}.",
        formatter_class=partial(HelpFormatter, width=100),  # else shutil is loaded to ask
        allow_abbrev=False,
    )
    import_module(f"recollect.cli.verbs.{module}").configure(parser)
    add_flags(parser)
    return parser


def _verb_first(words: list[str]) -> list[str]:
    """`--json recall x` as `recall --json x`: the common flags may stand before the verb."""
    if words[0] == "help":
        return [*words[1:2], "--help"]
    place = 0
    while place < len(words) and words[place].startswith("-"):
        place += 2 if words[place] in _WITH_VALUE else 1
    return words if place >= len(words) else [words[place], *words[:place], *words[place + 1 :]]


def _guarded(words: list[str]) -> int:
    """Run the verb; whatever happens, no traceback unless RECOLLECT_DEBUG asks for one."""
    from recollect.cli.output import Output
    from recollect.errors import RecollectError

    console = Output(as_json="--json" in words)
    if words[0] == "hook" and "--help" not in words:
        return _harmless(words, console)
    try:
        code = _run(words, console)
        console.flush()
        return code
    except RecollectError as error:
        _debug()
        return console.failure(error.code, str(error), error.hint, error.exit_code)
    except BrokenPipeError:
        console.abandon()
        return 141
    except KeyboardInterrupt:
        return 130
    except UnicodeEncodeError:
        _debug()
        return console.failure("invalid_input", "an argument is not valid UTF-8 text", None, 2)
    except OSError as error:
        _debug()
        about = f"{error.filename}: " if error.filename else ""
        code = console.failure("os_error", f"{about}{error.strerror or error}", None, 1)
        console.settle()
        return code
    except Exception as error:
        _debug()
        hint = "This is a mistake in Recollect. RECOLLECT_DEBUG=1 shows where."
        return console.failure("unexpected", f"unexpected {type(error).__name__}: {error}", hint, 1)


def _harmless(words: list[str], console: Output) -> int:
    """A hook never fails its agent: some of them take an exit code for an order to stop."""
    try:
        _run(words, console)
    except Exception:
        _debug()
    return 0


def _run(words: list[str], console: Output) -> int:
    from importlib import import_module

    verb = words[0]
    if verb not in VERBS:
        raise _unknown(verb)
    parser = parser_of(verb)
    try:
        parse = parser.parse_args if "--" in words else parser.parse_intermixed_args
        args = parse(words[1:])
    except SystemExit as done:  # --help
        return int(done.code or 0)
    code: int = import_module(f"recollect.cli.verbs.{VERBS[verb][0]}").run(args, console)
    return code


def _unknown(verb: str) -> Exception:
    from difflib import get_close_matches

    from recollect.errors import InvalidInput

    near = get_close_matches(verb, VERBS, 1)
    hint = f"Did you mean `recollect {near[0]}`?" if near else "`recollect --help` lists the verbs."
    return InvalidInput(f"there is no verb {verb[:40]!r}", hint=hint)


def _debug() -> None:
    if os.environ.get("RECOLLECT_DEBUG"):
        import traceback

        traceback.print_exc()
