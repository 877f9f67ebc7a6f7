"""AI SDK: the state of each part, chats in their shapes, and chunks put together."""

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
from dispatch_fidelity.transcripts.ai_sdk import NAME, read, recognise

Part = dict[str, Any]


def text(words: Any, **members: Any) -> Part:
    return {"type": "text", "text": words, **members}


def part(
    state: Any = "output-available", call_id: Any = "c1", name: str = "get_weather", **members: Any
) -> Part:
    base: Part = {"type": f"tool-{name}", "toolCallId": call_id, "state": state, "input": {"city": "Graz"}}
    if state == "output-available":
        base["output"] = "9 C"
    return base | members


def dynamic(value: Part) -> Part:
    return {**value, "type": "dynamic-tool", "toolName": value["type"].removeprefix("tool-")}


def agent(*parts: Any, **members: Any) -> Part:
    return {"id": "m2", "role": "assistant", "parts": list(parts), **members}


STEP = {"type": "step-start"}
USER: Part = {"id": "m1", "role": "user", "parts": [text("Weather in Graz?")]}
ANSWER = [STEP, part(), STEP, text("It is 9 C in Graz.", state="done")]
CHAT = [USER, agent(*ANSWER)]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "chat.json"


def run(path: Path, content: Any) -> ImportedRun:
    (found,) = runs(read, path, content)
    return found


# Real files.


def test_the_messages_have_four_calls_one_open_and_the_chunks_two(shared: Path) -> None:
    folder = shared / "transcripts/vercel_ai_sdk"
    assert counts(list(read(folder / "ui_messages.json"))) == {
        "runs": 3,
        "calls": 4,
        "errored": 0,
        "open": 1,
        "final_chars": 252,
    }
    assert counts(list(read(folder / "ui_message_chunks.json"))) == {
        "runs": 1,
        "calls": 2,
        "errored": 0,
        "open": 0,
        "final_chars": 128,
    }


def test_the_chunks_make_the_same_message_as_the_sdk_makes_of_them(shared: Path) -> None:
    folder = shared / "transcripts/vercel_ai_sdk"
    (stream,) = read(folder / "ui_message_chunks.json")
    message = list(read(folder / "ui_messages.json"))[2]
    assert message.record.run_id == "react-agent-tool-calling"
    assert stream.report == message.report
    for one, other in zip(stream.record, message.record, strict=True):
        assert (one.tool, one.args, one.result, one.status) == (
            other.tool,
            other.args,
            other.result,
            other.status,
        )


def test_one_message_is_not_closed_and_a_call_that_waits_is_said(shared: Path) -> None:
    found = list(read(shared / "transcripts/vercel_ai_sdk/ui_messages.json"))
    assert {each.record.completeness for each in found} == {Completeness.PARTIAL}
    assert "a call waits for approval" in found[0].record.notes


def test_of_all_shared_samples_only_those_of_this_format_are_recognised(shared: Path) -> None:
    found = recognised(recognise, shared / "transcripts")
    assert found == ["vercel_ai_sdk/ui_message_chunks.json", "vercel_ai_sdk/ui_messages.json"]


def test_no_log_of_our_own_is_recognised(artifacts: Path) -> None:
    assert recognised(recognise, artifacts) == []


# Shapes of a file.

OLD_CALL = {
    "toolCallId": "c1",
    "toolName": "get_weather",
    "args": {"city": "Graz"},
    "state": "result",
    "result": "9 C",
}
OLD = {"id": "m2", "role": "assistant", "content": "It is 9 C in Graz.", "toolInvocations": [OLD_CALL]}


