"""Codex CLI rollouts: ``~/.codex/sessions/YYYY/MM/DD/rollout-<time>-<thread id>.jsonl``, written for every session.

- Lines are ``{timestamp, type, payload}``; the oldest files have the items bare, or all of them in one document
  (``session``, ``items``). Calls are items (``function_call``, ``custom_tool_call``, ``local_shell_call`` …) that
  ``*_output`` items end by ``call_id``; hosted calls such as a web search have a status and mostly no result.
- **Failure**: outputs carry no flag; see ``codex_items``. Where the file has events (``exec_command_end``,
  ``patch_apply_end``, ``mcp_tool_call_end``, ``item_completed`` …), they decide, joined by ``call_id``, and what the
  model was shown becomes ``shown``. An event of no known call is a call of its own: one made inside a script.
- A command that goes on in the background is ended by the ``write_stdin`` or ``wait`` that shows its end.
- Scripts of code mode (``exec``) make calls that are not all logged: such a record is partial.
- **Report** is the last text of the agent (``task_complete.last_agent_message``, ``agent_message`` or a message), the
  **task** the user's last request before it, without the context that IDEs and the harness put around it.
- ``compacted`` lines repeat history and are skipped. Turns that the user took back (``thread_rolled_back``) are left
  out, and the record is partial; so it is when a review ran, whose calls are in a file of its own.
- A sub-agent has its own rollout, its thread id as agent, and the parent's in ``session_meta``; the parent's
  ``spawn_agent``, ``wait`` and ``collab_*`` events name it and bring its report.
- **Closed** is a file whose last turn ended: ``task_complete`` where turns are marked, else a text of the agent after
  the last call; never after ``turn_aborted`` or with calls that have no result.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..errors import InvalidInputError
from ..jsonio import Defect, joined_parts
from ..model.run import ImportedRun
from .building import Call, RunBuilder
from .codex_calls import Calls, named
from .codex_items import NOT_CAPTURED, SHOWN, UNREADABLE, Ending, Helpers, by_status, run_id_of
from .registry import opening, values

NAME = "codex"

_LINES = frozenset({"session_meta", "response_item", "event_msg", "turn_context", "compacted", "world_state"})
_SILENT_LINES = _LINES | {"inter_agent_communication", "inter_agent_communication_metadata"}
_SILENT_ITEMS = frozenset(
    {"reasoning", "agent_message", "ghost_snapshot", "token_count", "additional_tools", "other"}
)
_SILENT_ITEMS |= {"compaction", "context_compaction", "compaction_summary", "compaction_trigger"}
_SILENT_TURN_ITEMS = frozenset(
    {"Plan", "Reasoning", "HookPrompt", "ContextCompaction", "Sleep", "SubAgentActivity"}
)
_HALVES = ("_begin", "_end", "_request", "_response")
_COLLABORATION = {
    "collab_agent_spawn_end": "spawn_agent",
    "collab_agent_interaction_end": "send_input",
    "collab_waiting_end": "wait",
    "collab_close_end": "close_agent",
    "collab_resume_end": "resume_agent",
}
_SCRIPTS = frozenset({"exec", "functions.exec", "js_repl"})
_TEXTS = ("input_text", "output_text", "text", "Text")
_CONTEXT = re.compile(r"\s{0,20}(?:<[A-Za-z_][\w:-]{0,60}>|# AGENTS\.md instructions\b)")
_REQUEST = "## My request for Codex:"
_ROLLOUT = re.compile(r"rollout-.{1,40}-([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})\.jsonl")


def recognise(head: bytes) -> float:
    """How sure it is that the file is a rollout: its lines have a type of Codex and a payload."""
    return max((_confidence(value) for value in opening(head)[:20]), default=0.0)


def _confidence(value: Any) -> float:
    if not isinstance(value, dict):
        return 0.0
    kind = value.get("type")
    if isinstance(kind, str) and kind in _LINES and isinstance(value.get("payload"), dict):
        return 0.95
    if isinstance(value.get("session"), dict) and isinstance(value.get("items"), list):
        return 0.7 if {"id", "timestamp"} <= value["session"].keys() else 0.0
    old = {"id", "timestamp", "instructions"} <= value.keys() and "type" not in value
    return 0.8 if old or value.get("record_type") == "state" else 0.0


def read(path: Path) -> Iterator[ImportedRun]:
    """The run of the thread that the file holds; InvalidInputError when it is no rollout."""
    yield _rollout(path).finish()


def companions(path: Path) -> Iterator[Path]:
    """The rollouts of the sub-agents that this thread started, and of theirs, in the folders of its month."""
    days = path.parent.parent.iterdir() if path.parent.name.isdecimal() else iter((path.parent,))
    files = {
        match.group(1): file
        for day in sorted(days)
        if day.is_dir() and (day == path.parent or day.name.isdecimal())
        for file in sorted(day.iterdir())
        if (match := _ROLLOUT.fullmatch(file.name))
    }
    seen, waiting = {path.resolve()}, [path]
    while waiting:
        try:
            helpers = list(_rollout(waiting.pop(0)).helpers.asked)
        except InvalidInputError:
            continue
        for file in (files[helper] for helper in helpers if helper in files):
            if file.resolve() not in seen:
                seen.add(file.resolve())
                waiting.append(file)
                yield file


def _rollout(path: Path) -> _Rollout:
    builder = RunBuilder(NAME, path)
    rollout = _Rollout(builder, Calls(builder))
    for value, line, damage, place in values(path):
        builder.line = line
        if damage is not None:
            builder.damage.append(damage)
        else:
            rollout.calls.place = place
            rollout.take(value)
    if not rollout.known:
        raise InvalidInputError(f"{str(path)!r} holds no line of a Codex rollout")
    return rollout


@dataclass(slots=True)
class _Rollout:
    """One rollout while it is read.

    ``known`` counts the lines that are of the format, ``went_on`` the calls before the last words, ``ended`` those
    before the end of the last turn; ``marked`` says that the file marks turns; ``turns`` has, for each message of the
    user, the report and the task until then.
    """

    builder: RunBuilder
    calls: Calls
    helpers: Helpers = field(default_factory=Helpers)
    turns: list[tuple[str, str]] = field(default_factory=list)
    known: int = 0
    name: str = ""
    marked: bool = False
    ended: int = -1
    went_on: int = 0

    def take(self, value: Any) -> None:
        """One line, or the whole document of the oldest form."""
        if not isinstance(value, dict):
            reason = value.reason if isinstance(value, Defect) else "it is no object"
            self.builder.unreadable(f"a line cannot be read: {reason}")
            return
        kind, payload, at = value.get("type"), value.get("payload"), value.get("timestamp")
        self.calls.at = at if isinstance(at, str) else ""
        if "payload" not in value:
            self._bare(value)
        elif not isinstance(kind, str):
            self.builder.unreadable("a line has no type that is text")
        elif kind not in _SILENT_LINES:
            self.builder.lacks(f"lines of the unknown type {kind[:80]!r} are not read")
        elif not isinstance(payload, dict):
            self.builder.unreadable(f"the payload of a line ({kind}) is no object")
        else:
            self.known += 1
            if kind == "session_meta":
                self._meta(payload)
            elif kind == "response_item":
                self._item(payload)
            elif kind == "event_msg":
                self._event(payload)

    def _bare(self, value: dict[str, Any]) -> None:
        """A line of the oldest files, which has no payload: the session, a state, or an item."""
        session, items = value.get("session"), value.get("items")
        if isinstance(session, dict) and isinstance(items, list):
            self.known += 1
            self._meta(session)
            for item in items:
                if isinstance(item, dict):
                    self._item(item)
                else:
                    self.builder.unreadable("an item is no object")
        elif "type" in value:
            self.known += "call_id" in value or value.get("type") == "message"
            self._item(value)
        elif "id" in value and "timestamp" in value:
            self.known += 1
            self._meta(value)
        elif value.get("record_type") == "state":
            self.known += 1
        else:
            self.builder.unreadable("a line has neither a type nor a payload")

    # -- the session -----------------------------------------------------------------------------------------

    def _meta(self, meta: dict[str, Any]) -> None:
        """What the file says of its thread; a forked one repeats its origin's line, which is not about it."""
        if self.name:
            return
        name = meta.get("id")
        if not isinstance(name, str) or not name:
            self.builder.unreadable("the session has no id that is text")
            return
        self.name = self.builder.agent = name
        self.builder.run_id = run_id_of(name, self.builder.run_id)
        source = meta.get("source")
        spawned = source.get("subagent") if isinstance(source, dict) else None
        inner = spawned.get("thread_spawn") if isinstance(spawned, dict) else None
        for holder in (meta, inner):
            parent = holder.get("parent_thread_id") if isinstance(holder, dict) else None
            self.builder.parent = self.builder.parent or (parent if isinstance(parent, str) else "")
        if spawned is not None and meta.get("forked_from_id") is not None:
            self.builder.lacks(
                "the file begins with the history of another thread, whose calls it counts too"
            )

    # -- words -----------------------------------------------------------------------------------------------

    def _said(self, text: Any) -> None:
        if not isinstance(text, str):
            self.builder.unreadable("a text of the agent is no text")
        elif text.strip():
            self.builder.said(text)
            self.went_on = len(self.builder.calls)
            self.ended = -1 if self.marked else self.went_on

    def _asked(self, text: Any) -> None:
        if not isinstance(text, str):
            self.builder.unreadable("a text of the user is no text")
        elif not _CONTEXT.match(text):
            self.builder.asked(text.rpartition(_REQUEST)[2].strip())
            self.went_on = len(self.builder.calls)

    def _message(self, item: dict[str, Any]) -> None:
        role, content = item.get("role"), item.get("content")
        text = _content(content)
        if text is None or content is None or not isinstance(role, str):
            self.builder.unreadable("a message has no role or content that can be read")
        elif role == "assistant":
            self._said(text)
        elif role == "user":
            for part in content:
                self._asked(joined_parts([part]))
        elif role not in ("developer", "system"):
            self.builder.unreadable(f"a message has the unknown role {role[:80]!r}")

    # -- items -----------------------------------------------------------------------------------------------

    def _item(self, item: dict[str, Any]) -> None:
        kind = item.get("type")
        if not isinstance(kind, str):
            self.builder.unreadable("an item has no type that is text")
        elif kind == "message":
            self._message(item)
        elif kind in ("function_call", "custom_tool_call"):
            self._function(item, is_custom=kind == "custom_tool_call")
        elif kind.endswith("_call") and kind != "tool_call":
            self._hosted(item, kind.removesuffix("_call"))
        elif kind.endswith("_output"):
            found = self.calls.output(item)
            if found is not None:
                self._helped(*found)
        elif kind not in _SILENT_ITEMS:
            self.builder.lacks(f"items of the unknown type {kind[:80]!r} are not read")

    def _function(self, item: dict[str, Any], *, is_custom: bool) -> None:
        tool, space, source_id = item.get("name"), item.get("namespace"), item.get("call_id")
        args = item.get("input" if is_custom else "arguments")
        if not isinstance(source_id, str) or not source_id:
            self.builder.unreadable("a call has no call_id that is text")
        if not isinstance(args, str):
            self.builder.unreadable("the arguments of a call are no text")
            args = args if isinstance(args, dict) else UNREADABLE
        if isinstance(space, str) and space and isinstance(tool, str):
            tool = f"{space}{tool}" if space.endswith("__") else f"{space}.{tool}"
        if isinstance(tool, str) and tool in _SCRIPTS:
            self.builder.lacks("scripts (exec) make calls that are not all logged on their own")
        call = self.calls.begin(tool, args, source_id)
        if call is not None and is_custom and isinstance(call.args, str):
            call.args = {"input": call.args}

    def _hosted(self, item: dict[str, Any], tool: str) -> None:
        """A call that the provider runs, or the shell of the model; its item may be all there is of it."""
        own = item.get("call_id")
        if own is not None and not isinstance(own, str):
            self.builder.unreadable("a call has no call_id that is text")
        args = next((item[key] for key in ("arguments", "action") if key in item), None)
        if args is None and isinstance(item.get("revised_prompt"), str):
            args = {"prompt": item["revised_prompt"]}
        if isinstance(args, dict) and tool == "local_shell":
            args = {key: value for key, value in args.items() if key != "type"}
        if args is not None and not isinstance(args, dict):
            self.builder.unreadable("the arguments of a call are no object")
            args = UNREADABLE
        call = self.calls.begin(tool, args, own if own else item.get("id"))
        if call is None or tool == "local_shell" or (tool == "tool_search" and isinstance(own, str)):
            return
        status = item.get("status")
        self.calls.settle(
            call, Ending(result=NOT_CAPTURED) if status is None else by_status(status, NOT_CAPTURED)
        )

    # -- events ----------------------------------------------------------------------------------------------

    def _event(self, event: dict[str, Any]) -> None:
        kind = event.get("type")
        if not isinstance(kind, str):
            self.builder.unreadable("an event has no type that is text")
        elif kind in SHOWN:
            self.calls.show(event, SHOWN[kind](event))
        elif kind in _EVENTS:
            _EVENTS[kind](self, event)
        elif kind in _COLLABORATION:
            self._collaborated(event, kind)
        elif kind.endswith(_HALVES) and self._is_unknown(event):
            self.builder.lacks(f"events of the unknown type {kind[:80]!r} are not read")

    def _is_unknown(self, event: dict[str, Any]) -> bool:
        """Whether an event is about a call that nothing else has shown yet."""
        source_id = event.get("call_id", event.get("callId"))
        return source_id is not None and self.calls.find(source_id) is None

    def _turn_started(self, _: dict[str, Any]) -> None:
        self.marked = True
        self.calls.step += 1
        self.went_on = len(self.builder.calls)

    def _turn_ended(self, event: dict[str, Any]) -> None:
        last = event.get("last_agent_message")
        if last is not None:
            self._said(last)
        self.ended = len(self.builder.calls) if event.get("error") is None else -1

    def _turn_failed(self, _: dict[str, Any]) -> None:
        self.ended = -1

    def _user(self, event: dict[str, Any]) -> None:
        self.turns.append((self.builder.report, self.builder.task))
        self._asked(event.get("message"))

    def _agent(self, event: dict[str, Any]) -> None:
        self._said(event.get("message"))

    def _taken_back(self, event: dict[str, Any]) -> None:
        """The user took turns back: the words are gone, but the calls had run."""
        self.builder.lacks(
            "the user took turns back; their calls are in this record, and the agent forgot them"
        )
        turns = event.get("num_turns")
        if not isinstance(turns, int) or isinstance(turns, bool) or turns < 0:
            self.builder.unreadable("it cannot be read how many turns were taken back")
        elif turns and self.turns:
            kept = max(len(self.turns) - turns, 0)
            self.builder.report, self.builder.task = self.turns[kept]
            del self.turns[kept:]

    def _reviewed(self, _: dict[str, Any]) -> None:
        self.builder.lacks("a review ran in a thread of its own, whose calls are not in this file")

    def _requested(self, event: dict[str, Any]) -> None:
        if self._is_unknown(event):
            self.calls.begin(
                event.get("tool"), event.get("arguments"), event.get("callId", event.get("call_id"))
            )

    def _completed(self, event: dict[str, Any]) -> None:
        """An item of a turn, as newer versions log it."""
        item = event.get("item")
        kind = item.get("type") if isinstance(item, dict) else None
        if not isinstance(item, dict) or not isinstance(kind, str):
            self.builder.unreadable("a completed item cannot be read")
        elif kind == "AgentMessage":
            self._said(_content(item.get("content")))
        elif kind == "UserMessage":
            self._asked(_content(item.get("content")))
        elif kind in SHOWN:
            call = self.calls.show(item, SHOWN[kind](item))
            others = item.get("receiver_thread_ids")
            if call is not None and call.tool == "spawn_agent":
                for other in others if isinstance(others, list) else ():
                    self.helpers.add(other, call)
            self.helpers.ended(item.get("agents_states"))
        elif kind not in _SILENT_TURN_ITEMS:
            self.builder.lacks(f"items of the unknown type {kind[:80]!r} are not read")

    # -- other agents ----------------------------------------------------------------------------------------

    def _collaborated(self, event: dict[str, Any], kind: str) -> None:
        shown = SHOWN["CollabAgentToolCall"]({"tool": _COLLABORATION[kind], "prompt": event.get("prompt")})
        call = self.calls.show(event, shown)
        if kind == "collab_agent_spawn_end":
            self.helpers.add(event.get("new_thread_id"), call)
        self.helpers.ended(event.get("statuses"))
        self.helpers.ended({str(event.get("receiver_thread_id")): event.get("status")})

    def _active(self, event: dict[str, Any]) -> None:
        self.helpers.add(event.get("agent_thread_id"), self.calls.find(event.get("event_id")))

    def _helped(self, call: Call, ending: Ending) -> None:
        """What a call to another agent returned: who it is, or how it ended."""
        tool = call.tool.rpartition(".")[2]
        is_one = tool in ("spawn_agent", "wait", "wait_agent", "close_agent")
        value = self.builder.arguments(ending.result) if is_one and isinstance(ending.result, str) else None
        if not isinstance(value, dict):
            return
        if tool == "spawn_agent":
            self.helpers.add(value.get("agent_id", value.get("thread_id")), call)
        elif tool == "close_agent" and (name := named(call.args, "id")):
            self.helpers.ended({name: value.get("status")})
        else:
            self.helpers.ended(value.get("status"))

    # -- the run -----------------------------------------------------------------------------------------------

    def finish(self) -> ImportedRun:
        """The run as it was read."""
        builder = self.builder
        builder.line = 0
        self.calls.finish(self.went_on)
        self.helpers.finish(builder)
        return builder.finish(closed=self.ended == len(builder.calls))


def _content(content: Any) -> str | None:
    """The words of a message; None where they cannot be read."""
    if not isinstance(content, list):
        return None
    for part in content:
        if not isinstance(part, dict) or not isinstance(part.get("type"), str):
            return None
        if part["type"] in _TEXTS and not isinstance(part.get("text"), str):
            return None
    return joined_parts(content)


_EVENTS: dict[str, Callable[[_Rollout, dict[str, Any]], None]] = {
    "user_message": _Rollout._user,
    "agent_message": _Rollout._agent,
    "task_started": _Rollout._turn_started,
    "turn_started": _Rollout._turn_started,
    "task_complete": _Rollout._turn_ended,
    "turn_complete": _Rollout._turn_ended,
    "turn_aborted": _Rollout._turn_failed,
    "error": _Rollout._turn_failed,
    "thread_rolled_back": _Rollout._taken_back,
    "entered_review_mode": _Rollout._reviewed,
    "dynamic_tool_call_request": _Rollout._requested,
    "sub_agent_activity": _Rollout._active,
    "item_completed": _Rollout._completed,
}
