from __future__ import annotations

import hashlib
import json
from typing import Any

import pytest
from matching_words import ran, verdicts
from matching_words import told as claim

from dispatch_fidelity.jsonio import UNSET
from dispatch_fidelity.matching.contradictions import contradiction
from dispatch_fidelity.matching.results import claims_value, is_empty, result_key
from dispatch_fidelity.model.call import Blob


def strict(logged: Any, told: Any, **fields: Any) -> list[str]:
    return verdicts([claim(result=told)], [ran(result=logged, **fields)], result_check="strict")


def contradicted(logged: Any, told: Any) -> list[str]:
    return verdicts([claim(result=told)], [ran(result=logged)], result_check="contradicted")


# -- what is a value ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("result", [UNSET, None, "", "  ", "None", "null", [], {}], ids=repr)
@pytest.mark.parametrize("check", ["off", "contradicted", "strict"])
def test_an_absent_null_or_empty_result_claims_no_value(result: Any, check: str) -> None:
    executions = [ran(result="42")]
    assert not claims_value(result)
    assert verdicts([claim(result=result)], executions, result_check=check) == ["MATCHED"]


@pytest.mark.parametrize("result", [0, False, "0", "nothing", [None], {"a": None}], ids=repr)
def test_a_false_value_is_claimed(result: Any) -> None:
    assert claims_value(result)


@pytest.mark.parametrize(
    "result",
    [UNSET, None, "", " \n", "null", "(No content)", "(none)", "(no output)", "[]", "{}", [], {}],
    ids=repr,
)
def test_a_logged_result_is_empty_also_in_the_words_of_a_harness(result: Any) -> None:
    assert is_empty(result)


@pytest.mark.parametrize(
    "result", [0, False, "0", "ok", [0], {"rows": []}, "no rows match the filter"], ids=repr
)
def test_a_logged_value_is_not_empty(result: Any) -> None:
    assert not is_empty(result)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"a": 1, "b": 2}, '{"b": 2, "a": 1}'),
        ([1, 2], "[1,2]"),
        ("4", 4),
        (4.0, "4"),
        (" x ", "x"),
        (None, "null"),
    ],
    ids=repr,
)
def test_results_are_equal_by_value(one: Any, other: Any) -> None:
    assert result_key(one) == result_key(other)


@pytest.mark.parametrize(
    ("one", "other"), [("[1,2]", [2, 1]), ("4", "5"), ("x", "X"), ('{"a":1}', {"a": 2})], ids=repr
)
def test_results_of_other_values_are_not_equal(one: Any, other: Any) -> None:
    assert result_key(one) != result_key(other)


# -- strict ------------------------------------------------------------------------------------------------

CARRIED = [
    pytest.param("42", "42", id="same"),
    pytest.param("42", "The answer is 42.", id="sentence"),
    pytest.param("42", "answer=42", id="after-equals"),
    pytest.param("42", "(42)", id="brackets"),
    pytest.param("42", '"42"', id="quotes"),
    pytest.param("42", "42, as expected", id="comma"),
    pytest.param("42", "$42", id="currency"),
    pytest.param("42", "a-42", id="after-hyphenated-word"),
    pytest.param("42", {"answer": "42"}, id="leaf"),
    pytest.param("42", [41, 42], id="list-leaf"),
    pytest.param("-4", "it is -4", id="negative"),
    pytest.param("all good", "Result:  all\n good!", id="white-space"),
    pytest.param("line 1\nline 2", "line 1\nline 2\nand no more", id="lines"),
    pytest.param({"a": [1, 2]}, '{"a": [1, 2]}', id="json-text"),
    pytest.param('{"a": [1, 2]}', {"a": [1, 2]}, id="json-object"),
    pytest.param({"a": 1, "b": 2}, {"b": 2.0, "a": "1"}, id="json-by-value"),
    pytest.param([1, 2], "It returned [1,2].", id="json-in-a-sentence"),
    pytest.param(True, "true", id="true"),
    pytest.param(None, "nothing came back", id="null"),
    pytest.param("", "empty", id="empty"),
    pytest.param("(No content)", "no content", id="harness-words"),
    pytest.param("Straße 東京", "Adresse: Straße 東京", id="other-scripts"),
]
NOT_CARRIED = [
    pytest.param("4", "1247", id="inside-a-number"),
    pytest.param("4", "42", id="at-the-start-of-a-number"),
    pytest.param("4", "24", id="at-the-end-of-a-number"),
    pytest.param("4", "0.4", id="a-fraction"),
    pytest.param("4", "4.2", id="before-a-fraction"),
    pytest.param("4", "4,200", id="before-thousands"),
    pytest.param("4", "-4", id="other-sign"),
    pytest.param("4", "it is -4", id="other-sign-in-a-sentence"),
    pytest.param("4", "v4", id="inside-a-word"),
    pytest.param("4", "a_4", id="inside-a-name"),
    pytest.param("cat", "concatenate", id="inside-a-longer-word"),
    pytest.param("yes", "no", id="another-word"),
    pytest.param("42", "four", id="no-digits"),
    pytest.param({"a": 1}, {"a": 2}, id="other-member"),
    pytest.param({"a": 1, "b": 2}, {"a": 1}, id="member-left-out"),
    pytest.param([1, 2], [1], id="item-left-out"),
    pytest.param("", "42 rows", id="a-value-for-nothing"),
    pytest.param("(No content)", "7 rows", id="a-value-for-harness-words"),
    pytest.param("all good", "all is good", id="another-wording"),
]


