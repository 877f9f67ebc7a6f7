from __future__ import annotations

import json
from typing import Any

import pytest

from dispatch_fidelity.claims.block import Block, find_blocks
from dispatch_fidelity.jsonio import Defect

ITEM = {"tool": "look", "args": {"at": "here"}, "result": "seen"}
BODY = json.dumps({"results": [ITEM]})


def items(report: str) -> list[list[Any]]:
    """The items of each block that can be read."""
    return [[item for item, _, _ in block.items] for block in find_blocks(report) if not block.problem]


def only(report: str) -> Block:
    (block,) = find_blocks(report)
    return block


# -- where a block may stand -------------------------------------------------------------------------------

PLACES = {
    "fence": f"```json\n{BODY}\n```",
    "upper-case": f"```JSON\n{BODY}\n```",
    "mixed-case": f"```Json\n{BODY}\n```",
    "jsonc": f"```jsonc\n{BODY}\n```",
    "json5": f"```json5\n{BODY}\n```",
    "info-with-more": f'```json title="calls"\n{BODY}\n```',
    "spaced-info": f"``` json\n{BODY}\n```",
    "other-info": f"```text\n{BODY}\n```",
    "no-info": f"```\n{BODY}\n```",
    "more-marks": f"`````json\n{BODY}\n`````",
    "longer-closing": f"```json\n{BODY}\n`````",
    "tildes": f"~~~\n{BODY}\n~~~",
    "tildes-json": f"~~~JSON\n{BODY}\n~~~",
    "indented": f"   ```json\n   {BODY}\n   ```",
    "crlf": f"Done.\r\n\r\n```json\r\n{BODY}\r\n```\r\n",
    "unclosed": f"```json\n{BODY}",
    "unclosed-with-blanks": f"```json\n{BODY}\n\n   \n",
    "blank-lines-inside": f"```json\n\n\n{BODY}\n\n\n```",
    "bare": BODY,
    "bare-after-prose": f"Done.\n\n{BODY}",
    "bare-on-the-line-of-prose": f"My calls: {BODY}",
    "bare-with-blanks": f"Done.\n{BODY}\n\n \n",
    "bare-after-a-fence": f"```python\nprint(1)\n```\n\n{BODY}\n",
    "bare-after-braces": f"I set {{x}} and }} and {{.\n\n{BODY}",
    "bare-indented": json.dumps({"results": [ITEM]}, indent=4),
    "prose-after-the-fence": f"```json\n{BODY}\n```\nThat is all.",
    "after-other-code": f"```sh\nls\n```\n```json\n{BODY}\n```",
    "inside-an-unclosed-fence": f"```sh\nls\n\n```json\n{BODY}\n```",
    "inside-an-unclosed-tilde-fence": f"~~~\nls\n```json\n{BODY}\n```",
    "inside-a-longer-fence": f"````markdown\n```json\n{BODY}\n```\n````",
    "opened-behind-prose": f"My calls: ```json\n{BODY}\n```",
    "on-one-line": f"```json {BODY} ```",
    "begun-on-the-line-of-the-fence": "```json " + json.dumps({"results": [ITEM]}, indent=1) + "\n```",
    "closed-on-the-last-line": f"```json\n{BODY}```",
    "prose-behind-the-closing-marks": f"```json\n{BODY}\n``` That is all.",
}


@pytest.mark.parametrize("place", PLACES)
def test_a_block_is_found_wherever_it_stands(place: str) -> None:
    assert items(PLACES[place]) == [[ITEM]]


@pytest.mark.parametrize("place", PLACES)
def test_a_block_ends_where_its_words_end(place: str) -> None:
    report = PLACES[place]
    block = only(report)
    assert json.loads(report[block.start : block.end]) == {"results": [ITEM]}


@pytest.mark.parametrize(
    "report",
    [
        "",
        "Everything was looked up.",
        "```json\n```",
        "```json\n[]\n```",
        '```json\n{"answer": 42}\n```',
        '```json\n["results"]\n```',
        '```json\n{"answer": {"results": []}}\n```',
        '{"answer": "the results: none"}',
        f"`{BODY}`",
        "```python\nresults = {'a': 1}\n```",
        "The results: {a} and {b}",
    ],
)
def test_what_is_no_object_with_results_is_no_block(report: str) -> None:
    assert find_blocks(report) == []


