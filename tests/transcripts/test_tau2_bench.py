"""Results of tau2-bench: whose calls, which failed, what the report is, and which simulations are whole."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from harness_damage import (
    check_cut,
    check_missing,
    check_wrong_types,
    counts,
    foreign_samples,
    jsonl,
    written,
)

from dispatch_fidelity.errors import InvalidInputError
from dispatch_fidelity.model.call import Learned, Status
from dispatch_fidelity.model.run import Completeness, DamageKind, ImportedRun
from dispatch_fidelity.transcripts.tau2_bench import read, recognise, side

Message = dict[str, Any]
CLOSED, PARTIAL = Completeness.CLOSED, Completeness.PARTIAL


def call(source_id: str = "c1", name: str = "get_user", requestor: str = "assistant") -> Message:
    return {"id": source_id, "name": name, "arguments": {"user_id": "u"}, "requestor": requestor}


def calls(*made: Any, content: Any = None, role: str = "assistant") -> Message:
    return {"role": role, "content": content, "tool_calls": list(made), "timestamp": "t1"}


def result(source_id: str = "c1", content: Any = "{}", requestor: str = "assistant", **more: Any) -> Message:
    return {
        "role": "tool",
        "id": source_id,
        "content": content,
        "requestor": requestor,
        "error": False,
        **more,
    }


def says(text: Any) -> Message:
    return {"role": "assistant", "content": text, "tool_calls": None}


def user(text: str) -> Message:
    return {"role": "user", "content": text, "tool_calls": None}


HELLO, ASK, FINAL, STOP = says("Hi!"), user("Who am I?"), says("You are u."), user("Thanks. ###STOP###")
CHAT = (HELLO, ASK, calls(call()), result(timestamp="t2"), FINAL, STOP)


def simulation(*messages: Message, numbered: bool = True, **more: Any) -> Message:
    turns = [
        {**message, "turn_idx": index} if numbered else message for index, message in enumerate(messages)
    ]
    whole = {"id": "s", "task_id": "8", "trial": 0, "termination_reason": "user_stop", "messages": turns}
    return {**whole, **more}


def document(*simulations: Any) -> Message:
    info: Message = {"agent_info": {}, "user_info": {}, "environment_info": {}}
    return {"timestamp": "t", "info": info, "tasks": [], "simulations": list(simulations)}


Runs = Callable[[Any], list[ImportedRun]]
Run = Callable[..., ImportedRun]


@pytest.fixture
def runs(tmp_path: Path) -> Runs:
    return lambda content: list(read(written(tmp_path / "results.json", content)))


@pytest.fixture
def run(runs: Runs) -> Run:
    def only(*messages: Message, **more: Any) -> ImportedRun:
        (found,) = runs(document(simulation(*messages, **more)))
        return found

    return only


# Real files.


def test_the_samples_have_the_counts_of_the_second_opinion(shared: Path) -> None:
    folder = shared / "transcripts"
    expected = json.loads((folder / "reader_counts.json").read_bytes())
    for path in sorted((folder / "tau2_bench").iterdir()):
        assert counts(list(read(path))) == expected[f"tau2_bench/{path.name}"], path.name


def test_the_failed_calls_of_the_samples_are_those_with_the_flag(shared: Path) -> None:
    failed = {
        path.name: [(e.tool, e.learned) for found in read(path) for e in found.record if e.failed]
        for path in sorted((shared / "transcripts/tau2_bench").iterdir())
    }
    book = ("book_reservation", Learned.FLAG)
    assert failed == {
        "activegraph_0.json": [book, book],
        "activegraph_1.json": [book],
        "toolorchestra_airline_subset.json": [],
    }


def test_a_file_without_flags_in_which_results_speak_of_errors_is_not_made_to_look_complete(
    shared: Path,
) -> None:
    found = list(read(shared / "transcripts/tau2_bench/toolorchestra_airline_subset.json"))
    assert [each.record.run_id for each in found if each.record.completeness is PARTIAL] == ["task-7.0"]
    assert found[7].record.intact
    assert any("has no flags for failure, and 2 results begin" in note for note in found[7].record.notes)


def test_only_samples_of_this_format_are_recognised(shared: Path) -> None:
    for path in (shared / "transcripts/tau2_bench").iterdir():
        assert recognise(path.read_bytes()[: 64 * 1024]) >= 0.9, path.name
    claimed = [name for name, head in foreign_samples(shared, "tau2_bench/") if recognise(head) >= 0.5]
    assert claimed == []


def test_the_labels_of_tau_bench_runs_are_a_side_file_and_no_other_sample_is(shared: Path) -> None:
    sides = {name: side(head) for name, head in foreign_samples(shared)}
    assert {name: what for name, what in sides.items() if what} == {
        "tau_bench/agentrx_tau_ground_truth.json": "labels of tau-bench runs (which steps failed, and why)"
    }


# Calls and results.


def test_a_call_is_read_with_its_result_its_times_and_its_place(run: Run) -> None:
    found = run(*CHAT)
    (execution,) = found.record
    assert (execution.tool, execution.args, execution.result) == ("get_user", {"user_id": "u"}, "{}")
    assert (execution.status, execution.learned) == (Status.RETURNED, Learned.FLAG)
    assert (execution.at, execution.until, execution.step, execution.source_id) == ("t1", "t2", 2, "c1")
    assert (found.report, found.task, found.record.run_id) == ("You are u.", "Who am I?", "task-8.0")
    assert found.record.completeness is CLOSED


@pytest.mark.parametrize(
    ("content", "flag", "expected"),
    [
        ("Error: no", True, (Status.RAISED, Learned.FLAG)),
        ("no such user", True, (Status.RAISED, Learned.FLAG)),
        ("Error: no", False, (Status.RETURNED, Learned.FLAG)),
        ("{}", None, (Status.RETURNED, Learned.DEFAULT)),
        ("Error: no", None, (Status.RETURNED, Learned.DEFAULT)),
        ('{"error": "no"}', False, (Status.RAISED, Learned.VALUE)),
    ],
)
def test_failure_is_the_flag_and_a_structured_result_that_says_so(
    run: Run, content: str, flag: Any, expected: tuple[Status, Learned]
) -> None:
    found = run(HELLO, ASK, calls(call()), result(content=content, error=flag), FINAL, STOP)
    (execution,) = found.record
    assert (execution.status, execution.learned) == expected
    assert found.record.completeness is (PARTIAL if flag is None and content.startswith("Error") else CLOSED)


def test_a_result_without_a_flag_among_others_with_one_says_neither_success_nor_failure(run: Run) -> None:
    bare = {name: value for name, value in result("c2").items() if name != "error"}
    found = run(HELLO, ASK, calls(call(), call("c2")), result(), bare, FINAL, STOP)
    assert [e.status for e in found.record] == [Status.RETURNED, Status.UNKNOWN]
    assert found.record.completeness is PARTIAL


def test_calls_of_the_simulated_user_and_their_results_are_not_the_agents(run: Run) -> None:
    theirs = calls(call("u1", "check_phone", "user"), role="user")
    found = run(HELLO, ASK, theirs, result("u1", "ok", "user"), *CHAT[2:])
    assert [e.tool for e in found.record] == ["get_user"]
    assert (found.record.intact, found.record.completeness) == (True, CLOSED)


def test_a_user_and_the_agent_may_use_the_same_id(run: Run) -> None:
    theirs = calls(call("c1", "check_phone", "user"), role="user")
    found = run(
        HELLO, theirs, result("c1", "theirs", "user"), calls(call()), result("c1", "mine"), FINAL, STOP
    )
    assert [e.result for e in found.record] == ["mine"]
    assert found.record.completeness is CLOSED


def test_results_of_parallel_calls_may_be_wrapped_and_come_in_any_order(run: Run) -> None:
    wrapped = {"role": "tool", "tool_messages": [result("c2", "two"), result("c1", "one")]}
    found = run(HELLO, ASK, calls(call("c1"), call("c2", "get_order")), wrapped, FINAL, STOP, numbered=False)
    assert [(e.result, e.step) for e in found.record] == [("one", 2), ("two", 2)]
    assert found.record.completeness is CLOSED


def test_an_id_that_repeats_names_the_open_call(run: Run) -> None:
    found = run(
        HELLO, calls(call()), result(content="1"), calls(call("c1", "b")), result(content="2"), FINAL, STOP
    )
    assert [(e.tool, e.result) for e in found.record] == [("get_user", "1"), ("b", "2")]
    assert found.record.completeness is CLOSED


def test_calls_of_one_message_that_share_an_id_get_their_results_in_order_and_are_damage(run: Run) -> None:
    made = calls(call("", "a"), call("", "b"))
    found = run(HELLO, ASK, made, result("", "A"), result("", "B"), FINAL, STOP)
    assert [(e.tool, e.result) for e in found.record] == [("a", "A"), ("b", "B")]
    assert [damage.kind for damage in found.record.damage] == [DamageKind.LIFECYCLE]


def test_a_result_of_no_open_call_is_damage_and_a_call_without_one_is_open(run: Run) -> None:
    found = run(HELLO, ASK, calls(call()), result("other"), FINAL, STOP)
    assert [e.status for e in found.record] == [Status.UNFINISHED]
    assert [damage.kind for damage in found.record.damage] == [DamageKind.LIFECYCLE]


# Ends.


def test_a_stop_word_alone_is_no_report_and_no_task(run: Run) -> None:
    found = run(*CHAT[:-1], says("###STOP###"), termination_reason="agent_stop")
    assert (found.report, found.record.completeness) == ("You are u.", CLOSED)
    assert run(HELLO, ASK, FINAL, user("###TRANSFER###")).task == "Who am I?"


@pytest.mark.parametrize(
    "more",
    [
        {"termination_reason": "max_steps"},
        {"termination_reason": "too_many_errors"},
        {"termination_reason": "timeout"},
        {"termination_reason": None},
        {"termination_reason": ["user_stop"]},
        {"termination_reason": "agent_stop"},
        {"mode": "full_duplex"},
        {"ticks": [{"tick_id": 0}]},
    ],
)
def test_a_simulation_that_did_not_end_by_itself_is_not_closed(run: Run, more: Any) -> None:
    assert run(*CHAT, **more).record.completeness is PARTIAL


@pytest.mark.parametrize(
    "messages",
    [
        CHAT[:-1],
        CHAT[:-2],
        (*CHAT[:-1], user("Thanks.")),
        (HELLO, ASK, {**FINAL, "is_audio": True}, STOP),
        (),
    ],
)
def test_a_simulation_whose_stop_or_words_are_not_there_is_not_closed(run: Run, messages: Any) -> None:
    assert run(*messages).record.completeness is PARTIAL


def test_a_gap_in_the_numbers_of_the_turns_shows_that_messages_are_missing(runs: Runs) -> None:
    whole = simulation(*CHAT)
    for index in range(len(CHAT)):
        rest = {**whole, "messages": [each for each in whole["messages"] if each["turn_idx"] != index]}
        (found,) = runs(document(rest))
        assert found.record.completeness is PARTIAL, index


# Shapes of a file, and damage.


def test_simulations_are_named_by_task_and_trial_even_when_these_repeat(runs: Runs) -> None:
    found = runs(
        document(simulation(*CHAT), simulation(*CHAT, trial=1), simulation(*CHAT), simulation(task_id=None))
    )
    assert [each.record.run_id for each in found] == ["task-8.0", "task-8.1", "task-8.0.run-2", "run-3"]


def test_a_file_of_one_simulation_and_one_a_line_are_read_too(runs: Runs) -> None:
    for content in (simulation(*CHAT), jsonl(simulation(*CHAT), simulation(*CHAT, trial=1))):
        found = runs(content)
        assert {each.record.completeness for each in found} == {CLOSED}
        data = content if isinstance(content, bytes) else json.dumps(content).encode()
        assert recognise(data) >= 0.9


@pytest.mark.parametrize(
    "content", [b"", b"{}", b"[]", b"7", {"simulations": []}, {"simulations": 5}, {"messages": []}, b"plain"]
)
def test_what_holds_no_simulation_is_refused(runs: Runs, content: Any) -> None:
    with pytest.raises(InvalidInputError):
        runs(content)


FREE = ("arguments", "raw_data", "info", "reward_info", "usage")


def test_wrong_types_anywhere_accuse_no_one(tmp_path: Path, shared: Path) -> None:
    whole = document(simulation(*CHAT), simulation(*CHAT[:2], *CHAT[2:], trial=1), 5)
    check_wrong_types(read, tmp_path / "file", whole, free=FREE, limit=300)
    sample = json.loads((shared / "transcripts/tau2_bench/activegraph_0.json").read_bytes())
    for message in sample["simulations"][0]["messages"]:
        message.pop("raw_data", None)
    check_wrong_types(read, tmp_path / "file", sample, free=FREE, limit=60)
    check_missing(read, tmp_path / "file", sample, free=FREE, limit=100)


def test_a_file_that_was_cut_is_refused_or_read_as_far_as_it_goes(tmp_path: Path) -> None:
    check_cut(read, tmp_path / "file", json.dumps(document(simulation(*CHAT)), indent=1).encode(), 60)
    check_cut(read, tmp_path / "file", jsonl(simulation(*CHAT), simulation(*CHAT)), 60, lines=True)


def test_a_broken_line_is_a_damaged_run(runs: Runs) -> None:
    found = runs(jsonl(simulation(*CHAT)) + b'{"id\n' + jsonl(simulation(*CHAT)))
    assert [each.record.completeness for each in found] == [CLOSED, PARTIAL, CLOSED]
