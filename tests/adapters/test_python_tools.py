"""Plain Python tools, recorded where they are called: the same values, the same exceptions, and a record."""

from __future__ import annotations

import asyncio
import functools
import inspect
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from dispatch_fidelity import AuditSession, SessionClosedError, UsageError, load_log
from dispatch_fidelity.adapters.python_tools import claims_instruction, instrument
from dispatch_fidelity.claims.extract import extract
from dispatch_fidelity.model.assessment import Overall
from dispatch_fidelity.model.call import Status
from dispatch_fidelity.model.execution import Execution
from dispatch_fidelity.simulation.agents import report_of

Session = Callable[..., AuditSession]
CANARIES = ["canary_probe", "canary_checksum"]


class JamError(Exception):
    """An exception of the user's own."""


def add(a: int, b: int = 1) -> int:
    """Add two numbers."""
    return a + b


def fail(why: str) -> str:
    """Fail."""
    raise JamError(why)


async def fetch(page: int) -> dict[str, int]:
    """Fetch a page."""
    await asyncio.sleep(0)
    return {"page": page}


def counted(limit: int) -> Iterator[int]:
    """Count."""
    yield from range(limit)


async def acounted(limit: int) -> AsyncIterator[int]:
    """Count, without hurry."""
    for number in range(limit):
        yield number


class Desk:
    """Tools that share a state."""

    def __init__(self) -> None:
        self.notes: list[str] = []

    def note(self, text: str) -> int:
        """Note a text."""
        self.notes.append(text)
        return len(self.notes)


@pytest.fixture
def opened(tmp_path: Path) -> Iterator[Session]:
    """Opens a session in a folder of the test, and closes it after the test."""
    sessions: list[AuditSession] = []

    def opening(tools: Any = None, **options: Any) -> AuditSession:
        session = AuditSession(tools, run_dir=tmp_path, run_id=f"r{len(sessions)}", **options)
        sessions.append(session)
        return session

    yield opening
    for session in sessions:
        session.close()


def executions(session: AuditSession) -> list[Execution]:
    """The calls of a session as its log shows them now."""
    return list(load_log(session.log_path).executions)


# -- what comes back ---------------------------------------------------------------------------------------


def test_a_mapping_gives_a_dict_with_the_canaries(opened: Session) -> None:
    tools = instrument({"plus": add, "fail": fail}, opened())
    assert list(tools) == ["plus", "fail", *CANARIES]


@pytest.mark.parametrize("kind", [list, tuple, iter])
def test_an_iterable_of_callables_gives_a_list_with_the_canaries(
    opened: Session, kind: Callable[[Any], Any]
) -> None:
    tools = instrument(kind([add, fail]), opened())
    assert isinstance(tools, list)
    assert [tool.__name__ for tool in tools] == ["add", "fail", *CANARIES]


def test_a_single_callable_gives_a_callable(opened: Session) -> None:
    session = opened()
    assert instrument(add, session)(2, b=3) == 5
    assert [(e.tool, e.args, e.result) for e in executions(session)] == [("add", {"a": 2, "b": 3}, 5)]


def test_without_canaries_none_are_added(opened: Session) -> None:
    assert list(instrument({"add": add}, opened(with_canary=False))) == ["add"]


def test_the_tools_become_tools_of_the_session(opened: Session) -> None:
    session = opened()
    instrument({"plus": add}, session)
    assert session.tool_names == (*CANARIES, "plus")
    assert session.call("plus", {"a": 1}) == "2"


def test_tools_that_the_session_has_already_are_recorded_under_their_names(opened: Session) -> None:
    desk = Desk()
    session = opened({"plus": add, "note": desk.note})
    tools = instrument({"plus": add, "note": desk.note}, session)
    assert tools["plus"](1) + tools["note"]("x") == 3
    assert [execution.tool for execution in executions(session)] == ["plus", "note"]


def test_another_tool_under_a_name_that_is_taken_is_refused(opened: Session) -> None:
    with pytest.raises(UsageError, match="another tool is called 'add'"):
        instrument({"add": fail}, opened({"add": add}))


def test_a_tool_under_the_name_of_a_canary_is_refused(opened: Session) -> None:
    with pytest.raises(UsageError, match="another tool is called 'canary_probe'"):
        instrument({"canary_probe": add}, opened())


def test_a_callable_without_a_name_needs_a_mapping(opened: Session) -> None:
    nameless = functools.partial(add, 1)
    with pytest.raises(UsageError, match="mapping"):
        instrument([nameless], opened())
    assert instrument({"plus_one": nameless}, opened())["plus_one"]() == 2


# -- transparency ------------------------------------------------------------------------------------------


