"""Which calls a run of spans holds: tool spans and what models asked for, each call once.

A call that a model asked for is the same as the tool span of its id, else of its tool and arguments, else the next one
of its tool. What is left over on the one side had no message, on the other no span: it was dropped, never made, or the
call never ran. Id and arguments may be missing on both sides, and ids repeat: the first of equal ones is taken.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable, Iterator
from dataclasses import dataclass
from typing import Any

from ..jsonio import encode_lenient
from ..model.call import Unknown
from .building import as_text
from .span_messages import NOT_CAPTURED, Request, parsed
from .spans import LATE, Kind, Run, Span, Trace


@dataclass(slots=True, eq=False)
class Planned:
    """A call before its place in the order is known; ``span`` or ``request`` may be missing, not both."""

    span: Span | None
    request: Request | None
    start: int
    order: int
    step: int = -1
    agent: str = ""
    went_on: bool = False

    @property
    def tool(self) -> str:
        """The tool, as its span names it."""
        return (self.span.tool if self.span else "") or (self.request.tool if self.request else "")

    @property
    def source(self) -> str:
        """The id of the call."""
        return (self.span.call if self.span else "") or (self.request.id if self.request else "")

    @property
    def until(self) -> int:
        """When it ended, as far as is known."""
        return self.start + 1 if self.span is None or self.span.end is None else self.span.end

    @property
    def args(self) -> Any:
        """The arguments that ran; those asked for where the span holds them bare, wrapped, or not at all."""
        asked = self.request.args if self.request is not None else NOT_CAPTURED
        if self.span is None:
            return asked
        given = self.span.args
        if isinstance(given, Unknown):
            return asked
        mine = parsed(given) if isinstance(given, str) else given
        theirs = parsed(asked) if isinstance(asked, str) else asked
        is_wrapped = isinstance(mine, dict) and len(mine) == 1 and mine.get("input") == theirs
        return theirs if isinstance(theirs, dict) and (is_wrapped or not isinstance(mine, dict)) else given


def models_of(run: Run) -> list[Span]:
    """The calls of models that are the agent's, in the order of time: not those that a tool made."""
    return [
        span for span in run.spans if span.kind is Kind.LLM and not span.is_outer and span.above_tool is None
    ]


def planned_calls(run: Run, trace: Trace, known: list[tuple[Request, Span, int]]) -> list[Planned]:
    """Every call of the run once; ``known`` are those that only messages of other spans tell of."""
    models = models_of(run)
    outputs = {name for span in models for name in span.outputs}
    last = max((span.moment for span in run.spans if span.kind is not Kind.OTHER), default=(False, 0, 0))
    pool = _Pool()
    # 1. What models asked for.
    for step, span in enumerate(models):
        start = next((time for time in (span.end, span.start) if time is not None), LATE)
        for request in span.requests:
            seen = trace.known.get(request.id)
            # Attributes of a model leave out that a call was invalid; the message says so.
            request = seen[0] if seen is not None and seen[0].invalid else request
            if request.tool not in outputs:
                pool.add(Planned(None, request, start, span.order, step, span.agent, span.moment < last))
    for request, span, when in known:
        if request.tool not in outputs:
            pool.add(Planned(None, request, when, span.order, -1, span.agent, went_on=True))
    # 2. Tool spans, each with what was asked for.
    planned = [_of_span(span) for span in run.spans if span.kind is Kind.TOOL and not _is_same_call(span)]
    waiting = planned
    for rule in (pool.by_id, pool.by_arguments, pool.by_tool):
        left = []
        for plan in waiting:
            found = rule(plan.span) if plan.span is not None else None
            if found is None:
                left.append(plan)
            else:
                plan.request, plan.step = found.request, found.step
                plan.agent = plan.agent or found.agent
        waiting = left
    # 3. What is left.
    return planned + pool.rest()


def _of_span(span: Span) -> Planned:
    step = span.above.turn if span.above is not None else -1
    return Planned(span, None, LATE if span.start is None else span.start, span.order, step, span.agent)


def _is_same_call(span: Span) -> bool:
    """Whether this tool stands below one of the same name, as a client of MCP inside its framework does."""
    return span.above_tool is not None and _tail(span.above_tool.tool) == _tail(span.tool)


def _tail(tool: str) -> str:
    """The name of a tool without the server or space that a framework puts before it."""
    found = [tool.rfind(mark) + len(mark) for mark in ("__", ".", "/", ":") if mark in tool]
    return tool[max(found, default=0) :]


class _Pool:
    """What models asked for and no tool span was found for yet."""

    def __init__(self) -> None:
        self._plans: list[Planned] = []
        self._taken: set[int] = set()
        self._index: dict[Hashable, deque[Planned]] = {}

    def add(self, plan: Planned) -> None:
        """One call that was asked for."""
        request = plan.request
        assert request is not None
        self._plans.append(plan)
        if request.invalid:
            return
        for key in {("id", request.id), ("tool", request.tool), *_keys(request.tool, request.args)}:
            if key != ("id", ""):
                self._index.setdefault(key, deque()).append(plan)

    def by_id(self, span: Span) -> Planned | None:
        """The first that has the id of the span."""
        return self._take(("id", span.call)) if span.call else None

    def by_arguments(self, span: Span) -> Planned | None:
        """The first of the same tool and arguments, even under another id, for both are left over."""
        inner = span.args.get("input") if isinstance(span.args, dict) and len(span.args) == 1 else None
        for args in (span.args, inner):
            if args is not None:
                for key in _keys(span.tool, args):
                    if found := self._take(key):
                        return found
        return None

    def by_tool(self, span: Span) -> Planned | None:
        """The first of the same tool, unless both have ids, which differ."""
        return self._take(("tool", span.tool), without_id=bool(span.call))

    def rest(self) -> list[Planned]:
        """What no span was found for."""
        return [plan for plan in self._plans if id(plan) not in self._taken]

    def _take(self, key: Hashable, *, without_id: bool = False) -> Planned | None:
        waiting = self._index.get(key)
        while waiting:
            if id(waiting[0]) in self._taken:
                waiting.popleft()
            elif without_id and waiting[0].request is not None and waiting[0].request.id:
                return None
            else:
                self._taken.add(id(waiting[0]))
                return waiting.popleft()
        return None


def _keys(tool: str, args: Any) -> Iterator[Hashable]:
    """What equal arguments have in common: their JSON, and of one argument its bare value."""
    value = parsed(args) if isinstance(args, str) else args
    if isinstance(value, dict):
        yield "args", tool, _canonical(value)
        if len(value) == 1:
            yield "bare", tool, as_text(next(iter(value.values())))
    elif isinstance(args, str):
        yield "bare", tool, args


def _canonical(value: Any) -> bytes:
    if isinstance(value, dict):
        inner = sorted((encode_lenient(key), _canonical(item)) for key, item in value.items())
        return b"{" + b",".join(key + b":" + item for key, item in inner) + b"}"
    if isinstance(value, list):
        return b"[" + b",".join(map(_canonical, value)) + b"]"
    return encode_lenient(value) if not isinstance(value, tuple) else b"?"
