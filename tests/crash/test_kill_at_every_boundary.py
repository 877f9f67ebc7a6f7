"""A run that pays is killed at each boundary at which it changes the disk; what is left never lies."""

from __future__ import annotations

import contextlib
import io
import json
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from dispatch_fidelity.cli.main import main
from dispatch_fidelity.simulation.agents import report_of

PROGRAM = Path(__file__).parent / "killed_runs.py"


class Remains(NamedTuple):
    """What a killed run left, and what ``dispatch-audit score`` says of it."""

    run_id: str
    style: str
    moment: str
    call: str
    killed: bool
    effects: int
    starts: int
    is_whole: bool
    has_inputs: bool
    exit_code: int
    verdicts: tuple[str, ...]


def complete_lines(path: Path) -> list[dict[str, Any]]:
    """The events of a stream whose line feed is on disk."""
    if not path.exists():
        return []
    return [json.loads(line) for line in path.read_bytes().split(b"\n")[:-1]]


def examine(folder: Path, found: dict[str, Any]) -> Remains:
    run_id = found["run_id"]
    manifest, log = folder / f"{run_id}.manifest.json", folder / f"{run_id}.toollog.jsonl"
    ledger = folder / f"{run_id}.ledger.txt"
    paid_out = ledger.read_bytes() if ledger.exists() else b""
    effects = paid_out.count(b"\n") + (paid_out[-1:] not in (b"", b"\n"))
    streams = [log, *folder.glob(f"{run_id}+*.toollog.jsonl")]
    events = [event for stream in streams for event in complete_lines(stream)]
    paid = [
        {"tool": "pay", "args": {"account": "DE-4711", "amount": n}, "result": f"paid {n}"}
        for n in range(1, effects + 1)
    ]
    claims, result = folder / f"{run_id}.claims.md", folder / f"{run_id}.result.json"
    claims.write_text(report_of(paid))
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        options = {"--claims": claims, "--log": log, "--manifest": manifest, "--json": result}
        code = main(["score", *(str(word) for option in options.items() for word in option)])
    document = json.loads(result.read_bytes()) if result.exists() else {"score": {"detail": []}}
    return Remains(
        run_id,
        found["style"],
        found["moment"],
        found["call"],
        found["killed"],
        effects,
        sum(event["type"] == "call.started" and event["tool"] == "pay" for event in events),
        sum(event["type"] == "close" for event in events) == len(streams) > 0,
        manifest.exists() and log.exists(),
        code,
        tuple(claim["verdict"] for claim in document["score"]["detail"]),
    )


@pytest.fixture(scope="module")
def remains(tmp_path_factory: pytest.TempPathFactory) -> list[Remains]:
    folder = tmp_path_factory.mktemp("killed")
    done = subprocess.run([sys.executable, PROGRAM, folder], capture_output=True, text=True, check=True)
    found = [json.loads(line) for line in done.stdout.splitlines()]
    assert [item for item in found if item["code"]] == []
    return [examine(folder, item) for item in found]


@pytest.fixture(scope="module")
def killed(remains: list[Remains]) -> list[Remains]:
    return [item for item in remains if item.killed]


def test_runs_are_killed_at_hundreds_of_boundaries_of_every_kind(killed: list[Remains]) -> None:
    assert len(killed) >= 300
    assert min(Counter(item.style for item in killed).values()) >= 50
    assert {(item.call, item.moment) for item in killed} == {
        *(
            (call, when)
            for call in ("open", "write", "fsync", "fdatasync", "link")
            for when in ("before", "after")
        ),
        *(("replace", when) for when in ("before", "after")),
        ("write", "half"),
    }


@pytest.mark.fault("A1")
@pytest.mark.fault("B7")
def test_no_effect_is_without_a_durable_start(killed: list[Remains]) -> None:
    assert [item for item in killed if item.effects > item.starts] == []
    assert any(item.effects for item in killed)


@pytest.mark.fault("A2")
def test_a_run_without_its_close_record_never_passes_and_never_fails(killed: list[Remains]) -> None:
    cut = [item for item in killed if not item.is_whole]
    assert {item.exit_code for item in cut if item.has_inputs} == {2}
    assert {item.exit_code for item in cut if not item.has_inputs} == {66}


def test_no_effect_that_happened_is_called_fabricated(killed: list[Remains]) -> None:
    verdicts = Counter(verdict for item in killed for verdict in item.verdicts)
    assert verdicts.keys() <= {"MATCHED", "UNRESOLVED"}
    assert verdicts["MATCHED"]
    assert verdicts["UNRESOLVED"]


def test_a_run_killed_after_its_close_record_is_judged_like_one_that_ended(remains: list[Remains]) -> None:
    whole = [item for item in remains if item.is_whole and item.style != "worker"]
    assert {item.exit_code for item in whole} == {0}
    assert any(item.killed for item in whole)
    assert sum(not item.killed for item in remains) == 9


def test_the_death_of_a_worker_keeps_a_run_whose_parent_closed_it_from_passing(killed: list[Remains]) -> None:
    cut = [item for item in killed if item.style == "worker" and not item.is_whole and item.starts]
    assert {item.exit_code for item in cut} == {2}
