"""Traces of Langfuse: observations of any framework, the calls that only messages tell of, and what was left out."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from damaged_spans import altered, counts, heads, is_harmless, jsonl, places, read_or_refuse, some

from dispatch_fidelity.errors import InvalidInputError, MissingInputError
from dispatch_fidelity.model.call import Learned, Status, Unknown
from dispatch_fidelity.model.run import Completeness, ImportedRun
from dispatch_fidelity.transcripts import langfuse
from dispatch_fidelity.transcripts.langfuse import read, recognise
from dispatch_fidelity.transcripts.registry import HEAD

Json = dict[str, Any]

# Calls and characters of the report. The second opinion took the output of the trace as it is, as JSON; here the report
# is what it says, or the last words of a model where the trace has none. One call more: langgraph has no TOOL.
EXPECTED = {
    "autogen-2025-06-06": (0, 12, "Say 'Hello World!'"),
    "claude-agent-2025-12-22": (2, 276, "What's the weather like in Berlin and New York?"),
    "crewai-2025-07-11": (0, 583, "\nCurrent Task: Define the HTML"),
    "csharp-agent-with-gemini-2026-03-09": (2, 577, "What are my month over month"),
    "google-adk-2025-08-28": (1, 18, "hi"),
    "langgraph-python-2025-08-22": (1, 257, "Search the web for 'example'"),
    "microsoft-agent-2025-12-17": (1, 61, "What's the weather in Tokyo?"),
    "openai-agents-2025-09-30": (1, 135, "What's the weather in Tokyo?"),
    "pydantic-ai-tools-2025-12-04": (3, 55, "Now write a funny joke about 'programming'"),
    "vercel-aisdk-2025-11-17": (1, 0, "What is the weather like today in San Francisco?"),
}


def observation(kind: str, name: str, at: int, **more: Any) -> Json:
    """An observation of one second."""
    return {
        "id": more.pop("id", f"{name}@{at}"),
        "traceId": "t1",
        "type": kind,
        "name": name,
        "startTime": f"2026-01-01T00:00:{at:02}.000Z",
        "endTime": f"2026-01-01T00:00:{at + 1:02}.000Z",
        "parentObservationId": None,
        "level": "DEFAULT",
        "statusMessage": None,
        "input": None,
        "output": None,
        "metadata": {},
        **more,
    }


def tool(name: str, at: int, **more: Any) -> Json:
    return observation("TOOL", name, at, **{"input": {"q": 1}, "output": "one", **more})


def model(at: int, said: Any, asked: Any = None) -> Json:
    return observation("GENERATION", "chat", at, output=said, input=asked)


def trace(*observations: Json, **more: Any) -> Json:
    head = {"id": "t1", "projectId": "p", "environment": "default", "input": None, "output": None, **more}
    return {"trace": head, "observations": list(observations)}


class Runs:
    """Reads contents; one call of it gives the runs."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "file"

    def __call__(self, content: Any) -> list[ImportedRun]:
        self.path.write_bytes(content if isinstance(content, bytes) else json.dumps(content).encode())
        return list(read(self.path))

    def one(self, content: Any) -> ImportedRun:
        (found,) = self(content)
        return found


@pytest.fixture
def runs(tmp_path: Path) -> Runs:
    return Runs(tmp_path)


def samples(shared: Path) -> list[Path]:
    return sorted((shared / "transcripts/langfuse").iterdir())


# Samples.


def test_every_sample_gives_its_calls_its_report_and_its_task(shared: Path) -> None:
    assert {path.name.removesuffix(".trace.json") for path in samples(shared)} == EXPECTED.keys()
    for path in samples(shared):
        calls, characters, task = EXPECTED[path.name.removesuffix(".trace.json")]
        (found,) = read(path)
        expected = {"runs": 1, "calls": calls, "errored": 0, "open": 0, "final_chars": characters}
        assert counts([found]) == expected, path
        assert found.task.startswith(task), path
        assert found.record.intact
        assert found.record.completeness is Completeness.SAMPLED


