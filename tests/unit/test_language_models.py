"""Language models over real HTTP: what is sent, what is read, and that keys and texts stay out of every message."""

from __future__ import annotations

import json
import logging

import pytest
from tests.llm_fixture import KEY, Endpoint, body, completion, dripping, flooding, hanging, send, status, tool_use

from recollect.capture.privacy import INNER_MARK
from recollect.errors import InvalidInput, ModelRefused, ModelUnavailable, RecollectError
from recollect.models.anthropic import AnthropicModel
from recollect.models.language import MAX_REPLY_BYTES, TASK_MARK, Ask, LanguageModel, Reply, choose_language
from recollect.models.openai import OpenAIModel
from recollect.models.wire import RetryableError
from recollect.settings import Settings

ASK = Ask("You are terse.", "private text", {"type": "object", "properties": {}}, max_tokens=50)
BOTH = pytest.mark.parametrize("provider", ["anthropic", "openai"])


def model_of(endpoint: Endpoint, provider: str, timeout: float = 5.0) -> LanguageModel:
    return endpoint.anthropic(timeout) if provider == "anthropic" else endpoint.openai(timeout)


def fails_with(model: LanguageModel, kind: type[Exception]) -> Exception:
    with pytest.raises(kind) as caught:
        model.complete(ASK)
    error = caught.value
    said = f"{error!r} {error} {getattr(error, 'hint', '')} {error.__cause__!r} {model!r}"
    assert KEY not in said
    assert "private text" not in said
    return error


def test_anthropic_is_asked_with_a_forced_tool(endpoint: Endpoint) -> None:
    endpoint.answers = [tool_use({"memories": []}, 120, 7)]
    reply = endpoint.anthropic().complete(ASK)
    assert (json.loads(reply.text), reply.input_tokens, reply.output_tokens) == ({"memories": []}, 120, 7)
    assert endpoint.paths == ["/v1/messages"]
    assert endpoint.headers[0]["x-api-key"] == KEY
    assert endpoint.headers[0]["anthropic-version"] == "2023-06-01"
    asked = endpoint.asked[0]
    assert (asked["model"], asked["max_tokens"], asked["system"]) == ("some-model", 50, "You are terse.")
    assert asked["messages"] == [{"role": "user", "content": "private text"}]
    assert asked["tools"][0]["input_schema"] == ASK.schema
    assert asked["tool_choice"] == {"type": "tool", "name": asked["tools"][0]["name"]}


def test_anthropic_counts_what_its_cache_took(endpoint: Endpoint) -> None:
    usage = {"input_tokens": 10, "cache_creation_input_tokens": 20, "cache_read_input_tokens": 30, "output_tokens": 4}
    said = {"content": [{"type": "text", "text": "plain words"}], "usage": usage}
    endpoint.answers = [body(json.dumps(said).encode())]
    assert endpoint.anthropic().complete(ASK) == Reply("plain words", 60, 4)


def test_openai_is_asked_with_a_strict_schema(endpoint: Endpoint) -> None:
    endpoint.answers = [completion('{"a": 1}', 33, 5)]
    assert endpoint.openai().complete(ASK) == Reply('{"a": 1}', 33, 5)
    assert endpoint.paths == ["/v1/chat/completions"]
    assert endpoint.headers[0]["Authorization"] == f"Bearer {KEY}"
    asked = endpoint.asked[0]
    assert [message["role"] for message in asked["messages"]] == ["system", "user"]
    assert asked["max_tokens"] == 50
    assert asked["response_format"]["json_schema"]["schema"] == ASK.schema
    assert asked["response_format"]["json_schema"]["strict"] is True


def test_openai_itself_is_told_the_limit_by_its_newer_name() -> None:
    assert OpenAIModel("m", KEY)._limit == "max_completion_tokens"
    assert OpenAIModel("m", KEY, "https://example.com/serving-endpoints")._limit == "max_tokens"


def test_a_server_without_schemas_is_asked_without_one_from_then_on(endpoint: Endpoint) -> None:
    endpoint.answers = [status(400), completion("{}")]
    model = endpoint.openai()
    failure = fails_with(model, RetryableError)
    assert isinstance(failure, RetryableError)
    assert (failure.spent, failure.pause(0.5)) == (False, 0.0)
    model.complete(ASK)
    model.complete(ASK)
    assert ["response_format" in asked for asked in endpoint.asked] == [True, False, False]
    endpoint.answers = [status(400)]
    fails_with(model, ModelRefused)


