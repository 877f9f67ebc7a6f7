"""agent-trace/v1 of agent-claimcheck: a task, the steps of an agent, and what it claimed at the end.

- **Where.** ``traces.*.jsonl`` of the benchmark, one trace a line, or what its exporters write; an object or a list of
  traces is read too. ``schema`` names the format; each trace is a run named by ``trace_id``.
- **Steps** are numbered by ``i``, with ``ts``: ``message`` of the user or the agent, ``tool_call`` with ``name`` and
  ``args``, ``tool_result`` with ``name``, ``ok`` (a flag), ``output`` and ``error``. There are no ids: a result ends
  the open call of its name. Where several of one name are open, which is meant is unknown, and so is how they ended.
- ``state_probe`` steps are what the environment was asked after the run. They are no calls of the agent, and are left
  out, as are ``ground_truth`` and the claims that are spelled out in ``final_claim.claims``: they are labels.
- **Report** is ``final_claim.text``, which is the last message of the agent; **task** is the user's last message, else
  ``task.instruction``.
- **Closed** is a trace with a final claim whose last step that is no probe is a message of the agent, with a result for
  every call, numbered from 0 without gaps, and of a known version.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..model.call import Learned, Status, Unknown
from ..model.run import DamageKind, ImportedRun
from .building import Call, RunBuilder
from .entries import NOTES
from .harness import arguments, flag, is_sound, items, listed, members, named, run_name, runs_in, words
from .registry import opening

NAME = "agent-trace"

_SCHEMA = "agent-trace/v1"


def recognise(head: bytes) -> float:
    """How sure it is: every trace names the format."""
    return 0.95 if any(_traces(value) for value in opening(head)[:20]) else 0.0


def _traces(value: Any) -> list[Any]:
    found = [value] if isinstance(value, dict) else items(value)
    return found if any(map(_is_trace, found[:20])) else []


def _is_trace(value: Any) -> bool:
    value = members(value)
    return words(value.get("schema")).startswith("agent-trace/") and "steps" in value


def read(path: Path) -> Iterator[ImportedRun]:
    """Every trace in the file as a run."""
    return runs_in(path, NAME, lambda value, line: _runs(value, line, path))


def _runs(value: Any, line: int, path: Path) -> Iterator[ImportedRun]:
    for index, trace in enumerate(_traces(value)):
        name = run_name(members(trace).get("trace_id")) or f"run-{line or index}"
        yield _Trace(RunBuilder(NAME, path, run_id=name, line=line)).run(trace)


@dataclass(slots=True)
class _Trace:
    """Reads the steps of one trace in order; ``waiting`` are the open calls by name."""

    builder: RunBuilder
    waiting: dict[str, deque[Call]] = field(default_factory=dict)
    step: int = -1
    probes: int = 0
    ended: bool = False

    def run(self, trace: Any) -> ImportedRun:
        builder = self.builder
        if not isinstance(trace, dict):
            builder.unreadable("a trace is no object")
            return builder.finish(closed=False)
        if trace.get("schema") != _SCHEMA:
            builder.lacks(f"the version {str(trace.get('schema'))[:40]!r} of the format is not known here")
        instruction = named(builder, trace.get("task"), "task").get("instruction")
        if instruction is not None and not isinstance(instruction, str):
            builder.unreadable("the instruction is no text")
        builder.asked(words(instruction))
        steps = listed(builder, trace.get("steps"), "steps")
        for index, step in enumerate(steps):
            self._step(index, step)
        if [members(step).get("i") for step in steps] != list(range(len(steps))):
            builder.lacks("the numbers of the steps have gaps")
        claim = named(builder, trace.get("final_claim"), "final_claim").get("text")
        if not isinstance(claim, str):
            builder.unreadable("the final claim is no text")
        if self.probes:
            builder.notes.append(
                f"{self.probes} state probes of the environment are left out: they are no calls of the agent"
            )
        return builder.finish(closed=builder.said(words(claim)) and self.ended)

    def _step(self, index: int, step: Any) -> None:
        builder = self.builder
        kind = members(step).get("kind")
        if not isinstance(kind, str) or not is_sound(step):
            builder.unreadable(f"step {index} cannot be read")
        elif kind == "message":
            self._message(index, step)
        elif kind == "tool_call":
            self.step = index if self.step < 0 else self.step
            self.ended = False
            given = arguments(builder, step.get("args"))
            call = builder.call(step.get("name"), given, step=self.step, at=step.get("ts"))
            if call is not None:
                self.waiting.setdefault(call.tool, deque()).append(call)
        elif kind == "tool_result":
            self.step, self.ended = -1, False
            self._result(index, step)
        elif kind == "state_probe":
            self.probes += 1
        elif len(builder.missing) < NOTES:
            builder.lacks(f"steps of the kind {kind[:80]!r} are not known here")

    def _message(self, index: int, step: dict[str, Any]) -> None:
        builder = self.builder
        role, content = step.get("role"), step.get("content")
        if not isinstance(content, str):
            builder.unreadable(f"the content of step {index} is no text")
        self.step, self.ended = -1, False
        if role == "user":
            builder.asked(words(content))
        elif role == "agent":
            self.ended = builder.said(words(content))
        elif role != "system":
            builder.unreadable(f"step {index} is of no known role: {str(role)[:40]!r}")

    def _result(self, index: int, step: dict[str, Any]) -> None:
        builder = self.builder
        name = step.get("name")
        open_ = self.waiting.get(name) if isinstance(name, str) else None
        if not open_:
            builder.defect(DamageKind.LIFECYCLE, f"the result of step {index} is of no open call")
            return
        before = len(builder.damage)
        ok, output, error, until = (
            flag(builder, step, "ok"),
            step.get("output"),
            step.get("error"),
            step.get("ts"),
        )
        if error is not None and not isinstance(error, str):
            builder.unreadable(f"the error of step {index} is no text")
        elif error is not None and ok is not False:
            builder.unreadable(f"step {index} has an error and is not said to have failed")
        elif ok and output is None:
            builder.lacks("the results of some calls were not captured")
            output = Unknown("not captured")
        if len(open_) > 1:
            builder.defect(DamageKind.LIFECYCLE, f"the result of step {index} may be of several open calls")
        # In the order of the calls, where it is not known which is meant.
        call = open_.popleft()
        value = error if output is None and error is not None else output
        status, learned = None, Learned.DEFAULT if ok is None else Learned.FLAG
        if len(builder.damage) > before:
            status = Status.UNKNOWN
            value = value if is_sound(value) and isinstance(value, (str, dict)) else Unknown("unreadable")
        elif ok is False:
            status = Status.RAISED
        elif isinstance(output, Unknown):
            status = Status.RETURNED
        message = words(error) if status is Status.RAISED else ""
        builder.end(call, value, status=status, learned=learned, message=message, until=until)
