"""The protocol without a wire: every message gets the answer the specification gives it, and none breaks it."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.mcp import protocol
from recollect.mcp.protocol import ENVELOPED, GREETED, MAX_MESSAGE, Conversation, Message, Result
from recollect.mcp.tools import TOOLS
from recollect.model import KINDS

META = {protocol.VERSION_KEY: "2026-07-28", protocol.ABILITIES_KEY: {}}
# What agents are told about the tools. A change here changes every agent's context: make it on purpose, then this hash.
PINNED = "db5144eb543c69c225e205ebb571d144a92a24e7631dab9d233d24ed568b49ee"


def echo(name: str, arguments: dict[str, Any]) -> Result:
    return Result(f"{name} {json.dumps(arguments, sort_keys=True)}")


def say(conversation: Conversation, message: Any) -> Any:
    data = message if isinstance(message, bytes) else json.dumps(message).encode()
    answer = conversation.answer(data)
    return None if answer is None else json.loads(answer)


def request(method: str, params: Any = None, id_: Any = 1) -> dict[str, Any]:
    message = {"jsonrpc": "2.0", "id": id_, "method": method}
    return message if params is None else {**message, "params": params}


def hello(version: str = "2025-11-25", **capabilities: Any) -> dict[str, Any]:
    about = {"protocolVersion": version, "capabilities": capabilities, "clientInfo": {"name": "x", "version": "1"}}
    return request("initialize", about)


# -- greeting ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("version", GREETED)
def test_a_published_version_is_agreed_to(version: str) -> None:
    answer = say(Conversation(echo), hello(version))
    assert answer["result"]["protocolVersion"] == version
    assert answer["result"]["serverInfo"]["name"] == "recollect"
    assert answer["result"]["capabilities"] == {"tools": {"listChanged": False}}


@pytest.mark.parametrize("version", ["1999-01-01", "2026-07-28", "2031-01-01", ""])
def test_another_version_is_answered_with_the_latest_that_greets(version: str) -> None:
    assert say(Conversation(echo), hello(version))["result"]["protocolVersion"] == "2025-11-25"


@pytest.mark.parametrize("params", [{}, {"protocolVersion": 1, "capabilities": {}}, {"protocolVersion": "2025-11-25"}])
def test_a_greeting_without_its_parts_is_refused(params: dict[str, Any]) -> None:
    assert say(Conversation(echo), request("initialize", params))["error"]["code"] == -32602


def test_without_greeting_every_request_brings_its_version() -> None:
    talk = Conversation(echo)
    found = say(talk, request("server/discover", {"_meta": META}))["result"]
    assert (found["supportedVersions"], found["resultType"], found["cacheScope"]) == (
        list(ENVELOPED),
        "complete",
        "public",
    )
    listed = say(talk, request("tools/list", {"_meta": META}))["result"]
    assert (len(listed["tools"]), listed["resultType"]) == (len(TOOLS), "complete")
    called = say(talk, request("tools/call", {"_meta": META, "name": "recall", "arguments": {"query": "x"}}))["result"]
    assert (called["resultType"], called["isError"]) == ("complete", False)
    assert called["_meta"][protocol.SERVER_KEY]["name"] == "recollect"


@pytest.mark.parametrize(
    ("meta", "code"),
    [
        ({protocol.VERSION_KEY: "2031-01-01", protocol.ABILITIES_KEY: {}}, -32022),
        ({protocol.VERSION_KEY: 7, protocol.ABILITIES_KEY: {}}, -32602),
        ({protocol.VERSION_KEY: "2026-07-28"}, -32602),
    ],
    ids=["unknown version", "version is no text", "no abilities"],
)
def test_an_envelope_that_is_wrong_is_refused(meta: dict[str, Any], code: int) -> None:
    error = say(Conversation(echo), request("tools/list", {"_meta": meta}))["error"]
    assert error["code"] == code
    if code == -32022:
        assert error["data"]["requested"] == "2031-01-01"
        assert set(error["data"]["supported"]) == {*GREETED, *ENVELOPED}


@pytest.mark.parametrize("method", ["ping", "initialize/x", "resources/list", "subscriptions/listen"])
def test_what_the_newer_way_does_not_have_is_no_method(method: str) -> None:
    assert say(Conversation(echo), request(method, {"_meta": META}))["error"]["code"] == -32601


# -- requests ----------------------------------------------------------------------------------------------------------


def test_a_ping_is_answered_with_nothing() -> None:
    assert say(Conversation(echo), request("ping", id_="p")) == {"jsonrpc": "2.0", "id": "p", "result": {}}


@pytest.mark.parametrize(
    ("message", "code"),
    [
        (b"{", -32700),
        (b"\xff\xfe", -32700),
        (b"[" * 100_000, -32700),
        (b'{"id":' + b"9" * 5_000 + b"}", -32700),
        (b"x" * (MAX_MESSAGE + 1), -32600),
        (1, -32600),
        ("text", -32600),
        (None, -32600),
        ({}, -32600),
        ({"jsonrpc": "1.0", "id": 1, "method": "ping"}, -32600),
        ({"jsonrpc": "2.0", "id": None, "method": "ping"}, -32600),
        ({"jsonrpc": "2.0", "id": 1.5, "method": "ping"}, -32600),
        ({"jsonrpc": "2.0", "id": True, "method": "ping"}, -32600),
        ({"jsonrpc": "2.0", "id": [], "method": "ping"}, -32600),
        ({"jsonrpc": "2.0", "id": 1, "method": 7}, -32600),
        ({"jsonrpc": "2.0", "id": 1}, -32600),
        (request("nothing/like/this"), -32601),
        (request("resources/list"), -32601),
        (request("tools/list", [1]), -32602),
        (request("tools/list", {"cursor": "x"}), -32602),
        (request("tools/call"), -32602),
        (request("tools/call", {"name": 5}), -32602),
        (request("tools/call", {"name": "forget_everything"}), -32602),
        (request("tools/call", {"name": "recall", "arguments": "x"}), -32602),
    ],
)
def test_what_cannot_be_answered_says_why(message: Any, code: int) -> None:
    answer = say(Conversation(echo), message)
    assert answer["error"]["code"] == code
    assert answer["id"] in (1, None)


def test_half_a_letter_in_an_id_comes_back_as_it_was() -> None:
    assert say(Conversation(echo), b'{"jsonrpc":"2.0","id":"\\ud800","method":"ping"}')["id"] == "\ud800"


def test_a_tool_that_breaks_is_an_error_without_its_words() -> None:
    def broken(name: str, arguments: dict[str, Any]) -> Result:
        raise RuntimeError("the secret path")

    answer = say(Conversation(broken), request("tools/call", {"name": "recall", "arguments": {}}))
    assert answer["error"] == {"code": -32603, "message": "unexpected RuntimeError"}


# -- what gets no answer -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "message",
    [
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 99}},
        {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": [1]},
        {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": []}},
        {"jsonrpc": "2.0", "method": "notifications/anything"},
        {"jsonrpc": "2.0", "method": "tools/call", "params": 7},
        {"jsonrpc": "2.0", "id": 4, "result": {}},
        {"jsonrpc": "2.0", "id": None, "error": {"code": 1, "message": "x"}},
    ],
)
def test_notifications_and_answers_get_none(message: dict[str, Any]) -> None:
    assert say(Conversation(echo, moved=lambda roots: None), message) is None


def test_a_cancelled_call_is_not_answered() -> None:
    talk = Conversation(echo)
    call = talk.read(json.dumps(request("tools/call", {"name": "recall", "arguments": {}}, 8)).encode())
    assert call.slow
    say(talk, {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 8}})
    assert talk.reply(call) is None
    again = talk.read(json.dumps(request("tools/call", {"name": "recall", "arguments": {}}, 8)).encode())
    assert talk.reply(again) is not None


def test_a_call_cancelled_before_it_began_need_not_begin() -> None:
    talk = Conversation(echo)
    call = talk.read(json.dumps(request("tools/call", {"name": "recall", "arguments": {}}, "a")).encode())
    assert not talk.is_cancelled(call)
    say(talk, {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": "a"}})
    assert talk.is_cancelled(call)
    assert not talk.is_cancelled(Message([1]))


# -- batches -----------------------------------------------------------------------------------------------------------


def test_a_batch_is_answered_as_one_where_the_version_has_batches() -> None:
    talk = Conversation(echo, version="2025-03-26")
    note = {"jsonrpc": "2.0", "method": "notifications/initialized"}
    answers = say(talk, [request("ping", id_=1), note, request("nope", id_=2), 7])
    assert [one["id"] for one in answers] == [1, 2, None]
    assert say(talk, [note, note]) is None


@pytest.mark.parametrize("version", [one for one in GREETED if one != "2025-03-26"])
def test_other_versions_have_no_batches(version: str) -> None:
    assert say(Conversation(echo, version=version), [request("ping")])["error"]["code"] == -32600


@pytest.mark.parametrize("batch", [[], [request("ping")] * 51], ids=["empty", "too many"])
def test_a_batch_has_its_bounds(batch: list[Any]) -> None:
    assert say(Conversation(echo, version="2025-03-26"), batch)["error"]["code"] == -32600


def test_a_greeting_stands_alone() -> None:
    assert say(Conversation(echo, version="2025-03-26"), [hello()])[0]["error"]["code"] == -32600


# -- roots -------------------------------------------------------------------------------------------------------------


def test_a_client_with_roots_is_asked_for_them_and_again_when_they_change() -> None:
    told: list[list[str]] = []
    talk = Conversation(echo, moved=told.append)
    say(talk, hello(roots={"listChanged": True}))
    first = say(talk, {"jsonrpc": "2.0", "method": "notifications/initialized"})
    assert first["method"] == "roots/list"
    assert talk.asked_roots
    second = say(talk, {"jsonrpc": "2.0", "method": "notifications/roots/list_changed"})
    late = {"jsonrpc": "2.0", "id": first["id"], "result": {"roots": [{"uri": "file:///old"}]}}
    assert (say(talk, late), told) == (None, [])
    say(talk, {"jsonrpc": "2.0", "id": second["id"], "result": {"roots": [{"uri": "file:///a"}, {"uri": 7}, 8]}})
    assert (told, talk.asked_roots) == ([["file:///a"]], False)
    say(talk, {"jsonrpc": "2.0", "id": second["id"], "result": {"roots": [{"uri": "file:///again"}]}})
    assert told == [["file:///a"]]


def test_a_client_that_refuses_to_tell_its_roots_has_none() -> None:
    told: list[list[str]] = []
    talk = Conversation(echo, moved=told.append)
    say(talk, hello(roots={}))
    asked = say(talk, {"jsonrpc": "2.0", "method": "notifications/initialized"})
    say(talk, {"jsonrpc": "2.0", "id": asked["id"], "error": {"code": -32601, "message": "no"}})
    assert told == [[]]


def test_a_client_without_roots_is_asked_nothing() -> None:
    talk = Conversation(echo, moved=lambda roots: None)
    say(talk, hello())
    assert say(talk, {"jsonrpc": "2.0", "method": "notifications/initialized"}) is None


# -- the tools as they are told of -------------------------------------------------------------------------------------


def test_the_list_of_tools_is_what_was_decided() -> None:
    """T30: static descriptions, pinned."""
    listed = say(Conversation(echo), request("tools/list"))["result"]
    told = json.dumps([listed, protocol.INSTRUCTIONS], sort_keys=True).encode()
    assert hashlib.sha256(told).hexdigest() == PINNED


def test_there_are_at_most_eight_tools_each_with_its_hints() -> None:
    assert len(TOOLS) <= 8
    for tool in TOOLS:
        assert {"readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint"} <= tool["annotations"].keys()
        assert tool["annotations"]["openWorldHint"] is False
        assert tool["inputSchema"]["additionalProperties"] is False
        assert len(tool["description"]) < 400
    writing = {tool["name"] for tool in TOOLS if not tool["annotations"]["readOnlyHint"]}
    assert writing == {"memory_save", "memory_forget"}
    assert [tool["name"] for tool in TOOLS if tool["annotations"]["destructiveHint"]] == ["memory_forget"]


def test_an_agent_is_offered_every_kind_but_preference() -> None:
    save = next(tool for tool in TOOLS if tool["name"] == "memory_save")
    assert set(save["inputSchema"]["properties"]["kind"]["enum"]) == set(KINDS) - {"preference"}


# -- anything at all ---------------------------------------------------------------------------------------------------

scalars = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=20)
anything = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4)
)
methods = st.sampled_from(
    ["initialize", "ping", "tools/list", "tools/call", "server/discover", "notifications/cancelled", "roots/list", "x"]
)
messages = st.fixed_dictionaries(
    {},
    optional={
        "jsonrpc": st.sampled_from(["2.0", "1.0", None]),
        "id": scalars | st.integers(0, 5),
        "method": methods | scalars,
        "params": anything
        | st.fixed_dictionaries(
            {},
            optional={
                "name": st.sampled_from([tool["name"] for tool in TOOLS]) | scalars,
                "arguments": anything,
                "requestId": st.integers(0, 5),
                "_meta": st.just(META) | anything,
                "protocolVersion": st.sampled_from(GREETED) | scalars,
                "capabilities": st.just({"roots": {}}) | anything,
            },
        ),
        "result": anything,
        "error": anything,
    },
)


def is_valid(answer: Any) -> bool:
    """Whether this is a request, an answer or an error as JSON-RPC has them."""
    if answer["jsonrpc"] != "2.0" or not (protocol.is_id(answer["id"]) or answer["id"] is None):
        return False
    if "method" in answer:
        return bool(answer["method"] == "roots/list")
    if "error" in answer:
        return isinstance(answer["error"]["code"], int) and isinstance(answer["error"]["message"], str)
    return isinstance(answer["result"], dict) and answer["id"] is not None


@given(st.lists(messages | anything, max_size=6), st.sampled_from([*GREETED, *ENVELOPED]))
def test_whatever_comes_is_answered_validly_or_not_at_all(said: list[Any], version: str) -> None:
    talk = Conversation(echo, version=version, moved=lambda roots: None)
    for message in said:
        data = json.dumps(message).encode()
        assert len(talk.read(data)) == 3
        answer = talk.answer(data)
        if answer is None:
            continue
        assert b"\n" not in answer
        found = json.loads(answer)
        for one in found if isinstance(found, list) else [found]:
            assert is_valid(one)
        if isinstance(message, dict) and message.get("jsonrpc") == "2.0" and isinstance(message.get("method"), str):
            assert protocol.is_id(message.get("id")) is (found["id"] is not None) or "method" in found


@given(st.binary(max_size=200))
def test_bytes_without_sense_are_refused(data: bytes) -> None:
    answer = Conversation(echo).answer(data)
    assert answer is None or is_valid(json.loads(answer))
