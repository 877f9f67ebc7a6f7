"""What ``verify`` found, as lines of text and as plain data."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from typing import Any

from ..discipline.anchors import Anchor, Ran
from ..discipline.findings import Finding
from ..discipline.records import Stored
from ..discipline.verify import Listing, Verification
from .plain import Line
from .text import clean, shortened

_WIDTH = 100


def verification_lines(found: Verification) -> list[Line]:
    """What was looked at, then VERIFIED or each finding, led by its area and its kind."""
    lines = [_tree_line(found)]
    lines += [("", f"record   {text}") for text in _records(found.records)]
    lines += [("", f"anchors  {_anchors(found)}"), ("", f"waivers  {_waivers(found)}"), ("", "")]
    if found.verified:
        return [*lines, ("pass", "VERIFIED")]
    lines += [("fail", finding_line(finding)) for finding in found.findings]
    count = len(found.findings)
    return [*lines, ("fail", f"{count} finding{'s' if count > 1 else ''}")]


def finding_line(finding: Finding) -> str:
    """One finding on one line."""
    return f"{finding.area} {finding.kind} {clean(finding.subject)}: {clean(finding.text)}"


def listing_lines(listing: Listing) -> list[Line]:
    """The commands of a tree: what ``verify`` would run, and what ``gate`` ran."""
    lines: list[Line] = [("", f"tree     {clean(listing.root)}")]
    lines += [
        ("", f"anchor   {clean(anchor.name)}: {_how(anchor)}, expects {clean(anchor.expected)!r}")
        for anchor in listing.anchors
    ]
    if not listing.anchors:
        lines.append(("", "anchor   none"))
    lines += [("", f"record   {text}") for text in _records(listing.records)]
    lines += [("fail", finding_line(finding)) for finding in listing.findings]
    return [*lines, ("dim", "nothing was run; 'verify' runs the anchors' commands and no others")]


def _how(anchor: Anchor) -> str:
    return f"{clean(shlex.join(anchor.argv))}"


def _tree_line(found: Verification) -> Line:
    tree = found.tree
    if tree is None:
        return ("", f"tree     {clean(found.root)}")
    changes = (
        ""
        if tree.changes == {}
        else ", with changes"
        if tree.changes is None
        else f", {len(tree.changes)} changed"
    )
    where = (
        f"commit {tree.commit[:12]}{changes}"
        if tree.commit
        else "no commit"
        if tree.method == "git"
        else "no git"
    )
    return ("", f"tree     {clean(found.root)}: {where}, {tree.files} files, digest {tree.digest[:12]}")


def _records(records: Mapping[str, Sequence[Stored]]) -> list[str]:
    texts = []
    for label, stored in records.items():
        newest = stored[-1].record
        if newest is None:
            texts.append(f"{label}: {stored[-1].place} cannot be read")
            continue
        ended = f"exit {newest.exit_code}" if newest.ended else "no end"
        command = shortened(shlex.join(newest.command), _WIDTH)
        texts.append(f"{label}: {command}: {ended}, {clean(newest.started[:19])}Z, run {newest.number}")
    return texts or ["none"]


def _anchors(found: Verification) -> str:
    if not found.with_anchors:
        return "left out (--no-anchors)"
    if not found.anchors:
        return "none"
    since = f" since {found.base.commit[:12]}" if found.base.commit else ""
    new = f"; new{since}: {', '.join(map(clean, found.new_anchors))}" if found.new_anchors else ""
    failing = {finding.subject for finding in found.findings}
    held = sum(anchor.name not in failing for anchor in found.anchors)
    return f"{held} of {len(found.anchors)} hold{new}"


def _waivers(found: Verification) -> str:
    files = len({path for path, _ in found.markers})
    return f"{len(found.markers)} markers in {files} files, {len(found.waivers)} declarations"


def verification_document(found: Verification) -> dict[str, Any]:
    """The result of ``verify`` as plain data."""
    return {
        "verify": "verified" if found.verified else "findings",
        "root": found.root,
        "tree": found.tree,
        "base": found.base.commit,
        "labels": _label_documents(found.records),
        "anchors": [
            _anchor_document(anchor, found.ran.get(anchor.name), anchor.name in found.new_anchors)
            for anchor in found.anchors
        ],
        "markers": [
            {"path": path, "line": marker.line, "rule": marker.rule, "text": marker.text}
            for path, marker in found.markers
        ],
        "waivers": [{"path": w.path, "rule": w.rule, "reason": w.reason} for w in found.waivers],
        "findings": list(found.findings),
    }


def listing_document(listing: Listing) -> dict[str, Any]:
    """The result of ``verify --list`` as plain data."""
    return {
        "verify": "listed",
        "root": listing.root,
        "tree": None,
        "base": "",
        "labels": _label_documents(listing.records),
        "anchors": [_anchor_document(anchor, None, False) for anchor in listing.anchors],
        "markers": [],
        "waivers": [],
        "findings": list(listing.findings),
    }


def _label_documents(records: Mapping[str, Sequence[Stored]]) -> list[dict[str, Any]]:
    documents = []
    for label, stored in records.items():
        newest = stored[-1].record
        documents.append(
            {
                "label": label,
                "runs": len(stored),
                "command": list(newest.command) if newest else [],
                "exit_code": newest.exit_code if newest else None,
                "started": newest.started if newest else "",
                "ended": newest.ended if newest else "",
                "record": stored[-1].place,
            }
        )
    return documents


def _anchor_document(anchor: Anchor, ran: Ran | None, new: bool) -> dict[str, Any]:
    return {
        "name": anchor.name,
        "command": anchor.command,
        "argv": list(anchor.argv),
        "shell": anchor.argv != () and anchor.argv[0] == "sh" and anchor.argv[-1] == anchor.command,
        "expected": anchor.expected,
        "new": new,
        "exit_code": ran.exit_code if ran else None,
        "printed": ran.seen if ran else None,
    }
