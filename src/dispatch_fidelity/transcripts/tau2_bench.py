"""Results of tau2-bench, which it writes to ``data/simulations/<run>.json`` or ``data/simulations/<run>/results.json``.

A file holds ``simulations`` with the messages of an agent, a simulated user and the tools; each simulation is a run,
named by task and trial. A file of one simulation is read too. What is read, and how:

- **Calls** are ``tool_calls`` of the agent, ``{id, name, arguments, requestor}``; those of the simulated user
  (``requestor: user``) and their results are not the agent's and are left out. A result is a message of the role
  ``tool`` with the call's ``id``; results of parallel calls may be wrapped in ``tool_messages``.
- **Failure** is the flag ``error`` of a result. The environment writes "Error: " before the words of an exception and
  sets the flag with it. Some published files have no flags at all: there such a text is kept as a result whose call
  returned by default, and the record is partial, because which calls failed was not recorded.
- **Report** is the last text of the agent before the word with which the user stops; **task** is the user's last text
  before it. A stop word alone (``###STOP###``) is no report.
- **Closed** is a simulation whose ``termination_reason`` is that the user or the agent stopped, whose last message is
  the one that stopped it, with a result for every call and turns numbered without gaps. A run that hit a limit
  (``max_steps``, ``too_many_errors``, ``timeout``) or broke is partial; so is one in full-duplex mode, where both speak
  at once in ``ticks``, and one whose words are audio.
- **Labels** of tau-bench runs (AgentRx: ``trajectory_id``, ``failures``, ``root_cause``) are a side file.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..model.call import Learned, Status, Unknown
from ..model.frozen import UNSET
from ..model.run import DamageKind, ImportedRun
from .building import Call, RunBuilder
from .harness import arguments, flag, items, listed, members, run_name, runs_in, words
from .registry import opening

NAME = "tau2-bench"

_STOPPED = frozenset({"user_stop", "agent_stop"})
_STOP_WORD = re.compile("###[A-Z_-]{1,40}###")
_FAILED = "Error:"
_INFO = frozenset({"agent_info", "user_info", "environment_info"})


def recognise(head: bytes) -> float:
    """How sure it is: simulations, or what stands before them, are of no other format."""
    return max(map(_confidence, opening(head)[:20]), default=0.0)


def _confidence(value: Any) -> float:
    value = members(value)
    if len(_INFO & members(value.get("info")).keys()) >= 2:
        return 0.95
    if _is_simulation(value) or any(map(_is_simulation, items(value.get("simulations"))[:3])):
        return 0.9
    return 0.0


def _is_simulation(value: Any) -> bool:
    value = members(value)
    return (
        "messages" in value
        and "task_id" in value
        and bool(value.keys() & {"termination_reason", "reward_info"})
    )


def side(head: bytes) -> str:
    """What the labels of tau-bench runs are; empty for any other file."""
    labels = [members(each) for value in opening(head)[:1] for each in items(value)[:5]]
    labelled = [each for each in labels if {"failures", "root_cause"} <= each.keys()]
    # The labels of Magentic-One have the same shape; those of tau-bench number their runs.
    numbered = [each for each in labelled if type(each.get("trajectory_id")) is int]
    return "labels of tau-bench runs (which steps failed, and why)" if numbered else ""


def read(path: Path) -> Iterator[ImportedRun]:
    """Every simulation in the file as a run."""
    return runs_in(path, NAME, lambda value, line: _runs(value, line, path))


def _runs(value: Any, line: int, path: Path) -> Iterator[ImportedRun]:
    value = members(value)
    found = value.get("simulations")
    simulations = [value] if found is None and _is_simulation(value) else items(found)
    names: set[str] = set()
    for index, simulation in enumerate(simulations):
        inner = members(simulation)
        task = run_name(inner.get("task_id"))
        name = f"task-{run_name(task, inner.get('trial'))}" if task else f"run-{index}"
        name = name if name not in names else f"{name[:100]}.run-{index}"
        names.add(name)
        yield _Simulation(RunBuilder(NAME, path, run_id=name, line=line)).run(simulation)


@dataclass(slots=True)
class _Simulation:
    """Reads the messages of one simulation in order; ``theirs`` are the open calls of the simulated user."""

    builder: RunBuilder
    flagged: bool = False
    unflagged: int = 0
    theirs: dict[str, int] = field(default_factory=dict)
    mine: dict[str, deque[Call]] = field(default_factory=dict)

    def run(self, simulation: Any) -> ImportedRun:
        builder = self.builder
        if not isinstance(simulation, dict):
            builder.unreadable("a simulation is no object")
            return builder.finish(closed=False)
        messages = listed(builder, simulation.get("messages"), "messages")
        if not messages:
            builder.defect(DamageKind.EMPTY, "the simulation holds no message")
        results = [result for message in messages for result in _results(message)]
        self.flagged = any(members(result).get("error") is not None for result in results)
        for index, message in enumerate(messages):
            self._take(index, message)
        self._lacks(simulation, messages)
        return builder.finish(closed=words(simulation.get("termination_reason")) in _STOPPED)

    def _lacks(self, simulation: dict[str, Any], messages: list[Any]) -> None:
        builder = self.builder
        reason = simulation.get("termination_reason")
        if not isinstance(reason, str) and reason is not None:
            builder.unreadable("why the simulation ended cannot be read")
        elif reason not in _STOPPED:
            builder.lacks(f"the simulation did not end by itself: {str(reason)[:80]}")
        elif not _stops(members(messages[-1] if messages else None), reason):
            builder.lacks("the message that stopped the simulation is not in the file")
        if simulation.get("ticks") or simulation.get("mode") not in (None, "half_duplex"):
            builder.lacks("agent and user spoke at once (full duplex): their ticks are not read")
        turns = [members(message).get("turn_idx") for message in messages if not _wraps(message)]
        numbered = [turn for turn in turns if turn is not None]
        if numbered and (numbered != list(range(len(numbered))) or len(numbered) != len(turns)):
            builder.lacks("the numbers of the turns have gaps")
        if self.unflagged:
            builder.lacks(
                f"the file has no flags for failure, and {self.unflagged} results begin with {_FAILED!r}: "
                "which calls failed was not recorded"
            )

    def _take(self, index: int, message: Any) -> None:
        builder = self.builder
        if not isinstance(message, dict):
            builder.unreadable(f"message {index} is no object")
            return
        role = message.get("role")
        if role == "tool":
            for result in _results(message):
                self._result(index, result)
            if _wraps(message):
                listed(builder, message["tool_messages"], f"tool_messages of message {index}")
            return
        if role not in ("system", "user", "assistant"):
            builder.unreadable(f"message {index} has no role of this format: {str(role)[:40]!r}")
            return
        text = self._text(index, message)
        is_word = bool(_STOP_WORD.fullmatch(text.strip()))
        if role == "user" and not is_word:
            builder.asked(text)
        elif role == "assistant" and not is_word:
            builder.said(text)
        for call in listed(builder, message.get("tool_calls"), f"tool_calls of message {index}"):
            self._call(index, call, message, by_user=role == "user")

    def _text(self, index: int, message: dict[str, Any]) -> str:
        content = message.get("content")
        if flag(self.builder, message, "is_audio"):
            self.builder.lacks("words are audio, not text")
            return ""
        if content is not None and not isinstance(content, str):
            self.builder.unreadable(f"the content of message {index} is no text")
        elif content is None and message.get("tool_calls") is None:
            self.builder.unreadable(f"message {index} has no content and no calls")
        return words(content)

    def _call(self, index: int, call: Any, message: dict[str, Any], *, by_user: bool) -> None:
        builder = self.builder
        if not isinstance(call, dict):
            builder.unreadable(f"a call of message {index} is no object")
            return
        source_id, requestor = call.get("id", ""), call.get("requestor")
        if not isinstance(source_id, str):
            builder.unreadable(f"a call of message {index} has no id that is text")
            source_id = ""
        if requestor not in (None, "assistant", "user"):
            builder.unreadable(f"who made a call of message {index} cannot be read")
        if requestor == "user" or (by_user and requestor is None):
            self.theirs[source_id] = self.theirs.get(source_id, 0) + 1
            return
        made = builder.call(
            call.get("name"),
            arguments(builder, call.get("arguments")),
            source_id=source_id,
            step=index,
            at=message.get("timestamp"),
        )
        if made is not None:
            # Results come in the order of the calls, so of equal ids the first open one is meant.
            queue = self.mine.setdefault(source_id, deque())
            if queue and (queue[-1].step == index or not source_id):
                builder.defect(
                    DamageKind.LIFECYCLE, f"message {index} uses an id again, which names an open call"
                )
            queue.append(made)

    def _result(self, index: int, result: Any) -> None:
        builder = self.builder
        if not isinstance(result, dict):
            builder.unreadable(f"a result of message {index} is no object")
            return
        source_id, requestor = result.get("id", ""), result.get("requestor")
        if not isinstance(source_id, str):
            builder.unreadable(f"a result of message {index} has no id that is text")
            return
        if requestor not in (None, "assistant", "user"):
            builder.unreadable(f"whose result message {index} is cannot be read")
        open_ = self.mine.get(source_id)
        if requestor == "user" or (not open_ and self.theirs.get(source_id, 0) > 0):
            if self.theirs.get(source_id, 0) <= 0:
                builder.defect(
                    DamageKind.LIFECYCLE, f"message {index} is a result of no open call of the user"
                )
            self.theirs[source_id] = self.theirs.get(source_id, 0) - 1
            return
        if not open_:
            builder.defect(DamageKind.LIFECYCLE, f"message {index} is of no open call: {source_id[:80]!r}")
            return
        # Another message used the id again: the nearest earlier call is meant.
        call = open_.popleft() if open_[0].step == open_[-1].step else open_.pop()
        self._end(index, call, result)

    def _end(self, index: int, call: Call, result: dict[str, Any]) -> None:
        builder = self.builder
        content, until = result.get("content", UNSET), result.get("timestamp")
        damaged = len(builder.damage)
        failed = flag(builder, result, "error")
        if self.flagged and failed is None:
            builder.unreadable(f"message {index} has no flag, and others have one")
        if content is UNSET or not (content is None or isinstance(content, str)):
            builder.unreadable(f"the content of message {index} is no text")
        if content is None:
            builder.lacks("the content of some results was not captured")
            content = Unknown("not captured")
        if len(builder.damage) > damaged:
            value = content if isinstance(content, str) else Unknown("unreadable")
            builder.end(call, value, status=Status.UNKNOWN, until=until)
        elif failed:
            builder.end(
                call, content, status=Status.RAISED, learned=Learned.FLAG, message=words(content), until=until
            )
        else:
            self.unflagged += not self.flagged and words(content).startswith(_FAILED)
            learned = Learned.DEFAULT if failed is None else Learned.FLAG
            builder.end(call, content, learned=learned, until=until)


def _stops(message: dict[str, Any], reason: str) -> bool:
    """Whether the last message is one that stops a simulation for this reason."""
    if reason == "agent_stop":
        return message.get("role") == "assistant"
    return message.get("role") == "user" and bool(_STOP_WORD.search(words(message.get("content"))))


def _wraps(message: Any) -> bool:
    return "tool_messages" in members(message)


def _results(message: Any) -> list[Any]:
    """The results in a message of the role ``tool``: itself, or those that it wraps."""
    if members(message).get("role") != "tool":
        return []
    return items(message["tool_messages"]) if _wraps(message) else [message]
