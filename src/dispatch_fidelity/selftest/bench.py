"""Where the rows of the selftest run: real recorded runs in a temporary folder, judged by the real code."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, NamedTuple

from ..audit import assess, choose
from ..evidence.manifest import read_manifest
from ..log.reader import load_log
from ..model.assessment import Assessment
from ..session import AuditSession
from ..simulation.agents import Item, items_of, report_of

Calls = Iterable[tuple[str, dict[str, Any]]]


class Run(NamedTuple):
    """A recorded run: its files, and the items with which an honest agent would report it."""

    manifest: Path
    log: Path
    items: list[Item]

    def judge(
        self, report: str | list[Item], *, manifest: Path | str | None = "own", **options: str
    ) -> Assessment:
        """The assessment of a report, or of a report that lists these items."""
        text = report if isinstance(report, str) else report_of(report)
        path = self.manifest if manifest == "own" else manifest
        sealed = read_manifest(path) if path is not None else None
        return assess(text, load_log(self.log), sealed, choices=choose(options, sealed))


class Bench:
    """Makes runs in a folder of its own."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._count = 0

    def fresh(self) -> Path:
        """A folder for one more run."""
        self._count += 1
        folder = self._folder / str(self._count)
        folder.mkdir()
        return folder

    def record(
        self, tools: dict[str, Callable[..., Any]], calls: Calls, *, canary: bool = True, run_id: str = "run"
    ) -> Run:
        """Record these calls, preceded by a canary call."""
        session = AuditSession(tools, run_dir=self.fresh(), run_id=run_id, with_canary=canary)
        plan = [*([("canary_probe", {"label": "A"})] if canary else []), *calls]
        items = items_of(plan, session.call)
        session.close()
        return Run(session.manifest_path, session.log_path, items)


def block(items: Any) -> str:
    """A fenced results block."""
    return f"```json\n{json.dumps({'results': items})}\n```\n"


def without_result(item: Item) -> Item:
    """An item that names the call only."""
    return {"tool": item["tool"], "args": item["args"]}
