"""Traces of openai-agents: function spans without call ids, and no words of the agent."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from damaged_spans import altered, counts, heads, is_harmless, jsonl, places, read_or_refuse, some

from dispatch_fidelity.errors import InvalidInputError, MissingInputError
from dispatch_fidelity.model.call import Learned, Status, Unknown
from dispatch_fidelity.model.run import Completeness, ImportedRun
from dispatch_fidelity.transcripts import openai_agents_trace
from dispatch_fidelity.transcripts.openai_agents_trace import read, recognise

Json = dict[str, Any]

SAMPLE = "transcripts/openai_agents_trace/trace_export.json"
HEAD_ITEM: Json = {"object": "trace", "id": "t1", "workflow_name": "w", "group_id": None, "metadata": None}


def span(source: str, at: int, data: Json, parent: Any = None, error: Any = None, **more: Any) -> Json:
    return {
        "object": "trace.span",
        "id": source,
        "trace_id": "t1",
        "parent_id": parent,
        "started_at": f"2026-11-30T15:00:{at:02}.000000+00:00",
        "ended_at": f"2026-11-30T15:00:{more.pop('until', at + 1):02}.000000+00:00",
        "span_data": data,
        "error": error,
        **more,
    }


def function(name: str, at: int, given: Any = '{"q": 1}', came: Any = "one", **more: Any) -> Json:
    data = {"type": "function", "name": name, "input": given, "output": came, "mcp_data": None}
    return span(more.pop("id", f"{name}@{at}"), at, data, **more)


def agent(name: str, at: int, until: int, parent: Any = None) -> Json:
    data = {"type": "agent", "name": name, "handoffs": [], "tools": ["look", "book"], "output_type": "str"}
    return span(name, at, data, parent, until=until)


class Runs:
    """Reads contents; one call of it gives the runs."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "file"

    def __call__(self, content: Any) -> list[ImportedRun]:
        self.path.write_bytes(content if isinstance(content, bytes) else json.dumps(content).encode())
        return list(read(self.path))

    def one(self, *items: Any) -> ImportedRun:
        (found,) = self(list(items))
        return found


@pytest.fixture
def runs(tmp_path: Path) -> Runs:
    return Runs(tmp_path)


def test_the_sample_gives_the_counts_of_the_second_opinion(shared: Path) -> None:
    opinion = json.loads((shared / "transcripts/reader_counts.json").read_bytes())
    found = list(read(shared / SAMPLE))
    assert counts(found) == opinion["openai_agents_trace/trace_export.json"]
    (run,) = found
    first, second = run.record
    assert (first.tool, first.args, first.result) == ("get_weather", {"city": "Graz"}, "Graz: 9 C, rain")
    assert (first.status, first.learned, first.source_id) == (Status.RETURNED, Learned.FLAG, "")
    assert (second.status, second.learned) == (Status.RAISED, Learned.FLAG)
    assert second.message.startswith("Error running tool (non-fatal): ")
    assert first.step == second.step == 1
    assert first.at == "2026-11-30T15:37:25.469806+00:00"
    assert (run.agent, run.record.run_id) == ("weather_agent", "trace_399feedd0ff74159987056d5815b9ef8")
    assert run.record.completeness is Completeness.SAMPLED


def test_there_is_no_report_and_a_note_says_where_it_is(shared: Path) -> None:
    (found,) = read(shared / SAMPLE)
    assert found.report == ""
    assert any("final_output" in note for note in found.record.notes)


def test_of_all_shared_samples_and_our_own_logs_only_this_export_is_recognised(shared: Path) -> None:
    for path, head in heads(shared):
        assert (recognise(head) >= 0.5) is (path == shared / SAMPLE), path


def test_each_shape_of_an_export_gives_the_same_run(runs: Runs) -> None:
    items = [function("look", 2, parent="desk"), agent("desk", 1, 9), HEAD_ITEM]
    for shape in (items, {"data": items}, jsonl(*items), jsonl({"data": items[:1]}, {"data": items[1:]})):
        content = shape if isinstance(shape, bytes) else json.dumps(shape).encode()
        assert recognise(content) >= 0.8
        (found,) = runs(content)
        assert [(each.tool, each.args, each.result) for each in found.record] == [("look", {"q": 1}, "one")]
        assert found.record.tools == ("look", "book")
        assert found.record.intact


@pytest.mark.parametrize(
    "content", [b"", b"{}", b"[]", b"7", b"plain", b'[{"object": "response"}]', b'[{"object": "tr']
)
def test_a_file_without_a_trace_is_invalid_input(content: bytes, runs: Runs) -> None:
    with pytest.raises(InvalidInputError) as caught:
        runs(content)
    assert caught.value.exit_code == 65
    assert recognise(content) == 0.0


def test_a_file_that_is_not_there_is_missing_input(tmp_path: Path) -> None:
    with pytest.raises(MissingInputError):
        list(read(tmp_path / "absent"))


def test_a_trace_without_any_call_is_a_run_but_not_one_without_any_span(runs: Runs) -> None:
    assert len(runs.one(HEAD_ITEM, agent("desk", 1, 9)).record) == 0
    with pytest.raises(InvalidInputError):
        runs.one(HEAD_ITEM)


# Calls.


