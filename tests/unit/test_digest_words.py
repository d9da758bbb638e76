"""What words and outputs mean to the digest: corrections and approvals, commands, and what test runners print."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.distill.corrections import asks, host_command, is_approval, is_correction, tells
from recollect.distill.testruns import COMMAND_CHARS, Tally, normal_command, piped, runner_of, runs_tests, steps, tally


@pytest.mark.parametrize(
    "text",
    [
        *("no, that's not what I asked for", "No wait, so this branch adds the agent", "that is wrong, see main"),
        *("This is still not working perfectly", "don't check this in", "let's not do the nuclear thing"),
        *("no, I did not say commit anything", "what are you doing?", "can you revert this change?", "undo that"),
        *("I said tabs, not spaces", "you forgot the tests", "wait, stop", "please don't touch the config"),
        *("that didn't work", "it still doesn't compile", "why did you delete the file?", "use uv instead."),
        *("stop is not correct, that is the end of the turn", "you’re wrong about the hook", "not like that, please"),
        *(
            "Nein, das ist falsch",
            "das war nicht so gemeint",
            "ich habe doch Leerzeichen gesagt",
            "mach das rückgängig",
        ),
        *("funktioniert immer noch nicht", "du hast die Tests vergessen", "nimm stattdessen uv"),
        *(
            "non, ce n'est pas ça",
            "c'est faux",
            "j'ai dit deux espaces",
            "ne touche pas à ça",
            "ça ne marche toujours pas",
        ),
        *(
            "no, eso no es lo que pedí",
            "eso está mal",
            "te dije que no",
            "no toques eso",
            "sigue sin funcionar, no funciona",
        ),
    ],
)
def test_corrections(text: str) -> None:
    assert is_correction(text)


@pytest.mark.parametrize(
    "text",
    [
        *(
            "yes",
            "ok continue",
            "No I think this is fine",
            "no, this is fine. now the docs",
            "no problem",
            "no worries",
        ),
        *("can you add a test?", "1. no\n2. we show the active ones", "commit and push", "sorry, I mistyped, continue"),
        *("why is this one considered active?", "does it not work on Windows?", "don't we have a helper for this?"),
        *(
            "don't forget the docs",
            "I don't know",
            "is this wrong?",
            "what is wrong with the build?",
            "/undo that is wrong",
        ),
        *("How about instead of a list we print a table", "Could we show the commit message instead?"),
        *(
            "> that's wrong\nwhat do you think of this comment?",
            "!git revert this",
            "not sure how we still make this work",
        ),
        *(
            "the tests are wrong then, sorry I missed this. 1 is correct",
            "das ist gut",
            "c'est bon",
            "está bien, sigue",
        ),
        *("1. Medium: this is still not covered", "weiter", "bitte die Tests laufen lassen", "ajoute un test", "sigue"),
        "Here is a review.\n" + "that is wrong. " * 100,
    ],
)
def test_what_is_no_correction(text: str) -> None:
    assert not is_correction(text)


def test_a_no_that_answers_a_question_is_no_correction() -> None:
    assert asks("Done. Shall I commit it?")
    assert not asks("Shall I? I did. " + "x" * 300)
    assert is_correction("no, the other branch")
    assert not is_correction("no, the other branch", answering=True)
    assert not is_correction("A for all. The others should do B instead.", answering=True)
    assert is_correction("no, that is wrong", answering=True)


@pytest.mark.parametrize(
    "text", ["thanks!", "Perfect, thank you", "ok, looks good", "it works, great job", "LGTM", "danke", "merci"]
)
def test_approvals(text: str) -> None:
    assert is_approval(text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "yes",
        "ok",
        "continue",
        "great, now add tests",
        "looks good?",
        "thanks, but the lint fails",
        "not good",
        "works on my machine only",
    ],
)
def test_what_is_no_approval(text: str) -> None:
    assert not is_approval(text)


@pytest.mark.parametrize(
    ("text", "name"),
    [("/exit", "exit"), (" /model opus", "model"), ("/compact keep the plan", "compact"), ("quit", "quit")],
)
def test_commands_to_the_host(text: str, name: str) -> None:
    assert host_command(text) == name


@pytest.mark.parametrize("text", ["/review", "/home/x is full", "exit the loop early", "/superpowers:plan", "a /exit"])
def test_what_is_no_command_to_the_host(text: str) -> None:
    assert host_command(text) is None


def test_what_tells_a_goal() -> None:
    told = ["fix the build", "/goal simplify this repo", "B) add hooks", "why?!?"]
    not_told = [
        "hello",
        "Hi there!",
        "yes",
        "1",
        "continue",
        "/brainstorm",
        "!git status",
        "[image]",
        "yes please",
        "go ahead",
    ]
    assert [text for text in [*told, *not_told] if tells(text)] == told


@pytest.mark.parametrize(
    ("command", "normal"),
    [
        ("cd /x/y && go test ./... 2>&1 | tail -20", "go test ./..."),
        ("cd '/a b'; pytest -q | grep FAIL | head -5", "pytest -q"),
        ("  make\n  lint ", "make lint"),
        ("cat <<'EOF' > x\nlong\nEOF", "cat <<'EOF"),
        ("git add -A && git commit -m 'one thing' && git push", "git add -A && git commit …"),
        ("git log --oneline | wc -l", "git log --oneline | wc -l"),
        ("a || b", "a || b"),
        ("cd /x", "cd /x"),
    ],
)
def test_commands_are_counted_by_what_they_do(command: str, normal: str) -> None:
    assert normal_command(command) == normal


def test_what_a_command_does_step_by_step() -> None:
    assert steps("git add a && git commit … && make") == {"git commit …", "make"}
    assert steps("git add a") == {"git add a"}
    assert piped("a | b")
    assert piped("a; b")
    assert not piped("a && b")


def test_which_commands_run_tests() -> None:
    assert runs_tests("pytest -q")
    assert runs_tests("mise run test:integration -- -run X 2>&1 | tail")
    assert runs_tests("go vet ./... && go test ./...")
    assert not runs_tests("go vet ./...")
    assert not runs_tests("cat tests/test_a.py")
    assert runner_of("go test ./...") == ("go test", True)
    assert runner_of("go test -run TestA ./x") == ("go test", False)
    assert runner_of("mise run test") == ("", True)


@pytest.mark.parametrize(
    ("output", "told"),
    [
        ("=== 3 failed, 10 passed in 0.52s ===", Tally("failed", 10, 3)),
        ("12 passed, 1 skipped in 3.1s", Tally("passed", 12, 0)),
        ("1 error in 0.2s", Tally("failed", 0, 1)),
        ("ok  \tx/y\t0.3s\nok  \tx/z\t(cached)", Tally("passed")),
        ("--- PASS: TestA (0.0s)\n--- FAIL: TestB (0.0s)\nFAIL\nFAIL\tx\t0.1s", Tally("failed", 1, 1)),
        ("FAIL\tx/y [build failed]\nFAIL", Tally("failed")),
        ("ok  \tx\t0.1s\nFAIL\ty\t0.1s", Tally("failed")),
        (
            "test result: ok. 5 passed; 0 failed; 0 ignored\ntest result: FAILED. 1 passed; 2 failed",
            Tally("failed", 6, 2),
        ),
        ("Tests:       1 failed, 2 passed, 3 total", Tally("failed", 2, 1)),
        ("\x1b[1m      Tests \x1b[22m 4 passed (4)", Tally("passed", 4, 0)),
        ("  7 passing (1s)\n  2 failing", Tally("failed", 7, 2)),
        ("  7 passing (1s)", Tally("passed", 7, 0)),
        ("Ran 5 tests in 0.1s\n\nFAILED (failures=2, errors=1)", Tally("failed", 2, 3)),
        ("Ran 5 tests in 0.1s\n\nOK", Tally("passed", 5, 0)),
        ("5 examples, 1 failure", Tally("failed", 4, 1)),
        ("14 doctests, 297 tests, 0 failures", Tally("passed", 297, 0)),
        ("OK (5 tests, 9 assertions)", Tally("passed", 5, 0)),
        ("Tests: 5, Assertions: 9, Failures: 1.", Tally("failed", 4, 1)),
        (
            "Tests run: 2, Failures: 0, Errors: 0\nTests run: 5, Failures: 1, Errors: 1, Skipped: 1",
            Tally("failed", 2, 2),
        ),
        ("Passed!  - Failed:     0, Passed:     9, Skipped: 0", Tally("passed", 9, 0)),
        ("100% tests passed, 0 tests failed out of 8", Tally("passed", 8, 0)),
        ("# pass 5\n# fail 1", Tally("failed", 5, 1)),
        (" 5 pass\n 0 fail", Tally("passed", 5, 0)),
        ("Executed 5 tests, with 1 failure (0 unexpected)", Tally("failed", 4, 1)),
        ("nothing to see", Tally("unknown")),
    ],
)
def test_what_runners_print(output: str, told: Tally) -> None:
    assert tally(output, "x | tail", True) == told


def test_without_counts_the_exit_code_tells() -> None:
    assert tally("", "make test", True).result == "passed"
    assert tally("", "make test", False).result == "failed"
    assert tally("", "make test", None).result == "unknown"
    assert tally("", "make test | tail", True).result == "unknown"
    assert tally("no tests ran in 0.1s", "pytest", True).result == "unknown"
    assert tally("3 passed in 1s\nE501 too long", "pytest && ruff check", False).result == "passed"
    assert tally("3 passed in 1s", "pytest", False).result == "failed"


@given(st.text(max_size=300))
def test_any_text_is_taken(text: str) -> None:
    assert len(normal_command(text)) <= COMMAND_CHARS
    assert tally(text, text, None).result in ("passed", "failed", "unknown")
    assert is_correction(text) in (True, False)
    assert tells(text) in (True, False)


@pytest.mark.timed
@pytest.mark.parametrize(
    "unit", ["\n", " ", "a", "git commit ", "1 passed, ", "| tail ", "cd x && ", "Tests: ", "no ", "[image]"]
)
def test_hostile_text_takes_no_time(unit: str) -> None:
    text = unit * (1_000_000 // len(unit))
    started = time.perf_counter()
    tally(text, text, None)
    normal_command(text)
    is_correction(text[:1_200])
    tells(text)
    host_command(text[:4_000])
    assert time.perf_counter() - started < 1.0
