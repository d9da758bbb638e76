"""Child processes: started from a function, answering line by line on a pipe, killed or waited for by their id.

Children are forked before any store is open in the parent, so they begin with no handle of it.
"""

from __future__ import annotations

import os
import signal
import sys
import traceback
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import IO

Say = Callable[[str], None]


@dataclass
class Child:
    pid: int
    lines: IO[str]
    heard: list[str] = field(default_factory=list)

    def hear(self) -> str | None:
        """The next line, or None when the child has ended."""
        line = self.lines.readline()
        if not line.endswith("\n"):
            return None
        self.heard.append(line[:-1])
        return line[:-1]

    def kill(self) -> list[str]:
        """kill -9, then everything it had said."""
        os.kill(self.pid, signal.SIGKILL)
        return self.wait()[1]

    def wait(self) -> tuple[int, list[str]]:
        """Its exit code (negative: the signal) and everything it said."""
        while self.hear() is not None:
            pass
        self.lines.close()
        _, status = os.waitpid(self.pid, 0)
        return os.waitstatus_to_exitcode(status), self.heard


def start(work: Callable[[Say], None]) -> Child:
    """Run `work(say)` in a forked child; what it raises is said as `error: …`."""
    reading, writing = os.pipe()
    sys.stdout.flush()
    sys.stderr.flush()
    pid = os.fork()
    if pid:
        os.close(writing)
        return Child(pid, os.fdopen(reading, encoding="utf-8"))
    code = 1
    try:
        os.close(reading)
        work(lambda line: _say(writing, line))
        code = 0
    except BaseException as error:
        last = traceback.extract_tb(error.__traceback__)[-1]
        _say(writing, f"error: {type(error).__name__}: {error} ({last.filename}:{last.lineno})")
    finally:
        os._exit(code)


def _say(handle: int, line: str) -> None:
    os.write(handle, (line.replace("\n", " ") + "\n").encode())
