"""Check, without writing anything, that the recorded checks are of the code on disk.

BINDING: the newest record of each label passed, is of the files as they are now, and it and its output are as they were
written. ANCHOR: the commands in ANCHOR.txt exit 0 and print what was written there before the change. WAIVER: every
suppression in the code (skip, noqa, eslint-disable, …) is declared in waivers.txt with a reason.

The commands of ANCHOR.txt come from the repository and are run: --list shows them without running anything,
--no-anchors leaves them out. No other command of the repository is run.

Exit codes: 0 VERIFIED, 1 something was found (nothing recorded is a finding); 64 wrong usage, 70 the instrument failed.
"""

from __future__ import annotations

import shlex
from argparse import ArgumentParser, Namespace
from pathlib import Path
from typing import TYPE_CHECKING

from ...discipline.records import check_label
from ...discipline.verify import list_commands, verify_tree
from ...errors import UsageError
from .. import console
from ..exits import Exit

if TYPE_CHECKING:
    from ...discipline.anchors import Anchor


def add_arguments(parser: ArgumentParser) -> None:
    """The options of ``verify``."""
    parser.add_argument(
        "--label",
        action="append",
        default=[],
        help="a check that must be recorded; may be repeated (default: every recorded one)",
    )
    parser.add_argument(
        "--base",
        default="",
        metavar="REV",
        help="the commit before the change under test, with which ANCHOR.txt is compared (default: the merge base with "
        "the default branch, HEAD when on it)",
    )
    parser.add_argument(
        "--list", action="store_true", help="show the commands of anchors and records; run nothing"
    )
    parser.add_argument("--no-anchors", action="store_true", help="leave ANCHOR.txt out, and run nothing")
    parser.add_argument(
        "--timeout",
        type=float,
        default=900.0,
        metavar="SECONDS",
        help="how long the command of an anchor may take (default: 900)",
    )
    parser.add_argument("--json", metavar="FILE", help="write the result as JSON; - is standard output")


def run(args: Namespace) -> int:
    """Verify the tree of the current folder."""
    from ...rendering.verification import (
        listing_document,
        listing_lines,
        verification_document,
        verification_lines,
    )

    labels = tuple(map(check_label, args.label))
    if not args.timeout > 0:
        raise UsageError("--timeout takes a number of seconds above 0")
    console.check_target(args.json, ["ANCHOR.txt", "waivers.txt"])
    if args.list:
        listing = list_commands(Path.cwd(), labels)
        console.write_json(args.json, listing_document(listing))
        if not console.wants_only_json(args.json):
            console.show(listing_lines(listing))
        return Exit.PASS
    found = verify_tree(
        Path.cwd(),
        labels,
        base=args.base,
        with_anchors=not args.no_anchors,
        timeout=args.timeout,
        before_run=_tell,
    )
    console.write_json(args.json, verification_document(found))
    if not console.wants_only_json(args.json):
        console.show(verification_lines(found))
    return Exit.PASS if found.verified else Exit.FAIL


def _tell(anchor: Anchor) -> None:
    from ...rendering.text import clean

    console.tell(f"verify: running anchor {clean(anchor.name)}: {clean(shlex.join(anchor.argv))}")
