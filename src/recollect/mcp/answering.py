"""A tool call in, its result out: arguments checked, writes counted, failures told in words that help and hide.

Nothing raised by a tool reaches the client but its message and hint, and no message tells where the store lies.
"""

from __future__ import annotations

import sys
import threading
from typing import TYPE_CHECKING, Any

from recollect.mcp.protocol import Result
from recollect.mcp.tools import SEARCHES, WRITES

if TYPE_CHECKING:
    from recollect.facade import Recollect
    from recollect.mcp.opened import Opened


class Answering:
    """Runs tools on the memory that `opened` opens when it is first needed."""

    def __init__(self, opened: Opened) -> None:
        self._opened = opened
        self._alone = threading.Lock()  # one tool at a time: the memory may move between two

    def call(self, name: str, arguments: dict[str, Any]) -> Result:
        """Run one tool. Whatever happens, there is a result."""
        from recollect.errors import RecollectError

        try:
            with self._alone:
                return Result(self._bounded(self._run(name, arguments)))
        except RecollectError as error:
            return Result(self._bounded(self._told(error)), is_error=True)
        except Exception as error:  # a mistake of ours: of its text, which may hold a memory's, nothing is said
            sys.stderr.write(f"recollect mcp: {name}: unexpected {type(error).__name__}\n")
            return Result(f"unexpected {type(error).__name__}\nhint: `recollect doctor` may tell more.", is_error=True)

    def _run(self, name: str, arguments: dict[str, Any]) -> str:
        from recollect.mcp.arguments import checked

        given = checked(name, arguments)
        memory = self._opened.memory()
        if name in WRITES:
            self._opened.allowance.take(len(given.get("ids", [""])))
            text = _writing(name, memory, given)
        elif name == "memory_status":
            from recollect.mcp.status import status

            text = status(memory, self._opened.allowance)
        else:
            if name in SEARCHES and given.get("query"):
                from recollect.mcp.vectors import FEW, catch_up

                catch_up(memory, FEW)
            text = _reading(name, memory, given)
        self._opened.used(name)
        return text

    def _told(self, error: Any) -> str:
        """What went wrong and what to do, without the places of this machine."""
        from recollect.errors import StoreError
        from recollect.inject.defang import defang

        message, hint = str(error), error.hint
        if isinstance(error, StoreError):  # these speak of files
            message, hint = (type(error).__doc__ or "the store failed").strip(), "The user can run `recollect doctor`."
        text = f"{error.code}: {message}" + (f"\nhint: {hint}" if hint else "")
        return defang(self._opened.without_places(text))

    @staticmethod
    def _bounded(text: str) -> str:
        from recollect.mcp import rows

        return text if rows.size(text) <= rows.MAX_BYTES else rows.cut(text, rows.MAX_BYTES - 20) + "\n[cut]"


def _reading(name: str, memory: Recollect, given: dict[str, Any]) -> str:
    from recollect.mcp import reading, timeline

    tools = {
        "memory_search": reading.search,
        "memory_get": reading.get,
        "memory_context": reading.context,
        "memory_timeline": timeline.timeline,
        "recall": reading.recall,
    }
    return tools[name](memory, given)


def _writing(name: str, memory: Recollect, given: dict[str, Any]) -> str:
    from recollect.mcp import writing

    return {"memory_save": writing.save, "memory_forget": writing.forget}[name](memory, given)
