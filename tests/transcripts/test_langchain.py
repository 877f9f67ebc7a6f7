"""LangChain messages: three shapes, calls that never ran, tools of a provider, and states of a graph."""

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
from dispatch_fidelity.model.call import Status
from dispatch_fidelity.model.run import Completeness, DamageKind, ImportedRun
from dispatch_fidelity.transcripts.langchain import NAME, read, recognise

Message = dict[str, Any]
SAMPLES = ["langchain_dumpd.json", "langchain_messages_to_dict.json"]
CLASSES = {"human": "HumanMessage", "ai": "AIMessage", "tool": "ToolMessage", "system": "SystemMessage"}


def message(kind: str, content: Any, **members: Any) -> Message:
    return {"type": kind, "data": {"content": content, "type": kind, **members}}


def plain(value: Message) -> Message:
    """The same message as its members alone."""
    return {"additional_kwargs": {}, **value["data"]}


def constructor(value: Message) -> Message:
    """The same message as ``dumpd`` writes it."""
    path = ["langchain", "schema", "messages", CLASSES[value["type"]]]
    return {"lc": 1, "type": "constructor", "id": path, "kwargs": value["data"]}


def ai(content: Any = "", *calls: Message, **members: Any) -> Message:
    return message("ai", content, tool_calls=list(calls), **members)


def call(call_id: Any = "c1", name: str = "get_weather", args: Any = None) -> Message:
    return {
        "name": name,
        "args": {"city": "Graz"} if args is None else args,
        "id": call_id,
        "type": "tool_call",
    }


def tool(call_id: Any = "c1", content: Any = "9 C", **members: Any) -> Message:
    return message("tool", content, tool_call_id=call_id, **({"status": "success"} | members))


USER = message("human", "Weather in Graz?")
FINAL = ai("It is 9 C in Graz.")
CHAT = [USER, ai("Checking.", call()), tool(), FINAL]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "file.json"


def run(path: Path, content: Any) -> ImportedRun:
    (found,) = runs(read, path, content)
    return found


# Real files.


@pytest.mark.parametrize("name", SAMPLES)
def test_a_run_has_two_calls_that_ran_and_two_that_never_did(shared: Path, name: str) -> None:
    (found,) = read(shared / "transcripts/langchain" / name)
    assert counts([found]) == {"runs": 1, "calls": 4, "errored": 3, "open": 0, "final_chars": 44}
    assert by_status(found) == [
        ("get_weather", "returned", "flag"),
        ("get_stock", "raised", "flag"),
        ("no_such_tool", "invalid", "flag"),
        # invalid_tool_calls: what the model wrote is no call that could be made
        ("get_weather", "invalid", "flag"),
    ]
    assert found.record.completeness is Completeness.CLOSED
    assert found.task == "Weather in Graz and price of ACME?"


def test_of_all_shared_samples_only_those_of_this_format_are_recognised(shared: Path) -> None:
    assert recognised(recognise, shared / "transcripts") == [f"langchain/{name}" for name in SAMPLES]


def test_no_log_of_our_own_is_recognised(artifacts: Path) -> None:
    assert recognised(recognise, artifacts) == []


# Shapes of a file.


