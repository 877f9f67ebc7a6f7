"""Members of a ZIP file, read within limits and never written to disk.

The file is hostile until read: how many members it names, how large each says it is and how large it turns out to be
are all bounded before memory is used, and members that share bytes are refused. A file that was cut has no directory;
its members are found one after the other from its beginning.
"""

from __future__ import annotations

import os
import struct
import sys
import zipfile
import zlib
from collections.abc import Iterator
from importlib import import_module
from typing import IO, Any, NamedTuple

from ..errors import InvalidInputError, MissingExtraError
from ..jsonio import LIMITS

MEMBERS = 200_000  # members of one file
RATIO = 1_000  # how much larger than its packed form a member may be, beyond the first MiB
STORED, DEFLATE, ZSTD = 0, 8, 93

_ENTRY = 46  # bytes of a directory entry, at least
_BLOCK = 1 << 20
_HEADER = struct.Struct("<4s5H3L2H")
_SIGNATURE = b"PK\x03\x04"


class Member(NamedTuple):
    """One member: where its header begins, how it is packed, its sizes and its checksum."""

    name: str
    offset: int
    method: int
    packed: int
    size: int
    crc: int
    encrypted: bool


class Archive(NamedTuple):
    """The members of a file in the order of their names' last appearance; ``torn`` when its directory is missing.

    ``replaced`` counts earlier members of a name that stands there again.
    """

    members: dict[str, Member]
    torn: bool
    replaced: int


class BrokenMemberError(Exception):
    """A member cannot be read; the message says why."""


def read_archive(handle: IO[bytes]) -> Archive:
    """The members of an open ZIP file. Raises InvalidInputError for one that exceeds a limit or is none."""
    try:
        _check_directory(handle)
        with zipfile.ZipFile(handle) as directory:
            found = [
                Member(
                    info.filename,
                    info.header_offset,
                    info.compress_type,
                    info.compress_size,
                    info.file_size,
                    info.CRC,
                    bool(info.flag_bits & 0x1),
                )
                for info in directory.infolist()
            ]
        torn = False
    except InvalidInputError:
        raise
    except (
        zipfile.BadZipFile,
        NotImplementedError,
        ValueError,
        struct.error,
        OverflowError,
        EOFError,
        OSError,
    ):
        found, torn = list(_walk(handle)), True
    if len(found) > MEMBERS:
        raise InvalidInputError(f"{_name(handle)} holds more than {MEMBERS} members")
    _check_overlap(found, handle)
    members: dict[str, Member] = {}
    for member in found:
        members.pop(member.name, None)
        members[member.name] = member
    return Archive(members, torn, len(found) - len(members))


def _check_directory(handle: IO[bytes]) -> None:
    """Refuse a directory that is too large before it is read."""
    size = handle.seek(0, os.SEEK_END)
    handle.seek(max(0, size - 65_557))
    tail = handle.read(65_557)
    end = tail.rfind(b"PK\x05\x06")
    if end < 0 or len(tail) < end + 22:
        raise zipfile.BadZipFile("no directory")
    length = struct.unpack_from("<L", tail, end + 12)[0]
    if length == 0xFFFFFFFF and end >= 20 and tail[end - 20 : end - 16] == b"PK\x06\x07":
        handle.seek(min(struct.unpack_from("<Q", tail, end - 12)[0], size))
        record = handle.read(56)
        length = struct.unpack_from("<Q", record, 40)[0] if len(record) == 56 else length
    # Names and extra fields take their part, so this is far above what so many members need.
    if length > min(MEMBERS * _ENTRY * 4, LIMITS.document):
        raise InvalidInputError(
            f"the ZIP file holds a directory of {length} bytes, more than {MEMBERS} members need"
        )


def _walk(handle: IO[bytes]) -> Iterator[Member]:
    """The members that stand one after the other from the beginning of a file, the last one perhaps cut."""
    size = handle.seek(0, os.SEEK_END)
    offset = 0
    for _ in range(MEMBERS + 1):
        handle.seek(offset)
        header = handle.read(_HEADER.size)
        if len(header) < _HEADER.size or header[:4] != _SIGNATURE:
            return
        _, _, flags, method, _, _, crc, packed, unpacked, name, extra = _HEADER.unpack(header)
        text = handle.read(name).decode("utf-8", "replace")
        yield Member(text, offset, method, packed, unpacked, crc, bool(flags & 0x1))
        offset += _HEADER.size + name + extra + packed
        # Sizes that follow the data, or that stand elsewhere, leave no way to the next member.
        if flags & 0x8 or packed == 0xFFFFFFFF or offset > size:
            return


def _name(handle: IO[bytes]) -> str:
    return f"the ZIP file {str(getattr(handle, 'name', ''))!r}"


def _check_overlap(members: list[Member], handle: IO[bytes]) -> None:
    end = 0
    for member in sorted(members, key=lambda member: member.offset):
        if member.offset < end:
            raise InvalidInputError(f"{_name(handle)} holds members that share bytes")
        end = member.offset + _HEADER.size + member.packed


def unpack(handle: IO[bytes], member: Member) -> bytes:
    """The bytes of a member.

    Raises BrokenMemberError when they are damaged or exceed a limit, and MissingExtraError when they are packed with
    Zstandard and no library for it is installed.
    """
    if member.size > LIMITS.document:
        raise BrokenMemberError(f"it unpacks to more than {LIMITS.document} bytes")
    if member.size > max(_BLOCK, member.packed * RATIO):
        raise BrokenMemberError(f"it says to unpack to more than {RATIO} times its size")
    if member.encrypted:
        raise BrokenMemberError("it is encrypted")
    handle.seek(member.offset)
    header = handle.read(_HEADER.size)
    if len(header) < _HEADER.size or header[:4] != _SIGNATURE:
        raise BrokenMemberError("its header is missing")
    name, extra = _HEADER.unpack(header)[9:]
    handle.seek(name + extra, os.SEEK_CUR)
    packed = handle.read(member.packed)
    try:
        data = _unpacked(packed, member)
    except (zlib.error, EOFError, ValueError) as problem:
        raise BrokenMemberError(f"it is damaged: {str(problem)[:100]}") from None
    if len(packed) < member.packed or len(data) != member.size or zlib.crc32(data) != member.crc:
        raise BrokenMemberError("it is cut, or its checksum differs")
    return data


def _unpacked(packed: bytes, member: Member) -> bytes:
    """The unpacked bytes, never more than one beyond what the member says."""
    limit = member.size + 1
    if member.method == STORED:
        return packed
    if member.method == DEFLATE:
        return zlib.decompressobj(-zlib.MAX_WBITS).decompress(packed, limit)
    if member.method != ZSTD:
        raise BrokenMemberError(f"it is packed with method {member.method}, which is not read")
    zstd = _zstd()
    parts, length = [], 0
    try:
        while packed and length < limit:
            unpacker = zstd.ZstdDecompressor()
            parts.append(unpacker.decompress(packed, limit - length))
            length += len(parts[-1])
            packed = unpacker.unused_data if unpacker.eof else b""
    except zstd.ZstdError as problem:
        raise ValueError(str(problem)) from None
    return b"".join(parts)


def _zstd() -> Any:
    """The Zstandard module of Python 3.14, or its backport."""
    try:
        return import_module("compression.zstd" if sys.version_info >= (3, 14) else "backports.zstd")
    except ImportError:
        raise MissingExtraError(
            feature="a log that is packed with Zstandard (.eval)", extra="inspect"
        ) from None
