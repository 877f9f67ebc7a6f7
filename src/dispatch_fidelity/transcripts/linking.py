"""Joins the runs of one session: which agent worked for which, and whether their logs agree with what was told.

A sub-agent's report is judged against that agent's own calls, its parent's text against the parent's calls and those
made on its behalf. Where a sub-agent's log is not at hand, the parent's record does not hold everything.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ..model.execution import Execution
from ..model.frozen import changed
from ..model.run import Completeness, Delegation, ImportedRun


def link(runs: Iterable[ImportedRun]) -> tuple[ImportedRun, ...]:
    """The same runs in their order, those that handed work on with the calls made on their behalf."""
    runs = tuple(runs)
    by_agent = {run.agent: run for run in runs if run.parent}
    told = {delegation.agent: delegation for run in runs for delegation in run.delegations}
    checked = {agent: _checked(run, told.get(agent)) for agent, run in by_agent.items()}
    return tuple(_with_behalf(checked.get(run.agent, run) if run.parent else run, checked) for run in runs)


def _checked(run: ImportedRun, told: Delegation | None) -> ImportedRun:
    """A sub-agent's run, held against what its parent was told of it."""
    calls = len(run.record.executions)
    notes = []
    if told is not None and told.calls >= 0 and told.calls != calls:
        notes.append(f"the parent counts {told.calls} calls of this agent, its log holds {calls}")
    lacking = bool(notes)
    if told is not None and told.report and told.report.strip() != run.report.strip():
        notes.append("the report that the parent was given is not the last text of this agent's log")
    if run.report.strip() and not calls:
        notes.append(f"this agent reports ({len(run.report)} characters) and made no call")
    return _noted(run, notes, lacking=lacking)


def _with_behalf(run: ImportedRun, by_agent: dict[str, ImportedRun]) -> ImportedRun:
    """A run with the calls of the agents that it handed work to, and of those that they did."""
    if not run.delegations:
        return run
    behalf: list[Execution] = [*run.behalf]
    partial = False
    absent: list[str] = []
    seen = {run.agent}
    waiting: list[Delegation] = list(run.delegations)
    while waiting:
        agent = waiting.pop(0).agent
        if agent in seen:
            continue
        seen.add(agent)
        helper = by_agent.get(agent)
        if helper is None:
            absent.append(agent)
            continue
        behalf += helper.record.executions
        partial = partial or helper.record.completeness is not Completeness.CLOSED
        waiting += helper.delegations
    notes = [f"the log of the agent {agent!r}, which worked for this one, is not at hand" for agent in absent]
    if partial:
        notes.append("the log of an agent that worked for this one does not hold everything")
    return changed(_noted(run, notes, lacking=bool(notes)), behalf=tuple(behalf))


def _noted(run: ImportedRun, notes: Sequence[str], *, lacking: bool) -> ImportedRun:
    """The run with notes; ``lacking`` says that its record does not hold everything."""
    if not notes:
        return run
    completeness = run.record.completeness
    if lacking and completeness is Completeness.CLOSED:
        completeness = Completeness.PARTIAL
    record = changed(run.record, notes=(*run.record.notes, *notes), completeness=completeness)
    return changed(run, record=record)
