"""An assessment as lines of text, each with the name of a style; ``terminal`` gives the styles a colour."""

from __future__ import annotations

from typing import Any

from ..jsonio import UNSET
from ..model.assessment import Assessment, Binding, Check, Overall
from ..model.call import Blob
from ..model.execution import Execution
from ..model.score import FAILING, ScoredClaim, Verdict
from .text import call_text, clean, columns, shortened, value_text

Line = tuple[str, str]
LISTED = 50
_STYLE = {Overall.PASS: "pass", Overall.FAIL: "fail", Overall.INCONCLUSIVE: "open"}
CHECKS = {
    "B0": "log intact and not empty",
    "B1": "the log was opened under this manifest",
    "B2": "records numbered and linked without a break",
    "B3": "a canary receipt hashes to the commitment",
    "B4": "manifest and log name the same run",
    "B5": "no stray records",
    "B6": "the recorder's opening hashes to the commitment",
}


def assessment_lines(assessment: Assessment) -> list[Line]:
    """The whole answer for one run: outcome first, then the false claims in full, then what it rests on."""
    score, outcome = assessment.score, assessment.outcome
    lines: list[Line] = [
        ("title", f"run {clean(assessment.run_id) or '(unnamed)'}"),
        (_STYLE[outcome.overall], f"{outcome.overall}  (exit {outcome.exit_code})"),
    ]
    lines += [("reason", f"  - {clean(reason)}") for reason in outcome.reasons]
    lines.append(("", ""))
    counts = [
        ("claimed", score.claimed),
        ("matched", score.matched),
        ("fabricated", score.fabricated),
        ("substituted", score.substituted),
        ("mismatched", score.mismatched),
        ("overstated", score.overstated),
        ("stale", score.stale),
        ("unresolved", score.unresolved),
    ]
    shown = [
        f"{name} {count}" for name, count in counts if count or name in ("claimed", "matched", "fabricated")
    ]
    lines.append(("", "claims     " + "  ".join(shown)))
    calls = len(assessment.record.executions)
    failed = sum(execution.failed for execution in assessment.record.executions)
    lines.append(
        (
            "",
            f"calls      {calls} in the record, {failed} failed, {score.omitted} not mentioned in the report",
        )
    )
    lines.append(("", f"binding    {outcome.binding}"))
    level = assessment.level
    lines.append(("", f"evidence   {level.evidence} {level.durability}, record {level.completeness}"))
    lines.append(("dim", f"           {level.does_not_show}"))
    judged = (
        "values of successful calls are not judged" if score.result_check == "off" else "values are judged"
    )
    lines.append(
        ("dim", f"regime     results {score.result_check} ({judged}); arguments {score.arg_canonicalisation}")
    )
    lines += claim_lines(assessment)
    for note in score.notes[:LISTED]:
        lines.append(("dim", f"note: {clean(note)}"))
    if len(score.notes) > LISTED:
        lines.append(("dim", f"and {len(score.notes) - LISTED} more notes"))
    return lines


def claim_lines(assessment: Assessment) -> list[Line]:
    """Every claim that fails or stays open, in full: the words of the report beside the record."""
    score = assessment.score
    lines: list[Line] = []
    failing = [scored for scored in score.detail if scored.verdict in FAILING]
    unresolved = [scored for scored in score.detail if scored.verdict is Verdict.UNRESOLVED]
    dropped = [scored for scored in score.superseded if scored.verdict in FAILING]
    for title, group in (("", failing), ("", unresolved), ("superseded, ", dropped)):
        for scored in group:
            lines.append(("", ""))
            lines += scored_lines(scored, assessment.report, title)
    for item in score.unreadable[:LISTED]:
        lines.append(("", ""))
        lines.append(("open", f"UNREADABLE  {clean(item.reason)}"))
        lines.append(("", f"  report  {shortened(assessment.report[slice(*item.span)], 400)}"))
    if len(score.unreadable) > LISTED:
        lines.append(("open", f"and {len(score.unreadable) - LISTED} more that cannot be read"))
    return lines


