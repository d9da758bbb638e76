"""A language model behind the Anthropic Messages API: one question in, the input of a forced tool out.

POST {base_url}/v1/messages   {"model": "...", "max_tokens": 2000, "system": "...", "messages": [...],
                               "tools": [{"name": "answer", "input_schema": {...}}], "tool_choice": {...}}
200  {"content": [{"type": "tool_use", "input": {...}}], "usage": {"input_tokens": 10, "output_tokens": 5}}
"""

from __future__ import annotations

import json
from typing import Any

from recollect.models.language import MAX_REPLY_BYTES, Ask, Reply, counted
from recollect.models.wire import Endpoint, check_key, check_url

WHAT = "language model"
URL = "https://api.anthropic.com"
KEY_VARIABLE = "ANTHROPIC_API_KEY"
API_VERSION = "2023-06-01"
TOOL = "answer"
TIMEOUT = 120.0
_BUCKETS = ("cache_creation_input_tokens", "cache_read_input_tokens")  # told beside `input_tokens`, and paid for too


class AnthropicModel:
    """One model of Anthropic's; safe to share between threads."""

    overhead = 600  # what the provider writes around a forced tool

    def __init__(self, model: str, api_key: str, url: str = "", *, timeout: float = TIMEOUT) -> None:
        self.name = f"anthropic:{model}"
        self._model = model
        headers = {"anthropic-version": API_VERSION}
        if api_key:
            headers["x-api-key"] = check_key(api_key, WHAT)
        self._endpoint = Endpoint(WHAT, check_url(url or URL, WHAT), headers, timeout)

    def __repr__(self) -> str:
        return f"AnthropicModel({self.name!r})"

    def complete(self, ask: Ask) -> Reply:
        """Ask once; the answer is the tool's input as JSON, or what was said instead."""
        asked = {
            "model": self._model,
            "max_tokens": ask.max_tokens,
            "system": ask.system,
            "messages": [{"role": "user", "content": ask.prompt}],
            "tools": [{"name": TOOL, "description": "Give the answer.", "input_schema": dict(ask.schema)}],
            "tool_choice": {"type": "tool", "name": TOOL},
        }
        path = "/messages" if self._endpoint.url.path.endswith("/v1") else "/v1/messages"
        answer = self._endpoint.post(path, asked, MAX_REPLY_BYTES)
        try:
            found = json.loads(answer)
            text, usage = _said(found["content"]), found.get("usage")
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            raise self._endpoint.unavailable("its answer is not a message") from None
        usage = usage if isinstance(usage, dict) else {}
        paid = sum(counted(usage[name], "") for name in _BUCKETS if name in usage)
        read = counted(usage.get("input_tokens"), ask.system + ask.prompt)
        return Reply(text, read + paid, counted(usage.get("output_tokens"), text))


def _said(content: list[Any]) -> str:
    """The input of the tool, or the text blocks when it was not used."""
    blocks = [block for block in content if isinstance(block, dict)]
    for block in blocks:
        if block.get("type") == "tool_use" and block.get("name") == TOOL:
            return json.dumps(block.get("input"), ensure_ascii=False)
    return "".join(block["text"] for block in blocks if isinstance(block.get("text"), str))
