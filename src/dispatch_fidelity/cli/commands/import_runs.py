"""Write a foreign transcript as run folders of our own: a log marked as imported, and the report, for each agent.

Every other command reads them ('dispatch-audit score --log … --claims …'). The level stays E0: the log shows what the
transcript held, and nothing shows where that came from.

Exit codes: 0 done; 65 the file is no transcript, 66 it is not there, 64 a run of this id is there already.
"""

from __future__ import annotations

import hashlib
import re
import time
from argparse import ArgumentParser, Namespace
from pathlib import Path

from ...audit import read_blob
from ...log.importing import alone, write_import
from ...log.reader import open_input
from ...rendering.text import clean
from ...transcripts.registry import read_transcript
from .. import console
from ..exits import Exit

_NOT_IN_A_RUN_ID = re.compile(r"[^A-Za-z0-9._-]+")


def add_arguments(parser: ArgumentParser) -> None:
    """The options of ``import``."""
    parser.add_argument("file", metavar="FILE", help="a transcript")
    parser.add_argument("--run-dir", required=True, metavar="DIR", help="where the runs are written")
    parser.add_argument("--format", help="the format, where it is not recognised")
    parser.add_argument("--json", metavar="FILE", help="write the list of runs as JSON; - is standard output")


def run(args: Namespace) -> int:
    """Import every run of one file."""
    console.check_target(args.json, [args.file])
    path, folder = Path(args.file), Path(args.run_dir)
    runs = read_transcript(path, args.format)
    digest = _digest(path)
    written = []
    names: set[str] = set()
    for run in map(alone, runs):
        run_id = _run_id(run.record.run_id, run.agent if run.parent else "", names)
        log, report = write_import(
            run, folder, run_id, sha256=digest, now=time.time_ns() // 1000, read_blob=read_blob
        )
        written.append(
            {
                "run_id": run_id,
                "log": str(log),
                "report": str(report),
                "agent": run.agent,
                "calls": len(run.record.executions),
                "completeness": str(run.record.completeness),
            }
        )
        if not console.wants_only_json(args.json):
            console.say(
                f"{run_id}: {len(run.record.executions)} calls, {run.record.completeness}: {clean(str(log))}"
            )
    console.write_json(args.json, {"imported": written, "source": args.file, "sha256": digest})
    return Exit.PASS


def _run_id(name: str, agent: str, taken: set[str]) -> str:
    """An id for a file name, no two alike; it ends with the agent where that is a helper."""
    whole = name if not agent or name == agent or name.endswith(f".{agent}") else f"{name}.{agent}"
    plain = _NOT_IN_A_RUN_ID.sub("-", whole).strip("-._")[:100] or "run"
    found, number = plain, 1
    while found in taken:
        number += 1
        found = f"{plain}-{number}"
    taken.add(found)
    return found


def _digest(path: Path) -> str:
    digest = hashlib.sha256()
    with open_input(path) as handle:
        while block := handle.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()
