"""ATIF trajectories: calls and results of steps, sub-agents, copied context, and when a record is closed."""

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
from dispatch_fidelity.model.run import Completeness, DamageKind, ImportedRun
from dispatch_fidelity.transcripts.atif import companions, read, recognise
from dispatch_fidelity.transcripts.linking import link

Steps = list[dict[str, Any]]


def call(source_id: Any = "c1", tool: str = "get_weather", given: Any = None) -> dict[str, Any]:
    return {
        "tool_call_id": source_id,
        "function_name": tool,
        "arguments": {"city": "Graz"} if given is None else given,
    }


def results(*found: dict[str, Any]) -> dict[str, Any]:
    return {"results": list(found)}


def result(source_id: Any = "c1", content: Any = "9 C", **more: Any) -> dict[str, Any]:
    return {"source_call_id": source_id, "content": content, **more}


def user(text: str = "Weather in Graz?") -> dict[str, Any]:
    return {"source": "user", "message": text}


def agent(text: str = "", *calls: Any, observation: Any = None, **more: Any) -> dict[str, Any]:
    step = {"source": "agent", "message": text, **more}
    if calls:
        step["tool_calls"] = list(calls)
    if observation is not None:
        step["observation"] = observation
    return step


FINAL = agent("It is 9 C in Graz.")
ONE = agent("Looking.", call(), observation=results(result()), timestamp="2026-01-01T00:00:00Z")


def trajectory(*steps: dict[str, Any], **more: Any) -> dict[str, Any]:
    numbered = [{"step_id": number, **step} for number, step in enumerate(steps, 1)]
    return {
        "schema_version": "ATIF-v1.7",
        "session_id": "s1",
        "agent": {"name": "helper"},
        "steps": numbered,
        **more,
    }


@pytest.fixture
def runs(tmp_path: Path) -> Callable[[Any], list[ImportedRun]]:
    return lambda content: list(read(written(tmp_path / "trajectory.json", content)))


@pytest.fixture
def run(runs: Callable[[Any], list[ImportedRun]]) -> Callable[..., ImportedRun]:
    def only(*steps: dict[str, Any], **more: Any) -> ImportedRun:
        (found,) = runs(trajectory(*steps, **more))
        return found

    return only


Run = Callable[..., ImportedRun]
Runs = Callable[[Any], list[ImportedRun]]
CLOSED, PARTIAL = Completeness.CLOSED, Completeness.PARTIAL


# Real files.

SAMPLES = {
    "harbor_openhands.json": (1, 1, 0, 0, 58),
    "harbor_terminus2_continuation.json": (1, 0, 0, 0, 237),
    "harbor_terminus2_continuation_cont1.json": (1, 0, 0, 0, 128),
    "harbor_terminus2_invalid_json.json": (1, 3, 0, 0, 65),
    "harbor_terminus2_sub_answers.json": (1, 0, 0, 0, 309),
    "harbor_terminus2_sub_questions.json": (1, 0, 0, 0, 359),
    "harbor_terminus2_sub_summary.json": (1, 0, 0, 0, 682),
    "harbor_terminus2_summarization.json": (1, 7, 0, 0, 68),
    "harbor_terminus2_timeout.json": (1, 3, 0, 0, 66),
    "multi_tool_trajectory.json": (1, 4, 0, 0, 1384),
    "multimodal_trajectory.json": (1, 1, 0, 0, 136),
    "nemo_relay_atif_v1.7_real_redacted.json": (1, 4, 0, 0, 0),
    "parallel_tools_mixed_results.json": (1, 3, 0, 1, 124),
    "simple_trajectory.json": (1, 1, 0, 0, 150),
    "subagent_trajectories.json": (2, 1, 0, 0, 679),
    "v17_embedded_subagents.json": (2, 1, 0, 0, 129),
}
CLOSED_SAMPLES = {
    "harbor_openhands.json",
    "harbor_terminus2_invalid_json.json",
    "harbor_terminus2_sub_questions.json",
    "harbor_terminus2_summarization.json",
    "multi_tool_trajectory.json",
    "multimodal_trajectory.json",
    "simple_trajectory.json",
    "subagent_trajectories.json",
    "v17_embedded_subagents.json",
}


def test_every_sample_has_its_counts_and_is_closed_only_where_its_end_is_shown(shared: Path) -> None:
    folder = shared / "transcripts/atif"
    assert {path.name for path in folder.iterdir()} == set(SAMPLES)
    for name, expected in SAMPLES.items():
        found = list(read(folder / name))
        assert tuple(counts(found).values()) == expected, name
        closed = all(each.record.completeness is CLOSED for each in found)
        assert closed is (name in CLOSED_SAMPLES), name


