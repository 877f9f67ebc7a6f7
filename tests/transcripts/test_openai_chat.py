"""Chat Completions messages: which calls, how they ended, what the report is, and whether all is there."""

from __future__ import annotations

import copy
import json
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dispatch_fidelity.errors import InvalidInputError, MissingInputError
from dispatch_fidelity.model.call import Learned, Status, Unknown
from dispatch_fidelity.model.frozen import UNSET
from dispatch_fidelity.model.run import Completeness, DamageKind, ImportedRun
from dispatch_fidelity.transcripts.openai_chat import read, recognise

ROOT = Path(__file__).parents[2]
AIRLINE = ROOT / "tests/assets/transcripts/gpt-4o-airline_subset.json"
SHARED = ROOT / "../shared/transcripts"

Message = dict[str, Any]


def call(source_id: Any, tool: str = "get_weather", arguments: Any = '{"city": "Graz"}') -> Message:
    return {"id": source_id, "type": "function", "function": {"name": tool, "arguments": arguments}}


def calls(*made: Any, content: Any = None) -> Message:
    return {"role": "assistant", "content": content, "tool_calls": list(made)}


def result(source_id: Any, content: Any = "9 C") -> Message:
    return {"role": "tool", "tool_call_id": source_id, "content": content}


USER: Message = {"role": "user", "content": "Weather in Graz?"}
FINAL: Message = {"role": "assistant", "content": "It is 9 C in Graz."}
CHAT: list[Message] = [{"role": "system", "content": "Help."}, USER, calls(call("c1")), result("c1"), FINAL]


def runs(content: Any, folder: Path | None = None) -> list[ImportedRun]:
    with tempfile.TemporaryDirectory() as fallback:
        path = (folder or Path(fallback)) / "file"
        path.write_bytes(content if isinstance(content, bytes) else json.dumps(content).encode())
        return list(read(path))


def run(content: Any) -> ImportedRun:
    (found,) = runs(content)
    return found


def statuses(found: ImportedRun) -> list[tuple[Status, Learned]]:
    return [(execution.status, execution.learned) for execution in found.record]


def kinds(found: ImportedRun) -> list[DamageKind]:
    return [damage.kind for damage in found.record.damage]


def counts(path: Path) -> dict[str, int]:
    found = list(read(path))
    executions = [execution for each in found for execution in each.record]
    return {
        "runs": len(found),
        "calls": len(executions),
        "errored": sum(execution.failed for execution in executions),
        "open": sum(execution.open for execution in executions),
        "final_chars": sum(len(each.report) for each in found),
    }


# Real files.


def test_the_airline_runs_of_tau_bench_have_172_calls_of_which_35_failed() -> None:
    assert counts(AIRLINE) == {"runs": 14, "calls": 172, "errored": 35, "open": 0, "final_chars": 6527}


def test_a_tau_bench_run_is_named_by_task_and_trial() -> None:
    names = [found.record.run_id for found in read(AIRLINE)]
    assert names[:3] == ["task-0.0", "task-3.0", "task-13.0"]
    assert len(set(names)) == 14


def test_no_real_run_is_damaged_and_those_that_end_in_a_call_are_partial() -> None:
    messages = [each["traj"] for each in json.loads(AIRLINE.read_bytes())]
    for found, traj in zip(read(AIRLINE), messages, strict=True):
        assert found.record.intact
        ends_in_a_call = traj[-1]["role"] == "tool"
        assert found.record.completeness is (Completeness.PARTIAL if ends_in_a_call else Completeness.CLOSED)


def test_the_report_stands_before_the_stop_word_of_the_simulated_user_and_so_does_the_task() -> None:
    first = next(read(AIRLINE))
    assert first.report.startswith("Your flight from New York (JFK) to Seattle (SEA)")
    assert first.task == "Yes, I confirm. Please go ahead with this payment."


def test_every_shared_sample_of_this_shape_gives_the_counts_of_the_second_opinion() -> None:
    if not (SHARED / "reader_counts.json").exists():
        pytest.skip("the shared samples are not beside the project: ../shared/transcripts")
    expected = json.loads((SHARED / "reader_counts.json").read_bytes())
    for name in ("tau_bench/agentrx_retail_failed_subset.json", "tau_bench/gpt-4o-airline_subset.json"):
        assert counts(SHARED / name) == expected[name], name


