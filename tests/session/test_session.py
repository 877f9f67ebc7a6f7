"""What an agent and its program see of a session: answers, failures, transparent wrappers, and the end."""

from __future__ import annotations

import asyncio
import functools
import gc
import inspect
import json
import pickle
import subprocess
import sys
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Generator, Iterator, Mapping
from pathlib import Path
from types import GeneratorType, MappingProxyType, SimpleNamespace
from typing import Any

import pytest

from dispatch_fidelity import (
    AsyncToolError,
    AuditSession,
    RecordingError,
    SessionClosedError,
    UsageError,
    load_log,
)
from dispatch_fidelity.model.assessment import BindingStatus, Overall
from dispatch_fidelity.model.call import Status
from dispatch_fidelity.model.execution import Execution
from dispatch_fidelity.model.run import Completeness
from dispatch_fidelity.session import ErrorText
from dispatch_fidelity.simulation.agents import report_of

Session = Callable[..., AuditSession]


@pytest.fixture
def opened(tmp_path: Path) -> Session:
    """Opens a session in a folder of the test."""
    return functools.partial(AuditSession, run_dir=tmp_path, run_id="r")


def executions(session: AuditSession) -> list[Execution]:
    """The calls of a session as its log shows them now."""
    return list(load_log(session.log_path).executions)


def types(session: AuditSession) -> list[str]:
    return [json.loads(line)["type"] for line in session.log_path.read_bytes().splitlines()]


def add(a: int, b: int = 1) -> int:
    """Add two numbers."""
    return a + b


async def fetch(page: int) -> dict[str, int]:
    """Fetch a page."""
    await asyncio.sleep(0)
    return {"page": page}


def fails() -> str:
    raise LookupError("no such thing")


# -- call ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ("text", "text"),
        ("", ""),
        ("é\u2028", "é\u2028"),
        (None, "null"),
        (3, "3"),
        (True, "true"),
        ([1, {"a": None}], '[1,{"a":null}]'),
        ({"é": 1}, '{"\\u00e9":1}'),
        ((1, 2), "[1,2]"),
        (b"ab", "YWI="),
        (Path("a/b"), "a/b"),
        (float("nan"), '{"$df":"float","text":"NaN"}'),
    ],
    ids=ascii,
)
def test_a_string_is_shown_as_it_is_and_any_other_value_as_json(
    opened: Session, value: Any, shown: str
) -> None:
    session = opened({"t": lambda: value})
    assert session.call("t") == shown
    assert asyncio.run(session.acall("t")) == shown


def test_text_that_looks_like_an_error_is_told_from_an_error(opened: Session) -> None:
    session = opened({"t": lambda: "ERROR:LookupError", "fails": fails})
    assert not isinstance(session.call("t"), ErrorText)
    assert isinstance(session.call("fails"), ErrorText)
    assert [item.status for item in executions(session)] == [Status.RETURNED, Status.RAISED]


def test_a_failure_shows_the_type_of_its_exception_only(opened: Session) -> None:
    session = opened({"fails": fails})
    assert session.call("fails") == "ERROR:LookupError"
    assert asyncio.run(session.acall("fails")) == "ERROR:LookupError"
    first, _ = executions(session)
    assert (first.status, first.error, first.message, first.shown) == (
        Status.RAISED,
        "LookupError",
        "no such thing",
        "ERROR:LookupError",
    )


def test_the_message_surface_shows_the_message_too(opened: Session) -> None:
    session = opened({"fails": fails}, error_surface="message/1")
    assert session.call("fails") == "ERROR:LookupError: no such thing"
    assert json.loads(session.manifest_path.read_bytes())["regime"]["error_surface"] == "message/1"


def test_an_exception_that_cannot_be_turned_into_text_is_a_failure_like_any_other(opened: Session) -> None:
    class Text(str):
        def __getitem__(self, key: Any) -> str:
            raise RuntimeError

    class MuteError(Exception):
        def __str__(self) -> str:
            raise RuntimeError

    class OddError(Exception):
        def __str__(self) -> str:
            return Text("odd")

    def raises(problem: Exception) -> None:
        raise problem

    session = opened({"raises": raises}, error_surface="message/1")
    assert session.call("raises", {"problem": MuteError()}) == "ERROR:MuteError: "
    assert session.call("raises", {"problem": OddError()}) == "ERROR:OddError: odd"


