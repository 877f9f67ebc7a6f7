"""Vercel AI SDK: UI messages of versions 4 to 6, and the chunks of a UI message stream.

- Web applications store messages where they like (a file or a row for each chat): a message, a list of them, an
  object with ``messages``, an object of messages by name, or a list of these; JSONL has one of them a line, or one
  message a line. Messages that name a chat (``chatId``) are of that chat. Chunks are a list, or one a line; the
  ``data:`` lines of a server's answer are not read.
- A call is a part: ``tool-<name>``, ``dynamic-tool``, in version 4 ``tool-invocation`` (or ``toolInvocations`` beside
  the parts). Its ``state`` is its end: ``output-available`` returned, unless it is ``preliminary`` or a structured
  output says that it failed; ``output-error`` failed, and never ran where only a ``rawInput`` is left;
  ``output-denied`` was refused, as is ``approval-responded`` that says no. All others are open. No times.
- Chunks are put together as the SDK does it: deltas by id, parts by ``toolCallId``, the latest state stands.
- **Report** is the last text that no call interrupts, **task** the user's text before it.
- **Closed** is a chat that begins with a request, has an end for every call, and ends in a text that is done. One
  message, or one stream, is not: what the chat holds before it is not in the file.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..model.call import Learned, Status, Unknown
from ..model.run import DamageKind, ImportedRun
from .building import Call, RunBuilder
from .message_files import Source, read_runs
from .message_items import Exchange, listed, named, surest
from .registry import opening
from .ui_chunks import Stream, confidence, is_chunk

NAME = "ai-sdk"
NOTHING = "UI messages or chunks of the AI SDK"

_ROLES = frozenset({"user", "assistant", "system", "data"})
_SILENT = frozenset(
    {"reasoning", "step-start", "file", "source", "source-url", "source-document", "redacted-reasoning"}
)
_OPEN = frozenset(
    {"input-streaming", "input-available", "approval-requested", "partial-call", "call", "approval-responded"}
)
_CHAT = ("chatId", "chat_id", "threadId", "thread_id", "conversationId")


def recognise(head: bytes) -> float:
    """How sure it is that the file is of this format: by the parts of its messages, or the types of its chunks."""
    found = opening(head)
    if len(found) > 1 and all(is_chunk(value) for value in found):
        return confidence(found)
    return surest(found, _confidence)


def _confidence(value: Any) -> float:
    if isinstance(value, list):
        if len(value) > 1 and is_chunk(value[0]) and all(map(is_chunk, value[:-1])):
            return confidence(value)
        return surest((item for item in value[:20] if isinstance(item, dict)), _confidence)
    if not isinstance(value, dict):
        return 0.0
    if _is_message(value):
        parts = [*listed(value.get("parts")), *listed(value.get("toolInvocations"))]
        return max(map(_part_confidence, parts), default=0.3)
    if isinstance(value.get("messages"), list):
        return _confidence(value["messages"])
    named_messages = [item for item in value.values() if _is_message(item)]
    return _confidence(named_messages) if named_messages and len(named_messages) == len(value) else 0.0


def _part_confidence(part: Any) -> float:
    kind = named(part, "type")
    if (kind.startswith("tool-") or kind == "dynamic-tool" or "toolName" in part) and isinstance(part, dict):
        return 0.9 if "toolCallId" in part or "toolInvocation" in part else 0.3
    return 0.7 if kind in ("step-start", "source-url", "source-document") else 0.6 if kind == "text" else 0.3


def _is_message(value: Any) -> bool:
    if not isinstance(value, dict) or named(value, "role") not in _ROLES:
        return False
    parts = value.get("parts")
    if isinstance(parts, list):
        return all(named(part, "type") and "part_kind" not in part for part in parts)
    return isinstance(value.get("toolInvocations"), list) and isinstance(value.get("content"), str)


def read(path: Path) -> Iterator[ImportedRun]:
    """Every chat in the file as a run.

    Raises MissingInputError when it cannot be opened, and InvalidInputError when it is torn, too large, or holds no
    chat.
    """
    return read_runs(path, _Form())


class _Form:
    NAME = NAME
    NOTHING = NOTHING

    def is_entry(self, value: Any, _following: Any, /) -> bool:
        return (_is_message(value) and not _chat(value)) or (is_chunk(value) and "type" in value)

    def sources(self, value: Any, /) -> Iterator[Source]:
        if isinstance(value, list):
            if any(_is_message(item) or is_chunk(item) for item in value):
                yield from _by_chat(value)
        elif _is_message(value):
            yield Source([value], _chat(value), group=_chat(value))
        elif isinstance(value, dict) and "messages" in value:
            messages = value["messages"]
            if isinstance(messages, list):
                yield Source(messages, named(value, "id", *_CHAT))
        elif isinstance(value, dict) and any(map(_is_message, value.values())):
            for name, message in value.items():
                yield Source([message], name.removesuffix(".json"))

    def open(self, builder: RunBuilder, /) -> Exchange:
        return _Chat(builder)


def _chat(message: Any) -> str:
    return named(message, *_CHAT)


def _by_chat(entries: list[Any]) -> Iterator[Source]:
    """One conversation for each chat that messages name; what names none goes with what stands before it."""
    found: dict[str, list[Any]] = {}
    name = next(filter(None, map(_chat, entries)), "")
    for entry in entries:
        name = _chat(entry) or name
        found.setdefault(name, []).append(entry)
    for name, those in found.items():
        yield Source(those, name)


@dataclass(slots=True)
class _Chat(Exchange):
    """Reads messages and chunks in order.

    ``stream`` puts the chunks of a message together, ``known`` counts the damage before it; ``waiting`` are open calls.
    """

    stream: Stream | None = None
    streamed: bool = False
    known: int = 0
    waiting: dict[str, Call] = field(default_factory=dict)

    def take(self, entry: dict[str, Any]) -> None:
        if is_chunk(entry):
            self._chunk(entry)
            return
        role, parts = named(entry, "role"), entry.get("parts")
        if role not in _ROLES:
            self.lost("this is no message and no chunk of this format")
            return
        self._flow()
        self.opens(request=role in ("user", "system"))
        if parts is None:
            parts = _old_parts(entry)
        if not isinstance(parts, list):
            self.lost("the parts of a message are no list")
        elif role == "assistant":
            self.parts(parts)
        elif role == "user":
            texts = [part.get("text") for part in parts if named(part, "type") == "text"]
            if not all(isinstance(text, str) for text in texts) or not all(
                named(part, "type") for part in parts
            ):
                self.builder.unreadable("a part of a message of the user cannot be read")
            self.asked("\n".join(text for text in texts if isinstance(text, str)))

    def _chunk(self, chunk: dict[str, Any]) -> None:
        self.opens(request=False)
        self.streamed = True
        if self.stream is not None and self.stream.finished and chunk["type"] == "start":
            self._flow()
        if self.stream is None:
            self.stream, self.known = Stream(), len(self.builder.damage)
        self.stream.take(chunk)
        while self.stream.defects:
            self.builder.unreadable(self.stream.defects.pop())

    def parts(self, parts: list[Any]) -> None:
        """The parts of a message of the agent."""
        for part in parts:
            kind = named(part, "type")
            if kind == "text":
                self.word(part.get("text", 0))
                if part.get("state") not in (None, "done"):
                    self.builder.lacks("a text of the agent is not done")
            elif kind == "tool-invocation":
                self._old(part.get("toolInvocation"))
            elif kind == "dynamic-tool":
                self._part(part, part.get("toolName"))
            elif kind.startswith("tool-"):
                self._part(part, kind.removeprefix("tool-"))
            elif kind == "step-start":
                self._step()
            elif not kind:
                self.lost("a part of a message of the agent cannot be read")
            elif kind not in _SILENT and not kind.startswith("data-"):
                self.builder.lacks(f"parts of the type {kind[:60]!r} are not known")
        self.flush()

    def _step(self) -> None:
        """A step of the model begins: what follows was not made together with what stands before it."""
        if not self._words:
            self.step += 1

    def _old(self, invocation: Any) -> None:
        """A call as version 4 writes it."""
        if not isinstance(invocation, dict):
            self.lost("a call is no object")
            return
        state = {"result": "output-available"}.get(named(invocation, "state"), invocation.get("state"))
        part = {"toolCallId": invocation.get("toolCallId"), "input": invocation.get("args"), "state": state}
        if "result" in invocation:
            part["output"] = invocation["result"]
        self._part(part, invocation.get("toolName"))

    def _part(self, part: dict[str, Any], tool: Any) -> None:
        """A call with its end; a part may go on with a call of its id that an earlier message left open."""
        source_id = part.get("toolCallId")
        call = self.waiting.pop(source_id, None) if isinstance(source_id, str) else None
        if call is not None and call.tool != tool:
            reason = f"the id {call.source_id[:80]!r} is used again while its call is open"
            self.builder.defect(DamageKind.LIFECYCLE, reason)
            call = None
        if call is None:
            given = part.get("input")
            given = part.get("rawInput") if given is None else given
            call = self.begin(tool, given, source_id, joins=False)
        else:
            self.flush()
            self.ended = False
        if call is None:
            return
        if not isinstance(source_id, str):
            self.builder.unreadable("a call has no id that is text")
        self._end(call, part)
        if call.end < 0:
            self.waiting[call.source_id] = call

    def _end(self, call: Call, part: dict[str, Any]) -> None:
        state, approval = part.get("state"), part.get("approval")
        if state == "output-available":
            self._available(call, part)
        elif state == "output-error" and isinstance(part.get("errorText"), str):
            self._failed(call, part)
        elif state == "output-denied" or (state == "approval-responded" and self._declined(approval)):
            reason = named(approval, "reason")
            self.builder.end(call, status=Status.REFUSED, learned=Learned.FLAG, message=reason)
        elif not isinstance(state, str) or state not in _OPEN:
            self.unknown(call, "the state of a call is none of this format, or lacks its text")
        elif state == "approval-requested":
            self.builder.lacks("a call waits for approval")

    def _available(self, call: Call, part: dict[str, Any]) -> None:
        if "output" not in part:
            # JSON has no undefined: a tool that gives nothing back leaves no member; so does a lost output.
            self.builder.end(call, Unknown("not captured"), status=Status.RETURNED, learned=Learned.FLAG)
        elif part.get("preliminary") not in (None, False):
            self.result(call, part["output"], flagged=True)
            call.status = Status.UNFINISHED
        else:
            self.result(call, part["output"], flagged=True)

    def _failed(self, call: Call, part: dict[str, Any]) -> None:
        unread = part.get("input") is None and part.get("rawInput") is not None
        status = Status.INVALID if unread else Status.RAISED
        self.builder.end(call, status=status, learned=Learned.FLAG, message=part["errorText"])

    def _declined(self, approval: Any) -> bool:
        approved = approval.get("approved") if isinstance(approval, dict) else None
        if not isinstance(approved, bool):
            self.builder.unreadable("an approval is neither given nor declined")
        return approved is False

    def _flow(self) -> None:
        """The message that the chunks before this place make."""
        if self.stream is not None:
            stream, self.stream = self.stream, None
            place, self.place = self.place, None  # of many lines
            self.parts(stream.parts())
            self.place = place
            if not stream.finished:
                self.builder.lacks("the stream does not finish")
            for text in stream.cut:
                self.builder.lacks(text)
            self._orphans += stream.orphans
            if len(self.builder.damage) > self.known:  # a piece of its words may be among what cannot be read
                self.builder.report, self.ended = "", False

    def finish(self) -> ImportedRun:
        self._flow()
        if self.streamed:
            self.builder.lacks("what the chat holds before this stream is not in the file")
        return Exchange.finish(self)


def _old_parts(message: dict[str, Any]) -> Any:
    """The parts of a message of version 4 that has none."""
    calls = message.get("toolInvocations", [])
    if not isinstance(calls, list):
        return calls
    parts = [{"type": "tool-invocation", "toolInvocation": call} for call in calls]
    return [*parts, {"type": "text", "text": message.get("content")}]