def test_of_all_shared_samples_only_those_of_this_format_are_recognised() -> None:
    if not SHARED.exists():
        pytest.skip("the shared samples are not beside the project: ../shared/transcripts")
    claimed = [
        path.relative_to(SHARED).as_posix()
        for path in sorted(SHARED.rglob("*"))
        if path.is_file() and recognise(path.read_bytes()[: 64 * 1024]) >= 0.5
    ]
    assert claimed == ["tau_bench/agentrx_retail_failed_subset.json", "tau_bench/gpt-4o-airline_subset.json"]


# Shapes of a file.


def jsonl(*lines: Any) -> bytes:
    return b"".join(json.dumps(line).encode() + b"\n" for line in lines)


@pytest.mark.parametrize(
    ("content", "names"),
    [
        (CHAT, ["run-0"]),
        ({"messages": CHAT}, ["run-0"]),
        ({"model": "m", "messages": CHAT, "tools": []}, ["run-0"]),
        ([{"messages": CHAT}, {"messages": CHAT}], ["run-0", "run-1"]),
        ([CHAT, CHAT], ["run-0", "run-1"]),
        (
            [{"task_id": 3, "trial": 1, "traj": CHAT}, {"task_id": "a/b", "traj": CHAT}],
            ["task-3.1", "task-a-b"],
        ),
        ([{"task_id": 3, "traj": CHAT}, {"task_id": 3, "traj": CHAT}], ["task-3", "task-3.run-1"]),
        (jsonl({"messages": CHAT}, {"messages": CHAT}), ["run-0", "run-1"]),
        (jsonl(CHAT, CHAT), ["run-0", "run-1"]),
        (b"\xef\xbb\xbf" + json.dumps(CHAT, indent=2).encode(), ["run-0"]),
        (
            {"messages": CHAT[:-1], "choices": [{"index": 0, "message": FINAL, "finish_reason": "stop"}]},
            ["run-0"],
        ),
    ],
)
def test_each_shape_of_a_file_gives_the_same_closed_conversation(content: Any, names: list[str]) -> None:
    found = runs(content)
    assert [each.record.run_id for each in found] == names
    for each in found:
        assert each.record.completeness is Completeness.CLOSED
        assert each.record.format == "openai-chat"
        assert each.report == FINAL["content"]
        assert each.task == USER["content"]
        assert [execution.tool for execution in each.record] == ["get_weather"]
        assert recognise(content if isinstance(content, bytes) else json.dumps(content).encode()) >= 0.9


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{}",
        b"[]",
        b"[[]]",
        b"7",
        b'"text"',
        b"null",
        b'{"messages": 5}',
        b'[{"type": "human"}]',
        b"plain",
        b'{"a": 1}\n{"b": 2}\n',
        json.dumps(CHAT).encode()[:-20],
        json.dumps(CHAT, indent=1).encode()[:-20],
    ],
)
def test_a_torn_file_and_one_without_a_conversation_are_invalid_input(content: bytes) -> None:
    with pytest.raises(InvalidInputError) as caught:
        runs(content)
    assert caught.value.exit_code == 65


def test_a_file_that_is_not_there_is_missing_input(tmp_path: Path) -> None:
    with pytest.raises(MissingInputError):
        list(read(tmp_path / "absent"))


def test_a_broken_line_is_a_damaged_run_and_leaves_the_others_whole() -> None:
    lines = jsonl({"messages": CHAT}, "cut", {"messages": CHAT})
    for content in (
        lines.replace(b'"cut"', b'{"messages": [{"ro'),
        b'{"messages": [{"ro\n' + lines.replace(b'"cut"\n', b""),
    ):
        found = runs(content)
        assert sorted(str(each.record.completeness) for each in found) == ["closed", "closed", "partial"]
        (broken,) = [each for each in found if each.record.damage]
        assert kinds(broken) == [DamageKind.UNREADABLE]
        assert broken.record.damage[0].line in (1, 2)
        assert len(broken.record) == 0


def test_a_line_without_a_conversation_is_a_damaged_run() -> None:
    found = runs(jsonl({"messages": CHAT}, {"messages": 7}, 5, {"messages": []}))
    assert [kinds(each) for each in found] == [
        [],
        [DamageKind.UNREADABLE],
        [DamageKind.UNREADABLE],
        [DamageKind.EMPTY],
    ]
    assert {each.record.completeness for each in found[1:]} == {Completeness.PARTIAL}


