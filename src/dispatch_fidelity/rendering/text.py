"""Text from an agent made harmless for a terminal or a log line."""

from __future__ import annotations

import re
from typing import Any

from ..jsonio import encode_lenient

# Controls, C1, bidirectional overrides and isolates, lone surrogates, and what takes no place or looks like a
# space without being one: zero-width characters, fillers, tags.
_UNSAFE = re.compile(
    "[\x00-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f"
    "\u3164\ufeff\uffa0\ufff0-\ufffb\ud800-\udfff\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)
_PLAIN = {9: " ", 10: "⏎"}


def _shown(match: re.Match[str]) -> str:
    code = ord(match.group())
    if code in _PLAIN:
        return _PLAIN[code]
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


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


def columns(text: str) -> int:
    """How many columns of a terminal ``clean`` text takes: wide characters take two, combining ones none."""
    if text.isascii():
        return len(text)
    from unicodedata import category, east_asian_width

    return sum(
        0 if category(c) in ("Mn", "Me") else 2 if east_asian_width(c) in ("W", "F") else 1 for c in text
    )


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
