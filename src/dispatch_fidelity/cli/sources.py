"""Which files a command is to read: named ones, folders, patterns, standard input, sessions of coding agents."""

from __future__ import annotations

import os
import re
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime, timedelta
from pathlib import Path
from typing import NamedTuple

from ..errors import InvalidInputError, MissingInputError, UsageError
from ..jsonio import LIMITS
from ..transcripts.places import PRODUCTS

_PATTERN = re.compile(r"[*?\[]")
_AGO = re.compile(r"(\d+)\s*([mhdw])")
_UNITS = {"m": "minutes", "h": "hours", "d": "days", "w": "weeks"}


class Source(NamedTuple):
    """One file; ``named`` tells those that were asked for by name, which must be readable, from those of a folder.

    ``shown`` is its name where that is not its path.
    """

    path: Path
    named: bool
    shown: str = ""

    @property
    def name(self) -> str:
        """What it is called in results and messages."""
        return self.shown or str(self.path)


def find_sources(paths: Sequence[str], standard_input: Path | None = None) -> list[Source]:
    """Every file behind these arguments, folders searched to any depth; hidden folders of tools are left out.

    ``standard_input`` is the file for ``-``. Raises MissingInputError (66) for an empty name and for a pattern that
    fits nothing, UsageError (64) for a pattern that is none.
    """
    found: dict[Path, Source] = {}
    for name in paths:
        for item in _behind(name, standard_input):
            if item.named or item.path not in found:
                found[item.path] = item
    return list(found.values())


def _behind(name: str, standard_input: Path | None) -> list[Source]:
    if name == "-" and standard_input is not None:
        return [Source(standard_input, True, name)]
    if not name:
        raise MissingInputError("an empty name is the name of no file")
    path = Path(name)
    if _holds(path.is_dir):
        return _of_folder(path)
    if _PATTERN.search(name) and not _holds(path.exists):
        items = _fitting(name)
        if not items:
            raise MissingInputError(f"no file fits {name!r}")
        return items
    return [Source(path, True)]


def _holds(question: Callable[[], bool]) -> bool:
    """What the file system answers; no where it can hold no such name."""
    try:
        return question()
    except (OSError, ValueError):
        return False


def _of_folder(folder: Path) -> list[Source]:
    return [Source(item, False) for item in sorted(_files_below(folder))]


def _files_below(folder: Path) -> Iterator[Path]:
    for place, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if name not in (".git", "node_modules", "__pycache__")]
        yield from (Path(place, name) for name in names)


def _fitting(pattern: str) -> list[Source]:
    anchor = Path(pattern).anchor
    try:
        paths = sorted(Path(anchor).glob(pattern[len(anchor) :]))
    except ValueError as problem:
        raise UsageError(f"{pattern!r} is no pattern: {problem}") from None
    found: list[Source] = []
    for path in paths:
        found += _of_folder(path) if path.is_dir() else [Source(path, True)]
    return found


@contextmanager
def standard_input(paths: Sequence[str]) -> Iterator[Path | None]:
    """A file that holds standard input, where ``-`` asks for it.

    Raises InvalidInputError (65) when it is larger than a document may be.
    """
    if "-" not in paths:
        yield None
        return
    with tempfile.TemporaryDirectory(prefix="dispatch-audit-") as folder:
        kept = Path(folder) / "standard-input"
        with kept.open("wb") as handle:
            left = LIMITS.document
            while block := sys.stdin.buffer.read(1 << 20):
                left -= len(block)
                if left < 0:
                    raise InvalidInputError(
                        f"standard input holds more than {LIMITS.document} bytes: name a file instead"
                    )
                handle.write(block)
        yield kept


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
    try:
        if match:
            return datetime.now().astimezone() - timedelta(**{_UNITS[match[2]]: int(match[1])})
        return datetime.fromisoformat(re.sub("Z$", "+00:00", text.strip())).astimezone()
    except (ValueError, OverflowError):
        raise UsageError(
            f"--since {text!r} is no time: 2026-11-30, 2026-11-30T08:00, 90m, 2h, 3d, 1w"
        ) from None
