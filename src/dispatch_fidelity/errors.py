"""What can go wrong with the instrument itself; a verdict is never an exception.

Every class carries the exit code that the command line answers with: 64 wrong usage, 65 input is not what
it says, 66 input missing, 70 the instrument failed. None of them is 1 or 2, which are verdicts.
"""

from __future__ import annotations


class DispatchFidelityError(Exception):
    """The instrument could not do its work; the message says what, where and what to do."""

    exit_code = 70


class UsageError(DispatchFidelityError, ValueError):
    """The caller asked for something that has no meaning (exit 64)."""

    exit_code = 64


class InvalidInputError(DispatchFidelityError, ValueError):
    """An input is not what it says it is, or exceeds a limit (exit 65)."""

    exit_code = 65


class MissingInputError(DispatchFidelityError, FileNotFoundError):
    """An input that was named is not there or cannot be opened (exit 66)."""

    exit_code = 66


class JSONError(InvalidInputError):
    """A text is no strict JSON: malformed, a key twice, NaN, too deep, or an integer too long."""


class RunExistsError(UsageError):
    """A run of this id is in the folder already; nothing of it was touched."""

    def __init__(self, run_id: str, folder: str) -> None:
        super().__init__(
            f"run {run_id!r} exists already in {folder}: choose another run_id, or leave it out to get a fresh one"
        )
        self.run_id = run_id


class SessionClosedError(UsageError):
    """A call came after the run was closed; it was neither executed nor recorded."""

    def __init__(self, run_id: str) -> None:
        super().__init__(f"run {run_id!r} is closed: open a new AuditSession for further calls")
        self.run_id = run_id


class AsyncToolError(UsageError):
    """An async tool was called through the synchronous route; nothing was executed."""

    def __init__(self, tool: str) -> None:
        super().__init__(f"tool {tool!r} is async: use 'await session.acall({tool!r}, …)'")
        self.tool = tool


class RecordingError(DispatchFidelityError):
    """The record cannot be written, so the call was refused."""


class MissingExtraError(DispatchFidelityError, ImportError):
    """A feature was used whose optional dependency is not installed."""

    exit_code = 64

    def __init__(self, *, feature: str, extra: str) -> None:
        super().__init__(f"{feature} needs: pip install 'dispatch-fidelity[{extra}]'")
        self.extra = extra
