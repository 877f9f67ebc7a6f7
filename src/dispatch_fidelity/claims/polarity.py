"""What a claim says of the end of its call: done, succeeded or failed."""

from __future__ import annotations

from typing import Any

from ..jsonio import UNSET, encode_lenient
from ..model.claim import Claim, Polarity

_NOTHING = frozenset({"", "none", "null", "false", "no", "n/a", "-", "nil", "no error", "0"})
_SUCCESS = frozenset(
    {"ok", "success", "succeeded", "successful", "completed", "complete", "done", "passed", "pass", "200"}
)


def polarity(claim: Claim) -> Polarity:
    """FAILED when ``error`` is filled, the status says so, or the result acknowledges a failure."""
    if _filled(claim.error):
        return Polarity.FAILED
    status = claim.status
    if isinstance(status, str) and status.strip():
        if status.strip().casefold() in _SUCCESS:
            return Polarity.FAILED if _acknowledges(claim.result) else Polarity.SUCCEEDED
        if acknowledges_failure(status):
            return Polarity.FAILED
    return Polarity.FAILED if _acknowledges(claim.result) else Polarity.DONE


def _filled(error: Any) -> bool:
    if error is UNSET or error is None or error is False:
        return False
    if isinstance(error, str):
        return error.strip().casefold() not in _NOTHING
    return bool(error)


def _acknowledges(result: Any) -> bool:
    if isinstance(result, str):
        return acknowledges_failure(result)
    if isinstance(result, dict):
        if result.get("ok") is False or result.get("success") is False or result.get("isError") is True:
            return True
        return acknowledges_failure(encode_lenient(result).decode("ascii"))
    return isinstance(result, list) and acknowledges_failure(encode_lenient(result).decode("ascii"))


def acknowledges_failure(text: str) -> bool:
    """``acknowledgement.acknowledges_failure``; the lexicon is loaded when the first text asks for it."""
    from . import acknowledgement

    return acknowledgement.acknowledges_failure(text)


def speaks_of_failure(text: str) -> bool:
    """``acknowledgement.speaks_of_failure``, loaded likewise."""
    from . import acknowledgement

    return acknowledgement.speaks_of_failure(text)
