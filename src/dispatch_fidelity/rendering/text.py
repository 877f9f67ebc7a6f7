"""Text from an agent made harmless for a terminal or a log line."""

from __future__ import annotations

import re
from typing import Any

from ..jsonio import encode_lenient

# Controls, C1, bidirectional overrides and isolates, zero-width characters, lone surrogates.
_UNSAFE = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ud800-\udfff]")


def _shown(match: re.Match[str]) -> str:
    code = ord(match.group())
    return {10: "⏎", 9: " "}.get(code, f"\\x{code:02x}" if code < 256 else f"\\u{code:04x}")


def clean(text: str) -> str:
    """One line of visible text: what could move a cursor, hide or reorder text is shown as an escape."""
    return _UNSAFE.sub(_shown, text)


def shortened(text: str, width: int) -> str:
    """``clean`` text of at most ``width`` characters, the middle left out."""
    text = clean(text)
    if len(text) <= width:
        return text
    half = (width - 3) // 2
    return f"{text[:half]} … {text[-half:]}"


def call_text(tool: str, args: Any) -> str:
    """A call as ``tool(name=value, …)``, on one line."""
    if isinstance(args, dict):
        inside = ", ".join(f"{clean(str(name))}={value_text(value)}" for name, value in args.items())
    else:
        inside = value_text(args)
    return f"{clean(tool)}({inside})"


def value_text(value: Any) -> str:
    """A value as JSON, on one line."""
    return clean(encode_lenient(value).decode("ascii")) if not isinstance(value, str) else f'"{clean(value)}"'
