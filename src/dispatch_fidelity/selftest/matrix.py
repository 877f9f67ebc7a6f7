"""Runs all rows: what share of the deliberate defects is caught, and of the harmless variations left alone."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from ..errors import DispatchFidelityError, MissingInputError
from ..model.frozen import Frozen
from . import classes, guards, known_faults, splices
from .bench import Bench
from .project import plain_git
from .rows import Row
from .switches import switched_off

ALL: tuple[Row, ...] = (
    *classes.ROWS.rows,
    *splices.SPLICES.rows,
    *splices.EXITS.rows,
    *known_faults.ROWS.rows,
)
GUARDS: tuple[Row, ...] = tuple(guards.GUARDS.rows)


class RowResult(Frozen, frozen=True):
    """How one row came out; ``problem`` is what was raised instead of an answer."""

    group: str
    name: str
    is_defect: bool
    rule: str
    holds: bool
    problem: str = ""


class Matrix(Frozen, frozen=True):
    """All rows of one run of the selftest."""

    rows: tuple[RowResult, ...]
    without: str = ""

    def count(self, *, is_defect: bool) -> tuple[int, int]:
        """How many rows of one kind hold, and how many there are."""
        kind = [row for row in self.rows if row.is_defect is is_defect]
        return sum(row.holds for row in kind), len(kind)

    @property
    def passed(self) -> bool:
        """Whether every row holds."""
        return all(row.holds for row in self.rows)

    def document(self, name: str = "selftest") -> dict[str, Any]:
        """The matrix as plain data, the verdict under ``name``."""
        caught, defects = self.count(is_defect=True)
        quiet, variations = self.count(is_defect=False)
        return {
            name: "passed" if self.passed else "failed",
            "without": self.without or None,
            "sensitivity": {"k": caught, "n": defects},
            "specificity": {"k": quiet, "n": variations},
            "rows": [
                {
                    "group": row.group,
                    "name": row.name,
                    "kind": "defect" if row.is_defect else "variation",
                    "rule": row.rule,
                    "holds": row.holds,
                    "problem": row.problem,
                }
                for row in self.rows
            ],
        }


def run_matrix(rows: Iterable[Row] = ALL, *, without: str | None = None) -> Matrix:
    """Run the rows, each on runs of its own; ``without`` switches one rule off for all of them."""
    with tempfile.TemporaryDirectory(prefix="dispatch-selftest-") as folder, switched_off(without):
        bench = Bench(Path(folder))
        return Matrix(tuple(run_row(row, bench) for row in rows), without or "")


def run_guards(*, without: str | None = None) -> Matrix:
    """Run the guards of ``gate`` and ``verify``, each in a git repository of its own.

    MissingInputError (66) where git is not installed.
    """
    if shutil.which("git") is None:
        raise MissingInputError("the guards need git, which is not installed")
    with plain_git():
        return run_matrix(GUARDS, without=without)


def run_row(row: Row, bench: Bench) -> RowResult:
    """Run one row; an exception is a row that does not hold."""
    try:
        holds, problem = row.check(bench), ""
    except Exception as trouble:  # whatever a switched-off rule breaks is an answer here
        holds, problem = False, f"{type(trouble).__name__}: {trouble}"
        if isinstance(trouble, DispatchFidelityError):
            problem = str(trouble)
    return RowResult(row.group, row.name, row.is_defect, row.rule, holds, problem)
