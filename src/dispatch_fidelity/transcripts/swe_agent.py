"""Trajectories of SWE-agent (``<instance>.traj``) and of mini-swe-agent (``<instance>.traj.json``, ``last_mini_run``).

SWE-agent, ``trajectory[]`` of ``{thought, action, observation, …}``; with ``attempts`` each of them is a run:

- **Calls**: one step with an action is one call; there are no ids. Where ``history`` keeps the tool call of the step,
  that gives name, arguments and id; else it is ``bash`` with the action as its command. A step that the history leaves
  out and that took no time was not run (blocked, or no valid command): invalid. The words of the harness when it stops
  the agent ("Exit due to …", the actions ``exit_cost`` and their like) are neither words nor calls of the agent.
- **No flag for failure**, only fixed sentences: "Your proposed edit has introduced new syntax error(s)" (nothing was
  edited), "The command … was cancelled because it took more than", "EXECUTION TIMED OUT", "Your bash command contained
  syntax errors and was NOT executed", "Interactive operation … is not supported by this environment". All others
  returned, by default: a failing command looks the same as one that succeeds.
- **Closed** when ``info.exit_status`` is ``submitted``; the report is the last thought, as there is no closing report.

mini-swe-agent is read by ``mini_swe_agent``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ..model.call import Learned, Status, Unknown
from ..model.run import DamageKind, ImportedRun
from .building import Call, RunBuilder
from .harness import arguments, items, listed, members, named, run_name, runs_in, spoken, words
from .mini_swe_agent import Mini, is_mini_list
from .registry import opening

NAME = "swe-agent"

NOTE = "the format has no flag for failure: a command that failed is known by a few fixed sentences only"

_SURE, _LIKELY = 0.95, 0.8
_EXITS = re.compile(
    r"exit_(?:api|command_timeout|context|cost|environment_error|error|forfeit|format|total_execution_time)"
    r"|early_exit|skip"
)
_EXIT_WORDS = re.compile(r"Exit(?:ing)? due to \S")
_SENTENCES = (
    ("Your proposed edit has introduced new syntax error", Status.RAISED),
    ("EXECUTION TIMED OUT", Status.CANCELLED),
    ("Your bash command contained syntax errors and was NOT executed", Status.INVALID),
    ("Interactive operation ", Status.REFUSED),
)
_KILLED = " was cancelled because it took more than "
_UNSUPPORTED = "is not supported by this environment"


def recognise(head: bytes) -> float:
    """How sure it is that a file holds steps with an action and an observation, or messages of mini-swe-agent."""
    return max(map(_confidence, opening(head)[:5]), default=0.0)


def _confidence(value: Any) -> float:
    if isinstance(value, list):
        return _LIKELY if is_mini_list(value) else 0.0
    value = members(value)
    steps = [members(step) for step in items(value.get("trajectory"))[:3]]
    steps += [members(step) for each in items(value.get("attempts"))[:1] for step in _steps(each)[:1]]
    if any({"action", "observation"} <= step.keys() for step in steps):
        return _SURE
    info, messages = members(value.get("info")), value.get("messages")
    if words(value.get("trajectory_format")).startswith("mini-swe-agent"):
        return _SURE
    if "mini_version" in info or "minisweagent" in words(members(info.get("config")).get("agent_type")):
        return _SURE
    if {"exit_status", "submission"} <= info.keys() and isinstance(messages, list):
        return _LIKELY
    return 0.0


def read(path: Path) -> Iterator[ImportedRun]:
    """Every run in the file."""
    return runs_in(path, NAME, lambda value, line: _runs(value, line, path))


def _runs(value: Any, line: int, path: Path) -> Iterator[ImportedRun]:
    if isinstance(value, list):
        if is_mini_list(value):
            yield Mini(RunBuilder(NAME, path, line=line)).run(value, {})
        return
    value = members(value)
    if isinstance(value.get("messages"), list):
        name = run_name(value.get("instance_id")) or "run-0"
        yield Mini(RunBuilder(NAME, path, run_id=name, line=line)).run(value["messages"], value)
        return
    attempts = [each for each in items(value.get("attempts")) if isinstance(each, dict)]
    for index, attempt in enumerate(attempts or [value]):
        if "trajectory" in attempt:
            name = f"attempt-{index}" if attempts else "run-0"
            yield _trajectory(attempt, RunBuilder(NAME, path, run_id=name, line=line, notes=[NOTE]))


def _steps(value: Any) -> list[Any]:
    return items(members(value).get("trajectory"))


def _trajectory(value: dict[str, Any], builder: RunBuilder) -> ImportedRun:
    history = listed(builder, value.get("history"), "history")
    if value.get("history") is None:
        builder.lacks("the history, which holds the tool calls of the steps, is not in the file")
    builder.asked(_request(history, builder))
    turns = [
        turn
        for turn in history
        if members(turn).get("action") is not None and not members(turn).get("is_demo")
    ]
    steps = listed(builder, value.get("trajectory"), "trajectory")
    if not steps:
        builder.defect(DamageKind.EMPTY, "the trajectory holds no step")
    place = untold = 0
    for number, step in enumerate(steps):
        if not isinstance(step, dict):
            builder.unreadable(f"step {number} is no object")
            continue
        turn = members(turns[place]) if place < len(turns) else {}
        kept = bool(turn) and turn.get("action") == step.get("action")
        place += kept
        ran = _step(number, step, turn if kept else {}, builder, told=bool(turns))
        untold += ran and bool(turns) and not kept
    if len({bool(turn.get("tool_calls")) for turn in turns}) > 1:
        builder.lacks("the tool calls of some steps are not kept")
    if untold or place < len(turns):
        builder.lacks("the history and the steps do not agree")
    exit_status = named(builder, value.get("info"), "info").get("exit_status")
    if exit_status is not None and not isinstance(exit_status, str):
        builder.unreadable("the exit status is no text")
    elif exit_status is not None and exit_status != "submitted":
        builder.lacks(f"the run did not end by itself: {exit_status[:80]}")
    elif steps and "submit" not in words(members(steps[-1]).get("action")):
        builder.lacks("the step that submitted is not in the file")
    return builder.finish(closed=exit_status == "submitted")


def _request(history: list[Any], builder: RunBuilder) -> str:
    """The first message of the user that is no demonstration."""
    if not all(isinstance(turn, dict) for turn in history):
        builder.unreadable("a part of the history is no object")
    for turn in map(members, history):
        if turn.get("role") == "user" and not turn.get("is_demo"):
            return spoken(builder, turn.get("content"), "the request")
    return ""


def _step(
    number: int, step: dict[str, Any], turn: dict[str, Any], builder: RunBuilder, *, told: bool
) -> bool:
    """Whether one step ran; ``turn`` is what the history keeps of it, ``told`` whether it keeps any step."""
    texts = {}
    for name in ("thought", "action", "observation"):
        texts[name] = words(step.get(name))
        if not isinstance(step.get(name), str):
            builder.unreadable(f"the {name} of step {number} is no text")
    thought, action = texts["thought"], texts["action"]
    if _EXITS.fullmatch(action.strip()) or (not action.strip() and _EXIT_WORDS.match(thought)):
        return False
    builder.said(thought)
    call = _action(number, action, turn, builder) if action.strip() else None
    if call is None:
        return False
    spent = step.get("execution_time")
    if not isinstance(step.get("observation"), str):
        builder.end(call, Unknown("unreadable"), status=Status.UNKNOWN)
    elif told and not turn and type(spent) in (int, float) and spent == 0 and not texts["observation"]:
        builder.end(call, status=Status.INVALID, learned=Learned.VALUE)
        return False
    else:
        _observed(call, texts["observation"], builder)
    return True


def _action(number: int, action: str, turn: dict[str, Any], builder: RunBuilder) -> Call | None:
    made = listed(builder, turn.get("tool_calls"), f"tool_calls of step {number}")
    inner = members(made[0]).get("function") if len(made) == 1 else None
    if made and not (isinstance(inner, dict) and isinstance(inner.get("name"), str)):
        builder.unreadable(f"the tool call of step {number} cannot be read")
    elif made:
        given = arguments(builder, members(inner).get("arguments"), str)
        return builder.call(members(inner)["name"], given, source_id=members(made[0]).get("id"), step=number)
    return builder.call("bash", {"command": action.strip()}, step=number)


def _observed(call: Call, text: str, builder: RunBuilder) -> None:
    for sentence, status in _SENTENCES:
        if text.startswith(sentence) and (status is not Status.REFUSED or _UNSUPPORTED in text):
            builder.end(call, text, status=status, learned=Learned.TEXT_PATTERN, message=text)
            return
    if text.startswith("The command ") and _KILLED in text:
        builder.end(call, text, status=Status.CANCELLED, learned=Learned.TEXT_PATTERN, message=text)
        return
    builder.end(call, text)
