"""One row of the selftest: a known failure class, what has to come of it, and the rule that sees to it."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from .bench import Bench

Check = Callable[[Bench], bool]


class Row(NamedTuple):
    """A deliberate defect that must be caught, or a harmless variation that must be left alone."""

    group: str
    name: str
    is_defect: bool
    rule: str
    check: Check


class Rows:
    """Collects the rows of one group in the order in which they are written."""

    def __init__(self, group: str) -> None:
        self.group = group
        self.rows: list[Row] = []

    def caught(self, name: str, rule: str) -> Callable[[Check], Check]:
        """Decorator: the function returns True when the defect was caught."""
        return self._add(name, rule, is_defect=True)

    def quiet(self, name: str, rule: str) -> Callable[[Check], Check]:
        """Decorator: the function returns True when the variation was left alone."""
        return self._add(name, rule, is_defect=False)

    def _add(self, name: str, rule: str, *, is_defect: bool) -> Callable[[Check], Check]:
        def keep(check: Check) -> Check:
            self.rows.append(Row(self.group, name, is_defect, rule, check))
            return check

        return keep
