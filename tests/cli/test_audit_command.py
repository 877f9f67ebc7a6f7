"""What ``audit`` judges, says, writes and answers."""

from __future__ import annotations

import io
import json
import os
import shutil
import sys
from argparse import ArgumentParser, Namespace
from pathlib import Path
from typing import Any

import pytest
from cli_files import LIE, SEEN, block, conversation

from dispatch_fidelity.cli import console
from dispatch_fidelity.cli.commands.audit import add_arguments, run
from dispatch_fidelity.cli.main import main
from dispatch_fidelity.errors import InvalidInputError
from dispatch_fidelity.transcripts import openai_chat

Capture = pytest.CaptureFixture[str]
TRUE, FALSE = conversation(block(SEEN)), conversation(block(SEEN, LIE))
NONE = ("--binding-proof", "none")
SESSION = "5e550000-0000-4000-8000-000000000001"


def put(path: Path, content: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
    return path


def audit(*args: object) -> int:
    return main(["audit", *map(str, args)])


def document(capsys: Capture, *args: object) -> dict[str, Any]:
    capsys.readouterr()
    audit(*args, "--json", "-")
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


def names(found: dict[str, Any]) -> list[str]:
    return [Path(run["source"]).name for run in found["runs"]]


def said(capsys: Capture, *args: object) -> str:
    capsys.readouterr()
    audit(*args)
    return capsys.readouterr().out


@pytest.fixture
def talks(tmp_path: Path) -> Path:
    """A folder with a true and a false conversation, and notes that are none."""
    put(tmp_path / "talks" / "a_true.json", TRUE)
    put(tmp_path / "talks" / "deep" / "er" / "b_false.json", FALSE)
    put(tmp_path / "talks" / "notes.txt", "notes of mine")
    return tmp_path / "talks"


# -- a session of Claude Code, as lines ---------------------------------------------------------------------


def line(number: int, kind: str, content: Any, agent: str = "", **more: Any) -> dict[str, Any]:
    parent = f"{agent}{number - 1}" if number else None
    helper = {"agentId": agent, "isSidechain": True} if agent else {"isSidechain": False}
    return {
        "type": kind,
        "uuid": f"{agent}{number}",
        "parentUuid": parent,
        "sessionId": SESSION,
        "timestamp": f"2026-11-30T08:00:{number:02}.000Z",
        "version": "2.0.55",
        "cwd": "/src",
        "userType": "external",
        **helper,
        "message": {"role": kind, "id": f"msg_{agent}{number}", "content": content},
        **more,
    }


def used(name: str, args: dict[str, Any], number: int = 1) -> list[dict[str, Any]]:
    return [{"type": "tool_use", "id": f"toolu_{name}{number}", "name": name, "input": args}]


def returned(name: str, text: str, number: int = 1) -> list[dict[str, Any]]:
    return [{"type": "tool_result", "tool_use_id": f"toolu_{name}{number}", "content": text}]


def words(text: str) -> list[dict[str, Any]]:
    return [{"type": "text", "text": text}]


def jsonl(lines: list[dict[str, Any]]) -> str:
    return "".join(json.dumps(item) + "\n" for item in lines)


READ = {"tool": "Read", "args": {"file_path": "/src/a"}, "result": "alpha"}
HELPER = jsonl(
    [
        line(0, "user", "Read a.", "h1"),
        line(1, "assistant", used("Read", {"file_path": "/src/a"}), "h1"),
        line(2, "user", returned("Read", "alpha"), "h1"),
        line(3, "assistant", words("It says alpha."), "h1"),
    ]
)
IDLE = jsonl([line(0, "user", "Read a.", "h1"), line(1, "assistant", words("I read all of it."), "h1")])


def parent(report: str, calls: int = 1, told: str = "It says alpha.") -> str:
    result = {
        "agentId": "h1",
        "status": "completed",
        "content": [{"type": "text", "text": told}],
        "totalToolUseCount": calls,
    }
    return jsonl(
        [
            line(0, "user", "What does a say?"),
            line(1, "assistant", used("Task", {"prompt": "Read a."})),
            line(2, "user", returned("Task", told), toolUseResult=result),
            line(3, "assistant", words(report)),
        ]
    )


def session(folder: Path, report: str, helper: str = HELPER, *, flat: bool = False) -> Path:
    """A session and its helper, in the older or the newer layout."""
    put((folder if flat else folder / SESSION / "subagents") / "agent-h1.jsonl", helper)
    return put(folder / f"{SESSION}.jsonl", parent(report))


LAYOUTS = pytest.mark.parametrize("flat", [False, True], ids=["newer layout", "older layout"])


# -- what is read --------------------------------------------------------------------------------------------


def test_a_folder_is_read_to_any_depth_in_a_fixed_order(talks: Path, capsys: Capture) -> None:
    assert names(document(capsys, talks)) == ["a_true.json", "b_false.json"]
    assert document(capsys, talks) == document(capsys, talks)


def test_arguments_are_read_in_their_order_and_each_file_once(talks: Path, capsys: Capture) -> None:
    last = talks / "deep" / "er" / "b_false.json"
    assert names(document(capsys, last, talks, talks / "*.json")) == ["b_false.json", "a_true.json"]


def test_a_file_under_two_names_is_read_once(
    talks: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    (talks / "link.json").symlink_to(talks / "a_true.json")
    monkeypatch.chdir(talks)
    assert len(document(capsys, "a_true.json", talks / "a_true.json", "link.json")["runs"]) == 1


def test_standard_input_is_called_by_its_sign_and_not_by_its_place(
    capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(json.dumps(FALSE).encode())))
    found = document(capsys, "-")
    assert (names(found), found["outcome"]) == (["-"], "FAIL")
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"no transcript")))
    assert audit("-") == 65
    assert "'-' is no transcript" in capsys.readouterr().err


