"""Builds the runs of a file of spans: which calls there are, how they ended, what the agent said last.

1. **Calls** are tool spans and what models asked for (``span_pairing``), in the order of time.
2. **Ends.** An error status, an error type, or the flag in a message of the tool is a failure; else the call returned,
   by flag where the status says so, by default where it is unset. A result that is missing was not captured. Answers
   in messages count for ids that only one call of the trace has.
   An unflagged answer of a call that lost its span shows no end. Where the span's result is empty and the
   message's is not, the message's counts; where they differ else, it is what the model was shown.
3. **Report.** What the root gave out where that is a message or an agent's, else the last words of a model; where the
   last answer of a model was not captured or cannot be read, there is none.
"""

from __future__ import annotations

import heapq
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..errors import InvalidInputError
from ..model.call import Learned, Status, Unknown
from ..model.frozen import UNSET
from ..model.run import Completeness, Damage, DamageKind, ImportedRun
from .building import Call, RunBuilder, as_text
from .span_messages import NOT_CAPTURED, UNREADABLE, Answer, Request, Unread, parsed, unwrapped_result
from .span_pairing import Planned, models_of, planned_calls
from .spans import Kind, Run, Span, Trace, Traces

EMPTY: tuple[Any, ...] = (None, "", "{}", "[]", {}, [])
SAMPLED = "spans may be dropped by their sender or by a sampler: that a call is absent proves nothing"
_NO_SUCH_TOOL = re.compile(r"Error: .{1,200} is not a valid tool, try one of \[")
_NOT_IN_A_RUN_ID = re.compile(r"[^A-Za-z0-9._-]")
_TOPS = 20


def imported(traces: Traces, name: str, path: Path, *, kind: str) -> Iterator[ImportedRun]:
    """Every run in what was read; InvalidInputError where there is none. ``kind`` says what was looked for."""
    found = traces.settle()
    if not found:
        raise InvalidInputError(f"{str(path)!r} holds no {kind}")
    damage = traces.damage
    brief = f"{len(damage)} places of this file cannot be read; spans of this run may stand there"
    names: dict[str, int] = {}
    for trace in found:
        for built, ended in _Builders(trace, name, path, names, bool(traces.damage)).build():
            built.damage += damage
            if damage:
                # The first run tells of every place; the others may lack the same spans.
                damage = [Damage(DamageKind.UNREADABLE, brief, line=damage[0].line)]
            whole = Completeness.SAMPLED if not built.damage else Completeness.PARTIAL
            yield built.finish(closed=ended, completeness=whole)


@dataclass(slots=True)
class _Builders:
    """Builds the runs of one trace."""

    trace: Trace
    name: str
    path: Path
    names: dict[str, int]
    is_damaged: bool

    def build(self) -> Iterator[tuple[RunBuilder, bool]]:
        """A builder for each run, all calls in it, and whether a root of it has ended."""
        runs = self.trace.runs()
        agents = [_agent(run) for run in runs]
        by_tool = {id(run.tool): agent for run, agent in zip(runs, agents, strict=True) if run.tool}
        tools = [span for span in self.trace.spans if span.kind is Kind.TOOL]
        spans_of = Counter(span.call for span in tools if span.call)
        asked_of: Counter[str] = Counter()
        for span in self.trace.spans:
            if span.kind is Kind.LLM and not span.is_outer:
                asked_of.update(request.id for request in span.requests if request.id)
        once = {
            key for key in {*spans_of, *asked_of, *self.trace.known} if max(spans_of[key], asked_of[key]) <= 1
        }
        known: dict[int, list[tuple[Request, Span, int]]] = {}
        for key, seen in self.trace.known.items():
            if key not in spans_of and key not in asked_of:
                known.setdefault(seen[1].home, []).append(seen)
        for index, run in enumerate(runs):
            home = run.tool.home if run.tool else -1
            builder = RunBuilder(
                self.name,
                self.path,
                self._run_id(),
                agents[index],
                agents[home] if run.tool else "",
                notes=[SAMPLED],
                tools=list(self.trace.offers),
            )
            mine = known.get(index, [])
            _Builder(builder, run, self.trace, mine, once, by_tool, bool(tools), self.is_damaged).build()
            yield builder, any(_is_root(span, run) and span.end is not None for span in run.spans)

    def _run_id(self) -> str:
        base = found = _NOT_IN_A_RUN_ID.sub("-", self.trace.id)[:100].strip("-._") or "run"
        while found in self.names:
            self.names[base] += 1
            found = f"{base}.{self.names[base]}"
        self.names[found] = 0
        return found


def _agent(run: Run) -> str:
    """The agent of a run: its name, and the span where it was called as a tool, for one may be called many times."""
    name = next((span.agent for span in run.spans if span.kind is Kind.AGENT and span.agent), "")
    name = name or next((span.agent for span in run.spans if span.agent), "") or "agent"
    return f"{name} ({run.tool.id or run.tool.order})" if run.tool else name