def test_a_torn_last_line_is_a_damaged_run() -> None:
    *_, last = runs(jsonl({"messages": CHAT}, {"messages": CHAT})[:-9])
    assert kinds(last) == [DamageKind.TORN]
    assert last.record.completeness is Completeness.PARTIAL


@pytest.mark.parametrize(
    "text",
    [
        json.dumps(CHAT).replace('"role": "user"', '"role": "user", "role": "user"'),
        json.dumps(CHAT).replace('"9 C"', "NaN"),
        json.dumps(CHAT).replace('"{\\"city\\": \\"Graz\\"}"', '{"city": NaN}'),
        json.dumps(CHAT).replace('"{\\"city\\": \\"Graz\\"}"', '{"city": "A", "city": "B"}'),
    ],
)
def test_json_that_is_not_strict_is_read_and_is_damage_where_it_stands(text: str) -> None:
    found = run(text.encode())
    assert DamageKind.UNREADABLE in kinds(found)
    assert found.record.completeness is Completeness.PARTIAL
    assert found.report == FINAL["content"]


def test_json_that_is_not_strict_outside_the_conversation_harms_nothing() -> None:
    text = json.dumps({"reward": 0, "task_id": 1, "traj": CHAT}).replace('"reward": 0', '"reward": NaN')
    assert run(text.encode()).record.completeness is Completeness.CLOSED


def test_half_a_surrogate_pair_in_a_result_is_kept() -> None:
    text = json.dumps(CHAT).replace("9 C", "9 \\ud83d")
    assert next(iter(run(text.encode()).record)).result == "9 \ud83d"


# Calls and results.


def test_a_call_is_read_with_its_arguments_its_result_and_its_place() -> None:
    (execution,) = run(CHAT).record
    assert (execution.tool, execution.args, execution.result) == ("get_weather", {"city": "Graz"}, "9 C")
    assert (execution.stream, execution.n, execution.call, execution.source_id) == ("main", 0, "0", "c1")
    assert (execution.step, execution.agent) == (2, "agent")
    assert (execution.status, execution.learned) == (Status.RETURNED, Learned.DEFAULT)


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ('{"city": "Graz"}', {"city": "Graz"}),
        ({"city": "Graz"}, {"city": "Graz"}),
        ("", {}),
        ("[1]", [1]),
        ('{"city": "Gr', '{"city": "Gr'),
        ('{"city": NaN}', '{"city": NaN}'),
        ('{"a": 1, "a": 2}', '{"a": 1, "a": 2}'),
        ("\ud800", "\ud800"),
    ],
)
def test_arguments_are_parsed_and_kept_as_text_where_they_do_not_parse(arguments: Any, expected: Any) -> None:
    found = run([USER, calls(call("c1", arguments=arguments)), result("c1"), FINAL])
    assert next(iter(found.record)).args == expected
    assert found.record.completeness is Completeness.CLOSED


def test_a_custom_call_has_its_text_as_input() -> None:
    made = {"id": "c1", "type": "custom", "custom": {"name": "shell", "input": "ls"}}
    (execution,) = run([USER, calls(made), result("c1"), FINAL]).record
    assert (execution.tool, execution.args) == ("shell", {"input": "ls"})


def test_calls_of_the_first_form_are_answered_by_name() -> None:
    found = run(
        [
            USER,
            {"role": "assistant", "content": None, "function_call": {"name": "a", "arguments": "{}"}},
            {"role": "function", "name": "a", "content": "one"},
            {"role": "assistant", "content": None, "function_call": {"name": "a", "arguments": "{}"}},
            {"role": "function", "name": "a", "content": "Error: two"},
            FINAL,
        ]
    )
    assert [execution.result for execution in found.record] == ["one", "Error: two"]
    assert [execution.source_id for execution in found.record] == ["", ""]
    assert found.record.completeness is Completeness.CLOSED


def test_parallel_calls_share_a_step_and_their_results_may_come_in_any_order() -> None:
    found = run([USER, calls(call("a"), call("b", "get_stock")), result("b", "B"), result("a", "A"), FINAL])
    assert [(execution.result, execution.step) for execution in found.record] == [("A", 1), ("B", 1)]
    assert found.record.completeness is Completeness.CLOSED


