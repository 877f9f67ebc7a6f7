"""smolagents memory: hidden calls of a failed step, joint results, the final answer, code agents."""

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
    read_or_refuse,
    written,
)

from dispatch_fidelity.errors import InvalidInputError
from dispatch_fidelity.model.call import Learned, Status, Unknown
from dispatch_fidelity.model.run import Completeness, ImportedRun
from dispatch_fidelity.transcripts.smolagents import NO_INNER_CALLS, read, recognise

CLOSED, PARTIAL = Completeness.CLOSED, Completeness.PARTIAL
Run = Callable[..., ImportedRun]


def call(tool: str = "get_weather", source_id: str = "c1", **given: Any) -> dict[str, Any]:
    return {
        "id": source_id,
        "type": "function",
        "function": {"name": tool, "arguments": given or {"city": "Graz"}},
    }


def step(*calls: Any, observations: Any = None, error: Any = None, **more: Any) -> dict[str, Any]:
    message = {"role": "assistant", "content": "", "tool_calls": list(calls)}
    return {
        "timing": {"start_time": 1.5, "end_time": 2.5},
        "tool_calls": [] if error else list(calls),
        "error": error,
        "model_output_message": message,
        "observations": observations,
        "action_output": None,
        "is_final_answer": False,
        **more,
    }


def error(message: str, kind: str = "AgentToolExecutionError") -> dict[str, Any]:
    return {"type": kind, "message": message}


def raised(tool: str, given: Any) -> dict[str, Any]:
    return error(f"Error executing tool {tool!r} with arguments {given}: ValueError: no\nPlease try again")


TASK = {"task": "Weather in Graz?", "task_images": None}
ONE = step(call(), observations="9 C")
FINAL = step(call("final_answer", "f", answer="It is 9 C."), observations="It is 9 C.", is_final_answer=True)


def memory(*steps: dict[str, Any]) -> list[dict[str, Any]]:
    return [TASK, *({"step_number": number, **each} for number, each in enumerate(steps, 1))]


@pytest.fixture
def runs(tmp_path: Path) -> Callable[[Any], list[ImportedRun]]:
    return lambda content: list(read(written(tmp_path / "steps.json", content)))


@pytest.fixture
def run(runs: Callable[[Any], list[ImportedRun]]) -> Run:
    def only(*steps: dict[str, Any]) -> ImportedRun:
        (found,) = runs(memory(*steps))
        return found

    return only


SAMPLES = {
    "smolagents_codeagent_full_steps.json": ((1, 2, 0, 0, 9), PARTIAL),
    "smolagents_toolcalling_full_steps.json": ((1, 3, 1, 0, 29), CLOSED),
}


def test_every_sample_has_its_counts(shared: Path) -> None:
    for name, (expected, completeness) in SAMPLES.items():
        found = list(read(shared / "transcripts/smolagents" / name))
        assert tuple(counts(found).values()) == expected, name
        assert [each.record.completeness for each in found] == [completeness], name


def test_only_samples_of_this_format_are_recognised(shared: Path) -> None:
    for path in (shared / "transcripts/smolagents").iterdir():
        assert recognise(path.read_bytes()) >= 0.9, path.name
        assert recognise(path.read_bytes()[:3000]) >= 0.7, path.name
    assert [name for name, head in foreign_samples(shared, "smolagents/") if recognise(head) >= 0.5] == []


def test_a_call_has_the_observation_of_its_step_and_the_final_answer_is_the_report(run: Run) -> None:
    found = run(ONE, FINAL)
    (execution,) = found.record
    assert (execution.tool, execution.args, execution.result) == ("get_weather", {"city": "Graz"}, "9 C")
    assert (execution.status, execution.learned, execution.joint) == (Status.RETURNED, Learned.DEFAULT, False)
    assert (execution.at, execution.until) == ("1.5", "2.5")
    assert (found.report, found.task, found.record.completeness) == ("It is 9 C.", TASK["task"], CLOSED)


