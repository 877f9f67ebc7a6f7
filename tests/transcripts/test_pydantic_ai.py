"""pydantic-ai messages: outcomes, retry prompts, output tools, and when a conversation is closed."""

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
from dispatch_fidelity.transcripts.pydantic_ai import read, recognise

CLOSED, PARTIAL = Completeness.CLOSED, Completeness.PARTIAL
Runs = Callable[[Any], list[ImportedRun]]


def part(kind: str, **more: Any) -> dict[str, Any]:
    return {"part_kind": kind, **more}


def call(source_id: Any = "c1", tool: str = "get_weather", args: Any = None) -> dict[str, Any]:
    return part("tool-call", tool_name=tool, tool_call_id=source_id, args=args or {"city": "Graz"})


def back(
    source_id: Any = "c1", content: Any = "9 C", tool: str = "get_weather", **more: Any
) -> dict[str, Any]:
    return part("tool-return", tool_name=tool, tool_call_id=source_id, content=content, **more)


def retry(content: Any, source_id: str = "c1", tool: Any = "get_weather") -> dict[str, Any]:
    return part("retry-prompt", tool_name=tool, tool_call_id=source_id, content=content)


def request(*parts: Any) -> dict[str, Any]:
    return {"kind": "request", "parts": list(parts), "timestamp": "2026-01-01T00:00:01Z"}


def response(*parts: Any, **more: Any) -> dict[str, Any]:
    return {"kind": "response", "parts": list(parts), "timestamp": "2026-01-01T00:00:00Z", **more}


ASK = request(part("system-prompt", content="Be brief."), part("user-prompt", content="Weather in Graz?"))
FINAL = response(part("thinking", content="Hm."), part("text", content="It is 9 C."))


@pytest.fixture
def runs(tmp_path: Path) -> Runs:
    return lambda content: list(read(written(tmp_path / "messages.json", content)))


@pytest.fixture
def ended(runs: Runs) -> Callable[[Any], tuple[Any, ...]]:
    """How a call ends with this part."""

    def end(result: Any) -> tuple[Any, ...]:
        (found,) = runs([ASK, response(call()), request(result), FINAL])
        (execution,) = found.record
        return execution.status, execution.learned

    return end


def test_every_sample_has_its_counts_and_is_closed(shared: Path) -> None:
    found = list(read(shared / "transcripts/pydantic_ai/pydantic_ai_all_messages.json"))
    assert tuple(counts(found).values()) == (1, 2, 1, 0, 39)
    assert [each.record.completeness for each in found] == [CLOSED]


def test_only_samples_of_this_format_are_recognised(shared: Path) -> None:
    for path in (shared / "transcripts/pydantic_ai").iterdir():
        assert recognise(path.read_bytes()) >= 0.9, path.name
    assert [name for name, head in foreign_samples(shared, "pydantic_ai/") if recognise(head) >= 0.5] == []


def test_a_call_and_its_result_are_joined_by_id(runs: Runs) -> None:
    calls = response(call("a"), call("b", args='{"city": "Wien"}'))
    (found,) = runs([ASK, calls, request(back("b", "8 C"), back("a")), FINAL])
    assert [(e.args, e.result, e.step, e.at, e.until) for e in found.record] == [
        ({"city": "Graz"}, "9 C", 1, "2026-01-01T00:00:00Z", "2026-01-01T00:00:01Z"),
        ({"city": "Wien"}, "8 C", 1, "2026-01-01T00:00:00Z", "2026-01-01T00:00:01Z"),
    ]
    assert (found.report, found.task, found.record.completeness) == ("It is 9 C.", "Weather in Graz?", CLOSED)


