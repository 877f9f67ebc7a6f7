"""The writer of log 2: what happens is on file before and after it happens.

One stream per process, one lock per stream, one ``write`` per record. A failed or short write poisons the
stream: nothing is appended to it and nothing is retried. A forked process opens a stream of its own.
"""

from __future__ import annotations

import hashlib
import os
import secrets
import threading
import time
import weakref
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ..errors import RecordingError, RunExistsError
from ..jsonio import encode
from .chain import first_link
from .paths import listed_streams, log_path
from .streams import list_stream, sync_folder
from .values import Redact, encode_value, redacted, snapshot, tagged

INLINE_LIMIT = 16 * 1024
PREVIEW = 1024
HEADS = 4096
LEVELS = ("process", "power")

_now = time.time_ns
_tick = time.monotonic_ns
_sha256 = hashlib.sha256
_write = os.write


class _Stream:
    """One open log file, written by one process."""

    __slots__ = (
        "calls",
        "ended",
        "fault",
        "fd",
        "id",
        "lock",
        "n",
        "path",
        "pid",
        "prefix",
        "prev",
        "sync_lock",
        "synced",
    )

    def __init__(self, path: Path, run_id: str, stream: str, manifest_digest: str) -> None:
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_CLOEXEC
        self.fd = -1
        try:
            self.fd = os.open(path, flags, 0o600)
        except FileExistsError:
            raise RunExistsError(run_id, str(path.parent)) from None
        self.id = stream
        self.path = path
        self.pid = os.getpid()
        self.lock = threading.Lock()
        self.sync_lock = threading.Lock()
        self.synced = 0
        self.n = 0
        self.calls = 0
        self.ended = 0
        self.fault: BaseException | None = None
        self.prefix = f'{{"v":2,"run":"{run_id}","stream":"{stream}","n":'
        self.prev = first_link(run_id, stream, manifest_digest)
        self.append(
            f'"type":"open","wall":{_now() // 1000},"mono":{_tick() // 1000},"manifest":"{manifest_digest}"'
        )
        self.sync(self.n)
        sync_folder(path.parent)

    def append(self, members: str) -> None:
        """Write one record; the caller holds the lock. A short write is a failed one."""
        line = f'{self.prefix}{self.n},"prev":"{self.prev}",{members}}}'.encode("ascii")
        try:
            if _write(self.fd, line + b"\n") != len(line) + 1:
                raise _short(self)
        except OSError as problem:
            self.fault = problem
            raise
        self.n += 1
        self.prev = _sha256(line).hexdigest()

    def release(self) -> None:
        """Give the file back; nothing can be written any more."""
        fd, self.fd = self.fd, -1
        if fd >= 0:
            os.close(fd)

    __del__ = release

    def sync(self, upto: int) -> None:
        """Return once the first ``upto`` records survive a power loss; concurrent callers share one sync."""
        with self.sync_lock:
            if self.synced >= upto:
                return
            reached = self.n
            try:
                os.fdatasync(self.fd)
            except OSError as problem:
                self.fault = problem
                raise
            self.synced = reached


class Started:
    """The ticket of a call whose start is on file."""

    __slots__ = ("call", "done", "durable", "stream")

    def __init__(self, stream: _Stream | None, call: str, durable: bool) -> None:
        self.stream = stream
        self.call = call
        self.durable = durable
        self.done = False


_recorders: weakref.WeakSet[Recorder] = weakref.WeakSet()


def _forked() -> None:
    for recorder in list(_recorders):
        recorder._after_fork()


os.register_at_fork(after_in_child=_forked)


