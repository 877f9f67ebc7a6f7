"""Which files a command is to read: named ones, folders, patterns, standard input, sessions of coding agents."""

from __future__ import annotations

import os
import re
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime, timedelta
from pathlib import Path
from typing import NamedTuple

from ..errors import MissingInputError, UsageError
from ..jsonio import LIMITS
from ..transcripts.places import PRODUCTS

_PATTERN = re.compile(r"[*?\[]")
_AGO = re.compile(r"(\d+)\s*([mhdw])")
_UNITS = {"m": "minutes", "h": "hours", "d": "days", "w": "weeks"}


class Source(NamedTuple):
    """One file; ``named`` tells those that were asked for by name, which must be readable, from those of a folder."""

    path: Path
    named: bool


def find_sources(paths: Sequence[str]) -> list[Source]:
    """Every file behind these arguments, folders searched to any depth; hidden folders of tools are left out.

    Raises MissingInputError (66) for a pattern that fits nothing.
    """
    found: dict[Path, Source] = {}
    for name in paths:
        path = Path(name)
        if path.is_dir():
            items = [Source(item, False) for item in sorted(_files_below(path))]
        elif _PATTERN.search(name) and not path.exists():
            items = [Source(item, True) for item in _fitting(name)]
            if not items:
                raise MissingInputError(f"no file fits {name!r}")
        else:
            items = [Source(path, True)]
        for item in items:
            found.setdefault(item.path, item)
    return list(found.values())


def _files_below(folder: Path) -> Iterator[Path]:
    for place, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if name not in (".git", "node_modules", "__pycache__")]
        yield from (Path(place, name) for name in names)


def _fitting(pattern: str) -> list[Path]:
    anchor = Path(pattern).anchor
    found: list[Path] = []
    for path in sorted(Path(anchor).glob(pattern[len(anchor) :])):
        found += sorted(_files_below(path)) if path.is_dir() else [path]
    return found


@contextmanager
def standard_input(paths: Sequence[str]) -> Iterator[list[str]]:
    """The arguments with ``-`` replaced by a file that holds standard input."""
    if "-" not in paths:
        yield list(paths)
        return
    with tempfile.TemporaryDirectory(prefix="dispatch-audit-") as folder:
        kept = Path(folder) / "standard-input"
        with kept.open("wb") as handle:
            left = LIMITS.document
            while left > 0 and (block := sys.stdin.buffer.read(min(left, 1 << 20))):
                handle.write(block)
                left -= len(block)
        yield [str(kept) if name == "-" else name for name in paths]


def agent_sessions(product: str, *, last: int, since: str) -> list[str]:
    """The newest sessions of a coding agent in the current folder.

    ``since`` is a date, a time, or how long ago ("2h", "3d"); with it, all sessions changed since are taken. Raises
    MissingInputError (66) when there is none.
    """
    folder = Path.cwd()
    paths = PRODUCTS[product](folder, os.environ)
    if since:
        start = _moment(since).timestamp()
        paths = [path for path in paths if path.stat().st_mtime >= start]
    chosen = paths if since and not last else paths[: last or 1]
    if not chosen:
        when = f" since {since}" if since else ""
        raise MissingInputError(f"no session of {product} in {str(folder)!r}{when}")
    return list(map(str, chosen))


def _moment(text: str) -> datetime:
    match = _AGO.fullmatch(text.strip())
    if match:
        return datetime.now().astimezone() - timedelta(**{_UNITS[match[2]]: int(match[1])})
    try:
        return datetime.fromisoformat(text.strip()).astimezone()
    except ValueError:
        raise UsageError(
            f"--since {text!r} is no time: 2026-11-30, 2026-11-30T08:00, 90m, 2h, 3d, 1w"
        ) from None