def test_an_id_that_repeats_names_the_open_call() -> None:
    found = run(
        [USER, calls(call("x", "a")), result("x", "1"), calls(call("x", "b")), result("x", "2"), FINAL]
    )
    assert [(execution.tool, execution.result) for execution in found.record] == [("a", "1"), ("b", "2")]
    assert found.record.completeness is Completeness.CLOSED


def test_the_latest_open_call_of_an_id_gets_the_result_and_the_record_is_damaged() -> None:
    found = run([USER, calls(call("x", "a")), calls(call("x", "b")), result("x", "2"), FINAL])
    assert [(execution.tool, execution.status) for execution in found.record] == [
        ("a", Status.UNKNOWN),
        ("b", Status.RETURNED),
    ]
    assert kinds(found) == [DamageKind.LIFECYCLE]


def test_calls_of_one_message_with_one_id_get_their_results_in_order_and_are_damage() -> None:
    found = run([USER, calls(call("", "a"), call("", "b")), result("", "A"), result("", "B"), FINAL])
    assert [(execution.tool, execution.result) for execution in found.record] == [("a", "A"), ("b", "B")]
    assert kinds(found) == [DamageKind.LIFECYCLE]


@pytest.mark.parametrize(
    "orphan", [result("other"), result("c1"), {"role": "function", "name": "a", "content": ""}]
)
def test_a_result_of_no_open_call_is_damage(orphan: Message) -> None:
    found = run([*CHAT[:-1], orphan, FINAL])
    assert kinds(found) == [DamageKind.LIFECYCLE]
    assert found.record.completeness is Completeness.PARTIAL
    assert len(found.record) == 1


def test_a_call_without_a_result_is_unknown_once_the_conversation_went_on() -> None:
    found = run([USER, calls(call("c1")), FINAL])
    assert statuses(found)[0][0] is Status.UNKNOWN
    assert found.record.completeness is Completeness.PARTIAL


def test_a_call_at_the_end_of_the_file_is_unfinished() -> None:
    found = run([USER, calls(call("a"), call("b")), result("a")])
    assert [status for status, _ in statuses(found)] == [Status.RETURNED, Status.UNFINISHED]
    assert next(reversed(found.record.executions)).result is UNSET


def test_the_tools_are_those_defined_and_those_called() -> None:
    tools = [
        {"type": "function", "function": {"name": "a"}},
        {"type": "custom", "custom": {"name": "b"}},
        5,
        {},
    ]
    found = run({"messages": CHAT, "tools": tools, "functions": [{"name": "c"}, None]})
    assert found.record.tools == ("a", "b", "c", "get_weather")


def test_ten_thousand_calls_of_one_id_are_read_in_linear_time() -> None:
    def seconds(count: int) -> float:
        made = [call("x") for _ in range(count)]
        content = json.dumps([USER, calls(*made), *(result("x") for _ in made), FINAL]).encode()
        start = time.perf_counter()
        assert not any(execution.open for execution in run(content).record)
        return time.perf_counter() - start

    seconds(100)
    assert seconds(20_000) < 60 * max(seconds(1_000), 0.005)


# Failure.


@pytest.mark.parametrize(
    ("content", "error"),
    [
        ("Error: no such city", ""),
        ("error: no such city", ""),
        ("ERROR: no such city", ""),
        ("ERROR:TimeoutError", "TimeoutError"),
        ("ValueError: no such city", "ValueError"),
        ("requests.exceptions.ConnectionError: refused", "requests.exceptions.ConnectionError"),
        ("Traceback (most recent call last):\n  File", ""),
        ("Error executing tool get_weather: no", ""),
        ("An error occurred while running the tool. Please try again.", ""),
        ([{"type": "text", "text": "Error: no"}, {"type": "text", "text": "such city"}], ""),
    ],
)
def test_a_failure_told_by_text_is_raised_and_says_how_it_was_learned(content: Any, error: str) -> None:
    found = run([USER, calls(call("c1")), result("c1", content), FINAL])
    assert statuses(found) == [(Status.RAISED, Learned.TEXT_PATTERN)]
    assert next(iter(found.record)).error == error
    assert next(iter(found.record)).message
    assert "failure is known by the text" in found.record.notes[0]


