"""Spans of OpenTelemetry in three shapes: which calls, how they ended, whose they are, and what was not captured."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest
from damaged_spans import altered, counts, heads, is_harmless, jsonl, places, read_or_refuse, some

from dispatch_fidelity.errors import InvalidInputError, MissingInputError
from dispatch_fidelity.model.call import Blob, Learned, Status, Unknown
from dispatch_fidelity.model.execution import Execution
from dispatch_fidelity.model.frozen import UNSET
from dispatch_fidelity.model.run import Completeness, DamageKind, ImportedRun
from dispatch_fidelity.transcripts import building, otel
from dispatch_fidelity.transcripts.otel import read, recognise, side
from dispatch_fidelity.transcripts.registry import HEAD, is_log
from dispatch_fidelity.transcripts.spans import lasting, moment

Json = dict[str, Any]

COUNTS = {
    # The second opinion counts tool spans and takes the output of the root as it is. Here the two calls that never
    # ran count as well (a tool that does not exist, arguments that are no JSON), and the report is the last message.
    "openinference/otlp_langchain.json": {"runs": 1, "calls": 4, "errored": 3, "open": 0, "final_chars": 44},
    # One trace, but two roots of two conversations.
    "otlp_genai/sample-4_VSGitHubCopilot_traces.jsonl": {
        "runs": 2,
        "calls": 3,
        "errored": 0,
        "open": 0,
        "final_chars": 0,
    },
}


def value(item: Any) -> Json:
    """A value of OTLP."""
    if isinstance(item, bool):
        return {"boolValue": item}
    if isinstance(item, int):
        return {"intValue": str(item)}
    if isinstance(item, list):
        return {"arrayValue": {"values": [value(each) for each in item]}}
    if isinstance(item, dict):
        return {"kvlistValue": {"values": [{"key": key, "value": value(each)} for key, each in item.items()]}}
    return {"stringValue": item}


def span(name: str, at: int, parent: str = "", *, trace: str = "t1", **attributes: Any) -> Json:
    """A span that begins at a second and lasts for one; ``status``, ``until`` and ``events`` are no attributes."""
    made: Json = {
        "traceId": trace,
        "spanId": attributes.pop("id", f"{name}@{at}"),
        "parentSpanId": parent,
        "name": name,
        "startTimeUnixNano": f"{at}000000000",
        "endTimeUnixNano": f"{attributes.pop('until', at + 1)}000000000",
        "status": attributes.pop("status", {}),
        "events": attributes.pop("events", []),
    }
    made["attributes"] = [
        {"key": key.replace("__", "."), "value": value(item)} for key, item in attributes.items()
    ]
    return made


def tool(name: str, at: int, args: Any = '{"city": "Graz"}', result: Any = "9 C", **more: Any) -> Json:
    """An ``execute_tool`` span; None leaves an attribute out."""
    given = {
        "gen_ai__operation__name": "execute_tool",
        "gen_ai__tool__name": name,
        "gen_ai__tool__call__id": more.pop("call", f"c{at}"),
        "gen_ai__tool__call__arguments": args,
        "gen_ai__tool__call__result": result,
    }
    kept = {key: item for key, item in given.items() if item is not None}
    return span(f"execute_tool {name}", at, more.pop("parent", "agent@1"), **kept, **more)


def chat(at: int, said: Any = None, asked: Any = None, **more: Any) -> Json:
    """A ``chat`` span with messages in parts."""
    given = {"gen_ai__output__messages": said, "gen_ai__input__messages": asked}
    kept = {key: json.dumps(item) for key, item in given.items() if item is not None}
    return span("chat", at, more.pop("parent", "agent@1"), gen_ai__operation__name="chat", **kept, **more)


def agent(at: int = 1, until: int = 90, parent: str = "", name: str = "agent", **more: Any) -> Json:
    """An ``invoke_agent`` span."""
    return span(
        name,
        at,
        parent,
        until=until,
        gen_ai__operation__name="invoke_agent",
        gen_ai__agent__name=name,
        **more,
    )


def text(words: str, role: str = "assistant") -> Json:
    return {"role": role, "parts": [{"type": "text", "content": words}]}


def requests(*made: tuple[str, str, Any]) -> Json:
    parts = [
        {"type": "tool_call", "id": source, "name": name, "arguments": args} for source, name, args in made
    ]
    return {"role": "assistant", "parts": parts}


def answer(source: str, result: Any, **more: Any) -> Json:
    return {
        "role": "tool",
        "parts": [{"type": "tool_call_response", "id": source, "response": result, **more}],
    }


def otlp(*spans: Json) -> Json:
    return {"resourceSpans": [{"resource": {}, "scopeSpans": [{"scope": {}, "spans": list(spans)}]}]}


class Runs:
    """Reads contents; one call of it gives the runs."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "file"

    def __call__(self, content: Any) -> list[ImportedRun]:
        self.path.write_bytes(content if isinstance(content, bytes) else json.dumps(content).encode())
        return list(read(self.path))

    def one(self, *spans: Json) -> ImportedRun:
        (found,) = self(otlp(*spans))
        return found

    def execution(self, *spans: Json) -> Execution:
        (found,) = self.one(*spans).record
        return found


@pytest.fixture
def runs(tmp_path: Path) -> Runs:
    return Runs(tmp_path)


def notes(found: ImportedRun) -> str:
    return "\n".join(found.record.notes)


# Samples.


def samples(shared: Path) -> list[Path]:
    folders = ("otlp_genai", "openinference")
    return sorted(path for folder in folders for path in (shared / "transcripts" / folder).iterdir())


def test_every_sample_gives_the_counts_of_the_second_opinion_or_better_founded_ones(shared: Path) -> None:
    opinion = json.loads((shared / "transcripts/reader_counts.json").read_bytes())
    for path in samples(shared):
        name = f"{path.parent.name}/{path.name}"
        assert counts(list(read(path))) == COUNTS.get(name, opinion[name]), name


