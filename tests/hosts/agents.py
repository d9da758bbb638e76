"""The real agents: where each comes from, how a user has it set up with our hooks, and how it is started.

Codex, Gemini CLI (both Apache-2.0) and OpenCode (MIT) are installed from npm into `.cache/hosts` of the checkout, in
the versions these tests were written with; `RECOLLECT_TEST_CODEX`, `…_GEMINI` and `…_OPENCODE` name other ones. Claude
Code is proprietary, so it is never fetched: it is used when `RECOLLECT_TEST_CLAUDE` names it, or when it is in
`.cache/hosts` or on the PATH. Who cannot be had is skipped by name.
"""

from __future__ import annotations

import fcntl
import json
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Protocol, TypeVar

import pytest

from recollect import hook
from recollect.install import texts
from recollect.install.command import Program
from recollect.install.hosts import GEMINI_EVENTS
from tests.hosts.scripted_model import Answer, Call, Request

CACHE = Path(__file__).resolve().parents[2] / ".cache" / "hosts"
CODEX, GEMINI, OPENCODE = "0.166.0", "0.61.0", "1.18.33"
NPM_SECONDS = 300
EVENTS = ("SessionStart", "UserPromptSubmit", "Stop", "SubagentStop", "PreCompact", "SessionEnd")
HOOK_SECONDS = 3  # more than enough; Codex gives no more than this to SessionEnd, and says so when asked for it


class Agent(Protocol):
    """One agent."""

    flavor: str
    name: str  # as `recollect install` calls it
    binary: Path
    version: str

    def set_up(self, home: Path, port: int) -> dict[str, str]:
        """Point it at the model on this port; returns what it needs in its environment."""
        ...

    def add_hooks(self, home: Path, data_dir: Path) -> None:
        """Our hooks in the settings of the user."""
        ...

    def words(self, prompt: str, *options: str, resume: str | None = None, fork: bool = False) -> list[str]:
        """The command that does one prompt without a person; `resume` is the session to go on with or to fork."""
        ...

    def typed(self, prompt: str) -> str:
        """What it is given on stdin with that command."""
        ...

    def shell(self, command: str) -> Call:
        """How its model asks for a command to be run."""
        ...

    def write(self, file: Path, line: str) -> Call:
        """How its model makes a new file with one line."""
        ...

    def delegate(self, task: str) -> list[Answer]:
        """How its model gives a subagent a task and waits for it."""
        ...

    def transcripts(self, home: Path) -> list[Path]:
        """What it wrote about its sessions."""
        ...


class Codex:
    flavor, name = "codex", "codex"

    def __init__(self, binary: Path, version: str) -> None:
        self.binary, self.version = binary, version

    def set_up(self, home: Path, port: int) -> dict[str, str]:
        folder = home / ".codex"
        folder.mkdir(exist_ok=True)
        config = f"""
            model = "scripted"
            model_provider = "scripted"
            sandbox_mode = "danger-full-access"
            check_for_update_on_startup = false
            [analytics]
            enabled = false
            [model_providers.scripted]
            name = "scripted"
            base_url = "http://127.0.0.1:{port}/v1"
            env_key = "SCRIPTED_KEY"
            wire_api = "responses"
        """
        (folder / "config.toml").write_text(config)
        return {"SCRIPTED_KEY": "none"}

    def add_hooks(self, home: Path, data_dir: Path) -> None:
        (home / ".codex" / "hooks.json").write_text(json.dumps(hooks(self.flavor, data_dir)))

    def words(self, prompt: str, *options: str, resume: str | None = None, fork: bool = False) -> list[str]:
        # A person reviews new hooks once, with /hooks; here nobody can.
        words = [str(self.binary), "exec", "--dangerously-bypass-hook-trust", *options]
        if resume:
            words += ["fork", resume] if fork else ["resume", resume]
        return [*words, prompt]

    def typed(self, prompt: str) -> str:
        return ""

    def shell(self, command: str) -> Call:
        return Call("exec_command", {"cmd": command})

    def write(self, file: Path, line: str) -> Call:
        patch = f"*** Begin Patch\n*** Add File: {file.name}\n+{line}\n*** End Patch"
        return self.shell(f"cd {shlex.quote(str(file.parent))} && apply_patch <<'EOF'\n{patch}\nEOF\n")

    def delegate(self, task: str) -> list[Answer]:
        space = "multi_agent_v1"

        def wait(request: Request) -> Call:
            started = json.loads(request["input"][-1]["output"])["agent_id"]
            return Call("wait_agent", {"targets": [started]}, space)

        return [Call("spawn_agent", {"message": task}, space), wait]

    def transcripts(self, home: Path) -> list[Path]:
        return sorted((home / ".codex" / "sessions").rglob("*.jsonl"))


