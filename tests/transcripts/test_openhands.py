"""OpenHands: events of both versions to calls, sub-agents in the same stream, stored conversations, damage."""

from __future__ import annotations

import json
import tracemalloc
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
    written,
)

from dispatch_fidelity.errors import InvalidInputError
from dispatch_fidelity.model.call import Learned, Status, Unknown
from dispatch_fidelity.model.run import Completeness, DamageKind, ImportedRun
from dispatch_fidelity.transcripts.linking import link
from dispatch_fidelity.transcripts.openhands import read, recognise, side

Event = dict[str, Any]
Runs = Callable[[Any], list[ImportedRun]]
Run = Callable[..., ImportedRun]
CLOSED, PARTIAL = Completeness.CLOSED, Completeness.PARTIAL


@pytest.fixture
def runs(tmp_path: Path) -> Runs:
    return lambda content: list(read(written(tmp_path / "trajectory.json", content)))


@pytest.fixture
def run(runs: Runs) -> Run:
    """The one run of these events of version 0."""

    def only(*events: Event) -> ImportedRun:
        (found,) = runs(list(events))
        return found

    return only


@pytest.fixture
def sdk(runs: Runs) -> Run:
    """The one run of these events of version 1, one a line."""

    def only(*events: Event) -> ImportedRun:
        (found,) = runs(jsonl(*events))
        return found

    return only


# Real files.

SAMPLES = {
    "eval_output_one_instance.jsonl": (1, 22, 6, 0, 266),
    "v0_trajectory_basic.json": (1, 1, 0, 0, 536),
    "v1_sdk_events.jsonl": (1, 2, 2, 0, 126),
}


def test_every_sample_has_its_counts_and_the_one_that_is_cut_is_partial(shared: Path) -> None:
    folder = shared / "transcripts/openhands"
    assert {path.name for path in folder.iterdir()} == set(SAMPLES)
    for name, expected in SAMPLES.items():
        found = list(read(folder / name))
        assert tuple(counts(found).values()) == expected, name
        assert [each.record.completeness is CLOSED for each in found] == [name != "v1_sdk_events.jsonl"], name


def test_five_failures_of_the_evaluation_have_a_code_and_one_edit_was_refused_in_words(shared: Path) -> None:
    (found,) = read(shared / "transcripts/openhands/eval_output_one_instance.jsonl")
    learned = [execution.learned for execution in found.record if execution.failed]
    assert (learned.count(Learned.EXIT_CODE), learned.count(Learned.TEXT_PATTERN)) == (5, 1)
    assert found.record.run_id == "ponylang__ponyc-4595"
    assert "execute_bash" in found.record.tools


def test_the_cut_sample_has_one_result_without_its_call(shared: Path) -> None:
    (found,) = read(shared / "transcripts/openhands/v1_sdk_events.jsonl")
    assert [(e.status, e.learned) for e in found.record] == [
        (Status.INVALID, Learned.FLAG),
        (Status.RAISED, Learned.EXIT_CODE),
    ]
    assert [damage.kind for damage in found.record.damage] == [DamageKind.LIFECYCLE]
    assert not found.report.startswith("<think>")


def test_only_samples_of_this_format_are_recognised(shared: Path) -> None:
    for path in (shared / "transcripts/openhands").iterdir():
        assert recognise(path.read_bytes()[: 64 * 1024]) >= 0.9, path.name
    others = list(foreign_samples(shared, "openhands/"))
    assert [name for name, head in others if recognise(head) >= 0.5 or side(head)] == []


# Version 0.


def act(number: int, action: str = "run", source: str = "agent", **args: Any) -> Event:
    return {
        "id": number,
        "timestamp": f"t{number}",
        "source": source,
        "message": "",
        "action": action,
        "args": args,
    }