@pytest.mark.parametrize(
    "content",
    [
        CHAT,
        [plain(each) for each in CHAT],
        [constructor(each) for each in CHAT],
        {"messages": [constructor(each) for each in CHAT]},
        {"values": {"messages": [plain(each) for each in CHAT]}, "next": [], "metadata": {}},
        {
            "lc": 1,
            "type": "constructor",
            "id": ["langchain_core", "ChatPromptValue"],
            "kwargs": {"messages": CHAT},
        },
        [{"messages": CHAT}],
        jsonl(*CHAT),
        jsonl({"messages": CHAT}),
        [{**each, "type": f"{CLASSES[each['type']]}Chunk"} for each in CHAT],
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


@pytest.mark.parametrize(
    "content",
    [
        CHAT[1:],
        CHAT[:3],
        CHAT[:2],
        [message("remove", "", id="m1"), *CHAT],
        [message("human", "Here is a summary of the conversation to date:\n\nIt rained."), *CHAT],
        [message("human", "So far: rain.", additional_kwargs={"lc_source": "summarization"}), *CHAT],
        [*CHAT[:3], ai("It is", response_metadata={"finish_reason": "length"})],
        [*CHAT[:3], ai("It is", response_metadata={"stop_reason": "max_tokens"})],
        {"values": {"messages": CHAT}, "next": ["tools"]},
        {"messages": CHAT, "__interrupt__": [{"value": "ok?"}]},
        [USER, ai("It", id="m1"), ai(" rains.", id="m1")],
        [USER, ai([{"type": "some_new_thing"}, {"type": "text", "text": "Done."}])],
    ],
)
def test_what_is_cut_summarised_or_waits_is_not_closed(path: Path, content: Any) -> None:
    found = run(path, content)
    assert found.record.completeness is Completeness.PARTIAL
    assert found.record.intact


# The end of a call.


@pytest.mark.parametrize(
    ("content", "status", "expected"),
    [
        ("9 C", "success", ("returned", "flag")),
        ("no city", "error", ("raised", "flag")),
        ('{"success": false}', "success", ("raised", "value")),
        ([{"type": "text", "text": "9 C"}], "success", ("returned", "flag")),
        ("9 C", None, ("returned", "default")),
        ("Error: no city", None, ("raised", "text pattern")),
        ("Error: x is not a valid tool, try one of [y].", "error", ("invalid", "flag")),
        ("Error: x is not a valid tool, try one of [y].", None, ("invalid", "text pattern")),
        ("Error invoking tool 'x' with kwargs {} with error:\n no", "error", ("invalid", "flag")),
        ("User rejected the tool call for `x` with id c1", "error", ("refused", "flag")),
        (
            "Tool call x with id c1 was cancelled - another message came in before it could be completed.",
            "success",
            ("cancelled", "text pattern"),
        ),
        (
            "Tool call x with id c1 could not be executed - arguments were malformed or truncated.",
            "success",
            ("invalid", "text pattern"),
        ),
        (5, "success", ("unknown", "default")),
        ([5], "error", ("unknown", "default")),
        ("9 C", "done", ("unknown", "default")),
        ("9 C", ["error"], ("unknown", "default")),
    ],
)
def test_a_call_ends_by_the_status_and_the_fixed_words_of_harnesses(
    path: Path, content: Any, status: Any, expected: tuple[str, str]
) -> None:
    answer = tool(content=content, status=status)
    if status is None:
        del answer["data"]["status"]
    assert by_status(run(path, [*CHAT[:2], answer, FINAL])) == [("get_weather", *expected)]


def test_an_invalid_call_that_was_answered_stays_invalid_and_keeps_the_answer(path: Path) -> None:
    broken = {"name": "a", "args": "{bad", "id": "c9", "error": "no JSON"}
    found = run(path, [USER, ai("", invalid_tool_calls=[broken]), tool("c9", "Try again."), FINAL])
    assert (first(found).status, first(found).result, first(found).message) == (
        Status.INVALID,
        "Try again.",
        "no JSON",
    )
    assert found.record.completeness is Completeness.CLOSED


def test_the_agent_that_made_a_call_is_named_by_its_message(path: Path) -> None:
    found = run(path, [USER, ai("", call(), name="weather_agent"), tool(), FINAL])
    assert first(found).agent == "weather_agent"


def test_ids_that_repeat_name_the_open_call(path: Path) -> None:
    turns = [ai("", call("x", "a")), tool("x", "1"), ai("", call("x", "b")), tool("x", "2")]
    found = run(path, [USER, *turns, FINAL])
    assert [(each.tool, each.result) for each in found.record] == [("a", "1"), ("b", "2")]
    assert found.record.completeness is Completeness.CLOSED


def test_calls_without_an_id_are_damage_and_stay_open(path: Path) -> None:
    found = run(path, [USER, ai("", call(None)), tool(None), FINAL])
    assert first(found).status is Status.UNFINISHED or first(found).status is Status.UNKNOWN
    assert DamageKind.UNREADABLE in [damage.kind for damage in found.record.damage]


# Older messages, and tools of a provider.


def test_calls_of_before_tool_calls_are_read_from_what_the_model_wrote(path: Path) -> None:
    made = {
        "id": "c1",
        "type": "function",
        "function": {"name": "get_weather", "arguments": '{"city": "Graz"}'},
    }
    old = message("ai", "", additional_kwargs={"tool_calls": [made]})
    found = run(path, [USER, old, message("tool", "9 C", tool_call_id="c1"), FINAL])
    assert (first(found).args, first(found).result) == ({"city": "Graz"}, "9 C")
    legacy = message("ai", "", additional_kwargs={"function_call": {"name": "a", "arguments": "{}"}})
    found = run(path, [USER, legacy, message("function", "9 C", name="a"), FINAL])
    assert (first(found).tool, first(found).result, first(found).source_id) == ("a", "9 C", "")
    assert found.record.completeness is Completeness.CLOSED


@pytest.mark.parametrize(
    ("blocks", "expected"),
    [
        (
            [
                {"type": "server_tool_use", "id": "s", "name": "web_search", "input": {"q": "x"}},
                {"type": "web_search_tool_result", "tool_use_id": "s", "content": []},
            ],
            [("web_search", "returned", "flag")],
        ),
        (
            [
                {"type": "server_tool_call", "id": "s", "name": "web_search", "args": {"q": "x"}},
                {"type": "server_tool_result", "tool_call_id": "s", "status": "error", "output": "no"},
            ],
            [("web_search", "raised", "flag")],
        ),
        (
            [
                {
                    "type": "code_interpreter_call",
                    "id": "c",
                    "code": "1",
                    "outputs": [{"type": "logs", "logs": "1"}],
                }
            ],
            [("code_interpreter", "returned", "flag")],
        ),
        ([{"type": "tool_use", "id": "c1", "name": "get_weather", "input": {}}], []),
        ([{"type": "reasoning", "reasoning": "hm"}], []),
    ],
)
def test_what_a_provider_ran_stands_in_the_content(
    path: Path, blocks: list[Any], expected: list[Any]
) -> None:
    found = run(path, [USER, ai([*blocks, {"type": "text", "text": "Done."}])])
    assert by_status(found) == expected
    assert (found.report, found.record.completeness) == ("Done.", Completeness.CLOSED)


def test_outputs_that_older_versions_kept_beside_the_message_are_calls(path: Path) -> None:
    item = {"type": "mcp_call", "id": "m", "name": "echo", "arguments": "{}", "output": "hi", "error": None}
    found = run(path, [USER, message("ai", "Done.", additional_kwargs={"tool_outputs": [item]})])
    assert by_status(found) == [("echo", "returned", "flag")]


# Damage.


@pytest.mark.parametrize("content", [b"", b"{}", b"[]", b"7", b'{"messages": 5}', b"[[]]", b"plain"])
def test_a_file_without_messages_is_invalid_input(path: Path, content: bytes) -> None:
    with pytest.raises(InvalidInputError):
        runs(read, path, content)


def test_words_before_a_place_that_cannot_be_read_are_no_report(path: Path) -> None:
    for last in (ai(5), ai([5]), message("critic", "x"), message("chat", "x", role="critic"), 5, "x"):
        found = run(path, [USER, ai("Done."), last])
        assert (found.report, found.record.completeness) == ("", Completeness.PARTIAL)


@pytest.mark.parametrize("shape", [lambda each: each, constructor, plain])
def test_damage_never_makes_a_failure_a_report_or_a_closed_record(path: Path, shape: Any) -> None:
    broken = {"name": "a", "args": "{bad", "id": "c9", "error": "no JSON"}
    metadata = {"finish_reason": "stop"}
    last = ai([{"type": "text", "text": "It is 9 C."}], response_metadata=metadata)
    whole = [shape(each) for each in (USER, ai("", call(), invalid_tool_calls=[broken]), tool(), last)]
    assert run(path, whole).record.completeness is Completeness.CLOSED
    check_damage(read, path, whole, free=("args", "error"), texts=("content",))
    check_cuts(read, path, json.dumps(whole).encode())
    check_cuts(read, path, jsonl(*whole))


def test_damage_in_real_files_is_read_or_refused(shared: Path, path: Path) -> None:
    for name in SAMPLES:
        value = json.loads((shared / "transcripts/langchain" / name).read_bytes())
        check_damage(read, path, value, free=("args", "error"), texts=("content",), limit=150)


def test_a_first_line_that_cannot_be_read_leaves_the_conversation_one(path: Path) -> None:
    found = run(path, b'{"type": "hum\n' + jsonl(*CHAT[1:]))
    assert (len(found.record), found.record.completeness) == (1, Completeness.PARTIAL)
    found = run(path, jsonl({"type": 5}, *CHAT[1:]))
    assert (len(found.record), found.record.completeness) == (1, Completeness.PARTIAL)
    assert read_or_refuse(read, path, jsonl({"a": 1})) == []


# Recognition.


@pytest.mark.parametrize(
    ("content", "known"),
    [
        (CHAT, True),
        ([{"type": "human", "content": "x"}], False),
        ([{"role": "user", "content": "x"}], False),
        ([{"type": "system", "message": "x", "data": {}}], False),
        ({"run_type": "chain", "id": "x", "outputs": {"messages": CHAT}, "messages": CHAT}, False),
        ({"type": "constructor", "lc": 1, "id": ["langchain", "PromptTemplate"], "kwargs": {}}, False),
    ],
)
def test_a_file_is_recognised_by_what_is_this_formats_own(content: Any, known: bool) -> None:
    assert (recognise(json.dumps(content).encode()) >= 0.5) is known


def test_a_file_is_recognised_by_a_head_that_ends_anywhere_after_the_first_message() -> None:
    text = json.dumps(CHAT, indent=1).encode()
    for end in range(text.index(b"Checking"), len(text)):
        assert recognise(text[:end]) >= 0.5, text[:end]


def test_invalid_calls_that_are_null_are_damage(path: Path) -> None:
    broken = ai("", call(), invalid_tool_calls=None)
    assert run(path, [USER, broken, tool(), FINAL]).record.completeness is Completeness.PARTIAL
