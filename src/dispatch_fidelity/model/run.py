"""A record: the streams of a run, or an imported conversation; and the manifest of a run."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from .execution import Execution
from .frozen import Frozen, Word


class State(Word):
    """What the reader found a stream to be."""

    CLEAN = "clean"
    OPEN_ENDED = "open-ended"
    TORN_TAIL = "torn tail"
    CORRUPT = "corrupt"
    FORKED = "forked"
    UNTERMINATED = "unterminated"
    SEALED = "sealed"


class Completeness(Word):
    """What the absence of a call from the record means: only in a closed one does it accuse."""

    CLOSED = "closed"
    PARTIAL = "partial"
    SAMPLED = "sampled"


class DamageKind(Word):
    """What is wrong at one place of a stream."""

    EMPTY = "empty"
    TORN = "torn"
    UNREADABLE = "unreadable"
    CHAIN = "chain"
    NUMBER = "number"
    RUN = "run"
    STREAM = "stream"
    DIGEST = "digest"
    STRAY = "stray"
    MISSING_STREAM = "missing stream"
    MISSING_CLOSE = "missing close"
    LATE_STREAM = "late stream"
    COUNT = "count"
    GAP = "gap"
    LIFECYCLE = "lifecycle"
    BLOB = "blob"
    MISSING_BLOB = "missing blob"
    CALLS = "open calls"


class Damage(Frozen, frozen=True):
    """One defect of the record; ``line`` counts from 1, 0 where it is no line's."""

    kind: DamageKind
    text: str
    stream: str = "main"
    line: int = 0


class Close(Frozen, frozen=True):
    """What the close record of a stream says."""

    calls: int
    ended: int
    streams: tuple[str, ...] = ()
    opening: str = ""
    heads: dict[str, str] = {}


class Stream(Frozen, frozen=True):
    """One log file, as read."""

    id: str
    path: str
    version: int
    events: int
    state: State
    run_id: str = ""
    manifest_digest: str = ""
    head: str = ""
    close: Close | None = None
    damage: tuple[Damage, ...] = ()


class Record(Frozen, frozen=True):
    """All streams of a run, or an imported conversation."""

    run_id: str
    format: str
    executions: tuple[Execution, ...]
    completeness: Completeness
    streams: tuple[Stream, ...] = ()
    damage: tuple[Damage, ...] = ()
    tools: tuple[str, ...] = ()
    source: str = ""
    notes: tuple[str, ...] = ()
    imported: bool = False

    def __len__(self) -> int:
        return len(self.executions)

    def __iter__(self) -> Iterator[Execution]:
        return iter(self.executions)

    @property
    def intact(self) -> bool:
        """Whether no place of it is damaged."""
        return not self.damage


class Delegation(Frozen, frozen=True):
    """A call that handed work to another agent: which one, its report, how many calls it is said to have made.

    ``call`` is the key of the call in its own record; ``calls`` is -1 and ``report`` empty where the source does not
    say.
    """

    call: str
    agent: str
    report: str = ""
    calls: int = -1


class ImportedRun(Frozen, frozen=True):
    """One agent's run, rebuilt from a foreign transcript: its record, its report, the user's request.

    ``agent`` and ``parent`` are ids as the source gives them; ``delegations`` are the calls that handed work on, and
    ``behalf`` the calls that those agents made, where their logs are at hand.
    """

    record: Record
    report: str
    agent: str = "agent"
    parent: str = ""
    task: str = ""
    report_span: tuple[int, int] = (0, 0)
    delegations: tuple[Delegation, ...] = ()
    behalf: tuple[Execution, ...] = ()


class ToolSpec(Frozen, frozen=True):
    """The parameters of a tool in order, and the defaults of those that have one."""

    params: tuple[str, ...] = ()
    defaults: dict[str, Any] = {}
    variadic: bool = False


class Manifest(Frozen, frozen=True):
    """A sealed manifest: what was fixed before the first call. ``digest`` is the SHA-256 of its bytes."""

    version: int
    run_id: str
    nonce_sha256: str
    digest: str
    file_name: str = ""
    task_id: str | None = None
    system: dict[str, Any] = {}
    tools: dict[str, ToolSpec] = {}
    regime: dict[str, Any] = {}
    durability: Any = "process"
    sealed_at: str = ""
    keys: dict[str, Any] = {}
