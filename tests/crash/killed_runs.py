"""Runs that pay and are killed at one write boundary each; started by test_kill_at_every_boundary.

``python killed_runs.py FOLDER`` forks one child per boundary from a warm parent and prints one JSON line each.
"""

from __future__ import annotations

import json
import os
import pathlib
import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from dispatch_fidelity.jsonio import encode
from dispatch_fidelity.log import recorder
from dispatch_fidelity.session import AuditSession

PAYMENTS = 5
CALLS = ("open", "write", "fsync", "fdatasync", "link", "replace")


class Boundaries:
    """Counts the calls that change the disk, and kills this process at one of them."""

    def __init__(self, moment: str, at: int) -> None:
        self.moment = moment
        self.at = at
        self.passed = 0

    def patch(self) -> None:
        for name in CALLS:
            setattr(os, name, self._watched(name, getattr(os, name)))
        recorder._write = os.write
        accessor = getattr(pathlib, "_NormalAccessor", None)  # Python 3.10: pathlib has its own name for it
        if accessor is not None:
            accessor.replace = staticmethod(os.replace)

    def _watched(self, name: str, call: Callable[..., Any]) -> Callable[..., Any]:
        def watched(*args: Any, **kwargs: Any) -> Any:
            counts = self.moment != "half" or name == "write"
            here = counts and self.passed == self.at
            self.passed += counts
            if here and self.moment == "before":
                die(name)
            if here and self.moment == "half":
                call(args[0], args[1][: len(args[1]) // 2])
                die(name)
            value = call(*args, **kwargs)
            if here:
                die(name)
            return value

        return watched


def die(name: str) -> None:
    """Leave the name of the boundary where the parent finds it, and be gone."""
    original_write(TOLD, name.encode())
    os.kill(os.getpid(), signal.SIGKILL)


original_write = os.write
TOLD = -1


def run(folder: Path, run_id: str, style: str, boundaries: Boundaries) -> None:
    """A run with a canary, payments and one large result; in style ``worker`` a forked process pays."""

    def pay(account: str, amount: int) -> str:
        ledger = os.open(folder / f"{run_id}.ledger.txt", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        os.write(ledger, b"%s %d\n" % (account.encode(), amount))
        os.close(ledger)
        return f"paid {amount}"

    def statement(lines: int) -> str:
        return "DE-4711 paid\n" * lines

    if style != "worker":
        boundaries.patch()
    session = AuditSession(
        {"pay": pay, "statement": statement},
        run_dir=folder,
        run_id=run_id,
        durability={"pay": "power", "statement": "power"} if style == "power" else "process",
    )

    def work() -> None:
        for number in range(1, PAYMENTS + 1):
            session.call("pay", {"account": "DE-4711", "amount": number})
        session.call("statement", {"lines": 2_000})

    session.call("canary_probe", {"label": "A"})
    if style == "worker":
        child = os.fork()
        if child == 0:
            boundaries.patch()
            work()
            session.close()
            os._exit(0)
        _, status = os.waitpid(child, 0)
        session.close()
        if os.WIFSIGNALED(status):
            os.kill(os.getpid(), signal.SIGKILL)
        os._exit(os.waitstatus_to_exitcode(status))
    work()
    session.close()


def killed_at(folder: Path, style: str, moment: str, at: int) -> dict[str, Any]:
    """One run in a child; ``killed`` is false when it had no such boundary and ended by itself."""
    global TOLD
    heard, TOLD = os.pipe()
    run_id = f"{style}-{moment}-{at}"
    child = os.fork()
    if child == 0:
        code = 70
        try:
            run(folder, run_id, style, Boundaries(moment, at))
            code = 0
        finally:
            os._exit(code)
    os.close(TOLD)
    _, status = os.waitpid(child, 0)
    told = os.read(heard, 100).decode()
    os.close(heard)
    killed = os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL
    return {
        "run_id": run_id,
        "style": style,
        "moment": moment,
        "call": told,
        "killed": killed,
        "code": 0 if killed else os.waitstatus_to_exitcode(status),
    }


def all_boundaries(folder: Path, style: str, moment: str) -> Iterator[dict[str, Any]]:
    at = 0
    while True:
        found = killed_at(folder, style, moment, at)
        yield found
        if not found["killed"]:
            return
        at += 1


if __name__ == "__main__":
    encode({"warm": "é"})
    for style in ("process", "power", "worker"):
        for moment in ("before", "half", "after"):
            for found in all_boundaries(Path(sys.argv[1]), style, moment):
                sys.stdout.write(json.dumps(found) + "\n")
