"""Which conversations a file of messages, items or parts holds, and how each becomes a run.

- A file is one conversation, an entry a line; or it holds conversations: one in a document, one a line, or a list.
  A line that cannot be read is damage of the one, and a damaged run of its own beside the others.
- Requests that repeat what went before are one conversation: it is read once, in its longest form.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any, Protocol

from ..errors import InvalidInputError
from ..jsonio import Defect
from ..model.run import Damage, DamageKind, ImportedRun
from .building import RunBuilder, as_text
from .message_items import Exchange
from .registry import Value, values

_WAITING = 8  # conversations of a file that a later request may still continue
_NOT_IN_A_NAME = re.compile(r"[^A-Za-z0-9._-]")


@dataclass(slots=True)
class Source:
    """One conversation as it was found in a file, not yet read.

    ``missing``: why a part of it is known to stand elsewhere. ``keys`` tell what its entries are, so that a request
    which repeats them can be told; ``ident`` and ``follows`` name it and the one before it, ``group`` the conversation
    that it is a piece of. ``damage`` alone is a place where a conversation should have stood.
    """

    entries: list[Any] | None
    name: str = ""
    tools: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    keys: tuple[int, ...] = ()
    ident: str = ""
    follows: str = ""
    group: str = ""
    line: int = 0
    damage: Damage | None = None
    repeated: int = 0


class Format(Protocol):
    """What a reader knows of its format, for ``read_runs``."""

    NAME: str
    NOTHING: str

    def is_entry(self, value: Any, following: Any, /) -> bool:
        """Whether a value is one entry of a conversation that goes on with the next value of the file."""

    def sources(self, value: Any, /) -> Iterator[Source]:
        """The conversations in an object, or in a list of entries; none in anything else."""

    def open(self, builder: RunBuilder, /) -> Exchange:
        """A conversation to be read."""


def read_runs(path: Path, form: Format) -> Iterator[ImportedRun]:
    """Every conversation of the file as a run; InvalidInputError when it holds none."""
    found = values(path)
    damaged: list[Value] = []
    first = next(_readable(found, damaged), None)
    second = next(found, None) if first is not None else None
    rest = chain(() if second is None else (second,), found)
    if first is not None and _goes_on(form, first.value, second.value if second else None):
        exchange = form.open(RunBuilder(form.NAME, path))
        for value in chain(damaged, (first,), rest):
            exchange.read(value)
        yield exchange.finish()
        return
    names: set[str] = set()
    index, held, readable = 0, list[Source](), False
    for source in _joined(_sources(chain(damaged, () if first is None else (first,), rest), form)):
        held.append(source)
        readable = readable or source.entries is not None
        if not readable:
            continue
        for ready in held:
            name = run_name(ready.name) or f"run-{index}"
            name = name if name not in names else f"{name}.run-{index}"
            names.add(name)
            yield _import(ready, name, path, form)
            index += 1
        held.clear()
    if not readable:
        raise InvalidInputError(f"{str(path)!r} holds no {form.NOTHING}")


def _goes_on(form: Format, first: Any, second: Any) -> bool:
    """Whether the file is one conversation, by its first value, or by the second where the first says nothing."""
    if form.is_entry(first, second):
        return True
    return form.is_entry(second, None) and next(iter(form.sources(first)), None) is None


def _readable(found: Iterator[Value], damaged: list[Value]) -> Iterator[Value]:
    for value in found:
        if value.damage is None and not isinstance(value.value, Defect):
            yield value
        else:
            damaged.append(value)


def _sources(found: Iterable[Value], form: Format) -> Iterator[Source]:
    for value, line, damage, _ in found:
        if damage is None and isinstance(value, Defect):
            damage = Damage(DamageKind.UNREADABLE, f"no conversation can be read: {value.reason}", line=line)
        if damage is not None:
            yield Source(None, line=line, damage=damage)
        else:
            for source in _within(value, line, form):
                source.line = line
                yield source


def _within(value: Any, line: int, form: Format, *, outermost: bool = True) -> Iterator[Source]:
    """The conversations in a value, also in a list of objects; where there is none, damage."""
    found = iter(form.sources(value))
    first = next(found, None)
    if first is not None:
        yield first
        yield from found
    elif outermost and isinstance(value, list) and value:
        for item in value:
            yield from _within(item, line, form, outermost=False)
    else:
        reason = value.reason if isinstance(value, Defect) else "no conversation stands here"
        yield Source(None, damage=Damage(DamageKind.UNREADABLE, reason, line=line))


def _joined(sources: Iterable[Source]) -> Iterator[Source]:
    """The same conversations, those that a later one repeats or continues as part of that one."""
    waiting: list[Source] = []
    for source in sources:
        for place in range(len(waiting) - 1, -1, -1):
            earlier = waiting[place]
            if _repeats(source, earlier):
                source.repeated = earlier.repeated + 1
                source.name = source.name or earlier.name
                waiting[place] = source
                break
            if earlier.entries is not None and _continues(source, earlier):
                earlier.entries.extend(source.entries or ())
                earlier.keys += source.keys
                earlier.ident, earlier.missing = source.ident, (*earlier.missing, *source.missing)
                earlier.tools += source.tools
                break
        else:
            if source.follows:
                source.missing += ("the responses before it are not in the file",)
            waiting.append(source)
            if len(waiting) > _WAITING:
                yield waiting.pop(0)
    yield from waiting


def _continues(source: Source, earlier: Source) -> bool:
    if source.group:
        return source.group == earlier.group
    return bool(source.follows) and source.follows == earlier.ident


def _repeats(source: Source, earlier: Source) -> bool:
    length = len(earlier.keys)
    return 0 < length < len(source.keys) and source.keys[:length] == earlier.keys


def _import(source: Source, name: str, path: Path, form: Format) -> ImportedRun:
    exchange = form.open(RunBuilder(form.NAME, path, name, line=source.line, tools=list(source.tools)))
    if source.damage is not None:
        exchange.builder.damage.append(source.damage)
    elif not source.entries:
        exchange.builder.defect(DamageKind.EMPTY, "the conversation holds no entry")
    for entry in source.entries or ():
        exchange.read(Value(entry, source.line))
    for text in source.missing:
        exchange.builder.lacks(text)
    if source.repeated:
        exchange.builder.notes.append(f"{source.repeated} shorter forms of this conversation are in the file")
    return exchange.finish()


def run_name(text: str) -> str:
    """A name of the source in the letters that a run id may have; empty where none is left."""
    return _NOT_IN_A_NAME.sub("-", text).lstrip("._-")[:100]


def key(*members: Any) -> int:
    """What tells an entry from others, see ``Source.keys``."""
    return hash(tuple(map(as_text, members)))
