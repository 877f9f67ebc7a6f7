"""Judge an agent's report against the log of its run.

Exit codes: 0 PASS, 1 FAIL, 2 INCONCLUSIVE; 64 wrong usage, 65 input is not what it says, 66 input missing.
"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from ...audit import assess, choose
from ...errors import UsageError
from ...evidence.manifest import read_manifest
from ...log.reader import load_log
from ...model.frozen import changed
from ...model.run import Record
from ...model.score import ScoredClaim
from ...rendering.plain import assessment_lines
from .. import console
from ..inputs import add_choices, chosen_options, read_report, read_schema_file


def add_arguments(parser: ArgumentParser) -> None:
    """The options of ``score``."""
    parser.add_argument("--claims", required=True, metavar="FILE", help="the agent's final report")
    parser.add_argument(
        "--log",
        action="append",
        default=[],
        metavar="FILE",
        help="the tool log; the other streams of its run are found beside it; may be repeated",
    )
    parser.add_argument(
        "--gate-records",
        metavar="DIR",
        help="the .verify folder of a tree: what the report says of checks (all tests pass) is judged by the newest "
        "records of 'gate'; in place of --log or beside it",
    )
    parser.add_argument(
        "--manifest",
        metavar="FILE",
        help="the sealed manifest of the run; without it the binding is NOT_CHECKED",
    )
    parser.add_argument("--nonce", default="", help="the nonce, where the log does not show a receipt")
    parser.add_argument(
        "--nonce-pattern", metavar="REGEX", help="a receipt of your own: its first group is the nonce"
    )
    add_choices(parser, results="off")
    parser.add_argument("--json", metavar="FILE", help="write the result as JSON; - is standard output")


def run(args: Namespace) -> int:
    """Judge one report."""
    if not args.log and args.gate_records is None:
        raise UsageError("score needs --log, --gate-records, or both")
    console.check_target(args.json, [args.claims, *args.log, args.manifest, args.schema])
    options = chosen_options(args)
    report = read_report(args.claims)
    schema = read_schema_file(args.schema)
    manifest = read_manifest(args.manifest) if args.manifest is not None else None
    choices = choose(options, manifest)
    record: Record
    further: tuple[ScoredClaim, ...] = ()
    if args.gate_records is not None:
        record, further = _checks(report, args.gate_records, choices.result_check)
    if args.log:
        record = load_log(args.log)
    elif options["binding_proof"] is None:
        choices = changed(choices, binding_proof="tree")
    assessment = assess(
        report, record, manifest, choices=choices, schema=schema, nonce=args.nonce, further=further
    )
    if args.json is not None:
        from ...rendering.jsondoc import assessment_document

        console.write_json(args.json, assessment_document(assessment))
    if not console.wants_only_json(args.json):
        console.show(assessment_lines(assessment))
    return assessment.outcome.exit_code


def _checks(report: str, folder: str, result_check: str) -> tuple[Record, tuple[ScoredClaim, ...]]:
    """The records of ``gate``, and the statements about checks judged by them."""
    from pathlib import Path

    from ...discipline.reported import gate_checks, gate_record, judge_checks

    checks = gate_checks(Path(folder))
    return gate_record(checks), judge_checks(report, checks, result_check=result_check)