def scored_lines(scored: ScoredClaim, report: str, prefix: str = "") -> list[Line]:
    """One claim with its case."""
    style = "fail" if scored.verdict in FAILING else "open"
    start, end = scored.span
    lines: list[Line] = [(style, f"{prefix}{scored.verdict}  {claim_text(scored)}")]
    if scored.reason:
        lines.append(("", f"  why     {clean(scored.reason)}"))
    if scored.claimed_result is not None:
        lines.append(("", f"  result  {value_text(scored.claimed_result)}"))
    lines.append(("", f"  report  [{start}:{end}] {clean(' '.join(report[start:end].split()))}"))
    record = "no such execution" if scored.execution is None else execution_text(scored.execution)
    lines.append(("", f"  record  {record}"))
    return lines


def claim_text(scored: ScoredClaim) -> str:
    """A claim on one line: the call, or the act where no tool is named."""
    if scored.tool or scored.action is None:
        return call_text(scored.tool, scored.args)
    told = {"status": scored.claim.status} if scored.claim.status is not UNSET else {}
    return call_text(scored.action, {**scored.args, **told})


def execution_text(execution: Execution) -> str:
    """One execution on one line."""
    end = str(execution.status)
    if execution.error:
        end += f" {clean(execution.error)}"
    if execution.message:
        end += f": {shortened(execution.message, 200)}"
    elif execution.result is not UNSET:
        end += f" → {shortened(result_text(execution.result), 200)}"
    place = f"{execution.stream}#{execution.n}"
    return f"[{clean(place)}] {shortened(call_text(execution.tool, execution.args), 300)} {end}"


def result_text(result: Any) -> str:
    """A logged result in short."""
    if isinstance(result, Blob):
        return f"{result.size} bytes, sha256 {result.sha256[:16]}…"
    return value_text(result)


def binding_lines(binding: Binding) -> list[Line]:
    """The checks of a binding, one a line, and what they rest on."""
    marks = {
        Check.HOLDS: ("pass", "holds"),
        Check.FAILS: ("fail", "FAILS"),
        Check.NOT_DERIVABLE: ("open", "not derivable"),
    }
    lines: list[Line] = [("title", f"binding of run {clean(binding.run_id)}: {binding.status}")]
    for name, check in binding.checks.items():
        style, word = marks[check]
        lines.append((style, f"  {name}  {CHECKS[name]:<48} {word}"))
    lines += [("fail", f"  finding  {clean(text)}") for text in binding.findings]
    lines += [("dim", f"  open     {clean(text)}") for text in binding.unprovable]
    return lines


def summary_row(item: Assessment) -> tuple[str, ...]:
    """One run in a row, under ``SUMMARY_HEAD``."""
    record = item.record
    return (
        clean(item.run_id),
        clean(item.agent),
        str(len(record.executions)),
        str(sum(execution.failed for execution in record.executions)),
        str(sum(execution.open for execution in record.executions)),
        str(item.score.claimed),
        str(item.score.value_integrity_failures),
        str(item.outcome.overall),
        shortened("; ".join(item.outcome.reasons), 400),
    )


SUMMARY_HEAD = ("run", "agent", "calls", "failed", "open", "claims", "false", "outcome", "reasons")


def table_lines(rows: list[tuple[str, ...]], head: tuple[str, ...] = SUMMARY_HEAD) -> list[str]:
    """Rows in aligned columns."""
    table = [head, *rows]
    widths = [max(columns(row[column]) for row in table) for column in range(len(head) - 1)]
    return [
        "  ".join(
            cell + " " * (width - columns(cell)) for cell, width in zip(row, [*widths, 0], strict=True)
        ).rstrip()
        for row in table
    ]


def render_assessment(assessment: Assessment) -> str:
    """The whole answer as plain text."""
    return "\n".join(text for _, text in assessment_lines(assessment)) + "\n"
