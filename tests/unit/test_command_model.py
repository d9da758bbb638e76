"""A program as language model: started without a shell, silenced, bounded, and gone with all it started."""

from __future__ import annotations

import json
import os
import stat
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from recollect.errors import InvalidInput, ModelRefused, ModelUnavailable
from recollect.models.command import CommandModel
from recollect.models.language import MAX_CALL_BYTES, TASK_MARK, Ask, Reply
from recollect.models.wire import RetryableError

ASK = Ask("Say what it is.", "private text", {"type": "object"}, max_tokens=50)
Program = Callable[[str], str]


@pytest.fixture
def program(tmp_path: Path) -> Program:
    """Makes a program out of Python lines; returns the command that starts it."""

    def make(lines: str) -> str:
        file = tmp_path / "bin" / "some agent"
        file.parent.mkdir(exist_ok=True)
        file.write_text(f"#!{sys.executable}\nimport json, os, sys, time, subprocess\n{lines}\n")
        file.chmod(0o755)
        return f"'{file}'"

    return make


def test_the_prompt_comes_on_standard_input_and_begins_with_our_mark(program: Program) -> None:
    reply = CommandModel(program("sys.stdout.write(sys.stdin.read())")).complete(ASK)
    assert reply.text.startswith(TASK_MARK)
    assert "Say what it is." in reply.text
    assert "private text" in reply.text
    assert '{"type":"object"}' in reply.text


def test_words_of_the_setting_are_words_and_nothing_is_a_shell(program: Program, tmp_path: Path) -> None:
    command = program("print(json.dumps(sys.argv[1:]))") + f" -p 'two words' '$(touch {tmp_path}/no)' ';' '*'"
    words = ["-p", "two words", f"$(touch {tmp_path}/no)", ";", "*"]
    assert json.loads(CommandModel(command).complete(ASK).text) == words
    assert not (tmp_path / "no").exists()


def test_it_runs_in_an_empty_private_directory_that_is_gone_afterwards(program: Program) -> None:
    lines = "open('left', 'w'); print(json.dumps([os.getcwd(), os.listdir(), os.stat('.').st_mode]))"
    where, inside, mode = json.loads(CommandModel(program(lines)).complete(ASK).text)
    assert inside == ["left"]
    assert stat.S_IMODE(mode) == 0o700
    assert not Path(where).exists()