def test_samples_are_intact_and_sampled(shared: Path) -> None:
    for path in samples(shared):
        for found in read(path):
            assert found.record.intact
            assert found.record.completeness is Completeness.SAMPLED
            assert "that a call is absent proves nothing" in found.record.notes[0]


def test_a_pydantic_ai_run_is_read_alike_in_both_versions_of_its_names(shared: Path) -> None:
    folder = shared / "transcripts/otlp_genai"
    for name in ("pydantic_ai_v2.json", "pydantic_ai_v5.json"):
        (found,) = read(folder / name)
        assert (found.agent, found.task) == ("weather_agent", "Weather in Graz and Nowhere?")
        assert found.report == "Graz is 9 C with rain. Nowhere is 12 C."
        assert found.record.tools == ("get_weather",)
        first, second = found.record
        assert (first.args, first.result, first.status) == (
            {"city": "Graz"},
            "Graz: 9 C, rain",
            Status.RETURNED,
        )
        assert (second.args, second.status, second.learned) == (
            {"city": "Nowhere"},
            Status.RAISED,
            Learned.FLAG,
        )
        assert (second.error, second.message) == ("pydantic_ai.exceptions.ToolRetryError", "unknown city")
        assert first.step == second.step == 0
        assert first.at.startswith("1796053042")


def test_the_langchain_sample_tells_of_calls_that_never_ran_and_of_a_handled_failure(shared: Path) -> None:
    (found,) = read(shared / "transcripts/openinference/otlp_langchain.json")
    told = {(each.source_id, each.tool, each.status, each.learned) for each in found.record}
    assert told == {
        ("call_1", "get_weather", Status.RETURNED, Learned.FLAG),
        ("call_2", "get_stock", Status.RAISED, Learned.FLAG),
        ("call_3", "no_such_tool", Status.INVALID, Learned.FLAG),
        ("call_4", "get_weather", Status.INVALID, Learned.FLAG),
    }
    by_id = {each.source_id: each for each in found.record}
    assert (by_id["call_1"].args, by_id["call_1"].result) == ({"city": "Graz"}, "Graz: 9 C, rain")
    assert (by_id["call_2"].args, by_id["call_2"].message) == ({"ticker": "ACME"}, "rate limit exceeded")
    assert found.report == "Graz is 9 C with rain. ACME trades at 41.20."


def test_calls_without_words_say_which_setting_would_have_kept_them(shared: Path) -> None:
    (found,) = read(shared / "transcripts/otlp_genai/sample-1_VSGitHubCopilot_traces.jsonl")
    assert found.report == ""
    assert "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT" in notes(found)
    assert found.agent == "GitHub Copilot"


# Recognition.


def test_of_all_shared_samples_and_our_own_logs_only_spans_are_recognised(shared: Path) -> None:
    mine = set(samples(shared))
    for path, head in heads(shared):
        assert (recognise(head) >= 0.5) is (path in mine), path
        assert not is_log(head) or recognise(head) == 0.0


def test_traces_without_an_agent_are_read_by_name_only_unless_the_head_does_not_show_all() -> None:
    web = json.dumps(otlp(span("GET /", 1, http__method="GET"))).encode()
    assert recognise(web) < 0.5
    many = json.dumps(otlp(*(span("GET /", n, http__method="GET") for n in range(400)))).encode()
    assert recognise(many[:HEAD]) >= 0.5
    assert recognise(b"plain") == recognise(b"") == recognise(b"{}") == recognise(b'[{"spanId": "1"}]') == 0.0


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ([{"resourceLogs": []}, {"resourceMetrics": []}], "logs or metrics"),
        ([{"errors": [{"category": "Tool-related", "location": "s", "evidence": "e"}]}], "TRAIL"),
        ([{"resourceSpans": []}, {"resourceLogs": []}], ""),
        ([{"errors": []}], ""),
        ([{"errors": [{"category": 5}]}], ""),
    ],
)
def test_other_signals_and_labels_stand_beside_traces(content: list[Any], words: str) -> None:
    found = side(jsonl(*content))
    assert (words in found) if words else (found == "")


# Shapes of a file.


def plain(attributes: list[Json]) -> Json:
    return {each["key"]: next(iter(each["value"].values()), None) for each in attributes}


def flat(each: Json) -> Json:
    """A span as Phoenix exports it."""
    attributes = plain(each["attributes"])
    return {
        "name": each["name"],
        "context": {"trace_id": each["traceId"], "span_id": each["spanId"]},
        "parent_id": each.get("parentSpanId") or None,
        "span_kind": attributes.get("openinference.span.kind", "UNKNOWN"),
        "start_time": each["startTimeUnixNano"],
        "end_time": each["endTimeUnixNano"],
        "status_code": str(each["status"].get("code", "STATUS_CODE_UNSET")).removeprefix("STATUS_CODE_"),
        "status_message": each["status"].get("message", ""),
        "attributes": attributes,
        "events": [{**event, "attributes": plain(event["attributes"])} for event in each.get("events", [])],
    }


def column(each: Json) -> Json:
    """A span as a row of Phoenix's table."""
    row = flat(each)
    inner = row.pop("attributes")
    ids = row.pop("context")
    return {
        **row,
        "context.span_id": ids["span_id"],
        "context.trace_id": ids["trace_id"],
        **{f"attributes.{key}": item for key, item in inner.items()},
    }


def nested(spans: list[Json]) -> Json:
    """Spans as in TRAIL."""
    made = [
        {
            "timestamp": f"2025-03-19T16:38:{int(each['startTimeUnixNano']) // 10**6 % 60000 / 1000:09.6f}Z",
            "span_id": each["spanId"],
            "span_name": each["name"],
            "span_kind": "Internal",
            "span_attributes": plain(each["attributes"]),
            "duration": "PT0.0001S",
            "status_code": str(each["status"].get("code", "Unset")).removeprefix("STATUS_CODE_").title(),
            "status_message": each["status"].get("message", ""),
            "events": [
                {"Name": event["name"], "Attributes": plain(event["attributes"])}
                for event in each.get("events", [])
            ],
            "child_spans": [],
            "parent": each.get("parentSpanId"),
        }
        for each in spans
    ]
    by_id = {each["span_id"]: each for each in made}
    roots: list[Json] = []
    for each in made:
        parent = by_id.get(each.pop("parent"))
        (parent["child_spans"] if parent else roots).append(each)
    return {"trace_id": spans[0]["traceId"], "spans": roots}