@dataclass(slots=True)
class _Builder:
    """Builds one run."""

    builder: RunBuilder
    run: Run
    trace: Trace
    known: list[tuple[Request, Span, int]]
    once: set[str]
    by_tool: dict[int, str]
    has_spans: bool
    is_damaged: bool
    named: Counter[str] = field(default_factory=Counter)
    uncaptured: int = 0

    def build(self) -> None:
        """The calls in the order of time, then the words."""
        planned = planned_calls(self.run, self.trace, self.known)
        self.named = Counter(plan.tool for plan in planned)
        ends: list[tuple[int, int, Call, Planned]] = []
        for number, plan in enumerate(sorted(planned, key=lambda plan: (plan.start, plan.order))):
            while ends and ends[0][0] <= plan.start:
                self._end(*heapq.heappop(ends)[2:])
            call = self._call(plan)
            if call is not None:
                heapq.heappush(ends, (plan.until, number, call, plan))
        while ends:
            self._end(*heapq.heappop(ends)[2:])
        self._words()
        if self.uncaptured:
            self.builder.notes.append(
                f"the arguments or results of {self.uncaptured} calls were not captured{self._setting()}"
            )
        self.builder.notes += self.trace.notes
        if self.trace.repeated:
            self.builder.notes.append(f"{self.trace.repeated} spans stand twice in the file and count once")

    def _setting(self) -> str:
        return f"; to capture them: {'; '.join(self.trace.settings)}" if self.trace.settings else ""

    # -- calls -------------------------------------------------------------------------------------------------

    def _call(self, plan: Planned) -> Call | None:
        """A call begins."""
        span, args = plan.span, plan.args
        self.builder.line = span.line if span is not None else 0
        call = self.builder.call(
            plan.tool,
            args,
            source_id=plan.source,
            step=plan.step,
            agent=plan.agent if not self.run.tool else "",
            at=span.at if span is not None else "",
        )
        if call is not None and isinstance(args, Unknown) and args.kind == NOT_CAPTURED.kind:
            self.uncaptured += 1
        if call is not None and span is not None and id(span) in self.by_tool:
            report = "" if isinstance(span.result, Unknown) else as_text(unwrapped_result(span.result).value)
            self.builder.delegated(call, self.by_tool[id(span)], report)
        return call

    def _answer(self, call: Call) -> Answer | None:
        if call.source_id:
            return self.trace.answers.get(call.source_id) if call.source_id in self.once else None
        return self.trace.answers.get(("tool", call.tool)) if self.named[call.tool] == 1 else None

    def _end(self, call: Call, plan: Planned) -> None:
        """A call ends, by its span where there is one, else by what messages tell of it."""
        answer = self._answer(call)
        if plan.span is None:
            self._end_by_message(call, plan, answer)
            return
        span = plan.span
        self.builder.line = span.line
        if span.damaged:
            self._end_unreadable(call, span.until)
            return
        given = unwrapped_result(span.result)
        if given.value is UNREADABLE or (answer is not None and answer.value is UNREADABLE):
            self._end_unreadable(call, span.until)
            return
        has_result = not isinstance(span.result, Unknown)
        if not has_result and span.end is None and not span.failed and answer is None:
            return
        failed = span.failed or given.failed or (answer.failed if answer is not None else None)
        if given.value in EMPTY and answer is not None and not isinstance(answer.value, Unknown):
            # An instrumentation that keeps no results writes an empty one.
            has_result = False
        shown: Any = UNSET
        if answer is not None and has_result and not _is_same(answer.value, given.value):
            shown = answer.value
        value = given.value if has_result else answer.value if answer is not None else NOT_CAPTURED
        place = span.place if given.value is span.result else None
        if failed:
            message = span.message or ("" if isinstance(value, Unknown) else as_text(value))
            self.builder.end(
                call,
                UNSET if value is NOT_CAPTURED else value,
                status=Status.CANCELLED if span.error.endswith("CancelledError") else Status.RAISED,
                learned=span.learned if span.failed else Learned.FLAG,
                error=span.error,
                message=message,
                shown=shown,
                until=span.until,
                place=place,
            )
            return
        if value is NOT_CAPTURED:
            self.uncaptured += not isinstance(call.args, Unknown)
        said = (
            span.failed is False or given.failed is False or (answer is not None and answer.failed is False)
        )
        self.builder.end(
            call,
            value,
            learned=Learned.FLAG if said else Learned.DEFAULT,
            shown=shown,
            cut=isinstance(value, str) and isinstance(parsed(value), Unread),
            until=span.until,
            place=place,
        )

    def _end_unreadable(self, call: Call, until: str = "") -> None:
        self.builder.unreadable(f"the end of a call of {call.tool[:80]!r} cannot be read")
        self.builder.end(call, UNREADABLE, status=Status.UNKNOWN, until=until)

    def _end_by_message(self, call: Call, plan: Planned, answer: Answer | None) -> None:
        invalid = plan.request.invalid if plan.request is not None else ""
        if invalid:
            self.builder.end(call, status=Status.INVALID, learned=Learned.FLAG, message=invalid)
        elif answer is None:
            # The run went on, so it may have ended; or it was open when the run ended.
            call.status = Status.UNKNOWN if plan.went_on else Status.UNFINISHED
        elif answer.value is UNREADABLE:
            self._end_unreadable(call)
        elif answer.failed:
            text = "" if isinstance(answer.value, Unknown) else as_text(answer.value)
            never_ran = _NO_SUCH_TOOL.match(text)
            status = Status.INVALID if never_ran else Status.RAISED
            self.builder.end(call, answer.value, status=status, learned=Learned.FLAG, message=text)
        elif answer.failed is None and (self.has_spans or self.is_damaged):
            # Other calls have spans, which tell of failures; this one's was lost, and the message has no flag.
            self.builder.end(call, answer.value, status=Status.UNKNOWN)
        else:
            self.uncaptured += answer.value is NOT_CAPTURED and not isinstance(call.args, Unknown)
            learned = Learned.FLAG if answer.failed is False else Learned.DEFAULT
            self.builder.end(call, answer.value, learned=learned)

    # -- what was said -----------------------------------------------------------------------------------------

    def _words(self) -> None:
        """The report and the request before it."""
        roots = [span for span in self.run.spans if _is_root(span, self.run)]
        models = sorted(models_of(self.run), key=lambda span: span.last_moment)
        tops = [
            *([self.trace.output] if self.trace.output and not self.run.tool else []),
            *_tops(roots, self.run),
        ]
        for top in tops[:_TOPS]:
            if top.text and not top.damaged:
                said_by = next((n for n, span in enumerate(models) if _is_among(top.text, span)), -1)
                # Of a damaged file the last model's words may be lost: a bare text of the root is surer.
                is_surer = self.is_damaged and top.text.lstrip()[:1] not in ("{", "[")
                if said_by >= 0 or top.kind is Kind.AGENT or not top.plain or is_surer:
                    self._report(top.text, [*models[: said_by + 1 or None], *roots, top])
                    return
        # The last model's words; those of an earlier one only where it went on with calls.
        for number, span in reversed(list(enumerate(models, 1))):
            if span.damaged or not (span.text or span.requests):
                self._lacks_words("the last words of the agent were not captured or cannot be read")
                return
            if span.text:
                if number < len(models):
                    self.builder.lacks("the run does not end in a text of the agent")
                self._report(span.text, [*roots, *models[:number]])
                return
        for top in tops:
            words = top.text or (as_text(top.structured) if top.structured else "")
            if words and not top.damaged and (top.kind is Kind.AGENT or not models):
                self._report(words, [*models, *roots, top])
                return
        for span in [*roots, *models]:
            self.builder.asked(span.asked)
        if models:
            self.builder.lacks("the agent ended with calls and said nothing")
        else:
            self._lacks_words("the file holds no words of the agent")

    def _report(self, words: str, asked: list[Span]) -> None:
        """The report, and as its task the last of these requests."""
        for span in asked:
            self.builder.asked(span.asked)
        self.builder.said(words)

    def _lacks_words(self, text: str) -> None:
        hint = f"; {self.trace.hint}" if self.trace.hint else self._setting()
        self.builder.lacks(f"{text}{hint}")


def _is_root(span: Span, run: Run) -> bool:
    return span.above is None or span.above is run.tool


def _tops(roots: list[Span], run: Run) -> Iterator[Span]:
    """The roots that gave something out, the last one first; below an empty one its only child."""
    children: dict[int, list[Span]] = {}
    for span in run.spans:
        if span.above is not None:
            children.setdefault(id(span.above), []).append(span)
    for root in sorted(roots, key=lambda span: span.last_moment, reverse=True):
        top: Span | None = root
        while top is not None and top.text is None and len(children.get(id(top), ())) == 1:
            (top,) = children[id(top)]
        if top is not None and top.kind in (Kind.AGENT, Kind.OTHER) and top.text is not None:
            yield top


def _is_among(text: str, model: Span) -> bool:
    """Whether a model said this, as a part or as the whole."""
    said = "" if model.damaged or model.text is None else model.text.strip()
    return bool(said) and (text.strip() in said or said in text)


def _is_same(first: Any, second: Any) -> bool:
    if as_text(first) == as_text(second):
        return True
    opened = [parsed(value) if isinstance(value, str) else value for value in (first, second)]
    return bool(opened[0] == opened[1])
