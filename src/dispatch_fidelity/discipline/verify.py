"""Whether the recorded checks are of the files on disk, the anchors hold, and all suppressions are declared.

Read-only and fail-closed: what cannot be told is a finding. Anchors are commands out of the repository; they are the
only thing that is run, and what they write is theirs.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path

from ..errors import DispatchFidelityError
from ..model.frozen import Frozen
from .anchors import TIMEOUT, Anchor, Base, Ran, check_against_base, judge, load_anchors, run_anchor
from .findings import Area, Finding
from .markers import Marker
from .masking import masks
from .records import GateRecord, Stored, read_records
from .repository import Repository
from .tree import TreeState, differing, is_cache, open_tree, tree_state
from .waivers import Waiver, Waivers, check_waivers

_NAMED = 8
_ENVIRONMENT = (("PYTEST_ADDOPTS", "pytest"),)


class Verification(Frozen, frozen=True):
    """Everything ``verify`` looked at; the tree is verified when nothing was found.

    ``records`` holds each label's runs, oldest first; ``ran`` how the anchors' commands ended, by name (empty when they
    were left out); ``new_anchors`` those that the base does not hold.
    """

    root: str
    tree: TreeState | None
    records: dict[str, tuple[Stored, ...]]
    findings: tuple[Finding, ...]
    with_anchors: bool = True
    anchors: tuple[Anchor, ...] = ()
    base: Base = Base()
    new_anchors: tuple[str, ...] = ()
    ran: dict[str, Ran] = {}
    markers: tuple[tuple[str, Marker], ...] = ()
    waivers: tuple[Waiver, ...] = ()

    @property
    def verified(self) -> bool:
        """Whether there is no finding."""
        return not self.findings


class Listing(Frozen, frozen=True):
    """What would be run and what was: the anchors, and each label's runs, oldest first."""

    root: str
    anchors: tuple[Anchor, ...]
    records: dict[str, tuple[Stored, ...]]
    findings: tuple[Finding, ...]


def list_commands(folder: Path, labels: tuple[str, ...] = ()) -> Listing:
    """The commands of anchors and records; nothing is run. Raises GitError (65)."""
    root, _ = open_tree(folder)
    anchors, findings = load_anchors(root)
    return Listing(str(root), anchors, read_records(root, labels), findings)


def verify_tree(
    folder: Path,
    labels: tuple[str, ...] = (),
    *,
    base: str = "",
    with_anchors: bool = True,
    timeout: float = TIMEOUT,
    before_run: Callable[[Anchor], None] = lambda _anchor: None,
) -> Verification:
    """Check the tree that ``folder`` lies in: 1. binding, 2. waivers, 3. anchors, last because they run commands.

    ``labels`` must all be recorded; without them every recorded label is checked. ``before_run`` is told of each
    command before it starts.
    """
    try:
        root, repository = open_tree(folder)
    except DispatchFidelityError as problem:
        return Verification(
            str(folder), None, {}, (Finding(Area.BINDING, "UNREADABLE", "tree", str(problem)),)
        )
    # 1.
    records = read_records(root, labels)
    tree, findings = _tree(root, repository)
    findings += check_binding(records, labels, tree, partial(differing, repository))
    # 2.
    waivers = _waivers(root, repository)
    # 3.
    anchors: tuple[Anchor, ...] = ()
    against = Base()
    new: tuple[str, ...] = ()
    ran: dict[str, Ran] = {}
    if with_anchors:
        anchors, problems = load_anchors(root)
        against, new, edits = check_against_base(anchors, repository, base)
        findings += [*problems, *edits]
        for anchor in anchors:
            before_run(anchor)
            ran[anchor.name] = run_anchor(anchor, root, timeout)
        findings += filter(None, (judge(anchor, ran[anchor.name]) for anchor in anchors))
    return Verification(
        root=str(root),
        tree=tree,
        records=records,
        findings=(*findings, *waivers.findings),
        with_anchors=with_anchors,
        anchors=anchors,
        base=against,
        new_anchors=new,
        ran=ran,
        markers=waivers.markers,
        waivers=waivers.waivers,
    )


def _tree(root: Path, repository: Repository | None) -> tuple[TreeState | None, list[Finding]]:
    try:
        return tree_state(root, repository), []
    except DispatchFidelityError as problem:
        return None, [Finding(Area.BINDING, "UNREADABLE", "tree", str(problem))]


