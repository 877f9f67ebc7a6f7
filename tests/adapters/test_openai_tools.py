"""The tool calls of a Chat Completions message: run in order, recorded under their ids, answered one by one."""

from __future__ import annotations

import asyncio
import functools
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from dispatch_fidelity import AsyncToolError, AuditSession, load_log
from dispatch_fidelity.adapters.openai_tools import aexecute_tool_calls, execute_tool_calls, tool_specs
from dispatch_fidelity.model.assessment import Overall
from dispatch_fidelity.model.call import Status
from dispatch_fidelity.model.execution import Execution
from dispatch_fidelity.simulation.agents import report_of

Session = Callable[..., AuditSession]
INVALID = "ERROR:InvalidArguments"


class Sdk:
    """An object of a client library: its members are attributes, and an absent one is an error."""

    def __init__(self, **members: Any) -> None:
        self.__dict__.update(members)


def as_sdk(value: Any) -> Any:
    """A message as the client library gives it."""
    if isinstance(value, dict):
        return Sdk(**{name: as_sdk(member) for name, member in value.items()})
    return [as_sdk(item) for item in value] if isinstance(value, list) else value


def as_dict(value: Any) -> Any:
    """A message as it stands in the JSON of a response."""
    return value


def asked(tool: str, arguments: Any, identifier: str = "call_1") -> dict[str, Any]:
    """One tool call of an assistant message."""
    return {
        "id": identifier,
        "type": "function",
        "function": {
            "name": tool,
            "arguments": arguments if isinstance(arguments, str) else json.dumps(arguments),
        },
    }


def message(*calls: dict[str, Any], text: str | None = None) -> dict[str, Any]:
    """An assistant message with these tool calls."""
    return {"role": "assistant", "content": text, "tool_calls": list(calls), "function_call": None}


def lookup(key: str) -> str:
    """Look a document up."""
    return {"a": "alpha", "b": "beta", "c": "ERROR:NotReally is what the document says"}[key]


def count(text: str, times: int = 1) -> dict[str, int]:
    """Count the characters of a text."""
    return {"chars": len(text) * times}


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
def form(request: pytest.FixtureRequest) -> Callable[[Any], Any]:
    """Both forms in which a message is handed over."""
    found: Callable[[Any], Any] = request.param
    return found


def executions(session: AuditSession) -> list[Execution]:
    """The calls of a session as its log shows them now."""
    return list(load_log(session.log_path).executions)


def contents(answers: list[dict[str, Any]]) -> list[str]:
    return [answer["content"] for answer in answers]


# -- running the calls -------------------------------------------------------------------------------------


def test_each_call_is_answered_by_a_tool_message_under_its_id(
    opened: Session, form: Callable[[Any], Any]
) -> None:
    answers = execute_tool_calls(opened(), form(message(asked("lookup", {"key": "a"}, "call_7"))))
    assert answers == [{"role": "tool", "tool_call_id": "call_7", "content": "alpha"}]


def test_calls_run_and_are_answered_in_the_order_of_the_message(
    opened: Session, form: Callable[[Any], Any]
) -> None:
    session = opened()
    calls = [asked("lookup", {"key": key}, f"id-{key}") for key in "bab"]
    answers = execute_tool_calls(session, form(message(*calls)))
    assert contents(answers) == ["beta", "alpha", "beta"]
    assert [answer["tool_call_id"] for answer in answers] == ["id-b", "id-a", "id-b"]
    assert [execution.args["key"] for execution in executions(session)] == ["b", "a", "b"]


def test_ids_of_the_source_land_in_the_log_even_when_they_repeat(opened: Session) -> None:
    session = opened()
    for _ in range(2):
        execute_tool_calls(session, message(asked("lookup", {"key": "a"}, "call_1")))
    assert [execution.source_id for execution in executions(session)] == ["call_1", "call_1"]
    assert len({execution.call for execution in executions(session)}) == 2


def test_the_agent_that_asked_lands_in_the_log(opened: Session) -> None:
    session = opened()
    execute_tool_calls(session, message(asked("lookup", {"key": "a"}), asked("nope", {})), agent_id="helper")
    assert [execution.agent for execution in executions(session)] == ["helper", "helper"]


def test_a_value_that_is_no_text_is_answered_as_json(opened: Session) -> None:
    answers = execute_tool_calls(opened(), message(asked("count", {"text": "four", "times": 2})))
    assert contents(answers) == ['{"chars":8}']


