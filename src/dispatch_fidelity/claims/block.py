"""Finds the results blocks of a report: fences, and a bare object at its end. Linear in the text.

A block is a place whose JSON object holds a ``results`` key at its top level, readable or not. JSON strings
hold no raw line breaks, so a line that begins with a fence always ends or begins a fence.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from ..errors import JSONError
from ..jsonio import Defect, array_items, decode, decode_marking

KEY = "results"
_FENCE = re.compile(
    r"^[ \t]{0,3}(`{3,}|~{3,})([^\n]*)$|(?<=[^\n`])(`{3,})([ \t]*json\w*[ \t\r]*)$",
    re.MULTILINE | re.IGNORECASE,
)
_OBJECT_ON_THE_LINE = re.compile(r"[ \t]*(?:json\w*)?[ \t]*(?=\{)", re.IGNORECASE)
_HOLDS_KEY = re.compile(r"""["']results["']\s*:""")
_OPENS_BLOCK = re.compile(r"""^[ \t]*\{\s*["']results["']\s*:""", re.MULTILINE)
_STRING = r'"(?:[^"\\\n]|\\[^\n])*(?:"|\\?(?=\n)|\\?\Z)'
_TOKEN = re.compile(_STRING + "|[{}]")
_COMMENT = re.compile(_STRING + r"|//[^\n]*|/\*")
_COMMA = re.compile(_STRING + r"|,(?=\s*[\]}])")


class Block(NamedTuple):
    """One results block: its place in characters, and its items with theirs; ``problem`` where it is unreadable.

    An item is plain JSON data, or a Defect where strict JSON is violated.
    """

    start: int
    end: int
    items: list[tuple[Any, int, int]]
    problem: str = ""
    marked: bool = False


def find_blocks(report: str) -> list[Block]:
    """The results blocks of a report, in order."""
    blocks = []
    tail = 0
    for start, end in _fenced(report):
        tail = max(tail, end)
        block = _read(report, start, end)
        if block is not None:
            blocks.append(block)
    bare = _closing_object(report, tail)
    if bare is not None:
        block = _read(report, *bare)
        if block is not None:
            blocks.append(block)
    return blocks


def _fence_lines(report: str) -> Iterator[re.Match[str]]:
    """The fences, looked for only in lines that hold three marks in a row; plain text is passed at once."""
    at, ticks, waves = 0, -1, -1
    while True:
        if ticks < at:
            ticks = _next(report, "```", at)
        if waves < at:
            waves = _next(report, "~~~", at)
        hit = min(ticks, waves)
        if hit == len(report):
            return
        start = report.rfind("\n", at, hit) + 1 or at
        at = _next(report, "\n", hit)
        yield from _FENCE.finditer(report, start, at)


def _next(report: str, text: str, at: int) -> int:
    """Where ``text`` stands next; the length of the report when it does not."""
    found = report.find(text, at)
    return len(report) if found < 0 else found


def _fenced(report: str) -> list[tuple[int, int]]:
    """The contents of all fences. A fence line with an info string inside an open fence begins a new one.

    A fence of JSON may begin behind prose, and its object on the line of the fence.
    """
    found = []
    opened: tuple[str, int] | None = None
    for match in _fence_lines(report):
        behind_prose = match.group(1) is None
        marks, line = match.group(3, 4) if behind_prose else match.group(1, 2)
        info = line.strip()
        begun = _OBJECT_ON_THE_LINE.match(line)
        if opened is None:
            if begun is None and marks[0] == "`" and "`" in info:
                continue
        elif not info and marks[0] == opened[0][0] and len(marks) >= len(opened[0]):
            found.append((opened[1], match.start()))
            opened = None
            continue
        elif not behind_prose and info and len(marks) <= len(opened[0]) and _looks_like_json(info):
            found.append((opened[1], match.start()))
        else:
            continue
        opened = marks, match.end() if begun is None else match.start(2) + begun.end()
        if begun is not None and info.endswith(marks):
            found.append((opened[1], match.end()))
            opened = None
    if opened is not None:
        found.append((opened[1], len(report)))
    return found


def _looks_like_json(info: str) -> bool:
    return info.split()[0].lower().startswith("json")


def _closing_object(report: str, tail: int) -> tuple[int, int] | None:
    """The bare object that ends the report behind its last fence; an unclosed one too."""
    end = len(report.rstrip())
    if end <= tail:
        return None
    if report[end - 1] == "}":
        stack: list[int] = []
        opener = None
        for match in _TOKEN.finditer(report, tail, end):
            token = match.group()
            if token == "{":
                stack.append(match.start())
            elif token == "}":
                opener = stack.pop() if stack else None
        if opener is not None:
            return opener, end
    opened = _OPENS_BLOCK.search(report, tail, end)
    return (opened.start(), end) if opened else None


def _read(report: str, start: int, end: int) -> Block | None:
    """The block in a place; None where the place holds no object with a ``results`` key."""
    text = report[start:end]
    if KEY not in text:
        return None
    lead = len(text) - len(text.lstrip())
    if text[lead : lead + 1] not in ("{", "/"):
        return None
    start += lead
    text = _before_marks(text.strip())
    end = start + len(text)
    data = text.encode("utf-8", "surrogatepass")
    try:
        value = decode(data)
        marked = False
    except JSONError:
        data = _without_comments(text).encode("utf-8", "surrogatepass")
        try:
            value, marked = decode_marking(data, mark=True), True
        except JSONError as problem:
            holds = _HOLDS_KEY.search(text) is not None
            return Block(start, end, [], f"a results block that does not parse: {problem}") if holds else None
    if isinstance(value, Defect):
        holds = _HOLDS_KEY.search(text) is not None
        return Block(start, end, [], f"a results block in which {value.reason}") if holds else None
    if not isinstance(value, dict) or KEY not in value:
        return None
    results = value[KEY]
    if not isinstance(results, list):
        return Block(start, end, [], "a results block whose results are no list")
    spans = array_items(data, KEY)
    if spans is None or len(spans) != len(results):
        return Block(start, end, [(item, start, end) for item in results], marked=marked)
    if data.isascii():
        places = [(item, start + a, start + b) for item, (a, b) in zip(results, spans, strict=True)]
        return Block(start, end, places, marked=marked)
    items = []
    at, byte = start, 0
    for item, (a, b) in zip(results, spans, strict=True):
        first = at + len(data[byte:a].decode("utf-8", "surrogatepass"))
        at = first + len(data[a:b].decode("utf-8", "surrogatepass"))
        byte = b
        items.append((item, first, at))
    return Block(start, end, items, marked=marked)


def _before_marks(text: str) -> str:
    """The object that a text begins with, where closing marks follow it without a line of their own."""
    if "```" not in text and "~~~" not in text:
        return text
    depth = 0
    for match in _TOKEN.finditer(text):
        token = match.group()
        if token == "{":
            depth += 1
        elif token == "}":
            depth -= 1
            if depth == 0:
                rest = text[match.end() :].lstrip()
                return text[: match.end()] if rest.startswith(("```", "~~~")) else text
    return text


def _without_comments(text: str) -> str:
    """JSON text with its comments and trailing commas blanked out; positions stay."""
    parts: list[str] = []
    position = 0
    while match := _COMMENT.search(text, position):
        token, end = match.group(), match.end()
        if token == "/*":
            close = text.find("*/", end)
            end = len(text) if close < 0 else close + 2
        parts.append(text[position : match.start()])
        parts.append(token if token[0] == '"' else " " * (end - match.start()))
        position = end
    parts.append(text[position:])
    return _COMMA.sub(lambda match: match.group() if match.group() != "," else " ", "".join(parts))
