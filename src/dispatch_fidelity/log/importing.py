"""Writes an imported run as a log of our own, so that every other command reads it; its open record says so.

The chain shows later edits of the file. It shows nothing of the transcript it was made from: the level stays E0.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from ..errors import RecordingError, RunExistsError
from ..jsonio import UNSET, encode
from ..model.call import Blob, Status, Unknown
from ..model.execution import Execution
from ..model.frozen import changed
from ..model.run import Completeness, ImportedRun
from .chain import first_link, link
from .events import NOT_SHOWN, STARTED
from .imported import UNREAD
from .paths import MANIFEST_SUFFIX, list_path, log_path
from .streams import list_stream, sync_folder
from .values import encode_value

INLINE = 16 * 1024
_FREE = frozenset({"args", "result", "message", "shown"})
_ENDS = {
    Status.RETURNED: "call.returned",
    Status.CACHED: "call.returned",
    Status.RAISED: "call.raised",
    Status.CANCELLED: "call.aborted",
    Status.REFUSED: "call.not_executed",
    Status.INVALID: "call.not_executed",
    Status.BACKGROUND: NOT_SHOWN,
    Status.UNKNOWN: NOT_SHOWN,
}


def alone(run: ImportedRun) -> ImportedRun:
    """The run as the log of one agent shows it.

    Calls that its helpers made may back its report, and are not there: such a record does not hold everything.
    """
    if not run.delegations:
        return run
    record = run.record
    completeness = record.completeness
    if completeness is Completeness.CLOSED:
        completeness = Completeness.PARTIAL
    notes = (*record.notes, "calls that other agents made for this one are not in this log")
    return changed(
        run, record=changed(record, notes=notes, completeness=completeness), delegations=(), behalf=()
    )


def write_import(
    run: ImportedRun,
    folder: Path,
    run_id: str,
    *,
    sha256: str,
    now: int,
    read_blob: Callable[[Blob], str | None],
) -> tuple[Path, Path]:
    """Write log and report of an imported run, ``alone``, into ``folder``; the paths of both.

    ``sha256`` is the digest of the transcript, ``now`` the time in microseconds since the epoch, ``read_blob`` finds
    results that were left in the transcript. Raises RunExistsError (64) when a run of this id is there, and
    RecordingError (70) when it cannot be written; nothing of it is left then.
    """
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as problem:
        raise RecordingError(
            f"cannot make the folder {str(folder)!r}: {problem.strerror or problem}"
        ) from problem
    log, report = log_path(folder, run_id, "main"), folder / f"{run_id}.report.txt"
    blobs = folder / f"{run_id}.blobs"
    ours = (log, report, list_path(folder, run_id))
    if any(path.exists() for path in (*ours, blobs, folder / f"{run_id}{MANIFEST_SUFFIX}")):
        raise RunExistsError(run_id, str(folder))
    writer = _Writer(blobs, run_id, now, read_blob)
    try:
        list_stream(folder, run_id, "main", "")
        writer.write(log, alone(run), sha256)
        # A lone surrogate as JSON escapes it, so that a results block says the same.
        _write(report, run.report.encode("utf-8", "backslashreplace"))
        sync_folder(folder)
    except OSError as problem:
        with suppress(OSError):
            for path in (*ours, *blobs.glob("*")):
                path.unlink(missing_ok=True)
            blobs.rmdir()
        raise RecordingError(f"cannot write run {run_id!r}: {problem.strerror or problem}") from problem
    return log, report


def _write(path: Path, data: bytes) -> None:
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    with open(fd, "wb") as handle:
        handle.write(data)
        handle.flush()
        os.fsync(handle.fileno())


class _Writer:
    """One chained stream, written from end to end."""

    def __init__(self, blobs: Path, run_id: str, now: int, read_blob: Callable[[Blob], str | None]) -> None:
        self._blobs = blobs
        self._run = run_id
        self._now = now
        self._read_blob = read_blob
        self._n = 0
        self._prev = first_link(run_id, "main", "")

    def write(self, path: Path, run: ImportedRun, sha256: str) -> None:
        ended = 0
        with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600), "wb") as handle:
            handle.write(self._line("open", imported=_origin(run, sha256)))
            for call in run.record.executions:
                handle.write(self._line(STARTED, **_start(call)))
                kind = _ENDS.get(call.status)
                if kind is not None:
                    handle.write(self._line(kind, **self._end(call)))
                    ended += kind != NOT_SHOWN
            handle.write(self._close(len(run.record.executions), ended))
            handle.flush()
            os.fsync(handle.fileno())

    def _line(self, kind: str, **members: Any) -> bytes:
        """One record; members that hold nothing are left out."""
        head = (
            f'{{"v":2,"run":"{self._run}","stream":"main","n":{self._n},"prev":"{self._prev}","type":"{kind}"'
        )
        parts = [
            f',"{name}":{_json(name, value)}'
            for name, value in members.items()
            if not _is_absent(name, value)
        ]
        line = (head + "".join(parts) + "}").encode("ascii")
        self._n += 1
        self._prev = link(line)
        return line + b"\n"

    def _close(self, calls: int, ended: int) -> bytes:
        head = self._line("close", wall=self._now, calls=calls, ended=ended, streams=["main"])[:-2]
        return head + b',"digest":"' + hashlib.sha256(head).hexdigest().encode() + b'"}\n'

    def _end(self, call: Execution) -> dict[str, Any]:
        return {
            "call": call.call,
            "result": self._result(call.result),
            "reason": "invalid"
            if call.status is Status.INVALID
            else "refused"
            if call.status is Status.REFUSED
            else "",
            "error": call.error,
            "message": call.message or UNSET,
            "shown": call.shown,
            "status": str(call.status),
            "learned": str(call.learned),
            "cut": call.cut,
            "joint": call.joint,
            "until": call.until,
        }

    def _result(self, value: Any) -> Any:
        if isinstance(value, Blob):
            text = self._read_blob(value)
            return _stand_in(Unknown("not at hand", value.preview)) if text is None else self._result(text)
        if isinstance(value, Unknown):
            return _stand_in(value)
        if isinstance(value, str) and len(value) > INLINE:
            return self._blob(value)
        return value

    def _blob(self, text: str) -> _Ours:
        data = text.encode("utf-8", "surrogatepass")
        digest = hashlib.sha256(data).hexdigest()
        self._blobs.mkdir(mode=0o700, exist_ok=True)
        path = self._blobs / digest
        if not path.exists():
            _write(path, data)
        preview = f"{text[:200]} … {text[-200:]}"
        return _Ours(
            {"$df": "blob", "sha256": digest, "size": len(data), "text": _clean(preview), "media": "text"}
        )


class _Ours(dict[str, Any]):
    """A stand-in of the log's own, which is written as it is; the same from a transcript is quoted."""


