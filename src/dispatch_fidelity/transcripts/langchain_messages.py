"""LangChain messages in the shapes of its serialisers; what harnesses write into results; messages in traces.

Traces keep inputs and outputs as the code had them: the messages are looked for under the names that are usual.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from ..model.call import Learned, Status
from .building import Call
from .message_items import listed, named, words_of

_KINDS = {kind: kind for kind in ("human", "ai", "system", "tool", "function", "chat", "remove")}
_KINDS["developer"] = "system"
_NEVER_RAN = re.compile(
    r"Error: [^\n]{1,200}? is not a valid tool, try one of \["
    r"|Error invoking tool '[^\n]{1,200}?' with kwargs "
    r"|Tool call [^\n]{1,300}? could not be executed - arguments were malformed or truncated\.\Z"
)
_REFUSED = re.compile(r"User rejected the tool call for ")
_CANCELLED = re.compile(
    r"Tool call [^\n]{1,300}? was cancelled - another message came in before it could be completed\.\Z"
)


@dataclass(slots=True)
class Asked:
    """A call as the model asked for it; ``invalid`` is why it could not be read."""

    tool: str
    args: Any
    call_id: str
    invalid: str | None = None
    met: bool = False
    step: int = -1


def message_of(item: Any) -> tuple[str, dict[str, Any]] | None:
    """The kind of a message and its members, whichever of the shapes it has; None for anything else."""
    if not isinstance(item, dict):
        return None
    members: Any = item
    kind = named(item, "type")
    if item.get("lc") == 1 and kind == "constructor":
        path, members = item.get("id"), item.get("kwargs")
        kind = path[-1] if isinstance(path, list) and path and isinstance(path[-1], str) else ""
        if not kind.endswith(("Message", "MessageChunk")):
            return None
    elif isinstance(item.get("data"), dict) and "content" not in item:
        members = item["data"]
    kind = _KINDS.get(kind.removesuffix("Chunk").removesuffix("Message").lower(), "")
    if not kind or not isinstance(members, dict) or ("content" not in members and kind != "remove"):
        return None
    return kind, members


def judge(call: Call, text: str) -> None:
    """The status of a call by what harnesses write where it never ran, or was broken off."""
    for pattern, status in (
        (_NEVER_RAN, Status.INVALID),
        (_REFUSED, Status.REFUSED),
        (_CANCELLED, Status.CANCELLED),
    ):
        if pattern.match(text):
            learned = Learned.FLAG if call.learned is Learned.FLAG and call.status is Status.RAISED else None
            call.status, call.learned = status, learned or Learned.TEXT_PATTERN
            call.message = call.message or text
            return


# -- inputs and outputs, as traces keep them -------------------------------------------------------------------

_TEXTS = (
    *("messages", "output", "message", "content", "answer", "result", "response", "text"),
    *("generations", "choices"),
)
_ASKS = ("messages", "input", "question", "query", "prompt", "text", "description")


def output_of(outputs: Any) -> Any:
    """What a run gave back: its member ``output``, or all of its outputs."""
    return outputs.get("output", outputs) if isinstance(outputs, dict) else outputs


def tool_message(value: Any) -> dict[str, Any] | None:
    """The message of a tool in an output: the output itself, or what a command writes into the state."""
    if isinstance(value, list):
        return next((found for item in value if (found := tool_message(item))), None)
    message = message_of(value)
    if message is not None:
        return message[1] if message[0] == "tool" else None
    update = value.get("update") if isinstance(value, dict) else None
    return tool_message(listed(update.get("messages"))) if isinstance(update, dict) else None


def answer_of(outputs: Any) -> dict[str, Any]:
    """The message of a model in its outputs, as LangChain or one of the wrapped clients writes them."""
    value = outputs
    for _ in range(6):
        found = message_of(value)
        if found is not None:
            return found[1]
        if isinstance(value, list):
            value = value[0] if value else None
        elif isinstance(value, dict):
            inner = next(
                (value[name] for name in ("generations", "choices", "message", "messages") if name in value),
                0,
            )
            if not isinstance(inner, (dict, list)):
                return value
            value = inner
    return {}


def asked_in(members: dict[str, Any]) -> Iterator[Asked | None]:
    """The calls in a model's message, as LangChain, OpenAI or Anthropic write them; None for what cannot be read."""
    calls, invalid = members.get("tool_calls") or [], members.get("invalid_tool_calls") or []
    if not isinstance(calls, list) or not isinstance(invalid, list):
        yield None
    calls = listed(calls) or [
        item
        for item in [*listed(members.get("content")), *listed(members.get("output"))]
        if named(item, "type") in ("tool_use", "function_call")
    ]
    for call in calls:
        inner = call.get("function", call) if isinstance(call, dict) else None
        if not isinstance(inner, dict) or not named(inner, "name"):
            yield None
            continue
        args = next((inner[name] for name in ("args", "arguments", "input") if name in inner), None)
        yield Asked(inner["name"], args, named(call, "call_id", "id"))
    for call in listed(invalid):
        if named(call, "name"):
            yield Asked(call["name"], call.get("args"), named(call, "id"), named(call, "error"))
        else:
            yield None


def text_in(value: Any) -> str:
    """The last words in an output; empty where none are found."""
    for _ in range(8):
        if isinstance(value, str):
            return value
        found = message_of(value)
        if found is not None:
            return (words_of(found[1].get("content")) or "") if found[0] == "ai" else ""
        if isinstance(value, list):
            texts = [item for item in value if named(item, "type") == "text"]
            if texts:
                return words_of(texts) or ""
            value = next((item for item in reversed(value) if _is_answer(item)), None)
        elif isinstance(value, dict):
            name = next((name for name in _TEXTS if value.get(name) is not None), "")
            value = value[name] if name else next(iter(value.values())) if len(value) == 1 else None
    return ""


def _is_answer(item: Any) -> bool:
    found = message_of(item)
    return isinstance(item, (dict, list)) and (
        found[0] == "ai" if found else named(item, "role") in ("", "assistant")
    )


def _is_request(item: Any) -> bool:
    found = message_of(item)
    return isinstance(item, list) or (found[0] == "human" if found else named(item, "role") == "user")


def request_in(value: Any) -> str:
    """The last request in an input; empty where none is found."""
    for _ in range(8):
        if isinstance(value, str):
            return value
        if isinstance(value, list):
            value = next((item for item in reversed(value) if _is_request(item)), None)
        elif isinstance(value, dict):
            found = message_of(value)
            if found is not None or "role" in value:
                return words_of((found[1] if found else value).get("content")) or ""
            name = next((name for name in _ASKS if value.get(name) is not None), "")
            value = value[name] if name else next(iter(value.values())) if len(value) == 1 else None
    return ""