def test_phoenix_and_nested_spans_are_read_like_otlp(shared: Path, runs: Runs) -> None:
    for name in ("openinference/otlp_langchain.json", "otlp_genai/pydantic_ai_v5.json"):
        document = json.loads((shared / "transcripts" / name).read_bytes())
        spans = document["resourceSpans"][0]["scopeSpans"][0]["spans"]
        (expected,) = runs(document)
        shapes = [
            [flat(each) for each in spans],
            {"data": [flat(each) for each in spans], "next_cursor": None},
            jsonl(*map(flat, spans)),
            [column(each) for each in spans],
            spans,
            jsonl(*(otlp(each) for each in spans)),
            {"batches": document["resourceSpans"]},
            nested(spans),
        ]
        for shape in shapes:
            content = shape if isinstance(shape, bytes) else json.dumps(shape).encode()
            assert recognise(content[:HEAD]) >= 0.9
            (found,) = runs(content)
            assert (found.report, found.task, found.agent) == (expected.report, expected.task, expected.agent)
            assert [told(each) for each in sorted(found.record, key=lambda e: e.source_id)] == [
                told(each) for each in sorted(expected.record, key=lambda e: e.source_id)
            ]
            assert found.record.intact


def told(execution: Execution) -> tuple[Any, ...]:
    return (
        execution.source_id,
        execution.tool,
        execution.args,
        execution.status,
        execution.result,
        execution.message,
    )


def test_messages_may_be_lists_of_objects_with_dotted_names_and_attributes_may_be_nested(runs: Runs) -> None:
    call = {
        "tool_call.id": "c1",
        "tool_call.function.name": "search",
        "tool_call.function.arguments": '{"q": 1}',
    }
    model = {
        "name": "llm",
        "context": {"trace_id": "t", "span_id": "1"},
        "span_kind": "LLM",
        "start_time": "2026-01-01T00:00:00+00:00",
        "end_time": "2026-01-01T00:00:01+00:00",
        "status_code": "OK",
        "attributes": {
            "llm": {"output_messages": [{"message.role": "assistant", "message.tool_calls": [call]}]}
        },
    }
    later = {
        **model,
        "context": {"trace_id": "t", "span_id": "2"},
        "start_time": "2026-01-01T00:00:02+00:00",
        "end_time": "2026-01-01T00:00:03+00:00",
        "attributes": {
            "llm.input_messages": [
                {"message.role": "tool", "message.tool_call_id": "c1", "message.content": "one"}
            ],
            "llm.output_messages": [{"message.role": "assistant", "message.content": "Found one."}],
        },
    }
    (found,) = runs([model, later])
    (execution,) = found.record
    assert (execution.tool, execution.args, execution.result) == ("search", {"q": 1}, "one")
    assert found.report == "Found one."


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{}",
        b"[]",
        b"7",
        b"null",
        b'"text"',
        b"plain",
        b'{"resourceSpans": 5}',
        b'{"resourceSpans": []}',
        b'{"resourceLogs": []}',
        json.dumps(otlp(span("GET /", 1, http__method="GET"))).encode(),
        json.dumps(otlp(tool("a", 2))).encode()[:-9],
    ],
)
def test_a_file_without_a_span_of_an_agent_is_invalid_input(content: bytes, runs: Runs) -> None:
    with pytest.raises(InvalidInputError) as caught:
        runs(content)
    assert caught.value.exit_code == 65


def test_a_file_that_is_not_there_is_missing_input(tmp_path: Path) -> None:
    with pytest.raises(MissingInputError):
        list(read(tmp_path / "absent"))


# How a call ended.


@pytest.mark.parametrize(
    ("status", "expected", "learned"),
    [
        ({"code": 2, "message": "no"}, Status.RAISED, Learned.FLAG),
        ({"code": "STATUS_CODE_ERROR"}, Status.RAISED, Learned.FLAG),
        ({"code": "ERROR"}, Status.RAISED, Learned.FLAG),
        ({"status_code": "Error", "description": "no"}, Status.RAISED, Learned.FLAG),
        ({"status_code": "StatusCode.ERROR"}, Status.RAISED, Learned.FLAG),
        ({"code": 1}, Status.RETURNED, Learned.FLAG),
        ({"code": "STATUS_CODE_OK"}, Status.RETURNED, Learned.FLAG),
        ({}, Status.RETURNED, Learned.DEFAULT),
        ({"code": 0}, Status.RETURNED, Learned.DEFAULT),
        ({"code": "Unset"}, Status.RETURNED, Learned.DEFAULT),
        (None, Status.RETURNED, Learned.DEFAULT),
        ({"code": 7}, Status.UNKNOWN, Learned.DEFAULT),
        ({"code": True}, Status.UNKNOWN, Learned.DEFAULT),
        ({"code": "perhaps"}, Status.UNKNOWN, Learned.DEFAULT),
        (["ERROR"], Status.UNKNOWN, Learned.DEFAULT),
    ],
)
def test_the_status_of_a_span_comes_in_several_spellings(
    status: Any, expected: Status, learned: Learned, runs: Runs
) -> None:
    found = runs.execution(tool("a", 2, status=status))
    assert (found.status, found.learned) == (expected, learned)