class Recorder:
    """Writes the streams of one run."""

    def __init__(
        self,
        folder: Path,
        run_id: str,
        manifest_digest: str,
        *,
        durability: str | Mapping[str, str] = "process",
        on_failure: str = "refuse",
        redact: Redact | None = None,
        redaction_key: bytes = b"",
        opening: str = "",
        attach: bool = False,
    ) -> None:
        self.folder = folder
        self.run_id = run_id
        self.manifest_digest = manifest_digest
        self._power = durability == "power"
        self._power_tools = (
            frozenset()
            if isinstance(durability, str)
            else frozenset(t for t, d in durability.items() if d == "power")
        )
        self._on_failure = on_failure
        self._redact = redact
        self._key = redaction_key
        self._opening = opening
        self._is_first = not attach
        self._parent = "" if not attach else "main"
        self._stream: _Stream | None = None
        self._opening_lock = threading.Lock()
        self._retired: list[_Stream] = []
        self._gap = ""
        self._lost = False
        self._reopened = False
        self.closed = False
        self._heads: dict[tuple[str, str], str] = {}
        if not attach:
            self._stream = self._open_stream()
        _recorders.add(self)

    # -- streams -----------------------------------------------------------------------------------------

    def _open_stream(self) -> _Stream:
        first = self._is_first and not self._retired
        stream = "main" if first else secrets.token_hex(16)
        path = log_path(self.folder, self.run_id, stream)
        if first and path.exists():
            raise RunExistsError(self.run_id, str(self.folder))
        list_stream(self.folder, self.run_id, stream, self._parent)
        return _Stream(path, self.run_id, stream, self.manifest_digest)

    def _after_fork(self) -> None:
        """In a forked child: the parent's stream is not ours; the next record opens one of our own."""
        if self.closed:
            return
        mine = self._stream
        self._parent = mine.id if mine is not None else self._parent
        self._opening_lock = threading.Lock()
        self._stream = None
        self._retired = []
        self._is_first = False
        self._gap = ""
        self._lost = False
        self._reopened = False
        if mine is not None:
            mine.release()
        self.close_at_exit()

    def _current(self) -> _Stream:
        """The stream to write to; raises RecordingError when nothing can be recorded."""
        stream = self._stream
        if stream is not None and stream.fault is None:
            return stream
        with self._opening_lock:
            stream = self._stream
            if stream is not None and stream.fault is None:
                return stream
            if stream is None and not self._retired:
                try:
                    self._stream = self._open_stream()
                except OSError as problem:
                    raise RecordingError(
                        f"run {self.run_id!r}: no stream can be opened: {problem}"
                    ) from problem
                return self._stream
            fault = stream.fault if stream is not None else self._retired[-1].fault
            if self._on_failure != "continue" or self._reopened:
                raise RecordingError(
                    f"run {self.run_id!r}: the record cannot be written ({fault}); the call was refused. "
                    "Free the disk and start a new run"
                ) from fault
            self._reopened = True
            if stream is not None:
                self._retired.append(stream)
            self._stream = None
            try:
                opened = self._open_stream()
                with opened.lock:
                    opened.append(self._gap_members(f"stream {self._retired[-1].id} failed: {fault}"))
            except OSError as problem:
                raise RecordingError(
                    f"run {self.run_id!r}: the record cannot be written: {problem}"
                ) from problem
            self._stream = opened
            return opened

    @staticmethod
    def _gap_members(reason: str) -> str:
        return (
            f'"type":"gap","wall":{_now() // 1000},"mono":{_tick() // 1000},"reason":{encode_value(reason)}'
        )

    def close_at_exit(self) -> None:
        """Close this process's stream when it ends, also under multiprocessing, which skips atexit."""
        import atexit
        import sys

        reference = weakref.ref(self)

        def close() -> None:
            found = reference()
            if found is not None and found._stream is not None:
                found.close()

        atexit.register(close)
        util = sys.modules.get("multiprocessing.util")
        if util is not None:
            util.Finalize(None, close, exitpriority=100)

    # -- calls -------------------------------------------------------------------------------------------

    def start(
        self,
        tool: str,
        args: Any,
        agent: str = "agent",
        *,
        attempt: int = 1,
        source_id: str = "",
        parent: str = "",
    ) -> Started:
        """Put the start of a call on file and return its ticket.

        Raises RecordingError when that cannot be done and the run refuses (``on_failure="refuse"``); under
        ``"continue"`` the ticket is empty and the run can no longer pass.
        """
        head = self._heads.get((tool, agent)) or self._head(tool, agent)
        stored = encode_value(args) if self._redact is None else self._hidden(args)
        if attempt != 1 or source_id or parent:
            head = _extras(attempt, source_id, parent) + head
        durable = self._power or tool in self._power_tools
        try:
            stream = self._stream
            if stream is None or stream.fault is not None:
                stream = self._current()
            with stream.lock:
                if stream.fault is not None:
                    raise OSError(str(stream.fault))
                number = stream.n
                call = f"c{number}"
                line = (
                    f'{stream.prefix}{number},"prev":"{stream.prev}","type":"call.started","call":"{call}",'
                    f'"wall":{_now() // 1000},"mono":{_tick() // 1000},{head}{stored}}}'
                ).encode("ascii")
                if _write(stream.fd, line + b"\n") != len(line) + 1:
                    raise _short(stream)
                stream.n = number + 1
                stream.prev = _sha256(line).hexdigest()
                stream.calls += 1
            if durable:
                stream.sync(number + 1)
        except (OSError, RecordingError) as problem:
            if not isinstance(problem, RecordingError) and self._stream is not None:
                self._stream.fault = self._stream.fault or problem
            if self._on_failure == "continue":
                return self._start_after_fault(tool, args, agent, problem)
            if isinstance(problem, RecordingError):
                raise
            raise RecordingError(
                f"run {self.run_id!r}: the start of {tool!r} cannot be recorded ({problem}); the call was refused"
            ) from problem
        return Started(stream, call, durable)

    def _head(self, tool: str, agent: str) -> str:
        """The members of a start that are the same for every call of this tool by this agent."""
        if len(self._heads) >= HEADS:
            self._heads.clear()
        head = f'"agent":{encode_value(agent)},"tool":{encode_value(tool)},"args":'
        self._heads[tool, agent] = head
        return head

    def _hidden(self, value: Any) -> str:
        assert self._redact is not None
        return encode(redacted(value, self._redact, self._key)).decode("ascii")

    def _start_after_fault(self, tool: str, args: Any, agent: str, problem: BaseException) -> Started:
        """The start in a fresh stream, opened once; else an empty ticket, and the run is lost."""
        if not self._reopened:
            try:
                self._current()
                return self.start(tool, args, agent)
            except RecordingError:
                pass
        self._lost = True
        self._gap = str(problem)
        return Started(None, "", False)

    def returned(self, ticket: Started, result: Any) -> None:
        """Put the result of a call on file; a fault of the record never reaches the caller's path."""
        stream = ticket.stream
        if stream is None or stream is not self._stream:
            if not self._writable(ticket):
                return
        elif ticket.done or stream.fault is not None:
            return
        stored = encode_value(result) if self._redact is None else self._hidden(result)
        if len(stored) > INLINE_LIMIT:
            try:
                stored = self._as_blob(stored, result, ticket.durable)
            except OSError as problem:
                self._poison(ticket, problem)
                return
        self._end(ticket, "call.returned", '"result":' + stored)

    def raised(self, ticket: Started, error: str, message: str, shown: str | None = None) -> None:
        """Put the exception that ended a call on file."""
        self._end(ticket, "call.raised", _error_members(error, message, shown))

    def aborted(self, ticket: Started, error: str) -> None:
        """Put a cancellation or interrupt on file; the caller re-raises it."""
        self._end(ticket, "call.aborted", f'"error":{encode_value(error)}')

    def not_executed(self, ticket: Started, reason: str, message: str, shown: str | None = None) -> None:
        """Say that a call never ran; ``reason`` is ``refused`` or ``invalid``."""
        self._end(ticket, "call.not_executed", f'"reason":"{reason}",{_error_members("", message, shown)}')

    def _as_blob(self, stored: str, result: Any, durable: bool) -> str:
        content, media = stored.encode("ascii"), "json"
        if isinstance(result, str) and self._redact is None and not stored.startswith("{"):
            content, media = str.encode(result), "text"
        return self._store_blob(content, media, durable)

    def _store_blob(self, content: bytes, media: str, durable: bool) -> str:
        digest = _sha256(content).hexdigest()
        folder = self.folder / f"{self.run_id}.blobs"
        folder.mkdir(mode=0o700, exist_ok=True)
        target = folder / digest
        if not target.exists():
            temporary = folder / f".{digest}.{os.getpid()}.{threading.get_ident()}"
            fd = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
            try:
                view = memoryview(content)
                while view:
                    view = view[_write(fd, view) :]
                if durable:
                    os.fdatasync(fd)
            finally:
                os.close(fd)
            temporary.replace(target)
            if durable:
                sync_folder(folder)
        preview = (
            content[:PREVIEW].decode("utf-8", "replace")
            + " … "
            + content[-PREVIEW:].decode("utf-8", "replace")
        )
        blob = tagged("blob", preview) | {"sha256": digest, "size": len(content), "media": media}
        return encode(blob).decode("ascii")

    @staticmethod
    def _writable(ticket: Started) -> bool:
        stream = ticket.stream
        return stream is not None and not ticket.done and stream.fault is None and stream.pid == os.getpid()

    @staticmethod
    def _poison(ticket: Started, problem: OSError) -> None:
        """The effect has happened: the caller keeps its result, the stream is dead, the next call is refused."""
        stream = ticket.stream
        if stream is not None and stream.fault is None:
            stream.fault = problem

    def _end(self, ticket: Started, kind: str, members: str) -> None:
        stream = ticket.stream
        if stream is None or (stream is not self._stream and not self._writable(ticket)):
            return
        try:
            with stream.lock:
                if ticket.done or stream.fault is not None:
                    return
                ticket.done = True
                number = stream.n
                line = (
                    f'{stream.prefix}{number},"prev":"{stream.prev}","type":"{kind}","call":"{ticket.call}",'
                    f'"wall":{_now() // 1000},"mono":{_tick() // 1000},{members}}}'
                ).encode("ascii")
                if _write(stream.fd, line + b"\n") != len(line) + 1:
                    raise _short(stream)
                stream.n = number + 1
                stream.prev = _sha256(line).hexdigest()
                stream.ended += 1
            if ticket.durable:
                stream.sync(number + 1)
        except OSError as problem:
            self._poison(ticket, problem)

    # -- end ---------------------------------------------------------------------------------------------

    def gap(self, reason: str) -> None:
        """Say that something of this run could not be recorded; the run can no longer pass."""
        stream = self._current()
        with stream.lock:
            stream.append(self._gap_members(reason))

    def close(self) -> None:
        """Write the close record of this process's stream; a poisoned stream stays without one."""
        if self.closed:
            return
        self.closed = True
        stream = self._stream
        if stream is None or stream.fault is not None or stream.pid != os.getpid() or self._lost:
            return
        with stream.lock:
            names = listed_streams(self.folder, self.run_id) if stream.id == "main" else [stream.id]
            members = (
                f'"type":"close","wall":{_now() // 1000},"mono":{_tick() // 1000},"calls":{stream.calls},'
                f'"ended":{stream.ended},"streams":{encode(names).decode("ascii")},"opening":"{self._opening}"'
            )
            line = f'{stream.prefix}{stream.n},"prev":"{stream.prev}",{members}'
            digest = _sha256(line.encode("ascii")).hexdigest()
            try:
                stream.append(f'{members},"digest":"{digest}"')
                stream.sync(stream.n)
            except OSError:
                return
        stream.fault = RecordingError("closed")
        stream.release()


def _extras(attempt: int, source_id: str, parent: str) -> str:
    members = "" if attempt == 1 else f'"attempt":{attempt},'
    if source_id:
        members += f'"source_id":{encode_value(source_id)},'
    if parent:
        members += f'"parent":{encode_value(parent)},'
    return members


def _short(stream: _Stream) -> OSError:
    """The error of a write that did not take the whole line; the stream is dead from here on."""
    stream.fault = OSError("short write: the disk is full or a limit was reached")
    return stream.fault


def _error_members(error: str, message: str, shown: str | None) -> str:
    members = f'"error":{encode_value(error)},"message":{encode_value(snapshot(message[:INLINE_LIMIT]))}'
    return members if shown is None else f'{members},"shown":{encode_value(shown)}'
