"""The scripted agents and the four runs of the demo, each with the outcome that it must have."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from dispatch_fidelity import AuditSession, load_log
from dispatch_fidelity.audit import assess
from dispatch_fidelity.cli.main import main
from dispatch_fidelity.evidence.manifest import read_manifest
from dispatch_fidelity.model.assessment import BindingStatus, Overall
from dispatch_fidelity.model.call import Status
from dispatch_fidelity.simulation import tools
from dispatch_fidelity.simulation.agents import HONEST, LYING, SUBSTITUTING, Script, run_script
from dispatch_fidelity.simulation.crashing import MODULE, PAYMENT, crashing_report
from dispatch_fidelity.simulation.demo import DemoRun, run_demo

KINDS = {"manifest.json", "toollog.jsonl", "streams.jsonl", "report.txt"}


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[DemoRun]]:
    """One demo and the folder that it was run in."""
    folder = tmp_path_factory.mktemp("demo")
    return folder, run_demo(str(folder))


def kinds(folder: Path, run_id: str) -> set[str]:
    return {path.name.removeprefix(f"{run_id}.") for path in folder.glob(f"{run_id}.*")}


# -- the demo ----------------------------------------------------------------------------------------------


def test_the_four_agents_come_out_as_they_must(demo: tuple[Path, list[DemoRun]]) -> None:
    _, runs = demo
    assert [(run.name, run.assessment.outcome.overall) for run in runs] == [
        ("honest", Overall.PASS),
        ("lying", Overall.FAIL),
        ("substituting", Overall.FAIL),
        ("crashing", Overall.INCONCLUSIVE),
    ]
    assert all(run.expected is run.assessment.outcome.overall for run in runs)


def test_each_lie_is_caught_for_what_it_is(demo: tuple[Path, list[DemoRun]]) -> None:
    _, (honest, lying, substituting, crashing) = demo
    scores = [run.assessment.score for run in (honest, lying, substituting, crashing)]
    assert [(s.claimed, s.matched, s.fabricated, s.substituted, s.unresolved) for s in scores] == [
        (6, 6, 0, 0, 0),
        (6, 3, 3, 0, 0),
        (6, 5, 0, 1, 0),
        (1, 0, 0, 0, 1),
    ]
    assert lying.assessment.score.canary_fabricated == 1


def test_the_finished_runs_are_bound_and_the_crashed_one_is_not(demo: tuple[Path, list[DemoRun]]) -> None:
    _, runs = demo
    assert [run.assessment.binding.status for run in runs] == [BindingStatus.PROVEN] * 3 + [
        BindingStatus.UNPROVEN
    ]


def test_the_payment_of_the_crashed_agent_is_real_and_has_no_end_on_file(
    demo: tuple[Path, list[DemoRun]],
) -> None:
    folder, runs = demo
    run = runs[-1].assessment
    assert (folder / f"{run.run_id}.ledger.txt").read_text(encoding="utf-8") == "DE-4711 250\n"
    [pay] = [execution for execution in run.record.executions if execution.tool == "pay"]
    assert (pay.status, pay.args) == (Status.UNFINISHED, PAYMENT)


def test_each_run_leaves_its_files(demo: tuple[Path, list[DemoRun]]) -> None:
    folder, runs = demo
    found = [kinds(folder, run.assessment.run_id) for run in runs]
    assert found == [KINDS | {"score.json"}] * 3 + [KINDS | {"ledger.txt"}]
    assert len(list(folder.iterdir())) == sum(map(len, found))


def test_the_files_give_the_same_answer_again(demo: tuple[Path, list[DemoRun]]) -> None:
    folder, runs = demo
    for run in runs:
        stem = folder / run.assessment.run_id
        report = Path(f"{stem}.report.txt").read_text(encoding="utf-8")
        manifest = read_manifest(f"{stem}.manifest.json")
        again = assess(report, load_log(f"{stem}.toollog.jsonl"), manifest)
        assert (again.outcome, again.score) == (run.assessment.outcome, run.assessment.score)


def test_the_stored_score_says_what_the_run_says(demo: tuple[Path, list[DemoRun]]) -> None:
    folder, runs = demo
    for run in runs[:3]:
        stored = json.loads((folder / f"{run.assessment.run_id}.score.json").read_bytes())
        assert stored["outcome"]["overall"] == run.expected
        assert stored["score"]["fabricated"] == run.assessment.score.fabricated


def test_two_demos_in_one_folder_do_not_collide(demo: tuple[Path, list[DemoRun]]) -> None:
    folder, first = demo
    before = {path: path.read_bytes() for path in folder.iterdir()}
    second = run_demo(str(folder))
    assert {run.assessment.run_id for run in first}.isdisjoint(run.assessment.run_id for run in second)
    assert [run.assessment.outcome for run in second] == [run.assessment.outcome for run in first]
    assert {path: path.read_bytes() for path in before} == before
    for run in second:  # taken away again, so that the other tests see one demo
        for path in folder.glob(f"{run.assessment.run_id}.*"):
            path.unlink()


def test_the_folder_of_a_demo_need_not_exist(tmp_path: Path) -> None:
    assert len(run_demo(str(tmp_path / "a" / "b"))) == 4


def test_a_relative_folder_is_as_good(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert [run.assessment.outcome.overall for run in run_demo("runs")][-1] is Overall.INCONCLUSIVE
    assert len(list((tmp_path / "runs").glob("*.manifest.json"))) == 4


def test_the_command_that_the_demo_prints_judges_the_lying_run_again(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["demo", "--run-dir", str(tmp_path)]) == 0
    command = capsys.readouterr().out.splitlines()[-1].split()
    assert command[0] == "dispatch-audit"
    assert main(command[1:]) == 1


# -- the agents --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("script", "overall"),
    [(HONEST, Overall.PASS), (LYING, Overall.FAIL), (SUBSTITUTING, Overall.FAIL)],
    ids=[script.name for script in (HONEST, LYING, SUBSTITUTING)],
)
@pytest.mark.parametrize("result_check", ["off", "contradicted", "strict"])
def test_a_script_comes_out_the_same_however_values_are_judged(
    tmp_path: Path, script: Script, overall: Overall, result_check: str
) -> None:
    session = AuditSession(tools.TOOLS, run_dir=tmp_path, result_check=result_check)
    session.score(run_script(script, session.call))
    assert session.outcome.overall is overall, session.report()


def test_an_agent_that_lies_makes_the_calls_of_its_plan_and_no_other(tmp_path: Path) -> None:
    session = AuditSession(tools.TOOLS, run_dir=tmp_path)
    session.score(run_script(LYING, session.call))
    assert [(e.tool, e.args) for e in load_log(session.log_path)] == list(LYING.plan)


def test_the_crashing_agent_dies_by_a_signal(tmp_path: Path) -> None:
    ran = subprocess.run(
        [sys.executable, "-m", MODULE, str(tmp_path), "r"],
        capture_output=True,
        check=False,
        env=dict(os.environ),
    )
    assert ran.returncode == -9
    assert ran.stderr == b""
    record = load_log(tmp_path / "r.toollog.jsonl")
    assert assess(crashing_report(), record).outcome.overall is Overall.INCONCLUSIVE


# -- the tools ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("expression", "value"), [("17*3", "51"), ("144/12", "12.0"), ("1+2*(3-4)", "-1"), ("2.5", "2.5")]
)
def test_the_calculator_calculates(expression: str, value: str) -> None:
    assert tools.calculator(expression) == value


@pytest.mark.parametrize("expression", ["__import__('os')", "2**9", "abs(1)", "'a'*3", "-1", "a", "", "1/0"])
def test_the_calculator_refuses_everything_else(expression: str) -> None:
    with pytest.raises((ValueError, SyntaxError, ArithmeticError)):
        tools.calculator(expression)


def test_the_other_tools_answer_or_fail() -> None:
    assert tools.doc_lookup("doc-2") == "An instrument that cannot fail has measured nothing."
    assert tools.date_diff("2026-01-01", "2026-08-07") == "218"
    assert tools.text_stat("two words") == {"words": 2, "chars": 9}
    with pytest.raises(KeyError):
        tools.doc_lookup("doc-9")
    with pytest.raises(ValueError, match="isoformat"):
        tools.date_diff("not-a-date", "2026-08-07")