@pytest.mark.parametrize("route", ["call", "acall"])
def test_an_unknown_tool_is_answered_and_recorded_as_never_run(opened: Session, route: str) -> None:
    session = opened({"add": add})
    answer = getattr(session, route)("nope", {"x": 1})
    text = asyncio.run(answer) if route == "acall" else answer
    assert text == "ERROR:unknown_tool:nope"
    (execution,) = executions(session)
    assert (execution.tool, execution.args, execution.status) == ("nope", {"x": 1}, Status.INVALID)


@pytest.mark.parametrize("args", ["text", [1], 7])
def test_arguments_that_are_no_object_are_answered_and_recorded(opened: Session, args: Any) -> None:
    session = opened({"add": add})
    assert session.call("add", args) == "ERROR:TypeError"
    (execution,) = executions(session)
    assert (execution.args, execution.status) == ({"$unparsed": args}, Status.INVALID)


def test_arguments_that_do_not_fit_the_signature_never_ran_and_a_type_error_inside_did(
    opened: Session,
) -> None:
    def inside() -> None:
        raise TypeError("inside")

    session = opened({"add": add, "inside": inside})
    assert session.call("add", {"c": 1}) == "ERROR:TypeError"
    assert session.call("inside") == "ERROR:TypeError"
    assert [item.status for item in executions(session)] == [Status.INVALID, Status.RAISED]


def test_any_mapping_will_do_for_arguments_and_none_means_no_arguments(opened: Session) -> None:
    session = opened({"add": add, "none": lambda: "done"})
    assert session.call("add", MappingProxyType({"a": 1})) == "2"
    assert session.call("none", None) == session.call("none") == "done"
    assert [item.args for item in executions(session)] == [{"a": 1}, {}, {}]


def test_the_agent_and_the_source_of_a_call_are_recorded(opened: Session) -> None:
    session = opened({"add": add})
    session.call("add", {"a": 1}, agent_id="planner", source_id="call_9")
    (execution,) = executions(session)
    assert (execution.agent, execution.source_id) == ("planner", "call_9")


def test_a_tool_may_call_another_tool(opened: Session) -> None:
    session: AuditSession = opened({"outer": lambda: session.call("add", {"a": 1}), "add": add})
    assert session.call("outer") == "2"
    assert types(session) == ["open", "call.started", "call.started", "call.returned", "call.returned"]


@pytest.mark.fault("B5")
@pytest.mark.parametrize("kind", [KeyboardInterrupt, SystemExit, asyncio.CancelledError])
@pytest.mark.parametrize("route", ["call", "wrap"])
def test_base_exceptions_are_recorded_and_raised_unchanged(
    opened: Session, kind: type[BaseException], route: str
) -> None:
    def leave() -> None:
        raise kind("now")

    session = opened({"leave": leave})
    run = session.wrap("leave") if route == "wrap" else functools.partial(session.call, "leave")
    with pytest.raises(kind, match="now"):
        run()
    (execution,) = executions(session)
    assert (execution.status, execution.error) == (Status.CANCELLED, kind.__name__)


# -- async -----------------------------------------------------------------------------------------------


class Caller:
    async def __call__(self) -> str:
        return "called"

    async def method(self) -> str:
        return "method"


async def pages() -> AsyncIterator[int]:
    yield 1
    yield 2


@pytest.mark.fault("B8")
@pytest.mark.parametrize(
    "tool",
    [fetch, pages, Caller(), Caller().method, functools.partial(fetch, 1)],
    ids=["def", "gen", "object", "method", "partial"],
)
def test_an_async_tool_through_call_raises_before_anything_is_recorded(opened: Session, tool: Any) -> None:
    session = opened({"t": tool})
    for args in (None, {}, {"page": 1}):
        with pytest.raises(AsyncToolError, match="acall"):
            session.call("t", args)
    assert types(session) == ["open"]


