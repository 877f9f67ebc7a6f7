"""Magentic-One and Who&When logs: what was handed on, code and its exit code, who said what."""

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
from dispatch_fidelity.model.run import Completeness, ImportedRun
from dispatch_fidelity.transcripts.linking import link
from dispatch_fidelity.transcripts.magentic_one import WORDS_ONLY, read, recognise, side

PARTIAL = Completeness.PARTIAL
Runs = Callable[[Any], dict[str, ImportedRun]]


def said(role: str, content: Any, name: Any = None) -> dict[str, Any]:
    message = {"content": content, "role": role}
    return message if name is None else {**message, "name": name}


def expert(content: str, name: str = "Excel_Expert") -> dict[str, Any]:
    return said("user", content, name)


def terminal(content: str, name: str = "Computer_terminal") -> dict[str, Any]:
    return said("user", content, name)


def chat(*history: Any, **more: Any) -> dict[str, Any]:
    return {
        "question": "How many?",
        "ground_truth": "8",
        "mistake_agent": "x",
        "history": list(history),
        **more,
    }


CODE = "Run this:\n```python\nprint(4)\n```\n"
RAN = terminal("exitcode: 0 (execution succeeded)\nCode output: 4\n")
FAILED = terminal("exitcode: 1 (execution failed)\nCode output: boom\n")
HUMAN = said("human", "Find it.")
THOUGHT = said("Orchestrator (thought)", "Initial plan: ...")
ASKED = said("Orchestrator (-> WebSurfer)", "Search for it.")
SURFED = said("WebSurfer", "I clicked 'PDF'.\n\nHere is a screenshot of ...")
END = said(
    "Orchestrator (termination condition)",
    "No agent selected.\nFINAL ANSWER: k\nSCENARIO.PY COMPLETE !#!#\nRUN.SH COMPLETE !#!#",
)


@pytest.fixture
def runs(tmp_path: Path) -> Runs:
    return lambda content: {run.agent: run for run in read(written(tmp_path / "log.json", content))}


SAMPLES = {
    "magentic_one/14569e28-c88c-43e4-8c32-097d35b9a67d.json": (2, 3, 0, 0),
    "magentic_one/5d0080cb-90d7-4712-bc33-848150e917d3.json": (1, 12, 0, 1),
    "magentic_one/5f982798-16b9-4051-ab57-cfc7ebdb2a91.json": (1, 16, 0, 1),
    "magentic_one/748899d9d70c09beb3bd48ac8a3658bdcfd2f9114fe6dc4c4b8d2f9541ef4607.json": (1, 30, 0, 4),
    "magentic_one/b816bfce-3d80-4913-a07d-69b752ce6377.json": (1, 6, 0, 1),
    "who_and_when/Algorithm-Generated_1.json": (3, 2, 0, 0),
    "who_and_when/Algorithm-Generated_80.json": (3, 3, 1, 0),
    "who_and_when/Hand-Crafted_27.json": (1, 12, 0, 1),
}


def test_every_sample_has_its_counts_and_is_never_closed(shared: Path) -> None:
    for name, expected in SAMPLES.items():
        found = list(read(shared / "transcripts" / name))
        assert tuple(counts(found).values())[:4] == expected, name
        assert {each.record.completeness for each in found} == {PARTIAL}, name
        assert all(each.record.intact and each.task for each in found), name


def test_only_samples_of_this_format_are_recognised_and_labels_are_a_side_file(shared: Path) -> None:
    for name in SAMPLES:
        assert recognise((shared / "transcripts" / name).read_bytes()[: 64 * 1024]) >= 0.9, name
    labels = (shared / "transcripts/magentic_one/ground_truth.json").read_bytes()[: 64 * 1024]
    assert (recognise(labels), side(labels)[:22]) == (0.0, "labels of Magentic-One")
    foreign = list(foreign_samples(shared, "magentic_one/", "who_and_when/"))
    assert [name for name, head in foreign if recognise(head) >= 0.5 or side(head)] == []


def test_what_the_orchestrator_hands_on_is_a_call_and_its_final_answer_the_report(runs: Runs) -> None:
    found = runs([HUMAN, THOUGHT, ASKED, SURFED, END])
    assert list(found) == ["Orchestrator"]
    run = found["Orchestrator"]
    (execution,) = run.record
    assert (execution.tool, execution.args) == ("WebSurfer", {"instruction": "Search for it."})
    assert (execution.status, execution.learned) == (Status.RETURNED, Learned.DEFAULT)
    assert execution.result == SURFED["content"]
    assert (run.report, run.task, run.record.notes) == ("k", "Find it.", (WORDS_ONLY,))
    (linked,) = link([run])
    assert any(
        "'WebSurfer', which worked for this one, is not at hand" in note for note in linked.record.notes
    )


def test_a_request_that_no_one_answered_is_open(runs: Runs) -> None:
    run = runs([HUMAN, ASKED, ASKED, SURFED])["Orchestrator"]
    assert [e.status for e in run.record] == [Status.UNFINISHED, Status.RETURNED]
    assert "the end of the run is not in the file" in run.record.notes


