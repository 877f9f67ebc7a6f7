"""What the record says was done."""

from __future__ import annotations

from typing import Any

from .call import FAILED, OPEN, SUCCEEDED, Learned, Status
from .frozen import UNSET, Frozen


class Execution(Frozen, frozen=True):
    """One call as the record shows it; ``stream`` and ``call`` are its key, ``source_id`` only an attribute.

    ``step`` is equal for calls that were made together; ``at`` and ``until`` are times as the source writes them, empty
    where it has none; ``cut`` says that the result is shortened, ``joint`` that it is of several calls together.
    """

    tool: str
    args: Any
    status: Status
    learned: Learned = Learned.FLAG
    result: Any = UNSET
    error: str = ""
    message: str = ""
    shown: Any = UNSET
    stream: str = "main"
    n: int = 0
    call: str = ""
    end: int = -1
    agent: str = "agent"
    parent: str = ""
    attempt: int = 1
    source_id: str = ""
    step: int = -1
    cut: bool = False
    joint: bool = False
    at: str = ""
    until: str = ""

    @property
    def succeeded(self) -> bool:
        """Whether it ran to a result."""
        return self.status in SUCCEEDED

    @property
    def failed(self) -> bool:
        """Whether it ended in a failure, or never ran."""
        return self.status in FAILED

    @property
    def open(self) -> bool:
        """Whether its end is not in the record."""
        return self.status in OPEN