@pytest.mark.parametrize(("logged", "told"), CARRIED)
def test_a_result_that_carries_the_logged_one_is_matched(logged: Any, told: Any) -> None:
    assert strict(logged, told) == ["MATCHED"]


@pytest.mark.parametrize(("logged", "told"), NOT_CARRIED)
def test_a_result_that_does_not_carry_the_logged_one_is_a_mismatch(logged: Any, told: Any) -> None:
    assert strict(logged, told) == ["RESULT_MISMATCH"]


@pytest.mark.parametrize(("logged", "told"), NOT_CARRIED)
def test_values_are_not_judged_by_default(logged: Any, told: Any) -> None:
    assert verdicts([claim(result=told)], [ran(result=logged)]) == ["MATCHED"]


CONTENT = "".join(f"{n}: {n * n}\n" for n in range(5000)).strip()


def blob() -> Blob:
    data = CONTENT.encode()
    return Blob(hashlib.sha256(data).hexdigest(), len(data), CONTENT[:100], path="somewhere")


def of_blob(told: Any, content: str | None = None) -> list[str]:
    executions = [ran(result=blob())]
    return verdicts([claim(result=told)], executions, result_check="strict", read_blob=lambda _: content)


def test_a_large_result_is_known_by_its_digest() -> None:
    assert of_blob(CONTENT) == ["MATCHED"]


def test_white_space_around_a_large_result_does_not_count() -> None:
    assert of_blob(f"\n{CONTENT}\n") == ["MATCHED"]


def test_the_preview_of_a_large_result_is_not_the_result() -> None:
    assert of_blob(CONTENT[:100], CONTENT) == ["RESULT_MISMATCH"]


def test_a_large_result_inside_a_longer_text_is_found_by_its_content() -> None:
    assert of_blob(f"Here it is:\n{CONTENT}\nThat is all.", CONTENT) == ["MATCHED"]


def test_a_large_result_with_another_digit_is_a_mismatch() -> None:
    assert of_blob(CONTENT.replace("4000: ", "4001: "), CONTENT) == ["RESULT_MISMATCH"]


CUT = f"{CONTENT[:1000]}...[truncated {len(CONTENT) - 1000} chars]"


def test_a_cut_result_is_carried_by_the_whole() -> None:
    assert strict(CUT, CONTENT, cut=True) == ["MATCHED"]


def test_a_cut_result_is_carried_by_itself() -> None:
    assert strict(CUT, CUT, cut=True) == ["MATCHED"]


def test_a_cut_result_with_another_beginning_is_a_mismatch() -> None:
    assert strict(CUT, f"x{CONTENT[1:]}", cut=True) == ["RESULT_MISMATCH"]


def test_what_the_model_was_shown_is_as_good_as_the_result() -> None:
    assert strict("raw 17", "about twenty", shown="about twenty") == ["MATCHED"]


# -- contradicted ------------------------------------------------------------------------------------------

