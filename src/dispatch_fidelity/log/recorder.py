"""The writer of log 2: what happens is on file before and after it happens.

One stream per process, one lock per stream, one ``write`` per record. A failed or short write poisons the
stream: nothing is appended to it and nothing is retried. A forked process opens a stream of its own.
"""

from __future__ import annotations

import hashlib
import os
import secrets
import sys
import threading
import time
import weakref
from collections.abc import Callable, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from ..errors import RecordingError, RunExistsError, SessionClosedError
from ..jsonio import encode
from .chain import first_link
from .paths import listed_streams, log_path
from .streams import list_stream, sync_folder
from .values import Redact, encode_value, redacted, snapshot, tagged

INLINE_LIMIT = 16 * 1024
PREVIEW = 1024
HEADS = 4096
TAIL = 64 * 1024  # a close record is shorter
YIELDS = 64
SHORT = "short write: the disk is full or a limit was reached"
LEVELS = ("process", "power")

# The types of records as they stand in a line; those of calls go on with the number of the call.
OPEN, GAP, CLOSE = "open", "gap", "close"
RAISED, ABORTED, NOT_EXECUTED = (f'call.{word}","call":"c' for word in ("raised", "aborted", "not_executed"))

_now = time.time_ns
_tick = time.monotonic_ns
_sha256 = hashlib.sha256
_write = os.write
_sleep = time.sleep


