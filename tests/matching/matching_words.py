"""Short words for the tests of this folder: claims, executions, and the score of the ones against the others."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dispatch_fidelity.claims.acknowledgement import speaks_of_failure
from dispatch_fidelity.claims.polarity import polarity
from dispatch_fidelity.jsonio import UNSET
from dispatch_fidelity.matching.policy import Policy
from dispatch_fidelity.matching.scorer import score_claims
from dispatch_fidelity.model.call import Learned, Status
from dispatch_fidelity.model.claim import Claim, Extraction
from dispatch_fidelity.model.execution import Execution
from dispatch_fidelity.model.score import Score


def told(tool: str = "get", args: dict[str, Any] | None = None, result: Any = UNSET, **fields: Any) -> Claim:
    return Claim(tool, {} if args is None else args, result, **fields)


def ran(
    tool: str = "get",
    args: Any = None,
    result: Any = "ok",
    *,
    n: int = 0,
    status: Status = Status.RETURNED,
    learned: Learned = Learned.FLAG,
    **fields: Any,
) -> Execution:
    return Execution(tool, {} if args is None else args, status, learned, result, n=n, **fields)


def failed(
    tool: str = "get", args: Any = None, error: str = "TimeoutError", message: str = "", **fields: Any
) -> Execution:
    status = fields.pop("status", Status.RAISED)
    return ran(tool, args, UNSET, status=status, error=error, message=message, **fields)


def scored(claims: Sequence[Claim], executions: Sequence[Execution], **choices: Any) -> Score:
    policy = Policy(polarity=polarity, speaks_of_failure=speaks_of_failure, **choices)
    return score_claims(Extraction(tuple(claims)), executions, policy)


def verdicts(claims: Sequence[Claim], executions: Sequence[Execution], **choices: Any) -> list[str]:
    return [str(item.verdict) for item in scored(claims, executions, **choices).detail]
