"""What a log file says, and what is wrong with it: damage is data, and only what is no log is an error."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest

from dispatch_fidelity import AuditSession, InvalidInputError, MissingInputError, UsageError, load_log
from dispatch_fidelity.audit import assess
from dispatch_fidelity.evidence.manifest import read_manifest
from dispatch_fidelity.jsonio import LIMITS
from dispatch_fidelity.log import reader
from dispatch_fidelity.model.assessment import Check, Overall
from dispatch_fidelity.model.call import Learned, Status
from dispatch_fidelity.model.run import Completeness, DamageKind, Record, State
from dispatch_fidelity.simulation.agents import report_of

REPORT = report_of([{"tool": "add", "args": {"a": 1, "b": 2}, "result": "3"}])
BOM = b"\xef\xbb\xbf"


@pytest.fixture
def log(tmp_path: Path) -> Path:
    """A closed log of seven records: open, a canary, a sum, a failure, close."""
    return run(tmp_path)


def add(a: int, b: int) -> str:
    return str(a + b)


def fail() -> str:
    raise ValueError("no luck")


def run(folder: Path, *, close: bool = True) -> Path:
    session = AuditSession({"add": add, "fail": fail}, run_dir=folder, run_id="r")
    session.call("canary_probe", {"label": "A"})
    session.call("add", {"a": 1, "b": 2})
    session.call("fail")
    if close:
        session.close()
    return session.log_path


def lines_of(log: Path) -> list[bytes]:
    return log.read_bytes()[:-1].split(b"\n")


def write(log: Path, lines: Iterable[bytes], end: bytes = b"\n") -> Path:
    log.write_bytes(b"\n".join(lines) + end)
    return log


def chained(log: Path, events: list[dict[str, Any]]) -> Path:
    """The events written anew, each linked to the one before it and the close record sealed."""
    lines: list[bytes] = []
    for event in events:
        if lines:
            event = {**event, "prev": hashlib.sha256(lines[-1]).hexdigest()}
        event.pop("digest", None)
        line = json.dumps(event, separators=(",", ":")).encode()
        if event.get("type") == "close":
            line = b'%b,"digest":"%b"}' % (line[:-1], hashlib.sha256(line[:-1]).hexdigest().encode())
        lines.append(line)
    return write(log, lines)


def kinds(record: Record) -> list[str]:
    return [str(damage.kind) for damage in record.damage]


def judged(log: Path, report: str = REPORT) -> Overall:
    manifest = read_manifest(log.parent / "r.manifest.json")
    return assess(report, load_log(log), manifest).outcome.overall


def events_of(log: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in lines_of(log)]


# -- an undamaged log ------------------------------------------------------------------------------------


def test_a_closed_log_is_sealed_and_holds_its_calls_in_order(log: Path) -> None:
    record = load_log(log)
    (stream,) = record.streams
    assert (stream.state, record.completeness, record.format) == (State.SEALED, Completeness.CLOSED, "log/2")
    assert [(item.tool, item.status) for item in record.executions] == [
        ("canary_probe", Status.RETURNED),
        ("add", Status.RETURNED),
        ("fail", Status.RAISED),
    ]
    assert (record.executions[2].error, record.executions[2].message) == ("ValueError", "no luck")
    assert judged(log) is Overall.PASS


def test_a_log_without_a_close_record_is_open_ended_and_partial(tmp_path: Path) -> None:
    record = load_log(run(tmp_path, close=False))
    assert record.streams[0].state is State.OPEN_ENDED
    assert (record.completeness, kinds(record)) == (Completeness.PARTIAL, ["missing close"])


def test_a_start_without_an_end_is_unfinished_and_never_absent(log: Path) -> None:
    write(log, lines_of(log)[:4])
    record = load_log(log)
    assert record.streams[0].state is State.UNTERMINATED
    assert [item.status for item in record.executions] == [Status.RETURNED, Status.UNFINISHED]
    assert record.executions[1].open


def test_a_run_without_calls_is_closed_too(tmp_path: Path) -> None:
    session = AuditSession(run_dir=tmp_path, run_id="r")
    session.close()
    record = load_log(session.log_path)
    assert (len(record), record.completeness) == (0, Completeness.CLOSED)


def test_unknown_members_of_a_newer_writer_are_no_damage(log: Path) -> None:
    record = load_log(chained(log, [{**event, "colour": {"new": 1}} for event in events_of(log)]))
    assert record.damage == ()
    assert len(record) == 3


def test_failure_by_value_is_told_apart_from_failure_by_flag(tmp_path: Path) -> None:
    answers = iter([{"ok": False}, '{"status": 500}', {"ok": True}, "ERROR: only text"])
    session = AuditSession({"ask": lambda: next(answers)}, run_dir=tmp_path)
    for _ in range(4):
        session.call("ask")
    session.close()
    assert [(item.status, item.learned) for item in load_log(session.log_path).executions] == [
        (Status.RAISED, Learned.VALUE),
        (Status.RAISED, Learned.VALUE),
        (Status.RETURNED, Learned.FLAG),
        (Status.RETURNED, Learned.FLAG),
    ]


# -- damage ----------------------------------------------------------------------------------------------


@pytest.mark.fault("B7")
@pytest.mark.parametrize("tail", [b'{"v":2,"run', b"\0" * 512, b"\0", b"x", b"\xff\xfe", b"{}"])
def test_a_torn_or_zero_filled_last_line_is_damage_not_the_end_of_the_log(log: Path, tail: bytes) -> None:
    log.write_bytes(b"\n".join(lines_of(log)[:5]) + b"\n" + tail)
    record = load_log(log)
    assert record.streams[0].state is State.TORN_TAIL
    assert kinds(record) == ["torn", "missing close"]
    assert [item.tool for item in record.executions] == ["canary_probe", "add"]
    assert judged(log) is Overall.INCONCLUSIVE


def test_a_torn_tail_behind_the_close_record_keeps_the_run_from_passing(log: Path) -> None:
    log.write_bytes(log.read_bytes() + b'{"v":2')
    assert judged(log) is Overall.INCONCLUSIVE


def test_a_close_record_without_its_line_feed_is_torn(log: Path) -> None:
    log.write_bytes(log.read_bytes()[:-1])
    record = load_log(log)
    assert record.streams[0].state is State.TORN_TAIL
    assert judged(log) is Overall.INCONCLUSIVE


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b"   ",
        b"nonsense",
        b"[1]",
        b"null",
        b"{}",
        b'{"v":2,"run":"r"}',
        b"\xff",
        b'{"a":' * 200 + b"1" + b"}" * 200,
        b'{"v":3,"run":"r","stream":"main","n":3,"prev":"","type":"open"}',
        b'{"v":2,"run":"r","stream":"main","n":3,"prev":"","type":"call.invented"}',
        b'{"v":2,"run":"r","run":"r","stream":"main","n":3,"prev":"","type":"gap"}',
        b'{"v":2,"run":"r","stream":"main","n":NaN,"prev":"","type":"gap"}',
        b'{"v":2,"run":"\\ud800","stream":"main","n":3,"prev":"","type":"gap"}',
        b'{"v":2,"run":"r","stream":"main","n":' + b"9" * 5_000 + b',"prev":"","type":"gap"}',
        b'{"v":2,"run":"r","stream":"main","n":3,"prev":"","type":"call.started","tool":["t"]}',
        b'{"v":2,"run":"r","stream":"main","n":3.5,"prev":"","type":"gap"}',
    ],
    ids=lambda line: ascii(line[:60]),
)
def test_a_line_that_cannot_be_read_hides_what_rests_on_it_and_accuses_nobody(log: Path, line: bytes) -> None:
    lines = lines_of(log)
    lines[5] = line
    record = load_log(write(log, lines))
    assert kinds(record) == ["unreadable"]
    assert record.damage[0].line == 6
    assert record.streams[0].state is State.CORRUPT
    assert judged(log) is Overall.INCONCLUSIVE


def test_the_number_after_an_unreadable_line_is_not_held_against_it(log: Path) -> None:
    lines = lines_of(log)
    lines[2:5] = [b"?"]
    assert kinds(load_log(write(log, lines))) == ["unreadable"]


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (lambda lines: [*lines[:3], *lines[4:]], {"number", "chain", "lifecycle", "count"}),
        (lambda lines: [*lines[:4], lines[3], *lines[4:]], {"number", "chain", "lifecycle"}),
        (
            lambda lines: [*lines[:3], lines[4], lines[3], *lines[5:]],
            {"number", "chain", "lifecycle", "count"},
        ),
        (lambda lines: [*lines[:4], lines[4].replace(b'"3"', b'"4"'), *lines[5:]], {"chain"}),
        (lambda lines: [*lines, lines[3]], {"stray", "number", "chain", "lifecycle"}),
        (lambda lines: lines[1:], {"number", "lifecycle"}),
        (lambda lines: [*lines[:-1], lines[-1].replace(b'"calls":3', b'"calls":2')], {"digest", "count"}),
        (lambda lines: [*lines[:-1], lines[-1] + b" "], {"digest"}),
        (lambda lines: [line + b"\r" for line in lines], {"chain", "digest"}),
        (lambda lines: [*lines[:2], b" " + lines[2], *lines[3:]], {"chain"}),
    ],
    ids=[
        "cut",
        "doubled",
        "swapped",
        "edited",
        "behind",
        "headless",
        "close edited",
        "close padded",
        "crlf",
        "space",
    ],
)
def test_a_log_that_was_changed_contradicts_itself(
    log: Path, change: Callable[[list[bytes]], list[bytes]], expected: set[str]
) -> None:
    write(log, change(lines_of(log)))
    assert set(kinds(load_log(log))) == expected
    assert judged(log) is Overall.FAIL


def test_a_number_that_comes_back_makes_the_stream_forked(log: Path) -> None:
    lines = lines_of(log)
    record = load_log(write(log, [*lines[:4], lines[2], *lines[4:]]))
    assert record.streams[0].state is State.FORKED


@pytest.mark.parametrize(
    ("number", "members", "kind"),
    [
        (3, {"run": "other"}, "run"),
        (3, {"stream": "other"}, "stream"),
        (3, {"n": 9}, "number"),
        (3, {"call": "c0"}, "lifecycle"),
        (4, {"call": "c9"}, "lifecycle"),
        (3, {"args": [1]}, "lifecycle"),
        (4, {"type": "open"}, "stray"),
        (4, {"type": "gap", "reason": "x"}, "gap"),
    ],
)
def test_each_contradiction_has_its_name_even_in_a_well_chained_log(
    log: Path, number: int, members: dict[str, Any], kind: str
) -> None:
    events = events_of(log)
    events[number] = {**events[number], **members}
    assert kind in kinds(load_log(chained(log, events)))
    assert judged(log) is not Overall.PASS


def test_a_pair_of_records_that_was_cut_and_chained_anew_is_missed_by_the_count(log: Path) -> None:
    events = events_of(log)
    events = [{**event, "n": n} for n, event in enumerate([*events[:3], *events[5:]])]
    assert kinds(load_log(chained(log, events))) == ["count"]


def test_a_second_end_of_one_call_is_a_contradiction(log: Path) -> None:
    events = events_of(log)
    events = [{**event, "n": n} for n, event in enumerate([*events[:5], events[4], *events[5:]])]
    record = load_log(chained(log, events))
    assert kinds(record) == ["lifecycle"]
    assert "ends twice" in record.damage[0].text


def test_a_bom_is_skipped_and_belongs_to_no_line(log: Path) -> None:
    log.write_bytes(BOM + log.read_bytes())
    assert load_log(log).damage == ()
    assert judged(log) is Overall.PASS


def test_a_second_bom_is_damage(log: Path) -> None:
    log.write_bytes(BOM * 2 + log.read_bytes())
    assert "unreadable" in kinds(load_log(log))


def test_an_empty_line_at_the_end_keeps_the_run_from_passing(log: Path) -> None:
    log.write_bytes(log.read_bytes() + b"\n")
    assert judged(log) is Overall.INCONCLUSIVE


# -- no log at all ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["absent.toollog.jsonl", "folder", "absent/deep.jsonl"])
def test_a_log_that_cannot_be_opened_is_missing_input(tmp_path: Path, name: str) -> None:
    (tmp_path / "folder").mkdir()
    with pytest.raises(MissingInputError) as caught:
        load_log(tmp_path / name)
    assert caught.value.exit_code == 66


@pytest.mark.parametrize(
    "data", [b"hello\n", b"{}\n", b"\n", b"[]\n[]\n", b"\x89PNG\n\x1a\n", b'{"v":2}\nx', b'{"seq":1}\n']
)
def test_a_file_none_of_whose_lines_is_an_event_is_no_log(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "r.toollog.jsonl"
    path.write_bytes(data)
    with pytest.raises(InvalidInputError) as caught:
        load_log(path)
    assert caught.value.exit_code == 65


@pytest.mark.parametrize("data", [b"hello", b'{"v":2,"run":"r"', b"\0\0\0", BOM + b"x"])
def test_a_single_unfinished_line_is_a_torn_log(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "r.toollog.jsonl"
    path.write_bytes(data)
    record = load_log(path)
    assert record.streams[0].state is State.TORN_TAIL
    assert {"torn", "empty"} <= set(kinds(record))


@pytest.mark.parametrize("data", [b"", BOM])
def test_an_empty_file_is_an_empty_log(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "r.toollog.jsonl"
    path.write_bytes(data)
    record = load_log(path)
    assert (kinds(record), record.completeness) == (["empty"], Completeness.PARTIAL)


def test_a_line_beyond_the_limit_is_refused_with_its_size(log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reader, "LIMITS", LIMITS._replace(line=300))
    with pytest.raises(InvalidInputError, match="300 bytes"):
        load_log(log)


def test_naming_no_log_is_wrong_usage() -> None:
    with pytest.raises(UsageError):
        load_log([])


# -- streams ---------------------------------------------------------------------------------------------


@pytest.fixture
def two(tmp_path: Path) -> tuple[Path, Path]:
    """The main log and the worker's log of one run, both closed."""
    session = AuditSession({"add": add}, run_dir=tmp_path, run_id="r")
    session.call("canary_probe", {"label": "A"})
    main = session._recorder
    worker = session._open_recorder(main.manifest_digest, attach=True)
    worker.returned(worker.start("add", {"a": 1, "b": 2}), "3")
    worker.close()
    session.close()
    (other,) = tmp_path.glob("r+*.toollog.jsonl")
    return session.log_path, other