def seen(number: int, cause: Any, kind: str = "run", content: Any = "a.py", **extras: Any) -> Event:
    if kind == "run":
        extras = {"metadata": {"exit_code": 0}, **extras}
    common = {"id": number, "timestamp": f"t{number}", "source": "agent", "message": ""}
    return {**common, "cause": cause, "observation": kind, "content": content, "extras": extras}


ASK = act(0, "message", "user", content="List the files.")
RUN = act(1, command="ls", thought="I look.")
FINISH = act(9, "finish", final_thought="There is a.py.", thought="Done.")


def test_an_action_and_the_observation_that_names_it_are_a_call(run: Run) -> None:
    found = run(ASK, RUN, seen(2, 1), FINISH)
    (execution,) = found.record
    assert (execution.tool, execution.args, execution.result) == ("run", {"command": "ls"}, "a.py")
    assert (execution.status, execution.learned) == (Status.RETURNED, Learned.EXIT_CODE)
    assert (execution.at, execution.until) == ("t1", "t2")
    assert (found.report, found.task) == ("There is a.py.", "List the files.")
    assert found.record.completeness is CLOSED


def metadata(source_id: str, given: Any, answer: str = "r1", **more: Any) -> dict[str, Any]:
    made = {"id": source_id, "function": {"name": "execute_bash", "arguments": json.dumps(given)}}
    response = {"id": answer, "choices": [{"message": {"tool_calls": [made]}}]}
    return {"function_name": "execute_bash", "tool_call_id": source_id, "model_response": response, **more}


def test_name_and_arguments_are_those_of_the_tool_call_where_it_is_kept(run: Run) -> None:
    given = {"command": "ls", "security_risk": "LOW"}
    first = {**RUN, "tool_call_metadata": metadata("toolu_01", given)}
    second = {**act(3, command="ls"), "tool_call_metadata": metadata("toolu_01", given)}
    third = {**act(5, command="ls"), "tool_call_metadata": metadata("toolu_02", given, "r2")}
    found = run(
        ASK, first, second, seen(4, 3, content="3"), seen(2, 1, content="1"), third, seen(6, 5), FINISH
    )
    assert {(e.tool, str(e.args)) for e in found.record} == {("execute_bash", "{'command': 'ls'}")}
    assert [(e.source_id, e.result, e.step) for e in found.record] == [
        ("toolu_01", "1", 0),
        ("toolu_01", "3", 0),
        ("toolu_02", "a.py", 1),
    ]
    assert found.record.completeness is CLOSED


@pytest.mark.parametrize(
    ("observation", "status", "learned"),
    [
        (seen(2, 1, metadata={"exit_code": 1}), Status.RAISED, Learned.EXIT_CODE),
        (seen(2, 1, metadata={"exit_code": -1}), Status.BACKGROUND, Learned.EXIT_CODE),
        (seen(2, 1, metadata={}, exit_code=2), Status.RAISED, Learned.EXIT_CODE),
        (seen(2, 1, "error", "no such tool"), Status.RAISED, Learned.FLAG),
        (seen(2, 1, "user_rejected", "no"), Status.REFUSED, Learned.FLAG),
        (seen(2, 1, "browse", "page", error=True), Status.RAISED, Learned.FLAG),
        (seen(2, 1, "edit", "ERROR:\nNo replacement was performed"), Status.RAISED, Learned.TEXT_PATTERN),
        (seen(2, 1, "edit", "The file has been edited."), Status.RETURNED, Learned.DEFAULT),
        (seen(2, 1, "run_ipython", "ERROR: x"), Status.RETURNED, Learned.DEFAULT),
        (seen(2, 1, "mcp", '{"isError": true, "content": []}'), Status.RAISED, Learned.VALUE),
    ],
)
def test_how_a_call_ended_is_told_by_code_kind_flag_or_fixed_words(
    run: Run, observation: Event, status: Status, learned: Learned
) -> None:
    found = run(ASK, RUN, observation, FINISH)
    assert [(e.status, e.learned) for e in found.record] == [(status, learned)]


