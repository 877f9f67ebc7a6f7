"""Strict JSON at the door: the one place that reads and writes JSON text.

Reading refuses what JSON of evidence must not hold: a key twice in one object, NaN and infinities, lone
surrogates, nesting beyond ``LIMITS.depth``, integers beyond ``LIMITS.digits``. Writing is ASCII. The fast
path is msgspec; an exact one on the standard library answers whenever the fast one is not sure.
"""

from __future__ import annotations

import gc
import re
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple, cast

import msgspec

from .errors import JSONError

UNSET = msgspec.UNSET
UnsetType = msgspec.UnsetType


class Limits(NamedTuple):
    """Bounds of every input, in one place; bytes unless the name says otherwise."""

    report: int = 64 * 2**20
    line: int = 64 * 2**20
    document: int = 1024 * 2**20
    depth: int = 100
    claims: int = 1_000_000
    digits: int = 4_300


LIMITS = Limits()


def _absent(value: Any) -> None:
    """What the record does not hold is null in a result."""
    if value is not UNSET:
        raise TypeError(f"{type(value).__name__} is no plain data")


_encode = plain_json = msgspec.json.Encoder(enc_hook=_absent).encode
_encode_into = msgspec.json.Encoder(enc_hook=_absent).encode_into
_decode = msgspec.json.Decoder().decode
_NO_BRACKETS = bytes(byte for byte in range(256) if byte not in b'[]{}"')
_ONE_KIND = bytes.maketrans(b"{}", b"[]")
_STRING = re.compile(rb'"[^"]*(?:"|\Z)')
_NOT_ASCII = re.compile(r"[^\x00-\x7f]")


