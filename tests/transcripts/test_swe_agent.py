"""Trajectories of SWE-agent and mini-swe-agent: which calls, how they ended, and when a run is whole."""

from __future__ import annotations

import json
import time
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
from dispatch_fidelity.model.call import Learned, Status
from dispatch_fidelity.model.frozen import UNSET
from dispatch_fidelity.model.run import Completeness, DamageKind, ImportedRun
from dispatch_fidelity.transcripts.swe_agent import read, recognise

Runs = Callable[[Any], list[ImportedRun]]
CLOSED, PARTIAL = Completeness.CLOSED, Completeness.PARTIAL


@pytest.fixture
def runs(tmp_path: Path) -> Runs:
    return lambda content: list(read(written(tmp_path / "a.traj", content)))


@pytest.fixture
def run(runs: Runs) -> Callable[[Any], ImportedRun]:
    def only(content: Any) -> ImportedRun:
        (found,) = runs(content)
        return found

    return only


Run = Callable[[Any], ImportedRun]


# Real files.

SAMPLES = {
    "ctf_warmup.traj": (1, 7, 0, 0, 37),
    "function_calling.traj": (1, 11, 1, 0, 27),
    "mini_github_issue.traj.json": (1, 10, 2, 0, 113),
    "mini_local.traj.json": (1, 2, 0, 0, 28),
    "old_thought_action.traj": (1, 12, 3, 0, 217),
}


def test_every_sample_has_its_counts_and_is_closed(shared: Path) -> None:
    folder = shared / "transcripts/swe_agent"
    assert {path.name for path in folder.iterdir()} == set(SAMPLES)
    for name, expected in SAMPLES.items():
        found = list(read(folder / name))
        assert tuple(counts(found).values()) == expected, name
        assert [each.record.completeness for each in found] == [CLOSED], name


def test_nine_of_the_ten_commands_of_a_real_mini_run_have_a_code_and_two_failed(shared: Path) -> None:
    (found,) = read(shared / "transcripts/swe_agent/mini_github_issue.traj.json")
    learned = [execution.learned for execution in found.record]
    assert (learned.count(Learned.EXIT_CODE), learned.count(Learned.DEFAULT)) == (9, 1)
    assert [execution.n for execution in found.record if execution.failed] == [0, 7]


def test_only_samples_of_this_format_are_recognised(shared: Path) -> None:
    for path in (shared / "transcripts/swe_agent").iterdir():
        assert recognise(path.read_bytes()[: 64 * 1024]) >= 0.8, path.name
    claimed = [name for name, head in foreign_samples(shared, "swe_agent/") if recognise(head) >= 0.5]
    assert claimed == []


# SWE-agent.


def step(
    action: str = "ls\n", observation: str = "a.py", thought: str = "Look.", **more: Any
) -> dict[str, Any]:
    return {"action": action, "observation": observation, "response": thought, "thought": thought, **more}


LAST = step("submit\n", "diff", "Submitting.")


