"""What is kept of the runs of a LangSmith export: as little as their calls, their words and their order need."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from ..model.call import Unknown
from ..model.run import Damage, DamageKind
from .building import as_text
from .langchain_messages import (
    Asked,
    answer_of,
    asked_in,
    message_of,
    output_of,
    request_in,
    text_in,
    tool_message,
)
from .message_items import listed, named

_ANSWER = {"content", "tool_calls", "output", "text", "completion"}
KINDS = frozenset({"tool", "chain", "llm", "retriever", "embedding", "prompt", "parser"})


@dataclass(slots=True)
class Run:
    """What is kept of a run; the messages of a chain go to its trace."""

    id: str
    parent: str
    name: str
    kind: str
    order: tuple[str, str, int]
    start: str
    end: str
    error: Any
    ended: bool = True
    inputs: Any = None
    outputs: Any = None
    said: str = ""
    wanted: str = ""
    call_id: str = ""
    node: str = ""
    asked: list[Asked] = field(default_factory=list)
    line: int = 0


@dataclass(slots=True)
class Trace:
    """The runs of one trace in the order of the file, and the tool messages that its chains passed on."""

    runs: list[Run] = field(default_factory=list)
    answers: dict[str, list[dict[str, Any]]] = field(default_factory=lambda: defaultdict(list))
    fallback: list[Asked] = field(default_factory=list)
    damage: list[Damage] = field(default_factory=list)
    hides: bool = True
    unread: int = 0


def flat(value: Any) -> Iterator[Any]:
    """The runs in a value, those inside others after them."""
    waiting = deque([value])
    while waiting:
        value = waiting.popleft()
        if isinstance(value, list):
            waiting.extend(value)
        elif isinstance(value, dict) and "run_type" not in value and isinstance(value.get("runs"), list):
            waiting.extend(value["runs"])
        else:
            yield value
            waiting.extend(listed(value.get("child_runs")) if isinstance(value, dict) else ())


def trace_of(run: dict[str, Any]) -> str:
    """The trace by the beginning of the dotted order, where no member names it."""
    return named(run, "dotted_order").split(".")[0][-36:]


def keep(trace: Trace, run: dict[str, Any], index: int, line: int) -> None:
    """Add a run to its trace; what has another type than the format gives it is damage."""
    kind, start = named(run, "run_type"), named(run, "start_time")
    wrong = [
        name
        for name in ("id", "run_id", "parent_run_id", "name", "start_time", "end_time", "error")
        if not isinstance(run.get(name), (str, type(None)))
    ] + [name for name in ("inputs", "outputs", "extra") if not isinstance(run.get(name), (dict, type(None)))]
    inputs, outputs, extra = run.get("inputs"), run.get("outputs"), run.get("extra")
    for name in wrong:
        trace.damage.append(Damage(DamageKind.UNREADABLE, f"the {name} of a run cannot be read", line=line))
    metadata = extra.get("metadata") if isinstance(extra, dict) else None
    kept = Run(
        named(run, "id", "run_id") or f"run {index}",
        named(run, "parent_run_id"),
        named(run, "name"),
        kind,
        (start, named(run, "dotted_order"), index),
        start,
        named(run, "end_time"),
        run.get("error") if not {"error", "end_time"} & set(wrong) else Unknown("unreadable"),
        _has_ended(run),
        call_id=named(extra, "tool_call_id"),
        node=_node(metadata),
        line=line,
    )
    trace.runs.append(kept)
    kept.wanted = request_in(inputs)
    trace.hides = trace.hides and not inputs
    if kind == "tool":
        kept.inputs, kept.outputs = inputs, outputs
        answer = tool_message(output_of(outputs))
        kept.call_id = kept.call_id or named(answer, "tool_call_id")
    elif "outputs" not in wrong:
        kept.said = text_in(outputs)
    if kind == "llm":
        answer = answer_of(outputs)
        trace.unread += bool(outputs) and not _ANSWER & answer.keys()
        # The model's call of a structured output is a form of its answer, and nothing runs it.
        if not isinstance(metadata, dict) or "ls_structured_output_format" not in metadata:
            asked = list(asked_in(answer))
            kept.asked = [each for each in asked if each is not None]
            if None in asked:
                reason = "a call that a model asked for cannot be read"
                trace.damage.append(Damage(DamageKind.UNREADABLE, reason, line=line))
    elif kind == "chain":
        _messages(trace, outputs)


def _has_ended(run: dict[str, Any]) -> bool:
    """Whether a run has ended; exports without times tell it by what the run left."""
    if "end_time" in run:
        return run["end_time"] is not None
    return named(run, "status") != "pending" and (run.get("outputs") is not None or bool(run.get("error")))


def _node(metadata: Any) -> str:
    """The nodes of the graph around the one that a run is of: the agent in a graph of several."""
    around = named(metadata, "langgraph_checkpoint_ns").split("|")[:-1]
    return "/".join(part.split(":")[0] for part in around)


def _messages(trace: Trace, outputs: Any) -> None:
    """Keep the tool messages that a chain passed on, each once, and what its model asked for after the last request."""
    value = outputs.get("messages", output_of(outputs)) if isinstance(outputs, dict) else outputs
    asked: list[Asked] = []
    for item in value if isinstance(value, list) else [value]:
        kind, members = message_of(item) or ("", {})
        if kind == "tool":
            known = trace.answers[named(members, "tool_call_id")]
            if not any(_is_same(members, each) for each in known[-8:]):
                known.append(members)
        elif kind == "human":
            asked.clear()
        elif kind == "ai":
            asked += (each for each in asked_in(members) if each is not None)
    if len(asked) > len(trace.fallback):
        trace.fallback = asked


def _is_same(one: dict[str, Any], other: dict[str, Any]) -> bool:
    if named(one, "id") and named(other, "id"):
        return named(one, "id") == named(other, "id")
    return as_text(one.get("content")) == as_text(other.get("content"))
