"""Any Python value as plain JSON data, without ever raising into the caller's path.

Standard types have a text form; what JSON cannot hold is tagged ``{"$df": kind, "text": …}``; what is left
is ``opaque``: its type name and a digest that is the same in every run.
"""

from __future__ import annotations

import hashlib
import hmac
import re
from base64 import b64encode
from collections.abc import Callable, Collection
from enum import Enum
from functools import partial
from typing import Any

from ..errors import JSONError
from ..jsonio import LIMITS, decode, encode, plain_json

TAG = "$df"
UNPARSED = "$unparsed"
SAFE_INTEGER = 2**53

_FREE = frozenset({str, bool, type(None)})
_AS_TEXT = frozenset(
    {"uuid", "decimal", "pathlib", "pathlib._local", "ipaddress", "fractions", "datetime", "zoneinfo"}
)
_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")


def tagged(kind: str, text: str) -> dict[str, str]:
    """A value that JSON cannot hold, as ``{"$df": kind, "text": …}`` says."""
    return {TAG: kind, "text": text}


def is_plain(value: Any, depth: int = 0) -> bool:
    """Whether ``value`` is JSON data of exact built-in types that can be written as it stands."""
    kind = type(value)
    if kind is dict:
        if TAG in value or depth > LIMITS.depth - 2:
            return False
        for key, item in value.items():
            kind = type(item)
            if type(key) is not str:
                return False
            if kind is str or kind in _FREE or (kind is int and -SAFE_INTEGER < item < SAFE_INTEGER):
                continue
            if not is_plain(item, depth + 1):
                return False
        return True
    if kind in _FREE:
        return True
    if kind is int:
        return bool(-SAFE_INTEGER < value < SAFE_INTEGER)
    if kind is list:
        return depth <= LIMITS.depth - 2 and all(is_plain(item, depth + 1) for item in value)
    if kind is float:
        return bool(value - value == 0.0)
    return False


def encode_value(value: Any) -> str:
    """The snapshot of ``value`` as compact ASCII JSON; it never raises an Exception.

    Text and flat objects of text and small integers, the ordinary case, are told apart here and at once.
    """
    try:
        kind = type(value)
        if kind is dict:
            for key, item in value.items():
                kind = type(item)
                if type(key) is not str or not (
                    kind is str or (kind is int and -SAFE_INTEGER < item < SAFE_INTEGER)
                ):
                    plain = is_plain(value)
                    break
            else:
                plain = TAG not in value
        else:
            plain = kind is str or is_plain(value)
        if plain:
            data = plain_json(value)
            return data.decode() if data.isascii() else encode(value).decode()
    except Exception:  # noqa: S110 - a lone surrogate, or a value that changes while it is read: the slow path says
        pass
    return encode(snapshot(value)).decode("ascii")


def snapshot(value: Any) -> Any:
    """``value`` as plain JSON data that shares nothing with it; it never raises an Exception."""
    return _snapshot(value, ())


Around = tuple[int, ...]  # the identities of the containers around a value, outermost first


def _snapshot(value: Any, path: Around) -> Any:
    try:
        return _known(value, path)
    except Exception:
        return opaque(value)


def _known(value: Any, path: Around) -> Any:
    kind = type(value)
    if value is None or kind is bool:
        return value
    if isinstance(value, Enum):
        return _snapshot(value.value, path)
    if isinstance(value, str):
        return _text(str.__str__(value))
    if isinstance(value, int):
        number = int.__int__(value)
        return number if -SAFE_INTEGER < number < SAFE_INTEGER else tagged("int", _digits(number))
    if isinstance(value, float):
        real = float.__float__(value)
        return real if real - real == 0.0 else tagged("float", _special(real))
    identity = id(value)
    if identity in path:
        return _stand_in(kind, f"the container {len(path) - path.index(identity)} levels above")
    if len(path) > LIMITS.depth - 4:
        return opaque(value)
    path = (*path, identity)
    if isinstance(value, dict):
        return _object(dict.items(value), path)
    if isinstance(value, tuple) and hasattr(kind, "_fields"):
        return _object(zip(kind._fields, value, strict=False), path)
    if isinstance(value, (list, tuple)):
        return [_snapshot(item, path) for item in list(value)]
    if isinstance(value, (set, frozenset)):
        return sorted((_snapshot(item, path) for item in value), key=lambda item: encode(item))
    if isinstance(value, (bytes, bytearray, memoryview)):
        return b64encode(bytes(value)).decode("ascii")
    return _foreign(value, kind, path)


