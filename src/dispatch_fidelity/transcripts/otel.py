"""Traces of OpenTelemetry: OTLP JSON, the exports of Phoenix, and nested spans as of TRAIL.

- **Where.** What a collector's file exporter writes (one export a line), what an OTLP endpoint is sent, what Phoenix,
  Logfire or Copilot store. ``resourceSpans[].scopeSpans[].spans[]`` with attributes as ``{key, value}``; in exports of
  Phoenix one object a span with ``context`` (or ``context.span_id``) and dotted attributes; in TRAIL
  ``spans[].child_spans[]`` with ``span_attributes`` and a ``duration``. All go through one table (``otel_attributes``).
- **Content is opt-in.** Arguments, results and words that were not captured are unknown, and a note names the setting.
- **Failure** is the status, which comes as 2, ``STATUS_CODE_ERROR``, ``ERROR`` or ``Error``, or ``error.type``; without
  these, the ``status`` of a serialised LangChain message in the output. An unset status is a success by default.
- The LangChain instrumentor writes a call of one argument as the bare value, without a call id: it is joined with what
  the model asked for. The smolagents one writes the arguments of the wrapper: they are unwrapped.
- Calls of tools that do not exist, and calls with arguments that are no JSON, have no tool span; messages tell of them.
- A span may hold another of the same call (an MCP client in its framework): of the same tool, it counts once. Logfire
  writes a pending span before each: it is left out. ``traceId`` is hex or base64: it is only compared.
- Which runs there are, how calls are joined and what is the report: ``spans`` and ``span_runs``. Spans may be dropped
  on the way, so a record is sampled, never closed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..jsonio import Defect
from ..model.call import Unknown
from ..model.run import ImportedRun
from . import otel_attributes as table
from .otel_attributes import Attributes
from .registry import HEAD, Place, opening, values
from .span_runs import imported
from .spans import Kind, Span, Traces, lasting, moment

NAME = "otel"

_RESOURCES = ("resourceSpans", "resource_spans", "batches")
_SCOPES = ("scopeSpans", "scope_spans", "instrumentationLibrarySpans")
_OTHER_SIGNALS = ("resourceLogs", "resourceMetrics", "resource_logs", "resource_metrics")
_SPAN_IDS = ("spanId", "span_id", "context.span_id")
_OF_AN_AGENT = (
    b"gen_ai.",
    b"openinference",
    b"ai.operationId",
    b"traceloop.",
    b'"llm.',
    b'"input.value"',
    b"logfire.",
)
_SURE, _LIKELY, _PLAIN = 0.95, 0.6, 0.3
_ZERO = re.compile(r"0+|A+=+")
_STATUS = frozenset({"code", "message", "status_code", "description"})
_CODES: dict[Any, bool | None] = {
    0: None,
    1: False,
    2: True,
    "UNSET": None,
    "OK": False,
    "ERROR": True,
}
_EVENT_KEYS = ("gen_ai.", "exception.")


def recognise(head: bytes) -> float:
    """How sure it is that the file holds spans, and spans of an agent."""
    found = opening(head)
    if not any(_holds_spans(value) for value in found[:100]):
        return 0.0
    if any(word in head for word in _OF_AN_AGENT):
        return _SURE
    return _LIKELY if len(head) >= HEAD else _PLAIN


def side(head: bytes) -> str:
    """What the file is beside traces: other signals of OpenTelemetry, or the labels of TRAIL; else empty."""
    found = [value for value in opening(head)[:100] if isinstance(value, dict)]
    if found and all(any(key in value for key in _OTHER_SIGNALS) for value in found):
        return "logs or metrics of OpenTelemetry, without spans"
    for value in found:
        errors = value.get("errors")
        if isinstance(errors, list) and errors and all(_is_label(error) for error in errors):
            return "labels of a trace of TRAIL"
    return ""


def _is_label(value: Any) -> bool:
    return isinstance(value, dict) and {"category", "location", "evidence"} <= value.keys()


def _holds_spans(value: Any, level: int = 0) -> bool:
    if isinstance(value, list):
        return level < 3 and any(_holds_spans(item, level + 1) for item in value[:20])
    if not isinstance(value, dict):
        return False
    if any(isinstance(value.get(key), list) for key in _RESOURCES) or _is_span(value):
        return True
    inner = [value.get(key) for key in ("spans", "data", "trace")]
    return level < 3 and any(
        _holds_spans(each, level + 1) for each in inner if isinstance(each, (list, dict))
    )


def _is_span(value: dict[str, Any]) -> bool:
    context = value.get("context")
    has_id = any(isinstance(value.get(key), str) for key in _SPAN_IDS)
    has_id = has_id or (isinstance(context, dict) and "span_id" in context)
    return has_id and any(
        key in value
        for key in ("attributes", "span_attributes", "status_code", "startTimeUnixNano", "child_spans")
    )


def read(path: Path) -> Iterator[ImportedRun]:
    """Every run in the file: one for each trace and conversation, and for each agent that was called as a tool.

    Raises MissingInputError when it cannot be opened, and InvalidInputError when it is torn, too large, or
    holds no span of an agent.
    """
    reading = _Reading(Traces())
    for value, line, damage, place in values(path):
        reading.traces.line = line
        reading.place = place
        if damage is not None:
            reading.traces.damage.append(damage)
        else:
            reading.take(value)
    yield from imported(reading.traces, NAME, path, kind="span of an agent")


@dataclass(slots=True)
class _Reading:
    """Reads one file; ``_broken`` is set where a part of the present span has another shape than it should."""

    traces: Traces
    place: Place | None = None
    _broken: bool = False

    def take(self, value: Any, trace: str = "", parent: str = "") -> None:
        """An export, a span, or a list of these; spans of TRAIL stand in their trace and in each other."""
        if isinstance(value, list):
            for item in value:
                self.take(item, trace, parent)
            return
        if not isinstance(value, dict):
            reason = (
                value.reason if isinstance(value, Defect) else f"{type(value).__name__} where spans should be"
            )
            self.traces.unreadable(reason)
            return
        groups = [value[key] for key in _RESOURCES if key in value]
        inner = [value[key] for key in ("spans", "data") if isinstance(value.get(key), (list, dict))]
        if not inner and isinstance(value.get("trace"), (list, dict)):
            inner = [value["trace"]]
        if groups:
            for group in groups:
                self._exported(group)
        elif _is_span(value):
            self._span(value, trace, parent)
        elif inner:
            given = value.get("trace_id")
            for each in inner:
                self.take(each, given if isinstance(given, str) else trace, parent)
        elif not any(key in value for key in _OTHER_SIGNALS):
            self.traces.unreadable("no span stands here")

    def _exported(self, groups: Any) -> None:
        """The list of resources of an export."""
        for resource in self._list(groups, "resources"):
            if not isinstance(resource, dict):
                self.traces.unreadable("a resource is no object")
                continue
            scopes: Any = next((resource[key] for key in _SCOPES if key in resource), [])
            for scope in self._list(scopes, "scopes"):
                if not isinstance(scope, dict):
                    self.traces.unreadable("a scope is no object")
                    continue
                for span in self._list(scope.get("spans", []), "spans"):
                    if isinstance(span, dict):
                        self._span(span)
                    else:
                        self.traces.unreadable("a span is no object")

    def _list(self, value: Any, what: str) -> list[Any]:
        if isinstance(value, list):
            return value
        self.traces.unreadable(f"the {what} are no list")
        return []

    # -- one span ----------------------------------------------------------------------------------------------

    def _span(self, value: dict[str, Any], trace: str = "", parent: str = "") -> None:
        """One span of any of the three shapes, and the spans that stand in it."""
        self._broken = False
        flat = self._attributes(value)
        raised = self._events(value, flat)
        attributes = Attributes(flat)
        span = Span(
            trace=self._id(value, "traceId", "trace_id", "context.trace_id") or trace,
            id=self._id(value, *_SPAN_IDS),
            parent=self._id(value, "parentSpanId", "parent_span_id", "parent_id") or parent,
            kind=self._kind(value, attributes),
            name=self._first(value, (str,), "name", "span_name") or "",
            agent=attributes.text(*table.AGENT),
            conversation=attributes.text(*table.CONVERSATION),
            error=attributes.text(*table.ERROR) or Attributes(raised).text(*table.ERROR),
            place=self.place,
        )
        self._times(span, value)
        span.failed, span.message = self._status(value)
        if attributes.text("error.type") or (span.failed is None and Attributes(raised).escaped):
            span.failed = True
        span.message = (
            span.message or Attributes(raised).text(*table.MESSAGE) or attributes.text(*table.MESSAGE)
        )
        span.damaged = self._broken = self._broken or attributes.misshapen()
        if self._broken:
            self.traces.unreadable(f"a part of span {span.name[:80]!r} cannot be read")
        if attributes.text("logfire.span_type") != "pending_span":
            self._content(span, attributes)
        dropped = value.get("droppedAttributesCount")
        if isinstance(dropped, int) and dropped > 0:
            self.traces.trace(span.trace).notes[
                "attributes of spans were dropped by a limit of their sender"
            ] = None
        children = value.get("child_spans")
        for child in self._list(children, "child spans") if children is not None else []:
            if isinstance(child, dict):
                self._span(child, span.trace, span.id)
            else:
                self.traces.unreadable("a child span is no object")

    def _content(self, span: Span, attributes: Attributes) -> None:
        """What the table finds in the attributes."""
        trace = self.traces.trace(span.trace)
        trace.settings.update(dict.fromkeys(attributes.settings()))
        if span.kind is Kind.TOOL:
            span.tool = attributes.text(*table.TOOL) or table.tool_of(span.name)
            span.call = attributes.text(*table.CALL)
            if (given := attributes.get(*table.ARGUMENTS)) is not None:
                span.args = table.unwrapped_arguments(given)
            if (result := attributes.get(*table.RESULT)) is not None:
                span.result = result
            self.traces.add(span)
            return
        if span.kind is Kind.AGENT:
            span.agent = span.agent or table.agent_of(span.name)
        elif span.kind is Kind.LLM:
            offered, span.outputs = attributes.offers()
            trace.offers.update(dict.fromkeys(offered))
        self.traces.add(span, *attributes.words(span.kind))

    def _attributes(self, value: dict[str, Any]) -> dict[str, Any]:
        """The attributes under their dotted names."""
        found = next(
            (value[key] for key in ("attributes", "span_attributes") if value.get(key) is not None), None
        )
        if found is None:
            prefix = "attributes."
            return {key[len(prefix) :]: item for key, item in value.items() if key.startswith(prefix)}
        flat: dict[str, Any] = {}
        if isinstance(found, dict) and "spanId" not in value:
            return found
        if not isinstance(found, list):
            self._broken = True
            return flat
        for pair in found:
            if isinstance(pair, dict) and isinstance(pair.get("key"), str):
                flat[pair["key"]] = self._any(pair.get("value"))
            else:
                self._broken = True
        return flat

    def _any(self, value: Any) -> Any:
        """A value of OTLP, which names its type; unknown, and damage, where it cannot be read."""
        if value is None or value == {}:
            return None
        if not isinstance(value, dict) or len(value) != 1:
            self._broken = True
            return Unknown("unreadable")
        ((name, inner),) = value.items()
        name = name.replace("_v", "V")
        items = inner.get("values", []) if isinstance(inner, dict) else None
        if name == "intValue" and (isinstance(inner, int) or (isinstance(inner, str) and len(inner) < 25)):
            return int(inner) if str(inner).lstrip("-").isdecimal() else inner
        if name == "arrayValue" and isinstance(items, list):
            return [self._any(item) for item in items]
        if (
            name == "kvlistValue"
            and isinstance(items, list)
            and all(isinstance(item, dict) for item in items)
        ):
            return {str(item.get("key")): self._any(item.get("value")) for item in items}
        if (name in ("stringValue", "bytesValue") and isinstance(inner, str)) or (
            name in ("boolValue", "doubleValue") and isinstance(inner, (bool, int, float, str))
        ):
            return inner
        self._broken = True
        return Unknown("unreadable")

    def _events(self, value: dict[str, Any], flat: dict[str, Any]) -> dict[str, Any]:
        """What the last exception says; content that older conventions put into events joins the attributes."""
        raised: dict[str, Any] = {}
        events = value.get("events")
        self._broken |= not isinstance(events, (list, type(None)))
        for event in events if isinstance(events, list) else []:
            if not isinstance(event, dict):
                self._broken = True
                continue
            key = "spanId" if "spanId" in value else "span_id"
            inner = {key: "", "attributes": event.get("attributes") or event.get("Attributes")}
            found = {
                key: item for key, item in self._attributes(inner).items() if key.startswith(_EVENT_KEYS)
            }
            raised.update({key: item for key, item in found.items() if key.startswith("exception.")})
            for key, item in found.items():
                if key.startswith("gen_ai."):
                    flat.setdefault(key, item)
        return raised

    def _kind(self, value: dict[str, Any], attributes: Attributes) -> Kind:
        kind = attributes.kind
        if kind is Kind.OTHER:
            named = value.get("span_kind")
            return {"TOOL": Kind.TOOL, "LLM": Kind.LLM, "AGENT": Kind.AGENT}.get(str(named), kind)
        return kind

    def _times(self, span: Span, value: dict[str, Any]) -> None:
        names = ("startTimeUnixNano", "start_time_unix_nano", "start_time", "timestamp")
        at = self._first(value, (str, int), *names)
        until = self._first(value, (str, int), "endTimeUnixNano", "end_time_unix_nano", "end_time")
        span.start, span.end = moment(at), moment(until)
        span.at = str(at) if span.start is not None else ""
        span.until = str(until) if span.end is not None else ""
        for given, read_as in ((at, span.start), (until, span.end)):
            self._broken |= read_as is None and given not in (None, 0, "0", "")
        took = lasting(value.get("duration"))
        if span.end is None and span.start is not None and took is not None:
            span.end = span.start + took

    def _status(self, value: dict[str, Any]) -> tuple[bool | None, str]:
        """Whether the status says that it failed, and its message."""
        status = value.get("status")
        if isinstance(status, dict):
            self._broken |= not status.keys() <= _STATUS
            code = status.get("code", status.get("status_code"))
            message = status.get("message") or status.get("description")
        else:
            code, message = value.get("status_code", status), value.get("status_message")
        if message is not None and not isinstance(message, str):
            self._broken = True
        if isinstance(code, str):
            code = code.upper().removeprefix("STATUSCODE.").removeprefix("STATUS_CODE_")
        if code is None or code == "":
            return None, message if isinstance(message, str) else ""
        if isinstance(code, (bool, float)) or not isinstance(code, (int, str)) or code not in _CODES:
            self._broken = True
            return None, ""
        return _CODES[code], message if isinstance(message, str) else ""

    def _id(self, value: dict[str, Any], *names: str) -> str:
        """An id, which is only compared; empty where there is none or it is all zero."""
        found = self._first(value, (str,), *names)
        context = value.get("context")
        if found is None and isinstance(context, dict):
            found = self._first(context, (str,), *names)
        return "" if found is None or _ZERO.fullmatch(found) else str(found)

    def _first(self, value: dict[str, Any], types: tuple[type, ...], *names: str) -> Any:
        found = next((value[name] for name in names if value.get(name) is not None), None)
        if found is None or (isinstance(found, types) and not isinstance(found, bool)):
            return found
        self._broken = True
        return None
