"""Members of ZIP files: what is read, what is refused, and that no file makes the reader use memory that it lacks."""

from __future__ import annotations

import io
import struct
import sys
import tracemalloc
import zipfile
import zlib
from pathlib import Path
from typing import Any

import pytest

from dispatch_fidelity.errors import InvalidInputError, MissingExtraError
from dispatch_fidelity.transcripts import archive
from dispatch_fidelity.transcripts.archive import Archive, BrokenMemberError, Member, read_archive, unpack

ZSTD = "backports.zstd" if sys.version_info < (3, 14) else "compression.zstd"
TEXT = b'{"text": "' + b"abc " * 500 + b'"}'


def packed(*members: tuple[str, bytes], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", method) as file:
        for name, data in members:
            file.writestr(name, data)
    return target.getvalue()


def read_or_broken(handle: io.BytesIO, member: Member) -> bytes | None:
    try:
        return unpack(handle, member)
    except BrokenMemberError:
        return None


def opened(data: bytes) -> tuple[io.BytesIO, Archive]:
    handle = io.BytesIO(data)
    return handle, read_archive(handle)


@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
def test_members_are_read_with_the_methods_of_every_python(method: int) -> None:
    handle, found = opened(packed(("a", TEXT), ("b", b""), method=method))
    assert [unpack(handle, member) for member in found.members.values()] == [TEXT, b""]
    assert (found.torn, found.replaced) == (False, 0)


def test_members_are_read_with_zstandard_where_a_library_is_installed(shared: Path) -> None:
    pytest.importorskip(ZSTD)
    with (shared / "transcripts/inspect_ai/own_mock_run_zstd.eval").open("rb") as handle:
        found = read_archive(handle)
        assert {member.method for member in found.members.values()} == {93}
        assert all(unpack(handle, member).startswith((b"{", b"[")) for member in found.members.values())


def test_a_missing_library_is_named_with_the_extra_that_brings_it(
    shared: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with (shared / "transcripts/inspect_ai/own_mock_run_zstd.eval").open("rb") as handle:
        member = next(iter(read_archive(handle).members.values()))
        monkeypatch.setitem(sys.modules, ZSTD, None)
        with pytest.raises(MissingExtraError) as caught:
            unpack(handle, member)
    assert "pip install 'dispatch-fidelity[inspect]'" in str(caught.value)
    assert caught.value.exit_code == 64


def test_the_last_of_members_of_one_name_is_read_and_the_others_are_counted() -> None:
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w") as file:
        file.writestr("a", b"1")
        file.writestr("b", b"2")
        with pytest.warns(UserWarning, match="Duplicate"):
            file.writestr("a", b"3")
    handle, found = opened(target.getvalue())
    assert [(name, unpack(handle, member)) for name, member in found.members.items()] == [
        ("b", b"2"),
        ("a", b"3"),
    ]
    assert found.replaced == 1


def test_a_file_that_was_cut_is_read_from_its_beginning_as_far_as_it_goes() -> None:
    whole = packed(("a", TEXT), ("b", TEXT[::-1]))
    second = whole.index(b"PK\x03\x04", 4)
    handle, found = opened(whole[: second + 40])
    assert (found.torn, list(found.members)) == (True, ["a", "b"])
    assert unpack(handle, found.members["a"]) == TEXT
    with pytest.raises(BrokenMemberError):
        unpack(handle, found.members["b"])


def test_every_cut_is_read_or_refused() -> None:
    whole = packed(("a", TEXT), ("b", b"x"))
    for end in range(len(whole)):
        handle, found = opened(whole[:end])
        for member in found.members.values():
            assert read_or_broken(handle, member) in (TEXT, b"x", None)
            assert found.torn


def test_every_changed_byte_is_read_or_refused() -> None:
    whole = packed(("a", TEXT), ("b", b"x"))
    for place in range(len(whole)):
        changed = bytearray(whole)
        changed[place] ^= 0x41
        try:
            handle, found = opened(bytes(changed))
        except InvalidInputError:
            continue
        assert {read_or_broken(handle, member) for member in found.members.values()} <= {TEXT, b"x", None}


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"size": 2 * 2**30}, "more than"),
        ({"size": 2**21, "packed": 100}, "1000 times its size"),
        ({"encrypted": True}, "encrypted"),
        ({"method": 12}, "method 12"),
        ({"crc": 1}, "checksum"),
        ({"size": 5}, "checksum"),
        ({"offset": 3}, "header"),
        ({"method": 8}, "damaged|checksum"),
    ],
)
def test_a_member_that_is_not_what_it_says_is_refused(change: dict[str, Any], reason: str) -> None:
    handle, found = opened(packed(("a", b"x" * 100), method=zipfile.ZIP_STORED))
    member: Member = found.members["a"]._replace(**change)
    with pytest.raises(BrokenMemberError, match=reason):
        unpack(handle, member)


def test_a_member_that_unpacks_to_more_than_it_says_uses_no_more_memory() -> None:
    bomb = packed(("a", bytes(50_000_000)))
    handle, found = opened(bomb)
    small = found.members["a"]._replace(size=10)
    del found
    tracemalloc.start()
    with pytest.raises(BrokenMemberError):
        unpack(handle, small)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 2_000_000


def test_a_bomb_of_zstandard_is_held_to_what_it_says() -> None:
    zstd = pytest.importorskip(ZSTD)
    data = zstd.compress(bytes(20_000_000))
    header = struct.pack("<4s5H3L2H", b"PK\x03\x04", 20, 0, 93, 0, 0, 0, len(data), 10, 1, 0)
    handle = io.BytesIO(header + b"a" + data)
    member = Member("a", 0, 93, len(data), 10, 0, False)
    with pytest.raises(BrokenMemberError):
        unpack(handle, member)
    handle = io.BytesIO(header + b"a" + b"no zstandard")
    with pytest.raises(BrokenMemberError, match="damaged"):
        unpack(handle, member._replace(packed=12))
    two = zstd.compress(b"one") + zstd.compress(b"two")
    handle = io.BytesIO(header + b"a" + two)
    whole = member._replace(packed=len(two), size=6, crc=zlib.crc32(b"onetwo"))
    assert unpack(handle, whole) == b"onetwo"


def test_members_that_share_bytes_are_refused() -> None:
    whole = bytearray(packed(("a", TEXT), ("b", TEXT)))
    second = whole.index(b"PK\x01\x02", whole.index(b"PK\x01\x02") + 4)
    whole[second + 42 : second + 46] = bytes(4)  # The second entry names the place of the first.
    with pytest.raises(InvalidInputError, match="share bytes"):
        opened(bytes(whole))


def test_more_members_than_the_limit_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = packed(*((str(number), b"") for number in range(30)))
    monkeypatch.setattr(archive, "MEMBERS", 20)
    with pytest.raises(InvalidInputError, match="more than 20 members"):
        opened(whole)
    with pytest.raises(InvalidInputError, match="more than 20 members"):
        opened(whole[: whole.index(b"PK\x01\x02")])


def test_a_directory_that_is_too_large_is_refused_before_it_is_read() -> None:
    whole = bytearray(packed(("a", TEXT)))
    end = whole.rindex(b"PK\x05\x06")
    whole[end + 12 : end + 16] = struct.pack("<L", 2**31)
    with pytest.raises(InvalidInputError, match="a directory of 2147483648 bytes"):
        opened(bytes(whole))