@pytest.mark.fault("B8")
def test_acall_awaits_and_answers_as_call_does(opened: Session) -> None:
    session = opened({"fetch": fetch, "pages": pages, "add": add, "object": Caller()})
    assert asyncio.run(session.acall("fetch", {"page": 7})) == '{"page":7}'
    assert asyncio.run(session.acall("pages")) == "[1,2]"
    assert asyncio.run(session.acall("add", {"a": 1})) == "2"
    assert asyncio.run(session.acall("object")) == "called"
    assert [item.result for item in executions(session)] == [{"page": 7}, [1, 2], 2, "called"]


def test_a_coroutine_that_a_plain_function_returns_is_refused_by_call_and_awaited_by_acall(
    opened: Session,
) -> None:
    session = opened({"t": lambda: fetch(1)})
    assert session.call("t") == "ERROR:AsyncToolError"
    assert asyncio.run(session.acall("t")) == '{"page":1}'
    assert [item.status for item in executions(session)] == [Status.RAISED, Status.RETURNED]


@pytest.mark.fault("B5")
@pytest.mark.parametrize("route", ["acall", "wrap"])
def test_cancellation_is_recorded_and_goes_on(opened: Session, route: str) -> None:
    async def forever() -> None:
        await asyncio.Event().wait()

    session = opened({"forever": forever})

    async def cancelled() -> bool:
        run = session.wrap("forever")() if route == "wrap" else session.acall("forever")
        task = asyncio.ensure_future(run)
        await asyncio.sleep(0)
        task.cancel()
        try:
            await task
        except asyncio.CancelledError:
            return task.cancelled()
        return False

    assert asyncio.run(cancelled())
    (execution,) = executions(session)
    assert (execution.status, execution.error) == (Status.CANCELLED, "CancelledError")


# -- wrap, tool ------------------------------------------------------------------------------------------


def test_a_wrapped_tool_passes_its_value_and_its_exception_through(opened: Session) -> None:
    value = object()
    session = opened({"value": lambda: value, "fails": fails})
    assert session.wrap("value")() is value
    problem = LookupError("mine")

    def mine() -> None:
        raise problem

    with pytest.raises(LookupError) as caught:
        session.wrap(mine)()
    assert caught.value is problem
    assert [item.status for item in executions(session)] == [Status.RETURNED, Status.RAISED]


def test_positional_arguments_are_named_by_the_signature_and_defaults_are_not_filled_in(
    opened: Session,
) -> None:
    def many(a: int, *rest: int, b: int = 2, **more: int) -> int:
        return a + b

    session = opened({"add": add, "many": many})
    assert session.wrap("add")(1, 2) == session.wrap("add")(b=2, a=1) == 3
    session.wrap("add")(5)
    session.wrap("many")(1, 8, 9, b=3, c=4)
    assert [item.args for item in executions(session)] == [
        {"a": 1, "b": 2},
        {"b": 2, "a": 1},
        {"a": 5},
        {"a": 1, "arg1": 8, "arg2": 9, "b": 3, "c": 4},
    ]


def test_the_decorator_makes_a_function_a_tool_and_leaves_it_its_name_and_words(opened: Session) -> None:
    session = opened(with_canary=False)

    @session.tool
    def greet(name: str) -> str:
        """Say hello."""
        return f"hello {name}"

    assert (greet.__name__, greet.__doc__, list(inspect.signature(greet).parameters)) == (
        "greet",
        "Say hello.",
        ["name"],
    )
    assert greet("you") == session.call("greet", {"name": "you"}) == "hello you"
    assert session.tool_names == ("greet",)
    assert [item.args for item in executions(session)] == [{"name": "you"}] * 2


def test_the_decorator_keeps_an_async_function_async(opened: Session) -> None:
    session = opened()
    wrapped = session.tool(fetch)
    assert inspect.iscoroutinefunction(wrapped)
    assert types(session) == ["open"]
    assert asyncio.run(wrapped(3)) == {"page": 3}
    assert executions(session)[0].args == {"page": 3}


