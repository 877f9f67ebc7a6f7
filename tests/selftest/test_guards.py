"""The guards of gate and verify hold, each fails once its rule is off, and the command says so."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from dispatch_fidelity.cli.main import main
from dispatch_fidelity.selftest.bench import Bench
from dispatch_fidelity.selftest.matrix import GUARDS, run_row
from dispatch_fidelity.selftest.project import plain_git
from dispatch_fidelity.selftest.rows import Row
from dispatch_fidelity.selftest.switches import GUARD_SWITCHES, switched_off


@pytest.fixture(autouse=True)
def hermetic() -> Iterator[None]:
    with plain_git():
        yield


@pytest.mark.parametrize("row", GUARDS, ids=lambda row: row.name)
def test_a_guard_holds_and_fails_without_its_rule(row: Row, tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    result = run_row(row, bench)
    assert result.holds, result.problem
    with switched_off(row.rule):
        assert not run_row(row, bench).holds


def test_every_rule_of_the_guards_has_one() -> None:
    assert {row.rule for row in GUARDS} == set(GUARD_SWITCHES)


def test_every_guard_that_was_promised_is_there() -> None:
    names = " | ".join(row.name for row in GUARDS)
    for words in (
        "nothing recorded",
        "undeclared suppression",
        "clean path",
        "edit after recording",
        "broken anchor, not laundered by a re-run",
        "stale declaration",
        "failing run",
        "edited raw output",
        "prints the text and exits non-zero",
        "untracked content changed",
        "anchor edited with the change",
        "marker in a string",
        "record of another tree copied in",
        "interrupted run",
        "masked command",
    ):
        assert words in names


def test_the_command_says_that_all_guards_hold(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    target = tmp_path / "selftest.json"
    assert main(["selftest", "--with-evidence", "--json", str(target)]) == 0
    assert capsys.readouterr().out.rstrip().endswith("ALL GUARDS HOLD")
    document = json.loads(target.read_text())
    assert document["selftest"] == "passed"
    assert document["guards"]["guards"] == "passed"
    assert len(document["guards"]["rows"]) == len(GUARDS)


def test_the_command_fails_when_a_rule_of_the_guards_is_off(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["selftest", "--with-evidence", "--without", "failed runs"]) == 1
    out = capsys.readouterr().out
    assert "ALL GUARDS HOLD" not in out
    assert "1 OF" in out


def test_a_rule_of_the_guards_needs_the_guards(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["selftest", "--without", "failed runs"]) == 64


def test_without_git_the_guards_say_what_is_missing(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert main(["selftest", "--with-evidence"]) == 66
    assert "git" in capsys.readouterr().err
