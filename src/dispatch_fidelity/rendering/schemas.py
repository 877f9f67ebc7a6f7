"""The JSON Schemas of what is read and written, exported from the types."""

from __future__ import annotations

from typing import Any

from ..discipline.findings import Finding
from ..discipline.records import GateRecord
from ..discipline.tree import TreeState
from ..evidence.manifest import ManifestFile
from ..jsonio import schema_of
from ..log.events import Event, EventV1
from ..model.frozen import Frozen


class StreamLine(Frozen, frozen=True):
    """One line of the list of a run's streams."""

    stream: str
    parent: str = ""
    pid: int = 0


class ClaimDocument(Frozen, frozen=True):
    """One decided claim in a result."""

    tool: str
    action: str | None
    args: dict[str, Any]
    verdict: str
    reason: str
    claimed_result: Any
    source: str
    strength: str
    span: tuple[int, int]
    text: str
    execution: dict[str, Any] | None


class ScoreDocument(Frozen, frozen=True):
    """The counters and lists of a result."""

    claimed: int
    matched: int
    fabricated: int
    substituted: int
    mismatched: int
    overstated: int
    stale: int
    unresolved: int
    omitted: int
    canary_claimed: int
    canary_fabricated: int
    fabrication_rate: float | None
    substitution_rate: float | None
    value_integrity_failures: int
    clean: bool
    arg_canonicalisation: str
    by_source: dict[str, int]
    detail: list[ClaimDocument]
    superseded: list[ClaimDocument]
    unreadable: list[dict[str, Any]]
    omitted_calls: list[dict[str, Any]]
    notes: list[str]


class BindingDocument(Frozen, frozen=True):
    """The binding in a result."""

    status: str
    bound: bool
    checks: dict[str, str]
    findings: list[str]
    unprovable: list[str]


class OutcomeDocument(Frozen, frozen=True):
    """The outcome in a result."""

    overall: str
    measurement: str
    binding: str
    exit_code: int
    reasons: list[str]


class LevelDocument(Frozen, frozen=True):
    """The evidence level in a result."""

    evidence: str
    durability: str
    completeness: str
    does_not_show: str


class ScoreResult(Frozen, frozen=True):
    """What ``dispatch-audit score --json`` writes, and a session stores as ``<run>.score.json``."""

    run_id: str
    score: ScoreDocument
    binding: BindingDocument
    outcome: OutcomeDocument
    level: LevelDocument
    regime: dict[str, str]


class RunResult(ScoreResult, frozen=True, kw_only=True):
    """One run in what ``dispatch-audit audit --json`` writes."""

    run: str
    source: str
    format: str
    agent: str
    parent: str
    calls: int
    failed: int
    unfinished: int
    report_chars: int


class AuditResult(Frozen, frozen=True):
    """What ``dispatch-audit audit --json`` writes."""

    runs: list[RunResult]
    outcome: str
    errors: list[dict[str, Any]] = []


class GateRecordFile(GateRecord, frozen=True, kw_only=True):
    """A record of ``dispatch-audit gate`` as it lies in ``.verify/``; ``digest`` is its last member."""

    digest: str


class LabelDocument(Frozen, frozen=True):
    """The newest run of a label."""

    label: str
    runs: int
    command: list[str]
    exit_code: int | None
    started: str
    ended: str
    record: str


class AnchorDocument(Frozen, frozen=True):
    """One anchor: how its command is run, and how it ended; null where it was not run."""

    name: str
    command: str
    argv: list[str]
    shell: bool
    expected: str
    new: bool
    exit_code: int | None
    printed: bool | None


class MarkerDocument(Frozen, frozen=True):
    """One suppression in a file of the tree."""

    path: str
    line: int
    rule: str
    text: str


class WaiverDocument(Frozen, frozen=True):
    """One declaration in ``waivers.txt``; an empty rule stands for all."""

    path: str
    rule: str
    reason: str


class VerifyResult(Frozen, frozen=True):
    """What ``dispatch-audit verify --json`` writes; ``verify`` is "verified", "findings" or "listed" (``--list``)."""

    verify: str
    root: str
    tree: TreeState | None
    base: str
    labels: list[LabelDocument]
    anchors: list[AnchorDocument]
    markers: list[MarkerDocument]
    waivers: list[WaiverDocument]
    findings: list[Finding]


SCHEMAS: dict[str, Any] = {
    "audit-result": AuditResult,
    "gate-record": GateRecordFile,
    "log-1-event": EventV1,
    "log-2-event": Event,
    "manifest": ManifestFile,
    "score-result": ScoreResult,
    "streams-line": StreamLine,
    "verify-result": VerifyResult,
}


def schema_text(name: str) -> str:
    """The JSON Schema (2020-12) of one format, as indented text."""
    return schema_of(SCHEMAS[name])
