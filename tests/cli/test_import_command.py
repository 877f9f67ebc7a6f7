"""What ``import`` writes, and that the other commands read it."""

from __future__ import annotations

import json
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from cli_files import LIE, SEEN, block, conversation

from dispatch_fidelity.cli.main import main
from dispatch_fidelity.log.reader import load_log
from dispatch_fidelity.model.run import Completeness
from dispatch_fidelity.transcripts import openai_chat
from dispatch_fidelity.transcripts.registry import read_transcript

Capture = pytest.CaptureFixture[str]
Rows = list[dict[str, Any]]
NONE = ("--binding-proof", "none")

SAMPLES = [
    "claude_code/errors_and_rejections.jsonl",
    "tau_bench/gpt-4o-airline_subset.json",
    "codex/rollout_v0_40_34_calls.jsonl",
    "inspect_ai/own_mock_run.json",
    "langchain/langchain_dumpd.json",
    "langfuse/pydantic-ai-tools-2025-12-04.trace.json",
    "mcp/stdio_capture.jsonl",
    "otlp_genai/pydantic_ai_v5.json",
    "vercel_ai_sdk/ui_messages.json",
]


def put(path: Path, content: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
    return path


def imported(capsys: Capture, source: Path, folder: Path) -> Rows:
    capsys.readouterr()
    assert main(["import", str(source), "--run-dir", str(folder), "--json", "-"]) == 0
    found: Rows = json.loads(capsys.readouterr().out)["imported"]
    return found


def scored(row: dict[str, Any], *options: str) -> int:
    return main(
        ["score", "--claims", row["report"], "--log", row["log"], "--results", "contradicted", *options]
    )


@pytest.fixture
def talk(tmp_path: Path) -> Path:
    return put(tmp_path / "talk.json", conversation(block(SEEN)))


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    return tmp_path / "runs"


# -- what is written -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", SAMPLES)
def test_every_run_of_a_format_is_written_with_its_calls_and_its_report(
    name: str, shared: Path, runs: Path, capsys: Capture
) -> None:
    source = shared / "transcripts" / name
    rows = imported(capsys, source, runs)
    read = list(read_transcript(source))
    assert [row["calls"] for row in rows] == [len(run.record) for run in read]
    for row, run in zip(rows, read, strict=True):
        record = load_log(row["log"])
        assert [call.tool for call in record] == [call.tool for call in run.record]
        assert str(record.completeness) == row["completeness"]
        assert Path(row["report"]).read_text(encoding="utf-8") == run.report


@pytest.mark.parametrize("name", SAMPLES)
def test_no_imported_sample_is_accused_by_score(name: str, shared: Path, runs: Path, capsys: Capture) -> None:
    for row in imported(capsys, shared / "transcripts" / name, runs):
        assert scored(row) == 2


def test_the_list_of_runs_names_files_and_their_source(talk: Path, runs: Path, tmp_path: Path) -> None:
    target = tmp_path / "out.json"
    assert main(["import", str(talk), "--run-dir", str(runs), "--json", str(target)]) == 0
    assert json.loads(target.read_text("ascii")) == {
        "imported": [
            {
                "run_id": "run-0",
                "log": str(runs / "run-0.toollog.jsonl"),
                "report": str(runs / "run-0.report.txt"),
                "agent": "agent",
                "calls": 1,
                "completeness": "closed",
            }
        ],
        "source": str(talk),
        "sha256": sha256(talk.read_bytes()).hexdigest(),
    }


def test_without_json_each_run_is_a_line(talk: Path, runs: Path, capsys: Capture) -> None:
    assert main(["import", str(talk), "--run-dir", str(runs)]) == 0
    assert capsys.readouterr().out == f"run-0: 1 calls, closed: {runs / 'run-0.toollog.jsonl'}\n"


def test_a_list_of_ours_is_replaced_and_a_foreign_file_is_not(talk: Path, tmp_path: Path) -> None:
    target, foreign = tmp_path / "out.json", put(tmp_path / "mine.txt", "mine")
    for folder in ("first", "second"):
        command = ["import", str(talk), "--run-dir", str(tmp_path / folder), "--json"]
        assert main([*command, str(target)]) == 0
    assert "second" in target.read_text("ascii")
    for path in (foreign, talk):
        assert main(["import", str(talk), "--run-dir", str(tmp_path / "third"), "--json", str(path)]) == 64
    assert (foreign.read_text("utf-8"), (tmp_path / "third").exists()) == ("mine", False)


# -- what other commands make of it ------------------------------------------------------------------------------


def test_a_true_report_is_inconclusive_or_passes_where_no_proof_is_asked(
    talk: Path, runs: Path, capsys: Capture
) -> None:
    (row,) = imported(capsys, talk, runs)
    assert (scored(row), scored(row, *NONE)) == (2, 0)
    assert "E0" in capsys.readouterr().out


def test_a_false_report_fails(tmp_path: Path, runs: Path, capsys: Capture) -> None:
    (row,) = imported(capsys, put(tmp_path / "talk.json", conversation(block(SEEN, LIE))), runs)
    assert scored(row) == 1


def test_a_report_with_half_a_character_is_still_read_by_score(
    tmp_path: Path, runs: Path, capsys: Capture
) -> None:
    source = put(tmp_path / "talk.json", conversation("Half: \ud83d\n" + block(SEEN)))
    (row,) = imported(capsys, source, runs)
    assert scored(row, *NONE) == 0


def test_an_imported_log_is_no_transcript(talk: Path, runs: Path, capsys: Capture) -> None:
    (row,) = imported(capsys, talk, runs)
    assert main(["audit", row["log"]]) == 65
    assert main(["import", row["log"], "--run-dir", str(runs)]) == 65
    assert "score it with 'dispatch-audit score'" in capsys.readouterr().err


def test_an_edit_of_an_imported_log_is_seen(talk: Path, runs: Path, capsys: Capture) -> None:
    (row,) = imported(capsys, talk, runs)
    log = Path(row["log"])
    log.write_bytes(log.read_bytes().replace(b'"seen"', b'"none"', 1))
    assert scored(row, *NONE) == 2


# -- agents ---------------------------------------------------------------------------------------------------------


def test_each_agent_gets_a_run_that_is_named_after_it(shared: Path, runs: Path, capsys: Capture) -> None:
    rows = imported(capsys, shared / "transcripts/claude_code/fixtures/memory_sidechain.jsonl", runs)
    assert [row["run_id"] for row in rows] == ["mem_sc", "mem_sc.sa1"]
    assert sorted(path.name for path in runs.glob("*.report.txt")) == [
        "mem_sc.report.txt",
        "mem_sc.sa1.report.txt",
    ]
    assert [load_log(row["log"]).run_id for row in rows] == ["mem_sc", "mem_sc.sa1"]


def test_a_helper_that_was_imported_first_does_not_take_the_place_of_its_session(
    shared: Path, runs: Path, capsys: Capture
) -> None:
    folder = shared / "transcripts/claude_code/one_subagent"
    for path in sorted(folder.rglob("*.jsonl"), reverse=True):
        imported(capsys, path, runs)
    assert sorted(path.name for path in runs.glob("*.toollog.jsonl")) == [
        "29ccd257-68b1-427f-ae5f-6524b7cb6f20.a2271d1.toollog.jsonl",
        "29ccd257-68b1-427f-ae5f-6524b7cb6f20.toollog.jsonl",
    ]


def test_the_log_of_a_session_does_not_hold_what_its_helpers_did_and_says_so(
    shared: Path, runs: Path, capsys: Capture
) -> None:
    folder = shared / "transcripts/claude_code/one_subagent"
    (source,) = folder.glob("*.jsonl")
    (row,) = imported(capsys, source, runs)
    record = load_log(row["log"])
    assert (row["completeness"], record.completeness) == ("partial", Completeness.PARTIAL)
    assert "calls that other agents made for this one are not in this log" in record.notes
    report = Path(row["report"])
    report.write_text(block({"tool": "Read", "args": {"file_path": "/made/by/helper"}}), encoding="utf-8")
    assert scored(row, *NONE) == 2


def test_runs_of_one_id_are_told_apart(
    talk: Path, runs: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = [*openai_chat.read(talk)] * 3
    monkeypatch.setattr(openai_chat, "read", lambda path: iter(found))
    rows = imported(capsys, talk, runs)
    assert [row["run_id"] for row in rows] == ["run-0", "run-0-2", "run-0-3"]


def test_an_id_that_is_no_name_of_a_file_becomes_one(tmp_path: Path, runs: Path, capsys: Capture) -> None:
    talk = json.dumps(conversation(block(SEEN)))
    source = put(tmp_path / "talks.json", f'[{{"task_id": "../../a b\\u0000*[{"x" * 300}", "traj": {talk}}}]')
    (row,) = imported(capsys, source, runs)
    assert Path(row["log"]).parent == runs
    assert scored(row, *NONE) == 0


# -- what is refused --------------------------------------------------------------------------------------------------


def test_a_run_that_is_there_is_not_touched(talk: Path, runs: Path, tmp_path: Path, capsys: Capture) -> None:
    imported(capsys, talk, runs)
    before = {path: path.read_bytes() for path in runs.iterdir()}
    assert main(["import", str(talk), "--run-dir", str(runs)]) == 64
    assert "run 'run-0' exists already" in capsys.readouterr().err
    assert {path: path.read_bytes() for path in runs.iterdir()} == before


@pytest.mark.parametrize(
    "suffix", [".toollog.jsonl", ".report.txt", ".manifest.json", ".streams.jsonl", ".blobs"]
)
def test_no_file_of_another_run_is_written_over(talk: Path, runs: Path, suffix: str) -> None:
    path = put(runs / f"run-0{suffix}", "of another run")
    assert main(["import", str(talk), "--run-dir", str(runs)]) == 64
    assert [*runs.iterdir()] == [path]


def test_what_cannot_be_imported_leaves_nothing(talk: Path, tmp_path: Path, runs: Path) -> None:
    words = put(tmp_path / "words.txt", "no transcript")
    assert main(["import", str(words), "--run-dir", str(runs)]) == 65
    assert main(["import", str(tmp_path / "nowhere"), "--run-dir", str(runs)]) == 66
    assert main(["import", str(talk), "--run-dir", str(runs), "--format", "langsmith"]) == 65
    assert main(["import", str(talk), "--run-dir", str(runs), "--format", "nonsense"]) == 65
    assert main(["import", str(talk)]) == 64
    assert not runs.exists()


def test_a_folder_that_cannot_be_made_is_a_fault_that_says_so(
    talk: Path, tmp_path: Path, capsys: Capture
) -> None:
    assert main(["import", str(talk), "--run-dir", str(talk / "runs")]) == 70
    assert "cannot make the folder" in capsys.readouterr().err