def test_an_error_type_is_a_failure_without_a_status_and_a_cancelled_call_is_cancelled(runs: Runs) -> None:
    found = runs.execution(tool("a", 2, result=None, error__type="TimeoutError"))
    assert (found.status, found.learned, found.error) == (Status.RAISED, Learned.FLAG, "TimeoutError")
    assert found.result is UNSET
    found = runs.execution(tool("a", 2, error__type="asyncio.exceptions.CancelledError"))
    assert found.status is Status.CANCELLED


@pytest.mark.parametrize(("escaped", "expected"), [("True", Status.RAISED), ("False", Status.RETURNED)])
def test_an_exception_that_left_the_span_is_a_failure(escaped: str, expected: Status, runs: Runs) -> None:
    raised = {"exception.type": "ValueError", "exception.message": "no", "exception.escaped": escaped}
    attributes = [{"key": key, "value": value(item)} for key, item in raised.items()]
    found = runs.execution(tool("a", 2, events=[{"name": "exception", "attributes": attributes}]))
    assert found.status is expected
    assert (found.error, found.message) == ("ValueError", "no") or expected is Status.RETURNED


def test_a_structured_result_may_say_itself_that_it_failed(runs: Runs) -> None:
    found = runs.execution(tool("a", 2, result='{"isError": true, "content": []}'))
    assert (found.status, found.learned) == (Status.RAISED, Learned.VALUE)


def test_a_span_without_an_end_is_unfinished(runs: Runs) -> None:
    open_span = tool("a", 2, result=None)
    del open_span["endTimeUnixNano"]
    found = runs.one(open_span)
    assert [each.status for each in found.record] == [Status.UNFINISHED]
    assert "1 calls have no result" in notes(found)


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ('{"type": "tool", "data": {"tool_call_id": "c", "content": "9 C", "status": "success"}}', "9 C"),
        ('{"type": "tool", "tool_call_id": "c", "content": [{"type": "text", "text": "9 C"}]}', "9 C"),
        ('{"lc": 1, "id": ["x", "ToolMessage"], "kwargs": {"tool_call_id": "c", "content": "9 C"}}', "9 C"),
        ('{"content": [{"type": "text", "text": "9 C"}]}', "9 C"),
        ('[{"type": "text", "text": "9 C"}, {"type": "text", "text": "rain"}]', "9 C\nrain"),
        ('"9 C"', "9 C"),
        ("null", None),
        ('{"city": "Graz", "content": "9 C"}', '{"city": "Graz", "content": "9 C"}'),
        ({"temperature": 9}, {"temperature": 9}),
        ("[1] see below", "[1] see below"),
    ],
)
def test_a_result_is_taken_out_of_what_frameworks_wrap_it_in(given: Any, expected: Any, runs: Runs) -> None:
    assert runs.execution(tool("a", 2, result=given)).result == expected


def test_a_result_that_a_limit_cut_is_marked(runs: Runs) -> None:
    assert runs.execution(tool("a", 2, result='{"rows": [{"id": 1}, {"i')).cut
    assert not runs.execution(tool("a", 2, result='{"rows": []}')).cut


def test_times_are_kept_as_the_source_writes_them_and_order_the_calls(runs: Runs) -> None:
    late, early = tool("late", 30, until=33), tool("early", 10, until=32)
    timeless = tool("timeless", 5)
    del timeless["startTimeUnixNano"], timeless["endTimeUnixNano"]
    found = runs.one(timeless, late, early)
    assert [(each.tool, each.at, each.until) for each in found.record] == [
        ("early", "10000000000", "32000000000"),
        ("late", "30000000000", "33000000000"),
        ("timeless", "", ""),
    ]
    assert [each.end for each in found.record] == [1, 1, 2]


# What was not captured.


def test_content_that_was_not_captured_is_unknown_and_the_note_names_the_setting(runs: Runs) -> None:
    found = runs.one(agent(), chat(2), tool("a", 4, args=None, result=None), chat(6))
    (execution,) = found.record
    assert execution.args == Unknown("not captured")
    assert (execution.result, execution.status) == (Unknown("not captured"), Status.RETURNED)
    assert found.report == ""
    assert "of 1 calls were not captured; to capture them: OTEL_INSTRUMENTATION_GENAI" in notes(found)
    assert "the last words of the agent were not captured" in notes(found)
    assert found.record.intact


def test_a_redacted_value_was_not_captured(runs: Runs) -> None:
    hidden = {"openinference__span__kind": "TOOL", "tool__name": "a"}
    found = runs.one(span("a", 2, input__value="__REDACTED__", output__value="__REDACTED__", **hidden))
    (execution,) = found.record
    assert execution.args == execution.result == Unknown("not captured")
    assert "OPENINFERENCE_HIDE_OUTPUTS" in notes(found)


def test_arguments_that_the_span_lacks_are_those_that_were_asked_for(runs: Runs) -> None:
    asked = chat(2, [requests(("c4", "a", {"city": "Graz"}))])
    (execution,) = runs.one(agent(), asked, tool("a", 4, args=None)).record
    assert execution.args == {"city": "Graz"}


def test_a_limit_of_the_sender_is_noted(runs: Runs) -> None:
    cut = {**tool("a", 2), "droppedAttributesCount": 3}
    assert "attributes of spans were dropped by a limit of their sender" in notes(runs.one(cut))


# Which calls there are.


def test_a_call_that_only_messages_tell_of_is_a_call(runs: Runs) -> None:
    found = runs.one(
        agent(),
        chat(2, [requests(("c1", "a", {"q": 1}), ("c2", "b", "{}"))], [text("Do it.", "user")]),
        chat(
            4,
            [text("Done.")],
            [text("Do it.", "user"), answer("c1", "one"), answer("c2", "no", is_error=True)],
        ),
    )
    first, second = found.record
    assert (first.tool, first.args, first.result, first.status) == ("a", {"q": 1}, "one", Status.RETURNED)
    assert (first.learned, first.step, first.source_id) == (Learned.DEFAULT, 0, "c1")
    assert (second.args, second.status, second.learned) == ({}, Status.RAISED, Learned.FLAG)
    assert (found.report, found.task) == ("Done.", "Do it.")


