"""In which point a claimed result contradicts the logged one.

Rounding, separators, percentages, abbreviations and excerpts contradict nothing. What does: another exact
number or id in the same place, and a value ascribed to an empty result. The module is loaded when two
results differ.
"""

from __future__ import annotations

import re
from math import inf, isfinite
from typing import Any

from ..errors import JSONError
from ..jsonio import UNSET, decode
from ..model.call import Blob
from ..model.execution import Execution
from .canonical import canonical
from .results import holds, is_empty, text_of

_NUMBER = re.compile(
    r"(?<![\w.,])[-+−]?[$€£¥]?\d{1,30}(?:[,'   ]\d{3}(?!\d)){0,10}(?:[.,]\d{1,30})?(?:[eE][-+]?\d{1,3})?"
)
_SCALES = {"k": 1e3, "m": 1e6, "mio": 1e6, "b": 1e9, "bn": 1e9}
_AFTER = re.compile(r"\s?(%|‰|[A-Za-z]{1,3}\b)?")
_FIELD = re.compile(r"([^\W\d_]\w{0,63})[\"']?\s{0,3}(?:=|:|\bis\b|\s)\s{0,3}[\"']?\Z")
_NOUN = re.compile(r"\s{1,3}([^\W\d_]{3,40})")
_IDENTIFIER = re.compile(r"(?<![\w-])(?=[\w-]*\d)(?=[\w-]*[A-Za-z])[\w-]{5,64}(?![\w-])")
LONGEST = 20_000


def contradiction(claimed: Any, execution: Execution) -> str:
    """In which point the claimed result contradicts the logged one; empty where it contradicts nothing.

    1. an empty logged result has no value; 2. data is compared member by member; 3. text is compared number
    by number where a field, a noun or the same wording says that both mean the same thing; 4. ids of the
    same shape are compared as they are.
    """
    logged = execution.result
    if isinstance(logged, Blob):
        return ""
    told, done = text_of(claimed)[:LONGEST], text_of(None if logged is UNSET else logged)[:LONGEST]
    if is_empty(logged):
        values = [number for number in _numbers(told) if number.value != 0]
        return f"a value ({values[0].text}) where the logged result is empty" if values else ""
    if holds(told, done) or holds(done, told):
        return ""
    mine, its = _parsed(claimed), _parsed(logged)
    if isinstance(mine, dict) and isinstance(its, dict):
        return _members_differ(mine, its)
    return _numbers_differ(told, done, its) or _ids_differ(told, done)


def _parsed(value: Any) -> Any:
    if type(value) is str and value.strip()[:1] in ("{", "["):
        try:
            return decode(value.encode())
        except (JSONError, UnicodeEncodeError):
            return value
    return value


def _members_differ(mine: dict[str, Any], its: dict[str, Any]) -> str:
    for name, item in mine.items():
        if name not in its:
            continue
        logged = its[name]
        if isinstance(item, dict) and isinstance(logged, dict):
            deeper = _members_differ(item, logged)
            if deeper:
                return deeper
        elif isinstance(item, (int, float)) and isinstance(logged, (int, float)):
            if canonical(item) != canonical(logged) and not _fits(item, logged):
                return f"{name}: {item!r} where the log has {logged!r}"
        elif isinstance(item, str) and isinstance(logged, (int, float)) and not isinstance(logged, bool):
            numbers = _numbers(item)
            if len(numbers) == 1 and not numbers[0].fits(_as_float(logged)):
                return f"{name}: {item!r} where the log has {logged!r}"
    return ""


def _fits(told: int | float, logged: int | float) -> bool:
    """Whether a number of a JSON result is the logged one, rounded as it is told; a truth value is exact."""
    if isinstance(told, bool) or isinstance(logged, bool):
        return told == logged
    number, value = _number(str(told)), _as_float(logged)
    return number is not None and isfinite(number.value) and isfinite(value) and number.fits(value)


def _as_float(value: int | float) -> float:
    try:
        return float(value)
    except OverflowError:
        return inf if value > 0 else -inf


class _Number:
    """A number in a text: its value, the precision it is told with, and what it is of."""

    __slots__ = ("field", "grain", "noun", "percent", "text", "value")

    def __init__(self, text: str, value: float, grain: float) -> None:
        self.text = text
        self.value = value
        self.grain = grain
        self.percent = False
        self.field = ""
        self.noun = ""

    def fits(self, logged: float) -> bool:
        """Whether it is the logged number, rounded as it is told, or as a percentage."""
        if not isfinite(logged):
            return self.value == logged
        for scale in (1.0, 0.01) if self.percent else (1.0,):
            if abs(self.value * scale - logged) <= self.grain * scale * 0.5000001 + abs(logged) * 1e-12:
                return True
        return False