@contextmanager
def collector_paused() -> Iterator[None]:
    """No cycle collection inside: millions of small acyclic values are made, and none of them is garbage."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def _escape(match: re.Match[str]) -> str:
    code = ord(match.group())
    if code < 0x10000:
        return f"\\u{code:04x}"
    code -= 0x10000
    return f"\\u{0xD800 | code >> 10:04x}\\u{0xDC00 | code & 0x3FF:04x}"


def encode(value: Any) -> bytes:
    """Compact ASCII JSON of plain data (dict, list, str, int, float, bool, None, or a frozen model).

    NaN, infinities and lone surrogates have to be tagged by the caller first (``log.values``).
    """
    data = _encode(value)
    if data.isascii():
        return data
    return _NOT_ASCII.sub(_escape, data.decode()).encode("ascii")


def encode_lenient(value: Any) -> bytes:
    """Compact ASCII JSON of data whose strings may hold lone surrogates (they are escaped)."""
    try:
        return encode(value)
    except UnicodeEncodeError:
        import json

        plain = msgspec.to_builtins(value)
        return json.dumps(plain, separators=(",", ":")).encode("ascii")


def encode_pretty(value: Any) -> str:
    """Indented ASCII JSON, for files that people read; lone surrogates are escaped."""
    data = encode_lenient(value)
    try:
        return msgspec.json.format(data, indent=2).decode("ascii")
    except msgspec.DecodeError:  # it refuses the escape of a lone surrogate
        import json

        return json.dumps(json.loads(data), indent=2)


def too_deep(data: bytes) -> bool:
    """Whether brackets outside strings nest deeper than the limit; linear, and instant for flat text.

    Strings are taken out, then the innermost brackets, level by level, all at the speed of C. Brackets
    that do not pair are left to the parser.
    """
    if data.count(b"[") + data.count(b"{") <= LIMITS.depth:
        return False
    if b"\\" in data:
        data = data.replace(b"\\\\", b"").replace(b'\\"', b"")
    data = data.translate(_ONE_KIND, _NO_BRACKETS).replace(b'""', b"")
    if b'"' in data:
        data = _STRING.sub(b"", data)
    if b"[" * (LIMITS.depth + 1) in data:
        return True
    for _ in range(LIMITS.depth):
        size = len(data)
        data = data.replace(b"[]", b"")
        if len(data) == size:
            break
    else:
        return b"[]" in data
    return False


def _keys_agree(data: bytes, value: Any) -> bool:
    """True when no object of ``data`` held a key twice; False when that cannot be told quickly.

    A dropped key takes two quotes with it. Escapes other than those of code points map one to one between a
    text and its re-encoding, so equal counts of quotes prove that nothing was dropped.
    """
    compact = _encode(value)
    return compact == data or (b"\\u" not in data and data.count(b'"') == compact.count(b'"'))


def decode(data: bytes) -> Any:
    """The value of one strict JSON document.

    Raises JSONError when it is malformed, holds a key twice, NaN, a lone surrogate, or exceeds a limit.
    """
    if too_deep(data):
        raise JSONError(f"JSON nested deeper than {LIMITS.depth} levels")
    try:
        value = _decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError, ValueError, RecursionError) as problem:
        raise JSONError(f"not strict JSON: {problem}") from None
    if not _keys_agree(data, value):
        decode_marking(data)
    return value


class Defect(NamedTuple):
    """Stands in a leniently read value where strict JSON is violated."""

    reason: str


def decode_marking(data: bytes, *, mark: bool = False) -> Any:
    """The value of a JSON document, read on the exact path.

    Without ``mark``, the first key that stands twice, NaN or integer too long is a JSONError; with it, a
    ``Defect`` stands in its place. Lone surrogates are kept. Raises JSONError for malformed text either way.
    """
    import json

    def defect(reason: str) -> Defect:
        if mark:
            return Defect(reason)
        raise JSONError(reason)

    def members(pairs: list[tuple[str, Any]]) -> Any:
        found = dict(pairs)
        if len(found) != len(pairs):
            counts = Counter([name for name, _ in pairs])
            twice = next(name for name, count in counts.items() if count > 1)
            return defect(f"the key {twice!r} stands twice in one object")
        return found

    def integer(text: str) -> Any:
        if len(text) > LIMITS.digits:
            return defect(f"an integer of {len(text)} digits")
        return int(text)

    def number(text: str) -> Any:
        value = float(text)
        return defect(f"a number out of range: {text[:40]}") if value in (_INFINITY, -_INFINITY) else value

    if too_deep(data):
        raise JSONError(f"JSON nested deeper than {LIMITS.depth} levels")
    try:
        return json.loads(
            data.decode("utf-8", "surrogatepass"),
            object_pairs_hook=members,
            parse_constant=lambda text: defect(f"{text} is no JSON number"),
            parse_int=integer,
            parse_float=number,
        )
    except JSONError:
        raise
    except (ValueError, RecursionError) as problem:
        raise JSONError(f"not strict JSON: {problem}") from None


_INFINITY = float("inf")


class Marked(NamedTuple):
    """A leniently read value: a ``Defect`` stands at each violation of strict JSON."""

    value: Any


def decode_lines(block: bytes) -> list[Any]:
    """The value of each line of JSONL, in order: UNSET for a blank line, a JSONError for one that is no JSON.

    A line that violates strict JSON otherwise is ``Marked``. Nesting is limited by the parser alone (``too_deep``
    tells). Many lines at once are read faster than each by itself.
    """
    array = b"[%b]" % block.replace(b"\n", b",")
    encoded = bytearray(len(array) + 64)
    try:
        values = _decode(array)
        # Written as one array, equal texts are equal line by line: no key of any object was dropped.
        _encode_into(values, encoded)
        if len(values) == block.count(b"\n") + 1 and (
            encoded == array
            or msgspec.json.format(encoded, indent=0)
            == b"[%b]" % block.replace(b"\n", b", ")  # as Python writes it
        ):
            return cast(list[Any], values)
    except (msgspec.DecodeError, UnicodeDecodeError, ValueError, RecursionError):
        pass
    return [_line(line) for line in block.split(b"\n")]


def _line(line: bytes) -> Any:
    if not line or line.isspace():
        return UNSET
    try:
        value = _decode(line)
        if _is_whole(value, line):
            return value
    except (msgspec.DecodeError, UnicodeDecodeError, ValueError, RecursionError):
        pass
    try:
        return Marked(decode_marking(line, mark=True))
    except JSONError as problem:
        return problem


def _is_whole(value: Any, data: bytes) -> bool:
    """As ``_keys_agree``, for text with code points written as escapes too: only that of a quote adds one."""
    compact = _encode(value)
    return compact == data or (b"\\u0022" not in data and data.count(b'"') == compact.count(b'"'))


def holds_defect(value: Any) -> bool:
    """Whether a marked value (``decode_marking(mark=True)``) holds a Defect anywhere."""
    stack: list[Any] = [value]
    while stack:
        value = stack.pop()
        if isinstance(value, Defect):
            return True
        if isinstance(value, dict):
            stack.extend(value.values())
        elif isinstance(value, list):
            stack.extend(value)
    return False


def texts_within(data: bytes) -> Iterator[bytes]:
    """Every text in a JSON value, and the texts of each list of parts joined by line feeds, as UTF-8."""
    try:
        stack: list[Any] = [decode_marking(data, mark=True)]
    except JSONError:
        return
    while stack:
        value = stack.pop()
        if isinstance(value, str):
            yield value.encode("utf-8", "surrogatepass")
        elif isinstance(value, dict):
            stack.extend(value.values())
        elif isinstance(value, list):
            stack.extend(value)
            yield joined_parts(value).encode("utf-8", "surrogatepass")


def joined_parts(parts: list[Any]) -> str:
    """The texts of a list of parts (texts, or objects with ``text``), joined by line feeds."""
    texts = [part.get("text") if isinstance(part, dict) else part for part in parts]
    return "\n".join(text for text in texts if isinstance(text, str))


def typed_decoder(shape: Any) -> Callable[[bytes], Any]:
    """A decoder of one JSON document into ``shape``; it raises JSONError like ``decode``.

    Faster than ``decode``: the text is compared with the re-encoded value first.
    """
    fast = msgspec.json.Decoder(shape).decode

    depth = LIMITS.depth

    def read(data: bytes) -> Any:
        if data.count(b"[") + data.count(b"{") > depth and too_deep(data):
            raise JSONError(f"JSON nested deeper than {LIMITS.depth} levels")
        try:
            value = fast(data)
        except (msgspec.DecodeError, UnicodeDecodeError, ValueError, RecursionError) as problem:
            raise JSONError(f"not the expected JSON: {problem}") from None
        if _encode(value) != data:
            plain = decode(data)
            return msgspec.convert(plain, shape)
        return value

    return read


def convert(value: Any, shape: Any) -> Any:
    """Plain data as ``shape``; JSONError when it does not fit."""
    try:
        return msgspec.convert(value, shape)
    except (msgspec.ValidationError, ValueError) as problem:
        raise JSONError(str(problem)) from None


_members = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode
_items = msgspec.json.Decoder(list[msgspec.Raw]).decode


def array_items(data: bytes, key: str) -> list[tuple[int, int]] | None:
    """Byte spans of the items of the top-level array under ``key``; None when there is no such array."""
    try:
        array = bytes(_members(data)[key])
        items = _items(array)
    except (KeyError, msgspec.DecodeError, UnicodeDecodeError, ValueError, RecursionError):
        return None
    name = re.compile(rb'"%s"[ \t\r\n]*:[ \t\r\n]*' % re.escape(key.encode()))
    starts = (match.end() for match in name.finditer(data))
    position = next((start for start in starts if data.startswith(array, start)), data.find(array))
    spans = []
    for item in items:
        raw = bytes(item)
        start = data.index(raw, position)
        position = start + len(raw)
        spans.append((start, position))
    return spans


def schema_of(shape: Any) -> str:
    """The JSON Schema of a type, as indented ASCII text."""
    document = {"$schema": "https://json-schema.org/draft/2020-12/schema", **msgspec.json.schema(shape)}
    return encode_pretty(document) + "\n"
