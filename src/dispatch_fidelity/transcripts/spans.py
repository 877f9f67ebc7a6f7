"""Spans of any tracing format, as the readers hand them over: gathered by trace, and the runs that they are of.

- A trace is a run. Roots of different conversations (``conversation``) are runs of their own; agents that work one
  after the other in one trace are one run, for they work on with what the others did, and each call says whose it is.
- **An agent below a tool span was called as a tool**: all below that span is a run of its own, with this as parent.
- Exporters send again what they are not sure of: a span that stands twice counts once.
- What messages say of calls and answers is kept once per id: a span of a model repeats the whole conversation.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone
from typing import Any

from ..model.call import Learned
from ..model.frozen import Word
from ..model.run import Damage, DamageKind
from .building import as_text
from .registry import Place
from .span_messages import NOT_CAPTURED, Answer, Request, Unread, Words, entries, is_damaged, unwrapped_result

_OF_A_MESSAGE = frozenset({"role", "type", "parts", "content", "output", "choices"})
LATE = 1 << 100  # the time of what has none


class Kind(Word):
    """What a span is of; OTHER are the steps around these."""

    TOOL = "tool"
    LLM = "llm"
    AGENT = "agent"
    OTHER = "other"


@dataclass(slots=True, eq=False)
class Span:
    """One span; ``failed`` is None where nothing says so, ``learned`` how it is known.

    ``damaged`` is set where a part of it cannot be read, ``is_noted`` where that part is of its words. ``args`` and
    ``result`` are those of a tool; ``text`` the last words of its output (None: none captured), which are ``plain``
    where they stand in no message. ``outputs`` are tools that only take the model's answer; tools directly below a
    span with a ``turn`` were called together.
    """

    trace: str = ""
    id: str = ""
    parent: str = ""
    kind: Kind = Kind.OTHER
    name: str = ""
    start: int | None = None
    end: int | None = None
    at: str = ""
    until: str = ""
    failed: bool | None = None
    learned: Learned = Learned.FLAG
    error: str = ""
    message: str = ""
    damaged: bool = False
    is_noted: bool = False
    agent: str = ""
    conversation: str = ""
    tool: str = ""
    call: str = ""
    args: Any = NOT_CAPTURED
    result: Any = NOT_CAPTURED
    text: str | None = None
    plain: bool = False
    structured: Any = None
    asked: str = ""
    requests: list[Request] = field(default_factory=list)
    outputs: tuple[str, ...] = ()
    turn: int = -1
    line: int = 0
    place: Place | None = None
    # Where it stands, found by ``Trace.runs``.
    order: int = 0
    above: Span | None = None
    home: int = -1
    above_tool: Span | None = None
    holds_agent: bool = False
    is_outer: bool = False  # another span tells of the same call of a model

    @property
    def moment(self) -> tuple[bool, int, int]:
        """Sorts spans by their start; those without a time come last."""
        return self.start is None, self.start or 0, self.order

    @property
    def last_moment(self) -> tuple[bool, int, int]:
        """Sorts spans by their end."""
        return self.end is None, self.end or 0, self.order


@dataclass(slots=True)
class Run:
    """The spans of one run; ``tool`` is the span that called its agent, where one did."""

    spans: list[Span]
    tool: Span | None = None


@dataclass(slots=True)
class Trace:
    """What was read of one trace. ``is_run`` holds where it is one whatever its spans are.

    ``known`` are calls that messages tell of, by id, with a span they stand in and the first time they were seen;
    ``answers`` by id, or by (``"tool"``, name) where there is none. ``output`` are words that the trace itself holds.
    ``settings`` turn on the capture of content, ``hint`` says where else the agent's words are.
    """

    id: str
    is_run: bool = False
    spans: list[Span] = field(default_factory=list)
    known: dict[str, tuple[Request, Span, int]] = field(default_factory=dict)
    answers: dict[Any, Answer] = field(default_factory=dict)
    offers: dict[str, None] = field(default_factory=dict)
    settings: dict[str, None] = field(default_factory=dict)
    hint: str = ""
    notes: dict[str, None] = field(default_factory=dict)
    output: Span | None = None
    repeated: int = 0
    _ids: dict[str, Span] = field(default_factory=dict)

    def add(self, span: Span, asked: Any = None, said: Any = None) -> bool:
        """Take a span with what went into it and what came out; false where its id is another span's."""
        same = self._ids.get(span.id) if span.id else None
        if same is not None and _facts(same) == _facts(span):
            self.repeated += 1
            return True
        if span.kind is Kind.TOOL and not span.call:
            span.call = unwrapped_result(span.result).id
        span.order = len(self.spans)
        self.spans.append(span)
        if span.id:
            self._ids.setdefault(span.id, span)
        self._learn(span, asked, is_output=False)
        self._learn(span, said, is_output=True)
        return same is None

    def speak(self, asked: Any, said: Any) -> bool:
        """What the trace itself says went in and came out; false where it cannot be read."""
        self.output = Span(self.id, kind=Kind.OTHER)
        self._learn(self.output, asked, is_output=False)
        self._learn(self.output, said, is_output=True)
        return not self.output.damaged

    def _learn(self, span: Span, value: Any, *, is_output: bool) -> None:
        """The words of a value, and the calls and answers after the last request in it: others are of earlier turns."""
        if value is None:
            return
        is_model = span.kind is Kind.LLM and is_output
        if is_damaged(value) or (is_model and not isinstance(value, (str, list, dict))):
            span.is_noted = True
            span.damaged |= is_output
            return
        mine: list[Request] = []
        pending: list[Request | Answer] = []
        if is_output:
            span.text = ""
        for entry in entries(value, "assistant" if is_output else "user"):
            if isinstance(entry, Unread):
                span.damaged |= is_output
                span.is_noted |= is_model or (is_output and span.kind is Kind.AGENT)
                if not is_output:
                    self.notes["what went into some spans was cut off or cannot be read"] = None
            elif isinstance(entry, Words):
                if entry.role == "user" and not is_model:
                    span.asked = (span.asked if is_output else "") or entry.text
                    pending.clear()
                elif entry.role == "assistant" and is_output:
                    span.text, span.plain = entry.text, entry.plain
            elif isinstance(entry, Request) and is_model:
                mine.append(entry)
            else:
                pending.append(entry)
        if is_output:
            span.requests = mine
            if not (span.text or mine or pending or span.damaged):
                span.structured = value
                if is_model and isinstance(value, dict) and value and not value.keys() & _OF_A_MESSAGE:
                    # A model that answered with an object of its own shape said that.
                    span.text, span.plain = as_text(value), True
        when = span.end if is_output else span.start
        for entry in pending:
            self._keep(entry, span, LATE if when is None else when)

    def _keep(self, entry: Request | Answer, span: Span, when: int) -> None:
        if isinstance(entry, Request):
            other = self.known.get(entry.id)
            if entry.id and (other is None or when < other[2] or (entry.invalid and not other[0].invalid)):
                request = other[0] if other is not None and other[0].invalid else entry
                self.known[entry.id] = request, span, when if other is None else min(when, other[2])
            return
        key = entry.id or ("tool", entry.tool)
        first = self.answers.get(key)
        if first is None or (first.failed is None and entry.failed is not None):
            self.answers[key] = entry

    def runs(self) -> list[Run]:
        """The runs of this trace, each with its spans in the order of time; the tree is found on the way."""
        down = list(self._downward())
        # 1. From the leaves up: which tools hold an agent, which conversation a root is of.
        for span in reversed(down):
            if span.above is not None:
                span.above.holds_agent |= span.holds_agent or span.kind is Kind.AGENT
                span.above.conversation = span.above.conversation or span.conversation
        # 2. From the roots down: the run of each span.
        named = list(
            dict.fromkeys(span.conversation for span in down if span.above is None and span.conversation)
        )
        groups: dict[Any, int] = {}
        runs: list[Run] = []
        for span in down:
            above = span.above
            if above is None:
                key: Any = span.conversation or (named[0] if len(named) == 1 else "")
                tool = None
            elif above.kind is Kind.TOOL and above.holds_agent:
                key, tool = above, above
            else:
                key, tool = above.home, None
                span.above_tool = above if above.kind is Kind.TOOL else above.above_tool
            if above is None or tool is not None:
                if key not in groups:
                    groups[key] = len(runs)
                    runs.append(Run([], tool))
                span.home = groups[key]
            else:
                span.home = key
            runs[span.home].spans.append(span)
            if not span.agent and above is not None and above.home == span.home:
                span.agent = above.agent
        for run in runs:
            run.spans.sort(key=lambda span: span.moment)
        return runs or [Run([])]

    def _downward(self) -> Iterator[Span]:
        """Every span, each after the one it stands in; a circle of spans is cut open where it was met first."""
        children: dict[str, list[Span]] = {}
        for span in self.spans:
            parent = self._ids.get(span.parent) if span.parent else None
            if parent is not None and parent is not span:
                children.setdefault(span.parent, []).append(span)
        inner = {id(child) for found in children.values() for child in found}
        roots = [span for span in self.spans if id(span) not in inner]
        met: set[int] = set()
        for first in [*roots, *self.spans]:
            stack: list[tuple[Span, Span | None, Span | None]] = [(first, None, None)]
            while stack:
                span, above, model = stack.pop()
                if id(span) in met:
                    continue
                met.add(id(span))
                span.above = above
                if span.kind is Kind.LLM:
                    if model is not None:
                        # Two instrumentations tell of one call: the inner one, unless it kept no content.
                        (span if span.text is None and model.text is not None else model).is_outer = True
                    model = span
                elif span.kind is not Kind.OTHER:
                    model = None
                yield span
                if self._ids.get(span.id) is span:
                    stack += ((child, span, model) for child in reversed(children.get(span.id, ())))