@pytest.mark.parametrize(
    ("content", "name"),
    [
        (CHAT, "run-0"),
        (jsonl(*CHAT), "run-0"),
        ({"id": "chat-7", "messages": CHAT}, "chat-7"),
        ([{"id": "chat-7", "messages": CHAT}], "chat-7"),
        (jsonl({"id": "chat-7", "messages": CHAT}), "chat-7"),
        ([{**each, "chatId": "chat-7"} for each in CHAT], "chat-7"),
        (jsonl(*({**each, "chatId": "chat-7"} for each in CHAT)), "chat-7"),
        ([USER, agent(STEP, dynamic(part()), STEP, text("It is 9 C in Graz."))], "run-0"),
        (
            [
                USER,
                agent({"type": "tool-invocation", "toolInvocation": OLD_CALL}, text("It is 9 C in Graz.")),
            ],
            "run-0",
        ),
        ([USER, OLD], "run-0"),
    ],
)
def test_each_shape_of_a_file_gives_the_same_closed_run(path: Path, content: Any, name: str) -> None:
    found = run(path, content)
    assert recognise(path.read_bytes()) >= 0.5
    assert (found.record.completeness, found.record.format) == (Completeness.CLOSED, NAME)
    assert (found.report, found.task, found.record.run_id) == ("It is 9 C in Graz.", "Weather in Graz?", name)
    assert [(each.tool, each.args, each.result) for each in found.record] == [
        ("get_weather", {"city": "Graz"}, "9 C")
    ]


def test_rows_of_several_chats_are_runs_of_their_own(path: Path) -> None:
    rows = [{**each, "chatId": chat} for each in CHAT for chat in ("a", "b")]
    for content in (rows, jsonl(*rows)):
        found = runs(read, path, content)
        assert [(each.record.run_id, len(each.record)) for each in found] == [("a", 1), ("b", 1)]
        assert {each.record.completeness for each in found} == {Completeness.CLOSED}


# The states of a call.


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (part(), ("returned", "flag")),
        (part(output={"success": False}), ("raised", "value")),
        (part(output={"content": [{"type": "text", "text": "no"}], "isError": True}), ("raised", "value")),
        (part("output-error", errorText="no city"), ("raised", "flag")),
        (part("output-error", errorText="no JSON", input=None, rawInput="{bad"), ("invalid", "flag")),
        (part("output-denied", approval={"id": "a", "approved": False}), ("refused", "flag")),
        (part("approval-responded", approval={"id": "a", "approved": False}), ("refused", "flag")),
        (part("approval-responded", approval={"id": "a", "approved": True}), ("unfinished", "default")),
        (part("approval-requested", approval={"id": "a"}), ("unfinished", "default")),
        (part("input-available"), ("unfinished", "default")),
        (part("input-streaming"), ("unfinished", "default")),
        (part(preliminary=True), ("unfinished", "flag")),
        (part("output-error"), ("unknown", "default")),
        (part("some-new-state"), ("unknown", "default")),
        (part(5), ("unknown", "default")),
    ],
)
def test_the_state_of_a_part_is_the_end_of_its_call(
    path: Path, value: Part, expected: tuple[str, str]
) -> None:
    for shape in (value, dynamic(value)):
        assert by_status(run(path, [USER, agent(shape)])) == [("get_weather", *expected)]


def test_an_open_call_is_unknown_once_the_agent_spoke_again(path: Path) -> None:
    found = run(path, [USER, agent(part("input-available"), text("Done."))])
    assert (first(found).status, found.record.completeness) == (Status.UNKNOWN, Completeness.PARTIAL)


def test_a_result_without_output_is_known_to_be_none_and_no_more(path: Path) -> None:
    value = part()
    del value["output"]
    found = run(path, [USER, agent(value, text("Done."))])
    assert (first(found).status, first(found).result, found.record.completeness) == (
        Status.RETURNED,
        Unknown("not captured"),
        Completeness.CLOSED,
    )


def test_a_later_message_ends_the_call_that_an_earlier_one_left_open(path: Path) -> None:
    found = run(path, [USER, agent(part("approval-requested")), agent(part(), text("Done."))])
    assert by_status(found) == [("get_weather", "returned", "flag")]
    again = run(path, [USER, agent(part(), text("A.")), USER, agent(part(output="8 C"), text("B."))])
    assert [each.result for each in again.record] == ["9 C", "8 C"]
    assert again.record.completeness is Completeness.CLOSED


