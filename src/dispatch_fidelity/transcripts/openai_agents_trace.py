"""Traces of openai-agents: what a trace processor is given, or what the SDK sends to its own backend.

- **Where.** Nothing is stored by itself: a processor (``add_trace_processor``) writes ``trace.export()`` and
  ``span.export()``. A file is a list of these, one a line, or ``{"data": [...]}`` as they are sent.
- ``{"object": "trace.span", "trace_id", "parent_id", "span_data": {"type": …}}``; children come before their parents,
  and the ``{"object": "trace"}`` at any place.
- **Calls** are ``function`` spans: ``name``, ``input`` (a JSON text), ``output``; there is no call id. Those below
  one ``turn`` were made together.
- **Failure** is ``error``, which is null otherwise. What the model was shown is the output: the fixed sentence of the
  SDK, which is a failure as well where ``error`` was lost. The message of the exception may be redacted.
- **There is no report**: a ``response`` span holds only the id of the response. ``generation`` spans (other models)
  hold messages. Where ``trace_include_sensitive_data`` is off, inputs and outputs are null: not captured.
- Agents that hand off to each other work on one conversation and are one run, each call with its agent; an agent
  below a function was called as a tool and is a run of its own (``spans``). Sampled, never closed.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..jsonio import Defect
from ..model.call import Learned
from ..model.run import ImportedRun
from .registry import Place, opening, values
from .span_messages import NOT_CAPTURED
from .span_runs import imported
from .spans import Kind, Span, Traces, moment

NAME = "openai-agents-trace"

SETTING = "RunConfig(trace_include_sensitive_data=True), OPENAI_AGENTS_TRACE_INCLUDE_SENSITIVE_DATA=true"
HINT = "this export keeps a response by its id only: its text (final_output) has to be stored beside it"

_KINDS = {"function": Kind.TOOL, "agent": Kind.AGENT, "generation": Kind.LLM, "response": Kind.LLM}
_FAILED = "An error occurred while running the tool. Please try again."
_SURE, _LIKELY = 0.95, 0.8


def recognise(head: bytes) -> float:
    """How sure it is that the file holds what this SDK exports."""
    return max((_confidence(value) for value in opening(head)[:50]), default=0.0)


def _confidence(value: Any, level: int = 0) -> float:
    if isinstance(value, list):
        return max((_confidence(item, level + 1) for item in value[:50]), default=0.0) if level < 2 else 0.0
    if not isinstance(value, dict):
        return 0.0
    if value.get("object") == "trace.span":
        return _SURE if "span_data" in value or level else _LIKELY
    if value.get("object") == "trace" and "workflow_name" in value:
        return _LIKELY
    return _confidence(value["data"], level + 1) if isinstance(value.get("data"), list) else 0.0


def read(path: Path) -> Iterator[ImportedRun]:
    """Every run in the file: one for each trace, and for each agent that was called as a tool.

    Raises MissingInputError when it cannot be opened, and InvalidInputError when it is torn, too large, or
    holds no span of this SDK.
    """
    reading = _Reading(Traces())
    for value, line, damage, place in values(path):
        reading.traces.line = line
        reading.place = place
        if damage is not None:
            reading.traces.damage.append(damage)
        else:
            reading.take(value)
    yield from imported(reading.traces, NAME, path, kind="trace of openai-agents")


@dataclass(slots=True)
class _Reading:
    """Reads one file."""

    traces: Traces
    place: Place | None = None
    _broken: bool = False

    def take(self, value: Any) -> None:
        """A trace, a span, or a list of these."""
        if isinstance(value, list):
            for item in value:
                self.take(item)
        elif not isinstance(value, dict):
            reason = (
                value.reason
                if isinstance(value, Defect)
                else f"{type(value).__name__} where a span should be"
            )
            self.traces.unreadable(reason)
        elif value.get("object") == "trace.span" or "span_data" in value:
            self._span(value)
        elif value.get("object") == "trace":
            source = value.get("id")
            if not isinstance(source, str):
                self.traces.unreadable("a trace has no id that is text")
            elif source not in self.traces.found:
                self.traces.trace(source).is_run = True
        elif isinstance(value.get("data"), list):
            self.take(value["data"])
        else:
            self.traces.unreadable("no trace and no span stands here")

    def _span(self, value: dict[str, Any]) -> None:
        self._broken = value.get("object") != "trace.span"
        data = value.get("span_data")
        if not isinstance(data, dict):
            self._broken = True
            data = {}
        span = Span(
            trace=self._text(value, "trace_id"),
            id=self._text(value, "id"),
            parent=self._text(value, "parent_id"),
            kind=_KINDS.get(self._text(data, "type"), Kind.OTHER),
            name=self._text(data, "name"),
            at=self._text(value, "started_at"),
            until=self._text(value, "ended_at"),
            place=self.place,
        )
        span.start, span.end = moment(span.at), moment(span.until)
        self._broken |= (bool(span.at) and span.start is None) or (bool(span.until) and span.end is None)
        self._error(span, value)
        # Both are written as text.
        given, came = (
            (self._text(data, "input"), self._text(data, "output")) if span.kind is Kind.TOOL else ("", "")
        )
        inner = data.get("data")
        if (
            isinstance(inner, dict)
            and inner.get("sdk_span_type") == "turn"
            and type(inner.get("turn")) is int
        ):
            span.turn = inner["turn"]
        span.damaged = self._broken
        if self._broken:
            self.traces.unreadable(f"a part of span {span.name[:80]!r} cannot be read")
        trace = self.traces.trace(span.trace)
        trace.is_run = True
        trace.settings[SETTING] = None
        trace.hint = HINT
        if span.kind is Kind.TOOL:
            span.tool = span.name
            span.args = given or span.args
            span.result = NOT_CAPTURED if data.get("output") is None else came
            if not span.failed and came.startswith(_FAILED):
                span.failed, span.learned, span.message = True, Learned.TEXT_PATTERN, came
            self.traces.add(span)
            return
        if span.kind is Kind.AGENT:
            span.agent = span.name
            tools = data.get("tools")
            trace.offers.update(
                dict.fromkeys(tool for tool in tools if isinstance(tool, str))
                if isinstance(tools, list)
                else {}
            )
        said = data.get("output", data.get("response"))
        self.traces.add(span, data.get("input"), said if span.kind is Kind.LLM else None)

    def _error(self, span: Span, value: dict[str, Any]) -> None:
        if "error" not in value:
            return
        error = value["error"]
        span.failed = error is not None
        if error is None:
            return
        if not isinstance(error, dict) or not isinstance(error.get("message"), str):
            self._broken = True
            return
        inner = error.get("data")
        detail = inner.get("error") if isinstance(inner, dict) else None
        span.message = ": ".join(
            part for part in (error.get("message"), detail) if isinstance(part, str) and part
        )

    def _text(self, value: dict[str, Any], name: str) -> str:
        """A member that is text; empty where it is null or missing."""
        found = value.get(name)
        if found is not None and not isinstance(found, str):
            self._broken = True
        return found if isinstance(found, str) else ""
