"""Messages of the Anthropic interface: client, server and MCP tools, growing requests, and what one response lacks."""

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

from dispatch_fidelity.audit import read_blob
from dispatch_fidelity.errors import InvalidInputError
from dispatch_fidelity.model.call import Blob, Status, Unknown
from dispatch_fidelity.model.run import Completeness, DamageKind, ImportedRun
from dispatch_fidelity.transcripts.anthropic_messages import NAME, read, recognise

Block = dict[str, Any]
SAMPLES = {
    "anthropic-code-execution-20250825.2.json": (3, 0, 0, 1049),
    "anthropic-mcp.1.json": (1, 0, 0, 127),
    "anthropic-memory-20250818.1.json": (1, 0, 1, 0),
    "anthropic-programmatic-tool-calling.1.json": (5, 0, 4, 707),
    "anthropic-tool-no-args.json": (1, 0, 1, 255),
    "anthropic-web-fetch-tool.error.json": (1, 1, 0, 496),
    # With citations one answer is many blocks: all text after the last result is the report.
    "anthropic-web-search-tool.1.json": (2, 0, 0, 1800),
}


def use(call_id: Any = "t1", name: str = "get_weather", **given: Any) -> Block:
    return {"type": "tool_use", "id": call_id, "name": name, "input": given or {"city": "Graz"}}


def result(call_id: Any = "t1", content: Any = "9 C", **members: Any) -> Block:
    return {"type": "tool_result", "tool_use_id": call_id, "content": content, **members}


def server(kind: str, content: Any, **members: Any) -> list[Block]:
    """A call that the provider runs, and its result in the same message."""
    name = kind.removesuffix("_tool_result")
    made = {"type": "server_tool_use", "id": "s1", "name": name, "input": {"q": "x"}}
    return [made, {"type": kind, "tool_use_id": "s1", "content": content, **members}]


def text(words: Any) -> Block:
    return {"type": "text", "text": words}


def user(*content: Block) -> Block:
    return {"role": "user", "content": list(content)}


def agent(*content: Any) -> Block:
    return {"role": "assistant", "content": list(content)}


def response(*content: Block, stop: str = "end_turn") -> Block:
    return {
        **agent(*content),
        "id": "msg_1",
        "type": "message",
        "model": "m",
        "stop_reason": stop,
        "usage": {},
    }


USER: Block = {"role": "user", "content": "Weather in Graz?"}
FINAL = agent(text("It is 9 C in Graz."))
CHAT = [USER, agent(text("Let me look."), use()), user(result()), FINAL]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "file.json"


def run(path: Path, content: Any) -> ImportedRun:
    (found,) = runs(read, path, content)
    return found


# Real files.


@pytest.mark.parametrize("name", SAMPLES)
def test_each_sample_has_its_calls_failures_open_calls_and_final_text(shared: Path, name: str) -> None:
    calls, errored, opened, final = SAMPLES[name]
    expected = {"runs": 1, "calls": calls, "errored": errored, "open": opened, "final_chars": final}
    assert counts(list(read(shared / "transcripts/anthropic_messages" / name))) == expected


def test_of_all_shared_samples_only_those_of_this_format_are_recognised(shared: Path) -> None:
    found = recognised(recognise, shared / "transcripts")
    assert found == [f"anthropic_messages/{name}" for name in sorted(SAMPLES)]


def test_no_log_of_our_own_is_recognised(artifacts: Path) -> None:
    assert recognised(recognise, artifacts) == []


def test_the_report_of_an_answer_with_citations_is_whole(shared: Path) -> None:
    (found,) = read(shared / "transcripts/anthropic_messages/anthropic-web-search-tool.1.json")
    assert found.report.startswith("Based on the search results, here are the key tech news")
    assert "sentenced to two years in prison" in found.report
    assert [call.cut for call in found.record] == [True, False]


# Shapes of a file.