def test_calls_of_one_step_share_a_joint_result(run: Run) -> None:
    found = run(step(call(), call("get_stock", "c2"), observations='{"error": "no"}\n42'), FINAL)
    assert [(e.joint, e.status, e.step) for e in found.record] == [(True, Status.RETURNED, 1)] * 2


def test_the_call_of_a_step_that_raised_is_found_in_the_message_of_the_model(run: Run) -> None:
    found = run(step(call(), error=raised("get_weather", {"city": "Graz"})), FINAL)
    (execution,) = found.record
    assert (execution.status, execution.learned, execution.error) == (
        Status.RAISED,
        Learned.FLAG,
        "AgentToolExecutionError",
    )
    assert found.record.completeness is CLOSED


@pytest.mark.parametrize(
    ("problem", "expected"),
    [
        (raised("get_weather", {"city": "Wien"}), ["unknown", "raised", "unknown"]),
        (raised("get_stock", {"n": 1}), ["unknown", "unknown", "raised"]),
        (raised("get_weather", {"city": "?"}), ["unknown"] * 3),
        (error("Unknown tool get_stock, should be one of: a, b."), ["unknown", "unknown", "invalid"]),
    ],
)
def test_of_several_calls_the_error_names_the_one_that_raised(run: Run, problem: Any, expected: Any) -> None:
    calls = (call(), call("get_weather", "c2", city="Wien"), call("get_stock", "c3", n=2))
    found = run(step(*calls, error=problem), FINAL)
    assert [e.status.value for e in found.record] == expected


def test_two_equal_calls_of_a_step_that_raised_are_not_told_apart(run: Run) -> None:
    found = run(step(call(), call(), error=raised("get_weather", {"city": "Graz"})), FINAL)
    assert [e.status for e in found.record] == [Status.UNKNOWN] * 2


@pytest.mark.parametrize(
    ("problem", "status"),
    [
        (error("bad arguments", "AgentToolCallError"), Status.INVALID),
        (error("Unknown tool get_weather, should be one of: a."), Status.INVALID),
        (error("Check failed", "AgentError"), Status.UNKNOWN),
    ],
)
def test_what_never_ran_is_told_by_the_type_of_the_error_or_a_fixed_sentence(
    run: Run, problem: Any, status: Status
) -> None:
    assert [e.status for e in run(step(call(), error=problem), FINAL).record] == [status]


def test_code_is_a_call_and_tools_that_it_called_are_not_in_the_record(run: Run) -> None:
    item = call("python_interpreter")
    item["function"]["arguments"] = "f()"
    last = step(item, observations="9 C", is_final_answer=True, action_output={"c": 9}, code_action="f()")
    found = run(last)
    assert [(e.tool, e.args) for e in found.record] == [("python_interpreter", {"code": "f()"})]
    assert (json.loads(found.report), found.record.completeness) == ({"c": 9}, PARTIAL)
    assert NO_INNER_CALLS in found.record.notes
    failed = step(item, observations="out", error=error("Code failed", "AgentExecutionError"))
    assert [e.status for e in run({**failed, "tool_calls": [item]}).record] == [Status.RAISED]


def test_a_managed_agent_is_a_call_that_delegated(run: Run) -> None:
    words = "Here is the final answer from your managed agent 'searcher':\nFound it."
    found = run(step(call("searcher", task="Find"), observations=words), FINAL)
    assert [(each.call, each.agent, each.report) for each in found.delegations] == [
        ("0", "searcher", "Found it.")
    ]


def test_a_shortened_observation_is_cut(run: Run) -> None:
    words = "a\n..._This content has been truncated to stay below 20000 characters_...\nb"
    assert [e.cut for e in run(step(call(), observations=words), FINAL).record] == [True]


def test_a_result_that_is_absent_was_not_captured(run: Run) -> None:
    found = run(step(call()), FINAL)
    assert [(e.status, e.result) for e in found.record] == [(Status.UNKNOWN, Unknown("not captured"))]
    assert found.record.completeness is PARTIAL


