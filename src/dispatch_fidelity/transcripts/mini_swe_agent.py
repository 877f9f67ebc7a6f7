"""Messages of mini-swe-agent: ``messages[]``, in the oldest files the list alone.

- **Calls** are ``extra.actions`` since format 1.1, before that the one fenced command of a message; the tool is
  ``bash``. Messages with commands that a human typed (role ``user``) are left out, with their results.
- **Results** have ``extra.returncode``, older ones ``<returncode>`` at their beginning: 0 returned, others failed.
  Where ``extra.raw_output`` stands beside what the model was shown, both are kept. "Command not executed" was refused,
  "The last command … timed out" cancelled, "action was not executed" never ran.
- **Closed** when ``exit_status`` is ``Submitted``, or the list ends in the output of the command that submits.
"""

from __future__ import annotations

import re
from collections import deque
from dataclasses import dataclass, field
from typing import Any

from ..model.call import Learned, Status, Unknown
from ..model.frozen import UNSET
from ..model.run import DamageKind, ImportedRun
from .building import Call, RunBuilder, text_of
from .harness import code, is_sound, is_spoken, items, listed, members, named, spoken, words

_SUBMITS = ("COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT", "MINI_SWE_AGENT_FINAL_OUTPUT")
_FENCES = ("```mswea_bash_command", "```bash")
_RETURNCODE = re.compile(r"\s{0,20}<returncode>(-?\d{1,9})</returncode>")
_CUT = ("<output_head>", "<elided_chars>")
_MINI_ROLES = frozenset({"system", "user", "assistant", "tool", "exit"})


def is_mini_list(messages: list[Any]) -> bool:
    """Whether messages hold a fenced command with its return code, or ask for one in the words of mini-swe-agent."""
    told = False
    for message in messages[:20]:
        message = members(message)
        role, text = message.get("role"), words(message.get("content"))
        if words(role) not in _MINI_ROLES or "tool_calls" in message:
            return False
        told = told or any(word in text for word in _SUBMITS)
        if role == "assistant" and told and _commands(text):
            return True
    return False


