"""What a log that was imported from a foreign transcript holds beyond a recorded one; ``importing`` writes it."""

from __future__ import annotations

from typing import Any

from ..model.call import Learned, Status, Unknown
from ..model.execution import Execution
from ..model.frozen import Frozen
from ..model.run import Completeness, Damage, DamageKind
from .events import NOT_SHOWN, Event

UNREAD = "$unparsed"


class Imported(Frozen, frozen=True):
    """Where an imported log comes from, and what its source was: its format, completeness, damage and notes."""

    format: str
    source: str = ""
    sha256: str = ""
    completeness: Completeness = Completeness.PARTIAL
    agent: str = "agent"
    parent: str = ""
    damage: tuple[Damage, ...] = ()
    notes: tuple[str, ...] = ()


def read_imported(value: Any) -> Imported | None:
    """The member ``imported`` of an open record; None where the log was recorded, not imported.

    What in it cannot be read makes the record partial.
    """
    if not isinstance(value, dict):
        return None
    damage = tuple(map(_damage, _list(value.get("damage"))))
    notes = tuple(note for note in _list(value.get("notes")) if isinstance(note, str))
    stated = value.get("completeness")
    known = stated in {str(word) for word in Completeness}
    return Imported(
        format=str(value.get("format", "")),
        source=str(value.get("source", "")),
        sha256=str(value.get("sha256", "")),
        completeness=Completeness(stated) if known else Completeness.PARTIAL,
        agent=str(value.get("agent", "agent")),
        parent=str(value.get("parent", "")),
        damage=damage,
        notes=notes,
    )


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _damage(value: Any) -> Damage:
    text = value.get("text") if isinstance(value, dict) else None
    kind = value.get("kind") if isinstance(value, dict) else None
    known = kind in {str(word) for word in DamageKind}
    return Damage(DamageKind(kind) if known else DamageKind.UNREADABLE, str(text or "damage of the source"))


def finished(start: Event, event: Event, result: Any) -> Execution:
    """A call of an imported log with its end, as the reader of its source understood it."""
    return Execution(
        start.tool,
        _read_back(start.args.get(UNREAD, start.args) if isinstance(start.args, dict) else start.args),
        _word(Status, event.status, Status.UNKNOWN),
        _word(Learned, event.learned, Learned.DEFAULT),
        _read_back(result),
        event.error,
        event.message if isinstance(event.message, str) else "",
        event.shown,
        start.stream,
        start.n,
        start.call,
        -1 if event.type == NOT_SHOWN else event.n,
        start.agent or "agent",
        start.parent,
        start.attempt,
        start.source_id,
        start.step,
        event.cut,
        event.joint,
        start.at,
        event.until,
    )


def _read_back(value: Any) -> Any:
    if isinstance(value, dict) and value.get("$df") == "opaque" and "type" in value:
        return Unknown(str(value["type"]), str(value.get("text", "")))
    return value


def _word(words: Any, text: str, default: Any) -> Any:
    return words(text) if text in {str(word) for word in words} else default