@pytest.mark.parametrize("content", ['{"error": "no such city"}', '{"ok": false}', ' {"status": 404} '])
def test_a_failure_told_by_a_structured_result_is_learned_by_value(content: str) -> None:
    for container in ("messages", "traj"):
        found = run({container: [USER, calls(call("c1")), result("c1", content), FINAL]})
        assert statuses(found) == [(Status.RAISED, Learned.VALUE)]


def test_a_result_without_content_is_no_empty_one() -> None:
    found = run([USER, calls(call("c1")), result("c1", None), FINAL])
    assert [(each.status, each.result) for each in found.record] == [
        (Status.UNKNOWN, Unknown("not captured"))
    ]
    assert (found.record.completeness, found.record.damage) == (Completeness.PARTIAL, ())


@pytest.mark.parametrize(
    "content",
    [
        "Errors: 0",
        "Error rates fell in May",
        "0 errors",
        "No error: fine",
        "Erroneous",
        "",
        '{"error": null}',
        "The build said: Error: none",
    ],
)
def test_text_that_only_speaks_of_errors_is_a_return(content: str) -> None:
    found = run([USER, calls(call("c1")), result("c1", content), FINAL])
    assert statuses(found) == [(Status.RETURNED, Learned.DEFAULT)]


def test_in_tau_bench_every_text_that_begins_with_error_is_a_failure() -> None:
    chat = [USER, calls(call("c1")), result("c1", "Error rates fell"), FINAL]
    assert statuses(run({"traj": chat})) == [(Status.RAISED, Learned.TEXT_PATTERN)]
    assert statuses(run({"traj": [USER, calls(call("c1")), result("c1", "error: x"), FINAL]})) == [
        (Status.RETURNED, Learned.DEFAULT)
    ]


# Report, task, completeness.


def test_the_report_may_be_parts_or_a_refusal() -> None:
    parts = [{"type": "text", "text": "One."}, {"type": "refusal", "refusal": "Two."}]
    assert run([USER, {"role": "assistant", "content": parts}]).report == "One.\nTwo."
    refused = run([USER, {"role": "assistant", "content": None, "refusal": "I cannot."}])
    assert (refused.report, refused.record.completeness) == ("I cannot.", Completeness.CLOSED)


def test_a_picture_in_a_result_is_kept_with_its_parts() -> None:
    content = [{"type": "text", "text": "a chart"}, {"type": "image_url", "image_url": {"url": "data:,"}}]
    found = run([USER, calls(call("c1")), result("c1", content), FINAL])
    assert next(iter(found.record)).result == content
    assert found.record.completeness is Completeness.CLOSED


def test_the_report_is_the_last_text_even_beside_calls_and_then_the_record_is_partial() -> None:
    found = run([USER, FINAL, USER, calls(call("c1"), content="Let me look."), result("c1")])
    assert found.report == "Let me look."
    assert found.record.completeness is Completeness.PARTIAL
    assert "the conversation does not end in a text of the agent" in found.record.notes


def test_a_conversation_of_several_turns_has_the_task_of_the_last_answered_one() -> None:
    found = run(
        [*CHAT, {"role": "user", "content": "And now?"}, FINAL, {"role": "user", "content": "###STOP###"}]
    )
    assert found.task == "And now?"
    assert found.record.completeness is Completeness.CLOSED


def test_without_a_report_the_task_is_the_last_request_and_nothing_is_closed() -> None:
    found = run([USER, {"role": "user", "content": [{"type": "text", "text": "Please."}]}])
    assert (found.report, found.task) == ("", "Please.")
    assert found.record.completeness is Completeness.PARTIAL


@pytest.mark.parametrize(
    "content",
    [
        CHAT[2:],
        {"choices": [{"index": 0, "message": FINAL, "finish_reason": "stop"}]},
        {"messages": [USER], "choices": [{"index": 0, "message": FINAL, "finish_reason": "length"}]},
    ],
)
def test_a_conversation_of_which_a_part_is_elsewhere_is_partial(content: Any) -> None:
    found = run(content)
    assert found.record.completeness is Completeness.PARTIAL
    assert found.record.intact
    assert "a part of the conversation is not in the file" in found.record.notes


