"""How a call ended, and how that was learned."""

from __future__ import annotations

from .frozen import Frozen, Word


class Status(Word):
    """How an execution ended, as far as its source shows (docs/verdicts.md)."""

    RETURNED = "returned"
    CACHED = "cached"
    RAISED = "raised"
    CANCELLED = "cancelled"
    REFUSED = "refused"
    INVALID = "invalid"
    BACKGROUND = "background"
    UNFINISHED = "unfinished"
    UNKNOWN = "unknown"


SUCCEEDED = frozenset({Status.RETURNED, Status.CACHED})
FAILED = frozenset({Status.RAISED, Status.CANCELLED, Status.REFUSED, Status.INVALID})
OPEN = frozenset({Status.BACKGROUND, Status.UNFINISHED, Status.UNKNOWN})


class Learned(Word):
    """Where the status of an execution was read; the last two are weaker, and verdicts on them say so."""

    FLAG = "flag"
    EXIT_CODE = "exit code"
    VALUE = "value"
    SURFACE = "error surface"
    TEXT_PATTERN = "text pattern"
    DEFAULT = "default"


class Blob(Frozen, frozen=True):
    """A result that lies beside the log: its SHA-256, its size in bytes, its first and last part.

    With ``offset`` it is one of the texts in the JSON value of ``length`` bytes that begins there in ``path``.
    """

    sha256: str
    size: int
    preview: str
    media: str = "text"
    path: str = ""
    offset: int = -1
    length: int = 0


class Unknown(Frozen, frozen=True):
    """A value that the record holds only as a stand-in: opaque, redacted, or not captured."""

    kind: str
    text: str = ""