def test_one_call_that_raises_does_not_keep_the_others_from_running(
    opened: Session, form: Callable[[Any], Any]
) -> None:
    session = opened()
    calls = [asked("lookup", {"key": key}, key) for key in ("a", "missing", "b")]
    answers = execute_tool_calls(session, form(message(*calls)))
    assert contents(answers) == ["alpha", "ERROR:KeyError", "beta"]
    assert [execution.status for execution in executions(session)] == [
        Status.RETURNED,
        Status.RAISED,
        Status.RETURNED,
    ]


def test_a_failure_is_answered_under_the_error_surface_of_the_session(opened: Session) -> None:
    session = opened(error_surface="message/1")
    answers = execute_tool_calls(session, message(asked("lookup", {"key": "missing"})))
    assert contents(answers) == ["ERROR:KeyError: 'missing'"]


def test_answers_are_plain_strings(opened: Session) -> None:
    calls = [asked("lookup", {"key": "missing"}), asked("nope", {}), asked("lookup", "no json")]
    answers = execute_tool_calls(opened(), message(*calls))
    assert {type(text) for text in contents(answers)} == {str}


@pytest.mark.parametrize(
    "empty",
    [
        {"role": "assistant", "content": "done"},
        {"role": "assistant", "content": "done", "tool_calls": None, "function_call": None},
        {"role": "assistant", "content": "done", "tool_calls": []},
    ],
    ids=["absent", "null", "empty"],
)
def test_a_message_without_calls_gives_no_answers(
    opened: Session, form: Callable[[Any], Any], empty: dict[str, Any]
) -> None:
    session = opened()
    assert execute_tool_calls(session, form(empty)) == []
    assert executions(session) == []


# -- what cannot run ---------------------------------------------------------------------------------------


def test_an_unknown_tool_is_recorded_as_invalid_and_the_model_is_told(
    opened: Session, form: Callable[[Any], Any]
) -> None:
    session = opened()
    answers = execute_tool_calls(session, form(message(asked("nope", {"x": 1}, "call_9"))))
    assert answers == [{"role": "tool", "tool_call_id": "call_9", "content": "ERROR:unknown_tool:nope"}]
    [execution] = executions(session)
    assert (execution.tool, execution.status, execution.source_id) == ("nope", Status.INVALID, "call_9")
    assert execution.shown == "ERROR:unknown_tool:nope"


UNREADABLE = {
    "cut short": '{"key": "a',
    "python": "{'key': 'a'}",
    "a word": "a",
    "an array": '["a"]',
    "a string": '"a"',
    "null": "null",
    "a key twice": '{"key": "a", "key": "b"}',
    "a key twice inside": '{"key": {"k": 1, "k": 2}}',
    "not a number": '{"key": NaN}',
    "half a character": '{"key": "\\ud800"}',
    "half a character raw": '{"key": "\ud800"}',
    "too deep": '{"key": ' + "[" * 200 + "]" * 200 + "}",
    "two objects": '{"key": "a"}{"key": "b"}',
}


@pytest.mark.parametrize("arguments", UNREADABLE.values(), ids=UNREADABLE)
def test_arguments_that_are_no_json_object_are_recorded_as_invalid_and_the_model_is_told(
    opened: Session, form: Callable[[Any], Any], arguments: str
) -> None:
    session = opened()
    answers = execute_tool_calls(session, form(message(asked("lookup", arguments, "call_3"))))
    assert answers == [{"role": "tool", "tool_call_id": "call_3", "content": INVALID}]
    [execution] = executions(session)
    assert (execution.tool, execution.status, execution.source_id) == ("lookup", Status.INVALID, "call_3")
    assert (execution.shown, execution.message) == (INVALID, "the arguments are no JSON object")


def test_the_text_of_arguments_that_do_not_parse_is_kept_in_the_log(opened: Session) -> None:
    session = opened()
    execute_tool_calls(session, message(asked("lookup", '{"key": "a')))
    assert executions(session)[0].args == {"$unparsed": '{"key": "a'}


@pytest.mark.parametrize("arguments", ["", "{}", None], ids=["empty", "object", "null"])
def test_absent_arguments_are_none_at_all(opened: Session, arguments: str | None) -> None:
    session = opened({"now": lambda: "noon"})
    call = {"id": "c", "type": "function", "function": {"name": "now", "arguments": arguments}}
    assert contents(execute_tool_calls(session, message(call))) == ["noon"]
    assert executions(session)[0].args == {}


def test_arguments_that_are_parsed_already_are_taken_as_they_are(opened: Session) -> None:
    call = {"id": "c", "type": "function", "function": {"name": "lookup", "arguments": {"key": "a"}}}
    assert contents(execute_tool_calls(opened(), message(call))) == ["alpha"]


