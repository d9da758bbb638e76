"""A table on a terminal of any width: as columns, with the row's name below its text, or as a short list.

Rows of cells come in, what rich prints goes out. The last column is what is read: it has at least half of the width,
and wraps. The first one names the row, so it is copied and never cut.
"""

from __future__ import annotations

from collections.abc import Sequence

from rich import box
from rich.cells import cell_len
from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

_GAP = 3  # between two columns
_EDGES = 2

Rows = Sequence[Sequence[str]]


def print_table(console: Console, headers: Sequence[str], rows: Rows, *, cut: bool) -> None:
    """Print the rows in the widest layout there is room for; `cut` keeps columns and cuts the last with an ellipsis."""
    names, *middle, last = (max(map(cell_len, column)) for column in zip(headers, *rows, strict=True))
    least = min(last, console.width // 2)
    below = console.width - _EDGES - sum(width + _GAP for width in middle)
    beside = below - names - _GAP
    if cut or beside >= least:
        told = [[*map(Text, row[:-1]), _cut(row[-1], max(1, beside)) if cut else Text(row[-1])] for row in rows]
        console.print(_columns(headers, told))
    elif below >= max(least, names):
        told = [[*map(Text, row[1:-1]), _over(row[-1], row[0])] for row in rows]
        console.print(_columns([*headers[1:-1], f"{headers[-1]} / {headers[0]}"], told))
    else:
        for row in rows:
            _print_entry(console, headers, row)


def _columns(headers: Sequence[str], rows: Sequence[Sequence[Text]]) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, header_style="bold")
    for place, header in enumerate(headers):
        last = place == len(headers) - 1
        table.add_column(header, overflow="fold", no_wrap=not last, style="" if last or place else "cyan")
    for row in rows:
        table.add_row(*row)
    return table


def _cut(text: str, room: int) -> Text:
    cell = Text(text)
    cell.truncate(room, overflow="ellipsis")
    return cell


def _over(text: str, name: str) -> Text:
    return Text.assemble(text, "\n" if text else "", (name, "cyan"))


def _print_entry(console: Console, headers: Sequence[str], row: Sequence[str]) -> None:
    """The text, then its name, then the rest on a line; a number says of what it is."""
    rest = [f"{header} {cell}" if _is_number(cell) else cell for header, cell in zip(headers, row, strict=True)][1:-1]
    if row[-1]:
        console.print(Text(row[-1]))
    console.print(Padding(Text(row[0], style="cyan", overflow="fold"), (0, 0, 0, 2), expand=False))
    console.print(Padding(Text(" · ".join(filter(None, rest)), style="dim"), (0, 0, 0, 2), expand=False))


def _is_number(cell: str) -> bool:
    return cell.replace(",", "").replace(".", "").isdigit()