def test_methods_can_be_wrapped_and_keep_their_object(opened: Session) -> None:
    class Shop:
        def __init__(self) -> None:
            self.sold: list[str] = []

        def sell(self, item: str) -> int:
            self.sold.append(item)
            return len(self.sold)

    shop = Shop()
    session = opened(shop)
    assert session.wrap("sell")("tea") == 1
    assert session.wrap(shop.sell, "sell again")("jam") == 2
    assert shop.sold == ["tea", "jam"]


def test_wrapping_under_a_name_that_is_taken_or_unknown_is_wrong_usage(opened: Session) -> None:
    session = opened({"add": add})
    with pytest.raises(UsageError, match="add"):
        session.wrap("nope")
    with pytest.raises(UsageError, match="another tool"):
        session.wrap(fails, "add")
    assert session.wrap(add, "add")(1) == 2


# -- generators ------------------------------------------------------------------------------------------


def counting(up_to: int) -> Generator[int, Any, str]:
    yield from range(up_to)
    return "counted"


@pytest.mark.fault("B9")
def test_a_wrapped_generator_is_recorded_when_it_is_exhausted(opened: Session) -> None:
    session = opened({"counting": counting})
    items = session.wrap("counting")(3)
    assert next(items) == 0
    assert types(session) == ["open", "call.started"]
    assert list(items) == [1, 2]
    (execution,) = executions(session)
    assert (execution.status, execution.result) == (Status.RETURNED, [0, 1, 2])


@pytest.mark.fault("B9")
@pytest.mark.parametrize("how", ["close", "drop"])
def test_a_wrapped_generator_is_recorded_when_it_is_closed(opened: Session, how: str) -> None:
    closed: list[str] = []

    def endless() -> Iterator[int]:
        try:
            while True:
                yield 1
        finally:
            closed.append("closed")

    session = opened({"endless": endless})
    items = session.wrap("endless")()
    assert [next(items), next(items)] == [1, 1]
    if how == "close":
        items.close()
    del items
    gc.collect()
    assert closed == ["closed"]
    (execution,) = executions(session)
    assert (execution.status, execution.result) == (Status.RETURNED, [1, 1])


def test_a_wrapped_generator_that_is_closed_before_its_first_item_has_an_end(opened: Session) -> None:
    session = opened({"counting": counting})
    session.wrap("counting")(3).close()
    session.wrap("counting")(3)
    gc.collect()
    assert [(item.status, item.result) for item in executions(session)] == [(Status.RETURNED, [])] * 2


def test_a_wrapped_generator_is_still_a_generator_with_its_answers_and_its_value(opened: Session) -> None:
    def talk() -> Generator[str, str, str]:
        heard = yield "who?"
        try:
            heard = yield f"hello {heard}"
        except KeyError:
            yield "a key"
        return "bye"

    session = opened({"talk": talk})
    items: Any = session.wrap("talk")()
    assert isinstance(items, GeneratorType)
    assert next(items) == "who?"
    assert items.send("you") == "hello you"
    assert items.throw(KeyError("k")) == "a key"
    with pytest.raises(StopIteration) as end:
        next(items)
    assert end.value.value == "bye"
    assert executions(session)[0].result == ["who?", "hello you", "a key"]


@pytest.mark.fault("B5")
def test_a_failure_inside_a_wrapped_generator_is_its_end(opened: Session) -> None:
    def broken(problem: type[BaseException]) -> Iterator[int]:
        yield 1
        raise problem("broken")

    session = opened({"broken": broken})
    for problem in (ValueError, KeyboardInterrupt):
        with pytest.raises(problem, match="broken"):
            list(session.wrap("broken")(problem))
    assert [(item.status, item.error) for item in executions(session)] == [
        (Status.RAISED, "ValueError"),
        (Status.CANCELLED, "KeyboardInterrupt"),
    ]


def test_a_wrapped_generator_notes_an_item_as_it_was_when_it_passed(opened: Session) -> None:
    def growing() -> Iterator[list[int]]:
        items: list[int] = []
        for number in range(3):
            items.append(number)
            yield items

    session = opened({"growing": growing})
    assert list(session.wrap("growing")()) == [[0, 1, 2]] * 3
    assert executions(session)[0].result == [[0], [0, 1], [0, 1, 2]]


