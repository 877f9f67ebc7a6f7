"""When are two values the same? Canonical forms are hashable and equal exactly when the values are.

``json-scalar/2`` (the default): a number is its shortest JSON text, so 1.0, 1 and "1" are one; true, false,
null and the strings "True", "False", "None" are their lower-case JSON words; key order does not count; text
is NFC. ``coerce-str/1`` compares the Python text of each top-level value, as version 1 did.
"""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Hashable
from typing import Any

_WORDS = {"True": "true", "False": "false", "None": "null"}
_NUMERIC = frozenset("-0123456789")
_TAG = "$df"
_UNKNOWN = frozenset({"opaque", "redacted"})

Key = frozenset[tuple[str, Hashable]]


def canonical(value: Any) -> Hashable:
    """The ``json-scalar/2`` form of one value; numbers stay numbers, and text that is one becomes one."""
    kind = type(value)
    if kind is str:
        if value[:1] in _NUMERIC:
            return _number(value)
        return _WORDS.get(value, value) if value.isascii() else _nfc(value)
    if kind is int or kind is float:
        return value  # type: ignore[no-any-return] # equal numbers are equal and hash alike
    if value is None:
        return "null"
    if kind is bool:
        return "true" if value else "false"
    if kind is dict:
        if _TAG in value:
            return _untagged(value)
        return ("{", frozenset([(_nfc(name), canonical(item)) for name, item in value.items()]))
    if kind is list:
        return ("[", *[canonical(item) for item in value])
    return str(value)


def _number(text: str) -> Hashable:
    """The number whose shortest JSON text this is; the text itself where it is none."""
    try:
        if "." in text or "e" in text:
            real = float(text)
            return real if repr(real) == text and not real.is_integer() else text
        whole = int(text)
        return whole if str(whole) == text else text
    except ValueError:
        return text if text.isascii() else _nfc(text)


def _nfc(text: str) -> str:
    return text if text.isascii() else unicodedata.normalize("NFC", text)


def _untagged(value: dict[str, Any]) -> Hashable:
    kind, text = value.get(_TAG), value.get("text")
    if kind in _UNKNOWN:
        return (_TAG, kind, str(text), str(value.get("sha256", "")))
    if kind == "str" and isinstance(text, str):
        try:
            return canonical(json.loads(f'"{text}"'))
        except ValueError:
            return text
    if kind in ("int", "float") and isinstance(text, str):
        return canonical(_decimal(text) if kind == "int" and "x" in text else text)
    return ("{", frozenset([(name, canonical(item)) for name, item in value.items()]))


def _decimal(text: str) -> str:
    """A long integer, which the recorder writes in hexadecimal, as the decimal text that a report holds."""
    try:
        return str(int(text, 16))
    except ValueError:
        return text


def args_key(args: dict[str, Any]) -> Key:
    """The ``json-scalar/2`` form of the arguments of a call; most are canonical as they stand."""
    for name, item in args.items():
        kind = type(item)
        if kind is str:
            if item in _WORDS or item[:1] in _NUMERIC or not item.isascii():
                break
        elif kind is not int:
            break
        if not name.isascii():
            break
    else:
        return frozenset(args.items())
    return frozenset([(_nfc(name), canonical(item)) for name, item in args.items()])


def args_key_v1(args: dict[str, Any]) -> Key:
    """The ``coerce-str/1`` form of the arguments of a call: sorted keys, each value as Python text."""
    return frozenset([(name, str(item)) for name, item in args.items()])


def folded(form: Hashable) -> Hashable:
    """A canonical form without letter case and with runs of white space as one space."""
    kind = type(form)
    if kind is str:
        return " ".join(form.split()).casefold()  # type: ignore[attr-defined] # the exact type was asked for
    if isinstance(form, frozenset):
        return frozenset([(name, folded(item)) for name, item in form])
    if isinstance(form, tuple):
        return tuple([folded(item) for item in form])
    return form


def is_unknown(form: Hashable) -> bool:
    """Whether a canonical form holds a value that the record has only as a stand-in."""
    if isinstance(form, tuple):
        return form[:1] == (_TAG,) or any(is_unknown(item) for item in form)
    if isinstance(form, frozenset):
        return any(is_unknown(item) for item in form)
    return False
