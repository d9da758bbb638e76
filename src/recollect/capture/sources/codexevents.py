"""Events of Codex: a person's prompts, how calls and turns ended, and what was used.

    {"type":"user_message","message":"…","images":[…]}
    {"type":"exec_command_end"|"patch_apply_end"|"mcp_tool_call_end"|"item_completed",…}
    {"type":"token_count","info":{"total_token_usage":{"input_tokens":N,…},"last_token_usage":{…}}}
    {"type":"task_complete"|"turn_aborted","turn_id":U,"duration_ms":N}

The state and the payload of an event come in; events and costs go out. What the items tell as well
is not told again, and each token is counted once. `EVENTS` says what takes which kind; False stands for kinds that tell
nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from recollect.capture.sources.codexitems import called, content_of, returned, silent
from recollect.capture.sources.codexstate import State
from recollect.capture.transcript import dict_of, text_of, whole
from recollect.model import Cost, Event

_BUCKETS = (
    *("input_tokens", "cached_input_tokens", "cache_write_input_tokens"),
    *("output_tokens", "reasoning_output_tokens"),
)


def _user_message(state: State, payload: Mapping[str, Any]) -> Iterator[Event]:
    text, (_, bodies) = text_of(payload.get("message")), content_of(_urls(payload.get("images")))
    yield from state.spoken(text, bodies)


def _urls(images: object) -> list[dict[str, Any]]:
    return [{"url": url} for url in images] if isinstance(images, list) else []


def _completed(state: State, payload: Mapping[str, Any]) -> Iterator[Event]:
    """Paginated files: a prompt, or how a call ended. What the model said stands in the items as well."""
    item = dict_of(payload.get("item"))
    kind, call = text_of(item.get("type")), item.get("id")
    if kind == "UserMessage":
        yield from state.spoken(*content_of(item.get("content")))
    elif kind == "CommandExecution":
        yield from _command_ended(state, {**item, "call_id": call})
    elif kind == "McpToolCall":
        result = {"Ok": item.get("result"), **({"Err": "failed"} if item.get("status") == "failed" else {})}
        yield from _mcp_ended(state, {"call_id": call, "invocation": item, "result": result})
    elif kind == "FileChange":
        yield from _patch_ended(state, {**item, "call_id": call, "success": item.get("status") == "completed"})


# -- how calls ended


def _ended(state: State, call: str, name: str, given: Any, text: str, code: object, failed: bool) -> Iterator[Event]:
    """How a call ended. One the model made from inside a script has no items of its own: it is told here alone."""
    exit_code = code if type(code) is int else None
    if call in state.calls:
        state.exits[call] = exit_code, failed
    elif call:
        yield from called(state, name, given, call)
        facts: dict[str, Any] = {"error": failed or exit_code not in (None, 0)}
        if exit_code is not None:
            facts["exit"] = exit_code
        yield returned(state, call, text, (), facts)


def _command_ended(state: State, payload: Mapping[str, Any]) -> Iterator[Event]:
    given = {"command": payload.get("command"), "cwd": payload.get("cwd")}
    text, code = text_of(payload.get("aggregated_output")), payload.get("exit_code")
    failed = payload.get("status") == "failed"
    yield from _ended(state, text_of(payload.get("call_id")), "shell", given, text, code, failed)


def _patch_ended(state: State, payload: Mapping[str, Any]) -> Iterator[Event]:
    files = "\n".join(f"*** Update File: {path}" for path in dict_of(payload.get("changes")))
    text = text_of(payload.get("stdout")) or text_of(payload.get("stderr"))
    call, failed = text_of(payload.get("call_id")), payload.get("success") is False
    yield from _ended(state, call, "apply_patch", files, text, None, failed)


def _mcp_ended(state: State, payload: Mapping[str, Any]) -> Iterator[Event]:
    asked, result = dict_of(payload.get("invocation")), dict_of(payload.get("result"))
    good = dict_of(result.get("Ok"))
    text = content_of(good.get("content"))[0] if good else text_of(result.get("Err"))
    failed = "Err" in result or good.get("isError") is True
    name = f"mcp__{text_of(asked.get('server'))}__{text_of(asked.get('tool'))}"
    yield from _ended(state, text_of(payload.get("call_id")), name, asked.get("arguments"), text, None, failed)


# -- what was used


def _token_count(state: State, payload: Mapping[str, Any]) -> Iterator[Cost]:
    used = counted(state, payload)
    if not used:
        return
    given = used["input_tokens"]  # all of it: what was read from the cache and written to it are parts
    cached = min(used["cached_input_tokens"], given)
    written = min(used["cache_write_input_tokens"], given - cached)
    yield state.reading.cost(
        state.again("token_count"),
        state.time,
        state.model,
        input=given - cached - written,
        cache_read=cached,
        cache_write_5m=written,
        output=used["output_tokens"],
        reasoning=used["reasoning_output_tokens"],
    )


def counted(state: State, payload: Mapping[str, Any]) -> dict[str, int] | None:
    """What was used since the last count, or None when nothing was: counts are written again unchanged."""
    info = dict_of(payload.get("info"))
    total = info.get("total_token_usage")
    if type(total) is not dict or total == state.written:
        return None
    before, state.written = state.total, total
    state.total = {name: whole(total.get(name)) for name in _BUCKETS}
    used = {name: count - before.get(name, 0) for name, count in state.total.items()}
    # The first total of a resumed thread sums up all before it, and one below the last began anew. Otherwise the
    # difference is safer than `last`: it misses nothing when a line is lost.
    if not before or min(used.values()) < 0:
        last = info.get("last_token_usage")
        used = {name: whole(last.get(name)) for name in _BUCKETS} if type(last) is dict else state.total
    meta, tokens = state.reading.meta, used["input_tokens"] + used["output_tokens"]
    meta["tokens_in_file"] = meta.get("tokens_in_file", 0) + tokens
    return used


# -- turns, and the thread as a whole


def _turn_done(state: State, payload: Mapping[str, Any]) -> Iterator[Event]:
    yield from state.decide()
    native, meta = _turn(state, payload), {"ms": whole(payload.get("duration_ms"))}
    error = payload.get("error")
    if error:
        text = text_of(error) or text_of(dict_of(error).get("message")) or "error"
        yield state.event("error", "system", "tool", text, native)
    yield state.event("turn_end", "system", "tool", "", native, meta)


def _turn_aborted(state: State, payload: Mapping[str, Any]) -> Iterator[Event]:
    yield from state.decide()
    native, reason = _turn(state, payload), text_of(payload.get("reason"))
    if reason == "interrupted" and not state.subagent:
        yield state.event("human_intervention", "system", "user", "interrupted", native, {"what": "interrupted"})
    meta = {"reason": reason, "ms": whole(payload.get("duration_ms"))}
    yield state.event("turn_end", "system", "tool", "", native, meta)


def _turn(state: State, payload: Mapping[str, Any]) -> tuple[str, ...]:
    turn = text_of(payload.get("turn_id"))
    return state.reading.again("turn", state.reading.native, turn) if turn else state.again("turn")


def _rolled_back(state: State, payload: Mapping[str, Any]) -> Iterator[Event]:
    meta = {"what": "rewind", "turns": whole(payload.get("num_turns"))}
    yield state.event("state", "system", "user", "", state.again("thread_rolled_back"), meta)


def _renamed(state: State, payload: Mapping[str, Any]) -> Iterator[Event]:
    if payload.get("thread_id") in (None, state.reading.native):
        state.reading.titled(payload.get("thread_name"), 1)
    yield from ()


def _review(state: State, payload: Mapping[str, Any]) -> Iterator[Event]:
    text = text_of(payload.get("user_facing_hint"))
    yield state.event("state", "system", "user", text, state.again("entered_review_mode"), {"what": "review"})


def _failed(state: State, payload: Mapping[str, Any]) -> Iterator[Event]:
    kind = "retry" if payload.get("type") == "stream_error" else "error"
    text = text_of(payload.get("message")) or text_of(dict_of(payload.get("error")).get("message")) or "error"
    yield state.event(kind, "system", "tool", text, state.again(kind))


EVENTS: dict[str, Any] = {
    "user_message": _user_message,
    "item_completed": _completed,
    "exec_command_end": _command_ended,
    "patch_apply_end": _patch_ended,
    "mcp_tool_call_end": _mcp_ended,
    "token_count": _token_count,
    "task_complete": _turn_done,
    "turn_complete": _turn_done,
    "turn.completed": _turn_done,
    "turn_aborted": _turn_aborted,
    "thread_rolled_back": _rolled_back,
    "thread_name_updated": _renamed,
    "entered_review_mode": _review,
    "error": _failed,
    "stream_error": _failed,
    **silent("agent_message agent_reasoning agent_reasoning_raw_content agent_reasoning_section_break task_started"),
    **silent("turn_started context_compacted exited_review_mode web_search_begin web_search_end turn_diff plan_update"),
    **silent("image_generation_end thread_goal_updated thread_settings_applied sub_agent_activity warning"),
    **silent("collab_agent_spawn_end collab_agent_interaction_end collab_waiting_end collab_close_end"),
    **silent("collab_resume_end dynamic_tool_call_request dynamic_tool_call_response view_image_tool_call"),
    **silent("exec_command_begin patch_apply_begin mcp_tool_call_begin background_event session_configured"),
    **silent("undo_started undo_completed guardian_assessment"),
}
