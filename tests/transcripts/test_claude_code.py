"""Claude Code sessions line by line: whose calls, how they ended, forks and repeats, work in the background, damage."""

from __future__ import annotations

import copy
import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from dispatch_fidelity import jsonio
from dispatch_fidelity.audit import read_blob
from dispatch_fidelity.errors import InvalidInputError, MissingInputError
from dispatch_fidelity.model.call import Blob, Learned, Status, Unknown
from dispatch_fidelity.model.run import Completeness, DamageKind, ImportedRun
from dispatch_fidelity.transcripts import building, claude_code
from dispatch_fidelity.transcripts.claude_code import companions, read, recognise, side
from dispatch_fidelity.transcripts.linking import link

Line = dict[str, Any]


class Session:
    """Lines of one session, each after the one before; ``at`` goes back to the line of that name."""

    def __init__(self) -> None:
        self.lines: list[Any] = []
        self.last: str | None = None

    def add(
        self, kind: str, content: Any = None, /, name: str = "", after: Any = ..., **members: Any
    ) -> Session:
        number = len(self.lines)
        message = members.pop("message", {})
        line: Line = {
            "parentUuid": self.last if after is ... else after,
            "isSidechain": False,
            "sessionId": "s-1",
            "type": kind,
            "uuid": name or f"line-{number}",
            "timestamp": f"2026-11-30T08:{number // 60:02}:{number % 60:02}.000Z",
            **members,
        }
        if kind in ("user", "assistant"):
            own = {"id": f"msg-{number}", "model": "m", "stop_reason": None} if kind == "assistant" else {}
            line["message"] = {"role": kind, "content": content, **own, **message}
        self.lines.append(line)
        self.last = line["uuid"]
        return self

    def ask(self, text: str = "do it", **members: Any) -> Session:
        return self.add("user", text, **members)

    def say(self, text: str = "Done.", **members: Any) -> Session:
        return self.add("assistant", [{"type": "text", "text": text}], **members)

    def call(self, source_id: str, tool: str = "Bash", given: Any = None, **members: Any) -> Session:
        given = {"command": f"run {source_id}"} if given is None else given
        block = {"type": "tool_use", "id": source_id, "name": tool, "input": given}
        return self.add("assistant", [block], **members)

    def result(
        self, source_id: str, content: Any = "ok", flag: Any = None, extra: Any = None, **more: Any
    ) -> Session:
        block = {"type": "tool_result", "tool_use_id": source_id, "content": content}
        block |= {} if flag is None else {"is_error": flag}
        return self.add("user", [block], **({} if extra is None else {"toolUseResult": extra}), **more)

    def text(self, **style: Any) -> bytes:
        style = style or {"separators": (",", ":")}
        lines = [
            line if isinstance(line, bytes) else json.dumps(line, **style).encode() for line in self.lines
        ]
        return b"".join(line + b"\n" for line in lines)

    def runs(self, folder: Path) -> list[ImportedRun]:
        path = folder / "s-1.jsonl"
        path.write_bytes(self.text())
        return list(read(path))

    def run(self, folder: Path) -> ImportedRun:
        (found,) = self.runs(folder)
        return found


def turn(*ids: str) -> Session:
    session = Session().ask()
    for source_id in ids:
        session.call(source_id).result(source_id)
    return session


def ends(run: ImportedRun) -> list[tuple[Status, Learned]]:
    return [(call.status, call.learned) for call in run.record]


def is_closed(run: ImportedRun) -> bool:
    return run.record.completeness is Completeness.CLOSED


# Real files.