@pytest.mark.parametrize(
    ("result", "expected"),
    [
        (back(), (Status.RETURNED, Learned.DEFAULT)),
        (back(outcome="success"), (Status.RETURNED, Learned.FLAG)),
        (back(outcome="failed"), (Status.RAISED, Learned.FLAG)),
        (back(outcome="denied"), (Status.REFUSED, Learned.FLAG)),
        (back(outcome="interrupted"), (Status.CANCELLED, Learned.FLAG)),
        (back(outcome="retried", retry={"cause": "model_retry"}), (Status.RAISED, Learned.FLAG)),
        (back(outcome="retried", retry={"cause": "validation_error"}), (Status.INVALID, Learned.FLAG)),
        (back(outcome="new"), (Status.UNKNOWN, Learned.FLAG)),
        (retry("unknown city"), (Status.RAISED, Learned.FLAG)),
        (retry([{"type": "missing"}]), (Status.INVALID, Learned.FLAG)),
        (retry("Unknown tool name: 'x'. Available tools: y"), (Status.INVALID, Learned.TEXT_PATTERN)),
        (
            back(content="Tool not executed - a final result was already processed."),
            (Status.REFUSED, Learned.TEXT_PATTERN),
        ),
    ],
)
def test_how_a_call_ended_is_told_by_its_outcome_or_its_retry(ended: Any, result: Any, expected: Any) -> None:
    assert ended(result) == expected


def test_a_structured_result_is_kept_as_it_is(runs: Runs) -> None:
    (found,) = runs([ASK, response(call()), request(back(content={"t": [9]})), FINAL])
    assert [e.result for e in found.record] == [{"t": [9]}]


def test_an_output_tool_is_the_report_and_no_call(runs: Runs) -> None:
    out = call("o", "final_result", {"t": 9})
    taken = back("o", "Final result processed.", "final_result")
    for last in ([response(out), request(taken)], [response(out)]):
        (found,) = runs([ASK, response(call()), request(back()), *last])
        assert [e.tool for e in found.record] == ["get_weather"]
        assert (json.loads(found.report), found.record.completeness) == ({"t": 9}, CLOSED)
    skipped = back("p", "Output tool not used - a final result was already processed.", "final_result")
    (found,) = runs([ASK, response(out, call("p", "final_result", {"t": 8})), request(taken, skipped)])
    assert (json.loads(found.report), len(found.record)) == ({"t": 9}, 0)


def test_a_report_that_was_sent_back_is_not_the_end(runs: Runs) -> None:
    (found,) = runs([ASK, FINAL, request(retry("Plain text is not allowed", tool=None))])
    assert found.record.completeness is PARTIAL
    assert found.record.intact


def test_built_in_tools_are_calls_within_one_response(runs: Runs) -> None:
    one = {**call("w", "web_search"), "part_kind": "builtin-tool-call"}
    two = {**back("w", {"hits": 1}, "web_search"), "part_kind": "builtin-tool-return"}
    (found,) = runs([ASK, response(one, two, part("text", content="Found."))])
    assert [(e.tool, e.result) for e in found.record] == [("web_search", {"hits": 1})]
    assert found.record.completeness is CLOSED


@pytest.mark.parametrize(
    ("messages", "note"),
    [
        ([FINAL], "the beginning of the conversation is not in the file"),
        ([ASK, response(call()), FINAL], "1 calls have no result"),
        ([ASK, response(call()), request(back())], "the end of the run is not in the file"),
        ([ASK, FINAL, ASK], "the end of the run is not in the file"),
        ([ASK, {**FINAL, "state": "interrupted"}], "a response is not whole: interrupted"),
        ([ASK, {**FINAL, "finish_reason": "length"}], "a response was cut off: length"),
        ([ASK, response(part("compaction"), part("text", content="x"))], "'compaction' are not known here"),
    ],
)
def test_a_conversation_that_is_not_whole_is_partial_and_says_why(
    runs: Runs, messages: Any, note: str
) -> None:
    (found,) = runs(messages)
    assert found.record.completeness is PARTIAL
    assert any(note in each for each in found.record.notes)
    assert found.record.intact


