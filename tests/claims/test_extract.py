from __future__ import annotations

import json
from typing import Any

import pytest

from dispatch_fidelity import InvalidInputError, extract_claims
from dispatch_fidelity.claims import extract as extract_module
from dispatch_fidelity.claims.extract import extract
from dispatch_fidelity.jsonio import LIMITS, UNSET
from dispatch_fidelity.model.claim import Claim, Extraction, Source, Strength

LOOK = {"tool": "look", "args": {"at": "here"}, "result": "seen"}
READ = {"tool": "read", "args": {"path": "a.txt"}, "result": "alpha"}


def block(*items: Any) -> str:
    return f"```json\n{json.dumps({'results': items})}\n```\n"


def one(item: Any) -> Claim:
    (claim,) = extract(block(item)).claims
    return claim


def refusal(item: Any) -> str:
    found = extract(block(item))
    assert not found.claims
    (place,) = found.unreadable
    return place.reason


def tools(found: Extraction) -> tuple[list[str], list[str]]:
    return [claim.tool for claim in found.claims], [claim.tool for claim in found.superseded]


# -- one item ----------------------------------------------------------------------------------------------


def test_an_item_is_an_explicit_claim_of_a_block() -> None:
    claim = one(LOOK)
    assert (claim.tool, claim.args, claim.result) == ("look", {"at": "here"}, "seen")
    assert (claim.source, claim.strength) == (Source.BLOCK, Strength.EXPLICIT)


@pytest.mark.parametrize("key", ["tool", "name"])
def test_the_tool_has_two_keys(key: str) -> None:
    assert one({key: "look"}).tool == "look"


@pytest.mark.parametrize("key", ["args", "arguments", "input", "parameters"])
def test_the_arguments_have_four_keys(key: str) -> None:
    assert one({"tool": "look", key: {"at": 1}}).args == {"at": 1}


@pytest.mark.parametrize("key", ["result", "output", "content"])
def test_the_result_has_three_keys(key: str) -> None:
    assert one({"tool": "look", key: "seen"}).result == "seen"


@pytest.mark.parametrize("key", ["args", "arguments", "input", "parameters"])
def test_arguments_may_be_a_text_that_holds_an_object(key: str) -> None:
    assert one({"tool": "look", key: '{"at": [1, null]}'}).args == {"at": [1, None]}


@pytest.mark.parametrize("args", [None, {}, "", "  ", "{}", "null"], ids=repr)
def test_empty_arguments_are_none(args: Any) -> None:
    assert one({"tool": "look", "args": args}).args == {}


def test_absent_members_are_unset() -> None:
    claim = one({"tool": "look"})
    assert (claim.args, claim.result, claim.error, claim.status) == ({}, UNSET, UNSET, UNSET)


def test_null_members_are_null() -> None:
    claim = one({"tool": "look", "result": None, "error": None, "status": None})
    assert (claim.result, claim.error, claim.status) == (None, None, None)


def test_error_and_status_are_kept() -> None:
    claim = one({"tool": "look", "error": "E42", "status": "failed"})
    assert (claim.error, claim.status) == ("E42", "failed")


def test_the_first_key_in_order_goes_before_its_aliases() -> None:
    claim = one(
        {"name": "b", "tool": "a", "input": {"x": 2}, "args": {"x": 1}, "content": "v", "result": "u"}
    )
    assert (claim.tool, claim.args, claim.result) == ("a", {"x": 1}, "u")


def test_unknown_members_are_no_obstacle() -> None:
    assert one({"tool": "look", "why": {"deep": [1]}, "step": 3}).tool == "look"


@pytest.mark.parametrize("value", [0, 1.5, True, [1], {"a": 1}, "text"], ids=repr)
def test_a_result_of_any_type_is_kept_as_it_is(value: Any) -> None:
    assert one({"tool": "look", "result": value}).result == value


@pytest.mark.parametrize(
    "item",
    [
        "look(at=here)",
        3,
        None,
        True,
        [],
        [LOOK],
        {},
        {"args": {"at": 1}},
        {"tool": ""},
        {"tool": None},
        {"tool": 7},
        {"tool": ["look"]},
        {"tool": "look", "args": [1]},
        {"tool": "look", "args": 7},
        {"tool": "look", "args": "here"},
        {"tool": "look", "args": "[1]"},
        {"tool": "look", "args": '{"at": 1'},
        {"tool": "look", "args": '{"at": 1, "at": 2}'},
    ],
    ids=repr,
)
def test_an_item_that_cannot_be_read_as_a_claim_is_unreadable(item: Any) -> None:
    assert refusal(item)