def test_each_choice_of_a_response_is_a_run() -> None:
    choices = [{"message": FINAL}, {"message": calls(call("c1"))}, 5]
    found = runs({"object": "chat.completion", "choices": choices})
    assert [each.report for each in found] == [FINAL["content"], "", ""]
    assert statuses(found[1])[0][0] is Status.UNFINISHED
    assert kinds(found[2]) == [DamageKind.UNREADABLE]


# Wrong types.


def changed(at: int, **members: Any) -> list[Any]:
    chat = copy.deepcopy(CHAT)
    chat[at] = {**chat[at], **members}
    return chat


@pytest.mark.parametrize(
    "content",
    [
        [*CHAT, 5],
        [*CHAT, None],
        [*CHAT, {"content": "no role"}],
        changed(1, role=7),
        changed(1, role="critic"),
        changed(0, content=3),
        changed(1, content={"text": "x"}),
        changed(1, content=["x"]),
        changed(1, content=[{"type": ["text"]}]),
        changed(4, content=[{"type": "text", "text": 5}]),
        changed(4, content=[{"type": "tool_use", "id": "t", "name": "a", "input": {}}]),
        changed(2, tool_calls={"id": "c1"}),
        changed(2, tool_calls=["c1"]),
        changed(2, tool_calls=[call(1)]),
        changed(2, tool_calls=[call(None)]),
        changed(2, tool_calls=[call("c1", arguments=7)]),
        changed(2, tool_calls=[call("c1", arguments=None)]),
        changed(2, tool_calls=[call("c1", tool="")]),
        changed(2, tool_calls=[{"id": "c1", "function": None}]),
        changed(2, tool_calls=[{"id": "c1", "name": "get_weather", "args": {}}]),
        changed(2, function_call="x"),
        changed(3, tool_call_id=1),
        changed(3, content=9),
        [*CHAT[:3], {"role": "tool", "tool_call_id": "c1"}, FINAL],
    ],
)
def test_what_is_of_another_type_is_damage_and_never_closed(content: Any) -> None:
    found = run(content)
    assert DamageKind.UNREADABLE in kinds(found)
    assert found.record.completeness is Completeness.PARTIAL
    assert found.record.tools == tuple({execution.tool: None for execution in found.record})


def test_a_result_that_cannot_be_read_says_neither_success_nor_failure() -> None:
    for chat in (changed(3, content=9), [*CHAT[:3], {"role": "tool", "tool_call_id": "c1"}, FINAL]):
        assert statuses(run(chat))[0][0] is Status.UNKNOWN


def test_arguments_that_cannot_be_read_are_unknown() -> None:
    (execution,) = run(changed(2, tool_calls=[call("c1", arguments=7)])).record
    assert execution.args == Unknown("unreadable")


# Recognition.


PLAIN = [USER, FINAL]


@pytest.mark.parametrize(
    ("content", "recognised"),
    [
        ({"model": "m", "messages": PLAIN}, True),
        ({"messages": PLAIN, "tools": [{"type": "function", "function": {"name": "a"}}]}, True),
        ({"model": "m", "tools": [{"type": "function", "function": {"name": "a"}}]}, True),
        ({"object": "chat.completion", "choices": [{"message": FINAL}]}, True),
        ({"task_id": 1, "reward": 1.0, "traj": PLAIN}, True),
        (PLAIN, False),
        ({"messages": PLAIN}, False),
        ({"model": "m", "tools": [{"type": "function", "name": "a", "parameters": {}}], "output": []}, False),
        ([{"role": "human", "content": "x"}, *CHAT], False),
        ([{"role": "user", "parts": []}, *CHAT], False),
        ([USER, {"type": "function_call", "name": "a", "arguments": "{}"}, FINAL], False),
        ([USER, calls({"id": "1", "name": "a", "arguments": {}, "requestor": "assistant"}), FINAL], False),
        ([USER, calls({"id": "1", "function": "a", "arguments": {}}), FINAL], False),
        ({"model": "m", "trajectory_format": "mini-swe-agent-1.1", "messages": CHAT}, False),
        ({"model": "m", "messages": [{"direction": "in", "message": {}}]}, False),
        ({"model": "m", "messages": PLAIN, "tools": [{"name": "a", "input_schema": {}}]}, False),
        ({"model": "m", "system": "Help.", "messages": PLAIN}, False),
        ({"history": CHAT, "trajectory": []}, False),
        ({"simulations": [{"messages": CHAT}]}, False),
    ],
)
def test_a_file_is_recognised_by_what_is_this_formats_own(content: Any, recognised: bool) -> None:
    assert (recognise(json.dumps(content).encode()) >= 0.5) is recognised


