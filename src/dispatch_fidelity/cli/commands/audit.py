"""Judge conversations that somebody else recorded: each agent of each file against its own calls.

Files, folders (searched to any depth), patterns and - (standard input) are read; the format is found by content. The
logs of sub-agents that lie beside a session are read with it. --claude, --codex and --gemini take the newest session
of the current folder.

An imported record is of level E0: its binding cannot be checked, so nothing passes unless --binding-proof none says
that this is accepted. A false claim fails all the same.

Exit codes: 1 if any run FAILs, else 65 or 66 if a file could not be read, else 2, else 0.
"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from os.path import commonpath, realpath
from pathlib import Path
from typing import IO, Any

from ...audit import assess, choose
from ...errors import DispatchFidelityError, InvalidInputError, MissingInputError, UsageError
from ...jsonio import encode_lenient
from ...model.assessment import Assessment, Choices, Overall
from ...model.frozen import changed
from ...model.run import ImportedRun, ToolSpec
from ...rendering.jsondoc import audit_document, run_document
from ...rendering.plain import SUMMARY_HEAD, claim_lines, summary_row
from ...rendering.text import clean
from ...transcripts.linking import link
from ...transcripts.places import PRODUCTS
from ...transcripts.registry import Reader, companions_of, detect, read_transcript, reader_of, side_of
from .. import console
from ..exits import Exit
from ..inputs import add_choices, chosen_options, read_report, read_schema_file
from ..sources import Source, agent_sessions, find_sources, standard_input

_NAMED = 3


def add_arguments(parser: ArgumentParser) -> None:
    """The options of ``audit``."""
    parser.add_argument("paths", nargs="*", metavar="PATH", help="transcripts, folders, patterns, or -")
    for product in PRODUCTS:
        parser.add_argument(
            f"--{product}",
            action="append_const",
            const=product,
            dest="products",
            help=f"the newest session of {product} in the current folder",
        )
    parser.add_argument("--last", type=int, metavar="N", help="with these: the N newest sessions")
    parser.add_argument(
        "--since",
        default="",
        metavar="WHEN",
        help="with these: all sessions changed since 2h, 3d or 2026-11-30",
    )
    parser.add_argument("--format", help="the format, where it is not recognised")
    parser.add_argument(
        "--claims",
        metavar="FILE",
        help="the report, for a transcript that holds calls only (an MCP capture, a trace)",
    )
    parser.add_argument("--only", choices=["failing"], help="show only the runs that FAIL")
    add_choices(parser, results="contradicted")
    parser.add_argument("--json", metavar="FILE", help="write the result as JSON; - is standard output")
    parser.add_argument(
        "--jsonl", metavar="FILE", help="write each run as a line of JSON while they are judged"
    )


def run(args: Namespace) -> int:
    """Judge every run of every session."""
    if (args.last is not None or args.since) and not args.products:
        raise UsageError("--last and --since go with --claude, --codex or --gemini")
    if args.last is not None and args.last < 1:
        raise UsageError(f"--last {args.last} is no number of sessions")
    paths = [*args.paths]
    for product in args.products or ():
        paths += agent_sessions(product, last=args.last or 0, since=args.since)
    if not paths:
        raise UsageError("nothing to read: name transcripts or folders, or --claude, --codex, --gemini")
    if args.json is not None and args.jsonl is not None and realpath(args.json) == realpath(args.jsonl):
        where = "standard output" if args.json == "-" else repr(args.json)
        raise UsageError(f"--json and --jsonl cannot both go to {where}")
    for option, target in (("--json", args.json), ("--jsonl", args.jsonl)):
        console.check_target(target, [*paths, args.schema, args.claims], option)
    schema = read_schema_file(args.schema)
    report = read_report(args.claims) if args.claims is not None else None
    judge = _Judge(choose(chosen_options(args), None, result_check="contradicted"), schema, report)
    found = _Found(keep=args.json is not None, failing_only=args.only is not None)
    quiet = console.wants_only_json(args.json) or console.wants_only_json(args.jsonl)
    with standard_input(paths) as kept:
        sessions = _Sessions(find_sources(paths, kept), args.format)
        plan = sessions.plan()
        if report is not None and len(plan) > 1:
            raise UsageError(f"--claims is one report, and {len(plan)} transcripts were named")
        with console.lines_to(args.jsonl) as lines:
            for session in console.with_progress(plan, "reading"):
                for item in judge.session(session, found.problem):
                    found.take(item)
                    _write(lines, item)
                    if not quiet and not (found.failing_only and item.outcome.overall is not Overall.FAIL):
                        _show_claims(item)
    overall, code = found.overall()
    if not quiet:
        _show(found, sessions)
    if args.json is not None:
        console.write_json(args.json, audit_document(found.documents, overall, found.errors))
    return code


Failed = Callable[[Source, DispatchFidelityError], None]


@dataclass(slots=True)
class _Session:
    """One file to read, under a format that was named for it, and the files that belong to it."""

    source: Source
    format: str | None = None
    companions: tuple[Source, ...] = ()


@dataclass(slots=True)
class _Sessions:
    """The files of one command, those of one session together."""

    sources: list[Source]
    format: str | None
    strangers: int = 0
    sides: Counter[str] = field(default_factory=Counter)

    def plan(self) -> list[_Session]:
        """Each session once; files of a folder that are no transcripts are counted.

        Raises UsageError (64) for a format that is named for none of them.
        """
        if self.format and not any(source.named for source in self.sources):
            raise UsageError("--format is of files that are named: those of a folder are recognised")
        sessions: dict[str, _Session] = {}
        taken: set[str] = set()
        for source in self.sources:
            reader = self._reader(source)
            if reader is None:
                if source.named:  # reading it says what it is
                    sessions[str(source.path)] = _Session(source, self.format)
                continue
            place = realpath(source.path)
            beside = tuple(Source(path, named=False) for path in companions_of(source.path, reader))
            if source.named or place not in sessions:
                sessions[place] = _Session(source, self.format if source.named else None, beside)
            if place not in taken:
                taken |= {realpath(companion.path) for companion in beside}
        return [session for place, session in sessions.items() if place not in taken]

    def _reader(self, source: Source) -> Reader | None:
        try:
            if self.format and source.named:
                return reader_of(source.path, self.format)
            reader = detect(source.path)
            side = side_of(source.path) if reader is None and not source.named else ""
        except (InvalidInputError, MissingInputError):
            reader, side = None, ""
        if reader is None and not source.named:
            self.sides[side] += bool(side)
            self.strangers += not side
        return reader


@dataclass(slots=True)
class _Judge:
    """Reads a session and judges its runs."""

    choices: Choices
    schema: dict[str, ToolSpec]
    report: str | None

    def session(self, session: _Session, failed: Failed) -> list[Assessment]:
        """Every run of a session, judged; ``failed`` is told of each file of it that cannot be read."""
        runs = self._runs(session.source, session.format, failed)
        if runs:
            if self.report is not None:
                runs = [self._with_report(runs, session.source)]
            for companion in session.companions:
                runs += self._runs(companion, None, failed)
        return [self._judged(run) for run in link(runs)]

    def _runs(self, source: Source, form: str | None, failed: Failed) -> list[ImportedRun]:
        """The runs of one file, under the name that it was given by."""
        try:
            runs = list(read_transcript(source.path, form))
        except DispatchFidelityError as problem:
            failed(source, problem)
            return []
        if source.shown:
            return [changed(run, record=changed(run.record, source=source.shown)) for run in runs]
        return runs

    def _with_report(self, runs: list[ImportedRun], source: Source) -> ImportedRun:
        """The one run of a file with the report that was given for it."""
        if len(runs) != 1:
            raise UsageError(f"--claims is one report, and {source.name!r} holds {len(runs)} runs")
        return changed(runs[0], report=self.report or "")

    def _judged(self, run: ImportedRun) -> Assessment:
        return assess(
            run.report,
            run.record,
            choices=self.choices,
            schema=self.schema,
            agent=run.agent,
            parent=run.parent,
            behalf=run.behalf,
        )


@dataclass(slots=True)
class _Found:
    """What came of all runs: counts, rows, and, where they are asked for, documents."""

    keep: bool
    failing_only: bool
    outcomes: Counter[Overall] = field(default_factory=Counter)
    calls: int = 0
    failed: int = 0
    rows: list[tuple[str, ...]] = field(default_factory=list)
    documents: list[dict[str, Any]] = field(default_factory=list)
    errors: list[dict[str, Any]] = field(default_factory=list)
    notes: dict[str, list[tuple[str, str]]] = field(default_factory=dict)
    level: str = ""

    def take(self, item: Assessment) -> None:
        """One judged run."""
        self.outcomes[item.outcome.overall] += 1
        self.calls += len(item.record.executions)
        self.failed += sum(execution.failed for execution in item.record.executions)
        self.level = f"{item.level.evidence}: {item.level.does_not_show}"
        if not self.failing_only or item.outcome.overall is Overall.FAIL:
            self.rows.append((clean(item.record.source), clean(item.record.format), *summary_row(item)))
            for note in dict.fromkeys(item.record.notes):
                self.notes.setdefault(note, []).append((clean(item.record.source), clean(item.run_id)))
        if self.keep:
            self.documents.append(run_document(item))

    def problem(self, source: Source, problem: DispatchFidelityError) -> None:
        """One file that could not be read."""
        text = str(problem).replace(repr(str(source.path)), repr(source.name))
        self.errors.append({"source": source.name, "error": text, "exit_code": problem.exit_code})
        console.tell(f"dispatch-audit audit: {clean(text)}")

    def overall(self) -> tuple[str, int]:
        """The outcome of all, and the exit code."""
        if self.outcomes[Overall.FAIL]:
            return str(Overall.FAIL), Exit.FAIL
        if self.errors:
            return str(Overall.INCONCLUSIVE), max(int(item["exit_code"]) for item in self.errors)
        if self.outcomes[Overall.INCONCLUSIVE] or not self.outcomes:
            return str(Overall.INCONCLUSIVE), Exit.INCONCLUSIVE
        return str(Overall.PASS), Exit.PASS


def _write(lines: IO[str] | None, item: Assessment) -> None:
    if lines is not None:
        lines.write(encode_lenient(run_document(item)).decode("ascii") + "\n")


def _show_claims(item: Assessment) -> None:
    lines = claim_lines(item)
    if lines:
        where = f"{clean(item.record.source)}, run {clean(item.run_id)}, agent {clean(item.agent)}"
        console.show([("title", where), *lines[1:], ("", "")])


def _show(found: _Found, sessions: _Sessions) -> None:
    """One row a run, below what was said of their claims; then notes and totals."""
    by_source = {row[:2] for row in found.rows}
    folder = ""
    if len(by_source) == 1:
        source, form = next(iter(by_source))
        console.show_table(SUMMARY_HEAD, [row[2:] for row in found.rows], f"{source} ({form})")
    elif found.rows:
        folder = _common_folder([source for source, _ in by_source])
        rows = [(_below(row[0], folder), *row[1:]) for row in found.rows]
        console.show_table(("source", "format", *SUMMARY_HEAD), rows, folder)
    notes = list(_notes(found, folder))
    if notes or found.level:
        console.show([("dim", text) for text in [*notes, *filter(None, [found.level])]])
    console.say()
    console.say("; ".join(_totals(found, sessions)))


def _notes(found: _Found, folder: str) -> Iterator[str]:
    """Each note with the runs that it is about; of more than a few their number."""
    alone = len(found.rows) == 1
    for note, places in found.notes.items():
        if alone:
            yield f"note: {clean(note)}"
        elif len(places) > _NAMED:
            yield f"note: {clean(note)} ({len(places)} runs)"
        else:
            yield from (
                f"note on {_below(source, folder)}, run {run}: {clean(note)}" for source, run in places
            )


def _below(source: str, folder: str) -> str:
    return source.removeprefix(f"{folder}/") if folder else source


def _common_folder(sources: list[str]) -> str:
    """The folder that holds all of these files; empty where there is none."""
    try:
        return commonpath([str(Path(source).parent) for source in sources])
    except ValueError:  # some are relative and some are not
        return ""


def _totals(found: _Found, sessions: _Sessions) -> Iterator[str]:
    yield f"{found.outcomes.total()} runs, {found.calls} calls, {found.failed} failed"
    yield from (f"{found.outcomes[overall]} {overall}" for overall in Overall)
    if found.errors:
        yield f"{len(found.errors)} files could not be read"
    yield from (f"{count} {what}" for what, count in _counted(sessions.sides.items()))
    if sessions.strangers:
        yield f"{sessions.strangers} files are no transcripts"


def _counted(items: Iterable[tuple[str, int]]) -> Iterator[tuple[str, int]]:
    return ((what, count) for what, count in items if what and count)