@dataclass(slots=True)
class Mini:
    """Reads the messages of one run in order; ``waiting`` are the calls whose results come next."""

    builder: RunBuilder
    waiting: deque[Call] = field(default_factory=deque)
    human: int = 0
    begun: bool = False
    answering: bool = False
    submits: bool = False
    left: bool = False
    exit_status: Any = None

    def run(self, messages: list[Any], value: dict[str, Any]) -> ImportedRun:
        """The run of these messages; ``value`` is the object that holds them, empty for a mere list."""
        builder = self.builder
        info = named(builder, value.get("info"), "info")
        self.exit_status = info.get("exit_status")
        told = value.get("trajectory_format")
        if not messages:
            builder.defect(DamageKind.EMPTY, "there is no message")
        for index, message in enumerate(messages):
            self._take(index, message)
        if messages and not self.begun:
            builder.lacks("the beginning of the run is not in the file")
        if self.exit_status is not None and not isinstance(self.exit_status, str):
            builder.unreadable("the exit status is no text")
        elif self.exit_status:
            self.submits = self.exit_status == "Submitted"
            if not self.submits:
                builder.lacks(f"the run did not end by itself: {self.exit_status[:80]}")
            elif told == "mini-swe-agent-1.1" and not self.left:
                builder.lacks("the message that ends the run is not in the file")
        return builder.finish(closed=self.submits)

    def _take(self, index: int, message: Any) -> None:
        builder = self.builder
        if not isinstance(message, dict):
            builder.unreadable(f"message {index} is no object")
            return
        extra = named(builder, message.get("extra"), f"extra of message {index}")
        role = message.get("role")
        if role is None and message.get("type") == "function_call_output":
            role = "tool"
        elif role is None and isinstance(message.get("output"), list):
            role = "assistant"
        if words(role) not in _MINI_ROLES:
            builder.unreadable(f"message {index} has no role of this format: {str(role)[:40]!r}")
            return
        self.begun = self.begun or (not builder.calls and role in ("system", "user"))
        content = message.get("content", message.get("output"))
        text = _words(content) or spoken(builder, content, f"the content of message {index}")
        if role == "assistant":
            self._turn(index, extra, text)
        elif role == "exit":
            self._exit(extra, text)
        elif role != "system":
            self._answer(index, message, extra, text)

    def _turn(self, index: int, extra: dict[str, Any], text: str) -> None:
        builder = self.builder
        self._leave()
        self.answering = True
        commands = _commands(text)
        if "actions" in extra:
            actions = listed(builder, extra["actions"], f"the actions of message {index}")
        else:
            actions = [{"command": command} for command in commands if len(commands) == 1]
        builder.said(_without(text, commands) if commands else text)
        self.submits = False
        for action in actions:
            command = members(action).get("command")
            if not isinstance(command, str):
                builder.unreadable(f"an action of message {index} names no command")
                continue
            source_id = members(action).get("tool_call_id")
            at = extra.get("timestamp", "")
            call = builder.call("bash", {"command": command}, source_id=source_id, step=index, at=str(at))
            self.submits = any(word in command for word in _SUBMITS)
            if call is not None:
                self.waiting.append(call)

    def _answer(self, index: int, message: dict[str, Any], extra: dict[str, Any], text: str) -> None:
        """What follows a turn: the result of a call, or words of the user."""
        builder = self.builder
        if message.get("role") == "user" and "actions" in extra:
            self._leave()
            self.human += len(listed(builder, extra["actions"], f"the actions of message {index}"))
            return
        named_id = message.get("tool_call_id", message.get("call_id"))
        if named_id is not None:
            call = builder.open_call(named_id)
            if call is None:
                reason = f"message {index} is a result of no open call: {str(named_id)[:80]!r}"
                builder.defect(DamageKind.LIFECYCLE, reason)
                return
            self._end(call, message, extra, text)
        elif (first := self._next()) is not None:
            self._end(first, message, extra, text)
        elif self.human and "returncode" in extra:
            self.human -= 1
        elif "returncode" in extra or _RETURNCODE.match(text):
            builder.defect(DamageKind.LIFECYCLE, f"message {index} is a result of no open call")
        elif not self.answering or text.startswith("The user added a new task:"):
            builder.asked(text)

    def _next(self) -> Call | None:
        """The first call whose result is still to come."""
        while self.waiting and self.waiting[0].end >= 0:
            self.waiting.popleft()
        return self.waiting.popleft() if self.waiting else None

    def _exit(self, extra: dict[str, Any], text: str) -> None:
        """The end of the run: a command that submits has no result of its own."""
        builder = self.builder
        self.left = True
        status = extra.get("exit_status", self.exit_status)
        if self.exit_status is None:
            self.exit_status = status
        still = [call for call in self.waiting if call.end < 0]
        if status == "Submitted" and len(still) == 1:
            builder.end(still[0], words(extra.get("submission")) or text)
        self._leave()

    def _leave(self) -> None:
        """The run went on without the results of some calls: how they ended is not shown."""
        while (call := self._next()) is not None:
            self.builder.lacks("some calls have no result")
            self.builder.end(call, status=Status.UNKNOWN)

    def _end(self, call: Call, message: dict[str, Any], extra: dict[str, Any], text: str) -> None:
        builder = self.builder
        damaged = len(builder.damage)
        content = message.get("content", message.get("output"))
        if not (is_spoken(content) or _words(content)):
            builder.unreadable("a result has no content that can be read")
        found, problem, raw = (
            code(builder, extra, "returncode"),
            extra.get("exception_info"),
            extra.get("raw_output"),
        )
        if problem is not None and not isinstance(problem, str):
            builder.unreadable("what a command raised cannot be read")
        if raw is not None and not (isinstance(raw, str) and is_sound(raw)):
            builder.unreadable("the output of a command is no text")
        if len(builder.damage) > damaged:
            builder.end(call, Unknown("unreadable"), status=Status.UNKNOWN)
            return
        match = _RETURNCODE.match(text)
        if found is None and match:
            found = int(match[1])
        self.submits = self.submits and found is None
        end: dict[str, Any] = {"shown": text if raw is not None else UNSET, "message": words(problem)}
        if problem:
            status = Status.INVALID if problem == "action was not executed" else Status.RAISED
            end |= {"status": status, "learned": Learned.FLAG}
        elif found is not None:
            end |= {"status": Status.RAISED if found else Status.RETURNED, "learned": Learned.EXIT_CODE}
        elif text.startswith("Command not executed"):
            end |= {"status": Status.REFUSED, "learned": Learned.TEXT_PATTERN, "message": text}
        elif text.startswith("The last command ") and " timed out" in text:
            end |= {"status": Status.CANCELLED, "learned": Learned.TEXT_PATTERN, "message": text}
        cut = raw is None and any(mark in text for mark in _CUT)
        builder.end(call, text if raw is None else raw, cut=cut, until=str(extra.get("timestamp", "")), **end)


def _words(output: Any) -> str:
    """The words in the items of a response of the Responses interface; nothing in any other content."""
    inner = [item for item in items(output) if members(item).get("type") == "message"]
    return "\n".join(text for text in (text_of(item.get("content")) for item in inner) if text)


def _commands(text: str) -> list[str]:
    """The commands that stand fenced in a message."""
    return [text[start:end].strip() for _, start, end, _ in _fenced(text)]


def _without(text: str, commands: list[str]) -> str:
    """The message without its fenced commands: what it says."""
    said, last = [], 0
    for begin, _, _, end in _fenced(text)[: len(commands)]:
        said.append(text[last:begin])
        last = end
    return "".join([*said, text[last:]]).strip()


def _fenced(text: str) -> list[tuple[int, int, int, int]]:
    """Begin and end of each fenced command, and of the command inside it; linear in the text."""
    found: list[tuple[int, int, int, int]] = []
    position = 0
    while True:
        begins = [place for fence in _FENCES if (place := text.find(fence, position)) >= 0]
        begin = min(begins, default=-1)
        start = text.find("\n", begin) if begin >= 0 else -1
        end = text.find("\n```", start) if start >= 0 else -1
        if end < 0:
            return found
        found.append((begin, start + 1, max(end, start + 1), end + 4))
        position = end + 4
