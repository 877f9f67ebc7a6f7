"""Spans in the transcript of an inspect_ai sample: which events are of which agent."""

from __future__ import annotations

from collections import defaultdict, deque
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from .building import RunBuilder
from .harness import words

_TOOLS = ("tool", "handoff")
_SCORERS = ("scorer", "scorers")


class Span(NamedTuple):
    """One span of the transcript."""

    parent: str
    kind: str
    name: str


@dataclass(slots=True)
class Spans:
    """The spans that have begun; what of them cannot be read is noted in the run of the sample."""

    builder: RunBuilder
    found: dict[str, Span] = field(default_factory=dict)
    agents: dict[str, str] = field(default_factory=dict)
    _owners: dict[str, str | None] = field(default_factory=dict)
    _waiting: dict[tuple[str, str], deque[str]] = field(default_factory=lambda: defaultdict(deque))

    def begin(self, event: dict[str, Any]) -> None:
        """A span begins."""
        name = event.get("id")
        if not isinstance(name, str):
            self.builder.unreadable("a span has no id that is text")
            return
        for told in ("parent_id", "type", "name"):
            self._check(event, told)
        span = Span(words(event.get("parent_id")), words(event.get("type")), words(event.get("name")))
        if span.parent and span.parent not in self.found:
            self._missing()
        self.found[name] = span
        if span.kind in _TOOLS:
            self._waiting[span.parent, span.name].append(name)
        elif span.kind == "agent":
            self.agents.setdefault(span.parent, span.name)

    def place(self, event: dict[str, Any]) -> str | None:
        """The span of the tool in which an event stands; empty for none, None for one inside a scorer."""
        self._check(event, "span_id")
        name = words(event.get("span_id"))
        if self.found and name not in self.found:
            self._missing()
        return self.owner(name)

    def owner(self, span: str) -> str | None:
        """The span of the tool in which a span lies, as ``place`` has it."""
        way: dict[str, None] = {}
        found: str | None = ""
        while span in self.found and span not in self._owners and span not in way:
            way[span] = None
            kind = self.found[span].kind
            if kind in _TOOLS:
                found = span
                break
            if kind in _SCORERS:
                found = None
                break
            span = self.found[span].parent
        else:
            found = self._owners.get(span, "")
        for passed in way:
            self._owners[passed] = found
        return found

    def of_tool(self, event: dict[str, Any]) -> str:
        """The span that a tool event opened, each but once; empty for none."""
        waiting = self._waiting.get((words(event.get("span_id")), words(event.get("function"))))
        return waiting.popleft() if waiting else ""

    def _check(self, event: dict[str, Any], name: str) -> None:
        if event.get(name) is not None and not isinstance(event[name], str):
            self.builder.unreadable(f"the {name} of an event is no text")

    def _missing(self) -> None:
        self.builder.lacks("the spans of some events are not in the file")