def test_a_call_that_lost_its_span_has_no_end_where_only_spans_tell_of_failures(runs: Runs) -> None:
    asked = chat(2, [requests(("c1", "a", {"q": 1}), ("c5", "a", {"q": 2}))])
    found = runs.one(
        agent(), asked, tool("a", 5, '{"q": 2}'), chat(7, [text("Done.")], [answer("c1", "one")])
    )
    by_id = {each.source_id: each for each in found.record}
    assert (by_id["c1"].status, by_id["c1"].result) == (Status.UNKNOWN, "one")
    assert by_id["c5"].status is Status.RETURNED


def test_a_call_without_any_answer_is_unknown_once_the_run_went_on_and_else_unfinished(runs: Runs) -> None:
    asked = chat(2, [requests(("c1", "a", {}))])
    (execution,) = runs.one(agent(), asked, chat(4, [text("Done.")])).record
    assert execution.status is Status.UNKNOWN
    (execution,) = runs.one(agent(), asked).record
    assert execution.status is Status.UNFINISHED


def test_calls_of_earlier_turns_in_the_input_are_not_of_this_run(runs: Runs) -> None:
    history = [
        text("First?", "user"),
        requests(("c0", "old", {})),
        answer("c0", "x"),
        text("One."),
        text("And now?", "user"),
        requests(("c1", "new", {})),
        answer("c1", "y"),
    ]
    found = runs.one(agent(), chat(2, [text("Two.")], history))
    assert [(each.tool, each.result) for each in found.record] == [("new", "y")]
    assert found.task == "And now?"


def test_spans_and_what_was_asked_for_are_one_call_by_id_else_by_arguments_else_in_order(runs: Runs) -> None:
    asked = [
        requests(
            ("c1", "a", {"n": 1}),
            ("c2", "a", {"n": 2}),
            ("c3", "b", {"city": "Graz"}),
            ("c4", "c", {"raw": 1}),
        )
    ]
    found = runs.one(
        agent(),
        chat(2, asked),
        tool("a", 4, '{"n": 2}', call=None),
        tool("a", 5, '{"n": 9}', call="c1"),
        tool("b", 6, "Graz", call=None),
        tool("c", 7, "{'raw': 1}", call=None),
    )
    assert [(each.source_id, each.tool, each.args, each.step) for each in found.record] == [
        ("c2", "a", {"n": 2}, 0),
        ("c1", "a", {"n": 9}, 0),
        ("c3", "b", {"city": "Graz"}, 0),
        ("c4", "c", {"raw": 1}, 0),
    ]


def test_ids_that_repeat_are_joined_in_order_and_no_message_answers_for_them(runs: Runs) -> None:
    found = runs.one(
        agent(),
        chat(2, [requests(("a", "a", {"n": 1}))]),
        tool("a", 4, '{"n": 1}', "one", call="a"),
        chat(6, [requests(("a", "a", {"n": 2}))], [answer("a", "one")]),
        tool("a", 8, '{"n": 2}', "two", call="a"),
        chat(9, [text("Done.")], [answer("a", "one"), answer("a", "two")]),
    )
    assert [(each.args, each.result, each.shown, each.step) for each in found.record] == [
        ({"n": 1}, "one", UNSET, 0),
        ({"n": 2}, "two", UNSET, 1),
    ]


def test_what_the_model_was_shown_is_kept_where_it_is_not_what_came_back(runs: Runs) -> None:
    asked = chat(2, [requests(("c4", "a", {}))])
    (execution,) = runs.one(
        agent(), asked, tool("a", 4, "{}", "long"), chat(6, [text("x")], [answer("c4", "short")])
    ).record
    assert (execution.result, execution.shown) == ("long", "short")
    (execution,) = runs.one(
        agent(), asked, tool("a", 4, "{}", "{}"), chat(6, [text("x")], [answer("c4", "all")])
    ).record
    assert (execution.result, execution.shown) == ("all", UNSET)


def test_a_tool_below_one_of_the_same_name_is_the_same_call(runs: Runs) -> None:
    outer = tool("a", 4, until=8)
    inner = tool("a", 5, call=None, parent=outer["spanId"])
    other = tool("b", 6, parent=outer["spanId"])
    found = runs.one(agent(), outer, inner, other)
    assert [each.tool for each in found.record] == ["a", "b"]
    client = tool("mcp__weather__get", 10, until=14)
    server = tool("get", 11, call=None, parent=client["spanId"])
    assert [each.tool for each in runs.one(agent(), client, server).record] == ["mcp__weather__get"]


def test_of_two_spans_of_one_model_call_the_inner_one_counts_unless_it_kept_nothing(runs: Runs) -> None:
    outer = chat(2, [requests(("c4", "a", {}))], id="o", until=4)
    for inner in (chat(3, [requests(("c4", "a", {}))], parent="o"), chat(3, parent="o")):
        found = runs.one(agent(), outer, inner, tool("a", 4, "{}"), chat(6, [text("Done.")]))
        assert [(each.source_id, each.step) for each in found.record] == [("c4", 0)]
        assert found.report == "Done."


def test_the_wrapper_of_smolagents_is_taken_off_the_arguments(runs: Runs) -> None:
    for wrapped in (
        {"args": [], "sanitize_inputs_outputs": True, "kwargs": {"query": "x"}},
        {"args": [{"query": "x"}], "sanitize_inputs_outputs": True, "kwargs": {}},
    ):
        assert runs.execution(tool("search", 2, json.dumps(wrapped))).args == {"query": "x"}
    kept = {"args": ["x", 2], "sanitize_inputs_outputs": True, "kwargs": {}}
    assert runs.execution(tool("search", 2, json.dumps(kept))).args == kept


