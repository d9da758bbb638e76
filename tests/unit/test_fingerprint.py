"""The same error has the same fingerprint wherever it happens; another one another; what is no error has none."""

from __future__ import annotations

import re
import string
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.distill.fingerprint import HEAD, SHOWN_CHARS, fingerprint, shape

TRACEBACK = """Exit code 1
Traceback (most recent call last):
  File "/home/ann/app/main.py", line 12, in <module>
    run()
  File "/home/ann/app/run.py", line 3, in run
    raise ValueError("bad")
ValueError: invalid literal for int() with base 10: 'x1'
"""
CHAINED = """Traceback (most recent call last):
  File "a.py", line 1, in <module>
KeyError: 'a'

During handling of the above exception, another exception occurred:

Traceback (most recent call last):
  File "a.py", line 3, in <module>
app.errors.Conflict: it is there already
"""


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (TRACEBACK, "ValueError: invalid literal for int() with base 10: 'x1'"),
        (CHAINED, "app.errors.Conflict: it is there already"),
        ("  Compiling x\nerror[E0308]: mismatched types\n --> src/main.rs:2:5\n", "error[E0308]: mismatched types"),
        ("src/a.ts(3,5): error TS2304: Cannot find name 'x'.", "src/a.ts(3,5): error TS2304: Cannot find name 'x'."),
        (
            "E   AssertionError: assert 1\nFAILED tests/a.py::test_b - AssertionError: assert 1 == 2\n1 failed in 0.1s",
            "FAILED tests/a.py::test_b - AssertionError: assert 1 == 2",
        ),
        ("goroutine 1\npanic: runtime error: index out of range [5]", "panic: runtime error: index out of range [5]"),
        ("# pkg\ncmd/x/main.go:25:13: undefined: newRootCmd", "cmd/x/main.go:25:13: undefined: newRootCmd"),
        ("=== RUN TestA\n--- FAIL: TestA (0.00s)\nFAIL\nFAIL\tx/y\t0.3s", "--- FAIL: TestA"),
        ('npm ERR! code ELIFECYCLE\nnpm ERR! Missing script: "x"', 'npm ERR! Missing script: "x"'),
        ("bash: line 1: foo: command not found", "bash: line 1: foo: command not found"),
        ("cat: /x/y: No such file or directory", "cat: /x/y: No such file or directory"),
        ("fatal: not a git repository (or any of the parent directories): .git", "fatal: not a git repository"),
        ("main.c:3:1: error: expected ';' before '}' token", "main.c:3:1: error: expected ';' before '}' token"),
        ("curl: (22) The requested URL returned error: 404", "curl: (22) The requested URL returned error: 404"),
        ("API Error: 529 overloaded_error", "API Error: 529 overloaded_error"),
        ("GET /x -> HTTP 503", "GET /x -> HTTP 503"),
        ("bash: ./run.sh: Permission denied", "bash: ./run.sh: Permission denied"),
        ("<tool_use_error>File does not exist.</tool_use_error>", "File does not exist."),
        ("thread 'main' panicked at src/main.rs:2:5:\nboom", "thread 'main' panicked at src/main.rs:2:5: boom"),
        ("\x1b[31mError:\x1b[0m boom", "Error: boom"),
        ("make: *** [Makefile:3: test] Error 2", "make: *** [Makefile:3: test] Error 2"),
    ],
)
def test_the_telling_line_is_picked(text: str, line: str) -> None:
    found = fingerprint(text)
    assert found is not None
    assert found.line.startswith(line)
    assert re.fullmatch("[0-9a-f]{12}", found.key)