@pytest.mark.parametrize(
    ("steps", "note"),
    [
        (memory(ONE, FINAL)[1:], "the task is not at the beginning"),
        (memory(ONE), "the end of the run is not in the file"),
        ([TASK, *memory(ONE, ONE, FINAL)[2:]], "the numbers of the steps have gaps"),
        ([*memory(ONE, FINAL), TASK], "the end of the run is not in the file"),
        (
            memory(
                ONE, step(error=error("Reached max steps.", "AgentMaxStepsError"), action_output="So far.")
            ),
            "hit its limit of steps",
        ),
    ],
)
def test_a_run_that_is_not_whole_is_partial_and_says_why(runs: Any, steps: Any, note: str) -> None:
    (found,) = runs(steps)
    assert found.record.completeness is PARTIAL
    assert any(note in each for each in found.record.notes)


def test_a_second_task_goes_on_with_the_first_ones_memory(runs: Any) -> None:
    plan = {"plan": "1. Look", "timing": {}, "model_input_messages": []}
    (found,) = runs([*memory(ONE, FINAL), TASK, plan, *memory(ONE, ONE, FINAL)[1:]])
    assert (len(found.record), found.record.completeness) == (3, CLOSED)


def test_a_run_result_and_lines_are_read_as_the_list_is(runs: Any) -> None:
    steps = memory(ONE, FINAL)
    for content in ({"output": "x", "state": "success", "steps": steps}, jsonl(*steps), jsonl(steps)):
        (found,) = runs(content)
        assert (len(found.record), found.report, found.record.completeness) == (1, "It is 9 C.", CLOSED)
    (found,) = runs({"state": "max_steps_error", "steps": steps})
    assert found.record.completeness is PARTIAL


@pytest.mark.parametrize("content", [b"", b"{}", b"[]", {"steps": []}, [{"step_number": 1}], b"plain"])
def test_what_is_no_memory_is_refused(runs: Any, content: Any) -> None:
    with pytest.raises(InvalidInputError):
        runs(content)


FREE = ("model_input_messages", "=arguments", "raw", "token_usage", "timing", "=action_output")
WHOLE = memory(
    ONE,
    step(call(), error=raised("get_weather", {"city": "Graz"})),
    step(call(), call("get_stock", "c2"), observations="9 C\n42"),
    FINAL,
)


def test_wrong_types_anywhere_accuse_no_one(tmp_path: Path, shared: Path) -> None:
    check_wrong_types(read, tmp_path / "file", WHOLE, free=FREE, limit=110)
    check_wrong_types(read, tmp_path / "file", WHOLE, free=FREE, limit=110, lines=True)
    check_missing(read, tmp_path / "file", WHOLE, free=FREE, limit=110)
    for path in (shared / "transcripts/smolagents").iterdir():
        check_wrong_types(read, tmp_path / "file", json.loads(path.read_bytes()), free=FREE, limit=40)


def test_a_file_that_was_cut_is_refused_or_read_as_far_as_it_goes(tmp_path: Path) -> None:
    check_cut(read, tmp_path / "file", json.dumps(WHOLE, indent=1).encode(), 60)
    check_cut(read, tmp_path / "file", jsonl(*WHOLE), 60, lines=True)


def test_a_broken_line_and_a_repeated_key_leave_the_record_partial(tmp_path: Path) -> None:
    lines = jsonl(*WHOLE[:2]) + b'{"step\n' + jsonl(*WHOLE[2:])
    twice = json.dumps(WHOLE).replace('"error": null', '"error": null, "error": null', 1).encode()
    for content in (lines, twice):
        found = read_or_refuse(read, written(tmp_path / "file", content))
        assert found is None or [each.record.completeness for each in found] == [PARTIAL]


@pytest.mark.parametrize(
    ("kind", "completeness"),
    [("AgentToolExecutionError", PARTIAL), ("AgentExecutionError", PARTIAL), ("AgentParsingError", CLOSED)],
)
def test_a_failed_step_that_names_no_call_may_have_made_one(
    run: Run, kind: str, completeness: Completeness
) -> None:
    lost = step(error=error("it did not work", kind))
    lost["model_output_message"]["tool_calls"] = None
    assert run(lost, FINAL).record.completeness is completeness
