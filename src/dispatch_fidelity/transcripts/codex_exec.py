"""The stream of ``codex exec --json``: events that the program prints, which somebody has kept in a file.

- ``thread.started`` begins a run (several streams may stand in one file), ``turn.started`` and ``turn.completed`` or
  ``turn.failed`` its turns. ``item.started``, ``item.updated`` and ``item.completed`` are joined by ``item.id``; ids
  (``item_0``) begin anew in every run, and a file change or a message has only ``item.completed``.
- Calls are ``command_execution`` (ended by ``exit_code``), ``mcp_tool_call`` (by ``result`` or ``error``),
  ``file_change``, ``web_search`` and ``collab_tool_call`` (by ``status``). A declined one never ran.
- There are no times, and the user's request is not in it: the task is empty. Results of searches and what a patch
  printed are not captured.
- Tools are named as events name them, not as the model does (``exec_command``, ``apply_patch``, ``mcp__server__tool``
  stand for what may have been ``shell``), and some are not told at all: looking at an image, making one, the plan. A
  report that speaks of these, or names tools, makes the record partial.
- **Report** is the last ``agent_message``. **Closed** is a run whose last turn was completed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..errors import InvalidInputError
from ..jsonio import Defect
from ..model.run import DamageKind, ImportedRun
from .building import Call, RunBuilder
from .codex_items import SHOWN, Helpers, run_id_of
from .registry import opening, values

NAME = "codex-exec"

_EVENTS = frozenset({"thread.started", "turn.started", "turn.completed", "turn.failed"})
_ITEMS = frozenset({"item.started", "item.updated", "item.completed"})
_CALLS = frozenset({"command_execution", "file_change", "mcp_tool_call", "web_search", "collab_tool_call"})
_SILENT = frozenset({"reasoning", "todo_list", "plan", "plan_update", "error"})
_NOT_TOLD = re.compile(
    r"\b(?:exec_command|shell_command|local_shell|write_stdin|view_image|update_plan|tool_search|request_user_input)\b"
    r'|"(?:tool|results)"\s{0,20}:|\.(?:png|jpe?g|gif|webp|svg|bmp)\b'
    r"|\b(?:image|screenshot|picture|photo|diagram|imagen|imagem|captura|capture d|bild)|図|画像|图|截屏",
    re.IGNORECASE,
)
_PARTLY = "the report speaks of tools or images; the stream does not tell all tools, nor the names that the model uses"


def recognise(head: bytes) -> float:
    """How sure it is that the file is such a stream: its events are."""
    return max((_confidence(value) for value in opening(head)[:20]), default=0.0)


def _confidence(value: Any) -> float:
    if not isinstance(value, dict):
        return 0.0
    kind, item = value.get("type"), value.get("item")
    if not isinstance(kind, str):
        return 0.0
    if kind == "thread.started" and isinstance(value.get("thread_id"), str):
        return 0.95
    if kind in _ITEMS and isinstance(item, dict) and isinstance(item.get("type"), str):
        return 0.9
    return 0.6 if kind in _EVENTS and "item" not in value else 0.0


def read(path: Path) -> Iterator[ImportedRun]:
    """Every run in the file; InvalidInputError when it holds none."""
    stream = _Stream(RunBuilder(NAME, path))
    index = 0
    for value, line, damage, _ in values(path):
        if stream.events and isinstance(value, dict) and value.get("type") == "thread.started":
            yield stream.finish()
            index += 1
            stream = _Stream(RunBuilder(NAME, path, f"run-{index}"))
        stream.builder.line = line
        if damage is not None:
            stream.builder.damage.append(damage)
        else:
            stream.take(value)
    if not stream.events:
        raise InvalidInputError(f"{str(path)!r} holds no event of 'codex exec --json'")
    yield stream.finish()


@dataclass(slots=True)
class _Stream:
    """One run while its events are read; ``events`` counts those of the format."""

    builder: RunBuilder
    events: int = 0
    helpers: Helpers = field(default_factory=Helpers)
    open: dict[str, Call] = field(default_factory=dict)
    begun: bool = False
    ended: bool = False
    step: int = -1

    def take(self, event: Any) -> None:
        """One event; what of it cannot be read is damage."""
        builder = self.builder
        kind = event.get("type") if isinstance(event, dict) else None
        if not isinstance(event, dict) or not isinstance(kind, str):
            reason = event.reason if isinstance(event, Defect) else "it is no object with a type"
            builder.unreadable(f"an event cannot be read: {reason}")
        elif kind in _ITEMS:
            self.events += 1
            item = event.get("item")
            if isinstance(item, dict) and isinstance(item.get("type"), str):
                self._item(kind, item)
            else:
                builder.unreadable("an event has no item that can be read")
        elif kind in _EVENTS:
            self.events += 1
            self.ended = kind == "turn.completed"
            if kind == "thread.started":
                self._started(event.get("thread_id"))
        elif kind == "error":
            self.ended = False
        elif not kind.endswith(".delta"):
            builder.lacks(f"events of the unknown type {kind[:80]!r} are not read")

    def _started(self, name: Any) -> None:
        self.begun = True
        if isinstance(name, str) and name:
            self.builder.agent = name
            self.builder.run_id = run_id_of(name, self.builder.run_id)
        else:
            self.builder.unreadable("the thread has no id that is text")

    def _item(self, event: str, item: dict[str, Any]) -> None:
        kind = item["type"]
        if kind in _CALLS:
            self._call(event, item)
        elif kind == "agent_message":
            if not isinstance(item.get("text"), str):
                self.builder.unreadable("a text of the agent is no text")
            elif event == "item.completed":
                self.builder.said(item["text"])
        elif kind not in _SILENT:
            self.builder.lacks(f"items of the unknown type {kind[:80]!r} are not read")

    def _call(self, event: str, item: dict[str, Any]) -> None:
        """A call begins, or ends, or both at once."""
        source_id, shown = item.get("id"), SHOWN[item["type"]](item)
        if not isinstance(source_id, str) or not source_id:
            self.builder.unreadable("a call has no id that is text")
            source_id = ""
        if event == "item.updated":
            return
        call = self.open.pop(source_id, None)
        if call is not None and event == "item.started":
            self.builder.defect(DamageKind.LIFECYCLE, f"a call begins again: {source_id[:80]!r}")
            call = None
        if call is None:
            self.step += not self.open
            call = self.builder.call(shown.tool, shown.args, source_id=source_id, step=self.step)
        else:
            call.args = self.builder.arguments(shown.args)
        if call is None:
            return
        if item["type"] == "collab_tool_call":
            self._helped(item, call)
        if event == "item.started":
            self.open[source_id] = call
            return
        if shown.ending.damage:
            self.builder.unreadable(shown.ending.damage)
        status, learned, result, message = shown.ending[:4]
        self.builder.end(call, result, status=status, learned=learned, message=message)

    def _helped(self, item: dict[str, Any], call: Call) -> None:
        others = item.get("receiver_thread_ids")
        for other in others if isinstance(others, list) and call.tool == "spawn_agent" else ():
            self.helpers.add(other, call)
        self.helpers.ended(item.get("agents_states"))

    def finish(self) -> ImportedRun:
        """The run as it was read."""
        builder = self.builder
        builder.line = 0
        self.helpers.finish(builder)
        if not self.begun:
            builder.lacks("the beginning of the run is not in the file")
        if _NOT_TOLD.search(builder.report):
            builder.lacks(_PARTLY)
        return builder.finish(closed=self.ended)
