"""Any Python value becomes plain JSON data, the same in every process, and never an exception."""

from __future__ import annotations

import datetime as dt
import decimal
import fractions
import ipaddress
import json
import math
import subprocess
import sys
import uuid
from collections import OrderedDict, defaultdict, deque, namedtuple
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum, IntEnum
from pathlib import Path, PurePosixPath
from types import SimpleNamespace
from typing import Any, NamedTuple

import msgspec
import pytest

from dispatch_fidelity.jsonio import LIMITS, decode
from dispatch_fidelity.log.values import (
    SAFE_INTEGER,
    encode_value,
    keyed_digest,
    redacted,
    redaction,
    snapshot,
)

KEY = bytes(32)


class Colour(Enum):
    RED = "red"
    PAIR = (1, 2)


class Level(IntEnum):
    HIGH = 3


class Name(str):
    pass


class Count(int):
    pass


class Share(float):
    pass


class Pair(NamedTuple):
    left: int
    right: str


Bare = namedtuple("Bare", "a b")


@dataclass
class Order:
    item: str
    when: dt.date
    parts: list[Path] = field(default_factory=list)


class Booking(msgspec.Struct):
    seat: int
    price: decimal.Decimal


class Modelled:
    """Answers like a pydantic model."""

    def model_dump(self) -> dict[str, Any]:
        return {"total": decimal.Decimal("1.50")}


class Attributed:
    """Declares its fields as attrs does."""

    __attrs_attrs__ = (SimpleNamespace(name="left"), SimpleNamespace(name="right"))

    def __init__(self) -> None:
        self.left, self.right = 1, {2}


class Array:
    """Declares itself as numpy's arrays do."""

    __module__ = "numpy"

    def tolist(self) -> list[Any]:
        return [[1, 2], [3, math.inf]]


class DatabaseId(uuid.UUID):
    """Database drivers hand out subclasses of the standard types."""


class Timestamp(dt.datetime):
    """Frameworks hand out subclasses of the standard types."""


class Handle:
    """Says nothing of itself but its address."""


UUID = "12345678-1234-5678-1234-567812345678"


@pytest.mark.fault("B1")
@pytest.mark.parametrize(
    ("value", "stored"),
    [
        (None, None),
        (True, True),
        (0, 0),
        (-1.5, -1.5),
        ("text", "text"),
        ("", ""),
        ([1, [2, []]], [1, [2, []]]),
        ((1, 2), [1, 2]),
        ({"a": {"b": None}}, {"a": {"b": None}}),
        ({3, 1, 2}, [1, 2, 3]),
        (frozenset({"b", "a"}), ["a", "b"]),
        ({(1, "x"), (0, "y")}, [[0, "y"], [1, "x"]]),
        (b"\x00\xff", "AP8="),
        (bytearray(b"ab"), "YWI="),
        (memoryview(b"ab"), "YWI="),
        (PurePosixPath("/etc/hosts"), "/etc/hosts"),
        (dt.date(2026, 8, 7), "2026-08-07"),
        (dt.datetime(2026, 8, 7, 1, 2, 3, tzinfo=dt.timezone.utc), "2026-08-07T01:02:03+00:00"),
        (dt.time(1, 2), "01:02:00"),
        (dt.timedelta(days=1, seconds=2), "1 day, 0:00:02"),
        (dt.timezone.utc, "UTC"),
        (uuid.UUID(UUID), UUID),
        (DatabaseId(UUID), UUID),
        (Timestamp(2026, 8, 7), "2026-08-07T00:00:00"),
        (decimal.Decimal("1.10"), "1.10"),
        (decimal.Decimal("NaN"), "NaN"),
        (fractions.Fraction(1, 3), "1/3"),
        (ipaddress.ip_address("::1"), "::1"),
        (ipaddress.ip_network("10.0.0.0/8"), "10.0.0.0/8"),
        (Colour.RED, "red"),
        (Colour.PAIR, [1, 2]),
        (Level.HIGH, 3),
        (Name("n"), "n"),
        (Count(7), 7),
        (Share(0.5), 0.5),
        (Pair(1, "r"), {"left": 1, "right": "r"}),
        (Bare(1, 2), {"a": 1, "b": 2}),
        (OrderedDict(b=1, a=2), {"b": 1, "a": 2}),
        (defaultdict(list, {"k": [1]}), {"k": [1]}),
        (
            Order("tea", dt.date(2026, 8, 7), [Path("a/b")]),
            {"item": "tea", "when": "2026-08-07", "parts": ["a/b"]},
        ),
        (Booking(12, decimal.Decimal("9.90")), {"seat": 12, "price": "9.90"}),
        (Modelled(), {"total": "1.50"}),
        (Attributed(), {"left": 1, "right": [2]}),
        (Array(), [[1, 2], [3, {"$df": "float", "text": "Infinity"}]]),
    ],
    ids=repr,
)
def test_standard_types_have_a_text_form(value: Any, stored: Any) -> None:
    found = snapshot(value)
    assert found == stored
    assert type(found) is type(stored)
    assert decode(encode_value(value).encode()) == stored


