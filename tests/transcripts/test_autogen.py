"""AutoGen messages and states: calls and results by agent, users, and when a conversation is closed."""

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
from dispatch_fidelity.transcripts.autogen import read, recognise

CLOSED, PARTIAL = Completeness.CLOSED, Completeness.PARTIAL
Runs = Callable[[Any], list[ImportedRun]]


def text(content: Any = "It is 9 C.", source: str = "helper", kind: str = "TextMessage") -> dict[str, Any]:
    return {"type": kind, "source": source, "content": content, "created_at": "2026-01-01T00:00:00Z"}


def call(source_id: Any = "c1", tool: str = "get_weather", given: Any = '{"city": "Graz"}') -> dict[str, Any]:
    return {"id": source_id, "name": tool, "arguments": given}


def request(*calls: Any, source: str = "helper") -> dict[str, Any]:
    return text(list(calls) or [call()], source, "ToolCallRequestEvent")


def outcome(source_id: Any = "c1", content: Any = "9 C", is_error: Any = False) -> dict[str, Any]:
    return {"call_id": source_id, "name": "get_weather", "content": content, "is_error": is_error}


def answer(*results: Any, source: str = "helper") -> dict[str, Any]:
    return text(list(results) or [outcome()], source, "ToolCallExecutionEvent")


def user(content: str = "Weather in Graz?", source: str = "user") -> dict[str, Any]:
    return text(content, source)


WHOLE = [user(), request(call("a"), call("b")), answer(outcome("a"), outcome("b", "no", True)), text()]


@pytest.fixture
def runs(tmp_path: Path) -> Runs:
    return lambda content: list(read(written(tmp_path / "messages.json", content)))


def test_every_sample_has_its_counts_and_is_closed(shared: Path) -> None:
    for name in ("autogen_agent_state.json", "autogen_agentchat_messages.json"):
        found = list(read(shared / "transcripts/autogen" / name))
        assert tuple(counts(found).values()) == (1, 2, 1, 0, 29), name
        assert [each.record.completeness for each in found] == [CLOSED], name
        assert [(each.agent, each.task) for each in found] == [
            ("weather_agent", "Weather in Graz and Nowhere?")
        ]


def test_only_samples_of_this_format_are_recognised(shared: Path) -> None:
    for path in (shared / "transcripts/autogen").iterdir():
        assert recognise(path.read_bytes()) >= 0.9, path.name
    assert [name for name, head in foreign_samples(shared, "autogen/") if recognise(head) >= 0.5] == []


def test_calls_of_one_event_are_made_together_and_end_by_their_flags(runs: Runs) -> None:
    (found,) = runs(WHOLE)
    assert [(e.tool, e.args, e.status, e.learned, e.result, e.step) for e in found.record] == [
        ("get_weather", {"city": "Graz"}, Status.RETURNED, Learned.FLAG, "9 C", 1),
        ("get_weather", {"city": "Graz"}, Status.RAISED, Learned.FLAG, "no", 1),
    ]
    assert (found.report, found.record.completeness) == ("It is 9 C.", CLOSED)


def test_without_a_flag_a_call_returned_by_default(runs: Runs) -> None:
    result = {name: item for name, item in outcome().items() if name != "is_error"}
    (found,) = runs([user(), request(), answer(result), text()])
    assert [(e.status, e.learned) for e in found.record] == [(Status.RETURNED, Learned.DEFAULT)]
    assert found.record.completeness is CLOSED


@pytest.mark.parametrize(
    "words", ["Error: tool 'x' not found in any workbench", "The tool 'x' is not available."]
)
def test_a_tool_that_is_not_there_never_ran(runs: Runs, words: str) -> None:
    (found,) = runs([user(), request(), answer(outcome("c1", words, True)), text()])
    assert [(e.status, e.learned) for e in found.record] == [(Status.INVALID, Learned.TEXT_PATTERN)]
    (found,) = runs([user(), request(), answer(outcome("c1", words, False)), text()])
    assert [e.status for e in found.record] == [Status.RETURNED]


def test_an_id_may_repeat_in_later_events(runs: Runs) -> None:
    again = answer(outcome("c1", "8 C"))
    (found,) = runs([user(), request(), answer(), request(), again, text()])
    assert [e.result for e in found.record] == ["9 C", "8 C"]
    assert found.record.completeness is CLOSED


def test_agents_are_runs_of_their_own_and_know_what_the_others_called(runs: Runs) -> None:
    one, two = runs([user(), request(), answer(), text("Done."), text("Checked.", "critic")])
    assert [(each.agent, each.report, len(each.record)) for each in (one, two)] == [
        ("helper", "Done.", 1),
        ("critic", "Checked.", 0),
    ]
    assert (len(one.behalf), len(two.behalf)) == (0, 1)
    assert {each.record.completeness for each in (one, two)} == {CLOSED}