COUNTS = {  # runs, calls, failed, open, characters of the final texts, closed runs
    "errors_and_rejections.jsonl": (1, 56, 13, 0, 350, 1),
    "mostly_errors.jsonl": (1, 9, 6, 0, 1600, 1),
    "open_exit_plan_mode.jsonl": (1, 3, 0, 1, 246, 0),
    "parallel_background_interrupted.jsonl": (1, 71, 6, 2, 1570, 1),
    "plain_session.jsonl": (1, 35, 1, 0, 490, 1),
    "print_mode.jsonl": (1, 3, 0, 0, 1989, 1),
    "stopped_mid_run_3_open_calls.jsonl": (1, 23, 0, 3, 93, 0),
    "viewer_medium.jsonl": (3, 21, 3, 0, 3158, 3),
    "viewer_small.jsonl": (1, 12, 1, 0, 369, 1),
    "flat_layout_subagent/agent-c8d9b115.jsonl": (1, 15, 1, 0, 7774, 1),
    "one_subagent/29ccd257-68b1-427f-ae5f-6524b7cb6f20.jsonl": (1, 1, 0, 0, 1641, 1),
    "six_subagents/ef958aa1-0e93-49f0-bb71-150f63befcd1.jsonl": (1, 40, 0, 0, 1358, 1),
    "fixtures/async_agents/eb000000-0000-4000-8000-000000000001.jsonl": (1, 2, 0, 0, 31, 1),
    "fixtures/edge_cases.jsonl": (1, 3, 1, 2, 145, 0),
    "fixtures/hook_attachments.jsonl": (1, 0, 0, 0, 14, 1),
    "fixtures/memory_sidechain.jsonl": (2, 2, 0, 1, 30, 0),
    "fixtures/sidechain.jsonl": (2, 3, 0, 2, 2112, 0),
    "fixtures/task_id_linking.jsonl": (1, 8, 1, 2, 0, 0),
    "fixtures/task_id_linking_real_world_bash.jsonl": (1, 2, 0, 1, 0, 0),
    "fixtures/teammates/ef000000-0000-4000-8000-000000000001.jsonl": (1, 9, 1, 0, 78, 1),
    "fixtures/workflow_basic/11110000-0000-4000-8000-000000000001.jsonl": (1, 1, 0, 1, 28, 0),
}
AGENTS = {  # sub-agents: calls, failed, open, characters of the report
    "one_subagent": {"a2271d1": (24, 0, 0, 13481)},
    "six_subagents": {
        "a36efb2a1231c41e2": (7, 0, 0, 925),
        "a4ca7529859c158c2": (24, 1, 0, 1903),
        "a52886dc180afb356": (17, 0, 0, 1102),
        "a6aa8ad077d9ea083": (6, 0, 0, 1016),
        "ab1e6e141221a29ab": (17, 2, 0, 1111),
        "aef063ba534d73153": (6, 0, 0, 827),
    },
    "fixtures/async_agents": {"cccc333": (0, 0, 0, 132)},
    "fixtures/teammates": {"aaaa111111111111": (0, 0, 0, 33), "bbbb222222222222": (0, 0, 0, 34)},
    "fixtures/workflow_basic": {
        "ag000001": (1, 0, 1, 28),
        "ag000002": (1, 0, 1, 28),
        "ag000003": (0, 0, 0, 73),
    },
}


@pytest.fixture
def samples(shared: Path) -> Path:
    return shared / "transcripts" / "claude_code"


def test_every_session_of_the_samples_has_the_counts_that_it_should(samples: Path) -> None:
    for name, expected in COUNTS.items():
        found = list(read(samples / name))
        calls = [call for run in found for call in run.record]
        counts = (
            len(found),
            len(calls),
            sum(call.failed for call in calls),
            sum(call.open for call in calls),
            sum(len(run.report) for run in found),
            sum(map(is_closed, found)),
        )
        assert counts == expected, name


def test_every_sub_agent_of_the_samples_is_a_companion_with_the_counts_that_it_should_have(
    samples: Path,
) -> None:
    for folder, expected in AGENTS.items():
        (main,) = (samples / folder).glob("*.jsonl")
        found = {}
        for path in companions(main):
            (run,) = read(path)
            calls = list(run.record)
            found[run.agent] = (
                len(calls),
                sum(call.failed for call in calls),
                sum(call.open for call in calls),
                len(run.report),
            )
            assert (run.parent, path.stem) == ("agent", f"agent-{run.agent}")
        assert found == expected, folder


def test_the_nine_reports_in_parents_are_the_last_texts_and_call_counts_of_the_agents_themselves(
    samples: Path,
) -> None:
    pairs = 0
    for name in ("one_subagent", "six_subagents", "viewer_medium.jsonl"):
        main = samples / name if name.endswith(".jsonl") else next((samples / name).glob("*.jsonl"))
        runs = [*read(main), *(run for path in companions(main) for run in read(path))]
        by_agent = {run.agent: run for run in runs if run.parent}
        for told in runs[0].delegations:
            agent = by_agent[told.agent]
            assert (told.report.strip(), told.calls) == (agent.report.strip(), len(agent.record)), told.agent
            assert runs[0].record.executions[int(told.call)].tool in ("Task", "Agent")
            pairs += 1
    assert pairs == 9


def test_the_report_of_an_asynchronous_agent_comes_with_its_notification(samples: Path) -> None:
    (main,) = read(samples / "fixtures/async_agents/eb000000-0000-4000-8000-000000000001.jsonl")
    launch = main.record.executions[0]
    assert (launch.status, launch.learned) == (Status.RETURNED, Learned.VALUE)
    assert str(launch.result).startswith("Coverage analysis complete.")
    (told,) = main.delegations
    assert (told.agent, told.calls, told.report) == ("cccc333", 2, launch.result)


def test_a_workflow_is_handed_to_each_agent_whose_log_lies_in_its_folder(samples: Path) -> None:
    (main,) = read(samples / "fixtures/workflow_basic/11110000-0000-4000-8000-000000000001.jsonl")
    assert [told.agent for told in main.delegations] == ["ag000001", "ag000002", "ag000003"]
    assert ends(main) == [(Status.BACKGROUND, Learned.FLAG)]