class Claude:
    flavor, name = "claude", "claude-code"

    def __init__(self, binary: Path, version: str) -> None:
        self.binary, self.version = binary, version

    def set_up(self, home: Path, port: int) -> dict[str, str]:
        (home / ".claude").mkdir(exist_ok=True)
        return {
            "ANTHROPIC_BASE_URL": f"http://127.0.0.1:{port}",
            "ANTHROPIC_API_KEY": "none",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "DISABLE_AUTOUPDATER": "1",
            "DISABLE_TELEMETRY": "1",
        }

    def add_hooks(self, home: Path, data_dir: Path) -> None:
        (home / ".claude" / "settings.json").write_text(json.dumps(hooks(self.flavor, data_dir)))

    def words(self, prompt: str, *options: str, resume: str | None = None, fork: bool = False) -> list[str]:
        words = [str(self.binary), "-p", "--allowedTools", "Bash,Write,Agent", *options]
        if resume:
            words += ["--resume", resume]
        if fork:
            words += ["--fork-session"]
        return [*words, "--", prompt]

    def typed(self, prompt: str) -> str:
        return ""

    def shell(self, command: str) -> Call:
        return Call("Bash", {"command": command})

    def write(self, file: Path, line: str) -> Call:
        return Call("Write", {"file_path": str(file), "content": f"{line}\n"})

    def delegate(self, task: str) -> list[Answer]:
        return [Call("Agent", {"description": "A task", "prompt": task, "subagent_type": "general-purpose"})]

    def transcripts(self, home: Path) -> list[Path]:
        return sorted((home / ".claude" / "projects").rglob("*.jsonl"))


class Gemini:
    flavor, name = "gemini", "gemini"

    def __init__(self, binary: Path, version: str) -> None:
        self.binary, self.version = binary, version

    def set_up(self, home: Path, port: int) -> dict[str, str]:
        folder = home / ".gemini"
        folder.mkdir(exist_ok=True)
        settings = {
            "general": {"enableAutoUpdate": False, "enableAutoUpdateNotification": False},
            "privacy": {"usageStatisticsEnabled": False},
            "security": {"auth": {"selectedType": "gemini-api-key"}},
        }
        (folder / "settings.json").write_text(json.dumps(settings, indent=2) + "\n")
        return {
            "GEMINI_API_KEY": "none",
            "GOOGLE_GEMINI_BASE_URL": f"http://127.0.0.1:{port}",
            "GEMINI_CLI_TRUST_WORKSPACE": "true",  # a person is asked once for each folder; here nobody can be
        }

    def add_hooks(self, home: Path, data_dir: Path) -> None:
        file = home / ".gemini" / "settings.json"
        command = shlex.join(_hook_words(self.flavor, data_dir))
        entry = {"hooks": [{"type": "command", "command": command, "timeout": HOOK_SECONDS * 1000}]}
        settings = {**json.loads(file.read_text()), "hooks": {event: [entry] for event in GEMINI_EVENTS}}
        file.write_text(json.dumps(settings))

    def words(self, prompt: str, *options: str, resume: str | None = None, fork: bool = False) -> list[str]:
        assert not fork, "it cannot"
        # With a model's name it does not ask another one first which to take.
        words = [str(self.binary), "--model", "gemini-2.5-flash", "--approval-mode", "yolo", *options]
        return [*words, *(["--resume", resume] if resume else []), "--prompt", prompt]

    def typed(self, prompt: str) -> str:
        return ""

    def shell(self, command: str) -> Call:
        return Call("run_shell_command", {"command": command})

    def write(self, file: Path, line: str) -> Call:
        return Call("write_file", {"file_path": str(file), "content": f"{line}\n"})

    def delegate(self, task: str) -> list[Answer]:
        return [Call("invoke_agent", {"agent_name": "generalist", "prompt": task})]

    def transcripts(self, home: Path) -> list[Path]:
        return sorted((home / ".gemini" / "tmp").glob("*/chats/**/*.jsonl"))