@pytest.mark.fault("B1")
@pytest.mark.parametrize(
    ("value", "kind", "text"),
    [
        (math.nan, "float", "NaN"),
        (math.inf, "float", "Infinity"),
        (-math.inf, "float", "-Infinity"),
        (Share("nan"), "float", "NaN"),
        (SAFE_INTEGER, "int", "9007199254740992"),
        (-SAFE_INTEGER, "int", "-9007199254740992"),
        (Count(2**70), "int", "1180591620717411303424"),
        ("\ud800", "str", "\\ud800"),
        ('a"\udfff\u00e9', "str", 'a\\"\\udfff\\u00e9'),
        (Name("\udc80"), "str", "\\udc80"),
    ],
    ids=ascii,
)
def test_what_json_cannot_hold_is_tagged(value: Any, kind: str, text: str) -> None:
    assert snapshot(value) == {"$df": kind, "text": text}
    assert decode(encode_value({"x": [value]}).encode()) == {"x": [{"$df": kind, "text": text}]}


def test_integers_below_2_to_53_stand_as_numbers() -> None:
    for value in (SAFE_INTEGER - 1, 1 - SAFE_INTEGER):
        assert encode_value(value) == str(value)


def test_an_integer_too_long_for_decimal_digits_stands_in_hexadecimal() -> None:
    value = 1 << 200_000
    assert snapshot(value) == {"$df": "int", "text": hex(value)}


@pytest.mark.parametrize(
    ("value", "stored"),
    [
        ({1: "a"}, {"1": "a"}),
        ({None: 1, True: 2, 1.5: 3}, {"null": 1, "true": 2, "1.5": 3}),
        ({(1, "x"): "t"}, {'[1,"x"]': "t"}),
        ({Name("n"): 1}, {"n": 1}),
        ({Colour.RED: 1}, {"red": 1}),
        ({dt.date(2026, 8, 7): 1}, {"2026-08-07": 1}),
    ],
    ids=repr,
)
def test_keys_that_are_no_strings_are_written_as_text(value: Any, stored: Any) -> None:
    assert snapshot(value) == stored


@pytest.mark.parametrize(
    ("value", "pairs"),
    [
        ({1: "a", "1": "b"}, [["1", "a"], ["1", "b"]]),
        ({"$df": "float", "text": "NaN"}, [["$df", "float"], ["text", "NaN"]]),
        ({"\ud800": 1}, [[{"$df": "str", "text": "\\ud800"}, 1]]),
    ],
    ids=ascii,
)
def test_an_object_whose_keys_json_cannot_hold_is_a_map_of_pairs(value: Any, pairs: Any) -> None:
    found = snapshot(value)
    assert found["$df"] == "map"
    assert json.loads(found["text"]) == pairs


