"""A conversation of OpenHands while its events are read: its agents, what they said, and whether it has ended."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from ..jsonio import decode
from ..model.call import Status
from ..model.run import Completeness, ImportedRun
from .building import Call, RunBuilder
from .harness import listed, members
from .registry import Place

CUT = ("Observation truncated due to length", "<response clipped>")  # in results that the runtime shortened

_ENDS = frozenset(("", "finished", "idle", "awaiting_user_input"))
_THINKING = re.compile(r"\s*<think>.*?</think>\s*", re.DOTALL)


@dataclass(slots=True)
class Agent:
    """One agent of a conversation: its run, its calls by the event that made them, whether it has come to an end."""

    builder: RunBuilder
    by_event: dict[Any, Call] = field(default_factory=dict)
    by_tool_call: dict[str, Call] = field(default_factory=dict)
    awaiting: tuple[Any, Any, Call] | None = None
    handed: Call | None = None
    broken: int = 0
    begun: bool = False
    ended: bool = False


@dataclass(slots=True)
class Conversation:
    """Reads the events of one conversation in order; the last agent of ``agents`` is the one that works."""

    main: RunBuilder
    agents: list[Agent] = field(default_factory=list)
    done: list[ImportedRun] = field(default_factory=list)
    others: set[Any] = field(default_factory=set)
    kept: set[bool | None] = field(default_factory=set)
    answers: dict[Any, int] = field(default_factory=dict)
    unknown: dict[str, None] = field(default_factory=dict)
    state: str = ""
    broken: int = 0
    place: Place | None = None

    def __post_init__(self) -> None:
        self.agents.append(Agent(self.main))

    @property
    def agent(self) -> Agent:
        """The agent that works."""
        return self.agents[-1]

    def finish(self) -> Iterator[ImportedRun]:
        """The runs, the main agent's first."""
        while len(self.agents) > 1:
            self.agent.ended = False  # It did not come back to the agent that called it.
            self.leave()
        if self.unknown:
            self.main.notes.append(f"events that are not read: {', '.join(self.unknown)}"[:200])
        if len(self.kept) > 1:
            self.main.lacks("the tool calls of some actions are not kept")
        if self.state not in _ENDS:
            self.main.lacks(f"the last state of the conversation is {self.state[:40]!r}")
        if not self.agent.begun:
            self.main.lacks("the beginning of the run is not in the file")
        self.main.doubt_unflagged()
        yield self.main.finish(closed=self.agent.ended)
        yield from reversed(self.done)

    def leave(self) -> None:
        """The agent that works now has come back to the one that called it."""
        agent = self.agents.pop()
        if agent.handed is not None:
            if self.broken > agent.broken:
                agent.builder.lacks("events of the conversation could not be read")
            agent.builder.doubt_unflagged()
            run = agent.builder.finish(closed=agent.ended)
            self.done.append(run)
            if run.record.completeness is not Completeness.CLOSED:
                self.agent.builder.lacks("the record of a sub-agent is not whole")
            self.agent.builder.delegated(agent.handed, run.agent, run.report, len(run.record.executions))

    def step(self, answer: Any, number: Any) -> int:
        """The number of the model's answer that a call is of; calls of one answer were made together."""
        key = answer if isinstance(answer, str) else key_of(number)
        return self.answers.setdefault(key, len(self.answers))

    def said(self, text: str) -> None:
        """Words of the agent, without the thinking that a model writes before them."""
        thinking = _THINKING.match(text) if text.lstrip().startswith("<think>") else None
        self.agent.builder.said(text[thinking.end() :] if thinking else text)

    def asked(self, text: str) -> None:
        """Words of the user: a turn begins."""
        self.agent.builder.asked(text)
        self.agent.begun, self.agent.ended = True, False

    def offered(self, tools: Any) -> None:
        """The tools that the agent has."""
        for tool in listed(self.agent.builder, tools, "the tools"):
            inner = members(members(tool).get("function")) or members(tool)
            name = inner.get("name") or inner.get("title")
            self.agent.builder.tools += [name] if isinstance(name, str) else []


def key_of(number: Any) -> Any:
    """An event's number or id as a key; of no use, and equal to no other, where it is neither."""
    return number if isinstance(number, (int, str)) else object()


def by_code(found: int) -> Status:
    """-1 is what OpenHands writes of a command that still runs."""
    return Status.BACKGROUND if found == -1 else Status.RAISED if found else Status.RETURNED


def asked_arguments(given: Any) -> Any:
    """Arguments without what OpenHands asks the model to add to every call."""
    if isinstance(given, str):
        try:
            given = decode(given.encode())
        except (ValueError, UnicodeEncodeError):
            return given
    if isinstance(given, dict):
        return {name: value for name, value in given.items() if name not in ("security_risk", "summary")}
    return given
