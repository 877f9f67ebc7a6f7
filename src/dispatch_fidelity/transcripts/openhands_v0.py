"""Events of OpenHands version 0: actions of the agent and the user, and observations of what came of them."""

from __future__ import annotations

from typing import Any

from ..model.call import Learned, Status, Unknown
from ..model.frozen import UNSET
from ..model.run import DamageKind
from .building import Call, RunBuilder, text_of
from .harness import arguments, code, items, members, named, run_name, spoken, words
from .openhands_runs import CUT, Agent, Conversation, asked_arguments, by_code, key_of

_IDLE = frozenset(
    ("null", "recall", "change_agent_state", "condensation", "condensation_request", "loop_recovery")
)
_SILENT = frozenset(("null", "recall", "condense", "condensation", "agent_state_changed", "loop_detection"))


def take(run: Conversation, event: dict[str, Any]) -> None:
    """One event: an action, or the observation that answers one."""
    if "observation" in event:
        _observation(run, event)
    else:
        _action(run, event)


def _action(run: Conversation, event: dict[str, Any]) -> None:
    agent, builder = run.agent, run.agent.builder
    action, source, number = event["action"], event.get("source"), event.get("id")
    args = named(builder, event.get("args"), "the args of an action")
    if not isinstance(action, str) or source not in ("agent", "user", "environment"):
        builder.unreadable("an action has no name or no source of this format")
        return
    if not isinstance(number, int):
        builder.unreadable("an action has no number")
    if source == "user" and action == "message":
        run.asked(spoken(builder, args.get("content"), "the words of the user"))
    elif source != "agent":
        run.others.add(key_of(number))
    elif action == "system":
        agent.begun = True
        run.offered(args.get("tools"))
    elif action == "message":
        run.said(spoken(builder, args.get("content"), "the words of the agent"))
        agent.ended = True
        run.others.add(key_of(number))
    elif action in ("finish", "reject"):
        _finish(run, event, args)
    elif action in _IDLE:
        run.others.add(key_of(number))
    else:
        _make(run, event, action, args)


def _finish(run: Conversation, event: dict[str, Any], args: dict[str, Any]) -> None:
    builder = run.agent.builder
    if not isinstance(event.get("args"), dict):
        builder.unreadable("the last words of the agent are missing")
    texts = [args.get("final_thought"), args.get("thought"), event.get("message")]
    if any(text is not None and not isinstance(text, str) for text in texts):
        builder.unreadable("the last words of the agent are no text")
    run.said(next((text for text in map(words, texts) if text.strip()), ""))
    run.agent.ended = True
    run.others.add(key_of(event.get("id")))


def _make(run: Conversation, event: dict[str, Any], action: str, args: dict[str, Any]) -> None:
    agent, builder, number = run.agent, run.agent.builder, event.get("id")
    agent.ended = False
    beside = spoken(builder, args.get("thought"), "the words beside a call")
    if action != "think":  # There they are what the tool is given.
        run.said(beside)
    metadata = named(builder, event.get("tool_call_metadata"), "tool_call_metadata")
    if event.get("tool_call_metadata", UNSET) is None:
        builder.unreadable("what the model called is not in an action")
    source_id, state = metadata.get("tool_call_id"), args.get("confirmation_state")
    response = named(builder, metadata.get("model_response"), "the answer of the model")
    run.kept.add("model_response" in metadata if metadata else None)
    if metadata and not (isinstance(source_id, str) and isinstance(metadata.get("function_name"), str)):
        builder.unreadable("a tool call has no id or no name that is text")
    key = (action, source_id if isinstance(source_id, str) else None)
    if agent.awaiting is not None and agent.awaiting[:2] == key and state in ("confirmed", "rejected"):
        call: Call | None = agent.awaiting[2]
        agent.awaiting = None
    else:
        name = metadata.get("function_name", action)
        given = _tool_arguments(metadata)
        if given is None and source_id is not None and "model_response" in metadata:
            builder.unreadable("the model's answer does not hold the call that an action was made of")
            given = Unknown("unreadable")
        elif given is None:
            given = {each: value for each, value in args.items() if each != "thought" or action == "think"}
        call = builder.call(
            name,
            given if isinstance(given, (str, Unknown)) else arguments(builder, given),
            source_id=source_id,
            step=run.step(response.get("id"), number),
            at=event.get("timestamp"),
        )
    if call is None:
        return
    agent.by_event[key_of(number)] = call
    if state == "awaiting_confirmation":
        agent.awaiting = (*key, call)
    elif state == "rejected":
        builder.end(call, status=Status.REFUSED, learned=Learned.FLAG)
    if action == "delegate":
        name = f"{words(args.get('agent'))[:40] or 'delegate'}-{run.main.run_id}-{number}"[:180]
        inner = RunBuilder(
            run.main.format, builder.path, run_id=run_name(run.main.run_id, number), agent=name
        )
        inner.parent, inner.line = builder.agent, builder.line
        inner.asked(text_of(members(args.get("inputs")).get("task")))
        run.agents.append(Agent(inner, handed=call, begun=True, broken=run.broken))


