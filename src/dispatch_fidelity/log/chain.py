"""The hash chain of a stream: what links a line to the one before it."""

from __future__ import annotations

import hashlib

LABEL = "dispatch-fidelity/log/2"


def first_link(run_id: str, stream: str, manifest_digest: str) -> str:
    """``prev`` of a stream's first record: it ties the stream to its run and manifest."""
    text = "\n".join((LABEL, run_id, stream, manifest_digest))
    return hashlib.sha256(text.encode()).hexdigest()


def link(line: bytes) -> str:
    """``prev`` of the record after ``line``: SHA-256 of the stored bytes, without the line feed."""
    return hashlib.sha256(line).hexdigest()


def close_digest(line: bytes) -> tuple[str, str] | None:
    """The digest that a close line states and the one it should state; None when it ends in another way."""
    head, mark, tail = line.rpartition(b',"digest":"')
    if not mark or len(tail) != 66 or not tail.endswith(b'"}'):
        return None
    return tail[:64].decode("ascii", "replace"), hashlib.sha256(head).hexdigest()
