"""Hook inputs of Claude Code, kept by a hook: one event a line, or inside the control protocol of its SDK.

- ``PreToolUse`` begins a call (``tool_use_id``, ``tool_name``, ``tool_input``); ``PostToolUse`` ends it with
  ``tool_response``; ``PostToolUseFailure`` ends it with ``error`` (``is_interrupt``: cancelled). By the design of the
  events ``PostToolUse`` comes after success only, and a refused call may have its ``PreToolUse`` alone.
- An end without a beginning is a call all the same: then ``PreToolUse`` was not hooked, and it is noted.
- A response with ``backgroundTaskId`` or ``isAsync`` only says that something was started; one that was ``interrupted``
  is no success. ``permission_denials`` in the result of the control protocol name calls that were refused.
- ``agent_id`` tells a sub-agent, whose events are a run of their own; ``Stop`` and ``SubagentStop`` end a turn.
- The request is in ``UserPromptSubmit``; the report in ``last_assistant_message`` of the stop event, where the version
  sends it, or in the ``result`` of the control protocol; else it has to be given beside the file.
- A hook is set for some tools (its matcher), so that a call is absent proves nothing: SAMPLED.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ..errors import InvalidInputError
from ..model.call import Learned, Status
from ..model.run import Completeness, DamageKind, ImportedRun
from .building import RunBuilder, result_of
from .registry import opening, values

NAME = "claude-hooks"
NOTE = "a hook sees the tools that it is set for: what it does not hold may still have been called"

_BEGINS, _ENDS, _FAILS = "PreToolUse", "PostToolUse", "PostToolUseFailure"
_STOPS = frozenset({"Stop", "SubagentStop"})
_EVENTS = (
    frozenset({_BEGINS, _ENDS, _FAILS, "UserPromptSubmit", "SessionStart", "SessionEnd", "Notification"})
    | _STOPS
)
_SURE = 0.95


def recognise(head: bytes) -> float:
    """How sure it is that the file holds hook inputs."""
    return _SURE if any(map(_is_hooks, opening(head)[:50])) else 0.0


def _is_hooks(value: Any) -> bool:
    if not isinstance(value, dict):
        return False
    if isinstance(value.get("hook_event_name"), str):
        return value["hook_event_name"] in _EVENTS and "session_id" in value
    return any(_callback(item) is not None for item in _list(value.get("messages"))[:50])


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _message(item: Any) -> dict[str, Any]:
    message = item.get("message") if isinstance(item, dict) and "direction" in item else None
    return message if isinstance(message, dict) else {}


def _callback(item: Any) -> dict[str, Any] | None:
    """The hook input in a message of the control protocol."""
    request = _message(item).get("request")
    given = (
        request.get("input")
        if isinstance(request, dict) and request.get("subtype") == "hook_callback"
        else None
    )
    return given if isinstance(given, dict) else None


def read(path: Path) -> Iterator[ImportedRun]:
    """One run for each session and each of its sub-agents.

    Raises MissingInputError when the file cannot be opened, and InvalidInputError when it holds no hook input.
    """
    runs = _Runs(path)
    for value, line, damage, _ in values(path):
        runs.line = line
        if damage is not None:
            runs.damaged.append((line, damage.text))
        elif (
            isinstance(value, dict)
            and isinstance(value.get("messages"), list)
            and "hook_event_name" not in value
        ):
            for item in value["messages"]:
                runs.exchanged(item)
        else:
            runs.event(value)
    if not runs.builders:
        raise InvalidInputError(f"{str(path)!r} holds no hook input")
    yield from runs.finished()


class _Runs:
    """The runs of a file while its events are read."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.line = 0
        self.builders: dict[tuple[str, str], RunBuilder] = {}
        self.ended: set[tuple[str, str]] = set()
        self.damaged: list[tuple[int, str]] = []
        self.asked = ""

    def exchanged(self, item: Any) -> None:
        """One message of the control protocol: a hook input, the user's request, or the final result."""
        given = _callback(item)
        if given is not None:
            self.event(given)
            return
        message = _message(item)
        inner = message.get("message")
        content = inner.get("content") if isinstance(inner, dict) else None
        if message.get("type") == "user" and isinstance(content, str):
            self.asked = content
        elif message.get("type") == "result":
            for builder in [builder for (_, agent), builder in self.builders.items() if not agent]:
                _deny(builder, message.get("permission_denials"))
                if isinstance(message.get("result"), str):
                    builder.asked(self.asked)
                    builder.said(message["result"])

    def event(self, value: Any) -> None:
        """One hook input; what is none is damage."""
        name = value.get("hook_event_name") if isinstance(value, dict) else None
        session = value.get("session_id") if isinstance(value, dict) else None
        if not isinstance(name, str) or not isinstance(session, str):
            self.damaged.append((self.line, "this is no hook input"))
            return
        agent = value.get("agent_id")
        key = (session, agent if isinstance(agent, str) else "")
        builder = self.builders.get(key)
        if builder is None:
            builder = self._begun(key)
        builder.line = self.line
        if name in (_BEGINS, _ENDS, _FAILS):
            _call(builder, name, value)
        elif name == "UserPromptSubmit" and isinstance(value.get("prompt"), str):
            builder.asked(value["prompt"])
        elif name in _STOPS:
            self.ended.add(key)
            last = value.get("last_assistant_message")
            if isinstance(last, str):
                builder.said(last)

    def _begun(self, key: tuple[str, str]) -> RunBuilder:
        session, agent = key
        name = f"{session}.{agent}" if agent else session
        builder = RunBuilder(NAME, self.path, name[:120], agent or "agent", session if agent else "")
        builder.notes.append(NOTE)
        self.builders[key] = builder
        return builder

    def finished(self) -> Iterator[ImportedRun]:
        """Every run; damage of a line that names no session is damage of all."""
        for key, builder in self.builders.items():
            for line, text in self.damaged:
                builder.line = line
                builder.defect(DamageKind.UNREADABLE, text)
            for call in builder.open_calls():
                if key in self.ended:
                    call.status = Status.UNKNOWN
            if builder.open_calls():
                builder.lacks("calls have no end: refused, still running, or their end was not hooked")
            if not builder.report:
                builder.lacks("the file does not hold the agent's report: give it with --claims")
            yield builder.finish(closed=key in self.ended, completeness=Completeness.SAMPLED)


