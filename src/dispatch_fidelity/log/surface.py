"""Failure that is told by a result: the error surface of log 1, and failure by value (docs/verdicts.md)."""

from __future__ import annotations

import re
from typing import Any

from ..errors import JSONError
from ..jsonio import decode

_SURFACE = re.compile(r"ERROR:(?:unknown_tool:.+|[^\W\d]\w*)\Z", re.DOTALL)
_WORDS = re.compile(
    r'"(?:isError|ok|success|error|status|status_code|statusCode|exit_code|exitCode|returncode)"'
)
_CODES = ("status", "status_code", "statusCode")
_EXITS = ("exit_code", "exitCode", "returncode")
_DATA = ("data", "result", "results", "content", "output", "items", "rows", "value")


def failure_by_surface(result: Any) -> str:
    """The error in a result of the exact form ``ERROR:<Identifier>``; empty for any other result."""
    if type(result) is not str or not result.startswith("ERROR:") or not _SURFACE.match(result):
        return ""
    return result[len("ERROR:") :]


def failure_by_value(result: Any) -> bool:
    """Whether a structured result says at its top level that the call failed; text never does."""
    if type(result) is str:
        text = result.strip()
        if not (text.startswith("{") and text.endswith("}") and _WORDS.search(text)):
            return False
        try:
            result = decode(text.encode())
        except (JSONError, UnicodeEncodeError):
            return False
    if type(result) is not dict:
        return False
    if result.get("isError") is True or result.get("ok") is False or result.get("success") is False:
        return True
    if any(_is_number(result.get(name)) and 400 <= result[name] <= 599 for name in _CODES):
        return True
    if any(_is_number(result.get(name)) and result[name] != 0 for name in _EXITS):
        return True
    return bool(result.get("error")) and not any(result.get(name) for name in _DATA)


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)
