"""A language model behind an OpenAI-compatible endpoint: OpenAI, Databricks, Ollama, vLLM, llama.cpp and others.

    POST {base_url}/chat/completions   {"model": "...", "messages": [...], "response_format": {...}, "max_tokens": 2000}
    200  {"choices": [{"message": {"content": "..."}}], "usage": {"prompt_tokens": 10, "completion_tokens": 5}}

A server that answers 400 to the response format is asked again without it, and from then on never with it.
"""

from __future__ import annotations

import json
from typing import Any

from recollect.errors import ModelRefused
from recollect.models.language import MAX_REPLY_BYTES, Ask, Reply, counted, told_usd
from recollect.models.wire import Endpoint, RetryableError, bearer, check_key, check_url

WHAT = "language model"
URL = "https://api.openai.com/v1"
KEY_VARIABLE = "OPENAI_API_KEY"
TIMEOUT = 120.0


class OpenAIModel:
    """One model at one endpoint; safe to share between threads."""

    overhead = 200

    def __init__(self, model: str, api_key: str, url: str = "", *, timeout: float = TIMEOUT) -> None:
        self.name = f"openai:{model}"
        self._model = model
        self._endpoint = Endpoint(WHAT, check_url(url or URL, WHAT), bearer(check_key(api_key, WHAT)), timeout)
        # OpenAI's own newer models refuse the old name; most other servers know only that one.
        self._limit = "max_completion_tokens" if self._endpoint.url.hostname == "api.openai.com" else "max_tokens"
        self._takes_schema = True

    def __repr__(self) -> str:
        return f"OpenAIModel({self.name!r})"

    def complete(self, ask: Ask) -> Reply:
        """Ask once; a server that does not take the schema is a `RetryableError` the first time."""
        asked: dict[str, Any] = {
            "model": self._model,
            "messages": [{"role": "system", "content": ask.system}, {"role": "user", "content": ask.prompt}],
            self._limit: ask.max_tokens,
        }
        with_schema = self._takes_schema
        if with_schema:
            form = {"name": "answer", "strict": True, "schema": dict(ask.schema)}
            asked["response_format"] = {"type": "json_schema", "json_schema": form}
        try:
            return self._read(self._endpoint.post("/chat/completions", asked, MAX_REPLY_BYTES), ask)
        except ModelRefused as refusal:
            if not with_schema or refusal.status != 400:
                raise
            self._takes_schema = False
            raise RetryableError("it does not take a schema", 0.0, spent=False) from None

    def _read(self, answer: bytes, ask: Ask) -> Reply:
        try:
            found = json.loads(answer)
            text, usage = _said(found["choices"][0]["message"]["content"]), found.get("usage")
        except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
            raise self._endpoint.unavailable("its answer is not a completion") from None
        usage = usage if isinstance(usage, dict) else {}
        read = counted(usage.get("prompt_tokens"), ask.system + ask.prompt)
        usd = told_usd(usage.get("cost"))  # some gateways tell it
        return Reply(text, read, counted(usage.get("completion_tokens"), text), usd)


def _said(content: Any) -> str:
    """The text of a message; some servers give it in parts, of which those that reason are left out."""
    if isinstance(content, list):
        parts = [part for part in content if isinstance(part, dict) and isinstance(part.get("text"), str)]
        return "".join(part["text"] for part in parts)
    return content if isinstance(content, str) else ""
