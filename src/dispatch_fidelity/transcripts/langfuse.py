"""Traces of Langfuse: the JSON of one trace, of many, and tables of observations.

- **Where.** "Download JSON" of a trace (``{trace, observations}``), ``GET /api/public/traces/<id>`` (an object with
  ``observations``), the observations of the API (``{data: [...]}``), and the tables that a scheduled or manual export
  writes as JSON or JSONL, where names have underscores.
- The list beside ``trace`` counts; ``trace.observations`` repeats it without inputs and outputs.
- **Calls** are observations of type TOOL. Older integrations write SPAN: then the attributes in ``metadata`` say that
  it is a tool (``otel_attributes``), or its output is a message of the tool of its name. Most integrations have
  neither: their calls stand in the messages of GENERATION observations, in any framework's shape (``span_messages``).
- **Failure** is ``level: ERROR`` with ``statusMessage``; other levels say nothing. A flag in the output counts too.
- Inputs and outputs are JSON, JSON text, or text. Names, ids and arguments in ``metadata.attributes`` come first, and
  a result there counts where the output is empty (google-adk writes ``{}``).
- **Report**: the output of the trace where that is a message or repeats a model's words, else the last words of a
  model. Content that was masked or left out of a large download is not captured; a note says so.
- Which runs there are and how calls are joined: ``spans`` and ``span_runs``. Sampled, never closed.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..jsonio import Defect
from ..model.run import ImportedRun
from . import otel_attributes as table
from .otel_attributes import Attributes
from .registry import Place, opening, values
from .span_messages import parsed, unwrapped_result
from .span_runs import EMPTY, imported
from .spans import Kind, Span, Traces, moment

NAME = "langfuse"

SETTING = "capture_input and capture_output of @observe (LANGFUSE_OBSERVE_DECORATOR_IO_CAPTURE_ENABLED), and no mask"

_KINDS = {"TOOL": Kind.TOOL, "GENERATION": Kind.LLM, "AGENT": Kind.AGENT}
_TYPES = frozenset(
    {*_KINDS, "SPAN", "EVENT", "CHAIN", "RETRIEVER", "EVALUATOR", "EMBEDDING", "GUARDRAIL"},
)
_OF_A_TRACE = frozenset(
    {"projectId", "bookmarked", "environment", "observations", "latency", "scores", "htmlPath"}
)
_SURE, _LIKELY = 0.95, 0.85


def recognise(head: bytes) -> float:
    """How sure it is that the file holds observations of Langfuse."""
    return max((_confidence(value) for value in opening(head)[:20]), default=0.0)


def _confidence(value: Any, level: int = 0) -> float:
    if isinstance(value, list):
        return max((_confidence(item, level + 1) for item in value[:5]), default=0.0) if level < 2 else 0.0
    if not isinstance(value, dict):
        return 0.0
    if _is_observation(value):
        return _SURE
    observations, trace = value.get("observations"), value.get("trace")
    if isinstance(observations, list) and any(map(_is_observation, observations[:5])):
        return _SURE
    if isinstance(trace, dict) and len(trace.keys() & _OF_A_TRACE) >= 2:
        return _LIKELY
    return _confidence(value["data"], level + 1) if isinstance(value.get("data"), list) else 0.0


def _is_observation(value: Any) -> bool:
    return (
        isinstance(value, dict)
        and isinstance(value.get("type"), str)
        and value["type"] in _TYPES
        and ("traceId" in value or "trace_id" in value)
        and ("startTime" in value or "start_time" in value)
    )


def read(path: Path) -> Iterator[ImportedRun]:
    """Every run in the file: one for each trace, and for each agent that was called as a tool.

    Raises MissingInputError when it cannot be opened, and InvalidInputError when it is torn, too large, or
    holds no observation.
    """
    reading = _Reading(Traces())
    for value, line, damage, place in values(path):
        reading.traces.line = line
        reading.place = place
        if damage is not None:
            reading.traces.damage.append(damage)
        else:
            reading.take(value)
    yield from imported(reading.traces, NAME, path, kind="observation of Langfuse")


@dataclass(slots=True)
class _Reading:
    """Reads one file."""

    traces: Traces
    place: Place | None = None
    _broken: bool = False

    def take(self, value: Any) -> None:
        """A trace with its observations, an observation, or a list of these."""
        if isinstance(value, list):
            for item in value:
                self.take(item)
            return
        if not isinstance(value, dict):
            reason = (
                value.reason
                if isinstance(value, Defect)
                else f"{type(value).__name__} where a trace should be"
            )
            self.traces.unreadable(reason)
            return
        if _is_observation(value):
            self._observation(value, "")
        elif "trace" in value or "observations" in value:
            self._trace(value)
        elif isinstance(value.get("data"), list):
            self.take(value["data"])
        elif "type" in value and ("traceId" in value or "trace_id" in value):
            self.traces.unreadable("an observation lacks its type or its time")
            self._observation(value, "")
        else:
            self.traces.unreadable("no trace and no observation stands here")

    def _trace(self, value: dict[str, Any]) -> None:
        head = value.get("trace", value)
        if not isinstance(head, dict):
            self.traces.unreadable("the trace is no object")
            head = {}
        observations = value.get("observations", head.get("observations"))
        if not isinstance(observations, list):
            self.traces.unreadable("the observations are no list")
            observations = head.get("observations")
            observations = observations if isinstance(observations, list) else []
        source = head.get("id")
        if not isinstance(source, str):
            self.traces.unreadable("the trace has no id that is text")
            ids = (item.get("traceId") for item in observations if isinstance(item, dict))
            source = next((found for found in ids if isinstance(found, str)), "")
        if not (observations or any(head.get(key) is not None for key in ("input", "output"))):
            self.traces.unreadable("the trace holds no observation")
            return
        trace = self.traces.trace(source)
        trace.is_run = True
        trace.settings[SETTING] = None
        ends = head.get("input"), head.get("output")
        if any(isinstance(each, (bool, int, float)) for each in ends) or not trace.speak(*ends):
            self.traces.unreadable("the input or output of the trace cannot be read")
        for observation in observations:
            if isinstance(observation, dict):
                self._observation(observation, source)
            else:
                self.traces.unreadable("an observation is no object")

    def _observation(self, value: dict[str, Any], trace: str) -> None:
        """One observation, as a span."""
        self._broken = False
        attributes = self._attributes(value)
        span = Span(
            trace=self._text(value, "traceId", "trace_id") or trace,
            id=self._text(value, "id"),
            parent=self._text(value, "parentObservationId", "parent_observation_id"),
            name=self._text(value, "name"),
            message=self._text(value, "statusMessage", "status_message"),
            agent=attributes.text(*table.AGENT),
            conversation=attributes.text(*table.CONVERSATION),
            error=attributes.text(*table.ERROR),
            at=self._text(value, "startTime", "start_time"),
            until=self._text(value, "endTime", "end_time"),
            place=self.place,
        )
        span.start, span.end = moment(span.at), moment(span.until)
        self._broken |= (bool(span.at) and span.start is None) or (bool(span.until) and span.end is None)
        if self._text(value, "level") == "ERROR" or attributes.text("error.type"):
            span.failed = True
        kind = self._text(value, "type")
        span.kind = _KINDS.get(kind) or attributes.kind
        if kind not in _TYPES:
            self._broken = True
        asked, said = value.get("input"), value.get("output")
        self._broken |= any(isinstance(each, (bool, int, float, Defect)) for each in (asked, said))
        if span.kind is Kind.OTHER and kind == "SPAN" and unwrapped_result(said).tool == span.name != "":
            span.kind = Kind.TOOL
        span.damaged = self._broken
        if self._broken:
            self.traces.unreadable(f"a part of observation {span.name[:80]!r} cannot be read")
        self.traces.trace(span.trace).settings[SETTING] = None
        if span.kind is Kind.TOOL:
            span.tool = attributes.text(*table.TOOL) or table.tool_of(span.name)
            span.call = attributes.text(*table.CALL)
            args = attributes.get(*table.ARGUMENTS)
            args = asked if args is None else args
            # Some integrations write an empty output, and the result into an attribute.
            result = attributes.get(*table.RESULT) if said in EMPTY else said
            result = said if result is None else result
            if args is not None:
                span.args = table.unwrapped_arguments(args)
            if result is not None:
                span.result = result
            self.traces.add(span)
            return
        if span.kind is Kind.LLM:
            offered, span.outputs = attributes.offers()
            self.traces.trace(span.trace).offers.update(dict.fromkeys(offered))
        elif span.kind is Kind.AGENT:
            span.agent = span.agent or table.agent_of(span.name)
        other_asked, other_said = attributes.words(span.kind)
        self.traces.add(span, other_asked if asked is None else asked, other_said if said is None else said)

    def _attributes(self, value: dict[str, Any]) -> Attributes:
        """The attributes that the integration kept in the metadata."""
        metadata = value.get("metadata")
        metadata = parsed(metadata) if isinstance(metadata, str) else metadata
        if metadata is not None and not isinstance(metadata, (dict, str)):
            self._broken = True
        found = metadata.get("attributes") if isinstance(metadata, dict) else None
        if found is not None and not isinstance(found, dict):
            self._broken = True
        return Attributes(found if isinstance(found, dict) else {})

    def _text(self, value: dict[str, Any], *names: str) -> str:
        """The first of these members that is there; empty where it is none or no text."""
        found = next((value[name] for name in names if value.get(name) is not None), "")
        if not isinstance(found, str):
            self._broken = True
            return ""
        return found
