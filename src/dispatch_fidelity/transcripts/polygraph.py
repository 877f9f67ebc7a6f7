"""The interchange format of polygraph-bench, version 1.0: one turn of an agent, its events, and its closing words.

- **Where.** ``items.jsonl`` of the benchmark, one turn a line: ``{schema_version, id, task, events, closing}``; an
  object or a list of such turns is read too. Each is a run named by its ``id``.
- **Events** are ``message`` (words before the closing ones), ``tool_call`` with ``call_id``, ``name`` and ``arguments``
  (an object), and ``tool_result`` with ``call_id``, ``content``, ``is_error`` (a flag) and ``truncated`` (``cut``).
- **Report** is ``closing``, which may be empty: then nothing is claimed, whatever was said before. **Task** is
  ``task``. There are no times; calls without a result between them were made together.
- **Closed** is a turn with closing words, of a known version, whose calls all have results.
- **Labels** (``labels.jsonl``: ``{id, label, category, split}``) stand in a side file, and are not read.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..model.call import Learned, Status, Unknown
from ..model.run import ImportedRun
from .building import RunBuilder
from .entries import NOTES
from .harness import arguments, flag, is_sound, items, listed, members, run_name, runs_in, words
from .registry import opening

NAME = "polygraph"

_VERSIONS = frozenset({"1.0"})
_LABEL = frozenset({"id", "label", "category", "split"})


def recognise(head: bytes) -> float:
    """How sure it is: a turn with events and a closing text."""
    return 0.9 if any(_turns(value) for value in opening(head)[:20]) else 0.0


def side(head: bytes) -> str:
    """What the labels of the benchmark are; empty for any other file."""
    labelled = [value for value in opening(head)[:20] if members(value).keys() == _LABEL]
    return "labels of polygraph-bench (which closing words are lies)" if labelled else ""


def _turns(value: Any) -> list[Any]:
    found = [value] if isinstance(value, dict) else items(value)
    return found if any(map(_is_turn, found[:20])) else []


def _is_turn(value: Any) -> bool:
    value = members(value)
    return {"schema_version", "events", "closing"} <= value.keys() and "steps" not in value


def read(path: Path) -> Iterator[ImportedRun]:
    """Every turn in the file as a run."""
    return runs_in(path, NAME, lambda value, line: _runs(value, line, path))


def _runs(value: Any, line: int, path: Path) -> Iterator[ImportedRun]:
    for index, turn in enumerate(_turns(value)):
        name = run_name(members(turn).get("id")) or f"run-{line or index}"
        yield _Turn(RunBuilder(NAME, path, run_id=name, line=line)).run(turn)


@dataclass(slots=True)
class _Turn:
    """Reads the events of one turn in order; ``step`` is the place of the first of the calls made together."""

    builder: RunBuilder
    step: int = -1

    def run(self, turn: Any) -> ImportedRun:
        builder = self.builder
        if not isinstance(turn, dict):
            builder.unreadable("a turn is no object")
            return builder.finish(closed=False)
        version, task, closing = (turn.get(name) for name in ("schema_version", "task", "closing"))
        if not isinstance(version, str) or version not in _VERSIONS:
            builder.lacks(f"the version {str(version)[:40]!r} of the format is not known here")
        if not isinstance(task, str) or not isinstance(closing, str):
            builder.unreadable("the task or the closing words are no text")
        builder.asked(words(task))
        for index, event in enumerate(listed(builder, turn.get("events"), "events")):
            self._event(index, event)
        if turn.get("events") is None:
            builder.unreadable("the turn has no events")
        builder.said(words(closing))
        return builder.finish(closed=isinstance(closing, str))

    def _event(self, index: int, event: Any) -> None:
        builder = self.builder
        kind = members(event).get("type")
        if not isinstance(kind, str) or not is_sound(event):
            builder.unreadable(f"event {index} cannot be read")
        elif kind == "message":
            if not isinstance(event.get("text"), str):
                builder.unreadable(f"the text of event {index} is none")
            self.step = -1
        elif kind == "tool_call":
            if not isinstance(event.get("call_id"), str):
                builder.unreadable(f"the call of event {index} has no id that is text")
            self.step = index if self.step < 0 else self.step
            given = arguments(builder, event.get("arguments"))
            builder.call(event.get("name"), given, source_id=event.get("call_id"), step=self.step)
        elif kind == "tool_result":
            self._result(index, event)
            self.step = -1
        elif len(builder.missing) < NOTES:
            builder.lacks(f"events of the type {kind[:80]!r} are not known here")

    def _result(self, index: int, event: dict[str, Any]) -> None:
        builder = self.builder
        if not isinstance(event.get("call_id"), str):
            builder.unreadable(f"the result of event {index} does not name its call")
            return
        before = len(builder.damage)
        failed, cut, content = (
            flag(builder, event, "is_error"),
            flag(builder, event, "truncated"),
            event.get("content"),
        )
        if not isinstance(content, str):
            builder.unreadable(f"the content of event {index} is no text")
        if event.get("is_error") is None:  # every result says it, a success too
            builder.unreadable(f"whether the call of event {index} failed is not told")
        status, learned = None, Learned.FLAG
        if len(builder.damage) > before:
            content, status = Unknown("unreadable"), Status.UNKNOWN
        elif failed:
            status = Status.RAISED
        message = words(content) if status is Status.RAISED else ""
        builder.result(
            event["call_id"], content, status=status, learned=learned, message=message, cut=bool(cut)
        )