def turn(action: str, *tool_calls: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": "", "action": action, "tool_calls": list(tool_calls)}


def tool_call(name: str, given: Any, source_id: str = "c1") -> dict[str, Any]:
    return {"id": source_id, "type": "function", "function": {"name": name, "arguments": json.dumps(given)}}


ASKED = [
    {"role": "system", "content": "Help."},
    {"role": "user", "content": "A demonstration.", "is_demo": True},
    {"role": "user", "content": "Fix it."},
]


def trajectory(*steps: Any, history: Any = ASKED, exit_status: Any = "submitted") -> dict[str, Any]:
    info = {"exit_status": exit_status, "submission": "diff"}
    return {"environment": "main", "trajectory": list(steps), "history": history, "info": info}


def test_one_step_is_one_command_and_the_last_thought_is_the_report(run: Run) -> None:
    found = run(trajectory(step(), LAST))
    assert [(e.tool, e.args, e.result, e.step) for e in found.record] == [
        ("bash", {"command": "ls"}, "a.py", 0),
        ("bash", {"command": "submit"}, "diff", 1),
    ]
    assert {(e.status, e.learned) for e in found.record} == {(Status.RETURNED, Learned.DEFAULT)}
    assert (found.report, found.task, found.record.completeness) == ("Submitting.", "Fix it.", CLOSED)
    assert "no flag for failure" in found.record.notes[0]


def test_the_tool_call_that_the_history_keeps_gives_name_arguments_and_id_even_when_ids_repeat(
    run: Run,
) -> None:
    history = [
        *ASKED,
        turn("open a.py", tool_call("open", {"path": "a.py"})),
        turn("open b.py", tool_call("open", {"path": "b.py"})),
        turn("submit\n", tool_call("submit", {})),
    ]
    found = run(trajectory(step("open a.py"), step("open b.py"), LAST, history=history))
    assert [(e.tool, e.args, e.source_id) for e in found.record] == [
        ("open", {"path": "a.py"}, "c1"),
        ("open", {"path": "b.py"}, "c1"),
        ("submit", {}, "c1"),
    ]
    assert found.record.completeness is CLOSED


@pytest.mark.parametrize(
    ("observation", "status"),
    [
        ("Your proposed edit has introduced new syntax error(s). Please read", Status.RAISED),
        ("The command 'sleep 99' was cancelled because it took more than 30 seconds.", Status.CANCELLED),
        ("EXECUTION TIMED OUT", Status.CANCELLED),
        ("Your bash command contained syntax errors and was NOT executed.", Status.INVALID),
        ("Interactive operation 'vim' is not supported by this environment", Status.REFUSED),
    ],
)
def test_the_fixed_sentences_of_the_harness_tell_a_failure(
    run: Run, observation: str, status: Status
) -> None:
    execution, _ = run(trajectory(step(observation=observation), LAST)).record
    assert (execution.status, execution.learned) == (status, Learned.TEXT_PATTERN)
    assert execution.message == observation


@pytest.mark.parametrize(
    "observation",
    ["", "Traceback (most recent call last):", "bash: x: command not found", "The command works"],
)
def test_what_a_command_prints_tells_no_failure(run: Run, observation: str) -> None:
    execution, _ = run(trajectory(step(observation=observation), LAST)).record
    assert (execution.status, execution.learned) == (Status.RETURNED, Learned.DEFAULT)


def test_a_step_that_was_not_run_is_invalid(run: Run) -> None:
    history = [*ASKED, turn("submit\n")]
    blocked = step("vim a.py", "", execution_time=0.0)
    found = run(trajectory(blocked, {**LAST, "execution_time": 0.2}, history=history))
    assert [e.status for e in found.record] == [Status.INVALID, Status.RETURNED]
    assert found.record.completeness is CLOSED


def test_a_history_that_does_not_tell_of_the_steps_leaves_the_record_partial(run: Run) -> None:
    history = [*ASKED, turn("cat a.py"), turn("submit\n")]
    found = run(trajectory(step(), LAST, history=history))
    assert found.record.completeness is PARTIAL
    assert "the history and the steps do not agree" in found.record.notes


@pytest.mark.parametrize(
    "last",
    [
        step("", "Exited (autosubmitted)", "Exit due to cost limit"),
        step("exit_cost", "Exited", "Exit due to cost limit"),
    ],
)
def test_the_words_with_which_the_harness_stops_are_neither_report_nor_call(run: Run, last: Any) -> None:
    found = run(trajectory(step(), last, exit_status="submitted (exit_cost)"))
    assert (found.report, len(found.record)) == ("Look.", 1)
    assert found.record.completeness is PARTIAL
    assert "the run did not end by itself: submitted (exit_cost)" in found.record.notes


@pytest.mark.parametrize("exit_status", ["exit_context", "early_exit", None, 5])
def test_only_a_run_that_was_submitted_is_closed(run: Run, exit_status: Any) -> None:
    assert run(trajectory(step(), LAST, exit_status=exit_status)).record.completeness is PARTIAL


def test_a_run_without_the_step_that_submits_is_not_closed(run: Run) -> None:
    assert run(trajectory(step())).record.completeness is PARTIAL


def test_a_thought_without_an_action_is_words_only(run: Run) -> None:
    found = run(trajectory(step(""), LAST))
    assert [e.args for e in found.record] == [{"command": "submit"}]


def test_each_attempt_is_a_run(runs: Runs) -> None:
    attempts = [trajectory(step(), LAST), trajectory(LAST)]
    document = {"attempts": attempts, **trajectory(step(), LAST)}
    found = runs(document)
    assert [each.record.run_id for each in found] == ["attempt-0", "attempt-1"]
    assert [len(each.record) for each in found] == [2, 1]
    assert recognise(json.dumps({"attempts": attempts}).encode()) >= 0.9


# mini-swe-agent.


def command(text: str, fence: str = "mswea_bash_command") -> dict[str, str]:
    return {"role": "assistant", "content": f"Do it.\n\n```{fence}\n{text}\n```"}


def output(text: str, code: int = 0) -> dict[str, str]:
    return {"role": "user", "content": f"<returncode>{code}</returncode>\n<output>\n{text}\n</output>"}


BEGIN = [
    {"role": "system", "content": "To finish: echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT"},
    {"role": "user", "content": "Fix it."},
]
SUBMIT = [command("echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT"), {"role": "user", "content": "diff"}]


def test_a_fenced_command_is_a_call_and_the_next_message_its_result(run: Run) -> None:
    found = run([*BEGIN, command("ls"), output("a.py"), command("cat x", "bash"), output("no", 1), *SUBMIT])
    assert [(e.tool, e.args["command"], e.status, e.learned) for e in found.record] == [
        ("bash", "ls", Status.RETURNED, Learned.EXIT_CODE),
        ("bash", "cat x", Status.RAISED, Learned.EXIT_CODE),
        ("bash", "echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT", Status.RETURNED, Learned.DEFAULT),
    ]
    assert (found.report, found.task, found.record.completeness) == ("Do it.", "Fix it.", CLOSED)


@pytest.mark.parametrize(
    ("answer", "status", "learned"),
    [
        (
            "The last command <command>x</command> timed out and has been killed.",
            Status.CANCELLED,
            Learned.TEXT_PATTERN,
        ),
        ("Command not executed. The user rejected your command", Status.REFUSED, Learned.TEXT_PATTERN),
        ("Observation: a.py", Status.RETURNED, Learned.DEFAULT),
    ],
)
def test_an_answer_without_a_code_is_known_by_fixed_words_only(
    run: Run, answer: str, status: Status, learned: Learned
) -> None:
    found = run([*BEGIN, command("x"), {"role": "user", "content": answer}, *SUBMIT])
    execution = next(iter(found.record))
    assert (execution.status, execution.learned) == (status, learned)


def test_a_message_without_exactly_one_command_made_no_call_and_its_answer_is_no_task(run: Run) -> None:
    none = {"role": "assistant", "content": "Thinking."}
    two = {"role": "assistant", "content": command("a")["content"] + command("b")["content"]}
    wrong = {"role": "user", "content": "Please always provide EXACTLY ONE action"}
    found = run([*BEGIN, command("ls"), output("a.py"), none, wrong, two, wrong, *SUBMIT])
    assert [e.args["command"] for e in found.record][:-1] == ["ls"]
    assert (found.task, found.record.completeness) == ("Fix it.", CLOSED)


def test_output_that_was_shortened_is_cut(run: Run) -> None:
    long = output("<output_head>\nab\n</output_head>\n<elided_chars>\n9 characters elided\n</elided_chars>")
    assert [e.cut for e in run([*BEGIN, command("ls"), long, *SUBMIT]).record] == [True, False]


def test_a_list_that_does_not_end_in_the_output_of_the_submitting_command_is_not_closed(run: Run) -> None:
    assert run([*BEGIN, command("ls"), output("a.py")]).record.completeness is PARTIAL
    assert run([*BEGIN, SUBMIT[0]]).record.completeness is PARTIAL
    assert run([*BEGIN, SUBMIT[0], output("failed", 1)]).record.completeness is PARTIAL


def acts(*commands: str, text: str = "Do it.", ids: bool = True) -> dict[str, Any]:
    actions = [
        {"command": each, **({"tool_call_id": f"c{place}"} if ids else {})}
        for place, each in enumerate(commands)
    ]
    return {"role": "assistant", "content": text, "extra": {"actions": actions, "timestamp": 1.5}}


def observed(source_id: str = "c0", raw: Any = "a.py", code: Any = 0, **extra: Any) -> dict[str, Any]:
    inner = {"raw_output": raw, "returncode": code, "timestamp": 2.5, **extra}
    return {"role": "tool", "tool_call_id": source_id, "content": f"<output>{raw}</output>", "extra": inner}


EXIT = {"role": "exit", "content": "diff", "extra": {"exit_status": "Submitted", "submission": "diff"}}


def mini(*messages: Any, **info: Any) -> dict[str, Any]:
    told = {"mini_version": "2.0", "exit_status": "Submitted", "submission": "diff", **info}
    return {"info": told, "messages": [*BEGIN, *messages], "trajectory_format": "mini-swe-agent-1.1"}


def test_actions_and_codes_of_format_1_1_are_read_with_what_the_model_was_shown(run: Run) -> None:
    found = run(mini(acts("ls", "cat x"), observed("c1", "no", 1), observed("c0"), acts("submit"), EXIT))
    assert [(e.result, e.shown, e.status) for e in found.record] == [
        ("a.py", "<output>a.py</output>", Status.RETURNED),
        ("no", "<output>no</output>", Status.RAISED),
        ("diff", UNSET, Status.RETURNED),
    ]
    assert next((e.step, e.at, e.until) for e in found.record) == (2, "1.5", "2.5")
    assert (found.record.completeness, found.record.intact) == (CLOSED, True)


@pytest.mark.parametrize(
    ("problem", "status"),
    [("action was not executed", Status.INVALID), ("Command 'x' timed out after 30 seconds", Status.RAISED)],
)
def test_what_a_command_raised_is_a_flag(run: Run, problem: str, status: Status) -> None:
    found = run(mini(acts("x"), observed(raw="", code=-1, exception_info=problem), acts("submit"), EXIT))
    execution = next(iter(found.record))
    assert (execution.status, execution.learned, execution.message) == (status, Learned.FLAG, problem)


def test_of_several_calls_without_results_none_is_known_to_have_run(run: Run) -> None:
    found = run(mini(acts("make", "submit"), EXIT))
    assert [e.status for e in found.record] == [Status.UNKNOWN, Status.UNKNOWN]
    assert found.record.completeness is PARTIAL


def test_results_without_ids_follow_the_order_of_the_calls(run: Run) -> None:
    first, second = observed(raw="1"), observed(raw="2")
    for each in (first, second):
        del each["tool_call_id"]
        each["role"] = "user"
    found = run(mini(acts("a", "b", ids=False), first, second, acts("submit"), EXIT))
    assert [e.result for e in found.record] == ["1", "2", "diff"]


def test_commands_that_a_human_typed_are_not_the_agents(run: Run) -> None:
    typed = {"role": "user", "content": "User command", "extra": {"actions": [{"command": "ls"}]}}
    answer = {"role": "user", "content": "a.py", "extra": {"returncode": 0, "raw_output": "a.py"}}
    found = run(mini(typed, answer, acts("submit"), EXIT))
    assert [e.args["command"] for e in found.record] == ["submit"]
    assert found.record.completeness is CLOSED


def test_answers_of_the_responses_interface_have_no_roles(run: Run) -> None:
    said = {"type": "message", "content": [{"type": "output_text", "text": "Look."}]}
    message = {
        "object": "response",
        "output": [said],
        "extra": {"actions": [{"command": "ls", "tool_call_id": "f"}]},
    }
    answer = {"type": "function_call_output", "call_id": "f", "output": "a.py", "extra": {"returncode": 0}}
    found = run(mini(message, answer, EXIT))
    assert [(e.result, e.status) for e in found.record] == [("a.py", Status.RETURNED)]
    assert (found.report, found.record.completeness) == ("Look.", CLOSED)


@pytest.mark.parametrize("exit_status", ["LimitsExceeded", "", 5, None])
def test_a_mini_run_that_did_not_submit_is_not_closed(run: Run, exit_status: Any) -> None:
    found = run(mini(acts("ls"), observed(), exit_status=exit_status))
    assert found.record.completeness is PARTIAL


def test_a_mini_run_without_its_last_message_is_not_closed(run: Run) -> None:
    assert run(mini(acts("ls"), observed())).record.completeness is PARTIAL


def test_a_result_of_no_call_is_damage(run: Run) -> None:
    found = run(mini(acts("ls"), observed(), observed(), EXIT))
    assert [damage.kind for damage in found.record.damage] == [DamageKind.LIFECYCLE]


def test_a_mini_run_is_recognised_by_its_format_its_version_or_its_end() -> None:
    document = mini(acts("ls"))
    assert recognise(json.dumps(document).encode()) >= 0.9
    del document["trajectory_format"]
    assert recognise(json.dumps(document).encode()) >= 0.9
    del document["info"]["mini_version"]
    assert 0.5 <= recognise(json.dumps(document).encode()) < 0.9
    assert recognise(json.dumps({"messages": [*BEGIN, command("ls")]}).encode()) == 0
    assert recognise(json.dumps([BEGIN[1], command("ls"), output("a")]).encode()) == 0


def test_fences_that_never_close_are_read_in_linear_time(run: Run) -> None:
    def seconds(count: int) -> float:
        text = BEGIN[0]["content"] + "```bash x" * count
        start = time.perf_counter()
        run([*BEGIN, command("ls"), output("a"), {"role": "assistant", "content": text}])
        return time.perf_counter() - start

    assert seconds(160_000) < 100 * max(seconds(10_000), 0.005)


# Damage.


@pytest.mark.parametrize(
    "content", [b"", b"{}", b"[]", b"7", {"trajectory": 5}, [{"role": "user", "content": "x"}], b"plain"]
)
def test_what_is_no_trajectory_is_refused_or_damaged(runs: Runs, content: Any) -> None:
    try:
        found = runs(content)
    except InvalidInputError:
        return
    assert {each.record.completeness for each in found} == {PARTIAL}


FREE = ("replay_config", "state")


def test_wrong_types_anywhere_accuse_no_one(tmp_path: Path, shared: Path) -> None:
    path = tmp_path / "file"
    history = [*ASKED, turn("ls\n", tool_call("ls", {})), turn("submit\n", tool_call("submit", {}))]
    check_wrong_types(read, path, trajectory(step(), LAST, history=history), free=FREE, limit=200)
    check_wrong_types(
        read, path, mini(acts("ls"), observed(), acts("submit"), EXIT), free=("config",), limit=200
    )
    for name in ("old_thought_action.traj", "mini_local.traj.json"):
        sample = json.loads((shared / "transcripts/swe_agent" / name).read_bytes())
        if isinstance(sample, dict):
            sample["history"] = sample["history"][:8]
            sample["trajectory"] = [*sample["trajectory"][:3], sample["trajectory"][-1]]
        check_wrong_types(read, path, sample, free=FREE, limit=40)
        check_missing(read, path, sample, free=FREE, limit=60)


def test_a_file_that_was_cut_is_refused_or_read_as_far_as_it_goes(tmp_path: Path) -> None:
    check_cut(read, tmp_path / "file", json.dumps(trajectory(step(), LAST), indent=1).encode(), 40)
    check_cut(
        read, tmp_path / "file", jsonl(mini(acts("ls"), observed(), EXIT), trajectory(LAST)), 40, lines=True
    )


def test_without_its_history_the_calls_of_a_run_are_not_all_known(run: Run) -> None:
    assert run(trajectory(step(), LAST, history=None)).record.completeness is PARTIAL
