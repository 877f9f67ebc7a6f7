"""Which reader reads a foreign file, by its content and never by its name; and how all readers open one.

A reader is a module of this package, or the object behind an entry point of the group
``dispatch_fidelity.transcripts``. It is imported when a file is looked at, not before.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from functools import cache, lru_cache
from importlib import import_module
from io import BytesIO
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, NamedTuple, Protocol, cast

from ..errors import DispatchFidelityError, InvalidInputError, JSONError
from ..jsonio import LIMITS, collector_paused, decode, decode_marking
from ..log.reader import BOM, PathLike, open_input
from ..model.run import Damage, DamageKind, ImportedRun

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint, EntryPoints

GROUP = "dispatch_fidelity.transcripts"
HEAD = 64 * 1024
RECOGNISED = 0.5

BUILT_IN = (
    "claude-code",
    "claude-hooks",
    "openai-chat",
    "openai-responses",
    "anthropic-messages",
    "codex",
    "codex-exec",
    "langchain",
    "langsmith",
    "otel",
    "langfuse",
    "openai-agents-trace",
    "gemini-cli",
    "ai-sdk",
    "mcp-capture",
    "inspect-ai",
    "openhands",
    "swe-agent",
    "tau2-bench",
    "atif",
    "pi",
    "autogen",
    "smolagents",
    "pydantic-ai",
    "magentic-one",
    "polygraph",
    "agent-trace",
)


class Reader(Protocol):
    """What a reader offers; a module with these three names is one.

    It may have two more: ``side(head) -> str`` says what a file of the format is that is no transcript, such as
    metadata or labels; ``companions(path) -> Iterable[Path]`` names the other files of a transcript's session.
    """

    NAME: str

    def recognise(self, head: bytes, /) -> float:
        """How sure it is, 0 to 1, that a file which begins with these bytes is of its format."""

    def read(self, path: Path, /) -> Iterator[ImportedRun]:
        """Every run in the file; InvalidInputError when it is not of the format."""


def readers() -> tuple[Reader, ...]:
    """Every reader there is: the built-in ones in their order, then those of installed packages by name."""
    return (*map(_built_in, BUILT_IN), *_installed())


def detect(path: PathLike) -> Reader | None:
    """The reader that is surest of a file, the first of equals; None when none is, and for a log of ours.

    Raises MissingInputError when the file cannot be opened.
    """
    head = _head(path)
    if is_log(head):
        return None
    best, confidence = None, 0.0
    for reader in readers():
        found = reader.recognise(head)
        if found >= RECOGNISED and found > confidence:
            best, confidence = reader, found
    return best


def read_transcript(path: PathLike, format: str | None = None) -> Iterator[ImportedRun]:  # noqa: A002 - the word of the CLI
    """The runs in a foreign file, read under the named format or the recognised one.

    The first run is read before this returns, so that a file which does not fit is refused here. Raises
    MissingInputError (66) when the file cannot be opened, and InvalidInputError (65) when no reader
    recognises it, when there is no reader of that name, or when the file is not of its format.
    """
    reader = reader_of(path, format)
    runs = reader.read(Path(path))
    first = next(runs, None)
    if first is None:
        raise InvalidInputError(f"{str(path)!r} holds no run that can be read as {reader.NAME}")
    return _chain(first, runs)


def reader_of(path: PathLike, format: str | None = None) -> Reader:  # noqa: A002 - the word of the CLI
    """The reader of the named format, or the one that recognises the file; raises as ``read_transcript`` does."""
    if format is not None:
        _head(path)
        return _named(format)
    reader = detect(path)
    if reader is not None:
        return reader
    if is_log(_head(path)):
        raise InvalidInputError(f"{str(path)!r} is a log of this tool: score it with 'dispatch-audit score'")
    if what := side_of(path):
        raise InvalidInputError(
            f"{str(path)!r} is no transcript but {what}: name the transcript it belongs to"
        )
    raise InvalidInputError(
        f"{str(path)!r} is no transcript that is recognised: name its format, one of {', '.join(BUILT_IN)}"
    )


def side_of(path: PathLike) -> str:
    """What a file is that stands beside transcripts without being one; empty for any other."""
    head = _head(path)
    sides = (getattr(reader, "side", None) for reader in readers())
    return next((what for side in sides if side is not None and (what := str(side(head)))), "")


def companions_of(path: PathLike, reader: Reader) -> tuple[Path, ...]:
    """The other files of a transcript's session, such as the logs of its sub-agents."""
    find = getattr(reader, "companions", None)
    return () if find is None else tuple(find(Path(path)))