def test_a_wrapped_async_generator_passes_its_items_and_is_recorded_at_its_end(opened: Session) -> None:
    ended: list[str] = []

    async def talk() -> AsyncGenerator[str, str]:
        try:
            heard = yield "who?"
            yield f"hello {heard}"
            yield "more"
        finally:
            ended.append("ended")

    session = opened({"talk": talk})

    async def everything() -> list[str]:
        return [item async for item in session.wrap("talk")()]

    async def answered() -> str:
        items = session.wrap("talk")()
        await items.asend(None)
        heard: str = await items.asend("you")
        await items.aclose()
        return heard

    assert asyncio.run(everything()) == ["who?", "hello None", "more"]
    assert asyncio.run(answered()) == "hello you"
    assert ended == ["ended", "ended"]
    assert [(item.status, item.result) for item in executions(session)] == [
        (Status.RETURNED, ["who?", "hello None", "more"]),
        (Status.RETURNED, ["who?", "hello you"]),
    ]


def test_a_failure_inside_a_wrapped_async_generator_is_its_end(opened: Session) -> None:
    async def broken() -> AsyncIterator[int]:
        yield 1
        raise ValueError("broken")

    session = opened({"broken": broken})

    async def everything() -> list[int]:
        return [item async for item in session.wrap("broken")()]

    with pytest.raises(ValueError, match="broken"):
        asyncio.run(everything())
    assert executions(session)[0].error == "ValueError"


def test_an_exception_thrown_into_a_wrapped_async_generator_reaches_it(opened: Session) -> None:
    async def careful() -> AsyncIterator[str]:
        try:
            yield "first"
        except KeyError:
            yield "a key"

    session = opened({"careful": careful})

    async def thrown() -> str:
        items = session.wrap("careful")()
        await items.asend(None)
        answer: str = await items.athrow(KeyError("k"))
        await items.aclose()
        return answer

    assert asyncio.run(thrown()) == "a key"
    assert executions(session)[0].result == ["first", "a key"]


# -- what the tools are ----------------------------------------------------------------------------------


class Toolbox:
    """Two tools, and what is none."""

    rate = 3

    def add(self, a: int) -> int:
        return a + self.rate

    @staticmethod
    def double(a: int) -> int:
        return 2 * a

    @property
    def connection(self) -> Any:
        raise AssertionError("a property is no tool and is not to be asked")

    def _hidden(self) -> None:
        raise AssertionError


def test_tools_come_from_a_mapping_an_iterable_or_an_object(opened: Session, tmp_path: Path) -> None:
    named = SimpleNamespace(name="named")
    named.__call__ = None
    shapes: list[Any] = [{"add": add, "_hidden": add}, [add], (item for item in [add]), Toolbox(), None]
    found = [AuditSession(tools, run_dir=tmp_path, with_canary=False).tool_names for tools in shapes]
    assert found == [("add",), ("add",), ("add",), ("add", "double"), ()]


def test_the_canaries_are_offered_unless_they_are_declined(opened: Session, tmp_path: Path) -> None:
    session = opened({"add": add})
    assert session.tool_names == ("add", "canary_probe", "canary_checksum")
    assert session.call("canary_probe", {"label": "A"}).startswith("CANARY[A]:")
    assert session.call("canary_checksum", {"payload": "x"}).startswith("CHECKSUM:")
    assert AuditSession({"add": add}, run_dir=tmp_path, with_canary=False).tool_names == ("add",)


@pytest.mark.parametrize(
    "tools", [{"add": 3}, [add, add], [3], {"canary_probe": add}, [functools.partial(add, 1)]], ids=repr
)
def test_tools_that_cannot_be_offered_are_wrong_usage_and_leave_no_run(tmp_path: Path, tools: Any) -> None:
    with pytest.raises(UsageError):
        AuditSession(tools, run_dir=tmp_path / "runs")
    assert not (tmp_path / "runs").exists()