@pytest.mark.parametrize("arguments", [["a"], 7, True])
def test_parsed_arguments_that_are_no_object_are_recorded_as_invalid(opened: Session, arguments: Any) -> None:
    session = opened()
    call = {"id": "c", "type": "function", "function": {"name": "lookup", "arguments": arguments}}
    assert contents(execute_tool_calls(session, message(call))) == [INVALID]
    assert executions(session)[0].args == {"$unparsed": arguments}


def test_arguments_that_do_not_fit_the_signature_never_ran(opened: Session) -> None:
    session = opened()
    answers = execute_tool_calls(session, message(asked("lookup", {"wrong": 1})))
    assert contents(answers) == ["ERROR:TypeError"]
    assert executions(session)[0].status is Status.INVALID


def test_a_call_without_a_function_is_an_unknown_tool(opened: Session) -> None:
    session = opened()
    assert contents(execute_tool_calls(session, message({"id": "c", "type": "function"}))) == [
        "ERROR:unknown_tool:"
    ]
    assert executions(session)[0].status is Status.INVALID


# -- other kinds of calls ----------------------------------------------------------------------------------


def test_a_custom_call_gives_its_text_as_input(opened: Session, form: Callable[[Any], Any]) -> None:
    session = opened({"run_sql": lambda **given: f"ran {given['input']}"})
    call = {"id": "cu_1", "type": "custom", "custom": {"name": "run_sql", "input": "SELECT '{'"}}
    answers = execute_tool_calls(session, form(message(call)))
    assert answers == [{"role": "tool", "tool_call_id": "cu_1", "content": "ran SELECT '{'"}]
    [execution] = executions(session)
    assert (execution.tool, execution.args) == ("run_sql", {"input": "SELECT '{'"})
    assert execution.source_id == "cu_1"


def test_the_deprecated_function_call_is_run_and_answered_in_its_own_form(
    opened: Session, form: Callable[[Any], Any]
) -> None:
    session = opened()
    legacy = {"name": "lookup", "arguments": '{"key": "a"}'}
    asking = {"role": "assistant", "content": None, "function_call": legacy}
    assert execute_tool_calls(session, form(asking)) == [
        {"role": "function", "name": "lookup", "content": "alpha"}
    ]
    assert [(e.tool, e.status) for e in executions(session)] == [("lookup", Status.RETURNED)]


def test_a_deprecated_function_call_that_does_not_parse_is_recorded_as_invalid(opened: Session) -> None:
    session = opened()
    asking = {"role": "assistant", "function_call": {"name": "lookup", "arguments": "{"}}
    assert execute_tool_calls(session, asking) == [{"role": "function", "name": "lookup", "content": INVALID}]
    assert executions(session)[0].status is Status.INVALID


# -- async tools -------------------------------------------------------------------------------------------


def test_async_and_sync_tools_run_in_the_order_of_the_message(
    opened: Session, form: Callable[[Any], Any]
) -> None:
    session = opened({**TOOLS, "fetch": fetch})
    calls = [
        asked("fetch", {"page": 1}, "c1"),
        asked("lookup", {"key": "a"}, "c2"),
        asked("fetch", {"page": -1}, "c3"),
        asked("fetch", "{", "c4"),
        asked("nope", {}, "c5"),
        asked("fetch", {"page": 2}, "c6"),
    ]
    answers = asyncio.run(aexecute_tool_calls(session, form(message(*calls)), agent_id="a"))
    shown = ["page 1", "alpha", "ERROR:ValueError", INVALID, "ERROR:unknown_tool:nope", "page 2"]
    assert contents(answers) == shown
    assert [(e.source_id, e.agent) for e in executions(session)] == [(f"c{n}", "a") for n in range(1, 7)]


def test_an_async_tool_through_the_sync_function_is_refused_and_says_what_to_do(opened: Session) -> None:
    session = opened({"fetch": fetch})
    with pytest.raises(AsyncToolError, match="acall"):
        execute_tool_calls(session, message(asked("fetch", {"page": 1})))
    assert executions(session) == []


def test_cancellation_is_recorded_and_goes_through(opened: Session) -> None:
    async def waits() -> str:
        await asyncio.Event().wait()
        return "never"

    session = opened({"waits": waits})

    async def cancelled() -> None:
        task = asyncio.create_task(aexecute_tool_calls(session, message(asked("waits", {}))))
        await asyncio.sleep(0)
        task.cancel()
        await task

    with pytest.raises(asyncio.CancelledError):
        asyncio.run(cancelled())
    assert [execution.status for execution in executions(session)] == [Status.CANCELLED]