def test_calls_of_every_framework_have_their_arguments_and_results(shared: Path) -> None:
    told = {
        path.name.split("-20")[0]: [(each.tool, each.args, each.result) for each in next(read(path)).record]
        for path in samples(shared)
    }
    assert told["claude-agent"] == [
        ("mcp__weather__get_weather", {"city": "Berlin"}, "Weather in Berlin: Cloudy, 59°F"),
        ("mcp__weather__get_weather", {"city": "New York"}, "Weather in New York: Sunny, 75°F"),
    ]
    assert told["google-adk"] == [("say_hello", {}, '{"greeting": "Hello Langfuse 👋"}')]
    ((name, args, result),) = told["langgraph-python"]
    assert (name, args) == ("Web-Search", {"query": "example"})
    assert json.loads(result)[0]["title"] == "Example Result"
    assert told["microsoft-agent"] == [
        (
            "get_weather",
            {"location": "Tokyo, Japan"},
            "The weather in Tokyo, Japan is stormy with a high of 23°C.",
        )
    ]
    assert told["openai-agents"] == [("get_weather", {"city": "Tokyo"}, "The weather in Tokyo is sunny.")]
    assert [name for name, _, _ in told["pydantic-ai-tools"]] == [
        "get_pun_suggestion",
        "get_dad_joke_suggestion",
        "get_one_liner_suggestion",
    ]


def test_parallel_calls_share_a_step_and_take_the_id_that_the_model_gave_them(shared: Path) -> None:
    (found,) = read(shared / "transcripts/langfuse/pydantic-ai-tools-2025-12-04.trace.json")
    assert {each.step for each in found.record} == {0}
    assert all(each.source_id.startswith("call_") for each in found.record)
    (found,) = read(shared / "transcripts/langfuse/claude-agent-2025-12-22.trace.json")
    assert [each.source_id[:6] for each in found.record] == ["toolu_", "toolu_"]


def test_a_run_that_ended_in_a_call_has_no_report_and_says_so(shared: Path) -> None:
    (found,) = read(shared / "transcripts/langfuse/vercel-aisdk-2025-11-17.trace.json")
    assert "the agent ended with calls and said nothing" in found.record.notes


# Recognition and shapes of a file.


def test_of_all_shared_samples_and_our_own_logs_only_traces_of_langfuse_are_recognised(shared: Path) -> None:
    mine = set(samples(shared))
    for path, head in heads(shared):
        assert (recognise(head) >= 0.5) is (path in mine), path


def test_a_trace_whose_own_list_fills_the_head_is_recognised() -> None:
    filling = [tool("a", 2, output="x" * 900) for _ in range(100)]
    content = json.dumps(trace(tool("a", 2), observations=filling)).encode()
    assert recognise(content[:HEAD]) >= 0.5
    assert (
        recognise(b"plain")
        == recognise(b"")
        == recognise(b"{}")
        == recognise(b'{"trace": {"id": "x"}}')
        == 0.0
    )


def snake(each: Json) -> Json:
    names = {
        "traceId": "trace_id",
        "startTime": "start_time",
        "endTime": "end_time",
        "statusMessage": "status_message",
    }
    names["parentObservationId"] = "parent_observation_id"
    return {names.get(key, key): item for key, item in each.items()}


def test_each_shape_of_an_export_gives_the_same_run(runs: Runs) -> None:
    parts = [
        model(1, [{"role": "assistant", "content": "Done."}], "Go."),
        tool("a", 3, level="ERROR", statusMessage="no"),
    ]
    shapes = [
        trace(*parts),
        {**trace(*parts)["trace"], "observations": parts},
        {"trace": {**trace()["trace"], "observations": parts}},
        [trace(*parts)],
        parts,
        {"data": parts, "meta": {}},
        jsonl(*parts),
        jsonl(*map(snake, parts)),
        [{**each, "startTime": each["startTime"].replace("T", " ").removesuffix("Z")} for each in parts],
        [{**each, "input": json.dumps(each["input"]), "metadata": "{}"} for each in parts],
    ]
    for shape in shapes:
        content = shape if isinstance(shape, bytes) else json.dumps(shape).encode()
        assert recognise(content) >= 0.5
        found = runs.one(content)
        (execution,) = found.record
        assert (execution.tool, execution.args, execution.status) == ("a", {"q": 1}, Status.RAISED)
        assert (execution.message, execution.learned, found.report) == ("no", Learned.FLAG, "Done.")
        assert found.record.intact


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{}",
        b"[]",
        b"7",
        b"plain",
        b'{"observations": []}',
        b'{"trace": 5}',
        b'[{"id": "x"}]',
        json.dumps(trace(tool("a", 1))).encode()[:-9],
    ],
)
def test_a_file_without_an_observation_is_invalid_input(content: bytes, runs: Runs) -> None:
    with pytest.raises(InvalidInputError) as caught:
        runs(content)
    assert caught.value.exit_code == 65