def _observation(run: Conversation, event: dict[str, Any]) -> None:
    kind, cause = event["observation"], event.get("cause")
    extras = named(run.agent.builder, event.get("extras"), "the extras of an observation")
    if not isinstance(kind, str):
        run.agent.builder.unreadable("an observation has no name")
        return
    if kind == "agent_state_changed":
        run.state = words(extras.get("agent_state")) or run.state
    if kind in _SILENT:
        return
    if kind == "delegate" and run.agent.handed is not None:
        call = run.agent.handed
        run.leave()
    else:
        if kind == "error" and cause is None and "tool_call_metadata" not in event:
            return  # The agent's answer could not be read as an action: no call was made.
        found = run.agent.by_event.pop(key_of(cause), None)
        if found is None:
            if key_of(cause) not in run.others:
                reason = f"a result is of no open call: {str(cause)[:40]!r}"
                run.agent.builder.defect(DamageKind.LIFECYCLE, reason)
            return
        call = found
        metadata = named(run.agent.builder, event.get("tool_call_metadata"), "tool_call_metadata")
        asked = _tool_arguments(metadata)
        if metadata.get("function_name", call.tool) != call.tool or (
            asked is not None and asked != call.args
        ):
            run.agent.builder.unreadable("an observation is of another tool call than its action")
    if call.end < 0:
        _observed(run, call, kind, event, extras)


def _observed(
    run: Conversation, call: Call, kind: str, event: dict[str, Any], extras: dict[str, Any]
) -> None:
    builder, content = run.agent.builder, event.get("content", UNSET)
    damaged = len(builder.damage)
    if content is UNSET or not isinstance(content, str):
        builder.unreadable("the content of a result is no text")
    metadata = extras.get("metadata")
    holder = extras if "exit_code" in extras else named(builder, metadata, "the metadata of a result")
    found, wrong = code(builder, holder, "exit_code"), extras.get("error") is True
    end: dict[str, Any] = {"until": event.get("timestamp")}
    if len(builder.damage) > damaged:
        value = content if isinstance(content, str) else Unknown("unreadable")
        builder.end(call, value, status=Status.UNKNOWN, **end)
        return
    text = words(content)
    if kind == "user_rejected":
        end |= {"status": Status.REFUSED, "learned": Learned.FLAG, "message": text}
    elif kind == "error" or wrong:
        end |= {"status": Status.RAISED, "learned": Learned.FLAG, "message": text}
    elif found is not None:
        end |= {"status": by_code(found), "learned": Learned.EXIT_CODE}
    elif kind == "run":
        builder.lacks("the exit codes of some commands are not told")
        end["status"] = Status.UNKNOWN
    elif kind in ("edit", "read", "write") and text.startswith("ERROR:"):
        end |= {"status": Status.RAISED, "learned": Learned.TEXT_PATTERN, "message": text}
    builder.end(call, content, cut=any(mark in text for mark in CUT), **end)


def _tool_arguments(metadata: dict[str, Any]) -> Any:
    """The arguments of the tool call that an action was made of; None where they are not kept."""
    wanted = metadata.get("tool_call_id")
    for choice in items(members(metadata.get("model_response")).get("choices")):
        for call in items(members(members(choice).get("message")).get("tool_calls")):
            if members(call).get("id") == wanted and wanted is not None:
                return asked_arguments(members(members(call).get("function")).get("arguments"))
    return None