def test_files_of_a_session_that_are_no_transcripts_are_known(samples: Path, tmp_path: Path) -> None:
    known = {
        path.name: side(path.read_bytes()[: 64 * 1024])
        for path in samples.rglob("*")
        if path.is_file() and side(path.read_bytes()[: 64 * 1024])
    }
    assert {name.partition(".")[2] or name for name in known} == {"meta.json", "jsonl", "json"}
    assert "journal.jsonl" in known
    assert "wf_demo01.json" in known
    bare = b'{"type":"summary","summary":"A title","leafUuid":"u"}\n'
    assert recognise(bare) < 0.5
    assert side(bare)
    path = tmp_path / "bare.jsonl"
    path.write_bytes(bare)
    with pytest.raises(InvalidInputError, match="no message"):
        list(read(path))


def test_only_its_own_transcripts_are_recognised(shared: Path, samples: Path) -> None:
    for path in sorted((shared / "transcripts").rglob("*")):
        if path.is_file():
            sure = recognise(path.read_bytes()[: 64 * 1024]) >= 0.5
            is_transcript = (
                path.suffix == ".jsonl" and path.name != "journal.jsonl" and samples in path.parents
            )
            assert sure == is_transcript, path
    log = b'{"v":2,"run":"r","stream":"main","n":0,"prev":"0","type":"open"}\n'
    assert recognise(log) == 0
    assert side(log) == ""


# How calls end.


@pytest.mark.parametrize(
    ("text", "status", "learned"),
    [
        ("Exit code 2\nno such file", Status.RAISED, Learned.FLAG),
        ("Request failed with status code 403", Status.RAISED, Learned.FLAG),
        (
            "The user doesn't want to proceed with this tool use. The tool use was",
            Status.REFUSED,
            Learned.TEXT_PATTERN,
        ),
        ("Claude requested permissions to use WebSearch, but you", Status.REFUSED, Learned.TEXT_PATTERN),
        ("This command requires approval", Status.REFUSED, Learned.TEXT_PATTERN),
        ("Permission to use Bash with command rm has been denied.", Status.REFUSED, Learned.TEXT_PATTERN),
        (
            "ls in '/x' was blocked. For security, Claude Code may only list",
            Status.REFUSED,
            Learned.TEXT_PATTERN,
        ),
        ("Error: PreToolUse:Bash hook error: [guard.py]: no", Status.REFUSED, Learned.TEXT_PATTERN),
        ("<tool_use_error>InputValidationError: x</tool_use_error>", Status.INVALID, Learned.TEXT_PATTERN),
        (
            "<tool_use_error>Sibling tool call errored</tool_use_error>",
            Status.CANCELLED,
            Learned.TEXT_PATTERN,
        ),
        ("The user doesn't want to take this action right now. STOP", Status.CANCELLED, Learned.TEXT_PATTERN),
        ("[Tool result missing due to internal error]", Status.UNKNOWN, Learned.TEXT_PATTERN),
    ],
)
def test_a_flagged_result_says_in_the_words_of_the_product_whether_the_call_ran(
    tmp_path: Path, text: str, status: Status, learned: Learned
) -> None:
    assert ends(Session().ask().call("a").result("a", text, True).say().run(tmp_path)) == [(status, learned)]
    # The same words in a result that is not flagged are the output of a tool.
    assert ends(Session().ask().call("a").result("a", text, False).say().run(tmp_path)) == [
        (Status.RETURNED, Learned.FLAG)
    ]


def test_a_failed_call_keeps_its_code_and_its_words(tmp_path: Path) -> None:
    (call,) = (
        Session().ask().call("a").result("a", "Exit code 2\nno such file", True).say().run(tmp_path).record
    )
    assert (call.error, call.message, call.result) == (
        "Exit code 2",
        call.result,
        "Exit code 2\nno such file",
    )


@pytest.mark.parametrize(
    ("content", "flag", "extra", "status", "learned"),
    [
        ("ok", None, None, Status.RETURNED, Learned.DEFAULT),
        ("ok", False, None, Status.RETURNED, Learned.FLAG),
        ('{"success": false}', None, None, Status.RAISED, Learned.VALUE),
        ('{"success": false}', False, None, Status.RETURNED, Learned.FLAG),
        ("", False, {"stdout": "", "interrupted": True}, Status.CANCELLED, Learned.FLAG),
        ("", False, {"stdout": "", "interrupted": False}, Status.RETURNED, Learned.FLAG),
        ("started", False, {"backgroundTaskId": "b1"}, Status.BACKGROUND, Learned.FLAG),
        ("Command running in background with ID: b1", None, None, Status.BACKGROUND, Learned.TEXT_PATTERN),
        (
            [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}],
            None,
            None,
            Status.RETURNED,
            Learned.DEFAULT,
        ),
    ],
)
def test_the_end_of_a_call_is_read_from_flag_value_and_richer_result(
    tmp_path: Path, content: Any, flag: Any, extra: Any, status: Status, learned: Learned
) -> None:
    run = Session().ask().call("a").result("a", content, flag, extra).say().run(tmp_path)
    assert ends(run) == [(status, learned)]