def test_a_tool_that_only_takes_the_answer_is_no_call(runs: Runs) -> None:
    parameters = json.dumps({"function_tools": [{"name": "a"}], "output_tools": [{"name": "final_result"}]})
    final = requests(("c1", "final_result", {"city": "Graz"}))
    found = runs.one(
        agent(final_result='{"city":"Graz"}'), chat(2, [final], model_request_parameters=parameters)
    )
    assert len(found.record) == 0
    assert found.record.tools == ("a",)
    assert found.report == '{"city":"Graz"}'


def test_a_span_that_stands_twice_counts_once(runs: Runs) -> None:
    found = runs.one(agent(), tool("a", 4), tool("a", 4))
    assert len(found.record) == 1
    assert "1 spans stand twice" in notes(found)
    assert found.record.intact


def test_an_id_that_is_another_spans_is_damage_and_both_calls_count(runs: Runs) -> None:
    found = runs.one(agent(), tool("a", 4, id="s"), tool("b", 6, id="s"))
    assert [each.tool for each in found.record] == ["a", "b"]
    assert [each.kind for each in found.record.damage] == [DamageKind.LIFECYCLE]
    assert found.record.completeness is Completeness.PARTIAL


def test_pending_spans_are_left_out(runs: Runs) -> None:
    pending = tool("a", 4, result=None, id="p", logfire__span_type="pending_span")
    assert len(runs.one(agent(), pending, tool("a", 4)).record) == 1


def test_spans_whose_parents_go_in_a_circle_are_read(runs: Runs) -> None:
    found = runs.one(
        tool("a", 2, id="x", parent="y"), tool("b", 4, id="y", parent="x"), tool("c", 6, id="z", parent="z")
    )
    assert [each.tool for each in found.record] == ["a", "b", "c"]


# Runs and agents.


def test_each_trace_is_a_run_and_so_is_each_conversation_of_its_roots(runs: Runs) -> None:
    found = runs(
        otlp(
            agent(1, 5, id="r1", gen_ai__conversation__id="one"),
            tool("a", 2, parent="r1"),
            agent(6, 9, id="r2", gen_ai__conversation__id="two"),
            tool("b", 7, parent="r2"),
            tool("c", 8, parent="r2"),
            tool("d", 2, trace="t2"),
            span("GET /", 3, trace="t3", http__method="GET"),
        )
    )
    assert [(each.record.run_id, [call.tool for call in each.record]) for each in found] == [
        ("t1", ["a"]),
        ("t1.1", ["b", "c"]),
        ("t2", ["d"]),
    ]


def test_agents_that_work_one_after_the_other_are_one_run_and_each_call_says_whose_it_is(runs: Runs) -> None:
    found = runs.one(
        span("workflow", 1, id="w", until=90),
        agent(2, 5, "w", "triage", id="a1"),
        tool("look", 3, parent="a1"),
        agent(6, 20, "w", "desk", id="a2"),
        tool("book", 7, parent="a2"),
        chat(9, [text("Booked.")], parent="a2"),
    )
    assert [(each.tool, each.agent) for each in found.record] == [("look", "triage"), ("book", "desk")]
    assert (found.agent, found.report) == ("triage", "Booked.")


def test_an_agent_below_a_tool_is_a_run_of_its_own(runs: Runs) -> None:
    main, helper = runs(
        otlp(
            agent(name="lead", id="lead"),
            chat(
                2,
                [requests(("c4", "ask_helper", {"task": "count"}))],
                [text("How many?", "user")],
                parent="lead",
            ),
            tool("ask_helper", 4, '{"task": "count"}', "There are 3.", id="s", parent="lead", until=20),
            span("invoke", 5, "s", id="i"),
            agent(6, 19, "i", "helper", id="helper"),
            chat(7, [requests(("c8", "count", {}))], [text("count", "user")], parent="helper"),
            tool("count", 8, "{}", "3", parent="helper"),
            chat(10, [text("There are 3.")], parent="helper"),
            chat(22, [text("It is 3.")], parent="lead"),
        )
    )
    assert (main.agent, main.parent, main.report, main.task) == ("lead", "", "It is 3.", "How many?")
    assert [each.tool for each in main.record] == ["ask_helper"]
    assert (helper.agent, helper.parent, helper.report, helper.task) == (
        "helper (s)",
        "lead",
        "There are 3.",
        "count",
    )
    assert [(each.tool, each.agent) for each in helper.record] == [("count", "helper (s)")]
    (delegation,) = main.delegations
    assert (delegation.call, delegation.agent, delegation.report) == ("0", "helper (s)", "There are 3.")


def test_a_model_that_a_tool_calls_does_not_speak_for_the_agent(runs: Runs) -> None:
    inner = tool("summarise", 4, id="s", until=9)
    found = runs.one(agent(), chat(2, [text("Working.")]), inner, chat(20, [text("A summary.")], parent="s"))
    assert found.report == "Working."
    assert len(found.record) == 1


# Report.


def test_the_report_is_what_the_root_gave_out_else_the_last_words_of_a_model(runs: Runs) -> None:
    talk = [chat(2, [text("Checking.")]), chat(4, [text("It is 9 C.")])]
    assert runs.one(agent(), *talk).report == "It is 9 C."
    assert (
        runs.one(agent(gen_ai__output__messages=json.dumps([text("All in all: 9 C.")])), *talk).report
        == "All in all: 9 C."
    )
    step = {"openinference__span__kind": "CHAIN"}
    assert runs.one(span("agent", 1, until=90, output__value="done", **step), *talk).report == "It is 9 C."
    assert (
        runs.one(span("agent", 1, until=90, output__value='{"messages": []}', **step), *talk).report
        == "It is 9 C."
    )


def test_where_the_last_words_are_not_there_an_earlier_text_is_no_report(runs: Runs) -> None:
    found = runs.one(agent(), chat(2, [text("Checking.")]), chat(4))
    assert found.report == ""
    cut = chat(4)
    cut["attributes"].append({"key": "gen_ai.output.messages", "value": value('[{"role": "assistant", "par')})
    found = runs.one(agent(), chat(2, [text("Checking.")]), cut)
    assert (found.report, found.record.completeness) == ("", Completeness.PARTIAL)


