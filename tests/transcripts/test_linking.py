from __future__ import annotations

from dispatch_fidelity.audit import assess, choose
from dispatch_fidelity.model.call import Status
from dispatch_fidelity.model.execution import Execution
from dispatch_fidelity.model.run import Completeness, Delegation, ImportedRun, Record
from dispatch_fidelity.transcripts.linking import link


def made(
    agent: str,
    *tools: str,
    parent: str = "",
    report: str = "done",
    delegations: tuple[Delegation, ...] = (),
    completeness: Completeness = Completeness.CLOSED,
) -> ImportedRun:
    calls = tuple(
        Execution(tool, {}, Status.RETURNED, agent=agent, call=str(n), n=n) for n, tool in enumerate(tools)
    )
    record = Record("run", "test", calls, completeness)
    return ImportedRun(record, report, agent, parent, delegations=delegations)


def test_a_parent_gets_the_calls_that_were_made_on_its_behalf() -> None:
    main = made("main", "Task", delegations=(Delegation("0", "a"),))
    main, helper = link([main, made("a", "Read", "Grep", parent="main")])
    assert [call.tool for call in main.behalf] == ["Read", "Grep"]
    assert helper.behalf == ()
    assert len(main.record.executions) == 1


def test_calls_of_the_helpers_of_helpers_are_made_on_its_behalf_too() -> None:
    main = made("main", "Task", delegations=(Delegation("0", "a"),))
    first = made("a", "Task", parent="main", delegations=(Delegation("0", "b"),))
    second = made("b", "Read", parent="a")
    assert [call.tool for call in link([main, first, second])[0].behalf] == ["Task", "Read"]


def test_agents_that_delegate_to_each_other_do_not_go_round_for_ever() -> None:
    first = made("a", "Task", parent="b", delegations=(Delegation("0", "b"),))
    second = made("b", "Task", parent="a", delegations=(Delegation("0", "a"),))
    assert [len(run.behalf) for run in link([first, second])] == [1, 1]


def test_a_record_without_the_log_of_its_helper_is_not_closed() -> None:
    (main,) = link([made("main", "Task", delegations=(Delegation("0", "a"),))])
    assert main.record.completeness is Completeness.PARTIAL
    assert "not at hand" in main.record.notes[0]


def test_a_helper_that_made_other_calls_than_its_parent_counts_is_not_closed() -> None:
    main = made("main", "Task", delegations=(Delegation("0", "a", "done", 3),))
    _, helper = link([main, made("a", "Read", parent="main")])
    assert helper.record.completeness is Completeness.PARTIAL
    assert helper.record.notes == ("the parent counts 3 calls of this agent, its log holds 1",)


def test_a_helper_with_the_counted_calls_stays_as_it_is() -> None:
    main = made("main", "Task", delegations=(Delegation("0", "a", "done", 1),))
    helper = made("a", "Read", parent="main")
    assert link([main, helper])[1] == helper


def test_a_report_of_a_helper_that_called_nothing_is_named() -> None:
    main = made("main", "Task", delegations=(Delegation("0", "a"),))
    _, helper = link([main, made("a", parent="main", report="I read all files.")])
    assert helper.record.notes == ("this agent reports (17 characters) and made no call",)
    assert helper.record.completeness is Completeness.CLOSED


def test_a_report_that_is_not_the_helpers_last_text_is_named() -> None:
    main = made("main", "Task", delegations=(Delegation("0", "a", "other words"),))
    _, helper = link([main, made("a", "Read", parent="main")])
    assert "not the last text" in helper.record.notes[0]


def test_a_run_that_is_damaged_or_sampled_stays_so() -> None:
    main = made("main", "Task", delegations=(Delegation("0", "a"),), completeness=Completeness.SAMPLED)
    assert link([main])[0].record.completeness is Completeness.SAMPLED


def test_a_parent_of_a_helper_whose_log_is_not_whole_is_not_closed_either() -> None:
    main = made("main", "Task", delegations=(Delegation("0", "a"),))
    main, _ = link([main, made("a", "Read", parent="main", completeness=Completeness.PARTIAL)])
    assert main.record.completeness is Completeness.PARTIAL


def told(*tools: str) -> str:
    items = ", ".join(f'{{"tool": "{tool}", "args": {{}}}}' for tool in tools)
    return f'```json\n{{"results": [{items}]}}\n```'


def test_the_calls_of_a_helper_back_its_parents_claims_and_are_no_omissions_of_it() -> None:
    main = made("main", "Task", delegations=(Delegation("0", "a"),), report=told("Read"))
    main, _ = link([main, made("a", "Read", "Grep", parent="main")])
    judged = assess(main.report, main.record, choices=choose({}, None), behalf=main.behalf)
    assert [str(scored.verdict) for scored in judged.score.detail] == ["MATCHED"]
    assert [call.tool for call in judged.score.omitted_calls] == ["Task"]


def test_a_claim_that_neither_made_is_fabricated() -> None:
    main = made("main", "Task", delegations=(Delegation("0", "a"),), report=told("Write"))
    main, _ = link([main, made("a", "Read", parent="main")])
    judged = assess(main.report, main.record, choices=choose({}, None), behalf=main.behalf)
    assert [str(scored.verdict) for scored in judged.score.detail] == ["FABRICATED"]


def test_without_the_log_of_the_helper_the_same_claim_is_open() -> None:
    main = made("main", "Task", delegations=(Delegation("0", "a"),), report=told("Write"))
    (main,) = link([main])
    judged = assess(main.report, main.record, choices=choose({}, None), behalf=main.behalf)
    assert [str(scored.verdict) for scored in judged.score.detail] == ["UNRESOLVED"]
