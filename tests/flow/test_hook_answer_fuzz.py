"""P15: whatever an agent writes for an event that takes an answer, it gets nothing or one object its host takes."""

from __future__ import annotations

import json
import random
import subprocess
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from recollect import hook, hookreply
from tests.flow.test_hook import command, records
from tests.flow.test_hook_fuzz import NAMES, values, words
from tests.prepared_fixture import ASKING, ENTRIES, Prepared
from tests.prompts_fixture import ASKED, MEMORIES, UNRELATED

LIMITS = dict.fromkeys(hookreply.EVENTS, 10_000)  # characters that a host takes
GROUPS = {
    "start": ("SessionStart", "sessionStart"),
    "prompt": ("UserPromptSubmit", "BeforeAgent", "beforeSubmitPrompt"),
    "other": ("Stop", "SubagentStop", "PreCompact", "SessionEnd", "AfterAgent", "PostToolUse", "stop", ""),
}
DIRECTORIES = ("/home/ann/app", "/home/ann", "/", "", "relative", "/home/ann/app/../../x", "/\x00", "/é" * 3_000)

prompts = (
    st.sampled_from([*(prompt for prompt, _ in ASKED), *UNRELATED, ASKING, ASKING * 300, "/compact", "消費税"]) | words
)
members = st.fixed_dictionaries(
    {"hook_event_name": st.just("?") | values},
    optional={
        "prompt": prompts | values,
        "cwd": st.sampled_from(DIRECTORIES) | values,
        "session_id": st.sampled_from(["s-1", "", "\ud800"]) | values,
        "source": st.sampled_from(["startup", "resume", "clear", "compact", "fork"]) | values,
        "workspace_roots": st.lists(st.sampled_from(DIRECTORIES), max_size=2) | values,
        "sessionId": values,
        "hookEventName": values,
    },
)
payloads = st.builds(
    lambda more, known: {**more, **known}, st.dictionaries(st.sampled_from(NAMES) | words, values, max_size=3), members
)


def stdins(group: str) -> st.SearchStrategy[bytes]:
    """Documents for a group of events: whole, doubled, cut, or bytes."""

    def document(given: dict[str, Any], name: str, plain: bool) -> bytes:
        if given["hook_event_name"] == "?":
            given = {**given, "hook_event_name": name}
        return json.dumps(given, ensure_ascii=plain).encode("utf-8", "surrogatepass")

    documents = st.builds(document, payloads, st.sampled_from(GROUPS[group]), st.booleans())
    return st.one_of(
        documents,
        documents,
        st.tuples(documents, documents).map(b"".join),
        st.tuples(documents, st.integers(0, 300)).map(lambda cut: cut[0][: cut[1]]),
        st.tuples(documents, st.binary(max_size=20)).map(b"".join),
        st.tuples(st.binary(max_size=100), st.sampled_from(GROUPS[group]), st.binary(max_size=100)).map(
            lambda parts: parts[0] + parts[1].encode() + parts[2]
        ),
    )


def check(answer: bytes, agent: str) -> None:
    """Nothing, or one object of the host's, that says nothing but text."""
    if not answer:
        return
    assert agent in hookreply.EVENTS
    assert len(answer.decode()) <= LIMITS[agent]
    found = json.loads(answer)
    if agent == "cursor":
        assert found.keys() == {"additional_context"}
        return
    assert found.keys() == {"hookSpecificOutput"}
    inside = found["hookSpecificOutput"]
    assert inside.keys() == {"hookEventName", "additionalContext"}
    assert inside["hookEventName"] in hookreply.EVENTS[agent]
    assert isinstance(inside["additionalContext"], str)


def everything(data_dir: Path, mode: str = "recall") -> Prepared:
    """A data directory where every kind of answer lies ready."""
    one = Prepared(data_dir).mode(mode)
    for agent in (*LIMITS, "grok"):
        one.start("What is known everywhere.", None, agent)
        one.start("What is known here. " * 300, "/home/ann/app", agent)
    one.index([*ENTRIES, *((name, text, f"> {text}\n") for name, text in MEMORIES.items())])
    one.index(ENTRIES, "/home/ann/app")
    return one


