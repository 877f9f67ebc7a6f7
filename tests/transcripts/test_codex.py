"""Codex rollouts: which calls were made, how they ended, what the report is, and whether all is there."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest
from damaged_lines import counts, heads, lines_of, never_worse, runs, torn, written

from dispatch_fidelity.errors import InvalidInputError
from dispatch_fidelity.model.call import Blob, Learned, Status, Unknown
from dispatch_fidelity.model.execution import Execution
from dispatch_fidelity.model.frozen import UNSET
from dispatch_fidelity.model.run import Completeness, DamageKind, ImportedRun
from dispatch_fidelity.transcripts import codex_calls
from dispatch_fidelity.transcripts.codex import companions, read, recognise
from dispatch_fidelity.transcripts.linking import link

THREAD = "019982b8-3422-79e0-8b3b-05abaf4f3c3e"
CHILD = "019982b8-3422-79e0-8b3b-0000000000c1"
Line = dict[str, Any]


def line(kind: str, **payload: Any) -> Line:
    return {"timestamp": "2026-08-03T10:48:56.000Z", "type": kind, "payload": payload}


def item(kind: str, **payload: Any) -> Line:
    return line("response_item", type=kind, **payload)


def event(kind: str, **payload: Any) -> Line:
    return line("event_msg", type=kind, **payload)


def call(source_id: str = "c1", tool: str = "shell", args: Any = None) -> Line:
    given = {"command": ["bash", "-lc", "pytest -q"]} if args is None else args
    return item("function_call", name=tool, arguments=json.dumps(given), call_id=source_id)


def output(text: Any = "done", source_id: str = "c1") -> Line:
    return item("function_call_output", call_id=source_id, output=text)


def exit_json(code: Any, text: Any = "4 passed\n") -> str:
    return json.dumps({"output": text, "metadata": {"exit_code": code, "duration_seconds": 0.1}})


def user(text: str) -> Line:
    return item("message", role="user", content=[{"type": "input_text", "text": text}])


def says(text: str) -> Line:
    return item("message", role="assistant", content=[{"type": "output_text", "text": text}])


META = line("session_meta", id=THREAD, cwd="/repo", cli_version="0.40.0", source="cli")
ASKED = user("Run the tests.")
FINAL = says("4 tests passed.")
SESSION = [META, ASKED, call(), output(exit_json(0)), FINAL]
START, END = (
    event("task_started", turn_id="t"),
    event("task_complete", turn_id="t", last_agent_message="Done."),
)


def run(*lines: Line) -> ImportedRun:
    (found,) = runs(read, written([META, *lines]))
    return found


def only(*lines: Line) -> Execution:
    (found,) = run(*lines).record
    return found


def ended(execution: Execution) -> tuple[Status, Learned]:
    return execution.status, execution.learned


# Real files.

COUNTS = {
    "event_types_2026.jsonl": (11, 1, 1, 21),
    "fixture_large.jsonl": (0, 0, 0, 2),
    "polylogue_functions_exec_multiple.jsonl": (1, 0, 0, 0),
    "polylogue_functions_exec_single.jsonl": (1, 0, 0, 0),
    "polylogue_interleaved_stream.jsonl": (2, 0, 0, 41),
    "polylogue_text_only_stream.jsonl": (0, 0, 0, 31),
    "polylogue_tool_call_stream.jsonl": (1, 0, 0, 45),
    "rollout_v0_40_34_calls.jsonl": (34, 0, 0, 4370),
    "rollout_v0_40_aborted_turns.jsonl": (64, 7, 1, 174),
}


@pytest.mark.parametrize("name", COUNTS)
def test_a_sample_has_these_calls_failures_open_calls_and_characters_of_report(
    name: str, shared: Path
) -> None:
    names = ("calls", "errored", "open", "final_chars")
    found = counts(read, shared / "transcripts/codex" / name)
    assert found == {"runs": 1, **dict(zip(names, COUNTS[name], strict=True))}


def test_of_seven_failures_of_a_real_session_two_were_refused_and_two_are_told_by_a_sentence(
    shared: Path,
) -> None:
    (found,) = read(shared / "transcripts/codex/rollout_v0_40_aborted_turns.jsonl")
    failed = [ended(execution) for execution in found.record if execution.failed]
    assert failed.count((Status.RAISED, Learned.EXIT_CODE)) == 3
    assert failed.count((Status.RAISED, Learned.TEXT_PATTERN)) == 2
    assert failed.count((Status.REFUSED, Learned.TEXT_PATTERN)) == 2
    assert found.record.completeness is Completeness.PARTIAL


def test_a_real_session_that_ended_is_closed_and_its_task_has_no_context_of_the_editor(shared: Path) -> None:
    (found,) = read(shared / "transcripts/codex/rollout_v0_40_34_calls.jsonl")
    assert found.record.completeness is Completeness.CLOSED
    assert found.task.startswith("Evaluate @packages/services")
    assert found.record.executions[0].result.startswith("CLAUDE.md\nREADME.md")
    assert found.record.executions[0].at == "2025-09-25T21:12:18.169Z"


# Recognition.


def test_all_samples_of_this_format_are_recognised_and_none_of_another(shared: Path) -> None:
    own = sorted((shared / "transcripts/codex").iterdir())
    assert all(recognise(path.read_bytes()[: 64 * 1024]) >= 0.9 for path in own)
    assert [path.name for path, head in heads("codex") if recognise(head) >= 0.5] == []


def test_the_oldest_forms_are_recognised() -> None:
    old = [
        {"id": THREAD, "timestamp": "t", "instructions": None},
        {"record_type": "state"},
        says("Hello.")["payload"],
    ]
    assert recognise(written(old)) >= 0.5
    (found,) = runs(read, written(old))
    assert (found.record.run_id, found.report) == (THREAD, "Hello.")
    session = {
        "session": {"id": THREAD, "timestamp": "t"},
        "items": [each["payload"] for each in SESSION[1:]],
    }
    assert recognise(json.dumps(session).encode()) >= 0.5
    (found,) = runs(read, json.dumps(session).encode())
    assert (len(found.record), found.report) == (1, "4 tests passed.")


def test_what_is_no_rollout_is_invalid_input(tmp_path: Path) -> None:
    for content in (b'{"a": 1}\n{"b": 2}\n', b"[1]", b'{"type": "response_item"}\n', b""):
        (tmp_path / "file").write_bytes(content)
        with pytest.raises(InvalidInputError):
            list(read(tmp_path / "file"))


# How a call ended, by what the model was shown.

HEAD = "Exit code: {}\nWall time: 1.2 seconds\nTotal output lines: 300\nOutput:\n{}"
UNIFIED = "Chunk ID: ab12\nWall time: 0.0512 seconds\nProcess exited with code {}\nOriginal token count: 4\nOutput:\n{}"
DEFAULT, CODE, TEXT, FLAG = Learned.DEFAULT, Learned.EXIT_CODE, Learned.TEXT_PATTERN, Learned.FLAG


@pytest.mark.parametrize(
    ("shown", "status", "learned", "result"),
    [
        ("ok", Status.RETURNED, DEFAULT, "ok"),
        (exit_json(0), Status.RETURNED, CODE, "4 passed\n"),
        (exit_json(1, "1 failed"), Status.RAISED, CODE, "1 failed"),
        (HEAD.format(0, "fine"), Status.RETURNED, CODE, "fine"),
        (HEAD.format(124, "command timed out after 1000 milliseconds\n"), Status.RAISED, CODE, None),
        (UNIFIED.format(0, "fine"), Status.RETURNED, CODE, "fine"),
        (UNIFIED.format(2, "bad"), Status.RAISED, CODE, "bad"),
        ("Wall time: 0.1 seconds\nOutput:\nfine", Status.RETURNED, DEFAULT, "fine"),
        ("Script completed\nWall time 0.1 seconds\nOutput:\nfine", Status.RETURNED, TEXT, "fine"),
        ("Script failed\nWall time 0.1 seconds\nOutput:\nno", Status.RAISED, TEXT, "no"),
        ("Script terminated\nWall time 0.1 seconds\nOutput:\n", Status.CANCELLED, TEXT, ""),
        ("failed in sandbox MacosSeatbelt with execution error: denied", Status.RAISED, TEXT, None),
        ("execution error: Io(NotFound)", Status.RAISED, TEXT, None),
        ("patch rejected by user", Status.REFUSED, TEXT, None),
        ("exec command rejected by user", Status.REFUSED, TEXT, None),
        ("`rm -rf /` rejected: blocked by policy", Status.REFUSED, TEXT, None),
        (
            'exec_command failed for `x\ny`: CreateProcess { message: "Rejected(\\"no\\")" }',
            Status.REFUSED,
            TEXT,
            None,
        ),
        ("exec_command failed for `x`: CreateProcess", Status.RAISED, TEXT, None),
        ("approval policy is Never; reject command", Status.REFUSED, TEXT, None),
        ("unsupported call: nope", Status.INVALID, TEXT, None),
        ("failed to parse function arguments: EOF", Status.INVALID, TEXT, None),
        ("apply_patch verification failed: no such lines", Status.INVALID, TEXT, None),
        ("aborted by user after 3.2s", Status.CANCELLED, TEXT, None),
        ("aborted", Status.CANCELLED, TEXT, None),
        ("Wall time: 3.0 seconds\naborted by user", Status.CANCELLED, TEXT, None),
        ("The report says: patch rejected by user", Status.RETURNED, DEFAULT, None),
        ("aborted transactions: 0", Status.RETURNED, DEFAULT, None),
        ("error: nothing", Status.RETURNED, DEFAULT, None),
        ("Plan updated", Status.RETURNED, DEFAULT, None),
        ('{"output": "text of a tool", "status": "fine"}', Status.RETURNED, DEFAULT, None),
        ('{"success": false}', Status.RAISED, Learned.VALUE, None),
        ([{"type": "input_text", "text": "a.txt"}], Status.RETURNED, DEFAULT, "a.txt"),
        ({"type": "input_text", "text": "a.txt", "detail": None}, Status.RETURNED, DEFAULT, "a.txt"),
        ([{"type": "input_image", "image_url": "data:"}], Status.RETURNED, DEFAULT, Unknown("image")),
        ({"content": "no", "success": False}, Status.RAISED, FLAG, "no"),
        ({"content": exit_json(0), "success": True}, Status.RETURNED, CODE, "4 passed\n"),
    ],
)
def test_an_output_tells_how_its_call_ended(
    shown: Any, status: Status, learned: Learned, result: Any
) -> None:
    found = only(call(), output(shown))
    assert ended(found) == (status, learned)
    assert found.result == (shown if result is None else result) or status is Status.RAISED
    assert run(call(), output(shown)).record.intact


@pytest.mark.parametrize(
    "shown", [5, None, {"a": 1}, ["text"], [{"type": "input_text"}], exit_json("1"), exit_json(0, 5), '{"output": "x'],
)  # fmt: skip
def test_an_output_of_another_shape_is_damage_and_no_failure(shown: Any) -> None:
    found = run(call(), output(shown), FINAL)
    (execution,) = found.record
    assert (execution.status, execution.result) == (Status.UNKNOWN, Unknown("unreadable"))
    assert found.record.completeness is Completeness.PARTIAL
    assert found.record.damage


def test_a_patch_that_could_not_be_read_never_ran() -> None:
    args = {"command": ["bash", "-lc", "apply_patch <<'EOF'\n*** Begin Patch"]}
    assert only(call(args=args), output("error: Failed to find lines")).status is Status.INVALID


def test_what_an_mcp_server_prints_is_no_sentence_of_codex() -> None:
    args: Line = {}
    for text in ("execution error: 0", "patch rejected by user", "`x` rejected: no"):
        assert only(call(tool="mcp__git__review", args=args), output(text)).status is Status.RETURNED
    assert only(call(tool="mcp__git__review"), output("user rejected MCP tool call")).status is Status.REFUSED


def test_a_result_that_was_shortened_says_so() -> None:
    assert only(call(), output(HEAD.format(0, "begin …1200 tokens truncated… end"))).cut
    assert not only(call(), output(HEAD.format(0, "all of it"))).cut


def test_free_text_for_a_tool_is_its_input() -> None:
    found = only(item("custom_tool_call", call_id="c1", name="apply_patch", input="*** Begin Patch"))
    assert found.args == {"input": "*** Begin Patch"}
    given = item("custom_tool_call", call_id="c1", name="shell", input='{"command": ["ls"]}')
    assert only(given).args == {"command": ["ls"]}


def test_an_output_that_names_its_tool_is_an_output() -> None:
    found = only(item("custom_tool_call", call_id="c1", name="shell", input="pwd"),
                 item("custom_tool_call_output", call_id="c1", name="shell", output="/repo"))  # fmt: skip
    assert (found.status, found.result) == (Status.RETURNED, "/repo")


def test_a_namespace_stands_before_the_name_of_a_tool() -> None:
    named = item("function_call", call_id="c1", name="find", namespace="mcp__docs__", arguments="{}")
    assert only(named).tool == "mcp__docs__find"
    named = item("function_call", call_id="c1", name="spawn", namespace="agents", arguments="{}")
    assert only(named).tool == "agents.spawn"


@pytest.mark.parametrize(
    ("payload", "tool", "args", "status", "result"),
    [
        (
            {"type": "web_search_call", "id": "ws", "status": "completed", "action": {"type": "search", "query": "q"}},
            "web_search",
            {"type": "search", "query": "q"},
            Status.RETURNED,
            Unknown("not captured"),
        ),
        (
            {"type": "image_generation_call", "id": "ig", "status": "failed", "revised_prompt": "a cat"},
            "image_generation",
            {"prompt": "a cat"},
            Status.RAISED,
            Unknown("not captured"),
        ),
        (
            {"type": "local_shell_call", "call_id": "c", "action": {"type": "exec", "command": []}},
            "local_shell",
            {"command": []},
            Status.UNFINISHED,
            UNSET,
        ),
        (
            {"type": "tool_search_call", "call_id": "c", "status": "completed", "arguments": {"query": "q"}},
            "tool_search",
            {"query": "q"},
            Status.UNFINISHED,
            UNSET,
        ),
    ],
)  # fmt: skip
def test_a_hosted_call_ends_by_its_status_or_by_its_output(
    payload: Line, tool: str, args: Any, status: Status, result: Any
) -> None:
    found = only(line("response_item", **payload))
    assert (found.tool, found.args, found.status, found.result) == (tool, args, status, result)


def test_the_tools_that_a_search_found_are_its_result() -> None:
    asked = item(
        "tool_search_call", call_id="c1", status="completed", execution="client", arguments={"query": "q"}
    )
    found = only(asked, item("tool_search_output", call_id="c1", tools=[{"name": "a"}]))
    assert (found.status, found.result) == (Status.RETURNED, [{"name": "a"}])


# Events.


def command_end(code: Any = 0, source_id: str = "c1", **more: Any) -> Line:
    given: Line = {
        "command": ["bash", "-lc", "pytest"],
        "cwd": "/repo",
        "aggregated_output": "all of it",
        **more,
    }
    status = "completed" if code == 0 else "failed"
    return event("exec_command_end", call_id=source_id, exit_code=code, **{"status": status, **given})


@pytest.mark.parametrize("is_first", [True, False])
def test_an_event_decides_and_the_output_is_what_the_model_was_shown(is_first: bool) -> None:
    both = [command_end(2), output("text without a code")]
    found = only(call(), *(both if is_first else reversed(both)))
    assert ended(found) == (Status.RAISED, Learned.EXIT_CODE)
    assert (found.result, found.shown) == ("all of it", "text without a code")


def test_an_event_of_no_known_call_is_a_call_of_its_own() -> None:
    script = item(
        "custom_tool_call", call_id="c1", name="exec", input="await tools.exec_command({cmd: 'pytest'})"
    )
    found = run(script, command_end(1, "exec-1"), output("Script completed\nWall time 1 seconds\nOutput:\nx"))
    assert [(each.tool, each.status) for each in found.record] == [
        ("exec", Status.RETURNED),
        ("exec_command", Status.RAISED),
    ]
    assert found.record.executions[1].args == {"command": ["bash", "-lc", "pytest"], "cwd": "/repo"}
    assert any("scripts" in note for note in found.record.notes)


def test_an_event_before_its_call_is_the_same_call() -> None:
    found = only(command_end(0), call(), output("shown"))
    assert (found.tool, found.result, found.shown) == ("shell", "all of it", "shown")


def test_the_command_of_the_user_is_not_the_agents() -> None:
    assert len(run(command_end(0, source="user_shell")).record) == 0


@pytest.mark.parametrize(
    ("payload", "tool", "status", "learned", "result"),
    [
        ({"type": "exec_command_end", "call_id": "x", "command": ["ls"], "status": "declined", "exit_code": -1,
          "aggregated_output": "exec command rejected by user"}, "exec_command", Status.REFUSED, FLAG,
         "exec command rejected by user"),
        ({"type": "patch_apply_end", "call_id": "x", "success": True, "stdout": "Success.", "changes": {}},
         "apply_patch", Status.RETURNED, FLAG, "Success."),
        ({"type": "patch_apply_end", "call_id": "x", "success": False, "stdout": "", "stderr": "no", "changes": {}},
         "apply_patch", Status.RAISED, FLAG, "no"),
        ({"type": "patch_apply_end", "call_id": "x", "success": False, "status": "declined", "changes": {},
          "stdout": "", "stderr": "rejected"}, "apply_patch", Status.REFUSED, FLAG, "rejected"),
        ({"type": "mcp_tool_call_end", "call_id": "x", "invocation": {"server": "git", "tool": "log", "arguments": {}},
          "result": {"Ok": {"content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]}}},
         "mcp__git__log", Status.RETURNED, DEFAULT, "a\nb"),
        ({"type": "mcp_tool_call_end", "call_id": "x", "invocation": {"server": "git", "tool": "log", "arguments": {}},
          "result": {"Ok": {"content": [{"type": "text", "text": "no"}], "isError": True}}},
         "mcp__git__log", Status.RAISED, FLAG, "no"),
        ({"type": "mcp_tool_call_end", "call_id": "x", "invocation": {"server": "git", "tool": "log", "arguments": {}},
          "result": {"Ok": {"content": [], "isError": False, "structuredContent": {"n": 1}}}},
         "mcp__git__log", Status.RETURNED, FLAG, {"n": 1}),
        ({"type": "mcp_tool_call_end", "call_id": "x", "invocation": {"server": "git", "tool": "log"},
          "result": {"Err": "user rejected MCP tool call"}}, "mcp__git__log", Status.REFUSED, FLAG,
         "user rejected MCP tool call"),
        ({"type": "web_search_end", "call_id": "x", "action": {"query": "q"}, "results": [{"title": "t"}]},
         "web_search", Status.RETURNED, DEFAULT, [{"title": "t"}]),
        ({"type": "view_image_tool_call", "call_id": "x", "path": "a.png"}, "view_image", Status.RETURNED, DEFAULT,
         Unknown("image")),
        ({"type": "image_generation_end", "call_id": "x", "status": "completed", "result": "base64"},
         "image_generation", Status.RETURNED, FLAG, Unknown("image")),
        ({"type": "dynamic_tool_call_response", "call_id": "x", "tool": "ask", "arguments": {}, "success": False,
          "content_items": [{"type": "inputText", "text": "no"}]}, "ask", Status.RAISED, FLAG, "no"),
        ({"type": "item_completed", "item": {"type": "CommandExecution", "id": "x", "command": ["ls"], "exit_code": 1,
          "status": "failed", "aggregated_output": "no"}}, "exec_command", Status.RAISED, CODE, "no"),
        ({"type": "item_completed", "item": {"type": "McpToolCall", "id": "x", "server": "git", "tool": "log",
          "arguments": {}, "status": "completed", "result": {"content": [{"type": "text", "text": "a"}]}}},
         "mcp__git__log", Status.RETURNED, FLAG, "a"),
        ({"type": "item_completed", "item": {"type": "McpToolCall", "id": "x", "server": "git", "tool": "log",
          "arguments": {}, "status": "failed", "error": {"message": "tool call error: no"}}},
         "mcp__git__log", Status.RAISED, FLAG, "tool call error: no"),
        ({"type": "item_completed", "item": {"type": "FileChange", "id": "x", "changes": {}, "status": "completed",
          "stdout": "Success."}}, "apply_patch", Status.RETURNED, FLAG, "Success."),
    ],
)  # fmt: skip
def test_events_and_items_show_calls_and_their_ends(
    payload: Line, tool: str, status: Status, learned: Learned, result: Any
) -> None:
    found = run(line("event_msg", **payload))
    (execution,) = found.record
    assert found.record.intact
    assert (execution.tool, *ended(execution), execution.result) == (tool, status, learned, result)


def test_a_call_that_was_asked_for_and_not_answered_is_open() -> None:
    asked = event("dynamic_tool_call_request", callId="x", turnId="t", tool="ask", arguments={"q": 1})
    assert only(asked).status is Status.UNFINISHED


@pytest.mark.parametrize("kind", ["some_new_thing_end", "some_new_thing_begin"])
def test_an_unknown_event_about_an_unknown_call_makes_the_record_partial(kind: str) -> None:
    found = run(ASKED, event(kind, call_id="x"), FINAL)
    assert found.record.completeness is Completeness.PARTIAL
    assert run(ASKED, event("token_count", info=None), FINAL).record.completeness is Completeness.CLOSED


# Processes and scripts that go on.

RUNNING = "Wall time: 10.0 seconds\nProcess running with session ID 7\nOutput:\ncollecting\n"


def poll(text: str, source_id: str = "c2", session: Any = 7) -> list[Line]:
    return [call(source_id, "write_stdin", {"session_id": session, "chars": ""}), output(text, source_id)]


def test_a_command_that_goes_on_is_in_the_background() -> None:
    assert ended(only(call(), output(RUNNING))) == (Status.BACKGROUND, Learned.TEXT_PATTERN)


@pytest.mark.parametrize(("code", "status"), [(0, Status.RETURNED), (1, Status.RAISED)])
def test_a_later_look_ends_it_and_brings_the_rest_of_its_output(code: int, status: Status) -> None:
    still = RUNNING.replace("collecting", "half")
    found = run(call(), output(RUNNING), *poll(still), *poll(UNIFIED.format(code, "4 passed"), "c3"))
    first, second, third = found.record
    assert ended(first) == (status, Learned.EXIT_CODE)
    assert first.result == "collecting\nhalf\n4 passed"
    assert {second.status, third.status} == {Status.RETURNED}


def test_a_look_at_another_process_ends_nothing() -> None:
    found = run(call(), output(RUNNING), *poll(UNIFIED.format(1, "no"), session=8))
    assert [each.status for each in found.record] == [Status.BACKGROUND, Status.RAISED]


def test_a_look_that_fails_itself_ends_nothing() -> None:
    found = run(call(), output(RUNNING), *poll("write_stdin failed: unknown session"))
    assert [each.status for each in found.record] == [Status.BACKGROUND, Status.RAISED]


def test_a_script_is_ended_by_the_wait_for_it() -> None:
    script = item("custom_tool_call", call_id="c1", name="exec", input="await x()")
    began = item(
        "custom_tool_call_output",
        call_id="c1",
        output="Script running with cell ID 4\nWall time 1.0 seconds\nOutput:\n",
    )
    heard = item("custom_tool_call_output", call_id="c1", name="exec", output="half way")
    wait = call("c2", "wait", {"cell_id": "4"})
    end = output("Script failed\nWall time 2.0 seconds\nOutput:\nScript error:\nno", "c2")
    found = run(script, heard, began, wait, end)
    assert [ended(each) for each in found.record] == [
        (Status.RAISED, Learned.TEXT_PATTERN),
        (Status.RETURNED, Learned.TEXT_PATTERN),
    ]
    assert found.record.intact


# Words.


def test_the_report_is_the_last_text_and_the_task_the_last_request_before_it() -> None:
    found = run(ASKED, FINAL, user("And now?"), says("All done."), user("Thanks."))
    assert (found.report, found.task) == ("All done.", "And now?")
    found = run(event("user_message", message="Go"), event("agent_message", message="Gone"))
    assert (found.report, found.task) == ("Gone", "Go")
    found = run(START, event("user_message", message="Go"), says("First."), END)
    assert found.report == "Done."


@pytest.mark.parametrize(
    "context", ["<environment_context>\n<cwd>/</cwd>", "# AGENTS.md instructions for /repo", "<turn_aborted>"]
)
def test_context_is_no_request(context: str) -> None:
    assert run(ASKED, user(context), FINAL).task == "Run the tests."


def test_the_history_that_a_compaction_repeats_is_not_read() -> None:
    again = line("compacted", message="", replacement_history=[each["payload"] for each in SESSION[1:]])
    assert len(run(*SESSION[1:], again).record) == 1


def test_words_of_turns_that_were_taken_back_are_gone_but_their_calls_ran() -> None:
    first = [event("user_message", message="A"), event("agent_message", message="Done A.")]
    second = [
        event("user_message", message="B"),
        call(),
        output(exit_json(0)),
        event("agent_message", message="Done B."),
    ]
    found = run(*first, *second, event("thread_rolled_back", num_turns=1))
    assert (found.report, found.task, len(found.record)) == ("Done A.", "A", 1)
    assert found.record.completeness is Completeness.PARTIAL


# Completeness.


@pytest.mark.parametrize(
    ("lines", "closed"),
    [
        ([ASKED, FINAL], True),
        (SESSION[1:], True),
        ([*SESSION[1:], user("Thanks.")], True),
        (SESSION[1:-1], False),
        ([ASKED, call(), FINAL], False),
        ([*SESSION[1:], event("turn_aborted", reason="interrupted")], False),
        ([START, *SESSION[1:]], False),
        ([START, *SESSION[1:], END], True),
        ([START, *SESSION[1:], END, START, user("More"), says("I will.")], False),
        ([START, *SESSION[1:], END, START, call("c9")], False),
        ([START, ASKED, event("task_complete", last_agent_message=None, error={"message": "limit"})], False),
        ([ASKED, event("error", message="limit")], False),
        ([ASKED, event("entered_review_mode", target={}), FINAL], False),
        ([ASKED, line("some_new_line"), FINAL], False),
        ([ASKED, item("some_new_item"), FINAL], False),
    ],
)
def test_a_record_is_closed_when_the_last_turn_ended_and_nothing_is_missing(
    lines: list[Line], closed: bool
) -> None:
    expected = Completeness.CLOSED if closed else Completeness.PARTIAL
    assert run(*lines).record.completeness is expected


def test_a_call_without_a_result_is_unfinished_at_the_end_and_unknown_where_the_session_went_on() -> None:
    assert only(ASKED, call()).status is Status.UNFINISHED
    assert only(ASKED, call(), event("turn_aborted"), user("Go on.")).status is Status.UNKNOWN


# Other agents.

SPAWN = [
    call("s1", "spawn_agent", {"message": "Look."}),
    output(json.dumps({"agent_id": CHILD, "nickname": "Kepler"}), "s1"),
    call("w1", "wait", {"ids": [CHILD]}),
    output(json.dumps({"status": {CHILD: {"completed": "Nothing found."}}, "timed_out": False}), "w1"),
]


@pytest.mark.parametrize(
    "lines",
    [
        SPAWN,
        [
            SPAWN[0],
            event("collab_agent_spawn_end", call_id="s1", new_thread_id=CHILD, prompt="Look.", status="pending_init"),
            SPAWN[2],
            event("collab_waiting_end", call_id="w1", statuses={CHILD: {"completed": "Nothing found."}}),
        ],
        [
            event("item_completed", item={"type": "CollabAgentToolCall", "id": "s1", "tool": "spawnAgent",
                  "status": "completed", "sender_thread_id": THREAD, "receiver_thread_ids": [CHILD],
                  "agents_states": {CHILD: {"completed": "Nothing found."}}}),
        ],
    ],
)  # fmt: skip
def test_the_parent_names_its_sub_agents_and_their_reports(lines: list[Line]) -> None:
    found = run(ASKED, *lines, FINAL)
    (delegation,) = found.delegations
    assert (delegation.call, delegation.agent, delegation.report) == ("0", CHILD, "Nothing found.")
    assert found.record.executions[0].tool == "spawn_agent"


def test_a_sub_agent_has_its_thread_as_agent_and_its_parent() -> None:
    source = {"subagent": {"thread_spawn": {"parent_thread_id": THREAD, "depth": 1}}}
    (found,) = runs(read, written([line("session_meta", id=CHILD, source=source), ASKED, FINAL]))
    assert (found.agent, found.parent) == (CHILD, THREAD)
    forked = line("session_meta", id=CHILD, source=source, forked_from_id=THREAD)
    (found,) = runs(read, written([forked, META, ASKED, FINAL]))
    assert (found.agent, found.record.completeness) == (CHILD, Completeness.PARTIAL)


def test_the_rollouts_of_sub_agents_are_companions_and_are_linked(tmp_path: Path) -> None:
    day, next_day = tmp_path / "09/25", tmp_path / "09/26"
    day.mkdir(parents=True)
    next_day.mkdir()
    main, child = (
        day / f"rollout-2026-09-25T23-59-00-{THREAD}.jsonl",
        next_day / f"rollout-2026-09-26T00-01-00-{CHILD}.jsonl",
    )
    other = next_day / f"rollout-2026-09-26T00-01-00-{THREAD[:-2]}ff.jsonl"
    main.write_bytes(written([META, ASKED, *SPAWN, FINAL]))
    meta = line("session_meta", id=CHILD, source={"subagent": {"thread_spawn": {"parent_thread_id": THREAD}}})
    child.write_bytes(written([meta, ASKED, call(), output(exit_json(0)), says("Nothing found.")]))
    other.write_bytes(written(SESSION))
    assert list(companions(main)) == [child]
    linked, _ = link([next(read(main)), next(read(child))])
    assert [execution.tool for execution in linked.behalf] == ["shell"]
    assert linked.record.completeness is Completeness.CLOSED


# Damage.

RICH = [
    META,
    START,
    event("user_message", message="Run the tests."),
    ASKED,
    item("custom_tool_call", call_id="p1", name="apply_patch", input="*** Begin Patch"),
    event("patch_apply_end", call_id="p1", success=True, stdout="Success.", stderr="", changes={"a": {"type": "add"}}),
    item("custom_tool_call_output", call_id="p1", output=exit_json(0)),
    call(),
    command_end(1),
    output(HEAD.format(1, "1 failed")),
    call("m1", "mcp__git__log", {}),
    event("mcp_tool_call_end", call_id="m1", invocation={"server": "git", "tool": "log", "arguments": {}},
          result={"Ok": {"content": [{"type": "text", "text": "a"}], "isError": False}}),
    output("a", "m1"),
    item("web_search_call", id="ws", status="completed", action={"query": "q"}),
    FINAL,
    event("agent_message", message="4 tests passed."),
    event("task_complete", turn_id="t", last_agent_message="4 tests passed."),
]  # fmt: skip


def test_the_rich_session_is_closed() -> None:
    (found,) = runs(read, written(RICH))
    assert found.record.completeness is Completeness.CLOSED
    assert [each.status for each in found.record] == [
        Status.RETURNED,
        Status.RAISED,
        Status.RETURNED,
        Status.RETURNED,
    ]


@pytest.mark.parametrize(
    "values", [SESSION, RICH, [META, ASKED, *SPAWN, FINAL]], ids=["plain", "rich", "helpers"]
)
def test_a_wrong_type_anywhere_makes_no_call_fail_and_changes_nothing_in_a_closed_record(
    values: list[Line],
) -> None:
    assert never_worse(read, values, optional=("isError", "status", "action")) == []
    assert torn(read, values) == []


@pytest.mark.parametrize("name", COUNTS)
def test_so_it_is_with_every_sample(name: str, shared: Path) -> None:
    values = lines_of((shared / "transcripts/codex" / name).read_bytes())
    assert never_worse(read, [*values[:20], *values[-3:]], every=3) == []
    assert torn(read, values[:20], 20) == []


def test_a_broken_line_is_damage_and_the_rest_is_read() -> None:
    broken = written(SESSION[:3]) + b'{"type": "event_msg", "payl\n' + written(SESSION[3:])
    (found,) = runs(read, broken)
    assert (len(found.record), found.report) == (1, "4 tests passed.")
    assert [(damage.kind, damage.line) for damage in found.record.damage] == [(DamageKind.UNREADABLE, 4)]
    assert found.record.completeness is Completeness.PARTIAL


def test_an_output_of_no_call_is_damage() -> None:
    found = run(ASKED, output("lost", "c7"), FINAL)
    assert [damage.kind for damage in found.record.damage] == [DamageKind.LIFECYCLE]


def test_ids_that_repeat_are_paired_with_the_nearest_open_call() -> None:
    found = run(call(), output("first"), call(tool="update_plan"), output("second"))
    assert [(each.tool, each.result) for each in found.record] == [
        ("shell", "first"),
        ("update_plan", "second"),
    ]


def test_calls_made_together_share_a_step() -> None:
    found = run(call("a"), call("b"), output("1", "a"), output("2", "b"), call("c"), output("3", "c"))
    first, second, third = (each.step for each in found.record)
    assert first == second != third


def test_results_beyond_what_is_held_are_left_in_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(codex_calls, "HELD", 0)
    monkeypatch.setattr("dispatch_fidelity.transcripts.building.HELD", 0)
    path = tmp_path / "rollout.jsonl"
    path.write_bytes(written([META, call(), output(exit_json(0, "x" * 5000))]))
    (found,) = next(read(path)).record
    assert isinstance(found.result, Blob)
    assert path.read_bytes()[found.result.offset :].startswith(b'{"timestamp"')


def test_twenty_thousand_calls_of_one_id_are_read_in_a_few_seconds() -> None:
    many = [each for _ in range(10_000) for each in (call(), call())] + [output("x") for _ in range(20_000)]
    start = time.monotonic()
    assert len(run(*many).record) == 20_000
    assert time.monotonic() - start < 20
