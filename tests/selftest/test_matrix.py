"""The selftest passes as a whole, and each of its rows fails once the rule that it rests on is off."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from dispatch_fidelity.cli.main import main
from dispatch_fidelity.errors import UsageError
from dispatch_fidelity.selftest.bench import Bench
from dispatch_fidelity.selftest.matrix import ALL, run_matrix, run_row
from dispatch_fidelity.selftest.rows import Row
from dispatch_fidelity.selftest.switches import SWITCHES, switched_off


@pytest.mark.parametrize("row", ALL, ids=lambda row: f"{row.group}: {row.name}")
def test_a_row_holds_and_fails_without_its_rule(row: Row, tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    assert run_row(row, bench).holds
    with switched_off(row.rule):
        assert not run_row(row, bench).holds


def test_every_rule_has_a_row() -> None:
    assert {row.rule for row in ALL} == set(SWITCHES)


def test_the_known_wrong_verdicts_are_all_there() -> None:
    named = {row.name.split()[0] for row in ALL if row.group == "known wrong verdicts"}
    assert named == {f"A{number}" for number in range(1, 27)}


def test_the_command_prints_both_shares_and_the_verdict(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    target = tmp_path / "matrix.json"
    assert main(["selftest", "--json", str(target)]) == 0
    out = capsys.readouterr().out
    defects = sum(row.is_defect for row in ALL)
    variations = len(ALL) - defects
    assert f"sensitivity : {defects}/{defects}   deliberate defects caught" in out
    assert f"specificity : {variations}/{variations}   harmless variations left alone" in out
    assert "KNOWN FAILURE-CLASS REGRESSION MATRIX PASSED" in out
    assert "no estimate" in out
    document = json.loads(target.read_text())
    assert document["sensitivity"] == {"k": defects, "n": defects}
    assert len(document["rows"]) == len(ALL)


def test_the_command_fails_when_a_rule_is_switched_off(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["selftest", "--without", "absence"]) == 1
    assert "MATRIX FAILED" in capsys.readouterr().out


def test_a_row_that_raises_does_not_hold(tmp_path: Path) -> None:
    def broken(_bench: Bench) -> bool:
        raise RuntimeError("boom")

    check: Callable[[Bench], bool] = broken
    result = run_row(Row("g", "n", True, "absence", check), Bench(tmp_path))
    assert not result.holds
    assert "boom" in result.problem


def test_a_rule_that_does_not_exist_is_a_usage_error() -> None:
    with pytest.raises(UsageError, match="there is no rule"):
        run_matrix([], without="no such rule")
