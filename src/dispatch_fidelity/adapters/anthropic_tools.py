"""Anthropic Messages: run the ``tool_use`` blocks of an assistant message through a session."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ..session import AuditSession, ErrorText

INVALID = "ERROR:InvalidArguments"


def tool_specs(session: AuditSession) -> list[dict[str, Any]]:
    """The tools of a session as the ``tools=`` of a request, with the schemas of their parameters."""
    return [
        {"name": name, "description": tool.description, "input_schema": tool.parameters()}
        for name, tool in session.tools.items()
    ]


def execute_tool_use(session: AuditSession, content: Any, *, agent_id: str = "agent") -> list[dict[str, Any]]:
    """Run every ``tool_use`` block of a content list or message (dicts or SDK objects), in order.

    Returns the ``tool_result`` blocks, ``is_error`` set on those of failed calls. An ``input`` that is no
    object is recorded as invalid. Server tools are the provider's; they are neither run nor recorded.
    """
    results = []
    for tool, args, identifier in _asked(content):
        if isinstance(args, dict):
            text = session.call(tool, args, agent_id=agent_id, source_id=identifier)
        else:
            text = _reject(session, tool, args, identifier, agent_id)
        results.append(_result(identifier, text))
    return results


async def aexecute_tool_use(
    session: AuditSession, content: Any, *, agent_id: str = "agent"
) -> list[dict[str, Any]]:
    """As ``execute_tool_use``, for async tools; the calls run one after the other."""
    results = []
    for tool, args, identifier in _asked(content):
        if isinstance(args, dict):
            text = await session.acall(tool, args, agent_id=agent_id, source_id=identifier)
        else:
            text = _reject(session, tool, args, identifier, agent_id)
        results.append(_result(identifier, text))
    return results


def final_text(message: Any) -> str:
    """The report: the text blocks of a message or content list, joined by line breaks."""
    return "\n".join(
        str(_get(block, "text") or "") for block in _blocks(message) if _get(block, "type") == "text"
    )


def _reject(session: AuditSession, tool: str, given: Any, identifier: str, agent_id: str) -> ErrorText:
    session.reject(
        tool, given, "the input is no object", shown=INVALID, agent_id=agent_id, source_id=identifier
    )
    return ErrorText(INVALID)


def _result(identifier: str, text: str) -> dict[str, Any]:
    result: dict[str, Any] = {"type": "tool_result", "tool_use_id": identifier, "content": str(text)}
    if isinstance(text, ErrorText):
        result["is_error"] = True
    return result


def _get(value: Any, name: str) -> Any:
    return value.get(name) if isinstance(value, Mapping) else getattr(value, name, None)


def _blocks(content: Any) -> Iterator[Any]:
    inner = _get(content, "content") if not isinstance(content, (list, tuple, str)) else content
    if isinstance(inner, str):
        yield {"type": "text", "text": inner}
    else:
        yield from inner or ()


def _asked(content: Any) -> Iterator[tuple[str, Any, str]]:
    """Tool, arguments and id of each ``tool_use`` block; the arguments are a dict wherever they can be one."""
    for block in _blocks(content):
        if _get(block, "type") == "tool_use":
            given = _get(block, "input")
            args = dict(given or {}) if given is None or isinstance(given, Mapping) else given
            yield str(_get(block, "name") or ""), args, str(_get(block, "id") or "")
