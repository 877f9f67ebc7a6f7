"""Files of two runs put together, and the exit codes of damaged and unmeasured runs."""

from __future__ import annotations

from pathlib import Path

from ..model.assessment import BindingStatus, Overall
from ..simulation.agents import PLAN, report_of
from ..simulation.tools import TOOLS
from .bench import Bench, Run, block
from .rows import Rows

SPLICES = Rows("splices")
EXITS = Rows("exit codes")


def _honest(bench: Bench, run_id: str = "run") -> Run:
    return bench.record(TOOLS, PLAN[1:], run_id=run_id)


def _code(run: Run, report: str | None = None, *, manifest: Path | str | None = "own") -> int:
    return run.judge(report_of(run.items) if report is None else report, manifest=manifest).outcome.exit_code


def _torn(run: Run) -> Run:
    data = run.log.read_bytes()
    run.log.write_bytes(data[: data.rstrip(b"\n").rfind(b"\n") + 40])
    return run


@SPLICES.quiet("intact pair", "proof by receipt")
def _(bench: Bench) -> bool:
    run = _honest(bench)
    return run.judge(run.items).binding.status is BindingStatus.PROVEN


@SPLICES.caught("log of another run", "binding")
def _(bench: Bench) -> bool:
    run, other = _honest(bench), _honest(bench, "other")
    found = other.judge(run.items, manifest=run.manifest)
    return found.binding.status is BindingStatus.FAILED and found.outcome.overall is Overall.FAIL


@SPLICES.caught("manifest of another run", "binding")
def _(bench: Bench) -> bool:
    run, other = _honest(bench), _honest(bench)
    found = run.judge(run.items, manifest=other.manifest)
    return found.binding.status is BindingStatus.FAILED and found.outcome.overall is Overall.FAIL


@EXITS.quiet("clean run: 0", "pairing by key")
def _(bench: Bench) -> bool:
    return _code(_honest(bench)) == 0


@EXITS.caught("substituted value: 1", "failures")
def _(bench: Bench) -> bool:
    run = _honest(bench)
    items = [*run.items[:-1], {"tool": "date_diff", "args": run.items[-1]["args"], "result": "219"}]
    return _code(run, report_of(items)) == 1


@EXITS.caught("emptied block: 2", "doubts")
def _(bench: Bench) -> bool:
    run = _honest(bench)
    return _code(run, report_of(run.items) + block([])) == 2


@EXITS.caught("no canary: 2", "doubts")
def _(bench: Bench) -> bool:
    run = bench.record(TOOLS, PLAN[1:4], canary=False)
    return _code(run) == 2


@EXITS.caught("torn last line: 2", "doubts")
def _(bench: Bench) -> bool:
    return _code(_torn(_honest(bench)), manifest=None) == 2


@EXITS.caught("no manifest: 2", "doubts")
def _(bench: Bench) -> bool:
    return _code(_honest(bench), manifest=None) == 2


@EXITS.caught("torn last line with manifest: 2", "doubts")
def _(bench: Bench) -> bool:
    return _code(_torn(_honest(bench))) == 2