def test_only_samples_of_this_format_are_recognised(shared: Path) -> None:
    for path in (shared / "transcripts/atif").iterdir():
        assert recognise(path.read_bytes()[: 64 * 1024]) >= 0.9, path.name
    assert [name for name, head in foreign_samples(shared, "atif/") if recognise(head) >= 0.5] == []


# Calls and results.


def test_a_step_with_a_call_and_its_result_is_one_returned_call(run: Run) -> None:
    found = run(user(), ONE, FINAL)
    (execution,) = found.record
    assert (execution.tool, execution.args, execution.result) == ("get_weather", {"city": "Graz"}, "9 C")
    assert (execution.status, execution.learned) == (Status.RETURNED, Learned.DEFAULT)
    assert (execution.step, execution.at, execution.source_id) == (1, "2026-01-01T00:00:00Z", "c1")
    assert (found.report, found.task) == ("It is 9 C in Graz.", "Weather in Graz?")
    assert (found.agent, found.record.run_id, found.record.completeness) == ("helper", "s1", CLOSED)


def test_a_structured_result_that_says_it_failed_is_a_failure_and_a_text_is_not(run: Run) -> None:
    step = agent(
        "",
        call("a"),
        call("b"),
        observation=results(result("a", '{"error": "no"}'), result("b", "Error: no")),
    )
    found = run(user(), step, FINAL)
    assert [(e.status, e.learned) for e in found.record] == [
        (Status.RAISED, Learned.VALUE),
        (Status.RETURNED, Learned.DEFAULT),
    ]


def test_a_result_without_an_id_belongs_to_the_only_call_of_its_step(run: Run) -> None:
    found = run(user(), agent("", call(), observation=results({"content": "9 C"})), FINAL)
    assert [(e.result, e.joint) for e in found.record] == [("9 C", False)]
    assert found.record.completeness is CLOSED


def test_results_without_ids_of_several_calls_are_a_joint_result(run: Run) -> None:
    step = agent(
        "", call("a"), call("b", "get_stock"), observation=results({"content": "9 C"}, {"content": "42"})
    )
    found = run(user(), step, FINAL)
    assert [(e.result, e.joint) for e in found.record] == [(["9 C", "42"], True)] * 2
    assert found.record.completeness is CLOSED


def test_a_result_without_content_was_not_captured_and_says_neither_success_nor_failure(run: Run) -> None:
    found = run(user(), agent("", call(), observation=results({"source_call_id": "c1"})), FINAL)
    (execution,) = found.record
    assert (execution.status, execution.result) == (Status.UNKNOWN, Unknown("not captured"))
    assert found.record.completeness is PARTIAL
    assert "the content of some results was not captured" in found.record.notes


def test_arguments_that_are_absent_were_not_captured(run: Run) -> None:
    item = {"tool_call_id": "c1", "function_name": "get_weather"}
    found = run(user(), agent("", item, observation=results(result())), FINAL)
    assert next(iter(found.record)).args == Unknown("not captured")
    assert found.record.completeness is PARTIAL


def test_calls_of_a_step_that_share_an_id_get_their_results_in_order_and_are_damage(run: Run) -> None:
    step = agent("", call("x", "a"), call("x", "b"), observation=results(result("x", "A"), result("x", "B")))
    found = run(user(), step, FINAL)
    assert [(e.tool, e.result) for e in found.record] == [("a", "A"), ("b", "B")]
    assert [damage.kind for damage in found.record.damage] == [DamageKind.LIFECYCLE]


def test_an_id_may_repeat_in_later_steps_and_a_result_may_come_in_a_later_step(run: Run) -> None:
    late = {"source": "system", "message": "", "observation": results(result("late", "done"))}
    again = agent("", call("c1", "get_stock"), call("late", "wait"), observation=results(result("c1", "42")))
    found = run(user(), ONE, again, late, FINAL)
    assert [(e.tool, e.result) for e in found.record] == [
        ("get_weather", "9 C"),
        ("get_stock", "42"),
        ("wait", "done"),
    ]
    assert found.record.completeness is CLOSED


def test_a_call_without_a_result_is_open(run: Run) -> None:
    found = run(user(), agent("", call()), FINAL)
    assert [e.status for e in found.record] == [Status.UNFINISHED]
    assert found.record.completeness is PARTIAL