def test_a_run_that_ends_in_calls_keeps_its_last_text_and_says_so(runs: Runs) -> None:
    found = runs.one(
        agent(), chat(2, [text("Checking.")]), chat(4, [requests(("c5", "a", {}))]), tool("a", 5)
    )
    assert found.report == "Checking."
    assert "the run does not end in a text of the agent" in notes(found)
    silent = runs.one(agent(), chat(4, [requests(("c5", "a", {}))]), tool("a", 5))
    assert (silent.report, "said nothing" in notes(silent)) == ("", True)


# Other names for the same things.


def test_the_ai_sdk_is_read_by_its_own_names(runs: Runs) -> None:
    calls = json.dumps([{"toolCallId": "c1", "toolName": "getWeather", "args": '{"city": "Graz"}'}])
    made = {"ai__toolCall__name": "getWeather", "ai__toolCall__id": "c1"}
    content = {"ai__toolCall__args": '{"city": "Graz"}', "ai__toolCall__result": '{"c": 9}'}
    inner = {"ai__operationId": "ai.generateText.doGenerate"}
    whole = {"ai__operationId": "ai.generateText", "ai__prompt": '{"prompt": "Weather?"}'}
    found = runs.one(
        span("ai.generateText", 1, until=90, id="g", **whole),
        span("ai.generateText.doGenerate", 2, "g", ai__response__toolCalls=calls, **inner),
        span("ai.toolCall", 4, "g", ai__operationId="ai.toolCall", **made, **content),
        span("ai.generateText.doGenerate", 6, "g", ai__response__text="9 C.", **inner),
    )
    (execution,) = found.record
    assert (execution.tool, execution.args, execution.result) == ("getWeather", {"city": "Graz"}, '{"c": 9}')
    assert (found.report, found.task) == ("9 C.", "Weather?")


def test_prompts_and_completions_may_be_spread_over_numbered_attributes_or_stand_in_events(
    runs: Runs,
) -> None:
    spread = {
        "gen_ai__completion__0__role": "assistant",
        "gen_ai__completion__0__tool_calls__0__id": "c1",
        "gen_ai__completion__0__tool_calls__0__name": "a",
        "gen_ai__completion__0__tool_calls__0__arguments": '{"n": 1}',
        "gen_ai__prompt__0__role": "user",
        "gen_ai__prompt__0__content": "Go.",
    }
    said = [{"key": "gen_ai.output.messages", "value": value(json.dumps([text("Gone.")]))}]
    event = {"name": "gen_ai.client.inference.operation.details", "attributes": said}
    found = runs.one(span("openai.chat", 2, **spread), chat(4, events=[event], parent=""))
    assert [(each.tool, each.args, each.status) for each in found.record] == [("a", {"n": 1}, Status.UNKNOWN)]
    assert (found.report, found.task) == ("Gone.", "Go.")


@pytest.mark.parametrize(
    "messages",
    [
        {"messages": [{"role": "user", "content": "Go."}, {"role": "assistant", "content": None, "tool_calls": [
            {"id": "c1", "type": "function", "function": {"name": "a", "arguments": '{"n": 1}'}}]},
            {"role": "tool", "tool_call_id": "c1", "content": "one"}, {"role": "assistant", "content": "Gone."}]},
        {"messages": [{"type": "human", "content": "Go."}, {"type": "ai", "content": "", "tool_calls": [
            {"id": "c1", "name": "a", "args": {"n": 1}}]}, {"type": "tool", "tool_call_id": "c1", "content": "one"},
            {"type": "ai", "content": "Gone."}]},
        [{"role": "user", "content": "Go."}, {"role": "assistant", "content": [
            {"type": "tool_use", "id": "c1", "name": "a", "input": {"n": 1}}]},
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c1", "content": [
                {"type": "text", "text": "one"}]}]},
            {"role": "assistant", "content": [{"type": "text", "text": "Gone."}]}],
        [{"role": "user", "content": "Go."},
            {"type": "function_call", "call_id": "c1", "name": "a", "arguments": '{"n": 1}'},
            {"type": "function_call_output", "call_id": "c1", "output": "one"},
            {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Gone."}]}],
        [{"role": "user", "content": [{"type": "text", "text": "Go."}]}, {"role": "assistant", "content": [
            {"type": "tool-call", "toolCallId": "c1", "toolName": "a", "input": {"n": 1}}]},
            {"role": "tool", "content": [{"type": "tool-result", "toolCallId": "c1", "toolName": "a",
                "output": {"type": "text", "value": "one"}}]},
            {"role": "assistant", "content": "Gone."}],
        {"contents": [{"role": "user", "parts": [{"text": "Go."}]},
            {"role": "model", "parts": [{"functionCall": {"id": "c1", "name": "a", "args": {"n": 1}}}]},
            {"role": "user", "parts": [{"functionResponse": {"id": "c1", "name": "a", "response": "one"}}]},
            {"role": "model", "parts": [{"text": "Gone."}]}]},
    ],
)  # fmt: skip
def test_messages_of_every_framework_say_the_same(messages: Any, runs: Runs) -> None:
    step = {"openinference__span__kind": "CHAIN", "output__value": json.dumps(messages)}
    model = {
        "openinference__span__kind": "LLM",
        "input__value": json.dumps(messages),
        "output__value": "Gone.",
    }
    for root in (span("root", 1, until=90, **step), span("root", 1, until=90, **model)):
        found = runs.one(root, chat(2, [text("Gone.")], parent="root@1"))
        (execution,) = found.record
        assert (execution.tool, execution.source_id, execution.result) == ("a", "c1", "one")
        assert execution.args == {"n": 1}
        assert (found.report, found.task) == ("Gone.", "Go.")


# Damage.