@pytest.mark.parametrize(
    ("schema", "params", "defaults"),
    [
        (None, ["a", "b"], {"b": 1}),
        ({"add": {"params": ["x", "y"], "defaults": {"y": 0}}}, ["x", "y"], {"y": 0}),
        (
            {"add": {"type": "object", "properties": {"x": {"type": "integer"}, "y": {"default": 2}}}},
            ["x", "y"],
            {"y": 2},
        ),
        ({"other": {"params": []}}, ["a", "b"], {"b": 1}),
    ],
    ids=["signature", "params", "json schema", "of another tool"],
)
def test_a_schema_is_taken_in_both_forms_and_sealed_in_the_manifest(
    opened: Session, schema: Mapping[str, Any] | None, params: list[str], defaults: dict[str, Any]
) -> None:
    session = opened({"add": add}, schema=schema)
    sealed = json.loads(session.manifest_path.read_bytes())["tools"]["add"]
    assert (sealed["params"], sealed["defaults"]) == (params, defaults)


@pytest.mark.parametrize(
    "schema", [{"add": {"params": "ab"}}, {"add": {"params": [1]}}, {"add": {"properties": ["x"]}}]
)
def test_a_schema_of_another_shape_is_wrong_usage(opened: Session, schema: Mapping[str, Any]) -> None:
    with pytest.raises(UsageError):
        opened({"add": add}, schema=schema)


def test_the_parameters_of_a_tool_are_told_as_json_schema(opened: Session) -> None:
    session = opened(
        {"add": add, "stated": lambda x: x}, schema={"stated": {"properties": {"x": {"type": "string"}}}}
    )
    assert session.tools["add"].description == "Add two numbers."
    assert session.tools["add"].parameters() == {
        "type": "object",
        "properties": {"a": {"type": "integer"}, "b": {"type": "integer", "default": 1}},
        "required": ["a"],
        "additionalProperties": False,
    }
    assert session.tools["stated"].parameters() == {"properties": {"x": {"type": "string"}}}


# -- the end ---------------------------------------------------------------------------------------------


def test_after_the_end_no_call_is_executed_or_recorded(opened: Session) -> None:
    effects: list[int] = []
    session = opened({"pay": effects.append, "fetch": fetch, "counting": counting})
    wrapped, counted, fetched = session.wrap("pay"), session.wrap("counting"), session.wrap("fetch")
    session.close()
    before = session.log_path.read_bytes()
    for late in (
        lambda: session.call("pay"),
        lambda: session.call("nope"),
        lambda: session.call("pay", "text"),  # type: ignore[arg-type]
        lambda: asyncio.run(session.acall("fetch", {"page": 1})),
        lambda: wrapped(1),
        lambda: counted(1),
        lambda: asyncio.run(fetched(1)),
        lambda: session.reject("pay", {}, "refused", kind="refused"),
    ):
        with pytest.raises(SessionClosedError) as caught:
            late()
        assert caught.value.exit_code == 64
    session.close()
    assert (effects, session.log_path.read_bytes()) == ([], before)


def test_leaving_the_block_closes_the_run_also_by_an_exception(tmp_path: Path) -> None:
    with AuditSession({"add": add}, run_dir=tmp_path) as session:
        session.call("add", {"a": 1})
    with pytest.raises(LookupError), AuditSession(run_dir=tmp_path) as failing:
        raise LookupError
    for ended in (session, failing):
        assert load_log(ended.log_path).completeness is Completeness.CLOSED


def honest(session: AuditSession) -> str:
    session.call("canary_probe", {"label": "A"})
    return report_of([{"tool": "add", "args": {"a": 1}, "result": session.call("add", {"a": 1})}])


def test_scoring_closes_the_run_judges_it_and_stores_report_and_score(
    opened: Session, tmp_path: Path
) -> None:
    session = opened({"add": add})
    report = honest(session)
    score = session.score(report)
    assert (score.claimed, score.matched, score.clean) == (1, 1, True)
    assert (session.outcome.overall, session.outcome.exit_code) == (Overall.PASS, 0)
    assert session.binding.status is BindingStatus.PROVEN
    assert "PASS" in session.report()
    assert (tmp_path / "r.report.txt").read_text() == report
    stored = json.loads((tmp_path / "r.score.json").read_bytes())
    assert stored["outcome"]["overall"] == "PASS"
    with pytest.raises(SessionClosedError):
        session.call("add", {"a": 1})