def test_a_lost_flag_of_failure_leaves_the_end_open(tmp_path: Path) -> None:
    told = Session().ask().call("a").result("a", "no such file", None, "Error: no such file").say()
    null = Session().ask().call("a").result("a", "no such file").say()
    null.lines[-2]["message"]["content"][0]["is_error"] = None
    for session in (told, null):
        run = session.run(tmp_path)
        assert ends(run) == [(Status.UNKNOWN, Learned.DEFAULT)]
        assert run.record.completeness is Completeness.PARTIAL


def test_parts_of_a_result_are_its_text_and_images_leave_their_bytes_behind(tmp_path: Path) -> None:
    image = {"type": "image", "source": {"type": "base64", "data": "x" * 5000}}
    text = {"type": "text", "text": "a"}
    session = (
        Session().ask().call("a").result("a", [text, text]).call("b", "Read").result("b", [text, image]).say()
    )
    assert [call.result for call in session.run(tmp_path).record] == ["a\na", [text, {"type": "image"}]]


@pytest.mark.parametrize(
    ("text", "is_cut"),
    [
        ("x" * 9000 + "\n\n... [120 lines truncated] ...\n\n" + "y" * 9000, True),
        ("<persisted-output>\nOutput too large (40KB). Full output saved to: /x", True),
        ("x" * 9000, False),
    ],
)
def test_a_result_that_the_product_has_shortened_is_marked(tmp_path: Path, text: str, is_cut: bool) -> None:
    (call,) = Session().ask().call("a").result("a", text, False).say().run(tmp_path).record
    assert call.cut is is_cut


def test_a_result_that_was_cleared_was_not_captured(tmp_path: Path) -> None:
    (call,) = (
        Session().ask().call("a").result("a", "[Old tool result content cleared]").say().run(tmp_path).record
    )
    assert isinstance(call.result, Unknown)


@pytest.mark.parametrize(
    ("status", "summary", "found", "learned"),
    [
        ("completed", 'Background command "x" completed (exit code 0)', Status.RETURNED, Learned.EXIT_CODE),
        ("failed", 'Background command "x" failed with exit code 1', Status.RAISED, Learned.EXIT_CODE),
        ("killed", 'Background command "x" was stopped', Status.BACKGROUND, Learned.FLAG),
    ],
)
def test_a_notification_says_how_a_command_in_the_background_ended(
    tmp_path: Path, status: str, summary: str, found: Status, learned: Learned
) -> None:
    text = f"<task-notification>\n<task-id>b1</task-id>\n<status>{status}</status>\n<summary>{summary}</summary>\n"
    session = (
        Session().ask().call("a").result("a", "started", False, {"backgroundTaskId": "b1"}).say("Started.")
    )
    session.add("user", f"{text}</task-notification>").say()
    run = session.run(tmp_path)
    assert ends(run) == [(found, learned)]
    assert run.task == "do it"
    # What such a command wrote stands elsewhere, so nothing stated of it is contradicted.
    assert found is Status.BACKGROUND or isinstance(run.record.executions[0].result, Unknown)


def test_a_look_at_a_task_says_how_it_stands(tmp_path: Path) -> None:
    session = Session().ask().call("a").result("a", "started", False, {"backgroundTaskId": "b1"})
    session.call("b", "BashOutput", {"bash_id": "b1"}).result("b", "<status>running</status>\n\n<stdout>\n")
    assert session.say().run(tmp_path).record.executions[0].status is Status.BACKGROUND
    done = "<status>completed</status>\n\n<exit_code>3</exit_code>\n\n<stdout>\n"
    run = session.call("c", "BashOutput", {"bash_id": "b1"}).result("c", done).say().run(tmp_path)
    assert ends(run)[0] == (Status.RAISED, Learned.EXIT_CODE)
    assert run.record.executions[0].error == "Exit code 3"


def test_times_are_those_of_both_lines_and_the_step_is_that_of_the_answer(tmp_path: Path) -> None:
    one: Any = {"message": {"id": "msg"}}
    session = (
        Session()
        .ask()
        .call("a", **one)
        .call("b", "Read", **one)
        .result("b")
        .result("a")
        .call("c")
        .result("c")
    )
    first, second, third = session.say().run(tmp_path).record
    assert (first.at, first.until) == ("2026-11-30T08:00:01.000Z", "2026-11-30T08:00:04.000Z")
    assert first.step == second.step != third.step
    assert [call.end for call in (first, second, third)] == [1, 1, 2]


# Words.


