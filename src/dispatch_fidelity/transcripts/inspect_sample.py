"""One sample of an inspect_ai log: its messages and its events to the runs of its agents (``inspect_ai`` says how)."""

from __future__ import annotations

import re
from collections import defaultdict, deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from ..model.call import Learned, Status, Unknown
from ..model.frozen import UNSET
from ..model.run import Completeness, DamageKind, ImportedRun
from .building import Call, RunBuilder, as_text, result_of
from .harness import arguments, flag, is_sound, items, listed, members, named, run_name, spoken, words
from .inspect_spans import Spans

_ATTACHMENT = re.compile(r"(?:attachment|tc)://(.{1,200})")
_TOO_LONG = re.compile(r"\s*The output of your call to \S{1,200} was too long to be displayed")
_ERRORS = {"parsing": Status.INVALID, "approval": Status.REFUSED, "cancelled": Status.CANCELLED}


@dataclass(slots=True)
class _Made:
    """A call as a message has it, with its result there."""

    step: int
    call: dict[str, Any]
    answer: dict[str, Any] | None = None


@dataclass(slots=True)
class _Helper:
    """A sub-agent while its events are read: its run, and how often its model answered."""

    builder: RunBuilder
    turns: int = 0


@dataclass(slots=True)
class Sample:
    """Reads one sample: messages and events together, a sub-agent for each span of a tool in which tools are used."""

    main: RunBuilder
    sample: dict[str, Any]
    spans: Spans = field(init=False)
    span_of: dict[int, str] = field(default_factory=dict)
    started: dict[str, tuple[Call, RunBuilder, bool]] = field(default_factory=dict)
    helpers: dict[str, _Helper] = field(default_factory=dict)
    words_of_helpers: set[str] = field(default_factory=set)
    calls_of_helpers: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.spans = Spans(self.main)

    def runs(self) -> Iterator[ImportedRun]:
        """The run of the agent, and one for each of its sub-agents."""
        builder, sample = self.main, self.sample
        messages = listed(builder, sample.get("messages"), "messages")
        events = listed(builder, sample.get("events"), "events")
        if not messages:
            builder.defect(DamageKind.EMPTY, "the sample holds no message")
        self._lacks()
        own = self._events(events)
        made = self._messages(messages)
        self._calls(own, made)
        self._report()
        ended = {key: self._link(key, helper) for key, helper in self.helpers.items()}
        # What is damaged in the transcript of a sample may be a call of any agent in it.
        whole = not (builder.damage or builder.missing)
        helpers = [helper.builder.finish(closed=ended[key] and whole) for key, helper in self.helpers.items()]
        if any(helper.record.completeness is not Completeness.CLOSED for helper in helpers):
            builder.lacks("the record of a sub-agent is not whole")
        yield builder.finish(closed=True)
        yield from helpers

    def _lacks(self) -> None:
        builder, sample = self.main, self.sample
        for name in ("error", "limit", "invalidation"):
            told = sample.get(name)
            if told:
                inner = members(told)
                text = words(inner.get("type")) or words(inner.get("message")) or words(inner.get("reason"))
                builder.lacks(f"the sample ended with {name} {text[:80]}".rstrip())

    # Events.

    def _events(self, events: list[Any]) -> list[tuple[int, dict[str, Any]]]:
        """The tool events of the agent itself, with their place; those of sub-agents become calls of theirs."""
        own = []
        scoring = 0
        for place, event in enumerate(events):
            if not isinstance(event, dict) or not isinstance(event.get("event"), str):
                self.main.unreadable(f"event {place} cannot be read")
                continue
            kind = event["event"]
            if kind == "span_begin":
                self.spans.begin(event)
            elif kind == "step" and event.get("type") == "scorer":
                scoring += 1 if event.get("action") == "begin" else -1
            if any(members(inner).get("event") == "tool" for inner in items(event.get("events"))):
                self.main.lacks(
                    "calls that were made inside another one, in its own list of events, are not read"
                )
            if kind not in ("tool", "model") or scoring > 0:
                continue
            if kind == "tool" and not isinstance(event.get("id"), str):
                self.main.unreadable("a tool event has no id that is text")
                continue
            owner = self.spans.place(event)
            if owner is None:
                continue
            if kind == "tool":
                self.span_of[id(event)] = self.spans.of_tool(event)
            if not owner:
                if kind == "tool":
                    own.append((place, event))
                elif not self.main.tools:
                    self.main.tools += _tools(event)
            else:
                self._helped(owner, kind, event)
        return own

    def _helped(self, key: str, kind: str, event: dict[str, Any]) -> None:
        """An event inside the span of a tool: a call or an answer of the sub-agent that works there."""
        if key not in self.helpers:
            span = self.spans.found[key]
            name = self.spans.agents.get(key, span.name)[:40]
            above = self.helpers.get(self.spans.owner(span.parent) or "")
            builder = RunBuilder(
                self.main.format,
                self.main.path,
                run_id=f"{self.main.run_id}.{run_name(key)}"[:120],
                agent=f"{name}-{key}@{self.main.run_id}"[:240],
                parent=above.builder.agent if above else self.main.agent,
            )
            self.helpers[key] = _Helper(builder)
        helper = self.helpers[key]
        if kind == "tool":
            self.calls_of_helpers.add(words(event.get("id")))
            self._make(helper.builder, event, helper.turns - 1)
            return
        helper.turns += 1
        helper.builder.tools += [] if helper.builder.tools else _tools(event)
        message = _answer(helper.builder, event.get("output"))
        self.words_of_helpers.add(words(message.get("id")))
        helper.builder.said(self._text(helper.builder, message, "the words of a sub-agent"))

    def _link(self, key: str, helper: _Helper) -> bool:
        """The call whose span held the work of a sub-agent has delegated to it; whether that call returned."""
        if key not in self.started:
            return False
        call, owner, is_handoff = self.started[key]
        if isinstance(call.args, dict) and len(call.args) == 1:
            helper.builder.task = helper.builder.task or as_text(next(iter(call.args.values())))
        report = call.result if isinstance(call.result, str) and not is_handoff else ""
        owner.delegated(call, helper.builder.agent, report)
        return call.status is Status.RETURNED

    # Messages.

    def _messages(self, messages: list[Any]) -> list[_Made]:
        """The calls of the agent's messages, each with its result; its words on the way."""
        builder = self.main
        given = any(members(message).get("source") == "input" for message in messages)
        made: list[_Made] = []
        waiting: dict[str, deque[_Made]] = defaultdict(deque)
        for index, message in enumerate(messages):
            role = members(message).get("role")
            if not isinstance(message, dict) or role not in ("system", "user", "assistant", "tool"):
                builder.unreadable(f"message {index} cannot be read")
                continue
            source = message.get("source")
            if role == "tool":
                self._answered(index, message, waiting)
                continue
            text = self._text(builder, message, f"the content of message {index}")
            if role == "user" and (source == "input" or not given):
                builder.asked(text)
            name = words(message.get("id"))
            if role != "assistant" or (name and name in self.words_of_helpers):
                continue
            calls = listed(builder, message.get("tool_calls"), f"tool_calls of message {index}")
            if source != "input":
                builder.said(text)
                self._hosted(index, message)
            for call in calls:
                if not isinstance(call, dict) or not isinstance(call.get("id"), str):
                    builder.unreadable(f"a call of message {index} cannot be read")
                    continue
                item = _Made(index, call)
                waiting[call["id"]].append(item)
                if source != "input":
                    made.append(item)
        return made

    def _answered(self, index: int, message: dict[str, Any], waiting: dict[str, deque[_Made]]) -> None:
        source_id = message.get("tool_call_id")
        if not isinstance(source_id, str):
            self.main.unreadable(f"the result in message {index} has no tool_call_id that is text")
            return
        queue = waiting.get(source_id)
        if queue:
            # Of equal ids in one message the first, of those in several the nearest.
            made = queue.popleft() if queue[0].step == queue[-1].step else queue.pop()
            made.answer = message
        elif source_id not in self.calls_of_helpers and message.get("source") != "input":
            self.main.defect(DamageKind.LIFECYCLE, f"the result in message {index} is of no open call")

    def _hosted(self, index: int, message: dict[str, Any]) -> None:
        """Calls that the provider of the model ran: parts of a message, each with its result."""
        builder = self.main
        for part in items(message.get("content")):
            if members(part).get("type") != "tool_use":
                continue
            name = words(part.get("name")) or words(part.get("tool_type"))
            given = part.get("arguments")
            given = given if isinstance(given, str) else arguments(builder, given)
            call = builder.call(name, given, source_id=part.get("id"), step=index)
            if call is None:
                continue
            problem = part.get("error")
            if problem is not None and not isinstance(problem, str):
                builder.unreadable(f"the error of a call of message {index} is no text")
                builder.end(call, Unknown("unreadable"), status=Status.UNKNOWN)
            elif problem:
                builder.end(
                    call,
                    part.get("result", UNSET),
                    status=Status.RAISED,
                    learned=Learned.FLAG,
                    message=problem,
                )
            else:
                builder.end(call, part.get("result", UNSET), learned=Learned.FLAG)

    def _text(self, builder: RunBuilder, message: dict[str, Any], what: str) -> str:
        content = message.get("content")
        text = spoken(builder, content, what)
        return words(self._attached(builder, text))

    # Calls.

    def _calls(self, own: list[tuple[int, dict[str, Any]]], made: list[_Made]) -> None:
        """Every call of the agent, in the order of the events where they tell it."""
        by_id: dict[str, deque[tuple[int, dict[str, Any]]]] = defaultdict(deque)
        for place, event in own:
            by_id[words(event.get("id"))].append((place, event))
        order: list[tuple[int, _Made | None, dict[str, Any] | None]] = []
        last = -1
        for item in made:
            queue = by_id.get(item.call["id"])
            if queue:
                last, found = queue.popleft()
                order.append((last, item, found))
            elif item.call["id"] not in self.calls_of_helpers:
                order.append((last, item, None))
        order += [(place, None, event) for queue in by_id.values() for place, event in queue]
        if own and any(source is None for _, _, source in order):
            self.main.lacks("some calls of the messages have no event")
        for _, told, source in sorted(order, key=lambda each: each[0]):
            if source is not None:
                self._make(self.main, source, told.step if told is not None else -1, told)
            elif told is not None:
                self._told(told)

    def _make(self, builder: RunBuilder, event: dict[str, Any], step: int, made: _Made | None = None) -> None:
        """A call by its event, and by what the messages have of it."""
        given = arguments(builder, self._attached(builder, event.get("arguments")))
        call = builder.call(
            event.get("function"), given, source_id=event.get("id"), step=step, at=event.get("timestamp")
        )
        if call is None:
            return
        if self.span_of.get(id(event)):
            self.started[self.span_of[id(event)]] = (call, builder, bool(event.get("agent")))
        answer = made.answer if made is not None else None
        if flag(builder, event, "pending") and answer is None:
            return
        value = self._attached(builder, event.get("result", UNSET))
        shown = self._shown(builder, answer) if answer else UNSET
        cut = bool(event.get("truncated"))
        self._end(builder, call, value, [event, *([answer] if answer else [])], shown=shown, cut=cut)

    def _told(self, made: _Made) -> None:
        """A call that the messages alone have."""
        builder, item = self.main, made.call
        given = self._attached(builder, item.get("arguments"))
        call = builder.call(
            item.get("function"), arguments(builder, given), source_id=item["id"], step=made.step
        )
        if call is None:
            return
        if made.answer is not None:
            self._end(builder, call, self._shown(builder, made.answer), [made.answer])
        elif item.get("parse_error"):
            text = words(item["parse_error"])
            builder.end(call, status=Status.INVALID, learned=Learned.FLAG, message=text)

    def _shown(self, builder: RunBuilder, answer: dict[str, Any]) -> Any:
        """What a message of the role ``tool`` showed to the model."""
        content = answer.get("content", UNSET)
        if content is UNSET or not isinstance(content, (str, list)):
            builder.unreadable("what the model was shown of a result cannot be read")
            return Unknown("unreadable")
        return self._attached(builder, content)

    def _end(
        self,
        builder: RunBuilder,
        call: Call,
        value: Any,
        tellers: list[dict[str, Any]],
        *,
        shown: Any = UNSET,
        cut: bool = False,
    ) -> None:
        """The end of a call; ``tellers`` are its event and its message, each of which may say that it failed."""
        until = tellers[0].get("completed", "")
        problem: dict[str, Any] = {}
        sound = not isinstance(value, Unknown) and is_sound(value) and _is_result(value)
        if not sound:
            builder.unreadable("the result of a call cannot be read")
        for teller in tellers:
            told = teller.get("error")
            problem = members(told) or problem
            if told is not None and not isinstance(members(told).get("type"), str):
                builder.unreadable("the error of a call cannot be read")
                sound = False
        failed = flag(builder, tellers[0], "failed")
        if value is UNSET:
            builder.unreadable("a result has no content")
            sound = sound and bool(problem)
        if not sound:
            builder.end(call, Unknown("unreadable"), status=Status.UNKNOWN, until=until)
            return
        value, shown = result_of(value), result_of(shown)
        cut = cut or (isinstance(value, str) and bool(_TOO_LONG.match(value)))
        end: dict[str, Any] = {"shown": UNSET if shown == value else shown, "cut": cut, "until": until}
        if problem or failed:
            kind, message = words(problem.get("type")), words(problem.get("message"))
            end |= {"status": _ERRORS.get(kind, Status.RAISED), "error": kind, "message": message}
        builder.end(call, value, learned=Learned.FLAG, **end)

    def _attached(self, builder: RunBuilder, value: Any) -> Any:
        """A value with its attachments put back, in texts, lists and objects."""
        if isinstance(value, str):
            match = _ATTACHMENT.fullmatch(value)
            if match is None:
                return value
            text = members(self.sample.get("attachments")).get(match[1])
            if not isinstance(text, str):
                builder.unreadable("an attachment is missing")
                return Unknown("unreadable")
            return text
        if isinstance(value, list):
            return [self._attached(builder, item) for item in value]
        if isinstance(value, dict):
            return {name: self._attached(builder, item) for name, item in value.items()}
        return value

    def _report(self) -> None:
        builder = self.main
        builder.said(self._text(builder, _answer(builder, self.sample.get("output")), "the output"))


def _is_result(value: Any) -> bool:
    """Whether a value is what a tool gives: a text or parts; inspect_ai makes a text of everything else."""
    if isinstance(value, (list, dict)):
        parts = value if isinstance(value, list) else [value]
        return all(isinstance(part, dict) and isinstance(part.get("type"), str) for part in parts)
    return isinstance(value, str) or value is UNSET


def _answer(builder: RunBuilder, output: Any) -> dict[str, Any]:
    """The message in an output of a model; an empty one where it has none."""
    choices = listed(builder, named(builder, output, "an output").get("choices"), "the choices of an output")
    if not choices:
        return {}
    message = members(choices[0]).get("message")
    if not isinstance(message, dict):
        builder.unreadable("the message of an output is no object")
    return members(message)


def _tools(event: dict[str, Any]) -> list[str]:
    names = [members(tool).get("name") for tool in items(event.get("tools"))]
    return [name for name in names if isinstance(name, str) and name]
