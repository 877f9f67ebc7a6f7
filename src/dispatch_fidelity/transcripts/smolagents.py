"""smolagents: the steps of an agent's memory (``agent.memory.get_full_steps()``, ``get_succinct_steps()``).

- **Where.** Nothing is stored by itself: a program writes the list of steps, one step a line (from a callback), or the
  ``RunResult`` of ``run(..., return_full_result=True)``, whose ``steps`` are these.
- A step with ``task`` is the user's request, one with ``plan`` is planning, one with ``step_number`` an action.
- **Calls** are ``tool_calls``. A step whose tool raised has ``tool_calls: []``; what was called is then only in
  ``model_output_message.tool_calls``. Of several such calls the words of the error name the one that raised; what
  became of the others is unknown. Calls of one step are made together, and ``observations`` joins their results.
- **Failure** is ``error`` of the step: ``AgentToolExecutionError`` and ``AgentExecutionError`` raised,
  ``AgentToolCallError`` and an unknown tool (told by a fixed sentence) never ran.
- **``final_answer``** is the report and no call. Of a code agent it is ``action_output`` of the last step; each of its
  steps is a call of ``python_interpreter``, and tools that the code called are logged nowhere: partial.
- A managed agent is called like a tool; its result begins with a fixed sentence, which tells its name and report.
- **Cut** is an observation with the sentence that the library puts in place of what it leaves out.
- **Closed**: begins with a task, steps are numbered without gaps, and the last one is the final answer.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..model.call import Learned, Status, Unknown
from ..model.run import Damage, ImportedRun
from .building import Call, RunBuilder, as_text
from .entries import conversations
from .harness import arguments, flag, is_sound, items, listed, members, named, words
from .registry import opening

NAME = "smolagents"

NO_INNER_CALLS = "tools that the code of the agent called are not logged, only the code and what it printed"

_FINAL = "final_answer"
_CODE = "python_interpreter"
# Errors that come before anything was called.
_BEFORE_ANY_CALL = frozenset({"AgentParsingError", "AgentGenerationError", "AgentMaxStepsError"})
_RAISED = frozenset({"AgentToolExecutionError", "AgentExecutionError"})
_UNKNOWN_TOOL = re.compile(r"Unknown tool [^\n]{0,200}, should be (?:one of|instead one of)\b")
_CUT = re.compile(r"_This content has been truncated to stay below \d{1,12} characters_")
_MANAGED = re.compile(r"Here is the final answer from your managed agent '([^'\n]{1,200})':\n")


def recognise(head: bytes) -> float:
    """How sure it is: actions have names that no other format has."""
    return max(map(_confidence, opening(head)[:20]), default=0.0)


def _confidence(value: Any) -> float:
    if _is_action(value) or any(map(_is_action, _steps(value)[:20])):
        return 0.9
    # The messages of the first action fill the head, and the end of it is cut.
    found = map(members, _steps(value)[:3])
    return 0.7 if any({"step_number", "model_input_messages"} <= step.keys() for step in found) else 0.0


def _steps(value: Any) -> list[Any]:
    return items(members(value).get("steps")) if isinstance(value, dict) else items(value)


def _is_action(value: Any) -> bool:
    keys = members(value).keys()
    return {"step_number", "tool_calls"} <= keys and bool(keys & {"model_output_message", "is_final_answer"})


def _is_step(value: Any) -> bool:
    keys = members(value).keys()
    return _is_action(value) or ("task" in keys and "task_images" in keys) or {"plan", "timing"} <= keys


def read(path: Path) -> Iterator[ImportedRun]:
    """The run in the file, or each of several that stand one a line."""
    return conversations(
        path,
        NAME,
        _is_step,
        lambda: _Memory(RunBuilder(NAME, path)),
        lambda value, line: _runs(value, line, path),
    )


def _runs(value: Any, line: int, path: Path) -> Iterator[ImportedRun]:
    steps = _steps(value)
    if not any(map(_is_step, steps)):
        return
    memory = _Memory(RunBuilder(NAME, path, run_id=f"run-{line}" if line else "run-0"))
    for step in steps:
        memory.take(step, line)
    state = members(value).get("state")
    if state not in (None, "success"):
        memory.builder.lacks(f"the run did not end by itself: {str(state)[:80]}")
    yield from memory.runs()


@dataclass(slots=True)
class _Memory:
    """Reads steps in order."""

    builder: RunBuilder
    index: int = -1
    number: int = 0
    begun: bool = False
    ended: bool = False

    def note(self, damage: Damage) -> None:
        """A line that cannot be read."""
        self.builder.damage.append(damage)

    def take(self, entry: Any, line: int) -> None:
        """The next step."""
        self.index += 1
        builder = self.builder
        builder.line = line
        if not isinstance(entry, dict) or not is_sound(entry):
            builder.unreadable(f"step {self.index} cannot be read")
        elif "step_number" in entry:
            self._action(entry)
        elif "task" in entry:
            if not isinstance(entry["task"], str):
                builder.unreadable("the task is no text")
            self.begun = self.begun or self.index == 0
            builder.asked(words(entry["task"]))
            self.number, self.ended = 0, False
        elif "plan" in entry or "system_prompt" in entry:
            self.ended = self.ended and "plan" not in entry
        else:
            builder.unreadable(f"step {self.index} is of no known kind")

    def runs(self) -> Iterator[ImportedRun]:
        """The one run."""
        if not self.begun:
            self.builder.lacks("the task is not at the beginning of the file")
        yield self.builder.finish(closed=self.ended)

    def _action(self, step: dict[str, Any]) -> None:
        builder = self.builder
        number = step["step_number"]
        if isinstance(number, bool) or not isinstance(number, int):
            builder.unreadable(f"the number of step {self.index} is none")
        elif number != self.number + 1:
            builder.lacks("the numbers of the steps have gaps")
        self.number = number if isinstance(number, int) else self.number + 1
        before = len(builder.damage)
        error = named(builder, step.get("error"), "the error of a step")
        if error and not (isinstance(error.get("type"), str) and isinstance(error.get("message"), str)):
            builder.unreadable(f"the error of step {self.index} has no type or no message")
        is_final = flag(builder, step, "is_final_answer")
        timing = named(builder, step.get("timing"), "timing")
        shown = listed(builder, step.get("tool_calls"), "tool_calls")
        if "tool_calls" not in step or "error" not in step:
            builder.unreadable(f"step {self.index} does not say what was called, or whether it failed")
        message = named(builder, step.get("model_output_message"), "model_output_message")
        made = shown or listed(builder, message.get("tool_calls"), "the tool_calls of the model")
        asked = message.get("tool_calls")
        if shown and isinstance(asked, list) and len(asked) != len(shown):
            builder.lacks("a step logs other calls than the model asked for")
        calls = [call for item in made if (call := self._call(item, timing)) is not None]
        if any(call.tool == _CODE for call in calls):
            builder.lacks(NO_INNER_CALLS)
        elif not made and step.get("code_action") is not None:
            builder.lacks("the code of some steps was not run, or its call was not logged")
        if error and not made and error.get("type") not in _BEFORE_ANY_CALL:
            builder.lacks("what was called in a step that failed is not in the file")
        doubtful = len(builder.damage) > before
        self._observe(step, calls, error, timing, hidden=not shown, doubtful=doubtful)
        self._finish(step, made, calls, error, is_final=is_final)

    def _call(self, item: Any, timing: dict[str, Any]) -> Call | None:
        """A call that is no final answer; None for one, and for one that cannot be read."""
        builder = self.builder
        item = members(item)
        function = named(builder, item.get("function"), "the function of a call")
        if function.get("name") == _FINAL:
            return None
        if not isinstance(item.get("id"), str):
            builder.unreadable("a call has no id that is text")
        given = function.get("arguments")
        if isinstance(given, str) and function.get("name") == _CODE:
            given = {"code": given}
        given = given if isinstance(given, str) else arguments(builder, given)
        return builder.call(
            function.get("name"),
            given,
            source_id=item.get("id"),
            step=self.index,
            at=_time(timing, "start_time"),
        )

    def _observe(
        self,
        step: dict[str, Any],
        calls: list[Call],
        error: dict[str, Any],
        timing: dict[str, Any],
        *,
        hidden: bool,
        doubtful: bool,
    ) -> None:
        builder = self.builder
        text = step.get("observations")
        if text is not None and not isinstance(text, str):
            builder.unreadable("the observations of a step are no text")
            text, doubtful = None, True
        kind, message = words(error.get("type")), words(error.get("message"))
        guilty = _guilty(calls, message) if hidden else calls
        for call in calls:
            builder.open_call(call.source_id)
            value: Any = text if isinstance(text, str) else Unknown("not captured")
            end: dict[str, Any] = {"joint": len(calls) > 1, "until": _time(timing, "end_time")}
            if doubtful:
                value = value if isinstance(text, str) else Unknown("unreadable")
                builder.end(call, value, status=Status.UNKNOWN, **end)
            elif kind in _RAISED and any(call is each for each in guilty):
                never = bool(_UNKNOWN_TOOL.match(message))
                status = Status.INVALID if never else Status.RAISED
                learned = Learned.TEXT_PATTERN if never else Learned.FLAG
                builder.end(
                    call, text or message, status=status, learned=learned, error=kind, message=message, **end
                )
            elif kind == "AgentToolCallError" and len(calls) == 1:
                builder.end(
                    call,
                    message,
                    status=Status.INVALID,
                    learned=Learned.FLAG,
                    error=kind,
                    message=message,
                    **end,
                )
            elif text is None or (error and hidden) or kind in _RAISED:
                if not error:
                    builder.lacks("the results of some calls were not captured")
                builder.end(call, value, status=Status.UNKNOWN, **end)
            else:
                self._returned(call, text, end)

    def _returned(self, call: Call, text: str, end: dict[str, Any]) -> None:
        managed = None if end["joint"] else _MANAGED.match(text)
        if managed:
            self.builder.delegated(call, managed.group(1), text[managed.end() :])
        status = Status.RETURNED if end["joint"] else None
        self.builder.end(call, text, status=status, cut=bool(_CUT.search(text)), **end)

    def _finish(
        self,
        step: dict[str, Any],
        made: list[Any],
        calls: list[Call],
        error: dict[str, Any],
        *,
        is_final: Any,
    ) -> None:
        builder = self.builder
        functions = [members(members(item).get("function")) for item in made]
        answers = [function for function in functions if function.get("name") == _FINAL]
        self.ended = False
        is_last = words(error.get("type")) == "AgentMaxStepsError"
        if is_last:
            builder.lacks("the run hit its limit of steps")
        elif error or not (answers or is_final):
            return
        given = answers[0].get("arguments") if answers else None
        given = given.get("answer", given) if isinstance(given, dict) else given
        found = step.get("action_output")
        answer = found if found is not None else given
        if answer is None and calls:
            builder.unreadable("the final answer is not in its step")
        self.ended = builder.said(as_text(answer)) and is_final is not False


def _guilty(calls: list[Call], message: str) -> list[Call]:
    """The calls that the words of an error may mean: the only one, or the only one that they name."""
    if len(calls) <= 1:
        return calls
    for wording in (_exactly, _by_name, _as_unknown):
        meant = [call for call in calls if message.startswith(wording(call))]
        if len(meant) == 1:
            return meant
    return []


def _exactly(call: Call) -> str:
    return f"Error executing tool {call.tool!r} with arguments {call.args!s}:"


def _by_name(call: Call) -> str:
    return f"Error executing tool {call.tool!r} "


def _as_unknown(call: Call) -> str:
    return f"Unknown tool {call.tool},"


def _time(timing: dict[str, Any], name: str) -> str:
    value = timing.get(name)
    return str(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else ""