def _call(builder: RunBuilder, name: str, value: dict[str, Any]) -> None:
    source_id = value.get("tool_use_id")
    if name == _BEGINS:
        builder.call(value.get("tool_name"), value.get("tool_input"), source_id=source_id)
        return
    call = builder.open_call(source_id)
    if call is None:
        call = builder.call(value.get("tool_name"), value.get("tool_input"), source_id=source_id)
        if call is None:
            return
        builder.open_call(source_id)
        builder.lacks("PreToolUse was not hooked for every call: one that never ended is not in the file")
    if name == _ENDS:
        response = value.get("tool_response")
        builder.end(call, result_of(response), status=_status(response), learned=Learned.FLAG)
        return
    error = value.get("error")
    if not isinstance(error, str):
        builder.unreadable("the error of a failed call is no text")
        error = ""
    status = Status.CANCELLED if value.get("is_interrupt") is True else Status.RAISED
    builder.end(call, status=status, learned=Learned.FLAG, error="failed", message=error)


def _status(response: Any) -> Status | None:
    """What a response says beside that it came: the event comes after success, and after a mere launch too."""
    if not isinstance(response, dict):
        return None
    if isinstance(response.get("backgroundTaskId"), str) or response.get("isAsync") is True:
        return Status.BACKGROUND
    return Status.CANCELLED if response.get("interrupted") is True else None


def _deny(builder: RunBuilder, denials: Any) -> None:
    """Calls that the final result names as denied never ran."""
    for denial in _list(denials):
        call = builder.open_call(denial.get("tool_use_id") if isinstance(denial, dict) else None)
        if call is not None:
            builder.end(call, status=Status.REFUSED, learned=Learned.FLAG, message="permission denied")