def test_lines_and_a_holder_of_messages_are_read_as_the_list_is(runs: Runs) -> None:
    whole = [ASK, response(call()), request(back()), FINAL]
    for content in (jsonl(*whole), {"messages": whole}, jsonl(whole)):
        (found,) = runs(content)
        assert (len(found.record), found.record.completeness) == (1, CLOSED)
    assert len(runs(jsonl(whole, whole))) == 2


@pytest.mark.parametrize("content", [b"", b"{}", b"[]", b"7", [{"kind": "request", "parts": []}], b"plain"])
def test_what_is_no_conversation_is_refused(runs: Runs, content: Any) -> None:
    with pytest.raises(InvalidInputError):
        runs(content)


def test_a_damaged_result_is_unknown_and_no_failure(runs: Runs) -> None:
    for bad in (back(outcome=7), retry(7)):
        (found,) = runs([ASK, response(call()), request(bad), FINAL])
        assert [(e.status, e.result) for e in found.record] == [(Status.UNKNOWN, Unknown("unreadable"))]
        assert found.record.completeness is PARTIAL


FREE = ("=args", "usage", "metadata", "retry", "provider_details")
WHOLE = [
    ASK,
    response(call("a"), call("b")),
    request({**back("a"), "content": None}, retry("unknown city", "b")),
    response(call("a")),
    request({**back("a", outcome="success"), "content": None}),
    FINAL,
]


def test_wrong_types_anywhere_accuse_no_one(tmp_path: Path, shared: Path) -> None:
    check_wrong_types(read, tmp_path / "file", WHOLE, free=FREE, limit=80)
    check_wrong_types(read, tmp_path / "file", WHOLE, free=FREE, limit=150, lines=True)
    sample = shared / "transcripts/pydantic_ai/pydantic_ai_all_messages.json"
    document = json.loads(sample.read_bytes())
    # Any JSON may be the content of a result.
    check_wrong_types(read, tmp_path / "file", document, free=(*FREE, "=content"), limit=80)
    check_missing(read, tmp_path / "file", document, free=FREE, limit=80)


def test_a_file_that_was_cut_is_refused_or_read_as_far_as_it_goes(tmp_path: Path) -> None:
    check_cut(read, tmp_path / "file", json.dumps(WHOLE, indent=1).encode(), 60)
    check_cut(read, tmp_path / "file", jsonl(*WHOLE), 60, lines=True)


def test_a_broken_line_and_a_repeated_key_leave_the_record_partial(tmp_path: Path) -> None:
    lines = jsonl(*WHOLE[:2]) + b'{"kind\n' + jsonl(*WHOLE[2:])
    twice = json.dumps(WHOLE).replace('"tool_call_id": "a"', '"tool_call_id": "a", "tool_call_id": "a"', 1)
    for content in (lines, twice.encode()):
        found = read_or_refuse(read, written(tmp_path / "file", content))
        assert found is None or [each.record.completeness for each in found] == [PARTIAL]


def test_very_many_output_calls_are_read_in_linear_time(runs: Runs) -> None:
    calls = [call(f"o{n}", "final_result", {"n": n}) for n in range(20_000)]
    taken = [back(f"o{n}", "Final result processed.", "final_result") for n in range(20_000)]
    (found,) = runs([ASK, response(*calls), request(*taken)])
    assert (len(found.record), json.loads(found.report)) == (0, {"n": 19_999})


def test_content_that_is_null_is_no_empty_result(runs: Runs) -> None:
    (found,) = runs([ASK, response(call()), request(back(content=None)), FINAL])
    assert [(each.status, each.result) for each in found.record] == [
        (Status.RETURNED, Unknown("not captured"))
    ]


def test_an_outcome_that_is_null_leaves_the_end_open(runs: Runs) -> None:
    (found,) = runs([ASK, response(call()), request(back(outcome=None)), FINAL])
    assert [each.status for each in found.record] == [Status.UNKNOWN]
    assert found.record.completeness is PARTIAL