@pytest.mark.parametrize(
    ("more", "expected", "learned"),
    [
        ({"error": {"message": "no", "data": None}}, Status.RAISED, Learned.FLAG),
        ({"error": None}, Status.RETURNED, Learned.FLAG),
        ({"error": {}}, Status.UNKNOWN, Learned.DEFAULT),
        ({"error": 5}, Status.UNKNOWN, Learned.DEFAULT),
        (
            {"came": "An error occurred while running the tool. Please try again. Error: x"},
            Status.RAISED,
            Learned.TEXT_PATTERN,
        ),
        ({"came": "An error occurred while running the backup job in May."}, Status.RETURNED, Learned.FLAG),
        ({"came": '{"isError": true}'}, Status.RAISED, Learned.VALUE),
        ({"ended_at": None, "came": None}, Status.UNFINISHED, Learned.DEFAULT),
    ],
)
def test_the_end_of_a_call(more: Json, expected: Status, learned: Learned, runs: Runs) -> None:
    (execution,) = runs.one(function("look", 2, **more)).record
    assert (execution.status, execution.learned) == (expected, learned)


def test_sensitive_data_that_was_left_out_is_not_captured_and_the_note_names_the_setting(runs: Runs) -> None:
    found = runs.one(function("look", 2, None, None))
    (execution,) = found.record
    assert execution.args == execution.result == Unknown("not captured")
    assert "OPENAI_AGENTS_TRACE_INCLUDE_SENSITIVE_DATA=true" in "\n".join(found.record.notes)


def test_agents_that_hand_off_are_one_run_and_an_agent_as_a_tool_is_its_own(runs: Runs) -> None:
    main, helper = runs(
        [
            function("look", 2, parent="triage"),
            span("h", 4, {"type": "handoff", "from_agent": "triage", "to_agent": "desk"}, "triage"),
            agent("triage", 1, 5),
            function("book", 7, parent="desk", id="s", until=12),
            agent("helper", 8, 11, "s"),
            function("count", 9, parent="helper"),
            agent("desk", 6, 20),
            HEAD_ITEM,
        ]
    )
    assert [(each.tool, each.agent) for each in main.record] == [("look", "triage"), ("book", "desk")]
    assert ([each.tool for each in helper.record], helper.parent) == (["count"], "triage")
    assert [(each.call, each.agent, each.report) for each in main.delegations] == [("1", "helper (s)", "one")]


def test_generation_spans_hold_words_and_call_ids(runs: Runs) -> None:
    call = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": '{"q": 1}'}}
    asked = [{"role": "user", "content": "Go."}]
    answered = [
        *asked,
        {"role": "assistant", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1", "content": "one"},
    ]
    found = runs.one(
        span(
            "g1",
            1,
            {"type": "generation", "input": asked, "output": [{"role": "assistant", "tool_calls": [call]}]},
        ),
        function("look", 3),
        span(
            "g2",
            5,
            {"type": "generation", "input": answered, "output": [{"role": "assistant", "content": "Gone."}]},
        ),
        span("r", 7, {"type": "guardrail", "name": "x", "triggered": False}),
    )
    (execution,) = found.record
    assert (execution.source_id, execution.step, found.report, found.task) == ("c1", 0, "Gone.", "Go.")


def test_a_response_span_whose_words_are_elsewhere_leaves_no_earlier_words_as_report(runs: Runs) -> None:
    said = [{"role": "assistant", "content": "Looking."}]
    found = runs.one(
        span("g1", 1, {"type": "generation", "output": said}),
        span("r", 5, {"type": "response", "response_id": "resp_1"}),
    )
    assert found.report == ""


# Damage.


@pytest.mark.parametrize(
    "path", [("id",), ("trace_id",), ("started_at",), ("object",), ("span_data", "output"), ("error",)]
)
@pytest.mark.parametrize("new", [5, True, [5], {"a": 1}])
def test_a_member_of_another_type_makes_the_end_of_a_call_unknown(
    path: tuple[str, ...], new: Any, runs: Runs
) -> None:
    broken = altered(function("look", 2, error={"message": "no"}), path, new)
    found = runs.one(broken, function("book", 4), HEAD_ITEM)
    assert found.record.damage
    assert found.record.completeness is Completeness.PARTIAL
    assert not any(each.failed or (each.tool == "look" and each.succeeded) for each in found.record)


@pytest.mark.parametrize("item", [5, None, {"x": 1}, {"object": "trace", "id": 5}, {"object": "trace.span"}])
def test_what_cannot_be_read_is_damage_and_the_rest_is_read(item: Any, runs: Runs) -> None:
    found = runs.one(function("look", 2), item)
    assert [each.tool for each in found.record] == ["look"]
    assert found.record.damage


def test_damage_anywhere_in_the_sample_accuses_nobody(shared: Path, tmp_path: Path) -> None:
    content = (shared / SAMPLE).read_bytes()
    document, original = json.loads(content), list(read(shared / SAMPLE))
    for place in some(list(places(document)), 200):
        for new in (None, 5, True, [5], {"a": 1}):
            changed = json.dumps(altered(document, place, new)).encode()
            assert is_harmless(read_or_refuse(read, tmp_path / "file", changed), original), (place, new)
    lines = jsonl(*document)
    for end in range(0, len(lines), 40):
        for cut in (lines[:end], content[:end], lines[:end] + b"\n" + lines[end + 9 :]):
            assert is_harmless(read_or_refuse(read, tmp_path / "file", cut), original), end


def test_the_reader_is_a_module_with_the_names_of_the_protocol() -> None:
    assert openai_agents_trace.NAME == "openai-agents-trace"
