"""LangSmith runs: tool runs joined with what the model asked for, agents inside tools, and spans that are missing."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from message_damage import HEAD, by_status, counts, first, jsonl, put, read_or_refuse, recognised, runs
from message_damage import damaged as with_damage

from dispatch_fidelity.errors import InvalidInputError
from dispatch_fidelity.model.call import Status, Unknown
from dispatch_fidelity.model.frozen import UNSET
from dispatch_fidelity.model.run import Completeness, ImportedRun
from dispatch_fidelity.transcripts.langsmith import NAME, read, recognise
from dispatch_fidelity.transcripts.linking import link

Run = dict[str, Any]


def span(kind: str, run_id: str, parent: str | None = "root", **members: Any) -> Run:
    """A run; its id gives its place in time, unless it is the root."""
    start = members.pop("start", run_id)
    base: Run = {"id": run_id, "run_type": kind, "name": run_id, "parent_run_id": parent, "trace_id": "root"}
    base |= {"start_time": f"2026-01-01 00:00:{start}", "end_time": "2026-01-01 00:01:00", "error": None}
    return {**base, "inputs": {}, "outputs": {}, "extra": {}, **members}


def answer(content: str, *calls: Run, **members: Any) -> Run:
    """The outputs of a model run of LangChain."""
    inner = {"type": "ai", "content": content, "tool_calls": list(calls), **members}
    return {"generations": [[{"text": content, "message": {"lc": 1, **_constructor(inner)}}]]}


def _constructor(inner: Run) -> Run:
    return {"type": "constructor", "id": ["langchain", "schema", "messages", "AIMessage"], "kwargs": inner}


def call(call_id: str = "c1", name: str = "get_weather", **args: Any) -> Run:
    return {"name": name, "args": args or {"city": "Graz"}, "id": call_id, "type": "tool_call"}


def tool_message(call_id: str = "c1", content: Any = "9 C", status: Any = "success") -> Run:
    return {
        "type": "tool",
        "content": content,
        "tool_call_id": call_id,
        "status": status,
        "additional_kwargs": {},
    }


def tool(run_id: str = "03", parent: str = "root", name: str = "get_weather", **members: Any) -> Run:
    members = {"inputs": {"city": "Graz"}, "outputs": {"output": tool_message()}} | members
    return span("tool", run_id, parent, name=name, **members)


ASKS = {"messages": [{"type": "human", "content": "Weather in Graz?", "additional_kwargs": {}}]}
ENDS = {"messages": [{"type": "ai", "content": "It is 9 C.", "additional_kwargs": {}}]}
ROOT = span("chain", "root", None, start="00", inputs=ASKS, outputs=ENDS)
TRACE = [
    ROOT,
    span("llm", "02", outputs=answer("Checking.", call())),
    tool(),
    span("llm", "04", outputs=answer("It is 9 C.")),
]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "runs.jsonl"


def run(path: Path, *spans: Run) -> ImportedRun:
    (found,) = runs(read, path, jsonl(*spans))
    return found


def ended(path: Path, **members: Any) -> ImportedRun:
    """The trace with another end of its tool run."""
    return run(path, *TRACE[:2], tool(**members), TRACE[3])


# The real file.


def test_the_sample_has_two_tool_runs_and_two_calls_that_never_had_one(shared: Path) -> None:
    (found,) = read(shared / "transcripts/langsmith/runs.jsonl")
    assert counts([found]) == {"runs": 1, "calls": 4, "errored": 3, "open": 0, "final_chars": 44}
    assert sorted(by_status(found)) == [
        ("get_stock", "raised", "flag"),
        ("get_weather", "invalid", "flag"),
        ("get_weather", "returned", "flag"),
        ("no_such_tool", "invalid", "flag"),
    ]
    assert found.task == "Weather in Graz and price of ACME?"
    assert found.record.run_id == "01a22d19-fb54-72ee-8239-bee9b884e18e"
    stock = next(each for each in found.record if each.tool == "get_stock")
    assert (stock.at[:19], stock.until[:19]) == ("2026-11-30 15:36:47", "2026-11-30 15:36:47")


def test_of_all_shared_samples_only_this_one_is_recognised(shared: Path) -> None:
    assert recognised(recognise, shared / "transcripts") == ["langsmith/runs.jsonl"]


def test_no_log_of_our_own_is_recognised(artifacts: Path) -> None:
    assert recognised(recognise, artifacts) == []


# Shapes of a file.


@pytest.mark.parametrize(
    "content",
    [
        jsonl(*TRACE),
        jsonl(*reversed(TRACE)),
        TRACE,
        {"runs": TRACE, "cursors": {}},
        {**ROOT, "child_runs": TRACE[1:]},
        jsonl(*({**{k: v for k, v in each.items() if k != "id"}, "run_id": each["id"]} for each in TRACE)),
        jsonl(*({k: v for k, v in each.items() if k != "end_time"} for each in TRACE)),
    ],
)
def test_each_shape_of_a_file_gives_the_same_sampled_run(path: Path, content: Any) -> None:
    (found,) = runs(read, path, content)
    assert recognise(path.read_bytes()[:HEAD]) >= 0.5
    assert (found.record.completeness, found.record.format) == (Completeness.SAMPLED, NAME)
    assert (found.report, found.task) == ("It is 9 C.", "Weather in Graz?")
    assert [(each.tool, each.args, each.result) for each in found.record] == [
        ("get_weather", {"city": "Graz"}, "9 C")
    ]


def test_each_trace_is_a_run(path: Path) -> None:
    other = [{**each, "trace_id": "other", "id": f"o{each['id']}"} for each in TRACE[1:]]
    found = runs(read, path, jsonl(*TRACE, *other))
    assert [each.record.run_id for each in found] == ["root", "other"]
    assert "the root of the trace is not in the file" in found[1].record.notes
    assert found[1].report == "It is 9 C."


# Calls.


def test_calls_are_joined_by_their_id_and_older_ones_by_name_and_order(path: Path) -> None:
    asked = answer("", call("a", "t", n=1), call("b", "t", n=2))
    spans = [ROOT, span("llm", "02", outputs=asked)]
    by_id = [
        tool("03", name="t", inputs={"n": 2}, outputs={"output": "two"}, extra={"tool_call_id": "b"}),
        tool("04", name="t", inputs={"n": 1}, outputs={"output": "one"}, extra={"tool_call_id": "a"}),
    ]
    found = run(path, *spans, *by_id)
    assert [(each.args, each.result, each.source_id) for each in found.record] == [
        ({"n": 2}, "two", "b"),
        ({"n": 1}, "one", "a"),
    ]
    assert len({each.step for each in found.record}) == 1
    by_name = [
        tool("03", name="t", inputs={"input": "{'n': 1}"}, outputs={"output": "one"}),
        tool("04", name="t", inputs={"input": "{'n': 2}"}, outputs={"output": "two"}),
    ]
    found = run(path, *spans, *by_name)
    assert [(each.args, each.result) for each in found.record] == [({"n": 1}, "one"), ({"n": 2}, "two")]


def test_what_was_injected_into_a_tool_is_no_argument_and_edited_arguments_are_those_of_the_run(
    path: Path,
) -> None:
    assert first(ended(path, inputs={"city": "Graz", "state": {"x": 1}})).args == {"city": "Graz"}
    assert first(ended(path, inputs={"city": "Wien"})).args == {"city": "Wien"}


@pytest.mark.parametrize(
    ("members", "expected"),
    [
        ({}, ("returned", "flag", "9 C")),
        ({"outputs": {"output": tool_message(status="error")}}, ("raised", "flag", "9 C")),
        ({"outputs": {"output": "9 C"}}, ("returned", "default", "9 C")),
        ({"outputs": {"output": "Error: no city"}}, ("raised", "text pattern", "Error: no city")),
        ({"outputs": {"output": '{"ok": false}'}}, ("raised", "value", '{"ok": false}')),
        ({"outputs": {"update": {"messages": [tool_message()]}, "goto": "x"}}, ("returned", "flag", "9 C")),
        ({"error": "ValueError('no city')Traceback", "outputs": None}, ("raised", "flag", UNSET)),
        ({"error": "CancelledError()", "outputs": None}, ("cancelled", "flag", UNSET)),
        (
            {"error": "GraphInterrupt((Interrupt(value='ok?'),))", "outputs": None},
            ("unfinished", "default", UNSET),
        ),
        ({"end_time": None, "outputs": None}, ("unfinished", "default", UNSET)),
        ({"outputs": None}, ("returned", "flag", Unknown("not captured"))),
        ({"outputs": {}}, ("returned", "flag", Unknown("not captured"))),
        ({"outputs": 5}, ("unknown", "default", Unknown("unreadable"))),
        ({"error": 5}, ("unknown", "default", Unknown("unreadable"))),
        ({"outputs": {"output": tool_message(content=5)}}, ("unknown", "default", Unknown("unreadable"))),
        ({"outputs": {"output": tool_message(status="x")}}, ("unknown", "default", Unknown("unreadable"))),
    ],
)
def test_the_end_of_a_tool_run_is_its_error_or_the_status_of_its_message(
    path: Path, members: Run, expected: tuple[str, str, Any]
) -> None:
    found = first(ended(path, **members))
    assert (str(found.status), str(found.learned), found.result) == expected


def test_a_hand_over_to_another_agent_is_no_failure(path: Path) -> None:
    assert (
        first(ended(path, error="ParentCommand(Command(goto='b'))", outputs=None)).status is Status.RETURNED
    )


def test_an_error_keeps_its_name_and_what_the_model_was_shown_of_it(path: Path) -> None:
    node = span("chain", "05", outputs={"messages": [tool_message(content="Sorry: no city", status="error")]})
    raised = tool(error="ValueError('no city')", outputs=None, extra={"tool_call_id": "c1"})
    found = first(run(path, *TRACE[:2], raised, node))
    assert (found.error, found.message, found.shown) == (
        "ValueError",
        "ValueError('no city')",
        "Sorry: no city",
    )


def test_the_flag_of_a_handled_error_may_stand_in_the_message_alone(path: Path) -> None:
    node = span("chain", "05", outputs={"messages": [tool_message(content="no city", status="error")]})
    handled = tool(outputs={"output": "no city"}, extra={"tool_call_id": "c1"})
    assert by_status(run(path, *TRACE[:2], handled, node)) == [("get_weather", "raised", "flag")]


def test_a_call_that_was_asked_for_and_has_no_run_is_unknown_or_ended_by_its_message(path: Path) -> None:
    found = run(path, *TRACE[:2], TRACE[3])
    assert by_status(found) == [("get_weather", "unknown", "default")]
    assert "calls that a model asked for have no run" in found.record.notes
    node = span("chain", "03", outputs={"messages": [tool_message()]})
    assert by_status(run(path, *TRACE[:2], node, TRACE[3])) == [("get_weather", "returned", "flag")]


def test_without_model_runs_the_messages_after_the_last_request_say_what_was_asked_for(path: Path) -> None:
    earlier = {"type": "ai", "content": "", "tool_calls": [call("c0")], "additional_kwargs": {}}
    asked = {"type": "ai", "content": "", "tool_calls": [call()], "additional_kwargs": {}}
    messages = [earlier, tool_message("c0"), *ASKS["messages"], asked, tool_message(), *ENDS["messages"]]
    found = run(path, {**ROOT, "outputs": {"messages": messages}})
    assert [(each.tool, each.source_id, str(each.status)) for each in found.record] == [
        ("get_weather", "c1", "returned")
    ]


def test_the_form_of_a_structured_answer_is_no_call(path: Path) -> None:
    extra: Run = {"metadata": {"ls_structured_output_format": {"kwargs": {}}}}
    assert len(run(path, ROOT, span("llm", "02", outputs=answer("", call()), extra=extra)).record) == 0


@pytest.mark.parametrize(
    "outputs",
    [
        {"choices": [{"message": {"role": "assistant", "content": "", "tool_calls": [
            {"id": "c1", "function": {"name": "get_weather", "arguments": '{"city": "Graz"}'}}
        ]}}]},
        {"role": "assistant", "content": [
            {"type": "tool_use", "id": "c1", "name": "get_weather", "input": {"city": "Graz"}}
        ]},
        {"output": [
            {"type": "function_call", "call_id": "c1", "name": "get_weather", "arguments": '{"city": "Graz"}'}
        ]},
    ],
)  # fmt: skip
def test_wrapped_clients_write_what_was_asked_for_in_their_own_shape(path: Path, outputs: Run) -> None:
    hidden = tool(inputs={}, outputs={"output": "9 C"}, extra={"tool_call_id": "c1"})
    found = run(path, ROOT, span("llm", "02", outputs=outputs), hidden, TRACE[3])
    assert [(each.args, each.result, str(each.status)) for each in found.record] == [
        ({"city": "Graz"}, "9 C", "returned")
    ]


def test_what_is_hidden_is_not_captured_and_the_note_names_the_settings(path: Path) -> None:
    spans = [{**each, "inputs": {}, "outputs": {}} for each in TRACE]
    found = run(path, *spans)
    assert (first(found).args, first(found).result) == (Unknown("not captured"), Unknown("not captured"))
    assert any("LANGSMITH_HIDE_INPUTS" in note for note in found.record.notes)
    assert found.report == ""


def test_a_call_without_arguments_is_captured_where_other_runs_show_theirs(path: Path) -> None:
    assert first(run(path, ROOT, tool(inputs={}))).args == {}


# Agents.


NESTED = [
    ROOT,
    span("llm", "02", outputs=answer("", call("c1", "research", topic="rain"))),
    tool(
        "03", name="research", inputs={"topic": "rain"}, outputs={"output": tool_message(content="It rains.")}
    ),
    span("chain", "04", "03"),
    span("llm", "05", "04", outputs=answer("", call("c2", "search", q="rain"))),
    tool("06", "04", name="search", inputs={"q": "rain"}, outputs={"output": tool_message("c2", "wet")}),
    span("llm", "07", "04", outputs=answer("It rains.")),
    span("llm", "08", outputs=answer("It is 9 C.")),
]


def test_a_tool_run_that_holds_an_agent_is_a_run_of_its_own(path: Path) -> None:
    main, helper = runs(read, path, jsonl(*NESTED))
    assert [each.tool for each in main.record] == ["research"]
    assert [each.tool for each in helper.record] == ["search"]
    assert (helper.agent, helper.parent, helper.report, helper.task) == ("03", "agent", "It rains.", "rain")
    (delegation,) = main.delegations
    assert (delegation.call, delegation.agent, delegation.report, delegation.calls) == (
        "0",
        "03",
        "It rains.",
        -1,
    )
    assert [each.tool for each in link([main, helper])[0].behalf] == ["search"]
    assert main.report == "It is 9 C."


def test_a_model_that_a_tool_uses_for_itself_is_no_agent_and_says_nothing(path: Path) -> None:
    inner = span("llm", "04", "03", outputs=answer("A summary."))
    found = run(path, *[{**ROOT, "outputs": {}}, *TRACE[1:3], inner])
    assert (found.report, [each.tool for each in found.record]) == ("Checking.", ["get_weather"])


def test_the_node_around_a_tool_names_the_agent_in_a_graph_of_several(path: Path) -> None:
    extra = {"metadata": {"langgraph_checkpoint_ns": "writer:1|tools:2"}}
    assert first(run(path, ROOT, tool(extra=extra))).agent == "writer"


def test_parents_in_a_circle_do_not_hang(path: Path) -> None:
    spans = [span("chain", "01", "02"), span("chain", "02", "01"), tool("03", "02"), span("llm", "04", "01")]
    assert [each.tool for found in runs(read, path, jsonl(*spans)) for each in found.record] == [
        "get_weather"
    ]


# Damage.


@pytest.mark.parametrize("content", [b"", b"{}", b"[]", b"7", b'{"runs": 5}', b'{"run_type": 5}', b"plain"])
def test_a_file_without_runs_is_invalid_input(path: Path, content: bytes) -> None:
    with pytest.raises(InvalidInputError):
        runs(read, path, content)


def test_a_broken_line_is_damage_of_every_trace(path: Path) -> None:
    found = runs(
        read, path, jsonl(*TRACE[:2]) + b'{"id": \n' + jsonl(*TRACE[2:], {**tool("09"), "trace_id": "o"})
    )
    assert [[damage.line for damage in each.record.damage] for each in found] == [[3], [3]]
    assert [len(each.record) for each in found] == [1, 1]


def test_damage_makes_no_failure_and_is_noted(path: Path) -> None:
    whole = [*TRACE[:2], tool(outputs={"output": tool_message(status="success")}), TRACE[3]]
    for where, value in with_damage(whole, ("args", "input", "inputs"), 400):
        for found in read_or_refuse(read, path, value):
            assert found.record.completeness is Completeness.SAMPLED
            assert not any(each.failed for each in found.record), where


def test_damage_in_the_real_file_is_read_or_refused(shared: Path, path: Path) -> None:
    lines = [
        json.loads(line) for line in (shared / "transcripts/langsmith/runs.jsonl").read_bytes().splitlines()
    ]
    for _, value in with_damage(lines, ("events", "tags", "metadata"), 120):
        assert read_or_refuse(read, path, value)
    for number in range(len(lines)):
        assert read_or_refuse(read, path, put(lines, (number,), "x"))


def test_a_tree_is_recognised_by_a_head_that_ends_anywhere_after_its_first_members() -> None:
    text = json.dumps({**ROOT, "child_runs": TRACE[1:]}, indent=1).encode()
    for end in range(text.index(b'"trace_id"') + 40, len(text)):
        assert recognise(text[:end]) >= 0.5, text[:end]
