"""The ``tool_use`` blocks of a message: run in order, recorded under their ids, failures marked as such."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from dispatch_fidelity import AsyncToolError, AuditSession, load_log
from dispatch_fidelity.adapters.anthropic_tools import (
    aexecute_tool_use,
    execute_tool_use,
    final_text,
    tool_specs,
)
from dispatch_fidelity.model.assessment import Overall
from dispatch_fidelity.model.call import Status
from dispatch_fidelity.model.execution import Execution
from dispatch_fidelity.simulation.agents import report_of

Session = Callable[..., AuditSession]
Form = Callable[[Any], Any]
LOOKS_LIKE_AN_ERROR = "ERROR:NotFound"


class Sdk:
    """An object of a client library: its members are attributes, and an absent one is an error."""

    def __init__(self, **members: Any) -> None:
        self.__dict__.update(members)


def as_sdk(value: Any) -> Any:
    """A message as the client library gives it: the blocks are objects, the input of a call is a dict."""
    if isinstance(value, dict):
        return Sdk(**{name: value[name] if name == "input" else as_sdk(value[name]) for name in value})
    return [as_sdk(item) for item in value] if isinstance(value, list) else value


def as_dict(value: Any) -> Any:
    """A message as it stands in the JSON of a response."""
    return value


def use(tool: str, given: Any, identifier: str = "toolu_1") -> dict[str, Any]:
    """One ``tool_use`` block."""
    return {"type": "tool_use", "id": identifier, "name": tool, "input": given}


def text(words: str) -> dict[str, Any]:
    """One text block."""
    return {"type": "text", "text": words}


def lookup(key: str) -> str:
    """Look a document up."""
    return {"a": "alpha", "b": "beta", "e": LOOKS_LIKE_AN_ERROR}[key]


def count(text: str) -> dict[str, int]:
    """Count the characters of a text."""
    return {"chars": len(text)}


async def fetch(page: int) -> str:
    """Fetch a page."""
    await asyncio.sleep(0)
    if page < 0:
        raise ValueError("there is no such page")
    return f"page {page}"


TOOLS = {"lookup": lookup, "count": count}


@pytest.fixture
def opened(tmp_path: Path) -> Iterator[Session]:
    """Opens a session in a folder of the test, and closes it after the test."""
    sessions: list[AuditSession] = []

    def opening(tools: Any = TOOLS, **options: Any) -> AuditSession:
        session = AuditSession(tools, run_dir=tmp_path, run_id=f"r{len(sessions)}", **options)
        sessions.append(session)
        return session

    yield opening
    for session in sessions:
        session.close()


@pytest.fixture(params=[as_dict, as_sdk], ids=["dict", "sdk object"])
def form(request: pytest.FixtureRequest) -> Form:
    """Both forms in which a message is handed over."""
    found: Form = request.param
    return found


def executions(session: AuditSession) -> list[Execution]:
    """The calls of a session as its log shows them now."""
    return list(load_log(session.log_path).executions)


def contents(results: list[dict[str, Any]]) -> list[str]:
    return [result["content"] for result in results]


# -- running the calls -------------------------------------------------------------------------------------


def test_each_call_is_answered_by_a_result_block_under_its_id(opened: Session, form: Form) -> None:
    results = execute_tool_use(opened(), form([use("lookup", {"key": "a"}, "toolu_7")]))
    assert results == [{"type": "tool_result", "tool_use_id": "toolu_7", "content": "alpha"}]


def test_a_whole_message_is_taken_as_well_as_its_content(opened: Session, form: Form) -> None:
    message = {"role": "assistant", "stop_reason": "tool_use", "content": [use("lookup", {"key": "a"})]}
    assert contents(execute_tool_use(opened(), form(message))) == ["alpha"]


def test_calls_run_and_are_answered_in_the_order_of_the_message(opened: Session, form: Form) -> None:
    session = opened()
    blocks = [text("First"), *(use("lookup", {"key": key}, f"id-{key}") for key in "ba"), text("Then")]
    results = execute_tool_use(session, form(blocks))
    assert [(result["tool_use_id"], result["content"]) for result in results] == [
        ("id-b", "beta"),
        ("id-a", "alpha"),
    ]
    assert [(e.args["key"], e.source_id) for e in executions(session)] == [("b", "id-b"), ("a", "id-a")]


def test_the_agent_that_asked_lands_in_the_log(opened: Session) -> None:
    session = opened()
    blocks = [use("lookup", {"key": "a"}), use("nope", {}), use("lookup", "no object")]
    execute_tool_use(session, blocks, agent_id="helper")
    assert [execution.agent for execution in executions(session)] == ["helper"] * 3


def test_a_value_that_is_no_text_is_answered_as_json(opened: Session) -> None:
    assert contents(execute_tool_use(opened(), [use("count", {"text": "four"})])) == ['{"chars":4}']


def test_one_call_that_raises_does_not_keep_the_others_from_running(opened: Session, form: Form) -> None:
    session = opened()
    blocks = [use("lookup", {"key": key}, key) for key in ("a", "missing", "b")]
    assert execute_tool_use(session, form(blocks)) == [
        {"type": "tool_result", "tool_use_id": "a", "content": "alpha"},
        {"type": "tool_result", "tool_use_id": "missing", "content": "ERROR:KeyError", "is_error": True},
        {"type": "tool_result", "tool_use_id": "b", "content": "beta"},
    ]
    assert [execution.status for execution in executions(session)] == [
        Status.RETURNED,
        Status.RAISED,
        Status.RETURNED,
    ]


@pytest.mark.parametrize(
    "content", [None, [], "only words", {"role": "assistant", "content": "only words"}], ids=repr
)
def test_content_without_calls_gives_no_results(opened: Session, content: Any) -> None:
    assert execute_tool_use(opened(), content) == []


def test_tools_that_the_provider_runs_are_neither_run_nor_recorded(opened: Session, form: Form) -> None:
    session = opened()
    blocks = [
        {"type": "server_tool_use", "id": "srv_1", "name": "lookup", "input": {"key": "a"}},
        {"type": "mcp_tool_use", "id": "mcp_1", "name": "lookup", "input": {"key": "a"}},
        {"type": "web_search_tool_result", "tool_use_id": "srv_1", "content": []},
    ]
    assert execute_tool_use(session, form(blocks)) == []
    assert executions(session) == []


# -- failures, and only failures, are errors ---------------------------------------------------------------


def test_a_result_that_reads_like_an_error_is_none(opened: Session) -> None:
    session = opened()
    [result] = execute_tool_use(session, [use("lookup", {"key": "e"})])
    assert result["content"] == LOOKS_LIKE_AN_ERROR
    assert "is_error" not in result
    assert executions(session)[0].succeeded


@pytest.mark.parametrize("surface", ["type-only/1", "message/1"])
@pytest.mark.parametrize(
    "block",
    [use("lookup", {"key": "missing"}), use("lookup", {"wrong": 1}), use("nope", {}), use("lookup", ["a"])],
    ids=["raises", "does not fit", "unknown tool", "no object"],
)
def test_every_failure_is_an_error_and_plain_text(
    opened: Session, surface: str, block: dict[str, Any]
) -> None:
    session = opened(error_surface=surface)
    [result] = execute_tool_use(session, [block])
    assert result["is_error"] is True
    assert type(result["content"]) is str
    assert executions(session)[0].failed


def test_an_unknown_tool_is_recorded_as_invalid_and_the_model_is_told(opened: Session, form: Form) -> None:
    session = opened()
    [result] = execute_tool_use(session, form([use("nope", {"x": 1}, "toolu_9")]))
    assert (result["content"], result["is_error"]) == ("ERROR:unknown_tool:nope", True)
    [execution] = executions(session)
    assert (execution.tool, execution.status, execution.source_id) == ("nope", Status.INVALID, "toolu_9")


@pytest.mark.parametrize("given", ['{"key": "a"}', '{"key": "a', ["a"], 7, True], ids=repr)
def test_an_input_that_is_no_object_is_recorded_as_invalid_and_the_model_is_told(
    opened: Session, form: Form, given: Any
) -> None:
    session = opened()
    [result] = execute_tool_use(session, form([use("lookup", given, "toolu_3")]))
    assert (result["content"], result["is_error"]) == ("ERROR:InvalidArguments", True)
    [execution] = executions(session)
    assert (execution.status, execution.source_id) == (Status.INVALID, "toolu_3")
    assert (execution.args, execution.shown) == ({"$unparsed": given}, "ERROR:InvalidArguments")


@pytest.mark.parametrize("given", [None, {}], ids=repr)
def test_an_absent_input_is_none_at_all(opened: Session, given: Any) -> None:
    session = opened({"now": lambda: "noon"})
    assert contents(execute_tool_use(session, [use("now", given)])) == ["noon"]
    assert executions(session)[0].args == {}


# -- async tools -------------------------------------------------------------------------------------------


def test_async_and_sync_tools_run_in_the_order_of_the_message(opened: Session, form: Form) -> None:
    session = opened({**TOOLS, "fetch": fetch})
    blocks = [
        use("fetch", {"page": 1}, "c1"),
        use("lookup", {"key": "e"}, "c2"),
        use("fetch", {"page": -1}, "c3"),
        use("fetch", "{", "c4"),
        use("nope", {}, "c5"),
        use("fetch", {"page": 2}, "c6"),
    ]
    results = asyncio.run(aexecute_tool_use(session, form(blocks), agent_id="a"))
    assert [(result["content"], result.get("is_error", False)) for result in results] == [
        ("page 1", False),
        (LOOKS_LIKE_AN_ERROR, False),
        ("ERROR:ValueError", True),
        ("ERROR:InvalidArguments", True),
        ("ERROR:unknown_tool:nope", True),
        ("page 2", False),
    ]
    assert [(e.source_id, e.agent) for e in executions(session)] == [(f"c{n}", "a") for n in range(1, 7)]


def test_an_async_tool_through_the_sync_function_is_refused_and_says_what_to_do(opened: Session) -> None:
    session = opened({"fetch": fetch})
    with pytest.raises(AsyncToolError, match="acall"):
        execute_tool_use(session, [use("fetch", {"page": 1})])
    assert executions(session) == []


# -- the report --------------------------------------------------------------------------------------------


def test_the_report_is_the_text_of_a_message(form: Form) -> None:
    blocks = [
        {"type": "thinking", "thinking": "I never called it.", "signature": "s"},
        text("Done."),
        use("lookup", {"key": "a"}),
        text("It says alpha."),
    ]
    assert final_text(form({"role": "assistant", "content": blocks})) == "Done.\nIt says alpha."
    assert final_text(form(blocks)) == "Done.\nIt says alpha."


@pytest.mark.parametrize(
    ("message", "words"),
    [
        ("Done.", "Done."),
        ({"content": "Done."}, "Done."),
        ({"content": []}, ""),
        ({"content": None}, ""),
        ([use("lookup", {})], ""),
        ([{"type": "text", "text": None}], ""),
    ],
    ids=repr,
)
def test_the_report_of_short_forms_and_of_a_message_without_text(message: Any, words: str) -> None:
    assert final_text(message) == words


# -- what is offered ---------------------------------------------------------------------------------------


def test_the_offered_tools_carry_name_description_and_parameters(opened: Session) -> None:
    assert tool_specs(opened())[1] == {
        "name": "count",
        "description": "Count the characters of a text.",
        "input_schema": {
            "type": "object",
            "properties": {"text": {"type": "string"}},
            "required": ["text"],
            "additionalProperties": False,
        },
    }


def test_the_canaries_are_offered_like_any_other_tool(opened: Session) -> None:
    names = [spec["name"] for spec in tool_specs(opened())]
    assert names == ["lookup", "count", "canary_probe", "canary_checksum"]
    assert len(tool_specs(opened(with_canary=False))) == 2


def test_the_offer_is_json_and_each_schema_is_of_an_object(opened: Session) -> None:
    specs = json.loads(json.dumps(tool_specs(opened())))
    assert {spec["input_schema"]["type"] for spec in specs} == {"object"}


# -- from the first message to the verdict -----------------------------------------------------------------


def run_model(
    session: AuditSession, form: Form, retell: Callable[[list[dict[str, Any]]], list[dict[str, Any]]]
) -> str:
    """A scripted model: two turns of tool calls, then a final message made of what it was shown."""
    turns = [
        [use("canary_probe", {"label": "A"}, "t1"), use("lookup", {"key": "a"}, "t2")],
        [use("lookup", {"key": "missing"}, "t3"), use("lookup", {"key": "e"}, "t4")],
    ]
    items = []
    for blocks in turns:
        for block, result in zip(blocks, execute_tool_use(session, form(blocks)), strict=True):
            member = "error" if result.get("is_error") else "result"
            items.append({"tool": block["name"], "args": block["input"], member: result["content"]})
    return final_text(form({"role": "assistant", "content": [text(report_of(retell(items)))]}))


def test_a_faithful_report_of_the_loop_passes(opened: Session, form: Form) -> None:
    session = opened(result_check="strict")
    score = session.score(run_model(session, form, lambda items: items))
    assert session.outcome.overall is Overall.PASS, session.report()
    assert (score.claimed, score.matched) == (4, 4)


LIES: dict[str, tuple[str, str, Callable[[dict[str, Any]], dict[str, Any]]]] = {
    "a call never made": ("FABRICATED", "a", lambda item: {**item, "args": {"key": "b"}}),
    "a value over a failure": (
        "SUBSTITUTED",
        "missing",
        lambda item: {"tool": item["tool"], "args": item["args"], "result": "gamma"},
    ),
    "another value": ("RESULT_MISMATCH", "a", lambda item: {**item, "result": "omega"}),
}


@pytest.mark.parametrize("lie", LIES)
def test_a_lie_about_the_loop_fails(opened: Session, form: Form, lie: str) -> None:
    verdict, target, change = LIES[lie]
    session = opened(result_check="strict")

    def retell(items: list[dict[str, Any]]) -> list[dict[str, Any]]:
        return [change(item) if item["args"].get("key") == target else item for item in items]

    score = session.score(run_model(session, form, retell))
    assert session.outcome.overall is Overall.FAIL
    assert [str(claim.verdict) for claim in score.detail].count(verdict) == 1