def test_standard_input_may_be_read_beside_files(
    talks: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(json.dumps(FALSE).encode())))
    assert names(document(capsys, talks / "a_true.json", "-")) == ["a_true.json", "-"]


def test_an_empty_folder_is_inconclusive(tmp_path: Path, capsys: Capture) -> None:
    assert audit(tmp_path) == 2
    assert "0 runs" in capsys.readouterr().out


# -- sessions and their helpers ----------------------------------------------------------------------------------


@LAYOUTS
def test_a_helper_is_read_with_its_session(tmp_path: Path, capsys: Capture, flat: bool) -> None:
    path = session(tmp_path, block(READ), flat=flat)
    runs = document(capsys, path)["runs"]
    assert [(run["agent"], bool(run["parent"]), run["calls"]) for run in runs] == [
        ("agent", False, 1),
        ("h1", True, 1),
    ]


@LAYOUTS
@pytest.mark.parametrize("order", [1, -1])
def test_a_helper_is_read_once_in_whatever_way_it_is_named(
    tmp_path: Path, capsys: Capture, flat: bool, order: int
) -> None:
    path = session(tmp_path, block(READ), flat=flat)
    helper = next(tmp_path.rglob("agent-*.jsonl"))
    for args in ([path, helper], [tmp_path], [tmp_path / "**" / "*.jsonl"], [tmp_path, helper, path]):
        runs = document(capsys, *args[::order])["runs"]
        assert sorted(run["agent"] for run in runs) == ["agent", "h1"], args


def test_a_helper_alone_is_judged_alone(tmp_path: Path, capsys: Capture) -> None:
    session(tmp_path, block(READ))
    (run,) = document(capsys, tmp_path / SESSION / "subagents" / "agent-h1.jsonl")["runs"]
    assert (run["agent"], run["calls"]) == ("h1", 1)


@LAYOUTS
def test_calls_of_a_helper_back_what_its_session_reports(tmp_path: Path, flat: bool) -> None:
    assert audit(session(tmp_path, block(READ), flat=flat)) == 2
    assert audit(session(tmp_path, block({**READ, "args": {"file_path": "/src/b"}}), flat=flat)) == 1


def test_without_the_log_of_the_helper_nothing_is_held_against_its_session(
    tmp_path: Path, capsys: Capture
) -> None:
    path = session(tmp_path, block(READ))
    shutil.rmtree(tmp_path / SESSION)
    (run,) = document(capsys, path)["runs"]
    assert (run["score"]["unresolved"], run["level"]["completeness"]) == (1, "partial")
    assert "'h1', which worked for this one, is not at hand" in said(capsys, path)


