"""Everything the command line shows goes through here: one JSON document with --json, else text.

Data goes to stdout, notes, questions and progress to stderr. Tables, colours and bars (rich) only on a terminal, loaded
only then. Stored text is made safe to show on the way (`recollect.text.present`), in JSON too.
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol, TextIO

from recollect.text import one_line, present

if TYPE_CHECKING:
    from rich.console import Console

Span = str | tuple[str, str]  # text, or text and its style on a terminal


class Advance(Protocol):
    """Moves a bar on."""

    def __call__(self, step: int, total: int | None = None, /) -> None: ...


class Output:
    """What a verb speaks through."""

    def __init__(self, *, as_json: bool = False) -> None:
        self.json = as_json
        for stream in (sys.stdout, sys.stderr):
            if hasattr(stream, "reconfigure"):
                stream.reconfigure(errors="replace")

    # -- data ------------------------------------------------------------------------------------------------------

    def document(self, value: Any) -> None:
        """One JSON document."""
        import json

        from recollect.cli.plain import plain

        unicode_ok = "utf" in (getattr(sys.stdout, "encoding", None) or "").lower()
        self.raw(json.dumps(plain(value), ensure_ascii=not unicode_ok, indent=2, allow_nan=False) + "\n")

    def raw(self, text: str) -> None:
        """Text exactly as it is."""
        sys.stdout.write(text)

    def line(self, *spans: Span) -> None:
        """One line (or several) of text."""
        if self.fancy:
            self._rich.print(_styled(spans), soft_wrap=True)
        else:
            sys.stdout.write(_plain(spans) + "\n")

    def lines(self, lines: Sequence[Sequence[Span]]) -> None:
        """Several lines."""
        for spans in lines:
            self.line(*spans)

    def heading(self, text: str) -> None:
        """A title over what follows."""
        if self.fancy:
            from rich.rule import Rule

            self._rich.print()
            self._rich.print(Rule(_styled([(text, "bold")]), align="left", style="dim"))
        else:
            sys.stdout.write(f"\n== {one_line(text)} ==\n")

    def table(self, headers: Sequence[str], rows: Sequence[Sequence[str]], *, cut: bool = False) -> None:
        """Rows under headers; the last column takes what room there is, and with `cut` one line of it on a terminal.

        The first column names the row: it is never cut, but goes below the last where there is no room for it.
        """
        cells = [[one_line(cell) for cell in row] for row in rows]
        if self.fancy:
            from recollect.cli.tables import print_table

            print_table(self._rich, headers, cells, cut=cut)
            return
        widths = [max(map(len, column)) for column in zip(headers, *cells, strict=True)]
        for row in [list(headers), *cells]:
            padded = "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True))
            sys.stdout.write(padded.rstrip() + "\n")

    def page(
        self, name: str, found: Sequence[Any], window: tuple[int, int], table: tuple[Sequence[str], Any], empty: str
    ) -> None:
        """One page of a listing: its rows under headers, how to see more, or what to do when there is nothing."""
        (limit, offset), (headers, row) = window, table
        if self.json:
            self.document({name: found, "limit": limit, "offset": offset})
        elif not found:
            self.note(empty)
        else:
            self.table(headers, [row(one) for one in found])
            if len(found) == limit:
                self.note(f"There may be more: --offset {offset + limit}")

    def flush(self) -> None:
        """Push everything out, so that a failure shows now."""
        sys.stdout.flush()

    # -- the talk around it ----------------------------------------------------------------------------------------

    def note(self, text: str) -> None:
        """Something worth knowing that is not the answer."""
        _write(sys.stderr, present(text) + "\n")

    def failure(self, code: str, message: str, hint: str | None, exit_code: int) -> int:
        """Say what went wrong and what to do; returns the exit code."""
        with contextlib.suppress(OSError, ValueError):
            if self.json:
                self.document({"error": {"code": code, "message": message, "hint": hint}})
                self.flush()
            else:
                self.note(f"error: {one_line(message)}")
                if hint:
                    self.note(f"hint: {one_line(hint)}")
        return exit_code

    def confirm(self, question: str) -> bool:
        """Ask on the terminal; anything but yes is no."""
        _write(sys.stderr, f"{present(question)} [y/N] ")
        sys.stderr.flush()
        return sys.stdin.readline().strip().casefold() in ("y", "yes")

    @property
    def can_ask(self) -> bool:
        """Whether somebody is there to answer."""
        return not self.json and sys.stdin is not None and sys.stdin.isatty() and sys.stderr.isatty()

    @contextmanager
    def progress(self, label: str, total: int | None) -> Iterator[Advance]:
        """A bar on stderr while something takes long; yields the function that advances it and may tell the total."""
        if not sys.stderr.isatty() or total == 0:
            yield lambda step, total=None: None
            return
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

        columns = (TextColumn(label), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
        with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
            task = bar.add_task(label, total=total)
            yield lambda step, total=None: bar.update(task, advance=step, **({} if total is None else {"total": total}))

    def settle(self) -> None:
        """Push out what is left; where that cannot be, let it go, so that the exit code stays ours."""
        try:
            sys.stdout.flush()
        except (OSError, ValueError):
            self.abandon()

    def abandon(self) -> None:
        """Nobody reads any more: let what is buffered go nowhere, without a complaint at exit."""
        with contextlib.suppress(OSError, ValueError):
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, sys.stdout.fileno())
            os.close(nowhere)

    # -- the terminal ----------------------------------------------------------------------------------------------

    @cached_property
    def fancy(self) -> bool:
        """Whether stdout is a terminal to be coloured."""
        return not self.json and sys.stdout.isatty()

    @property
    def width(self) -> int:
        """How many characters a line has room for."""
        return self._rich.width if self.fancy else 100

    @cached_property
    def _rich(self) -> Console:
        from rich.console import Console

        return Console(highlight=False, markup=False, emoji=False)


def _plain(spans: Sequence[Span]) -> str:
    return "".join(present(span if isinstance(span, str) else span[0]) for span in spans)


def _styled(spans: Sequence[Span]) -> Any:
    from rich.text import Text

    parts = [(span, "") if isinstance(span, str) else span for span in spans]
    return Text.assemble(*((present(text), style) for text, style in parts))


def _write(stream: TextIO | None, text: str) -> None:
    """To stderr, which may be closed."""
    if stream is not None:
        with contextlib.suppress(OSError, ValueError):
            stream.write(text)
