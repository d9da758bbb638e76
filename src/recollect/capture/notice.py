"""What an agent told its hook: a record's body becomes a notice, or nothing when it makes no sense.

Claude Code and Codex write snake_case: `{"session_id", "transcript_path", "cwd", "hook_event_name": "Stop", …}`. Grok
writes camelCase: `{"sessionId", "transcriptPath", "cwd", "hookEventName": "stop", …}`, and Cursor has names of its own:
`{"conversation_id", "generation_id", "workspace_roots", "cursor_version", …}`. Both also call the hooks they find in
Claude Code's settings, so the payload says who speaks, not the command line. Gemini CLI writes as Claude Code does,
with other events; for OpenCode our plugin writes. Nothing here raises.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from recollect.capture.spool import Record
from recollect.errors import InvalidInput
from recollect.model import check_id
from recollect.text import storable

MAX_PATH_CHARS = 4096
# Names as agents write them, in small letters without separators.
EVENTS = {
    "sessionstart": "session_start",
    "userpromptsubmit": "user_prompt",
    "stop": "stop",
    "subagentstop": "subagent_stop",
    "subagentend": "subagent_stop",
    "precompact": "pre_compact",
    "sessionend": "session_end",
    "beforeagent": "user_prompt",
    "afteragent": "stop",
    "precompress": "pre_compact",
    "beforesubmitprompt": "user_prompt",
}
# These always keep their sessions themselves, a moment later: what they tell is where to look, never the words.
KEEPERS = frozenset({"grok", "gemini", "cursor", "opencode"})
_NOT_LETTER = re.compile("[^a-z]")
_GAP = re.compile(r"[ \t\r\n]*([,:{]?)[ \t\r\n]*")


@dataclass(frozen=True, slots=True)
class Notice:
    """One event of one session; `session` is `<flavor>:<native id>`, `reason` why it started, was packed or ended."""

    flavor: str
    event: str
    session: str
    transcript: str | None
    agent_transcript: str | None
    cwd: str | None
    at: datetime
    prompt: str | None = None
    last_assistant_message: str | None = None
    turn: str | None = None
    agent_id: str | None = None
    reason: str | None = None


def notice_of(record: Record) -> Notice | None:
    """The notice in a record. Of a truncated body only what came whole is used, and what the environment said."""
    text = record.body.decode("utf-8-sig", "replace")
    given = _completed(_members(text), record) if record.truncated else _object(text)
    flavor = _flavor(given, record)
    names = ("conversation_id", "session_id") if flavor == "cursor" else ("session_id", "sessionId")
    try:
        session = check_id(f"{flavor}:{check_id(_first(given, *names), 'session')}", "session")
    except InvalidInput:
        return None
    told = {} if flavor in KEEPERS else given
    return Notice(
        flavor=flavor,
        event=_event(_first(given, "hook_event_name", "hookEventName")),
        session=session,
        transcript=_path(_first(given, "transcript_path", "transcriptPath")),
        agent_transcript=_path(_first(given, "agent_transcript_path", "agentTranscriptPath")),
        cwd=_path(_first(given, "cwd", "workspaceRoot") or _root(given)),
        at=record.at,
        prompt=_text(told.get("prompt")),
        last_assistant_message=_text(_first(told, "last_assistant_message", "lastAssistantMessage")),
        turn=_name(_first(given, "turn_id", "turnId", "prompt_id", "promptId", "generation_id")),
        agent_id=_name(_first(given, "agent_id", "agentId", "subagentId")),
        reason=_name(_first(given, "reason", "source", "trigger", "status")),
    )


def _flavor(given: Mapping[str, Any], record: Record) -> str:
    """Who speaks: Grok or Cursor when the payload is in its style or is about the session it started this hook for."""
    if "hookEventName" in given or "sessionId" in given:
        return "grok"
    if "cursor_version" in given or "conversation_id" in given:
        return "cursor"
    # An agent that a hook of Grok started inherits its variables, but has a session of its own.
    about = given.get("session_id")
    return "grok" if about is not None and about == record.hints.get("GROK_SESSION_ID") else record.agent


def _object(text: str) -> Mapping[str, Any]:
    try:
        given = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return given if isinstance(given, dict) else {}


def _members(text: str) -> dict[str, Any]:
    """The members of an object whose end is missing, up to the first that is not whole.

    Read from the beginning as JSON, so that what looks like a member inside a string or a nested object is not one.
    """
    found: dict[str, Any] = {}
    decode = json.JSONDecoder().raw_decode
    at, mark = _gap(text, 0)
    try:
        while mark == ("," if found else "{"):
            key, at = decode(text, at)
            at, mark = _gap(text, at)
            if mark != ":" or not isinstance(key, str):
                break
            value, at = decode(text, at)
            at, mark = _gap(text, at)
            found[key] = value
    except (ValueError, RecursionError):
        pass
    return found


def _gap(text: str, at: int) -> tuple[int, str]:
    """Where the next thing begins, and the mark before it."""
    match = _GAP.match(text, at)
    return (match.end(), match[1]) if match else (at, "")


def _completed(given: Mapping[str, Any], record: Record) -> dict[str, Any]:
    """What is missing in a truncated body, from the environment; two agents named there are one too many."""
    hints = record.hints
    full = {"cwd": hints.get("cwd"), **given}
    grok, claude = hints.get("GROK_SESSION_ID"), hints.get("CLAUDE_CODE_SESSION_ID")
    if _first(given, "session_id", "sessionId") is not None or (grok and claude):
        return full
    if grok:
        return {"sessionId": grok, "hookEventName": hints.get("GROK_HOOK_EVENT"), **full}
    return {"session_id": claude, **full} if record.agent == "claude" else full


def _first(given: Mapping[str, Any], *names: str) -> Any:
    return next((given[name] for name in names if given.get(name) is not None), None)


def _root(given: Mapping[str, Any]) -> object:
    """The first of the directories that Cursor has open."""
    roots = given.get("workspace_roots")
    return roots[0] if isinstance(roots, list) and roots else None


def _event(value: object) -> str:
    if not isinstance(value, str) or len(value) > 100:
        return "other"
    return EVENTS.get(_NOT_LETTER.sub("", value.casefold()), "other")


def _path(value: object) -> str | None:
    """A path as given, or None: one with a character replaced would be another path."""
    if not isinstance(value, str) or not 0 < len(value) <= MAX_PATH_CHARS:
        return None
    return value if storable(value) == value else None


def _text(value: object) -> str | None:
    return storable(value) if isinstance(value, str) and value else None


def _name(value: object) -> str | None:
    try:
        return check_id(value, "name")
    except InvalidInput:
        return None
