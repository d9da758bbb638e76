"""Response items of Codex: what the model was told, said, thought and called, and what came of its calls.

    {"type":"message","role":"user"|"assistant"|"developer","content":[{"type":"input_text","text":…},…]}
    {"type":"function_call"|"custom_tool_call","name":N,"arguments":"{…}"|"input":"…","call_id":C}
    {"type":"function_call_output"|"custom_tool_call_output","call_id":C,"output":"…"|[…]|{"content":…,"success":B}}

The state and the payload of an item come in; its events go out. A result is known by the identity
of its call, wherever the two are told. `ITEMS` says what takes which kind; False stands for kinds that tell nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import orjson

from recollect.capture.bodies import data_url_body, decoded
from recollect.capture.sources.codexstate import State
from recollect.capture.toolcall import describe, result_origin
from recollect.capture.transcript import dict_of, text_of
from recollect.model import Body, Event

# Instructions of the host to the model: as good as a system prompt.
_INSTRUCTIONS = (
    *("<permissions instructions>", "<collaboration_mode>", "<skills_instructions>", "<apps_instructions>", "<tools>"),
    *("<plugins_instructions>", "<environments_instructions>", "<multi_agent_mode>", "<model_switch>"),
    *("<context_window", "<realtime_conversation>", "<personality_spec>", "<managed_developer_instructions>"),
)
# How a command's output is headed, up to a line `Output:`; the exit code stands near the end of the head.
_RUN_HEADS = ("Command: ", "Chunk ID: ", "Wall time: ", "Exit code: ")
_RUN_BODY = "\nOutput:\n"
_CODE = re.compile(r"(?:Process exited with code|[Ee]xit[ _]code:) (-?\d{1,10})")
_FAILED = ("apply_patch verification failed", "exec_command failed", "write_stdin failed", "collab spawn failed")
_REJECTED = "rejected by user"
# A patch handed over as a command, which Codex takes for the patch: `cd x && apply_patch <<'EOF' …`, `apply_patch "…"`.
# What comes of it has two heads.
_PATCH_RUN = re.compile(r"\s*(?:cd\s+(\S+)\s*&&\s*)?apply_?patch\b[^\n]{0,40}\s*\*\*\* Begin Patch$", re.MULTILINE)
_TWO_HEADS = re.compile(r"Wall time: [\d.]+ seconds\nOutput:\n(?=Exit code: -?\d+\nWall time: )")


def _message(state: State, payload: Mapping[str, Any]) -> Iterator[Event]:
    role = payload.get("role")
    text, bodies = content_of(payload.get("content"))
    if not text.strip():
        return
    if role == "assistant":
        yield from state.decide()
        yield state.event("assistant_text", "assistant", "assistant", text, state.identity(payload, "message"))
    elif role == "user":
        yield from state.heard(text, bodies)
    elif role == "developer" and not text.lstrip().startswith(_INSTRUCTIONS):
        yield state.injected(text, bodies)


def content_of(content: object) -> tuple[str, tuple[Body, ...]]:
    """The text of a message or an output, its images aside."""
    if isinstance(content, str):
        return content, ()
    texts: list[str] = []
    bodies: list[Body] = []
    for part in content if isinstance(content, list) else [content]:
        part = dict_of(part)
        url = part.get("image_url") or part.get("url")
        if isinstance(part.get("text"), str):
            if part["text"] != "</image>" and not part["text"].startswith("<image"):
                texts.append(part["text"])
        elif isinstance(url, str):
            body = data_url_body(url)
            bodies += [body] if body else []
            texts.append("[image]")
    return "\n".join(texts), tuple(bodies)


def _reasoning(state: State, payload: Mapping[str, Any]) -> Iterator[Event]:
    text = "\n\n".join(filter(str.strip, (content_of(payload.get(field))[0] for field in ("summary", "content"))))
    if text:
        yield from state.decide()
        yield state.event("thinking", "assistant", "assistant", text, state.identity(payload, "reasoning"))


def _agent_mail(state: State, payload: Mapping[str, Any]) -> Iterator[Event]:
    """A message of another agent; the first one a subagent gets, when nothing else was asked of it, is its task."""
    text, bodies = content_of(payload.get("content"))
    if not text.strip():
        return
    if state.subagent and not state.prompted:
        yield state.prompt(text, bodies)
    else:
        native = state.identity(payload, "agent_message")
        meta = {"from": text_of(payload.get("author")), "to": text_of(payload.get("recipient"))}
        yield state.event("injected_context", "system", "assistant", text, native, meta, bodies)


# -- calls


def _call(state: State, payload: Mapping[str, Any]) -> Iterator[Event]:
    name = text_of(payload.get("name")) or "unknown"
    space = text_of(payload.get("namespace"))
    if space.startswith("mcp__") and not name.startswith(space):
        name = f"{space.rstrip('_')}__{name}"
    given = payload.get("input") if payload.get("type") == "custom_tool_call" else payload.get("arguments")
    yield from called(state, name, given, text_of(payload.get("call_id")))


def called(state: State, name: str, given: Any, call: str) -> Iterator[Event]:
    """A call, remembered until its result comes."""
    yield from state.decide()
    kind, text, meta = describe(name, given, call)
    patch = _PATCH_RUN.match(text) if meta["action"] == "shell" else None
    if patch:
        files = describe("apply_patch", text)[2].get("files", ())
        folder = (patch[1] or "").strip("'\"")
        kind, meta = "edit", {**meta, "action": "edit", "files": [str(Path(folder, file)) for file in files]}
    native = state.calling(call, "call")
    if call:
        state.calls[call] = name, meta["action"], native
    yield state.event(kind, "assistant", "assistant", text, native, meta)


def _local_shell(state: State, payload: Mapping[str, Any]) -> Iterator[Event]:
    call = text_of(payload.get("call_id")) or text_of(payload.get("id"))
    action = {key: value for key, value in dict_of(payload.get("action")).items() if key != "type" and value}
    yield from called(state, "local_shell", action, call)


def _web_search(state: State, payload: Mapping[str, Any]) -> Iterator[Event]:
    action = {key: value for key, value in dict_of(payload.get("action")).items() if key != "type" and value}
    if action:
        yield from called(state, "web_search", action, text_of(payload.get("id")))


def _tool_search(state: State, payload: Mapping[str, Any]) -> Iterator[Event]:
    yield from called(state, "tool_search", payload.get("arguments"), text_of(payload.get("call_id")))


def _image(state: State, payload: Mapping[str, Any]) -> Iterator[Event]:
    call = text_of(payload.get("id"))
    yield from called(state, "image_generation", {"prompt": text_of(payload.get("revised_prompt"))}, call)
    body = decoded(text_of(payload.get("result")), "image/png")
    if body:
        yield returned(state, call, "[image]", (body,), {})


# -- what came of them


def _output(state: State, payload: Mapping[str, Any]) -> Iterator[Event]:
    call, output = text_of(payload.get("call_id")), payload.get("output")
    facts: dict[str, Any] = {}
    if isinstance(output, dict) and "content" in output:
        if isinstance(output.get("success"), bool):
            facts["error"] = not output["success"]
        output = output["content"]
    text, bodies = content_of(output)
    text, code = _unwrapped(text)
    ended = state.exits.pop(call, None)
    if code is None and ended is not None:
        code = ended[0]
    if ended is not None and ended[1]:
        facts["error"] = True
    if code is not None:
        facts |= {"exit": code, "error": code != 0 or facts.get("error", False)}
    elif text.startswith((*_FAILED, "aborted by user")) or _REJECTED in text[:300]:
        facts["error"] = True
    yield returned(state, call, text, bodies, facts)
    if _REJECTED in text[:300] and facts.get("error") and "rejected by user approval settings" not in text[:300]:
        yield state.event(
            "human_intervention", "system", "user", text, state.again("denied"), {"call": call, "what": "denied"}
        )


def returned(state: State, call: str, text: str, bodies: tuple[Body, ...], facts: dict[str, Any]) -> Event:
    """The result of a call, with what is remembered of the call."""
    meta: dict[str, Any] = {"call": call} if call else {}
    action = ""
    if call in state.calls:
        tool, action, native = state.calls[call]
        meta |= {"tool": tool, "action": action}
    else:
        native = state.calling(call, "output")
    native = state.reading.again(*native)
    return state.event("tool_result", "tool", result_origin(action), text, native, meta | facts, bodies)


def _unwrapped(text: str) -> tuple[str, int | None]:
    """What a tool printed, and its exit code, out of the forms Codex has wrapped them in."""
    if text.startswith('{"output":'):
        try:
            document = orjson.loads(text)
        except ValueError:
            document = None
        if isinstance(document, dict) and isinstance(document.get("output"), str):
            code = dict_of(document.get("metadata")).get("exit_code")
            return document["output"], code if type(code) is int else None
    first = _TWO_HEADS.match(text)
    text = text[first.end() :] if first else text
    if text.startswith(_RUN_HEADS):
        end = text.find(_RUN_BODY)
        found = _CODE.search(text, max(end - 200, 0), end) if end > 0 else None
        if found or text.rfind("Process running with session ID", 0, max(end, 0)) >= 0:
            return text[end + len(_RUN_BODY) :], int(found[1]) if found else None
        return text, None
    if text.startswith(_FAILED):
        found = _CODE.search(text[:2_000])
        return text, int(found[1]) if found else None
    return text, None


def silent(names: str) -> dict[str, Any]:
    """Kinds that are known and tell nothing that is not told elsewhere."""
    return dict.fromkeys(names.split(), False)


ITEMS: dict[str, Any] = {
    "message": _message,
    "reasoning": _reasoning,
    "function_call": _call,
    "custom_tool_call": _call,
    "local_shell_call": _local_shell,
    "web_search_call": _web_search,
    "tool_search_call": _tool_search,
    "image_generation_call": _image,
    "function_call_output": _output,
    "custom_tool_call_output": _output,
    "agent_message": _agent_mail,
    **silent("compaction compaction_summary context_compaction compaction_trigger ghost_snapshot tool_search_output"),
    **silent("additional_tools other"),
}
