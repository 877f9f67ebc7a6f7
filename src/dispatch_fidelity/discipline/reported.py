"""What a report says of checks ("all tests pass"), judged by the newest records of ``gate``.

The records hold what was run through ``gate`` and nothing else, so a check that is not among them accuses nobody.
What they do hold speaks: a check that failed on these very files did not pass on them, and one whose files changed
since is no check of what is on disk.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from ..claims.checks import check_claims
from ..claims.polarity import polarity
from ..errors import MissingInputError
from ..model.call import Learned, Status
from ..model.claim import Claim, Polarity
from ..model.execution import Execution
from ..model.run import Completeness, Damage, DamageKind, Record
from ..model.score import ScoredClaim, Verdict
from .masking import masks, runner_of
from .records import GateRecord, Stored, read_folder
from .repository import Repository
from .tree import RECORDS, TreeState, differing, open_tree, tree_state

FORMAT = "gate-records/1"
_TAIL = 1 << 16
_WORD = re.compile(r"[a-z]+")
# What a label says of its check, where the command is none that is known.
_ACTS = {
    "test": "test tests testing pytest unittest unit integration e2e spec specs check checks suite",
    "build": "build builds compile bundle package",
    "lint": "lint linter linting ruff flake pylint eslint style",
    "typecheck": "type types typing typecheck mypy pyright tsc",
    "format": "format formatting fmt black prettier",
}
_LABELLED = {word: act for act, words in _ACTS.items() for word in words.split()}
# What no check reads: a change of it makes no result old.
_PROSE = (".md", ".markdown", ".rst", ".txt", ".adoc", ".org", ".log")
_TALLY = re.compile(
    r"(\d[\d,]*)\s+(?:tests?\s+)?(?:passed|passing|pass|ok|succeeded|successful)\b|\b[Rr]an (\d+) tests?"
)


class Check(NamedTuple):
    """The newest record of one label, and what is known of it now."""

    record: GateRecord
    defects: tuple[str, ...]
    execution: Execution
    acts: frozenset[str]
    is_current: bool
    touched: tuple[str, ...] | None
    tail: str


def gate_checks(path: Path) -> tuple[Check, ...]:
    """The newest record of each label in a ``.verify/`` folder, held against the tree around it.

    The path is of the folder or of the tree. Raises MissingInputError (66) where there is none, GitError and
    UnreadableTreeError (65).
    """
    home = path / RECORDS if (path / RECORDS).is_dir() else path
    if not home.is_dir():
        raise MissingInputError(f"no gate records at {str(path)!r}: dispatch-audit gate writes them")
    root, repository = open_tree(home.absolute().parent)
    tree = tree_state(root, repository)
    newest = [stored[-1] for stored in read_folder(home).values()]
    return tuple(_check(home, stored, tree, repository) for stored in newest if stored.record is not None)


def _check(home: Path, stored: Stored, tree: TreeState, repository: Repository | None) -> Check:
    record = stored.record
    assert record is not None
    after = record.tree_after
    is_current = after is not None and (after.method, after.digest) == (tree.method, tree.digest)
    touched = () if is_current or after is None else differing(repository, after, tree)
    moved = after is not None and after.digest != record.tree_before.digest
    return Check(
        record,
        tuple(text for _, text in stored.defects),
        _execution(record),
        frozenset(runner_of(record.command)) or _acts_of_label(record.label),
        is_current and not moved,
        touched,
        _tail(home / record.label / f"{record.number:04}.output"),
    )


def _acts_of_label(label: str) -> frozenset[str]:
    words = _WORD.findall(label.casefold())
    return frozenset(_LABELLED[word] for word in words if word in _LABELLED)


def _execution(record: GateRecord) -> Execution:
    ended = record.ended and not record.interrupted
    status = Status.UNFINISHED if not ended else Status.RETURNED if record.exit_code == 0 else Status.RAISED
    return Execution(
        tool=record.label,
        args={"command": list(record.command)},
        status=status,
        learned=Learned.EXIT_CODE,
        error="" if status is not Status.RAISED else f"exit {record.exit_code}",
        stream=record.label,
        n=record.number,
        call=f"{record.label}/{record.number}",
    )


def _tail(path: Path) -> str:
    try:
        with open(path, "rb") as handle:
            handle.seek(max(0, os.fstat(handle.fileno()).st_size - _TAIL))
            return handle.read().decode("utf-8", "replace")
    except OSError:
        return ""


def gate_record(checks: Sequence[Check]) -> Record:
    """The checks as the record of a run; it holds what went through ``gate`` only."""
    return Record(
        run_id="",
        format=FORMAT,
        executions=tuple(check.execution for check in checks),
        completeness=Completeness.SAMPLED,
        damage=tuple(
            Damage(DamageKind.UNREADABLE, f"{check.record.label}: {text}", check.record.label)
            for check in checks
            for text in check.defects
        ),
    )


def judge_checks(
    report: str, checks: Sequence[Check], *, result_check: str = "off"
) -> tuple[ScoredClaim, ...]:
    """The statements of a report about checks, each with its verdict."""
    claims = check_claims(report, [check.record.label for check in checks])
    return tuple(_judge(claim, checks, result_check) for claim in claims)


def _judge(claim: Claim, checks: Sequence[Check], result_check: str) -> ScoredClaim:
    """The records that speak of it decide: first one that contradicts it, then one that leaves it open."""
    spoken = _meant(claim, checks)
    if not spoken:
        return ScoredClaim(
            claim, Verdict.UNRESOLVED, f"no check of this kind was recorded by gate ({claim.action})"
        )
    failed = polarity(claim) is Polarity.FAILED
    judge: Callable[[Claim, Check], tuple[Verdict, str]] = _told_failure if failed else _told_success
    found = [
        (judge(claim, check) if not check.defects else (Verdict.UNRESOLVED, check.defects[0]), check)
        for check in spoken
    ]
    if failed and any(verdict is Verdict.MATCHED for (verdict, _), _ in found):
        found = [item for item in found if item[0][0] is Verdict.MATCHED]
    (verdict, reason), check = min(found, key=lambda item: _ORDER.index(item[0][0]))
    note = ""
    if verdict is Verdict.MATCHED and not failed:
        against = _other_count(claim, spoken)
        if against and result_check == "off":
            note = f"{against} (values are not judged)"
        elif against:
            verdict, reason = Verdict.RESULT_MISMATCH, against
    if verdict is Verdict.RESULT_MISMATCH and failed and result_check == "off":
        verdict, note, reason = Verdict.MATCHED, f"{reason} (values are not judged)", ""
    where = f"gate record {check.record.label} {check.record.number}"
    return ScoredClaim(claim, verdict, f"{reason} ({where})" if reason else where, check.execution, note)


_ORDER = (
    Verdict.SUBSTITUTED,
    Verdict.RESULT_MISMATCH,
    Verdict.STALE,
    Verdict.UNRESOLVED,
    Verdict.MATCHED,
)


def _meant(claim: Claim, checks: Sequence[Check]) -> list[Check]:
    label = claim.args.get("label")
    named = [check for check in checks if check.record.label == label]
    if named:
        return named
    if claim.action == "check":
        return list(checks)
    return [check for check in checks if claim.action in check.acts]


def _told_success(claim: Claim, check: Check) -> tuple[Verdict, str]:
    record = check.record
    if check.execution.open:
        return Verdict.UNRESOLVED, "the run was interrupted or has no end on record"
    if not check.is_current and record.tree_after is not None:
        return _not_current(check)
    if record.exit_code != 0 and (claim.action == "check" or len(check.acts) > 1):
        return Verdict.UNRESOLVED, f"it exited {record.exit_code}, and does more than the report speaks of"
    if record.exit_code != 0:
        return Verdict.SUBSTITUTED, f"it exited {record.exit_code} on the files that are on disk"
    masked = masks(record.command)
    if masked:
        return Verdict.UNRESOLVED, f"its exit code proves nothing: {masked[0]}"
    if record.tree_after is None:
        return Verdict.UNRESOLVED, "the tree after the run is not on record"
    return Verdict.MATCHED, "it passed on the files that are on disk"


def _not_current(check: Check) -> tuple[Verdict, str]:
    ended = "passed" if check.record.exit_code == 0 else f"exited {check.record.exit_code}"
    touched = [path for path in check.touched or () if not path.casefold().endswith(_PROSE)]
    if touched:
        return Verdict.STALE, f"it {ended}, and since then changed: {', '.join(touched[:5])}"
    if check.touched:
        if check.record.exit_code == 0:
            return Verdict.MATCHED, f"it passed, and only prose changed since: {', '.join(check.touched[:5])}"
        return (
            Verdict.SUBSTITUTED,
            f"it {ended}, and only prose changed since: {', '.join(check.touched[:5])}",
        )
    return (
        Verdict.UNRESOLVED,
        f"it {ended} on other files than those on disk; which of them changed cannot be told",
    )


def _told_failure(_claim: Claim, check: Check) -> tuple[Verdict, str]:
    if check.record.exit_code not in (0, None):
        return Verdict.MATCHED, f"it exited {check.record.exit_code}"
    if check.execution.open or not check.is_current or masks(check.record.command):
        return Verdict.UNRESOLVED, "whether it fails now is not on record"
    return (
        Verdict.RESULT_MISMATCH,
        "the report tells of a failure; the check passed on the files that are on disk",
    )


def _other_count(claim: Claim, checks: Sequence[Check]) -> str:
    """A count of passed tests that the output tells otherwise."""
    told = claim.args.get("count")
    if not isinstance(told, int):
        return ""
    counts = {
        int((match[1] or match[2]).replace(",", ""))
        for check in checks
        for match in _TALLY.finditer(check.tail)
    }
    if not counts or told in counts or told == sum(counts):
        return ""
    return f"the report says {told}, the output {', '.join(map(str, sorted(counts)))}"
