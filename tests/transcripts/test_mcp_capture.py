"""Captures of the Model Context Protocol: which calls were made to a server, and how they ended."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest
from damaged_lines import counts, heads, lines_of, never_worse, runs, torn, written

from dispatch_fidelity.errors import InvalidInputError
from dispatch_fidelity.model.call import Learned, Status, Unknown
from dispatch_fidelity.model.execution import Execution
from dispatch_fidelity.model.run import Completeness, DamageKind, ImportedRun
from dispatch_fidelity.transcripts.mcp_capture import NOTE, read, recognise

Message = dict[str, Any]


def request(number: Any, method: str = "tools/call", **params: Any) -> Message:
    given = params or {"name": "get_weather", "arguments": {"city": "Graz"}}
    return {"jsonrpc": "2.0", "id": number, "method": method, "params": given}


def response(number: Any, text: str = "9 C", **more: Any) -> Message:
    return {"jsonrpc": "2.0", "id": number, "result": {"content": [{"type": "text", "text": text}], **more}}


def sent(message: Any) -> Message:
    return {"ts": 1796053070.5, "dir": "client->server", "message": message}


def received(message: Any) -> Message:
    return {"ts": 1796053071.5, "dir": "server->client", "message": message}


BEGIN = request(0, "initialize", protocolVersion="2025-06-18", capabilities={}, clientInfo={"name": "t"})
CAPTURE = [sent(BEGIN), received(response(0)), sent(request(1)), received(response(1, isError=False))]


def run(*values: Any) -> ImportedRun:
    (found,) = runs(read, written(list(values)))
    return found


def only(*values: Any) -> Execution:
    (found,) = run(sent(BEGIN), received(response(0)), *values).record
    return found


@pytest.mark.parametrize(
    ("name", "calls", "failed"), [("stdio_capture.jsonl", 3, 2), ("recorder_cassette.json", 4, 0)]
)
def test_a_sample_has_these_calls_and_failures_and_no_report(
    name: str, calls: int, failed: int, shared: Path
) -> None:
    found = counts(read, shared / "transcripts/mcp" / name)
    assert found == {"runs": 1, "calls": calls, "errored": failed, "open": 0, "final_chars": 0}


def test_a_capture_lists_the_tools_and_is_never_more_than_partial(shared: Path) -> None:
    (found,) = read(shared / "transcripts/mcp/recorder_cassette.json")
    assert found.record.tools == ("add", "multiply", "echo", "get_weather")
    assert found.record.completeness is Completeness.PARTIAL
    assert found.record.notes == (NOTE,)
    assert [execution.result for execution in found.record][:3] == ["5", "7.0", "hello mcp-recorder"]


def test_the_samples_are_recognised_and_none_of_another_format(shared: Path) -> None:
    assert all(recognise(path.read_bytes()) >= 0.85 for path in (shared / "transcripts/mcp").iterdir())
    assert [path.name for path, head in heads("mcp") if recognise(head) >= 0.5] == []
    other = {
        "jsonrpc": "2.0",
        "id": 0,
        "method": "initialize",
        "params": {"processId": 1, "rootUri": "file:///"},
    }
    assert recognise(written([other])) == 0


def test_what_is_no_capture_is_invalid_input(tmp_path: Path) -> None:
    for content in (b'{"a": 1}\n{"b": 2}\n', b"[1]", b'{"interactions": []}', b""):
        (tmp_path / "file").write_bytes(content)
        with pytest.raises(InvalidInputError):
            list(read(tmp_path / "file"))


@pytest.mark.parametrize(
    "wrap",
    [
        lambda side, message: message,
        lambda side, message: {"direction": f"{side}_to_x", "timestamp": "t", "msg": message},
        lambda side, message: {"dir": side, "t": 1, "frame": message},
        lambda side, message: {"dir": side, "raw": json.dumps(message)},
        lambda side, message: {"seq": 0, "dir": side, "env": {"message": message}},
        lambda side, message: [message],
    ],
)
def test_recorders_wrap_messages_differently(wrap: Any) -> None:
    values = [wrap("client", request(1)), wrap("server", response(1))]
    (execution,) = run(*values).record
    assert (execution.tool, execution.args, execution.result) == ("get_weather", {"city": "Graz"}, "9 C")
    assert isinstance(values[0], list) or recognise(written(values)) >= 0.85


def test_times_are_as_the_source_writes_them() -> None:
    found = only(*CAPTURE[2:])
    assert (found.at, found.until) == ("1796053070.5", "1796053071.5")


def error(code: Any, message: Any = "no") -> Message:
    return {"jsonrpc": "2.0", "id": 1, "error": {"code": code, "message": message}}


@pytest.mark.parametrize(
    ("answer", "status", "learned", "result"),
    [
        (response(1), Status.RETURNED, Learned.DEFAULT, "9 C"),
        (response(1, isError=False), Status.RETURNED, Learned.FLAG, "9 C"),
        (response(1, "Error executing tool", isError=True), Status.RAISED, Learned.FLAG, "Error executing tool"),
        (response(1, "Unknown tool: nope", isError=True), Status.INVALID, Learned.FLAG, "Unknown tool: nope"),
        (error(-32000), Status.RAISED, Learned.FLAG, "no"),
        (error(-32601), Status.INVALID, Learned.FLAG, "no"),
        (error(-32602), Status.INVALID, Learned.FLAG, "no"),
        (error(-32800), Status.CANCELLED, Learned.FLAG, "no"),
        ({"jsonrpc": "2.0", "id": 1, "result": {"structuredContent": {"n": 1}}}, Status.RETURNED, Learned.DEFAULT,
         {"n": 1}),
        ({"jsonrpc": "2.0", "id": 1, "result": {"task": {"taskId": "t", "status": "working"}}}, Status.BACKGROUND,
         Learned.FLAG, None),
    ],
)  # fmt: skip
def test_a_response_tells_how_a_call_ended(
    answer: Message, status: Status, learned: Learned, result: Any
) -> None:
    found = only(sent(request(1)), received(answer))
    assert (found.status, found.learned) == (status, learned)
    assert result is None or found.result == result


@pytest.mark.parametrize(
    "answer",
    [
        {"jsonrpc": "2.0", "id": 1, "result": 5},
        {"jsonrpc": "2.0", "id": 1},
        {"jsonrpc": "2.0", "id": 1, "result": {}},
        {"jsonrpc": "2.0", "id": 1, "error": "no"},
        error("no"),
        error(1, 5),
        response(1, isError="yes"),
    ],
)
def test_a_response_of_another_shape_is_damage_and_no_failure(answer: Message) -> None:
    found = run(sent(BEGIN), received(response(0)), sent(request(1)), received(answer))
    (execution,) = found.record
    assert (execution.status, execution.result) == (Status.UNKNOWN, Unknown("unreadable"))
    assert found.record.damage


def test_a_cancelled_call_is_cancelled_whatever_comes_after() -> None:
    gone = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}}
    assert only(sent(request(1)), sent(gone)).status is Status.CANCELLED
    assert only(sent(request(1)), sent(gone), received(response(1))).status is Status.CANCELLED


def test_a_task_is_ended_by_its_result() -> None:
    begun = {"jsonrpc": "2.0", "id": 1, "result": {"task": {"taskId": "t"}}}
    asked = sent(request(2, "tasks/result", taskId="t"))
    assert only(sent(request(1)), received(begun), asked, received(response(2))).result == "9 C"


def test_both_sides_count_their_ids_from_zero() -> None:
    ask = {"jsonrpc": "2.0", "id": 1, "method": "sampling/createMessage", "params": {}}
    answered = {
        "jsonrpc": "2.0",
        "id": 1,
        "result": {"role": "assistant", "content": {"type": "text", "text": "hm"}},
    }
    found = only(sent(request(1)), received(ask), sent(answered), received(response(1)))
    assert (found.status, found.result) == (Status.RETURNED, "9 C")


def test_without_directions_it_is_unknown_which_of_two_requests_a_response_is_to() -> None:
    ask = {"jsonrpc": "2.0", "id": 1, "method": "sampling/createMessage", "params": {}}
    (found,) = run(request(1), ask, response(1)).record
    assert (found.status, found.result) == (Status.UNKNOWN, Unknown("ambiguous"))


def test_ids_begin_anew_with_a_connection() -> None:
    found = run(
        sent(BEGIN),
        sent(request(1)),
        sent(BEGIN),
        received(response(0)),
        sent(request(1)),
        received(response(1)),
    )
    assert [execution.status for execution in found.record] == [Status.UNFINISHED, Status.RETURNED]


def test_connections_of_one_file_are_told_apart() -> None:
    one, two = {"server": "a"}, {"server": "b"}
    found = run(
        {**sent(request(1)), **one},
        {**sent(request(1)), **two},
        {**received(response(1, "of b")), **two},
        {**received(response(1, "of a")), **one},
    )
    assert [execution.result for execution in found.record] == ["of a", "of b"]


def test_a_call_without_a_response_is_open() -> None:
    assert only(sent(request(1))).status is Status.UNFINISHED
    cassette = {"interactions": [{"request": request(1), "response": None}]}
    (found,) = runs(read, json.dumps(cassette).encode())
    assert [execution.status for execution in found.record] == [Status.UNFINISHED]


# Damage.


@pytest.mark.parametrize("name", ["stdio_capture.jsonl", "recorder_cassette.json"])
def test_a_wrong_type_anywhere_makes_no_call_fail(name: str, shared: Path) -> None:
    values = lines_of((shared / "transcripts/mcp" / name).read_bytes())
    assert never_worse(read, values, every=2) == []
    assert torn(read, values, 30) == []


def test_a_call_without_an_id_is_damage_and_is_counted() -> None:
    lost = {"jsonrpc": "2.0", "method": "tools/call", "params": {"name": "a", "arguments": {}}}
    found = run(*CAPTURE, sent(lost))
    assert (len(found.record), len(found.record.damage)) == (2, 1)


def test_a_response_to_nothing_is_damage() -> None:
    found = run(*CAPTURE, received(response(9)))
    assert [damage.kind for damage in found.record.damage] == [DamageKind.LIFECYCLE]


def test_a_broken_line_is_damage_and_the_rest_is_read() -> None:
    (found,) = runs(read, written(CAPTURE[:2]) + b'{"ts": 1, "di\n' + written(CAPTURE[2:]))
    assert (len(found.record), [damage.line for damage in found.record.damage]) == (1, [3])


def test_twenty_thousand_calls_of_one_id_are_read_in_a_few_seconds() -> None:
    many = [sent(request(1)) for _ in range(20_000)] + [received(response(1)) for _ in range(20_000)]
    start = time.monotonic()
    assert len(run(*many).record) == 20_000
    assert time.monotonic() - start < 20


@pytest.mark.parametrize(
    "more", [{"isError": None}, {"isError": 7}, {"content": 7, "structuredContent": {"a": 1}}]
)
def test_a_result_of_another_shape_is_unknown(more: dict[str, Any]) -> None:
    found = only(sent(request(1)), received(response(1, **more)))
    assert (found.status, found.result) == (Status.UNKNOWN, Unknown("unreadable"))


def test_a_result_without_the_flag_that_others_carry_is_open() -> None:
    found = run(*CAPTURE, sent(request(2)), received(response(2)))
    assert [each.status for each in found.record] == [Status.RETURNED, Status.UNKNOWN]