class _Stream:
    """One open log file, written by one process.

    ``wall`` is the clock at opening, advanced by the monotonic one: within a stream it never runs backwards.
    """

    __slots__ = (
        "ended",
        "epoch",
        "fault",
        "fd",
        "gaps",
        "id",
        "lock",
        "n",
        "path",
        "pid",
        "prefix",
        "prev",
        "sync_lock",
        "synced",
        "write",
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
        self.ended = 0
        self.gaps = 0
        self.fault: BaseException | None = None
        self.write: Callable[[int, bytes], int] = _write
        self.epoch = (_now() - _tick()) // 1000
        self.prefix = f'{{"v":2,"run":"{run_id}","stream":"{stream}","n":'
        self.prev = first_link(run_id, stream, manifest_digest)
        self.put(OPEN, "", f'"manifest":"{manifest_digest}"')
        self.sync(self.n)
        sync_folder(path.parent)

    # ``Recorder.start`` and ``Recorder.returned`` hold the same steps as ``put``, written out: two frames less
    # are a twentieth of the time that recording a call takes.

    def put(self, kind: str, call: int | str, tail: str) -> int:
        """Put one record on file with one write, and return its number.

        Counts are kept and told under the lock, so that the close record is true while other calls end.
        Whatever goes wrong here, a short write and an interrupt included, poisons the stream: what is on
        file is then unknown, and a record behind it would break the chain of an honest run.
        """
        if not self.lock.acquire(False):
            self.wait()
        try:
            if self.fault is not None:
                raise RecordingError(str(self.fault))
            number = self.n
            mono = _tick() // 1000
            line = (
                f'{self.prefix}{number},"prev":"{self.prev}","type":"{kind}{call}",'
                f'"wall":{self.epoch + mono},"mono":{mono},{tail}}}'
            ).encode()
            if kind is CLOSE:
                calls = number - 1 - self.ended - self.gaps
                line = b'%b,"calls":%d,"ended":%d' % (line[:-1], calls, self.ended)
                line = b'%b,"digest":"%b"}' % (line, _sha256(line).hexdigest().encode())
            if self.write(self.fd, line + b"\n") != len(line) + 1:
                raise OSError(SHORT)
            self.prev = _sha256(line).hexdigest()
            self.n = number + 1
            self.count(kind)
            return number
        except BaseException as problem:
            self.poison(problem)
            raise
        finally:
            self.lock.release()

    def count(self, kind: str) -> None:
        """Keep count of what is no start; after the close record nothing more can be written."""
        if kind is GAP:
            self.gaps += 1
        elif kind is CLOSE:
            self.fault = RecordingError("closed")
        elif kind is not OPEN:
            self.ended += 1

    def poison(self, problem: BaseException) -> None:
        """Nothing is written any more; the first fault is the one that is told."""
        self.fault = self.fault or problem

    def is_ours(self) -> bool:
        """Whether this process opened it; a fork writes to a stream of its own."""
        return self.pid == os.getpid()

    def wait(self) -> None:
        """Take the lock that another thread holds; from here on ``write`` keeps the interpreter.

        The holder lost the interpreter in mid-record: letting it run is quicker than to sleep on the lock,
        which every thread would then do at every record. Raises RecordingError when the holder is this very
        thread, interrupted by a signal handler or a finalizer that calls a tool: it would wait for ever.
        """
        if self._is_held_below():
            raise RecordingError(
                "a tool was called while its own thread was writing a record; it was refused"
            )
        if self.write is _write:
            self.write = _write_holding_the_interpreter()
        for _ in range(YIELDS):
            _sleep(0)
            if self.lock.acquire(False):
                return
        self.lock.acquire()

    def _is_held_below(self) -> bool:
        """Whether a frame of this thread, below the one that asks, is about to write to this stream."""
        frame = sys._getframe(2).f_back
        while frame is not None:
            if frame.f_code in _WRITERS and self in (
                frame.f_locals.get("self"),
                frame.f_locals.get("stream"),
            ):
                return True
            frame = frame.f_back
        return False

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
                self.fault = self.fault or problem
                raise
            self.synced = reached


@lru_cache(maxsize=1)
def _write_holding_the_interpreter() -> Callable[[int, bytes], int]:
    """``write`` for threads that contend for a stream: it keeps the interpreter lock for the microsecond it takes.

    ``os.write`` gives the interpreter to another thread, which then only waits for the stream's lock: four
    fifths of the time of 16 threads went there (docs/adr/0003).
    """
    try:
        import ctypes

        write = ctypes.PyDLL(None, use_errno=True).write
    except (ImportError, OSError, AttributeError):
        return _write
    write.argtypes = (ctypes.c_int, ctypes.c_char_p, ctypes.c_size_t)
    write.restype = ctypes.c_ssize_t

    def held(fd: int, data: bytes) -> int:
        written = int(write(fd, data, len(data)))
        if written < 0:
            code = ctypes.get_errno()
            raise OSError(code, os.strerror(code))
        return written

    return held


# The ticket of a call whose start is on file: its stream, its number, and whether it has to be synced. The
# stream is None where the start could not be put on file. A bare tuple: making it is part of every call.
Started = tuple[_Stream | None, int, bool]


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
        self._encode = encode_value if redact is None else self._hidden
        self._key = redaction_key
        self._opening = opening
        self._is_first = not attach
        self._parent = "" if not attach else "main"
        self._stream: _Stream | None = None
        self._opening_lock = threading.Lock()
        self._retired: list[_Stream] = []
        self._lost = False
        self._reopened = False
        self.closed = False
        self._heads: dict[tuple[str, str], tuple[str, bool]] = {}
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
        self._lost = False
        self._reopened = False
        if mine is not None:
            mine.release()

    def _current(self) -> _Stream:
        """The stream to write to; raises RecordingError when nothing can be recorded."""
        if self.closed:
            raise SessionClosedError(self.run_id)
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
                self._close_at_exit()
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
                reason = encode_value(f"stream {self._retired[-1].id} failed: {fault}")
                opened.put(GAP, "", f'"reason":{reason}')
            except OSError as problem:
                raise RecordingError(
                    f"run {self.run_id!r}: the record cannot be written: {problem}"
                ) from problem
            self._stream = opened
            return opened

    def _close_at_exit(self) -> None:
        """Close this process's stream when it ends, also under multiprocessing, which skips atexit.

        Asked for when the stream is opened and not before: multiprocessing forgets what was asked at the fork.
        """
        import atexit

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
        source_id: str = "",
        *,
        attempt: int = 1,
        parent: str = "",
    ) -> Started:
        """Put the start of a call on file and return its ticket.

        Raises RecordingError when that cannot be done and the run refuses (``on_failure="refuse"``); under
        ``"continue"`` the ticket is empty and the run can no longer pass.
        """
        head, durable = self._heads.get((tool, agent)) or self._head(tool, agent)
        tail = head + self._encode(args)
        if source_id or parent or attempt != 1:
            tail = _extras(attempt, source_id, parent) + tail
        try:
            stream = self._stream
            if stream is None or stream.fault is not None:
                stream = self._current()
            lock = stream.lock
            if not lock.acquire(False):
                stream.wait()
            try:
                if stream.fault is not None:
                    raise RecordingError(str(stream.fault))
                call = stream.n
                mono = _tick() // 1000
                line = (
                    f'{stream.prefix}{call},"prev":"{stream.prev}","type":"call.started","call":"c{call}",'
                    f'"wall":{stream.epoch + mono},"mono":{mono},{tail}}}'
                ).encode()
                if stream.write(stream.fd, line + b"\n") != len(line) + 1:
                    raise OSError(SHORT)
                stream.prev = _sha256(line).hexdigest()
                stream.n = call + 1
            except BaseException as problem:
                stream.poison(problem)
                raise
            finally:
                lock.release()
            if durable:
                stream.sync(call + 1)
        except (OSError, RecordingError) as problem:
            if self.closed:
                raise SessionClosedError(self.run_id) from None
            if self._on_failure == "continue":
                if self._can_go_on():
                    return self.start(tool, args, agent, source_id, attempt=attempt, parent=parent)
                if self._lost:
                    return None, 0, False
            if isinstance(problem, RecordingError):
                raise
            raise RecordingError(
                f"run {self.run_id!r}: the start of {tool!r} cannot be recorded ({problem}); the call was refused"
            ) from problem
        return stream, call, durable

    def _head(self, tool: str, agent: str) -> tuple[str, bool]:
        """What the starts of this tool by this agent share, and whether they are synced."""
        if len(self._heads) >= HEADS:
            self._heads.clear()
        head = f'"agent":{_name(agent)},"tool":{_name(tool)},"args":'
        found = self._heads[tool, agent] = (head, self._power or tool in self._power_tools)
        return found

    def _hidden(self, value: Any) -> str:
        assert self._redact is not None
        return encode(redacted(value, self._redact, self._key)).decode("ascii")

    def _can_go_on(self) -> bool:
        """Whether there is a stream to write to after a fault; where there is none any more, the run is lost.

        A process that never had a stream loses nothing, and refuses: nobody would miss its calls.
        """
        try:
            self._current()
        except RecordingError:
            self._lost = self._stream is not None or bool(self._retired)
            return False
        return True

    def returned(self, ticket: Started, result: Any, shown: str | None = None) -> None:
        """Put the result of a call on file; a fault of the record never reaches the caller's path.

        ``shown`` is what the model saw, where that is something else than the result.
        """
        stream, call, durable = ticket
        if stream is None or (stream is not self._stream and not stream.is_ours()):
            return
        stored = self._encode(result)
        try:
            if len(stored) > INLINE_LIMIT:
                stored = self._as_blob(stored, result, durable)
            if shown is not None:
                stored += f',"shown":{encode_value(shown)}'
            lock = stream.lock
            if not lock.acquire(False):
                stream.wait()
            try:
                if stream.fault is not None:
                    return
                number = stream.n
                mono = _tick() // 1000
                line = (
                    f'{stream.prefix}{number},"prev":"{stream.prev}","type":"call.returned","call":"c{call}",'
                    f'"wall":{stream.epoch + mono},"mono":{mono},"result":{stored}}}'
                ).encode()
                if stream.write(stream.fd, line + b"\n") != len(line) + 1:
                    raise OSError(SHORT)
                stream.prev = _sha256(line).hexdigest()
                stream.n = number + 1
                stream.ended += 1
            except BaseException as problem:
                stream.poison(problem)
                raise
            finally:
                lock.release()
            if durable:
                stream.sync(number + 1)
        except OSError as problem:
            stream.poison(problem)
        except RecordingError:
            return

    def raised(self, ticket: Started, error: str, message: str, shown: str | None = None) -> None:
        """Put the exception that ended a call on file."""
        self._end(ticket, RAISED, self._error_members(error, message, shown))

    def aborted(self, ticket: Started, error: str) -> None:
        """Put a cancellation or interrupt on file; the caller re-raises it."""
        self._end(ticket, ABORTED, f'"error":{_name(error)}')

    def not_executed(self, ticket: Started, reason: str, message: str, shown: str | None = None) -> None:
        """Say that a call never ran; ``reason`` is ``refused`` or ``invalid``."""
        self._end(ticket, NOT_EXECUTED, f'"reason":"{reason}",{self._error_members("", message, shown)}')

    def _error_members(self, error: str, message: str, shown: str | None) -> str:
        """How a call failed; under redaction without the words of the exception, which may quote what is hidden."""
        members = f'"error":{_name(error)}'
        if self._redact is None:
            members += f',"message":{encode_value(snapshot(message[:INLINE_LIMIT]))}'
            if shown is not None:
                members += f',"shown":{encode_value(shown)}'
        return members

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

    def _end(self, ticket: Started, kind: str, members: str) -> None:
        """Put the end of a call on file. The effect has happened: a fault is kept for the next call to meet."""
        stream, call, durable = ticket
        if (
            stream is None
            or stream.fault is not None
            or (stream is not self._stream and not stream.is_ours())
        ):
            return
        try:
            reached = stream.put(kind, call, members)
            if durable:
                stream.sync(reached + 1)
        except (OSError, RecordingError):
            return

    def _head_of(self, name: str) -> str:
        """The SHA-256 of the last line of another stream that is closed; empty for one that is still open."""
        try:
            with log_path(self.folder, self.run_id, name).open("rb") as handle:
                handle.seek(max(0, handle.seek(0, os.SEEK_END) - TAIL))
                last = handle.read().rstrip(b"\n").rpartition(b"\n")[2]
        except OSError:
            return ""
        return _sha256(last).hexdigest() if b'"type":"close"' in last else ""

    # -- end ---------------------------------------------------------------------------------------------

    def gap(self, reason: str) -> None:
        """Say that something of this run could not be recorded; the run can no longer pass."""
        self._current().put(GAP, "", f'"reason":{encode_value(reason)}')

    def close(self) -> None:
        """Write the close record of this process's stream; a poisoned stream stays without one."""
        if self.closed:
            return
        self.closed = True
        stream = self._stream
        if stream is None or stream.fault is not None or stream.pid != os.getpid() or self._lost:
            return
        names = listed_streams(self.folder, self.run_id) if stream.id == "main" else [stream.id]
        heads = {name: head for name in names if name != stream.id and (head := self._head_of(name))}
        tail = (
            f'"streams":{encode(names).decode("ascii")},"heads":{encode(heads).decode("ascii")},'
            f'"opening":"{self._opening}"'
        )
        try:
            stream.sync(stream.put(CLOSE, "", tail) + 1)
        except (OSError, RecordingError):
            return
        stream.release()


def _extras(attempt: int, source_id: str, parent: str) -> str:
    members = "" if attempt == 1 else f'"attempt":{attempt},'
    if source_id:
        members += f'"source_id":{_name(source_id)},'
    if parent:
        members += f'"parent":{_name(parent)},'
    return members


def _name(text: Any) -> str:
    """A name as a JSON string, which the envelope needs: what is none is written out, surrogates escaped."""
    stored = encode_value(text)
    if stored[0] == '"':
        return stored
    return encode(str(text).encode("utf-8", "backslashreplace").decode()).decode("ascii")


_WRITERS = frozenset({_Stream.put.__code__, Recorder.start.__code__, Recorder.returned.__code__})
