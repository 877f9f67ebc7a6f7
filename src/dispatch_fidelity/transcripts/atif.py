"""ATIF, the Agent Trajectory Interchange Format of Harbor, versions 1.4 to 1.8.

Harbor writes ``agent/trajectory.json`` into the folder of a trial, NeMo Relay ``trajectory-<session>.json``; one
trajectory a file, a list or an object of several, or one a line. What is read, and how:

- **Calls** are ``tool_calls`` of steps whose ``source`` is ``agent``; equal ``step`` means made together. Results stand
  in the ``observation`` of the same step, by ``source_call_id``. Of calls that share an id each gets the next result,
  which is damage. A result without an id belongs to the one call of its step; of several calls it is a joint one.
- **No flag for failure**: a result that says itself that it failed is one, any other call returned, by default. A
  result without ``content`` was not captured, and how that call ended is unknown.
- **``finish``** of OpenHands is the end of its run and holds the report; it is no call. ``mark_task_complete`` of
  Terminus is a call; the second one in a row, which confirms the first, is the end.
- **Raw content**: Terminus can leave ``tool_calls`` out and keep the commands inside ``message``. An observation of an
  agent's step without calls shows that, and the record is partial. A parsing error that it reports ran nothing.
- **Copied context** (``is_copied_context``) is what the agent was shown of a trajectory before it: words there are no
  report, calls there are kept as calls of another agent (``behalf``), and the record is partial.
- **Sub-agents** are embedded (``subagent_trajectories``), in the same file, or in files named by
  ``subagent_trajectory_ref``: each is a run of its own, and the call whose result names it has delegated to it.
- **Closed**: begins with a step of the system or the user, ends in a text of the agent without calls (or one of the
  ends above), step ids are 1 to n, as many as ``total_steps`` says, and no ``continued_trajectory_ref``.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..model.call import Status, Unknown
from ..model.frozen import changed
from ..model.run import DamageKind, ImportedRun
from .building import Call, RunBuilder, result_of
from .harness import (
    arguments,
    is_sound,
    is_spoken,
    items,
    listed,
    members,
    named,
    run_name,
    runs_in,
    spoken,
    words,
)
from .registry import opening, values

NAME = "atif"

NOTE = "the format has no flag for failure: a failure is known by the fields of a result only"

_VERSIONS = frozenset(f"ATIF-v1.{minor}" for minor in range(9))
_PARSING = "Previous response had parsing errors"
_CONFIRM = "Are you sure you want to mark the task as complete"


def recognise(head: bytes) -> float:
    """How sure it is: every trajectory begins with the version of the format."""
    return 0.95 if any(map(_trajectories, opening(head)[:20])) else 0.0


def _trajectories(value: Any) -> list[dict[str, Any]]:
    """The trajectories in a value: itself, or the items of a list or an object; beside one, any that has steps."""
    if _is_trajectory(value):
        return [value]
    inner = value if isinstance(value, list) else list(value.values()) if isinstance(value, dict) else []
    if not any(map(_is_trajectory, inner)):
        return []
    return [each for each in inner if isinstance(each, dict) and "steps" in each]


def _is_trajectory(value: Any) -> bool:
    return isinstance(value, dict) and words(value.get("schema_version")).startswith("ATIF-")


def read(path: Path) -> Iterator[ImportedRun]:
    """Every trajectory in the file as a run, a sub-agent's after its parent's."""
    return runs_in(path, NAME, lambda value, line: _runs(value, line, path))


def companions(path: Path) -> Iterator[Path]:
    """The files beside this one that it names: where the run goes on, and the trajectories of its sub-agents."""
    seen = {path.name}
    for value in values(path):
        for name in _references(value.value):
            beside = path.parent / name
            # A name, never a way to another folder.
            if name not in seen and Path(name).name == name and beside.is_file():
                seen.add(name)
                yield beside


def _references(value: Any) -> Iterator[str]:
    for trajectory in _trajectories(value):
        yield words(trajectory.get("continued_trajectory_ref"))
        for step in items(trajectory.get("steps")):
            for result in items(members(members(step).get("observation")).get("results")):
                for reference in items(members(result).get("subagent_trajectory_ref")):
                    yield words(members(reference).get("trajectory_path"))


def _runs(value: Any, line: int, path: Path) -> Iterator[ImportedRun]:
    trajectories = _trajectories(value)
    parents = {
        name: _identity(trajectory)
        for trajectory in trajectories
        for step in items(trajectory.get("steps"))
        for result in items(members(members(step).get("observation")).get("results"))
        for name in _agents(result)
    }
    for index, trajectory in enumerate(trajectories):
        name = _identity(trajectory)
        parent = parents.get(name, "")
        yield from _embedded(trajectory, parent if parent != name else "", f"run-{index}", line, path)


def _embedded(
    trajectory: dict[str, Any], parent: str, fallback: str, line: int, path: Path
) -> Iterator[ImportedRun]:
    name = _identity(trajectory)
    inner = members(trajectory.get("agent"))
    parent = parent or words(members(inner.get("extra")).get("parent_session_id"))
    agent = (name if parent else words(inner.get("name"))) or "agent"
    builder = RunBuilder(
        NAME, path, run_id=run_name(name) or fallback, agent=agent, parent=parent, line=line, notes=[NOTE]
    )
    yield _Trajectory(builder, trajectory).run()
    for index, child in enumerate(items(trajectory.get("subagent_trajectories"))):
        yield from _embedded(members(child), name or agent, f"{fallback}.{index}", line, path)


def _identity(trajectory: dict[str, Any]) -> str:
    return words(trajectory.get("trajectory_id")) or words(trajectory.get("session_id"))


def _agents(result: Any) -> list[str]:
    """The agents that a result says to come from, by the most exact name that it has of each."""
    references = map(members, items(members(result).get("subagent_trajectory_ref")))
    names = [
        words(each.get("trajectory_id"))
        or words(each.get("session_id"))
        or words(each.get("trajectory_path"))
        for each in references
    ]
    return [name for name in names if name]


@dataclass(slots=True)
class _Trajectory:
    """Reads the steps of one trajectory in order; ``before`` takes those that were copied from another one."""

    builder: RunBuilder
    data: dict[str, Any]
    ended: bool = False
    confirming: bool = False
    raw: int = 0
    before: RunBuilder = field(init=False)

    def __post_init__(self) -> None:
        self.before = RunBuilder(NAME, self.builder.path, agent="before", line=self.builder.line)

    def run(self) -> ImportedRun:
        builder, data = self.builder, self.data
        version = data.get("schema_version")
        if not isinstance(version, str) or version not in _VERSIONS:
            builder.lacks(f"the version {str(version)[:40]!r} of the format is not known here")
        agent = named(builder, data.get("agent"), "agent")
        for tool in listed(builder, agent.get("tool_definitions"), "tool_definitions"):
            name = members(members(tool).get("function")).get("name")
            builder.tools += [name] if isinstance(name, str) and name else []
        steps = listed(builder, data.get("steps"), "steps")
        if not steps:
            builder.defect(DamageKind.EMPTY, "the trajectory holds no step")
        for number, step in enumerate(steps):
            self._step(number, step)
        self._lacks(steps)
        builder.damage += self.before.damage
        found = builder.finish(closed=self.ended)
        copied = self.before.finish(closed=False).record.executions
        return changed(found, behalf=copied) if copied else found

    def _lacks(self, steps: list[Any]) -> None:
        builder, data = self.builder, self.data
        if steps and members(steps[0]).get("source") not in ("system", "user"):
            builder.lacks("the beginning of the run is not in the file")
        if [members(step).get("step_id") for step in steps] != list(range(1, len(steps) + 1)):
            builder.lacks("the numbers of the steps have gaps")
        total = named(builder, data.get("final_metrics"), "final_metrics").get("total_steps")
        if total is not None and total != len(steps):
            builder.lacks(f"the run is said to have {str(total)[:20]} steps, the file holds {len(steps)}")
        if data.get("continued_trajectory_ref") is not None:
            builder.lacks("the run goes on in another file")
        if self.raw:
            builder.lacks(
                f"{self.raw} steps have results and no calls: what they ran is inside their words only"
            )
        for child in listed(builder, data.get("subagent_trajectories"), "subagent_trajectories"):
            if not isinstance(child, dict):
                builder.unreadable("a trajectory of a sub-agent cannot be read")

    def _step(self, number: int, step: Any) -> None:
        builder = self.builder
        if not isinstance(step, dict):
            builder.unreadable(f"step {number} is no object")
            return
        copied = step.get("is_copied_context")
        if copied is not None and not isinstance(copied, bool):
            builder.unreadable(f"whether step {number} was copied cannot be read")
        source, message = step.get("source"), step.get("message")
        text = spoken(builder, message, f"the message of step {number}")
        if message is None:
            builder.unreadable(f"step {number} has no message")
        if source == "agent":
            if copied is True:
                builder.lacks("it goes on from another trajectory, of which it holds copied steps")
            self._turn(number, step, text, self.before if copied is True else builder)
        elif source == "user":
            builder.asked(text)
            self.ended = False
        elif source != "system":
            builder.unreadable(f"step {number} is of no known source: {str(source)[:40]!r}")
        if source != "agent":
            self._observe(number, step, [], builder, whole=False)
            if step.get("tool_calls"):
                builder.unreadable(f"step {number} has calls and is not the agent's")

    def _turn(self, number: int, step: dict[str, Any], text: str, builder: RunBuilder) -> None:
        made = listed(builder, step.get("tool_calls"), f"tool_calls of step {number}")
        builder.said(text)
        calls = []
        finished = False
        for item in made:
            if self._finishes(item):
                given = members(arguments(builder, item.get("arguments")))
                builder.said(spoken(builder, given.get("message"), "the last words of the agent"))
                finished = True
                continue
            call = self._call(number, step, item, builder)
            if call is not None:
                calls.append(call)
        whole = len(calls) + finished == len(made)
        shown = self._observe(number, step, calls, builder, whole=whole)
        marked = bool(calls) and all(call.tool == "mark_task_complete" for call in calls)
        self.ended = (bool(text.strip()) and not made) or finished or (marked and self.confirming)
        self.confirming = marked and _CONFIRM in shown

    def _finishes(self, item: Any) -> bool:
        name = words(members(self.data.get("agent")).get("name"))
        return name.startswith("openhands") and members(item).get("function_name") == "finish"

    def _call(self, number: int, step: dict[str, Any], item: Any, builder: RunBuilder) -> Call | None:
        if not isinstance(item, dict):
            builder.unreadable(f"a call of step {number} is no object")
            return None
        source_id = item.get("tool_call_id")
        if not isinstance(source_id, str):
            builder.unreadable(f"a call of step {number} has no id that is text")
        given = arguments(builder, item.get("arguments"))
        return builder.call(
            item.get("function_name"), given, source_id=source_id, step=number, at=step.get("timestamp")
        )

    def _observe(
        self, number: int, step: dict[str, Any], calls: list[Call], builder: RunBuilder, *, whole: bool
    ) -> str:
        """Gives the results of a step to its calls; its texts. ``whole``: every call of the step was read."""
        observation = named(builder, step.get("observation"), f"the observation of step {number}")
        waiting: dict[str, deque[Call]] = {}
        for call in calls:
            waiting.setdefault(call.source_id, deque()).append(call)
        if any(len(queue) > 1 for queue in waiting.values()):
            builder.defect(DamageKind.LIFECYCLE, f"calls of step {number} share an id")
        unnamed, texts = [], []
        for result in listed(builder, observation.get("results"), f"the results of step {number}"):
            if not isinstance(result, dict):
                builder.unreadable(f"a result of step {number} is no object")
                whole = False
                continue
            texts.append(spoken(builder, result.get("content"), f"the content of a result of step {number}"))
            source_id = result.get("source_call_id")
            if source_id is None:
                unnamed.append(result)
                continue
            if not isinstance(source_id, str):
                builder.unreadable(f"a result of step {number} has no id that is text")
                continue
            queue = waiting.get(source_id)
            found = queue.popleft() if queue else builder.open_call(source_id)
            if found is None:
                builder.defect(DamageKind.LIFECYCLE, f"a result is of no open call: {source_id[:80]!r}")
            else:
                self._end(found, [result], builder, joint=False)
        shown = "\n".join(texts)
        if unnamed:
            self._unnamed(unnamed, [call for call in calls if call.end < 0], shown, builder, whole=whole)
        return shown

    def _unnamed(
        self, results: list[Any], still: list[Call], shown: str, builder: RunBuilder, *, whole: bool
    ) -> None:
        if not still and whole:
            self.raw += not shown.lstrip().startswith(_PARSING)
        for call in still:
            self._end(call, results, builder, joint=len(still) > 1 or not whole)

    def _end(self, call: Call, results: list[dict[str, Any]], builder: RunBuilder, *, joint: bool) -> None:
        for result in results:
            for agent in _agents(result):
                builder.delegated(call, agent)
        contents = [result.get("content") for result in results]
        if all(content is None for content in contents):
            builder.lacks("the content of some results was not captured")
            builder.end(call, Unknown("not captured"), status=Status.UNKNOWN)
            return
        sound = all(is_spoken(content) and is_sound(content) for content in contents)
        if not sound:
            builder.unreadable("the content of a result cannot be read")
            builder.end(call, Unknown("unreadable"), status=Status.UNKNOWN, joint=joint)
            return
        kept = [result_of(content) for content in contents]
        builder.end(call, kept[0] if len(kept) == 1 else kept, joint=joint)
