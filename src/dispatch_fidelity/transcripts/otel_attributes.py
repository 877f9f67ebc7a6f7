"""The one table of attribute names: who writes what under which name in a span.

| what | gen_ai (pydantic-ai 2) | OpenInference | AI SDK |
|---|---|---|---|
| kind of span | ``gen_ai.operation.name`` | ``openinference.span.kind`` | ``ai.operationId`` |
| tool | ``gen_ai.tool.name`` | ``tool.name`` | ``ai.toolCall.name`` |
| call id | ``gen_ai.tool.call.id`` | ``tool_call.id`` | ``ai.toolCall.id`` |
| arguments | ``gen_ai.tool.call.arguments`` (``tool_arguments``) | ``input.value`` | ``ai.toolCall.args`` |
| result | ``gen_ai.tool.call.result`` (``tool_response``) | ``output.value`` | ``ai.toolCall.result`` |
| words in | ``gen_ai.input.messages``, ``gen_ai.prompt.*`` | ``llm.input_messages.*`` | ``ai.prompt.messages`` |
| words out | ``gen_ai.output.messages`` (``final_result``) | ``llm.output_messages.*`` | ``ai.response.text`` |

The first name of a row that is there counts. Where content was not captured, ``SETTINGS`` names what turns it on.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from .span_messages import parsed
from .spans import Kind

TOOL = (
    "gen_ai.tool.name",
    "tool.name",
    "tool_call.function.name",
    "ai.toolCall.name",
    "traceloop.entity.name",
)
CALL = ("gen_ai.tool.call.id", "tool_call.id", "ai.toolCall.id")
ARGUMENTS = (
    "gen_ai.tool.call.arguments",
    "tool_arguments",
    "ai.toolCall.args",
    "tool_call.function.arguments",
    "gcp.vertex.agent.tool_call_args",
    "input.value",
    "traceloop.entity.input",
)
RESULT = (
    "gen_ai.tool.call.result",
    "tool_response",
    "ai.toolCall.result",
    "gcp.vertex.agent.tool_response",
    "output.value",
    "traceloop.entity.output",
)
ASKED = (
    "gen_ai.input.messages",
    "llm.input_messages",
    "ai.prompt.messages",
    "ai.prompt",
    "gen_ai.prompt",
    "gcp.vertex.agent.llm_request",
    "input.value",
    "traceloop.entity.input",
)
SAID = (
    "gen_ai.output.messages",
    "llm.output_messages",
    "ai.response.text",
    "gen_ai.completion",
    "gcp.vertex.agent.llm_response",
    "output.value",
    "traceloop.entity.output",
)
ALSO_SAID = ("ai.response.toolCalls",)
FINAL = ("final_result", *SAID, "pydantic_ai.all_messages", "all_messages_events")
AGENT = ("gen_ai.agent.name", "agent_name", "agent.name")
CONVERSATION = ("gen_ai.conversation.id",)
ERROR = ("error.type", "exception.type")
MESSAGE = ("exception.message", "error.message")
OFFERS = ("gen_ai.tool.definitions", "llm.tools", "model_request_parameters", "ai.prompt.tools")

_KINDS: dict[str, dict[str, Kind]] = {
    "gen_ai.operation.name": {
        "execute_tool": Kind.TOOL,
        "chat": Kind.LLM,
        "text_completion": Kind.LLM,
        "generate_content": Kind.LLM,
        "invoke_agent": Kind.AGENT,
    },
    "openinference.span.kind": {"TOOL": Kind.TOOL, "LLM": Kind.LLM, "AGENT": Kind.AGENT},
    "ai.operationId": {
        "ai.toolCall": Kind.TOOL,
        "ai.generateText.doGenerate": Kind.LLM,
        "ai.streamText.doStream": Kind.LLM,
        "ai.generateText": Kind.AGENT,
        "ai.streamText": Kind.AGENT,
    },
    "traceloop.span.kind": {"tool": Kind.TOOL, "agent": Kind.AGENT},
    "langsmith.span.kind": {"tool": Kind.TOOL, "llm": Kind.LLM},
}
_AGENT_RUNS = ("pydantic_ai.all_messages", "all_messages_events", "final_result")
_MODEL_CALLS = (
    "gen_ai.completion.0.role",
    "gen_ai.completion.0.content",
    "gen_ai.response.finish_reasons",
    "gcp.vertex.agent.llm_request",
)

SETTINGS = (
    (
        "gen_ai.",
        "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT=true (SPAN_ONLY in newer instrumentations)",
    ),
    ("logfire.", "InstrumentationSettings(include_content=True) of pydantic-ai"),
    ("openinference.", "OPENINFERENCE_HIDE_INPUTS and OPENINFERENCE_HIDE_OUTPUTS must not be true"),
    ("ai.operationId", "experimental_telemetry with recordInputs and recordOutputs"),
    ("traceloop.", "TRACELOOP_TRACE_CONTENT=true"),
)
_REDACTED = "__REDACTED__"
_SEGMENTS = 12
_TOOL_NAME = re.compile(r"(?:execute_tool|running tool:?|tools/call)\s+(?=\S)")
_AGENT_NAME = re.compile(r"invoke_agent (.+)|agent_run \[(.+)\]")
_SMOLAGENTS = frozenset({"args", "sanitize_inputs_outputs", "kwargs"})


class Attributes:
    """The attributes of a span under their dotted names, whether they are stored flat, nested, or both."""

    def __init__(self, flat: Mapping[str, Any]) -> None:
        self._flat = flat
        self._is_nested = any(type(item) is dict for item in flat.values())
        self._is_spread = any(".0." in key for key in flat)

    def get(self, *names: str) -> Any:
        """The value under the first of these names that holds one; None where none does, or it was redacted."""
        for name in names:
            value = self._value(name)
            if value is not None and value != _REDACTED:
                return value
        return None

    def text(self, *names: str) -> str:
        """Like ``get``, of the values that are text."""
        found = (self._value(name) for name in names)
        return next((value for value in found if isinstance(value, str) and value and value != _REDACTED), "")

    def messages(self, *names: str) -> Any:
        """Like ``get``, where the value may also be spread over names that go on with a number."""
        for name in names:
            value = self.get(name)
            if value is None and self._is_spread:
                value = self._spread(name)
            if value is not None:
                return _expanded(value)
        return None

    def _value(self, name: str) -> Any:
        if name in self._flat:
            return self._flat[name]
        if not self._is_nested:
            return None
        value: Any = self._flat
        for part in name.split("."):
            if not isinstance(value, dict) or part not in value:
                return None
            value = value[part]
        return value

    def _spread(self, name: str) -> Any:
        prefix = f"{name}."
        parts = {key[len(prefix) :]: value for key, value in self._flat.items() if key.startswith(prefix)}
        return _nested(parts) if parts else None

    def holds(self, prefix: str) -> bool:
        """Whether any attribute's name begins so."""
        return any(key.startswith(prefix) for key in self._flat)

    def misshapen(self) -> bool:
        """Whether what OpenInference always writes as text is none."""
        return any(
            not isinstance(self._value(name), (str, type(None))) for name in ("input.value", "output.value")
        )

    @property
    def escaped(self) -> bool:
        """Whether an exception left the span, as these attributes of its event say."""
        return str(self._value("exception.escaped")).lower() == "true"

    @property
    def kind(self) -> Kind:
        """What the span is of, by the first row of the table that knows it."""
        for name, kinds in _KINDS.items():
            value = self._value(name)
            if isinstance(value, str) and value in kinds:
                return kinds[value]
        if any(self._value(name) is not None for name in _AGENT_RUNS):
            return Kind.AGENT
        if any(self._value(name) is not None for name in _MODEL_CALLS):
            return Kind.LLM
        return Kind.OTHER

    def words(self, kind: Kind) -> tuple[Any, Any]:
        """What went into a span and what came out, of a model, an agent or a step."""
        said = self.messages(*(FINAL if kind is Kind.AGENT else SAID))
        also = self.messages(*ALSO_SAID)
        if also is not None and kind is not Kind.OTHER:
            said = also if said is None else [said, also]
        return self.messages(*ASKED), said

    def settings(self) -> tuple[str, ...]:
        """What turns the capture of content on, for those whose names are met here."""
        return tuple(setting for prefix, setting in SETTINGS if self.holds(prefix))

    def offers(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """The names of the tools that the model was offered, and of those that only take its answer."""
        offered: list[str] = []
        outputs: list[str] = []
        for name in OFFERS:
            value = self.messages(name)
            value = parsed(value) if isinstance(value, str) else value
            if isinstance(value, dict):
                offered += _names(value.get("function_tools"))
                outputs += _names(value.get("output_tools"))
            else:
                offered += _names(value)
        return tuple(dict.fromkeys(offered)), tuple(dict.fromkeys(outputs))


def tool_of(name: str) -> str:
    """The tool that the name of a span names."""
    return _TOOL_NAME.sub("", name, count=1)


def agent_of(name: str) -> str:
    """The agent that the name of its span names."""
    found = _AGENT_NAME.fullmatch(name)
    return found.group(1) or found.group(2) if found else name


def unwrapped_arguments(value: Any) -> Any:
    """Arguments without the wrapper that the instrumentor of smolagents records them in."""
    opened = parsed(value) if isinstance(value, str) else value
    if not isinstance(opened, dict) or opened.keys() != _SMOLAGENTS:
        return value
    args, kwargs = opened["args"], opened["kwargs"]
    if not args and isinstance(kwargs, dict):
        return kwargs
    if isinstance(args, list) and len(args) == 1 and isinstance(args[0], dict) and not kwargs:
        return args[0]
    return value


def _names(tools: Any) -> list[str]:
    """The names in a list of definitions, each an object, a JSON text, or inside one member of that object."""
    found = []
    for tool in tools if isinstance(tools, list) else []:
        tool = parsed(tool) if isinstance(tool, str) else tool
        for key in ("tool", "json_schema", "function"):
            inner = tool.get(key) if isinstance(tool, dict) else None
            tool = parsed(inner) if isinstance(inner, str) else inner if inner is not None else tool
        name = tool.get("name") if isinstance(tool, dict) else None
        if isinstance(name, str) and name:
            found.append(name)
    return found


def _expanded(value: Any) -> Any:
    """A value in which members with dotted names stand nested, as in exports of Phoenix."""
    if isinstance(value, list):
        return [_expanded(item) for item in value]
    if isinstance(value, dict) and any("." in key for key in value):
        return _nested(value)
    return value


def _nested(flat: Mapping[str, Any]) -> Any:
    """Values under dotted names as objects, and as a list where all names of a level are numbers."""
    tree: dict[str, Any] = {}
    for key, value in flat.items():
        *path, last = key.split(".")[:_SEGMENTS]
        place = tree
        for part in path:
            inner = place.get(part)
            if not isinstance(inner, _Level):
                inner = place[part] = _Level()
            place = inner
        if not isinstance(place.get(last), _Level):
            place[last] = _expanded(value)
    return _listed(tree)


class _Level(dict[str, Any]):
    """A level of names, told apart from a value that is an object."""


def _listed(tree: dict[str, Any]) -> Any:
    found = {key: _listed(value) if isinstance(value, _Level) else value for key, value in tree.items()}
    if found and all(key.isdecimal() and len(key) < 10 for key in found):
        return [found[key] for key in sorted(found, key=int)]
    return found