class OpenCode:
    flavor, name = "opencode", "opencode"

    def __init__(self, binary: Path, version: str) -> None:
        self.binary, self.version = binary, version

    def set_up(self, home: Path, port: int) -> dict[str, str]:
        folder = home / ".config" / "opencode"
        folder.mkdir(parents=True, exist_ok=True)
        provider = {
            "npm": "@ai-sdk/openai-compatible",  # the one that is built in
            "options": {"baseURL": f"http://127.0.0.1:{port}/v1", "apiKey": "none"},
            "models": {"scripted": {}},
        }
        config = {
            "$schema": "https://opencode.ai/config.json",  # else it puts that there itself
            "model": "scripted/scripted",
            "provider": {"scripted": provider},
            "share": "disabled",
        }
        (folder / "opencode.json").write_text(json.dumps(config, indent=2) + "\n")
        # As after its first start, when it fetches the types for plugins; it would wait for that here, for a minute.
        (folder / "node_modules").mkdir()
        fetched = {"packages": {"": {"dependencies": {"@opencode-ai/plugin": self.version}}}}
        (folder / "package-lock.json").write_text(json.dumps(fetched))
        return {"OPENCODE_DISABLE_AUTOUPDATE": "1", "OPENCODE_DISABLE_MODELS_FETCH": "1"}

    def add_hooks(self, home: Path, data_dir: Path) -> None:
        folder = home / ".config" / "opencode" / "plugins"
        folder.mkdir()
        program = Program(Path(sys.executable), Path(hook.__file__), data_dir)
        (folder / "recollect.js").write_text(texts.opencode_plugin(program))

    def words(self, prompt: str, *options: str, resume: str | None = None, fork: bool = False) -> list[str]:
        words = [str(self.binary), "run", *options]
        # A session with a title asks no model for one.
        words += ["--session", resume] if resume else ["--title", "A test"]
        return [*words, *(["--fork"] if fork else [])]

    def typed(self, prompt: str) -> str:
        return prompt  # an argument with a space in it would be put into quotes

    def shell(self, command: str) -> Call:
        return Call("bash", {"command": command, "description": "A command"})

    def write(self, file: Path, line: str) -> Call:
        return Call("write", {"filePath": str(file), "content": f"{line}\n"})

    def delegate(self, task: str) -> list[Answer]:
        return [Call("task", {"description": "A task", "prompt": task, "subagent_type": "general"})]

    def transcripts(self, home: Path) -> list[Path]:
        return sorted((home / ".local" / "share" / "opencode").glob("opencode*.db*"))


def hooks(flavor: str, data_dir: Path) -> dict[str, object]:
    """What both agents' settings take: our hook at every event it is made for."""
    command = shlex.join(_hook_words(flavor, data_dir))
    entry = {"hooks": [{"type": "command", "command": command, "timeout": HOOK_SECONDS}]}
    return {"hooks": {event: [entry] for event in EVENTS}}


