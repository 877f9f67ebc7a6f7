"""The tools that a session offers: what they are called, what they take, and how they are run."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable, Mapping
from enum import Enum
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from .errors import UsageError
from .jsonio import UNSET
from .log.values import TAG, snapshot
from .model.run import ToolSpec

_TYPES = {
    str: "string",
    int: "integer",
    float: "number",
    bool: "boolean",
    NoneType: "null",
    dict: "object",
}


class Tool:
    """One callable under a name, with the order and the defaults of its parameters."""

    __slots__ = ("by_name", "description", "fn", "is_async", "name", "positional", "schema", "spec", "stated")

    def __init__(self, name: str, fn: Callable[..., Any], schema: Mapping[str, Any] | None = None) -> None:
        if not callable(fn):
            raise UsageError(f"tool {name!r} is no callable")
        self.name = name
        self.fn = fn
        self.is_async = is_async(fn)
        self.description = (inspect.getdoc(_unbound(fn)) or "").strip()
        signature = signature_of(fn)
        stated = schema or _attached_schema(fn)
        self.positional = _positional(signature)
        self.by_name = _by_name(fn, signature)
        self.spec = spec_from_schema(stated) if stated is not None else spec_from_signature(signature)
        self.stated = schema
        self.schema = dict(stated) if stated is not None and "properties" in stated else None

    def parameters(self) -> dict[str, Any]:
        """The JSON Schema of the arguments: the stated one, else one derived from the signature."""
        return self.schema if self.schema is not None else schema_from_signature(self.fn)

    def named(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
        """The arguments of a Python call under the names of the signature; defaults are not filled in."""
        if not args:
            return kwargs
        names = self.positional
        given: dict[str, Any] = dict(zip(names, args, strict=False))
        for number, item in enumerate(args[len(names) :], len(names)):
            given[f"arg{number}"] = item
        given.update(kwargs)
        return given


def collect_tools(tools: Any, schemas: Mapping[str, Any] | None = None) -> dict[str, Tool]:
    """Tools by name: from a mapping, an iterable of callables, or an object's public methods."""
    if tools is None:
        return {}
    if isinstance(tools, Mapping):
        pairs: Iterable[tuple[str, Any]] = ((str(name), fn) for name, fn in tools.items())
    elif isinstance(tools, Iterable) and not isinstance(tools, (str, bytes)):
        pairs = ((tool_name(fn), fn) for fn in tools)
    else:
        names = [name for name in dir(tools) if not name.startswith("_")]
        names = [name for name in names if not isinstance(getattr(type(tools), name, None), property)]
        pairs = [(name, fn) for name in names if callable(fn := getattr(tools, name))]
    found: dict[str, Tool] = {}
    for name, fn in pairs:
        if name.startswith("_"):
            continue
        if name in found:
            raise UsageError(f"two tools are called {name!r}")
        found[name] = Tool(name, fn, (schemas or {}).get(name))
    return found


def tool_name(fn: Any) -> str:
    """The name under which a callable is offered when none is given."""
    name = getattr(fn, "name", None) or getattr(fn, "__name__", None)
    if not isinstance(name, str):
        raise UsageError(f"{fn!r} has no name: give the tools as a mapping from name to callable")
    return name


def is_async(fn: Callable[..., Any]) -> bool:
    """Whether calling it gives something to be awaited or iterated asynchronously."""
    fn = _unbound(fn)
    return any(
        inspect.iscoroutinefunction(item) or inspect.isasyncgenfunction(item) for item in (fn, _body(fn))
    )


def _unbound(fn: Callable[..., Any]) -> Callable[..., Any]:
    """What a partial was made of."""
    while isinstance(fn, functools.partial):
        fn = fn.func
    return fn


def _body(fn: Callable[..., Any]) -> Callable[..., Any]:
    """The function that runs when a callable is called: itself, or the method of its class."""
    if inspect.isroutine(fn) or inspect.isclass(fn):
        return fn
    return getattr(type(fn), "__call__", fn)  # noqa: B004 - the method is wanted


def signature_of(fn: Callable[..., Any]) -> inspect.Signature | None:
    """The signature of a callable; None for one that has none (some built-ins)."""
    try:
        return inspect.signature(fn)
    except (ValueError, TypeError):
        return None


def _by_name(fn: Callable[..., Any], signature: inspect.Signature | None) -> Callable[..., Any]:
    """The callable as an agent calls it, with every argument under its name; positional-only ones too."""
    parameters = signature.parameters.items() if signature is not None else ()
    bare = [name for name, parameter in parameters if parameter.kind is inspect.Parameter.POSITIONAL_ONLY]
    if not bare:
        return fn

    def call(**args: Any) -> Any:
        first = [args.pop(name) for name in bare if name in args]
        return fn(*first, **args)

    return call


