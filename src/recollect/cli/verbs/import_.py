"""`recollect import`: exported JSON Lines in; what is there already stays as it is, so doing it twice is harmless.

What comes in is what it was: memories in the user's words, patterns somebody approved. So only a person imports: in a
shell that an agent opened, whoever can talk the agent into it could write all of that into the file themselves.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from recollect.cli.agentshell import only_a_person
from recollect.cli.opening import open_memory
from recollect.cli.wording import in_words
from recollect.errors import InvalidInput
from recollect.settings import environment

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    from recollect.cli.output import Output

_RECORD = re.compile(r"^record \d+:? ?")
_HINT = "The lines before it are in. Correct the line and import again: what is there already is not taken twice."


def configure(parser: ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE", help="a file that `recollect export` wrote; `-` is standard input")


def run(args: Namespace, console: Output) -> int:
    only_a_person(environment(), "import what was exported")
    with ExitStack() as stack:
        source, size = _open(args.file, stack)
        memory = stack.enter_context(open_memory(args, everywhere=True))
        advance = stack.enter_context(console.progress("importing", size))
        reader = _Reader(source, advance)
        try:
            counts = memory.load(reader.records())
        except InvalidInput as error:
            reason = _RECORD.sub("", str(error))
            raise InvalidInput(f"line {reader.line}: {reason}", hint=error.hint or _HINT) from None
    if console.json:
        console.document({"lines": reader.line, "counts": counts})
        return 0
    known, forgotten = counts.pop("known", 0), counts.pop("forgotten", 0)
    console.line(
        f"Took in {in_words(counts) or 'nothing new'}; {known:,} known already, {forgotten:,} forgotten before."
    )
    return 0


def _open(name: str, stack: ExitStack) -> tuple[IO[bytes], int | None]:
    if name == "-":
        return sys.stdin.buffer, None
    path = Path(name)
    try:
        return stack.enter_context(path.open("rb")), path.stat().st_size
    except OSError as error:
        raise InvalidInput(f"{name} cannot be read: {error.strerror}") from None


class _Reader:
    """Lines as records; knows which line it is at."""

    def __init__(self, source: IO[bytes], advance: Callable[[int], None]) -> None:
        self._source = source
        self._advance = advance
        self.line = 0

    def records(self) -> Iterator[dict[str, Any]]:
        for raw in self._source:
            self.line += 1
            self._advance(len(raw))
            if raw.strip():
                yield self._parsed(raw)

    def _parsed(self, raw: bytes) -> dict[str, Any]:
        try:
            record = json.loads(raw.decode("utf-8-sig" if self.line == 1 else "utf-8"))
        except UnicodeDecodeError:
            raise InvalidInput("not UTF-8 text") from None
        except (ValueError, RecursionError):
            raise InvalidInput("not a JSON object") from None
        if not isinstance(record, dict):
            raise InvalidInput("not a JSON object")
        return record
