"""LangSmith runs: one run a line, a list, an object with ``runs``, or a tree (``child_runs``).

- They are stored by the service and taken out of it: ``client.list_runs`` or ``read_run``, ``/runs/query``, the export
  of the command line (``run_id`` instead of ``id``); in any order. Each ``trace_id`` is a run here.
- **Spans may be dropped** (sampling, filters, a background queue): the record is sampled, and absence accuses nobody.
- A call is a run of type ``tool``; what the model asked for stands in the outputs of the ``llm`` runs. They join by
  ``extra.tool_call_id`` or the id in the output, older ones by name and order. What was asked for without a run:
  a tool that does not exist (the answer is in the messages of a ``chain``), arguments that could not be read
  (``invalid_tool_calls``), else unknown.
- **Failure**: ``error``, but a handled one leaves it null: then ``outputs.output.status`` or the same call's message
  says it; a text without a status is read as harnesses write failures. ``GraphInterrupt`` is a pause and
  ``ParentCommand`` a hand-over, although both stand in ``error``. Without ``end_time`` a run is open.
- Arguments are the model's where the run's inputs hold them (and what was injected besides), else the inputs.
- ``LANGSMITH_HIDE_INPUTS`` and ``LANGSMITH_HIDE_OUTPUTS``, and exports without inputs and outputs, capture nothing.
- **Agents**: a tool run that holds model runs and calls of their own is an agent's: a run of its own, its output the
  report. The report of the trace is the text of its root, else of its last model run.
"""

from __future__ import annotations

import re
from collections import defaultdict, deque
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..errors import InvalidInputError
from ..jsonio import Defect
from ..model.call import Learned, Status, Unknown
from ..model.frozen import UNSET
from ..model.run import Completeness, Damage, DamageKind, ImportedRun
from .building import Call, RunBuilder, result_of
from .langchain_messages import (
    Asked,
    judge,
    output_of,
    text_in,
    tool_message,
)
from .langsmith_runs import KINDS, Run, Trace, flat, keep, trace_of
from .message_files import run_name
from .message_items import Exchange, named, surest, words_of
from .registry import opening, values

NAME = "langsmith"
NOTE = "spans may be dropped on the way: what is not in the export may still have happened"
_HIDDEN = (
    "arguments or results are not captured: unset LANGSMITH_HIDE_INPUTS and LANGSMITH_HIDE_OUTPUTS, "
    "and export with inputs and outputs"
)
_PAUSES = ("GraphInterrupt(", "NodeInterrupt(", "Interrupt(")
_HAND_OVER = "ParentCommand("
_ERROR = re.compile(r"[A-Za-z_][\w.]{0,80}(?=\()")
_CANCELLED = ("CancelledError", "KeyboardInterrupt")


def recognise(head: bytes) -> float:
    """How sure it is that the file is of this format: by the members of a run."""
    return surest(opening(head), _confidence)


def _confidence(value: Any) -> float:
    if isinstance(value, list):
        return surest(value[:20], lambda item: _confidence(item) if isinstance(item, dict) else 0.0)
    if not isinstance(value, dict):
        return 0.0
    if named(value, "run_type") in KINDS and {"id", "run_id"} & value.keys():
        own = {"trace_id", "dotted_order", "parent_run_id", "child_runs", "session_id"} & value.keys()
        return 0.95 if own else 0.6
    return _confidence(value["runs"]) if isinstance(value.get("runs"), list) else 0.0


def read(path: Path) -> Iterator[ImportedRun]:
    """Every trace in the file, and every agent in it, as a run.

    Raises MissingInputError when it cannot be opened, and InvalidInputError when it is torn, too large, or holds no
    run of LangSmith.
    """
    traces: dict[str, Trace] = {}
    damage: list[Damage] = []
    count = 0
    for value, line, broken, _ in values(path):
        if broken is not None:
            damage.append(broken)
            continue
        for run in flat(value):
            if not isinstance(run, dict) or named(run, "run_type") not in KINDS:
                reason = (
                    run.reason if isinstance(run, Defect) else "this is no run with a type of this format"
                )
                damage.append(Damage(DamageKind.UNREADABLE, reason, line=line))
                continue
            count += 1
            trace = traces.setdefault(named(run, "trace_id") or trace_of(run), Trace())
            keep(trace, run, count, line)
    if not traces:
        raise InvalidInputError(f"{str(path)!r} holds no runs of LangSmith")
    for name, trace in traces.items():
        trace.damage = [*damage, *trace.damage]
        yield from _Reading(path, name, trace).runs()


