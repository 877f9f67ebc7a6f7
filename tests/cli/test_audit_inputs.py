"""What audit and import read: files, folders, patterns, standard input, sessions of coding agents."""

from __future__ import annotations

import io
import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from dispatch_fidelity.cli.main import main

CALL = {"id": "c1", "type": "function", "function": {"name": "get", "arguments": '{"a": 1}'}}
ITEM = {"tool": "get", "args": {"a": 1}, "result": "9 degrees"}


def report(*items: dict[str, Any]) -> str:
    return f"```json\n{json.dumps({'results': items})}\n```"


def chat(text: str) -> list[dict[str, Any]]:
    return [
        {"role": "user", "content": "weather?"},
        {"role": "assistant", "content": None, "tool_calls": [CALL]},
        {"role": "tool", "tool_call_id": "c1", "content": "9 degrees"},
        {"role": "assistant", "content": text},
    ]


HONEST, LYING = chat(report(ITEM)), chat(report(ITEM, {**ITEM, "args": {"a": 2}}))


def put(path: Path, value: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(value if isinstance(value, str) else json.dumps(value), encoding="utf-8")
    return path


def audited(capsys: pytest.CaptureFixture[str], *args: str) -> tuple[int, dict[str, Any]]:
    code = main(["audit", *args, "--json", "-"])
    return code, json.loads(capsys.readouterr().out)


def test_a_folder_is_searched_to_any_depth_in_the_order_of_names(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    put(tmp_path / "b" / "deep" / "2.json", HONEST)
    put(tmp_path / "a.json", LYING)
    put(tmp_path / "notes.txt", "words")
    put(tmp_path / ".git" / "c.json", LYING)
    code, found = audited(capsys, str(tmp_path))
    assert code == 1
    assert [Path(run["source"]).name for run in found["runs"]] == ["a.json", "2.json"]


def test_a_pattern_names_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    put(tmp_path / "1.json", HONEST)
    put(tmp_path / "2.json", HONEST)
    put(tmp_path / "3.txt", HONEST)
    code, found = audited(capsys, str(tmp_path / "*.json"))
    assert (code, len(found["runs"])) == (2, 2)
    assert main(["audit", str(tmp_path / "*.none")]) == 66


def test_standard_input_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(json.dumps(LYING).encode())))
    code, found = audited(capsys, "-")
    assert (code, found["outcome"]) == (1, "FAIL")


def test_an_import_passes_only_where_an_unproven_binding_is_accepted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = str(put(tmp_path / "a.json", HONEST))
    assert audited(capsys, path)[0] == 2
    code, found = audited(capsys, path, "--binding-proof", "none")
    assert (code, found["runs"][0]["regime"]["binding_proof"]) == (0, "none")