def test_a_command_without_a_code_is_open_and_leaves_the_record_partial(run: Run) -> None:
    found = run(ASK, RUN, seen(2, 1, metadata={}), FINISH)
    assert [e.status for e in found.record] == [Status.UNKNOWN]
    assert found.record.completeness is PARTIAL


def test_output_that_the_runtime_shortened_is_cut(run: Run) -> None:
    text = "a\n[... Observation truncated due to length ...]\nb"
    assert [e.cut for e in run(ASK, RUN, seen(2, 1, content=text), FINISH).record] == [True]


def test_what_the_user_ran_is_not_the_agents(run: Run) -> None:
    theirs = [act(1, "run", "user", command="ls"), seen(2, 1)]
    found = run(ASK, *theirs, act(3, "recall", "user"), seen(4, 3, "recall"), FINISH)
    assert (len(found.record), found.record.completeness) == (0, CLOSED)


def test_a_thought_as_a_tool_is_a_call_and_not_words(run: Run) -> None:
    found = run(ASK, act(1, "think", thought="Hm."), seen(2, 1, "think", "Logged."))
    assert [(e.tool, e.args) for e in found.record] == [("think", {"thought": "Hm."})]
    assert (found.report, found.record.completeness) == ("", PARTIAL)


def test_an_action_that_waited_for_confirmation_is_one_call(run: Run) -> None:
    waiting = act(1, command="ls", confirmation_state="awaiting_confirmation")
    confirmed = act(3, command="ls", confirmation_state="confirmed")
    found = run(ASK, waiting, confirmed, seen(4, 3), FINISH)
    assert [(e.status, e.result) for e in found.record] == [(Status.RETURNED, "a.py")]
    rejected = act(3, command="ls", confirmation_state="rejected")
    found = run(ASK, waiting, rejected, seen(4, 3, "user_rejected", "no"), FINISH)
    assert [(e.status, e.learned) for e in found.record] == [(Status.REFUSED, Learned.FLAG)]
    assert run(ASK, waiting, FINISH).record.completeness is PARTIAL


def test_a_delegate_is_a_run_of_its_own_in_the_same_stream(runs: Runs) -> None:
    handed = act(1, "delegate", agent="Browser", inputs={"task": "Search."})
    inner = [act(2, command="curl x"), seen(3, 2), act(4, "finish", final_thought="Found.")]
    back = {**seen(5, None, "delegate", "Found."), "extras": {"outputs": {}}}
    main, helper = runs([ASK, handed, *inner, back, FINISH])
    assert [e.tool for e in main.record] == ["delegate"]
    assert [(each.agent, each.report, each.calls) for each in main.delegations] == [
        (helper.agent, "Found.", 1)
    ]
    assert (helper.parent, helper.task, helper.report) == ("agent", "Search.", "Found.")
    assert [e.args["command"] for e in helper.record] == ["curl x"]
    linked = link([main, helper])
    assert [each.record.completeness for each in linked] == [CLOSED, CLOSED]
    assert len(linked[0].behalf) == 1


def test_a_delegate_that_did_not_come_back_leaves_both_partial(runs: Runs) -> None:
    found = runs([ASK, act(1, "delegate", agent="Browser"), act(2, command="curl x"), seen(3, 2)])
    assert [each.record.completeness for each in found] == [PARTIAL, PARTIAL]


@pytest.mark.parametrize(
    "events",
    [
        [ASK, RUN, FINISH],
        [ASK, RUN, seen(2, 1)],
        [RUN, seen(2, 1), FINISH],
        [ASK, RUN, seen(2, 1), FINISH, seen(10, 7)],
        [ASK, FINISH, act(10, "message", "user", content="And now?")],
        [ASK, FINISH, seen(10, None, "agent_state_changed", "", agent_state="error")],
    ],
)
def test_a_history_that_is_not_whole_is_not_closed(run: Run, events: list[Event]) -> None:
    assert run(*events).record.completeness is PARTIAL