def _chain(first: ImportedRun, rest: Iterator[ImportedRun]) -> Iterator[ImportedRun]:
    yield first
    yield from rest


def _head(path: PathLike) -> bytes:
    with open_input(path) as handle:
        return handle.read(HEAD)


def _built_in(name: str) -> Reader:
    return cast(Reader, import_module(f"{__package__}.{name.replace('-', '_')}"))


@cache
def _entries(found: Callable[..., EntryPoints]) -> tuple[EntryPoint, ...]:
    """The readers of other packages; looked for once, since that takes longer than to read most files."""
    return tuple(sorted(found(group=GROUP), key=lambda entry: entry.name))


def _installed() -> Iterator[Reader]:
    from importlib.metadata import entry_points

    for entry in _entries(entry_points):
        try:
            reader = entry.load()
        except Exception as problem:
            raise DispatchFidelityError(
                f"the transcript reader {entry.name!r} ({entry.value}) cannot be loaded: {problem!r}; "
                "repair or uninstall its package"
            ) from problem
        yield cast(Reader, reader)


def _named(name: str) -> Reader:
    if name in BUILT_IN:
        return _built_in(name)
    others = tuple(_installed())
    for reader in others:
        if name == reader.NAME:
            return reader
    known = ", ".join([*BUILT_IN, *(reader.NAME for reader in others)])
    raise InvalidInputError(f"there is no transcript format {name!r}: the formats are {known}")


_LOGS = (("run", "stream", "prev", "type"), ("seq", "run_id", "tool", "args"))


def is_log(head: bytes) -> bool:
    """Whether a file that begins with these bytes is a log of ours, even one with broken lines."""
    lines = [line for line in head.split(b"\n") if line.startswith(b'{"')]
    return any(map(_is_event, opening(head))) or any(map(_is_event, _values(lines)))


def _is_event(value: Any) -> bool:
    return isinstance(value, dict) and any(all(key in value for key in keys) for keys in _LOGS)


@lru_cache(maxsize=1)
def opening(head: bytes) -> tuple[Any, ...]:
    """The JSON values with which a file begins: one of a document, one a line of JSONL; none of other files.

    The brackets that the end of ``head`` left open are closed before whatever it cut. The values are
    shared between all readers that look at the file: do not change them.
    """
    head = head.removeprefix(BOM).lstrip()
    if head[:1] not in (b"{", b"["):
        return ()
    lines = [line for line in head.split(b"\n") if line.lstrip()[:1] in (b"{", b"[")]
    # 1. The first line is a whole value: JSONL, or a document of one line.
    if _values(lines[:1]):
        return _values(lines)
    # 2. A document over several lines, or one cut by the end of the head.
    document = _values([head]) or _values([_closed(head)])
    # 3. JSONL whose first line is broken.
    return document or _values(lines)


def _values(texts: list[bytes]) -> tuple[Any, ...]:
    found = (_line(_Text(text, 0, 0)) for text in texts)
    return tuple(line.value for line in found if line.damage is None)