def test_an_open_call_of_one_agent_leaves_the_records_of_all_partial(runs: Runs) -> None:
    found = runs([user(), request(), text("Done."), text("Checked.", "critic")])
    assert [each.record.completeness for each in found] == [PARTIAL, PARTIAL]


def test_who_was_asked_for_input_is_a_user(runs: Runs) -> None:
    asked = {"type": "UserInputRequestedEvent", "source": "boss", "content": "", "request_id": "1"}
    (found,) = runs([user(), text("Shall I?"), asked, user("Yes.", "boss"), text("Done.")])
    assert (found.agent, found.task, found.report) == ("helper", "Yes.", "Done.")


def test_a_stop_word_a_thought_and_a_hand_off_are_no_report(runs: Runs) -> None:
    others = [text(f"{kind}.", kind=kind) for kind in ("ThoughtEvent", "HandoffMessage", "StopMessage")]
    (found,) = runs([user(), text("Done."), *others, text("TERMINATE")])
    assert (found.report, found.record.completeness) == ("Done.", CLOSED)


def test_structured_and_multi_modal_messages_and_summaries_are_words(runs: Runs) -> None:
    (found,) = runs([user(), text({"city": "Graz"}, kind="StructuredMessage[City]")])
    assert json.loads(found.report) == {"city": "Graz"}
    (found,) = runs([user(), text(["Look:", {"data": "…"}], kind="MultiModalMessage")])
    assert found.report == "Look:"
    (found,) = runs([user(), request(), answer(), text("9 C", kind="ToolCallSummaryMessage")])
    assert (found.report, found.record.completeness) == ("9 C", CLOSED)


def test_code_that_was_run_is_a_call_with_an_exit_code(runs: Runs) -> None:
    block = {"code": "exit(1)", "language": "python"}
    generated = {**text(kind="CodeGenerationEvent"), "code_blocks": [block]}
    executed = {**text(kind="CodeExecutionEvent"), "result": {"exit_code": 1, "output": "bad"}}
    (found,) = runs([user(), generated, executed, text()])
    assert [(e.tool, e.args, e.status, e.learned, e.result) for e in found.record] == [
        ("code_executor", {"code": "exit(1)"}, Status.RAISED, Learned.EXIT_CODE, "bad")
    ]


@pytest.mark.parametrize(
    ("messages", "note"),
    [
        ([text()], "the beginning of the conversation is not in the file"),
        ([user(), request(), answer()], "the end of the run is not in the file"),
        ([user(), text(), user("And?")], "the end of the run is not in the file"),
        ([user(), text(kind="CustomEvent"), text()], "'CustomEvent' are not known here"),
        (
            [user(), request(call(given=None)), answer(), text()],
            "the arguments of some calls were not captured",
        ),
    ],
)
def test_a_conversation_that_is_not_whole_is_partial_and_says_why(
    runs: Runs, messages: Any, note: str
) -> None:
    (found,) = runs(messages)
    assert found.record.completeness is PARTIAL
    assert any(note in each for each in found.record.notes)


def test_a_task_result_and_lines_of_a_stream_are_the_same_conversation(runs: Runs) -> None:
    result = {"messages": WHOLE, "stop_reason": None}
    (expected,) = runs(WHOLE)
    for content in (result, jsonl(*WHOLE), jsonl(*WHOLE, result), jsonl(WHOLE)):
        (found,) = runs(content)
        assert found.record.executions == expected.record.executions
        assert (found.report, found.record.completeness) == (expected.report, CLOSED)
    assert recognise(jsonl(*WHOLE)) >= 0.9


def context(*messages: Any) -> dict[str, Any]:
    return {
        "type": "AssistantAgentState",
        "version": "1.0.0",
        "llm_context": {"messages": list(messages)},
    }


def state(name: str) -> dict[str, Any]:
    return context(
        {"type": "UserMessage", "source": "user", "content": "Weather?"},
        {"type": "AssistantMessage", "source": name, "content": [call()]},
        {"type": "FunctionExecutionResultMessage", "content": [outcome()]},
        {"type": "AssistantMessage", "source": name, "content": f"{name} is done."},
    )


