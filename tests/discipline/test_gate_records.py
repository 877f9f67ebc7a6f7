"""Records of ``gate`` as they lie on disk: whatever is not as it was written is told, and nothing raises."""

from __future__ import annotations

import errno
import json
import os
import shutil
import stat
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from discipline_tools import Repo, output, stored, use_plain_git
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dispatch_fidelity.discipline.gate import record_run
from dispatch_fidelity.discipline.records import (
    SCHEMA,
    Stored,
    as_written,
    check_label,
    read_folder,
    read_records,
    seal,
)
from dispatch_fidelity.errors import RecordingError, UsageError
from dispatch_fidelity.jsonio import LIMITS

RUNS = 3


@pytest.fixture(autouse=True)
def _plain_git(monkeypatch: pytest.MonkeyPatch) -> None:
    use_plain_git(monkeypatch)


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tree with three runs of ``check`` and one of ``lint``."""
    with pytest.MonkeyPatch.context() as patch:
        use_plain_git(patch)
        repo = Repo.create(tmp_path_factory.mktemp("template") / "repo")
        repo.write("a.txt", "alpha\n")
        repo.commit()
        for number in range(1, RUNS + 1):
            record_run(["echo", "run", str(number)], "check", repo.root, quiet=True)
        record_run(["true"], "lint", repo.root, quiet=True)
        return repo.root / ".verify"


@pytest.fixture
def root(template: Path, tmp_path: Path) -> Path:
    shutil.copytree(template, tmp_path / ".verify")
    return tmp_path


def place(root: Path, number: int = RUNS, end: str = "json", label: str = "check") -> Path:
    return root / ".verify" / label / f"{number:04}.{end}"


def document(root: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(place(root).read_bytes())
    return found


def put(root: Path, content: dict[str, Any]) -> None:
    """Another content of the newest record, its digest fitting."""
    place(root).write_bytes(as_written({**content, "digest": seal(content)}))


def kinds(run: Stored) -> tuple[str, ...]:
    return tuple(kind for kind, _ in run.defects)


def last(root: Path) -> Stored:
    return stored(root)[-1]


# -- as they were written --------------------------------------------------------------------------------------


def test_records_are_read_as_they_were_written(root: Path) -> None:
    found = read_records(root)
    assert list(found) == ["check", "lint"]
    assert [(run.number, run.place, run.defects) for run in found["check"]] == [
        (number, f".verify/check/000{number}.json", ()) for number in range(1, RUNS + 1)
    ]
    assert [run.record.command for run in found["check"] if run.record] == [
        ("echo", "run", str(number)) for number in range(1, RUNS + 1)
    ]
    assert output(root) == b"run 3\n"


def test_the_labels_asked_for_are_read_alone(root: Path) -> None:
    assert list(read_records(root, ("lint",))) == ["lint"]
    assert read_records(root, ("lint", "absent")).keys() == {"lint"}


def test_where_nothing_is_recorded_nothing_is_found(tmp_path: Path) -> None:
    assert read_records(tmp_path) == {}
    (tmp_path / ".verify").write_text("a file")
    assert read_records(tmp_path) == {}
    (tmp_path / ".verify").unlink()
    (tmp_path / ".verify" / "empty").mkdir(parents=True)
    assert read_records(tmp_path) == {}


def test_unknown_members_of_a_newer_version_are_accepted_when_the_digest_fits(root: Path) -> None:
    put(root, {**document(root), "host": {"name": "x", "cores": [1, 2]}, "zzz": None, "big": 10**40})
    assert last(root).defects == ()
    assert last(root).record is not None


def test_files_of_others_in_the_folder_are_no_records(root: Path) -> None:
    for name in ("notes.txt", "0004.json.bak", "0004.77.tmp", "004.json", "x0004.json", "0004.JSON"):
        place(root).with_name(name).write_text("noise")
    (root / ".verify" / "README").write_text("noise")
    (root / ".verify" / ".hidden").mkdir()
    assert [run.number for run in stored(root)] == [1, 2, 3]
    assert list(read_records(root)) == ["check", "lint"]


def test_a_folder_of_records_that_was_carried_elsewhere_is_read(root: Path) -> None:
    here = read_records(root)
    (root / ".verify").rename(root / "evidence")
    assert read_records(root) == {}
    assert read_folder(root / "evidence") == here


# -- not as they were written ----------------------------------------------------------------------------------


def test_every_byte_of_a_record_counts(root: Path) -> None:
    path = place(root, 1, label="lint")
    whole = path.read_bytes()
    for at, byte in enumerate(whole):
        for other in (byte ^ 1, 0x09 if byte in b" \n" else 0x20):
            path.write_bytes(whole[:at] + bytes([other]) + whole[at + 1 :])
            assert read_records(root, ("lint",))["lint"][-1].defects, (at, byte, other)
    path.write_bytes(whole)
    assert stored(root, "lint")[-1].defects == ()


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    at=st.floats(0, 1),
    taken=st.integers(0, 40),
    added=st.one_of(st.binary(max_size=3), st.sampled_from([b" ", b"\n", b"\\u0041", b"{}", b",", b"0"])),
)
def test_nothing_is_taken_from_a_record_or_put_into_it_unseen(
    template: Path, tmp_path: Path, at: float, taken: int, added: bytes
) -> None:
    shutil.copytree(template, tmp_path / ".verify", dirs_exist_ok=True)
    path = place(tmp_path)
    whole = path.read_bytes()
    start = int(at * len(whole))
    edited = whole[:start] + added + whole[start + taken :]
    path.write_bytes(edited)
    assert bool(last(tmp_path).defects) == (edited != whole)


def test_a_record_that_means_the_same_in_other_words_is_edited(root: Path) -> None:
    content = document(root)
    for text in (json.dumps(content), json.dumps(content, indent=4), json.dumps(content, sort_keys=True)):
        place(root).write_text(text)
        assert kinds(last(root)) == ("EDITED",)
    place(root).write_bytes(as_written(content).replace(b"\n", b"\r\n"))
    assert kinds(last(root)) == ("EDITED",)


@pytest.mark.parametrize(
    "change",
    [
        {"exit_code": 1},
        {"command": ["echo", "other"]},
        {"interrupted": "SIGTERM"},
        {"label": "lint"},
        {"environment": {}},
        {"output": None},
        {"tree_after": None},
    ],
    ids=lambda change: next(iter(change)),
)
def test_a_record_edited_under_its_digest_is_edited(root: Path, change: dict[str, Any]) -> None:
    place(root).write_bytes(as_written({**document(root), **change}))
    assert "EDITED" in kinds(last(root))


def test_a_record_without_its_digest_is_edited(root: Path) -> None:
    content = document(root)
    del content["digest"]
    place(root).write_bytes(as_written(content))
    assert kinds(last(root)) == ("EDITED",)


def test_every_byte_of_the_output_counts(root: Path) -> None:
    path = place(root, end="output")
    whole = path.read_bytes()
    edits = [whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :] for at in range(len(whole))]
    for edited in [*edits, whole[:-1], whole + b"\n", b"", whole[::-1]]:
        path.write_bytes(edited)
        assert kinds(last(root)) == ("EDITED",)
        assert last(root).record is not None
    path.write_bytes(whole)
    assert last(root).defects == ()


def test_the_output_of_an_older_run_is_checked_too(root: Path) -> None:
    place(root, 1, "output").write_bytes(b"all passed\n")
    assert [kinds(run) for run in stored(root)] == [("EDITED",), (), ()]


Tamper = Callable[[Path, Path], object]


def into_a_link(path: Path, spare: Path) -> None:
    """The same content, behind a link."""
    path.rename(spare)
    path.symlink_to(spare)


def into_a_pipe(path: Path, spare: Path) -> None:
    path.rename(spare)
    os.mkfifo(path)


def into_a_folder(path: Path, spare: Path) -> None:
    path.rename(spare)
    path.mkdir()


REPLACED: dict[str, Tamper] = {"a link": into_a_link, "a pipe": into_a_pipe, "a folder": into_a_folder}


@pytest.mark.parametrize("end", ["json", "output"])
@pytest.mark.parametrize("tamper", REPLACED.values(), ids=REPLACED.keys())
def test_no_plain_file_is_unreadable_and_not_waited_for(root: Path, end: str, tamper: Tamper) -> None:
    tamper(place(root, end=end), root / "spare")
    assert kinds(last(root)) == ("UNREADABLE",)
    assert (last(root).record is None) == (end == "json")


def test_a_missing_output_is_missing(root: Path) -> None:
    place(root, end="output").unlink()
    assert kinds(last(root)) == ("MISSING",)


def test_a_record_put_under_another_number_is_told(root: Path) -> None:
    for end in ("json", "output"):
        shutil.copy(place(root, 1, end), place(root, RUNS + 1, end))
    assert last(root).number == RUNS + 1
    assert kinds(last(root)) == ("EDITED",)
    assert "put here" in last(root).defects[0][1]


def test_a_record_put_under_another_label_is_told(root: Path) -> None:
    shutil.copytree(root / ".verify" / "check", root / ".verify" / "build")
    assert [kinds(run) for run in stored(root, "build")] == [("EDITED",)] * RUNS


def test_a_removed_record_between_others_is_missing(root: Path) -> None:
    for end in ("json", "output"):
        place(root, 2, end).unlink()
    assert [(run.number, kinds(run)) for run in stored(root)] == [(1, ()), (2, ("MISSING",)), (3, ())]
    assert stored(root)[1].record is None


def test_the_newest_record_removed_with_its_output_left_is_missing(root: Path) -> None:
    place(root).unlink()
    assert last(root).number == RUNS
    assert last(root).record is None
    assert kinds(last(root)) == ("MISSING",)


def test_a_gap_of_any_length_is_one_finding(root: Path) -> None:
    for end in ("json", "output"):
        shutil.copy(place(root, 1, end), root / ".verify" / "check" / f"999999999.{end}")
    assert [(run.number, kinds(run)) for run in stored(root)[RUNS:]] == [
        (999_999_998, ("MISSING",)),
        (999_999_999, ("EDITED",)),
    ]


def test_old_runs_may_be_cleared_away(root: Path) -> None:
    for end in ("json", "output"):
        place(root, 1, end).unlink()
    assert [(run.number, run.defects) for run in stored(root)] == [(2, ()), (3, ())]


def test_a_label_that_is_a_link_to_another_folder_holds_no_records(root: Path) -> None:
    (root / ".verify" / "linked").symlink_to("check")
    assert "linked" not in read_records(root)


GARBAGE = {
    "nothing": b"",
    "no JSON": b"exit 0\n",
    "half": b'{"schema": "dispatch-fidel',
    "no object": b"[1, 2]",
    "null": b"null",
    "no UTF-8": b'{"schema": "\xff"}',
    "NaN": b'{"exit_code": NaN}',
    "a lone surrogate": b'{"label": "\\ud800"}',
    "deep": b"[" * 5_000 + b"]" * 5_000,
    "deep objects": b'{"a":' * 5_000 + b"1" + b"}" * 5_000,
    "a long number": b'{"number": ' + b"9" * 5_000 + b"}",
    "other members": b'{"binding": "PASS"}',
    "NULs": b"\0" * 100,
}


@pytest.mark.parametrize("data", GARBAGE.values(), ids=GARBAGE.keys())
def test_what_is_no_record_is_unreadable(root: Path, data: bytes) -> None:
    place(root).write_bytes(data)
    assert kinds(last(root)) == ("UNREADABLE",)
    assert last(root).record is None


def test_a_key_that_stands_twice_is_unreadable(root: Path) -> None:
    data = place(root).read_bytes()
    place(root).write_bytes(data.replace(b'"exit_code": 0', b'"exit_code": 1,\n  "exit_code": 0'))
    assert kinds(last(root)) == ("UNREADABLE",)
    assert "twice" in last(root).defects[0][1]


def test_a_record_beyond_every_size_is_unreadable(root: Path) -> None:
    with open(place(root), "wb") as handle:
        handle.truncate(LIMITS.report + 1)
    assert kinds(last(root)) == ("UNREADABLE",)
    assert "too large" in last(root).defects[0][1]


@pytest.mark.parametrize(
    "change",
    [
        {"command": "echo run"},
        {"command": [1]},
        {"number": "3"},
        {"exit_code": "0"},
        {"tree_before": None},
        {"output": {"bytes": 6}},
        {"environment": []},
    ],
    ids=lambda change: next(iter(change)),
)
def test_members_of_another_type_are_unreadable_though_the_digest_fits(
    root: Path, change: dict[str, Any]
) -> None:
    put(root, {**document(root), **change})
    assert kinds(last(root)) == ("UNREADABLE",)


def test_a_record_of_another_format_is_unreadable(root: Path) -> None:
    assert document(root)["schema"] == SCHEMA
    put(root, {**document(root), "schema": "dispatch-fidelity/gate/2"})
    assert kinds(last(root)) == ("UNREADABLE",)
    assert "another format" in last(root).defects[0][1]


def test_folders_that_cannot_be_listed_are_told(root: Path) -> None:
    if os.geteuid() == 0:
        pytest.skip("root may read everything")
    (root / ".verify" / "check").chmod(0)
    try:
        assert [kinds(run) for run in stored(root)] == [("UNREADABLE",)]
    finally:
        (root / ".verify" / "check").chmod(0o700)


def test_a_label_is_a_name_and_no_path() -> None:
    assert check_label("tests-3.11") == "tests-3.11"
    for label in ("", ".", "..", "a/b", ".x", "-x", "x" * 65, "ä", "a\n", "a\0"):
        with pytest.raises(UsageError):
            check_label(label)


# -- written as a whole ----------------------------------------------------------------------------------------


class Disk:
    """A disk whose n-th sync fails."""

    def __init__(self, fails_at: int) -> None:
        self.fails_at = fails_at
        self.count = 0
        self.fsync = os.fsync

    def __call__(self, fd: int) -> None:
        self.count += 1
        if self.count == self.fails_at:
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        self.fsync(fd)


@pytest.mark.parametrize("fails_at", [1, 2, 3, 4, 5])
def test_a_disk_that_fails_costs_the_record_and_leaves_nothing_half(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fails_at: int
) -> None:
    """The syncs in order: record, folder, output, record, folder; the run lies between the second and the third."""
    (tmp_path / "tree").mkdir()
    monkeypatch.setattr(os, "fsync", Disk(fails_at))
    with pytest.raises(RecordingError, match="Input/output error") as caught:
        record_run(["touch", str(tmp_path / "ran")], "check", tmp_path / "tree", quiet=True)
    assert (tmp_path / "ran").exists() == (fails_at > 2)
    assert ("was not run" in str(caught.value)) == (fails_at <= 2)
    names = {path.name for path in (tmp_path / "tree" / ".verify" / "check").iterdir()}
    assert names <= {"0001.json", "0001.output"}
    if fails_at > 2:
        assert stored(tmp_path / "tree")[0].defects == ()


def test_a_record_is_for_its_owner_alone_and_ascii(root: Path) -> None:
    record_run([sys.executable, "-c", "print('ä', '\U0001f600')", "ö"], "more", root, quiet=True)
    path = place(root, 1, label="more")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert path.read_bytes().isascii()
    assert kinds(stored(root, "more")[0]) == ()


def test_a_quiet_run_prints_nothing_and_records_all(root: Path, capfd: pytest.CaptureFixture[str]) -> None:
    record, path = record_run(["sh", "-c", "echo out; echo err >&2; exit 4"], "more", root, quiet=True)
    assert capfd.readouterr() == ("", "")
    assert record.exit_code == 4
    assert path.with_suffix(".output").read_bytes() == b"out\nerr\n"
