"""What a session learns of its tools: their names, their parameters, and whether they are async."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from enum import Enum
from types import MappingProxyType
from typing import Annotated, Any, Literal, Optional, Union

import pytest

from dispatch_fidelity.errors import UsageError
from dispatch_fidelity.model.run import ToolSpec
from dispatch_fidelity.toolset import (
    Tool,
    collect_tools,
    is_async,
    schema_from_signature,
    signature_of,
    spec_from_schema,
    spec_from_signature,
    tool_name,
)

OPTIONAL = Optional[str]  # noqa: UP045 - the older form is what many tools are written in
UNION = Union[int, list[str]]  # noqa: UP007


class Colour(Enum):
    """Colours."""

    RED = "red"
    BLUE = "blue"


class Adder:
    """Adds, when it is called."""

    def __call__(self, a: int, b: int = 1) -> int:
        """Add two numbers."""
        return a + b


class AsyncCaller:
    """Is async, when it is called."""

    async def __call__(self) -> None:
        """Wait."""


class Desk:
    """Tools that share a state."""

    drawer = 3

    def note(self, text: str) -> None:
        """Note a text."""

    def read(self, page: int = 1) -> str:
        """Read a page."""
        return ""

    def _hidden(self) -> None: ...

    @property
    def costly(self) -> Callable[[], None]:
        raise AssertionError("a property is not looked at")


def add(a: int, b: int = 1) -> int:
    """Add two numbers."""
    return a + b


async def fetch(page: int) -> str:
    """Fetch a page."""
    return str(page)


async def stream(page: int) -> Any:
    """Fetch pages."""
    yield page


def parameter(hint: Any, *default: Any) -> dict[str, Any]:
    """The schema of one parameter with this annotation, and whether it is required."""

    def tool(value: Any) -> None: ...

    tool.__annotations__["value"] = hint
    tool.__defaults__ = default or None
    schema = schema_from_signature(tool)
    assert schema["required"] == ([] if default else ["value"])
    found: dict[str, Any] = schema["properties"]["value"]
    return found


# -- schemas of parameters ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("hint", "schema"),
    [
        (str, {"type": "string"}),
        (int, {"type": "integer"}),
        (float, {"type": "number"}),
        (bool, {"type": "boolean"}),
        (None, {"type": "null"}),
        (dict, {"type": "object"}),
        (dict[str, int], {"type": "object"}),
        (list, {"type": "array", "items": {}}),
        (list[int], {"type": "array", "items": {"type": "integer"}}),
        (list[list[str]], {"type": "array", "items": {"type": "array", "items": {"type": "string"}}}),
        (set[str], {"type": "array", "items": {"type": "string"}}),
        (tuple[int, ...], {"type": "array", "items": {"type": "integer"}}),
        (
            tuple[float, float],
            {"type": "array", "items": {"type": "number"}, "minItems": 2, "maxItems": 2},
        ),
        (
            tuple[int, str],
            {
                "type": "array",
                "items": {"anyOf": [{"type": "integer"}, {"type": "string"}]},
                "minItems": 2,
                "maxItems": 2,
            },
        ),
        (Literal["asc", "desc"], {"enum": ["asc", "desc"]}),
        (Literal[1, True, None], {"enum": [1, True, None]}),
        (Colour, {"enum": ["red", "blue"]}),
        (list[Colour], {"type": "array", "items": {"enum": ["red", "blue"]}}),
        (OPTIONAL, {"anyOf": [{"type": "string"}, {"type": "null"}]}),
        (
            UNION,
            {"anyOf": [{"type": "integer"}, {"type": "array", "items": {"type": "string"}}]},
        ),
        (int | None, {"anyOf": [{"type": "integer"}, {"type": "null"}]}),
        (Annotated[int, ["positive"]], {"type": "integer"}),
        ("int", {"type": "integer"}),
        (Any, {}),
        (object, {}),
        (Sequence[int], {}),
        (Desk, {}),
    ],
    ids=str,
)
def test_an_annotation_becomes_a_schema(hint: Any, schema: dict[str, Any]) -> None:
    assert parameter(hint) == schema


@pytest.mark.parametrize(
    ("hint", "default", "schema"),
    [
        (int, 3, {"type": "integer", "default": 3}),
        (OPTIONAL, None, {"anyOf": [{"type": "string"}, {"type": "null"}], "default": None}),
        (Colour, Colour.RED, {"enum": ["red", "blue"], "default": "red"}),
        (tuple[int, ...], (1, 2), {"type": "array", "items": {"type": "integer"}, "default": [1, 2]}),
        (dict, {"a": 1}, {"type": "object", "default": {"a": 1}}),
    ],
    ids=str,
)
def test_a_default_makes_a_parameter_optional_and_is_shown(
    hint: Any, default: Any, schema: dict[str, Any]
) -> None:
    assert parameter(hint, default) == schema


@pytest.mark.parametrize(
    "default", [object(), math.inf, 2**60, "\ud800"], ids=["sentinel", "inf", "long", "half"]
)
def test_a_default_that_json_cannot_hold_is_left_out(default: Any) -> None:
    assert parameter(Any, default) == {}


def test_the_schema_of_a_signature_names_what_is_required_and_is_closed() -> None:
    assert schema_from_signature(add) == {
        "type": "object",
        "properties": {"a": {"type": "integer"}, "b": {"type": "integer", "default": 1}},
        "required": ["a"],
        "additionalProperties": False,
    }


def test_further_keywords_make_the_schema_open() -> None:
    def tool(a: int, *rest: int, key: str, **more: str) -> None: ...

    assert schema_from_signature(tool) == {
        "type": "object",
        "properties": {"a": {"type": "integer"}, "key": {"type": "string"}},
        "required": ["a", "key"],
        "additionalProperties": True,
    }


def test_an_annotation_that_does_not_resolve_types_nothing_and_raises_nothing() -> None:
    def tool(a: int, b: str = "x") -> None: ...

    tool.__annotations__["a"] = "NoSuchType"
    schema = schema_from_signature(tool)
    assert (schema["properties"], schema["required"]) == ({"a": {}, "b": {"default": "x"}}, ["a"])


def test_a_callable_without_a_signature_takes_anything() -> None:
    def no_signature() -> None: ...

    no_signature.__signature__ = 1  # type: ignore[attr-defined] # what some extension modules have
    assert signature_of(no_signature) is None
    assert schema_from_signature(no_signature) == {
        "type": "object",
        "properties": {},
        "additionalProperties": True,
    }
    assert Tool("t", no_signature).spec == ToolSpec(variadic=True)


@pytest.mark.parametrize("fn", [functools.partial(add, b=1), Adder(), Adder().__call__], ids=str)
def test_partials_and_callable_objects_have_typed_parameters_too(fn: Callable[..., Any]) -> None:
    assert schema_from_signature(fn) == schema_from_signature(add)


def test_what_a_partial_has_filled_in_is_not_offered() -> None:
    schema = schema_from_signature(functools.partial(add, 1))
    assert (list(schema["properties"]), schema["required"]) == (["b"], [])


def test_a_stated_schema_is_offered_as_it_is() -> None:
    stated = {"type": "object", "properties": {"a": {"type": "integer", "minimum": 0}}, "required": ["a"]}
    assert Tool("add", add, stated).parameters() == stated


def test_a_stated_order_of_parameters_leaves_the_types_of_the_signature() -> None:
    tool = Tool("add", add, {"params": ["b", "a"]})
    assert tool.spec.params == ("b", "a")
    assert tool.parameters() == schema_from_signature(add)


@pytest.mark.parametrize("member", ["input_schema", "inputSchema", "parameters"])
def test_a_schema_that_a_callable_carries_is_used(member: str) -> None:
    def tool(**given: Any) -> None: ...

    carried = {"type": "object", "properties": {"a": {"default": 2}}}
    setattr(tool, member, MappingProxyType(carried))
    assert Tool("t", tool).parameters() == carried
    assert Tool("t", tool).spec == ToolSpec(("a",), {"a": 2})


# -- what the manifest holds -------------------------------------------------------------------------------


def test_a_spec_holds_order_and_defaults() -> None:
    def tool(a: int, b: str = "x", *, c: Colour = Colour.RED) -> None: ...

    assert spec_from_signature(signature_of(tool)) == ToolSpec(("a", "b", "c"), {"b": "x", "c": "red"})


def test_a_spec_says_whether_further_arguments_are_taken() -> None:
    assert not spec_from_signature(signature_of(add)).variadic
    assert spec_from_signature(signature_of(lambda *rest: rest)).variadic
    assert spec_from_signature(signature_of(lambda **more: more)).variadic


@pytest.mark.parametrize(
    "schema", [{"params": "ab"}, {"params": [1]}, {"properties": ["a"]}], ids=["text", "number", "list"]
)
def test_a_schema_of_another_shape_is_refused(schema: dict[str, Any]) -> None:
    with pytest.raises(UsageError):
        spec_from_schema(schema)


def test_positional_arguments_get_the_names_of_the_signature_and_no_defaults() -> None:
    tool = Tool("add", add)
    assert tool.named((1,), {}) == {"a": 1}
    assert tool.named((1, 2), {}) == {"a": 1, "b": 2}
    assert tool.named((1,), {"b": 2}) == {"a": 1, "b": 2}
    assert tool.named((1, 2, 3), {}) == {"a": 1, "b": 2, "arg2": 3}


# -- collecting --------------------------------------------------------------------------------------------


def test_tools_come_from_a_mapping_an_iterable_or_an_object() -> None:
    assert list(collect_tools({"plus": add})) == ["plus"]
    assert list(collect_tools(iter([add, fetch]))) == ["add", "fetch"]
    assert list(collect_tools(Desk())) == ["note", "read"]
    assert collect_tools(None) == {}


def test_names_that_begin_with_an_underscore_are_no_tools() -> None:
    assert list(collect_tools({"_plus": add, "plus": add})) == ["plus"]


def test_two_tools_of_one_name_are_refused() -> None:
    with pytest.raises(UsageError, match="two tools are called 'add'"):
        collect_tools([add, add])


def test_what_cannot_be_called_is_refused() -> None:
    with pytest.raises(UsageError, match="no callable"):
        collect_tools({"add": 3})


def test_a_callable_without_a_name_needs_a_mapping() -> None:
    with pytest.raises(UsageError, match="mapping"):
        tool_name(functools.partial(add, 1))


def test_schemas_go_to_the_tools_of_their_names() -> None:
    tools = collect_tools({"plus": add, "other": add}, {"plus": {"params": ["x"]}})
    assert (tools["plus"].spec.params, tools["other"].spec.params) == (("x",), ("a", "b"))


# -- what kind of callable ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "fn", [fetch, stream, functools.partial(fetch, 1), AsyncCaller(), AsyncCaller().__call__], ids=str
)
def test_what_must_be_awaited_or_iterated_asynchronously_is_async(fn: Callable[..., Any]) -> None:
    assert is_async(fn)


@pytest.mark.parametrize("fn", [add, functools.partial(add, 1), Adder(), len, Desk, Desk().note], ids=str)
def test_everything_else_is_not(fn: Callable[..., Any]) -> None:
    assert not is_async(fn)


@pytest.mark.parametrize("fn", [add, functools.partial(add, 1), functools.partial(functools.partial(add), 1)])
def test_the_description_is_that_of_the_function(fn: Callable[..., Any]) -> None:
    assert Tool("t", fn).description == "Add two numbers."


def test_a_callable_without_a_docstring_has_an_empty_description() -> None:
    assert Tool("t", lambda: None).description == ""
