"""An assessment as plain data for JSON (docs/artifacts.md); versioned by the names in ``regime``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..model.assessment import Assessment, Binding, Choices
from ..model.execution import Execution
from ..model.score import Score, ScoredClaim


def execution_key(execution: Execution | None) -> dict[str, Any] | None:
    """Where an execution stands in the record."""
    if execution is None:
        return None
    return {"stream": execution.stream, "n": execution.n, "call": execution.call}


def claim_document(scored: ScoredClaim, report: str) -> dict[str, Any]:
    """One decided claim with its words."""
    start, end = scored.span
    return {
        "tool": scored.tool,
        "action": scored.action,
        "args": scored.args,
        "verdict": str(scored.verdict),
        "reason": scored.reason,
        "claimed_result": scored.claimed_result,
        "source": str(scored.source),
        "strength": str(scored.strength),
        "span": [start, end],
        "text": report[start:end],
        "execution": execution_key(scored.execution),
    }


def score_document(score: Score, report: str) -> dict[str, Any]:
    """All counters and lists of a score."""
    return {
        "claimed": score.claimed,
        "matched": score.matched,
        "fabricated": score.fabricated,
        "substituted": score.substituted,
        "mismatched": score.mismatched,
        "overstated": score.overstated,
        "stale": score.stale,
        "unresolved": score.unresolved,
        "omitted": score.omitted,
        "canary_claimed": score.canary_claimed,
        "canary_fabricated": score.canary_fabricated,
        "fabrication_rate": score.fabrication_rate,
        "substitution_rate": score.substitution_rate,
        "value_integrity_failures": score.value_integrity_failures,
        "clean": score.clean,
        "arg_canonicalisation": score.arg_canonicalisation,
        "by_source": score.by_source,
        "detail": [claim_document(scored, report) for scored in score.detail],
        "superseded": [claim_document(scored, report) for scored in score.superseded],
        "unreadable": [
            {"reason": item.reason, "span": list(item.span), "text": report[slice(*item.span)]}
            for item in score.unreadable
        ],
        "omitted_calls": [
            {
                "tool": execution.tool,
                "args": execution.args,
                "status": str(execution.status),
                **(execution_key(execution) or {}),
            }
            for execution in score.omitted_calls
        ],
        "notes": list(score.notes),
    }


def binding_document(binding: Binding) -> dict[str, Any]:
    """The checks of a binding."""
    return {
        "status": str(binding.status),
        "bound": binding.bound,
        "checks": {name: str(check) for name, check in binding.checks.items()},
        "findings": list(binding.findings),
        "unprovable": list(binding.unprovable),
    }


def regime_document(choices: Choices) -> dict[str, Any]:
    """The named choices under which a run was judged."""
    found = {
        "result_check": choices.result_check,
        "binding_proof": choices.binding_proof,
        "implied": choices.implied,
        "arg_canonicalisation": choices.arg_canonicalisation,
    }
    if choices.require:
        found["require"] = choices.require
    if choices.nonce_pattern:
        found["nonce_pattern"] = choices.nonce_pattern
    return found


def assessment_document(assessment: Assessment) -> dict[str, Any]:
    """The result of ``score`` for one run."""
    outcome, level = assessment.outcome, assessment.level
    return {
        "run_id": assessment.run_id,
        "score": score_document(assessment.score, assessment.report),
        "binding": binding_document(assessment.binding),
        "outcome": {
            "overall": str(outcome.overall),
            "measurement": outcome.measurement,
            "binding": str(outcome.binding),
            "exit_code": outcome.exit_code,
            "reasons": list(outcome.reasons),
        },
        "level": {
            "evidence": level.evidence,
            "durability": level.durability,
            "completeness": str(level.completeness),
            "does_not_show": level.does_not_show,
        },
        "regime": regime_document(assessment.choices),
    }


def run_document(assessment: Assessment) -> dict[str, Any]:
    """One row of ``audit``: where the run came from, its counts, and everything that ``score`` gives."""
    record = assessment.record
    return {
        "run": assessment.run_id,
        "source": record.source,
        "format": record.format,
        "agent": assessment.agent,
        "parent": assessment.parent,
        "calls": len(record.executions),
        "failed": sum(execution.failed for execution in record.executions),
        "unfinished": sum(execution.open for execution in record.executions),
        "report_chars": len(assessment.report),
        **assessment_document(assessment),
    }


def audit_document(
    runs: Sequence[dict[str, Any]], outcome: str, errors: Sequence[dict[str, Any]] = ()
) -> dict[str, Any]:
    """The result of ``audit`` over several runs, each as ``run_document`` gives it."""
    document: dict[str, Any] = {"runs": list(runs), "outcome": outcome}
    if errors:
        document["errors"] = list(errors)
    return document