def test_each_run_is_a_line_of_json_where_that_is_asked_for(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    put(tmp_path / "in" / "a.json", HONEST)
    put(tmp_path / "in" / "b.json", LYING)
    target = tmp_path / "runs.jsonl"
    for _ in range(2):  # the second time over what the first wrote
        assert main(["audit", str(tmp_path / "in"), "--jsonl", str(target)]) == 1
        lines = [json.loads(line) for line in target.read_text().splitlines()]
        assert [line["outcome"]["overall"] for line in lines] == ["INCONCLUSIVE", "FAIL"]
    capsys.readouterr()
    assert main(["audit", str(tmp_path / "in"), "--jsonl", "-"]) == 1
    assert len(capsys.readouterr().out.splitlines()) == 2
    foreign = put(tmp_path / "foreign.txt", "mine")
    assert main(["audit", str(tmp_path / "in"), "--jsonl", str(foreign)]) == 64
    assert foreign.read_text() == "mine"


@pytest.mark.parametrize(
    "args",
    [
        [],
        ["--last", "2", "x.json"],
        ["--since", "2h", "x.json"],
        ["x.json", "--json", "-", "--jsonl", "-"],
        ["--claude", "--since", "soon"],
    ],
)
def test_what_has_no_meaning_is_wrong_usage(
    args: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    put(tmp_path / "x.json", HONEST)
    assert main(["audit", *args]) == 64


def line(kind: str, content: Any, uuid: str) -> dict[str, Any]:
    message = {"role": kind, "content": content, "id": uuid}
    return {
        "type": kind,
        "uuid": uuid,
        "sessionId": "s",
        "timestamp": "2026-11-30T08:00:00Z",
        "message": message,
    }


def test_the_newest_session_of_the_folder_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    work = tmp_path / "work"
    work.mkdir()
    monkeypatch.chdir(work)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("CLAUDE_CONFIG_DIR", raising=False)
    assert main(["audit", "--claude"]) == 66
    home = tmp_path / ".claude" / "projects" / str(work).replace("/", "-").replace("_", "-")
    words = [line("user", "hello", "u1"), line("assistant", [{"type": "text", "text": "Hi."}], "u2")]
    for age, name in enumerate(("new", "old", "older")):
        path = put(home / f"{name}.jsonl", "\n".join(map(json.dumps, words)) + "\n")
        os.utime(path, (1_900_000_000 - 1000 * age,) * 2)
    capsys.readouterr()

    def names(*args: str) -> list[str]:
        return [Path(run["source"]).stem for run in audited(capsys, *args)[1]["runs"]]

    assert names("--claude") == ["new"]
    assert names("--claude", "--last", "2") == ["new", "old"]
    assert names("--claude", "--since", "2020-01-01") == ["new", "old", "older"]
    assert main(["audit", "--claude", "--since", "2099-01-01"]) == 66


def test_a_session_is_read_with_its_sub_agents_and_they_only_once(
    shared: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _, found = audited(capsys, str(shared / "transcripts" / "claude_code" / "one_subagent"))
    assert [(run["calls"], bool(run["parent"])) for run in found["runs"]] == [(1, False), (24, True)]


def test_side_files_are_refused_alone_and_counted_in_a_folder(
    shared: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = shared / "transcripts" / "tau_bench"
    assert main(["audit", str(folder / "agentrx_tau_ground_truth.json")]) == 65
    assert "labels" in capsys.readouterr().err
    main(["audit", str(folder)])
    assert "labels of tau-bench runs" in capsys.readouterr().out


def test_a_report_can_be_put_beside_a_capture(
    shared: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    capture = shared / "transcripts" / "mcp" / "stdio_capture.jsonl"
    claims = put(tmp_path / "report.md", report({"tool": "no_such_tool", "args": {}}))
    code, found = audited(capsys, str(capture), "--claims", str(claims))
    assert code == 2
    assert found["runs"][0]["score"]["unresolved"] == 1
    assert main(
        [
            "audit",
            str(shared / "transcripts" / "tau_bench" / "gpt-4o-airline_subset.json"),
            "--claims",
            str(claims),
        ]
    )


def test_no_run_of_the_benchmarks_fails(shared: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = shared / "transcripts"
    code, found = audited(capsys, str(folder / "tau_bench"), str(folder / "tau2_bench"))
    assert code == 2
    assert sum(run["failed"] for run in found["runs"]) == 35 + 9 + 3


def test_an_imported_run_is_read_by_score(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = put(tmp_path / "a.json", LYING)
    folder = tmp_path / "runs"
    assert main(["import", str(source), "--run-dir", str(folder), "--json", "-"]) == 0
    (run,) = json.loads(capsys.readouterr().out)["imported"]
    assert (run["calls"], run["completeness"]) == (1, "closed")
    assert main(["score", "--claims", run["report"], "--log", run["log"]]) == 1
    assert "E0" in capsys.readouterr().out
    assert main(["import", str(source), "--run-dir", str(folder)]) == 64
    assert main(["import", str(tmp_path / "none"), "--run-dir", str(folder)]) == 66
    assert main(["import", str(put(tmp_path / "x.txt", "words")), "--run-dir", str(folder)]) == 65