@pytest.mark.parametrize(
    "words",
    [
        "Caveat: The messages below were generated by the user while running local commands. DO NOT",
        "<local-command-stdout>ok</local-command-stdout>",
        "<bash-stdout>ok</bash-stdout>",
        '<teammate-message teammate_id="alice">\nDone.\n</teammate-message>',
        "<system-reminder>Mind the gap</system-reminder>",
        "[Request interrupted by user]",
    ],
)
def test_what_the_product_writes_for_the_user_is_no_request(tmp_path: Path, words: str) -> None:
    assert Session().ask("the task").ask(words).say().run(tmp_path).task == "the task"


@pytest.mark.parametrize("mark", ["isMeta", "isCompactSummary"])
def test_marked_lines_are_no_requests(tmp_path: Path, mark: str) -> None:
    marked: Any = {mark: True}
    run = Session().ask("the task").say("first").add("user", "expanded", **marked).say().run(tmp_path)
    assert run.task == "the task"


def test_a_command_is_a_request_by_its_name_and_arguments(tmp_path: Path) -> None:
    words = "<command-message>x</command-message>\n<command-name>/review</command-name>\n"
    words += "<command-args>all</command-args>"
    assert Session().ask(words).say().run(tmp_path).task == "/review all"


def test_words_typed_into_a_running_turn_stand_in_an_attachment(tmp_path: Path) -> None:
    queued = {"type": "queued_command", "prompt": "and the docs"}
    run = Session().ask().call("a").result("a").add("attachment", attachment=queued).say().run(tmp_path)
    assert run.task == "and the docs"


def test_tools_that_are_announced_are_tools_of_the_run(tmp_path: Path) -> None:
    delta = {"type": "deferred_tools_delta", "addedNames": ["WebSearch", 7]}
    run = Session().add("attachment", attachment=delta).ask().call("a").result("a").say().run(tmp_path)
    assert run.record.tools == ("WebSearch", "Bash")


def test_the_words_of_the_product_are_not_those_of_the_agent(tmp_path: Path) -> None:
    session = turn("a").say("All is done.")
    session.say("No response requested.", message={"model": "<synthetic>"})
    run = session.run(tmp_path)
    assert (run.report, is_closed(run)) == ("All is done.", True)
    run = session.say("API Error: 500", message={"model": "<synthetic>"}, isApiErrorMessage=True).run(
        tmp_path
    )
    assert (run.report, is_closed(run)) == ("All is done.", False)


# Whether all is there.


def say_and_stop(reason: Any) -> Session:
    return turn("a").say(message={"stop_reason": reason})


@pytest.mark.parametrize(
    ("session", "closed"),
    [
        (turn("a").say(), True),
        (say_and_stop("end_turn"), True),
        (say_and_stop("max_tokens"), False),
        (say_and_stop("tool_use"), False),
        (turn("a"), False),
        (turn("a").say().ask("and now?"), False),
        (turn("a").say().add("user", "[Request interrupted by user]"), False),
        (turn("a").say().add("user", "<command-name>/exit</command-name>"), True),
        (turn("a").say().add("system", subtype="turn_duration"), True),
        (turn("a").call("b").say(), False),
        (turn("a").say(after="elsewhere"), False),
        (Session().ask(after="elsewhere").say(), False),
        (Session().add("user", "summary", isCompactSummary=True).say(), False),
    ],
)
def test_a_run_is_closed_when_its_turn_has_ended_and_nothing_is_missing(
    tmp_path: Path, session: Session, closed: bool
) -> None:
    assert is_closed(session.run(tmp_path)) is closed


def test_a_compaction_within_the_file_loses_nothing(tmp_path: Path) -> None:
    session = turn("a").say("first", name="before")
    session.add("system", subtype="compact_boundary", after=None, logicalParentUuid="before")
    run = session.add("user", "summary", isCompactSummary=True).call("b").result("b").say().run(tmp_path)
    assert (len(run.record), is_closed(run)) == (2, True)


def test_a_line_may_come_before_the_one_it_follows_on(tmp_path: Path) -> None:
    session = turn("a")
    session.say(after="late", name="final").add("system", name="late", after="line-2")
    assert is_closed(session.run(tmp_path))


# Repeats and forks.


def test_lines_that_a_resumed_session_repeats_are_read_once(tmp_path: Path) -> None:
    session = turn("a", "b").say()
    session.lines += copy.deepcopy(session.lines)
    run = session.ask("go on").call("c").result("c").say("Now.").run(tmp_path)
    assert ([call.source_id for call in run.record], is_closed(run)) == (["a", "b", "c"], True)
    assert any("repeat" in note for note in run.record.notes)


def test_the_uuid_of_another_line_is_damage_and_the_line_is_read(tmp_path: Path) -> None:
    run = turn("a").call("b", name="line-1").result("b").say().run(tmp_path)
    assert [call.source_id for call in run.record] == ["a", "b"]
    assert not is_closed(run)


