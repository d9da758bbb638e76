"""Codex (CLI, desktop, IDE): `~/.codex/sessions/YYYY/MM/DD/rollout-<time>-<thread>.jsonl[.zst]`, `archived_sessions/`.

    {"timestamp":T,"type":"session_meta","payload":{"id":S,"cwd":C,"cli_version":V,"source":"cli"|{"subagent":…},"git":{…}}}
    {"timestamp":T,"type":"turn_context","payload":{"turn_id":U,"model":M,"cwd":C}}
    {"timestamp":T,"type":"response_item","payload":{"type":"message"|"reasoning"|"function_call"|"function_call_output"|…}}
    {"timestamp":T,"type":"event_msg","payload":{"type":"user_message"|"agent_message"|"token_count"|"item_completed"|…}}
    {"timestamp":T,"type":"compacted","payload":{"message":"","replacement_history":[…]}}

Every text stands in two streams. What the model says and does is taken from the response items, which every version
writes; a person's prompts from the events, as the items mix them with what the host put in. Early files are bare items.

A `Reading` comes in; the session's events and costs go out, in the order of its lines. Here stand the loop over the
records and what the session is; items, events, a parent's copied history and the files each have a module beside this.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from recollect.capture.lines import records
from recollect.capture.sources.codexevents import EVENTS, counted
from recollect.capture.sources.codexfiles import discover, document_records, flavor, roots, title_from_index
from recollect.capture.sources.codexitems import ITEMS, silent
from recollect.capture.sources.codexstate import State
from recollect.capture.transcript import Reading, dict_of, moment, text_of
from recollect.model import Cost, Event

__all__ = ["discover", "flavor", "read", "recognises", "roots"]

_ENVELOPES = frozenset("session_meta turn_context response_item event_msg compacted".split())


def recognises(record: Mapping[str, Any]) -> bool:
    kind = record.get("type")
    if isinstance(kind, str):
        return kind in _ENVELOPES and isinstance(record.get("payload"), dict)
    if isinstance(record.get("session"), dict):
        return isinstance(record.get("items"), list)
    if record.get("record_type") == "state":
        return True
    return kind is None and "instructions" in record and "timestamp" in record and "id" in record


def read(reading: Reading) -> Iterator[Event | Cost]:
    state = State(reading)
    history = state.history
    document = reading.transcript.path.suffix == ".json"
    for record in document_records(reading) if document else records(reading):
        payload, kind = record.get("payload"), record.get("type")
        if type(payload) is not dict or type(kind) is not str:
            yield from _bare(state, record)
            continue
        if history.here and history.holds(record, payload):
            if payload.get("type") == "token_count":
                counted(state, payload)
            continue
        state.fresh = state.fresh and kind == "session_meta"
        handle = _handler(state, kind, payload)
        if handle is not None:
            stamp = record.get("timestamp")
            state.time, state.stamp, state.guessed = moment(stamp), text_of(stamp), False
            yield from handle(state, payload)
    if not state.by_event:  # else the event that tells whose words they are is still to be written
        yield from state.decide()
    title_from_index(reading)


def _handler(state: State, kind: str, payload: Mapping[str, Any]) -> Any:
    """What takes a record in; None for those that tell nothing or are unknown, which are counted."""
    handle = _HANDLERS.get(kind)
    if type(handle) is dict:
        kind = payload.get("type") or ("message" if "role" in payload else "")
        handle = handle.get(kind) if isinstance(kind, str) else None
    if handle is None:
        state.reading.counts["unknown_records"] += 1
    return handle or None


def _bare(state: State, record: Mapping[str, Any]) -> Iterator[Event]:
    """Lines of 2025: a header without a type, then items without envelope and mostly without a time."""
    if "record_type" in record:
        return
    time = moment(record.get("timestamp"))
    state.stamp, state.guessed = text_of(record.get("timestamp")), time is None
    state.time = time or state.time
    if not state.known and "type" not in record and "role" not in record and text_of(record.get("id")):
        _describe_session(state, record, text_of(record.get("id")))
        state.model = state.reading.model(record.get("model"))
        return
    handle = _handler(state, "response_item", record)
    if handle is not None:
        yield from handle(state, record)


# -- what the session is


def _session(state: State, payload: Mapping[str, Any]) -> Iterator[Event]:
    """The first is the session's own. One of another thread right after it heads the parent's history, copied."""
    reading = state.reading
    thread = text_of(payload.get("id"))
    if not state.known:
        _describe_session(state, payload, thread)
    elif state.fresh and thread and thread != reading.native:
        state.history.begin(thread)
    yield from ()


def _describe_session(state: State, payload: Mapping[str, Any], thread: str) -> None:
    reading = state.reading
    state.known = True
    reading.native = thread or reading.native
    reading.cwd = text_of(payload.get("cwd")) or reading.cwd
    reading.agent_version = text_of(payload.get("cli_version")) or None
    git = dict_of(payload.get("git"))
    reading.branch, reading.commit = text_of(git.get("branch")) or None, text_of(git.get("commit_hash")) or None
    reading.repository = text_of(git.get("repository_url")) or None
    _relate(state, payload)
    for name, field in (("nickname", "agent_nickname"), ("role", "agent_role"), ("originator", "originator")):
        if text_of(payload.get(field)):
            reading.meta[name] = payload[field]
    start = payload.get("subagent_history_start_ordinal")
    if type(start) is int and start > 0:
        state.history.start = start
    state.time = moment(payload.get("timestamp")) or state.time


def _relate(state: State, payload: Mapping[str, Any]) -> None:
    """Whose child the session is, and whether a person sat before it."""
    reading, source = state.reading, payload.get("source")
    sub = dict_of(source).get("subagent")
    spawn = dict_of(dict_of(sub).get("thread_spawn"))
    forked = text_of(payload.get("forked_from_id"))
    parent = text_of(payload.get("parent_thread_id")) or text_of(spawn.get("parent_thread_id")) or forked
    state.subagent = bool(sub) or payload.get("thread_source") == "subagent"
    if state.subagent:
        reading.relation = {"review": "review", "compact": "compaction"}.get(text_of(sub), "subagent")
    elif forked:
        reading.relation = "fork"
    reading.parent = f"{flavor}:{parent}" if parent else None
    alone = state.subagent or source in ("exec", "mcp") or payload.get("originator") == "codex_exec"
    reading.interactive = False if alone else True if source in ("cli", "vscode") else None
    internal = dict_of(source).get("internal")
    reading.ours = "memory_consolidation" in (payload.get("thread_source"), text_of(sub), text_of(internal))
    for name in ("agent_nickname", "agent_role"):
        if text_of(spawn.get(name)):
            reading.meta[name.removeprefix("agent_")] = spawn[name]


def _turn_context(state: State, payload: Mapping[str, Any]) -> Iterator[Event]:
    state.model = state.reading.model(payload.get("model")) or state.model
    state.reading.cwd = state.reading.cwd or text_of(payload.get("cwd")) or None
    yield from ()


def _compacted(state: State, payload: Mapping[str, Any]) -> Iterator[Event]:
    yield from state.decide()
    native, text = state.again("compacted"), text_of(payload.get("message"))
    yield state.event("compaction", "system", "tool", "", native)
    if text.strip():
        yield state.event("summary", "system", "assistant", text, native)


_HANDLERS: dict[str, Any] = {
    "session_meta": _session,
    "turn_context": _turn_context,
    "response_item": ITEMS,
    "event_msg": EVENTS,
    "compacted": _compacted,
    **silent("world_state inter_agent_communication inter_agent_communication_metadata security_risk_score"),
    **silent("token_usage_record"),
}
