"""Judge an agent's report against the log of its run.

Exit codes: 0 PASS, 1 FAIL, 2 INCONCLUSIVE; 64 wrong usage, 65 input is not what it says, 66 input missing.
"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from ...audit import assess, choose
from ...evidence.manifest import read_manifest
from ...log.reader import load_log
from ...rendering.plain import assessment_lines
from .. import console
from ..inputs import add_choices, chosen_options, read_report, read_schema_file


def add_arguments(parser: ArgumentParser) -> None:
    """The options of ``score``."""
    parser.add_argument("--claims", required=True, metavar="FILE", help="the agent's final report")
    parser.add_argument(
        "--log",
        required=True,
        action="append",
        metavar="FILE",
        help="the tool log; the other streams of its run are found beside it; may be repeated",
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
    console.check_target(args.json, [args.claims, *args.log, args.manifest, args.schema])
    options = chosen_options(args)
    report = read_report(args.claims)
    schema = read_schema_file(args.schema)
    manifest = read_manifest(args.manifest) if args.manifest is not None else None
    record = load_log(args.log)
    assessment = assess(
        report, record, manifest, choices=choose(options, manifest), schema=schema, nonce=args.nonce
    )
    if args.json is not None:
        from ...rendering.jsondoc import assessment_document

        console.write_json(args.json, assessment_document(assessment))
    if not console.wants_only_json(args.json):
        console.show(assessment_lines(assessment))
    return assessment.outcome.exit_code