def _positional(signature: inspect.Signature | None) -> tuple[str, ...]:
    if signature is None:
        return ()
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return tuple(name for name, parameter in signature.parameters.items() if parameter.kind in kinds)


def spec_from_signature(signature: inspect.Signature | None) -> ToolSpec:
    """Parameter order and plain defaults, as the manifest holds them."""
    if signature is None:
        return ToolSpec(variadic=True)
    params, defaults, variadic = [], {}, False
    for name, parameter in signature.parameters.items():
        if parameter.kind in (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD):
            variadic = True
            continue
        params.append(name)
        if parameter.default is not inspect.Parameter.empty:
            defaults[name] = snapshot(parameter.default)
    return ToolSpec(tuple(params), defaults, variadic)


def spec_from_schema(schema: Mapping[str, Any]) -> ToolSpec:
    """Parameter order and defaults from ``{"params": […]}`` or from a JSON Schema of an object."""
    if "params" in schema:
        params = schema["params"]
        if not isinstance(params, (list, tuple)) or not all(isinstance(name, str) for name in params):
            raise UsageError("a schema's params is a list of names")
        return ToolSpec(tuple(params), dict(schema.get("defaults") or {}))
    properties = schema.get("properties") or {}
    if not isinstance(properties, Mapping):
        raise UsageError("a JSON Schema's properties is an object")
    defaults = {
        str(name): snapshot(value["default"])
        for name, value in properties.items()
        if isinstance(value, Mapping) and "default" in value
    }
    return ToolSpec(tuple(map(str, properties)), defaults)


def _attached_schema(fn: Any) -> Mapping[str, Any] | None:
    for name in ("input_schema", "inputSchema", "parameters"):
        schema = getattr(fn, name, None)
        if isinstance(schema, Mapping) and "properties" in schema:
            return schema
    return None


def schema_from_signature(fn: Callable[..., Any]) -> dict[str, Any]:
    """The JSON Schema of a callable's arguments, from its annotations and defaults."""
    signature = signature_of(fn)
    if signature is None:
        return {"type": "object", "properties": {}, "additionalProperties": True}
    try:
        hints = get_type_hints(_body(_unbound(fn)))
    except Exception:  # annotations are the user's: an unresolvable one types nothing
        hints = {}
    properties: dict[str, Any] = {}
    required = []
    open_ended = False
    for name, parameter in signature.parameters.items():
        if parameter.kind is inspect.Parameter.VAR_KEYWORD:
            open_ended = True
        if parameter.kind in (inspect.Parameter.VAR_KEYWORD, inspect.Parameter.VAR_POSITIONAL):
            continue
        properties[name] = _schema_of(hints.get(name, UNSET))
        if parameter.default is inspect.Parameter.empty:
            required.append(name)
        else:
            default = snapshot(parameter.default)
            if not (isinstance(default, dict) and TAG in default):  # a stand-in is nothing to send back
                properties[name] = {**properties[name], "default": default}
    return {
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": open_ended,
    }


def _schema_of(hint: Any) -> dict[str, Any]:
    if hint is UNSET or hint is Any:
        return {}
    origin, parts = get_origin(hint) or hint, get_args(hint)
    if origin in (list, set, frozenset, tuple):
        return _schema_of_array(origin, parts)
    if hint in _TYPES:
        return {"type": _TYPES[hint]}
    if origin is Literal:
        return {"enum": [snapshot(part) for part in parts]}
    if origin in (Union, UnionType):
        return {"anyOf": [_schema_of(part) for part in parts]}
    if origin is dict:
        return {"type": "object"}
    if isinstance(hint, type) and issubclass(hint, Enum):
        return {"enum": [snapshot(member.value) for member in hint]}
    return {}


def _schema_of_array(origin: Any, parts: tuple[Any, ...]) -> dict[str, Any]:
    """Always with ``items``: providers refuse an array without it, and know no other way to type its places."""
    if origin is not tuple or not parts or parts[-1] is Ellipsis:
        return {"type": "array", "items": _schema_of(parts[0]) if parts else {}}
    kinds: list[dict[str, Any]] = []
    for schema in map(_schema_of, parts):
        if schema not in kinds:
            kinds.append(schema)
    items = kinds[0] if len(kinds) == 1 else {"anyOf": kinds}
    return {"type": "array", "items": items, "minItems": len(parts), "maxItems": len(parts)}
