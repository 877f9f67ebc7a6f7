"""What the report says was done."""

from __future__ import annotations

from typing import Any

from .frozen import UNSET, Frozen, Word


class Source(Word):
    """The form in which a claim was made."""

    BLOCK = "block"
    SYNTAX = "syntax"
    SHELL = "shell"
    PROSE = "prose"


class Strength(Word):
    """Explicit claims decide; implied ones are listed."""

    EXPLICIT = "explicit"
    IMPLIED = "implied"


class Polarity(Word):
    """What a claim says of the end of its call."""

    DONE = "done"
    SUCCEEDED = "succeeded"
    FAILED = "failed"


class Claim(Frozen, frozen=True):
    """One claim of a report. ``span`` is its place in characters: ``report[start:end]`` are its words."""

    tool: str
    args: dict[str, Any]
    result: Any = UNSET
    error: Any = UNSET
    status: Any = UNSET
    action: str | None = None
    source: Source = Source.BLOCK
    strength: Strength = Strength.EXPLICIT
    span: tuple[int, int] = (0, 0)


class Unreadable(Frozen, frozen=True):
    """A place that holds a claim which cannot be read, and why."""

    reason: str
    span: tuple[int, int] = (0, 0)


class Extraction(Frozen, frozen=True):
    """Everything that a report claims.

    ``claims`` are those of the last readable block; ``superseded`` were dropped by it; ``measured`` is
    false where no block was found or the last one is empty.
    """

    claims: tuple[Claim, ...] = ()
    superseded: tuple[Claim, ...] = ()
    unreadable: tuple[Unreadable, ...] = ()
    blocks: int = 0
    last_is_empty: bool = False
