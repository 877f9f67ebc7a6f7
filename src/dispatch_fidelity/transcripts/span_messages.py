"""What the inputs and outputs of spans say: words, calls asked for, answers of tools, in every shape that is met.

A span holds whatever its framework had at hand, as JSON or as JSON text: messages with ``parts`` (OpenTelemetry,
Gemini), ``tool_calls`` (Chat Completions, LangChain plain, ``data`` or ``kwargs``), content blocks (Anthropic, AI
SDK), items (Responses), attributes with dotted names (OpenInference), or one of these in a wrapper. Each is told by
its own members; what is of no known shape says nothing.

Text that begins like JSON and ends too early was cut by a limit of its sender: it is ``Unread``, not words.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from ..errors import JSONError
from ..jsonio import Defect, decode, decode_marking, holds_defect, joined_parts
from ..model.call import Unknown

NOT_CAPTURED = Unknown("not captured")
UNREADABLE = Unknown("unreadable")


class Words(NamedTuple):
    """What a message says; ``plain`` where it is a bare text, which may be anyone's."""

    role: str
    text: str
    plain: bool = False


class Request(NamedTuple):
    """A call that a model asked for; ``invalid`` is why its harness could not even try it."""

    tool: str
    args: Any
    id: str = ""
    invalid: str = ""


class Answer(NamedTuple):
    """What came back from a tool; ``failed`` is None where the message has no flag."""

    value: Any
    id: str = ""
    tool: str = ""
    failed: bool | None = None


class Unread(NamedTuple):
    """Something stands here that cannot be read, for instance because its end was cut off."""

    reason: str


Entry = Words | Request | Answer | Unread

_ROLES = {
    "user": "user",
    "human": "user",
    "assistant": "assistant",
    "ai": "assistant",
    "model": "assistant",
    "system": "system",
    "developer": "system",
    "tool": "tool",
    "function": "tool",
    "HumanMessage": "user",
    "AIMessage": "assistant",
    "AIMessageChunk": "assistant",
    "SystemMessage": "system",
    "ToolMessage": "tool",
}
_TEXTS = frozenset({"text", "output_text", "input_text", "refusal"})
_SILENT = frozenset({"reasoning", "thinking", "redacted_thinking", "tool_approval_request"})
_REQUESTS = frozenset(
    {
        "tool_call",
        "tool-call",
        "tool_use",
        "function_call",
        "custom_tool_call",
        "server_tool_call",
        "server_tool_use",
        "mcp_tool_use",
        "mcp_call",
        "invalid_tool_call",
    }
)
_ANSWERS = re.compile(
    r"tool_call_response|tool_result|tool-result|\w{1,40}_(?:call_output|tool_result|call_response)"
)
_WRAPPERS = (
    "message",
    "messages",
    "message_content",
    "generations",
    "choices",
    "candidates",
    "contents",
    "output",
    "new_message",
)
_OF_CREWAI = frozenset({"pydantic", "json_dict", "tasks_output"})
_ASKS = ("prompt", "task", "input", "query", "question")
_LEVELS = 40
_CUT_JSON = re.compile(r'[\[{]\s*(?:["\[{]|\Z)')


def entries(value: Any, role: str = "assistant", level: int = 0) -> Iterator[Entry]:
    """Everything that a value says, in its order; ``role`` is whose bare words are."""
    if level > _LEVELS:
        yield Unread("it is nested too deep")
    elif isinstance(value, str):
        opened = parsed(value)
        if isinstance(opened, (Unread, Defect)):
            yield Unread(opened.reason)
        elif isinstance(opened, str):
            if opened != value:
                yield from entries(opened, role, level + 1)
            elif opened.strip():
                yield Words(role, opened, plain=True)
        else:
            found = list(entries(opened, role, level + 1))
            # JSON of no known shape is the answer itself, as of an agent that was asked for JSON.
            yield from found or ([Words(role, value, plain=True)] if role == "assistant" else [])
    elif isinstance(value, list):
        for item in value:
            yield from entries(item, role, level + 1)
    elif isinstance(value, dict):
        yield from _object(value, role, level + 1)
    elif isinstance(value, Defect):
        yield Unread(value.reason)
    elif value is not None and level:
        yield Unread(f"{type(value).__name__} where a message or a part of one should be")


