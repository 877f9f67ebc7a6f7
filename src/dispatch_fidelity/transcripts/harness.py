"""What the readers of harnesses and benchmarks share: values of the shape that a format gives them, or damage."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from pathlib import Path
from typing import Any

from ..errors import InvalidInputError
from ..jsonio import Defect, holds_defect
from ..model.call import Unknown
from ..model.run import ImportedRun
from .building import RunBuilder, text_of
from .registry import values

_NOT_IN_A_RUN_ID = re.compile(r"[^A-Za-z0-9._-]+")


def members(value: Any) -> dict[str, Any]:
    """The value when it is an object, else an empty one."""
    return value if isinstance(value, dict) else {}


def items(value: Any) -> list[Any]:
    """The value when it is a list, else an empty one."""
    return value if isinstance(value, list) else []


def words(value: Any) -> str:
    """The value when it is a text, else an empty one."""
    return value if isinstance(value, str) else ""


def listed(builder: RunBuilder, value: Any, what: str) -> list[Any]:
    """A list, or nothing where there is none; any other value is damage."""
    if value is not None and not isinstance(value, list):
        builder.unreadable(f"{what} is no list")
    return items(value)


def named(builder: RunBuilder, value: Any, what: str) -> dict[str, Any]:
    """An object, or an empty one where there is none; any other value is damage."""
    if value is not None and not isinstance(value, dict):
        builder.unreadable(f"{what} is no object")
    return members(value)


def spoken(builder: RunBuilder, content: Any, what: str) -> str:
    """The words of a text or of a list of parts, nothing where there is none; any other value is damage."""
    if content is not None and not is_spoken(content):
        builder.unreadable(f"{what} is no text and no list of parts")
    return text_of(content)


def is_spoken(content: Any) -> bool:
    """Whether it is a text, or a list of parts of named types that say what they hold."""
    return isinstance(content, str) or (isinstance(content, list) and all(map(_is_part, content)))


def _is_part(part: Any) -> bool:
    if isinstance(part, str):
        return True
    if not isinstance(part, dict) or not isinstance(part.get("type"), str):
        return False
    return part["type"] != "text" or isinstance(part.get("text"), str)


def arguments(builder: RunBuilder, given: Any, kind: type = dict) -> Any:
    """Arguments for ``RunBuilder.call``: what is absent was not captured, what is of another type is damage."""
    if given is None:
        builder.lacks("the arguments of some calls were not captured")
        return Unknown("not captured")
    if isinstance(given, (kind, Defect, Unknown)):
        return given
    builder.unreadable(f"the arguments of a call are no {'object' if kind is dict else 'text'}")
    return given if isinstance(given, (dict, str)) else Unknown("unreadable")


def flag(builder: RunBuilder, holder: dict[str, Any], name: str) -> bool | None:
    """A flag, None where there is none; any other value is damage, and no flag."""
    value = holder.get(name)
    if value is not None and not isinstance(value, bool):
        builder.unreadable(f"{name} is neither true nor false")
        return None
    return value


def code(builder: RunBuilder, holder: dict[str, Any], name: str) -> int | None:
    """An exit code, None where there is none; any other value is damage, and no code."""
    value = holder.get(name)
    if value is not None and (isinstance(value, bool) or not isinstance(value, int)):
        builder.unreadable(f"{name} is no whole number")
        return None
    return value


def is_sound(value: Any) -> bool:
    """Whether a value was read without a violation of strict JSON."""
    return not isinstance(value, Defect) and not holds_defect(value)


def run_name(*parts: Any) -> str:
    """A run id of the parts that are texts or numbers, in the letters that one may have; empty without any."""
    texts = [str(part) for part in parts if isinstance(part, (str, int)) and not isinstance(part, bool)]
    name = ".".join(_NOT_IN_A_RUN_ID.sub("-", text[:100]) for text in texts if text)
    return name.lstrip("._-")[:120]


def runs_in(
    path: Path, name: str, read: Callable[[Any, int], Iterable[ImportedRun]]
) -> Iterator[ImportedRun]:
    """What ``read`` finds in each JSON value of the file, which it gets with its line.

    A line that cannot be read, and one that holds no run, is a damaged run without calls. Raises MissingInputError
    when the file cannot be opened, and InvalidInputError when nothing in it is of the format.
    """
    held: list[ImportedRun] = []
    readable = False
    for value, line, damage, _ in values(path):
        found = iter(() if damage else read(value, line))
        first = next(found, None)
        if first is None:
            broken = RunBuilder(name, path, run_id=f"line-{line}", line=line)
            if damage:
                broken.damage.append(damage)
            else:
                broken.unreadable("no run of this format stands here")
            found, first = iter(()), broken.finish(closed=False)
        else:
            readable = True
        if readable:
            yield from chain(held, (first,), found)
            held.clear()
        else:
            held.append(first)
    if not readable:
        raise InvalidInputError(f"{str(path)!r} holds no run that can be read as {name}")
