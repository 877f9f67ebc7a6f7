"""Events to executions: the lifecycle of each call, and every defect on the way, in one pass per stream."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterable
from typing import Any

from ..jsonio import typed_decoder
from ..model.call import Blob, Learned, Status
from ..model.execution import Execution
from ..model.run import Close, Damage, DamageKind, State
from .chain import close_digest, first_link, link
from .events import KNOWN, NOT_SHOWN, STARTED, TERMINAL, Event, EventV1
from .imported import Imported, finished, read_imported
from .paths import stream_in_name
from .surface import failure_by_surface, failure_by_value


class StreamReading:
    """What was found in one log file."""

    def __init__(self, path: str, version: int) -> None:
        self.path = path
        self.version = version
        self.stream = stream_in_name(os.path.basename(path))
        self.run_id = ""
        self.manifest_digest = ""
        self.executions: list[Execution] = []
        self.damage: list[Damage] = []
        self.close: Close | None = None
        self.head = ""
        self.events = 0
        self.readable = 0
        self.complete_lines = 0
        self.forked = False
        self.imported: Imported | None = None
        self.run_ids: set[str] = set()

    def defect(self, kind: DamageKind, text: str, line: int = 0) -> None:
        """Note one defect; line 0 is none in particular."""
        self.damage.append(Damage(kind, text, self.stream, line))

    @property
    def state(self) -> State:
        """The one word for it, the worst first."""
        kinds = {damage.kind for damage in self.damage}
        if self.forked:
            return State.FORKED
        if kinds - {DamageKind.TORN, DamageKind.EMPTY, DamageKind.MISSING_CLOSE, DamageKind.GAP}:
            return State.CORRUPT
        if DamageKind.TORN in kinds:
            return State.TORN_TAIL
        if self.version == 2:
            if any(execution.status is Status.UNFINISHED for execution in self.executions):
                return State.UNTERMINATED
            return State.SEALED if self.close is not None else State.OPEN_ENDED
        return State.CLEAN


def is_linked(event: Event, link_before: str) -> bool:
    """Whether a record names the bytes of the record before it."""
    return event.prev == link_before


class Lifecycle:
    """Reads the events of one log-2 stream in order."""

    def __init__(self, path: str) -> None:
        self.reading = StreamReading(path, version=2)
        self._line = 0
        self._unreadable = 0
        self._n = 0
        self._prev: str | None = None
        self._run = ""
        self._stream = ""
        self._calls: dict[str, Event | Execution] = {}
        self._ended = 0
        self._first = True
        self._knows_number = True
        self._hidden = False

    def take(self, event: Event, line: bytes) -> None:
        """One readable line. Nearly all of them follow from the one before, and are told apart at once."""
        self._line += 1
        if not (
            event.n == self._n
            and self._prev is not None
            and is_linked(event, self._prev)
            and event.run == self._run
            and event.stream == self._stream
            and event.v == 2
            and self.reading.close is None
            and self._knows_number
        ):
            self._take_odd(event, line)
            return
        kind = event.type
        if kind == STARTED:
            if event.call in self._calls or type(event.args) is not dict:
                self._start(event)
            else:
                self._calls[event.call] = event
        elif kind in TERMINAL:
            self._end(event)
        elif kind in KNOWN:
            self._other(event, line)
        else:
            self._unknown(event)
            return
        self._n += 1
        self._prev = link(line)

    def _take_odd(self, event: Event, line: bytes) -> None:
        """A line that is the first of its stream, or that does not follow from the one before it."""
        reading = self.reading
        # 1. A line that reads as JSON but is no event of ours is unreadable, like any other.
        if event.v != 2 or event.type not in KNOWN:
            self._unknown(event)
            return
        # 2. Identity: the first event names run and stream, all others repeat them.
        if self._first:
            self._first = False
            self._run = reading.run_id = event.run
            self._stream = reading.stream = event.stream
            if event.type == "open":
                reading.manifest_digest = event.manifest
                reading.imported = read_imported(event.imported)
                self._prev = first_link(event.run, event.stream, event.manifest)
            elif not self._hidden:
                text = "the stream does not begin with its open record"
                reading.defect(DamageKind.LIFECYCLE, text, self._line)
        if event.run != self._run:
            reading.defect(DamageKind.RUN, f"a record of run {event.run!r} in run {self._run!r}", self._line)
        if event.stream != self._stream:
            text = f"a record of stream {event.stream!r} in stream {self._stream!r}"
            reading.defect(DamageKind.STREAM, text, self._line)
        # 3. Number and link; after a line that could not be read neither is derivable.
        if self._knows_number and event.n != self._n:
            reading.forked = reading.forked or event.n < self._n
            reading.defect(DamageKind.NUMBER, f"record number {event.n} where {self._n} was due", self._line)
        self._n = event.n + 1
        self._knows_number = True
        if self._prev is not None and not is_linked(event, self._prev):
            text = "the link to the record before does not fit its bytes"
            reading.defect(DamageKind.CHAIN, text, self._line)
        self._prev = link(line)
        # 4. What happened.
        if reading.close is not None:
            self._stray(event)
        if event.type == STARTED:
            self._start(event)
        elif event.type in TERMINAL:
            self._end(event)
        else:
            self._other(event, line)

    def _other(self, event: Event, line: bytes) -> None:
        """A record that is of no call."""
        if event.type == "close":
            self._close(event, line)
        elif event.type == NOT_SHOWN:
            self._end(event, counts=False)
        elif event.type == "gap":
            text = f"not everything was recorded: {event.reason}"
            self.reading.defect(DamageKind.GAP, text, self._line)
        elif event.type == "open" and event.n > 0:
            self.reading.defect(DamageKind.STRAY, "a second open record", self._line)

    def _unknown(self, event: Event) -> None:
        text = f"no event of log 2: {event.type!r} v{event.v}"
        self.reading.defect(DamageKind.UNREADABLE, text, self._line)
        self._skip()

    def _stray(self, event: Event) -> None:
        self.reading.defect(DamageKind.STRAY, f"a {event.type} record after the close record", self._line)

    def _start(self, event: Event) -> None:
        if event.call in self._calls:
            self.reading.defect(DamageKind.LIFECYCLE, f"call {event.call!r} starts twice", self._line)
            return
        if type(event.args) is not dict:
            text = f"call {event.call!r} has arguments that are no object"
            self.reading.defect(DamageKind.LIFECYCLE, text, self._line)
        self._calls[event.call] = event

    def _end(self, event: Event, *, counts: bool = True) -> None:
        start = self._calls.get(event.call)
        if type(start) is Event:
            self._ended += counts
            if self.reading.imported is not None:
                result = event.result
                if type(result) is dict and result.get("$df") == "blob":
                    result = self._blob(result)
                self._calls[event.call] = finished(start, event, result)
            else:
                self._calls[event.call] = self._finished(start, event)
        elif start is not None or not self._hidden:
            what = "ends twice" if start is not None else "ends without a start"
            self.reading.defect(DamageKind.LIFECYCLE, f"call {event.call!r} {what}", self._line)

    def _finished(self, start: Event, event: Event) -> Execution:
        status, learned, result = Status.RETURNED, Learned.FLAG, event.result
        if event.type == "call.returned":
            kind = type(result)
            if kind is dict:
                if result.get("$df") == "blob":
                    result = self._blob(result)
                elif failure_by_value(result):
                    status, learned = Status.RAISED, Learned.VALUE
            elif kind is str and result[:1] in "{ \n" and failure_by_value(result):
                status, learned = Status.RAISED, Learned.VALUE
        elif event.type == "call.raised":
            status = Status.RAISED
        elif event.type == "call.aborted":
            status = Status.CANCELLED
        else:
            status = Status.INVALID if event.reason == "invalid" else Status.REFUSED
        return Execution(
            start.tool,
            start.args,
            status,
            learned,
            result,
            event.error,
            event.message if isinstance(event.message, str) else "",
            event.shown,
            start.stream,
            start.n,
            start.call,
            event.n,
            start.agent or "agent",
            start.parent,
            start.attempt,
            start.source_id,
        )

    def _blob(self, value: dict[str, Any]) -> Any:
        """A large result: the content beside the log, when it is there and is what the digest says."""
        digest, preview = str(value.get("sha256", "")), str(value.get("text", ""))
        size = value.get("size")
        folder = os.path.dirname(self.reading.path)
        path = os.path.join(folder, f"{self.reading.run_id}.blobs", digest)
        blob = Blob(
            digest, size if isinstance(size, int) else 0, preview, str(value.get("media", "json")), str(path)
        )
        if len(digest) != 64 or not digest.isalnum():
            self.reading.defect(DamageKind.BLOB, "a large result without a digest", self._line)
            return blob
        try:
            with open(path, "rb") as handle:
                found = (
                    hashlib.file_digest(handle, "sha256").hexdigest()
                    if _FILE_DIGEST
                    else _digest(handle.read())
                )
        except OSError:
            self.reading.defect(
                DamageKind.MISSING_BLOB, f"the content of a large result: {digest}", self._line
            )
            return blob
        if found != digest:
            self.reading.defect(
                DamageKind.BLOB, f"the content of a large result was changed: {digest}", self._line
            )
        return blob

    def _close(self, event: Event, line: bytes) -> None:
        stated = close_digest(line)
        if stated is None or stated[0] != stated[1]:
            self.reading.defect(DamageKind.DIGEST, "the close record does not fit its digest", self._line)
        started = len(self._calls)
        if not self._hidden and (event.calls != started or event.ended != self._ended):
            self.reading.defect(
                DamageKind.COUNT,
                f"the close record counts {event.calls} calls and {event.ended} ends; "
                f"the stream holds {started} and {self._ended}",
                self._line,
            )
        if self.reading.close is None:
            self.reading.close = Close(event.calls, event.ended, event.streams, event.opening, event.heads)

    def _skip(self) -> None:
        """After a line that cannot be read: what rests on it is not derivable, and accuses nobody."""
        self._hidden = True
        self._prev = None
        self._knows_number = False
        self._unreadable += 1

    def unreadable(self, reason: str) -> None:
        """One complete line that is no event."""
        self._line += 1
        text = f"this line cannot be read: {reason[:200]}"
        self.reading.defect(DamageKind.UNREADABLE, text, self._line)
        self._skip()

    def torn(self, line: bytes) -> None:
        """The rest of the file after the last line feed."""
        what = "zero bytes" if not line.strip(b"\0") else "an unfinished line"
        self.reading.defect(DamageKind.TORN, f"the file ends in {what}", self._line + 1)

    def finish(self) -> StreamReading:
        """The reading, with every call that has no end as unfinished."""
        reading = self.reading
        reading.head = self._prev or ""
        reading.complete_lines = self._line
        reading.readable = reading.events = self._line - self._unreadable
        reading.executions = [
            found if type(found) is Execution else _unfinished(found)  # type: ignore[arg-type] # an Event is left
            for found in self._calls.values()
        ]
        return reading


def _unfinished(start: Event) -> Execution:
    """A call whose end is not in the record."""
    return Execution(
        start.tool,
        start.args,
        Status.UNFINISHED,
        stream=start.stream,
        n=start.n,
        call=start.call,
        agent=start.agent or "agent",
        parent=start.parent,
        attempt=start.attempt,
        source_id=start.source_id,
    )


_FILE_DIGEST = hasattr(hashlib, "file_digest")


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


_event_v1 = typed_decoder(EventV1)
CUT_MARK = re.compile(r"\.\.\.\[truncated \d+ chars\]\Z")


def read_v1(path: str, lines: Iterable[bytes]) -> StreamReading:
    """A log of version 1: finished calls only, numbered from 1, no chain."""
    reading = StreamReading(path, version=1)
    knows_number, due = True, 1
    for number, line in enumerate(lines, 1):
        if line[-1:] != b"\n":
            what = "zero bytes" if not line.strip(b"\0") else "an unfinished line"
            reading.defect(DamageKind.TORN, f"the file ends in {what}", number)
            break
        reading.complete_lines += 1
        try:
            event: EventV1 = _event_v1(line.rstrip(b"\r\n"))
        except ValueError as problem:
            reading.defect(DamageKind.UNREADABLE, f"this line cannot be read: {str(problem)[:200]}", number)
            knows_number = False
            continue
        reading.readable += 1
        reading.run_id = reading.run_id or event.run_id
        if event.run_id != reading.run_id:
            reading.defect(
                DamageKind.RUN, f"a record of run {event.run_id!r} in run {reading.run_id!r}", number
            )
        if knows_number and event.seq != due:
            reading.defect(DamageKind.NUMBER, f"record number {event.seq} where {due} was due", number)
        knows_number, due = True, event.seq + 1
        if event.result_sha256 and isinstance(event.result, str):
            found = _digest(event.result.encode("utf-8", "surrogatepass"))
            if found != event.result_sha256:
                reading.defect(DamageKind.CHAIN, "the result does not fit its result_sha256", number)
        status, learned = Status.RETURNED, Learned.DEFAULT
        error = failure_by_surface(event.result)
        if error:
            status, learned = Status.RAISED, Learned.SURFACE
            if error.startswith("unknown_tool:"):
                status = Status.INVALID
        elif failure_by_value(event.result):
            status, learned = Status.RAISED, Learned.VALUE
        reading.executions.append(
            Execution(
                event.tool,
                event.args,
                status,
                learned,
                event.result,
                error,
                n=event.seq,
                call=str(event.seq),
                end=event.seq,
                agent=event.agent_id,
                cut=isinstance(event.result, str) and CUT_MARK.search(event.result[-64:]) is not None,
            )
        )
        reading.events += 1
    return reading