def parsed(text: str) -> Any:
    """The object, list or text that a JSON text holds; other text as it is; ``Unread`` where it was cut."""
    stripped = text.strip()
    if stripped[:1] not in ("{", "[", '"'):
        return text
    data = stripped.encode("utf-8", "surrogatepass")
    try:
        value = _decoded(data)
    except JSONError:
        is_cut = _CUT_JSON.match(stripped) and stripped[-1:] not in ("}", "]")
        return Unread("JSON text whose end is missing") if is_cut else text
    return value if isinstance(value, (dict, list, str)) else text


def _decoded(data: bytes) -> Any:
    try:
        return decode(data)
    except JSONError:
        return decode_marking(data, mark=True)


def _object(value: dict[str, Any], role: str, level: int) -> Iterator[Entry]:
    value = _unwrapped(value)
    kind = _word(value.get("type"))
    if kind in _SILENT:
        return
    if any(not isinstance(value.get(key, ""), (str, type(None))) for key in ("type", "role")):
        yield Unread("the role or type of a message is no text")
        return
    if kind in _REQUESTS or ("toolCallId" in value and not value.keys() & {"output", "result"}):
        yield from _request(value)
    elif _ANSWERS.fullmatch(kind):
        yield _answer(value)
    elif kind in _TEXTS or (not kind and isinstance(value.get("text"), str) and "message" not in value):
        text = _first(value, "text", "content", "refusal")
        if isinstance(text, str) and text.strip():
            yield Words(role, text)
    elif isinstance(inner := _first(value, "function_call", "functionCall"), dict) and "role" not in value:
        yield from _request(inner)
    elif isinstance(inner := _first(value, "function_response", "functionResponse"), dict):
        yield _answer(inner)
    elif speaker := _ROLES.get(_word(value.get("role"))) or _ROLES.get(kind):
        yield from _message(value, speaker, level)
    elif isinstance(value.get("content"), (list, dict)) and not kind:
        yield from entries(value["content"], role, level)
    elif isinstance(value.get("parts"), list):
        yield from _message(value, role, level)
    elif isinstance(value.get("raw"), str) and value.keys() & _OF_CREWAI:
        yield Words(role, value["raw"])
    else:
        yield from _wrapped(value, role, level)


def _wrapped(value: dict[str, Any], role: str, level: int) -> Iterator[Entry]:
    for key in _WRAPPERS:
        inner = value.get(key)
        if isinstance(inner, (list, dict)):
            yield from entries(inner, role, level)
            return
        if isinstance(inner, str) and inner.strip() and key in ("message", "output"):
            yield Words(role, inner, plain=True)
            return
    if role == "user":
        for key in _ASKS:
            if isinstance(value.get(key), (str, list)):
                yield from entries(value[key], role, level)
                return


def _unwrapped(value: dict[str, Any]) -> dict[str, Any]:
    """A message of LangChain without its wrapper: ``{type, data}`` or ``{lc, id, kwargs}``."""
    if isinstance(value.get("data"), dict) and isinstance(value.get("type"), str):
        return {**value["data"], "type": value["type"]}
    if "lc" in value and isinstance(value.get("kwargs"), dict):
        path = value.get("id")
        name = path[-1] if isinstance(path, list) and path else ""
        return {"type": name, **value["kwargs"]}
    return value


def _message(value: dict[str, Any], role: str, level: int) -> Iterator[Entry]:
    """The words of one message as one text, then its calls and answers."""
    content = _first(value, "content", "contents", "parts")
    if role == "tool" and not _holds_answers(content):
        yield _answer(value)
        return
    words: list[str] = []
    others: list[Entry] = []
    if isinstance(content, str):
        words.append(content)
    else:
        for entry in entries(content, role, level):
            if isinstance(entry, Words):
                words.append(entry.text)
            else:
                others.append(entry)
    if text := "\n".join(word for word in words if word.strip()):
        yield Words(role, text)
    yield from others
    if isinstance(value.get("refusal"), str) and value["refusal"] and not words:
        yield Words(role, value["refusal"])
    extra = value.get("additional_kwargs")
    calls = value.get("tool_calls") or (extra.get("tool_calls") if isinstance(extra, dict) else None)
    if calls and not isinstance(calls, list):
        yield Unread("the calls of a message are no list")
    for call in calls if isinstance(calls, list) else []:
        yield from _request(call)
    if isinstance(value.get("function_call"), dict):
        yield from _request(value["function_call"])
    invalid = value.get("invalid_tool_calls")
    for call in invalid if isinstance(invalid, list) else []:
        yield from _request(call)


def _holds_answers(content: Any) -> bool:
    if not isinstance(content, list):
        return False
    return any(
        isinstance(part, dict)
        and (
            _ANSWERS.fullmatch(_word(part.get("type")))
            or "function_response" in part
            or "functionResponse" in part
        )
        for part in content
    )