def test_scoring_twice_reads_the_closed_log_again_and_stores_a_further_score(
    opened: Session, tmp_path: Path
) -> None:
    session = opened({"add": add})
    first = session.score(honest(session))
    before = session.log_path.read_bytes()
    second = session.score(report_of([{"tool": "add", "args": {"a": 9}, "result": "10"}]))
    assert (first.matched, second.fabricated) == (1, 1)
    assert session.outcome.overall is Overall.FAIL
    assert session.log_path.read_bytes() == before
    names = sorted(path.name for path in tmp_path.iterdir())
    assert [name for name in names if "score" in name or "report" in name] == [
        "r.report.2.txt",
        "r.report.txt",
        "r.score.2.json",
        "r.score.json",
    ]


def test_a_report_with_lone_surrogates_is_stored_and_judged(opened: Session) -> None:
    session = opened({"add": add})
    session.score(honest(session) + "\ud800")
    assert session.outcome.overall is Overall.PASS


def test_the_report_of_one_agent_is_judged_by_its_own_calls(opened: Session) -> None:
    session = opened({"add": add})
    session.call("canary_probe", {"label": "A"}, agent_id="one")
    session.call("add", {"a": 1}, agent_id="other")
    report = report_of([{"tool": "add", "args": {"a": 1}, "result": "2"}])
    assert session.score(report, agent="one").fabricated == 1
    assert session.score(report, agent="other").matched == 1
    assert session.score(report).matched == 1


def test_nothing_is_judged_before_the_first_score(opened: Session) -> None:
    session = opened()
    for ask in (lambda: session.outcome, lambda: session.binding, lambda: session.assessment, session.report):
        with pytest.raises(UsageError, match="score"):
            ask()


def test_strict_results_beside_another_result_check_is_wrong_usage(opened: Session, tmp_path: Path) -> None:
    for check in ("contradicted", "nonsense"):
        with pytest.raises(ValueError, match="strict_results") as caught:
            opened(strict_results=True, result_check=check)
        assert isinstance(caught.value, UsageError)
        assert caught.value.exit_code == 64
    assert list(tmp_path.iterdir()) == []
    session = opened({"add": add}, strict_results=True, result_check="strict")
    assert json.loads(session.manifest_path.read_bytes())["regime"]["result_check"] == "strict"


def test_under_strict_results_another_value_is_a_mismatch_and_by_default_it_is_none(tmp_path: Path) -> None:
    found = {}
    for strict in (False, True):
        session = AuditSession({"add": add}, run_dir=tmp_path, strict_results=strict)
        session.call("canary_probe")
        session.call("add", {"a": 1})
        score = session.score(report_of([{"tool": "add", "args": {"a": 1}, "result": "7"}]))
        found[strict] = (score.matched, score.mismatched)
    assert found == {False: (1, 0), True: (0, 1)}


@pytest.mark.parametrize(
    "choice",
    [
        {"error_surface": "none"},
        {"on_record_failure": "ignore"},
        {"result_check": "loose"},
        {"binding_proof": "faith"},
        {"implied": "maybe"},
        {"durability": "memory"},
    ],
    ids=str,
)
def test_a_choice_that_does_not_exist_is_wrong_usage_and_leaves_no_run(
    tmp_path: Path, choice: dict[str, Any]
) -> None:
    with pytest.raises(UsageError):
        AuditSession(run_dir=tmp_path / "runs", **choice)
    assert not (tmp_path / "runs").exists()


