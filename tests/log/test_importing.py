"""An imported run is read back as the reader of its source understood it, at level E0."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dispatch_fidelity.audit import assess, choose, read_blob
from dispatch_fidelity.errors import RunExistsError
from dispatch_fidelity.log.importing import write_import
from dispatch_fidelity.log.reader import load_log
from dispatch_fidelity.model.call import Blob, Learned, Status, Unknown
from dispatch_fidelity.model.execution import Execution
from dispatch_fidelity.model.frozen import UNSET, changed
from dispatch_fidelity.model.run import Completeness, Damage, DamageKind, ImportedRun, Record

CALL = Execution(
    "get",
    {"a": 1},
    Status.RETURNED,
    Learned.DEFAULT,
    "ok",
    n=0,
    call="0",
    end=0,
    source_id="call_1",
    step=3,
    at="2026-11-30T08:00:00Z",
    until="2026-11-30T08:00:01Z",
)


def imported(*calls: Execution, **record: Any) -> ImportedRun:
    numbered = tuple(changed(call, n=n, call=str(n)) for n, call in enumerate(calls))
    fields = {"completeness": Completeness.CLOSED, **record}
    return ImportedRun(Record("run", "somewhere", numbered, **fields), "the report", "main")


def stored(run: ImportedRun, folder: Path, name: str = "run") -> Record:
    log, _ = write_import(run, folder, name, sha256="0" * 64, now=1, read_blob=read_blob)
    return load_log(log)


def essence(call: Execution) -> tuple[Any, ...]:
    return (
        call.tool,
        call.args,
        call.status,
        call.learned,
        call.result,
        call.error,
        call.message,
        call.shown,
        call.agent,
        call.source_id,
        call.step,
        call.cut,
        call.joint,
        call.at,
        call.until,
    )


@pytest.mark.parametrize("status", Status)
@pytest.mark.parametrize("learned", Learned)
def test_every_status_is_read_back(status: Status, learned: Learned, tmp_path: Path) -> None:
    call = changed(CALL, status=status, learned=learned, error="E", message="went wrong")
    if status is Status.UNFINISHED:  # it has no end, so nothing of one is on file
        call = changed(
            CALL, status=status, result=UNSET, until="", learned=Learned.FLAG, at="", step=-1, end=-1
        )
    (found,) = stored(imported(call), tmp_path).executions
    if status is Status.UNFINISHED:
        assert (found.tool, found.args, found.status) == ("get", {"a": 1}, status)
    else:
        assert essence(found) == essence(call)


@pytest.mark.parametrize(
    "fields",
    [
        {"args": Unknown("not captured")},
        {"args": "{no json"},
        {"args": [1, 2]},
        {"result": Unknown("unreadable", "why")},
        {"result": UNSET},
        {"result": None},
        {"result": {"a": [1, None, "x"]}},
        {"result": "x" * 100},
        {"cut": True},
        {"joint": True},
        {"shown": "shortened"},
        {"agent": "a-1"},
        {"at": "", "until": ""},
    ],
)
def test_what_a_source_tells_of_a_call_is_read_back(fields: dict[str, Any], tmp_path: Path) -> None:
    call = changed(CALL, **fields)
    (found,) = stored(imported(call), tmp_path).executions
    assert essence(found) == essence(call)


def test_a_text_that_looks_like_a_mark_of_ours_stays_what_it_is(tmp_path: Path) -> None:
    call = changed(CALL, args={"a": {"$df": "opaque", "text": "x"}}, result={"$df": "blob", "sha256": "y"})
    record = stored(imported(call), tmp_path)
    assert record.intact
    (found,) = record.executions
    assert not isinstance(found.result, (Blob, Unknown))


def test_a_long_result_lies_beside_the_log(tmp_path: Path) -> None:
    text = "".join(f"row {n}\n" for n in range(5_000))
    (found,) = stored(imported(changed(CALL, result=text)), tmp_path).executions
    assert isinstance(found.result, Blob)
    assert read_blob(found.result) == text


def test_a_result_that_was_left_in_its_source_is_copied(tmp_path: Path) -> None:
    text = "left where it was" * 200
    source = tmp_path / "source.jsonl"
    line = b'{"a": 1}\n{"content": "%b"}\n' % text.encode()
    source.write_bytes(line)
    import hashlib

    blob = Blob(
        hashlib.sha256(text.encode()).hexdigest(),
        len(text),
        "…",
        path=str(source),
        offset=9,
        length=len(line) - 9,
    )
    assert read_blob(blob) == text
    (found,) = stored(imported(changed(CALL, result=blob)), tmp_path / "runs").executions
    assert found.result == text


def test_a_result_that_cannot_be_found_again_is_unknown(tmp_path: Path) -> None:
    blob = Blob("0" * 64, 10, "…", path=str(tmp_path / "gone"), offset=0, length=5)
    (found,) = stored(imported(changed(CALL, result=blob)), tmp_path / "runs").executions
    assert isinstance(found.result, Unknown)


@pytest.mark.parametrize("completeness", Completeness)
def test_the_completeness_of_the_source_is_kept(completeness: Completeness, tmp_path: Path) -> None:
    assert stored(imported(CALL, completeness=completeness), tmp_path).completeness is completeness


def test_damage_and_notes_of_the_source_are_kept(tmp_path: Path) -> None:
    damage = (Damage(DamageKind.UNREADABLE, "line 3 is broken"),)
    record = stored(
        imported(CALL, damage=damage, notes=("no flag",), completeness=Completeness.PARTIAL), tmp_path
    )
    assert [item.text for item in record.damage] == ["line 3 is broken"]
    assert record.notes == ("no flag",)
    assert record.completeness is Completeness.PARTIAL


def test_an_imported_log_is_of_level_e0_and_says_so(tmp_path: Path) -> None:
    record = stored(imported(CALL), tmp_path)
    judged = assess("", record, choices=choose({}, None))
    assert record.imported
    assert judged.level.evidence == "E0"


def test_an_edit_of_an_imported_log_is_seen(tmp_path: Path) -> None:
    log, _ = write_import(imported(CALL, CALL), tmp_path, "run", sha256="0" * 64, now=1, read_blob=read_blob)
    log.write_bytes(log.read_bytes().replace(b'"result":"ok"', b'"result":"no"', 1))
    assert not load_log(log).intact


def test_a_run_that_is_there_is_not_touched(tmp_path: Path) -> None:
    run = imported(CALL)
    log, _ = write_import(run, tmp_path, "run", sha256="0" * 64, now=1, read_blob=read_blob)
    before = log.read_bytes()
    with pytest.raises(RunExistsError):
        write_import(run, tmp_path, "run", sha256="0" * 64, now=1, read_blob=read_blob)
    assert log.read_bytes() == before


def test_files_are_for_their_owner_alone(tmp_path: Path) -> None:
    log, report = write_import(
        imported(CALL), tmp_path / "new", "run", sha256="0" * 64, now=1, read_blob=read_blob
    )
    assert {path.stat().st_mode & 0o777 for path in (log, report)} == {0o600}
    assert (tmp_path / "new").stat().st_mode & 0o777 == 0o700


json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**40), 2**40) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    calls=st.lists(
        st.tuples(
            st.text(min_size=1, max_size=10),
            st.dictionaries(st.text(max_size=5), json_values, max_size=3),
            json_values,
            st.sampled_from([status for status in Status if status is not Status.UNFINISHED]),
        ),
        max_size=5,
    )
)
def test_reading_gives_back_what_was_imported(
    calls: list[tuple[str, dict[str, Any], Any, Status]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    made = [
        changed(CALL, tool=tool, args=args, result=result, status=status)
        for tool, args, result, status in calls
        if "$df" not in str((args, result))
    ]
    record = stored(imported(*made), tmp_path_factory.mktemp("imported"))
    assert record.intact
    assert [essence(call) for call in record.executions] == [essence(call) for call in made]