def test_without_usage_it_is_estimated(endpoint: Endpoint) -> None:
    endpoint.answers = [completion("four")]
    reply = endpoint.openai().complete(ASK)
    assert (reply.input_tokens, reply.output_tokens) == (7, 1)


@pytest.mark.parametrize("told", [0, -5, True, "many", 10**12, None, 1.5])
def test_nonsense_usage_is_not_believed(endpoint: Endpoint, told: object) -> None:
    said = {"choices": [{"message": {"content": "four"}}], "usage": {"prompt_tokens": told, "completion_tokens": told}}
    endpoint.answers = [body(json.dumps(said).encode())]
    assert endpoint.openai().complete(ASK) == Reply("four", 7, 1)


@pytest.mark.parametrize(
    ("told", "usd"), [(0.002, 0.002), (1, 1.0), (-1, None), (True, None), (1e9, None), ("x", None)]
)
def test_a_price_the_server_tells_is_taken(endpoint: Endpoint, told: object, usd: float | None) -> None:
    said = {"choices": [{"message": {"content": "x"}}], "usage": {"prompt_tokens": 3, "cost": told}}
    endpoint.answers = [body(json.dumps(said).encode())]
    assert endpoint.openai().complete(ASK).usd == usd


def test_a_message_in_parts_is_put_together(endpoint: Endpoint) -> None:
    parts = [{"type": "reasoning", "summary": []}, {"type": "text", "text": "a"}, {"type": "text", "text": "b"}, 3]
    endpoint.answers = [body(json.dumps({"choices": [{"message": {"content": parts}}]}).encode())]
    assert endpoint.openai().complete(ASK).text == "ab"


@BOTH
@pytest.mark.parametrize("code", [429, 500, 503, 529])
def test_a_passing_failure_may_be_tried_again_by_who_pays(endpoint: Endpoint, provider: str, code: int) -> None:
    endpoint.answers = [status(code, Retry_After="7")]
    failure = fails_with(model_of(endpoint, provider), RetryableError)
    assert isinstance(failure, RetryableError)
    assert (failure.spent, failure.pause(0.5)) == (True, 7.0)
    assert endpoint.calls == 1


@BOTH
@pytest.mark.parametrize("code", [401, 403, 404, 413, 422])
def test_a_refusal_is_final_and_cost_nothing(endpoint: Endpoint, provider: str, code: int) -> None:
    endpoint.answers = [status(code)]
    refusal = fails_with(model_of(endpoint, provider), ModelRefused)
    assert isinstance(refusal, ModelRefused)
    assert refusal.status == code
    assert endpoint.calls == 1


@BOTH
@pytest.mark.parametrize("code", [301, 302, 307, 308])
def test_a_redirect_is_not_followed(endpoint: Endpoint, provider: str, code: int) -> None:
    endpoint.answers = [status(code, Location=f"{endpoint.url}/elsewhere"), completion("x")]
    fails_with(model_of(endpoint, provider), ModelRefused)
    assert endpoint.calls == 1


@BOTH
def test_a_server_that_hangs_or_drips_is_given_up(endpoint: Endpoint, provider: str) -> None:
    for answer in (hanging(endpoint), dripping(endpoint)):
        endpoint.answers = [answer]
        fails_with(model_of(endpoint, provider, timeout=0.2), RetryableError)


@BOTH
def test_an_answer_of_a_hundred_megabytes_is_cut(endpoint: Endpoint, provider: str) -> None:
    endpoint.answers = [flooding(100_000_000)]
    error = fails_with(model_of(endpoint, provider), ModelUnavailable)
    assert f"larger than {MAX_REPLY_BYTES:,} bytes" in str(error)


@BOTH
@pytest.mark.parametrize(
    "answer",
    [b"", b"<html>", b"[]", b"null", b"3", b'{"choices": []}', b'{"choices": 3, "content": 3}', b"[" * 60_000, b"\xff"],
)
def test_an_answer_of_another_kind_is_refused(endpoint: Endpoint, provider: str, answer: bytes) -> None:
    endpoint.answers = [body(answer)]
    fails_with(model_of(endpoint, provider), ModelUnavailable)
    assert endpoint.calls == 1