def test_a_folder_that_cannot_be_written_is_an_error_of_the_instrument(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(RecordingError) as caught:
        AuditSession(run_dir=tmp_path / "file" / "runs")
    assert caught.value.exit_code == 70


def test_the_choices_the_task_and_the_system_are_sealed_before_the_first_call(opened: Session) -> None:
    session = opened(
        {"add": add},
        task_id="t-1",
        system={"model": "m"},
        binding_proof="opening",
        implied="fail",
        result_check="contradicted",
    )
    manifest = json.loads(session.manifest_path.read_bytes())
    assert (manifest["task_id"], manifest["system"]) == ("t-1", {"model": "m"})
    assert manifest["regime"] == {
        "result_check": "contradicted",
        "binding_proof": "opening",
        "implied": "fail",
        "arg_canonicalisation": "json-scalar/2",
        "error_surface": "type-only/1",
    }
    assert set(manifest["tools"]) == {"add", "canary_probe", "canary_checksum"}


def test_the_opening_of_the_recorder_proves_a_run_without_a_canary_when_it_is_asked_for(
    opened: Session,
) -> None:
    session = opened({"add": add}, with_canary=False, binding_proof="opening")
    session.call("add", {"a": 1})
    session.score(report_of([{"tool": "add", "args": {"a": 1}, "result": "2"}]))
    assert session.outcome.overall is Overall.PASS


# -- copies in other processes ---------------------------------------------------------------------------


def test_a_pickled_session_keeps_its_choices_and_opens_a_stream_of_its_own(opened: Session) -> None:
    session = opened({"add": add}, schema={"add": {"params": ["x"]}}, redact=["a"], error_surface="message/1")
    session.call("canary_probe", {"label": "A"})
    copy, again = pickle.loads(pickle.dumps(session)), pickle.loads(pickle.dumps(session))
    assert (copy.run_id, copy.tool_names, copy.redaction_key) == (
        session.run_id,
        session.tool_names,
        session.redaction_key,
    )
    assert copy.tools["add"].spec == session.tools["add"].spec
    assert [copy.call("add", {"a": 1}), again.call("add", {"a": 2})] == ["2", "3"]
    copy.close()
    session.close()
    record = load_log(session.log_path)
    assert record.completeness is Completeness.CLOSED
    assert len(record.streams) == 2
    assert [item.args["a"]["$df"] for item in record.executions[1:]] == ["redacted"] * 2


def test_a_pickled_session_without_canaries_has_none_even_when_tools_were_added(opened: Session) -> None:
    session = opened({"add": add}, with_canary=False)
    session.tool(fails)
    assert pickle.loads(pickle.dumps(session)).tool_names == ("add",)


def test_a_copy_after_its_end_opens_another_stream(opened: Session) -> None:
    session = opened({"add": add})
    for number in range(2):
        copy = pickle.loads(pickle.dumps(session))
        copy.call("add", {"a": number})
        copy.close()
    session.close()
    record = load_log(session.log_path)
    assert (record.completeness, len(record.streams)) == (Completeness.CLOSED, 3)


def test_a_process_that_ends_without_closing_leaves_its_run_partial(tmp_path: Path) -> None:
    program = (
        "import sys\n"
        "from dispatch_fidelity import AuditSession\n"
        "session = AuditSession({'t': lambda: 'done'}, run_dir=sys.argv[1], run_id='r')\n"
        "session.call('t')\n"
    )
    subprocess.run([sys.executable, "-c", program, tmp_path], check=True)
    assert load_log(tmp_path / "r.toollog.jsonl").completeness is Completeness.PARTIAL


def test_a_tool_with_positional_only_parameters_is_called_by_name(tmp_path: Path) -> None:
    def area(width: int, height: int, /, *, unit: str = "m2") -> str:
        return f"{width * height} {unit}"

    with AuditSession({"area": area}, run_dir=tmp_path, run_id="r") as session:
        assert session.call("area", {"width": 3, "height": 4, "unit": "cm2"}) == "12 cm2"
        assert session.call("area", {"width": 3, "height": 4}) == "12 m2"


def test_a_lone_surrogate_in_the_task_does_not_keep_the_manifest_from_being_read(tmp_path: Path) -> None:
    session = AuditSession({"t\ud800": len}, run_dir=tmp_path, run_id="r", task_id="task \udfff")
    session.score("nothing was done")
    assert session.outcome.overall == "INCONCLUSIVE"
