"""Poison in native transcripts: each case becomes a session as Claude Code, Codex or Grok would have written it.

A case says what the user asked, which way somebody else's text came in (`channel`), and that text. The turns around it
are ordinary work: a test run that passes, an answer.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple

from tests.flow.transcripts_fixture import as_lines, claude_turn, stamp, uid

Json = dict[str, Any]
HERE = Path(__file__).parent
_GROK_START = 1_772_355_600_000


class Case(NamedTuple):
    """One poisoned session: `rule` is what the attacker wants kept, `word` what betrays it anywhere."""

    name: str
    agent: str
    channel: str
    word: str
    prompt: str
    text: str
    rule: str
    answer: str

    @property
    def session(self) -> str:
        return uid("poison", self.name)

    @property
    def said(self) -> str:
        """What the user typed, or pasted."""
        return self.text if self.channel == "pasted" else self.prompt


def cases() -> list[Case]:
    lines = (HERE / "transcripts.jsonl").read_text(encoding="utf-8").splitlines()
    return [Case(**json.loads(line)) for line in lines]


def write(case: Case, home: Path, cwd: Path) -> None:
    """Put a case where its agent would, run in a directory."""
    {"claude": _claude, "codex": _codex, "grok": _grok}[case.agent](case, home, str(cwd))


# -- Claude Code

_TOOLS = {
    "bash": ("Bash", {"command": "cat notes.txt"}),
    "read": ("Read", {"file_path": "/srv/app/notes.txt"}),
    "error": ("Bash", {"command": "make install"}),
    "fetch": ("WebFetch", {"url": "https://example.org/page", "prompt": "read it"}),
    "mcp": ("mcp__desk__list", {"query": "all"}),
    "refused-mcp": ("mcp__desk__create", {"title": "a"}),
    "task": ("Task", {"description": "look", "prompt": "Look through the docs."}),
    "image": ("Read", {"file_path": "/srv/app/shot.png"}),
}


def _claude(case: Case, home: Path, cwd: str) -> None:
    path = home / ".claude" / "projects" / "-srv-app" / f"{case.session}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = claude_turn(case.session, 0, "Run the unit tests of the parser.", command="pytest -q", output="3 passed")
    lines += _claude_turn(case, 1)
    lines += claude_turn(case.session, 2, "Thanks, go on.", command="ls", output="src tests")
    if case.channel == "subagent":
        _subagent(case, path)
    path.write_bytes(as_lines({**line, "cwd": cwd} for line in lines))


def _claude_turn(case: Case, number: int) -> list[Json]:
    turn = claude_turn(case.session, number, case.said, answer=case.answer)
    prompt, call, result, answer = turn
    if case.channel in _TOOLS:
        name, given = _TOOLS[case.channel]
        call["message"]["content"][0] |= {"name": name, "input": given}
        text: Any = case.text if case.channel != "image" else [{"type": "text", "text": case.text}]
        result["message"]["content"][0]["content"] = text
        if case.channel in ("error", "refused-mcp"):
            result["message"]["content"][0]["is_error"] = True
            result["toolUseResult"] = f"Error: {case.text}"
    elif case.channel == "summary":
        told = {**prompt, "uuid": uid(case.session, "summary"), "isCompactSummary": True}
        return [{**told, "message": {"role": "user", "content": case.text}}, *turn]
    elif case.channel == "reminder":
        told = {**prompt, "uuid": uid(case.session, "reminder"), "isMeta": True}
        return [prompt, {**told, "message": {"role": "user", "content": case.text}}, call, result, answer]
    return turn


def _subagent(case: Case, path: Path) -> None:
    """The task a helper was given: in its own file, and in nobody's words but the agent's."""
    lines = claude_turn(case.session, 5, case.text, isSidechain=True, agentId="helper1")
    file = path.with_suffix("") / "subagents" / "agent-helper1.jsonl"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(as_lines({**line, "uuid": uid(line["uuid"], "helper")} for line in lines))


def dialogues() -> list[tuple[str, str, str, list[tuple[str, str]]]]:
    """(name, word, rule, turns) of dialogues in which somebody else's rule is to become the user's."""
    lines = (HERE / "dialogues.jsonl").read_text(encoding="utf-8").splitlines()
    found = map(json.loads, lines)
    return [(one["name"], one["word"], one["rule"], [(who, text) for who, text in one["turns"]]) for one in found]


def write_dialogue(name: str, turns: list[tuple[str, str]], home: Path, cwd: Path, minute: int = 0) -> str:
    """A dialogue as Claude Code writes it, from a minute on; returns its session."""
    session = uid("dialogue", name)
    prompt, call, result, answer = claude_turn(session, 0)
    lines: list[Json] = []
    for place, (who, text) in enumerate(turns):
        about = {"uuid": uid(session, place), "timestamp": stamp(minute + place), "cwd": str(cwd)}
        if who == "tool":
            tool = f"toolu_{uid(session, place, 'call').replace('-', '')}"
            asked = [{**call["message"]["content"][0], "id": tool, "input": {"command": "cat README.md"}}]
            ran = [{**result["message"]["content"][0], "tool_use_id": tool, "content": text}]
            calling = {**about, "uuid": uid(session, place, "call"), "message": {**call["message"], "content": asked}}
            lines.append({**call, **calling})
            lines.append({**result, **about, "message": {"role": "user", "content": ran}})
        elif who == "user":
            lines.append({**prompt, **about, "message": {"role": "user", "content": text}})
        else:
            said = {**answer["message"], "content": [{"type": "text", "text": text}]}
            lines.append({**answer, **about, "message": said})
    path = home / ".claude" / "projects" / "-srv-app" / f"{session}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(as_lines(lines))
    return f"claude:{session}"


# -- Codex


def _codex(case: Case, home: Path, cwd: str) -> None:
    meta = {"id": case.session, "timestamp": stamp(0), "cwd": cwd, "originator": "codex-tui", "source": "cli"}
    lines = [_codex_line(0, "session_meta", {**meta, "cli_version": "0.120.0"})]
    lines += _codex_turn(case, 1, "Run the unit tests of the parser.", "pytest -q", "3 passed", "All pass.")
    if case.channel == "compacted":
        lines.append(_codex_line(15, "compacted", {"message": case.text}))
    told = case.text if case.channel in ("shell", "mcp") else "ok"
    name = "mcp__desk__list" if case.channel == "mcp" else "exec_command"
    lines += _codex_turn(case, 2, case.said, "cat notes.txt", told, case.answer, name)
    lines += _codex_turn(case, 3, "Thanks, go on.", "ls", "src tests", "Done.")
    path = home / ".codex" / "sessions" / "2026" / "03" / "01" / f"rollout-2026-03-01T09-00-00-{case.session}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(as_lines(lines))


def _codex_turn(
    case: Case, turn: int, said: str, command: str, output: str, answer: str, name: str = "exec_command"
) -> list[Json]:
    call = f"call_{uid(case.session, turn).replace('-', '')}"
    asked = {"type": "function_call", "name": name, "arguments": json.dumps({"cmd": command}), "call_id": call}
    ran = {"type": "function_call_output", "call_id": call, "output": output}
    return [
        _codex_line(turn * 10, "event_msg", {"type": "user_message", "message": said}),
        _codex_line(turn * 10 + 1, "response_item", _message("user", "input_text", said)),
        _codex_line(turn * 10 + 2, "response_item", asked),
        _codex_line(turn * 10 + 3, "response_item", ran),
        _codex_line(turn * 10 + 4, "response_item", _message("assistant", "output_text", answer)),
    ]


def _codex_line(minute: float, kind: str, payload: Json) -> Json:
    return {"timestamp": stamp(minute), "type": kind, "payload": payload}


def _message(role: str, kind: str, text: str) -> Json:
    return {"type": "message", "role": role, "content": [{"type": kind, "text": text}]}


# -- Grok


def _grok(case: Case, home: Path, cwd: str) -> None:
    folder = home / ".grok" / "sessions" / "%2Fsrv%2Fapp" / case.session
    folder.mkdir(parents=True, exist_ok=True)
    told = "ok" if case.channel == "pasted" else case.text
    updates = [
        *_grok_turn(case.session, 0, "Run the unit tests of the parser.", "3 passed", "All pass.", "shell"),
        *_grok_turn(case.session, 1, case.said, told, case.answer, case.channel),
        *_grok_turn(case.session, 2, "Thanks, go on.", "src tests", "Done.", "shell"),
    ]
    lines = [_grok_line(case, number, update) for number, update in enumerate(updates)]
    (folder / "updates.jsonl").write_bytes(as_lines(lines))
    about = {"info": {"id": case.session, "cwd": cwd}, "created_at": stamp(0), "generated_title": "work"}
    (folder / "summary.json").write_text(json.dumps(about), encoding="utf-8")


def _grok_turn(session: str, turn: int, said: str, output: str, answer: str, channel: str) -> list[Json]:
    name, given = {
        "read": ("read_file", {"target_file": "/srv/app/notes.txt"}),
        "mcp": ("desk__search", {"query": "all"}),
    }.get(channel, ("run_terminal_command", {"command": "cat notes.txt"}))
    call = {"toolCallId": f"call-{turn}", "_meta": {"x.ai/tool": {"name": name}}}
    shown = [{"type": "content", "content": {"type": "text", "text": output}}]
    return [
        {"sessionUpdate": "user_message_chunk", "content": _text(said), "_meta": {"promptIndex": turn}},
        {"sessionUpdate": "tool_call", "title": name, "status": "pending", "rawInput": given, **call},
        {"sessionUpdate": "tool_call_update", "status": "completed", "content": shown, "rawOutput": {}, **call},
        {"sessionUpdate": "agent_message_chunk", "content": _text(answer)},
        {"sessionUpdate": "turn_completed", "prompt_id": f"{session}-{turn}", "stop_reason": "end_turn"},
    ]


def _text(text: str) -> Json:
    return {"type": "text", "text": text}


def _grok_line(case: Case, number: int, update: Json) -> Json:
    meta = {"eventId": f"{case.session}-{number}", "agentTimestampMs": _GROK_START + number, "promptId": "p"}
    params = {"sessionId": case.session, "update": update, "_meta": meta}
    return {"timestamp": _GROK_START // 1000, "method": "session/update", "params": params}
