from __future__ import annotations

import hashlib
from typing import Any

import pytest
from matching_words import ran, scored, told, verdicts

from dispatch_fidelity.matching.candidates import Names, name_segments
from dispatch_fidelity.model.run import ToolSpec

OPAQUE = {"$df": "opaque", "text": "app.Handle", "sha256": "0" * 64}


def hidden(value: str) -> dict[str, str]:
    return {"$df": "redacted", "text": digest(value)}


def digest(value: Any) -> str:
    return hashlib.sha256(f"key{value}".encode()).hexdigest()


# -- names -------------------------------------------------------------------------------------------------


def test_segments_are_folded_and_split_at_name_space_marks() -> None:
    assert name_segments("mcp__My-Files__read_file") == ("mcp", "myfiles", "readfile")


@pytest.mark.parametrize(
    "name",
    [
        "read_file",
        "Read_File",
        "read-file",
        "readFile",
        "READ FILE",
        "fs.read_file",
        "fs:read_file",
        "fs/readFile",
    ],
)
def test_a_name_in_another_spelling_finds_the_tool(name: str) -> None:
    assert Names(["mcp__fs__read_file", "mcp__fs__list"]).find(name) == ("mcp__fs__read_file",)


def test_a_name_with_a_name_space_finds_the_bare_tool() -> None:
    assert Names(["read_file"]).find("functions.read_file") == ("read_file",)


def test_a_name_with_another_name_space_finds_the_one_tool_of_that_name() -> None:
    assert Names(["mcp__fs__read_file", "list"]).find("functions.read_file") == ("mcp__fs__read_file",)


def test_an_exact_name_goes_before_all_that_are_like_it() -> None:
    assert Names(["read", "fs.read", "Read"]).find("read") == ("read",)


def test_a_name_that_fits_several_tools_finds_them_all() -> None:
    assert Names(["a.read", "b.read"]).find("read") == ("a.read", "b.read")


def test_a_name_space_tells_two_tools_of_one_name_apart() -> None:
    assert Names(["a.read", "b.read"]).find("b:read") == ("b.read",)


@pytest.mark.parametrize("name", ["write", "rea", "read_file_2", "", "::", "__"])
def test_a_name_of_no_tool_finds_nothing(name: str) -> None:
    assert Names(["read_file", "list"]).find(name) == ()


def test_of_very_many_tools_of_one_name_a_few_are_found() -> None:
    assert 1 < len(Names([f"server{n}.read" for n in range(10_000)]).find("read")) < 10


@pytest.mark.parametrize("name", ["get_total", "GetTotal", "get-total", "shop.get_total"])
def test_a_claim_under_a_folded_name_is_matched(name: str) -> None:
    assert verdicts([told(name)], [ran("get_total")]) == ["MATCHED"]


def test_a_claim_whose_name_fits_several_tools_is_unresolved() -> None:
    assert verdicts([told("read")], [ran("a.read"), ran("b.read")]) == ["UNRESOLVED"]


def test_a_claim_whose_name_fits_a_called_and_a_declared_tool_is_unresolved() -> None:
    assert verdicts([told("read")], [ran("a.read")], tools={"b.read": ToolSpec()}) == ["UNRESOLVED"]


def test_a_claim_of_a_tool_that_is_not_there_is_fabricated() -> None:
    assert verdicts([told("write")], [ran("read")]) == ["FABRICATED"]


def test_a_claim_of_a_declared_tool_that_was_not_called_is_fabricated() -> None:
    assert verdicts([told("write")], [ran("read")], tools={"write": ToolSpec(), "read": ToolSpec()}) == [
        "FABRICATED"
    ]


def test_an_absent_call_is_unresolved_where_the_record_is_not_closed() -> None:
    assert verdicts([told("write")], [ran("read")], closed=False) == ["UNRESOLVED"]


# -- arguments ---------------------------------------------------------------------------------------------

MOVE = ToolSpec(("source", "target"), {})
LIST = ToolSpec(("path", "depth", "hidden"), {"depth": 1, "hidden": False})