def test_an_open_id_that_names_another_tool_is_damage(path: Path) -> None:
    found = run(path, [USER, agent(part("input-available"), part(name="other"), text("Done."))])
    assert [damage.kind for damage in found.record.damage] == [DamageKind.LIFECYCLE]


@pytest.mark.parametrize(
    "content",
    [
        CHAT[1:],
        [USER, agent(STEP, part())],
        [USER, agent(part("input-available"), text("Done."))],
        [USER, agent(part(), text("It is", state="streaming"))],
        [USER, agent(part(), {"type": "some-new-part"}, text("Done."))],
    ],
)
def test_what_is_cut_or_open_is_not_closed(path: Path, content: Any) -> None:
    found = run(path, content)
    assert found.record.completeness is Completeness.PARTIAL
    assert found.record.intact


def test_the_report_is_the_last_text_that_no_call_interrupts(path: Path) -> None:
    found = run(path, [USER, agent(text("Looking."), part(), text("It is "), text("9 C."))])
    assert found.report == "It is 9 C."


# Chunks.


def chunk(kind: str, **members: Any) -> Part:
    return {"type": kind, **members}


def tool_chunk(kind: str, **members: Any) -> Part:
    return chunk(f"tool-{kind}", toolCallId="c1", **members)


WORDS = [
    chunk("text-start", id="t"),
    chunk("text-delta", id="t", delta="It is "),
    chunk("text-delta", id="t", delta="9 C."),
    chunk("text-end", id="t"),
]
CALLED = [
    tool_chunk("input-start", toolName="get_weather"),
    tool_chunk("input-delta", inputTextDelta='{"city": '),
    tool_chunk("input-delta", inputTextDelta='"Graz"}'),
]
OUTPUT = tool_chunk("output-available", output="9 C")
STREAM = [chunk("start"), chunk("start-step"), *CALLED, OUTPUT, chunk("start-step"), *WORDS, chunk("finish")]


@pytest.mark.parametrize("content", [STREAM, jsonl(*STREAM)])
def test_chunks_are_put_together_and_are_not_closed(path: Path, content: Any) -> None:
    found = run(path, content)
    assert recognise(path.read_bytes()) >= 0.5
    assert [(each.args, each.result, str(each.status)) for each in found.record] == [
        ({"city": "Graz"}, "9 C", "returned")
    ]
    assert (found.report, found.record.completeness, found.record.intact) == (
        "It is 9 C.",
        Completeness.PARTIAL,
        True,
    )


@pytest.mark.parametrize(
    ("ends", "expected"),
    [
        ([tool_chunk("input-available", toolName="get_weather", input={}), OUTPUT], ("returned", "flag")),
        ([OUTPUT | {"preliminary": True}], ("unfinished", "flag")),
        ([OUTPUT | {"preliminary": True}, OUTPUT], ("returned", "flag")),
        ([tool_chunk("output-error", errorText="no")], ("raised", "flag")),
        (
            [
                tool_chunk("input-error", toolName="get_weather", input="{bad", errorText="no JSON"),
                tool_chunk("output-error", errorText="no JSON"),
            ],
            ("invalid", "flag"),
        ),
        ([tool_chunk("approval-request", approvalId="a"), tool_chunk("output-denied")], ("refused", "flag")),
        ([tool_chunk("approval-request", approvalId="a")], ("unknown", "default")),
        ([], ("unknown", "default")),
    ],
)
def test_the_latest_state_of_a_call_stands(path: Path, ends: list[Part], expected: tuple[str, str]) -> None:
    found = run(path, [chunk("start"), *CALLED, *ends, *WORDS, chunk("finish")])
    assert by_status(found) == [("get_weather", *expected)]


def test_a_stream_that_goes_on_with_an_earlier_message_names_what_is_not_there(path: Path) -> None:
    found = run(path, [chunk("start"), OUTPUT, *WORDS, chunk("finish")])
    assert (len(found.record), found.record.intact) == (0, True)
    assert "1 results are of calls that are not in the file" in found.record.notes


