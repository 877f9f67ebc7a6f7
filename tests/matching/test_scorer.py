from __future__ import annotations

from typing import Any

import pytest
from matching_words import failed, ran, scored, told, verdicts

from dispatch_fidelity.errors import UsageError
from dispatch_fidelity.jsonio import UNSET
from dispatch_fidelity.matching.policy import Policy, checked
from dispatch_fidelity.model.call import Learned, Status
from dispatch_fidelity.model.claim import Polarity

OPEN = [Status.BACKGROUND, Status.UNFINISHED, Status.UNKNOWN]
NOT_RUN = [Status.REFUSED, Status.INVALID]
FAILED = [Status.RAISED, Status.CANCELLED]
CHECKS = ["off", "contradicted", "strict"]


# -- by the end of the call --------------------------------------------------------------------------------


@pytest.mark.parametrize("status", [Status.RETURNED, Status.CACHED])
@pytest.mark.parametrize("check", CHECKS)
def test_a_success_backs_its_result(status: Status, check: str) -> None:
    assert verdicts([told(result="ok")], [ran(status=status)], result_check=check) == ["MATCHED"]


@pytest.mark.parametrize("status", FAILED + NOT_RUN)
@pytest.mark.parametrize("check", CHECKS)
def test_a_value_over_a_failed_call_is_substituted(status: Status, check: str) -> None:
    assert verdicts([told(result="42 rows")], [failed(status=status)], result_check=check) == ["SUBSTITUTED"]


@pytest.mark.parametrize("status", FAILED + NOT_RUN)
def test_success_over_a_failed_call_is_substituted(status: Status) -> None:
    assert verdicts([told(status="success")], [failed(status=status)]) == ["SUBSTITUTED"]


@pytest.mark.parametrize("status", FAILED + NOT_RUN)
@pytest.mark.parametrize(
    "fields",
    [{"result": "it failed"}, {"error": "TimeoutError"}, {"status": "failed"}, {"result": {"ok": False}}],
    ids=str,
)
def test_a_failed_call_told_as_failed_is_matched(status: Status, fields: dict[str, Any]) -> None:
    assert verdicts([told(**fields)], [failed(status=status)]) == ["MATCHED"]


@pytest.mark.parametrize("status", FAILED)
def test_a_failed_call_told_without_a_result_is_matched(status: Status) -> None:
    assert verdicts([told()], [failed(status=status)]) == ["MATCHED"]


@pytest.mark.parametrize("status", OPEN)
def test_an_open_call_backs_the_claim_of_having_started_it(status: Status) -> None:
    assert verdicts([told()], [ran(result=UNSET, status=status)]) == ["MATCHED"]


@pytest.mark.parametrize("status", OPEN)
@pytest.mark.parametrize("fields", [{"result": "ok"}, {"status": "success"}, {"error": "failed"}], ids=str)
def test_an_open_call_neither_backs_nor_denies_an_end(status: Status, fields: dict[str, Any]) -> None:
    assert verdicts([told(**fields)], [ran(result=UNSET, status=status)]) == ["UNRESOLVED"]


@pytest.mark.parametrize("closed", [True, False])
def test_what_a_present_record_contradicts_fails_everywhere(closed: bool) -> None:
    assert verdicts([told(result="42 rows")], [failed()], closed=closed) == ["SUBSTITUTED"]


def test_a_failed_call_told_by_its_message_is_matched() -> None:
    executions = [failed(message="relation orders does not exist")]
    assert verdicts([told(result="relation orders does not exist")], executions) == ["MATCHED"]


def test_a_failed_call_told_by_what_was_shown_is_matched() -> None:
    assert verdicts([told(result="E42/quota")], [failed(shown="E42/quota")]) == ["MATCHED"]


@pytest.mark.parametrize("learned", [Learned.TEXT_PATTERN, Learned.DEFAULT])
def test_a_verdict_that_rests_on_a_weak_reason_says_so(learned: Learned) -> None:
    (item,) = scored([told(result="42 rows")], [failed(learned=learned)]).detail
    assert item.reason.endswith(("text of its result only", "no flag for failure"))


@pytest.mark.parametrize("learned", [Learned.FLAG, Learned.EXIT_CODE, Learned.VALUE, Learned.SURFACE])
def test_a_verdict_that_rests_on_a_flag_says_nothing_of_weakness(learned: Learned) -> None:
    (item,) = scored([told(result="42 rows")], [failed(learned=learned)]).detail
    assert not item.reason.endswith(("text of its result only", "no flag for failure"))