@pytest.mark.parametrize("tools", [{}, {"move": MOVE}], ids=["no-schema", "schema"])
@pytest.mark.parametrize(
    ("args", "verdict"),
    [
        pytest.param({"source": "a", "target": "b"}, "MATCHED", id="exact"),
        pytest.param({"target": "b", "source": "a"}, "MATCHED", id="other-order"),
        pytest.param({"source": "a", "to": "b"}, "MATCHED", id="one-renamed"),
        pytest.param({"from": "a", "target": "b"}, "MATCHED", id="the-other-renamed"),
        pytest.param({"from": "a", "to": "b"}, "UNRESOLVED", id="two-renamed"),
        pytest.param({"from": "b", "to": "a"}, "UNRESOLVED", id="two-renamed-swapped"),
        pytest.param({"source": "b", "target": "a"}, "FABRICATED", id="swapped"),
        pytest.param({"source": "a", "target": "c"}, "FABRICATED", id="other-value"),
        pytest.param({"from": "a", "to": "c"}, "FABRICATED", id="renamed-and-other-value"),
        pytest.param({"source": "a"}, "FABRICATED", id="one-missing"),
        pytest.param({}, "FABRICATED", id="all-missing"),
        pytest.param({"source": "a", "target": "b", "force": True}, "FABRICATED", id="extra"),
        pytest.param({"source": "A", "target": "b"}, "MATCHED", id="other-case"),
        pytest.param({"source": " a ", "target": "b"}, "MATCHED", id="white-space"),
    ],
)
def test_arguments_are_compared_tier_by_tier(
    tools: dict[str, ToolSpec], args: dict[str, Any], verdict: str
) -> None:
    assert verdicts([told("move", args)], [ran("move", {"source": "a", "target": "b"})], tools=tools) == [
        verdict
    ]


@pytest.mark.parametrize(
    ("logged", "args", "verdict"),
    [
        pytest.param({"path": "/"}, {"path": "/", "depth": 1}, "MATCHED", id="told"),
        pytest.param({"path": "/", "depth": 1}, {"path": "/"}, "MATCHED", id="left-out"),
        pytest.param({"path": "/", "hidden": False}, {"path": "/", "depth": 1}, "MATCHED", id="each-another"),
        pytest.param({"path": "/"}, {"path": "/", "depth": 2}, "FABRICATED", id="told-otherwise"),
        pytest.param({"path": "/", "depth": 2}, {"path": "/"}, "FABRICATED", id="called-otherwise"),
        pytest.param({"path": "/"}, {"path": "/", "follow": 1}, "FABRICATED", id="undeclared"),
        pytest.param({"path": "/"}, {"path": "/", "depth": 1, "follow": True}, "FABRICATED", id="extra"),
    ],
)
def test_defaults_may_be_told_or_left_out(logged: dict[str, Any], args: dict[str, Any], verdict: str) -> None:
    assert verdicts([told("list", args)], [ran("list", logged)], tools={"list": LIST}) == [verdict]


def test_one_unknown_name_with_defaults_left_out_is_matched() -> None:
    logged = {"path": "/", "depth": 1, "hidden": False}
    assert verdicts([told("list", {"dir": "/"})], [ran("list", logged)], tools={"list": LIST}) == ["MATCHED"]


def test_a_declared_name_is_never_taken_for_another() -> None:
    spec = ToolSpec(("create", "delete"), {"create": "", "delete": ""})
    executions = [ran("change", {"create": "a"})]
    assert verdicts([told("change", {"delete": "a"})], executions, tools={"change": spec}) == ["FABRICATED"]


def test_a_claim_says_under_which_tier_it_was_matched() -> None:
    (item,) = scored(
        [told("move", {"source": "a", "to": "b"})], [ran("move", {"source": "a", "target": "b"})]
    ).detail
    assert "other parameter names" in item.reason


def test_a_folded_match_says_so() -> None:
    (item,) = scored([told("get", {"q": "ALPHA  beta"})], [ran("get", {"q": "alpha beta"})]).detail
    assert "letter case and white space" in item.reason


def test_equal_calls_that_fit_once_folded_are_matched() -> None:
    executions = [ran("get", {"q": "a b"}, n=1), ran("get", {"q": "a b"}, n=2)]
    assert verdicts([told("get", {"q": "A B"}), told("get", {"q": "A  B"})], executions) == [
        "MATCHED",
        "MATCHED",
    ]


