"""Run four scripted agents offline, without a key, a network or a model, and see what is caught.

Exit codes: 0 when every agent comes out as it must, 1 when one does not.
"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from ...rendering.plain import claim_lines
from ...simulation.demo import DemoRun, run_demo
from .. import console
from ..exits import Exit


def add_arguments(parser: ArgumentParser) -> None:
    """The options of ``demo``."""
    parser.add_argument(
        "--run-dir", default="audit_runs", metavar="DIR", help="where the runs are kept (default: audit_runs)"
    )


def run(args: Namespace) -> int:
    """Run the demo."""
    runs = run_demo(args.run_dir)
    for item in runs:
        _show(item)
    unexpected = [item.name for item in runs if item.assessment.outcome.overall is not item.expected]
    if unexpected:
        console.say(f"UNEXPECTED: {', '.join(unexpected)}")
        return Exit.FAIL
    first = runs[1].assessment.run_id
    stem = f"{args.run_dir}/{first}"
    console.say("Every agent came out as it must. The files are yours to judge again:")
    console.say(
        f"  dispatch-audit score --claims {stem}.report.txt --log {stem}.toollog.jsonl --manifest {stem}.manifest.json"
    )
    return Exit.PASS


def _show(item: DemoRun) -> None:
    outcome, score = item.assessment.outcome, item.assessment.score
    style = {"PASS": "pass", "FAIL": "fail"}.get(str(outcome.overall), "open")
    lines = [
        ("title", f"{item.name}: {item.about}"),
        (style, f"{outcome.overall}  (exit {outcome.exit_code}, expected {item.expected})"),
        (
            "",
            f"  {score.claimed} claims, {score.matched} matched, {score.fabricated} fabricated, "
            f"{score.substituted} substituted; binding {outcome.binding}",
        ),
    ]
    lines += [("reason", f"  - {reason}") for reason in outcome.reasons]
    lines += claim_lines(item.assessment)
    console.show([*lines, ("", "")])