def test_pictures_in_a_result_are_kept_with_its_texts(run: Run) -> None:
    parts = [{"type": "text", "text": "a"}, {"type": "image", "source": {"path": "a.png"}}]
    found = run(user(), agent("", call(), observation=results(result(content=parts))), FINAL)
    assert next(iter(found.record)).result == parts


def test_the_tools_are_those_defined_and_those_called(run: Run) -> None:
    tools = [{"type": "function", "function": {"name": "search"}}, {"type": "other"}]
    found = run(user(), ONE, FINAL, agent={"name": "helper", "tool_definitions": tools})
    assert found.record.tools == ("search", "get_weather")


# Ends.


def test_the_finish_of_openhands_is_the_report_and_no_call(run: Run) -> None:
    done = agent("All done!", call("c2", "finish", {"message": "Created hello.txt."}))
    found = run(user(), ONE, done, agent={"name": "openhands"})
    assert (found.report, len(found.record), found.record.completeness) == ("Created hello.txt.", 1, CLOSED)
    assert len(run(user(), ONE, done).record) == 2


ASKED = "Are you sure you want to mark the task as complete? [y/n]"


def test_terminus_ends_with_the_second_of_two_calls_that_mark_the_task_complete(run: Run) -> None:
    mark = agent("Done.", call("m", "mark_task_complete", {}), observation=results({"content": ASKED}))
    sure = agent("Yes.", call("n", "mark_task_complete", {}), observation=results({"content": "$"}))
    assert run(user(), ONE, mark, sure).record.completeness is CLOSED
    assert run(user(), ONE, mark).record.completeness is PARTIAL
    assert run(user(), ONE, sure).record.completeness is PARTIAL


def test_results_of_steps_without_calls_show_that_commands_stand_in_the_words_only(run: Run) -> None:
    raw = agent(
        '{"commands": [{"keystrokes": "ls"}]}', observation=results({"content": "New Terminal Output: a"})
    )
    wrong = agent("no JSON", observation=results({"content": "Previous response had parsing errors: x"}))
    assert run(user(), wrong, FINAL).record.completeness is CLOSED
    found = run(user(), raw, FINAL)
    assert found.record.completeness is PARTIAL
    assert any("inside their words only" in note for note in found.record.notes)


@pytest.mark.parametrize(
    ("document", "note"),
    [
        (trajectory(ONE, FINAL), "the beginning of the run is not in the file"),
        (trajectory(user(), ONE), "the end of the run is not in the file"),
        (trajectory(user(), FINAL, user("And now?")), "the end of the run is not in the file"),
        (
            trajectory(user(), FINAL, final_metrics={"total_steps": 3}),
            "said to have 3 steps, the file holds 2",
        ),
        (trajectory(user(), FINAL, continued_trajectory_ref="b.json"), "the run goes on in another file"),
        (trajectory(user(), FINAL, schema_version="ATIF-v2.0"), "'ATIF-v2.0' of the format is not known"),
        (trajectory(user(), {**FINAL, "step_id": 5}), "the numbers of the steps have gaps"),
    ],
)
def test_a_run_that_is_not_whole_is_partial_and_says_why(runs: Runs, document: Any, note: str) -> None:
    (found,) = runs(document)
    assert found.record.completeness is PARTIAL
    assert any(note in each for each in found.record.notes)
    assert found.record.intact


def test_steps_copied_from_another_trajectory_are_not_this_agents_words_or_calls(run: Run) -> None:
    found = run({**user(), "is_copied_context": True}, {**ONE, "is_copied_context": True}, agent("Answered."))
    assert (found.report, len(found.record), len(found.behalf)) == ("Answered.", 0, 1)
    assert found.record.completeness is PARTIAL
    found = run({**user(), "is_copied_context": True}, {**FINAL, "is_copied_context": True})
    assert found.report == ""


# Sub-agents and shapes of a file.


def reference(**names: Any) -> list[dict[str, Any]]:
    return [names]


CHILD = trajectory(user("Search."), ONE, agent("Found it."), trajectory_id="child")


def parent(**names: Any) -> dict[str, Any]:
    handed = agent(
        "", call("d", "delegate"), observation=results(result("d", "ok", subagent_trajectory_ref=[names]))
    )
    return trajectory(user(), handed, FINAL)


