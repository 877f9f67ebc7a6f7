"""Builds one agent's run while a reader goes through a foreign file: calls, their ends, the words of the agent.

Ids of a source are attributes, not keys: they repeat, and are missing. A result belongs to the nearest earlier open
call of its id. What the source does not say stays unknown: an end that is not shown is no failure, and a failure needs
a flag, a code, a value, or a text that the harness is known to write (``learned`` says which).
"""

from __future__ import annotations

import hashlib
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..errors import JSONError
from ..jsonio import Defect, decode, encode_lenient, holds_defect, joined_parts
from ..log.surface import failure_by_value
from ..model.call import Blob, Learned, Status, Unknown
from ..model.execution import Execution
from ..model.frozen import UNSET, changed
from ..model.run import Completeness, Damage, DamageKind, Delegation, ImportedRun, Record

# Bytes of results that a run keeps in memory; after that, those from LONG characters on are left in the file. Of a very
# large file a small part of that is kept: its calls alone need much memory.
HELD = 64 * 2**20
LONG = 1024
# Calls after so many are kept without what no verdict needs: the source's ids and times.
MANY = 10_000
_LARGE_FILE = 512 * 2**20
_RETURNED = Status.RETURNED


# Where a JSON value stands in its file, offset and length in bytes; or what tells it when it is needed.
Where = tuple[int, int] | Callable[[], tuple[int, int]] | None


@dataclass(slots=True)
class Call:
    """A call while its run is built; ``status`` stays UNFINISHED until its end is found.

    ``number`` counts the calls of the run; ``end`` is the number of the last one that began before the result.
    """

    tool: str
    args: Any
    source_id: str = ""
    step: int = -1
    agent: str = ""
    at: str = ""
    number: int = 0
    status: Status = Status.UNFINISHED
    learned: Learned = Learned.DEFAULT
    result: Any = UNSET
    shown: Any = UNSET
    error: str = ""
    message: str = ""
    until: str = ""
    end: int = -1
    cut: bool = False
    joint: bool = False