# -- a failure told of a success ---------------------------------------------------------------------------


@pytest.mark.parametrize("check", ["contradicted", "strict"])
@pytest.mark.parametrize("fields", [{"result": "it timed out"}, {"error": "TimeoutError"}], ids=str)
def test_a_failure_told_of_a_successful_call_is_a_mismatch(check: str, fields: dict[str, Any]) -> None:
    assert verdicts([told(**fields)], [ran(result="42 rows")], result_check=check) == ["RESULT_MISMATCH"]


def test_a_failure_told_of_a_successful_call_is_a_note_where_values_are_not_judged() -> None:
    found = scored([told(result="it timed out")], [ran(result="42 rows")])
    assert (found.matched, len(found.notes)) == (1, 1)


@pytest.mark.parametrize("check", CHECKS)
def test_a_text_about_failures_told_as_it_is_is_matched(check: str) -> None:
    logged = "3 errors: connection refused"
    assert verdicts([told(result=logged)], [ran(result=logged)], result_check=check) == ["MATCHED"]


@pytest.mark.parametrize("check", ["off", "contradicted"])
def test_a_text_about_failures_told_in_other_words_is_matched(check: str) -> None:
    executions = [ran(result="ERROR: connection refused by db-1")]
    assert verdicts([told(result="the database refused the connection")], executions, result_check=check) == [
        "MATCHED"
    ]


# -- the whole ---------------------------------------------------------------------------------------------


def test_every_claim_gets_one_verdict_in_the_order_of_the_report() -> None:
    claims = [told("b", result="2"), told("x"), told("a", result="1")]
    executions = [ran("a", result="1", n=1), ran("b", result="2", n=2)]
    assert [(item.tool, str(item.verdict)) for item in scored(claims, executions).detail] == [
        ("b", "MATCHED"),
        ("x", "FABRICATED"),
        ("a", "MATCHED"),
    ]


def test_a_verdict_carries_the_execution_that_backs_it() -> None:
    (item,) = scored([told(args={"i": 2})], [ran(args={"i": 1}, n=5), ran(args={"i": 2}, n=9)]).detail
    assert item.execution is not None
    assert item.execution.n == 9


def test_a_fabricated_claim_has_no_execution() -> None:
    (item,) = scored([told("x")], [ran("a")]).detail
    assert item.execution is None


def test_no_claim_and_no_execution_is_an_empty_score() -> None:
    found = scored([], [])
    assert (found.claimed, found.clean, found.fabrication_rate) == (0, False, None)


def test_rates_are_shares_of_the_claims() -> None:
    claims = [told("a"), told("x"), told("y"), told("f", result="42 rows")]
    found = scored(claims, [ran("a"), failed("f")])
    assert (found.fabrication_rate, found.substitution_rate) == (0.5, 0.25)


@pytest.mark.parametrize(
    ("canonicalisation", "verdict"), [("json-scalar/2", "MATCHED"), ("coerce-str/1", "FABRICATED")]
)
def test_the_chosen_canonicalisation_decides(canonicalisation: str, verdict: str) -> None:
    executions = [ran(args={"v": {"a": 1, "b": 2}})]
    claims = [told(args={"v": {"b": 2.0, "a": "1"}})]
    assert verdicts(claims, executions, canonicalisation=canonicalisation) == [verdict]


def test_the_score_names_its_choices() -> None:
    found = scored([told()], [ran()], canonicalisation="coerce-str/1", result_check="strict")
    assert (found.arg_canonicalisation, found.result_check) == ("coerce-str/1", "strict")


@pytest.mark.parametrize("choice", [{"result_check": "loose"}, {"canonicalisation": "json/9"}], ids=str)
def test_a_choice_that_does_not_exist_is_refused(choice: dict[str, str]) -> None:
    with pytest.raises(UsageError):
        checked(Policy(**choice))  # type: ignore[arg-type] # a wrong word is the point


def test_matching_reads_the_polarity_and_never_the_words() -> None:
    policy = {"polarity": lambda claim: Polarity.FAILED}
    from dispatch_fidelity.matching.scorer import judge

    verdict, _, _ = judge(told(result="forty-two rows, all fine"), failed(), Policy(**policy))  # type: ignore[arg-type]
    assert verdict == "MATCHED"