def test_every_block_is_found_in_order() -> None:
    report = "".join(f'```json\n{{"results": [{n}]}}\n```\n' for n in range(5)) + '{"results": [5]}'
    assert items(report) == [[0], [1], [2], [3], [4], [5]]


@pytest.mark.parametrize("indent", [None, 2])
@pytest.mark.parametrize(
    "text",
    [
        "```",
        "```json",
        "a\n```\nb",
        '```json\n{"results": []}\n```',
        "~~~\n",
        "{",
        "}",
        '"}',
        "// no comment",
        "/*",
    ],
)
def test_what_stands_in_a_string_ends_and_begins_nothing(text: str, indent: int | None) -> None:
    item = {**ITEM, "result": text}
    body = json.dumps({"results": [item, ITEM]}, indent=indent)
    assert items(f"```json\n{body}\n```") == [[item, ITEM]]


# -- what is read, and what is not -------------------------------------------------------------------------


@pytest.mark.parametrize(
    "body",
    [
        '// my calls\n{"results": [{"tool": "t"}]}',
        '{"results": [ // one\n{"tool": "t"}]}',
        '{"results": [/* one */ {"tool": "t"}]}',
        '{/**/"results"/* */:/**/[{"tool"://\n"t"}]}',
        '{"results": [{"tool": "t"},]}',
        '{"results": [{"tool": "t",}],}',
        '{"results": [\n  {"tool": "t"}, // last\n]}',
        '{"results": [{"tool": "t"},\n\n  ]\n}',
    ],
)
def test_comments_and_trailing_commas_are_accepted(body: str) -> None:
    assert items(f"```json\n{body}\n```") == [[{"tool": "t"}]]


@pytest.mark.parametrize("text", ["http://a/b", "a /* b */ c", ",]", ",}", "// x", '\\" // y', "\\\\"])
def test_a_string_that_looks_like_a_comment_is_kept(text: str) -> None:
    body = json.dumps({"results": [{"tool": text}]})[:-1] + ",}"
    assert items(f"```json\n{body}\n```") == [[{"tool": text}]]


UNREADABLE = {
    "truncated": '{"results": [{"tool": "t", "args": {"a": 1',
    "single-quotes": "{'results': [{'tool': 't'}]}",
    "python-words": '{"results": [{"tool": "t", "args": {"a": None}}]}',
    "missing-comma": '{"results": [{"tool": "t"} {"tool": "u"}]}',
    "two-commas": '{"results": [{"tool": "t"},,]}',
    "unquoted": '{"results": [{tool: "t"}]}',
    "two-documents": '{"results": []} {"results": []}',
    "no-list": '{"results": {"tool": "t"}}',
    "null": '{"results": null}',
    "results-twice": '{"results": [{"tool": "t"}], "results": []}',
    "raw-line-feed-in-a-string": '{"results": [{"tool": "t\nu"}]}',
    "too-deep": '{"results": [' + "[" * 200 + "]" * 200 + "]}",
    "unclosed-string": '{"results": [{"tool": "t}]}',
}


@pytest.mark.parametrize("name", list(UNREADABLE))
def test_a_block_that_does_not_parse_is_kept_as_unreadable(name: str) -> None:
    assert only(f"```json\n{UNREADABLE[name]}\n```").problem


def test_a_bare_object_that_does_not_close_the_report_is_unreadable() -> None:
    assert only(f"{BODY}\n\nThat is all.").problem


@pytest.mark.parametrize("name", ["truncated", "two-commas", "no-list"])
def test_a_bare_block_that_does_not_parse_is_kept_as_unreadable(name: str) -> None:
    assert only(f"Done.\n\n{UNREADABLE[name]}").problem


@pytest.mark.parametrize(
    "item",
    [
        '{"tool": "t", "tool": "u"}',
        '{"tool": "t", "args": {"a": 1, "a": 2}}',
        '{"tool": "t", "args": {"a": NaN}}',
        '{"tool": "t", "args": {"a": -Infinity}}',
        '{"tool": "t", "args": {"a": 1e999}}',
        '{"tool": "t", "args": {"a": ' + "7" * 5000 + "}}",
    ],
    ids=["tool-twice", "argument-twice", "nan", "infinity", "out-of-range", "long-integer"],
)
def test_only_the_item_that_violates_strict_json_is_marked(item: str) -> None:
    def marked(value: Any) -> bool:
        if isinstance(value, Defect):
            return True
        return isinstance(value, dict) and any(marked(inner) for inner in value.values())

    (found,) = items(f'```json\n{{"results": [{{"tool": "ok"}}, {item}]}}\n```')
    assert [marked(value) for value in found] == [False, True]


