"""The one place that prints: results to standard output, talk to standard error."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import IO, TYPE_CHECKING, Any, TypeVar

from ..errors import JSONError, UsageError

if TYPE_CHECKING:
    from pathlib import Path

    from ..rendering.plain import Line

T = TypeVar("T")
_OURS = (
    {"run_id", "score"},
    {"runs", "outcome"},
    {"binding", "manifest"},
    {"selftest"},
    {"demo"},
    {"verify"},
    {"imported", "source"},
)


def say(text: str = "") -> None:
    """One line of the result."""
    print(text)


def tell(text: str) -> None:
    """One line of talk: progress, errors, hints."""
    print(text, file=sys.stderr)


def is_rich() -> bool:
    """Whether standard output is a terminal that may be coloured; piped output imports no rich."""
    return sys.stdout.isatty() and "NO_COLOR" not in os.environ and os.environ.get("TERM") != "dumb"


def show(lines: Iterable[Line]) -> None:
    """Styled lines: with colour on a terminal, plain when piped."""
    lines = list(lines)
    if is_rich():
        from ..rendering.terminal import show_lines

        show_lines(lines, sys.stdout)
        return
    print("\n".join(text for _, text in lines))


def show_table(head: tuple[str, ...], rows: list[tuple[str, ...]], title: str = "") -> None:
    """A table: with colour on a terminal, aligned text when piped."""
    if is_rich():
        from ..rendering.terminal import show_table as show_rich

        show_rich(head, rows, sys.stdout, title)
        return
    from ..rendering.plain import table_lines

    print("\n".join(([title] if title else []) + table_lines(rows, head)))


def with_progress(items: Sequence[T], what: str) -> Iterator[T]:
    """The items one by one, with a progress bar on standard error where that is a terminal and there are many."""
    if len(items) < 20 or not sys.stderr.isatty() or os.environ.get("TERM") == "dumb":
        yield from items
        return
    from ..rendering.terminal import progress

    yield from progress(items, what, sys.stderr)


def wants_only_json(path: str | None) -> bool:
    """Whether the JSON goes to standard output, so that nothing else may be printed there."""
    return path == "-"


def check_target(path: str | None, inputs: Iterable[str | None], option: str = "--json") -> None:
    """Refuse, before any work, to write JSON over an input or over a file that is no result of ours."""
    if path is None or path == "-":
        return
    from pathlib import Path

    target = Path(path)
    if not _is_there(target):
        return
    if target.is_dir():
        raise UsageError(f"{option} {path!r} is a folder; name a file")
    if any(item is not None and _is_there(Path(item)) and target.samefile(item) for item in inputs):
        raise UsageError(f"{option} {path!r} is an input of this command; choose another file")
    if not _is_result(target):
        raise UsageError(
            f"{option} {path!r} exists and is no result of dispatch-audit; remove it or choose another file"
        )


def _is_there(path: Path) -> bool:
    """Whether there is such a file; no for a name that is too long for one."""
    try:
        return path.exists()
    except OSError:
        return False


def _is_result(path: Path) -> bool:
    try:
        data = path.read_bytes()
        value = _decoded(data) if data else None
    except (OSError, JSONError):
        return False
    return value is None or (isinstance(value, dict) and any(keys <= value.keys() for keys in _OURS))


def _decoded(data: bytes) -> Any:
    """A JSON document, or the first line of JSONL."""
    from ..jsonio import decode

    try:
        return decode(data)
    except JSONError:
        return decode(data.partition(b"\n")[0])


@contextmanager
def lines_to(path: str | None) -> Iterator[IO[str] | None]:
    """A file for lines of JSON, ``-`` is standard output; None where none is wanted."""
    if path is None or path == "-":
        yield None if path is None else sys.stdout
        return
    with _opened(path) as handle:
        yield handle


def _opened(path: str) -> IO[str]:
    try:
        return open(path, "w", encoding="ascii")
    except OSError as problem:
        raise UsageError(f"cannot write --jsonl {path!r}: {problem.strerror or problem}") from problem


def write_json(path: str | None, document: Mapping[str, Any]) -> None:
    """The machine-readable result: to a file, as a whole or not at all, or to standard output."""
    if path is None:
        return
    from ..jsonio import encode_pretty

    text = encode_pretty(document) + "\n"
    if path == "-":
        sys.stdout.write(text)
        return
    from pathlib import Path

    temporary = Path(f"{path}.{os.getpid()}.tmp")
    try:
        temporary.write_text(text, encoding="ascii")
        temporary.replace(path)
    except OSError as problem:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)
        raise UsageError(f"cannot write --json {path!r}: {problem.strerror or problem}") from problem