def test_words_that_wait_for_the_user_end_a_turn(run: Run) -> None:
    words = act(3, "message", content="There is a.py.", wait_for_response=True)
    found = run(ASK, RUN, seen(2, 1), words)
    assert (found.report, found.record.completeness) == ("There is a.py.", CLOSED)


def test_each_line_of_an_evaluation_is_a_run_and_old_histories_are_pairs(runs: Runs) -> None:
    history = [ASK, RUN, seen(2, 1), FINISH]
    pairs = [[ASK, seen(0, None, "null", "")], [RUN, seen(2, 1)], [FINISH, seen(3, None, "null", "")]]
    lines = jsonl(
        {"instance_id": "a/b", "history": history, "error": None},
        {"instance_id": "c", "history": pairs, "error": None},
        {"instance_id": "d", "history": history, "error": "ran out of money"},
        {"instance_id": "e", "history": []},
    )
    found = runs(lines)
    assert [each.record.run_id for each in found] == ["a-b", "c", "d", "line-4"]
    assert [each.record.completeness for each in found] == [CLOSED, CLOSED, PARTIAL, PARTIAL]
    assert recognise(lines) >= 0.9


# Version 1.


def event(kind: str, number: str, source: str = "agent", **more: Any) -> Event:
    return {"id": number, "timestamp": f"t-{number}", "source": source, "kind": kind, **more}


def said(text: str, source: str = "agent", number: str = "m") -> Event:
    message = {"role": source, "content": [{"type": "text", "text": text}]}
    return event("MessageEvent", number, source, llm_message=message)


def acts(number: str, tool: str = "terminal", given: Any = None, answer: str = "r1", **more: Any) -> Event:
    given = {"command": "ls", "security_risk": "LOW", "summary": "list"} if given is None else given
    call = {"id": f"c-{number}", "name": tool, "arguments": json.dumps(given)}
    common = {"tool_name": tool, "tool_call_id": f"c-{number}", "tool_call": call, "llm_response_id": answer}
    action = {"kind": "TerminalAction", "command": "ls"}
    return event("ActionEvent", number, **{**common, "action": action, "thought": [], **more})


def observes(action: str, text: str = "a.py", **more: Any) -> Event:
    inner = {
        "content": [{"type": "text", "text": text}],
        "is_error": False,
        "kind": "TerminalObservation",
        **more,
    }
    ids = {"action_id": action, "tool_call_id": f"c-{action}", "tool_name": "terminal"}
    return event("ObservationEvent", f"o-{action}", "environment", observation=inner, **ids)


PROMPT = event("SystemPromptEvent", "p", tools=[{"name": "terminal"}, {"title": "finish"}, {"kind": "x"}])
QUESTION = said("List the files.", "user", "u")
DONE = acts("f", "finish", action={"kind": "FinishAction", "message": "There is a.py."})


def test_an_action_event_and_its_observation_are_a_call(sdk: Run) -> None:
    found = sdk(
        PROMPT, QUESTION, acts("a"), acts("b"), observes("b", exit_code=0), observes("a", exit_code=1), DONE
    )
    assert [(e.tool, e.args, e.source_id, e.step) for e in found.record] == [
        ("terminal", {"command": "ls"}, "c-a", 0),
        ("terminal", {"command": "ls"}, "c-b", 0),
    ]
    assert [(e.status, e.learned) for e in found.record] == [
        (Status.RAISED, Learned.EXIT_CODE),
        (Status.RETURNED, Learned.EXIT_CODE),
    ]
    assert (found.report, found.task, found.record.completeness) == (
        "There is a.py.",
        "List the files.",
        CLOSED,
    )
    assert found.record.tools == ("terminal", "finish")


