"""A language model behind a program on this machine, such as `claude -p` or `codex exec -`: prompt in, text out.

The program is started from the words of the setting, without a shell, in an empty private directory, with the prompt on
its standard input. It runs in a process group of its own, which is killed when the time is up and when it has ended.
It is told that it works for us (`RECOLLECT_INNER`), so our hooks in it stay silent, and its prompt begins with a mark,
so what it writes down about itself is never captured. Understood besides plain text: the JSON in which Claude Code
(`--output-format json`) and Codex (`--json`) tell what an answer took.
"""

from __future__ import annotations

import json
import os
import selectors
import shlex
import shutil
import signal
import subprocess
import tempfile
import time
from contextlib import suppress
from pathlib import Path, PurePath
from typing import IO, Any

from recollect.errors import InvalidInput, ModelRefused, ModelUnavailable
from recollect.hook import INNER
from recollect.models.language import MAX_CALL_BYTES, MAX_REPLY_BYTES, TASK_MARK, Ask, Reply, counted, told_usd
from recollect.models.wire import RetryableError
from recollect.settings import PREFIX, environment

TIMEOUT = 180.0
_STEP = 0.05  # seconds between looks at whether the program has ended
# What tells a program that it was started by an agent; ours is a run of its own.
_OF_A_RUN = (
    "CLAUDECODE",
    "CLAUDE_CODE_ENTRYPOINT",
    "CLAUDE_CODE_SESSION_ID",
    "CLAUDE_CODE_SSE_PORT",
    "CLAUDE_PROJECT_DIR",
)


class CommandModel:
    """A program that answers prompts; safe to share between threads (each call has its own process)."""

    overhead = 20_000  # an agent's own instructions and tools stand before every prompt

    def __init__(self, command: str, model: str = "", *, timeout: float = TIMEOUT) -> None:
        try:
            self._words = shlex.split(command)
        except ValueError:
            raise InvalidInput("the setting llm_command has a quote that does not end") from None
        if not self._words:
            raise InvalidInput("the setting llm_command is empty", hint="For example: claude -p --output-format json")
        self.name = f"command:{model or PurePath(self._words[0]).name}"
        self._timeout = timeout

    def __repr__(self) -> str:
        return f"CommandModel({self.name!r})"

    def complete(self, ask: Ask) -> Reply:
        """Start the program once and read what it says; a program that takes too long is a `RetryableError`."""
        prompt = prompt_of(ask)
        program = shutil.which(self._words[0])
        if program is None:
            raise ModelRefused(f"The language model's program {self._words[0][:60]!r} is not there.")
        with tempfile.TemporaryDirectory(prefix="recollect-", ignore_cleanup_errors=True) as folder:
            said = self._run(str(Path(program).absolute()), prompt.encode("utf-8", "replace"), folder)
        return read_reply(said.decode("utf-8", "replace"), prompt)

    def _run(self, program: str, prompt: bytes, folder: str) -> bytes:
        try:
            process = subprocess.Popen(
                [program, *self._words[1:]],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                cwd=folder,
                env=inner_environment(),
                start_new_session=True,
            )
        except OSError as error:
            raise ModelRefused(f"The language model's program cannot be started ({type(error).__name__}).") from None
        try:
            said = exchange(process, prompt, time.monotonic() + self._timeout)
        finally:
            end(process)
        if process.returncode:
            raise unavailable(f"it ended with {process.returncode}")
        return said


def prompt_of(ask: Ask) -> str:
    """All of it in one text: a program has no separate place for instructions or for a schema."""
    schema = json.dumps(ask.schema, ensure_ascii=False, separators=(",", ":"))
    last = f"Use no tools. Answer with JSON alone, of this schema:\n{schema}"
    text = f"{TASK_MARK}>\n{ask.system}\n\n{ask.prompt}\n\n{last}\n"
    if len(text.encode("utf-8", "replace")) > MAX_CALL_BYTES:
        raise ModelRefused(f"a call may have {MAX_CALL_BYTES:,} bytes")
    return text


def inner_environment() -> dict[str, str]:
    """The variables of this process without ours, and with the one that keeps our hooks silent."""
    kept = {
        name: value for name, value in environment().items() if not name.startswith(PREFIX) and name not in _OF_A_RUN
    }
    return {**kept, INNER: "1"}