def test_a_helper_that_cannot_be_read_does_not_keep_its_session_from_being_judged(
    tmp_path: Path, capsys: Capture
) -> None:
    path = session(tmp_path, block({**SEEN, "tool": "Task", "args": {"prompt": "Other."}}), "no session\n")
    found = document(capsys, path)
    assert [error["exit_code"] for error in found["errors"]] == [65]
    assert found["errors"][0]["source"].endswith("agent-h1.jsonl")
    assert [run["agent"] for run in found["runs"]] == ["agent"]
    assert audit(path) == 65


def test_a_report_of_a_helper_that_called_nothing_is_named(tmp_path: Path, capsys: Capture) -> None:
    path = session(tmp_path, block(), IDLE)
    text = said(capsys, path)
    (note,) = (part for part in text.splitlines() if "made no call" in part)
    assert note.startswith(
        f"note on {SESSION}/subagents/agent-h1.jsonl, run {SESSION}.h1: this agent reports"
    )
    assert "the parent counts 1 calls of this agent, its log holds 0" in text


def test_the_helpers_of_the_samples_are_read_once_each(shared: Path, capsys: Capture) -> None:
    folder = shared / "transcripts" / "claude_code"
    for name, helpers in (("six_subagents", 6), ("one_subagent", 1)):
        main_file = next((folder / name).glob("*.jsonl"))
        every = sorted((folder / name).rglob("*.jsonl"))
        for args in ([main_file], [folder / name], every, every[::-1]):
            runs = document(capsys, *args)["runs"]
            assert [bool(run["parent"]) for run in runs].count(True) == helpers
            assert len(runs) == helpers + 1


def test_the_helper_of_the_older_layout_is_read_with_its_session(
    shared: Path, tmp_path: Path, capsys: Capture
) -> None:
    sample = shared / "transcripts" / "claude_code" / "flat_layout_subagent" / "agent-c8d9b115.jsonl"
    shutil.copyfile(sample, tmp_path / sample.name)
    own = (
        parent(block()).replace(SESSION, "a7da6a22-facc-4fcd-8bab-f83c87862004").replace('"h1"', '"c8d9b115"')
    )
    put(tmp_path / "main.jsonl", own)
    found = document(capsys, tmp_path)
    assert names(found) == ["main.jsonl", sample.name]
    assert [run["calls"] for run in found["runs"]] == [1, 15]


# -- sessions of coding agents -----------------------------------------------------------------------------------


@pytest.fixture
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "work"
    folder.mkdir()
    monkeypatch.chdir(folder)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path / "claude"))
    monkeypatch.setenv("CODEX_HOME", str(tmp_path / "codex"))
    return folder


def kept_by_claude(work: Path) -> Path:
    plain = "".join(sign if sign.isascii() and sign.isalnum() else "-" for sign in str(work))
    return work.parent / "claude" / "projects" / plain


def test_the_newest_session_of_claude_is_read_with_its_helpers(work: Path, capsys: Capture) -> None:
    session(kept_by_claude(work), block(READ))
    old = put(kept_by_claude(work) / "old.jsonl", parent(block()))
    os.utime(old, (1, 1))
    assert [run["agent"] for run in document(capsys, "--claude")["runs"]] == ["agent", "h1"]
    assert len(document(capsys, "--claude", "--last", 2)["runs"]) == 3
    assert len(document(capsys, "--claude", "--since", "1h")["runs"]) == 2


def test_sessions_of_several_agents_are_read_together(work: Path, shared: Path, capsys: Capture) -> None:
    session(kept_by_claude(work), block(READ))
    rollout = (shared / "transcripts" / "codex" / "polylogue_tool_call_stream.jsonl").read_text("utf-8")
    head = {"timestamp": "t", "type": "session_meta", "payload": {"id": "x", "cwd": str(work)}}
    put(work.parent / "codex" / "sessions" / "rollout-1.jsonl", json.dumps(head) + "\n" + rollout)
    assert {run["format"] for run in document(capsys, "--claude", "--codex")["runs"]} == {
        "claude-code",
        "codex",
    }