@dataclass(slots=True)
class _Reading:
    """Builds the runs of one trace: the root agent's, and one for each tool run that is an agent's."""

    path: Path
    name: str
    trace: Trace
    by_id: dict[str, Run] = field(default_factory=dict)
    agents: dict[str, list[Run]] = field(default_factory=dict)
    _above: dict[str, tuple[str, bool]] = field(default_factory=dict)

    def runs(self) -> Iterator[ImportedRun]:
        """The root's run first, then those of its agents in order."""
        self.trace.runs.sort(key=lambda run: run.order)
        self.by_id = {run.id: run for run in self.trace.runs}
        self.agents = {agent: [] for agent in ["", *self._find_agents()]}
        for run in self.trace.runs:
            owner, helps = self.above(run.parent)
            # A model that a tool uses for itself says nothing and asks for nothing in its agent's name.
            if run.kind == "tool" or (run.kind == "llm" and not helps):
                self.agents[owner].append(run)
        for agent, found in self.agents.items():
            yield self._build(self.by_id.get(agent), found)

    def _find_agents(self) -> list[str]:
        """The tool runs that hold a model run and a tool run."""
        holds: dict[str, set[str]] = defaultdict(set)
        for run in self.trace.runs:
            parent = self.by_id.get(run.parent) if run.kind in ("llm", "tool") else None
            while parent is not None and run.kind not in holds[parent.id]:
                holds[parent.id].add(run.kind)
                parent = self.by_id.get(parent.parent)
        return [run.id for run in self.trace.runs if run.kind == "tool" and len(holds[run.id]) == 2]

    def above(self, start: str) -> tuple[str, bool]:
        """The agent that the children of a run belong to, empty for the root, and whether they are inside its tool."""
        path: dict[str, None] = {}
        at = start
        while at in self.by_id and at not in self.agents and at not in self._above and at not in path:
            path[at] = None
            at = self.by_id[at].parent
        found = (at, False) if at in self.agents else self._above.get(at, ("", False))
        for at in reversed(path):
            found = (found[0], found[1] or self.by_id[at].kind == "tool")
            self._above[at] = found
        return found

    def _build(self, agent: Run | None, runs: list[Run]) -> ImportedRun:
        name = run_name(agent.id if agent else self.name) or "run-0"
        builder = RunBuilder(NAME, self.path, name, notes=[NOTE])
        builder.damage += self.trace.damage
        root = agent or next((run for run in self.trace.runs if run.parent not in self.by_id), None)
        if agent is not None:
            builder.agent, builder.parent = agent.id, self.above(agent.parent)[0] or "agent"
        elif root is not None and root.parent:
            builder.lacks("the root of the trace is not in the file")
        builder.asked(root.wanted if root else "")
        calls = _Calls(builder, self.trace, self.agents.keys())
        calls.read(runs, self.trace.fallback if agent is None else [])
        for run in runs:
            if run.kind == "llm":
                builder.said(run.said)
        if agent is not None:
            builder.said(_report(agent))
        elif root is not None and not root.parent:
            builder.said(root.said or _report(root))
        if self.trace.unread:
            builder.lacks(f"{self.trace.unread} model runs have outputs in a shape that is not known")
        return builder.finish(closed=root is not None and bool(root.end), completeness=Completeness.SAMPLED)


def _report(run: Run) -> str:
    """The text that a tool run gave back."""
    message = tool_message(output_of(run.outputs))
    return (words_of(message.get("content")) or "") if message else text_in(run.outputs)