# -- spans -------------------------------------------------------------------------------------------------

TEXTS = ["seen", "größer", "東京 🙂", "e\u0301", "a\u2028b", "```", 'say "x", {y}']


@pytest.mark.parametrize("ascii_only", [True, False])
@pytest.mark.parametrize("indent", [None, 2])
@pytest.mark.parametrize("words", ["Done.", "Größe 東京 🙂:"])
def test_a_span_holds_the_words_of_its_item(words: str, indent: int | None, ascii_only: bool) -> None:
    told = [{"tool": "look", "args": {"at": text}} for text in TEXTS]
    report = f"{words}\n```json\n{json.dumps({'results': told}, indent=indent, ensure_ascii=ascii_only)}\n```"
    assert [json.loads(report[start:end]) for _, start, end in only(report).items] == told


def test_spans_of_equal_items_follow_each_other() -> None:
    report = f"```json\n{json.dumps({'results': [ITEM] * 3})}\n```"
    spans = [(start, end) for _, start, end in only(report).items]
    assert spans == sorted(set(spans))


def test_a_span_is_right_where_the_same_words_stand_before_the_results() -> None:
    report = '```json\n{"note": "[{\\"tool\\": \\"t\\"}]", "also": [{"tool": "t"}], "results": [{"tool": "t"}]}\n```'
    (_, start, _) = only(report).items[0]
    assert start == report.rindex('{"tool": "t"}')


@pytest.mark.parametrize(
    "body",
    [
        '{"results": [{"tool": "größe"}, /* x */ {"tool": "b"},]}',
        '{"results": [{"tool": "größe"}, {"tool": "b", "args": {"a": 1, "a": 2}}]}',
    ],
    ids=["comment", "key-twice"],
)
def test_a_span_is_right_also_where_strict_json_is_violated(body: str) -> None:
    report = f"Größe\n```json\n{body}\n```"
    assert [report[start:end][:9] for _, start, end in only(report).items] == ['{"tool": ', '{"tool": ']


# -- hostile text ------------------------------------------------------------------------------------------

MANY = 20_000


@pytest.mark.parametrize(
    "report",
    [
        pytest.param("```json\n" * MANY, id="openers"),
        pytest.param("```\n" * MANY, id="fences"),
        pytest.param("{" * MANY, id="braces"),
        pytest.param("}" * MANY, id="closing-braces"),
        pytest.param("{}" * MANY, id="empty-objects"),
        pytest.param('"' * MANY, id="quotes"),
        pytest.param("```json\n{" + " \n" * MANY, id="blanks"),
        pytest.param("`" * MANY, id="backticks"),
    ],
)
def test_hostile_text_without_results_holds_no_block(report: str) -> None:
    assert find_blocks(report) == []


@pytest.mark.parametrize(
    "report",
    [
        pytest.param('```json\n{"results": [' + "[" * MANY, id="nested"),
        pytest.param('{"results": [' + '{"a":' * MANY + "1" + "}" * MANY + "]}", id="nested-and-closed"),
        pytest.param('{"results":\n' * MANY, id="unclosed-objects"),
        pytest.param('```json\n{"results": ["' + "\\" * MANY, id="escapes"),
        pytest.param('```json\n{"results": [' + "/*" * MANY, id="comments"),
        pytest.param('```json\n{"results": [' + ", " * MANY, id="commas"),
    ],
)
def test_hostile_text_with_results_is_one_unreadable_block(report: str) -> None:
    assert only(report).problem


def test_very_many_blocks_are_all_read() -> None:
    assert len(items('```json\n{"results": []}\n```\n' * MANY)) == MANY


def test_very_many_items_are_all_read() -> None:
    assert len(items(json.dumps({"results": [ITEM] * MANY}))[0]) == MANY


@pytest.mark.parametrize("text", ["\ud800", "\udfff tail", "a\ud83d b"])
def test_a_lone_surrogate_in_a_report_breaks_nothing(text: str) -> None:
    report = f'{text}\n```json\n{{"results": [{{"tool": "{text}"}}]}}\n```'
    assert items(report) == [[{"tool": text}]]


def test_an_escaped_lone_surrogate_is_kept() -> None:
    assert items('```json\n{"results": [{"tool": "\\ud800"}]}\n```') == [[{"tool": "\ud800"}]]