@pytest.mark.parametrize("product", ["--claude", "--codex", "--gemini"])
def test_without_a_session_that_is_missing_input(work: Path, product: str) -> None:
    assert audit(product) == 66


@pytest.mark.parametrize(
    "args",
    [
        ["--claude", "--last", "0"],
        ["--claude", "--last", "-1"],
        ["--claude", "--last", "two"],
        ["--claude", "--since", "soon"],
        ["--claude", "--since", "99999999999w"],
        ["x.json", "--last", "1"],
        ["x.json", "--since", "1h"],
    ],
    ids=" ".join,
)
def test_a_choice_of_sessions_that_has_no_meaning_is_wrong_usage(work: Path, args: list[str]) -> None:
    session(kept_by_claude(work), block(READ))
    put(work / "x.json", TRUE)
    assert audit(*args) == 64


# -- formats and reports that are given -----------------------------------------------------------------------


def test_a_named_format_is_that_of_the_named_files(talks: Path, capsys: Capture) -> None:
    path = talks / "a_true.json"
    assert document(capsys, path, "--format", "openai-chat")["runs"][0]["format"] == "openai-chat"
    assert audit(path, "--format", "langsmith") == 65
    assert audit(path, "--format", "nonsense") == 65


def test_files_of_a_folder_keep_the_format_that_they_are_recognised_as(
    talks: Path, tmp_path: Path, capsys: Capture
) -> None:
    path = put(tmp_path / "session.jsonl", HELPER)
    found = document(capsys, talks, path, "--format", "claude-code")
    assert [run["format"] for run in found["runs"]] == ["openai-chat", "openai-chat", "claude-code"]


def test_a_format_that_is_named_for_no_file_is_wrong_usage(talks: Path) -> None:
    assert audit(talks, "--format", "openai-chat") == 64


def test_a_report_is_judged_against_a_capture(shared: Path, tmp_path: Path, capsys: Capture) -> None:
    capture = shared / "transcripts" / "mcp" / "stdio_capture.jsonl"
    told = put(
        tmp_path / "report.md",
        block({"tool": "get_weather", "args": {"city": "Graz"}, "result": "Graz: 31 C"}),
    )
    (run,) = document(capsys, capture, "--claims", told)["runs"]
    assert [claim["verdict"] for claim in run["score"]["detail"]] == ["RESULT_MISMATCH"]
    assert audit(capture, "--claims", told) == 1


def test_a_report_is_of_one_run(talks: Path, shared: Path, tmp_path: Path) -> None:
    told = put(tmp_path / "report.md", block(SEEN))
    assert audit(talks, "--claims", told) == 64
    assert audit(shared / "transcripts" / "tau_bench" / "gpt-4o-airline_subset.json", "--claims", told) == 64
    assert audit(talks / "a_true.json", "--claims", told, *NONE) == 0
    assert audit(talks / "a_true.json", "--claims", tmp_path / "nowhere") == 66


# -- what is answered ---------------------------------------------------------------------------------------------


def test_the_exit_code_is_the_worst_that_was_found(talks: Path, tmp_path: Path) -> None:
    true, false = talks / "a_true.json", talks / "deep" / "er" / "b_false.json"
    notes, nowhere = talks / "notes.txt", tmp_path / "nowhere"
    assert audit(true, *NONE) == 0
    assert audit(true) == 2
    assert audit(true, notes, *NONE) == 65
    assert audit(true, nowhere, *NONE) == 66
    assert audit(true, notes, nowhere, *NONE) == 66
    assert audit(true, notes, nowhere, false, *NONE) == 1