def test_the_other_streams_of_a_run_are_found_beside_any_one_of_them(two: tuple[Path, Path]) -> None:
    records = [load_log(two[0]), load_log(two[1]), load_log(two), load_log(reversed(two))]
    for record in records:
        assert record.damage == ()
        assert [item.tool for item in record.executions] == ["canary_probe", "add"]
    assert judged(two[1]) is Overall.PASS


def test_a_missing_stream_makes_the_run_partial(two: tuple[Path, Path]) -> None:
    two[1].unlink()
    record = load_log(two[0])
    assert (kinds(record), record.completeness) == (["missing stream"], Completeness.PARTIAL)
    assert judged(two[0]) is Overall.INCONCLUSIVE


def test_a_missing_first_stream_makes_the_run_partial(two: tuple[Path, Path]) -> None:
    two[0].unlink()
    assert "missing stream" in kinds(load_log(two[1]))
    assert judged(two[1]) is Overall.INCONCLUSIVE


def test_a_missing_stream_is_known_from_the_close_record_when_the_list_is_gone(
    two: tuple[Path, Path],
) -> None:
    two[1].unlink()
    (two[0].parent / "r.streams.jsonl").unlink()
    assert kinds(load_log(two[0])) == ["missing stream"]


@pytest.mark.parametrize("keep", [0, 1, 30])
def test_a_stream_that_was_emptied_or_torn_makes_the_run_partial(two: tuple[Path, Path], keep: int) -> None:
    two[1].write_bytes(two[1].read_bytes()[:keep])
    record = load_log(two[0])
    assert "missing close" in kinds(record)
    assert [stream.id for stream in record.streams] == ["main", two[1].name[2:34]]
    assert judged(two[0]) is Overall.INCONCLUSIVE