def test_different_calls_that_fit_once_folded_are_unresolved() -> None:
    executions = [ran("get", {"q": "a"}, n=1), ran("get", {"q": "A"}, n=2)]
    assert verdicts([told("get", {"q": " a"})], executions) == ["UNRESOLVED"]


def test_of_different_calls_that_fit_once_folded_the_free_one_is_matched() -> None:
    executions = [ran("get", {"q": "a"}, n=1), ran("get", {"q": "A"}, n=2)]
    assert verdicts([told("get", {"q": "A"}), told("get", {"q": "a "})], executions) == ["MATCHED", "MATCHED"]


def test_a_tier_takes_no_call_that_another_claim_states_exactly() -> None:
    claims = [told("move", {"source": "a", "to": "b"}), told("move", {"source": "a", "target": "b"})]
    assert verdicts(claims, [ran("move", {"source": "a", "target": "b"})]) == ["FABRICATED", "MATCHED"]


@pytest.mark.parametrize("stand_in", [OPAQUE, hidden("a")], ids=["opaque", "redacted"])
def test_an_argument_known_only_as_a_stand_in_leaves_the_claim_unresolved(stand_in: dict[str, str]) -> None:
    assert verdicts([told("put", {"x": "a", "n": 1})], [ran("put", {"x": stand_in, "n": 1})]) == [
        "UNRESOLVED"
    ]


@pytest.mark.parametrize("stand_in", [OPAQUE, hidden("a")], ids=["opaque", "redacted"])
def test_another_known_argument_is_fabricated_all_the_same(stand_in: dict[str, str]) -> None:
    assert verdicts([told("put", {"x": "a", "n": 2})], [ran("put", {"x": stand_in, "n": 1})]) == [
        "FABRICATED"
    ]


@pytest.mark.parametrize("nested", [[OPAQUE], {"deep": [OPAQUE]}], ids=["list", "object"])
def test_a_stand_in_inside_an_argument_leaves_the_claim_unresolved(nested: Any) -> None:
    assert verdicts([told("put", {"x": "a"})], [ran("put", {"x": nested})]) == ["UNRESOLVED"]


def test_one_opaque_call_backs_at_most_one_claim() -> None:
    claims = [told("put", {"x": "a"}), told("put", {"x": "b"})]
    assert verdicts(claims, [ran("put", {"x": OPAQUE})]) == ["UNRESOLVED", "FABRICATED"]


@pytest.mark.parametrize(("value", "verdict"), [("a", "MATCHED"), ("b", "FABRICATED")])
def test_the_key_decides_a_redacted_argument(value: str, verdict: str) -> None:
    executions = [ran("put", {"x": hidden("a")})]
    assert verdicts([told("put", {"x": value})], executions, keyed_digest=digest) == [verdict]


def test_the_key_cannot_decide_an_opaque_argument() -> None:
    assert verdicts([told("put", {"x": "a"})], [ran("put", {"x": OPAQUE})], keyed_digest=digest) == [
        "UNRESOLVED"
    ]


# -- hostile numbers of alike calls ------------------------------------------------------------------------


def test_thousands_of_calls_with_equal_values_under_other_names_accuse_nobody() -> None:
    executions = [ran("put", {f"k{n}": "v", f"l{n}": "w"}, n=n) for n in range(5_000)]
    claims = [told("put", {f"x{n}": "v", f"y{n}": "w"}) for n in range(5_000)]
    assert set(verdicts(claims, executions)) == {"UNRESOLVED"}


def test_thousands_of_calls_that_differ_in_letter_case_accuse_nobody() -> None:
    texts = [
        "".join(c.upper() if n >> k & 1 else c for k, c in enumerate("abcdefghijkl")) for n in range(4096)
    ]
    executions = [ran("put", {"q": text}, n=n) for n, text in enumerate(texts)]
    claims = [told("put", {"q": f" {text}"}) for text in texts]
    assert set(verdicts(claims, executions)) == {"UNRESOLVED"}
