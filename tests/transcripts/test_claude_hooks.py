from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from dispatch_fidelity.errors import InvalidInputError
from dispatch_fidelity.model.call import Status
from dispatch_fidelity.model.run import Completeness, ImportedRun
from dispatch_fidelity.transcripts import claude_hooks

COMMON = {"session_id": "s-1", "transcript_path": "/x", "cwd": "/x"}
CALL = {**COMMON, "tool_name": "Bash", "tool_input": {"command": "ls"}, "tool_use_id": "t1"}
BEGIN = {**CALL, "hook_event_name": "PreToolUse"}
END = {**CALL, "hook_event_name": "PostToolUse", "tool_response": {"stdout": "a"}}
FAIL = {**CALL, "hook_event_name": "PostToolUseFailure", "error": "Exit code 1", "is_interrupt": False}
STOP = {**COMMON, "hook_event_name": "Stop", "last_assistant_message": "There is one file."}


def runs(tmp_path: Path, *events: Any) -> list[ImportedRun]:
    path = tmp_path / "hooks.jsonl"
    lines = [event if isinstance(event, str) else json.dumps(event) for event in events]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return list(claude_hooks.read(path))


def statuses(tmp_path: Path, *events: Any) -> list[Status]:
    return [call.status for run in runs(tmp_path, *events) for call in run.record.executions]


@pytest.mark.parametrize(
    ("events", "status"),
    [
        ([BEGIN, END], Status.RETURNED),
        ([BEGIN, FAIL], Status.RAISED),
        ([BEGIN, {**FAIL, "is_interrupt": True}], Status.CANCELLED),
        ([BEGIN], Status.UNFINISHED),
        ([BEGIN, STOP], Status.UNKNOWN),
        ([END], Status.RETURNED),
        ([FAIL], Status.RAISED),
    ],
)
def test_a_call_ends_as_its_events_say(tmp_path: Path, events: list[Any], status: Status) -> None:
    assert statuses(tmp_path, *events) == [status]


def test_the_report_and_the_request_come_with_their_events(tmp_path: Path) -> None:
    (run,) = runs(
        tmp_path, {**COMMON, "hook_event_name": "UserPromptSubmit", "prompt": "list"}, BEGIN, END, STOP
    )
    assert (run.report, run.task) == ("There is one file.", "list")


def test_a_sub_agent_is_a_run_of_its_own(tmp_path: Path) -> None:
    main, helper = runs(tmp_path, BEGIN, END, {**BEGIN, "agent_id": "a1", "tool_use_id": "t2"})
    assert (main.agent, main.parent) == ("agent", "")
    assert (helper.agent, helper.parent) == ("a1", "s-1")
    assert [len(run.record.executions) for run in (main, helper)] == [1, 1]


def test_an_id_that_is_used_again_names_the_nearest_open_call(tmp_path: Path) -> None:
    assert statuses(tmp_path, BEGIN, END, BEGIN, FAIL) == [Status.RETURNED, Status.RAISED]


def test_no_run_of_hooks_is_closed(tmp_path: Path) -> None:
    (run,) = runs(tmp_path, BEGIN, END, STOP)
    assert run.record.completeness is Completeness.SAMPLED


@pytest.mark.parametrize(
    "damage",
    ["{broken", "[1]", '{"hook_event_name": 7, "session_id": "s"}', json.dumps({**BEGIN, "tool_name": 5})],
)
def test_what_is_no_hook_input_is_damage(tmp_path: Path, damage: str) -> None:
    (run,) = runs(tmp_path, BEGIN, END, damage, STOP)
    assert run.record.damage
    assert [call.status for call in run.record.executions] == [Status.RETURNED]


@pytest.mark.parametrize("value", [7, None, [], {"tool": "x"}, "text"])
@pytest.mark.parametrize(
    "member", ["tool_input", "tool_response", "tool_use_id", "error", "is_interrupt", "agent_id"]
)
def test_wrong_types_make_no_call_a_failure(tmp_path: Path, member: str, value: Any) -> None:
    for run in runs(tmp_path, {**BEGIN, member: value}, {**END, member: value}, {**STOP, member: value}):
        assert not any(call.failed for call in run.record.executions)


@pytest.mark.parametrize("text", ["{}", "[]", '{"messages": []}', '{"role": "user"}'])
def test_a_file_without_hook_inputs_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "x.json"
    path.write_text(text, encoding="utf-8")
    assert claude_hooks.recognise(text.encode()) == 0
    with pytest.raises(InvalidInputError):
        list(claude_hooks.read(path))


def test_the_samples_are_read(shared: Path) -> None:
    folder = shared / "transcripts" / "claude_hooks"
    found = {path.name: list(claude_hooks.read(path)) for path in folder.iterdir()}
    (protocol,) = found["sdk_control_protocol.json"]
    assert (len(protocol.record.executions), len(protocol.report)) == (1, 892)
    assert protocol.task == "List files in the current directory"
    (inputs,) = found["hook_inputs.jsonl"]
    assert [call.status for call in inputs.record.executions] == [Status.RETURNED]
    assert (
        sum(call.failed for run in found["constructed_other_events.jsonl"] for call in run.record.executions)
        == 2
    )


def test_only_its_own_samples_are_recognised(shared: Path) -> None:
    for path in sorted((shared / "transcripts").rglob("*")):
        if path.is_file():
            head = path.read_bytes()[: 64 * 1024]
            assert (claude_hooks.recognise(head) >= 0.5) == (path.parent.name == "claude_hooks"), path


@pytest.mark.parametrize(
    ("response", "status"),
    [
        ({"stdout": "", "backgroundTaskId": "b1"}, Status.BACKGROUND),
        ({"isAsync": True, "status": "async_launched", "agentId": "a1"}, Status.BACKGROUND),
        ({"stdout": "", "interrupted": True}, Status.CANCELLED),
        ({"stdout": "", "interrupted": False}, Status.RETURNED),
        ([{"type": "text", "text": "two"}], Status.RETURNED),
    ],
)
def test_a_response_may_say_that_the_call_goes_on_or_was_stopped(
    tmp_path: Path, response: Any, status: Status
) -> None:
    assert statuses(tmp_path, BEGIN, {**END, "tool_response": response}) == [status]


def test_parts_of_a_response_are_its_text(tmp_path: Path) -> None:
    (run,) = runs(tmp_path, BEGIN, {**END, "tool_response": [{"type": "text", "text": "two"}]})
    assert [call.result for call in run.record] == ["two"]


def test_a_denied_call_of_the_control_protocol_was_refused(tmp_path: Path) -> None:
    def exchanged(message: Any) -> Any:
        return {"direction": "recv", "message": message}

    def hook(event: Any) -> Any:
        return exchanged({"type": "control_request", "request": {"subtype": "hook_callback", "input": event}})

    result = {"type": "result", "result": "Denied.", "permission_denials": [{"tool_use_id": "t1"}, 7]}
    path = tmp_path / "protocol.json"
    path.write_text(json.dumps({"messages": [hook(BEGIN), exchanged(result)]}), encoding="utf-8")
    (run,) = claude_hooks.read(path)
    assert [call.status for call in run.record] == [Status.REFUSED]
    assert run.report == "Denied."