_TOKEN = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*("?)|[\[\]{},]', re.DOTALL)
_CLOSERS = {b"[": b"]", b"{": b"}"}


def _closed(head: bytes) -> bytes:
    """The longest part of a cut JSON text after which only closing brackets are missing, with these."""
    due: list[bytes] = []
    end, closers = 0, b""
    for token in _TOKEN.finditer(head):
        text = token.group()
        if text[:1] == b'"':
            if not token.group(1):
                break
            continue
        if text == b",":
            end, closers = token.start(), b"".join(reversed(due))
            continue
        if text in _CLOSERS:
            due.append(_CLOSERS[text])
        elif not due or due.pop() != text:
            break
        end, closers = token.end(), b"".join(reversed(due))
        if not due:
            break
    return head[:end] + closers


class Place(NamedTuple):
    """Where a JSON value stands in its file, in bytes."""

    offset: int
    length: int


class Value(NamedTuple):
    """One JSON value of a file; ``line`` counts from 1 in JSONL and is 0 for a document, which has no ``place``."""

    value: Any
    line: int = 0
    damage: Damage | None = None
    place: Place | None = None


def values(path: Path) -> Iterator[Value]:
    """The JSON values of a file: its one document, or each line of JSONL, a broken one as its damage.

    Where strict JSON is violated inside a value, a ``jsonio.Defect`` stands. Raises MissingInputError when
    the file cannot be opened, and InvalidInputError when a document is torn or a limit is exceeded.
    """
    with open_input(path) as handle:
        lines = _numbered(_bounded(handle, path, LIMITS.document))
        first = next(lines, _Text(b"", 0, 0))
        text = first.text.removeprefix(BOM)
        # 1. The first line is a whole value: a document if nothing follows, else JSONL.
        try:
            value = _decode(text)
        except JSONError:
            pass
        else:
            rest = _numbered(
                _bounded(handle, path, LIMITS.line), first.number, first.offset + len(first.text)
            )
            second = next(rest, None)
            number = first.number
            place = Place(first.offset + len(first.text) - len(text), len(text))
            del first, text
            yield Value(value, number, None, place) if second else Value(value)
            del value
            if second:
                yield _line(second)
                yield from map(_line, rest)
            return
        # 2. A document over several lines.
        data = text + handle.read(LIMITS.document + 1 - len(text))
        _within(data, LIMITS.document, path)
        try:
            value = _decode(data)
        except JSONError as problem:
            # 3. JSONL whose first line is broken has lines that are whole; a torn document has none.
            found = [_line(each) for each in _numbered(BytesIO(data), first.number - 1)]
            if not any(isinstance(each.value, (dict, list)) for each in found):
                raise InvalidInputError(f"{str(path)!r} is no whole JSON document: {problem}") from None
            yield from found
        else:
            del first, text, data
            yield Value(value)


class _Text(NamedTuple):
    """A line that is not blank, its number from 1, and where it begins."""

    text: bytes
    number: int
    offset: int


def _line(line: _Text) -> Value:
    text, number, offset = line
    try:
        return Value(_decode(text), number, None, Place(offset, len(text)))
    except JSONError as problem:
        kind = DamageKind.UNREADABLE if text.endswith(b"\n") else DamageKind.TORN
        reason = f"this line cannot be read: {str(problem)[:200]}"
        return Value(None, number, Damage(kind, reason, line=number))


def _decode(data: bytes) -> Any:
    """A JSON value, read strictly where that is possible, else with a ``Defect`` at each violation."""
    with collector_paused():
        try:
            return decode(data)
        except JSONError:
            return decode_marking(data, mark=True)


def _bounded(handle: IO[bytes], path: Path, limit: int) -> Iterator[bytes]:
    """The lines of a file, split at 0x0A only."""
    while line := handle.readline(limit + 1):
        _within(line, limit, path)
        yield line


def _within(data: bytes, limit: int, path: Path) -> None:
    if len(data) > limit:
        raise InvalidInputError(f"{str(path)!r} holds more than {limit} bytes in one JSON text")


def _numbered(lines: Iterable[bytes], before: int = 0, offset: int = 0) -> Iterator[_Text]:
    """The lines that are not blank; ``before`` lines and ``offset`` bytes stand before them."""
    for number, line in enumerate(lines, before + 1):
        if line.strip():
            yield _Text(line, number, offset)
        offset += len(line)