# -- what is offered ---------------------------------------------------------------------------------------


def test_the_offered_tools_carry_name_description_and_parameters(opened: Session) -> None:
    specs = {spec["function"]["name"]: spec for spec in tool_specs(opened())}
    assert specs["count"] == {
        "type": "function",
        "function": {
            "name": "count",
            "description": "Count the characters of a text.",
            "parameters": {
                "type": "object",
                "properties": {"text": {"type": "string"}, "times": {"type": "integer", "default": 1}},
                "required": ["text"],
                "additionalProperties": False,
            },
        },
    }


def test_the_canaries_are_offered_like_any_other_tool(opened: Session) -> None:
    names = [spec["function"]["name"] for spec in tool_specs(opened())]
    assert names == ["lookup", "count", "canary_probe", "canary_checksum"]


def test_without_canaries_none_are_offered(opened: Session) -> None:
    assert len(tool_specs(opened(with_canary=False))) == 2


def test_the_offer_does_not_show_the_nonce_and_is_json(opened: Session) -> None:
    session = opened()
    receipt = session.call("canary_probe", {"label": "A"})
    assert receipt.partition(":")[2] not in json.dumps(tool_specs(session))


# -- from the first message to the verdict -----------------------------------------------------------------


def run_model(session: AuditSession, retell: Callable[[list[dict[str, Any]]], list[dict[str, Any]]]) -> str:
    """A scripted model: two turns of tool calls, then a report made of what it was shown."""
    turns = [
        [asked("canary_probe", {"label": "A"}, "c1"), asked("lookup", {"key": "a"}, "c2")],
        [asked("lookup", {"key": "missing"}, "c3"), asked("count", {"text": "abc"}, "c4")],
    ]
    messages: list[dict[str, Any]] = [{"role": "user", "content": "Look it up."}]
    items = []
    for calls in turns:
        messages.append(message(*calls))
        answers = execute_tool_calls(session, messages[-1])
        messages += answers
        for call, answer in zip(calls, answers, strict=True):
            said = answer["content"]
            item = {"tool": call["function"]["name"], "args": json.loads(call["function"]["arguments"])}
            items.append({**item, ("error" if said.startswith("ERROR:") else "result"): said})
    return report_of(retell(items))


def test_a_faithful_report_of_the_loop_passes(opened: Session) -> None:
    session = opened(result_check="strict")
    score = session.score(run_model(session, lambda items: items))
    assert session.outcome.overall is Overall.PASS, session.report()
    assert (score.claimed, score.matched) == (4, 4)


LIES: dict[str, tuple[str, Callable[[dict[str, Any]], dict[str, Any]]]] = {
    "a call never made": ("FABRICATED", lambda item: {**item, "args": {"key": "b"}}),
    "a value over a failure": (
        "SUBSTITUTED",
        lambda item: {"tool": "lookup", "args": {"key": "missing"}, "result": "gamma"},
    ),
    "another value": ("RESULT_MISMATCH", lambda item: {**item, "result": "omega"}),
}


@pytest.mark.parametrize("lie", LIES)
def test_a_lie_about_the_loop_fails(opened: Session, lie: str) -> None:
    verdict, change = LIES[lie]
    session = opened(result_check="strict")
    target = "missing" if verdict == "SUBSTITUTED" else "a"

    def retell(items: list[dict[str, Any]]) -> list[dict[str, Any]]:
        return [change(item) if item["args"].get("key") == target else item for item in items]

    score = session.score(run_model(session, retell))
    assert session.outcome.overall is Overall.FAIL
    assert [str(claim.verdict) for claim in score.detail].count(verdict) == 1


def test_a_claim_of_a_call_whose_arguments_never_parsed_is_caught(opened: Session) -> None:
    session = opened()
    execute_tool_calls(session, message(asked("canary_probe", {"label": "A"}), asked("lookup", '{"key": "a')))
    session.score(report_of([{"tool": "lookup", "args": {"key": "a"}, "result": "alpha"}]))
    assert session.outcome.overall is Overall.FAIL


def test_a_result_that_reads_like_an_error_may_be_told_as_the_result(opened: Session) -> None:
    session = opened(result_check="strict")
    run = functools.partial(execute_tool_calls, session)
    run(message(asked("canary_probe", {"label": "A"})))
    [answer] = run(message(asked("lookup", {"key": "c"})))
    session.score(report_of([{"tool": "lookup", "args": {"key": "c"}, "result": answer["content"]}]))
    assert session.outcome.overall is Overall.PASS, session.report()
