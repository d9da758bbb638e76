"""How fast secrets are taken out of real transcripts, what is taken out of them, and what hostile text costs.

    python bench/redaction.py PATH [--show] [--hostile]

PATH is a folder of JSONL transcripts (or one file); every string in them goes through the redactor, as in a sweep.
Transcripts known to hold no secret make every hit a false one. Times are CPU times of this process; those of hostile
texts are brought to the pace of a machine that nothing slows, by a piece of work before and after each.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from recollect.capture.redact import Redactor
from recollect.capture.secretrules import RULES

MEGABYTE = 1_000_000
PROMISED = 2.0  # seconds of CPU for a hostile megabyte, at most
USUAL = 0.006  # seconds of CPU that `work` takes where nothing slows the machine
_PLAIN = "the deploy of the billing service failed because a migration held a lock in 2026; " * 1_000
_WORD = re.compile(r"(?:\\{0,7}[\"'`]?[A-Za-z]{2,12}){1,3}(?:[ \t]{1,3}[a-z]{1,12}){0,2}[:=]?")


def strings(value: object) -> Iterator[str]:
    """Every string in a decoded JSON value; keys are not kept, so they are not read."""
    waiting = [value]
    while waiting:
        one = waiting.pop()
        if isinstance(one, str):
            yield one
        elif isinstance(one, dict):
            waiting.extend(one.values())
        elif isinstance(one, list):
            waiting.extend(one)


def leaves(path: Path) -> list[str]:
    """The strings of all JSONL files under a path; lines that are not JSON are left out."""
    found: list[str] = []
    for file in [path] if path.is_file() else sorted(path.rglob("*.jsonl")):
        for line in file.read_text(encoding="utf-8", errors="replace").splitlines():
            try:
                found.extend(strings(json.loads(line)))
            except ValueError:
                continue
    return found


def hostile(size: int = MEGABYTE) -> dict[str, str]:
    """Texts made to be slow, each about `size` characters."""
    literals = sorted({literal for rule in RULES for literal in rule.literals})
    quotes = [f"password={slashes}{quote}" for slashes in ("", "\\", "\\\\", "\\\\\\") for quote in "\"'`"]
    units = {
        "one token": "a1B2c3D4",
        "one word": "a",
        "BEGIN PRIVATE KEY": "-----BEGIN PRIVATE KEY-----\n",
        "BEGIN and dashes": "-----BEGIN PRIVATE KEY-----a-b--c---d----",
        "eyJ": "eyJ",
        "-eyJ": "-eyJ",
        "eyJ with dots": "eyJabcdefghijk.",
        "sk-": "sk-",
        "password=": "password=",
        "password= in every quote": "".join(quotes),
        "password told": "password for a b c is is is ",
        "token=": "token=",
        "key: key:": "api_key: ",
        "token and a space": "token ",
        "token beside words": "token A1aaaaaaaaaaaaaaaaaaaaaaaa_ ",
        "a:a@": "a:a@",
        "://a:a@": "://a:a@",
        "://a:": "://a:",
        "nested quotes": '"\'`\\"',
        "backslashes": "password=\\",
        "every literal": "".join(literals),
        "every literal apart": " ".join(literals),
        "AKIA": "AKIAABCDEFGHIJKLMNOP ",
        "Bearer": "Bearer ",
        "long runs": "ab_" + "a1B" * 12 + " ",
        "joined runs": "ab_" + "a1B" * 12 + "-",
        "marks": "[REDACTED:secret:0123abcd]",
        "marks unfinished": "[REDACTED:",
        "zero width between letters": "".join(f"{letter}\u200b" for letter in "password=hunter2Xy! "),
        "full width": "ｐａｓｓｗｏｒｄ＝",
        "digits": "4111 ",
        "mail": "a@a.",
        "phone": "+1 ",
    }
    texts = {name: (unit * (size // len(unit) + 1))[:size] for name, unit in units.items()}
    return texts | {"password= and one long value": ("password=" + "a" * 900 + "/") * (size // 910)}


def speed(texts: list[str], redactor: Redactor, show: bool) -> None:
    """Print MB/s over all texts, the cost of a call, and what was found."""
    size, lines = sum(map(len, texts)), sum(text.count("\n") + 1 for text in texts)
    counts: Counter[str] = Counter()
    start = time.process_time()
    for text in texts:
        clean, found = redactor.redact(text)
        if found:
            counts.update(found)
            if show:
                place = next(n for n, (a, b) in enumerate(zip(text, clean, strict=False)) if a != b)
                print(f"  {', '.join(found)}: {clean[max(0, place - 60) : place + 60]!r}")
    took = time.process_time() - start
    print(f"{len(texts):,} strings, {size / MEGABYTE:.1f} M characters, {lines:,} lines")
    print(f"redaction: {size / MEGABYTE / took:.0f} MB/s")
    total = counts.total()
    print(f"hits: {total} ({10_000 * total / max(lines, 1):.3f} a 10,000 lines) {dict(counts)}")
    print(f"a call with 30 clean characters: {call_cost(redactor):.2f} µs")


def call_cost(redactor: Redactor, calls: int = 200_000) -> float:
    text = "/home/ann/app/src/main.py:120"
    start = time.process_time()
    for _ in range(calls):
        redactor.redact(text)
    return (time.process_time() - start) / calls * 1e6


def worst(size: int = MEGABYTE, pii: bool = False) -> list[tuple[float, str]]:
    """Seconds of CPU a megabyte for every hostile text, at the usual pace, the slowest first."""
    redactor, times = Redactor(b"bench", pii=pii), []
    for name, text in hostile(size).items():
        tries = [_cpu(redactor, text) for _ in range(1 if size == MEGABYTE else 2)]
        times.append((min(tries) * MEGABYTE / size, name))
    return sorted(times, reverse=True)


def _cpu(redactor: Redactor, text: str) -> float:
    """Seconds of CPU at the usual pace: others on the machine, and the machine itself, are not the text's doing."""
    before = pace()
    start = time.thread_time()
    redactor.redact(text)
    return (time.thread_time() - start) / max(before, pace())


def pace() -> float:
    """How many times as long as usual this machine takes at the moment for such work; never less than once."""
    start = time.thread_time()
    work()
    return max(1.0, (time.thread_time() - start) / USUAL)


def work() -> int:
    """What redaction is made of: patterns tried at many places, small calls, small objects."""
    found = [match for at in range(0, len(_PLAIN), 7) if (match := _WORD.match(_PLAIN, at))]
    return sum(len(match[0]) for match in found if match.end() - match.start() > 3)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("path", type=Path, help="a folder of JSONL transcripts, or one file")
    parser.add_argument("--show", action="store_true", help="print the surroundings of every hit")
    parser.add_argument("--pii", action="store_true", help="look for e-mail addresses, phones, IBANs and cards too")
    parser.add_argument("--hostile", action="store_true", help="only the hostile texts")
    options = parser.parse_args()
    if not options.hostile:
        speed(leaves(options.path), Redactor(b"bench", pii=options.pii), options.show)
    times = worst(pii=options.pii)
    print(f"hostile: {len(times)} texts, worst {times[0][0]:.2f} s/MB (promised: {PROMISED})")
    for took, name in times[:8]:
        print(f"  {took:.2f} s/MB  {name}")


if __name__ == "__main__":
    main()
