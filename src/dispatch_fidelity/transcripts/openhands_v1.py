"""Events of the OpenHands software-agent SDK (version 1)."""

from __future__ import annotations

import re
from typing import Any

from ..model.call import Learned, Status, Unknown
from ..model.frozen import UNSET
from ..model.run import DamageKind
from .building import Call, result_of
from .harness import arguments, code, flag, is_sound, members, named, spoken, words
from .openhands_runs import CUT, Conversation, asked_arguments, by_code, key_of

_BROKEN_KINDS = re.compile(r"Error|IterationLimit")
_DELEGATES = frozenset(("delegate", "task"))


def take(run: Conversation, event: dict[str, Any]) -> None:
    """One event, by its kind."""
    agent, builder, kind = run.agent, run.agent.builder, event["kind"]
    if not isinstance(kind, str):
        builder.unreadable("the kind of an event is no text")
    elif kind == "SystemPromptEvent":
        agent.begun = True
        run.offered(event.get("tools"))
    elif kind == "MessageEvent":
        _message(run, event)
    elif kind == "ActionEvent":
        _act(run, event)
    elif kind == "ObservationEvent":
        _answer(run, event)
    elif kind == "UserRejectObservation":
        _end(run, event, Status.REFUSED, event.get("rejection_reason"))
    elif kind == "AgentErrorEvent":
        _error(run, event)
    elif kind == "ACPToolCallEvent":
        _foreign(run, event)
    elif kind == "ConversationStateUpdateEvent":
        _update(run, event)
    elif kind in ("PauseEvent", "InterruptEvent"):
        agent.ended = False
    elif _BROKEN_KINDS.search(kind):
        builder.lacks(f"the conversation reports: {kind[:40]} {words(event.get('code'))[:40]}".rstrip())
    else:
        run.unknown[kind[:40]] = None


def _message(run: Conversation, event: dict[str, Any]) -> None:
    builder, source = run.agent.builder, event.get("source")
    message = named(builder, event.get("llm_message"), "a message")
    text = spoken(builder, message.get("content"), "the content of a message")
    if source == "user":
        run.asked(text)
    elif source == "agent":
        run.said(text)
        run.agent.ended = True
    elif source != "environment":
        builder.unreadable("a message has no source of this format")


def _act(run: Conversation, event: dict[str, Any]) -> None:
    agent, builder = run.agent, run.agent.builder
    run.said(spoken(builder, event.get("thought"), "the words beside a call"))
    action = named(builder, event.get("action"), "an action")
    tool_call = named(builder, event.get("tool_call"), "a tool call")
    tool, number, source_id = event.get("tool_name"), event.get("id"), event.get("tool_call_id")
    if not isinstance(number, str) or not isinstance(source_id, str):
        builder.unreadable("an action has no id that is text")
    if tool == "finish":
        run.said(spoken(builder, action.get("message"), "the last words of the agent"))
        agent.ended = True
        run.others.add(key_of(number))
        return
    agent.ended = False
    given = asked_arguments(tool_call.get("arguments"))
    if given is None and action:
        given = {name: value for name, value in action.items() if name != "kind"}
    call = builder.call(
        tool,
        given if isinstance(given, str) else arguments(builder, given),
        source_id=source_id,
        step=run.step(event.get("llm_response_id"), number),
        at=event.get("timestamp"),
    )
    if call is not None:
        agent.by_event[key_of(number)] = call
        agent.by_tool_call[words(source_id)] = call
        if event.get("action") is None:
            builder.end(call, status=Status.INVALID, learned=Learned.FLAG)


def _answered(run: Conversation, event: dict[str, Any]) -> Call | None:
    """The call that an event ends; None, and damage, where there is none."""
    agent, number, source_id = run.agent, event.get("action_id"), event.get("tool_call_id")
    call = agent.by_event.pop(key_of(number), None) if number is not None else None
    if call is None and number is None:
        call = agent.by_tool_call.get(words(source_id))
    if call is None or (call.end >= 0 and call.status is not Status.INVALID):
        if key_of(number) not in run.others:
            reason = f"a result is of no open call: {str(source_id)[:80]!r}"
            agent.builder.defect(DamageKind.LIFECYCLE, reason)
        return None
    return call