def forked() -> Session:
    session = turn("a").say("first", name="fork")
    session.ask("left").call("b").result("b").call("c").result("c").say("I did b and c.")
    return session.ask("instead", after="fork").call("d").result("d").say("I did d.")


def test_who_goes_back_and_asks_again_leaves_a_branch_that_is_a_run_of_its_own(tmp_path: Path) -> None:
    active, left = forked().runs(tmp_path)
    assert [call.source_id for call in active.record] == ["a", "d"]
    assert (active.report, active.task) == ("I did d.", "instead")
    assert [call.source_id for call in left.record] == ["b", "c"]
    assert (left.report, left.task) == ("I did b and c.", "left")
    assert active.record.run_id == "s-1"
    assert left.record.run_id == "s-1.branch-1"
    for run in (active, left):
        assert [(call.n, call.call) for call in run.record] == [(0, "0"), (1, "1")]
        assert [call.end for call in run.record] == [0, 1]
        # Of neither can it be said that it holds all the calls that its words may speak of.
        assert not is_closed(run)


def test_a_request_that_was_tried_again_leaves_no_branch(tmp_path: Path) -> None:
    session = turn("a").say("first", name="fork").ask("again")
    session.say("API Error", message={"model": "<synthetic>"}, isApiErrorMessage=True)
    run = session.ask("again", after="fork").call("b").result("b").say().run(tmp_path)
    assert (len(run.record), is_closed(run)) == (2, True)


def test_parallel_calls_and_attachments_are_no_forks(tmp_path: Path) -> None:
    one: Any = {"message": {"id": "msg"}}
    session = Session().ask().call("a", name="A", **one).call("b", name="B", **one)
    session.result("a", after="A").result("b", after="B").add(
        "attachment", attachment={"type": "hook_success"}
    )
    run = session.say(after="line-4").ask("next", after="line-3").say().run(tmp_path)
    assert (len(run.record), is_closed(run)) == (2, True)


# Agents.


def helped(**call: Any) -> Session:
    session = Session().ask().call("t", "Task", {"prompt": "look"}, name="T")
    session.add("user", "look", name="root", after=None, isSidechain=True)
    session.call("x", isSidechain=True).result("x", isSidechain=True).say("I looked.", isSidechain=True)
    return session.result("t", [{"type": "text", "text": "I looked."}], after="T", **call).say()


def test_a_side_chain_in_the_main_file_is_a_run_of_its_own_paired_by_its_prompt(tmp_path: Path) -> None:
    main, helper = helped(extra={"totalToolUseCount": 1, "content": []}).runs(tmp_path)
    assert [call.source_id for call in main.record] == ["t"]
    assert [call.source_id for call in helper.record] == ["x"]
    assert (helper.agent, helper.parent, helper.task, helper.report) == ("root", "agent", "look", "I looked.")
    assert [(told.call, told.agent, told.calls) for told in main.delegations] == [("0", "root", 1)]
    assert is_closed(main)
    assert is_closed(helper)
    linked, _ = link([main, helper])
    assert [call.source_id for call in linked.behalf] == ["x"]


def test_side_chains_that_run_at_the_same_time_are_told_apart(tmp_path: Path) -> None:
    session = (
        Session().ask().call("t1", "Task", {"prompt": "one"}).call("t2", "Task", {"prompt": "two"}, name="T")
    )
    for name in ("one", "two"):
        session.add("user", name, name=name, after=None, isSidechain=True)
    for name in ("one", "two"):
        session.call(f"x-{name}", after=name, name=f"call-{name}", isSidechain=True)
    for name in ("one", "two"):
        session.result(f"x-{name}", after=f"call-{name}", name=f"end-{name}", isSidechain=True)
    for name in ("one", "two"):
        session.say(f"{name} done", after=f"end-{name}", isSidechain=True)
    main, *chains = session.result("t2", "two done", after="T").result("t1", "one done").say().runs(tmp_path)
    assert [(run.agent, run.report, len(run.record)) for run in chains] == [
        ("one", "one done", 1),
        ("two", "two done", 1),
    ]
    assert {told.call: told.agent for told in main.delegations} == {"0": "one", "1": "two"}


def test_a_refused_task_was_handed_to_nobody_and_a_failed_one_to_somebody_unknown(tmp_path: Path) -> None:
    refused = (
        Session().ask().call("t", "Task", {"prompt": "x"}).result("t", "This command requires approval", True)
    )
    assert refused.say().run(tmp_path).delegations == ()
    failed = (
        Session().ask().call("t", "Task", {"prompt": "x"}).result("t", "API Error", True).say().run(tmp_path)
    )
    assert [told.agent for told in failed.delegations] == ["t"]
    assert not is_closed(link([failed])[0])


def test_an_agent_that_only_its_words_name_is_found(tmp_path: Path) -> None:
    parts = [
        {"type": "text", "text": "All good."},
        {"type": "text", "text": "agentId: ab12\n<usage>\ntool_uses: 3\n"},
    ]
    run = Session().ask().call("t", "Task", {"prompt": "x"}).result("t", parts).say().run(tmp_path)
    assert [(told.agent, told.report, told.calls) for told in run.delegations] == [("ab12", "All good.", 3)]


