"""Where Codex keeps its sessions, and what stands in a file as a whole: the oldest form, and the names of threads.

A root or a `Reading` comes in; transcripts, the records of a document, or a title go out. Finding opens no file, and
what is read as a whole is bounded by `MAX_DOCUMENT`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

import orjson

from recollect.capture.beneath import open_beneath
from recollect.capture.lines import open_transcript
from recollect.capture.transcript import Reading, Transcript, dict_of, text_of
from recollect.errors import BadTranscript

flavor = "codex"

MAX_DOCUMENT = 64 << 20
THREAD_ID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
_NOT_SESSIONS = frozenset(("history.jsonl", "session_index.jsonl"))


def roots(home: Path, env: Mapping[str, str]) -> list[Path]:
    given = env.get("CODEX_HOME", "").strip()
    root = Path(given).expanduser() if given else home / ".codex"
    return [root / "sessions", root / "archived_sessions"]


def discover(root: Path) -> Iterator[Transcript]:
    """Rollouts; Codex may pack a cold one, and unpacks it on resume: where both stand, the plain one is the newer."""
    found = sorted(path for path in root.rglob("*.json*") if is_rollout(path.name))
    plain = set(found)
    for path in found:
        if path.suffix != ".zst" or path.with_suffix("") not in plain:
            yield Transcript(flavor, root, path, _native(path.name), (path,))


def is_rollout(name: str) -> bool:
    if name.endswith((".jsonl", ".jsonl.zst")):
        return name not in _NOT_SESSIONS
    return name.startswith("rollout-") and name.endswith(".json")


def _native(name: str) -> str:
    found = THREAD_ID.search(name)
    return found[0] if found else name.split(".json")[0]


def document_records(reading: Reading) -> Iterator[dict[str, Any]]:
    """The oldest form: one document {"session": header, "items": [item, …]}."""
    path = reading.transcript.path
    with open_transcript(reading.transcript.root, path) as file:
        data = _bounded(file)
    if len(data) > MAX_DOCUMENT:
        raise BadTranscript(f"{path.name} is larger than {MAX_DOCUMENT >> 20} MiB")
    reading.size = reading.complete_to = len(data)
    try:
        document = dict_of(orjson.loads(data))
    except ValueError:
        reading.counts["bad_lines"] += 1
        return
    items = document.get("items")
    for record in (document.get("session"), *(items if isinstance(items, list) else ())):
        if isinstance(record, dict):
            yield record
        elif record is not None:
            reading.counts["not_objects"] += 1


def _bounded(file: Any) -> bytes:
    """All of a file, or more than is allowed and no further."""
    parts, size = [], 0
    while size <= MAX_DOCUMENT and (part := file.read(1 << 20)):
        parts.append(part)
        size += len(part)
    return b"".join(parts)


def title_from_index(reading: Reading) -> None:
    """Older releases keep thread names in an index beside the sessions."""
    root = reading.transcript.root
    for folder in (root.parent, root):
        path = folder / "session_index.jsonl"
        try:
            info = path.stat()
        except OSError:
            continue
        reading.titled(_thread_names(folder, path, info.st_mtime_ns, info.st_size).get(reading.native))


@lru_cache(maxsize=4)
def _thread_names(folder: Path, path: Path, changed: int, size: int) -> dict[str, str]:
    try:
        with open_beneath(folder, path) as file:
            data = _bounded(file)
    except BadTranscript:
        return {}
    names: dict[str, str] = {}
    for line in data.split(b"\n"):
        try:
            entry = dict_of(orjson.loads(line))
        except ValueError:
            continue
        names[text_of(entry.get("id"))] = text_of(entry.get("thread_name"))
    return names
