"""Claude Code sessions with their sub-agents: paired reports and counts, refusals, interruptions, what lies beside."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from dispatch_fidelity.model.call import Status
from dispatch_fidelity.model.run import Completeness, ImportedRun
from dispatch_fidelity.transcripts import claude_code
from dispatch_fidelity.transcripts.linking import link
from dispatch_fidelity.transcripts.registry import companions_of, read_transcript, reader_of, side_of


def session(path: Path) -> tuple[ImportedRun, ...]:
    runs = list(read_transcript(path))
    for companion in companions_of(path, reader_of(path)):
        runs += read_transcript(companion)
    return link(runs)


def line(kind: str, content: Any, number: int, **members: Any) -> dict[str, Any]:
    message = {"role": kind, "content": content}
    if kind == "assistant":
        message |= {"id": f"msg_{number}", "type": "message", "model": "m"}
    return {
        "type": kind,
        "uuid": f"u{number}",
        "parentUuid": f"u{number - 1}" if number else None,
        "sessionId": "s",
        "isSidechain": False,
        "userType": "external",
        "version": "2.1.0",
        "cwd": "/x",
        "timestamp": f"2026-11-30T08:00:{number:02}.000Z",
        "message": message,
        **members,
    }


ASK = line("user", "do it", 0)
CALL = line("assistant", [{"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": "ls"}}], 1)
DONE = line("assistant", [{"type": "text", "text": "There is one file."}], 3)


def result(content: Any, **members: Any) -> dict[str, Any]:
    return line("user", [{"type": "tool_result", "tool_use_id": "t1", "content": content, **members}], 2)


def written(folder: Path, *lines: Any) -> Path:
    path = folder / "session.jsonl"
    texts = [each if isinstance(each, str) else json.dumps(each) for each in lines]
    path.write_text("\n".join(texts) + "\n", encoding="utf-8")
    return path


def one(folder: Path, *lines: Any) -> ImportedRun:
    (run,) = claude_code.read(written(folder, *lines))
    return run


def test_a_turn_with_its_result_and_its_last_words_is_closed(tmp_path: Path) -> None:
    run = one(tmp_path, ASK, CALL, result("a.txt"), DONE)
    assert run.record.completeness is Completeness.CLOSED
    assert (run.report, run.task) == ("There is one file.", "do it")
    (call,) = run.record.executions
    assert (call.tool, call.args, call.result, call.status) == (
        "Bash",
        {"command": "ls"},
        "a.txt",
        Status.RETURNED,
    )


REFUSED = (
    "The user doesn't want to proceed with this tool use. The tool use was rejected (eg. if it was a file edit, the "
    "new_string was NOT written to the file). STOP what you are doing and wait for the user to tell you how to proceed."
)


@pytest.mark.parametrize(
    ("content", "status"),
    [
        ("ls: no such file", Status.RAISED),
        (REFUSED, Status.REFUSED),
        ("<tool_use_error>InputValidationError: Bash failed</tool_use_error>", Status.INVALID),
    ],
)
def test_a_flagged_result_is_a_failure_of_its_own_kind(tmp_path: Path, content: str, status: Status) -> None:
    run = one(tmp_path, ASK, CALL, result(content, is_error=True), DONE)
    assert [call.status for call in run.record.executions] == [status]


def test_the_same_words_without_the_flag_are_no_failure(tmp_path: Path) -> None:
    run = one(tmp_path, ASK, CALL, result("ls: no such file"), DONE)
    assert [call.status for call in run.record.executions] == [Status.RETURNED]


def test_a_call_without_a_result_is_open_and_the_record_not_closed(tmp_path: Path) -> None:
    run = one(tmp_path, ASK, CALL)
    assert [call.open for call in run.record.executions] == [True]
    assert run.record.completeness is Completeness.PARTIAL


def test_a_line_that_stands_twice_counts_once(tmp_path: Path) -> None:
    run = one(tmp_path, ASK, CALL, result("a"), ASK, CALL, result("a"), DONE)
    assert len(run.record.executions) == 1


def test_a_broken_line_is_damage_and_the_rest_is_read(tmp_path: Path) -> None:
    run = one(tmp_path, ASK, CALL, '{"type": "assist', result("a"), DONE)
    assert run.record.damage
    assert run.record.completeness is Completeness.PARTIAL
    assert len(run.record.executions) == 1


def test_calls_of_one_answer_stand_in_one_step(tmp_path: Path) -> None:
    second = line("assistant", [{"type": "tool_use", "id": "t2", "name": "Read", "input": {}}], 1, uuid="u1b")
    second["message"]["id"] = "msg_1"
    run = one(tmp_path, ASK, CALL, second, result("a"), DONE)
    steps = [call.step for call in run.record.executions]
    assert len(steps) == 2
    assert steps[0] == steps[1]


SESSIONS = (
    "one_subagent/29ccd257-68b1-427f-ae5f-6524b7cb6f20.jsonl",
    "six_subagents/ef958aa1-0e93-49f0-bb71-150f63befcd1.jsonl",
    "viewer_medium.jsonl",
)


@pytest.mark.parametrize("name", SESSIONS)
def test_reports_of_sub_agents_are_paired_with_their_own_logs_and_counts(shared: Path, name: str) -> None:
    main, *helpers = session(shared / "transcripts" / "claude_code" / name)
    by_agent = {run.agent: run for run in helpers}
    paired = [told for told in main.delegations if told.agent in by_agent]
    assert len(paired) == len(helpers) == len(main.delegations)
    for told in paired:
        helper = by_agent[told.agent]
        assert told.report.strip() == helper.report.strip()
        assert told.calls == len(helper.record.executions)
    assert len(main.behalf) == sum(len(helper.record.executions) for helper in helpers)


def test_nine_of_nine_reports_of_sub_agents_with_real_logs_are_paired(shared: Path) -> None:
    sessions = [session(shared / "transcripts" / "claude_code" / name) for name in SESSIONS]
    assert sum(len(main.delegations) for main, *_ in sessions) == 9


def test_files_beside_a_session_are_told_from_transcripts(shared: Path) -> None:
    folder = shared / "transcripts" / "claude_code"
    for path in sorted(folder.rglob("*")):
        if path.is_file() and (path.name.endswith(".json") or path.name == "journal.jsonl"):
            assert side_of(path), path


def test_no_run_of_the_samples_reads_without_saying_what_it_lacks(shared: Path) -> None:
    folder = shared / "transcripts" / "claude_code"
    for path in sorted(folder.rglob("*.jsonl")):
        if path.name == "journal.jsonl":
            continue
        for run in read_transcript(path):
            if run.record.completeness is not Completeness.CLOSED:
                assert run.record.notes or run.record.damage, path
