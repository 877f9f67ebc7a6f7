"""Are manifest and log of one run? The checks B0 to B6 (docs/verdicts.md), each on its own evidence."""

from __future__ import annotations

import re
from typing import Any

from ..errors import UsageError
from ..model.assessment import Binding, Check
from ..model.execution import Execution
from ..model.run import DamageKind, Manifest, Record
from .canary import CANARY_TOOLS, CHECKSUM, checksum, commitment, receipt_hex

_UNREAD = frozenset({DamageKind.EMPTY, DamageKind.TORN, DamageKind.UNREADABLE})
_NOT_THERE = frozenset(
    {
        DamageKind.MISSING_STREAM,
        DamageKind.LATE_STREAM,
        DamageKind.MISSING_CLOSE,
        DamageKind.MISSING_BLOB,
        DamageKind.GAP,
    }
)
_ORDER = frozenset(
    {
        DamageKind.CHAIN,
        DamageKind.NUMBER,
        DamageKind.STREAM,
        DamageKind.DIGEST,
        DamageKind.COUNT,
        DamageKind.LIFECYCLE,
        DamageKind.BLOB,
    }
)

Pattern = re.Pattern[str]


def compile_pattern(text: str | None) -> Pattern | None:
    """``nonce_pattern=`` as a pattern; UsageError when it is none or has no group."""
    if not text:
        return None
    try:
        pattern = re.compile(text)
    except re.error as problem:
        raise UsageError(f"nonce_pattern {text!r} is no regular expression: {problem}") from None
    if pattern.groups < 1:
        raise UsageError(f"nonce_pattern {text!r} has no group: put the nonce in parentheses")
    return pattern


class _Findings:
    """Collects how the checks came out, and why."""

    def __init__(self) -> None:
        self.checks: dict[str, Check] = {}
        self.findings: list[str] = []
        self.unprovable: list[str] = []

    def fail(self, name: str, text: str) -> None:
        self.checks[name] = Check.FAILS
        self.findings.append(f"{name}: {text}")

    def open(self, name: str, text: str) -> None:
        if self.checks.get(name) is not Check.FAILS:
            self.checks[name] = Check.NOT_DERIVABLE
        self.unprovable.append(f"{name}: {text}")

    def hold(self, name: str) -> None:
        self.checks.setdefault(name, Check.HOLDS)


def bind(
    manifest: Manifest | None, record: Record, *, proof: str = "canary", nonce_pattern: str | None = None
) -> Binding:
    """The binding of a record to its manifest; NOT_CHECKED without one.

    1. damage that hides evidence makes a check not derivable; 2. contradictions fail; 3. what is left holds.
    """
    if manifest is None:
        return Binding(proof=proof, checked=False, run_id=record.run_id)
    found = _Findings()
    _intact(record, found)
    _same_manifest(manifest, record, found)
    _unbroken(record, found)
    _receipts(manifest, record, compile_pattern(nonce_pattern), found)
    _same_run(manifest, record, found)
    _no_strays(record, found)
    _opening(manifest, record, found)
    return Binding(
        checks=dict(sorted(found.checks.items())),
        findings=tuple(found.findings),
        unprovable=tuple(found.unprovable),
        proof=proof,
        checked=True,
        run_id=manifest.run_id,
    )


def _at(damage: Any) -> str:
    place = f" (line {damage.line})" if damage.line else ""
    where = f"stream {damage.stream}" if damage.stream != "main" else "the log"
    return f"{where}{place}: {damage.text}"


def _intact(record: Record, found: _Findings) -> None:
    for damage in record.damage:
        if damage.kind in _UNREAD or damage.kind in _NOT_THERE:
            found.open("B0", _at(damage))
    found.hold("B0")


def _same_manifest(manifest: Manifest, record: Record, found: _Findings) -> None:
    if manifest.version == 1:
        if any(stream.version == 2 for stream in record.streams):
            found.fail("B1", "a manifest of version 1 beside a log of version 2")
        elif manifest.file_name != f"{manifest.run_id}.manifest.json":
            found.open("B1", "a manifest of version 1 is known by its file name, and this one was renamed")
        found.hold("B1")
        return
    stated = [stream.manifest_digest for stream in record.streams if stream.manifest_digest]
    if any(digest != manifest.digest for digest in stated):
        found.fail("B1", "the log was opened under another manifest")
    elif not stated:
        found.open("B1", "no open record can be read")
    found.hold("B1")


def _unbroken(record: Record, found: _Findings) -> None:
    for damage in record.damage:
        if damage.kind in _ORDER:
            found.fail("B2", _at(damage))
        elif damage.kind in _UNREAD:
            found.open("B2", _at(damage))
    found.hold("B2")


def _receipts(manifest: Manifest, record: Record, pattern: Pattern | None, found: _Findings) -> None:
    shown: str | None = None
    sources = [
        e for e in record.executions if e.succeeded and (pattern is not None or e.tool in CANARY_TOOLS)
    ]
    for execution in sources:
        text = execution.result
        if not isinstance(text, str) or (pattern is None and execution.tool != "canary_probe"):
            continue
        if pattern is None:
            nonce = receipt_hex(text)
        else:
            match = pattern.search(text)
            nonce = None if match is None else match.group(1) or ""
        if nonce is None:
            if pattern is None:
                found.fail("B3", f"{_call(execution)} returned no receipt")
            continue
        if commitment(nonce) == manifest.nonce_sha256:
            shown = nonce
        else:
            found.fail("B3", f"the receipt of {_call(execution)} does not hash to the commitment")
    if shown is not None and pattern is None:
        for execution in sources:
            _checksum_fits(execution, shown, found)
    if shown is None:
        found.open("B3", "no canary receipt in the log: call a canary tool in each run")
    found.hold("B3")


def _checksum_fits(execution: Execution, nonce: str, found: _Findings) -> None:
    text = execution.result
    if (
        execution.tool != "canary_checksum"
        or not isinstance(text, str)
        or not isinstance(execution.args, dict)
    ):
        return
    payload = execution.args.get("payload", "")
    match = CHECKSUM.search(text)
    if isinstance(payload, str) and (
        match is None or match.group().lower() != checksum(nonce, payload).lower()
    ):
        found.fail("B3", f"the checksum of {_call(execution)} does not fit the nonce of the run")


def _call(execution: Execution) -> str:
    return f"{execution.tool} (record {execution.n})"


def _same_run(manifest: Manifest, record: Record, found: _Findings) -> None:
    if not record.run_id:
        found.open("B4", "the log names no run")
    elif record.run_id != manifest.run_id:
        found.fail("B4", f"the manifest is of run {manifest.run_id!r}, the log of run {record.run_id!r}")
    found.hold("B4")


def _no_strays(record: Record, found: _Findings) -> None:
    for damage in record.damage:
        if damage.kind in (DamageKind.RUN, DamageKind.STRAY):
            found.fail("B5", _at(damage))
        elif damage.kind is DamageKind.EMPTY:
            found.open("B5", _at(damage))
    found.hold("B5")


def _opening(manifest: Manifest, record: Record, found: _Findings) -> None:
    openings = [stream.close.opening for stream in record.streams if stream.close and stream.close.opening]
    if any(commitment(opening) != manifest.nonce_sha256 for opening in openings):
        found.fail("B6", "the opening in the close record does not hash to the commitment")
    elif not openings:
        found.open("B6", "the log holds no opening of the commitment")
    found.hold("B6")
