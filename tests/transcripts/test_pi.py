"""pi sessions: calls and their results, branches that were left, and whether all is there."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from damaged_lines import counts, heads, lines_of, never_worse, runs, torn, written

from dispatch_fidelity.errors import InvalidInputError
from dispatch_fidelity.model.call import Learned, Status, Unknown
from dispatch_fidelity.model.execution import Execution
from dispatch_fidelity.model.run import Completeness, DamageKind, ImportedRun
from dispatch_fidelity.transcripts.pi import read, recognise

Entry = dict[str, Any]
HEAD: Entry = {
    "type": "session",
    "version": 3,
    "id": "a1b2c3d4",
    "timestamp": "2025-01-01T10:00:00Z",
    "cwd": "/repo",
}


def text(words: str) -> list[Entry]:
    return [{"type": "text", "text": words}]


def call(source_id: str = "c1", tool: str = "bash", **args: Any) -> Entry:
    return {"type": "toolCall", "id": source_id, "name": tool, "arguments": args or {"command": "pytest"}}


def entry(**message: Any) -> Entry:
    return {"type": "message", "timestamp": "2025-01-01T10:00:01Z", "message": message}


def user(words: str) -> Entry:
    return entry(role="user", content=words)


def answer(*parts: Entry, stopped: str = "stop") -> Entry:
    return entry(role="assistant", content=list(parts), provider="anthropic", stopReason=stopped)


def result(words: Any = "4 passed", source_id: str = "c1", flag: Any = False, **more: Any) -> Entry:
    content = text(words) if isinstance(words, str) else words
    given = {"toolCallId": source_id, "toolName": "bash", "content": content, "isError": flag, **more}
    return entry(role="toolResult", **given)


def tree(*entries: Entry) -> list[Entry]:
    """The entries as a chain of parents."""
    return [
        {**each, "id": f"e{n}", "parentId": f"e{n - 1}" if n else None, **each}
        for n, each in enumerate(entries)
    ]


ASKED = user("Run the tests.")
CALL = answer(*text("I run them."), call(), stopped="toolUse")
FINAL = answer(*text("4 tests passed."))
SESSION = [ASKED, CALL, result(), FINAL]


def run(*entries: Entry) -> ImportedRun:
    (found,) = runs(read, written([HEAD, *tree(*entries)]))
    return found


def only(*entries: Entry) -> Execution:
    (found,) = run(ASKED, *entries).record
    return found


def test_the_sample_has_one_call_and_a_broken_line(shared: Path) -> None:
    path = shared / "transcripts/pi/session.jsonl"
    assert counts(read, path) == {"runs": 1, "calls": 1, "errored": 0, "open": 0, "final_chars": 11}
    (found,) = read(path)
    assert (found.report, found.task) == ("Looks good!", "Look good to you?")
    assert [damage.line for damage in found.record.damage] == [10]
    assert found.record.completeness is Completeness.PARTIAL


def test_the_sample_is_recognised_and_none_of_another_format(shared: Path) -> None:
    assert recognise((shared / "transcripts/pi/session.jsonl").read_bytes()) >= 0.9
    assert recognise(written(SESSION)) >= 0.5
    assert [path.name for path, head in heads("pi") if recognise(head) >= 0.5] == []


def test_what_is_no_session_is_invalid_input(tmp_path: Path) -> None:
    for content in (b'{"a": 1}\n{"b": 2}\n', b"[1]", b'{"type": "message", "message": {"role": "x"}}', b""):
        (tmp_path / "file").write_bytes(content)
        with pytest.raises(InvalidInputError):
            list(read(tmp_path / "file"))


def test_a_session_has_its_name_its_report_and_its_task() -> None:
    found = run(*SESSION, user("Thanks."))
    assert (found.record.run_id, found.agent) == ("a1b2c3d4", "a1b2c3d4")
    assert (found.report, found.task) == ("4 tests passed.", "Run the tests.")
    assert found.record.completeness is Completeness.CLOSED


@pytest.mark.parametrize(
    ("end", "status", "learned"),
    [
        (result(), Status.RETURNED, Learned.FLAG),
        (result(flag=None), Status.RETURNED, Learned.DEFAULT),
        (result("1 failed\n\nCommand exited with code 1", flag=True), Status.RAISED, Learned.FLAG),
        (result("Command timed out after 10 seconds", flag=True), Status.RAISED, Learned.FLAG),
        (result("half\n\nCommand aborted", flag=True), Status.CANCELLED, Learned.FLAG),
        (result("Operation aborted", flag=True), Status.CANCELLED, Learned.FLAG),
        (result("Tool nope not found", flag=True), Status.INVALID, Learned.FLAG),
        (
            result('Validation failed for tool "bash":\n  - command: required', flag=True),
            Status.INVALID,
            Learned.FLAG,
        ),
        (
            result('Tool call "bash" was not executed: the response hit', flag=True),
            Status.INVALID,
            Learned.FLAG,
        ),
        (result("Skipped due to queued user message.", flag=True), Status.REFUSED, Learned.FLAG),
        (result("Tool execution was blocked by an extension", flag=True), Status.REFUSED, Learned.FLAG),
        (result("Tool nope not found"), Status.RETURNED, Learned.FLAG),
        (result("Backgrounded", details={"async": {"state": "running"}}), Status.BACKGROUND, Learned.FLAG),
    ],
)
def test_a_result_tells_how_its_call_ended(end: Entry, status: Status, learned: Learned) -> None:
    found = only(CALL, end)
    assert (found.status, found.learned) == (status, learned)


def test_a_call_has_arguments_a_result_and_times() -> None:
    found = only(CALL, result())
    assert (found.tool, found.args, found.result) == ("bash", {"command": "pytest"}, "4 passed")
    assert found.at == found.until == "2025-01-01T10:00:01Z"


def test_results_that_are_mere_text_are_read_and_the_record_partial() -> None:
    end = entry(role="toolResult", toolCallId="c1", toolName="bash", content="4 passed", isError=False)
    found = run(ASKED, CALL, end, FINAL)
    assert (found.record.executions[0].result, found.record.completeness) == (
        "4 passed",
        Completeness.PARTIAL,
    )


def test_a_shortened_result_is_cut() -> None:
    assert only(CALL, result(details={"truncation": {"truncated": True}})).cut
    assert not only(CALL, result(details={"truncation": {"truncated": False}})).cut
    assert not only(CALL, result()).cut


@pytest.mark.parametrize("stopped", ["error", "aborted"])
def test_the_calls_of_an_answer_that_broke_off_never_ran(stopped: str) -> None:
    found = run(ASKED, answer(call(), stopped=stopped), user("Go on."), FINAL)
    assert [execution.status for execution in found.record] == [Status.INVALID]
    assert found.record.completeness is Completeness.CLOSED


def test_calls_of_one_answer_share_a_step() -> None:
    found = run(ASKED, answer(call(), call("c2")), result(), result(source_id="c2"), answer(call("c3")))
    first, second, third = (each.step for each in found.record)
    assert first == second != third


def test_the_users_own_command_is_no_call() -> None:
    own = entry(role="bashExecution", command="ls", output="a", exitCode=0, cancelled=False, truncated=False)
    found = run(*SESSION[:3], own, FINAL)
    assert (len(found.record), found.record.completeness) == (1, Completeness.CLOSED)


# Branches.


def test_words_of_a_branch_that_was_left_are_gone_but_its_calls_ran() -> None:
    left = tree(*SESSION)
    other = [{**user("Try another way."), "id": "x", "parentId": "e0"}, {**FINAL, "id": "y", "parentId": "x"}]
    other[1]["message"] = answer(*text("Nothing to do."))["message"]
    (found,) = runs(read, written([HEAD, *left, *other]))
    assert (found.report, found.task, len(found.record)) == ("Nothing to do.", "Try another way.", 1)
    assert found.record.completeness is Completeness.PARTIAL


def test_entries_that_are_no_messages_are_of_the_branch_too() -> None:
    changed = {"type": "model_change", "timestamp": "t", "provider": "p", "modelId": "m"}
    found = run(ASKED, changed, CALL, result(), FINAL, {"type": "label", "targetId": "e0", "label": "x"})
    assert found.record.completeness is Completeness.CLOSED


def test_an_entry_whose_parent_is_missing_follows_the_one_before_it() -> None:
    entries = tree(*SESSION)
    del entries[2]
    (found,) = runs(read, written([HEAD, *entries]))
    assert (found.report, len(found.record)) == ("4 tests passed.", 1)
    assert found.record.executions[0].status is Status.UNKNOWN


def test_the_first_version_has_no_tree() -> None:
    (found,) = runs(read, written([HEAD, *SESSION]))
    assert (len(found.record), found.record.completeness) == (1, Completeness.CLOSED)


@pytest.mark.parametrize(
    ("entries", "closed"),
    [
        (SESSION, True),
        (SESSION[:-1], False),
        ([ASKED, CALL, FINAL], False),
        ([*SESSION[:-1], answer(*text("4 tests"), stopped="length")], False),
        ([*SESSION[:-1], answer(*text("4 tests"), stopped="aborted")], False),
        ([*SESSION, {"type": "some_new_entry"}], False),
    ],
)
def test_a_session_is_closed_when_the_last_answer_stopped_by_itself(
    entries: list[Entry], closed: bool
) -> None:
    assert run(*entries).record.completeness is (Completeness.CLOSED if closed else Completeness.PARTIAL)


def test_a_session_without_its_head_is_partial() -> None:
    (found,) = runs(read, written(SESSION))
    assert found.record.completeness is Completeness.PARTIAL


# Damage.


@pytest.mark.parametrize("values", [[HEAD, *tree(*SESSION)], [HEAD, *SESSION]], ids=["tree", "first version"])
def test_a_wrong_type_anywhere_makes_no_call_fail_and_changes_nothing_in_a_closed_record(
    values: list[Entry],
) -> None:
    assert never_worse(read, values, optional=("isError", "stopReason", "parentId", "id")) == []
    assert torn(read, values) == []


def test_so_it_is_with_the_sample(shared: Path) -> None:
    values = lines_of((shared / "transcripts/pi/session.jsonl").read_bytes())[:-1]
    worse = never_worse(read, values, optional=("isError", "stopReason", "parentId", "id"))
    assert [
        each for each in worse if "Look good" not in each
    ] == []  # a text of the user may be no list of parts
    assert torn(read, values) == []


def test_a_result_of_another_shape_is_damage_and_no_failure() -> None:
    for end in (result(5), result(flag="yes"), result([{"type": "text", "text": 5}], flag=True)):
        found = run(ASKED, CALL, end, FINAL)
        (execution,) = found.record
        assert (execution.status, execution.result) == (Status.UNKNOWN, Unknown("unreadable"))
        assert found.record.damage


def test_a_result_of_no_call_is_damage() -> None:
    found = run(ASKED, result(source_id="c7"), FINAL)
    assert [damage.kind for damage in found.record.damage] == [DamageKind.LIFECYCLE]


def test_ids_that_repeat_are_paired_with_the_nearest_open_call() -> None:
    found = run(ASKED, CALL, result("first"), CALL, result("second"), FINAL)
    assert [execution.result for execution in found.record] == ["first", "second"]
