"""Kinds of trouble that every agent meets, each under one name however an agent or a tool words it.

An error's line comes in; a `Trouble` goes out, with a statement and a rule in our own words. So the same trouble in
two agents is one pattern, and the words of a tool stay out of what may become an instruction. What is not known here
is told by the error's own shape (`distill.fingerprint.shape`), and has no rule.
"""

from __future__ import annotations

import re
from typing import NamedTuple


class Trouble(NamedTuple):
    """A kind of trouble. `kind` is that of its signals; `rule` is what would have spared it."""

    name: str
    kind: str
    pattern: re.Pattern[str]
    statement: str
    rule: str
    where: str = ""  # only for calls with this trait: edit, read, lint, cut, input
    by: re.Pattern[str] | None = None  # how it was mended when the rule is right; None: that cannot be told
    apart: bool = False  # each wording of it is a cause of its own, which has to repeat by itself


def _of(
    name: str,
    pattern: str,
    statement: str,
    rule: str,
    *,
    where: str = "",
    kind: str = "error_repeated",
    by: str = "",
    apart: bool = False,
) -> Trouble:
    mend = re.compile(by) if by else None
    return Trouble(name, kind, re.compile(pattern, re.IGNORECASE), statement, rule, where, mend, apart)


def _found(name: str, pattern: str, statement: str, rule: str, *, by: str = "", apart: bool = False) -> Trouble:
    """What an environment is like, found out again and again."""
    return _of(name, pattern, statement, rule, kind="rediscovery", by=by, apart=apart)