def test_a_value_of_the_caller_cannot_pass_for_a_stand_in() -> None:
    forged = {"$df": "opaque", "text": "x", "sha256": "0" * 64}
    assert snapshot(forged) != forged
    assert snapshot({"deep": [forged]})["deep"][0]["$df"] == "map"


def test_distinct_values_that_naive_encoders_mix_up_stay_distinct() -> None:
    values: list[Any] = [math.nan, None, "NaN", 2**70, float(2**70), {1: 2}, {"1": 2, 1: 2}, [1], "[1]"]
    assert len({encode_value(value) for value in values}) == len(values)


# -- opaque ----------------------------------------------------------------------------------------------


class Described:
    def __init__(self, text: str) -> None:
        self.text = text

    def __repr__(self) -> str:
        return f"<Described {self.text} at 0x{id(self):x}>"


def generator() -> Any:
    yield 1


@pytest.mark.fault("B9")
@pytest.mark.parametrize(
    "value",
    [
        Handle(),
        generator(),
        generator,
        lambda: 0,
        object(),
        Described("a"),
        deque([1]),
        1j,
        range(3),
        Handle,
        sys,
    ],
    ids=lambda value: type(value).__name__,
)
def test_what_is_left_is_opaque_with_its_type_and_a_digest(value: Any) -> None:
    found = snapshot(value)
    kind = type(value)
    assert found.keys() == {"$df", "text", "sha256"}
    assert (found["$df"], found["text"]) == ("opaque", f"{kind.__module__}.{kind.__qualname__}")
    assert len(found["sha256"]) == 64
    assert " at 0x" not in encode_value(value)


@pytest.mark.fault("B9")
def test_the_digest_of_an_opaque_value_is_the_same_in_two_processes() -> None:
    program = (
        "import collections\n"
        "from dispatch_fidelity.log.values import encode_value\n"
        "class Handle: pass\n"
        "class Described:\n"
        "    def __repr__(self): return f'<Described 7 at {hex(id(self))}>'\n"
        "keep = [object() for _ in range(%d)]\n"
        "loop = [Handle()]; loop.append(loop)\n"
        "values = [Handle(), Described(), (x for x in ()), lambda: 0, loop]\n"
        "values += [collections.deque('ab'), {Handle(), 'a', 'b'}]\n"
        "print(*map(encode_value, values), sep='\\n')\n"
    )
    found = [
        subprocess.run(
            [sys.executable, "-c", program % size], capture_output=True, text=True, check=True
        ).stdout
        for size in (0, 1_000)
    ]
    assert found[0] == found[1]
    assert len(set(found[0].splitlines())) == 7


def test_opaque_values_of_one_type_that_describe_themselves_differently_differ() -> None:
    assert snapshot(Described("a")) == snapshot(Described("a"))
    assert snapshot(Described("a")) != snapshot(Described("b"))


# -- shapes ----------------------------------------------------------------------------------------------


def test_a_snapshot_shares_nothing_with_the_value() -> None:
    value: dict[str, Any] = {"list": [1], "nan": math.nan}
    found = snapshot(value)
    value["list"].append(2)
    value["more"] = 3
    assert found == {"list": [1], "nan": {"$df": "float", "text": "NaN"}}


@dataclass
class Node:
    name: str
    parent: Any = None
    children: list[Node] = field(default_factory=list)


def test_a_cycle_ends_in_a_stand_in_where_it_closes() -> None:
    loop: list[Any] = [1]
    loop.append(loop)
    stand_in = snapshot(loop)[1]
    assert stand_in["text"] == "builtins.list"
    table: dict[str, Any] = {"name": "t"}
    table["self"] = {"back": table}
    assert snapshot(table)["self"]["back"]["$df"] == "opaque"
    assert snapshot(table)["name"] == "t"


