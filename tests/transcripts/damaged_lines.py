"""Files of agents' logs with something wrong at one place, and what of a reading such a place may not change."""

from __future__ import annotations

import atexit
import copy
import json
import shutil
import tempfile
from collections.abc import Callable, Collection, Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

from dispatch_fidelity.errors import InvalidInputError
from dispatch_fidelity.model.run import Completeness, ImportedRun

Read = Callable[[Path], Iterator[ImportedRun]]

SHARED = Path(__file__).parents[2] / "../shared/transcripts"
WRONG: tuple[Any, ...] = (None, 7, True, "wrong", ["wrong"], {"wrong": 1})


def lines_of(data: bytes) -> list[Any]:
    """The values of a document or of JSONL, without broken lines."""
    with suppress(ValueError):
        return [json.loads(data)]
    found = []
    for line in data.splitlines():
        with suppress(ValueError):
            found.append(json.loads(line))
    return found


def written(values: list[Any]) -> bytes:
    return b"".join(json.dumps(value).encode() + b"\n" for value in values)


def runs(read: Read, data: bytes, name: str = "session.jsonl") -> list[ImportedRun]:
    """What a reader makes of these bytes; none where it says that they are not of its format."""
    path = _folder() / name
    path.write_bytes(data)
    try:
        return list(read(path))
    except InvalidInputError:
        return []


@cache
def _folder() -> Path:
    """One folder for all files of a test run: making one for each would take longer than reading it."""
    folder = Path(tempfile.mkdtemp())
    atexit.register(shutil.rmtree, folder)
    return folder


def counts(read: Read, path: Path) -> dict[str, int]:
    found = list(read(path))
    executions = [execution for each in found for execution in each.record]
    return {
        "runs": len(found),
        "calls": len(executions),
        "errored": sum(execution.failed for execution in executions),
        "open": sum(execution.open for execution in executions),
        "final_chars": sum(len(each.report) for each in found),
    }


def essence(run: ImportedRun) -> tuple[Any, ...]:
    """All of a run that a verdict can rest on."""
    calls = tuple(
        (call.tool, repr(call.args), call.status, call.learned, repr(call.result), call.message, call.cut)
        for call in run.record
    )
    return calls, run.report, run.task


def places(value: Any) -> Iterator[tuple[Any, Any, Any]]:
    """Every member or item of a tree: what holds it, its key, and itself. Arguments may be of any shape."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in items:
        yield value, key, inner
        if key not in ("args", "arguments", "action"):
            yield from places(inner)


def damaged(values: list[Any], every: int = 1, optional: Collection[str] = ()) -> Iterator[tuple[str, bytes]]:
    """The file with another type, or nothing, at each ``every``-th place; ``optional`` members may be missing."""
    tree = copy.deepcopy(values)
    for number, (holder, key, inner) in enumerate(list(places(tree))):
        if number % every:
            continue
        may_miss = key in optional
        wrong = [each for each in WRONG if type(each) is not type(inner) and not (may_miss and each is None)]
        for each in (wrong[number % len(wrong)], wrong[(number + 1) % len(wrong)]):
            holder[key] = each
            yield f"{key!r}: {str(inner)[:40]!r} is {each!r}", written(tree)
        holder[key] = inner
        if isinstance(holder, dict) and not may_miss:
            kept = dict(holder)
            del holder[key]
            yield f"{key!r}: {str(inner)[:40]!r} is missing", written(tree)
            holder.clear()
            holder.update(kept)


def never_worse(read: Read, values: list[Any], every: int = 1, optional: Collection[str] = ()) -> list[str]:
    """What is wrong with the reading of damaged variants: nothing, when a reader is right.

    A variant that is still closed must read as the file without damage; no variant has a call fail that did not.
    """
    before = runs(read, written(values))
    wrong = []
    for what, data in damaged(values, every, optional):
        after = runs(read, data)
        for run in after:
            is_same = any(essence(run) == essence(each) for each in before)
            if run.record.completeness is Completeness.CLOSED and not is_same:
                wrong.append(f"closed: {what}")
        if len(after) != len(before):
            continue
        for old, new in zip(before, after, strict=True):
            if len(old.record) == len(new.record) and any(
                one.failed and not other.failed for one, other in zip(new.record, old.record, strict=True)
            ):
                wrong.append(f"failed: {what}")
    return wrong


def torn(read: Read, values: list[Any], count: int = 60) -> list[str]:
    """Readings of the file cut within a line that are still closed: none, when a reader is right."""
    data = written(values)
    ends = {
        end
        for end in range(1, len(data) - 1, max(1, len(data) // count))
        if data[end - 1 : end + 1].count(b"\n") == 0
    }
    closed = Completeness.CLOSED
    return [
        f"cut at {end}"
        for end in sorted(ends)
        if any(run.record.completeness is closed for run in runs(read, data[:end]))
    ]


def heads(but: str) -> Iterator[tuple[Path, bytes]]:
    """The beginnings of all shared samples except those in one folder, and of logs of our own."""
    ours = Path(__file__).parents[1] / "assets"
    for path in sorted([*SHARED.rglob("*"), *ours.rglob("*.jsonl"), *ours.rglob("*.json")]):
        if path.is_file() and path.relative_to(path.anchor).parts and SHARED / but not in path.parents:
            with path.open("rb") as handle:
                yield path, handle.read(64 * 1024)