def _hook_words(flavor: str, data_dir: Path) -> list[str]:
    return [sys.executable, "-I", "-S", str(hook.__file__), str(data_dir), flavor]


T = TypeVar("T")


def find_codex() -> Codex:
    return _from_npm(Codex, "Codex CLI", "@openai/codex", CODEX, ".bin/codex")


def find_gemini() -> Gemini:
    return _from_npm(Gemini, "Gemini CLI", "@google/gemini-cli", GEMINI, ".bin/gemini")


def find_opencode() -> OpenCode:
    # Its command is put in place by a script that we do not let run; the programs lie beside it, one a kind of machine.
    return _from_npm(OpenCode, "OpenCode", "opencode-ai", OPENCODE, "opencode-*/bin/opencode")


def find_claude() -> Claude:
    given = os.environ.get("RECOLLECT_TEST_CLAUDE")
    places = [given] if given else [str(CACHE / "node_modules" / ".bin" / "claude"), shutil.which("claude")]
    binary = next((Path(place).absolute() for place in places if place and Path(place).exists()), None)
    if binary is None and given:
        pytest.fail(f"RECOLLECT_TEST_CLAUDE={given} is not there")
    if binary is None:
        pytest.skip("Claude Code: not on this machine (RECOLLECT_TEST_CLAUDE=PATH names it)")
    return Claude(binary, _version(binary) or pytest.fail(f"{binary} does not run"))


def _from_npm(kind: Callable[[Path, str], T], title: str, package: str, version: str, place: str) -> T:
    """The agent that a variable names, else the one of this version from npm, installed once."""
    variable = f"RECOLLECT_TEST_{kind.__name__.upper()}"
    given = os.environ.get(variable)
    if given:
        binary = Path(given).absolute()
        return kind(binary, _version(binary) or pytest.fail(f"{variable}={given} does not run"))

    def installed() -> Path | None:
        found = sorted((CACHE / "node_modules").glob(place))
        return next((binary for binary in found if _version(binary) == version), None)

    CACHE.mkdir(parents=True, exist_ok=True)
    with (CACHE / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # two runs of the suite in one checkout
        if installed() is None:
            _npm_install(f"{title} {version}", f"{package}@{version}")
        binary = installed() or pytest.skip(f"{title} {version}: npm has installed it, but it does not run here")
    return kind(binary, version)


def _npm_install(name: str, package: str) -> None:
    npm = shutil.which("npm")
    if npm is None or shutil.which("node") is None:
        pytest.skip(f"{name}: npm is not installed")
    quick = ("--no-audit", "--no-fund", "--no-update-notifier", "--ignore-scripts", "--fetch-retries=0")
    words = [npm, "install", f"--prefix={CACHE}", f"--cache={CACHE / 'npm'}", *quick, package]
    try:
        done = subprocess.run(words, capture_output=True, text=True, timeout=NPM_SECONDS)
    except subprocess.TimeoutExpired:
        pytest.skip(f"{name}: npm has not fetched it in {NPM_SECONDS} s")
    shutil.rmtree(CACHE / "npm", ignore_errors=True)
    if done.returncode:
        errors = [line for line in done.stderr.splitlines() if "error" in line]
        pytest.skip(f"{name}: npm cannot fetch it: {' '.join(errors)[:200]}")


def _version(binary: Path) -> str | None:
    """The version an agent says it is; None when it cannot be started."""
    done = _output([str(binary), "--version"])
    return next((word for word in done.split() if word[0].isdigit()), None)


def _output(words: Sequence[str]) -> str:
    with tempfile.TemporaryDirectory() as home:  # some make directories in it even for this
        env = {"PATH": os.environ["PATH"], "HOME": home}
        try:
            return subprocess.run(words, capture_output=True, text=True, timeout=60, env=env).stdout
        except (OSError, subprocess.TimeoutExpired):
            return ""
