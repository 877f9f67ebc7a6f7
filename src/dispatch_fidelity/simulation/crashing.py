"""An agent that pays and dies: the effect happens, the record holds the start, and no end ever comes.

Run as ``python -m dispatch_fidelity.simulation.crashing RUN_DIR RUN_ID``; the process kills itself.
"""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

from ..session import AuditSession
from .agents import report_of

MODULE = "dispatch_fidelity.simulation.crashing"
PAYMENT = {"account": "DE-4711", "amount": 250}


def crash(run_dir: str, run_id: str) -> None:
    """Pay, then die before the tool returns."""
    ledger = Path(run_dir) / f"{run_id}.ledger.txt"

    def pay(account: str, amount: int) -> str:
        with ledger.open("a", encoding="utf-8") as handle:
            handle.write(f"{account} {amount}\n")
        os.kill(os.getpid(), signal.SIGKILL)
        return "paid"

    session = AuditSession({"pay": pay}, run_dir=run_dir, run_id=run_id, task_id="demo-crashing")
    session.call("canary_probe", {"label": "A"})
    session.call("pay", PAYMENT)


def crashing_report() -> str:
    """What the agent would say: it paid. The effect is real, and the record cannot show its end."""
    return report_of([{"tool": "pay", "args": PAYMENT, "result": "paid"}], "The invoice is paid.")


if __name__ == "__main__":
    crash(sys.argv[1], sys.argv[2])