def test_a_file_that_is_not_there_is_missing_input(tmp_path: Path) -> None:
    with pytest.raises(MissingInputError):
        list(read(tmp_path / "absent"))


# Calls.


@pytest.mark.parametrize(
    ("level", "expected"),
    [
        ("ERROR", Status.RAISED),
        ("WARNING", Status.RETURNED),
        ("DEFAULT", Status.RETURNED),
        (None, Status.RETURNED),
    ],
)
def test_only_the_level_error_is_a_failure(level: Any, expected: Status, runs: Runs) -> None:
    (execution,) = runs.one(trace(tool("a", 1, level=level))).record
    assert execution.status is expected


def test_an_observation_of_an_older_integration_may_be_a_tool_by_its_attributes_or_its_output(
    runs: Runs,
) -> None:
    attributes = {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": "b",
        "gen_ai.tool.call.id": "c1",
    }
    message = {"type": "tool", "name": "c", "tool_call_id": "c2", "content": "two", "status": "error"}
    found = runs.one(
        trace(
            observation(
                "SPAN", "x", 1, input="{}", output="one", metadata=json.dumps({"attributes": attributes})
            ),
            observation("SPAN", "c", 3, input="{'q': 1}", output=json.dumps(message)),
            observation("SPAN", "other", 5, input="{}", output=json.dumps(message)),
            observation("EVENT", "note", 6, output="x"),
        )
    )
    assert [(each.tool, each.source_id, each.result, each.status) for each in found.record] == [
        ("b", "c1", "one", Status.RETURNED),
        ("c", "c2", "two", Status.RAISED),
    ]


def test_what_was_left_out_of_the_download_is_not_captured_and_the_note_names_the_setting(runs: Runs) -> None:
    found = runs.one(trace(model(1, None), tool("a", 2, input=None, output=None), model(4, None)))
    (execution,) = found.record
    assert execution.args == execution.result == Unknown("not captured")
    assert execution.status is Status.RETURNED
    assert "LANGFUSE_OBSERVE_DECORATOR_IO_CAPTURE_ENABLED" in "\n".join(found.record.notes)
    assert found.report == ""


def test_an_observation_without_end_and_output_is_unfinished(runs: Runs) -> None:
    (execution,) = runs.one(trace(tool("a", 1, output=None, endTime=None))).record
    assert execution.status is Status.UNFINISHED
    (execution,) = runs.one(trace(tool("a", 1, endTime=None))).record
    assert (execution.status, execution.until) == (Status.RETURNED, "")


def test_the_list_beside_the_trace_counts_and_not_the_one_in_it(runs: Runs) -> None:
    inside = [{**tool("a", 1), "input": None, "output": None}]
    (execution,) = runs.one(trace(tool("a", 1), observations=inside)).record
    assert execution.result == "one"


def test_an_agent_below_a_tool_is_a_run_of_its_own(runs: Runs) -> None:
    main, helper = runs(
        trace(
            tool("ask", 1, id="s", output="Three."),
            observation("AGENT", "helper", 2, parentObservationId="s", id="h", output="Three."),
            tool("count", 3, parentObservationId="h", output="3"),
            model(6, "It is three.", "How many?"),
        )
    )
    assert ([each.tool for each in main.record], main.report) == (["ask"], "It is three.")
    assert ([each.tool for each in helper.record], helper.report, helper.parent) == (
        ["count"],
        "Three.",
        main.agent,
    )
    assert [each.agent for each in main.delegations] == [helper.agent]


