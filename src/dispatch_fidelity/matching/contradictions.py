"""In which point a claimed result contradicts the logged one.

Rounding, separators, percentages, abbreviations, converted units, shortened paths and excerpts contradict
nothing. What does: another exact number, unit, id or path in the same place, another count of the whole, a value
ascribed to an empty result, an effect over a result that says nothing happened. What words mean is handed in.
The module is loaded when two results differ.
"""

from __future__ import annotations

import re
from typing import Any

from ..errors import JSONError
from ..jsonio import UNSET, decode
from ..model.call import Blob
from ..model.execution import Execution
from .canonical import canonical
from .locations import ids_differ, paths_differ
from .policy import Wording
from .quantities import (
    NUMBER,
    UNIT_FIELDS,
    Number,
    declared_unit,
    logged_number,
    number_fits,
    read_numbers,
    readings,
    share_a_unit,
    unit_of_field,
)
from .results import holds, is_empty, text_of

LONGEST = 20_000
_MOST = 250_000  # comparisons of numbers; beyond, a text is a table and no statement


def contradiction(claimed: Any, execution: Execution, wording: Wording | None = None) -> str:
    """In which point the claimed result contradicts the logged one; empty where it contradicts nothing.

    1. an empty logged result has no value; 2. what carries the other is no contradiction; 3. data is compared
    member by member; 4. text is compared number by number where a field, a noun, a unit or the same wording says
    that both mean the same thing; 5. ids of the same shape and paths are compared as they are; 6. a count of the
    whole is compared with the logged one; 7. an effect needs a result that does not deny it.
    """
    logged = execution.result
    words = wording or Wording()
    if isinstance(logged, Blob):
        return ""
    told, done = text_of(claimed)[:LONGEST], text_of(None if logged is UNSET else logged)
    # 1. Empty results.
    if is_empty(logged):
        values = [number for number in read_numbers(told, words) if number.value != 0]
        if values:
            return f"a value ({values[0].text}) where the logged result is empty"
        return _value_of_nothing(claimed, execution, words)
    # 2. One holds the other.
    if holds(told, done) or holds(done, told):
        return ""
    # 3. Data.
    mine, its = _parsed(claimed), _parsed(logged)
    if isinstance(mine, dict) and isinstance(its, dict):
        return _members_differ(mine, its, execution, words)
    if len(done) > LONGEST:  # what a part of a text lacks may stand in the rest
        return _counts_differ(told, its, words)
    # 4. and 5. Numbers, units, ids, paths.
    return (
        _texts_differ(told, done, its, execution, words)
        or _counts_differ(told, its, words)
        or _effect_denied(told, done, words)
    )


def _texts_differ(told: str, done: str, logged: Any, execution: Execution, words: Wording) -> str:
    return (
        _numbers_differ(told, done, logged, words)
        or ids_differ(told, done)
        or paths_differ(told, done, execution)
    )


def _parsed(value: Any) -> Any:
    if type(value) is str and value.strip()[:1] in ("{", "["):
        try:
            return decode(value.encode())
        except (JSONError, UnicodeEncodeError):
            return value
    return value


def _members_differ(mine: dict[str, Any], its: dict[str, Any], execution: Execution, words: Wording) -> str:
    declared = declared_unit(its)
    for name, item in mine.items():
        if name not in its:
            continue
        logged = its[name]
        if isinstance(item, dict) and isinstance(logged, dict):
            deeper = _members_differ(item, logged, execution, words)
            if deeper:
                return deeper
        elif isinstance(item, (int, float)) and isinstance(logged, (int, float)):
            if canonical(item) != canonical(logged) and not number_fits(item, logged):
                return f"{name}: {item!r} where the log has {logged!r}"
        elif isinstance(item, str) and isinstance(logged, (int, float)) and not isinstance(logged, bool):
            numbers = read_numbers(item, words)
            number = logged_number(name, logged, declared)
            if len(numbers) == 1 and not numbers[0].fits(number):
                return f"{name}: {item!r} where the log has {logged!r}"
        elif isinstance(item, str) and isinstance(logged, str) and item != logged:
            if name.casefold() in UNIT_FIELDS:
                found = (
                    ""
                    if share_a_unit(readings(item), readings(logged))
                    else f"{item} where the log has {logged}"
                )
                found = found if readings(item) and readings(logged) else ""
            else:
                item, logged = item[:LONGEST], logged[:LONGEST]
                held = holds(item, logged) or holds(logged, item)
                found = "" if held else _texts_differ(item, logged, None, execution, words)
            if found:
                return f"{name}: {found}"
    return ""