def exchange(process: subprocess.Popen[bytes], prompt: bytes, deadline: float) -> bytes:
    """Write the prompt and read the answer side by side until the program has ended and said all."""
    assert process.stdin is not None
    assert process.stdout is not None
    os.set_blocking(process.stdin.fileno(), False)
    os.set_blocking(process.stdout.fileno(), False)
    said = bytearray()
    with selectors.DefaultSelector() as ready:
        ready.register(process.stdin, selectors.EVENT_WRITE)
        ready.register(process.stdout, selectors.EVENT_READ)
        while ready.get_map():
            if time.monotonic() > deadline:
                raise RetryableError("its program did not answer in time")
            ended = has_ended(process)
            found = ready.select(0 if ended else _STEP)
            for key, _ in found:
                if key.fileobj is process.stdin:
                    prompt = write_some(process.stdin, prompt)
                    done = not prompt
                else:
                    done = not read_some(process.stdout, said)
                if done:
                    ready.unregister(key.fileobj)
                    key.fileobj.close()  # type: ignore[union-attr]
            if ended and not any(key.fileobj is process.stdout for key, _ in found):
                return bytes(said)  # something it left behind still holds its output; nothing more is waited for
    while not has_ended(process):
        if time.monotonic() > deadline:
            raise RetryableError("its program did not end in time")
        time.sleep(_STEP)
    return bytes(said)


def write_some(pipe: IO[bytes], prompt: bytes) -> bytes:
    """Write what goes in without waiting; returns what is left, which is nothing when nobody reads any more."""
    try:
        return prompt[os.write(pipe.fileno(), prompt[:65_536]) :]
    except BlockingIOError:
        return prompt
    except OSError:
        return b""


def read_some(pipe: IO[bytes], said: bytearray) -> bool:
    """Read what is there; False at the end of it."""
    try:
        part = os.read(pipe.fileno(), 65_536)
    except BlockingIOError:
        return True
    said += part
    if len(said) > MAX_REPLY_BYTES:
        raise unavailable(f"its answer is larger than {MAX_REPLY_BYTES:,} bytes")
    return bool(part)


def has_ended(process: subprocess.Popen[bytes]) -> bool:
    """Whether the program has ended; it is not yet reaped, so that its group cannot be somebody else's."""
    try:
        return os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None
    except ChildProcessError:
        return True


def end(process: subprocess.Popen[bytes]) -> None:
    """Kill all that is left of the program's group, and reap it."""
    for pipe in (process.stdin, process.stdout):
        if pipe is not None:
            pipe.close()
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def read_reply(said: str, prompt: str) -> Reply:
    """The answer in what a program printed: Claude Code's or Codex's JSON, or all of it."""
    found = _claude(said) or _codex(said)
    if found is None:
        return Reply(said.strip(), counted(None, prompt) + CommandModel.overhead, counted(None, said))
    text, usage, usd = found
    read = sum(
        counted(usage[name], "")
        for name in ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
        if name in usage
    )
    return Reply(text, max(read, counted(None, prompt)), counted(usage.get("output_tokens"), text), usd)


Told = tuple[str, dict[str, Any], float | None]


def _claude(said: str) -> Told | None:
    """`{"type": "result", "result": "...", "is_error": false, "usage": {...}, "total_cost_usd": 0.01}`"""
    found = _object(said)
    if found is None or found.get("type") != "result":
        return None
    if found.get("is_error") or not isinstance(found.get("result"), str):
        raise unavailable("it says that it failed")
    return found["result"], _usage(found), told_usd(found.get("total_cost_usd"))


def _codex(said: str) -> Told | None:
    """Lines of which `item.completed` has the message and `turn.completed` the usage."""
    text, usage = None, {}
    for line in said.splitlines():
        found = _object(line)
        item = found.get("item") if found else None
        if found and found.get("type") in ("turn.failed", "error"):
            raise unavailable("it says that it failed")
        if isinstance(item, dict) and item.get("type") == "agent_message" and isinstance(item.get("text"), str):
            text = item["text"]
        elif found and found.get("type") == "turn.completed":
            usage = _usage(found)
    return None if text is None else (text, usage, None)


def _usage(found: dict[str, Any]) -> dict[str, Any]:
    usage = found.get("usage")
    return usage if isinstance(usage, dict) else {}


def _object(text: str) -> dict[str, Any] | None:
    if not text.lstrip().startswith("{"):
        return None
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def unavailable(reason: str) -> ModelUnavailable:
    return ModelUnavailable(f"The language model's program cannot be used: {reason}.")