def test_each_trace_is_a_run(runs: Runs) -> None:
    found = runs([trace(tool("a", 1)), trace(tool("b", 1, traceId="t2"), id="t2")])
    assert [(each.record.run_id, [call.tool for call in each.record]) for each in found] == [
        ("t1", ["a"]),
        ("t2", ["b"]),
    ]


# Report.


@pytest.mark.parametrize(
    ("output", "expected"),
    [
        ('"Done."', "Done."),
        ({"role": "assistant", "content": "All done."}, "All done."),
        ('{"messages": [{"type": "ai", "content": "All done."}]}', "All done."),
        ('{"content": [{"type": "text", "text": "All done."}], "role": "assistant"}', "All done."),
        ('{"raw": "All done.", "tasks_output": []}', "All done."),
        ('{"output": "All done."}', "I am done."),
        ('{"output": "I am done."}', "I am done."),
        ("True", "I am done."),
        ('{"success": true}', "I am done."),
        (None, "I am done."),
    ],
)
def test_the_output_of_the_trace_is_the_report_where_it_is_a_message_or_a_models_words(
    output: Any, expected: str, runs: Runs
) -> None:
    said = "I am done." if expected != "Done." else "Done."
    assert runs.one(trace(model(1, said), output=output)).report == expected


def test_a_trace_without_observations_has_a_report_and_no_calls(runs: Runs) -> None:
    found = runs.one(trace(output="Because."))
    assert (found.report, len(found.record), found.record.completeness) == (
        "Because.",
        0,
        Completeness.SAMPLED,
    )


def test_a_trace_of_mere_steps_has_its_output_as_report(runs: Runs) -> None:
    found = runs.one(trace(observation("SPAN", "main", 1), input='{"question": "Why?"}', output="Because."))
    assert (found.report, found.task) == ("Because.", "Why?")


# Damage.


@pytest.mark.parametrize(
    "member", ["id", "type", "name", "startTime", "level", "metadata", "output", "traceId"]
)
@pytest.mark.parametrize("new", [5, True, [5]])
def test_a_member_of_another_type_makes_the_end_of_a_call_unknown(member: str, new: Any, runs: Runs) -> None:
    if (member, new) == ("output", [5]):
        return  # a list is a result like any other
    found = runs.one(trace({**tool("a", 1, level="ERROR"), member: new}, tool("b", 3)))
    assert found.record.damage
    assert found.record.completeness is Completeness.PARTIAL
    assert not any(each.failed or (each.tool == "a" and each.succeeded) for each in found.record)


@pytest.mark.parametrize(
    "content",
    [
        {"trace": 5, "observations": [tool("a", 1)]},
        {"trace": {"id": 5}, "observations": [tool("a", 1)]},
        {"trace": {"id": "t1", "output": 5}, "observations": [tool("a", 1)]},
        {"trace": {"id": "t1", "observations": [tool("a", 1)]}, "observations": 5},
        {"trace": {"id": "t1"}, "observations": [tool("a", 1), 5]},
        [trace(tool("a", 1)), 5],
        [trace(tool("a", 1)), {"x": 1}],
        jsonl(tool("a", 1), "x").replace(b'"x"', b'{"x'),
    ],
)
def test_what_cannot_be_read_is_damage_and_the_rest_is_read(content: Any, runs: Runs) -> None:
    found = runs.one(content)
    assert [each.tool for each in found.record] == ["a"]
    assert found.record.damage
    assert found.record.completeness is Completeness.PARTIAL


def test_damage_anywhere_in_a_sample_accuses_nobody(shared: Path, tmp_path: Path) -> None:
    for path in samples(shared):
        content = path.read_bytes()
        document, original = json.loads(content), list(read(path))
        for place in some(list(places(document)), 20):
            for new in (None, 5):
                changed = json.dumps(altered(document, place, new)).encode()
                found = read_or_refuse(read, tmp_path / "file", changed)
                assert is_harmless(found, original), (path, place, new)
        for end in range(0, len(content), 1 + len(content) // 8):
            assert is_harmless(read_or_refuse(read, tmp_path / "file", content[:end]), original), (path, end)


def test_the_reader_is_a_module_with_the_names_of_the_protocol() -> None:
    assert langfuse.NAME == "langfuse"