def test_lines_that_were_taken_for_another_agents_make_neither_record_whole(tmp_path: Path) -> None:
    session = turn("a", "b").say()
    for line in session.lines[3:5]:
        line["isSidechain"] = True
    for run in session.runs(tmp_path):
        assert not is_closed(run)


def test_agents_of_the_flat_layout_are_those_beside_the_session_that_name_it(tmp_path: Path) -> None:
    helper = {"isSidechain": True, "agentId": "a1"}
    for name, session in (("a1", "s-1"), ("b2", "other")):
        own = Session().ask("look", **helper).say("Looked.", **helper)
        for line in own.lines:
            line |= {"sessionId": session, "agentId": name}
        (tmp_path / f"agent-{name}.jsonl").write_bytes(own.text())
    main = tmp_path / "s-1.jsonl"
    main.write_bytes(turn("a").say().text())
    nested = tmp_path / "s-1" / "subagents" / "workflows" / "w" / "agent-c3.jsonl"
    nested.parent.mkdir(parents=True)
    nested.write_bytes(b"{}\n")
    assert list(companions(main)) == [nested, tmp_path / "agent-a1.jsonl"]
    assert list(companions(tmp_path / "agent-a1.jsonl")) == []


# Damage, and what is large.


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"is_error":false', '"is_error":true,"is_error":false'),
        ('"type":"user"', '"type":"assistant","type":"user"'),
        ('"command":"run a"', '"command":"run z","command":"run a"'),
        ('"content":"ok"', '"content":NaN'),
        ('"content":"ok"', '"content":["a"]'),
        ('"is_error":false', '"is_error":"no"'),
        ('"uuid":"line-2"', '"uuid":"line-1"'),
        ('"parentUuid":"line-1"', '"parentUuid":7'),
        ('"isSidechain":false', '"isSidechain":null'),
        ('"role":"user"', '"role":"assistant"'),
        ('"type":"tool_use"', '"type":"tool_used"'),
        ('"id":"a"', '"id":5'),
        ('"name":"Bash"', '"name":[]'),
        ('"input":{', '"input":"x","other":{'),
        ('"text":"Done."', '"text":{}'),
        ('"stop_reason":null', '"stop_reason":3'),
    ],
)
@pytest.mark.parametrize("style", [(",", ":"), (", ", ": ")])
def test_what_violates_json_or_the_format_is_damage_and_never_a_failure(
    tmp_path: Path, old: str, new: str, style: tuple[str, str]
) -> None:
    text = Session().ask().call("a").result("a", "ok", False).say().text(separators=style).decode()
    old, new = (part.replace('":', '":' + style[1][1:]) for part in (old, new))
    assert old in text
    path = tmp_path / "s-1.jsonl"
    path.write_text(text.replace(old, new, 1), encoding="utf-8")
    for run in read(path):
        assert not is_closed(run)
        assert run.record.damage
        assert not any(call.failed for call in run.record)


@pytest.mark.parametrize(
    ("given", "is_read"),
    [({"a": "\ud800"}, True), ({"a": [["\ud800"]]}, True), ({"a": [[float("nan")]]}, False)],
)
def test_lone_surrogates_in_arguments_are_kept_and_what_is_no_json_is_unreadable(
    tmp_path: Path, given: Any, is_read: bool
) -> None:
    run = Session().ask().call("a", given=given).result("a").say().run(tmp_path)
    (call,) = run.record
    assert (call.args == given, is_closed(run)) == (is_read, is_read)


def test_arguments_nested_beyond_the_limit_are_unreadable(tmp_path: Path) -> None:
    deep: Any = []
    for _ in range(jsonio.LIMITS.depth + 5):
        deep = [deep]
    run = Session().ask().call("a", given={"deep": deep}).result("a").say().run(tmp_path)
    assert isinstance(run.record.executions[0].args, Unknown)
    assert not is_closed(run)


@pytest.mark.parametrize("line", [b"", b"  ", b"\r"])
def test_blank_lines_and_line_ends_of_windows_are_no_damage(tmp_path: Path, line: bytes) -> None:
    session = turn("a").say()
    path = tmp_path / "s-1.jsonl"
    path.write_bytes(b"\xef\xbb\xbf" + session.text().replace(b"\n", b"\r\n" + line + b"\r\n"))
    (run,) = read(path)
    assert is_closed(run)


def test_a_torn_last_line_is_damage_with_its_number(tmp_path: Path) -> None:
    path = tmp_path / "s-1.jsonl"
    path.write_bytes(turn("a").say().text()[:-20])
    (run,) = read(path)
    assert [(damage.kind, damage.line) for damage in run.record.damage] == [(DamageKind.TORN, 4)]


