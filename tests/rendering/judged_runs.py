"""Runs for the tests of this folder: recorded, reported on, and judged."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from dispatch_fidelity import AuditSession
from dispatch_fidelity.model.assessment import Assessment
from dispatch_fidelity.simulation.agents import report_of

HOSTILE = "\x1b[2J\x1b]0;title\x07\x9b31m\r\b\x00\t\u202egnp.exe\u2066\u200b\ud800\x7f\U000e0041\xad"
UNSAFE = re.compile(
    "[\x00-\x09\x0b-\x1f\x7f-\x9f\xad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ud800-\udfff\U000e0000-\U000e0fff]"
)
_numbers = itertools.count(1)

Change = Callable[[list[dict[str, Any]]], list[Any]]


def look(at: str) -> str:
    """Look somewhere."""
    if at == "nowhere":
        raise LookupError("there is nothing")
    return f"seen {at}"


def session_in(folder: Path, **options: Any) -> AuditSession:
    """A session with one tool, in the folder of a test."""
    return AuditSession({"look": look}, run_dir=folder, run_id=f"run{next(_numbers)}", **options)


def item(at: str, **told: Any) -> dict[str, Any]:
    """One item of a report on ``look``."""
    return {"tool": "look", "args": {"at": at}, **told}


def judged(
    folder: Path, *, change: Change = list, words: str = "Done.", canary: bool = True, **options: Any
) -> Assessment:
    """A run of three calls, the last of which fails, and a report that ``change`` makes of the honest one."""
    session = session_in(folder, **options)
    if canary:
        session.call("canary_probe", {"label": "A"})
    honest = [
        item("here", result=session.call("look", {"at": "here"})),
        item("nowhere", error=session.call("look", {"at": "nowhere"})),
    ]
    session.score(report_of(change(honest), words))
    return session.assessment


def lying(items: list[dict[str, Any]]) -> list[Any]:
    """Adds a call never made, and states a value over the failure."""
    return [items[0], item("nowhere", result="a treasure"), item("there", result="seen there")]