def _request(value: Any) -> Iterator[Entry]:
    """A call that is asked for; with its answer where both stand in one item."""
    if isinstance(value, dict) and isinstance(value.get("tool_call"), dict):
        value = value["tool_call"]
    if not isinstance(value, dict):
        yield Unread("a call is no object")
        return
    inner = value.get("function") if isinstance(value.get("function"), dict) else value.get("custom")
    inner = inner if isinstance(inner, dict) else value
    tool = _word(_first(inner, "name", "toolName", "tool_name"))
    if not tool:
        yield Unread("a call names no tool")
        return
    args = _first(inner, "arguments", "args", "input")
    if args is None:
        args = NOT_CAPTURED  # OpenInference leaves empty arguments out too: which it is, is not known
    elif not isinstance(args, (dict, list, str)):
        args = UNREADABLE
    source = _word(_first(value, "call_id", "id", "toolCallId", "tool_call_id"))
    invalid = ""
    if value.get("type") == "invalid_tool_call":
        invalid = _word(value.get("error")) or "the arguments are not valid JSON"
    yield Request(tool, args, source, invalid)
    if value.get("type") == "mcp_call" and (
        value.get("output") is not None or value.get("error") is not None
    ):
        failed = value.get("error") is not None
        yield Answer(value["error"] if failed else value["output"], source, tool, failed)


def _answer(value: dict[str, Any]) -> Answer:
    """What a tool gave back, as the message says it; unreadable where the flag beside it is none."""
    source = _word(_first(value, "tool_call_id", "call_id", "tool_use_id", "toolCallId", "id"))
    tool = _word(_first(value, "name", "toolName"))
    status, flag = value.get("status"), value.get("is_error")
    if not (isinstance(status, (str, type(None))) and isinstance(flag, (bool, type(None)))):
        return Answer(UNREADABLE, source, tool)
    failed = flag
    if status in ("error", "success"):
        failed = status == "error"
    result = _first(value, *_RESULTS)
    if result is None and not any(key in value for key in _RESULTS):
        return Answer(NOT_CAPTURED, source, tool, failed)
    if isinstance(result, dict) and _word(result.get("type")) in _AI_SDK and "value" in result:
        failed = failed or result["type"].startswith("error-") or None
        result = result["value"]
    inner = unwrapped_result(result)
    return Answer(
        inner.value, source or inner.id, tool or inner.tool, inner.failed if failed is None else failed
    )


_RESULTS = ("response", "result", "output", "content", "contents")
_AI_SDK = frozenset({"text", "json", "content", "error-text", "error-json"})
_FUNCTION_RESULT = frozenset({"type", "call_id", "result"})


def unwrapped_result(value: Any) -> Answer:
    """A result without what its framework wrapped it in: a message of the tool, text parts, a quoted text.

    What is not wrapped stays exactly as it is, so that it can be found again in its file.
    """
    opened = parsed(value) if isinstance(value, str) else value
    if isinstance(opened, str):
        return Answer(None if opened.strip() == "null" else opened)
    if isinstance(opened, dict):
        message = _unwrapped(opened)
        if _ROLES.get(_word(message.get("type"))) == "tool" and "tool_call_id" in message:
            return _answer(message)
        if opened.keys() == _FUNCTION_RESULT and opened["type"] == "function_result":
            return Answer(_plain(opened["result"]), _word(opened["call_id"]))
        if opened.keys() == {"content"} and _is_text_parts(opened["content"]):
            return Answer(joined_parts(opened["content"]))
    if isinstance(opened, list) and _is_text_parts(opened):
        return Answer(joined_parts(opened))
    return Answer(value)


def _plain(value: Any) -> Any:
    return joined_parts(value) if isinstance(value, list) and _is_text_parts(value) else value


def _is_text_parts(value: Any) -> bool:
    return (
        isinstance(value, list)
        and bool(value)
        and all(isinstance(part, dict) and part.get("type") in _TEXTS for part in value)
        and all(isinstance(part.get("text"), str) for part in value)
    )


def is_damaged(value: Any) -> bool:
    """Whether strict JSON is violated in it."""
    return isinstance(value, Defect) or (isinstance(value, (dict, list)) and holds_defect(value))


def _word(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _first(value: dict[str, Any], *keys: str) -> Any:
    """The first of these members that is there and not null."""
    return next((value[key] for key in keys if value.get(key) is not None), None)