def _facts(span: Span) -> tuple[Any, ...]:
    return span.parent, span.name, span.kind, span.at, span.until, span.failed, span.call


@dataclass(slots=True)
class Traces:
    """All that is read of one file."""

    found: dict[str, Trace] = field(default_factory=dict)
    damage: list[Damage] = field(default_factory=list)
    line: int = 0

    def trace(self, source: str) -> Trace:
        """The trace of this id."""
        if source not in self.found:
            self.found[source] = Trace(source)
        return self.found[source]

    def unreadable(self, text: str, kind: DamageKind = DamageKind.UNREADABLE) -> None:
        """Note something of another shape than the format gives it, at the current line."""
        self.damage.append(Damage(kind, text, line=self.line))

    def add(self, span: Span, asked: Any = None, said: Any = None) -> None:
        """Take a span of any trace."""
        span.line = span.line or self.line
        if not self.trace(span.trace).add(span, asked, said):
            self.unreadable(f"the id of span {span.id[:80]!r} is another one's", DamageKind.LIFECYCLE)
        if span.is_noted:
            self.unreadable(f"what went in or came out of span {span.name[:80]!r} cannot be read")

    def settle(self) -> list[Trace]:
        """The traces that are runs; spans whose trace cannot be read are of the only one, where there is one."""
        lost = self.found.get("")
        others = [trace for key, trace in self.found.items() if key]
        if lost is not None and len(others) == 1:
            self.found.pop("")
            for span in lost.spans:
                others[0].add(span)
            for key, seen in lost.known.items():
                others[0].known.setdefault(key, seen)
            for answer_key, answer in lost.answers.items():
                others[0].answers.setdefault(answer_key, answer)
            for ours, theirs in (
                (others[0].offers, lost.offers),
                (others[0].settings, lost.settings),
                (others[0].notes, lost.notes),
            ):
                ours.update(theirs)
        return [
            trace
            for trace in self.found.values()
            if (trace.is_run and (trace.spans or trace.output))
            or any(span.kind is not Kind.OTHER for span in trace.spans)
        ]


