"""OpenAI Chat Completions messages: request bodies, exports, fine-tuning files, results of tau-bench.

- A document is a list of messages; an object with ``messages`` or ``traj``; a response with ``choices``
  (after the ``messages`` of its request, where they stand beside it); or a list of any of these. JSONL has
  one of them a line; a line that cannot be read is a run of its own, damaged and without calls.
- **Ids repeat.** A result belongs to the latest open call of its id; calls of one message that share an id
  get their results in order. An id that is used again while its call is open is damage.
- **Failure has no flag.** A structured result that says so (``log.surface``) is one. In tau-bench, told by
  ``traj``, so is a text that begins with "Error"; elsewhere only one that begins with "Error:", "error:",
  "ERROR:", an exception's name and a colon, "Traceback (most recent call last):" or the fixed words of
  common harnesses ("Error executing", "An error occurred while running the tool"). All others returned.
- **Report** is the last assistant message with text (a refusal is text), whatever a simulated user says
  after it; **task** is the last user message before it.
- **Closed** is a conversation that begins with a system or user message, has a result for every call and no
  damage, and whose last word from the agent is text without calls. A response without its request is not.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from ..errors import InvalidInputError, JSONError
from ..jsonio import Defect, decode, holds_defect
from ..log.surface import failure_by_surface, failure_by_value
from ..model.call import Learned, Status, Unknown
from ..model.execution import Execution
from ..model.frozen import UNSET
from ..model.run import Completeness, Damage, DamageKind, ImportedRun, Record
from .message_items import FAILED
from .registry import opening, values

NAME = "openai-chat"

NOTE = "the format has no flag for failure: a failure is known by the text or the fields of a result only"

_REQUEST = frozenset({"system", "developer", "user"})
_ROLES = _REQUEST | {"assistant", "tool", "function"}
_CONTAINERS = ("traj", "messages", "choices")
_TEXT_PARTS = {"text": "text", "input_text": "text", "output_text": "text", "refusal": "refusal"}
_SILENT_PARTS = frozenset({"image_url", "input_image", "input_audio", "file", "thinking", "reasoning"})
_CUT_OFF = frozenset({"length", "content_filter"})
_TAU_FAILED = re.compile("Error")
_NOT_IN_A_RUN_ID = re.compile(r"[^A-Za-z0-9._-]")


_SURE, _LIKELY, _PLAIN, _FOREIGN = 0.9, 0.6, 0.3, 0.1
_FOREIGN_MEMBERS = frozenset({"trajectory_format", "system"})
_FOREIGN_KEYS = frozenset(
    {"parts", "requestor", "additional_kwargs", "message_type", "extra", "tool_call_ids", "toolCalls", "uuid"}
)


def recognise(head: bytes) -> float:
    """How sure it is that the file is of this format.

    Calls or results in the shape of this interface make it sure, tools or a model of a request likely; a
    conversation of mere texts may be anyone's, and its calls may stand elsewhere, so it is read only by name.
    """
    return max((_confidence(value) for value in opening(head)[:100]), default=0.0)


def _confidence(value: Any) -> float:
    if isinstance(value, list):
        if any(_is_message(item) for item in value):
            return _evidence(value)
        return max((_confidence(item) for item in value[:20]), default=0.0)
    if not isinstance(value, dict):
        return 0.0
    tools = [tool for tool in _list(value.get("tools")) if isinstance(tool, dict)]
    if value.keys() & _FOREIGN_MEMBERS or any("input_schema" in tool for tool in tools):
        return _FOREIGN
    traj, messages = _list(value.get("traj")), _list(value.get("messages"))
    answers = [choice.get("message") for choice in _list(value.get("choices")) if isinstance(choice, dict)]
    if any(_is_message(item) for item in traj):
        found = _evidence(traj)
        return _SURE if found == _PLAIN and {"task_id", "reward"} <= value.keys() else found
    found = max((_evidence(each) for each in (messages, answers) if any(map(_is_message, each))), default=0.0)
    offers = bool(_offers(value))
    if found == _PLAIN and (offers or "model" in value or value.get("object") == "chat.completion"):
        return _LIKELY
    # A request whose tools fill the head: its messages come after it.
    return _LIKELY if offers and "model" in value and not (messages or answers) else found


def _evidence(messages: list[Any]) -> float:
    """How much in messages is of this interface and of no other that also says ``role`` and ``content``."""
    found = _PLAIN
    for place, message in enumerate(messages, 1):
        if not _fits(message):
            if 1 < place == len(messages):
                break  # the end of the head may have cut it
            return _FOREIGN
        role = message["role"]
        if (
            any(call.get("function") or call.get("custom") for call in _list(message.get("tool_calls")))
            or isinstance(message.get("function_call"), dict)
            or (role == "tool" and "tool_call_id" in message)
            or role == "function"
        ):
            found = _SURE
    return found


def _fits(message: Any) -> bool:
    if not isinstance(message, dict) or message.keys() & _FOREIGN_KEYS:
        return False
    role, calls = message.get("role"), _list(message.get("tool_calls"))
    named = [
        (call.get("function") or call.get("custom")) if isinstance(call, dict) else None for call in calls
    ]
    return (
        isinstance(role, str)
        and role in _ROLES
        and _text(message.get("content")) is not None
        and all(isinstance(each, dict) for each in named)
    )


def _is_message(item: Any) -> bool:
    if not isinstance(item, dict) or any(key in item for key in _CONTAINERS):
        return False
    return isinstance(item.get("role"), str)


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _offers(value: dict[str, Any]) -> tuple[str, ...]:
    """The names of the tools that a request defines, in the present form and in the first one."""
    found = []
    for tool in _list(value.get("tools")):
        inner = (tool.get("function") or tool.get("custom")) if isinstance(tool, dict) else None
        found.append(inner.get("name") if isinstance(inner, dict) else None)
    found += [tool.get("name") for tool in _list(value.get("functions")) if isinstance(tool, dict)]
    return tuple(name for name in found if isinstance(name, str) and name)


class _Source(NamedTuple):
    """One conversation as it was found; ``whole`` is false where a part of it is known to stand elsewhere."""

    messages: list[Any] | None
    tools: tuple[str, ...] = ()
    name: str = ""
    tau: bool = False
    whole: bool = True
    line: int = 0
    damage: Damage | None = None


def read(path: Path) -> Iterator[ImportedRun]:
    """Every conversation in the file as a run, in its order.

    Raises MissingInputError when it cannot be opened, and InvalidInputError when it is torn, too large, or
    holds no conversation.
    """
    held: list[_Source] = []
    names: set[str] = set()
    index, readable = 0, False
    for source in _sources(path):
        held.append(source)
        readable = readable or source.messages is not None
        if not readable:
            continue
        for ready in held:
            name = ready.name or f"run-{index}"
            name = name if name not in names else f"{name[:100]}.run-{index}"
            names.add(name)
            yield _import(ready, name, path)
            index += 1
        held.clear()
    if not readable:
        raise InvalidInputError(f"{str(path)!r} holds no list of chat messages")


def _sources(path: Path) -> Iterator[_Source]:
    for value, line, damage, _ in values(path):
        if damage is not None:
            yield _Source(None, line=line, damage=damage)
        elif isinstance(value, list) and value and not any(map(_is_message, value)):
            for item in value:
                yield from _conversations(item, line)
        else:
            yield from _conversations(value, line)


def _conversations(value: Any, line: int) -> Iterator[_Source]:
    """The conversation in a list of messages or in an object; one for each choice of a response."""
    if isinstance(value, list) and any(map(_is_message, value)):
        yield _Source(value, line=line)
        return
    if not isinstance(value, dict):
        reason = value.reason if isinstance(value, Defect) else "no conversation stands here"
        yield _Source(None, line=line, damage=Damage(DamageKind.UNREADABLE, reason, line=line))
        return
    tools, name = _offers(value), _name(value)
    messages = value.get("traj", value.get("messages"))
    if isinstance(value.get("choices"), list) and (messages is None or isinstance(messages, list)):
        for choice in value["choices"]:
            answer = choice.get("message") if isinstance(choice, dict) else choice
            whole = messages is not None and not (isinstance(choice, dict) and _is_cut_off(choice))
            yield _Source([*(messages or ()), answer], tools, name, whole=whole, line=line)
    elif isinstance(messages, list):
        yield _Source(messages, tools, name, tau="traj" in value, line=line)
    else:
        damage = Damage(DamageKind.UNREADABLE, "this object holds no list of messages", line=line)
        yield _Source(None, tools, name, line=line, damage=damage)


def _is_cut_off(choice: dict[str, Any]) -> bool:
    reason = choice.get("finish_reason")
    return isinstance(reason, str) and reason in _CUT_OFF


def _name(value: dict[str, Any]) -> str:
    """The run id by task and trial, in the letters that a run id may have; empty where there is no task."""
    task, trial = value.get("task_id"), value.get("trial")
    if isinstance(task, bool) or not isinstance(task, (int, str)) or task == "":
        return ""
    name = f"task-{str(task)[:80]}"
    if isinstance(trial, (int, str)) and not isinstance(trial, bool):
        name += f".{str(trial)[:20]}"
    return _NOT_IN_A_RUN_ID.sub("-", name)


def _import(source: _Source, name: str, path: Path) -> ImportedRun:
    conversation = _Conversation(source.tau, source.line)
    if source.damage is not None:
        conversation.damage.append(source.damage)
    elif not source.messages:
        conversation.defect(DamageKind.EMPTY, "the conversation holds no message")
    for index, message in enumerate(source.messages or ()):
        conversation.take(index, message)
    executions = conversation.executions()
    missing = []
    if not (source.whole and conversation.begun):
        missing.append("a part of the conversation is not in the file")
    if not conversation.ended:
        missing.append("the conversation does not end in a text of the agent")
    if unfinished := sum(execution.open for execution in executions):
        missing.append(f"{unfinished} calls have no result")
    is_closed = not missing and not conversation.damage
    record = Record(
        run_id=name,
        format=NAME,
        executions=executions,
        completeness=Completeness.CLOSED if is_closed else Completeness.PARTIAL,
        damage=tuple(conversation.damage),
        tools=tuple(dict.fromkeys([*source.tools, *(execution.tool for execution in executions)])),
        source=str(path),
        notes=(NOTE, *missing),
    )
    return ImportedRun(record, conversation.report, task=conversation.task)


@dataclass(slots=True)
class _Call:
    """A call while its conversation is read; ``key`` is what its result will name, None when nothing can."""

    tool: str
    args: Any
    key: tuple[str, str] | None
    step: int
    result: Any = UNSET
    text: str = ""
    has_result: bool = False


@dataclass(slots=True)
class _Conversation:
    """Reads the messages of one conversation in order.

    ``begun``: it starts with a request, so nothing before it is missing. ``ended``: the last word of the
    agent is text without calls.
    """

    tau: bool
    line: int = 0
    begun: bool = False
    ended: bool = False
    report: str = ""
    task: str = ""
    damage: list[Damage] = field(default_factory=list)
    _asked: str = ""
    _started: bool = False
    _last_turn: int = -1
    _calls: list[_Call] = field(default_factory=list)
    _open: dict[tuple[str, str], list[_Call]] = field(default_factory=dict)

    def defect(self, kind: DamageKind, text: str) -> None:
        """Note one defect."""
        self.damage.append(Damage(kind, text, line=self.line))

    def unreadable(self, text: str) -> None:
        """Note something of another shape than this format gives it."""
        self.defect(DamageKind.UNREADABLE, text)

    def take(self, index: int, message: Any) -> None:
        """One message; what cannot be read in it is damage, and the rest of it counts."""
        if not isinstance(message, dict):
            reason = message.reason if isinstance(message, Defect) else "it is no object"
            self.unreadable(f"message {index} cannot be read: {reason}")
            return
        role = message.get("role")
        if not isinstance(role, str) or role not in _ROLES:
            shown = repr(role)[:80] if isinstance(role, str) else "none that is text"
            self.unreadable(f"message {index} has no role of this format: {shown}")
            return
        if not self._started:
            self._started = True
            self.begun = role in _REQUEST
        text = _text(message.get("content"))
        if text is None:
            self.unreadable(f"the content of message {index} ({role}) is no text and no known parts")
        if role in ("tool", "function"):
            self._result(index, message, text)
            return
        self._last_turn = index
        if role == "assistant":
            self._assistant(index, message, text or "")
        elif role == "user":
            self._asked = text or ""
            self.task = self.task if self.report else self._asked

    def _assistant(self, index: int, message: dict[str, Any], text: str) -> None:
        refusal = message.get("refusal")
        if not text.strip() and isinstance(refusal, str):
            text = refusal
        if text.strip():
            self.report, self.task = text, self._asked
        calls, legacy = message.get("tool_calls"), message.get("function_call")
        self.ended = bool(text.strip()) and not calls and legacy is None
        started = [] if legacy is None else [self._start(index, legacy, is_first_form=True)]
        if isinstance(calls, list):
            started += [self._call(index, call) for call in calls]
        elif calls is not None:
            self.unreadable(f"the tool_calls of message {index} are no list")
        # Reversed, so that of equal ids the first call of this message is the latest open one.
        for call in reversed(started):
            if call is None or call.key is None:
                continue
            waiting = self._open.setdefault(call.key, [])
            if waiting:
                reason = f"message {index} uses {call.key[1][:80]!r} again, which names an open call"
                self.defect(DamageKind.LIFECYCLE, reason)
            waiting.append(call)

    def _call(self, index: int, call: Any) -> _Call | None:
        """One item of ``tool_calls``; None where it cannot be read."""
        if not isinstance(call, dict):
            self.unreadable(f"a call of message {index} is no object")
            return None
        source_id = call.get("id")
        if not isinstance(source_id, str):
            self.unreadable(f"a call of message {index} has no id that is text")
        return self._start(index, call.get("function") or call.get("custom"), source_id=source_id)

    def _start(
        self, index: int, inner: Any, *, source_id: Any = None, is_first_form: bool = False
    ) -> _Call | None:
        """A call by its name and arguments; calls of the first form have no id and are answered by name."""
        tool = inner.get("name") if isinstance(inner, dict) else None
        if not isinstance(tool, str) or not tool:
            self.unreadable(f"a call of message {index} names no tool")
            return None
        key = ("name", tool) if is_first_form else ("id", source_id) if isinstance(source_id, str) else None
        call = _Call(tool, self._arguments(index, inner), key, index)
        self._calls.append(call)
        return call

    def _arguments(self, index: int, inner: dict[str, Any]) -> Any:
        """The arguments as a value; as the text they are, where the model wrote no JSON."""
        given = inner.get("arguments")
        if isinstance(given, str):
            if not given.strip():
                return {}
            try:
                return decode(given.encode())
            except (JSONError, UnicodeEncodeError):
                return given
        if isinstance(inner.get("input"), str):
            return {"input": inner["input"]}
        if isinstance(given, dict) and not holds_defect(given):
            return given
        self.unreadable(f"the arguments of a call of message {index} cannot be read")
        return Unknown("unreadable")

    def _result(self, index: int, message: dict[str, Any], text: str | None) -> None:
        """A message of a tool; it ends the latest open call that it names."""
        self.ended = False
        kind, name = ("id", "tool_call_id") if message["role"] == "tool" else ("name", "name")
        named = message.get(name)
        if not isinstance(named, str):
            self.unreadable(f"the result in message {index} has no {name} that is text")
            return
        waiting = self._open.get((kind, named))
        if not waiting:
            reason = f"the result in message {index} is of no open call: {named[:80]!r}"
            self.defect(DamageKind.LIFECYCLE, reason)
            return
        call = waiting.pop()
        call.has_result = True
        if "content" not in message:
            self.unreadable(f"the result in message {index} has no content")
        elif text is None:
            call.result = Unknown("unreadable")
        elif message["content"] is None:  # nothing, or not kept: both are written so
            call.result = Unknown("not captured")
        else:
            content = message["content"]
            call.text = text
            call.result = content if _has_silent_parts(content) else text

    def executions(self) -> tuple[Execution, ...]:
        """Every call in the order of the conversation."""
        return tuple(self._execution(n, call) for n, call in enumerate(self._calls))

    def _execution(self, n: int, call: _Call) -> Execution:
        status, learned, error, message = Status.RETURNED, Learned.DEFAULT, "", ""
        if not call.has_result:
            # The conversation went on, so it may have ended; or it was running when the file ended.
            status = Status.UNKNOWN if call.step < self._last_turn else Status.UNFINISHED
        elif call.result is UNSET or isinstance(call.result, Unknown):
            status = Status.UNKNOWN
        elif failure_by_value(call.text):
            status, learned = Status.RAISED, Learned.VALUE
        elif found := (_TAU_FAILED if self.tau else FAILED).match(call.text):
            status, learned, message = Status.RAISED, Learned.TEXT_PATTERN, call.text
            error = found.groupdict().get("name") or failure_by_surface(call.text)
        return Execution(
            call.tool,
            call.args,
            status,
            learned,
            call.result,
            error,
            message,
            n=n,
            call=str(n),
            end=n if call.has_result else -1,
            source_id=call.key[1] if call.key and call.key[0] == "id" else "",
            step=call.step,
        )


def _text(content: Any) -> str | None:
    """The words of a message's content; None where it is neither text nor parts that are known."""
    if content is None or isinstance(content, str):
        return content or ""
    if not isinstance(content, list):
        return None
    texts = []
    for part in content:
        kind = part.get("type") if isinstance(part, dict) else None
        if not isinstance(kind, str):
            return None
        if kind in _SILENT_PARTS:
            continue
        text = part.get(_TEXT_PARTS.get(kind, ""))
        if not isinstance(text, str):
            return None
        texts.append(text)
    return "\n".join(texts)


def _has_silent_parts(content: Any) -> bool:
    return isinstance(content, list) and any(part["type"] in _SILENT_PARTS for part in content)