@pytest.mark.parametrize(
    ("more", "status", "learned"),
    [
        ({"is_error": True, "exit_code": None}, Status.RAISED, Learned.FLAG),
        ({"is_error": True, "exit_code": 0}, Status.RAISED, Learned.FLAG),
        ({"exit_code": -1, "timeout": True}, Status.BACKGROUND, Learned.EXIT_CODE),
        ({"metadata": {"exit_code": 3}}, Status.RAISED, Learned.EXIT_CODE),
        ({}, Status.RETURNED, Learned.FLAG),
        ({"is_error": None, "error": "boom"}, Status.RAISED, Learned.FLAG),
        ({"is_error": None}, Status.RETURNED, Learned.DEFAULT),
    ],
)
def test_flag_and_code_are_both_read(sdk: Run, more: Any, status: Status, learned: Learned) -> None:
    found = sdk(PROMPT, QUESTION, acts("a"), observes("a", **more), DONE)
    assert [(e.status, e.learned) for e in found.record] == [(status, learned)]
    assert found.record.completeness is CLOSED


def test_several_commands_at_once_were_not_run(sdk: Run) -> None:
    refused = observes("a", "Cannot execute multiple commands at once.", is_error=True, exit_code=None)
    assert [e.status for e in sdk(PROMPT, acts("a"), refused, DONE).record] == [Status.INVALID]


def test_a_call_that_was_not_valid_did_not_run(sdk: Run) -> None:
    problem = event(
        "AgentErrorEvent", "e", tool_name="terminal", tool_call_id="c-a", error="Missing argument"
    )
    found = sdk(PROMPT, QUESTION, acts("a", action=None), problem, DONE)
    assert [(e.status, e.message) for e in found.record] == [(Status.INVALID, "Missing argument")]
    found = sdk(PROMPT, QUESTION, acts("a"), problem, DONE)
    assert [(e.status, e.learned) for e in found.record] == [(Status.RAISED, Learned.FLAG)]


def test_a_call_that_a_restart_broke_off_has_no_known_end(sdk: Run) -> None:
    text = "A restart occurred while this tool was in progress."
    problem = event("AgentErrorEvent", "e", tool_name="terminal", tool_call_id="c-a", error=text)
    assert [e.status for e in sdk(PROMPT, QUESTION, acts("a"), problem, DONE).record] == [Status.UNKNOWN]


def test_a_rejected_call_was_refused(sdk: Run) -> None:
    ids = {"action_id": "a", "tool_call_id": "c-a", "tool_name": "terminal"}
    rejected = event("UserRejectObservation", "r", "environment", rejection_reason="too risky", **ids)
    found = sdk(PROMPT, QUESTION, acts("a"), rejected, DONE)
    assert [(e.status, e.message) for e in found.record] == [(Status.REFUSED, "too risky")]


def test_thinking_that_a_model_writes_before_its_words_is_not_its_report(sdk: Run) -> None:
    thought = [{"type": "text", "text": "<think>Hm.</think>\n\nI look."}]
    assert sdk(PROMPT, QUESTION, acts("a", thought=thought), observes("a")).report == "I look."
    only = [{"type": "text", "text": "<think>Hm.</think>\n"}]
    assert sdk(PROMPT, QUESTION, acts("a", thought=only), observes("a")).report == ""


def test_work_that_was_handed_to_another_conversation_is_not_at_hand(sdk: Run) -> None:
    found = sdk(PROMPT, QUESTION, acts("a", "task", {"prompt": "Search."}), observes("a", task_id="t7"), DONE)
    assert [each.agent for each in found.delegations] == ["t7"]
    assert link([found])[0].record.completeness is PARTIAL


def test_calls_over_acp_stand_in_events_that_follow_each_other(sdk: Run) -> None:
    begun = event(
        "ACPToolCallEvent", "x", tool_call_id="c", title="Run ls", tool_kind="execute", status="pending"
    )
    ended = {**begun, "id": "y", "status": "completed", "raw_input": {"command": "ls"}, "raw_output": "a.py"}
    found = sdk(PROMPT, QUESTION, {**begun, "raw_input": {"command": "ls"}}, ended, said("Done."))
    assert [(e.tool, e.args, e.result, e.status) for e in found.record] == [
        ("execute", {"command": "ls"}, "a.py", Status.RETURNED)
    ]
    failed = {**ended, "status": "failed", "is_error": True}
    assert [e.status for e in sdk(PROMPT, QUESTION, failed, said("Done.")).record] == [Status.RAISED]


