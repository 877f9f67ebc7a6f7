"""AutoGen (``autogen-agentchat`` 0.4 and later): messages of a run, results of tasks, saved states.

- **Where.** Nothing is stored by itself. A program writes ``[m.model_dump(mode="json") for m in result.messages]``, a
  ``TaskResult``, one message a line while ``run_stream`` goes on, or what ``save_state()`` gives.
- **Messages** have ``type``, ``source`` (the agent) and ``created_at``. ``ToolCallRequestEvent.content`` holds
  ``{id, name, arguments}`` with JSON text as arguments, ``ToolCallExecutionEvent.content`` ``{call_id, content,
  is_error}``; one event is one ``step``. Before 0.4.8 there is no ``is_error``: then a call returned by default.
  A tool that is not there is told by fixed sentences, and never ran. A ``CodeExecutionEvent`` has an exit code.
- **States**: ``AssistantAgentState.llm_context.messages`` holds the same as ``AssistantMessage`` (text, or a list of
  calls) and ``FunctionExecutionResultMessage``. Of a ``TeamState`` the agents' own states are read; the thread of its
  manager leaves out calls. Where tool results are not reflected on, the last words are in no state.
- **Agents** are told apart by ``source``; each is a run, with the calls of the others as ``behalf``. ``user``, and who
  was asked for input, is the user. A state that holds words of an agent whose own state is absent is partial.
- **Report**: the last ``TextMessage`` (or structured, multi-modal, ``ToolCallSummaryMessage``, whose words are the
  results) of the agent. A hand-off, a thought, ``TERMINATE`` alone and what a condition says are none.
- **Closed**: begins with the user, ends in words of an agent, every call has a result, and no type is unknown. The
  state of a team never is. A last ``TaskResult`` after the messages of a stream repeats them and is left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..model.call import Learned, Status, Unknown
from ..model.run import Damage, DamageKind, ImportedRun
from .building import RunBuilder, as_text
from .entries import NOTES, conversations, shared_damage, teamed
from .harness import arguments, code, flag, is_sound, items, listed, members, run_name, words
from .registry import opening

NAME = "autogen"

_REQUESTS = frozenset({"ToolCallRequestEvent", "ToolCallMessage"})
_RESULTS = frozenset({"ToolCallExecutionEvent", "ToolCallResultMessage", "FunctionExecutionResultMessage"})
_SAID = frozenset({"TextMessage", "MultiModalMessage", "ToolCallSummaryMessage"})
_SILENT = frozenset(
    {
        "HandoffMessage",
        "StopMessage",
        "ResetMessage",
        "MemoryQueryEvent",
        "ModelClientStreamingChunkEvent",
        "ThoughtEvent",
        "SelectSpeakerEvent",
        "SelectorEvent",
        "UserInputRequestedEvent",
        "SystemMessage",
    }
)
_CODE = frozenset({"CodeGenerationEvent", "CodeExecutionEvent"})
_CONTEXT = frozenset({"UserMessage", "AssistantMessage"})
_TYPES = _REQUESTS | _RESULTS | _SAID | _SILENT | _CODE | _CONTEXT
_PEOPLE = frozenset({"user", "user_proxy", "userproxy"})
_STOP_WORD = "TERMINATE"
_NO_SUCH_TOOL = re.compile(
    r"Error: tool '[^'\n]{0,200}' not found in any workbench|"
    r"(?:Error: )?The tool '[^'\n]{0,200}' is not available\."
)


def recognise(head: bytes) -> float:
    """How sure it is: messages and states are of named types, and say who wrote them."""
    return max(map(_confidence, opening(head)[:50]), default=0.0)


def _confidence(value: Any) -> float:
    if isinstance(value, list):
        return max((0.9 for item in value[:50] if _is_message(item)), default=0.0)
    value = members(value)
    if _is_message(value) or any(map(_is_message, items(value.get("messages"))[:50])):
        return 0.9
    if value.get("type") == "AssistantAgentState" and "llm_context" in value:
        return 0.95
    return 0.95 if value.get("type") == "TeamState" and "agent_states" in value else 0.0


def _is_message(value: Any) -> bool:
    if not isinstance(value, dict) or not isinstance(value.get("type"), str) or "content" not in value:
        return False
    kind = value["type"]
    known = kind in _TYPES - {"SystemMessage"} or kind.startswith("StructuredMessage")
    return known and ("source" in value or kind == "FunctionExecutionResultMessage")


def read(path: Path) -> Iterator[ImportedRun]:
    """Every agent that spoke in the file as a run."""
    return conversations(
        path, NAME, _is_message, lambda: _Conversation(path), lambda value, line: _runs(value, line, path)
    )


def _runs(value: Any, line: int, path: Path) -> Iterator[ImportedRun]:
    states = list(_states(value, "")) if isinstance(value, dict) else []
    if states:
        yield from _team(
            states, is_team=members(value).get("type") != "AssistantAgentState", line=line, path=path
        )
        return
    messages = members(value).get("messages") if isinstance(value, dict) else value
    if any(map(_is_message, items(messages))):
        talk = _Conversation(path)
        for message in items(messages):
            talk.take(message, line)
        yield from talk.runs()


def _states(value: Any, name: str) -> Iterator[tuple[str, Any]]:
    """The states of assistants in the state of one, or of a team, with the names that the team gives them."""
    value = members(value)
    if value.get("type") == "AssistantAgentState":
        yield name, value
        return
    for key, inner in members(value.get("agent_states")).items():
        yield from _states(inner, key.partition("/")[0])
    for holder in ("agent_state", "inner_team_state"):
        if holder in value:
            yield from _states(value[holder], name)


def _team(states: list[tuple[str, Any]], *, is_team: bool, line: int, path: Path) -> Iterator[ImportedRun]:
    talks = []
    for name, state in states:
        talk = _Conversation(path, only=name)
        context = state.get("llm_context")
        found = members(context).get("messages")
        if not isinstance(context, dict) or not isinstance(found, list):
            talk.note(Damage(DamageKind.UNREADABLE, "the messages of a state cannot be read", line=line))
        for message in items(found):
            talk.take(message, line)
        talks.append(talk)
    agents = {agent for talk in talks for agent in talk.builders} | {name for name, _ in states}
    shared = [damage for talk in talks for damage in talk.damage]
    runs = []
    for talk in talks:
        talk.damage = list(shared)
        if is_team:
            talk.lacking.append("the state of a team does not show whether its work had ended")
        talk.others -= agents
        runs += list(talk.finished())
    yield from teamed(runs) if len(runs) > 1 else runs


@dataclass(slots=True)
class _Conversation:
    """Reads messages in order, into one run for each agent; ``only`` is the one agent whose runs are wanted."""

    path: Path
    only: str = ""
    builders: dict[str, RunBuilder] = field(default_factory=dict)
    damage: list[Damage] = field(default_factory=list)
    lacking: list[str] = field(default_factory=list)
    people: set[str] = field(default_factory=set)
    others: set[str] = field(default_factory=set)
    wanted: str = ""
    caller: str = ""
    index: int = -1
    begun: bool | None = None
    ended: bool = False

    def note(self, damage: Damage) -> None:
        """A line that cannot be read."""
        self.damage.append(damage)

    def _unreadable(self, text: str, line: int) -> None:
        self.note(Damage(DamageKind.UNREADABLE, text, line=line))

    def take(self, entry: Any, line: int) -> None:
        """The next message."""
        self.index += 1
        if not isinstance(entry, dict):
            self._unreadable(f"message {self.index} is no object", line)
            return
        kind, source = entry.get("type"), entry.get("source")
        if kind is None and isinstance(entry.get("messages"), list):
            return  # the result of the task, which repeats what was streamed
        if not isinstance(kind, str) or not is_sound(entry):
            self._unreadable(f"message {self.index} cannot be read", line)
            return
        if kind == "FunctionExecutionResultMessage":
            source = self.caller
        elif kind == "SystemMessage" and source is None:
            return
        if not isinstance(source, str):
            self._unreadable(f"message {self.index} does not say who wrote it", line)
            return
        if kind == "UserInputRequestedEvent":
            self.people.add(source)
        is_users = source.lower() in _PEOPLE or source in self.people
        self.begun = is_users if self.begun is None else self.begun
        if kind == "UserMessage" and not is_users:
            self.others.add(source)
            return
        if is_users and kind in (*_SAID, "UserMessage"):
            self._asked(entry, line)
        elif not is_users:
            self._agent(kind, source, entry, line)

    def _asked(self, entry: dict[str, Any], line: int) -> None:
        self.wanted = self._text(entry.get("content"), line)
        self.ended = False

    def _builder(self, source: str, line: int) -> RunBuilder:
        if source not in self.builders:
            name = run_name(source) or f"agent-{len(self.builders)}"
            self.builders[source] = RunBuilder(NAME, self.path, run_id=name, agent=source or "agent")
        builder = self.builders[source]
        builder.asked(self.wanted)
        builder.line = line
        return builder

    def _agent(self, kind: str, source: str, entry: dict[str, Any], line: int) -> None:
        content = entry.get("content")
        if kind in _REQUESTS or (kind == "AssistantMessage" and isinstance(content, list)):
            self._calls(self._builder(source, line), entry)
            self.caller, self.ended = source, False
        elif kind in _RESULTS:
            builder = self._builder(source, line)
            for result in listed(builder, content, f"the results of message {self.index}"):
                self._result(builder, result, entry)
            if content is None:
                builder.unreadable(f"message {self.index} holds no results")
            self.ended = False
        elif kind in _SAID or kind == "AssistantMessage" or kind.startswith("StructuredMessage"):
            text = as_text(content) if kind.startswith("StructuredMessage") else self._text(content, line)
            if text.strip() == _STOP_WORD or self._builder(source, line).said(text):
                self.ended = True
        elif kind in _CODE:
            self._code(self._builder(source, line), kind, entry)
            self.ended = False
        elif kind not in _SILENT and len(self.lacking) < NOTES:
            self.lacking.append(f"messages of the type {kind[:80]!r} are not known here")

    def _text(self, content: Any, line: int) -> str:
        if isinstance(content, list) and all(isinstance(part, (str, dict)) for part in content):
            return "\n".join(part for part in content if isinstance(part, str))
        if not isinstance(content, str):
            self._unreadable(f"the content of message {self.index} is no text", line)
        return words(content)

    def _calls(self, builder: RunBuilder, entry: dict[str, Any]) -> None:
        found = listed(builder, entry.get("content"), f"the calls of message {self.index}")
        if not found:
            builder.unreadable(f"message {self.index} holds no calls")
        for item in found:
            if not isinstance(item, dict) or not isinstance(item.get("id"), str):
                builder.unreadable(f"a call of message {self.index} is no object with an id")
            item = members(item)
            given = arguments(builder, item.get("arguments"), str)
            builder.call(
                item.get("name"), given, source_id=item.get("id"), step=self.index, at=entry.get("created_at")
            )

    def _result(self, builder: RunBuilder, result: Any, entry: dict[str, Any]) -> None:
        if not isinstance(result, dict) or not isinstance(result.get("call_id"), str):
            builder.unreadable(f"a result of message {self.index} is no object that names its call")
            return
        before = len(builder.damage)
        failed, content, until = (
            flag(builder, result, "is_error"),
            result.get("content"),
            entry.get("created_at"),
        )
        if not isinstance(content, str):
            builder.unreadable(f"the content of a result of message {self.index} is no text")
        if "is_error" in result and failed is None:
            builder.unreadable(f"whether a call of message {self.index} failed is left open")
        status, learned, message = None, Learned.DEFAULT if failed is None else Learned.FLAG, ""
        if len(builder.damage) > before:
            content, status = content if isinstance(content, str) else Unknown("unreadable"), Status.UNKNOWN
        elif failed:
            status, message = Status.RAISED, words(content)
            if _NO_SUCH_TOOL.fullmatch(message):
                status, learned = Status.INVALID, Learned.TEXT_PATTERN
        builder.result(
            result["call_id"], content, status=status, learned=learned, message=message, until=until
        )

    def _code(self, builder: RunBuilder, kind: str, entry: dict[str, Any]) -> None:
        if kind == "CodeGenerationEvent":
            blocks = [members(block).get("code") for block in items(entry.get("code_blocks"))]
            if not blocks or not all(isinstance(block, str) for block in blocks):
                builder.unreadable(f"the code of message {self.index} cannot be read")
            given = {"code": "\n".join(map(words, blocks))}
            builder.call(
                "code_executor", given, source_id="code", step=self.index, at=entry.get("created_at")
            )
            return
        result = members(entry.get("result"))
        before = len(builder.damage)
        ended, output = code(builder, result, "exit_code"), result.get("output")
        if ended is None or not isinstance(output, str):
            builder.unreadable(f"the result of the code in message {self.index} cannot be read")
        status = Status.RAISED if ended else Status.RETURNED
        if len(builder.damage) > before:
            status, output = Status.UNKNOWN, Unknown("unreadable")
        builder.result(
            "code", output, status=status, learned=Learned.EXIT_CODE, until=entry.get("created_at")
        )

    def runs(self) -> Iterator[ImportedRun]:
        """The runs, each with the calls of the other agents."""
        found = list(self.finished())
        return teamed(found) if len(found) > 1 else iter(found)

    def finished(self) -> Iterator[ImportedRun]:
        """The runs, each for itself; what is damaged or missing is so for all of them."""
        builders = [self.builders[self.only]] if self.only in self.builders else list(self.builders.values())
        builders = builders or [RunBuilder(NAME, self.path, agent=self.only or "agent")]
        damage = [*self.damage, *(each for builder in self.builders.values() for each in builder.damage)]
        missing = [*self.lacking, *(each for builder in self.builders.values() for each in builder.missing)]
        missing += [
            f"it was told of the work of {other[:80]!r}, whose own calls are not in the file"
            for other in sorted(self.others - self.builders.keys())[:NOTES]
        ]
        for builder in builders:
            builder.damage = damage if len(builders) == 1 else shared_damage(damage)
            for text in dict.fromkeys(missing):
                builder.lacks(text)
            if not self.begun:
                builder.lacks("the beginning of the conversation is not in the file")
            builder.doubt_unflagged()
            yield builder.finish(closed=self.ended)
