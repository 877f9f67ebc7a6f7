"""Gemini CLI chats: calls with their results, what was patched or taken back, and whether all is there."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from damaged_lines import counts, heads, lines_of, never_worse, runs, torn, written

from dispatch_fidelity.errors import InvalidInputError
from dispatch_fidelity.model.call import Learned, Status, Unknown
from dispatch_fidelity.model.execution import Execution
from dispatch_fidelity.model.run import Completeness, DamageKind, ImportedRun
from dispatch_fidelity.transcripts.gemini_cli import companions, read, recognise
from dispatch_fidelity.transcripts.linking import link

Value = dict[str, Any]
NAME = "981c87cb-90ef-4c7f-948d-23173ff43e4e"
HEAD: Value = {"sessionId": NAME, "projectHash": "cde6", "startTime": "t", "lastUpdated": "t", "kind": "main"}


def message(kind: str, content: Any = "", name: str = "", **more: Any) -> Value:
    return {
        "id": name or f"{kind}-1",
        "timestamp": "2026-04-29T21:39:33.155Z",
        "type": kind,
        "content": content,
        **more,
    }


def call(
    text: Any = "done", status: str = "success", tool: str = "read_file", source_id: str = "c1", **more: Any
) -> Value:
    key = "output" if status == "success" else "error"
    parts = [{"functionResponse": {"id": source_id, "name": tool, "response": {key: text}}}]
    given: Value = {"id": source_id, "name": tool, "args": {"path": "a"}, "result": parts, "status": status}
    return {**given, "timestamp": "2026-04-29T21:39:35.364Z", **more}


def calls(*made: Value, name: str = "gemini-1", content: Any = "") -> Value:
    return message("gemini", content, name, toolCalls=list(made))


USER = message("user", "Read the file.\n\n")
FINAL = message("gemini", "The file is empty.", "gemini-9")
CHAT = [USER, calls(call()), FINAL]


def run(*messages: Value) -> ImportedRun:
    (found,) = runs(read, json.dumps({**HEAD, "messages": list(messages)}).encode(), "session.json")
    return found


def lines(*values: Value) -> ImportedRun:
    (found,) = runs(read, written([HEAD, *values]))
    return found


def only(made: Value) -> Execution:
    (found,) = run(USER, calls(made)).record
    return found


# Real files.

COUNTS = {
    "jsonl_v040.jsonl": (1, 0, 26),
    "session-2025-10-27T19-55-981c87cb.json": (13, 4, 370),
    "session-2025-10-29T10-36-453aa339.json": (3, 0, 5),
    "session-2025-10-29T10-36-9c9a14e1.json": (1, 0, 102),
    "session-2025-10-29T10-36-f96c76b0.json": (1, 0, 5),
    "session-2025-10-29T10-39-a63242d9.json": (1, 1, 0),
    "session-2025-10-29T10-40-359abdd0.json": (1, 0, 5),
}


@pytest.mark.parametrize("name", COUNTS)
def test_a_sample_has_these_calls_failures_and_characters_of_report(name: str, shared: Path) -> None:
    made, failed, report = COUNTS[name]
    found = counts(read, shared / "transcripts/gemini_cli" / name)
    assert found == {"runs": 1, "calls": made, "errored": failed, "open": 0, "final_chars": report}


def test_two_of_four_failures_of_a_real_chat_have_the_status_success(shared: Path) -> None:
    (found,) = read(shared / "transcripts/gemini_cli/session-2025-10-27T19-55-981c87cb.json")
    failed = [(execution.status, execution.learned) for execution in found.record if execution.failed]
    assert failed.count((Status.RAISED, Learned.EXIT_CODE)) == 2
    assert failed.count((Status.RAISED, Learned.FLAG)) == failed.count((Status.CANCELLED, Learned.FLAG)) == 1
    assert found.record.completeness is Completeness.CLOSED


def test_all_samples_of_this_format_are_recognised_and_none_of_another(shared: Path) -> None:
    own = sorted((shared / "transcripts/gemini_cli").iterdir())
    assert all(recognise(path.read_bytes()[: 64 * 1024]) >= 0.9 for path in own)
    assert [path.name for path, head in heads("gemini_cli") if recognise(head) >= 0.5] == []


def test_lines_without_their_head_are_recognised_and_partial() -> None:
    assert recognise(written(CHAT)) >= 0.5
    (found,) = runs(read, written(CHAT))
    assert (len(found.record), found.record.completeness) == (1, Completeness.PARTIAL)


def test_what_is_no_chat_is_invalid_input(tmp_path: Path) -> None:
    for content in (b'{"a": 1}\n{"b": 2}\n', b"[1]", b'{"messages": []}', b""):
        (tmp_path / "file").write_bytes(content)
        with pytest.raises(InvalidInputError):
            list(read(tmp_path / "file"))


# Calls.

SHELL_OLD = (
    "Command: pytest\nDirectory: (root)\nOutput: 1 failed\nError: (none)\nExit Code: {}\nSignal: {}\n"
    "Background PIDs: (none)\nProcess Group PGID: 88536"
)
SHELL = "run_shell_command"


@pytest.mark.parametrize(
    ("made", "status", "learned"),
    [
        (call(), Status.RETURNED, Learned.FLAG),
        (call("no such file", "error"), Status.RAISED, Learned.FLAG),
        (call('Tool "x" not found in registry.', "error"), Status.INVALID, Learned.FLAG),
        (call("params must have required property 'file_path'", "error"), Status.INVALID, Learned.FLAG),
        (call("params/line must be number", "error"), Status.INVALID, Learned.FLAG),
        (call("Tool execution denied by policy.", "error"), Status.REFUSED, Learned.FLAG),
        (call("[Operation Cancelled] Reason: User did not allow tool call", "cancelled"), Status.REFUSED, Learned.FLAG),
        (call("[Operation Cancelled] User denied execution.", "cancelled"), Status.REFUSED, Learned.FLAG),
        (call("[Operation Cancelled] Reason: User cancelled it.", "cancelled"), Status.CANCELLED, Learned.FLAG),
        (call(status="executing"), Status.UNFINISHED, Learned.DEFAULT),
        (call(status="awaiting_approval"), Status.UNFINISHED, Learned.DEFAULT),
        (call(status="some_new_one"), Status.UNKNOWN, Learned.DEFAULT),
        (call(SHELL_OLD.format(0, "(none)"), tool=SHELL), Status.RETURNED, Learned.EXIT_CODE),
        (call(SHELL_OLD.format(0, "0"), tool=SHELL), Status.RETURNED, Learned.EXIT_CODE),
        (call(SHELL_OLD.format(127, "0"), tool=SHELL), Status.RAISED, Learned.EXIT_CODE),
        (call(SHELL_OLD.format("(none)", "SIGKILL"), tool=SHELL), Status.RAISED, Learned.EXIT_CODE),
        (call("Output: fine\nProcess Group PGID: 12345", tool=SHELL), Status.RETURNED, Learned.FLAG),
        (call("Output: no\nExit Code: 1\nProcess Group PGID: 12345", tool=SHELL), Status.RAISED, Learned.EXIT_CODE),
        (call("Output: no\nError: x\nExit Code: 1", tool=SHELL), Status.RAISED, Learned.EXIT_CODE),
        (call("Output: a\nExit Code: 1\nand b\nProcess Group PGID: 1", tool=SHELL), Status.RETURNED, Learned.FLAG),
        (call("Output: no\nExit Code: 1\nProcess Group PGID: 12345"), Status.RETURNED, Learned.FLAG),
        (call("<tool_output_masked>\nOutput: a\nExit Code: 1\n</tool_output_masked>", tool=SHELL), Status.RAISED,
         Learned.EXIT_CODE),
        (call("Command was cancelled by user before it could complete.", tool=SHELL), Status.CANCELLED,
         Learned.TEXT_PATTERN),
        (call("Command moved to background (PID: 5). Output hidden.", tool=SHELL), Status.BACKGROUND,
         Learned.TEXT_PATTERN),
    ],
)  # fmt: skip
def test_a_status_and_what_the_cli_writes_tell_how_a_call_ended(
    made: Value, status: Status, learned: Learned
) -> None:
    found = only(made)
    assert (found.status, found.learned) == (status, learned)


def test_a_call_has_its_arguments_its_time_and_the_text_of_its_response() -> None:
    found = only(call())
    assert (found.tool, found.args, found.result, found.source_id) == (
        "read_file",
        {"path": "a"},
        "done",
        "c1",
    )
    assert found.until == "2026-04-29T21:39:35.364Z"
    assert only(call("no", "error")).message == "no"


def test_of_several_responses_in_one_result_the_calls_own_counts() -> None:
    parts = [*call("first", source_id="c1")["result"], *call("second", source_id="c2")["result"]]
    assert only(call(source_id="c2", result=parts)).result == "second"
    assert only(call(result=[*call()["result"], {"text": "more"}])).result == "done\nmore"
    assert only(call(result=[{"inlineData": {"data": "x"}}])).result == Unknown("image")


def test_a_result_that_the_writer_shortened_is_cut() -> None:
    assert only(call("Output too large. Showing first 8,000 and last 32,000 characters.")).cut
    assert only(call("a\n... [CONTENT TRUNCATED] ...\nb")).cut
    assert not only(call("a cut above")).cut


def test_a_result_that_is_not_there_is_not_captured_and_the_record_partial() -> None:
    found = run(USER, calls({**call(), "result": None}), FINAL)
    assert found.record.executions[0].result == Unknown("not captured")
    assert found.record.completeness is Completeness.PARTIAL


def test_calls_of_one_message_share_a_step() -> None:
    found = run(
        USER, calls(call(), call(source_id="c2")), calls(call(source_id="c3"), name="gemini-2"), FINAL
    )
    first, second, third = (each.step for each in found.record)
    assert first == second != third


# Words.


def test_the_report_is_the_last_text_of_the_model_and_the_task_the_last_request_before_it() -> None:
    found = run(*CHAT, message("user", [{"text": "Thanks."}], "user-2"))
    assert (found.report, found.task) == ("The file is empty.", "Read the file.")
    parts = [{"text": "thinking", "thought": True}, {"text": "Done."}, {"functionCall": {"name": "x"}}]
    assert run(USER, message("gemini", parts)).report == "Done."


# Lines that patch and take back.


def test_a_message_that_stands_again_replaces_the_earlier_one_in_its_place() -> None:
    first, again = message("gemini", "I look.", "gemini-1"), calls(call(), content="I look.")
    found = lines(USER, first, {**again, "toolCalls": [call(status="executing")]}, FINAL, again)
    assert [execution.status for execution in found.record] == [Status.RETURNED]
    assert (found.report, found.record.completeness) == ("The file is empty.", Completeness.CLOSED)


def test_a_message_that_stands_again_with_fewer_calls_makes_the_record_partial() -> None:
    found = lines(USER, calls(call()), message("gemini", "I look.", "gemini-1"), FINAL)
    assert found.record.completeness is Completeness.PARTIAL


def test_words_that_were_taken_back_are_gone_but_their_calls_ran() -> None:
    more = [message("user", "More.", "user-2"), calls(call(source_id="c2"), name="gemini-2")]
    found = lines(*CHAT, *more, message("gemini", "More done.", "gemini-3"), {"$rewindTo": "user-2"})
    assert (found.report, found.task, len(found.record)) == ("The file is empty.", "Read the file.", 2)
    assert found.record.completeness is Completeness.PARTIAL
    assert lines(*CHAT, {"$rewindTo": "unknown"}).report == ""


def test_a_patch_of_the_head_is_no_damage_and_a_rewritten_history_is_not_what_happened() -> None:
    rewritten = [message("user", "summary", "s"), {**calls(call("masked")), "content": []}]
    found = lines(USER, {"$set": {"lastUpdated": "t"}}, *CHAT[1:], {"$set": {"messages": rewritten}})
    assert (found.task, found.record.executions[0].result) == ("Read the file.", "done")
    assert found.record.completeness is Completeness.CLOSED
    news = [calls(call(), name="gemini-7")]
    assert lines(*CHAT, {"$set": {"messages": news}}).record.completeness is Completeness.PARTIAL


# Completeness.


@pytest.mark.parametrize(
    ("messages", "closed"),
    [
        (CHAT, True),
        ([*CHAT, message("user", "Thanks.", "u2")], True),
        ([*CHAT, message("info", "Update available")], True),
        ([*CHAT, message("error", "quota")], False),
        (CHAT[:-1], False),
        ([USER, calls(call(), content="I read it.")], False),
        ([USER, calls(call(status="executing")), FINAL], False),
        ([USER, message("gemini", "One."), message("gemini", "Two.", "gemini-2")], False),
        ([USER, message("gemini", "I look."), calls(call(), name="gemini-2"), FINAL], True),
        ([USER, message("gemini", ""), FINAL], False),
        ([USER, message("some_new_type", "x"), FINAL], False),
    ],
)
def test_a_chat_is_closed_when_the_last_text_of_the_model_has_no_calls_with_or_after_it(
    messages: list[Value], closed: bool
) -> None:
    assert run(*messages).record.completeness is (Completeness.CLOSED if closed else Completeness.PARTIAL)


def test_a_call_that_did_not_end_is_unknown_where_the_chat_went_on() -> None:
    found = run(USER, calls(call(status="executing")), FINAL)
    assert found.record.executions[0].status is Status.UNKNOWN


# Sub-agents.


def test_the_chats_of_sub_agents_are_companions_and_are_linked(tmp_path: Path) -> None:
    main, child = tmp_path / "chats/session-1.jsonl", tmp_path / "chats" / NAME / "helper.jsonl"
    child.parent.mkdir(parents=True)
    asked = calls(call("Result:\nNothing.", tool="invoke_agent", agentId="helper"))
    main.write_bytes(written([HEAD, USER, asked, FINAL]))
    child.write_bytes(written([{**HEAD, "sessionId": "helper", "kind": "subagent"}, *CHAT]))
    assert list(companions(main)) == [child]
    found, helper = link([next(read(main)), next(read(child))])
    assert (helper.agent, helper.parent) == ("helper", NAME)
    assert [execution.tool for execution in found.behalf] == ["read_file"]


def test_a_session_id_that_is_a_path_leads_nowhere(tmp_path: Path) -> None:
    (tmp_path / "chats").mkdir()
    (tmp_path / "other.json").write_bytes(b"{}")
    main = tmp_path / "chats/session-1.jsonl"
    main.write_bytes(written([{**HEAD, "sessionId": ".."}, *CHAT]))
    assert list(companions(main)) == []


# Damage.


@pytest.mark.parametrize("values", [[{**HEAD, "messages": CHAT}], [HEAD, *CHAT]], ids=["document", "lines"])
def test_a_wrong_type_anywhere_makes_no_call_fail_and_changes_nothing_in_a_closed_record(
    values: list[Value],
) -> None:
    assert never_worse(read, values, optional=("toolCalls",)) == []
    assert torn(read, values) == []


@pytest.mark.parametrize("name", COUNTS)
def test_so_it_is_with_every_sample(name: str, shared: Path) -> None:
    values = lines_of((shared / "transcripts/gemini_cli" / name).read_bytes())
    for value in values:
        value["messages"] = value.get("messages", [])[-4:] if "messages" in value else []
        if not value["messages"]:
            del value["messages"]
    assert never_worse(read, values, every=2, optional=("toolCalls",)) == []
    assert torn(read, values, 20) == []


def test_a_broken_line_is_damage_and_the_rest_is_read() -> None:
    (found,) = runs(read, written([HEAD, *CHAT[:2]]) + b'{"id": "gemini-2", "ty\n' + written([FINAL]))
    assert (len(found.record), found.report) == (1, "The file is empty.")
    assert [(damage.kind, damage.line) for damage in found.record.damage] == [(DamageKind.UNREADABLE, 4)]


def test_ids_of_calls_that_repeat_are_calls_of_their_own() -> None:
    found = run(USER, calls(call("a")), calls(call("b"), name="gemini-2"), FINAL)
    assert [execution.result for execution in found.record] == ["a", "b"]


def test_how_a_shell_command_ended_is_open_where_its_result_is_not_kept() -> None:
    for tool, status in ((SHELL, Status.UNKNOWN), ("read_file", Status.RETURNED)):
        (found,) = run(USER, calls(call(tool=tool, result=None)), FINAL).record
        assert (found.status, found.result) == (status, Unknown("not captured"))