def test_values_full_of_cycles_take_linear_time() -> None:
    twice: list[Any] = []
    twice += [twice, twice, twice]
    assert len(snapshot(twice)) == 3
    root = Node("root")
    root.children = [Node(str(number), root) for number in range(2_000)]
    found = snapshot(root)
    assert len(found["children"]) == 2_000
    assert found["children"][1_999]["parent"]["$df"] == "opaque"


def test_one_value_in_two_places_is_no_cycle() -> None:
    shared = {math.pi: [1]}
    assert snapshot([shared, shared]) == [{"3.141592653589793": [1]}] * 2


@pytest.mark.parametrize("depth", [10, 90, 95, 96, 97, 98, 99, 100, 101, 120, 5_000])
@pytest.mark.parametrize("leaf", [1, math.nan, {1: 2}], ids=repr)
def test_nesting_beyond_the_limit_is_cut_where_a_reader_can_still_read_it(depth: int, leaf: Any) -> None:
    for wrap in (lambda inner: [inner], lambda inner: {"k": inner}, lambda inner: Node("n", inner)):
        value = leaf
        for _ in range(depth):
            value = wrap(value)
        line = f'{{"args":{encode_value(value)}}}'.encode()
        assert decode(line)
        if not 90 < depth <= LIMITS.depth:
            assert (b"opaque" in line) == (depth > 90)


# -- hostile values --------------------------------------------------------------------------------------


def refuse(*_: Any, **__: Any) -> Any:
    raise RuntimeError("hostile")


class NoRepr:
    __repr__ = __str__ = __iter__ = __len__ = __hash__ = __eq__ = __format__ = refuse


class NoClass:
    __class__ = property(refuse)


class BadText(str):
    __str__ = __repr__ = __iter__ = encode = __format__ = __len__ = refuse


class BadNumber(int):
    __int__ = __index__ = __repr__ = __lt__ = __gt__ = refuse


class BadReal(float):
    __float__ = __sub__ = __repr__ = __eq__ = __hash__ = refuse


class BadDict(dict[str, Any]):
    items = keys = values = __iter__ = __getitem__ = __len__ = __repr__ = refuse


class BadList(list[Any]):
    __iter__ = __len__ = __getitem__ = __repr__ = refuse


class BadPath:
    __fspath__ = refuse


class BadModel:
    model_dump = refuse


class BadDate(dt.date):
    isoformat = __str__ = __repr__ = refuse


@dataclass
class Halfway:
    name: str
    late: str = field(init=False)


class TextOfText:
    def __repr__(self) -> str:
        return BadText("text")


class Nameless(type):
    def __getattribute__(cls, name: str) -> Any:
        if name in ("__qualname__", "__name__", "__module__", "__mro__"):
            raise RuntimeError("hostile")
        return super().__getattribute__(name)


class Anonymous(metaclass=Nameless):
    pass


class Surrogate:
    def __repr__(self) -> str:
        return "\ud800"


HOSTILE: dict[str, Callable[[], Any]] = {
    "no repr": NoRepr,
    "no class": NoClass,
    "bad text": lambda: BadText("text"),
    "bad number": lambda: BadNumber(7),
    "bad real": lambda: BadReal(0.5),
    "bad dict": lambda: BadDict(a=1),
    "bad list": lambda: BadList([1]),
    "bad path": BadPath,
    "bad model": BadModel,
    "bad date": lambda: BadDate(2026, 8, 7),
    "text of text": TextOfText,
    "no names": Anonymous,
    "surrogate": Surrogate,
}


@pytest.mark.fault("B4")
@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_value_is_recorded_and_raises_nothing(name: str) -> None:
    value = HOSTILE[name]()
    for nested in (value, [value], {"k": value}, ({"k": [value]},), Pair(value, "x")):
        line = encode_value(nested)
        assert line.isascii()
        decode(line.encode())


