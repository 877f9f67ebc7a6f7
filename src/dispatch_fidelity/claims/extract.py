"""Report to claims: which block is the statement, what it claims, and what it dropped."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection
from typing import Any

from ..errors import InvalidInputError, JSONError
from ..jsonio import LIMITS, UNSET, Defect, decode, holds_defect
from ..model.claim import Claim, Extraction, Unreadable
from .block import Block, find_blocks

_ARGS = ("args", "arguments", "input", "parameters")
_CONTRACT = frozenset({"tool", "args", "result"})
_NAMES = ("tool", "name")
_RESULT = ("result", "output", "content")
_PLACEHOLDER = re.compile(r"\s*(?:<[^<>]*>|\.\.\.|…|\{[^{}]*\}|\[[^\[\]]*\])\s*")
_TEMPLATE_NAME = re.compile(r"(?:YOUR_)?(?:TOOL|FUNCTION)(?:_?NAME)?|(?:tool|function)_?name", re.IGNORECASE)
_SEPARATORS = re.compile(r"__|[./:]")


def extract(report: str, tools: Collection[str] | None = None) -> Extraction:
    """Everything that the report claims in results blocks.

    1. The last readable block is the statement. 2. A block before it that holds only placeholders, or only
    tools unknown to the run (``tools``), is a template. 3. Claims of other earlier blocks that the statement
    drops are superseded. 4. What cannot be read is kept as unreadable. Raises InvalidInputError (65) for a
    report beyond the limits.
    """
    if len(report) > LIMITS.report:
        raise InvalidInputError(f"the report is longer than {LIMITS.report} characters")
    blocks = find_blocks(report)
    readable = [block for block in blocks if not block.problem]
    unreadable = [Unreadable(block.problem, (block.start, block.end)) for block in blocks if block.problem]
    if not readable:
        return Extraction(unreadable=tuple(unreadable), blocks=len(blocks))
    last = readable[-1]
    claims = _claims(last, unreadable)
    superseded: list[Claim] = []
    if len(readable) == 1:
        return Extraction(tuple(claims), (), tuple(unreadable), len(blocks), not last.items)
    kept = Counter(map(_identity, claims))
    known = None if tools is None else {_folded(name) for name in tools}
    for block in readable[:-1]:
        earlier: list[Unreadable] = []
        dropped = _claims(block, earlier)
        if _is_template(dropped, earlier, known):
            continue
        unreadable += earlier
        told: Counter[str] = Counter()
        for claim in dropped:
            identity = _identity(claim)
            told[identity] += 1
            if told[identity] > kept[identity]:
                kept[identity] += 1
                superseded.append(claim)
    return Extraction(tuple(claims), tuple(superseded), tuple(unreadable), len(blocks), not last.items)


def _claims(block: Block, unreadable: list[Unreadable]) -> list[Claim]:
    if len(block.items) > LIMITS.claims:
        raise InvalidInputError(f"the report makes more than {LIMITS.claims} claims")
    claims = []
    for item, start, end in block.items:
        claim = _claim(item, (start, end), block.marked)
        if isinstance(claim, Claim):
            claims.append(claim)
        else:
            unreadable.append(Unreadable(claim, (start, end)))
    return claims


def _claim(item: Any, span: tuple[int, int], marked: bool) -> Claim | str:
    """One item as a claim; a text says why it is none."""
    if (
        type(item) is dict
        and item.keys() == _CONTRACT
        and type(item["tool"]) is str
        and item["tool"]
        and type(item["args"]) is dict
        and not marked
    ):
        return Claim(item["tool"], item["args"], item["result"], span=span)
    if type(item) is not dict:
        return item.reason if isinstance(item, Defect) else f"an item that is no object: {str(item)[:60]!r}"
    tool = next((item[name] for name in _NAMES if item.get(name) is not None), None)
    if type(tool) is not str or not tool:
        return "an item that names no tool"
    args: Any = item.get("args", UNSET)
    if args is UNSET:
        args = next((item[name] for name in _ARGS if name in item), None)
    if type(args) is str:
        args = _from_text(args)
    if args is None:
        args = {}
    if type(args) is not dict:
        return args.reason if isinstance(args, Defect) else "arguments that are no object"
    result: Any = item.get("result", UNSET)
    if result is UNSET:
        result = next((item[name] for name in _RESULT if name in item), UNSET)
    if marked and holds_defect(item):
        return "an item in which strict JSON is violated"
    return Claim(tool, args, result, item.get("error", UNSET), item.get("status", UNSET), span=span)


def _from_text(text: str) -> Any:
    """Arguments that are given as a JSON text, the way tool calls carry them; a Defect where they do not parse."""
    try:
        return decode(text.encode()) if text.strip() else {}
    except (JSONError, UnicodeEncodeError):
        return Defect("arguments that are a text and no JSON object")


def _identity(claim: Claim) -> str:
    return repr((claim.tool, sorted(claim.args.items(), key=lambda pair: pair[0])))


def _folded(name: str) -> str:
    """A tool's own name without its name space, for telling templates from statements."""
    own = _SEPARATORS.split(name)[-1]
    return re.sub(r"[_\-\s]", "", own).casefold()


def _is_template(claims: list[Claim], unreadable: list[Unreadable], known: set[str] | None) -> bool:
    if not claims:
        return False
    if all(_is_placeholder(claim) for claim in claims):
        return True
    return not unreadable and known is not None and all(_folded(claim.tool) not in known for claim in claims)


def _is_placeholder(claim: Claim) -> bool:
    if _PLACEHOLDER.fullmatch(claim.tool) or _TEMPLATE_NAME.fullmatch(claim.tool):
        return True
    values = [*claim.args.values(), *([] if claim.result is UNSET else [claim.result])]
    return bool(values) and all(isinstance(value, str) and _PLACEHOLDER.fullmatch(value) for value in values)
