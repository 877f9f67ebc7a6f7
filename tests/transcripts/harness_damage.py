"""What the tests of harness readers share: counts, and files that are damaged in every way that can be made up."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from dispatch_fidelity.errors import InvalidInputError
from dispatch_fidelity.model.run import Completeness, ImportedRun

HEAD = 64 * 1024
Read = Callable[[Path], Iterator[ImportedRun]]
Where = tuple[Any, ...]

_OTHERS: tuple[Any, ...] = (7, "x", [7], {"x": 7}, True)
OUR_LOGS = (
    b'{"v": 2, "run": "r", "stream": "main", "n": 0, "prev": "00", "type": "open"}\n',
    b'{"seq": 0, "run_id": "r", "agent_id": "a", "tool": "t", "args": {}, "result": "x"}\n',
)


def written(path: Path, content: Any) -> Path:
    path.write_bytes(content if isinstance(content, bytes) else json.dumps(content).encode())
    return path


def jsonl(*lines: Any) -> bytes:
    return b"".join(json.dumps(line).encode() + b"\n" for line in lines)


def counts(runs: list[ImportedRun]) -> dict[str, int]:
    executions = [execution for run in runs for execution in run.record]
    return {
        "runs": len(runs),
        "calls": len(executions),
        "errored": sum(execution.failed for execution in executions),
        "open": sum(execution.open for execution in executions),
        "final_chars": sum(len(run.report) for run in runs),
    }


def told(run: ImportedRun) -> Any:
    """All of a run that a verdict may rest on."""
    calls = [(e.tool, e.args, e.status, e.result, e.cut, e.joint) for e in run.record]
    return run.report, calls


def foreign_samples(shared: Path, *own: str) -> Iterator[tuple[str, bytes]]:
    """The heads of all shared samples but those in the folders ``own``, and of logs of ours."""
    folder = shared / "transcripts"
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        if path.is_file() and not name.startswith(own):
            yield name, path.read_bytes()[:HEAD]
    for number, log in enumerate(OUR_LOGS):
        yield f"log {number}", log


def places(value: Any, free: frozenset[str], where: Where = ()) -> Iterator[tuple[Where, Any]]:
    """Every place of a JSON value but those below a member named in ``free``, where everything is data.

    A name with ``=`` before it is data itself.
    """
    if where and f"={where[-1]}" in free:
        return
    if where:
        yield where, value
    if where and where[-1] in free:
        return
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for name, item in inside:
        yield from places(item, free, (*where, name))


def put(value: Any, where: Where, new: Any) -> Any:
    """The value with another one at a place."""
    if not where:
        return new
    changed = dict(value) if isinstance(value, dict) else list(value)
    changed[where[0]] = put(value[where[0]], where[1:], new)
    return changed


def wrong_types(
    value: Any, free: tuple[str, ...], limit: int, seed: int = 1
) -> Iterator[tuple[Where, Any, Any]]:
    """The value with another type at one of its places, for at most ``limit`` places that are spread over all."""
    found = [
        (where, old)
        for where, old in places(value, frozenset(free))
        if old is not None and not isinstance(old, float)
    ]
    chance = random.Random(seed)
    chosen = found if len(found) <= limit else chance.sample(found, limit)
    for where, old in chosen:
        for new in _OTHERS:
            if type(new) is not type(old):
                yield where, new, put(value, where, new)


def read_or_refuse(read: Read, path: Path) -> list[ImportedRun] | None:
    try:
        return list(read(path))
    except InvalidInputError:
        return None


def harm(runs: list[ImportedRun] | None, original: list[ImportedRun]) -> str:
    """What is wrong with the reading of a damaged file: it fails calls or closes records that it should not."""
    if runs is None:
        return ""
    failed = sum(e.failed for run in runs for e in run.record)
    if failed > sum(e.failed for run in original for e in run.record):
        return f"calls failed that did not: {failed}"
    known = [told(run) for run in original if run.record.completeness is Completeness.CLOSED]
    for run in runs:
        if run.record.completeness is Completeness.CLOSED and told(run) not in known:
            return f"{run.record.run_id} is closed and tells other things than before"
    return ""


def check_wrong_types(
    read: Read, path: Path, document: Any, *, free: tuple[str, ...], limit: int, lines: bool = False
) -> None:
    """Whatever has a wrong type, a file is read or refused, and damage accuses no one."""

    def text(value: Any) -> bytes:
        return jsonl(*value) if lines and isinstance(value, list) else json.dumps(value).encode()

    original = list(read(written(path, text(document))))
    for where, new, changed in wrong_types(document, free, limit):
        found = read_or_refuse(read, written(path, text(changed)))
        assert not harm(found, original), (harm(found, original), where, new)


def check_missing(
    read: Read, path: Path, document: Any, *, free: tuple[str, ...], limit: int, lines: bool = False
) -> None:
    """Whatever is missing, a file is read or refused."""
    found = [where for where, _ in places(document, frozenset(free))]
    chosen = found if len(found) <= limit else random.Random(2).sample(found, limit)
    for where in chosen:
        holder = document
        for name in where[:-1]:
            holder = holder[name]
        rest = (
            {name: item for name, item in holder.items() if name != where[-1]}
            if isinstance(holder, dict)
            else [item for index, item in enumerate(holder) if index != where[-1]]
        )
        changed = put(document, where[:-1], rest) if where[:-1] else rest
        content = jsonl(*changed) if lines and isinstance(changed, list) else json.dumps(changed).encode()
        read_or_refuse(read, written(path, content))


def check_cut(read: Read, path: Path, data: bytes, number: int, *, lines: bool = False) -> None:
    """A file that ends anywhere is refused, or read as far as it goes; its last run is then not closed."""
    original = list(read(written(path, data)))
    for end in sorted(random.Random(3).sample(range(len(data) - 1), min(number, len(data) - 1))):
        found = read_or_refuse(read, written(path, data[:end]))
        if not lines:
            assert found is None, end
        assert not harm(found, original), (harm(found, original), end)
