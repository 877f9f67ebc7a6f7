"""Exit codes, which are a promise: 0, 1 and 2 are verdicts, 64 and above are not."""

from __future__ import annotations

from enum import IntEnum


class Exit(IntEnum):
    """What a command answers."""

    PASS = 0
    FAIL = 1
    INCONCLUSIVE = 2
    USAGE = 64
    BAD_INPUT = 65
    NO_INPUT = 66
    FAILED = 70
    INTERRUPTED = 130
    BROKEN_PIPE = 141