CONTRADICTIONS = [
    pytest.param("42", "43", id="bare"),
    pytest.param(42, 43, id="numbers"),
    pytest.param("42", "-42", id="sign"),
    pytest.param("3.14", "3.15", id="last-digit"),
    pytest.param("1200", "1,300", id="separators"),
    pytest.param({"total": 42}, {"total": 43}, id="member"),
    pytest.param({"a": {"total": 42}}, {"a": {"total": 43}}, id="inner-member"),
    pytest.param('{"total": 42}', {"total": 43}, id="member-of-a-text"),
    pytest.param({"total": 42}, "total: 43", id="field-of-an-object"),
    pytest.param({"total": 42}, {"total": "43 EUR"}, id="member-with-a-unit"),
    pytest.param({"total": 3.14159}, {"total": 3.15}, id="rounded-wrongly"),
    pytest.param({"p": 1.234e-7}, {"p": 1.3e-7}, id="small-member"),
    pytest.param({"n": 10**400}, {"n": 10**400 + 1}, id="huge-member"),
    pytest.param({"n": 10**400}, {"n": 5}, id="small-for-a-huge-member"),
    pytest.param({"n": 5}, {"n": 10**400}, id="huge-for-a-small-member"),
    pytest.param({"n": 10**400}, {"n": "5 rows"}, id="text-for-a-huge-member"),
    pytest.param({"ok": False}, {"ok": True}, id="truth"),
    pytest.param("total=42 count=7", "total=43", id="field"),
    pytest.param("12 passed, 0 failed", "13 passed", id="noun"),
    pytest.param("12 rows found", "13 rows found", id="wording"),
    pytest.param("success rate 91%", "success rate 95%", id="percent"),
    pytest.param("booked BK-1234", "booked BK-1235", id="id"),
    pytest.param("commit 9fceb02a", "commit 1fceb02b", id="hex-id"),
    pytest.param("", "17 rows", id="value-for-an-empty-result"),
    pytest.param("(No content)", "17 rows", id="value-for-harness-words"),
    pytest.param([], "17", id="value-for-an-empty-list"),
    pytest.param(None, "17", id="value-for-null"),
]
QUIET = [
    pytest.param("42", "42", id="same"),
    pytest.param("42", "42.0", id="told-with-decimals"),
    pytest.param(42.0, "42", id="logged-with-decimals"),
    pytest.param("3.14159", "3.14", id="rounded"),
    pytest.param("3.14159", "about 3.1", id="rounded-in-words"),
    pytest.param({"mean": 3.14159}, {"mean": 3.14}, id="rounded-member-text"),
    pytest.param("1234567", "1,234,567", id="separators"),
    pytest.param("1234567", "1.2M", id="abbreviated"),
    pytest.param("0.914", "91.4%", id="percent-of-a-share"),
    pytest.param("0.914", "91%", id="rounded-percent"),
    pytest.param("91.4%", "91.4 %", id="spaced-percent"),
    pytest.param({"total": 42, "count": 7}, {"total": 42}, id="member-left-out"),
    pytest.param({"total": 42}, {"sum": 43}, id="other-member"),
    pytest.param({"total": 42, "count": 7}, "total: 42", id="field"),
    pytest.param("12 passed, 3 failed in 1.20s", "12 passed, 3 failed", id="excerpt"),
    pytest.param("12 passed", "All twelve tests passed.", id="words"),
    pytest.param("line 10: def main", "main is defined in the module", id="no-number"),
    pytest.param("ok", "Done.", id="no-values"),
    pytest.param("", "nothing was found", id="nothing-for-an-empty-result"),
    pytest.param("", "0 rows", id="zero-for-an-empty-result"),
    pytest.param([], "an empty list, 0 items", id="zero-for-an-empty-list"),
    pytest.param("booked BK-1234", "BK-1234 is booked", id="id"),
    pytest.param("ids: BK-1234, BK-9999", "BK-1234 among others", id="one-of-two-ids"),
    pytest.param("2026-08-07", "7 August 2026", id="date"),
    pytest.param("120 lines, 3 of them match", "3 lines match", id="another-thing"),
    pytest.param("6.02214076e23", "6.022e23", id="rounded-exponent"),
    pytest.param({"n": 6.02214076e23}, {"n": 6.022e23}, id="rounded-member-exponent"),
    pytest.param({"p": 1.234e-7}, {"p": 1.2e-7}, id="rounded-small-member"),
    pytest.param({"ok": 1}, {"ok": True}, id="truth-as-a-number"),
    pytest.param({"n": 10**400}, {"n": 10**400}, id="huge"),
]


@pytest.mark.parametrize(("logged", "told"), CONTRADICTIONS)
def test_a_contradicted_value_is_a_mismatch(logged: Any, told: Any) -> None:
    assert contradicted(logged, told) == ["RESULT_MISMATCH"]


@pytest.mark.parametrize(("logged", "told"), CONTRADICTIONS)
def test_a_contradicted_value_is_a_note_where_values_are_not_judged(logged: Any, told: Any) -> None:
    assert contradiction(told, ran(result=logged))


@pytest.mark.parametrize(("logged", "told"), QUIET)
def test_another_wording_of_the_same_contradicts_nothing(logged: Any, told: Any) -> None:
    assert contradicted(logged, told) == ["MATCHED"]


@pytest.mark.parametrize(("logged", "told"), CARRIED)
def test_a_result_that_carries_the_logged_one_contradicts_nothing(logged: Any, told: Any) -> None:
    assert contradicted(logged, told) == ["MATCHED"]


@pytest.mark.parametrize(
    "logged", ["42", {"n": 42}, [1, 2], "", None, "BK-1234", "12 passed in 1.2 s", 0.5], ids=repr
)
def test_a_result_never_contradicts_itself(logged: Any) -> None:
    told = logged if isinstance(logged, str) else json.dumps(logged)
    assert contradiction(told, ran(result=logged)) == ""


def test_a_contradiction_names_both_values() -> None:
    found = contradiction({"total": 43}, ran(result={"total": 42}))
    assert "43" in found
    assert "42" in found


def test_a_large_result_that_cannot_be_read_backs_no_value() -> None:
    assert contradicted(blob(), "17") == ["UNRESOLVED"]
