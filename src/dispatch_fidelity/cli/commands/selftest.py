"""Measure the instrument with known failure classes: defects to catch, harmless variations to leave alone.

The rows are regression cases, written after the faults they hold. They are no estimate of how often other
reports are judged rightly.

Exit codes: 0 every row holds, 1 one does not.
"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from itertools import groupby

from ...selftest.matrix import Matrix, run_matrix
from ...selftest.switches import SWITCHES
from .. import console
from ..exits import Exit


def add_arguments(parser: ArgumentParser) -> None:
    """The options of ``selftest``."""
    parser.add_argument("--json", metavar="FILE", help="write the matrix as JSON; - is standard output")
    parser.add_argument(
        "--without",
        metavar="RULE",
        choices=sorted(SWITCHES),
        help=f"switch one rule off, to see which rows rest on it: {', '.join(sorted(SWITCHES))}",
    )


def run(args: Namespace) -> int:
    """Run the matrix."""
    console.check_target(args.json, [])
    matrix = run_matrix(without=args.without)
    console.write_json(args.json, matrix.document())
    if not console.wants_only_json(args.json):
        _show(matrix)
    return Exit.PASS if matrix.passed else Exit.FAIL


def _show(matrix: Matrix) -> None:
    lines: list[tuple[str, str]] = []
    for group, rows in groupby(matrix.rows, key=lambda row: row.group):
        lines.append(("title", group))
        for row in rows:
            kind = "caught" if row.is_defect else "quiet "
            lines.append(
                ("pass" if row.holds else "fail", f"  {'ok  ' if row.holds else 'FAIL'}  {kind}  {row.name}")
            )
            if row.problem:
                lines.append(("", f"          {row.problem}"))
    caught, defects = matrix.count(is_defect=True)
    quiet, variations = matrix.count(is_defect=False)
    lines += [
        ("", ""),
        ("", f"sensitivity : {caught}/{defects}   deliberate defects caught"),
        ("", f"specificity : {quiet}/{variations}   harmless variations left alone"),
        (
            "dim",
            "These are regression cases, no estimate: they say nothing of defects that nobody has met yet.",
        ),
    ]
    if matrix.without:
        lines.append(("open", f"with the rule {matrix.without!r} switched off"))
    verdict = "KNOWN FAILURE-CLASS REGRESSION MATRIX " + ("PASSED" if matrix.passed else "FAILED")
    lines.append(("pass" if matrix.passed else "fail", verdict))
    console.show(lines)
