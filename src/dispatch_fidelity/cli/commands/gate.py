"""Run a check command and record that it ran, on which files, with what result.

The command has this terminal, standard input and signals, and its output appears as it comes. Command, exit code, the
whole output, times and the digest of the files before and after go to .verify/ for 'dispatch-audit verify'. Do not put
secrets on the command line: it is recorded as it is.

Exit codes: the command's own; 127 it was not found, 126 it cannot be started, 128 + N it was ended by signal N;
64 no command; 65 and 70 nothing could be recorded (then nothing was run, or the message says so).
"""

from __future__ import annotations

from argparse import REMAINDER, ArgumentParser, Namespace
from contextlib import suppress
from pathlib import Path

from ...discipline.gate import record_run
from ...discipline.records import GateRecord
from ...errors import UsageError
from ...rendering.text import clean
from .. import console


def add_arguments(parser: ArgumentParser) -> None:
    """The options of ``gate``."""
    parser.add_argument(
        "--label", default="check", help="the name under which the run is kept (default: check)"
    )
    parser.add_argument(
        "command", nargs=REMAINDER, metavar="-- COMMAND …", help="the check and its arguments"
    )


def run(args: Namespace) -> int:
    """Run and record one command."""
    command = args.command[1:] if args.command[:1] == ["--"] else args.command
    if not command:
        raise UsageError("no command; for example: dispatch-audit gate --label tests -- pytest -q")
    record, path = record_run(command, args.label, Path.cwd())
    with suppress(OSError, ValueError):  # nobody reads the talk: the code is the command's all the same
        _tell(record, path)
    return record.exit_code if record.exit_code is not None else 0


def _tell(record: GateRecord, path: Path) -> None:
    if record.problem:
        console.tell(f"gate: {clean(record.problem)}")
    size = record.output.bytes if record.output else 0
    console.tell(f"gate: {record.label}: exit {record.exit_code}, {size} bytes of output, recorded in {path}")
    if record.tree_after is not None and record.tree_after.digest != record.tree_before.digest:
        console.tell("gate: the files of the tree changed during the run, so its result is of no one state")
