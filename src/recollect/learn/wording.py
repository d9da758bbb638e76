"""How a candidate reads: one line that says what repeats, and the rule that would spare it.

A rule is made of our own words (`troubles`), of what a person said, or of commands that were seen to pass. What a tool
printed, a page said or a file held never gets into one. Signals of one candidate come in; both texts go out.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence

from recollect.learn.commandwords import lints
from recollect.learn.recipesteps import usual_steps
from recollect.learn.troubles import NAMED
from recollect.learn.values import RULE_CHARS, STATEMENT_CHARS, Signal
from recollect.learn.wishclusters import wording_of
from recollect.learn.wishes import OWN_COMMAND
from recollect.text import one_line, present

_SAID = ("instruction_repeated", "correction")
_COMMON = 0.6  # of the signals that make something typical of all
_LONGEST_COMMAND = 120
_TASKS = frozenset("review explain compare summarize describe show list check fix rebase merge open give".split())


def statement_of(kind: str, key: str, signals: Sequence[Signal]) -> str:
    """What repeats, in one line."""
    trouble = NAMED.get(key)
    if trouble is not None:
        place = _common(signals, "path")
        return one_line(f"{trouble.statement} ({place})" if place else trouble.statement, STATEMENT_CHARS)
    if kind == "recipe":
        steps = usual_steps(signals)
        return one_line(f"Work is called done after {_listed(steps)}", STATEMENT_CHARS)
    first = wording_of(signals) if kind in _SAID else _typical(signals)
    if kind == "instruction_repeated":
        return one_line(f"The user asks again and again: “{first.statement}”", STATEMENT_CHARS)
    if kind == "correction":
        return one_line(f"The user corrects again and again: “{first.statement}”", STATEMENT_CHARS)
    return one_line(first.statement, STATEMENT_CHARS)


def rule_of(kind: str, key: str, signals: Sequence[Signal]) -> str | None:
    """The rule that is suggested, or None where there is none to be trusted."""
    vouched = [one for one in signals if one.origin in ("user", "outcome")]
    if not vouched:
        return None
    trouble = NAMED.get(key)
    if trouble is not None:
        if trouble.by is not None and not _mended_by(trouble.by, vouched):
            return None
        return _linter(vouched) if trouble.name == "linter fails" else trouble.rule
    make = _RULES.get(kind)
    rule = make(key, vouched) if make else None
    return one_line(present(rule), RULE_CHARS) if rule else None


def _mended_by(by: re.Pattern[str], signals: Sequence[Signal]) -> bool:
    """Whether the rule is how the failures were mended, as far as that was seen."""
    mends = [one.detail["mend"] for one in signals if one.detail.get("mend")]
    return bool(mends) and 2 * sum(by.search(mend) is not None for mend in mends) >= len(mends)


def _linter(signals: Sequence[Signal]) -> str:
    run = [one.detail.get("head", "") for one in signals if lints(one.detail.get("head", ""))]
    command = Counter(run).most_common(1)[0][0] if run else ""
    what = f"Run `{command}`" if command else "Run the linter"
    return f"{what} after each change, before work is called done."


def _wish(key: str, signals: Sequence[Signal]) -> str | None:
    said = [one for one in signals if one.origin == "user"]
    if not said:
        return None
    if key.startswith(OWN_COMMAND):
        return f"Run `/{key.removeprefix(OWN_COMMAND)}` before work is called done."
    text = (wording_of(said).detail.get("wish") or "").strip(" .!?…,;:")
    if text.partition(" ")[0].casefold() in _TASKS:  # a task that is given again and again, not how to do all of them
        return None
    return f"{text[:1].upper()}{text[1:]}." if text else None


def _denied(key: str, signals: Sequence[Signal]) -> str | None:
    """Only where most of what people said with it is a no to the doing itself."""
    if 2 * sum(one.detail.get("objects") == "yes" for one in signals) <= len(signals):
        return None
    what = key.partition(": ")[2]
    if what == "git writes":
        return "Commit and push only when asked to."
    if what == "edits":
        return "Say what is going to be changed, and wait for a yes, before editing."
    return f"Ask before running `{what}`."


def _recipe(key: str, signals: Sequence[Signal]) -> str | None:
    steps = usual_steps(signals)
    return f"Before work is called done, run {_listed(steps)}." if steps else None


def _loop(key: str, signals: Sequence[Signal]) -> str:
    name = key.partition(": ")[2]
    what = "a test" if name == "tests" else f"`{name}`"
    return f"When {what} failed twice in the same way, find the cause before running it again."


def _error(key: str, signals: Sequence[Signal]) -> str | None:
    what, _, name = key.partition(": ")
    if what == "unknown option":
        return f"Look at `{name} --help` before using an option of it for the first time."
    if what == "program missing" and _was_run(name, signals):
        return f"`{name}` is not on the path here: find out how this project runs it before using it."
    return None


def _fixed(key: str, signals: Sequence[Signal]) -> str | None:
    """Only what was seen to work, and short enough to be of use elsewhere."""
    good = [one for one in signals if one.origin == "outcome"]
    worked = sorted({one.detail.get("worked", "") for one in good}, key=lambda text: (len(text), text))
    failed = sorted({one.detail.get("command", "") for one in good}, key=lambda text: (len(text), text))
    if not worked or not worked[0] or len(worked[0]) > _LONGEST_COMMAND or "`" in worked[0] + failed[0]:
        return None
    return f"Run `{worked[0]}` instead of `{failed[0]}`."


def _test(key: str, signals: Sequence[Signal]) -> str | None:
    name = _typical(signals).statement
    if not key.startswith("test: ") or not name.startswith("The test "):
        return None
    name = name.removeprefix("The test ").removesuffix(" breaks")
    return f"Run {name} early: it breaks easily." if _was_run(name, signals) else None


def _was_run(name: str, signals: Sequence[Signal]) -> bool:
    """Whether a command of the agent has the name: one that only a tool printed could say anything."""
    return any(name.casefold() in one.detail.get("command", "").casefold() for one in signals)


_RULES: dict[str, Callable[[str, Sequence[Signal]], str | None]] = {
    "instruction_repeated": _wish,
    "correction": _wish,
    "denial": _denied,
    "interruption": _denied,
    "recipe": _recipe,
    "retry_loop": _loop,
    "error_repeated": _error,
    "rediscovery": _error,
    "command_fixed": _fixed,
    "red_green": _test,
}


def _typical(signals: Sequence[Signal]) -> Signal:
    """The one that says it shortest; of equals the first."""
    return min(signals, key=lambda one: (len(one.statement), one.at, one.session, one.statement))


def _common(signals: Sequence[Signal], name: str) -> str:
    """What most of the signals say of a detail."""
    counted = Counter(one.detail[name] for one in signals if one.detail.get(name))
    best = min(counted.items(), key=lambda item: (-item[1], item[0]), default=("", 0))
    return best[0] if best[1] >= 2 and best[1] >= _COMMON * len(signals) else ""


def _listed(steps: Sequence[str]) -> str:
    quoted = [f"`{step}`" for step in steps]
    return quoted[0] if len(quoted) == 1 else f"{', '.join(quoted[:-1])} and {quoted[-1]}" if quoted else "its checks"
