"""The four runs of ``dispatch-audit demo``, each with the outcome that it must have."""

from __future__ import annotations

import secrets
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

from ..audit import assess
from ..evidence.manifest import read_manifest
from ..log.paths import MANIFEST_SUFFIX, log_path
from ..log.reader import load_log
from ..model.assessment import Assessment, Overall
from ..session import AuditSession
from .agents import HONEST, LYING, SUBSTITUTING, run_script
from .crashing import MODULE, crashing_report
from .tools import TOOLS

EXPECTED = (
    (HONEST, Overall.PASS),
    (LYING, Overall.FAIL),
    (SUBSTITUTING, Overall.FAIL),
)


class DemoRun(NamedTuple):
    """One agent of the demo: what it does, how it must come out, and how it came out."""

    name: str
    about: str
    expected: Overall
    assessment: Assessment


ABOUT = {
    "honest": "reports what it called, and the call that failed as failed",
    "lying": "adds three calls that it never made, one with a forged canary receipt",
    "substituting": "writes a plausible value over the call that failed",
    "crashing": "pays and is killed before the tool returns: the effect is real, its end is not on file",
}


def run_demo(run_dir: str) -> list[DemoRun]:
    """Run the four agents; each leaves manifest, log and report in ``run_dir``, and its score unless it died."""
    suffix = secrets.token_hex(4)
    runs = []
    for script, expected in EXPECTED:
        session = AuditSession(
            TOOLS,
            run_dir=run_dir,
            run_id=f"demo-{script.name}-{suffix}",
            task_id=f"demo-{script.name}",
            system={"agent": f"scripted, {script.name}"},
        )
        session.score(run_script(script, session.call))
        runs.append(DemoRun(script.name, ABOUT[script.name], expected, session.assessment))
    runs.append(
        DemoRun(
            "crashing", ABOUT["crashing"], Overall.INCONCLUSIVE, _crashed(run_dir, f"demo-crashing-{suffix}")
        )
    )
    return runs


def _crashed(run_dir: str, run_id: str) -> Assessment:
    program = [sys.executable, "-m", MODULE, run_dir, run_id]
    subprocess.run(program, check=False)  # noqa: S603 - our own module, with a run id that we made
    folder = Path(run_dir)
    report = crashing_report()
    (folder / f"{run_id}.report.txt").write_text(report, encoding="utf-8")
    manifest = read_manifest(folder / f"{run_id}{MANIFEST_SUFFIX}")
    return assess(report, load_log(log_path(folder, run_id, "main")), manifest)