_ISO = re.compile(
    r"(\d{4})-(\d\d)-(\d\d)[T ](\d\d):(\d\d):(\d\d)(?:[.,](\d{1,9})\d*)?\s?(?:Z|UTC|([+-])(\d\d):?(\d\d))?"
)
_DURATION = re.compile(
    r"P(?:(\d{1,9})D)?T?(?:(\d{1,9})H)?(?:(\d{1,9})M)?(?:(\d{1,9})(?:[.,](\d{1,9})\d*)?S)?"
)


def moment(value: Any) -> int | None:
    """A time in nanoseconds, from ISO 8601 or from a number, which is taken as it is; None where it is neither."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int):
        return value or None
    if not isinstance(value, str):
        return None
    if value.isdecimal() and len(value) <= 20:
        return int(value) or None
    found = _ISO.fullmatch(value)
    if found is None:
        return None
    fraction, sign, hours, minutes = found.group(7, 8, 9, 10)
    year, month, day, hour, minute, second = map(int, found.group(1, 2, 3, 4, 5, 6))
    try:
        seconds = datetime(year, month, day, hour, minute, second, tzinfo=timezone.utc)
    except ValueError:
        return None
    shift = timedelta(hours=int(hours or 0), minutes=int(minutes or 0)) * (-1 if sign == "-" else 1)
    whole = (seconds - datetime(1970, 1, 1, tzinfo=timezone.utc) - shift) // timedelta(seconds=1)
    return whole * 10**9 + int((fraction or "0").ljust(9, "0"))


def lasting(value: Any) -> int | None:
    """A duration of ISO 8601 in nanoseconds."""
    found = _DURATION.fullmatch(value) if isinstance(value, str) and len(value) > 1 else None
    if found is None:
        return None
    days, hours, minutes, seconds = (int(part or 0) for part in found.group(1, 2, 3, 4))
    whole = ((days * 24 + hours) * 60 + minutes) * 60 + seconds
    return whole * 10**9 + int((found.group(5) or "0").ljust(9, "0"))
