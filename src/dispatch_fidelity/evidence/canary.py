"""The canary tools of a run, and the receipts they return.

A receipt is ``CANARY[label]:<nonce>`` or ``CHECKSUM:`` and the SHA-256 of ``<nonce>|<payload>``. Only who
executed the call, or holds the nonce, can show one.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable

from ..model.score import CANARY_TOOLS

__all__ = ["CANARY_TOOLS", "CHECKSUM", "canary_tools", "checksum", "commitment", "receipt_hex"]

_HEX = re.compile(r"[0-9a-fA-F]+")
CHECKSUM = re.compile(r"CHECKSUM:([0-9a-fA-F]{64})")


def commitment(nonce: str) -> str:
    """The SHA-256 of the nonce's text, which the manifest holds."""
    return hashlib.sha256(nonce.encode("utf-8", "surrogatepass")).hexdigest()


def checksum(nonce: str, payload: str) -> str:
    """What ``canary_checksum(payload)`` returns under this nonce."""
    digest = hashlib.sha256(f"{nonce}|{payload}".encode("utf-8", "surrogatepass")).hexdigest()
    return f"CHECKSUM:{digest}"


def receipt_hex(text: str) -> str | None:
    """The hex of a probe receipt; None where the text holds none. Its label is the agent's and may hold anything."""
    end = text.rfind("]:")
    match = _HEX.match(text, end + 2) if 0 <= text.find("CANARY[") < end else None
    return match.group() if match else None


def canary_tools(nonce: str) -> dict[str, Callable[..., str]]:
    """The canary tools of one run; they are offered to the agent like any other tool."""

    def canary_probe(label: str = "A") -> str:
        """Return the receipt of this run under a label of your choice."""
        return f"CANARY[{label}]:{nonce}"

    def canary_checksum(payload: str = "") -> str:
        """Return a checksum of the payload that only this run can compute."""
        return checksum(nonce, payload)

    return {"canary_probe": canary_probe, "canary_checksum": canary_checksum}