@pytest.mark.parametrize(
    "text",
    [
        *("", "   \n", "Exit code 1", "Exit code 1\n", "src/a.py:3: x = 1\nsrc/b.py:9: y = 2", "0 failed, 3 passed"),
        "diff --git a/x b/x\n@@ -1 +1 @@\n-raise ValueError: error: failed\n+error: this cannot fail",
        "3c3\n< error: old\n---\n> error: new",
        "The user doesn't want to proceed with this tool use. The tool use was rejected.",
        "[Request interrupted by user for tool use]",
    ],
)
def test_what_is_no_error_has_none(text: str) -> None:
    assert fingerprint(text) is None


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("cmd/x/main.go:25:13: undefined: newRootCmd", "main.go:7:1: undefined: newRootCmd"),
        ("bash: line 1: foo: command not found", "zsh: command not found: foo"),
        ("cat: /x/y: No such file or directory", "cat: notes: No such file or directory"),
        ("--- FAIL: TestA (0.00s)", "\x1b[31m--- FAIL: TestA (12.5s)\x1b[0m"),
        ("ValueError: took 12ms at 0x7f01", "ValueError: took 1.5s at 0xdeadbeef"),
        ("fatal: bad object 3f2a9c1", "fatal: bad object 99ad01e7c"),
        (
            "Error: session 0b9e7a52-1111-4222-8333-944455556666 lost",
            "Error: session 1c9e7a52-aaaa-4bbb-8ccc-d44455556666 lost",
        ),
        ("error: 1 error found", "error: 12 errors found"),
        ("2026-01-05T10:00:00Z ERROR: lost", "2027-11-15 23:59:59,123 ERROR: lost"),
        ("Error: connect to 127.0.0.1:5432", "Error: connect to 10.0.0.7:8080"),
        ("KeyError: 'a'", "KeyError: 'b c'"),
        ("fatal: denied for user ann", "fatal: denied for user bob"),
        (r"Error: open C:\Users\ann\x.txt", "Error: open /home/bob/y.txt"),
        ("<tool_use_error>File does not exist.</tool_use_error>", "File does not exist. Note: the directory is /x/y."),
    ],
)
def test_the_same_error_has_the_same_key(one: str, other: str) -> None:
    left, right = fingerprint(one), fingerprint(other)
    assert left is not None
    assert right is not None
    assert left.key == right.key, (shape(left.line), shape(right.line))


def test_different_errors_have_different_keys() -> None:
    texts = [
        *("ValueError: bad", "KeyError: bad", "Error: HTTP 404", "Error: HTTP 500", "error[E0308]: mismatched types"),
        *("error[E0382]: mismatched types", "a.go:1:1: undefined: x", "a.go:1:1: undefined: y", "--- FAIL: TestA"),
        *("--- FAIL: TestB", "x: command not found", "y: command not found", "ls: x: No such file or directory"),
        *(
            "ls: x: Permission denied",
            "fatal: exit code 1",
            "fatal: exit code 137",
            "a.ts(1,2): error TS2304: Cannot find",
        ),
    ]
    keys = [found.key for text in texts if (found := fingerprint(text))]
    assert len(keys) == len(texts)
    assert len(set(keys)) == len(texts)


words = st.text(string.ascii_lowercase, min_size=3, max_size=9).filter(lambda word: not word.startswith("v"))
paths = st.lists(words, min_size=2, max_size=5).map(lambda parts: "/" + "/".join(parts))
numbers = st.integers(0, 10**12).map(str)
PATTERNS = [
    "ValueError: cannot read {path} at line {number}",
    "{path}.py:{number}: error: bad token near {number}",
    "FAILED {path}/test_a.py::test_b[{number}] - AssertionError: assert {number} == {number}",
    "{path}/main.go:{number}:{number}: undefined: thing",
    "fatal: unable to access {path}: timeout after {number}ms",
    "Error: connect ECONNREFUSED 127.0.0.1:{number}",
    "open {path}: permission denied (pid {number})",
]


@given(st.sampled_from(PATTERNS), paths, paths, st.lists(numbers, min_size=6, max_size=6))
def test_paths_and_numbers_do_not_change_the_key(pattern: str, here: str, there: str, given_numbers: list[str]) -> None:
    def filled(path: str, values: list[str]) -> str:
        rest = iter(values)
        return re.sub(r"\{number\}", lambda _: next(rest), pattern.replace("{path}", path))

    one, other = fingerprint(filled(here, given_numbers[:3])), fingerprint(filled(there, given_numbers[3:]))
    assert one is not None
    assert other is not None
    assert one.key == other.key


@given(st.text(max_size=400))
def test_any_text_is_taken(text: str) -> None:
    found = fingerprint(text)
    assert found == fingerprint(text)
    assert found is None or (len(found.line) <= SHOWN_CHARS and "\n" not in found.line)


@pytest.mark.timed
@pytest.mark.parametrize(
    "unit",
    [
        "\n",
        " ",
        "a",
        "(a::",
        "'",
        '"',
        "/a",
        "a@",
        "error",
        "0 failed ",
        "1.",
        "[",
        "<",
        ": ",
        "\x1b[",
        "aError",
        "E  ",
        "git ",
    ],
)
def test_hostile_text_takes_no_time(unit: str) -> None:
    text = unit * (2_000_000 // len(unit))
    started = time.perf_counter()
    fingerprint(text)
    fingerprint("error: " + text)
    assert time.perf_counter() - started < 1.0


def test_both_ends_are_looked_at() -> None:
    filler = "fine\n" * HEAD
    assert fingerprint(f"ValueError: first\n{filler}") is not None
    assert fingerprint(f"{filler}ValueError: last") is not None
    assert fingerprint(f"{filler}ValueError: middle\n{filler}") is None
