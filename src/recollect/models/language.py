"""What the rest of Recollect asks of a language model: one question in, one text with its figures out.

A model is opt-in, and asked once a call: `complete` makes one request and never tries again by itself, so that every
try can be paid for before it is made. What it may be asked is bounded (`MAX_CALL_BYTES`); what it answers is data.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from recollect.errors import InvalidInput
from recollect.text import estimate_tokens

if TYPE_CHECKING:
    from recollect.settings import Settings

PROVIDERS = ("none", "anthropic", "openai", "command")
MAX_CALL_BYTES = 32_768  # of one request, all of it
MAX_REPLY_BYTES = 1_048_576
TASK_MARK = "<recollect-task"  # a session whose first prompt begins with it is never captured
_MOST_TOKENS = 10_000_000  # a server that tells more than this of one call is wrong
_MOST_USD = 1_000.0


@dataclass(frozen=True, slots=True)
class Ask:
    """One question. The answer should be JSON of this schema; texts are not shown in messages or logs."""

    system: str = field(repr=False)
    prompt: str = field(repr=False)
    schema: Mapping[str, Any] = field(repr=False)
    max_tokens: int = 2_000


@dataclass(frozen=True, slots=True)
class Reply:
    """What a model answered, and what it took; `usd` only where the server itself tells it."""

    text: str = field(repr=False)
    input_tokens: int
    output_tokens: int
    usd: float | None = None


class LanguageModel(Protocol):
    """A model behind some wire; safe to share between threads."""

    @property
    def name(self) -> str:
        """`<provider>:<model>`, kept with what it made."""
        ...

    @property
    def overhead(self) -> int:
        """Tokens a request takes beside what we send: what the provider or the program puts before it."""
        ...

    def complete(self, ask: Ask) -> Reply:
        """Ask once; raises `wire.RetryableError`, `ModelRefused` (nothing was spent) or `ModelUnavailable`."""
        ...


def choose_language(settings: Settings) -> tuple[LanguageModel | None, str | None]:
    """The language model the settings ask for and None, or None and the reason."""
    if settings.llm == "none":
        return None, "no language model is set"
    if settings.llm not in PROVIDERS:
        raise InvalidInput(
            f"unknown language model {settings.llm[:40]!r}", hint="llm is one of " + ", ".join(PROVIDERS)
        )
    if settings.llm == "command":
        if not settings.llm_command:
            return None, "the setting llm_command is empty"
        from recollect.models.command import CommandModel

        return CommandModel(settings.llm_command, settings.llm_model), None
    if not settings.llm_model:
        return None, "the setting llm_model is empty"
    if settings.llm == "anthropic":
        from recollect.models import anthropic

        return anthropic.AnthropicModel(settings.llm_model, _key(settings, anthropic), settings.llm_url), None
    from recollect.models import openai

    return openai.OpenAIModel(settings.llm_model, _key(settings, openai), settings.llm_url), None


def _key(settings: Settings, provider: Any) -> str:
    """The key in the settings; else the provider's own variable, whose key is for the provider's own host alone."""
    from recollect.settings import environment

    if settings.llm_api_key or settings.llm_url:
        return settings.llm_api_key
    return environment().get(provider.KEY_VARIABLE, "").strip()


def counted(value: object, text: str) -> int:
    """A number of tokens a server told; where it told none or nonsense, about what the text takes."""
    if isinstance(value, int) and not isinstance(value, bool) and 0 < value <= _MOST_TOKENS:
        return value
    return estimate_tokens(text)


def told_usd(value: object) -> float | None:
    """What a server told that an answer cost, if it is a price."""
    if isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= _MOST_USD:
        return float(value)
    return None
