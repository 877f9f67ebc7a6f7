"""What readers of message dumps share: files that hold one entry a line, or whole conversations as lists or objects."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, Protocol

from ..errors import InvalidInputError
from ..model.frozen import changed
from ..model.run import Completeness, Damage, DamageKind, ImportedRun
from .building import RunBuilder
from .registry import values

# A crafted file may name very many agents, or be damaged at very many places: what all runs share is bounded.
MANY_AGENTS = 64
SHARED_DAMAGE = 100
NOTES = 20


class Talk(Protocol):
    """A conversation while its entries are read one by one."""

    def note(self, damage: Damage, /) -> None:
        """A line between the entries cannot be read."""

    def take(self, entry: Any, line: int, /) -> None:
        """The next entry; what is none is damage."""

    def runs(self) -> Iterator[ImportedRun]:
        """The runs of the agents that spoke, after the last entry."""


def conversations(
    path: Path,
    name: str,
    is_entry: Callable[[Any], bool],
    begin: Callable[[], Talk],
    read: Callable[[Any, int], Iterable[ImportedRun]],
) -> Iterator[ImportedRun]:
    """The runs of a file: lines that are entries are one conversation, any other value is what ``read`` finds in it.

    Raises MissingInputError when the file cannot be opened, and InvalidInputError when nothing in it is of the format.
    """
    talk: Talk | None = None
    waiting: list[Damage] = []
    found = False
    for value, line, damage, _ in values(path):
        if damage is None and talk is None and is_entry(value):
            talk = begin()
            for each in waiting:
                talk.note(each)
            waiting.clear()
        if talk is not None:
            if damage is None:
                talk.take(value, line)
            else:
                talk.note(damage)
            continue
        empty = True
        for run in () if damage else read(value, line):
            empty, found = False, True
            yield run
        if empty:
            reason = "no conversation of this format stands here"
            waiting.append(damage or Damage(DamageKind.UNREADABLE, reason, line=line))
    if talk is not None:
        yield from talk.runs()
    elif not found:
        raise InvalidInputError(f"{str(path)!r} holds no run that can be read as {name}")
    else:
        yield from (_broken(path, name, damage) for damage in waiting)


def _broken(path: Path, name: str, damage: Damage) -> ImportedRun:
    builder = RunBuilder(name, path, run_id=f"line-{damage.line}", damage=[damage])
    return builder.finish(closed=False)


def teamed(runs: list[ImportedRun]) -> Iterator[ImportedRun]:
    """Agents that spoke in one conversation, each with the calls of the others as made on its behalf.

    What one of them says may speak of what another did, so none is closed where the record of another is not.
    """
    if len(runs) > MANY_AGENTS:
        reason = f"{len(runs)} agents speak in the conversation: each is judged by its own calls only"
        yield from (_partial(run, reason) for run in runs)
        return
    whole = all(run.record.completeness is Completeness.CLOSED for run in runs)
    for run in runs:
        others = tuple(call for other in runs if other is not run for call in other.record.executions)
        reason = "the record of another agent of the conversation does not hold everything"
        closed = run.record.completeness is Completeness.CLOSED
        yield changed(_partial(run, reason) if closed and not whole else run, behalf=others)


def shared_damage(damage: list[Damage]) -> list[Damage]:
    """Damage as each run of a conversation is given it: the first places, and how many more there are."""
    if len(damage) <= SHARED_DAMAGE:
        return list(damage)
    more = len(damage) - SHARED_DAMAGE
    text = f"{more} more places of the conversation are damaged"
    return [*damage[:SHARED_DAMAGE], Damage(DamageKind.UNREADABLE, text)]


def _partial(run: ImportedRun, reason: str) -> ImportedRun:
    record = run.record
    return changed(
        run, record=changed(record, completeness=Completeness.PARTIAL, notes=(*record.notes, reason))
    )