def update(value: Any, key: str = "execution_status") -> Event:
    return event("ConversationStateUpdateEvent", "s", "environment", key=key, value=value)


@pytest.mark.parametrize(
    ("last", "completeness"),
    [
        ([], CLOSED),
        ([update("running"), update("finished")], CLOSED),
        ([update({"execution_status": "finished"}, "full_state")], CLOSED),
        ([update({}, "stats")], CLOSED),
        ([event("CondensationEvent", "k")], CLOSED),
        ([update("error")], PARTIAL),
        ([update("stuck")], PARTIAL),
        ([update({"execution_status": "paused"}, "full_state")], PARTIAL),
        ([event("PauseEvent", "k", "user")], PARTIAL),
        ([event("ConversationErrorEvent", "k", code="LLMError")], PARTIAL),
        ([said("And now?", "user", "v")], PARTIAL),
    ],
)
def test_a_conversation_is_closed_when_its_last_turn_has_ended(
    sdk: Run, last: list[Event], completeness: Completeness
) -> None:
    assert sdk(PROMPT, QUESTION, acts("a"), observes("a"), DONE, *last).record.completeness is completeness


def test_events_of_kinds_that_are_not_read_are_named(sdk: Run) -> None:
    found = sdk(PROMPT, QUESTION, event("NewEvent", "n"), said("Done."))
    assert "events that are not read: NewEvent" in found.record.notes


def test_a_broken_line_is_damage_of_the_run(runs: Runs) -> None:
    (found,) = runs(jsonl(PROMPT, QUESTION) + b'{"id\n7\n' + jsonl(acts("a"), observes("a"), DONE))
    assert [damage.line for damage in found.record.damage] == [3, 4]
    assert (len(found.record), found.record.completeness) == (1, PARTIAL)


def test_a_long_conversation_is_read_without_holding_its_lines(tmp_path: Path) -> None:
    text = "x" * 20_000
    lines = [update({"pad": text}, "stats") for _ in range(1_000)]
    path = written(tmp_path / "events.jsonl", jsonl(PROMPT, QUESTION, *lines, said("Done.")))
    del lines
    tracemalloc.start()
    list(read(path))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 2_000_000


# Stored conversations.


def stored(folder: Path, *events: Event) -> list[Path]:
    folder.mkdir()
    return [
        written(folder / f"event-{number:05}-{each['id']}.json", each) for number, each in enumerate(events)
    ]


def test_the_first_stored_event_stands_for_its_conversation_and_the_others_are_side_files(
    tmp_path: Path,
) -> None:
    paths = stored(tmp_path / "events", PROMPT, QUESTION, acts("a"), observes("a"), DONE)
    (found,) = read(paths[0])
    assert (len(found.record), found.report, found.record.completeness) == (1, "There is a.py.", CLOSED)
    assert recognise(paths[0].read_bytes()) >= 0.9
    for path in paths[1:]:
        assert recognise(path.read_bytes()) < 0.5
        assert "one event of an OpenHands conversation" in side(path.read_bytes())


def test_a_stored_event_that_is_missing_or_broken_leaves_the_run_partial(tmp_path: Path) -> None:
    paths = stored(tmp_path / "events", PROMPT, QUESTION, said("Look."), acts("a"), observes("a"), DONE)
    paths[2].write_bytes(b'{"id')
    assert [each.record.completeness for each in read(paths[0])] == [PARTIAL]
    paths[2].unlink()
    assert [each.record.completeness for each in read(paths[0])] == [PARTIAL]


