from __future__ import annotations

from itertools import permutations
from typing import Any

import pytest
from matching_words import failed, ran, scored, told, verdicts

from dispatch_fidelity.jsonio import UNSET
from dispatch_fidelity.matching.assignment import assign
from dispatch_fidelity.matching.policy import Policy
from dispatch_fidelity.model.call import Status


def results(*values: Any) -> list[Any]:
    return [ran(result=value, n=n) for n, value in enumerate(values)]


def claims(*values: Any) -> list[Any]:
    return [told(result=value) for value in values]


def test_one_execution_backs_at_most_one_claim() -> None:
    assert verdicts(claims("ok", "ok"), results("ok")) == ["MATCHED", "FABRICATED"]


def test_as_many_claims_as_executions_are_all_matched() -> None:
    assert verdicts(claims("ok", "ok"), results("ok", "ok")) == ["MATCHED", "MATCHED"]


def test_an_execution_that_no_claim_speaks_of_is_omitted() -> None:
    assert [
        e.n for e in scored(claims("b"), results("a", "b", "c"), result_check="strict").omitted_calls
    ] == [0, 2]


@pytest.mark.parametrize("order", list(permutations(["3", "1", "2"])), ids="".join)
def test_results_told_in_any_order_are_matched(order: tuple[str, ...]) -> None:
    assert verdicts(claims(*order), results("1", "2", "3"), result_check="strict") == ["MATCHED"] * 3


@pytest.mark.parametrize("order", list(permutations(["red", "green", "blue"])), ids="-".join)
def test_results_told_in_sentences_in_any_order_are_matched(order: tuple[str, ...]) -> None:
    sentences = [f"The lamp is {colour} now." for colour in order]
    assert (
        verdicts(claims(*sentences), results("red", "green", "blue"), result_check="strict")
        == ["MATCHED"] * 3
    )


def test_a_claim_that_carries_two_results_leaves_the_scarce_one_to_the_other() -> None:
    told_results = claims("it was a, then b", "it was a")
    assert verdicts(told_results, results("a", "b"), result_check="strict") == ["MATCHED", "MATCHED"]


def test_a_claim_moves_on_along_a_chain_when_another_needs_its_result() -> None:
    told_results = claims("a and b", "b and c", "a or c", "c")
    assert verdicts(told_results, results("a", "b", "c", "c"), result_check="strict") == ["MATCHED"] * 4


def test_one_wrong_value_among_many_is_one_mismatch() -> None:
    told_results = claims("1", "2", "9", "4")
    found = verdicts(told_results, results("4", "3", "2", "1"), result_check="strict")
    assert found == ["MATCHED", "MATCHED", "RESULT_MISMATCH", "MATCHED"]


def test_a_told_failure_goes_to_the_failed_call_and_a_value_to_the_success() -> None:
    executions = [ran(result="42", n=1), failed(n=2)]
    assert verdicts(claims("it timed out", "42"), executions, result_check="strict") == ["MATCHED", "MATCHED"]


def test_an_enumerated_claim_may_stand_on_any_success() -> None:
    executions = [failed(n=1), ran(result="42", n=2), failed(n=3)]
    assert verdicts(claims("42"), executions) == ["MATCHED"]


def test_more_values_than_successes_are_substituted() -> None:
    executions = [failed(n=1), ran(result="42", n=2)]
    assert sorted(verdicts(claims("42", "43"), executions)) == ["MATCHED", "SUBSTITUTED"]


def test_failures_that_name_their_error_find_their_calls() -> None:
    executions = [failed(error="KeyError", n=1), failed(error="TimeoutError", n=2)]
    found = scored(claims("TimeoutError: failed", "KeyError: failed"), executions).detail
    assert [item.execution.error for item in found if item.execution] == ["TimeoutError", "KeyError"]


def test_a_claim_without_a_value_goes_to_a_success_first() -> None:
    executions = [failed(n=1), ran(n=2)]
    (item,) = scored(claims(UNSET), executions).detail
    assert item.execution is not None
    assert item.execution.n == 2


def test_a_value_goes_to_an_open_call_before_a_failed_one() -> None:
    executions = [failed(n=1), ran(result=UNSET, n=2, status=Status.UNFINISHED)]
    assert verdicts(claims("42"), executions) == ["UNRESOLVED"]


def test_pairs_are_in_log_order_where_nothing_tells_them_apart() -> None:
    found = scored(claims("ok", "ok", "ok"), results("ok", "ok", "ok")).detail
    assert [item.execution.n for item in found if item.execution] == [0, 1, 2]


def test_what_is_left_is_handed_back() -> None:
    pairs, left, free = assign([(0, told(result="b")), (1, told(result="c"))], results("b"), Policy())
    assert (len(pairs), left, free) == (1, [1], [])


# -- many --------------------------------------------------------------------------------------------------

MANY = 20_000


def test_very_many_identical_calls_and_claims_are_all_matched() -> None:
    found = scored(claims(*["ok"] * MANY), results(*["ok"] * MANY), result_check="strict")
    assert (found.matched, found.omitted) == (MANY, 0)


def test_very_many_identical_claims_need_as_many_calls() -> None:
    found = scored(claims(*["ok"] * MANY), results(*["ok"] * (MANY - 3)), result_check="strict")
    assert (found.matched, found.fabricated) == (MANY - 3, 3)


def test_very_many_identical_failed_calls_told_as_done_are_substituted() -> None:
    found = scored(claims(*["ok, 7 rows"] * MANY), [failed(n=n) for n in range(MANY)])
    assert found.substituted == MANY


def test_very_many_identical_failed_calls_told_as_failed_are_matched() -> None:
    found = scored(claims(*["it failed"] * MANY), [failed(n=n) for n in range(MANY)])
    assert found.matched == MANY


def test_very_many_failures_of_as_many_kinds_are_matched() -> None:
    executions = [failed(error=f"E{n}", n=n) for n in range(MANY)]
    assert scored(claims(*[f"failed with E{n}" for n in range(MANY)]), executions).matched == MANY


def test_very_many_distinct_calls_are_matched_in_any_order() -> None:
    executions = [ran(args={"i": n}, result=str(n), n=n) for n in range(MANY)]
    told_calls = [told(args={"i": n}, result=str(n)) for n in reversed(range(MANY))]
    assert scored(told_calls, executions, result_check="strict").matched == MANY


def test_very_many_equal_calls_with_own_results_are_matched_in_any_order() -> None:
    values = [str(n) for n in range(MANY)]
    assert scored(claims(*reversed(values)), results(*values), result_check="strict").matched == MANY


def test_very_many_results_told_in_sentences_accuse_nobody() -> None:
    values = [f"v{n}" for n in range(1_000)]
    sentences = [f"The value is {value}." for value in reversed(values)]
    found = scored(claims(*sentences), results(*values), result_check="strict")
    assert found.value_integrity_failures == 0
