"""What a report says of checks, against records of gate: contradicted, open, or backed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from dispatch_fidelity.cli.main import main
from dispatch_fidelity.discipline.gate import record_run
from dispatch_fidelity.selftest.project import Project, plain_git

PASS = "All tests pass.\n"


@pytest.fixture
def project(tmp_path: Path) -> Project:
    with plain_git():
        return Project(tmp_path)


def judged(
    project: Project, report: str, *options: str, capsys: pytest.CaptureFixture[str]
) -> tuple[int, list[str]]:
    path = project.folder.parent / f"{project.folder.name}.report.md"
    path.write_text(report, encoding="utf-8")
    records = str(project.folder / ".verify")
    with plain_git():
        code = main(["score", "--claims", str(path), "--gate-records", records, "--json", "-", *options])
    found = json.loads(capsys.readouterr().out)
    return code, [claim["verdict"] for claim in found["score"]["detail"]]


def gate(project: Project, script: str = "test -f code.py && echo 3 passed", label: str = "tests") -> None:
    with plain_git():
        record_run(["sh", "-c", script], label, project.folder, quiet=True)


def test_a_pass_on_these_files_backs_the_claim(project: Project, capsys: pytest.CaptureFixture[str]) -> None:
    gate(project)
    assert judged(project, PASS, capsys=capsys) == (0, ["MATCHED"])


def test_a_failure_on_these_files_contradicts_it(
    project: Project, capsys: pytest.CaptureFixture[str]
) -> None:
    gate(project, "echo 1 failed; exit 1")
    assert judged(project, PASS, capsys=capsys) == (1, ["SUBSTITUTED"])


def test_a_change_of_code_since_makes_it_stale(project: Project, capsys: pytest.CaptureFixture[str]) -> None:
    gate(project)
    project.write("code.py", "import sys\n")
    assert judged(project, PASS, capsys=capsys) == (1, ["STALE"])


def test_a_change_of_prose_since_does_not(project: Project, capsys: pytest.CaptureFixture[str]) -> None:
    gate(project)
    project.write("README.md", "# new words\n")
    assert judged(project, PASS, capsys=capsys) == (0, ["MATCHED"])


def test_a_check_that_was_not_recorded_accuses_nobody(
    project: Project, capsys: pytest.CaptureFixture[str]
) -> None:
    gate(project, label="lint")
    assert judged(project, PASS, capsys=capsys) == (2, ["UNRESOLVED"])


def test_a_masked_pass_backs_nothing(project: Project, capsys: pytest.CaptureFixture[str]) -> None:
    gate(project, "sh run_tests.sh || true")
    assert judged(project, PASS, capsys=capsys) == (2, ["UNRESOLVED"])


def test_a_masked_failure_is_one_all_the_same(project: Project, capsys: pytest.CaptureFixture[str]) -> None:
    gate(project, "sh run_tests.sh | grep passed")
    assert judged(project, PASS, capsys=capsys) == (1, ["SUBSTITUTED"])


def test_an_interrupted_run_backs_nothing(project: Project, capsys: pytest.CaptureFixture[str]) -> None:
    with plain_git():
        project.killed_gate()
    assert judged(project, PASS, capsys=capsys) == (2, ["UNRESOLVED"])


def test_an_edited_output_backs_nothing(project: Project, capsys: pytest.CaptureFixture[str]) -> None:
    gate(project)
    (project.folder / ".verify" / "tests" / "0001.output").write_text("9 passed\n", encoding="ascii")
    assert judged(project, PASS, capsys=capsys) == (2, ["UNRESOLVED"])


def test_a_failure_of_several_checks_in_one_contradicts_none_of_them(
    project: Project, capsys: pytest.CaptureFixture[str]
) -> None:
    gate(project, "ruff check . && mypy . && exit 1; exit 1", "quality")
    assert judged(project, "Lint is clean.\n", capsys=capsys) == (2, ["UNRESOLVED"])


def test_a_later_pass_supersedes_a_failure(project: Project, capsys: pytest.CaptureFixture[str]) -> None:
    gate(project, "exit 1")
    gate(project)
    assert judged(project, PASS, capsys=capsys) == (0, ["MATCHED"])


def test_a_failure_told_as_one_is_backed(project: Project, capsys: pytest.CaptureFixture[str]) -> None:
    gate(project, "echo 2 failed; exit 1")
    assert judged(project, "2 tests fail.\n", capsys=capsys) == (0, ["MATCHED"])


def test_an_invented_failure_is_false_where_values_are_judged(
    project: Project, capsys: pytest.CaptureFixture[str]
) -> None:
    gate(project)
    report = "The tests fail.\n"
    assert judged(project, report, capsys=capsys) == (0, ["MATCHED"])
    assert judged(project, report, "--results", "contradicted", capsys=capsys) == (1, ["RESULT_MISMATCH"])


def test_another_count_is_false_where_values_are_judged(
    project: Project, capsys: pytest.CaptureFixture[str]
) -> None:
    gate(project)
    assert judged(project, "All 3 tests pass.\n", "--results", "contradicted", capsys=capsys) == (
        0,
        ["MATCHED"],
    )
    assert judged(project, "All 33 tests pass.\n", "--results", "contradicted", capsys=capsys) == (
        1,
        ["RESULT_MISMATCH"],
    )


def test_a_report_without_such_a_claim_measures_nothing(
    project: Project, capsys: pytest.CaptureFixture[str]
) -> None:
    gate(project)
    assert judged(project, "I will run the tests tomorrow.\n", capsys=capsys) == (2, [])


def test_the_case_is_shown(project: Project, capsys: pytest.CaptureFixture[str]) -> None:
    gate(project, "exit 1")
    path = project.folder.parent / "report.md"
    path.write_text(PASS, encoding="utf-8")
    with plain_git():
        assert main(["score", "--claims", str(path), "--gate-records", str(project.folder)]) == 1
    out = capsys.readouterr().out
    assert "SUBSTITUTED" in out
    assert "gate record tests 1" in out
    assert "All tests pass" in out


def test_a_folder_without_records_is_missing_input(
    project: Project, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    report = tmp_path / "report.md"
    report.write_text(PASS, encoding="utf-8")
    assert main(["score", "--claims", str(report), "--gate-records", str(tmp_path / "none")]) == 66
    assert main(["score", "--claims", str(report)]) == 64