def test_an_embedded_sub_agent_is_a_run_of_its_own_and_the_call_delegated_to_it(runs: Runs) -> None:
    main, child = runs({**parent(trajectory_id="child"), "subagent_trajectories": [CHILD]})
    assert [(each.call, each.agent) for each in main.delegations] == [("0", "child")]
    assert (child.agent, child.parent, child.report, child.task) == ("child", "s1", "Found it.", "Search.")
    linked, _ = link([main, child])
    assert [execution.tool for execution in linked.behalf] == ["get_weather"]
    assert linked.record.completeness is CLOSED


def test_a_sub_agent_that_is_not_at_hand_leaves_the_record_of_its_parent_partial(runs: Runs) -> None:
    (linked,) = link(runs(parent(session_id="elsewhere")))
    assert linked.record.completeness is PARTIAL


@pytest.mark.parametrize(
    "content",
    [
        [parent(trajectory_id="child"), CHILD],
        {"parent": parent(trajectory_id="child"), "child": CHILD},
        jsonl(parent(trajectory_id="child"), CHILD),
    ],
)
def test_several_trajectories_of_a_file_are_its_runs(runs: Runs, content: Any) -> None:
    main, child = runs(content)
    assert (len(main.record), len(child.record)) == (1, 1)
    data = content if isinstance(content, bytes) else json.dumps(content).encode()
    assert recognise(data) >= 0.9


def test_files_that_a_trajectory_names_are_its_companions_only_beside_it(tmp_path: Path) -> None:
    for name in ("more.json", "child.json"):
        written(tmp_path / name, CHILD)
    written(tmp_path.parent / "outside.json", CHILD)
    document = parent(trajectory_path="child.json") | {"continued_trajectory_ref": "more.json"}
    step = agent(
        "",
        call(),
        observation=results(result(subagent_trajectory_ref=[{"trajectory_path": "../outside.json"}])),
    )
    document["steps"].append(step)
    main = written(tmp_path / "main.json", document)
    assert [path.name for path in companions(main)] == ["more.json", "child.json"]


@pytest.mark.parametrize(
    "content", [b"", b"{}", b"[]", b"7", {"steps": []}, {"schema_version": "2"}, b"plain"]
)
def test_what_is_no_trajectory_is_refused(runs: Runs, content: Any) -> None:
    with pytest.raises(InvalidInputError):
        runs(content)


# Damage.


def test_a_broken_line_is_a_damaged_run_and_leaves_the_others_whole(runs: Runs) -> None:
    found = runs(jsonl(trajectory(user(), FINAL)) + b'{"schema\n' + jsonl(trajectory(user(), FINAL)))
    assert [each.record.completeness for each in found] == [CLOSED, PARTIAL, CLOSED]
    assert [damage.line for damage in found[1].record.damage] == [2]


FREE = ("arguments", "extra", "metrics", "tool_definitions")
WHOLE = {
    **trajectory(
        user(),
        ONE,
        agent(
            "",
            call("a"),
            call("b"),
            observation=results(result("a", "A"), {"source_call_id": "b", "content": "B"}),
        ),
        FINAL,
        final_metrics={"total_steps": 4},
    ),
    "subagent_trajectories": [CHILD],
}


def test_wrong_types_anywhere_accuse_no_one(tmp_path: Path, shared: Path) -> None:
    check_wrong_types(read, tmp_path / "file", WHOLE, free=FREE, limit=400)
    for name in ("v17_embedded_subagents.json", "harbor_openhands.json", "parallel_tools_mixed_results.json"):
        document = json.loads((shared / "transcripts/atif" / name).read_bytes())
        check_wrong_types(read, tmp_path / "file", document, free=FREE, limit=60)
        check_missing(read, tmp_path / "file", document, free=FREE, limit=60)


def test_a_file_that_was_cut_is_refused_or_read_as_far_as_it_goes(tmp_path: Path) -> None:
    check_cut(read, tmp_path / "file", json.dumps(WHOLE, indent=1).encode(), 60)
    check_cut(read, tmp_path / "file", jsonl(WHOLE, WHOLE), 60, lines=True)


@pytest.mark.parametrize("repeated", ['"session_id": "s1"', '"source": "user"', '"tool_call_id": "c1"'])
def test_a_key_that_stands_twice_is_damage_where_it_stands(tmp_path: Path, repeated: str) -> None:
    text = json.dumps(trajectory(user(), ONE, FINAL)).replace(repeated, f"{repeated}, {repeated}", 1)
    found = read_or_refuse(read, written(tmp_path / "file", text.encode()))
    assert found is None or [each.record.completeness for each in found] == [PARTIAL]
