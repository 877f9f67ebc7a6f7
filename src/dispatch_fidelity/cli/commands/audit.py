"""Judge conversations that somebody else recorded: each run of each file against its own calls.

An imported record is of level E0: its binding cannot be checked, so nothing passes unless
--binding-proof none says that this is accepted. A false claim fails all the same.

Exit codes: 1 if any run FAILs, else 65 or 66 if a file could not be read, else 2, else 0.
"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ...audit import assess, choose
from ...errors import DispatchFidelityError
from ...model.assessment import Assessment, Overall
from ...rendering.jsondoc import audit_document
from ...rendering.plain import SUMMARY_HEAD, claim_lines, summary_rows
from ...rendering.text import clean
from ...transcripts.registry import detect, read_transcript
from .. import console
from ..exits import Exit
from ..inputs import add_choices, chosen_options, read_schema_file


def add_arguments(parser: ArgumentParser) -> None:
    """The options of ``audit``."""
    parser.add_argument("files", nargs="+", metavar="FILE", help="transcripts, or folders that hold them")
    parser.add_argument("--format", help="the format, where it is not recognised")
    parser.add_argument("--only", choices=["failing"], help="show only the runs that FAIL")
    add_choices(parser, results="contradicted")
    parser.add_argument("--json", metavar="FILE", help="write the result as JSON; - is standard output")


def run(args: Namespace) -> int:
    """Judge every run of every file."""
    console.check_target(args.json, [*args.files, args.schema])
    schema = read_schema_file(args.schema)
    choices = choose(chosen_options(args), None, result_check="contradicted")
    quiet = console.wants_only_json(args.json)
    judged: list[Assessment] = []
    errors: list[dict[str, Any]] = []
    skipped = 0
    for path, named in _files(args.files):
        try:
            if not named and detect(path) is None:
                skipped += 1
                continue
            runs = [
                assess(
                    found.report,
                    found.record,
                    choices=choices,
                    schema=schema,
                    agent=found.agent,
                    parent=found.parent,
                )
                for found in read_transcript(path, args.format)
            ]
        except DispatchFidelityError as problem:
            errors.append({"source": str(path), "error": str(problem), "exit_code": problem.exit_code})
            console.tell(f"dispatch-audit audit: {clean(str(problem))}")
            continue
        judged += runs
        if not quiet:
            _show(
                str(path),
                [item for item in runs if args.only is None or item.outcome.overall is Overall.FAIL],
            )
    overall, code = _overall(judged, errors)
    if not quiet:
        console.say(_total(judged, errors, skipped))
    if args.json is not None:
        console.write_json(args.json, audit_document(judged, overall, errors))
    return code


def _files(paths: list[str]) -> Iterator[tuple[Path, bool]]:
    """Every file, and whether it was named itself; those of a folder are sorted."""
    for name in paths:
        path = Path(name)
        if path.is_dir():
            yield from ((item, False) for item in sorted(path.rglob("*")) if item.is_file())
        else:
            yield path, True


def _show(path: str, runs: list[Assessment]) -> None:
    if not runs:
        return
    console.show_table(SUMMARY_HEAD, summary_rows(runs), f"{clean(path)} ({runs[0].record.format})")
    for item in runs:
        lines = claim_lines(item)
        if lines:
            console.show([("title", f"run {clean(item.run_id)}"), *lines[1:]])
    notes = dict.fromkeys(note for item in runs for note in item.record.notes)
    console.show(
        [("dim", f"note: {clean(note)}") for note in notes] + [("dim", f"E0: {runs[0].level.does_not_show}")]
    )
    console.say()


def _overall(judged: list[Assessment], errors: list[dict[str, Any]]) -> tuple[str, int]:
    outcomes = {item.outcome.overall for item in judged}
    if Overall.FAIL in outcomes:
        return str(Overall.FAIL), Exit.FAIL
    if errors:
        return str(Overall.INCONCLUSIVE), max(int(item["exit_code"]) for item in errors)
    if Overall.INCONCLUSIVE in outcomes or not judged:
        return str(Overall.INCONCLUSIVE), Exit.INCONCLUSIVE
    return str(Overall.PASS), Exit.PASS


def _total(judged: list[Assessment], errors: list[dict[str, Any]], skipped: int) -> str:
    calls = sum(len(item.record.executions) for item in judged)
    failed = sum(execution.failed for item in judged for execution in item.record.executions)
    parts = [f"{len(judged)} runs, {calls} calls, {failed} failed"]
    parts += [f"{sum(item.outcome.overall is overall for item in judged)} {overall}" for overall in Overall]
    if errors:
        parts.append(f"{len(errors)} files could not be read")
    if skipped:
        parts.append(f"{skipped} files are no transcripts")
    return "; ".join(parts)