@pytest.fixture(scope="module")
def ready(tmp_path_factory: pytest.TempPathFactory) -> Prepared:
    return everything(tmp_path_factory.mktemp("fuzz") / "data")


@pytest.fixture(scope="module")
def nudging(tmp_path_factory: pytest.TempPathFactory) -> Prepared:
    return everything(tmp_path_factory.mktemp("nudge") / "data", "nudge")


def tried(ready: Prepared, body: bytes, agent: str, env: Mapping[str, str]) -> bytes:
    answer = hook.reply(str(ready.data_dir), agent, body, env, time.monotonic() + 5)
    check(answer, agent)
    if agent == "grok" or "GROK_SESSION_ID" in env:
        assert answer == b""
    return answer


agents = st.sampled_from(hook.AGENTS)
environments = st.sampled_from([{}, {}, {}, {"GROK_SESSION_ID": "s-1"}, {"CLAUDE_PROJECT_DIR": "/"}])
thorough = settings(max_examples=300, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])


@pytest.mark.slow
@thorough
@given(body=stdins("start"), agent=agents, env=environments)
def test_any_start_gets_nothing_or_one_object(ready: Prepared, body: bytes, agent: str, env: dict[str, str]) -> None:
    tried(ready, body, agent, env)


@pytest.mark.slow
@thorough
@given(body=stdins("prompt"), agent=agents, env=environments)
def test_any_prompt_gets_nothing_or_one_object(ready: Prepared, body: bytes, agent: str, env: dict[str, str]) -> None:
    tried(ready, body, agent, env)


@pytest.mark.slow
@thorough
@given(body=stdins("prompt"), agent=agents, env=environments)
def test_any_prompt_is_nudged_or_not(nudging: Prepared, body: bytes, agent: str, env: dict[str, str]) -> None:
    tried(nudging, body, agent, env)


@pytest.mark.slow
@thorough
@given(body=stdins("other") | st.binary(max_size=300), agent=agents, env=environments)
def test_any_other_document_gets_nothing_or_one_object(
    ready: Prepared, body: bytes, agent: str, env: dict[str, str]
) -> None:
    tried(ready, body, agent, env)


def test_what_is_tried_does_get_answers(ready: Prepared, nudging: Prepared) -> None:
    """Else the four above would prove nothing."""
    places = random.Random(1)
    for prepared in (ready, nudging):
        for agent, events in hookreply.EVENTS.items():
            for name in events:
                given = {
                    "hook_event_name": name,
                    "prompt": ASKING,
                    "session_id": f"{places.random()}",
                    "cwd": "/home/ann",
                }
                assert tried(prepared, json.dumps(given).encode(), agent, {}) != b""


def documents(count: int) -> list[tuple[str, bytes]]:
    """A hundred pairs of agent and stdin, some of them odd, the same each time."""
    places = random.Random(7)
    names = [name for group in GROUPS.values() for name in group]
    found = []
    for number in range(count):
        agent = places.choice(hook.AGENTS)
        given: dict[str, Any] = {
            "hook_event_name": places.choice([*hookreply.EVENTS.get(agent, ()), places.choice(names)]),
            "session_id": places.choice([f"s-{number}", None, 5, "\ud800"]),
            "cwd": places.choice([*DIRECTORIES, None, [], 7]),
            "prompt": places.choice([ASKING, *UNRELATED[:5], "消費税", "x" * 30_000, {"a": ASKING}, None]),
            "source": places.choice(["startup", "clear", "compact", None]),
        }
        body = json.dumps(given).encode()
        if number % 5 == 4:
            body = body[: places.randrange(len(body))] + places.randbytes(places.randrange(50))
        found.append((agent, body))
    return found


def test_a_hundred_processes_say_nothing_or_one_object(tmp_path: Path) -> None:
    data_dir = everything(tmp_path / "data").data_dir
    answered = 0
    for agent, body in documents(100):
        done = subprocess.run(command(data_dir, agent), input=body, capture_output=True)
        assert (done.returncode, done.stderr) == (0, b"")
        check(done.stdout, agent)
        answered += bool(done.stdout)
    assert len(records(data_dir)) == 100
    assert answered > 10