def test_an_unreadable_item_takes_its_neighbours_with_it_nowhere() -> None:
    found = extract(block(LOOK, "text", READ))
    assert (tools(found)[0], len(found.unreadable)) == (["look", "read"], 1)


def test_an_unreadable_item_has_its_place() -> None:
    report = block(LOOK, "a text", READ)
    (place,) = extract(report).unreadable
    assert report[slice(*place.span)] == '"a text"'


@pytest.mark.parametrize(
    "item",
    [
        '{"tool": "look", "tool": "read"}',
        '{"tool": "look", "args": {"at": 1, "at": 1}}',
        '{"tool": "look", "args": {"at": {"b": 1, "b": 2}}}',
        '{"tool": "look", "result": {"a": 1, "a": 2}}',
        '{"tool": "look", "args": {"at": NaN}}',
        '{"tool": "look", "result": Infinity}',
        '{"tool": "look", "error": NaN}',
        '{"tool": "look", "why": {"a": 1, "a": 2}}',
    ],
)
def test_an_item_in_which_strict_json_is_violated_is_unreadable(item: str) -> None:
    found = extract(f'```json\n{{"results": [{json.dumps(READ)}, {item}]}}\n```')
    assert (tools(found)[0], len(found.unreadable)) == (["read"], 1)


@pytest.mark.parametrize(
    "body", ['{"results": [', '{"results": 3}', "{'results': []}", '{"results": [], "results": []}']
)
def test_a_block_that_does_not_parse_is_one_unreadable_item(body: str) -> None:
    found = extract(f"```json\n{body}\n```")
    assert (found.claims, len(found.unreadable), found.last_is_empty) == ((), 1, False)


# -- several blocks ----------------------------------------------------------------------------------------


def test_the_last_block_is_the_statement() -> None:
    assert tools(extract(block(LOOK) + block(READ))) == (["read"], ["look"])


def test_what_the_last_block_repeats_is_not_superseded() -> None:
    assert tools(extract(block(LOOK, READ) + block(READ, LOOK))) == (["read", "look"], [])


def test_another_result_for_the_same_call_drops_no_claim() -> None:
    assert tools(extract(block(LOOK) + block({**LOOK, "result": "other"}))) == (["look"], [])


def test_a_claim_that_two_earlier_blocks_make_is_superseded_once() -> None:
    assert tools(extract(block(LOOK) + block(LOOK) + block(READ))) == (["read"], ["look"])


def test_a_call_told_more_often_by_an_earlier_block_is_superseded_as_often() -> None:
    assert tools(extract(block(LOOK, LOOK, LOOK) + block(LOOK))) == (["look"], ["look", "look"])


def test_an_unreadable_last_block_leaves_the_last_readable_one_as_the_statement() -> None:
    found = extract(block(LOOK) + '```json\n{"results": [\n```\n')
    assert (tools(found), len(found.unreadable)) == ((["look"], []), 1)


def test_an_unreadable_first_block_is_counted() -> None:
    found = extract('```json\n{"results": [}\n```\n' + block(LOOK))
    assert (tools(found)[0], len(found.unreadable)) == (["look"], 1)


def test_an_unreadable_item_of_an_earlier_block_is_counted() -> None:
    assert len(extract(block("text", LOOK) + block(LOOK)).unreadable) == 1


def test_an_empty_last_block_supersedes_everything() -> None:
    found = extract(block(LOOK) + block())
    assert (tools(found), found.last_is_empty) == (([], ["look"]), True)


def test_an_empty_first_block_is_nothing() -> None:
    found = extract(block() + block(LOOK))
    assert (tools(found), found.last_is_empty, found.blocks) == ((["look"], []), False, 2)


def test_a_single_empty_block_is_empty() -> None:
    found = extract(block())
    assert (found.claims, found.last_is_empty, found.blocks) == ((), True, 1)