def test_a_broken_line_and_a_torn_one_are_damage_and_the_rest_is_read(runs: Runs) -> None:
    lines = [otlp(agent()), otlp(tool("a", 4)), otlp(tool("b", 6)), otlp(tool("c", 2, trace="t2"))]
    content = jsonl(*lines).replace(b'{"resourceSpans', b'{"resour\n{"resourceSpans', 1)[:-9]
    first = runs(content)[0]
    assert [(each.kind, each.line) for each in first.record.damage] == [
        (DamageKind.UNREADABLE, 1),
        (DamageKind.TORN, 5),
    ]
    assert [each.tool for each in first.record] == ["a", "b"]
    assert first.record.completeness is Completeness.PARTIAL


def test_damage_that_may_be_of_any_run_is_told_to_each(runs: Runs) -> None:
    content = jsonl(otlp(tool("a", 4)), {"resourceSpans": 5}, 7, otlp(tool("b", 6, trace="t2")))
    first, second = runs(content)
    assert [each.line for each in first.record.damage] == [2, 3]
    assert "2 places of this file cannot be read" in second.record.damage[0].text


@pytest.mark.parametrize(
    "member",
    [
        "traceId",
        "spanId",
        "parentSpanId",
        "name",
        "startTimeUnixNano",
        "endTimeUnixNano",
        "status",
        "attributes",
        "events",
    ],
)
@pytest.mark.parametrize("new", [5.5, True, [5], {"a": 1}])
def test_a_member_of_another_type_makes_the_end_of_a_call_unknown(member: str, new: Any, runs: Runs) -> None:
    broken = {**tool("a", 4, status={"code": 2}), member: new}
    for found in runs(otlp(agent(), broken, tool("b", 6))):
        assert found.record.damage
        assert found.record.completeness is Completeness.PARTIAL
        assert not any(each.failed or (each.tool == "a" and each.succeeded) for each in found.record)


def test_damage_anywhere_in_a_sample_accuses_nobody(shared: Path, tmp_path: Path) -> None:
    for path in samples(shared):
        content = path.read_bytes()
        original = list(read(path))
        is_lines = path.suffix == ".jsonl"
        document = [json.loads(line) for line in content.splitlines()] if is_lines else json.loads(content)
        for place in some(list(places(document)), 20):
            for new in (None, 5, True):
                changed = altered(document, place, new)
                written = (
                    jsonl(*changed)
                    if is_lines and isinstance(changed, list)
                    else json.dumps(changed).encode()
                )
                assert is_harmless(read_or_refuse(read, tmp_path / "file", written), original), (
                    path,
                    place,
                    new,
                )
        for end in range(0, len(content), 1 + len(content) // 10):
            assert is_harmless(read_or_refuse(read, tmp_path / "file", content[:end]), original), (path, end)


@pytest.mark.parametrize(
    "content",
    [
        json.dumps(otlp(tool("a", 4, result="NUMBER"))).replace('"NUMBER"', "NaN").encode(),
        json.dumps(otlp(tool("a", 4)))
        .replace('"key": "gen_ai.tool.name"', '"key": "x", "key": "y"')
        .encode(),
    ],
)
def test_json_that_is_not_strict_is_damage_where_it_stands(content: bytes, runs: Runs) -> None:
    (found,) = runs(content)
    (execution,) = found.record
    assert execution.status is Status.UNKNOWN
    assert found.record.damage


def test_hostile_nesting_and_numbering_are_read(runs: Runs) -> None:
    deep = json.dumps("[" * 90 + "]" * 90)
    names = {
        f"llm__output_messages__{'0__' * 50}x": "y",
        "llm__output_messages__999999999999__message__content": "z",
    }
    found = runs.one(agent(), chat(2, **names), tool("a", 4, deep, deep), span("s", 6, output__value=deep))
    assert len(found.record) == 1


# Size.


def test_long_results_are_left_in_the_file(runs: Runs, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(building, "HELD", 3000)
    long = "x" * 2000
    found = runs(jsonl(otlp(tool("a", 2, result=long)), otlp(tool("b", 4, result=f"y{long}"))))
    first, second = (each.result for each in found[0].record)
    assert first == long
    assert isinstance(second, Blob)
    line = runs.path.read_bytes()[second.offset : second.offset + second.length]
    assert f"y{long}".encode() in line


def test_many_spans_are_read_in_linear_time(runs: Runs) -> None:
    def seconds(count: int) -> float:
        made = [agent(), *(tool("a", 4, call="x", id=f"s{n}", parent=f"s{n - 1}") for n in range(count))]
        made += [chat(5 + n, [requests(("x", "b", {"n": n})), text("x")], id=f"m{n}") for n in range(count)]
        content = json.dumps(otlp(*made)).encode()
        start = time.perf_counter()
        runs(content)
        return time.perf_counter() - start

    seconds(50)
    assert seconds(1_500) < 40 * max(seconds(150), 0.01)


# Times.


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("1970-01-01T00:00:01Z", 10**9),
        ("1970-01-01 00:00:01.5", 1_500_000_000),
        ("1970-01-01T01:00:00.000000001+01:00", 1),
        ("1970-01-01T00:00:00.1234567891Z", 123_456_789),
        ("1969-12-31T23:00:00-01:00", 0),
        ("12", 12),
        (12, 12),
        ("0", None),
        (0, None),
        (True, None),
        (1.5, None),
        ("yesterday", None),
        ("2026-13-01T00:00:00Z", None),
        (None, None),
    ],
)
def test_moments_are_read_in_nanoseconds(given: Any, expected: int | None) -> None:
    assert moment(given) == expected


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("PT1M2.5S", 62_500_000_000),
        ("P1DT1H", 90_000 * 10**9),
        ("PT0.000001S", 1000),
        ("P", None),
        ("1s", None),
        (5, None),
    ],
)
def test_durations_are_read_in_nanoseconds(given: Any, expected: int | None) -> None:
    assert lasting(given) == expected


def test_the_reader_is_a_module_with_the_names_of_the_protocol() -> None:
    assert otel.NAME == "otel"