def test_a_file_is_recognised_by_a_head_that_ends_anywhere_after_the_first_call() -> None:
    text = json.dumps(CHAT, indent=1).encode()
    for end in range(text.index(b'"arguments"'), len(text)):
        assert recognise(text[:end]) >= 0.5, text[:end]


# Laws.


@st.composite
def conversations(draw: st.DrawFn) -> list[Message]:
    """Whole conversations; ids repeat, but never while their call is open."""
    chat: list[Message] = [USER]
    for _ in range(draw(st.integers(0, 4))):
        ids = draw(st.lists(st.sampled_from(["a", "b", "c"]), min_size=1, max_size=3, unique=True))
        chat.append(calls(*(call(each, draw(st.sampled_from(["t", "u"]))) for each in ids)))
        chat += [
            result(each, draw(st.sampled_from(["9 C", "Error: no", ""])))
            for each in draw(st.permutations(ids))
        ]
        if draw(st.booleans()):
            chat += [FINAL, USER]
    return [*chat, FINAL]


@given(conversations())
@settings(deadline=None, max_examples=60)
def test_a_whole_conversation_is_closed_and_every_call_has_its_result(chat: list[Message]) -> None:
    found = run(chat)
    assert found.record.completeness is Completeness.CLOSED
    assert len(found.record) == sum(message["role"] == "tool" for message in chat)
    assert not any(execution.open for execution in found.record)


@given(conversations().filter(lambda chat: len(chat) > 2), st.data())
@settings(deadline=None, max_examples=100)
def test_without_one_of_its_results_no_conversation_is_closed(
    chat: list[Message], data: st.DataObject
) -> None:
    places = [place for place, message in enumerate(chat) if message["role"] == "tool"]
    del chat[data.draw(st.sampled_from(places))]
    assert run(chat).record.completeness is Completeness.PARTIAL


ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=2)
        | st.dictionaries(
            st.sampled_from(["role", "content", "type", "text", "messages", "choices"]), inner, max_size=3
        )
    ),
    max_leaves=5,
)


def places(value: Any, set_: Callable[[Any], None]) -> Iterator[tuple[Any, Callable[[Any], None]]]:
    yield value, set_
    if isinstance(value, dict):
        for key in value:
            yield from places(value[key], lambda new, key=key: value.__setitem__(key, new))  # type: ignore[misc]
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from places(item, lambda new, index=index: value.__setitem__(index, new))  # type: ignore[misc]


@given(st.sampled_from(["list", "object", "tau", "choices", "jsonl"]), st.data())
@settings(deadline=None, max_examples=300)
def test_a_mutated_conversation_is_read_or_is_invalid_input(shape: str, data: st.DataObject) -> None:
    chat = copy.deepcopy(CHAT)
    content: Any = {
        "list": chat,
        "object": {"messages": chat, "tools": [{"type": "function", "function": {"name": "a"}}]},
        "tau": [{"task_id": 1, "trial": 0, "traj": chat}],
        "choices": {"messages": chat[:-1], "choices": [{"message": FINAL.copy(), "finish_reason": "stop"}]},
        "jsonl": [{"messages": chat}, {"messages": copy.deepcopy(CHAT)}],
    }[shape]
    box = [content]
    for _ in range(data.draw(st.integers(1, 3))):
        everywhere = list(places(box[0], lambda new: box.__setitem__(0, new)))
        value, put = data.draw(st.sampled_from(everywhere))
        if isinstance(value, (dict, list)) and value and data.draw(st.booleans()):
            del value[
                data.draw(st.sampled_from(list(value) if isinstance(value, dict) else range(len(value))))
            ]
        else:
            put(data.draw(ANYTHING))
    text = jsonl(*box[0]) if shape == "jsonl" and isinstance(box[0], list) else json.dumps(box[0]).encode()
    for start, end in data.draw(st.lists(st.tuples(st.integers(0, 400), st.integers(0, 3)), max_size=1)):
        text = text[:start] + text[start + end :]
    assert 0 <= recognise(text) <= 1
    try:
        found = runs(text)
    except InvalidInputError:
        found = []
    assert all(each.record.notes for each in found)
