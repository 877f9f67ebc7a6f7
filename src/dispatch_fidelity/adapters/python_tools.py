"""Plain Python tools: record them where they are called, without changing what they return or raise."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from ..claims.instructions import claims_instruction
from ..session import AuditSession
from ..toolset import tool_name

__all__ = ["claims_instruction", "instrument"]


def instrument(tools: Any, session: AuditSession) -> Any:
    """The tools, recorded: a mapping gives a dict, an iterable of callables a list, both with the canaries.

    Values and exceptions pass through unchanged; async tools, generators and methods stay what they are.
    """
    canaries = {name: session.wrap(name) for name in session.tool_names if name.startswith("canary_")}
    if isinstance(tools, Mapping):
        return {**{name: _recorded(session, fn, str(name)) for name, fn in tools.items()}, **canaries}
    if isinstance(tools, Iterable):
        return [*(_recorded(session, fn, tool_name(fn)) for fn in tools), *canaries.values()]
    return _recorded(session, tools, tool_name(tools))


def _recorded(session: AuditSession, fn: Callable[..., Any], name: str) -> Callable[..., Any]:
    known = session.tools.get(name)
    return session.wrap(name) if known is not None and known.fn == fn else session.wrap(fn, name)