def test_the_states_in_a_team_are_runs_and_the_thread_of_its_manager_is_not(runs: Runs) -> None:
    states = {
        "a": {"type": "ChatAgentContainerState", "agent_state": state("a"), "message_buffer": []},
        "b/1-2": {"type": "ChatAgentContainerState", "agent_state": state("b")},
        "Manager": {"type": "RoundRobinManagerState", "message_thread": [user(), text()]},
    }
    found = runs({"type": "TeamState", "version": "1.0.0", "agent_states": states})
    assert [(each.agent, each.report, len(each.record)) for each in found] == [
        ("a", "a is done.", 1),
        ("b", "b is done.", 1),
    ]
    assert [each.record.completeness for each in found] == [PARTIAL, PARTIAL]


def test_a_state_that_was_told_of_another_agents_work_is_partial(runs: Runs) -> None:
    other = {"type": "UserMessage", "source": "critic", "content": "I deleted it."}
    messages = state("a")["llm_context"]["messages"]
    (found,) = runs(context(messages[0], other, *messages[1:]))
    assert found.record.completeness is PARTIAL
    assert any("the work of 'critic'" in note for note in found.record.notes)
    assert found.task == "Weather?"


@pytest.mark.parametrize("content", [b"", b"{}", b"[]", b"7", {"messages": []}, [{"role": "user"}], b"plain"])
def test_what_is_no_conversation_is_refused(runs: Runs, content: Any) -> None:
    with pytest.raises(InvalidInputError):
        runs(content)


def test_a_broken_line_leaves_the_rest_readable_and_the_record_partial(runs: Runs) -> None:
    for place in range(len(WHOLE) + 1):
        content = jsonl(*WHOLE[:place]) + b'{"type\n' + jsonl(*WHOLE[place:])
        (found,) = runs(content)
        assert (len(found.record), found.record.completeness) == (2, PARTIAL)
        assert [damage.line for damage in found.record.damage] == [place + 1]


def test_a_damaged_result_is_unknown_and_no_failure(runs: Runs) -> None:
    (found,) = runs([user(), request(), answer(outcome("c1", 7, True)), text()])
    assert [(e.status, e.result) for e in found.record] == [(Status.UNKNOWN, Unknown("unreadable"))]
    (found,) = runs([user(), request(), answer(outcome("c1", "9 C", "yes")), text()])
    assert [e.status for e in found.record] == [Status.UNKNOWN]


def test_wrong_types_anywhere_accuse_no_one(tmp_path: Path, shared: Path) -> None:
    free = ("metadata", "models_usage")
    check_wrong_types(read, tmp_path / "file", WHOLE, free=free, limit=300)
    check_wrong_types(read, tmp_path / "file", WHOLE, free=free, limit=300, lines=True)
    for path in (shared / "transcripts/autogen").iterdir():
        document = json.loads(path.read_bytes())
        check_wrong_types(read, tmp_path / "file", document, free=free, limit=100)
        check_missing(read, tmp_path / "file", document, free=free, limit=100)


def test_a_file_that_was_cut_is_refused_or_read_as_far_as_it_goes(tmp_path: Path) -> None:
    check_cut(read, tmp_path / "file", json.dumps(WHOLE, indent=1).encode(), 60)
    check_cut(read, tmp_path / "file", jsonl(*WHOLE), 60, lines=True)


def test_a_key_that_stands_twice_is_damage_where_it_stands(tmp_path: Path) -> None:
    for repeated in ('"source": "user"', '"call_id": "a"', '"content": "no"'):
        content = json.dumps(WHOLE).replace(repeated, f"{repeated}, {repeated}", 1).encode()
        found = read_or_refuse(read, written(tmp_path / "file", content))
        assert found is None or [each.record.completeness for each in found] == [PARTIAL]


def test_very_many_agents_and_damaged_places_are_read_in_linear_space(runs: Runs) -> None:
    found = runs([user(), *(text(source=f"a{n}") for n in range(3000)), *([7] * 3000), text()])
    assert len(found) == 3001
    assert {each.record.completeness for each in found} == {PARTIAL}
    assert max(len(each.record.damage) for each in found) == 101
    assert not any(each.behalf for each in found)


def test_a_flag_that_says_nothing_leaves_the_end_open(runs: Runs) -> None:
    (found,) = runs([user(), request(), answer(outcome("c1", "no", None)), text()])
    assert [each.status for each in found.record] == [Status.UNKNOWN]
    assert found.record.completeness is PARTIAL


def test_a_result_without_the_flag_that_others_carry_is_open(runs: Runs) -> None:
    bare = {name: item for name, item in outcome("b").items() if name != "is_error"}
    (found,) = runs([user(), request(call("a"), call("b")), answer(outcome("a"), bare), text()])
    assert [each.status for each in found.record] == [Status.RETURNED, Status.UNKNOWN]
    assert found.record.completeness is PARTIAL
