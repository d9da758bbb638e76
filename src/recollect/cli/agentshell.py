"""Whether a command was typed by a person or run by an agent, as far as the environment tells.

Agents name themselves in the shells they open. What one of them keeps is its own word, not the user's, and it cannot
confirm anything in the user's name: a page that talks an agent into `recollect confirm` gains nothing by it. An agent
that hides who it is cannot be told from a person; this keeps honest ones honest.
"""

from __future__ import annotations

from collections.abc import Mapping

from recollect.errors import InvalidInput

VARIABLES = (
    *("CLAUDECODE", "CLAUDE_CODE_ENTRYPOINT", "CODEX_SANDBOX", "CODEX_SANDBOX_NETWORK_DISABLED", "CODEX_THREAD_ID"),
    *("GEMINI_CLI", "QWEN_CODE", "CURSOR_AGENT", "OPENCODE", "GROK_SESSION_ID", "AI_AGENT"),
)


def speaker(env: Mapping[str, str]) -> str:
    """The origin of what is said on this command line."""
    return "assistant" if any(env.get(name) for name in VARIABLES) else "user"


def only_a_person(env: Mapping[str, str], what: str) -> None:
    """InvalidInput when an agent runs this."""
    if speaker(env) != "user":
        raise InvalidInput(
            f"only the user can {what}, and an agent runs this", hint="Run it in a terminal of your own."
        )
