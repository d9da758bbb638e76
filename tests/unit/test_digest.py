"""What a session was, from its events alone: counted right, bounded, and the same every time."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.capture.toolcall import describe
from recollect.distill.digest import (
    DIGEST_VERSION,
    GOAL_CHARS,
    MAX_CORRECTIONS,
    QUOTE_CHARS,
    TOP_COMMANDS,
    TOP_FILES,
    TOP_TOOLS,
    Digest,
    digest_of,
)
from recollect.distill.fingerprint import fingerprint
from recollect.model import EVENT_KINDS, Cost, Event, Session

START = datetime(2026, 11, 15, 9, tzinfo=UTC)
SESSION = Session("claude:s", "claude", cwd="/home/ann/app")


class Story:
    """A session being told, event by event, ten seconds apart."""

    def __init__(self, session: Session = SESSION) -> None:
        self.session = session
        self.events: list[Event] = []
        self.costs: list[Cost] = []
        self.at = START

    def add(self, kind: str, text: str = "", role: str = "system", origin: str = "tool", **meta: Any) -> Story:
        number = len(self.events)
        key = f"{number:032x}"
        self.events.append(Event(key, self.session.id, kind, role, origin, text, self.at, self.at, number, meta))
        self.at += timedelta(seconds=10)
        return self

    def ask(self, text: str, origin: str = "user") -> Story:
        return self.add("user_prompt", text, "user", origin)

    def say(self, text: str = "Done.") -> Story:
        return self.add("assistant_text", text, "assistant", "assistant")

    def call(self, tool: str, given: Mapping[str, Any]) -> Story:
        kind, text, meta = describe(tool, dict(given), f"c{len(self.events)}")
        return self.add(kind, text, "assistant", "assistant", **meta)

    def result(self, text: str = "", back: int = 1, **meta: Any) -> Story:
        return self.add("tool_result", text, "tool", "tool", call=self.events[-back].meta["call"], **meta)

    def run(self, command: str, output: str = "", code: int = 0) -> Story:
        return self.call("Bash", {"command": command}).result(output, exit=code, error=code != 0)

    def edit(self, path: str = "/home/ann/app/a.py") -> Story:
        return self.call("Edit", {"file_path": path, "old_string": "a"}).result("ok", error=False)

    def stop(self, text: str = "[Request interrupted by user]", **meta: Any) -> Story:
        return self.add("human_intervention", text, "system", "user", **meta)

    @property
    def digest(self) -> Digest:
        return digest_of(self.session, iter(self.events), self.costs)


def test_a_session_in_a_digest() -> None:
    story = Story().ask("hello").say("Hi.").ask("Fix the login bug in auth.py").say("Looking.")
    story.call("Read", {"file_path": "/home/ann/app/auth.py"}).result("code", error=False)
    story.run("pytest -q", "FAILED tests/t.py::test_a - KeyError: 'x'\n1 failed, 2 passed in 0.1s", 1)
    story.edit("/home/ann/app/auth.py").edit("/etc/hosts")
    story.run("cd /home/ann/app && pytest -q | tail -3", "3 passed in 0.1s")
    story.run("git commit -am 'fix login'", "[main 1a2b3c4] fix login\n 1 file changed")
    story.say("All is well.").ask("thanks!")
    told = story.digest
    assert told.goal == "Fix the login bug in auth.py"
    assert (told.prompts, told.turns, told.edits) == (3, 2, 2)
    assert told.files_read == {"auth.py": 1}
    assert told.files_edited == {"/etc/hosts": 1, "auth.py": 1}
    assert told.tools == {"Bash": 3, "Edit": 2, "Read": 1}
    assert told.actions == {"shell": 3, "edit": 2, "read": 1}
    assert [(use.command, use.count, use.failed) for use in told.commands] == [
        ("pytest -q", 2, 1),
        ("git commit …", 1, 0),
    ]
    assert (told.tests.runs, told.tests.passed, told.tests.failed) == (2, 1, 1)
    assert (told.tests.last, told.tests.last_passed, told.tests.last_failed) == ("passed", 3, 0)
    assert [(error.line, error.count, error.tool, error.resolved) for error in told.errors] == [
        ("FAILED tests/t.py::test_a - KeyError: 'x'", 1, "Bash", True)
    ]
    assert told.retries == 1
    assert (told.commits, told.committed) == (1, ("1a2b3c4 fix login",))
    assert (told.outcome, told.outcome_reasons) == ("success", ("approved",))
    assert (told.last_prompt, told.last_words) == ("thanks!", "All is well.")
    assert (told.session, told.flavor, told.version) == ("claude:s", "claude", DIGEST_VERSION)


def test_the_same_events_give_the_same_bytes() -> None:
    story = Story().ask("do it").edit().run("pytest", "3 passed in 1s").say()
    story.costs.append(Cost("k", "claude:s", START, "m", 1, 2, 3, 4, 5, 0, 0.1, "reported"))
    one, other = (json.dumps(story.digest.as_dict()) for _ in range(2))
    assert one == other
    assert Digest.from_dict(json.loads(one)) == story.digest
    assert json.dumps(Digest.from_dict(json.loads(one)).as_dict()) == one


def test_a_grown_session_is_digested_as_a_whole() -> None:
    story = Story().ask("fix it").run("make", "error: no", 2)
    assert story.digest.errors[0].resolved is False
    assert story.run("make").digest.errors[0].resolved is True


def test_an_empty_session() -> None:
    told = Story().digest
    assert (told.goal, told.outcome, told.prompts, told.wall_seconds, told.started) == (None, "unknown", 0, 0.0, None)
    assert told.cost.usd is None


# -- what was wanted


@pytest.mark.parametrize(
    ("prompts", "goal"),
    [
        (["/model", "fix the build"], "fix the build"),
        (["hi", "yes", "fix the build", "and the docs"], "fix the build"),
        (["/brainstorm", "add hooks to both agents"], "add hooks to both agents"),
        (["/review", "1", "can you explain the third one"], "/review"),
        (["/goal simplify this repo"], "/goal simplify this repo"),
        (["ok"], "ok"),
        (["/exit"], "/exit"),
        (["fix\n\n  the \x1b[31mbuild\x1b[0m"], "fix the build"),
    ],
)
def test_the_goal_is_the_first_prompt_that_tells_one(prompts: list[str], goal: str) -> None:
    story = Story()
    for prompt in prompts:
        story.ask(prompt).say()
    assert story.digest.goal == goal


def test_texts_are_short() -> None:
    told = Story().ask("word " * 500).say("word " * 5_000).ask("no, that is wrong " + "x" * 300).digest
    assert told.goal is not None
    assert len(told.goal) <= GOAL_CHARS
    assert len(told.last_words or "") <= GOAL_CHARS
    assert len(told.corrected[0].quote) <= QUOTE_CHARS


def test_only_people_prompt() -> None:
    story = Story().ask("Explore the code", "assistant").say("Found it.").add("injected_context", "no, that is wrong")
    assert (story.digest.prompts, story.digest.goal, story.digest.corrections) == (0, "Explore the code", 0)
    assert story.digest.turns == 1


# -- corrections and stops


def test_a_correction_is_quoted_with_its_place() -> None:
    story = Story().ask("no, wrong").edit().say().ask("that's not what I asked for").say()
    told = story.digest
    assert told.corrections == 1  # nothing had been done before the first
    assert (told.corrected[0].position, told.corrected[0].event) == (4, story.events[4].key)
    assert told.corrected[0].quote == "that's not what I asked for"


def test_a_no_to_a_question_is_an_answer() -> None:
    assert Story().ask("go").say("Shall I push it?").ask("no, later").digest.corrections == 0
    assert Story().ask("go").say("I pushed it.").ask("no, later").digest.corrections == 1


def test_denials_and_interruptions_are_told_apart() -> None:
    story = (
        Story().ask("go").call("Bash", {"command": "git push"}).result("The user doesn't want to proceed", error=True)
    )
    story.stop("The user doesn't want to proceed", call="c1").stop("[Request interrupted by user for tool use]")
    assert (story.digest.denials, story.digest.interruptions, story.digest.corrections) == (1, 0, 0)
    assert story.digest.errors == ()
    assert [(use.command, use.failed) for use in story.digest.commands] == [("git push", 0)]
    story.ask("go on").say().stop()
    assert (story.digest.denials, story.digest.interruptions, story.digest.outcome) == (1, 1, "abandoned")
    story.ask("on").say().stop("no, I did not say commit", call="c1")
    assert (story.digest.corrections, story.digest.corrected[0].quote) == (1, "no, I did not say commit")


# -- what went wrong, and whether it was put right


def test_an_error_is_resolved_when_the_command_succeeds() -> None:
    story = Story().ask("go").run("make lint", "error: bad", 1).run("make build", "fatal: no", 1)
    assert [error.resolved for error in story.digest.errors] == [False, False]
    story.run("cd /x && make build && make lint 2>&1")
    assert [error.resolved for error in story.digest.errors] == [True, True]


def test_a_pipe_that_hides_an_error_resolves_nothing() -> None:
    story = Story().ask("go").run("make", "error: bad", 1).run("make 2>&1 | head", "error: bad")
    assert not story.digest.errors[0].resolved
    assert story.run("make | head", "built").digest.errors[0].resolved


def test_a_failed_test_is_found_behind_a_pipe_and_resolved_by_a_whole_run() -> None:
    story = Story().ask("go").edit().run("go test -run TestA ./x | tail", "--- FAIL: TestA (0.0s)\nFAIL\nFAIL\tx\t0.1s")
    assert [(error.line, error.resolved) for error in story.digest.errors] == [("--- FAIL: TestA", False)]
    assert story.digest.tests.last == "failed"
    story.run("go test -run TestB ./x", "ok  \tx\t0.1s")
    assert not story.digest.errors[0].resolved
    story.run("go test ./...", "ok  \tx\t0.1s")
    assert story.digest.errors[0].resolved


def test_the_same_error_is_counted_once_with_how_often() -> None:
    story = Story().ask("go")
    for number in range(3):
        story.run(f"cat /tmp/{number}/x", f"cat: /tmp/{number}/x: No such file or directory", 1)
    (error,) = story.digest.errors
    found = fingerprint("cat: /y: No such file or directory")
    assert (error.count, error.key) == (3, found.key if found else None)


def test_a_silent_failure_is_no_error_but_counted() -> None:
    told = Story().ask("go").run("grep x y", "", 1).digest
    assert told.errors == ()
    assert told.commands[0].failed == 1


def test_retries_of_commands_and_of_the_api() -> None:
    story = Story().ask("go").run("make", "error: x", 2).run("make", "error: x", 2).run("make").run("make")
    story.add("retry", "Overloaded").add("retry", "Overloaded")
    assert (story.digest.retries, story.digest.api_retries) == (2, 2)


def test_an_error_of_the_api_is_resolved_by_an_answer() -> None:
    story = Story().ask("go").add("error", "API Error: 529 overloaded", "assistant")
    assert (story.digest.outcome, story.digest.errors[0].resolved) == ("fail", False)
    assert story.say().digest.errors[0].resolved


def test_a_failed_edit_is_none() -> None:
    story = Story().ask("go").edit().run("pytest", "1 passed in 1s")
    story.call("Edit", {"file_path": "/home/ann/app/a.py"}).result(
        "<tool_use_error>no match</tool_use_error>", error=True
    ).say()
    told = story.digest
    assert (told.edits, told.files_edited, told.outcome) == (1, {"a.py": 1}, "success")


def test_a_result_belongs_to_the_call_with_its_id() -> None:
    story = Story().ask("go").call("Bash", {"command": "pytest"}).call("Bash", {"command": "ls"})
    story.result("a b", exit=0, error=False).result("2 failed, 1 passed in 1s", back=3, exit=1, error=True)
    assert (story.digest.tests.failed, story.digest.tests.last_failed) == (1, 2)
    assert [(use.command, use.failed) for use in story.digest.commands] == [("pytest", 1), ("ls", 0)]


def test_a_result_without_a_call_says_nothing() -> None:
    told = Story().ask("go").add("tool_result", "1 failed in 1s", "tool", call="x", exit=1, error=True).digest
    assert (told.tests.runs, told.errors, told.commands) == (0, (), ())


def test_a_command_that_still_ran_is_followed() -> None:
    story = Story().ask("go").call("exec_command", {"cmd": "go test ./..."}).result("")
    for _ in range(2):
        story.call("write_stdin", {"session_id": 7, "chars": ""}).result("")
    story.call("write_stdin", {"session_id": 7, "chars": ""}).result("--- FAIL: TestA\nFAIL", exit=1, error=True)
    told = story.digest
    assert (told.tests.runs, told.tests.failed) == (1, 1)
    assert [(use.command, use.count, use.failed) for use in told.commands] == [("go test ./...", 1, 1)]
    story.call("write_stdin", {"session_id": 9, "chars": ""}).result("FAIL", exit=1, error=True)  # of who knows what
    assert story.digest.commands == told.commands


# -- what was made


@pytest.mark.parametrize(
    ("command", "output", "code", "commits"),
    [
        ("git commit -qm x", "", 0, 1),
        ("git add . && git commit -m x | tail", "nothing to commit, working tree clean", 0, 0),
        ("git commit -m x", "hook failed", 1, 0),
        ("git commit --dry-run -m x", "", 0, 0),
        ("echo git commit", "", 0, 0),
        ("git init /tmp/x && git commit -m x", "[main 1a2b3c4] x", 0, 0),
        ("git commit -m a; git commit -m b", "[main 1a2b3c4] a\n[main 2a2b3c4] b", 0, 2),
    ],
)
def test_commits(command: str, output: str, code: int, commits: int) -> None:
    assert Story().ask("go").run(command, output, code).digest.commits == commits


def test_pull_requests_are_counted_once() -> None:
    story = Story().ask("go").run("gh pr create --title x", "https://github.com/a/b/pull/7")
    story.add("state", "https://github.com/a/b/pull/7", what="pull_request")
    assert story.say().digest.pull_requests == ("https://github.com/a/b/pull/7",)
    assert story.digest.outcome == "success"
    story.edit().add("state", "https://github.com/a/b/pull/8", what="pull_request")
    assert len(story.say().digest.pull_requests) == 2
    assert story.digest.outcome == "unknown"  # noticed, not made


def test_other_things_are_counted() -> None:
    story = Story().ask("go").call("Task", {"prompt": "look"}).result("seen", error=False)
    story.call("wait_agent", {"task_id": "x"}).result("", error=False)
    story.add("compaction").add("state", what="rewind").ask("/rewind")
    told = story.digest
    assert (told.subagents, told.compactions, told.rewinds, told.prompts) == (1, 1, 2, 1)


# -- time and money


def test_pauses_are_no_work() -> None:
    story = Story().ask("go").say()
    story.at += timedelta(hours=3)
    told = story.ask("on").say().digest
    assert (told.active_seconds, told.wall_seconds) == (20.0, 3 * 3600 + 30.0)
    assert (told.started, told.ended) == ("2026-11-15T09:00:00.000000Z", "2026-11-15T12:00:30.000000Z")


def test_the_time_of_a_file_is_not_when_things_happened() -> None:
    story = Story().ask("go").say()
    story.at += timedelta(days=9)
    assert story.add("state", time="file").digest.wall_seconds == 10.0


def test_costs_by_model_and_in_all() -> None:
    story = Story()
    story.costs = [
        Cost("a", "s", START, "big", 10, 100, 5, 0, 7, 3, 0.5, "reported"),
        Cost("a", "s", START, "big", 10, 100, 5, 0, 9, 3, 0.6, "reported"),
        Cost("b", "s", START, "small", 1, 0, 0, 2, 1, 0),
    ]
    told = story.digest
    assert (told.cost.requests, told.cost.tokens, told.cost.usd, told.cost.unpriced) == (2, 128, 0.6, 1)
    assert [(spent.model, spent.output, spent.usd, spent.usd_source) for spent in told.models] == [
        ("big", 9, 0.6, "reported"),
        ("small", 1, None, "none"),
    ]


# -- how it ended


def test_outcomes_of_whole_sessions() -> None:
    passed, failed = "3 passed in 1s", "1 failed in 1s"
    worked = Story().ask("fix").edit().run("pytest", passed).say()
    assert worked.digest.outcome == "success"
    assert worked.ask("no, that is wrong").digest.outcome == "fail"
    assert worked.edit().say().digest.outcome == "unknown"
    assert worked.run("pytest", failed, 1).say().digest.outcome == "fail"
    assert worked.call("Bash", {"command": "sleep 9"}).digest.outcome == "abandoned"
    assert Story().ask("what is this?").say("A test.").digest.outcome == "unknown"
    assert Story().ask("what is this?").digest.outcome == "abandoned"
    assert Story().ask("fix").edit().say().ask("/exit").digest.outcome == "unknown"
    stuck = Story().ask("go").run("make", "error: x", 2).run("make", "error: x", 2).say("I cannot.")
    assert stuck.digest.outcome == "fail"


# -- bounds


def test_lists_are_bounded_and_ordered() -> None:
    story = Story().ask("go")
    for number in reversed(range(80)):
        story.call(f"tool{number:02}", {"x": 1}).run(
            f"echo {number:02}", f"fatal: thing{chr(97 + number % 26)}{number}x", 1
        )
        story.call("Read", {"file_path": f"/home/ann/app/{number:02}.py"}).say().ask("no, wrong again")
    told = story.digest
    assert (len(told.tools), len(told.files_read), len(told.commands)) == (TOP_TOOLS, TOP_FILES, TOP_COMMANDS)
    assert (told.corrections, len(told.corrected)) == (80, MAX_CORRECTIONS)
    assert list(told.files_read) == sorted(told.files_read)
    assert list(told.tools)[:3] == ["Bash", "Read", "tool00"]


metas = st.dictionaries(
    st.sampled_from(["call", "tool", "action", "files", "exit", "error", "input", "interrupted", "what", "time"]),
    st.one_of(
        *(st.none(), st.booleans(), st.integers(-1, 3), st.text(max_size=5), st.lists(st.text(max_size=5), max_size=3)),
        *(
            st.sampled_from(["a", "b", "shell", "edit", "Bash"]),
            st.dictionaries(st.just("session_id"), st.integers(0, 2)),
        ),
    ),
    max_size=6,
)
steps = st.tuples(
    st.sampled_from(EVENT_KINDS), st.sampled_from(["user", "assistant", "tool", "system"]), st.text(max_size=60), metas
)


@given(st.lists(steps, max_size=25))
def test_any_events_have_a_digest(told: list[tuple[str, str, str, dict[str, Any]]]) -> None:
    story = Story()
    for kind, role, text, meta in told:
        story.add(kind, text, role, "user", **meta)
    one = story.digest
    assert json.dumps(one.as_dict()) == json.dumps(story.digest.as_dict())
    assert Digest.from_dict(json.loads(json.dumps(one.as_dict()))) == one
    assert one.edits >= 0
    assert one.turns <= max(len(told), 0)
