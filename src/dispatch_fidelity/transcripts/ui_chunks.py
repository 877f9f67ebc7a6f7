"""The chunks of a UI message stream of the Vercel AI SDK, put together as the SDK does it.

Texts grow by ``id``, calls by ``toolCallId``; the latest state of a call stands, and one that has ended is another's
when its id begins again.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from .message_items import named

_TOOL_CHUNKS = {
    "tool-input-start": "input-streaming",
    "tool-input-delta": "input-streaming",
    "tool-input-available": "input-available",
    "tool-input-error": "output-error",
    "tool-approval-request": "approval-requested",
    "tool-approval-response": "approval-responded",
    "tool-output-available": "output-available",
    "tool-output-error": "output-error",
    "tool-output-denied": "output-denied",
}
_TEXT_CHUNKS = frozenset({"text-start", "text-delta", "text-end"})
_MARKS = frozenset({"start", "start-step", "finish-step", "finish", "abort", "error", "message-metadata"})
_REASONING = frozenset({"reasoning-start", "reasoning-delta", "reasoning-end"})
_CUT_OFF = frozenset({"length", "content-filter", "error"})


def is_chunk(value: Any) -> bool:
    """Whether a value is a chunk."""
    kind = named(value, "type")
    if kind in _TOOL_CHUNKS:
        return isinstance(value.get("toolCallId"), str)
    if kind in _TEXT_CHUNKS | _REASONING:
        return isinstance(value.get("id"), str)
    return isinstance(value, dict) and (kind in _MARKS or kind.startswith("data-")) and "role" not in value


def confidence(chunks: Iterable[Any]) -> float:
    """How much in chunks is of this stream and of no other."""
    kinds = [named(chunk, "type") for chunk in chunks]
    if any(kind in _TOOL_CHUNKS for kind in kinds):
        return 0.9
    return 0.8 if any(kind in _TEXT_CHUNKS for kind in kinds) else 0.6 if "start-step" in kinds else 0.3


@dataclass(slots=True)
class Stream:
    """Puts the parts of one message together from its chunks.

    ``defects`` are what cannot be read, ``orphans`` results of calls that are in no chunk, ``cut`` why it ends early.
    """

    defects: list[str] = field(default_factory=list)
    orphans: int = 0
    cut: list[str] = field(default_factory=list)
    finished: bool = False
    _parts: list[dict[str, Any]] = field(default_factory=list)
    _texts: dict[str, dict[str, Any]] = field(default_factory=dict)
    _calls: dict[str, dict[str, Any]] = field(default_factory=dict)

    def take(self, chunk: dict[str, Any]) -> None:
        """One chunk."""
        kind = chunk["type"]
        if kind in _TEXT_CHUNKS:
            self._text(kind, chunk)
        elif kind in _TOOL_CHUNKS:
            self._tool(kind, chunk)
        elif kind == "start-step":
            self._parts.append({"type": "step-start"})
        elif kind in ("finish", "abort", "error"):
            self.finished = self.finished or kind == "finish"
            reason = chunk.get("finishReason", "stop") if kind == "finish" else kind
            if not isinstance(reason, str):
                self.defects.append("the reason of the end is no text")
            elif kind != "finish" or reason in _CUT_OFF:
                self.cut.append(f"the stream was cut off ({reason})")

    def _text(self, kind: str, chunk: dict[str, Any]) -> None:
        part = self._texts.get(chunk["id"])
        if kind == "text-start":
            part = self._texts[chunk["id"]] = {"type": "text", "pieces": [], "state": "streaming"}
            self._parts.append(part)
        elif part is None or (kind == "text-delta" and not isinstance(chunk.get("delta"), str)):
            self.defects.append("a piece of a text is no text, or the text did not begin")
        elif kind == "text-delta":
            part["pieces"].append(chunk["delta"])
        else:
            part["state"] = "done"
            del self._texts[chunk["id"]]

    def _tool(self, kind: str, chunk: dict[str, Any]) -> None:
        source_id, state = chunk["toolCallId"], _TOOL_CHUNKS[kind]
        part = self._calls.get(source_id)
        if part is not None and kind == "tool-input-start" and part["state"].startswith("output"):
            part = None  # the id of a call that has ended names another one
        if part is None and kind in ("tool-input-start", "tool-input-available", "tool-input-error"):
            part = self._calls[source_id] = {"type": "dynamic-tool", "toolCallId": source_id, "pieces": []}
            self._parts.append(part)
        if part is None:
            self.orphans += 1
            return
        part["state"] = state
        if kind == "tool-input-delta":
            if isinstance(chunk.get("inputTextDelta"), str):
                part["pieces"].append(chunk["inputTextDelta"])
            else:
                self.defects.append("a piece of the input of a call is no text")
        elif kind == "tool-input-error":
            part |= {"toolName": chunk.get("toolName"), "rawInput": chunk.get("input"), "input": None}
        for name in ("toolName", "input", "output"):
            if name in chunk and kind != "tool-input-error":
                part[name] = chunk[name]
        part["preliminary"] = chunk.get("preliminary")
        if state == "output-error":
            part["errorText"] = chunk.get("errorText")

    def parts(self) -> list[dict[str, Any]]:
        """The parts as far as they came."""
        for part in self._parts:
            pieces = part.pop("pieces", None)
            if part["type"] == "text":
                part["text"] = "".join(pieces or ())
            elif pieces and "input" not in part:
                part["input"] = "".join(pieces)
        return self._parts
