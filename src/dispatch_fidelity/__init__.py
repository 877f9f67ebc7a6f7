"""An audit of what agents report: what it says it called, was it called.

Record the calls of an agent, prove that the evidence is of one run, and compare what the report claims with
what was executed. Names are loaded when they are first used: importing the package costs next to nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .audit import check_binding, extract_claims, score
    from .errors import (
        AsyncToolError,
        DispatchFidelityError,
        InvalidInputError,
        MissingExtraError,
        MissingInputError,
        RecordingError,
        RunExistsError,
        SessionClosedError,
        UsageError,
    )
    from .log.reader import load_log
    from .model.assessment import Assessment, Binding, Outcome
    from .model.claim import Claim
    from .model.execution import Execution
    from .model.run import Record
    from .model.score import DispatchScore, Score, ScoredClaim, Verdict
    from .session import AuditSession

__version__ = "0.4.0"

_HOMES = {
    "Assessment": "model.assessment",
    "AsyncToolError": "errors",
    "AuditSession": "session",
    "Binding": "model.assessment",
    "Claim": "model.claim",
    "DispatchFidelityError": "errors",
    "DispatchScore": "model.score",
    "Execution": "model.execution",
    "InvalidInputError": "errors",
    "MissingExtraError": "errors",
    "MissingInputError": "errors",
    "Outcome": "model.assessment",
    "Record": "model.run",
    "RecordingError": "errors",
    "RunExistsError": "errors",
    "Score": "model.score",
    "ScoredClaim": "model.score",
    "SessionClosedError": "errors",
    "UsageError": "errors",
    "Verdict": "model.score",
    "check_binding": "audit",
    "extract_claims": "audit",
    "load_log": "log.reader",
    "score": "audit",
}

__all__ = [
    "Assessment",
    "AsyncToolError",
    "AuditSession",
    "Binding",
    "Claim",
    "DispatchFidelityError",
    "DispatchScore",
    "Execution",
    "InvalidInputError",
    "MissingExtraError",
    "MissingInputError",
    "Outcome",
    "Record",
    "RecordingError",
    "RunExistsError",
    "Score",
    "ScoredClaim",
    "SessionClosedError",
    "UsageError",
    "Verdict",
    "check_binding",
    "extract_claims",
    "load_log",
    "score",
]


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    value = getattr(import_module(f"{__name__}.{home}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