def _foreign(value: Any, kind: type[Any], path: Around) -> Any:
    if any(base.__module__ in _AS_TEXT and base.__name__ != "tzinfo" for base in kind.__mro__):
        isoformat = getattr(value, "isoformat", None)
        return _text(isoformat() if isoformat is not None else str(value))
    if hasattr(kind, "__fspath__"):
        return _snapshot(kind.__fspath__(value), path)
    for names in ("__dataclass_fields__", "__struct_fields__", "__attrs_attrs__"):
        fields = getattr(kind, names, None)
        if fields is not None:
            keys = [field if isinstance(field, str) else field.name for field in fields]
            return _object([(key, getattr(value, key)) for key in keys], path)
    if callable(getattr(kind, "model_dump", None)):
        return _snapshot(value.model_dump(), path)
    if kind.__module__.partition(".")[0] == "numpy" and hasattr(kind, "tolist"):
        return _snapshot(value.tolist(), path)
    return opaque(value)


def _digits(number: int) -> str:
    return str(number) if number.bit_length() < 3 * LIMITS.digits else hex(number)


def _special(real: float) -> str:
    if real != real:
        return "NaN"
    return "Infinity" if real > 0 else "-Infinity"


def _text(text: str) -> Any:
    try:
        text.encode()
    except UnicodeEncodeError:
        import json

        return tagged("str", json.dumps(text)[1:-1])
    return text


def _object(items: Any, path: Around) -> Any:
    pairs = []
    for key, item in list(items):
        pairs.append((key if type(key) is str else _key(key, path), _snapshot(item, path)))
    found: dict[str, Any] = {}
    for key, item in pairs:
        if key == TAG or key in found or not isinstance(_text(key), str):
            return tagged("map", encode([[_text(name), value] for name, value in pairs]).decode("ascii"))
        found[key] = item
    return found


def _key(key: Any, path: Around) -> str:
    value = _snapshot(key, path)
    return value if isinstance(value, str) else encode(value).decode("ascii")


def opaque(value: Any) -> dict[str, str]:
    """The stand-in of a value nobody can write: type name, and a digest without memory addresses."""
    kind = type(value)
    text = ""
    try:
        if any("__repr__" in vars(base) for base in kind.__mro__[:-1]):
            text = _ADDRESS.sub("", str.__str__(repr(value)))
    except Exception:
        text = "unrepresentable"
    return _stand_in(kind, text)


def _stand_in(kind: type[Any], text: str) -> dict[str, str]:
    try:
        name = f"{kind.__module__}.{kind.__qualname__}"
    except Exception:  # a metaclass that hides them
        name = "unnamed"
    digest = hashlib.sha256(f"{name}\n{text}".encode("utf-8", "backslashreplace")).hexdigest()
    return {TAG: "opaque", "text": name.encode("ascii", "backslashreplace").decode(), "sha256": digest}


Redact = Callable[[str, Any], bool]


def redaction(choice: Collection[str] | Redact | None) -> Redact | None:
    """``redact=`` of a session as one question, whether the value under a field name is to be hidden."""
    if choice is None:
        return None
    if callable(choice):
        return partial(_asked, choice)
    return partial(_named, frozenset([choice] if isinstance(choice, str) else choice))


def _named(names: frozenset[str], field: str, _value: Any) -> bool:
    return field in names


def _asked(choice: Redact, field: str, value: Any) -> bool:
    try:
        return bool(choice(field, value))
    except Exception:  # what the user's rule cannot judge stays hidden
        return True


def keyed_digest(value: Any, key: bytes) -> str:
    """HMAC-SHA-256 of a value's text: a string as it is, other data as sorted compact JSON."""
    plain = snapshot(value)
    if not isinstance(plain, str):
        import json

        plain = json.dumps(plain, sort_keys=True, separators=(",", ":"))
    return hmac.new(key, plain.encode(), "sha256").hexdigest()


def redacted(value: Any, hide: Redact, key: bytes) -> Any:
    """The snapshot of ``value`` with every hidden field replaced by its keyed digest."""
    return _redacted(snapshot(value), hide, key)


def _redacted(value: Any, hide: Redact, key: bytes) -> Any:
    if isinstance(value, dict):
        if TAG in value:
            return _redacted_map(value, hide, key) if value[TAG] == "map" else value
        return {
            name: tagged("redacted", keyed_digest(item, key))
            if hide(name, item)
            else _redacted(item, hide, key)
            for name, item in value.items()
        }
    if isinstance(value, list):
        return [_redacted(item, hide, key) for item in value]
    return value


def _redacted_map(value: dict[str, str], hide: Redact, key: bytes) -> Any:
    """An object whose keys JSON cannot hold: its members stand in a text, and are hidden there."""
    try:
        pairs = decode(value["text"].encode())
    except JSONError:
        return tagged("redacted", keyed_digest(value, key))
    found = []
    for name, item in pairs:
        field = name if isinstance(name, str) else name["text"]
        hidden = (
            tagged("redacted", keyed_digest(item, key)) if hide(field, item) else _redacted(item, hide, key)
        )
        found.append([name, hidden])
    return tagged("map", encode(found).decode("ascii"))