def test_very_many_broken_lines_are_counted_and_not_kept(tmp_path: Path) -> None:
    session = turn("a").say()
    session.lines += [b"{broken"] * 3000
    run = session.run(tmp_path)
    assert len(run.record.damage) == 1000
    assert any("2000 more lines" in note for note in run.record.notes)


def test_a_file_that_is_not_there_and_one_without_messages_are_told_apart(tmp_path: Path) -> None:
    with pytest.raises(MissingInputError):
        list(read(tmp_path / "none.jsonl"))
    path = tmp_path / "other.jsonl"
    for data in (b"", b"\n\n", b'{"type":"user"}\n', b"not json\n", b"[1]\n"):
        path.write_bytes(data)
        with pytest.raises(InvalidInputError):
            list(read(path))


def places(value: Any, put: Callable[[Any], None]) -> Iterator[tuple[Any, Callable[[Any], None]]]:
    yield value, put
    items: Any = (
        value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    )
    for key, inner in list(items):
        yield from places(inner, partial(value.__setitem__, key))


def damaged(session: Session, number: int, index: int, new: Any) -> Session:
    """The session with another value at one place of one line."""
    found = copy.deepcopy(session)
    _, put = list(places(found.lines[number], lambda value: found.lines.__setitem__(number, value)))[index]
    put(new)
    return found


@pytest.mark.parametrize("new", [None, 7, "text", [], {}, True], ids=str)
def test_another_value_at_any_place_fails_no_call_and_hides_none_from_a_closed_run(
    tmp_path: Path, new: Any
) -> None:
    session = helped(
        extra={"agentId": "a1", "totalToolUseCount": 1, "content": [{"type": "text", "text": "x"}]}
    )
    whole = {run.agent: len(run.record) for run in session.runs(tmp_path)}
    for number, line in enumerate(session.lines):
        for index in range(len(list(places(line, lambda value: None)))):
            for run in damaged(session, number, index, new).runs(tmp_path):
                assert not any(call.failed for call in run.record), (number, index)
                if is_closed(run):
                    assert len(run.record) == whole.get(run.agent), (number, index, run.agent)


def test_a_long_result_beyond_what_is_held_is_left_in_the_file_and_found_there_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(building, "HELD", 10_000)
    texts = [f"{number}: " + 'é\n\u2192 \x1b[0m "quoted" \\ ' * 200 for number in range(20)]
    session = Session().ask("é" * 50)
    for number, text in enumerate(texts):
        parts = [{"type": "text", "text": text[:2000]}, {"type": "text", "text": text[2000:]}]
        session.call(f"c{number}").result(f"c{number}", parts if number % 3 == 0 else text, False)
    path = tmp_path / "s-1.jsonl"
    for start in (b"", b"\xef\xbb\xbf"):
        for style in ({"ensure_ascii": False, "separators": (",", ":")}, {"ensure_ascii": True}):
            path.write_bytes(start + session.text(**style))
            (run,) = read(path)
            left = {call.n: call.result for call in run.record if isinstance(call.result, Blob)}
            assert len(left) >= 15
            for number, blob in left.items():
                text = texts[number]
                assert read_blob(blob) == (f"{text[:2000]}\n{text[2000:]}" if number % 3 == 0 else text)


def test_very_many_lines_are_marked_in_flat_memory_with_the_same_outcome(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(claude_code, "_FEW", 4)
    monkeypatch.setattr(claude_code, "_BLOCK", 512)
    active, left = forked().runs(tmp_path)
    assert [len(run.record) for run in (active, left)] == [2, 2]
    session = turn(*(f"c{number}" for number in range(300))).say()
    session.lines += copy.deepcopy(session.lines)
    run = session.run(tmp_path)
    assert (len(run.record), is_closed(run)) == (300, True)
    assert not is_closed(session.say(after="nowhere").run(tmp_path))


def test_a_session_of_many_calls_needs_little_memory_for_each(tmp_path: Path) -> None:
    session = turn(*(f"toolu_{number:024}" for number in range(2000))).say()
    path = tmp_path / "s-1.jsonl"
    path.write_bytes(session.text())
    for line in session.lines[2::2]:
        line["message"]["content"][0]["content"] = "x" * 3000
    large = tmp_path / "large.jsonl"
    large.write_bytes(session.text())
    script = (
        "import resource, sys\nfrom pathlib import Path\n"
        "from dispatch_fidelity.transcripts import building, claude_code\n"
        "building.HELD = 1 << 20\nruns = list(claude_code.read(Path(sys.argv[1])))\n"
        "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)"
    )
    command = [sys.executable, "-c", script]
    peaks = [
        int(subprocess.run([*command, each], capture_output=True, check=True).stdout)
        for each in (path, large)
    ]
    # Six megabytes of results more in the file, of which one is held.
    assert peaks[1] - peaks[0] < 4 * 1024, peaks
