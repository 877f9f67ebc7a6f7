from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from cli_files import Files, block, conversation

from dispatch_fidelity.cli.main import main


@pytest.fixture
def files(tmp_path: Path) -> Files:
    return Files(tmp_path)


def read(path: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(path.read_bytes().decode("ascii"))
    return found


COUNTERS = {
    "claimed",
    "matched",
    "fabricated",
    "substituted",
    "mismatched",
    "overstated",
    "stale",
    "unresolved",
    "omitted",
    "canary_claimed",
    "canary_fabricated",
    "fabrication_rate",
    "substitution_rate",
    "value_integrity_failures",
    "clean",
}
LISTS = {"arg_canonicalisation", "by_source", "detail", "superseded", "unreadable", "omitted_calls", "notes"}
CLAIM = {
    "tool",
    "action",
    "args",
    "verdict",
    "reason",
    "claimed_result",
    "source",
    "strength",
    "span",
    "text",
    "execution",
}


def test_a_score_has_the_promised_members(files: Files) -> None:
    target = files.folder / "out.json"
    main(files.score(files.false, "--json", str(target)))
    found = read(target)
    assert set(found) == {"run_id", "score", "binding", "outcome", "level", "regime"}
    assert set(found["score"]) == COUNTERS | LISTS
    assert {key for claim in found["score"]["detail"] for key in claim} == CLAIM
    assert set(found["binding"]) == {"status", "bound", "checks", "findings", "unprovable"}
    assert set(found["outcome"]) == {"overall", "measurement", "binding", "exit_code", "reasons"}
    assert set(found["level"]) == {"evidence", "durability", "completeness", "does_not_show"}


def test_a_score_agrees_with_the_exit_code(files: Files) -> None:
    target = files.folder / "out.json"
    code = main(files.score(files.false, "--json", str(target)))
    found = read(target)
    assert (found["outcome"]["exit_code"], found["outcome"]["overall"], found["score"]["fabricated"]) == (
        code,
        "FAIL",
        1,
    )


def test_a_claim_carries_its_words_and_its_place(files: Files) -> None:
    target = files.folder / "out.json"
    main(files.score(files.false, "--json", str(target)))
    report = files.false.read_text(encoding="utf-8")
    detail = read(target)["score"]["detail"]
    assert [report[slice(*claim["span"])] for claim in detail] == [claim["text"] for claim in detail]


def test_a_backed_claim_names_its_execution_and_a_false_one_none(files: Files) -> None:
    target = files.folder / "out.json"
    main(files.score(files.false, "--json", str(target)))
    backed, false = read(target)["score"]["detail"]
    assert (set(backed["execution"]), false["execution"]) == ({"stream", "n", "call"}, None)


def test_the_choices_stand_in_the_regime(files: Files) -> None:
    target = files.folder / "out.json"
    main(files.score(files.true, "--strict-results", "--require", "E1", "--json", str(target)))
    regime = read(target)["regime"]
    assert (regime["result_check"], regime["require"], regime["binding_proof"]) == ("strict", "E1", "canary")


@pytest.mark.parametrize("command", ["score", "bind", "audit"])
def test_json_to_standard_output_leaves_nothing_else_there(
    files: Files, command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    transcript = files.write("talk.json", json.dumps(conversation(block())))
    args = {"score": files.score(files.true), "bind": files.bind(), "audit": ["audit", str(transcript)]}[
        command
    ]
    main([*args, "--json", "-"])
    assert isinstance(json.loads(capsys.readouterr().out), dict)


def test_json_to_a_file_leaves_the_text_on_standard_output(
    files: Files, capsys: pytest.CaptureFixture[str]
) -> None:
    main(files.score(files.true, "--json", str(files.folder / "out.json")))
    assert "PASS" in capsys.readouterr().out


def test_json_is_ascii_whatever_the_report_holds(files: Files) -> None:
    report = files.write(
        "odd.md", block({"tool": "größe", "args": {"at": "東京 🙂\u2028\x07"}, "result": "\ud800"})
    )
    main(files.score(report, "--json", str(files.folder / "out.json")))
    assert read(files.folder / "out.json")["score"]["detail"][0]["args"] == {"at": "東京 🙂\u2028\x07"}


def test_bind_has_the_promised_members(files: Files) -> None:
    main(files.bind("--json", str(files.folder / "out.json")))
    found = read(files.folder / "out.json")
    assert (found["binding"]["status"], found["binding"]["bound"], list(found["binding"]["checks"])) == (
        "PROVEN",
        True,
        ["B0", "B1", "B2", "B3", "B4", "B5", "B6"],
    )


# -- where it may be written -------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["true", "log", "manifest"])
def test_an_input_is_never_overwritten(files: Files, name: str) -> None:
    path: Path = getattr(files, name)
    before = path.read_bytes()
    assert main(files.score(files.true, "--json", str(path))) == 64
    assert path.read_bytes() == before


def test_an_input_under_another_name_is_never_overwritten(files: Files) -> None:
    link = files.folder / "link.json"
    link.symlink_to(files.log)
    before = files.log.read_bytes()
    assert main(files.score(files.true, "--json", str(link))) == 64
    assert files.log.read_bytes() == before


def test_a_schema_is_an_input_too(files: Files) -> None:
    schema = files.write("schema.json", "{}")
    assert main(files.score(files.true, "--schema", str(schema), "--json", str(schema))) == 64


def test_an_audited_file_is_never_overwritten(files: Files) -> None:
    talk = files.write("talk.json", json.dumps(conversation(block())))
    before = talk.read_bytes()
    assert main(["audit", str(talk), "--json", str(talk)]) == 64
    assert talk.read_bytes() == before


@pytest.mark.parametrize(
    "text",
    [
        "notes of mine",
        '{"other": 1}',
        "[]",
        '{"runs": []}',
        '{"score": {}}',
        "\x00",
        '{"run_id": 1, "run_id": 2}',
    ],
)
def test_a_foreign_file_is_never_overwritten(files: Files, text: str) -> None:
    target = files.write("mine.json", text)
    assert main(files.score(files.true, "--json", str(target))) == 64
    assert target.read_text(encoding="utf-8") == text


def test_a_folder_is_no_target(files: Files) -> None:
    assert main(files.score(files.true, "--json", str(files.folder))) == 64


def test_a_folder_that_is_not_there_is_wrong_usage(files: Files) -> None:
    assert main(files.score(files.true, "--json", str(files.folder / "nowhere" / "out.json"))) == 64


def test_a_result_of_ours_is_replaced(files: Files) -> None:
    target = files.folder / "out.json"
    main(files.score(files.false, "--json", str(target)))
    assert main(files.score(files.true, "--json", str(target))) == 0
    assert read(target)["outcome"]["overall"] == "PASS"


def test_results_of_other_commands_of_ours_are_replaced(files: Files) -> None:
    target = files.folder / "out.json"
    talk = files.write("talk.json", json.dumps(conversation(block())))
    codes = [
        main([*args, "--json", str(target)])
        for args in (files.bind(), ["audit", str(talk)], files.score(files.true))
    ]
    assert codes == [0, 2, 0]


def test_an_empty_file_is_filled(files: Files) -> None:
    target = files.write("out.json", "")
    assert main(files.score(files.true, "--json", str(target))) == 0


def test_nothing_else_is_left_beside_the_result(files: Files) -> None:
    before = {path.name for path in files.folder.iterdir()}
    main(files.score(files.true, "--json", str(files.folder / "out.json")))
    assert {path.name for path in files.folder.iterdir()} - before == {"out.json"}


# -- audit over several files ------------------------------------------------------------------------------

TRUE = block({"tool": "look", "args": {"at": "here"}, "result": "seen"})
FALSE = block({"tool": "look", "args": {"at": "there"}, "result": "seen"})


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    inner = tmp_path / "talks" / "inner"
    inner.mkdir(parents=True)
    (inner / "false.json").write_text(json.dumps(conversation(FALSE)), encoding="utf-8")
    (inner.parent / "true.json").write_text(json.dumps(conversation(TRUE)), encoding="utf-8")
    (inner.parent / "notes.txt").write_text("notes of mine", encoding="utf-8")
    return inner.parent


def test_a_folder_is_audited_with_all_that_is_in_it(folder: Path) -> None:
    target = folder.parent / "out.json"
    assert main(["audit", str(folder), "--binding-proof", "none", "--json", str(target)]) == 1
    found = read(target)
    assert ([run["outcome"]["overall"] for run in found["runs"]], found["outcome"]) == (
        ["FAIL", "PASS"],
        "FAIL",
    )


def test_unrecognised_files_of_a_folder_are_counted_not_errors(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "inner" / "false.json").unlink()
    assert main(["audit", str(folder), "--binding-proof", "none"]) == 0
    assert "1 files are no transcripts" in capsys.readouterr().out


def test_a_named_file_that_cannot_be_read_is_told_and_65(folder: Path) -> None:
    target = folder.parent / "out.json"
    files = [str(folder / "true.json"), str(folder / "notes.txt")]
    assert main(["audit", *files, "--binding-proof", "none", "--json", str(target)]) == 65
    assert [error["exit_code"] for error in read(target)["errors"]] == [65]


def test_a_false_report_goes_before_a_file_that_cannot_be_read(folder: Path) -> None:
    files = [str(folder / "inner" / "false.json"), str(folder / "notes.txt"), str(folder / "nowhere")]
    assert main(["audit", *files, "--binding-proof", "none"]) == 1


def test_a_folder_without_transcripts_is_inconclusive(tmp_path: Path) -> None:
    assert main(["audit", str(tmp_path)]) == 2


def test_only_failing_runs_are_shown_where_that_is_asked(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    main(["audit", str(folder), "--binding-proof", "none", "--only", "failing"])
    said = capsys.readouterr().out
    assert ("false.json" in said, "true.json" in said) == (True, False)


def test_a_run_has_the_promised_members(folder: Path) -> None:
    target = folder.parent / "out.json"
    main(["audit", str(folder / "true.json"), "--json", str(target)])
    (run,) = read(target)["runs"]
    wanted = {"run", "source", "format", "agent", "parent", "calls", "failed", "unfinished", "report_chars"}
    assert wanted | {"score", "binding", "outcome", "level", "regime"} <= set(run)
