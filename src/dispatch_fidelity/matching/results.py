"""Whether a claim states a result, and whether that carries the logged one."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Hashable
from typing import Any

from ..errors import JSONError
from ..jsonio import UNSET, decode, encode_lenient
from ..model.call import Blob
from ..model.execution import Execution
from .canonical import canonical

_EMPTY_WORDS = frozenset(
    {
        "",
        "null",
        "none",
        "(none)",
        "(no content)",
        "no content",
        "(no output)",
        "no output",
        "(empty)",
        "empty",
        "[]",
        "{}",
        '""',
    }
)
_CUT = re.compile(r"\.\.\.\[truncated \d+ chars\]\Z")


def text_of(value: Any) -> str:
    """A result as text: a string as it is, other data as compact JSON."""
    if type(value) is str:
        return value
    return encode_lenient(value).decode("ascii")


def claims_value(result: Any) -> bool:
    """Whether a block item states a result at all; absent, null, "None" and empty ones do not."""
    if result is UNSET or result is None:
        return False
    if type(result) is str:
        return bool(result.strip()) and result.strip() not in ("None", "null")
    return not (isinstance(result, (dict, list)) and not result)


def is_empty(result: Any) -> bool:
    """Whether a logged result is empty, also in a harness's words for it."""
    if result is UNSET or result is None:
        return True
    if type(result) is str:
        return len(result) < 24 and result.strip().casefold() in _EMPTY_WORDS
    return isinstance(result, (dict, list)) and not result


def result_key(result: Any) -> Hashable:
    """Equal for results that are equal by value: JSON text and the data it holds are one."""
    if type(result) is str:
        text = result.strip()
        if text[:1] in ("{", "[") and text[-1:] in ("}", "]"):
            try:
                return canonical(decode(text.encode()))
            except (JSONError, UnicodeEncodeError):
                return text
        return canonical(text)
    return canonical(result)


def carries(claimed: Any, execution: Execution, read_blob: Callable[[Blob], str | None]) -> bool:
    """Whether the claimed result holds the logged one, as a whole and with token boundaries."""
    logged = execution.result
    if isinstance(logged, Blob):
        return _carries_blob(claimed, logged, read_blob)
    if is_empty(logged):
        return not re.search(r"\d", text_of(claimed))
    if result_key(claimed) == result_key(logged):
        return True
    text = text_of(logged)
    if execution.cut:
        text = _CUT.sub("", text)
        return text.strip() in text_of(claimed)
    told = [text_of(claimed), *_leaves(claimed)]
    if any(holds(item, text) for item in told):
        return True
    shown = execution.shown
    return shown is not UNSET and isinstance(shown, str) and any(holds(item, shown) for item in told)


def _carries_blob(claimed: Any, blob: Blob, read_blob: Callable[[Blob], str | None]) -> bool:
    text = text_of(claimed)
    for form in (text, text.strip()):
        if hashlib.sha256(form.encode("utf-8", "surrogatepass")).hexdigest() == blob.sha256:
            return True
    content = read_blob(blob)
    if content is None:
        return False
    return result_key(claimed) == result_key(content) or holds(text, content)


def _leaves(value: Any) -> list[str]:
    found: list[str] = []
    stack: list[Any] = [value] if isinstance(value, (dict, list)) else []
    while stack:
        item: Any = stack.pop()
        if isinstance(item, dict):
            stack.extend(item.values())
        elif isinstance(item, list):
            stack.extend(item)
        else:
            found.append(text_of(item))
    return found


def holds(text: str, part: str) -> bool:
    """Whether ``part`` stands in ``text`` as whole tokens; runs of white space count as one."""
    part, text = " ".join(part.split()), " ".join(text.split())
    if not part:
        return False
    position = text.find(part)
    tries = 0
    while position >= 0 and tries < 1000:
        if _is_token(text, position, position + len(part)):
            return True
        position = text.find(part, position + 1)
        tries += 1
    return False


def _is_token(text: str, start: int, end: int) -> bool:
    first, last = text[start], text[end - 1]
    before, after = text[start - 1 : start], text[end : end + 1]
    if first.isalnum() and before:
        if before.isalnum() or before == "_":
            return False
        if first.isdigit() and before in ".,-−":
            earlier = text[start - 2 : start - 1] if start > 1 else ""
            if before in "-−" and not (earlier and (earlier.isalnum() or earlier in ")]}")):
                return False
            if before in ".," and earlier.isdigit():
                return False
    if last.isalnum() and after:
        if after.isalnum() or after == "_":
            return False
        if last.isdigit() and after in ".,":
            return not text[end + 1 : end + 2].isdigit()
    return True
