"""Damage to files of spans, and what it must never do: lose something in silence, or make a faithful agent look bad."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from dispatch_fidelity.errors import InvalidInputError
from dispatch_fidelity.model.call import Unknown
from dispatch_fidelity.model.execution import Execution
from dispatch_fidelity.model.frozen import UNSET
from dispatch_fidelity.model.run import Completeness, ImportedRun
from dispatch_fidelity.transcripts.registry import HEAD

Read = Callable[[Path], Iterator[ImportedRun]]


def counts(found: list[ImportedRun]) -> dict[str, int]:
    """The counts of a file, as ``reader_counts.json`` has them."""
    executions = [execution for each in found for execution in each.record]
    return {
        "runs": len(found),
        "calls": len(executions),
        "errored": sum(execution.failed for execution in executions),
        "open": sum(execution.open for execution in executions),
        "final_chars": sum(len(each.report) for each in found),
    }


def heads(shared: Path) -> Iterator[tuple[Path, bytes]]:
    """How every shared sample begins, and every log of ours among the artifacts."""
    for folder in (shared / "transcripts", shared / "artifacts_v1", Path(__file__).parents[1] / "assets"):
        for path in sorted(path for path in folder.rglob("*") if path.is_file()):
            with path.open("rb") as handle:
                yield path, handle.read(HEAD)


def jsonl(*lines: Any) -> bytes:
    """One line for each."""
    return b"".join(json.dumps(line).encode() + b"\n" for line in lines)


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The path to every value in a tree."""
    yield path
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in inner:
        yield from places(item, (*path, key))


def altered(value: Any, path: tuple[Any, ...], new: Any) -> Any:
    """A copy with something else at one place."""
    if not path:
        return new
    value = copy.copy(value)
    value[path[0]] = altered(value[path[0]], path[1:], new)
    return value


def some(items: list[Any], count: int) -> list[Any]:
    """At most so many of them, spread evenly."""
    step = max(1, len(items) // count)
    return items[::step]


def read_or_refuse(read: Read, path: Path, content: bytes) -> list[ImportedRun]:
    """The runs in a file of this content; none where it is refused."""
    path.write_bytes(content)
    try:
        return list(read(path))
    except InvalidInputError:
        return []


def is_harmless(found: list[ImportedRun], original: list[ImportedRun]) -> bool:
    """Whether runs read from a damaged file say nothing of a call that those of the whole file do not say."""
    whole = [execution for each in original for execution in each.record]
    reports = [each.report for each in original]
    for each in found:
        is_told = any(each.report in report or (report and report in each.report) for report in reports)
        if each.record.completeness is Completeness.CLOSED or not is_told:
            return False
        for execution in each.record:
            same = [other for other in whole if other.tool == execution.tool]
            if same and not execution.open and not any(_says_no_more(execution, other) for other in same):
                return False
    return True


def _says_no_more(execution: Execution, other: Execution) -> bool:
    if other.failed != execution.failed:
        return False
    if isinstance(execution.result, Unknown) or execution.result is UNSET:
        return True
    return bool(_plain(execution.result) == _plain(other.result))


def _plain(result: Any) -> Any:
    try:
        return json.loads(result) if isinstance(result, str) else result
    except ValueError:
        return result