def _numbers_differ(told: str, done: str, logged: Any, words: Wording) -> str:
    mine, its = read_numbers(told, words), read_numbers(done, words)
    if not mine or not its or len(mine) * len(its) > _MOST:
        return ""
    declared = declared_unit(logged)
    for number in its:
        if not number.unit:
            number.unit = unit_of_field(number.field) or declared
            number.declared = bool(declared)
            number.shown = f"{number.text} {number.unit}".strip()
    if isinstance(logged, dict):
        for name, item in logged.items():
            if isinstance(item, (int, float)) and not isinstance(item, bool):
                its.append(logged_number(str(name), item, declared))
    if len(mine) == 1 and _is_bare(told, mine[0]) and _is_bare(done, its[0]):
        return "" if mine[0].fits(its[0]) else f"{told.strip()} where the log has {done.strip()}"
    if len(mine) == 1 and mine[0].unit and _is_bare(told, mine[0]):
        alike = [other for other in its if share_a_unit(readings(mine[0].unit), readings(other.unit))]
        if len(alike) == 1 and not any(mine[0].fits(other) for other in its):
            return f"{mine[0].shown} where the log has {alike[0].shown}"
    if len(mine) == len(its) and _wording(told) == _wording(done):
        for number, other in zip(mine, its, strict=True):
            if not number.fits(other):
                return f"{number.shown} where the log has {other.shown}"
    # What is in the log, converted or not, is out of play on both sides.
    accords = [[number.fits(other) for other in its] for number in mine]
    free = [other for place, other in enumerate(its) if not any(row[place] for row in accords)]
    rest = [number for number, row in zip(mine, accords, strict=True) if not any(row)]
    for number in rest:
        for other in free:
            if number.near(other.value) and number.has_other_unit(other):
                return f"{number.shown} where the log has {other.shown}"
    values = {number.value for number in its}
    for label in ("field", "noun"):
        named: dict[str, list[Number]] = {}
        for other in its:
            if getattr(other, label):
                named.setdefault(getattr(other, label), []).append(other)
        for number in rest:
            others = named.get(getattr(number, label)) or []
            if others and number.value not in values:
                return f"{getattr(number, label)} {number.shown} where the log has {others[0].shown}"
    return ""


def _is_bare(text: str, number: Number) -> bool:
    return (
        number.shown.strip("\"'. ") == text.strip("\"'. ")
        or number.text == text.strip().rstrip("%‰").rstrip()
    )


def _wording(text: str) -> str:
    return " ".join(NUMBER.sub("#", text).split()).casefold()


# -- what words say ----------------------------------------------------------------------------------------

_COUNTS = frozenset(("total", "count", "n", "num", "matched", "hits", "matches", "totalcount", "total_count"))
_PAGING = frozenset(
    ("page", "per_page", "limit", "offset", "took", "took_ms", "ms", "version", "status", "pages")
)


def _counts_differ(told: str, logged: Any, words: Wording) -> str:
    """Another count of the whole than the one count, or the length of the one list, that the log has."""
    known = _known_count(logged)
    if known is None:
        return ""
    stated = words.whole(told)
    if stated is None:
        return ""
    count, noun, generic = stated
    name, total, others = known
    if count == total or count in others:
        return ""
    # A smaller number may be of a part, unless its noun means the same things as the logged count.
    if count < total and not generic and name.rstrip("s") != noun:
        return ""
    return f"{count} {noun} where the log has {total}" + (f" ({name})" if name else "")


def _known_count(logged: Any) -> tuple[str, int, set[int]] | None:
    """The name of the counted, the count, and the other numbers a text may mean; None where it is not one."""
    if isinstance(logged, list):
        return ("", len(logged), set()) if _is_plain(logged) else None
    if not isinstance(logged, dict):
        return None
    numbers: dict[str, int] = {}
    lists: dict[str, list[Any]] = {}
    for name, item in logged.items():
        if isinstance(item, dict):
            return None
        if isinstance(item, list):
            lists[str(name)] = item
        elif isinstance(item, (int, float)) and not isinstance(item, bool):
            if not isinstance(item, int):
                continue
            numbers[str(name)] = item
    counts = [name for name in numbers if _is_count(name, len(logged))]
    rest = [name for name in numbers if name not in counts and name.casefold() not in _PAGING]
    if rest or len(counts) > 1 or len(lists) > 1 or not all(_is_plain(item) for item in lists.values()):
        return None
    lengths = {len(item) for item in lists.values()}
    if counts:
        name = re.sub(r"(?i)_?(?:total|count|num|n)_|_?(?:count|total)\Z", "", counts[0]).casefold()
        return name or next(iter(lists), ""), numbers[counts[0]], lengths | set(numbers.values())
    if lists:
        name, items = next(iter(lists.items()))
        return name.casefold(), len(items), set(numbers.values())
    return None


def _is_count(name: str, members: int) -> bool:
    folded = name.casefold()
    if folded in ("size", "length"):
        return members == 1
    return (
        folded in _COUNTS or folded.startswith(("num_", "n_", "total_")) or name.endswith(("_count", "Count"))
    )


def _is_plain(items: list[Any]) -> bool:
    """Whether the items are things that nothing else is counted in."""
    for item in items:
        if isinstance(item, list):
            return False
        if isinstance(item, dict):
            for name, value in item.items():
                amount = (
                    isinstance(value, int) and not isinstance(value, bool) and name.casefold()[-2:] != "id"
                )
                if amount or isinstance(value, (dict, list)):
                    return False
    return True


def _effect_denied(told: str, done: str, words: Wording) -> str:
    """An effect stated as done over a result that says it did not happen."""
    denied = words.denied(done)
    if not denied:
        return ""
    for group, word in words.effects(told).items():
        if group in denied:
            return f'an effect ("{word}") where the log has {" ".join(done.split())[:80]!r}'
    return ""


def _value_of_nothing(claimed: Any, execution: Execution, words: Wording) -> str:
    """A value without digits ascribed to an empty result; what the arguments hold is no invention."""
    told = text_of(claimed) if not isinstance(claimed, (dict, list)) else ""
    value = words.value(told)
    if not value or value.casefold() in text_of(execution.args).casefold():
        return ""
    return f"a value ({value}) where the logged result is empty"
