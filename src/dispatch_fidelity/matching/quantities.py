"""Numbers in a text, with the unit, field and noun that they stand with; and when one tells of another.

Rounding, separators, abbreviations, percentages and conversions are the same number told otherwise.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from math import inf, isfinite
from typing import Any

from .policy import Wording

NUMBER = re.compile(
    r"(?<![\w.,])[-+−]?[$€£¥₹]?(?:\d{1,3}(?:\.\d{3}){1,10},\d{1,30}(?!\d)"
    r"|\d{1,30}(?:[,'   ]\d{3}(?!\d)){0,10}(?:[.,]\d{1,30})?(?:[eE][-+]?\d{1,3})?)"
)
_SCALES = {
    "k": 1e3,
    "m": 1e6,
    "mio": 1e6,
    "million": 1e6,
    "thousand": 1e3,
    "b": 1e9,
    "bn": 1e9,
    "billion": 1e9,
}
_PURE = frozenset(("k", "K", "M", "mio", "Mio", "million", "thousand", "bn", "billion"))
_AFTER = re.compile(r"[  ]?-?(°\s?[CFK]\b|[^\W\d_]{1,16}(?:/[A-Za-z]{1,3}(?![\w/]))?(?![\w])|[%‰$€£¥₹°])")
_BEFORE = re.compile(r"(?:\b([A-Z]{3})[  ]?|([A-Z]{0,2}[$€£¥₹])[  ]?)\Z")
_FIELD = re.compile(r"([^\W\d_]\w{0,63})[\"']?\s{0,3}(?:=|:|\bis\b|\s)\s{0,3}[\"']?\Z")
_NOUN = re.compile(r"\s{1,3}([^\W\d_]{3,40})")


def number_fits(told: int | float, logged: int | float) -> bool:
    """Whether a number of a JSON result is the logged one, rounded as it is told; a truth value is exact."""
    if isinstance(told, bool) or isinstance(logged, bool):
        return told == logged
    number, value = number_of(str(told)), as_float(logged)
    return (
        number is not None
        and isfinite(number.value)
        and isfinite(value)
        and number.fits(Number(str(logged), value, 0.0))
    )


def as_float(value: int | float) -> float:
    """A number as a float; one beyond its range as an infinity."""
    try:
        return float(value)
    except OverflowError:
        return inf if value > 0 else -inf


# -- units -------------------------------------------------------------------------------------------------

# Kind, dimension, factor and offset. A symbol that means several things has several readings, and is in
# accord with each of them: in doubt no unit is another one.
_Reading = tuple[str, str, float, float]
_SYMBOLS = """
data B=1 b=1 K=1e3 K=1024 k=1e3 k=1024 M=1e6 M=1048576 G=1e9 G=1073741824 T=1e12 T=1099511627776
data KB=1e3 KB=1024 kB=1e3 kB=1024 KiB=1024 MB=1e6 MB=1048576 MiB=1048576 GB=1e9 GB=1073741824 GiB=1073741824
data TB=1e12 TB=1099511627776 TiB=1099511627776 PB=1e15 kb=1e3 kb=1024 kb=125 Kb=1e3 Kb=1024 Kb=125 kbit=125
data mb=1e6 mb=1048576 Mb=1e6 Mb=1048576 Mb=125e3 Mbit=125e3 gb=1e9 gb=1073741824 Gb=1e9 Gb=1073741824
data Gb=125e6 Gbit=125e6
rate kbps=1e3 Kbps=1e3 Mbps=1e6 mbps=1e6 Gbps=1e9 gbps=1e9 kb/s=1e3 kb/s=8e3 KB/s=8e3 MB/s=8e6 GB/s=8e9
rate Mb/s=1e6 Gb/s=1e9
time ns=1e-9 us=1e-6 µs=1e-6 μs=1e-6 ms=1e-3 msec=1e-3 s=1 sec=1 secs=1 min=60 mins=60 m=60 h=3600 hr=3600
time hrs=3600 d=86400 wk=604800
length nm=1e-9 nm=1852 µm=1e-6 mm=1e-3 cm=1e-2 m=1 metre=1 km=1e3 ft=0.3048 inch=0.0254 yd=0.9144 mi=1609.344
mass mg=1e-6 g=1e-3 G=1e-3 kg=1 t=1e3 t=907.185 T=1e3 lb=0.45359237 lbs=0.45359237 pound=0.45359237
mass oz=0.0283495231
speed m/s=1 km/h=0.2777778 kmh=0.2777778 kph=0.2777778 mph=0.44704 kn=0.514444 kt=0.514444 kts=0.514444
volume mL=1e-3 ml=1e-3 cl=1e-2 L=1 l=1 gal=3.785412 gal=4.54609
frequency Hz=1 kHz=1e3 MHz=1e6 GHz=1e9
power mW=1e-3 W=1 kW=1e3 MW=1e6 GW=1e9 hp=745.7
energy Wh=1 kWh=1e3 MWh=1e6 GWh=1e9 J=2.777778e-4 kJ=0.2777778 kcal=1.163
pressure Pa=1 hPa=100 kPa=1e3 bar=1e5 mbar=100 psi=6894.757 atm=101325
voltage mV=1e-3 V=1 kV=1e3
count k=1e3 K=1e3 thousand=1e3 m=1e6 M=1e6 mio=1e6 Mio=1e6 million=1e6 b=1e9 B=1e9 bn=1e9 billion=1e9
"""
_DOLLARS = "USD CAD AUD NZD SGD HKD MXN"
_MONEY = "EUR GBP JPY CHF CNY INR SEK NOK DKK PLN CZK HUF TRY BRL KRW ZAR ILS THB RUB UAH USD CAD AUD NZD SGD HKD MXN"
_SIGNS = {
    "$": _DOLLARS, "US$": "USD", "C$": "CAD", "CA$": "CAD", "A$": "AUD", "AU$": "AUD", "NZ$": "NZD", "S$": "SGD",
    "HK$": "HKD", "MX$": "MXN", "R$": "BRL", "€": "EUR", "£": "GBP", "pound": "GBP", "¥": "JPY CNY", "₹": "INR",
    "kr": "SEK NOK DKK", "zł": "PLN", "RMB": "CNY",
}  # fmt: skip
_KELVIN = ("temperature", "", 1.0, 0.0)
_CELSIUS = ("temperature", "", 1.0, 273.15)
_FAHRENHEIT = ("temperature", "", 5 / 9, 273.15 - 160 / 9)
_DEGREES = {
    "C": (_CELSIUS,), "F": (_FAHRENHEIT,), "K": (_KELVIN,), "kelvin": (_KELVIN,), "°C": (_CELSIUS,),
    "°F": (_FAHRENHEIT,), "°K": (_KELVIN,), "°": (_CELSIUS, _FAHRENHEIT), "deg": (_CELSIUS, _FAHRENHEIT),
    "c": (_CELSIUS,), "f": (_FAHRENHEIT,),
}  # fmt: skip
UNIT_FIELDS = frozenset(("currency", "currency_code", "currencycode", "unit", "units", "uom"))
# The last word of a field's name, and the unit it gives.
_ENDINGS = {
    unit.casefold(): unit
    for unit in ("ms", "s", "sec", "min", "KB", "MB", "GB", "kg", "km", "cm", "mm", "lb", "ft", "mi", "mph")
} | {"eur": "EUR", "usd": "USD", "gbp": "GBP"}


@lru_cache(maxsize=1)
def _units() -> dict[str, tuple[_Reading, ...]]:
    units: dict[str, tuple[_Reading, ...]] = {}

    def add(symbol: str, *readings: _Reading) -> None:
        units[symbol] = units.get(symbol, ()) + readings

    for line in _SYMBOLS.split("\n"):
        kind, *symbols = line.split() or [""]
        for symbol in symbols:
            name, _, factor = symbol.partition("=")
            add(name, (kind, "", float(factor), 0.0))
    for code in _MONEY.split():
        add(code, ("money", code, 1.0, 0.0))
        if code not in ("JPY", "KRW"):
            add("cents", ("money", code, 0.01, 0.0))
    for sign, codes in _SIGNS.items():
        for code in codes.split():
            add(sign, ("money", code, 1.0, 0.0))
    for degree, readings in _DEGREES.items():
        add(degree, *readings)
    return units


def readings(symbol: str) -> tuple[_Reading, ...]:
    """What a unit symbol can mean; nothing for one that is no unit."""
    return _units().get(symbol) or _units().get(symbol.upper() if len(symbol) == 3 else symbol.lower()) or ()


def share_a_unit(one: Iterable[_Reading], other: Iterable[_Reading]) -> bool:
    """Whether two symbols can mean the same unit."""
    return bool(set(one) & set(other))


@lru_cache(maxsize=64)
def _ratios(kind: str) -> frozenset[tuple[float, float]]:
    """The factors and offsets of all units of a kind: what a bare logged number may be in."""
    found = {reading[2:] for readings in _units().values() for reading in readings if reading[0] == kind}
    return frozenset(found) if kind != "count" else frozenset({(1.0, 0.0)})


class Number:
    """A number in a text: its value, the precision it is told with, its unit, and what it is of."""

    __slots__ = ("declared", "field", "grain", "noun", "percent", "shown", "text", "unit", "value")

    def __init__(self, text: str, value: float, grain: float) -> None:
        self.text = self.shown = text
        self.value = value
        self.grain = grain
        self.percent = False
        self.unit = ""
        self.declared = False  # the unit stands elsewhere; money may then be counted in cents
        self.field = ""
        self.noun = ""

    def near(self, logged: float) -> bool:
        """Whether the figures are the same: rounded as it is told, as a percentage, with either mark."""
        if not isfinite(logged):
            return self.value == logged
        scales = [1.0, 0.01] if self.percent else [1.0]
        if re.fullmatch(r"[-+−]?[$€£¥₹]?\d{1,3}[.,]\d{3}", self.text):
            scales.append(1e3 if "." in self.text else 1e-3)
        return any(
            abs(self.value * scale - logged) <= self.grain * min(scale, 1) * 0.5000001 + abs(logged) * 1e-12
            for scale in scales
        )

    def fits(self, logged: Number) -> bool:
        """Whether it is the logged number: the same, or the same amount in another unit."""
        mine, its = readings(self.unit), readings(logged.unit)
        if logged.percent and not self.percent and self.near(logged.value * 0.01):
            return True
        if not mine or not its:
            if self.near(logged.value) and not (
                self.unit in _PURE and not its and not self.shown.endswith("%")
            ):
                return True
            if not isfinite(logged.value):
                return False
            ours = [(kind, factor, offset) for kind, _, factor, offset in mine or its]
            for kind, factor, offset in ours:
                for other, shift in _ratios(kind):
                    pair = ((factor, offset), (other, shift)) if mine else ((other, shift), (factor, offset))
                    if (mine or kind == "count") and self._is_amount(logged, *pair):
                        return True
            return False
        its += tuple((kind, code, 0.01, 0.0) for kind, code, *_ in its if kind == "money" and logged.declared)
        return any(
            one[:2] == other[:2] and self._is_amount(logged, one[2:], other[2:])
            for one in mine
            for other in its
        )

    def _is_amount(self, logged: Number, mine: tuple[float, float], its: tuple[float, float]) -> bool:
        """Compared in the unit of the kind; between two units, a cut-off digit is no other amount."""
        if not isfinite(logged.value):
            return self.value == logged.value
        told, known = self.value * mine[0] + mine[1], logged.value * its[0] + its[1]
        slack = self.grain * mine[0] * 0.5000001
        if mine != its:
            slack = self.grain * mine[0] + logged.grain * its[0] * 0.5 + abs(known) * 1e-4
        return abs(told - known) <= slack + abs(known) * 1e-9

    def has_other_unit(self, logged: Number) -> bool:
        """Whether both have a unit, of one kind, and no reading of the one is a reading of the other."""
        mine, its = readings(self.unit), readings(logged.unit)
        return bool({kind for kind, *_ in mine} & {kind for kind, *_ in its}) and not share_a_unit(mine, its)


def read_numbers(text: str, words: Wording) -> list[Number]:
    """The numbers in a text, each with its unit, field and noun."""
    found = []
    for match in NUMBER.finditer(text):
        number = number_of(match.group())
        if number is None:
            continue
        end = _read_unit(number, text, match.start(), match.end(), words)
        if end < 0:
            continue
        field = _FIELD.search(text, max(0, match.start() - 72), match.start())
        number.field = field.group(1).casefold() if field else ""
        noun = _NOUN.match(text, end)
        number.noun = noun.group(1).casefold().rstrip("s") if noun else ""
        found.append(number)
    return found


def _read_unit(number: Number, text: str, start: int, end: int, words: Wording) -> int:
    """Give the number its unit, and return where that ends; -1 where a word goes on and it is no number."""
    before = _BEFORE.search(text, max(0, start - 5), start)
    sign = next((mark for mark in number.text[:2] if mark in _CURRENCY_SIGNS), "")
    prefix = sign or ((before.group(1) or before.group(2)) if before else "")
    if prefix and all(kind != "money" for kind, *_ in readings(prefix)):
        prefix = ""
    after = _AFTER.match(text, end)
    unit = (after.group(1) if after else "").replace(" ", "")
    if unit in ("%", "‰"):
        number.percent = True
        number.shown = text[start : after.end()] if after else number.text
        return after.end() if after else end
    symbol = unit if readings(unit) and len(unit) < 6 else words.unit(unit) if unit else ""
    if unit and not symbol:
        if end < len(text) and text[end].isalpha():
            return -1
        if not prefix:
            return end
        symbol, after = "", None
    stop = after.end() if after and symbol else end
    if symbol == "deg" and after:
        scale = _AFTER.match(text, stop)
        named = scale.group(1) if scale else ""
        named = words.unit(named) or named
        if scale and named in ("C", "F", "kelvin"):
            symbol, stop = named, scale.end()
    money = prefix
    if symbol.casefold() in _SCALES and after:
        follows = _AFTER.match(text, stop)
        code = follows.group(1) if follows else ""
        code = code if _is_money(code) else words.unit(code) if _is_money(words.unit(code)) else ""
        if prefix or code:
            money = prefix or code
            stop = follows.end() if follows and not prefix else stop
            number.value *= _SCALES[symbol.casefold()]
            number.grain *= _SCALES[symbol.casefold()]
    number.unit = money or symbol
    first = before.start() if before and prefix and not sign else start
    number.shown = text[first:stop]
    return stop


def _is_money(symbol: str) -> bool:
    return any(kind == "money" for kind, *_ in readings(symbol)) if symbol else False


def number_of(token: str) -> Number | None:
    """The number in a token; None where it is none."""
    text, _, power = token.strip("+").replace("−", "-").translate(_CURRENCY).lower().partition("e")
    decimals, exponent = 0, int(power or 0)
    head, mark, tail = text.rpartition(".")
    if not mark or "," in tail:
        head, mark, tail = text.rpartition(",")
        if mark and len(tail) == 3 and "." not in head:
            head, mark, tail = text, "", ""
    if mark and tail.isdigit():
        decimals = len(tail)
        digits = re.sub(r"[^\d\-]", "", head) + "." + tail
    else:
        digits = re.sub(r"[,'   ]", "", text)
    try:
        return Number(token, float(f"{digits}e{exponent}"), float(f"1e{exponent - decimals}"))
    except ValueError:
        return None


_CURRENCY_SIGNS = "$€£¥₹"
_CURRENCY = {ord(sign): "" for sign in _CURRENCY_SIGNS}


def declared_unit(logged: Any) -> str:
    """The one unit that logged data names for its numbers: ``{"amount": 5, "currency": "EUR"}``."""
    if not isinstance(logged, dict):
        return ""
    named = [item for name, item in logged.items() if str(name).casefold() in UNIT_FIELDS]
    return named[0] if len(named) == 1 and isinstance(named[0], str) and readings(named[0]) else ""


def unit_of_field(name: str) -> str:
    """The unit in the name of a field: ``duration_ms``, ``sizeKb``."""
    last = re.split(r"_|(?<=[a-z])(?=[A-Z])", name)[-1].casefold()
    return _ENDINGS.get(last, "") if last != name.casefold() else ""


def logged_number(name: str, value: int | float, declared: str) -> Number:
    """A number of a logged object, with the unit that its name or the object declares."""
    number = Number(str(value), as_float(value), 0.0)
    number.field = name.casefold()
    number.unit = unit_of_field(name) or declared
    number.declared = bool(declared)
    number.shown = f"{value} {number.unit}".strip()
    return number
