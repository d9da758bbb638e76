"""What others' programs already have, with this memory in it: chat clients, Anthropic's memory tool, LangGraph."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from recollect.wrap.chat import remembering
    from recollect.wrap.langgraph import RecollectStore
    from recollect.wrap.memorytool import MemoryTool

__all__ = ["MemoryTool", "RecollectStore", "remembering"]

_HOMES = {"MemoryTool": "memorytool", "RecollectStore": "langgraph", "remembering": "chat"}


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(f"module 'recollect.wrap' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"recollect.wrap.{_HOMES[name]}"), name)
