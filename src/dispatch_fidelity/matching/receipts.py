"""Whether a claim carries the receipt that a canary returned."""

from __future__ import annotations

import re

SHORTEST, LONGEST = 16, 256
_HEX = re.compile(f"[0-9a-f]{{{SHORTEST},}}")
_SPACE = re.compile(r"\s+")


def carried(claimed: str, receipt: str) -> str:
    """``whole`` when the claim holds the receipt, ``shortened`` for 16 or more hex digits of it, else empty.

    Letter case and white space do not count. 64 unguessable bits are evidence of having seen it; the label
    before the last colon is the agent's own word and proves nothing.
    """
    text = _SPACE.sub("", claimed).casefold()
    wanted = _SPACE.sub("", receipt).casefold()
    if wanted and wanted in text:
        return "whole"
    for run in _HEX.findall(wanted.rpartition(":")[2][:LONGEST]):
        for start in range(len(run) - SHORTEST + 1):
            if run[start : start + SHORTEST] in text:
                return "whole" if run in text else "shortened"
    return ""
