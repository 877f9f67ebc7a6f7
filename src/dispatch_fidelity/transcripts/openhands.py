"""OpenHands: the event history of version 0 and the events of the software-agent SDK (version 1).

Version 0 is a list of events (``openhands … --save-trajectory-path``, a downloaded trajectory), or the ``history`` of a
line of an evaluation's ``output.jsonl``; version 1 one event a line. Both store conversations as one file an event, in
``~/.openhands/sessions/<id>/events/<n>.json`` and ``~/.openhands/conversations/<id>/events/event-<n>-<id>.json``: the
first of them stands for the run, the others are side files. What is read, and how:

- **Calls**, version 0: an ``action`` of the agent other than its words (``message``, ``finish``, ``reject``) and what
  keeps the machine going (``recall``, ``condensation``, …). Name and arguments are those of the tool call where it is
  kept (``tool_call_metadata``). An action that waited for confirmation stands there twice, and is one call.
  Version 1: ``ActionEvent``; one without ``action`` was no valid call. ``finish`` is no call in either.
- **Results** name their action (``cause``, ``action_id``), because ids of tool calls repeat. Events of the user and
  their results are not the agent's.
- **Failure**: an exit code; -1 is a command that still runs. ``observation: error``, ``is_error`` and ``error`` are
  flags. Version 0 writes "ERROR:" before what the file editor refused. A version 1 terminal that answers "Cannot
  execute multiple commands at once" ran nothing. ``AgentErrorEvent`` ends a call that was not valid, or failed; one
  that speaks of a restart tells that its end is unknown. Rejected ones were refused.
- **Report**: ``finish`` (``final_thought``, ``message``), else the last words of the agent, also those beside a call;
  a leading ``<think>`` block is not among them.
- **Sub-agents** of version 0 (``delegate``) speak in the same stream: runs of their own. Those of version 1 are stored
  elsewhere: the call has delegated to an agent whose log is not at hand.
- **Closed**: begins with the system prompt or the user, ends in ``finish`` or words of the agent, without a report of
  an error, and the last state that is told is not ``error``, ``stuck``, ``paused`` or ``running``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path
from typing import Any

from ..errors import InvalidInputError
from ..model.run import ImportedRun
from . import openhands_v0, openhands_v1
from .building import RunBuilder
from .harness import items, members, run_name, runs_in, words
from .openhands_runs import Conversation
from .registry import Value, opening, values

NAME = "openhands"

_KINDS = frozenset(
    f"{name}Event"
    for name in ("Action", "Observation", "Message", "SystemPrompt", "AgentError", "ACPToolCall")
) | {"UserRejectObservation", "ConversationStateUpdateEvent"}
_STORED_FIRST = frozenset({"SystemPromptEvent", "ConversationStateUpdateEvent"})
_STORED = re.compile(r"(?:event-)?(\d{1,9})(?:-[0-9A-Za-z-]+)?\.json")
_BROKEN = 1000  # values without an event, after which no conversation is expected
_SIDE = "one event of an OpenHands conversation; the first event of its folder stands for the run"


def recognise(head: bytes) -> float:
    """How sure it is: events of these shapes are of no other format; a stored event that is not the first is not."""
    found = opening(head)
    for value in found[:100]:
        events = items(value) or items(members(value).get("history"))
        if any(_is_event(event) for each in events[:5] for event in _flat(each)):
            return 0.9
        if {"instance_id", "metadata"} <= members(value).keys() and "agent_class" in members(
            value["metadata"]
        ):
            return 0.9
        if _is_event(value) and (len(found) > 1 or _is_first(value)):
            return 0.9
    return 0.0


def side(head: bytes) -> str:
    """What a stored event is that is not the first of its conversation; empty for any other file."""
    found = opening(head)
    return _SIDE if len(found) == 1 and _is_event(found[0]) and not _is_first(found[0]) else ""


def _is_event(value: Any) -> bool:
    value = members(value)
    if "kind" in value:
        return words(value["kind"]) in _KINDS and "source" in value and "timestamp" in value
    return ("action" in value and "args" in value and "source" in value) or (
        "observation" in value and "content" in value and bool(value.keys() & {"extras", "cause"})
    )


def _is_first(event: dict[str, Any]) -> bool:
    kind = event.get("kind")
    return kind in _STORED_FIRST if isinstance(kind, str) else event.get("id") == 0


def _flat(value: Any) -> list[Any]:
    """The events in an item of a history: itself, or the pair of action and observation that old ones have."""
    return value if isinstance(value, list) else [value]


def read(path: Path) -> Iterator[ImportedRun]:
    """Every run in the file; a stored event stands for all events in its folder."""
    held: list[Value] = []
    source = _values(path)
    for item in source:
        held.append(item)
        if item.damage is None and _is_event(item.value):
            run = Conversation(RunBuilder(NAME, path))
            _take_all(run, chain(held, source))
            yield from run.finish()
            return
        is_history = isinstance(item.value, list) or "history" in members(item.value)
        if is_history or len(held) == _BROKEN:
            break
    held.clear()
    yield from runs_in(path, NAME, lambda value, line: _histories(value, line, path))


def _values(path: Path) -> Iterator[Value]:
    """The values of a file, or of all stored events when it is one of them."""
    source = values(path)
    first = next(source, None)
    if first is None:
        return
    if (
        first.line == 0
        and _is_event(first.value)
        and _STORED.fullmatch(path.name)
        and path.parent.name == "events"
    ):
        yield from _stored(path.parent)
        return
    yield first
    yield from source


def _stored(folder: Path) -> Iterator[Value]:
    """The stored events of a folder in their order; a number that is missing is a value without an event."""
    found = sorted(
        (int(match[1]), item)
        for item in folder.iterdir()
        if (match := _STORED.fullmatch(item.name)) and item.is_file()
    )
    before = -1
    for number, item in found:
        if number > before + 1:
            yield Value(None)
        before = number
        try:
            yield from values(item)
        except InvalidInputError:
            yield Value(None)


def _histories(value: Any, line: int, path: Path) -> Iterator[ImportedRun]:
    history = value if isinstance(value, list) else members(value).get("history")
    events = [event for each in items(history) for event in _flat(each)]
    if not any(map(_is_event, events)):
        return
    inner = members(value)
    builder = RunBuilder(NAME, path, run_id=run_name(inner.get("instance_id")) or "run-0", line=line)
    if inner.get("error"):
        builder.lacks(f"the evaluation reports an error: {str(inner['error'])[:80]}")
    run = Conversation(builder)
    _take_all(run, (Value(event, line) for event in events))
    yield from run.finish()


def _take_all(run: Conversation, source: Iterable[Value]) -> None:
    """Every event; what is none is damage, and the rest is read."""
    for value, line, damage, run.place in source:
        run.main.line = run.agent.builder.line = line
        if damage is not None:
            run.broken += 1
            run.main.damage.append(damage)
        elif isinstance(value, dict) and "kind" in value:
            openhands_v1.take(run, value)
        elif isinstance(value, dict) and ("action" in value or "observation" in value):
            openhands_v0.take(run, value)
        else:
            run.broken += 1
            run.main.unreadable("an event is missing or cannot be read")
