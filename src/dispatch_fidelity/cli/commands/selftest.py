"""Measure the instrument with known failure classes: defects to catch, harmless variations to leave alone.

The rows are regression cases, written after the faults they hold. They are no estimate of how often other
reports are judged rightly.

--with-evidence adds the guards of 'gate' and 'verify', each tried in a temporary git repository of its own.

Exit codes: 0 every row holds, 1 one does not; 66 the guards need git, which is not installed.
"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from itertools import groupby

from ...errors import UsageError
from ...rendering.plain import Line
from ...selftest.matrix import Matrix, run_guards, run_matrix
from ...selftest.switches import GUARD_SWITCHES, SWITCHES
from .. import console
from ..exits import Exit


def add_arguments(parser: ArgumentParser) -> None:
    """The options of ``selftest``."""
    parser.add_argument("--json", metavar="FILE", help="write the matrix as JSON; - is standard output")
    parser.add_argument(
        "--with-evidence",
        action="store_true",
        help="try the guards of gate and verify, too (needs git)",
    )
    parser.add_argument(
        "--without",
        metavar="RULE",
        choices=sorted({**SWITCHES, **GUARD_SWITCHES}),
        help=f"switch one rule off, to see which rows rest on it: {', '.join(sorted(SWITCHES))}; "
        f"of the guards: {', '.join(sorted(GUARD_SWITCHES))}",
    )


def run(args: Namespace) -> int:
    """Run the matrix, and the guards where they are asked for."""
    console.check_target(args.json, [])
    if args.without in GUARD_SWITCHES and not args.with_evidence:
        raise UsageError(f"{args.without!r} is a rule of the guards: add --with-evidence")
    matrix = run_matrix(without=args.without if args.without in SWITCHES else None)
    guards = None
    if args.with_evidence:
        guards = run_guards(without=args.without if args.without in GUARD_SWITCHES else None)
    document = matrix.document()
    if guards is not None:
        document["guards"] = guards.document("guards")
    console.write_json(args.json, document)
    if not console.wants_only_json(args.json):
        console.show([*_lines(matrix), *(_guard_lines(guards) if guards is not None else [])])
    return Exit.PASS if matrix.passed and (guards is None or guards.passed) else Exit.FAIL


def _rows(matrix: Matrix) -> list[Line]:
    lines: list[Line] = []
    for group, rows in groupby(matrix.rows, key=lambda row: row.group):
        lines.append(("title", group))
        for row in rows:
            kind = "caught" if row.is_defect else "quiet "
            word = "ok  " if row.holds else "FAIL"
            lines.append(("pass" if row.holds else "fail", f"  {word}  {kind}  {row.name}"))
            if row.problem:
                lines.append(("", f"          {row.problem}"))
    if matrix.without:
        lines.append(("open", f"with the rule {matrix.without!r} switched off"))
    return lines


def _guard_lines(guards: Matrix) -> list[Line]:
    broken = sum(not row.holds for row in guards.rows)
    verdict = "ALL GUARDS HOLD" if guards.passed else f"{broken} OF {len(guards.rows)} GUARDS FAIL"
    return [("", ""), *_rows(guards), ("", ""), ("pass" if guards.passed else "fail", verdict)]


def _lines(matrix: Matrix) -> list[Line]:
    caught, defects = matrix.count(is_defect=True)
    quiet, variations = matrix.count(is_defect=False)
    verdict = "KNOWN FAILURE-CLASS REGRESSION MATRIX " + ("PASSED" if matrix.passed else "FAILED")
    return [
        *_rows(matrix),
        ("", ""),
        ("", f"sensitivity : {caught}/{defects}   deliberate defects caught"),
        ("", f"specificity : {quiet}/{variations}   harmless variations left alone"),
        (
            "dim",
            "These are regression cases, no estimate: they say nothing of defects that nobody has met yet.",
        ),
        ("pass" if matrix.passed else "fail", verdict),
    ]