def test_the_value_itself_passes_through(opened: Session) -> None:
    value = object()
    assert instrument({"same": lambda: value}, opened())["same"]() is value


def test_the_exception_itself_passes_through_and_is_recorded(opened: Session) -> None:
    session = opened()
    problem = JamError("no paper")

    def jam() -> None:
        raise problem

    with pytest.raises(JamError) as caught:
        instrument([jam], session)[0]()
    assert caught.value is problem
    [execution] = executions(session)
    assert (execution.status, execution.error, execution.message) == (Status.RAISED, "JamError", "no paper")


@pytest.mark.parametrize("kind", [KeyboardInterrupt, SystemExit])
def test_an_interruption_passes_through_and_is_recorded(opened: Session, kind: type[BaseException]) -> None:
    session = opened()

    def stop() -> None:
        raise kind

    with pytest.raises(kind):
        instrument(stop, session)()
    [execution] = executions(session)
    assert (execution.status, execution.error) == (Status.CANCELLED, kind.__name__)


def test_a_wrong_signature_raises_as_without_a_recorder(opened: Session) -> None:
    session = opened()
    with pytest.raises(TypeError):
        instrument(add, session)(1, 2, 3)
    assert executions(session)[0].failed


def test_positional_arguments_are_recorded_under_the_names_of_the_signature(opened: Session) -> None:
    session = opened()
    instrument(add, session)(1, 2)
    assert executions(session)[0].args == {"a": 1, "b": 2}


def test_arguments_are_recorded_as_they_were_before_the_call(opened: Session) -> None:
    session = opened()

    def drain(items: list[int]) -> int:
        items.clear()
        return 0

    given = [1, 2]
    instrument(drain, session)(given)
    assert given == []
    assert executions(session)[0].args == {"items": [1, 2]}


def test_name_documentation_and_signature_stay(opened: Session) -> None:
    tool = instrument(add, opened())
    assert (tool.__name__, tool.__doc__) == ("add", "Add two numbers.")
    assert inspect.signature(tool) == inspect.signature(add)


def test_a_method_keeps_its_object(opened: Session) -> None:
    desk, session = Desk(), opened()
    instrument([desk.note], session)[0]("milk")
    assert desk.notes == ["milk"]
    assert executions(session)[0].args == {"text": "milk"}


def test_an_async_tool_stays_async(opened: Session) -> None:
    session = opened()
    tool = instrument([fetch], session)[0]
    assert inspect.iscoroutinefunction(tool)
    assert asyncio.run(tool(3)) == {"page": 3}
    assert executions(session)[0].result == {"page": 3}


def test_a_generator_stays_lazy_and_its_items_are_recorded(opened: Session) -> None:
    session = opened()
    items = instrument(counted, session)(3)
    assert next(items) == 0
    assert executions(session)[0].status is Status.UNFINISHED
    assert list(items) == [1, 2]
    assert executions(session)[0].result == [0, 1, 2]


def test_an_async_generator_stays_one_and_its_items_are_recorded(opened: Session) -> None:
    session = opened()

    async def used() -> list[int]:
        return [item async for item in instrument(acounted, session)(2)]

    assert asyncio.run(used()) == [0, 1]
    assert executions(session)[0].result == [0, 1]


def test_a_tool_of_a_closed_run_does_not_run(opened: Session) -> None:
    desk, session = Desk(), opened()
    tool = instrument([desk.note], session)[0]
    session.close()
    with pytest.raises(SessionClosedError):
        tool("too late")
    assert desk.notes == []


# -- the report contract -----------------------------------------------------------------------------------


def test_the_instruction_asks_for_a_block_that_is_read_as_claims() -> None:
    [example] = extract(claims_instruction()).claims
    assert (example.tool, example.args) == ("<name>", {"<parameter>": "<value>"})


def test_an_agent_that_follows_the_instruction_passes(opened: Session) -> None:
    session = opened(result_check="strict")
    tools = instrument([add], session)
    items = [
        {"tool": "canary_probe", "args": {"label": "A"}, "result": tools[1](label="A")},
        {"tool": "add", "args": {"a": 1, "b": 2}, "result": tools[0](1, 2)},
    ]
    score = session.score(report_of(items))
    assert session.outcome.overall is Overall.PASS, session.report()
    assert (score.claimed, score.matched) == (2, 2)


def test_a_call_that_was_never_made_fails(opened: Session) -> None:
    session = opened()
    tools = instrument([add], session)
    tools[1](label="A")
    score = session.score(report_of([{"tool": "add", "args": {"a": 1, "b": 2}, "result": 3}]))
    assert session.outcome.overall is Overall.FAIL
    assert score.fabricated == 1
