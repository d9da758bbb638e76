"""Sample sessions for the page on learning: transcripts of two agents, in which an edit misses again and again.

    python tools/learning_samples.py DIR PROJECT before    # the weeks before: 20 of Claude Code, 2 of Codex
    python tools/learning_samples.py DIR PROJECT after     # from this moment on: 16 of Claude Code, in which it is rare

Writes `DIR/claude/*.jsonl` and `DIR/codex/*.jsonl` as those agents do, for sessions in the directory PROJECT.
"""

from __future__ import annotations

import json
import sys
import uuid
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

MISSED = "<tool_use_error>String to replace not found in file.\nString: retries = 3</tool_use_error>"
PATCH = "apply_patch verification failed: Failed to find expected lines in {}/jobs.py:\nretries = 3"
TASKS = (
    *("Rename the queue", "Log job ids", "Use UTC everywhere", "Drop Redis", "Add a health endpoint", "Cap uploads"),
    *("Sort results by date", "Cache forecasts", "Paginate stations", "Translate emails", "Validate coordinates"),
    *("Speed up startup", "Split worker.py", "Retry webhooks", "Show tide tables", "Hash tokens", "Trim whitespace"),
    *("Compress backups", "Alert on lag", "Document flags", "Upgrade Python", "Lint imports", "Export CSV"),
)


def claude(number: int, at: datetime, project: Path, misses: bool) -> Iterator[dict[str, Any]]:
    """A session of Claude Code, as lines."""
    session, parent = str(uuid.uuid4()), None
    edit = ("Edit", {"file_path": f"{project}/jobs.py", "old_string": "retries = 3", "new_string": "retries = 5"})
    read = ("Read", {"file_path": f"{project}/jobs.py"})
    missed = ((edit, MISSED, True), (read, "retries=3", False)) if misses else ()
    steps = (*missed, (edit, "The file was updated.", False))
    for place, (role, content) in enumerate(_told(TASKS[number % len(TASKS)], steps)):
        line = {"parentUuid": parent, "isSidechain": False, "userType": "external", "cwd": str(project)}
        parent = str(uuid.uuid4())
        moment = (at + timedelta(seconds=20 * place)).isoformat().replace("+00:00", "Z")
        told = {
            "role": role,
            "content": content,
            **({"model": "claude-opus-4-5", "id": parent} if role != "user" else {}),
        }
        yield {**line, "sessionId": session, "type": role, "message": told, "uuid": parent, "timestamp": moment}


def _told(task: str, steps: Any) -> Iterator[tuple[str, Any]]:
    yield "user", f"{task}, please."
    for (tool, given), result, failed in steps:
        call = f"toolu_{uuid.uuid4().hex[:20]}"
        yield "assistant", [{"type": "tool_use", "id": call, "name": tool, "input": given}]
        yield "user", [{"tool_use_id": call, "type": "tool_result", "content": result, "is_error": failed}]
    yield "assistant", [{"type": "text", "text": "Done."}]


def codex(number: int, at: datetime, project: Path) -> Iterator[dict[str, Any]]:
    """A session of Codex whose patch does not fit, as lines."""
    moment = at.isoformat().replace("+00:00", "Z")
    about = {
        "id": str(uuid.uuid4()),
        "timestamp": moment,
        "cwd": str(project),
        "cli_version": "0.77.0",
        "source": "cli",
    }
    call = f"call_{uuid.uuid4().hex[:20]}"
    asked = [{"type": "input_text", "text": f"{TASKS[number % len(TASKS)]}, please."}]
    patch = "*** Begin Patch\n*** Update File: jobs.py\n-retries = 3\n+retries = 5\n*** End Patch"
    items = (
        {"type": "message", "role": "user", "content": asked},
        {"type": "custom_tool_call", "name": "apply_patch", "call_id": call, "input": patch},
        {"type": "custom_tool_call_output", "call_id": call, "output": PATCH.format(project)},
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "I look again."}]},
    )
    yield {"timestamp": moment, "type": "session_meta", "payload": about}
    for item in items:
        yield {"timestamp": moment, "type": "response_item", "payload": item}


def main() -> int:
    """Write the transcripts of one half."""
    folder, project, half = Path(sys.argv[1]), Path(sys.argv[2]).absolute(), sys.argv[3]
    now = datetime.now(UTC)
    if half == "before":
        for number in range(20):
            at = now - timedelta(days=30 - number)
            _write(folder / "claude" / f"before-{number:02}.jsonl", claude(number, at, project, number % 3 != 0))
        for number in range(2):
            at = now - timedelta(days=9 - number)
            name = f"rollout-{at:%Y-%m-%dT%H-%M-%S}-{uuid.uuid4()}.jsonl"
            _write(folder / "codex" / name, codex(number, at, project))
    else:
        for number in range(16):
            _write(folder / "claude" / f"after-{number:02}.jsonl", claude(number, now, project, number == 0))
    return 0


def _write(path: Path, lines: Iterator[dict[str, Any]]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")


if __name__ == "__main__":
    raise SystemExit(main())