# The first that matches counts.
TROUBLES = (
    _of(
        "edit text not found",
        r"string to replace not found|failed to find (?:expected lines|context)|old_?str(?:ing)? (?:was )?not found"
        r"|could ?n[o']t find (?:the )?(?:old|search|exact)|search block .{0,40}not found|hunk .{0,12}failed"
        r"|patch does not apply|no match(?:es)? (?:found )?for (?:the )?(?:old|search)|text to replace was not found",
        "An edit fails because the text to be replaced is not in the file as the agent remembers it",
        "Read the lines to be changed again right before an edit, and copy the text to be replaced exactly.",
    ),
    _of(
        "edit text not unique",
        r"found \S+ matche\w* of the string|multiple (?:occurrences|matches)|(?:is|are) not unique|more than one match",
        "An edit is refused because the text to be replaced is in the file more than once",
        "Take in enough lines around the text to be replaced to make it unique, or say that every place is meant.",
    ),
    _of(
        "edit before reading",
        r"has not been read|must (?:first )?(?:be )?read (?:the file|it)|read it first",
        "An edit is refused because the file was not read before",
        "Read a file before the first edit or overwrite of it in a session.",
    ),
    _of(
        "edit after a change",
        r"modified since (?:it was )?(?:last )?read|has been (?:unexpectedly )?modified|changed on disk",
        "An edit is refused because the file changed after it was read",
        "After a formatter, a script or a person changed a file, read it again before editing it.",
    ),
    _of(
        "edit changes nothing",
        r"(?:old_?string|search) and (?:new_?string|replace)\w* (?:are|is) (?:exactly )?the same|no changes to make",
        "An edit is refused because it changes nothing",
        "Compare the new text with the old before an edit.",
    ),
    _of(
        "read too large",
        r"exceeds (?:the )?maximum allowed (?:tokens|size)|file (?:content )?.{0,30}too large to read",
        "A file is read as a whole that is too large for it",
        "Search a large file, or read it in parts.",
    ),
    _of(
        "path is a directory",
        r"\bis a directory\b|eisdir|illegal operation on a directory",
        "A directory is read as if it were a file",
        "List a path before reading it when it may be a directory.",
    ),
    _of(
        "relative cd",
        r"\bcd:(?:\d+:)? .{0,200}no such file|\bcd:\d*:? no such file|can't cd to",
        "A relative `cd` fails because the shell is in another directory than thought",
        "The working directory stays between commands: use paths from the root of the repository, or ask `pwd` first.",
    ),
    _found(
        "shell is zsh",
        r"^(?:\(eval\)|zsh):\d*:? ?(?:no matches found|parse error|==? not found|read-only variable|bad pattern)"
        r"|^zsh: no matches found",
        "Commands fail because zsh reads them otherwise than bash: patterns without quotes, `===`, a variable `status`",
        "The shell is zsh: quote patterns and words that begin with `=`, use no variable named `status`, and give what"
        " needs bash to `bash -c`.",
    ),
    _found(
        "cannot listen",
        r"(?:listen|bind)\b.{0,80}(?:operation not permitted|permission denied)|failed to listen on a port"
        r"|socket: operation not permitted",
        "Tests fail because the sandbox forbids to listen on a port",
        "Tests that open a port cannot run inside the sandbox: ask for it to be lifted before running them.",
    ),
    _found(
        "no network",
        r"no such host|could not resolve host|name resolution|network is unreachable|error connecting to "
        r"|failing loading .{0,20}https?:|check your internet connection",
        "Commands fail because the network cannot be reached from where they run",
        "Ask for network access before downloads, `gh` and remote git: the sandbox has none.",
    ),
    _of(
        "git index locked",
        r"index\.lock\W{0,3}:? ?file exists|another git process seems to be running",
        "Git commands collide on the lock of the index",
        "Run git commands one after the other, never two at once in one repository.",
    ),
    _of(
        "git ignored path",
        r"paths are ignored by one of your",
        "`git add` is given files that the repository ignores",
        "Leave ignored files out of `git add`.",
        by=r"\bgit add\b(?!.*\s(?:-f|--force)\b)",
    ),
    _found(
        "git signs commits",
        r"cannot auto-sign|gpg failed to sign|failed to write commit object|error: gpg",
        "Tests that commit fail where the machine's git configuration signs commits",
        "Run tests that commit without the machine's git configuration: `GIT_CONFIG_GLOBAL=/dev/null`.",
        by=r"GIT_CONFIG_|gpgsign|no-gpg-sign",
    ),
    _of(
        "git no upstream",
        r"no upstream (?:configured|branch)|has no upstream",
        "A branch that is new has no upstream yet, and a git command needs one",
        "Push a new branch the first time with `git push -u origin HEAD`.",
        by=r"\bgit push\b.*(?:\s-u\b|--set-upstream)",
    ),
    _of(
        "commit hook refuses",
        r"pre-commit (?:validation|hook|check)\w* .{0,20}fail|hook declined|commit-msg hook|husky",
        "A commit is refused by the checks of its hook",
        "Run the formatter and the checks of the commit hook before committing.",
    ),
    _found(
        "program refused",
        r"operation not permitted: [\w.-]+(?![\w./-])",
        "Programs are run that the sandbox forbids",
        "Ask for the sandbox to be lifted before running a program that it forbids.",
    ),
    _found(
        "cannot write",
        r"operation not permitted|read-only file system|sandbox\w*\W{0,3}denied|eperm",
        "Commands fail because the sandbox forbids to write where they keep their files",
        "Keep caches and temporary files where writing is allowed, or ask for the sandbox to be lifted.",
    ),
    _found(
        "built for another system",
        r"exec format error|cannot execute binary file",
        "Programs that were built for another system are run here",
        "Tests for another system can only be compiled here: `go test -c`, or `-exec=true`.",
        by=r"\s-c\b|\s-exec\b|\bgo (?:build|vet)\b",
    ),
    _of(
        "imports",
        r"imported and not used|undefined: (?-i:[a-z]+)$|name <?'?\w+>?'? is not defined|unused import|\bF401\b"
        r"|\bF821\b|cannot find name '",
        "Code does not build after an edit because an import is missing or left over",
        "Put the imports right with every edit that adds or removes the use of a package, before building or testing.",
    ),
    _of(
        "callers not adapted",
        r"(?:not enough|too many) arguments in call|takes \d+ positional arguments? but|missing \d+ required positional"
        r"|expected \d+(?:-\d+)? arguments?, but got",
        "Code does not build because callers or tests of a changed signature were not changed with it",
        "Search all callers and tests of a function when its signature changes, and change them before building.",
    ),
    _found(
        "module not installed",
        r"no module named|cannot find module|missing go\.sum entry|no required module provides|modulenotfounderror",
        "Code is run where its dependencies are not installed",
        "Use the project's own environment, and install its dependencies before running its code.",
        apart=True,
    ),
    _found(
        "port in use",
        r"address already in use|eaddrinuse|port \S+ is (?:already )?(?:in use|allocated)",
        "A server cannot start because its port is taken",
        "Look whether a server runs already before starting one.",
    ),
    _of(
        "no such sub-agent",
        r"agent type .{0,80} not found|unknown (?:agent|subagent)",
        "A sub-agent is started by a name that does not exist",
        "Use a sub-agent only by a name that the host lists.",
    ),
    _of(
        "too many sub-agents",
        r"agent thread limit",
        "More sub-agents are started than may run at once",
        "Close sub-agents that are done before starting others.",
    ),
    _of(
        "no input taken",
        r"stdin is closed for this session",
        "Input is written to a command that takes none any more",
        "Start a command with a terminal when it has to be given input.",
        where="input",
    ),
    _of(
        "output cut",
        r"\[(?:build|setup) failed\]|task failed|^fail$",
        "The output of a build or test run was cut, so that it had to run again to show why it failed",
        "Do not cut the output of a build or test run with grep, head or tail before it has passed.",
        where="cut",
    ),
    _of(
        "linter fails",
        r".",
        "The linter finds faults in work that was thought done",
        "Run the linter after each change, before work is called done.",
        where="lint",
    ),
    _of(
        "path not there",
        r"no such file or directory|does not exist|enoent|cannot find the (?:path|file)|file not found|os error 2\b",
        "Files are read at paths that do not exist",
        "Find a file by its name (`rg --files`, a glob) before reading it at a path that was not seen yet.",
        where="read",
    ),
)
# What a sandbox forbids: errors that come of working around it belong to it.
REFUSALS = ("cannot listen", "no network", "program refused", "cannot write")


def trouble_of(line: str, traits: frozenset[str]) -> Trouble | None:
    """The kind of trouble a line tells of, in a call with these traits."""
    for one in TROUBLES:
        if (not one.where or one.where in traits) and one.pattern.search(line):
            return one
    return None


NAMED = {one.name: one for one in TROUBLES}