def test_a_report_without_a_block_claims_nothing() -> None:
    found = extract("Everything was looked up and computed.")
    assert (found.claims, found.blocks, found.last_is_empty) == ((), 0, False)


# -- templates ---------------------------------------------------------------------------------------------

TEMPLATES = [
    {"tool": "<name>", "args": {"<parameter>": "<value>"}, "result": "<what it returned>"},
    {"tool": "...", "args": {}, "result": "..."},
    {"tool": "tool_name", "args": {"a": 1}, "result": "x"},
    {"tool": "TOOL_NAME", "args": {}},
    {"tool": "YOUR_TOOL", "args": {}},
    {"tool": "look", "args": {"at": "<place>"}, "result": "…"},
    {"tool": "look", "args": {"at": "{place}"}, "result": "[result]"},
]


@pytest.mark.parametrize("template", TEMPLATES, ids=repr)
def test_a_block_of_placeholders_before_a_readable_one_is_ignored(template: dict[str, Any]) -> None:
    assert tools(extract(block(template) + block(LOOK))) == (["look"], [])


@pytest.mark.parametrize("template", TEMPLATES, ids=repr)
def test_a_block_of_placeholders_that_is_the_last_one_is_the_statement(template: dict[str, Any]) -> None:
    assert tools(extract(block(LOOK) + block(template)))[0] == [template["tool"]]


def test_a_block_of_placeholders_and_a_claim_is_no_template() -> None:
    assert tools(extract(block(TEMPLATES[0], READ) + block(LOOK)))[1] == ["<name>", "read"]


def test_an_instruction_that_the_agent_repeats_is_a_template() -> None:
    from dispatch_fidelity.claims.instructions import claims_instruction

    assert tools(extract(f"{claims_instruction()}\n\n{block(LOOK)}")) == (["look"], [])


def test_a_block_of_tools_unknown_to_the_run_is_a_template() -> None:
    report = block({"tool": "get_weather", "args": {"city": "Paris"}}) + block(LOOK)
    assert tools(extract(report, {"look", "read"})) == (["look"], [])


def test_a_block_of_unknown_tools_is_none_where_the_tools_of_the_run_are_not_known() -> None:
    report = block({"tool": "get_weather", "args": {"city": "Paris"}}) + block(LOOK)
    assert tools(extract(report)) == (["look"], ["get_weather"])


@pytest.mark.parametrize("name", ["Look", "fs.look", "mcp__fs__look", "LOOK"])
def test_a_tool_of_the_run_under_a_folded_name_is_known(name: str) -> None:
    report = block({"tool": name, "args": {"at": "there"}}) + block(LOOK)
    assert tools(extract(report, {"look"})) == (["look"], [name])


def test_a_block_with_one_known_tool_is_no_template() -> None:
    report = block({"tool": "get_weather"}, {"tool": "look", "args": {"at": "there"}}) + block(LOOK)
    assert tools(extract(report, {"look"}))[1] == ["get_weather", "look"]


# -- spans and limits --------------------------------------------------------------------------------------


def test_the_span_of_a_claim_holds_its_words_whatever_stands_before() -> None:
    report = "Größe 東京 🙂 e\u0301\n" + block({"tool": "größe"}) + block(LOOK, READ)
    found = extract(report)
    assert [json.loads(report[slice(*claim.span)]) for claim in (*found.superseded, *found.claims)] == [
        {"tool": "größe"},
        LOOK,
        READ,
    ]


def test_claims_are_given_in_the_order_of_the_report() -> None:
    claims = extract_claims(block(*[{"tool": f"t{n}"} for n in range(100)]))
    assert [claim.tool for claim in claims] == [f"t{n}" for n in range(100)]


def test_a_report_beyond_the_limit_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(extract_module, "LIMITS", LIMITS._replace(report=100))
    with pytest.raises(InvalidInputError, match="longer than 100"):
        extract("x" * 101)


def test_more_claims_than_the_limit_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(extract_module, "LIMITS", LIMITS._replace(claims=3))
    with pytest.raises(InvalidInputError, match="more than 3"):
        extract(block(LOOK, LOOK, LOOK, LOOK))


def test_as_many_claims_as_the_limit_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(extract_module, "LIMITS", LIMITS._replace(claims=3))
    assert len(extract(block(LOOK, LOOK, LOOK)).claims) == 3