def test_its_environment_silences_our_hooks_and_has_none_of_our_settings(
    program: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RECOLLECT_LLM_API_KEY", "sk-secret")
    monkeypatch.setenv("CLAUDECODE", "1")
    monkeypatch.setenv("ANTHROPIC_API_KEY", "its own")
    env = json.loads(CommandModel(program("print(json.dumps(dict(os.environ)))")).complete(ASK).text)
    assert env["RECOLLECT_INNER"] == "1"
    assert env["ANTHROPIC_API_KEY"] == "its own"
    assert not {"RECOLLECT_LLM_API_KEY", "CLAUDECODE"} & env.keys()


def test_a_program_that_takes_too_long_is_killed_with_its_children(program: Program, tmp_path: Path) -> None:
    file = tmp_path / "pids"
    lines = f"""
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
open({str(file)!r}, "w").write(f"{{os.getpid()}} {{child.pid}}")
time.sleep(60)"""
    with pytest.raises(RetryableError, match="in time"):
        CommandModel(program(lines), timeout=1.0).complete(ASK)
    assert_gone(file)


@pytest.mark.timed
def test_a_child_that_keeps_the_output_open_is_not_waited_for(program: Program, tmp_path: Path) -> None:
    file = tmp_path / "pids"
    lines = f"""
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
open({str(file)!r}, "w").write(f"{{os.getpid()}} {{child.pid}}")
print("done")"""
    began = time.monotonic()
    assert CommandModel(program(lines), timeout=30.0).complete(ASK).text == "done"
    assert time.monotonic() - began < 10
    assert_gone(file)


def assert_gone(file: Path) -> None:
    for pid in map(int, file.read_text().split()):
        until = time.monotonic() + 5
        while alive(pid) and time.monotonic() < until:
            time.sleep(0.02)
        assert not alive(pid)


def alive(pid: int) -> bool:
    """Whether a process runs; one that has ended and that nobody has reaped yet does not."""
    try:
        os.kill(pid, 0)
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (ProcessLookupError, FileNotFoundError):
        return False


def test_a_program_that_talks_without_end_is_cut(program: Program) -> None:
    with pytest.raises(ModelUnavailable, match="larger than"):
        CommandModel(program("while True: sys.stdout.write('x' * 65536)"), timeout=30.0).complete(ASK)


def test_a_program_that_does_not_read_is_no_problem(program: Program) -> None:
    assert CommandModel(program("os.close(0); print('ok')")).complete(ASK).text == "ok"


@pytest.mark.parametrize(
    ("lines", "error"),
    [("print('half'); sys.exit(3)", "ended with 3"), ("os.kill(os.getpid(), 9)", "ended with -9")],
)
def test_a_program_that_fails_is_not_quoted(program: Program, lines: str, error: str) -> None:
    with pytest.raises(ModelUnavailable, match=error) as caught:
        CommandModel(program("sys.stderr.write('private text');" + lines)).complete(ASK)
    assert "half" not in str(caught.value)
    assert "private text" not in str(caught.value)


@pytest.mark.parametrize("command", ["/nowhere/claude -p", "no-such-program-at-all"])
def test_a_program_that_is_not_there_cost_nothing(command: str) -> None:
    with pytest.raises(ModelRefused):
        CommandModel(command).complete(ASK)


@pytest.mark.parametrize("command", ["", "  ", "claude 'x"])
def test_a_command_that_is_none_is_refused(command: str) -> None:
    with pytest.raises(InvalidInput):
        CommandModel(command)


def test_a_call_has_a_size(program: Program) -> None:
    with pytest.raises(ModelRefused, match=r"32,768 bytes"):
        CommandModel(program("print()")).complete(Ask("s", "x" * MAX_CALL_BYTES, {}))


def test_claude_codes_json_tells_what_it_took(program: Program) -> None:
    said = {
        "type": "result",
        "is_error": False,
        "result": '{"memories": []}',
        "usage": {"input_tokens": 9_000, "cache_read_input_tokens": 1_000, "output_tokens": 12},
        "total_cost_usd": 0.0042,
    }
    reply = CommandModel(program(f"print({json.dumps(json.dumps(said))})")).complete(ASK)
    assert reply == Reply('{"memories": []}', 10_000, 12, 0.0042)


def test_codexs_lines_tell_what_it_took(program: Program) -> None:
    lines = [
        {"type": "thread.started"},
        {"type": "item.completed", "item": {"type": "reasoning", "text": "hm"}},
        {"type": "item.completed", "item": {"type": "agent_message", "text": '{"memories": []}'}},
        {"type": "turn.completed", "usage": {"input_tokens": 9_000, "output_tokens": 12}},
    ]
    said = "\n".join(map(json.dumps, lines))
    reply = CommandModel(program(f"print({json.dumps(said)})")).complete(ASK)
    assert reply == Reply('{"memories": []}', 9_000, 12)


@pytest.mark.parametrize(
    "said",
    [
        {"type": "result", "is_error": True, "result": "Credit balance is too low"},
        {"type": "result", "subtype": "error_max_turns"},
        {"type": "turn.failed", "error": {"message": "secret"}},
    ],
)
def test_an_agent_that_says_it_failed_has_failed(program: Program, said: dict[str, object]) -> None:
    with pytest.raises(ModelUnavailable, match="says that it failed"):
        CommandModel(program(f"print({json.dumps(json.dumps(said))})")).complete(ASK)


def test_plain_text_is_the_answer_and_the_agents_own_prompt_is_counted(program: Program) -> None:
    reply = CommandModel(program("print('{}')")).complete(ASK)
    assert reply.text == "{}"
    assert reply.input_tokens > CommandModel.overhead
