"""Log files to a record: what the lines say, and what is wrong with them.

Damage is data. Only a file that cannot be opened, or that is no log at all, is an exception. Nothing here
writes, and a damaged file is never repaired.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from itertools import chain
from typing import IO, Any

from ..errors import InvalidInputError, JSONError, MissingInputError, UsageError
from ..jsonio import LIMITS, collector_paused, decode, typed_decoder
from ..model.run import Damage, DamageKind, Record
from .events import Event
from .executions import Lifecycle, StreamReading, read_v1
from .merge import merge
from .paths import LIST_SUFFIX, LOG_SUFFIX, stream_of

BOM = b"\xef\xbb\xbf"
PathLike = str | os.PathLike[str]


def open_input(path: PathLike) -> IO[bytes]:
    """The file open for reading; MissingInputError says why it cannot be."""
    try:
        return open(path, "rb")
    except (OSError, ValueError) as problem:
        reason = getattr(problem, "strerror", None) or problem
        raise MissingInputError(f"cannot open {os.fspath(path)!r}: {reason}") from problem


def load_log(path: PathLike | Iterable[PathLike]) -> Record:
    """The record in a log file and in the other streams of its run that lie beside it.

    Log 1 and log 2 are told apart by their lines. Raises MissingInputError (66) when a file cannot be
    opened and InvalidInputError (65) when one is no log at all.
    """
    named = [path] if isinstance(path, (str, os.PathLike)) else list(path)
    if not named:
        raise UsageError("no log was named: load_log takes the path of a log file, or several")
    with collector_paused():
        first = os.fspath(named[0])
        readings = [read_stream(os.fspath(item)) for item in named]
        listing, listed = _read_list(first)
        run_id = next((reading.run_id for reading in readings if reading.run_id), "")
        if any(reading.version == 2 for reading in readings):
            seen = {os.path.realpath(reading.path) for reading in readings}
            others = [item for item in _siblings(first, listed) if os.path.realpath(item) not in seen]
            readings += [read_stream(item) for item in others if os.path.exists(item)]
        return merge(readings, run_id=run_id, listed=listed, listing=listing, source=first)


# Paths are text here: a small ``score`` spends a twentieth of its time on importing pathlib.


def _run_stem(path: str) -> str | None:
    """The run id in a log file's name; None for a file that does not follow our naming."""
    name = os.path.basename(path)
    return name[: -len(LOG_SUFFIX)].partition("+")[0] if name.endswith(LOG_SUFFIX) else None


def _read_list(path: str) -> tuple[tuple[Damage, ...], tuple[str, ...] | None]:
    """What is wrong with the list of streams beside a log, and the ids on it; None where there is no list."""
    stem = _run_stem(path)
    if stem is None:
        return (), None
    try:
        with open(os.path.join(os.path.dirname(path), f"{stem}{LIST_SUFFIX}"), "rb") as handle:
            data = handle.read()
    except OSError:
        return (), None
    listed: dict[str, None] = {}
    damage = []
    for number, line in enumerate(data.split(b"\n"), 1):
        if not line:
            continue
        stream = stream_of(line)
        if stream == "?":
            text = "the list of streams cannot be read here"
            damage.append(Damage(DamageKind.UNREADABLE, text, "list", number))
        else:
            listed.setdefault(stream)
    return tuple(damage), tuple(listed)


def _siblings(path: str, listed: tuple[str, ...] | None) -> list[str]:
    stem = _run_stem(path)
    if stem is None:
        return []
    folder = os.path.dirname(path)
    names = os.listdir(folder or os.curdir)
    found = sorted(name for name in names if name.endswith(LOG_SUFFIX) and name.startswith(f"{stem}+"))
    if listed is None and not found:
        return []
    return [os.path.join(folder, name) for name in (f"{stem}{LOG_SUFFIX}", *found)]


_event = typed_decoder(Event)


def read_stream(path: str) -> StreamReading:
    """One log file, line by line, split at 0x0A only."""
    with open_input(path) as handle:
        lines = _lines(handle, path)
        first = next(lines, None)
        if first is None:
            return StreamReading(path, version=0)
        rest = chain([first], lines)
        reading = read_v1(path, rest) if _is_v1(first.rstrip(b"\r\n")) else _read_v2(path, rest)
    if reading.readable == 0 and reading.complete_lines:
        raise InvalidInputError(
            f"{path!r} is no log: none of its {reading.complete_lines} lines reads as an event"
        )
    return reading


def _lines(handle: IO[bytes], path: str) -> Iterator[bytes]:
    """Each line as stored, with its line feed where it has one; a BOM at the start is skipped."""
    start = handle.peek(3)[:3] if hasattr(handle, "peek") else b""
    if start == BOM:
        handle.read(3)
    return iter(handle) if os.fstat(handle.fileno()).st_size <= LIMITS.line else _bounded_lines(handle, path)


def _bounded_lines(handle: IO[bytes], path: str) -> Iterator[bytes]:
    """The lines of a file that is larger than a line may be."""
    limit = LIMITS.line
    while line := handle.readline(limit + 1):
        if len(line) > limit and line[-1:] != b"\n":
            raise InvalidInputError(f"{path!r} holds a line of more than {limit} bytes")
        yield line


def _is_v1(line: bytes) -> bool:
    """Whether the first line belongs to log 1; an unreadable one is decided by the words in it."""
    try:
        value: Any = decode(line)
    except JSONError:
        return b'"seq"' in line and b'"type"' not in line
    return isinstance(value, dict) and "seq" in value and "type" not in value


def _read_v2(path: str, lines: Iterable[bytes]) -> StreamReading:
    life = Lifecycle(path)
    take = life.take
    for stored in lines:
        line = stored[:-1]
        if stored[-1:] != b"\n":
            life.torn(stored)
            break
        try:
            event: Event = _event(line)
        except ValueError as problem:
            life.unreadable(str(problem) if line.strip() else "an empty line")
            continue
        take(event, line)
    return life.finish()