@dataclass(slots=True)
class RunBuilder:
    """Collects one run; ``finish`` gives it. ``line`` is put into the damage that is noted meanwhile.

    ``begun`` is how many calls began so far, which is the number of the next one.
    """

    format: str
    path: Path
    run_id: str = "run-0"
    agent: str = "agent"
    parent: str = ""
    line: int = 0
    report: str = ""
    task: str = ""
    notes: list[str] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)
    tools: list[str] = field(default_factory=list)
    damage: list[Damage] = field(default_factory=list)
    calls: list[Call] = field(default_factory=list)
    delegations: list[tuple[Call, Delegation]] = field(default_factory=list)
    begun: int = 0
    _open: dict[str, list[Call]] = field(default_factory=dict)
    _shared: set[str] = field(default_factory=set)  # ids that named several open calls at once
    _unsure: set[int] = field(default_factory=set)
    _held: int = 0
    _limit: int = -1
    _wanted: str = ""
    _names: dict[str, str] = field(default_factory=dict)

    # -- what went wrong with the file -----------------------------------------------------------------------

    def defect(self, kind: DamageKind, text: str) -> None:
        """Note one defect of the record at the current line; the record is not closed with one."""
        self.damage.append(Damage(kind, text, line=self.line))

    def unreadable(self, text: str) -> None:
        """Note something that has another shape than the format gives it."""
        self.defect(DamageKind.UNREADABLE, text)

    def lacks(self, text: str) -> None:
        """Note, without damage, why the record does not hold everything: it is partial then."""
        if text not in self.missing:
            self.missing.append(text)

    # -- calls -----------------------------------------------------------------------------------------------

    def call(
        self,
        tool: Any,
        args: Any = None,
        *,
        source_id: Any = "",
        step: int = -1,
        agent: str = "",
        at: Any = "",
    ) -> Call | None:
        """A call begins. ``args`` is the object or the JSON text that the source holds.

        None, and damage, when it names no tool. Text that is no JSON stays text.
        """
        if not isinstance(tool, str) or not tool:
            self.unreadable("a call names no tool")
            return None
        return self.begin(
            tool,
            self.arguments(args),
            source_id if isinstance(source_id, str) else "",
            step,
            at if isinstance(at, str) else "",
            agent,
        )

    def begin(
        self, tool: str, args: Any, source_id: str = "", step: int = -1, at: str = "", agent: str = ""
    ) -> Call:
        """A call begins whose parts are known to be of their types, and its arguments to be sound (see ``call``)."""
        number = self.begun
        self.begun = number + 1
        if step == number:
            step = number  # one object: a run may hold very many
        found = Call(self._names.setdefault(tool, tool), args, source_id, step, agent, at, number)
        if number >= MANY:
            found.at = ""
        self.calls.append(found)
        if source_id:
            if source_id in self._open:
                self._open[source_id].append(found)
                self._shared.add(source_id)
            else:
                self._open[source_id] = [found]
        return found

    def arguments(self, given: Any) -> Any:
        """Arguments as a value: an object as it is, JSON text decoded, other text as it is, nothing as {}."""
        if given is None or given == "":
            return {}
        if isinstance(given, str):
            try:
                return decode(given.encode())
            except (JSONError, UnicodeEncodeError):
                return given
        if isinstance(given, Defect) or holds_defect(given):
            self.unreadable("the arguments of a call cannot be read")
            return Unknown("unreadable")
        return given

    def open_call(self, source_id: Any) -> Call | None:
        """The nearest earlier open call of this id, which is open no longer."""
        if not isinstance(source_id, str) or source_id not in self._open:
            return None
        waiting = self._open[source_id]
        found = waiting.pop()
        if source_id in self._shared:
            self._unsure.add(id(found))
            self.defect(
                DamageKind.LIFECYCLE,
                f"{source_id[:80]!r} names several open calls: whose the result is, is open",
            )
        if not waiting:
            del self._open[source_id]
        return found

    def open_calls(self) -> list[Call]:
        """Every call whose end was not found yet, in order."""
        return [call for call in self.calls if call.end < 0]

    def result(self, source_id: Any, value: Any = UNSET, **end: Any) -> Call | None:
        """A result is found; it ends the nearest earlier open call of its id (see ``end``).

        None, and damage, where there is none.
        """
        call = self.open_call(source_id)
        if call is None:
            self.defect(DamageKind.LIFECYCLE, f"a result is of no open call: {str(source_id)[:80]!r}")
            return None
        self.end(call, value, **end)
        return call

    def end(
        self,
        call: Call,
        value: Any = UNSET,
        *,
        status: Status | None = None,
        learned: Learned = Learned.DEFAULT,
        error: str = "",
        message: str = "",
        shown: Any = UNSET,
        cut: bool = False,
        joint: bool = False,
        until: Any = "",
        place: Where = None,
    ) -> None:
        """The end of a call: its result, and its status as far as the source says.

        Without ``status`` the call returned; a structured result may still say itself that it failed. ``value`` is a
        text, other JSON, or UNSET where the source holds no result. ``place`` is where a long result can be found
        again, so that it need not be held.
        """
        if type(value) is not str and (isinstance(value, Defect) or holds_defect(value)):
            self.unreadable("a result cannot be read")
            value = Unknown("unreadable")
            status = status or Status.UNKNOWN
        if status is None:
            status = Status.RETURNED
            if failure_by_value(value):
                status, learned = Status.RAISED, Learned.VALUE
        call.status, call.learned, call.error, call.message = status, learned, error, message
        call.result = value if type(value) is not str or len(value) < LONG else self._kept(value, place)
        call.shown, call.cut, call.joint = shown, cut, joint
        self._ended(call, until if isinstance(until, str) else "")

    def returned(self, call: Call, text: str, learned: Learned, until: str, place: Where) -> None:
        """The end of a call that returned a text, which is known to be no failure (see ``end``)."""
        call.status, call.learned = _RETURNED, learned
        call.result = text if len(text) < LONG else self._kept(text, place)
        self._ended(call, until)

    def _ended(self, call: Call, until: str) -> None:
        if self._unsure and id(call) in self._unsure:
            call.status, call.learned, call.result = Status.UNKNOWN, Learned.DEFAULT, Unknown("ambiguous")
            call.error = call.message = ""
            call.shown = UNSET
        last = self.begun - 1
        call.end = call.number if last == call.number else last
        if call.number < MANY:
            call.until = until
        else:
            call.source_id = ""

    def _kept(self, value: str, place: Where) -> Any:
        """A long text as it is held: itself, or what finds it in the file again."""
        self._held += value.__sizeof__()
        if place is None or self._held <= self._most():
            return value
        offset, length = place() if callable(place) else place
        data = value.encode("utf-8", "surrogatepass")
        return Blob(hashlib.sha256(data).hexdigest(), len(data), "", "text", self._source(), offset, length)

    def _most(self) -> int:
        """How many characters of results are held; it depends on the size of the file."""
        if self._limit < 0:
            try:
                size = self.path.stat().st_size
            except OSError:
                size = 0
            self._limit = HELD if size <= _LARGE_FILE else HELD // 32
        return self._limit

    def _source(self) -> str:
        path = str(self.path)
        return self._names.setdefault(path, path)

    def doubt_unflagged(self) -> None:
        """Where other results say by a flag that they are no failure, one without has lost it: its end is open."""
        if not any(call.status is Status.RETURNED and call.learned is Learned.FLAG for call in self.calls):
            return
        for call in self.calls:
            if call.end >= 0 and call.status is Status.RETURNED and call.learned is Learned.DEFAULT:
                call.status = Status.UNKNOWN
                self.lacks("some results carry no flag for failure, and others do")

    def delegated(self, call: Call, agent: str, report: str = "", calls: int = -1) -> None:
        """A call handed work to another agent; ``calls`` as in ``model.run.Delegation``."""
        self.delegations.append((call, Delegation(str(call.number), agent, report, calls)))

    def split(self, number: int) -> RunBuilder:
        """A builder with the calls from this number on, and the words said last, which leave this one."""
        position = bisect_left(self.calls, number, key=lambda call: call.number)
        other = RunBuilder(self.format, self.path, self.run_id, self.agent, self.parent, self.line)
        other.calls = self.calls[position:]
        del self.calls[position:]
        other.delegations = [pair for pair in self.delegations if pair[0].number >= number]
        self.delegations = [pair for pair in self.delegations if pair[0].number < number]
        for call in other.calls:
            waiting = self._open.get(call.source_id, [])
            while waiting and waiting[-1].number >= number:  # the later calls of an id stand last
                other._open.setdefault(call.source_id, []).insert(0, waiting.pop())
            if not waiting:
                self._open.pop(call.source_id, None)
        other.report, other.task, other._wanted = self.report, self.task, self._wanted
        other.begun = self.begun
        self.report = self.task = ""
        return other

    # -- words -----------------------------------------------------------------------------------------------

    def asked(self, text: str) -> None:
        """The user's words; the last ones before the report are the task."""
        if text and not text.isspace():
            self._wanted = text

    def said(self, text: str) -> bool:
        """The agent's words; the last ones are the report. Whether there are any."""
        if not text or text.isspace():
            return False
        self.report, self.task = text, self._wanted
        return True

    # -- the run -----------------------------------------------------------------------------------------------

    def finish(self, *, closed: bool, completeness: Completeness | None = None) -> ImportedRun:
        """The run as it was built.

        It is closed when the source shows its end (``closed``), nothing is missing or damaged, and no call is open;
        ``completeness`` overrules that for sources that may drop calls (SAMPLED).
        """
        self._renumber()
        delegations = tuple(
            changed(delegation, call=str(call.number)) for call, delegation in self.delegations
        )
        tools = tuple(dict.fromkeys([*self.tools, *(call.tool for call in self.calls)]))
        executions = tuple(self._executions())
        if self.begun > MANY:
            self.notes.append(
                f"calls after the first {MANY:,} are kept without the ids and times of the source"
            )
        unfinished = sum(execution.status is Status.UNFINISHED for execution in executions)
        if unfinished:
            self.lacks(f"{unfinished} calls have no result")
        if not closed:
            self.lacks("the end of the run is not in the file")
        whole = not self.missing and not self.damage
        record = Record(
            run_id=self.run_id,
            format=self.format,
            executions=executions,
            completeness=completeness or (Completeness.CLOSED if whole else Completeness.PARTIAL),
            damage=tuple(self.damage),
            tools=tools,
            source=str(self.path),
            notes=(*dict.fromkeys(self.notes), *self.missing),
        )
        return ImportedRun(
            record, self.report, self.agent, self.parent, self.task or self._wanted, delegations=delegations
        )

    def _renumber(self) -> None:
        """Number the calls by their place, where some have left the run (``split``)."""
        if all(call.number == place for place, call in enumerate(self.calls)):
            return
        numbers = [call.number for call in self.calls]
        steps: dict[int, int] = {}
        for place, call in enumerate(self.calls):
            call.end = bisect_right(numbers, call.end) - 1 if call.end >= 0 else -1
            call.step = steps.setdefault(call.step, place) if call.step >= 0 else -1
            call.number = place

    def _executions(self) -> Iterator[Execution]:
        """Every call as it is kept; each is let go at once, so that not both are held."""
        self.calls.reverse()
        while self.calls:
            yield self._execution(self.calls.pop())

    def _execution(self, call: Call) -> Execution:
        # By position, which is twice as fast as by name, in the order of ``model.execution``.
        return Execution(
            call.tool,
            call.args,
            call.status,
            call.learned,
            call.result,
            call.error,
            call.message,
            call.shown,
            "main",
            call.number,
            str(call.number),
            call.end,
            call.agent or self.agent,
            self.parent,
            1,
            call.source_id,
            call.step,
            call.cut,
            call.joint,
            call.at,
            call.until,
        )


def text_of(content: Any, kinds: Sequence[str] = ("text", "input_text", "output_text")) -> str:
    """The words of a message's content: a text, or the texts of its parts of these types, joined by line feeds."""
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        return ""
    parts = [
        part
        for part in content
        if isinstance(part, str) or (isinstance(part, dict) and part.get("type") in kinds)
    ]
    return joined_parts(parts)


def result_of(content: Any) -> Any:
    """A result as it is kept: the text of a list of mere texts, else the value as it is.

    A Defect where a part that should be a text is none (see ``RunBuilder.end``).
    """
    if not isinstance(content, list) or not content:
        return content
    texts = [part for part in content if isinstance(part, dict) and part.get("type") == "text"]
    if not all(isinstance(part.get("text"), str) for part in texts):
        return Defect("a part of a text is no text")
    return joined_parts(content) if len(texts) == len(content) else content


def as_text(value: Any) -> str:
    """A value as text: a text as it is, other JSON compactly, nothing as an empty text."""
    if value is UNSET or value is None:
        return ""
    return value if isinstance(value, str) else encode_lenient(value).decode("ascii")