def test_a_half_built_dataclass_is_opaque() -> None:
    assert snapshot(Halfway("x"))["$df"] == "opaque"


def test_a_subclass_that_lies_about_itself_is_recorded_by_what_it_is() -> None:
    assert snapshot(BadText("text")) == "text"
    assert snapshot(BadNumber(7)) == 7
    assert snapshot(BadReal(0.5)) == 0.5
    assert snapshot(BadDict(a=1)) == {"a": 1}


def test_a_closed_memoryview_is_opaque() -> None:
    view = memoryview(b"ab")
    view.release()
    assert snapshot(view)["text"] == "builtins.memoryview"


@pytest.mark.parametrize(
    "text", ["\u2028", "\u2029", "\x85", "\x1c", "\x0b", "\r\n", "\x00", "\x7f", "\U0001f600", "é"]
)
def test_text_is_escaped_to_ascii_and_reads_back_as_it_was(text: str) -> None:
    line = encode_value({"k" + text: ["v" + text]})
    assert line.isascii()
    assert "\n" not in line
    assert decode(line.encode()) == {"k" + text: ["v" + text]}


# -- redaction -------------------------------------------------------------------------------------------


def hidden(value: Any) -> dict[str, str]:
    return {"$df": "redacted", "text": keyed_digest(value, KEY)}


def test_redaction_by_names_hides_the_value_under_each_name_at_any_depth() -> None:
    hide = redaction(["password", "pin"])
    assert hide is not None
    found = redacted({"user": "u", "password": "p", "more": [{"pin": 1234}, ("pin",)]}, hide, KEY)
    assert found == {"user": "u", "password": hidden("p"), "more": [{"pin": hidden(1234)}, ["pin"]]}


def test_one_name_may_be_given_as_text() -> None:
    hide = redaction("password")
    assert hide is not None
    assert redacted({"password": 1, "p": 2}, hide, KEY) == {"password": hidden(1), "p": 2}


def test_redaction_by_a_callable_sees_field_and_value() -> None:
    hide = redaction(lambda name, value: isinstance(value, str) and value.startswith("sk-"))
    assert hide is not None
    assert redacted({"a": "sk-1", "b": "x"}, hide, KEY) == {"a": hidden("sk-1"), "b": "x"}


def test_what_a_redaction_rule_cannot_judge_stays_hidden() -> None:
    hide = redaction(lambda name, value: value > 3)
    assert hide is not None
    assert redacted({"a": "secret", "b": 1}, hide, KEY) == {"a": hidden("secret"), "b": 1}


def test_redaction_reaches_into_an_object_whose_keys_json_cannot_hold() -> None:
    hide = redaction(["password"])
    assert hide is not None
    for value in (
        {"password": "open sesame", 1: "a", "1": "b"},
        {"$df": "x", "password": "open sesame"},
        {"\ud800": 1, "n": [{"password": "open sesame", "$df": 0}]},
    ):
        line = json.dumps(redacted(value, hide, KEY))
        assert "open sesame" not in line
        assert keyed_digest("open sesame", KEY) in line


def test_redaction_leaves_the_stand_ins_of_other_values_alone() -> None:
    hide = redaction(["text", "sha256", "$df"])
    assert hide is not None
    assert redacted([math.nan, Handle()], hide, KEY) == snapshot([math.nan, Handle()])


def test_equal_values_have_equal_keyed_digests_and_other_keys_give_others() -> None:
    assert keyed_digest({"b": 1, "a": [2]}, KEY) == keyed_digest({"a": (2,), "b": 1}, KEY)
    assert keyed_digest("x", KEY) != keyed_digest("y", KEY)
    assert keyed_digest("x", KEY) != keyed_digest("x", bytes(31) + b"1")
    assert len(keyed_digest("\ud800", KEY)) == 64


def test_no_redaction_is_no_rule() -> None:
    assert redaction(None) is None
