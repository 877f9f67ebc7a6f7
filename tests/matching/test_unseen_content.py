"""Content that the record does not hold accuses nobody: what rests on it is UNRESOLVED."""

from __future__ import annotations

import hashlib
from typing import Any

import pytest
from matching_words import failed, ran, told, verdicts

from dispatch_fidelity.model.call import Blob, Status, Unknown
from dispatch_fidelity.model.execution import Execution

UNSEEN = Unknown("not captured")


@pytest.mark.parametrize("args", [UNSEEN, "{not json", ["a"]])
def test_arguments_that_are_not_held_leave_a_claim_open(args: Any) -> None:
    assert verdicts([told(args={"a": 1})], [ran(args=args)], closed=True) == ["UNRESOLVED"]


def test_of_two_claims_one_call_with_unheld_arguments_leaves_only_one_open() -> None:
    claims = [told(args={"a": 1}), told(args={"a": 2})]
    assert verdicts(claims, [ran(args=UNSEEN)], closed=True) == ["UNRESOLVED", "FABRICATED"]


def test_an_exact_call_is_taken_before_one_with_unheld_arguments() -> None:
    assert verdicts([told(args={"a": 1})], [ran(args=UNSEEN), ran(args={"a": 1})], closed=True) == ["MATCHED"]


@pytest.mark.parametrize(
    ("check", "verdict"), [("off", "MATCHED"), ("contradicted", "UNRESOLVED"), ("strict", "UNRESOLVED")]
)
def test_a_value_over_a_result_that_is_not_held_is_open_where_values_are_judged(
    check: str, verdict: str
) -> None:
    assert verdicts([told(result="42 rows")], [ran(result=UNSEEN)], result_check=check) == [verdict]


def test_a_claim_without_a_value_needs_no_result() -> None:
    assert verdicts([told()], [ran(result=UNSEEN)], result_check="strict") == ["MATCHED"]


def test_a_failure_told_over_a_result_that_is_not_held_is_open_where_values_are_judged() -> None:
    claim = told(result="Error: timed out")
    assert verdicts([claim], [ran(result=UNSEEN)], result_check="contradicted") == ["UNRESOLVED"]


def unheld_failure() -> Execution:
    return ran(result=UNSEEN, status=Status.RAISED)


def test_a_value_over_a_failure_whose_text_is_not_held_is_open() -> None:
    assert verdicts([told(result="42 rows")], [unheld_failure()]) == ["UNRESOLVED"]


def test_a_value_over_a_failure_that_is_held_is_substituted() -> None:
    assert verdicts([told(result="42 rows")], [failed()]) == ["SUBSTITUTED"]


def test_a_failure_told_as_one_needs_no_text() -> None:
    assert verdicts([told(error="timed out")], [unheld_failure()]) == ["MATCHED"]


def test_a_canary_whose_receipt_is_not_held_is_open() -> None:
    claim = told("canary_probe", {"label": "A"}, "CANARY[A]:" + "0" * 32)
    call = ran("canary_probe", {"label": "A"}, UNSEEN)
    assert verdicts([claim], [call], closed=True) == ["UNRESOLVED"]


LARGE = "total: 42 rows\n" + "row\n" * 9


@pytest.mark.parametrize(
    ("told_result", "content", "verdict"),
    [
        ("total: 42 rows", LARGE, "MATCHED"),
        ("total: 57 rows", LARGE, "RESULT_MISMATCH"),
        ("total: 57 rows", None, "UNRESOLVED"),
        (LARGE, None, "MATCHED"),
    ],
)
def test_a_result_that_lies_beside_the_log_is_read(
    told_result: str, content: str | None, verdict: str
) -> None:
    blob = Blob(hashlib.sha256(LARGE.encode()).hexdigest(), len(LARGE), LARGE[:9])
    found = verdicts(
        [told(result=told_result)],
        [ran(result=blob)],
        result_check="contradicted",
        read_blob=lambda _blob: content,
    )
    assert found == [verdict]
