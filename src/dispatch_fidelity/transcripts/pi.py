"""pi (pi-mono) sessions: ``~/.pi/agent/sessions/--<folder>--/<time>_<id>.jsonl``, also of agents built on it.

- Lines are entries: a ``session`` head, then ``message`` and others (changes of model, compactions, labels), which are
  skipped. Since version 2 entries form a tree by ``id`` and ``parentId``; the last entry is the end of the present
  branch. The words of a branch that was left are gone, but its calls ran: they stay in the record, which is partial
  then. Where a parent is missing, its line was broken, and the entry follows the one before it.
- An ``assistant`` message has ``toolCall`` parts (``id``, ``name``, ``arguments``), which makes them one ``step``;
  ``toolResult`` messages end them by ``toolCallId``. ``bashExecution`` is the user's own command.
- ``isError`` is a flag; a command with another exit code than 0 has it too. Fixed texts tell what never ran: no such
  tool, arguments that do not fit, an answer that hit the token limit (invalid), blocked or skipped (refused); and what
  was aborted (cancelled). The calls of an answer with the ``stopReason`` ``error`` or ``aborted`` never ran.
- ``details.truncation`` says that a result is shortened (``cut``), ``details.async`` that the command goes on.
- **Report** is the last text of the assistant, **task** the user's last message before it. **Closed** is a session
  whose last answer has the ``stopReason`` ``stop`` and no calls.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..errors import InvalidInputError
from ..jsonio import Defect
from ..model.call import Learned, Status, Unknown
from ..model.run import ImportedRun
from .building import RunBuilder, result_of, text_of
from .registry import Place, opening, values

NAME = "pi"

_SILENT = frozenset(
    {
        "model_change",
        "thinking_level_change",
        "compaction",
        "branch_summary",
        "custom",
        "custom_message",
        "label",
        "session_info",
        "context_transform",
        "ephemeral",
    }
)
_ROLES = frozenset({"user", "assistant", "toolResult"})
_SILENT_ROLES = frozenset(
    {"bashExecution", "custom", "hookMessage", "branchSummary", "compactionSummary", "system"}
)
_NEVER_RAN = ("error", "aborted")
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}")
_INVALID = re.compile(
    r"Tool [^\n]{1,200} not found\Z|Validation failed for tool \"|Tool call \"[^\"\n]{0,200}\" was not executed\b"
)
_REFUSED = re.compile(r"Skipped due to queued user message\b|Tool execution was blocked\b")
_ABORTED = ("Operation aborted", "Command aborted")


def recognise(head: bytes) -> float:
    """How sure it is that the file is a session: its head line, or messages in the words of pi."""
    return max((_confidence(value) for value in opening(head)[:20]), default=0.0)


def _confidence(value: Any) -> float:
    if not isinstance(value, dict):
        return 0.0
    if value.get("type") == "session":
        return 0.9 if {"id", "timestamp", "cwd"} <= value.keys() else 0.0
    message = value.get("message")
    if value.get("type") != "message" or not isinstance(message, dict):
        return 0.0
    role = message.get("role")
    if role == "toolResult":
        return 0.85 if "toolCallId" in message else 0.0
    return 0.7 if role == "assistant" and {"stopReason", "provider"} <= message.keys() else 0.0


def read(path: Path) -> Iterator[ImportedRun]:
    """The run of the session that the file holds; InvalidInputError when it is no session."""
    left = _left_branches(path)
    session = _Session(RunBuilder(NAME, path))
    for number, (value, line, damage, place) in enumerate(values(path)):
        session.builder.line, session.place, session.step = line, place, number
        if damage is not None:
            session.builder.damage.append(damage)
        else:
            session.take(value, is_live=number not in left)
    if not session.known:
        raise InvalidInputError(f"{str(path)!r} holds no entry of a pi session")
    yield session.finish()


def _left_branches(path: Path) -> set[int]:
    """The numbers of the entries that are not on the way from the last entry to the root."""
    numbers: dict[str, int] = {}
    parents: dict[int, int] = {}
    last = -1
    for number, (value, _, _, _) in enumerate(values(path)):
        if not isinstance(value, dict) or value.get("type") == "session":
            continue
        parent, name = value.get("parentId", ""), value.get("id")
        known = numbers.get(parent, last) if isinstance(parent, str) else last
        parents[number] = -1 if parent is None else known
        if isinstance(name, str):
            numbers[name] = number
        last = number
    left = set(parents)
    while last >= 0:
        left.discard(last)
        last = parents[last]
    return left


@dataclass(slots=True)
class _Session:
    """One session while its entries are read; ``ended`` counts the calls before the end of the last turn."""

    builder: RunBuilder
    place: Place | None = None
    step: int = 0
    known: int = 0
    begun: bool = False
    ended: int = -1
    went_on: int = 0

    def take(self, entry: Any, *, is_live: bool) -> None:
        """One entry; the words of one on a branch that was left do not count."""
        if not isinstance(entry, dict):
            reason = entry.reason if isinstance(entry, Defect) else "it is no object"
            self.builder.unreadable(f"an entry cannot be read: {reason}")
            return
        kind, message = entry.get("type"), entry.get("message")
        if not isinstance(kind, str):
            self.builder.unreadable("an entry has no type that is text")
        elif kind == "session":
            self._head(entry)
        elif kind == "message" and isinstance(message, dict):
            self._linked(entry)
            self._message(message, entry.get("timestamp"), is_live=is_live)
        elif kind == "message":
            self.builder.unreadable("an entry has no message that is an object")
        elif kind in _SILENT:
            self._linked(entry)
        else:
            self.builder.lacks(f"entries of the unknown type {kind[:80]!r} are not read")
        if not is_live:
            self.builder.lacks("a branch was left; its calls are in this record, and the agent forgot them")

    def _head(self, entry: dict[str, Any]) -> None:
        self.begun = True
        self.known += 1
        name = entry.get("id")
        if isinstance(name, str) and name:
            self.builder.agent = name
            self.builder.run_id = name if _NAME.fullmatch(name) else self.builder.run_id
        else:
            self.builder.unreadable("the session has no id that is text")

    def _linked(self, entry: dict[str, Any]) -> None:
        parent = entry.get("parentId")
        if not isinstance(entry.get("id", ""), str) or not isinstance(parent, (str, type(None))):
            self.builder.unreadable("an entry has an id or a parent that is no text")

    def _message(self, message: dict[str, Any], at: Any, *, is_live: bool) -> None:
        role, content = message.get("role"), message.get("content")
        if isinstance(role, str) and role in _SILENT_ROLES:
            return
        if not isinstance(role, str) or role not in _ROLES or not _is_content(content):
            self.builder.unreadable("a message has no role or content of this format")
        self.known += isinstance(role, str) and role in _ROLES
        if isinstance(content, str) and role != "user":
            self.builder.lacks(
                "answers or results are mere text here, not parts: what else they had is not known"
            )
        if role == "toolResult":
            self._result(message, at)
            return
        text = text_of(content)
        if is_live and text.strip():
            self.went_on = len(self.builder.calls)
            if role == "user":
                self.builder.asked(text)
            else:
                self.builder.said(text)
        if role == "assistant":
            self._answer(message, content, at, has_ended=is_live and bool(text.strip()))

    def _answer(self, message: dict[str, Any], content: Any, at: Any, *, has_ended: bool) -> None:
        """The calls of an answer, and whether it ends the turn."""
        stopped = message.get("stopReason", "stop")
        if not isinstance(stopped, str):
            self.builder.unreadable("it cannot be read why an answer stopped")
        for part in content if isinstance(content, list) else ():
            if not isinstance(part, dict) or part.get("type") != "toolCall":
                continue
            args, source_id = part.get("arguments"), part.get("id")
            if not isinstance(args, dict) or not isinstance(source_id, str):
                self.builder.unreadable("a call has no id or arguments of this format")
                args = args if isinstance(args, dict) else Unknown("unreadable")
            call = self.builder.call(part.get("name"), args, source_id=source_id, step=self.step, at=at)
            if call is not None and stopped in _NEVER_RAN:
                self.builder.open_call(source_id)
                self.builder.end(call, status=Status.INVALID, learned=Learned.FLAG, error=stopped)
        self.ended = len(self.builder.calls) if has_ended and stopped == "stop" else -1

    def _result(self, message: dict[str, Any], at: Any) -> None:
        content, flag, details = message.get("content"), message.get("isError"), message.get("details")
        call = self.builder.open_call(message.get("toolCallId"))
        if call is None:
            self.builder.result(message.get("toolCallId"))
            return
        if flag is not None and not isinstance(flag, bool):
            self.builder.unreadable("isError is neither true nor false")
        if not isinstance(flag, (bool, type(None))) or not _is_content(content):
            self.builder.end(call, Unknown("unreadable"), status=Status.UNKNOWN, until=at)
            return
        result = result_of(content) if content else ""
        text = text_of(content)
        truncation, job = (
            map(details.get, ("truncation", "async")) if isinstance(details, dict) else (None, None)
        )
        status = None if flag is None else _failure(text) if flag else Status.RETURNED
        if not flag and isinstance(job, dict) and job.get("state") == "running":
            status = Status.BACKGROUND
        self.builder.end(
            call,
            result,
            status=status,
            learned=Learned.DEFAULT if flag is None else Learned.FLAG,
            message=text if flag else "",
            cut=isinstance(truncation, dict) and truncation.get("truncated") is True,
            until=at,
            place=self.place,
        )

    def finish(self) -> ImportedRun:
        """The run as it was read."""
        builder = self.builder
        builder.line = 0
        left = [call for call in builder.open_calls() if call.number < self.went_on]
        for call in left:
            builder.end(call, status=Status.UNKNOWN)
        if left:
            builder.lacks(f"{len(left)} calls have no result, and the session went on")
        if not self.begun:
            builder.lacks("the beginning of the session is not in the file")
        return builder.finish(closed=self.ended == len(builder.calls))


def _failure(text: str) -> Status:
    """The status of a call that is flagged as an error, by the fixed texts of the agent loop."""
    if _INVALID.match(text):
        return Status.INVALID
    if _REFUSED.match(text):
        return Status.REFUSED
    return Status.CANCELLED if text.rstrip().endswith(_ABORTED) else Status.RAISED


def _is_content(content: Any) -> bool:
    """Whether content is text, or parts whose texts are texts."""
    if isinstance(content, str):
        return True
    return isinstance(content, list) and all(
        isinstance(part, dict)
        and isinstance(part.get("type"), str)
        and (part["type"] != "text" or isinstance(part.get("text"), str))
        for part in content
    )
