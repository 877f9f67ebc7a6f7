"""Lines and tables with colour, for a terminal; rich is imported here and only when something is shown."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import IO, TypeVar

from .plain import Line

T = TypeVar("T")

STYLES = {
    "title": "bold",
    "pass": "bold green",
    "fail": "bold red",
    "open": "bold yellow",
    "dim": "dim",
    "reason": "",
}


def show_lines(lines: list[Line], file: IO[str]) -> None:
    """Print styled lines; agent text in them is never read as markup."""
    from rich.console import Console
    from rich.text import Text

    console = Console(file=file, highlight=False, soft_wrap=True)
    for style, text in lines:
        console.print(Text(text, style=STYLES.get(style, "")))


def show_table(head: tuple[str, ...], rows: list[tuple[str, ...]], file: IO[str], title: str = "") -> None:
    """Print rows as a table; the column ``outcome`` is coloured."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    colours = {"PASS": "green", "FAIL": "red", "INCONCLUSIVE": "yellow"}
    table = Table(
        title=Text(title) if title else None, title_justify="left", header_style="bold", pad_edge=False
    )
    for name in head:
        table.add_column(
            name, justify="right" if name in ("calls", "failed", "open", "claims", "false") else "left"
        )
    for row in rows:
        table.add_row(*[Text(cell, style=colours.get(cell, "")) for cell in row])
    Console(file=file, highlight=False).print(table)


def progress(items: Sequence[T], what: str, file: IO[str]) -> Iterator[T]:
    """The items one by one, with a bar that goes when they are done."""
    from rich.console import Console
    from rich.progress import track

    yield from track(items, description=what, console=Console(file=file), transient=True)