def _json(name: str, value: Any) -> str:
    if isinstance(value, _Ours) or name == "imported":
        return encode(value).decode("ascii")
    if isinstance(value, str) and name not in _FREE:
        return encode(_clean(value)).decode("ascii")
    return encode_value(value)


def _clean(text: str) -> str:
    """Text of the envelope, which JSON must hold as a string: lone surrogates are written out."""
    return text.encode("utf-8", "backslashreplace").decode()


def _is_absent(name: str, value: Any) -> bool:
    return value is UNSET or (name not in _FREE and (value is False or value in ("", -1)))


def _start(call: Execution) -> dict[str, Any]:
    args = call.args
    if isinstance(args, Unknown):
        args = _Ours({UNREAD: _stand_in(args)})
    elif not isinstance(args, dict):
        args = {UNREAD: args}
    return {
        "call": call.call,
        "source_id": call.source_id,
        "parent": call.parent,
        "agent": call.agent,
        "tool": call.tool,
        "args": args,
        "step": call.step,
        "at": call.at,
    }


def _stand_in(value: Unknown) -> _Ours:
    return _Ours({"$df": "opaque", "type": _clean(value.kind), "text": _clean(value.text)})


def _origin(run: ImportedRun, sha256: str) -> dict[str, Any]:
    record = run.record
    return {
        "format": _clean(record.format),
        "source": _clean(record.source),
        "sha256": sha256,
        "completeness": str(record.completeness),
        "agent": _clean(run.agent),
        "parent": _clean(run.parent),
        "task": _clean(run.task),
        "damage": [{"kind": str(damage.kind), "text": _clean(damage.text)} for damage in record.damage],
        "notes": [_clean(note) for note in record.notes],
    }
