"""Runs under a real limit of file size; started by test_disk_trouble.

``python limited_runs.py FOLDER POLICY FIRST LAST STEP`` forks one child per limit and prints one JSON line each.
"""

from __future__ import annotations

import json
import os
import resource
import sys
from pathlib import Path
from typing import Any

from dispatch_fidelity.errors import RecordingError
from dispatch_fidelity.session import AuditSession

CALLS = 6


def answer(session: AuditSession, amount: int) -> str:
    try:
        return session.call("pay", {"amount": amount})
    except RecordingError:
        return "refused"


def run(folder: Path, policy: str, limit: int) -> dict[str, Any]:
    """A run that pays until no file may grow beyond ``limit`` bytes, and what its caller saw."""
    effects: list[int] = []

    def pay(amount: int) -> str:
        effects.append(amount)
        return f"paid {amount}"

    session = AuditSession({"pay": pay}, run_dir=folder, run_id=f"limit-{limit}", on_record_failure=policy)
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, resource.RLIM_INFINITY))
    answers = [answer(session, amount) for amount in range(CALLS)]
    session.close()
    resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    return {"limit": limit, "effects": effects, "answers": answers}


def reported(folder: Path, policy: str, limit: int) -> str:
    """The line that a child process prints of its run."""
    mine, theirs = os.pipe()
    child = os.fork()
    if child == 0:
        code = 70
        try:
            os.write(theirs, json.dumps(run(folder, policy, limit)).encode())
            code = 0
        finally:
            os._exit(code)
    os.close(theirs)
    _, status = os.waitpid(child, 0)
    line = os.read(mine, 65_536).decode()
    os.close(mine)
    if status:
        raise SystemExit(f"the run with limit {limit} ended with {status}")
    return line


if __name__ == "__main__":
    chosen, bounds = sys.argv[2], [int(word) for word in sys.argv[3:]]
    for size in range(*bounds):
        sys.stdout.write(reported(Path(sys.argv[1]), chosen, size) + "\n")
