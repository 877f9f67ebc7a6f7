"""pydantic-ai: dumps of messages (``result.all_messages_json()``, ``ModelMessagesTypeAdapter.dump_json``).

- **Where.** Nothing is stored by itself: a program writes the list, or one message a line. ``new_messages_json()`` of a
  later run leaves out what was before it.
- A message is a ``request`` or a ``response`` (``kind``) with ``parts`` (``part_kind``). Calls are ``tool-call`` and
  ``builtin-tool-call`` (``args`` as an object or as JSON text), those of one response are one ``step``; results are
  ``tool-return`` and ``builtin-tool-return``, by ``tool_call_id``.
- **Failure**: ``outcome`` is ``success``, ``failed``, ``retried`` (the tool asked for another try), ``denied`` (by who
  approves: refused) or ``interrupted``. Versions before it have none, and a call that was to be tried again has a
  ``retry-prompt`` instead of a result. Arguments that did not fit, and an unknown tool, never ran; nor did a call that
  was skipped because the result stood already (fixed sentences).
- **Report** is the text of the last response with any. A call of an output tool (``final_result``, whose result is a
  fixed sentence) is the report and no call. A ``retry-prompt`` without a tool sends a report back.
- **Task** is the last ``user-prompt``. Thoughts are no report.
- **Closed**: begins with a request of the user or the system, ends in a whole response of text without calls or in an
  accepted output, with a result for every call. A response that was interrupted, or cut by a limit, is not whole.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..model.call import Learned, Status, Unknown
from ..model.run import Damage, ImportedRun
from .building import Call, RunBuilder, as_text
from .entries import NOTES, conversations
from .harness import arguments, is_sound, items, listed, members, named, words
from .registry import opening

NAME = "pydantic-ai"

_CALLS = frozenset({"tool-call", "builtin-tool-call", "native-tool-call"})
_RESULTS = frozenset({"tool-return", "builtin-tool-return", "native-tool-return"})
_SILENT = frozenset({"system-prompt", "instruction", "thinking", "file"})
_KINDS = _CALLS | _RESULTS | _SILENT | {"user-prompt", "text", "retry-prompt"}
_OUTCOMES = {
    "success": Status.RETURNED,
    "failed": Status.RAISED,
    "retried": Status.RAISED,
    "denied": Status.REFUSED,
    "interrupted": Status.CANCELLED,
}
_OUTPUT_TOOL = "final_result"
_ACCEPTED = "Final result processed."
_OUTPUT_SKIPPED = "Output tool not used - a final result was already processed."
_SKIPPED = "Tool not executed - a final result was already processed."
_UNKNOWN_TOOL = "Unknown tool name: "
_CUT_OFF = frozenset({"length", "content_filter", "error"})


def recognise(head: bytes) -> float:
    """How sure it is: parts say what they are by a name that only this library has."""
    return max(map(_confidence, opening(head)[:20]), default=0.0)


def _confidence(value: Any) -> float:
    return 0.95 if any(map(_is_message, [value, *_messages(value)[:20]])) else 0.0


def _messages(value: Any) -> list[Any]:
    if isinstance(value, dict):
        return items(value.get("messages"))
    return items(value)


def _is_message(value: Any) -> bool:
    value = members(value)
    parts = items(value.get("parts"))
    return value.get("kind") in ("request", "response") and any(
        "part_kind" in members(part) for part in parts
    )


def read(path: Path) -> Iterator[ImportedRun]:
    """The run in the file, or each of several that stand one a line."""
    return conversations(
        path,
        NAME,
        _is_message,
        lambda: _Dump(RunBuilder(NAME, path)),
        lambda value, line: _runs(value, line, path),
    )


def _runs(value: Any, line: int, path: Path) -> Iterator[ImportedRun]:
    messages = _messages(value)
    if any(map(_is_message, messages)):
        dump = _Dump(RunBuilder(NAME, path, run_id=f"run-{line}" if line else "run-0"))
        for message in messages:
            dump.take(message, line)
        yield from dump.runs()


@dataclass(slots=True)
class _Dump:
    """Reads messages in order."""

    builder: RunBuilder
    index: int = -1
    begun: bool = False
    ended: bool = False
    outputs: set[int] = field(default_factory=set)

    def note(self, damage: Damage) -> None:
        """A line that cannot be read."""
        self.builder.damage.append(damage)

    def take(self, entry: Any, line: int) -> None:
        """The next message."""
        self.index += 1
        builder = self.builder
        builder.line = line
        kind = members(entry).get("kind")
        if kind not in ("request", "response") or not is_sound(entry):
            builder.unreadable(f"message {self.index} cannot be read")
            return
        parts = listed(builder, entry.get("parts"), f"the parts of message {self.index}")
        if "parts" not in entry:
            builder.unreadable(f"message {self.index} has no parts")
        if self.index == 0:
            self.begun = any(
                members(part).get("part_kind") in ("user-prompt", "system-prompt") for part in parts
            )
        if kind == "request":
            for part in parts:
                self._asking(part, entry)
        else:
            self._response(parts, entry)

    def runs(self) -> Iterator[ImportedRun]:
        """The one run."""
        builder = self.builder
        builder.calls = [call for call in builder.calls if call.number not in self.outputs]
        waiting = [call for call in builder.open_calls() if call.tool.startswith(_OUTPUT_TOOL)]
        if len(waiting) == 1:
            self._reported(waiting[0])
            builder.calls = [call for call in builder.calls if call is not waiting[0]]
        if not self.begun:
            builder.lacks("the beginning of the conversation is not in the file")
        builder.doubt_unflagged()
        yield builder.finish(closed=self.ended)

    def _kind(self, part: Any) -> str:
        kind = members(part).get("part_kind")
        if not isinstance(kind, str):
            self.builder.unreadable(f"a part of message {self.index} does not say what it is")
            return ""
        if kind not in _KINDS and len(self.builder.missing) < NOTES:
            self.builder.lacks(f"parts of the kind {kind[:80]!r} are not known here")
        return kind

    def _asking(self, part: Any, message: dict[str, Any]) -> None:
        builder = self.builder
        kind = self._kind(part)
        if kind == "user-prompt":
            builder.asked(self._prompt(part.get("content")))
            self.ended = False
        elif kind in _RESULTS:
            self._result(part, message)
        elif kind == "retry-prompt":
            self.ended = False
            if part.get("tool_name") is not None:
                self._retry(part, message)

    def _prompt(self, content: Any) -> str:
        if isinstance(content, list) and all(isinstance(part, (str, dict)) for part in content):
            return "\n".join(part for part in content if isinstance(part, str))
        if not isinstance(content, str):
            self.builder.unreadable(f"the prompt of message {self.index} is no text")
        return words(content)

    def _response(self, parts: list[Any], message: dict[str, Any]) -> None:
        builder = self.builder
        state, reason = message.get("state"), message.get("finish_reason")
        if state not in (None, "complete"):
            builder.lacks(f"a response is not whole: {str(state)[:40]}")
        if not isinstance(reason, (str, type(None))):
            builder.unreadable("why a response ended cannot be read")
        elif reason in _CUT_OFF:
            builder.lacks(f"a response was cut off: {reason}")
        texts, called = [], False
        for part in parts:
            kind = self._kind(part)
            if kind == "text":
                if not isinstance(part.get("content"), str):
                    builder.unreadable(f"a text of message {self.index} is none")
                texts.append(words(part.get("content")))
            elif kind in _CALLS:
                self._call(part, message)
                called = called or kind == "tool-call"
            elif kind in _RESULTS:
                self._result(part, message)
        spoke = builder.said("\n".join(text for text in texts if text))
        self.ended = spoke and not called

    def _call(self, part: dict[str, Any], message: dict[str, Any]) -> None:
        builder = self.builder
        if not isinstance(part.get("tool_call_id"), str):
            builder.unreadable(f"a call of message {self.index} has no id that is text")
        given = part.get("args")
        if "args" in part and (given is None or isinstance(given, str)):
            given = given or {}
        else:
            given = arguments(builder, given)
        builder.call(
            part.get("tool_name"),
            given,
            source_id=part.get("tool_call_id"),
            step=self.index,
            at=message.get("timestamp"),
        )

    def _result(self, part: dict[str, Any], message: dict[str, Any]) -> None:
        builder = self.builder
        if not isinstance(part.get("tool_call_id"), str):
            builder.unreadable(f"a result of message {self.index} does not name its call")
            return
        content, outcome = part.get("content"), part.get("outcome")
        until = part.get("timestamp") or message.get("timestamp")
        if content in (_ACCEPTED, _OUTPUT_SKIPPED) and outcome in (None, "success"):
            call = builder.open_call(part["tool_call_id"])
            if call is not None and call.tool == part.get("tool_name"):
                self._reported(call, accepted=content == _ACCEPTED)
                return
            builder.unreadable(f"an output in message {self.index} is of no open call of its name")
            if call is not None:
                builder.end(call, content, status=Status.UNKNOWN)
            return
        before = len(builder.damage)
        if "content" not in part:
            builder.unreadable(f"a result of message {self.index} has no content")
        if "outcome" in part and not isinstance(outcome, str):
            builder.unreadable(f"the outcome in message {self.index} cannot be read")
        retry = named(builder, part.get("retry"), "retry")
        status, learned, text = None, Learned.DEFAULT, as_text(content)
        if len(builder.damage) > before:
            status, content = Status.UNKNOWN, Unknown("unreadable")
        elif content is None:  # nothing, or not kept: both are written so
            content = Unknown("not captured")
        elif content == _SKIPPED:
            status, learned = Status.REFUSED, Learned.TEXT_PATTERN
        elif outcome is not None:
            status, learned = _OUTCOMES.get(outcome, Status.UNKNOWN), Learned.FLAG
            if outcome not in _OUTCOMES and len(builder.missing) < NOTES:
                builder.lacks(f"the outcome {outcome[:80]!r} is not known here")
            if outcome == "retried" and any(
                word in words(retry.get("cause")) for word in ("valid", "unknown")
            ):
                status = Status.INVALID
        failed = status in (Status.RAISED, Status.INVALID, Status.REFUSED, Status.CANCELLED)
        builder.result(
            part["tool_call_id"],
            content,
            status=status,
            learned=learned,
            message=text if failed else "",
            until=until,
        )

    def _retry(self, part: dict[str, Any], message: dict[str, Any]) -> None:
        builder = self.builder
        content, source_id = part.get("content"), part.get("tool_call_id")
        if not isinstance(source_id, str) or not isinstance(part["tool_name"], str):
            builder.unreadable(f"what is to be tried again in message {self.index} cannot be read")
            return
        details = [isinstance(members(each).get("type"), str) for each in items(content)]
        if not (isinstance(content, str) or (details and all(details))):
            builder.unreadable(f"why message {self.index} asks for another try cannot be read")
            builder.result(source_id, Unknown("unreadable"), status=Status.UNKNOWN)
            return
        status, learned = Status.RAISED, Learned.FLAG
        if isinstance(content, list):
            status = Status.INVALID
        elif words(content).startswith(_UNKNOWN_TOOL):
            status, learned = Status.INVALID, Learned.TEXT_PATTERN
        until = part.get("timestamp") or message.get("timestamp")
        builder.result(
            source_id, content, status=status, learned=learned, message=as_text(content), until=until
        )

    def _reported(self, call: Call, *, accepted: bool = True) -> None:
        """A call of an output tool is no call; the one that was accepted holds the report."""
        self.outputs.add(call.number)
        if accepted:
            given = call.args
            self.ended = self.builder.said(as_text(given))
            if isinstance(given, Unknown):
                self.builder.unreadable("the output of the run cannot be read")