def test_a_member_with_words_of_its_own_is_a_run_below_the_orchestrator(runs: Runs) -> None:
    wrote = said("Assistant", CODE)
    ran = said(
        "ComputerTerminal", "The script ran, then exited with Unix exit code: 2\nIts output was:\nboom"
    )
    handed = said("Orchestrator (-> ComputerTerminal)", "Run it.")
    found = runs([HUMAN, said("Orchestrator (-> Assistant)", "Write it."), wrote, handed, ran, END])
    helper = found["Assistant"]
    assert (helper.parent, helper.report) == ("Orchestrator", CODE)
    assert [(e.tool, e.args, e.status, e.learned, e.result) for e in helper.record] == [
        ("ComputerTerminal", {"code": "print(4)\n"}, Status.RAISED, Learned.EXIT_CODE, "boom")
    ]
    linked = {run.agent: run for run in link(found.values())}
    assert [e.tool for e in linked["Orchestrator"].behalf] == ["ComputerTerminal"]
    assert [e.tool for e in linked["Orchestrator"].record] == ["Assistant", "ComputerTerminal"]


def test_what_the_console_printed_is_not_of_the_message_it_stands_in(runs: Runs) -> None:
    noise = "I see.\nError processing publish message\nTraceback (most recent call last):\nFINAL ANSWER: 31\n"
    found = runs([HUMAN, said("Orchestrator (-> Assistant)", "Look."), said("Assistant", noise)])
    assert (found["Assistant"].report, found["Orchestrator"].report) == ("I see.", "31")
    assert [e.result for e in found["Orchestrator"].record] == ["I see."]


def test_code_in_a_group_chat_is_a_call_of_who_wrote_it_and_fails_by_its_exit_code(runs: Runs) -> None:
    found = runs(
        chat(expert(CODE), RAN, expert(CODE + CODE, "Coder"), FAILED, expert("Done."), expert("TERMINATE"))
    )
    first, second = found["Excel_Expert"], found["Coder"]
    assert [(e.tool, e.args, e.status, e.result) for e in first.record] == [
        ("Computer_terminal", {"code": "print(4)\n"}, Status.RETURNED, "4\n")
    ]
    assert [(e.args, e.status, e.learned, e.error) for e in second.record] == [
        ({"code": "print(4)\n\nprint(4)\n"}, Status.RAISED, Learned.EXIT_CODE, "exit code 1")
    ]
    assert (first.report, first.task, first.parent) == ("Done.", "How many?", "")
    assert (len(first.behalf), len(second.behalf)) == (1, 1)


def test_the_prompt_of_the_manager_is_no_report_and_its_code_is_run(runs: Runs) -> None:
    prompt = "You are given: (1) a task and advises from your manager with a specific plan.\n" + CODE
    found = runs(chat(expert(prompt), RAN, expert("Done.", "Coder")))
    assert (found["Excel_Expert"].report, len(found["Excel_Expert"].record)) == ("", 1)


def test_a_terminal_that_had_nothing_to_run_made_no_call(runs: Runs) -> None:
    found = runs(
        chat(expert("Hello."), terminal("There is no code from the last 1 message for me to execute."))
    )
    assert len(found["Excel_Expert"].record) == 0


def test_code_that_is_not_in_the_log_was_not_captured(runs: Runs) -> None:
    found = runs(chat(expert("Hello."), RAN))
    assert [e.args for e in found["Excel_Expert"].record] == [Unknown("not captured")]


def test_labels_do_not_change_what_is_read(runs: Runs) -> None:
    history = (expert(CODE), RAN, expert("Done."))
    plain = runs(chat(*history))["Excel_Expert"]
    other = runs(chat(*history, ground_truth=7, mistake_agent=[], mistake_step=None))["Excel_Expert"]
    assert plain == other


@pytest.mark.parametrize(
    "content", [b"", b"{}", b"[]", b"7", {"history": []}, [said("user", "x")], chat(), b"plain"]
)
def test_what_is_no_log_is_refused(runs: Runs, content: Any) -> None:
    with pytest.raises(InvalidInputError):
        runs(content)


LOG = [
    HUMAN,
    THOUGHT,
    ASKED,
    SURFED,
    said("Orchestrator (-> Assistant)", "Write."),
    said("Assistant", CODE),
    END,
]
CHAT = chat(expert(CODE), RAN, expert(CODE, "Coder"), FAILED, expert("Done."), expert("TERMINATE"))


def test_wrong_types_anywhere_accuse_no_one(tmp_path: Path) -> None:
    for document in (LOG, CHAT):
        check_wrong_types(read, tmp_path / "file", document, free=(), limit=300)
        check_missing(read, tmp_path / "file", document, free=(), limit=300)


def test_damage_is_noted_in_every_run_of_the_log(runs: Runs) -> None:
    for bad in (7, said("user", 7, "x"), said("user", "x", 7), {"content": "x"}):
        found = runs(chat(expert(CODE), RAN, bad, expert("Done.", "Coder")))
        assert [run.record.intact for run in found.values()] == [False, False]


def test_a_file_that_was_cut_is_refused_or_read_as_far_as_it_goes(tmp_path: Path) -> None:
    check_cut(read, tmp_path / "file", json.dumps(CHAT, indent=1).encode(), 60)
    check_cut(read, tmp_path / "file", jsonl(CHAT, LOG), 60, lines=True)


def test_a_key_that_stands_twice_is_damage_where_it_stands(tmp_path: Path) -> None:
    content = json.dumps(LOG).replace('"role": "human"', '"role": "human", "role": "human"', 1).encode()
    found = read_or_refuse(read, written(tmp_path / "file", content))
    assert found
    assert not any(run.record.intact for run in found)