def _numbers(text: str) -> list[_Number]:
    found = []
    for match in _NUMBER.finditer(text):
        token = match.group()
        number = _number(token)
        if number is None:
            continue
        after = _AFTER.match(text, match.end())
        unit = (after.group(1) or "").casefold() if after else ""
        end = after.end() if after and unit else match.end()
        if unit in ("%", "‰"):
            number.percent = True
        elif unit in _SCALES:
            number.value *= _SCALES[unit]
            number.grain *= _SCALES[unit]
        elif match.end() < len(text) and text[match.end()].isalpha() and not unit:
            continue
        else:
            end = match.end()
        field = _FIELD.search(text, max(0, match.start() - 72), match.start())
        number.field = field.group(1).casefold() if field else ""
        noun = _NOUN.match(text, end)
        number.noun = noun.group(1).casefold().rstrip("s") if noun else ""
        found.append(number)
    return found


def _number(token: str) -> _Number | None:
    text, _, power = token.strip("+").replace("−", "-").translate(_CURRENCY).lower().partition("e")
    decimals, exponent = 0, int(power or 0)
    head, mark, tail = text.rpartition(".")
    if not mark:
        head, mark, tail = text.rpartition(",")
        if mark and len(tail) == 3:
            head, mark, tail = text, "", ""
    if mark and tail.isdigit():
        decimals = len(tail)
        digits = re.sub(r"[^\d\-]", "", head) + "." + tail
    else:
        digits = re.sub(r"[,'   ]", "", text)
    try:
        return _Number(token, float(f"{digits}e{exponent}"), float(f"1e{exponent - decimals}"))
    except ValueError:
        return None


_CURRENCY = {ord(sign): "" for sign in "$€£¥"}


def _numbers_differ(told: str, done: str, logged: Any) -> str:
    mine, its = _numbers(told), _numbers(done)
    if not mine or not its:
        return ""
    values = {number.value for number in its}
    if isinstance(logged, dict):
        for name, item in logged.items():
            if isinstance(item, (int, float)) and not isinstance(item, bool):
                number = _Number(str(item), _as_float(item), 0.0)
                number.field = str(name).casefold()
                its.append(number)
    if _is_bare(told) and _is_bare(done):
        return "" if mine[0].fits(its[0].value) else f"{told.strip()} where the log has {done.strip()}"
    same_wording = len(mine) == len(its) and _wording(told) == _wording(done)
    if same_wording:
        for number, other in zip(mine, its, strict=True):
            if not number.fits(other.value):
                return f"{number.text} where the log has {other.text}"
    for label in ("field", "noun"):
        named: dict[str, list[_Number]] = {}
        for other in its:
            if getattr(other, label):
                named.setdefault(getattr(other, label), []).append(other)
        for number in mine:
            others = named.get(getattr(number, label)) or []
            if not others or number.value in values:
                continue
            if not any(number.fits(other.value) for other in others):
                return f"{getattr(number, label)} {number.text} where the log has {others[0].text}"
    return ""


def _is_bare(text: str) -> bool:
    return _NUMBER.fullmatch(text.strip().rstrip("%‰").rstrip()) is not None


def _wording(text: str) -> str:
    return " ".join(_NUMBER.sub("#", text).split()).casefold()


def _ids_differ(told: str, done: str) -> str:
    mine, its = set(_IDENTIFIER.findall(told)), set(_IDENTIFIER.findall(done))
    unknown = mine - its
    if not unknown or not its:
        return ""
    shapes: dict[str, list[str]] = {}
    for other in its - mine:
        shapes.setdefault(_shape(other), []).append(other)
    for identifier in sorted(unknown):
        alike = shapes.get(_shape(identifier))
        if alike and len(alike) == 1 and sum(_shape(item) == _shape(identifier) for item in mine) == 1:
            return f"{identifier} where the log has {alike[0]}"
    return ""


def _shape(identifier: str) -> str:
    """What kind of identifier it is: hex digits count as one kind, else letters and digits as two."""
    if re.fullmatch(r"[0-9a-f-]{8,}", identifier):
        return re.sub(r"[0-9a-f]", "x", identifier)
    return re.sub(r"\d", "9", re.sub(r"[a-z]", "a", re.sub(r"[A-Z]", "A", identifier)))
