"""The stream of ``codex exec --json``: runs, calls, the report, and what the stream does not tell."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from damaged_lines import counts, heads, lines_of, never_worse, runs, torn, written

from dispatch_fidelity.errors import InvalidInputError
from dispatch_fidelity.model.call import Learned, Status, Unknown
from dispatch_fidelity.model.run import Completeness, DamageKind, ImportedRun
from dispatch_fidelity.transcripts.codex_exec import read, recognise

THREAD = "019a2d7a-41c4-78b1-b7cc-a45d62a89cd5"
Event = dict[str, Any]

BEGIN: Event = {"type": "thread.started", "thread_id": THREAD}
TURN: Event = {"type": "turn.started"}
END: Event = {"type": "turn.completed", "usage": {"input_tokens": 1}}


def item(kind: str, source_id: str = "item_1", state: str = "completed", **more: Any) -> Event:
    return {"type": f"item.{state}", "item": {"id": source_id, "type": kind, **more}}


def command(state: str = "completed", source_id: str = "item_1", **more: Any) -> Event:
    ends = {"aggregated_output": "4 passed\n", "exit_code": 0, "status": "completed"}
    begins = {"aggregated_output": "", "status": "in_progress"}
    given = ends if state == "completed" else begins
    return item("command_execution", source_id, state, **{"command": "bash -lc pytest", **given, **more})


def says(text: Any = "4 tests passed.") -> Event:
    return item("agent_message", "item_9", text=text)


SESSION = [BEGIN, TURN, command("started"), command(), says(), END]


def run(*events: Event) -> ImportedRun:
    (found,) = runs(read, written([BEGIN, TURN, *events]))
    return found


COUNTS = {
    "stream-output-1.jsonl": (0, 1),
    "stream-output-2.jsonl": (1, 72),
    "stream-output-3.jsonl": (1, 50),
    "stream-output-4.jsonl": (1, 130),
    "stream-output-5.jsonl": (1, 185),
    "stream-output-multi-1.jsonl": (0, 0),
}


@pytest.mark.parametrize("name", COUNTS)
def test_a_sample_has_these_calls_and_characters_of_report(name: str, shared: Path) -> None:
    calls, report = COUNTS[name]
    found = counts(read, shared / "transcripts/codex_exec_json" / name)
    assert found == {"runs": 1, "calls": calls, "errored": 0, "open": 0, "final_chars": report}


def test_all_samples_of_this_format_are_recognised_and_none_of_another(shared: Path) -> None:
    own = sorted((shared / "transcripts/codex_exec_json").iterdir())
    assert all(recognise(path.read_bytes()[: 64 * 1024]) >= 0.9 for path in own)
    assert [path.name for path, head in heads("codex_exec_json") if recognise(head) >= 0.5] == []


def test_a_stream_without_its_beginning_is_recognised_and_partial() -> None:
    assert recognise(written(SESSION[2:])) >= 0.5
    (found,) = runs(read, written(SESSION[1:]))
    assert found.record.completeness is Completeness.PARTIAL


def test_what_is_no_stream_is_invalid_input(tmp_path: Path) -> None:
    for content in (b'{"a": 1}\n{"type": "x"}\n', b"[1]", b""):
        (tmp_path / "file").write_bytes(content)
        with pytest.raises(InvalidInputError):
            list(read(tmp_path / "file"))


def test_a_run_has_its_thread_as_name_and_agent_and_no_task() -> None:
    found = run(*SESSION[2:])
    assert (found.record.run_id, found.agent, found.task) == (THREAD, THREAD, "")
    assert found.record.completeness is Completeness.CLOSED


def test_several_streams_in_one_file_are_several_runs_though_their_ids_are_equal() -> None:
    other = [{**BEGIN, "thread_id": "019a2d7a-0000"}, *SESSION[1:]]
    first, second = runs(read, written([*SESSION, *other]))
    assert (len(first.record), len(second.record)) == (1, 1)
    assert second.record.run_id == "019a2d7a-0000"


@pytest.mark.parametrize(
    ("events", "tool", "status", "learned", "result"),
    [
        ([command()], "exec_command", Status.RETURNED, Learned.EXIT_CODE, "4 passed\n"),
        ([command(exit_code=1, status="failed")], "exec_command", Status.RAISED, Learned.EXIT_CODE, "4 passed\n"),
        ([command(exit_code=None, status="declined")], "exec_command", Status.REFUSED, Learned.FLAG, "4 passed\n"),
        ([command("started")], "exec_command", Status.UNFINISHED, Learned.DEFAULT, None),
        (
            [item("file_change", changes=[{"path": "a.py", "kind": "add"}], status="completed")],
            "apply_patch",
            Status.RETURNED,
            Learned.FLAG,
            Unknown("not captured"),
        ),
        (
            [item("file_change", changes=[{"path": "a.py", "kind": "add"}], status="failed")],
            "apply_patch",
            Status.RAISED,
            Learned.FLAG,
            Unknown("not captured"),
        ),
        (
            [item("web_search", state="started", query=""), item("web_search", query="q")],
            "web_search",
            Status.RETURNED,
            Learned.DEFAULT,
            Unknown("not captured"),
        ),
        (
            [
                item("mcp_tool_call", server="git", tool="log", arguments={"n": 1}, status="completed",
                     result={"content": [{"type": "text", "text": "a"}], "structured_content": None}),
            ],
            "mcp__git__log",
            Status.RETURNED,
            Learned.FLAG,
            "a",
        ),
        (
            [item("mcp_tool_call", server="git", tool="log", arguments={}, status="failed", error={"message": "no"})],
            "mcp__git__log",
            Status.RAISED,
            Learned.FLAG,
            "no",
        ),
        (
            [item("mcp_tool_call", server="git", tool="log", arguments={}, status="failed",
                  error={"message": "user cancelled MCP tool call"})],
            "mcp__git__log",
            Status.REFUSED,
            Learned.FLAG,
            "user cancelled MCP tool call",
        ),
    ],
)  # fmt: skip
def test_items_are_calls(
    events: list[Event], tool: str, status: Status, learned: Learned, result: Any
) -> None:
    found = run(*events)
    (execution,) = found.record
    assert found.record.intact
    assert (execution.tool, execution.status, execution.learned) == (tool, status, learned)
    assert result is None or execution.result == result


def test_what_the_end_of_a_call_says_of_its_arguments_counts() -> None:
    (execution,) = run(item("web_search", state="started", query=""), item("web_search", query="q")).record
    assert execution.args == {"query": "q"}


def test_a_call_to_another_agent_is_a_delegation() -> None:
    states = {"child": {"status": "completed", "message": "Nothing found."}}
    given: Event = {"sender_thread_id": THREAD, "status": "completed", "receiver_thread_ids": ["child"]}
    found = run(
        item("collab_tool_call", tool="spawn_agent", prompt="Look.", agents_states={}, **given),
        item("collab_tool_call", "item_2", tool="wait", prompt=None, agents_states=states, **given),
    )
    (delegation,) = found.delegations
    assert (delegation.call, delegation.agent, delegation.report) == ("0", "child", "Nothing found.")


def test_calls_that_run_together_share_a_step() -> None:
    found = run(
        command("started", "item_1"),
        command("started", "item_2"),
        command(source_id="item_2"),
        command(source_id="item_1"),
        command(source_id="item_3"),
    )
    first, second, third = (each.step for each in found.record)
    assert first == second != third


@pytest.mark.parametrize(
    ("events", "closed"),
    [
        ([says(), END], True),
        ([command("started"), command(), says(), END], True),
        ([item("reasoning", text="hm"), item("todo_list", items=[]), says(), END], True),
        ([{"type": "error", "message": "Reconnecting... 1/5"}, says(), END], True),
        ([says()], False),
        ([command("started"), says(), END], False),
        ([says(), {"type": "turn.failed", "error": {"message": "no"}}], False),
        ([says(), END, TURN], False),
        ([says(), END, {"type": "error", "message": "no"}], False),
        ([says(), {"type": "some.new.event"}, END], False),
        ([item("some_new_item"), says(), END], False),
    ],
)
def test_a_run_is_closed_when_its_last_turn_was_completed(events: list[Event], closed: bool) -> None:
    assert run(*events).record.completeness is (Completeness.CLOSED if closed else Completeness.PARTIAL)


@pytest.mark.parametrize(
    "report",
    [
        "The screenshot shows the button.",
        "I looked at design.png.",
        "I called view_image.",
        "I ran exec_command twice.",
        '```json\n{"results": [{"tool": "shell", "result": "ok"}]}\n```',
    ],
)
def test_a_report_about_what_the_stream_does_not_tell_makes_the_record_partial(report: str) -> None:
    assert run(says(report), END).record.completeness is Completeness.PARTIAL


# Damage.


def test_a_wrong_type_anywhere_makes_no_call_fail_and_changes_nothing_in_a_closed_record() -> None:
    values = [
        *SESSION[:4],
        item("file_change", changes=[{"path": "a.py", "kind": "add"}], status="completed"),
        item("mcp_tool_call", server="git", tool="log", arguments={}, status="completed",
             result={"content": [{"type": "text", "text": "a"}]}),
        *SESSION[4:],
    ]  # fmt: skip
    assert never_worse(read, values, optional=("status", "server")) == []
    assert torn(read, values) == []


@pytest.mark.parametrize("name", COUNTS)
def test_so_it_is_with_every_sample(name: str, shared: Path) -> None:
    values = lines_of((shared / "transcripts/codex_exec_json" / name).read_bytes())
    assert never_worse(read, values) == []
    assert torn(read, values, 30) == []


def test_a_broken_line_is_damage_and_the_rest_is_read() -> None:
    (found,) = runs(
        read, written(SESSION[:3]) + b"Reading additional input from stdin...\n" + written(SESSION[3:])
    )
    assert (len(found.record), found.report) == (1, "4 tests passed.")
    assert [(damage.kind, damage.line) for damage in found.record.damage] == [(DamageKind.UNREADABLE, 4)]


def test_a_call_that_begins_twice_under_one_id_is_damage() -> None:
    found = run(command("started"), command("started"), command(), says(), END)
    assert [damage.kind for damage in found.record.damage] == [DamageKind.LIFECYCLE]
    assert [execution.status for execution in found.record] == [Status.UNFINISHED, Status.RETURNED]