def test_a_stream_without_a_close_record_makes_the_run_partial(two: tuple[Path, Path]) -> None:
    write(two[1], lines_of(two[1])[:-1])
    record = load_log(two[0])
    assert [(damage.kind, damage.stream) for damage in record.damage] == [
        (DamageKind.MISSING_CLOSE, record.streams[1].id)
    ]


def test_a_stream_that_is_on_no_list_is_stray(two: tuple[Path, Path]) -> None:
    extra = two[0].parent / f"r+{'0' * 32}.toollog.jsonl"
    chained(extra, [{**event, "stream": "0" * 32} for event in events_of(two[1])])
    record = load_log(two[0])
    assert "stray" in kinds(record)
    assert judged(two[0]) is Overall.FAIL


def test_a_copy_of_a_stream_under_another_name_is_a_contradiction(two: tuple[Path, Path]) -> None:
    shutil.copy(two[1], two[0].parent / f"r+{'0' * 32}.toollog.jsonl")
    assert "stream" in kinds(load_log(two[0]))
    assert judged(two[0]) is not Overall.PASS


def test_a_stream_of_another_run_is_a_contradiction(two: tuple[Path, Path], tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    other = AuditSession({"add": add}, run_dir=tmp_path / "elsewhere", run_id="q")
    other.close()
    shutil.copy(other.log_path, two[0].parent / f"r+{'0' * 32}.toollog.jsonl")
    assert {"run", "stream"} <= set(kinds(load_log(two[0])))
    assert judged(two[0]) is Overall.FAIL


def test_a_stream_opened_after_the_run_was_closed_is_late(two: tuple[Path, Path]) -> None:
    events = events_of(two[0])
    events[-1]["streams"] = ["main"]
    chained(two[0], events)
    record = load_log(two[0])
    assert kinds(record) == ["late stream"]
    assert "after the run was closed" in record.damage[0].text


@pytest.mark.parametrize("line", [b"?\n", b'{"stream":"0123', b"{}\n", b"[]\n"])
def test_a_list_that_cannot_be_read_whole_is_damage_and_accuses_no_stream(
    two: tuple[Path, Path], line: bytes
) -> None:
    listing = two[0].parent / "r.streams.jsonl"
    listing.write_bytes(listing.read_bytes().split(b"\n")[0] + b"\n" + line)
    assert kinds(load_log(two[0])) == ["unreadable"]
    assert judged(two[0]) is Overall.INCONCLUSIVE


def test_a_log_on_its_own_names_its_stream_from_its_records(log: Path, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    copied = Path(shutil.copy(log, elsewhere / "any name.jsonl"))
    record = load_log(copied)
    assert (record.damage, record.run_id) == ((), "r")


def test_a_run_whose_id_begins_like_another_is_not_mixed_with_it(tmp_path: Path) -> None:
    for run_id in ("r", "r.2", "r-2"):
        AuditSession(run_dir=tmp_path, run_id=run_id).close()
    assert [load_log(tmp_path / f"{run_id}.toollog.jsonl").damage for run_id in ("r", "r.2")] == [(), ()]


# -- log 1 -----------------------------------------------------------------------------------------------


def v1(**members: Any) -> bytes:
    event = {"seq": 1, "run_id": "r", "agent_id": "a", "tool": "add", "args": {"a": 1}, "result": "3"}
    return json.dumps({**event, **members}).encode()


def test_log_1_is_told_by_its_lines_and_read_with_its_own_rules(tmp_path: Path) -> None:
    path = write(
        tmp_path / "old.jsonl",
        [
            v1(),
            v1(seq=2, result="ERROR:ValueError"),
            v1(seq=3, result="ERROR:unknown_tool:x"),
            v1(seq=4, result="ERROR: text"),
        ],
    )
    record = load_log(path)
    assert (record.format, record.completeness, record.streams[0].state) == (
        "log/1",
        Completeness.CLOSED,
        State.CLEAN,
    )
    assert [(item.status, item.learned) for item in record.executions] == [
        (Status.RETURNED, Learned.DEFAULT),
        (Status.RAISED, Learned.SURFACE),
        (Status.INVALID, Learned.SURFACE),
        (Status.RETURNED, Learned.DEFAULT),
    ]


def test_log_1_may_have_a_bom_and_crlf(tmp_path: Path) -> None:
    path = tmp_path / "old.jsonl"
    path.write_bytes(BOM + v1() + b"\r\n" + v1(seq=2) + b"\r\n")
    record = load_log(path)
    assert (len(record), record.damage) == (2, ())


@pytest.mark.parametrize(
    ("lines", "kind"),
    [
        ([v1(), v1(seq=3)], "number"),
        ([v1(), v1(seq=1)], "number"),
        ([v1(), v1(seq=2, run_id="q")], "run"),
        ([v1(result_sha256="0" * 64)], "chain"),
        ([v1(), b"?"], "unreadable"),
        ([v1(), v1(seq=2, args=[])], "unreadable"),
        ([b'{"seq":1,"run_id":"r","to', v1(seq=2)], "unreadable"),
    ],
)
def test_damage_of_log_1_has_the_same_names(tmp_path: Path, lines: list[bytes], kind: str) -> None:
    record = load_log(write(tmp_path / "old.jsonl", lines))
    assert kinds(record) == [kind]
    assert record.completeness is Completeness.PARTIAL


def test_a_fitting_result_digest_and_an_empty_one_are_no_damage(tmp_path: Path) -> None:
    digest = hashlib.sha256(b"3").hexdigest()
    lines = [v1(result_sha256=digest), v1(seq=2, result_sha256=""), v1(seq=3, result_sha256=None)]
    assert load_log(write(tmp_path / "old.jsonl", lines)).damage == ()


def test_a_torn_log_1_keeps_what_stands_before(tmp_path: Path) -> None:
    record = load_log(write(tmp_path / "old.jsonl", [v1(), v1(seq=2)[:40]], end=b""))
    assert (len(record), record.streams[0].state) == (1, State.TORN_TAIL)


# -- binding ---------------------------------------------------------------------------------------------


def test_an_unreadable_line_leaves_binding_open_and_a_contradiction_fails_it(log: Path) -> None:
    manifest = read_manifest(log.parent / "r.manifest.json")
    lines = lines_of(log)
    write(log, [*lines[:3], b"?", *lines[4:]])
    hidden = assess(REPORT, load_log(log), manifest).binding
    write(log, [*lines[:3], lines[3] + b" ", *lines[4:]])
    altered = assess(REPORT, load_log(log), manifest).binding
    assert (hidden.checks["B2"], altered.checks["B2"]) == (Check.NOT_DERIVABLE, Check.FAILS)


# -- the heads of other streams ---------------------------------------------------------------------------


def test_a_worker_stream_that_was_written_anew_contradicts_the_close_record_of_the_run(
    two: tuple[Path, Path],
) -> None:
    events = events_of(two[1])
    events[2]["result"] = "4"
    chained(two[1], events)
    assert kinds(load_log(two[0])) == ["chain"]
    assert judged(two[0]) is Overall.FAIL


def test_a_worker_stream_that_is_still_open_at_the_close_of_the_run_has_no_head_to_contradict(
    tmp_path: Path,
) -> None:
    session = AuditSession({"add": add}, run_dir=tmp_path, run_id="r")
    worker = session._open_recorder(session._recorder.manifest_digest, attach=True)
    ticket = worker.start("add", {"a": 1, "b": 2})
    session.close()
    worker.returned(ticket, "3")
    worker.close()
    assert load_log(session.log_path).completeness is Completeness.CLOSED
