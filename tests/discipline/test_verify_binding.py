"""The rules of BINDING on made records; no repository is needed to try them."""

from __future__ import annotations

from typing import Any

import pytest

from dispatch_fidelity.discipline.findings import Finding
from dispatch_fidelity.discipline.records import SCHEMA, GateRecord, Output, Stored
from dispatch_fidelity.discipline.tree import TreeState
from dispatch_fidelity.discipline.verify import check_binding
from dispatch_fidelity.model.frozen import changed

NOW = TreeState("now", "git", "c1", 3, {})
OLD = TreeState("old", "git", "c0", 3, {})
PASSED = GateRecord(
    schema=SCHEMA,
    label="tests",
    number=1,
    command=("pytest", "-q"),
    folder=".",
    started="2026-11-30T08:00:00+00:00",
    environment={},
    tree_before=NOW,
    ended="2026-11-30T08:00:01+00:00",
    exit_code=0,
    output=Output(0, "0" * 64),
    tree_after=NOW,
)


def nothing_known(_old: TreeState, _new: TreeState) -> None:
    return None


def found(
    *records: GateRecord | Stored, labels: tuple[str, ...] = (), tree: TreeState | None = NOW, **options: Any
) -> list[Finding]:
    stored = tuple(
        item if isinstance(item, Stored) else Stored("tests", number, item)
        for number, item in enumerate(records, 1)
    )
    by_label = {"tests": stored} if stored else {}
    return check_binding(by_label, labels, tree, options.get("differing", nothing_known))


def kinds(*records: GateRecord | Stored, **options: Any) -> list[str]:
    return [finding.kind for finding in found(*records, **options)]


def test_a_passed_run_on_this_tree_is_no_finding() -> None:
    assert found(PASSED) == []


def test_nothing_recorded_is_a_finding() -> None:
    (finding,) = found()
    assert (finding.area, finding.kind, finding.subject) == ("BINDING", "MISSING", "records")
    assert "gate" in finding.text


def test_a_label_that_was_asked_for_and_has_no_record_is_missing() -> None:
    assert [(finding.kind, finding.subject) for finding in found(PASSED, labels=("tests", "lint"))] == [
        ("MISSING", "lint")
    ]


@pytest.mark.parametrize(
    ("fields", "kind", "words"),
    [
        ({"exit_code": 1}, "FAILED", "exited 1"),
        ({"exit_code": 137, "signal": "SIGKILL"}, "FAILED", "ended by SIGKILL"),
        ({"exit_code": 127, "problem": "pytest: No such file"}, "FAILED", "No such file"),
        ({"ended": "", "exit_code": None, "tree_after": None}, "INTERRUPTED", "no end on record"),
        ({"exit_code": 130, "interrupted": "SIGINT"}, "INTERRUPTED", "SIGINT"),
        ({"interrupted": "SIGTERM"}, "INTERRUPTED", "SIGTERM"),
        ({"tree_before": OLD, "tree_after": OLD}, "STALE", "not the one that was checked"),
        ({"tree_before": OLD}, "CHANGED", "changed during the run"),
        ({"tree_after": None, "problem": "cannot read x"}, "UNREADABLE", "cannot read x"),
        ({"command": ("sh", "-c", "pytest || true")}, "MASKED", "could pass although"),
        ({"environment": {"PYTEST_ADDOPTS": "--collect-only"}}, "MASKED", "PYTEST_ADDOPTS"),
    ],
)
def test_what_is_wrong_with_the_newest_run_is_told_apart(
    fields: dict[str, Any], kind: str, words: str
) -> None:
    (finding,) = found(changed(PASSED, **fields))
    assert finding.kind == kind
    assert words in finding.text
    assert finding.subject == "tests"


def test_a_failed_run_that_is_masked_too_is_told_as_both() -> None:
    record = changed(PASSED, exit_code=1, command=("sh", "-c", "pytest | tail"))
    assert kinds(record) == ["FAILED", "MASKED"]


def test_only_the_newest_run_has_to_have_passed() -> None:
    assert kinds(changed(PASSED, exit_code=1), changed(PASSED, tree_after=OLD), PASSED) == []


def test_a_failure_after_a_pass_counts() -> None:
    assert kinds(PASSED, changed(PASSED, exit_code=1)) == ["FAILED"]


def test_what_changed_since_is_named() -> None:
    (finding,) = found(
        changed(PASSED, tree_before=OLD, tree_after=OLD), differing=lambda _old, _new: ("src/a.py", "b.txt")
    )
    assert "src/a.py, b.txt" in finding.text


def test_many_changes_are_named_in_short() -> None:
    names = tuple(f"f{n}.py" for n in range(30))
    (finding,) = found(changed(PASSED, tree_before=OLD, tree_after=OLD), differing=lambda _old, _new: names)
    assert "f7.py and 22 more" in finding.text


def test_a_tree_read_in_another_way_is_stale_and_says_so() -> None:
    (finding,) = found(PASSED, tree=changed(NOW, method="walk"))
    assert (finding.kind, "by git, now by walk" in finding.text) == ("STALE", True)


def test_a_commit_of_the_same_files_is_the_same_tree() -> None:
    assert found(PASSED, tree=changed(NOW, commit="c2")) == []


def test_defects_of_older_runs_are_findings_too() -> None:
    older = Stored("tests", 1, PASSED, (("EDITED", "the raw output was changed after it was recorded"),))
    (finding,) = found(older, PASSED)
    assert finding.kind == "EDITED"
    assert ".verify/tests/0001.json" in finding.text


def test_a_newest_record_that_cannot_be_read_is_no_pass() -> None:
    broken = Stored("tests", 2, None, (("UNREADABLE", "the record is unreadable"),))
    assert kinds(PASSED, broken) == ["UNREADABLE"]


def test_a_tree_that_cannot_be_told_makes_no_further_finding_of_its_records() -> None:
    assert found(PASSED, tree=None) == []