@pytest.mark.parametrize("name", ["x" * 5000, "", "nowhere/*.json"])
def test_a_name_of_no_file_is_missing_input(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert audit(name) == 66
    assert audit(name, "--json", tmp_path / "out.json") == 66


def test_a_link_that_leads_to_itself_is_missing_input(tmp_path: Path) -> None:
    (tmp_path / "loop.json").symlink_to("loop.json")
    assert audit(tmp_path / "loop.json") == 66
    assert audit(tmp_path) == 2


def test_a_measured_and_closed_import_passes_where_no_proof_is_asked_and_the_choice_is_kept(
    talks: Path, capsys: Capture
) -> None:
    found = document(capsys, talks / "a_true.json", *NONE)
    (run,) = found["runs"]
    assert (found["outcome"], run["outcome"]["overall"], run["regime"]["binding_proof"]) == (
        "PASS",
        "PASS",
        "none",
    )
    assert (run["level"]["evidence"], run["outcome"]["binding"]) == ("E0", "NOT_CHECKED")


@pytest.mark.parametrize(
    "talk",
    [
        conversation("All was looked up."),
        [*TRUE[:2], TRUE[3]],
        [*TRUE[:3], {"role": "tool", "tool_call_id": "none", "content": "x"}, TRUE[3]],
        conversation(block(SEEN) + "```json\n{'results': [\n```\n"),
    ],
    ids=["nothing measured", "an open call", "damage", "an unreadable block"],
)
def test_what_is_not_measured_whole_does_not_pass_either(talk: Any, tmp_path: Path) -> None:
    assert audit(put(tmp_path / "talk.json", talk), *NONE) == 2


def test_a_reader_of_another_package_that_is_broken_is_a_fault_and_hides_no_file(
    talks: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(_: bytes) -> float:
        raise RuntimeError("a wheel came off")

    monkeypatch.setattr(openai_chat, "recognise", broken)
    assert audit(talks) == 70


# -- what is shown --------------------------------------------------------------------------------------------------


def test_each_run_is_a_row_and_each_false_claim_is_shown_in_full(talks: Path, capsys: Capture) -> None:
    text = said(capsys, talks)
    assert 'FABRICATED  look(at="there")' in text
    assert json.dumps(LIE) in text
    rows = [part.split()[0] for part in text.splitlines() if " openai-chat " in part]
    assert rows == ["a_true.json", "deep/er/b_false.json"]


def test_totals_say_what_was_found_and_what_was_left_out(talks: Path, capsys: Capture) -> None:
    assert said(capsys, talks).splitlines()[-1] == (
        "2 runs, 2 calls, 0 failed; 0 PASS; 1 FAIL; 1 INCONCLUSIVE; 1 files are no transcripts"
    )


def test_side_files_are_counted_by_what_they_are(shared: Path, capsys: Capture) -> None:
    folder = shared / "transcripts" / "claude_code"
    total = said(capsys, folder / "six_subagents").splitlines()[-1]
    assert total.startswith("7 runs, 117 calls, 3 failed")
    assert total.endswith("6 the metadata of a sub-agent of Claude Code")


def test_a_side_file_alone_is_refused_and_says_what_it_is(shared: Path, capsys: Capture) -> None:
    for path in sorted((shared / "transcripts" / "claude_code").rglob("*.meta.json")):
        assert audit(path) == 65
        assert "is no transcript but the metadata of a sub-agent" in capsys.readouterr().err


def test_a_file_that_cannot_be_read_is_told_with_its_reason(talks: Path, capsys: Capture) -> None:
    audit(talks / "a_true.json", talks / "notes.txt")
    out, err = capsys.readouterr()
    assert "notes.txt' is no transcript that is recognised" in err
    assert "1 files could not be read" in out


def test_the_level_is_shown_with_what_it_does_not_show(talks: Path, capsys: Capture) -> None:
    assert "E0: " in said(capsys, talks)


def test_a_note_names_its_run_where_there_are_several(tmp_path: Path, capsys: Capture) -> None:
    open_call = put(tmp_path / "a.json", [*TRUE[:2], TRUE[3]])
    put(tmp_path / "b.json", TRUE)
    alone = said(capsys, open_call)
    assert "\nnote: 1 calls have no result\n" in alone
    assert "\nnote on a.json, run run-0: 1 calls have no result\n" in said(capsys, tmp_path)
    for number in range(4):
        put(tmp_path / f"c{number}.json", [*TRUE[:2], TRUE[3]])
    assert "\nnote: 1 calls have no result (5 runs)\n" in said(capsys, tmp_path)


def test_only_failing_runs_are_shown_and_all_are_counted(tmp_path: Path, capsys: Capture) -> None:
    put(tmp_path / "open.json", [*TRUE[:2], TRUE[3]])
    put(tmp_path / "false.json", FALSE)
    text = said(capsys, tmp_path, "--only", "failing")
    assert ("false.json" in text, "open.json" in text, "no result" in text) == (True, False, False)
    assert "2 runs" in text


# -- what is written --------------------------------------------------------------------------------------------------


def test_lines_hold_the_same_as_the_document(talks: Path, tmp_path: Path) -> None:
    assert audit(talks, "--json", tmp_path / "out.json", "--jsonl", tmp_path / "out.jsonl") == 1
    runs = json.loads((tmp_path / "out.json").read_text("ascii"))["runs"]
    assert [json.loads(text) for text in (tmp_path / "out.jsonl").read_text("ascii").splitlines()] == runs


@pytest.mark.parametrize("option", ["--json", "--jsonl"])
def test_what_goes_to_standard_output_is_alone_there(talks: Path, capsys: Capture, option: str) -> None:
    audit(talks, talks / "notes.txt", option, "-")
    out = capsys.readouterr().out
    texts = out.splitlines() if option == "--jsonl" else [out]
    assert all(isinstance(json.loads(text), dict) for text in texts)


@pytest.mark.parametrize("target", ["-", "out.json"])
def test_both_forms_do_not_go_to_the_same_place(
    talks: Path, monkeypatch: pytest.MonkeyPatch, target: str
) -> None:
    monkeypatch.chdir(talks.parent)
    assert audit(talks, "--json", target, "--jsonl", target) == 64
    assert audit(talks, "--json", "out.json", "--jsonl", talks.parent / "out.json") == 64
    assert not (talks.parent / "out.json").exists()


@pytest.mark.parametrize("option", ["--json", "--jsonl"])
def test_a_foreign_file_or_an_input_is_not_written_over(talks: Path, capsys: Capture, option: str) -> None:
    for target in (talks / "notes.txt", talks / "a_true.json"):
        before = target.read_bytes()
        assert audit(talks / "a_true.json", option, target) == 64
        assert target.read_bytes() == before
        assert f"{option} " in capsys.readouterr().err


def test_a_session_that_was_found_is_an_input_too(work: Path) -> None:
    path = session(kept_by_claude(work), block(READ))
    before = path.read_bytes()
    assert audit("--claude", "--jsonl", path) == 64
    assert path.read_bytes() == before


@pytest.mark.parametrize("option", ["--json", "--jsonl"])
def test_lines_and_documents_of_ours_are_replaced(talks: Path, tmp_path: Path, option: str) -> None:
    target = tmp_path / "out"
    assert [audit(path, option, target, *NONE) for path in (talks, talks / "a_true.json")] == [1, 0]
    assert "b_false" not in target.read_text("ascii")


@pytest.mark.parametrize("option", ["--json", "--jsonl"])
@pytest.mark.parametrize("target", ["nowhere/out", "x" * 300])
def test_a_place_that_cannot_be_written_is_wrong_usage(
    talks: Path, monkeypatch: pytest.MonkeyPatch, option: str, target: str
) -> None:
    monkeypatch.chdir(talks)
    assert audit("a_true.json", option, target) == 64


def test_nothing_is_written_before_it_is_known_that_there_is_something_to_read(tmp_path: Path) -> None:
    assert audit(tmp_path / "*.json", "--jsonl", tmp_path / "out.jsonl") == 66
    assert not (tmp_path / "out.jsonl").exists()


def test_a_reader_that_leaves_while_lines_are_written_is_no_wrong_usage(
    talks: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def gone(_: object) -> None:
        raise BrokenPipeError

    monkeypatch.setattr(console, "show", gone)
    with pytest.raises(BrokenPipeError):
        run(parsed(str(talks), "--jsonl", str(tmp_path / "out.jsonl")))


def parsed(*args: str) -> Namespace:
    parser = ArgumentParser()
    add_arguments(parser)
    return parser.parse_args(args)


def test_a_file_that_breaks_off_midway_costs_only_itself(
    talks: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    read = openai_chat.read

    def torn(path: Path) -> Any:
        if path.name == "a_true.json":
            raise InvalidInputError("torn")
        return read(path)

    monkeypatch.setattr(openai_chat, "read", torn)
    found = document(capsys, talks)
    assert (names(found), len(found["errors"])) == (["b_false.json"], 1)
