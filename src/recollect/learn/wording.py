"""How a candidate reads: one line that says what repeats, and the rule that would spare it.

A rule is made of our own words (`troubles`), of what a person said, or of commands that were seen to pass. What a tool
printed, a page said or a file held never gets into one. Signals of one candidate come in; both texts go out.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence

from recollect.learn.commandwords import lints
from recollect.learn.troubles import NAMED
from recollect.learn.values import RULE_CHARS, STATEMENT_CHARS, Signal
from recollect.learn.wishes import OWN_COMMAND
from recollect.text import one_line, present

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
        steps = _steps(signals)
        return one_line(f"Work is called done after {_listed(steps)}", STATEMENT_CHARS)
    first = _typical(signals)
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
        return _linter(vouched) if trouble.name == "linter fails" else trouble.rule
    make = _RULES.get(kind)
    rule = make(key, vouched) if make else None
    return one_line(present(rule), RULE_CHARS) if rule else None


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
    text = (_typical(said).detail.get("wish") or "").strip(" .!?…,;:")
    if text.partition(" ")[0].casefold() in _TASKS:  # a task that is given again and again, not how to do all of them
        return None
    return f"{text[:1].upper()}{text[1:]}." if text else None


def _denied(key: str, signals: Sequence[Signal]) -> str:
    what = key.partition(": ")[2]
    if what == "git writes":
        return "Commit and push only when asked to."
    if what == "edits":
        return "Say what is going to be changed, and wait for a yes, before editing."
    return f"Ask before running `{what}`."


def _recipe(key: str, signals: Sequence[Signal]) -> str | None:
    steps = _steps(signals)
    return f"Before work is called done, run {_listed(steps)}." if steps else None


def _loop(key: str, signals: Sequence[Signal]) -> str:
    name = key.partition(": ")[2]
    what = "a test" if name == "tests" else f"`{name}`"
    return f"When {what} failed twice in the same way, find the cause before running it again."


def _error(key: str, signals: Sequence[Signal]) -> str | None:
    what, _, name = key.partition(": ")
    if what == "unknown option":
        return f"Look at `{name} --help` before using an option of it for the first time."
    if what == "program missing":
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
    return f"Run {name.removeprefix('The test ').removesuffix(' breaks')} early: it breaks easily."


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


def _steps(signals: Sequence[Signal]) -> list[str]:
    """The steps that most of the recipes have, in their usual order."""
    places: dict[str, list[int]] = {}
    for one in signals:
        for place, step in enumerate(one.detail.get("steps", "").split("\n")):
            if step:
                places.setdefault(step, []).append(place)
    usual = {step: found for step, found in places.items() if 2 * len(found) >= len(signals)}
    return sorted(usual, key=lambda step: (sum(usual[step]) / len(usual[step]), step))


def _listed(steps: Sequence[str]) -> str:
    quoted = [f"`{step}`" for step in steps]
    return quoted[0] if len(quoted) == 1 else f"{', '.join(quoted[:-1])} and {quoted[-1]}" if quoted else "its checks"
