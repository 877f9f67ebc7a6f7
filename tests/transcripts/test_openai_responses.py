"""Responses items: which end belongs to which call, what hosted tools keep back, what one response does not show."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from message_damage import (
    by_status,
    check_cuts,
    check_damage,
    counts,
    first,
    jsonl,
    read_or_refuse,
    recognised,
    runs,
)

from dispatch_fidelity.errors import InvalidInputError
from dispatch_fidelity.model.call import Status, Unknown
from dispatch_fidelity.model.run import Completeness, DamageKind, ImportedRun
from dispatch_fidelity.transcripts.openai_responses import NAME, read, recognise

Item = dict[str, Any]
SAMPLES = {
    "openai-code-interpreter-tool.1.json": (3, 0, 0, 461),
    "openai-custom-tool.1.json": (1, 0, 1, 0),
    # A local shell is run by the caller: the status of the item is not that of the command.
    "openai-local-shell-tool.1.json": (1, 0, 1, 0),
    "openai-mcp-tool-approval.1.json": (0, 0, 0, 0),
    "openai-mcp-tool-approval.4.json": (1, 0, 0, 260),
    "openai-mcp-tool.1.json": (1, 0, 0, 1180),
    "openai-shell-skills.1.json": (2, 0, 0, 1022),
    "openai-web-search-tool.1.json": (3, 0, 0, 3042),
    # The fixed sentence of openai-agents is a failure.
    "openai_agents_to_input_list.json": (2, 1, 0, 39),
    "parallel-tool-call-wrapper.1.json": (1, 0, 1, 0),
    # The program that the model wrote is executed, and so is a call of its own.
    "programmatic-tool-calling.1.json": (2, 0, 2, 0),
}


def call(call_id: Any = "c1", name: str = "get_weather", arguments: Any = '{"city": "Graz"}') -> Item:
    return {"type": "function_call", "id": "fc_1", "call_id": call_id, "name": name, "arguments": arguments}


def output(call_id: Any = "c1", text: Any = "9 C") -> Item:
    return {"type": "function_call_output", "call_id": call_id, "output": text}


def said(text: Any) -> Item:
    content = [{"type": "output_text", "text": text, "annotations": []}]
    return {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": content}


def response(*items: Item, **members: Any) -> Item:
    return {"id": "resp_1", "object": "response", "status": "completed", "output": list(items), **members}


USER: Item = {"role": "user", "content": "Weather in Graz?"}
FINAL = said("It is 9 C in Graz.")
ITEMS = [USER, call(), output(), FINAL]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "file.json"


def run(path: Path, content: Any) -> ImportedRun:
    (found,) = runs(read, path, content)
    return found


def hosted(path: Path, *items: Item) -> ImportedRun:
    return run(path, [USER, *items, FINAL])


# Real files.


@pytest.mark.parametrize("name", SAMPLES)
def test_each_sample_has_its_calls_failures_open_calls_and_final_text(shared: Path, name: str) -> None:
    calls, errored, opened, final = SAMPLES[name]
    expected = {"runs": 1, "calls": calls, "errored": errored, "open": opened, "final_chars": final}
    assert counts(list(read(shared / "transcripts/openai_responses" / name))) == expected


def test_of_all_shared_samples_only_those_of_this_format_are_recognised(shared: Path) -> None:
    found = recognised(recognise, shared / "transcripts")
    assert found == [f"openai_responses/{name}" for name in sorted(SAMPLES)]


def test_no_log_of_our_own_is_recognised(artifacts: Path) -> None:
    assert recognised(recognise, artifacts) == []


def test_a_dump_of_openai_agents_is_closed_and_a_single_response_is_not(shared: Path) -> None:
    folder = shared / "transcripts/openai_responses"
    for name in SAMPLES:
        (found,) = read(folder / name)
        closed = name == "openai_agents_to_input_list.json"
        assert (found.record.completeness is Completeness.CLOSED) is closed, name
        assert found.record.intact


# Shapes of a file.


@pytest.mark.parametrize(
    "content",
    [
        ITEMS,
        jsonl(*ITEMS),
        {"model": "m", "input": ITEMS[:-1], "output": [FINAL], "object": "response"},
        {"request": {"model": "m", "input": ITEMS[:-1]}, "response": response(FINAL)},
        {
            "body": {"model": "m", "input": ITEMS[:-1]},
            "response": {"status_code": 200, "body": response(FINAL)},
        },
        [{"request": {"model": "m", "input": ITEMS[:-1]}, "response": response(FINAL)}],
        [
            {"request": {"model": "m", "input": USER["content"]}, "response": response(call())},
            {"request": {"model": "m", "input": [USER, call(), output()]}, "response": response(FINAL)},
        ],
        jsonl(
            {"request": {"input": "Weather in Graz?"}, "response": response(call())},
            {
                "request": {"input": [output()], "previous_response_id": "resp_1"},
                "response": response(FINAL, id="resp_2", previous_response_id="resp_1"),
            },
        ),
    ],
)
def test_each_shape_of_a_file_gives_the_same_closed_run(path: Path, content: Any) -> None:
    found = run(path, content)
    assert recognise(path.read_bytes()) >= 0.5
    assert (found.record.completeness, found.record.format) == (Completeness.CLOSED, NAME)
    assert (found.report, found.task) == ("It is 9 C in Graz.", "Weather in Graz?")
    assert [(each.tool, each.args, each.result) for each in found.record] == [
        ("get_weather", {"city": "Graz"}, "9 C")
    ]


def test_conversations_that_share_nothing_are_runs_of_their_own(path: Path) -> None:
    found = runs(read, path, [ITEMS, [{"role": "user", "content": "Else?"}, said("Yes.")]])
    assert [(each.record.run_id, each.report) for each in found] == [
        ("run-0", "It is 9 C in Graz."),
        ("run-1", "Yes."),
    ]


@pytest.mark.parametrize(
    "content",
    [
        response(FINAL),
        response(FINAL, input=[]),
        {"request": {"input": [USER]}, "response": response(FINAL, status="incomplete")},
        {"request": {"input": [USER]}, "response": response(FINAL, error={"code": "x"})},
        {"request": {"input": [USER], "previous_response_id": "resp_0"}, "response": response(FINAL)},
        {"request": {"input": [USER], "conversation": "conv_1"}, "response": response(FINAL)},
        {"request": {"model": "m", "input": [*ITEMS, USER]}, "response": None},
        {"request": {"model": "m", "input": [*ITEMS, USER]}, "response": {"error": "x"}},
        [{"type": "item_reference", "id": "msg_0"}, *ITEMS],
        [USER, {"type": "compaction", "encrypted_content": "x"}, FINAL],
        [USER, {"type": "some_new_thing"}, FINAL],
        [USER, {**FINAL, "status": "incomplete"}],
        [USER, FINAL, call()],
        [*ITEMS[:3]],
        ITEMS[1:],
    ],
)
def test_what_is_cut_or_stands_elsewhere_in_part_is_not_closed(path: Path, content: Any) -> None:
    assert run(path, content).record.completeness is Completeness.PARTIAL


def test_a_request_that_waits_for_its_answer_has_the_calls_of_its_history(path: Path) -> None:
    found = run(
        path, {"model": "m", "input": [USER, call(), output()], "tools": [{"type": "function", "name": "b"}]}
    )
    assert (len(found.record), found.record.tools) == (1, ("b", "get_weather"))


# Calls of functions.


def test_a_call_is_joined_by_its_call_id_and_parallel_calls_share_a_step(path: Path) -> None:
    found = run(path, [USER, call("a"), call("b", "get_stock"), output("b", "B"), output("a", "A"), FINAL])
    assert [(each.source_id, each.result) for each in found.record] == [("a", "A"), ("b", "B")]
    assert len({each.step for each in found.record}) == 1
    assert found.record.completeness is Completeness.CLOSED


def test_ids_that_repeat_name_the_open_call(path: Path) -> None:
    found = run(path, [USER, call("x", "a"), output("x", "1"), call("x", "b"), output("x", "2"), FINAL])
    assert [(each.tool, each.result) for each in found.record] == [("a", "1"), ("b", "2")]
    assert found.record.completeness is Completeness.CLOSED


def test_calls_made_together_under_one_id_get_their_results_in_order_and_are_damage(path: Path) -> None:
    found = run(path, [USER, call("", "a"), call("", "b"), output("", "A"), output("", "B"), FINAL])
    assert [(each.tool, each.result) for each in found.record] == [("a", "A"), ("b", "B")]
    assert [damage.kind for damage in found.record.damage] == [DamageKind.LIFECYCLE]


@pytest.mark.parametrize(
    ("text", "status", "learned"),
    [
        ("9 C", Status.RETURNED, "default"),
        ("An error occurred while running the tool. Please try again.", Status.RAISED, "text pattern"),
        ("An error occurred while parsing tool arguments. Error: x", Status.RAISED, "text pattern"),
        ("ValueError: no such city", Status.RAISED, "text pattern"),
        ("Tool execution was not approved.", Status.REFUSED, "text pattern"),
        ('{"success": false}', Status.RAISED, "value"),
        ([{"type": "input_text", "text": "9 C"}], Status.RETURNED, "default"),
        ([{"type": "input_image", "image_url": "data:,"}], Status.RETURNED, "default"),
        (None, Status.UNKNOWN, "default"),
        ([5], Status.UNKNOWN, "default"),
    ],
)
def test_the_end_of_a_function_is_read_from_its_output(
    path: Path, text: Any, status: Status, learned: str
) -> None:
    assert by_status(run(path, [USER, call(), output(text=text), FINAL])) == [
        ("get_weather", str(status), learned)
    ]


def test_a_custom_call_has_its_text_as_input(path: Path) -> None:
    made = {"type": "custom_tool_call", "call_id": "c1", "name": "sql", "input": "SELECT 1"}
    found = run(path, [USER, made, {**output(), "type": "custom_tool_call_output"}, FINAL])
    assert (first(found).args, first(found).result) == ({"input": "SELECT 1"}, "9 C")


def test_a_call_without_an_output_is_unknown_once_the_agent_spoke_again(path: Path) -> None:
    assert first(run(path, [USER, call(), FINAL])).status is Status.UNKNOWN
    assert first(run(path, [USER, call()])).status is Status.UNFINISHED


# Hosted tools.


SEARCH = {"type": "web_search_call", "id": "ws_1", "status": "completed"}
MCP = {
    "type": "mcp_call",
    "id": "mcp_1",
    "name": "shorten",
    "server_label": "zip",
    "arguments": '{"url": "x"}',
}


@pytest.mark.parametrize(
    ("item", "expected"),
    [
        ({**MCP, "output": "ok", "error": None}, (Status.RETURNED, "ok", "")),
        ({**MCP, "output": None, "error": "timed out"}, (Status.RAISED, None, "timed out")),
        ({**MCP, "output": None, "error": {"type": "http", "message": "503"}}, (Status.RAISED, None, "503")),
        ({**MCP, "status": "calling", "output": None}, (Status.UNKNOWN, None, "")),
        ({**MCP, "output": None}, (Status.UNKNOWN, Unknown("unreadable"), "")),
        (
            {**SEARCH, "action": {"type": "search", "query": "q"}},
            (Status.RETURNED, Unknown("not captured"), ""),
        ),
        ({**SEARCH, "status": "failed", "action": {"query": "q"}}, (Status.RAISED, None, "")),
        (
            {**SEARCH, "status": "incomplete", "action": {"query": "q"}},
            (Status.UNKNOWN, Unknown("not captured"), ""),
        ),
        (
            {"type": "file_search_call", "id": "f", "status": "completed", "queries": ["q"], "results": None},
            (Status.RETURNED, Unknown("not captured"), ""),
        ),
        (
            {"type": "image_generation_call", "id": "i", "status": "completed", "result": "AAAA"},
            (Status.RETURNED, Unknown("opaque", "4 characters"), ""),
        ),
        (
            {
                "type": "code_interpreter_call",
                "id": "c",
                "code": "1",
                "outputs": [{"type": "logs", "logs": "1"}],
            },
            (Status.RETURNED, "1", ""),
        ),
    ],
)
def test_a_hosted_call_holds_its_own_end(path: Path, item: Item, expected: tuple[Any, ...]) -> None:
    found = first(hosted(path, item))
    result = None if not isinstance(found.result, (str, Unknown)) else found.result
    assert (found.status, result, found.message) == expected


def test_what_a_hosted_tool_keeps_back_is_said_with_the_setting_that_shows_it(path: Path) -> None:
    found = hosted(path, {**SEARCH, "action": {"type": "search", "query": "q"}})
    assert any("web_search_call.action.sources" in note for note in found.record.notes)


def test_the_sources_of_a_search_are_a_part_of_what_it_found(path: Path) -> None:
    sources = [{"type": "url", "url": "https://example.org"}]
    found = first(hosted(path, {**SEARCH, "action": {"type": "search", "query": "q", "sources": sources}}))
    assert (found.args, found.result, found.cut) == ({"type": "search", "query": "q"}, sources, True)


@pytest.mark.parametrize(
    ("outcomes", "status"),
    [
        ([{"type": "exit", "exit_code": 0}], Status.RETURNED),
        ([{"type": "exit", "exit_code": 2}], Status.RAISED),
        ([{"type": "timeout"}], Status.RAISED),
        ([{"type": "exit", "exit_code": 0}, {"type": "exit", "exit_code": 1}], Status.UNKNOWN),
        ([{"type": "exit", "exit_code": "0"}], Status.UNKNOWN),
        ([], Status.UNKNOWN),
    ],
)
def test_a_shell_call_ends_by_the_exit_codes_of_its_commands(
    path: Path, outcomes: list[Any], status: Status
) -> None:
    made = {"type": "shell_call", "call_id": "c1", "action": {"commands": ["ls"]}, "status": "completed"}
    parts = [{"outcome": each, "stdout": "", "stderr": "no"} for each in outcomes]
    found = hosted(path, made, {"type": "shell_call_output", "call_id": "c1", "output": parts})
    assert (first(found).tool, first(found).status) == ("shell", status)
    assert (found.record.completeness is Completeness.CLOSED) is (status is not Status.UNKNOWN)


def test_the_output_of_a_local_shell_may_name_its_call_by_id(path: Path) -> None:
    made = {"type": "local_shell_call", "id": "l", "call_id": "c1", "action": {"command": ["ls"]}}
    found = hosted(path, made, {"type": "local_shell_call_output", "id": "c1", "output": '{"exit_code": 1}'})
    assert by_status(found) == [("local_shell", "raised", "value")]


@pytest.mark.parametrize(
    ("items", "expected"),
    [
        (
            [
                {
                    "type": "apply_patch_call",
                    "call_id": "c1",
                    "operation": {"type": "update_file", "path": "a"},
                },
                {"type": "apply_patch_call_output", "call_id": "c1", "status": "failed", "output": "no hunk"},
            ],
            ("apply_patch", "raised", "flag"),
        ),
        (
            [
                {"type": "program", "call_id": "c1", "code": "text(1)"},
                {"type": "program_output", "call_id": "c1", "result": "1", "status": "completed"},
            ],
            ("program", "returned", "default"),
        ),
        (
            [
                {"type": "computer_call", "call_id": "c1", "action": {"type": "click", "x": 1}},
                {"type": "computer_call_output", "call_id": "c1", "output": {"type": "computer_screenshot"}},
            ],
            ("computer", "returned", "flag"),
        ),
    ],
)
def test_a_call_with_a_call_id_is_answered_by_an_item_of_its_own(
    path: Path, items: list[Item], expected: tuple[str, str, str]
) -> None:
    found = hosted(path, *items)
    assert by_status(found) == [expected]
    assert found.record.completeness is Completeness.CLOSED


# Approvals.


ASKS = {"type": "mcp_approval_request", "id": "r1", "name": "shorten", "arguments": '{"url": "x"}'}


@pytest.mark.parametrize(
    ("answers", "statuses", "closed"),
    [
        ([], [], False),
        ([{"type": "mcp_approval_response", "approval_request_id": "r1", "approve": True}], [], False),
        (
            [
                {"type": "mcp_approval_response", "approval_request_id": "r1", "approve": True},
                {**MCP, "approval_request_id": "r1", "output": "ok"},
            ],
            [("shorten", "returned", "flag")],
            True,
        ),
        (
            [
                {
                    "type": "mcp_approval_response",
                    "approval_request_id": "r1",
                    "approve": False,
                    "reason": "no",
                }
            ],
            [("shorten", "refused", "flag")],
            True,
        ),
    ],
)
def test_a_request_for_approval_is_no_call_until_it_is_decided(
    path: Path, answers: list[Item], statuses: list[Any], closed: bool
) -> None:
    found = hosted(path, ASKS, *answers)
    assert by_status(found) == statuses
    assert (found.record.completeness is Completeness.CLOSED) is closed


# Words.


def test_a_refusal_is_text_and_the_last_message_is_the_report(path: Path) -> None:
    refusal = {"role": "assistant", "content": [{"type": "refusal", "refusal": "I cannot."}]}
    assert run(path, [USER, FINAL, USER, refusal]).report == "I cannot."


def test_words_before_a_place_that_cannot_be_read_are_no_report(path: Path) -> None:
    found = run(path, [USER, said("Done."), said(5)])
    assert (found.report, found.record.completeness) == ("", Completeness.PARTIAL)


# Damage.


@pytest.mark.parametrize(
    "content", [b"", b"{}", b"[]", b"7", b'{"input": 5}', b"[[]]", b'[{"a": 1}]', b"plain"]
)
def test_a_file_without_items_is_invalid_input(path: Path, content: bytes) -> None:
    found = read_or_refuse(read, path, content)
    assert not any(each.record.completeness is Completeness.CLOSED for each in found)
    with pytest.raises(InvalidInputError):
        runs(read, path, b"[]")


def test_a_broken_line_is_damage_of_the_one_run_or_a_run_of_its_own(path: Path) -> None:
    found = run(path, jsonl(*ITEMS[:2]) + b'{"type": "func\n' + jsonl(*ITEMS[2:]))
    assert (len(found.record), found.report) == (1, "It is 9 C in Graz.")
    assert [damage.line for damage in found.record.damage] == [3]
    pair = {"request": {"input": ITEMS[:-1]}, "response": response(FINAL)}
    several = runs(read, path, jsonl(pair) + b"{\n")
    assert [each.record.completeness for each in several] == [Completeness.CLOSED, Completeness.PARTIAL]


FREE = ("arguments", "annotations", "id", "action", "tools", "usage", "metadata")


@pytest.mark.parametrize(
    "whole",
    [
        ITEMS,
        {"request": {"model": "m", "input": ITEMS[:-1]}, "response": response(FINAL)},
        [USER, {**MCP, "output": "x"}, ASKS, {**SEARCH, "status": "failed", "action": {"query": "q"}}, FINAL],
    ],
)
def test_damage_never_makes_a_failure_a_report_or_a_closed_record(path: Path, whole: Any) -> None:
    check_damage(read, path, whole, free=FREE, texts=("content", "input", "output"))
    text = json.dumps(whole).encode()
    check_cuts(read, path, text)
    check_cuts(read, path, jsonl(*whole) if isinstance(whole, list) else jsonl(whole))


def test_damage_in_real_files_is_read_or_refused(shared: Path, path: Path) -> None:
    for sample in sorted((shared / "transcripts/openai_responses").iterdir()):
        check_damage(read, path, json.loads(sample.read_bytes()), free=FREE, texts=("content",), limit=60)


def test_a_text_that_is_no_text_is_damage(path: Path) -> None:
    for text in (5, None, ["x"], {"x": 1}):
        found = run(path, [USER, call(), output(), said(text)])
        assert found.report == ""
        assert [damage.kind for damage in found.record.damage] == [DamageKind.UNREADABLE]


# Recognition.


@pytest.mark.parametrize(
    ("content", "known"),
    [
        (ITEMS, True),
        ([{"type": "message", "role": "user", "content": [{"type": "input_text", "text": "x"}]}], True),
        ([USER, {"role": "assistant", "content": "x"}], False),
        ({"model": "m", "input": "x"}, False),
        ({"model": "m", "input": "x", "tools": [{"type": "function", "name": "a", "parameters": {}}]}, True),
        (
            {"model": "m", "messages": [USER], "tools": [{"type": "function", "function": {"name": "a"}}]},
            False,
        ),
        ({"type": "response_item", "timestamp": "t", "payload": call()}, False),
        ([{"timestamp": "t", **call()}], False),
        ({"object": "chat.completion", "choices": []}, False),
        ({"id": "x", "input": {"a": 1}, "output": "text", "type": "TOOL"}, False),
    ],
)
def test_a_file_is_recognised_by_what_is_this_formats_own(content: Any, known: bool) -> None:
    assert (recognise(json.dumps(content).encode()) >= 0.5) is known


def test_a_file_is_recognised_by_a_head_that_ends_anywhere_after_the_first_call() -> None:
    text = json.dumps(ITEMS, indent=1).encode()
    for end in range(text.index(b'"function_call_output"') + 30, len(text)):
        assert recognise(text[:end]) >= 0.5, text[:end]
