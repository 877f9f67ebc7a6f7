from __future__ import annotations

from typing import Any

import pytest

from dispatch_fidelity.matching.canonical import args_key, args_key_v1, canonical, folded, is_unknown

SAME = [
    (1, 1.0),
    (1, "1"),
    (-0.0, 0),
    (1e21, 10**21),
    (0.1, "0.1"),
    (True, "true"),
    (False, "False"),
    (None, "None"),
    (None, "null"),
    ([1, "a"], [1.0, "a"]),
    ({"a": 1, "b": [True]}, {"b": ["True"], "a": "1"}),
    ("é", "e\u0301"),
    ({"é": 1}, {"e\u0301": 1}),
]
OTHER = [
    (1, True),
    (0, False),
    (0, None),
    ("", None),
    (1, 1.5),
    ("1.0", 1),
    ("a", "A"),
    ("a b", "a  b"),
    ([1, 2], [2, 1]),
    ([], {}),
    ([], ""),
    ({"a": 1}, {"a": 2}),
    ({"a": 1}, {"b": 1}),
    ("[1]", [1]),
    ("ａ", "a"),
]


@pytest.mark.parametrize(("one", "other"), SAME, ids=repr)
def test_equal_values_have_one_form(one: Any, other: Any) -> None:
    assert canonical(one) == canonical(other)


@pytest.mark.parametrize(("one", "other"), OTHER, ids=repr)
def test_different_values_have_different_forms(one: Any, other: Any) -> None:
    assert canonical(one) != canonical(other)


@pytest.mark.parametrize(("one", "other"), [*SAME, *OTHER], ids=repr)
def test_arguments_compare_like_their_values(one: Any, other: Any) -> None:
    assert (args_key({"x": one}) == args_key({"x": other})) is (canonical(one) == canonical(other))


@pytest.mark.parametrize("value", [1, "1", None, [1, {"a": [2]}], {"a": {"b": None}}], ids=repr)
def test_a_form_is_hashable(value: Any) -> None:
    assert hash(canonical(value)) == hash(canonical(value))


@pytest.mark.parametrize(
    "number", [2**53, 10**40, -(10**40), 10**4000], ids=["2^53", "10^40", "-10^40", "10^4000"]
)
@pytest.mark.parametrize("write", [str, hex], ids=["decimal", "hexadecimal"])
def test_a_tagged_integer_is_the_number_that_a_report_holds(number: int, write: Any) -> None:
    assert canonical({"$df": "int", "text": write(number)}) == canonical(number)


@pytest.mark.parametrize("text", ["NaN", "Infinity", "-Infinity"])
def test_a_tagged_float_is_its_text(text: str) -> None:
    assert canonical({"$df": "float", "text": text}) == canonical(text)


def test_a_tagged_text_is_the_text_with_its_surrogates() -> None:
    assert canonical({"$df": "str", "text": "a\\ud800"}) == canonical("a\ud800")


@pytest.mark.parametrize("kind", ["opaque", "redacted"])
def test_a_stand_in_is_unknown_at_any_depth(kind: str) -> None:
    stand_in = {"$df": kind, "text": "x"}
    assert [is_unknown(canonical(value)) for value in (stand_in, [stand_in], {"a": [stand_in]}, "x")] == [
        True,
        True,
        True,
        False,
    ]


@pytest.mark.parametrize(
    ("one", "other"), [("A  b", "a B"), (["X"], ["x"]), ({"k": " Y "}, {"k": "y"})], ids=repr
)
def test_folding_drops_letter_case_and_runs_of_white_space(one: Any, other: Any) -> None:
    assert folded(canonical(one)) == folded(canonical(other))


def test_folding_keeps_the_names_of_members() -> None:
    assert folded(canonical({"K": 1})) != folded(canonical({"k": 1}))


@pytest.mark.parametrize(
    ("one", "other", "equal"),
    [
        (True, "True", True),
        (None, "None", True),
        (1, "1", True),
        (1, 1.0, False),
        (True, "true", False),
        (None, "null", False),
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}, False),
        ("é", "e\u0301", False),
    ],
    ids=repr,
)
def test_version_1_compares_the_python_text_of_each_value(one: Any, other: Any, equal: bool) -> None:
    assert (args_key_v1({"x": one}) == args_key_v1({"x": other})) is equal


def test_version_1_does_not_look_at_the_order_of_arguments() -> None:
    assert args_key_v1({"a": 1, "b": 2}) == args_key_v1({"b": 2, "a": 1})
