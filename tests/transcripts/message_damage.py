"""What the tests of message readers share: small files, counts, and damage at every place of a file."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from dispatch_fidelity.errors import InvalidInputError
from dispatch_fidelity.model.execution import Execution
from dispatch_fidelity.model.run import Completeness, ImportedRun

HEAD = 64 * 1024
Read = Callable[[Path], Iterator[ImportedRun]]
Where = tuple[Any, ...]
WRONG: dict[type, tuple[Any, ...]] = {
    str: (5, [5], {"x": 5}),
    int: ("x", [5]),
    bool: ("x", [5], 5),
    dict: ("x", 5, [5]),
    list: ("x", 5, {"x": 5}),
}


def jsonl(*lines: Any) -> bytes:
    return b"".join(json.dumps(line).encode() + b"\n" for line in lines)


def runs(read: Read, path: Path, content: Any) -> list[ImportedRun]:
    path.write_bytes(content if isinstance(content, bytes) else json.dumps(content).encode())
    return list(read(path))


def read_or_refuse(read: Read, path: Path, content: Any) -> list[ImportedRun]:
    """The runs; none where the file is refused as what it is not."""
    try:
        return runs(read, path, content)
    except InvalidInputError:
        return []


def counts(found: list[ImportedRun]) -> dict[str, int]:
    executions = [execution for each in found for execution in each.record]
    return {
        "runs": len(found),
        "calls": len(executions),
        "errored": sum(execution.failed for execution in executions),
        "open": sum(execution.open for execution in executions),
        "final_chars": sum(len(each.report) for each in found),
    }


def places(value: Any, where: Where = ()) -> Iterator[tuple[Where, Any]]:
    """Every place of a JSON value."""
    yield where, value
    members = (
        value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    )
    for name, item in members:
        yield from places(item, (*where, name))


def put(value: Any, where: Where, new: Any) -> Any:
    """The value with another one at a place."""
    if not where:
        return new
    changed = dict(value) if isinstance(value, dict) else list(value)
    changed[where[0]] = put(value[where[0]], where[1:], new)
    return changed


def damaged(
    value: Any, free: tuple[str, ...], limit: int, texts: tuple[str, ...] = ()
) -> Iterator[tuple[Where, Any]]:
    """The value with a wrong type at each of its places, at most ``limit`` of them, spread over all.

    At and below a member named in ``free`` everything is data, and nothing there is wrong; a member named in
    ``texts`` may be a text as well as a list, and so may its items.
    """
    found = [
        (where, new)
        for where, old in places(value)
        if where and not any(name in free for name in where)
        for new in WRONG.get(type(old), ())
        if not (isinstance(new, str) and {*where[-2:]} & {*texts})
    ]
    step = max(1, len(found) // limit)
    for where, new in found[::step]:
        yield where, put(value, where, new)


def told(found: list[ImportedRun]) -> list[Any]:
    """What the runs say, where it matters to a verdict."""
    return [
        (each.report, [(call.tool, call.args, call.status, call.result) for call in each.record])
        for each in found
    ]


def failures(found: list[ImportedRun]) -> list[tuple[str, str]]:
    return [(call.tool, call.message) for each in found for call in each.record if call.failed]


def check_damage(
    read: Read,
    path: Path,
    whole: Any,
    *,
    free: tuple[str, ...],
    texts: tuple[str, ...] = (),
    limit: int = 300,
) -> None:
    """Wrong types anywhere: no run is closed that says something else, nothing fails anew, no other report."""
    before = runs(read, path, whole)
    known, reports = told(before), {"", *(each.report for each in before)}
    for where, value in damaged(whole, free, limit, texts):
        after = read_or_refuse(read, path, value)
        closed = [each for each in after if each.record.completeness is Completeness.CLOSED]
        assert all(each in known for each in told(closed)), (where, told(closed))
        assert set(failures(after)) <= set(failures(before)), where
        assert {each.report for each in after} <= reports, (where, [each.report for each in after])


def check_cuts(read: Read, path: Path, content: bytes, cuts: int = 60) -> None:
    """Cut anywhere: refused, or read as far as it goes, and not closed."""
    for end in range(1, len(content) - 2, max(1, len(content) // cuts)):
        for run in read_or_refuse(read, path, content[:end]):
            whole_lines = content[:end].endswith(b"\n") or content[end : end + 1] == b"\n"
            assert run.record.completeness is not Completeness.CLOSED or whole_lines, end


def by_status(found: ImportedRun) -> list[tuple[str, str, str]]:
    return [(call.tool, str(call.status), str(call.learned)) for call in found.record]


def first(found: ImportedRun) -> Execution:
    return found.record.executions[0]


def recognised(recognise: Callable[[bytes], float], folder: Path) -> list[str]:
    """The files below a folder that a reader recognises, by their path."""
    return [
        path.relative_to(folder).as_posix()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and recognise(path.read_bytes()[:HEAD]) >= 0.5
    ]
