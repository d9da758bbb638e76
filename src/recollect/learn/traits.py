"""The traits of a call: what kind of call it is, as far as its error is understood differently for it.

A run with its command comes in, a set of words goes out:

    its action   shell, edit, read, search …
    read         it reads files that are named to it
    looks        it only looks around
    lint         it runs a linter
    cut          what it printed was cut by a filter behind a pipe
    piped        its exit code is that of a filter, or of a later command: success says nothing
    sequenced    a later command ran whether or not it succeeded
    whole        it made a file, or replaced all of it
    input        it writes text to a program that runs
    poll         it only waits for such a program, or stops it: control characters are no input
"""

from __future__ import annotations

import re

from recollect.distill.rules.story import Run
from recollect.distill.testruns import piped
from recollect.learn.commandwords import heads, lints, looks, reads_files

_LOOKED_AT = 4_000
_CUT = re.compile(r"\|\s*(?:grep|rg|tail|head|tee|awk|sed)\b")
_SEQUENCED = re.compile(r";|\n|\|\|")
_READING_TOOLS = frozenset(("read", "search"))
_WHOLE_TOOLS = frozenset("write write_file writefile create_file create delete_file delete".split())
_INPUT_TOOLS = frozenset("write_stdin bashoutput get_command_or_subagent_output".split())


def traits_of(run: Run, command: str, head: str) -> frozenset[str]:
    """The traits of a run; `command` is as it is compared, `head` what it is about."""
    found = {run.action}
    text = run.call.text[:_LOOKED_AT]
    tool = str(run.call.meta.get("tool") or "").casefold()
    every = heads(command) if command else ()
    if run.action in _READING_TOOLS or run.action == "edit" or any(reads_files(one) for one in every):
        found.add("read")
    if run.tests != "failed" and any(lints(one) for one in every):
        found.add("lint")
    if command and piped(text):
        found |= _flow(text)
    if head and looks(head):
        found.add("looks")
    if run.action == "edit" and (tool in _WHOLE_TOOLS or "*** Add File: " in text):
        found.add("whole")
    if tool in _INPUT_TOOLS:
        found.add("input" if any(char.isprintable() and not char.isspace() for char in text) else "poll")
    return frozenset(found)


def _flow(text: str) -> set[str]:
    found = {"cut"} if _CUT.search(text) else set()
    if "pipefail" not in text:
        found.add("piped")
    if _SEQUENCED.search(text):
        found.add("sequenced")
    return found
