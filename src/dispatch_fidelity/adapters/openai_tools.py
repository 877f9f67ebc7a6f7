"""OpenAI Chat Completions: run the tool calls of an assistant message through a session."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from ..errors import JSONError
from ..jsonio import decode
from ..session import AuditSession

INVALID = "ERROR:InvalidArguments"


class _Asked(NamedTuple):
    """One call as the model asked for it; ``args`` is None where they do not parse."""

    id: str
    tool: str
    args: dict[str, Any] | None
    raw: Any
    legacy: bool = False


def tool_specs(session: AuditSession) -> list[dict[str, Any]]:
    """The tools of a session as the ``tools=`` of a request, with the schemas of their parameters."""
    return [
        {
            "type": "function",
            "function": {"name": name, "description": tool.description, "parameters": tool.parameters()},
        }
        for name, tool in session.tools.items()
    ]


def execute_tool_calls(
    session: AuditSession, message: Any, *, agent_id: str = "agent"
) -> list[dict[str, Any]]:
    """Run every tool call of an assistant message (dict or SDK object) and return the tool messages in order.

    Arguments that are no JSON object are recorded as invalid, and the model is told so. A message without
    calls gives an empty list. The deprecated ``function_call`` and calls of type ``custom`` are run too.
    """
    answers = []
    for asked in _asked(message):
        text = _reject(session, asked, agent_id)
        if text is None:
            text = session.call(asked.tool, asked.args, agent_id=agent_id, source_id=asked.id)
        answers.append(_answer(asked, text))
    return answers


async def aexecute_tool_calls(
    session: AuditSession, message: Any, *, agent_id: str = "agent"
) -> list[dict[str, Any]]:
    """As ``execute_tool_calls``, for async tools; the calls run one after the other."""
    answers = []
    for asked in _asked(message):
        text = _reject(session, asked, agent_id)
        if text is None:
            text = await session.acall(asked.tool, asked.args, agent_id=agent_id, source_id=asked.id)
        answers.append(_answer(asked, text))
    return answers


def _reject(session: AuditSession, asked: _Asked, agent_id: str) -> str | None:
    if asked.args is not None:
        return None
    session.reject(
        asked.tool,
        asked.raw,
        "the arguments are no JSON object",
        shown=INVALID,
        agent_id=agent_id,
        source_id=asked.id,
    )
    return INVALID


def _answer(asked: _Asked, text: str) -> dict[str, Any]:
    if asked.legacy:
        return {"role": "function", "name": asked.tool, "content": str(text)}
    return {"role": "tool", "tool_call_id": asked.id, "content": str(text)}


def _get(value: Any, name: str) -> Any:
    return value.get(name) if isinstance(value, Mapping) else getattr(value, name, None)


def _asked(message: Any) -> Iterator[_Asked]:
    for call in _get(message, "tool_calls") or ():
        identifier = str(_get(call, "id") or "")
        custom = _get(call, "custom")
        if _get(call, "type") == "custom" and custom is not None:
            yield _Asked(identifier, str(_get(custom, "name") or ""), {"input": _get(custom, "input")}, None)
            continue
        function = _get(call, "function")
        raw = _get(function, "arguments")
        yield _Asked(identifier, str(_get(function, "name") or ""), _parsed(raw), raw)
    legacy = _get(message, "function_call")
    if legacy is not None:
        raw = _get(legacy, "arguments")
        yield _Asked("", str(_get(legacy, "name") or ""), _parsed(raw), raw, legacy=True)


def _parsed(raw: Any) -> dict[str, Any] | None:
    if isinstance(raw, Mapping):
        return dict(raw)
    if raw is None or raw == "":
        return {}
    if not isinstance(raw, str):
        return None
    try:
        value = decode(raw.encode())
    except (JSONError, UnicodeEncodeError):
        return None
    return value if isinstance(value, dict) else None