def _answer(run: Conversation, event: dict[str, Any]) -> None:
    builder = run.agent.builder
    damaged = len(builder.damage)
    found = named(builder, event.get("observation"), "an observation")
    wrong, number = flag(builder, found, "is_error"), found.get("exit_code", UNSET)
    metadata = named(builder, found.get("metadata"), "the metadata of an observation")
    exit_code = code(builder, found if number is not UNSET else metadata, "exit_code")
    problem = found.get("error")
    if problem is not None and not isinstance(problem, (str, bool)):
        builder.unreadable("what a tool raised cannot be read")
    content = found.get("content", found.get("output", UNSET))
    text = spoken(builder, None if content is UNSET else content, "the content of an observation")
    if not found:
        builder.unreadable("an observation is empty")
    broken = len(builder.damage) > damaged
    call = _answered(run, event)
    if call is None:
        return
    value: Any = result_of(content)
    if content is UNSET:
        value = {name: each for name, each in found.items() if name != "kind"} or UNSET
    end: dict[str, Any] = {"until": event.get("timestamp"), "cut": any(mark in text for mark in CUT)}
    if broken or not is_sound(value):
        builder.end(call, Unknown("unreadable"), status=Status.UNKNOWN, until=event.get("timestamp"))
        return
    if wrong or (problem and wrong is None):
        never = text.startswith("Cannot execute multiple commands at once")
        status = Status.INVALID if never else Status.RAISED
        end |= {"status": status, "learned": Learned.FLAG, "message": words(problem) or text}
    elif exit_code is not None:
        end |= {"status": by_code(exit_code), "learned": Learned.EXIT_CODE}
    elif number is None:
        builder.lacks("the exit codes of some commands are not told")
        end["status"] = Status.UNKNOWN
    elif wrong is False:
        end["learned"] = Learned.FLAG
    builder.end(call, value, place=run.place, **end)
    _delegated(run, call, found, text)


def _delegated(run: Conversation, call: Call, found: dict[str, Any], text: str) -> None:
    """A tool that hands work to another conversation has it elsewhere, under an id that it may tell."""
    if call.tool in _DELEGATES and members(call.args).get("command") in (None, "delegate"):
        agent = words(found.get("task_id")) or f"{call.tool} {call.source_id or call.number}"
        run.agent.builder.delegated(call, agent[:120], text)


def _end(run: Conversation, event: dict[str, Any], status: Status, reason: Any) -> None:
    call = _answered(run, event)
    if reason is not None and not isinstance(reason, str):
        run.agent.builder.unreadable("the reason of an end is no text")
    if call is not None:
        end: dict[str, Any] = {
            "learned": Learned.FLAG,
            "message": words(reason),
            "until": event.get("timestamp"),
        }
        run.agent.builder.end(call, UNSET if reason is None else words(reason), status=status, **end)


def _error(run: Conversation, event: dict[str, Any]) -> None:
    problem = event.get("error")
    call = run.agent.by_tool_call.get(words(event.get("tool_call_id")))
    if not isinstance(problem, str):
        run.agent.builder.unreadable("the error of a call is no text")
    if "restart occurred" in words(problem):
        status = Status.UNKNOWN
    else:
        status = Status.INVALID if call is not None and call.status is Status.INVALID else Status.RAISED
    _end(run, event, status, words(problem))


def _foreign(run: Conversation, event: dict[str, Any]) -> None:
    """A call of an agent that is run over ACP; one id may stand in several events, the last of which holds."""
    agent, builder = run.agent, run.agent.builder
    source_id, status = event.get("tool_call_id"), event.get("status")
    if not isinstance(source_id, str):
        builder.unreadable("a call has no id that is text")
    if event.get("parent_tool_call_id") is not None:
        builder.lacks("calls of sub-agents stand among those of the agent")
    agent.ended = False
    call = agent.by_tool_call.get(words(source_id))
    if call is None:
        given = event.get("raw_input")
        name = words(event.get("tool_kind")) or event.get("title")
        call = builder.call(name, arguments(builder, given), source_id=source_id, at=event.get("timestamp"))
        if call is None:
            return
        agent.by_tool_call[words(source_id)] = call
    wrong = flag(builder, event, "is_error")
    if status in ("completed", "failed") or wrong:
        value = event.get("raw_output")
        value = event.get("content") if value is None else value
        end: dict[str, Any] = {"until": event.get("timestamp"), "learned": Learned.FLAG}
        if status == "failed" or wrong:
            end["status"] = Status.RAISED
        builder.end(call, UNSET if value is None else value, **end)


def _update(run: Conversation, event: dict[str, Any]) -> None:
    key, value = event.get("key"), event.get("value")
    if key == "full_state":
        value = members(value).get("execution_status", members(value).get("agent_status"))
    elif key not in ("execution_status", "agent_status"):
        return
    if isinstance(value, str):
        run.state = value
    elif value is not None:
        run.agent.builder.unreadable("the state of the conversation is no text")