@dataclass(slots=True)
class _Calls:
    """Joins what the models of an agent asked for with its tool runs, and builds a call of each."""

    builder: RunBuilder
    trace: Trace
    agents: Collection[str]
    step: int = 0

    def read(self, runs: list[Run], fallback: list[Asked]) -> None:
        """Every call in the order of the runs; ``fallback`` is what was asked for where no model run says it."""
        if not any(run.kind == "llm" for run in runs):
            runs = [Run("", "", "", "llm", ("", "", 0), "", "", "", asked=fallback), *runs]
        self._match(runs)
        for run in runs:
            self.builder.line = run.line
            if run.kind == "tool":
                self._tool(run)
                continue
            self.step += 1
            for asked in run.asked:
                asked.step = self.step
                if not asked.met:
                    self._unmet(asked)

    def _match(self, runs: list[Run]) -> None:
        """Which tool run each asked call became: by its id, where a run has none by its name and order."""
        waiting: dict[str, deque[Asked]] = defaultdict(deque)
        for run in runs:
            for asked in run.asked:
                if asked.invalid is None:
                    waiting[f"id {asked.call_id}"].append(asked)
                    waiting[f"name {asked.tool}"].append(asked)
            if run.kind != "tool":
                continue
            found = waiting.get(f"id {run.call_id}" if run.call_id else f"name {run.name}", deque())
            while found and found[0].met:
                found.popleft()
            if found:
                found[0].met = True
                run.asked = [found.popleft()]

    def _tool(self, run: Run) -> None:
        asked = run.asked[0] if run.asked else None
        call = self.builder.call(
            run.name,
            self._args(run, asked),
            source_id=run.call_id,
            step=asked.step if asked else -1,
            agent=run.node,
            at=run.start,
        )
        if call is None:
            return
        self._end(call, run, self._answer(run.call_id))
        call.until = run.end
        if run.id in self.agents:
            self.builder.delegated(call, run.id, _report(run))

    def _args(self, run: Run, asked: Asked | None) -> Any:
        inputs = run.inputs
        if not isinstance(inputs, (dict, type(None))):
            return Unknown("unreadable")
        given = self.builder.arguments(asked.args) if asked else None
        if isinstance(given, dict):
            bare = inputs is not None and inputs.keys() == {"input"} and isinstance(inputs["input"], str)
            injected = inputs is not None and all(inputs.get(name) == value for name, value in given.items())
            if not inputs or bare or injected:
                return given
        if inputs or not self.trace.hides:
            return inputs
        return self._hidden()

    def _hidden(self) -> Unknown:
        if _HIDDEN not in self.builder.notes:
            self.builder.notes.append(_HIDDEN)
        return Unknown("not captured")

    def _answer(self, call_id: str) -> dict[str, Any] | None:
        """The message that answered a call, where there is one and no other."""
        found = self.trace.answers.get(call_id, []) if call_id else []
        return found[0] if len(found) == 1 else None

    def _unmet(self, asked: Asked) -> None:
        """A call that was asked for and has no run."""
        call = self.builder.call(asked.tool, asked.args, source_id=asked.call_id, step=self.step)
        if call is None:
            return
        answer = self._answer(asked.call_id)
        if answer is not None:
            self._message(call, answer)
        if asked.invalid is not None:
            message = call.message or asked.invalid
            self.builder.end(call, call.result, status=Status.INVALID, learned=Learned.FLAG, message=message)
        elif answer is None:
            call.status = Status.UNKNOWN
            self.builder.lacks("calls that a model asked for have no run")

    def _end(self, call: Call, run: Run, answer: dict[str, Any] | None) -> None:
        """How a tool run ended."""
        exchange, error, output = Exchange(self.builder), run.error, output_of(run.outputs)
        message = tool_message(output)
        if isinstance(error, Unknown) or not isinstance(run.outputs, (dict, type(None))):
            exchange.unknown(call)
        elif not run.ended or (error and error.startswith(_PAUSES)):
            self.builder.lacks("calls wait, or were running when the runs were exported")
        elif error and error.startswith(_HAND_OVER):
            self.builder.end(call, error, learned=Learned.FLAG)
        elif error:
            self._raised(call, error, answer)
        elif message is not None:
            self._message(call, message)
            if answer is not None and answer.get("content") != message.get("content"):
                call.shown = result_of(answer.get("content"))
        elif answer is not None:
            self._message(call, answer)
            if run.outputs and isinstance(output, str) and output != call.result and call.end >= 0:
                call.shown, call.result = call.result, output
        elif not run.outputs:
            self.builder.end(call, self._hidden(), learned=Learned.FLAG)
        else:
            exchange.result(call, output)

    def _raised(self, call: Call, error: str, answer: dict[str, Any] | None) -> None:
        name = _ERROR.match(error)
        status = Status.CANCELLED if name and name.group() in _CANCELLED else Status.RAISED
        shown = result_of(answer.get("content")) if answer else UNSET
        self.builder.end(
            call,
            status=status,
            learned=Learned.FLAG,
            error=name.group() if name else "",
            message=error,
            shown=shown,
        )

    def _message(self, call: Call, message: dict[str, Any]) -> None:
        """The end of a call by the message of its tool."""
        exchange, content, status = Exchange(self.builder), message.get("content"), message.get("status")
        texts = words_of(content)
        if not isinstance(content, (str, list)) or texts is None or status not in (None, "success", "error"):
            exchange.unknown(call, "the message of a tool cannot be read")
            return
        exchange.result(call, content, flagged=status is not None, failed=status == "error")
        judge(call, texts)
