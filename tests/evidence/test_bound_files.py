"""The binding of files on disk: what a session leaves, and what becomes of it when somebody touches it."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from dispatch_fidelity import (
    AuditSession,
    InvalidInputError,
    MissingInputError,
    UsageError,
    check_binding,
    load_log,
)
from dispatch_fidelity.evidence.manifest import read_manifest
from dispatch_fidelity.model.assessment import BindingStatus

PROVEN, UNPROVEN, FAILED = BindingStatus.PROVEN, BindingStatus.UNPROVEN, BindingStatus.FAILED


def recorded(folder: Path, run_id: str = "run", *, canary: bool = True) -> AuditSession:
    with AuditSession({"look": lambda at: f"saw {at}"}, run_dir=folder, run_id=run_id) as session:
        if canary:
            session.call("canary_probe", {"label": "A"})
        session.call("look", {"at": "here"})
        session.call("look", {"at": "there"})
    return session


def status(session: AuditSession) -> BindingStatus:
    return check_binding(session.manifest_path, session.log_path).status


Change = Callable[[list[bytes]], list[bytes]]

CHANGES: dict[str, tuple[Change, BindingStatus]] = {
    "nothing": (lambda lines: lines, PROVEN),
    "crlf": (lambda lines: [line.replace(b"\n", b"\r\n") for line in lines], FAILED),
    "bom": (lambda lines: [b"\xef\xbb\xbf" + lines[0], *lines[1:]], PROVEN),
    "byte-edited": (lambda lines: [line.replace(b"there", b"where") for line in lines], FAILED),
    "line-dropped": (lambda lines: lines[:3] + lines[4:], FAILED),
    "lines-swapped": (lambda lines: [*lines[:2], lines[3], lines[2], *lines[4:]], FAILED),
    "line-twice": (lambda lines: lines[:3] + lines[2:], FAILED),
    "first-line-dropped": (lambda lines: lines[1:], FAILED),
    "close-dropped": (lambda lines: lines[:-1], UNPROVEN),
    "tail-dropped": (lambda lines: lines[:-2], UNPROVEN),
    "tail-torn": (lambda lines: [*lines[:-1], lines[-1][:-20]], UNPROVEN),
    "line-feed-dropped": (lambda lines: [*lines[:-1], lines[-1][:-1]], UNPROVEN),
    "line-unreadable": (lambda lines: [*lines[:3], b"?\n", *lines[4:]], UNPROVEN),
    "line-inserted": (lambda lines: [*lines[:3], b"?\n", *lines[3:]], UNPROVEN),
    "empty-line-inserted": (lambda lines: [*lines[:3], b"\n", *lines[3:]], UNPROVEN),
    "record-after-close": (lambda lines: [*lines, lines[1]], FAILED),
    "second-open": (lambda lines: [*lines, lines[0]], FAILED),
    "emptied": (lambda lines: [], UNPROVEN),
}


@pytest.mark.parametrize("name", CHANGES)
def test_every_change_of_the_log_is_seen_for_what_it_is(tmp_path: Path, name: str) -> None:
    change, expected = CHANGES[name]
    session = recorded(tmp_path)
    session.log_path.write_bytes(b"".join(change(session.log_path.read_bytes().splitlines(keepends=True))))
    assert status(session) is expected


def test_an_edited_manifest_fails(tmp_path: Path) -> None:
    session = recorded(tmp_path)
    session.manifest_path.chmod(0o600)
    text = session.manifest_path.read_text(encoding="ascii")
    session.manifest_path.write_text(text.replace('"process"', '"power"'), encoding="ascii")
    assert status(session) is FAILED


def test_a_renamed_manifest_is_known_by_its_digest(tmp_path: Path) -> None:
    session = recorded(tmp_path)
    copy = tmp_path / "anything.json"
    shutil.copy(session.manifest_path, copy)
    assert check_binding(copy, session.log_path).status is PROVEN


def test_the_manifest_of_another_run_fails(tmp_path: Path) -> None:
    one, other = recorded(tmp_path, "one"), recorded(tmp_path, "other")
    assert check_binding(one.manifest_path, other.log_path).status is FAILED


def test_the_log_of_another_run_under_this_name_fails(tmp_path: Path) -> None:
    one, other = recorded(tmp_path, "one"), recorded(tmp_path, "other")
    shutil.copy(other.log_path, one.log_path)
    assert status(one) is FAILED


def test_a_run_without_a_canary_call_is_unproven(tmp_path: Path) -> None:
    assert status(recorded(tmp_path, canary=False)) is UNPROVEN


def test_a_run_without_a_canary_call_is_proven_by_its_opening(tmp_path: Path) -> None:
    session = recorded(tmp_path, canary=False)
    assert check_binding(session.manifest_path, session.log_path, proof="opening").status is PROVEN


def test_loaded_values_are_as_good_as_paths(tmp_path: Path) -> None:
    session = recorded(tmp_path)
    bound = check_binding(read_manifest(session.manifest_path), load_log(session.log_path))
    assert bound.status is PROVEN


def test_a_proof_that_does_not_exist_is_wrong_usage(tmp_path: Path) -> None:
    session = recorded(tmp_path)
    with pytest.raises(UsageError):
        check_binding(session.manifest_path, session.log_path, proof="hope")


@pytest.mark.parametrize("missing", ["manifest", "log"])
def test_a_missing_file_says_so(tmp_path: Path, missing: str) -> None:
    session = recorded(tmp_path)
    paths = {"manifest": session.manifest_path, "log": session.log_path, missing: tmp_path / "nowhere"}
    with pytest.raises(MissingInputError, match="nowhere"):
        check_binding(paths["manifest"], paths["log"])


HONEST = {"schema": "dispatch-fidelity/manifest/1", "run_id": "r", "nonce_sha256": "0" * 64}


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(b"", id="empty"),
        pytest.param(b"\xff\xfe", id="no-text"),
        pytest.param(b"[]", id="list"),
        pytest.param(b"{}", id="no-schema"),
        pytest.param(b"[" * 5000, id="deep"),
        pytest.param(json.dumps({**HONEST, "schema": "dispatch-fidelity/manifest/3"}).encode(), id="newer"),
        pytest.param(json.dumps({**HONEST, "schema": "other/manifest/1"}).encode(), id="foreign"),
        pytest.param(json.dumps({**HONEST, "schema": 1}).encode(), id="schema-no-text"),
        pytest.param(json.dumps({**HONEST, "nonce_sha256": "0" * 63}).encode(), id="short-commitment"),
        pytest.param(json.dumps({**HONEST, "nonce_sha256": "A" * 64}).encode(), id="upper-case-commitment"),
        pytest.param(json.dumps({**HONEST, "run_id": 7}).encode(), id="run-no-text"),
        pytest.param(
            b'{"schema": "dispatch-fidelity/manifest/1", "run_id": "r", "run_id": "s"}', id="key-twice"
        ),
        pytest.param(json.dumps({**HONEST, "tools": [1]}).encode(), id="tools-no-object"),
    ],
)
def test_what_is_no_manifest_is_refused(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "r.manifest.json"
    path.write_bytes(data)
    with pytest.raises(InvalidInputError):
        read_manifest(path)


def test_unknown_members_of_a_newer_writer_are_no_obstacle(tmp_path: Path) -> None:
    path = tmp_path / "r.manifest.json"
    path.write_text(json.dumps({**HONEST, "future": {"a": [1]}}), encoding="ascii")
    assert read_manifest(path).run_id == "r"


def test_a_bom_is_no_part_of_the_manifest(tmp_path: Path) -> None:
    session = recorded(tmp_path)
    copy = tmp_path / "bom.json"
    copy.write_bytes(b"\xef\xbb\xbf" + session.manifest_path.read_bytes())
    assert check_binding(copy, session.log_path).status is PROVEN