@pytest.mark.parametrize(
    "broken",
    [
        chunk("text-delta", id="t", delta=5),
        chunk("text-delta", id="other", delta="x"),
        chunk("text-delta", id=5, delta="x"),
        chunk("some-new-chunk"),
        5,
    ],
)
def test_a_stream_with_a_piece_that_cannot_be_read_has_no_report(path: Path, broken: Any) -> None:
    found = run(path, [*STREAM[:-2], broken, *STREAM[-2:]])
    assert (found.report, len(found.record)) == ("", 1)
    assert [damage.kind for damage in found.record.damage] == [DamageKind.UNREADABLE]


@pytest.mark.parametrize(
    "last", [[], [chunk("abort")], [chunk("error", errorText="x")], [chunk("finish", finishReason="length")]]
)
def test_a_stream_that_is_cut_off_says_so(path: Path, last: list[Part]) -> None:
    found = run(path, [*STREAM[:-1], *last])
    assert any("the stream" in note and "chat" not in note for note in found.record.notes)


# Damage.


@pytest.mark.parametrize("content", [b"", b"{}", b"[]", b"7", b'{"messages": 5}', b"[[]]", b"plain"])
def test_a_file_without_messages_is_invalid_input(path: Path, content: bytes) -> None:
    with pytest.raises(InvalidInputError):
        runs(read, path, content)


@pytest.mark.parametrize(
    "whole",
    [
        CHAT,
        {"id": "chat-7", "messages": [USER, agent(dynamic(part()), text("Done.", state="done"))]},
        [USER, agent({"type": "tool-invocation", "toolInvocation": OLD_CALL}, text("Done."))],
        STREAM,
    ],
)
def test_damage_never_makes_a_failure_a_report_or_a_closed_record(path: Path, whole: Any) -> None:
    check_damage(read, path, whole, free=("input", "output", "args", "result", "id"))
    check_cuts(read, path, json.dumps(whole).encode())
    check_cuts(read, path, jsonl(*whole) if isinstance(whole, list) else jsonl(whole))


def test_damage_in_real_files_is_read_or_refused(shared: Path, path: Path) -> None:
    for sample in sorted((shared / "transcripts/vercel_ai_sdk").iterdir()):
        value = json.loads(sample.read_bytes())
        check_damage(read, path, value, free=("input", "output", "id"), limit=150)


def test_an_output_that_json_does_not_allow_is_unknown(path: Path) -> None:
    content = json.dumps(CHAT).replace('"9 C"', "NaN").encode()
    found = run(path, content)
    assert (first(found).status, first(found).result) == (Status.UNKNOWN, Unknown("unreadable"))


def test_a_broken_line_is_damage_of_the_one_run(path: Path) -> None:
    found = run(path, jsonl(USER) + b'{"role": \n' + jsonl(CHAT[1]))
    assert (len(found.record), found.report) == (1, "It is 9 C in Graz.")
    assert [damage.line for damage in found.record.damage] == [2]
    assert read_or_refuse(read, path, jsonl({"a": 1})) == []


# Recognition.


@pytest.mark.parametrize(
    ("content", "known"),
    [
        (CHAT, True),
        ([USER], True),
        (STREAM, True),
        ([{"role": "user", "parts": [{"text": "x"}]}], False),
        ([{"role": "user", "parts": [{"part_kind": "user-prompt", "type": "text"}]}], False),
        ([{"role": "user", "content": "x"}], False),
        ([{"type": "start"}, {"type": "finish"}], False),
        ([{"type": "text-delta", "text": "x"}], False),
        ({"type": "error", "error": {}}, False),
        ({"info": {"role": "user"}, "parts": [text("x")]}, False),
    ],
)
def test_a_file_is_recognised_by_what_is_this_formats_own(content: Any, known: bool) -> None:
    assert (recognise(json.dumps(content).encode()) >= 0.5) is known


def test_a_file_is_recognised_by_a_head_that_ends_anywhere_after_the_first_call() -> None:
    whole = json.dumps(CHAT, indent=1).encode()
    for end in range(whole.index(b'"output-available"'), len(whole)):
        assert recognise(whole[:end]) >= 0.5, whole[:end]