@BOTH
def test_a_broken_connection_is_one_clear_error(endpoint: Endpoint, provider: str) -> None:
    endpoint.answers = [lambda handler, _asked: handler.connection.close()]
    assert not isinstance(fails_with(model_of(endpoint, provider), ModelUnavailable), ModelRefused)


@pytest.mark.parametrize("build", [AnthropicModel, OpenAIModel])
def test_a_closed_port_cost_nothing(build: type[AnthropicModel] | type[OpenAIModel]) -> None:
    fails_with(build("m", KEY, "http://127.0.0.1:1/v1"), ModelRefused)


@pytest.mark.parametrize("build", [AnthropicModel, OpenAIModel])
@pytest.mark.parametrize("url", ["http://example.com/v1", "ftp://localhost", "https://u:p@example.com", "example.com"])
def test_an_unsafe_address_is_refused(build: type[AnthropicModel] | type[OpenAIModel], url: str) -> None:
    with pytest.raises(InvalidInput):
        build("m", KEY, url)


@pytest.mark.parametrize("build", [AnthropicModel, OpenAIModel])
def test_a_key_that_breaks_the_header_is_refused_without_showing_it(
    build: type[AnthropicModel] | type[OpenAIModel],
) -> None:
    with pytest.raises(InvalidInput) as caught:
        build("m", "a\r\nX-Evil: 1")
    assert "X-Evil" not in str(caught.value)


@BOTH
def test_nothing_is_logged(endpoint: Endpoint, provider: str, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    endpoint.answers = [lambda handler, asked: send(handler, 500, json.dumps(asked).encode())]
    fails_with(model_of(endpoint, provider), RetryableError)
    assert KEY not in caplog.text
    assert "private text" not in caplog.text


def test_texts_and_keys_are_not_in_what_things_look_like() -> None:
    shown = f"{ASK!r} {Reply('private text', 1, 1)!r} {AnthropicModel('m', KEY)!r} {OpenAIModel('m', KEY)._endpoint!r}"
    assert "private text" not in shown
    assert KEY not in shown


def test_the_mark_of_our_prompts_is_the_one_capture_knows() -> None:
    assert TASK_MARK == INNER_MARK


@pytest.mark.parametrize(
    ("given", "name", "why"),
    [
        ({}, None, "no language model is set"),
        ({"llm": "anthropic"}, None, "llm_model is empty"),
        ({"llm": "command"}, None, "llm_command is empty"),
        ({"llm": "anthropic", "llm_model": "claude-haiku-4-5"}, "anthropic:claude-haiku-4-5", None),
        ({"llm": "openai", "llm_model": "m", "llm_url": "http://localhost:11434/v1"}, "openai:m", None),
        ({"llm": "command", "llm_command": "/usr/bin/claude -p"}, "command:claude", None),
        ({"llm": "command", "llm_command": "claude -p", "llm_model": "haiku"}, "command:haiku", None),
    ],
)
def test_the_settings_choose(given: dict[str, str], name: str | None, why: str | None) -> None:
    model, reason = choose_language(Settings(**given))  # type: ignore[arg-type]
    assert (model.name if model else None) == name
    assert (why or "") in (reason or "")


@pytest.mark.parametrize(
    "given",
    [{"llm": "gpt"}, {"llm": "openai", "llm_model": "m", "llm_url": "x"}, {"llm": "command", "llm_command": "'"}],
)
def test_settings_that_cannot_be_used_say_so(given: dict[str, str]) -> None:
    with pytest.raises(RecollectError):
        choose_language(Settings(**given))  # type: ignore[arg-type]


def test_the_providers_own_key_goes_to_the_providers_own_host_alone(
    endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-from-outside")
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-from-outside")
    endpoint.answers = [completion("{}")]
    elsewhere = Settings(llm="openai", llm_model="m", llm_url=endpoint.url)
    model, _ = choose_language(elsewhere)
    assert model is not None
    model.complete(ASK)
    assert "Authorization" not in endpoint.headers[0]
    own, _ = choose_language(Settings(llm="openai", llm_model="m"))
    assert isinstance(own, OpenAIModel)
    assert own._endpoint.headers == {"Authorization": "Bearer sk-from-outside"}
    theirs, _ = choose_language(Settings(llm="anthropic", llm_model="m", llm_api_key="sk-set"))
    assert isinstance(theirs, AnthropicModel)
    assert theirs._endpoint.headers["x-api-key"] == "sk-set"