@pytest.mark.parametrize(
    "content",
    [
        CHAT,
        jsonl(*CHAT),
        {
            "model": "m",
            "max_tokens": 9,
            "tools": [{"name": "get_weather", "input_schema": {}}],
            "messages": CHAT,
        },
        {"request": {"model": "m", "messages": CHAT[:-1]}, "response": response(*FINAL["content"])},
        {
            "params": {"messages": CHAT[:-1]},
            "result": {"type": "succeeded", "message": response(*FINAL["content"])},
        },
        {
            "custom_id": "a/1",
            "request": {"body": {"messages": CHAT[:-1]}},
            "response": response(*FINAL["content"]),
        },
        jsonl(
            {"request": {"messages": CHAT[:1]}, "response": response(*CHAT[1]["content"], stop="tool_use")},
            {"request": {"messages": CHAT[:3]}, "response": response(*FINAL["content"])},
        ),
        [{"messages": CHAT[:1]}, {"messages": CHAT[:3]}, {"messages": CHAT}],
        jsonl(CHAT[0], response(*CHAT[1]["content"], stop="tool_use"), CHAT[2], response(*FINAL["content"])),
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


def test_a_log_of_requests_is_one_run_for_each_conversation_in_it(path: Path) -> None:
    other = [{"role": "user", "content": "Else?"}, agent(use("t9", "other"))]
    lines = [{"messages": CHAT[:1]}, {"messages": other[:1]}, {"messages": CHAT[:3]}, {"messages": other}]
    found = runs(read, path, jsonl(*lines))
    assert [[call.tool for call in each.record] for each in found] == [["get_weather"], ["other"]]
    assert "1 shorter forms of this conversation are in the file" in found[0].record.notes


def test_conversations_that_are_equal_or_share_a_greeting_are_runs_of_their_own(path: Path) -> None:
    assert len(runs(read, path, [CHAT, CHAT])) == 2
    assert len(runs(read, path, [[USER, agent(text("Hello."))], [USER, agent(text("Hello.")), *CHAT]])) == 2


def test_responses_one_a_line_are_runs_and_none_is_closed(path: Path) -> None:
    found = runs(read, path, jsonl(response(use(), stop="tool_use"), response(text("Done."))))
    assert [each.record.completeness for each in found] == [Completeness.PARTIAL] * 2


@pytest.mark.parametrize(
    "content",
    [
        CHAT[1:],
        CHAT[:3],
        CHAT[:2],
        {"messages": CHAT[:3]},
        {"request": {"messages": [*CHAT, USER]}, "response": None},
        {"request": {"messages": [*CHAT, USER]}, "response": {"type": "error"}},
        {"request": {"messages": CHAT[:3]}, "response": response(text("It is"), stop="max_tokens")},
        {"request": {"messages": CHAT[:3]}, "response": response(text("It is"), stop="pause_turn")},
        [USER, agent({"type": "compaction", "content": "x"}, text("Done."))],
        [USER, agent({"type": "some_new_thing"}, text("Done."))],
    ],
)
def test_what_is_cut_or_stands_elsewhere_in_part_is_not_closed(path: Path, content: Any) -> None:
    assert run(path, content).record.completeness is Completeness.PARTIAL


# Tools of the client.


@pytest.mark.parametrize(
    ("block", "expected"),
    [
        (result(), ("returned", "default")),
        (result(is_error=False), ("returned", "flag")),
        (result(is_error=True), ("raised", "flag")),
        (result(content="Error: no such city"), ("raised", "text pattern")),
        (result(content="Error: no such city", is_error=False), ("returned", "flag")),
        (result(content='{"success": false}', is_error=False), ("raised", "value")),
        (result(content=[text("9 C")]), ("returned", "default")),
        (result(content=[]), ("returned", "default")),
        ({"type": "tool_result", "tool_use_id": "t1"}, ("returned", "default")),
        (result(content=5), ("unknown", "default")),
        (result(content=[5]), ("unknown", "default")),
        (result(content=[text(5)], is_error=True), ("unknown", "default")),
        (result(is_error="yes"), ("unknown", "default")),
    ],
)
def test_the_end_of_a_call_is_its_flag_and_its_text_only_without_one(
    path: Path, block: Block, expected: tuple[str, str]
) -> None:
    assert by_status(run(path, [*CHAT[:2], user(block), FINAL])) == [("get_weather", *expected)]


def test_parallel_calls_are_answered_in_any_order_and_share_a_step(path: Path) -> None:
    made = agent(use("a", "one"), use("b", "two"))
    found = run(path, [USER, made, user(result("b", "B"), result("a", "A"), text("Go on.")), FINAL])
    assert [(call.tool, call.result) for call in found.record] == [("one", "A"), ("two", "B")]
    assert len({call.step for call in found.record}) == 1
    assert (found.task, found.record.completeness) == ("Go on.", Completeness.CLOSED)


def test_ids_that_repeat_name_the_open_call_and_twice_at_once_is_damage(path: Path) -> None:
    turns = [agent(use("x", "a")), user(result("x", "1")), agent(use("x", "b")), user(result("x", "2"))]
    found = run(path, [USER, *turns, FINAL])
    assert [(call.tool, call.result) for call in found.record] == [("a", "1"), ("b", "2")]
    assert found.record.completeness is Completeness.CLOSED
    both = run(
        path, [USER, agent(use("x", "a"), use("x", "b")), user(result("x", "1"), result("x", "2")), FINAL]
    )
    assert [(call.tool, call.result) for call in both.record] == [("a", "1"), ("b", "2")]
    assert [damage.kind for damage in both.record.damage] == [DamageKind.LIFECYCLE]


def test_a_result_of_no_call_is_damage_unless_the_conversation_begins_in_its_middle(path: Path) -> None:
    whole = run(path, [*CHAT[:3], user(result("other")), FINAL])
    assert [damage.kind for damage in whole.record.damage] == [DamageKind.LIFECYCLE]
    rest = run(path, [agent(text("Well.")), *CHAT[2:]])
    assert rest.record.intact
    assert "1 results are of calls that are not in the file" in rest.record.notes


def test_a_call_from_inside_executed_code_is_a_call(path: Path) -> None:
    inner = {**use("t1", "roll"), "caller": {"type": "code_execution_20250825", "tool_id": "s1"}}
    code = server(
        "code_execution_tool_result", {"type": "code_execution_result", "return_code": 0, "stdout": "6"}
    )
    found = run(path, [USER, agent(code[0], inner), user(result("t1", "6")), agent(code[1], text("A six."))])
    assert by_status(found) == [("code_execution", "returned", "exit code"), ("roll", "returned", "default")]
    assert found.record.completeness is Completeness.CLOSED


# Tools of the provider.


@pytest.mark.parametrize(
    ("kind", "content", "members", "expected"),
    [
        ("web_search_tool_result", [], {}, ("returned", "flag", "")),
        (
            "web_fetch_tool_result",
            {"type": "web_fetch_tool_result_error", "error_code": "unavailable"},
            {},
            ("raised", "flag", "unavailable"),
        ),
        (
            "bash_code_execution_tool_result",
            {"type": "bash_code_execution_result", "return_code": 1, "stdout": "", "stderr": "no"},
            {},
            ("raised", "exit code", "exit code 1"),
        ),
        (
            "bash_code_execution_tool_result",
            {"type": "bash_code_execution_result", "return_code": "1", "stdout": ""},
            {},
            ("unknown", "default", ""),
        ),
        ("mcp_tool_result", [text("9 C")], {"is_error": True}, ("raised", "flag", "")),
        ("mcp_tool_result", "9 C", {"is_error": False}, ("returned", "flag", "")),
        ("web_search_tool_result", "9 C", {}, ("unknown", "default", "")),
        ("mcp_tool_result", [text(5)], {"is_error": True}, ("unknown", "default", "")),
        ("mcp_tool_result", [text("9 C")], {"is_error": 1}, ("unknown", "default", "")),
        ("web_fetch_tool_result", {"url": "x"}, {}, ("unknown", "default", "")),
    ],
)
def test_a_server_tool_tells_its_failure_in_its_content(
    path: Path, kind: str, content: Any, members: Block, expected: tuple[str, str, str]
) -> None:
    found = run(path, [USER, agent(*server(kind, content, **members), text("Done."))])
    call = first(found)
    assert (str(call.status), str(call.learned), call.error) == expected
    assert (found.record.completeness is Completeness.CLOSED) is (call.status is not Status.UNKNOWN)


def test_the_result_of_a_server_tool_may_come_in_a_later_response(path: Path) -> None:
    made, ended = server("web_search_tool_result", [])
    found = run(path, [USER, agent(made, use()), user(result()), agent(ended, text("Done."))])
    assert [str(call.status) for call in found.record] == ["returned", "returned"]


def test_encrypted_output_is_opaque_and_its_return_code_counts(path: Path) -> None:
    content = {"type": "encrypted_code_execution_result", "return_code": 0, "encrypted_stdout": "x"}
    call = first(run(path, [USER, agent(*server("code_execution_tool_result", content), text("Done."))]))
    assert (call.status, call.result) == (Status.RETURNED, Unknown("opaque"))


# Words and damage.


def test_long_results_of_jsonl_can_be_left_in_the_file(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dispatch_fidelity.transcripts.building.HELD", 0)
    long = "9 C " * 1000
    found = first(run(path, jsonl(*CHAT[:2], user(result(content=[text(long)])), FINAL)))
    assert isinstance(found.result, Blob)
    assert read_blob(found.result) == long


def test_the_report_is_the_text_after_the_last_call_joined_without_a_break(path: Path) -> None:
    found = run(
        path, [USER, agent(text("Looking."), *server("web_search_tool_result", []), text("A"), text("B"))]
    )
    assert found.report == "AB"


def test_words_before_a_place_that_cannot_be_read_are_no_report(path: Path) -> None:
    for last in (
        agent(text(5)),
        agent(text(None)),
        agent(5),
        {"role": "assistant", "content": 5},
        {"role": "x"},
        5,
    ):
        found = run(path, [USER, agent(text("Done.")), last])
        assert (found.report, found.record.completeness) == ("", Completeness.PARTIAL)


@pytest.mark.parametrize("content", [b"", b"{}", b"[]", b"7", b'{"messages": 5}', b"[[]]", b"plain"])
def test_a_file_without_messages_is_invalid_input_or_damaged(path: Path, content: bytes) -> None:
    assert all(each.record.damage for each in read_or_refuse(read, path, content))


def test_an_empty_list_is_invalid_input(path: Path) -> None:
    with pytest.raises(InvalidInputError) as refused:
        runs(read, path, b"[]")
    assert refused.value.exit_code == 65


def test_a_broken_line_is_damage_of_the_one_run(path: Path) -> None:
    found = run(path, jsonl(*CHAT[:3]) + b'{"role": "assi\n' + jsonl(FINAL))
    assert (len(found.record), found.report) == (1, "It is 9 C in Graz.")
    assert [damage.line for damage in found.record.damage] == [4]


FREE = ("input", "citations", "id", "usage", "tools")


@pytest.mark.parametrize(
    "whole",
    [
        CHAT,
        {"request": {"model": "m", "messages": CHAT[:-1]}, "response": response(text("It is 9 C."))},
        [
            user(text("Weather?")),
            agent(
                *server("web_fetch_tool_result", {"type": "web_fetch_tool_result_error", "error_code": "x"}),
                text("I could not."),
            ),
        ],
        [USER, agent(*server("mcp_tool_result", [text("9 C")], is_error=False), text("9 C"))],
    ],
)
def test_damage_never_makes_a_failure_a_report_or_a_closed_record(path: Path, whole: Any) -> None:
    before = run(path, whole)
    assert before.record.completeness is Completeness.CLOSED
    check_damage(read, path, whole, free=FREE, texts=("content",))
    check_cuts(read, path, json.dumps(whole).encode())
    check_cuts(read, path, jsonl(*whole) if isinstance(whole, list) else jsonl(whole))


def test_damage_in_real_files_is_read_or_refused(shared: Path, path: Path) -> None:
    for sample in sorted((shared / "transcripts/anthropic_messages").iterdir()):
        value = json.loads(sample.read_bytes())
        check_damage(read, path, value, free=FREE, texts=("content",), limit=60)


# Recognition.


@pytest.mark.parametrize(
    ("content", "known"),
    [
        (CHAT, True),
        (response(text("x")), True),
        ([USER, FINAL], False),
        ({"model": "m", "messages": [USER]}, False),
        ({"model": "m", "max_tokens": 9, "system": "Help.", "messages": [USER]}, True),
        ({"model": "m", "max_tokens": 9, "tools": [{"name": "a", "input_schema": {}}]}, True),
        ({"type": "assistant", "message": response(use()), "sessionId": "s", "uuid": "u"}, False),
        ([{**each, "uuid": "u"} for each in CHAT], False),
        ({"type": "message_start", "message": response()}, False),
        ([{"role": "user", "parts": []}], False),
        ([{"type": "human", "data": {"content": "x"}}], False),
    ],
)
def test_a_file_is_recognised_by_what_is_this_formats_own(content: Any, known: bool) -> None:
    assert (recognise(json.dumps(content).encode()) >= 0.5) is known


def test_a_file_is_recognised_by_a_head_that_ends_anywhere_after_the_first_call() -> None:
    whole = json.dumps(CHAT, indent=1).encode()
    for end in range(whole.index(b'"tool_result"') + 20, len(whole)):
        assert recognise(whole[:end]) >= 0.5, whole[:end]