def _waivers(root: Path, repository: Repository | None) -> Waivers:
    try:
        return check_waivers(root, repository, is_cache)
    except DispatchFidelityError as problem:
        return Waivers((Finding(Area.WAIVER, "UNREADABLE", "tree", str(problem)),), (), ())


def check_binding(
    records: Mapping[str, Sequence[Stored]],
    labels: Sequence[str],
    tree: TreeState | None,
    differing: Callable[[TreeState, TreeState], tuple[str, ...] | None],
) -> list[Finding]:
    """Whether the newest record of each label is of a passed run on this very tree, and all are as written.

    ``tree`` is the tree on disk, None where it cannot be told; ``differing`` names the paths between two states.
    """
    findings = _missing(records, labels)
    for label, stored in records.items():
        findings += [
            Finding(Area.BINDING, kind, label, f"{text} ({place.place})")
            for place in stored
            for kind, text in place.defects
        ]
        newest = stored[-1].record
        if newest is not None:
            findings += _of_newest(newest, tree, differing)
    return findings


def _missing(records: Mapping[str, Sequence[Stored]], labels: Sequence[str]) -> list[Finding]:
    findings = [
        Finding(
            Area.BINDING,
            "MISSING",
            label,
            f"nothing is recorded; run: dispatch-audit gate --label {label} -- …",
        )
        for label in labels
        if label not in records
    ]
    if not records and not labels:
        text = "nothing is recorded, and an unrecorded check is a claim; run: dispatch-audit gate --label tests -- …"
        findings.append(Finding(Area.BINDING, "MISSING", "records", text))
    return findings


def _of_newest(
    record: GateRecord,
    tree: TreeState | None,
    differing: Callable[[TreeState, TreeState], tuple[str, ...] | None],
) -> list[Finding]:
    """1. It ended 2. and passed 3. on a tree that stood still 4. and is on disk now; 5. and it could fail."""
    after = record.tree_after
    if text := _interruption(record):  # 1.
        found = [("INTERRUPTED", text)]
    elif text := _failure(record):  # 2.
        found = [("FAILED", text)]
    elif after is None:
        found = [("UNREADABLE", record.problem or "the tree after the run is not on record")]
    else:
        found = []
        if not _same(record.tree_before, after):  # 3.
            names = _named(differing(record.tree_before, after))
            found.append(
                ("CHANGED", f"the tree changed during the run{names}; the result is of no one state")
            )
        if tree is not None and not _same(after, tree):  # 4.
            names = _named(differing(after, tree))
            how = (
                f" (then read by {after.method}, now by {tree.method})" if after.method != tree.method else ""
            )
            found.append(
                ("STALE", f"the tree on disk is not the one that was checked{names}{how}; run it again")
            )
    found += [("MASKED", f"{text}: it could pass although a check failed") for text in _masks(record)]  # 5.
    return [Finding(Area.BINDING, kind, record.label, text) for kind, text in found]


def _interruption(record: GateRecord) -> str:
    if not record.ended or record.exit_code is None:
        return f"the run has no end on record: it was killed, or is still on ({_command(record)})"
    return f"{record.interrupted} came during the run ({_command(record)})" if record.interrupted else ""


def _failure(record: GateRecord) -> str:
    if record.exit_code == 0:
        return ""
    how = f"was ended by {record.signal}" if record.signal else f"exited {record.exit_code}"
    return f"{_command(record)} {how}" + (f": {record.problem}" if record.problem else "")


def _same(one: TreeState, other: TreeState) -> bool:
    return (one.method, one.digest) == (other.method, other.digest)


def _masks(record: GateRecord) -> list[str]:
    found = list(masks(record.command))
    for variable, program in _ENVIRONMENT:
        try:
            words = shlex.split(record.environment.get(variable, ""))
        except ValueError:
            continue
        found += [f"{text} ({variable})" for text in masks([program, *words]) if words]
    return found


def _command(record: GateRecord) -> str:
    return f"`{shlex.join(record.command)}`"


def _named(paths: tuple[str, ...] | None) -> str:
    if not paths:
        return ""
    more = f" and {len(paths) - _NAMED} more" if len(paths) > _NAMED else ""
    return f": {', '.join(paths[:_NAMED])}{more}"