def test_version_0_stores_one_event_a_file_too(tmp_path: Path) -> None:
    folder = tmp_path / "events"
    folder.mkdir()
    for each in (ASK, RUN, seen(2, 1), {**FINISH, "id": 3}):
        written(folder / f"{each['id']}.json", each)
    (found,) = read(folder / "0.json")
    assert (len(found.record), found.record.completeness) == (1, CLOSED)
    assert recognise((folder / "0.json").read_bytes()) >= 0.9
    assert side((folder / "1.json").read_bytes())


# Damage.


@pytest.mark.parametrize("content", [b"", b"{}", b"[]", b"7", {"history": []}, [{"id": 1}], b"plain"])
def test_what_holds_no_events_is_refused(runs: Runs, content: Any) -> None:
    with pytest.raises(InvalidInputError):
        runs(content)


@pytest.mark.parametrize("content", [5, {"x": 1}, [5], [{"type": "text", "text": 5}]])
def test_parts_of_another_shape_are_damage(sdk: Run, content: Any) -> None:
    found = sdk(PROMPT, QUESTION, acts("a"), observes("a", content=content), DONE)
    assert [e.status for e in found.record] == [Status.UNKNOWN]
    assert found.record.completeness is PARTIAL
    words = said("x")
    words["llm_message"]["content"] = content
    assert sdk(PROMPT, QUESTION, words, DONE).record.completeness is PARTIAL


@pytest.mark.parametrize("content", [5, None, ["x"]])
def test_a_result_that_cannot_be_read_says_neither_success_nor_failure(run: Run, content: Any) -> None:
    found = run(ASK, RUN, seen(2, 1, "error", content), FINISH)
    assert [(e.status, e.result) for e in found.record] == [(Status.UNKNOWN, Unknown("unreadable"))]
    assert found.record.completeness is PARTIAL


FREE = (
    "model_response",
    "value",
    "instance",
    "metrics",
    "llm_metrics",
    "tools",
    "tool_call",
    "=command",
    "=inputs",
    "=agent",
)


def test_wrong_types_anywhere_accuse_no_one(tmp_path: Path, shared: Path) -> None:
    path = tmp_path / "file"
    handed = act(3, "delegate", agent="Browser", inputs={"task": "Search."})
    inner = [act(4, command="curl x"), seen(5, 4), act(6, "finish", final_thought="Found.")]
    history = [ASK, RUN, seen(2, 1), handed, *inner, seen(7, None, "delegate", "Found."), FINISH]
    check_wrong_types(read, path, history, free=FREE, limit=100)
    events = [
        PROMPT,
        QUESTION,
        acts("a"),
        observes("a", exit_code=1),
        acts("b"),
        observes("b"),
        update("idle"),
        DONE,
    ]
    # A text is as good as a list of parts.
    check_wrong_types(read, path, events, free=(*FREE, "=content"), limit=100, lines=True)
    check_missing(read, path, events, free=FREE, limit=80, lines=True)
    sample = json.loads((shared / "transcripts/openhands/eval_output_one_instance.jsonl").read_bytes())
    sample["history"] = [*sample["history"][:6], *sample["history"][-12:]]
    check_wrong_types(read, path, sample, free=FREE, limit=15)
    check_missing(read, path, sample, free=FREE, limit=30)


def test_a_file_that_was_cut_is_refused_or_read_as_far_as_it_goes(tmp_path: Path) -> None:
    check_cut(read, tmp_path / "file", json.dumps([ASK, RUN, seen(2, 1), FINISH], indent=1).encode(), 40)
    events = (PROMPT, QUESTION, acts("a"), observes("a"), DONE)
    check_cut(read, tmp_path / "file", jsonl(*events), 40, lines=True)


def test_metadata_of_a_call_that_is_null_is_damage(run: Run) -> None:
    given = {"command": "ls", "security_risk": "LOW"}
    for kept, completeness in ((metadata("toolu_01", given), CLOSED), (None, PARTIAL)):
        found = run(ASK, {**RUN, "tool_call_metadata": kept}, seen(2, 1), FINISH)
        assert found.record.completeness is completeness
