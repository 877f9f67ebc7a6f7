"""Laws of the log: what was recorded is read back, and no change of it anywhere ends in a PASS."""

from __future__ import annotations

import datetime as dt
import decimal
import json
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dispatch_fidelity import AuditSession, DispatchFidelityError, load_log
from dispatch_fidelity.audit import assess, read_blob
from dispatch_fidelity.evidence.manifest import parse_manifest, read_manifest
from dispatch_fidelity.jsonio import decode
from dispatch_fidelity.log.recorder import Recorder
from dispatch_fidelity.log.values import encode_value, snapshot
from dispatch_fidelity.model.assessment import Overall
from dispatch_fidelity.model.call import Blob
from dispatch_fidelity.model.run import Completeness, Manifest, Record
from dispatch_fidelity.simulation.agents import report_of

WRITES = settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.too_slow])

leaves = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.integers(min_value=-(2**200), max_value=2**200)
    | st.floats()
    | st.text()
    | st.text(st.characters(codec=None, categories=None), max_size=5)  # lone surrogates too
    | st.binary(max_size=20)
    | st.dates()
    | st.datetimes(timezones=st.just(dt.timezone.utc))
    | st.decimals(allow_nan=False)
    | st.uuids()
    | st.sampled_from([Path("a/b"), object, range(3), decimal.Decimal("NaN")])
    | st.just(17_000).map(lambda length: "x" * length)
)
keys = (
    st.text(max_size=5)
    | st.sampled_from(["$df", "text", "type", "prev"])
    | st.integers()
    | st.none()
    | st.floats()
)
values = st.recursive(
    leaves,
    lambda inner: (
        st.lists(inner, max_size=5)
        | st.tuples(inner, inner)
        | st.dictionaries(keys, inner, max_size=5)
        | st.sets(leaves, max_size=4)
    ),
    max_leaves=20,
)


@WRITES
@given(args=st.dictionaries(st.text(max_size=5), values, max_size=4), result=values)
def test_any_value_that_is_recorded_is_read_back_as_its_snapshot(args: dict[str, Any], result: Any) -> None:
    with tempfile.TemporaryDirectory() as folder:
        log = Recorder(Path(folder), "r", "0" * 64)
        log.returned(log.start("t", args), result)
        log.close()
        record = load_log(Path(folder) / "r.toollog.jsonl")
        assert record.completeness is Completeness.CLOSED
        (execution,) = record.executions
        assert execution.args == snapshot(args)
        assert stored(execution.result) == snapshot(result)


def stored(result: Any) -> Any:
    """A result of a log, with the content of a large one in its place."""
    if not isinstance(result, Blob):
        return result
    content = read_blob(result)
    assert content is not None
    return content if result.media == "text" else decode(content.encode())


@given(values)
def test_a_snapshot_is_its_own_snapshot_unless_it_holds_a_stand_in(value: Any) -> None:
    plain = snapshot(value)
    assert decode(encode_value(value).encode()) == plain
    if "$df" not in encode_value(value):
        assert snapshot(plain) == plain


@given(values, values)
def test_equal_records_come_from_values_with_equal_snapshots(one: Any, other: Any) -> None:
    assert (encode_value(one) == encode_value(other)) == (
        json.dumps(snapshot(one)) == json.dumps(snapshot(other))
    )


# -- no change anywhere passes ---------------------------------------------------------------------------


class Run(NamedTuple):
    """A closed log of 20 records with its manifest and a true report that passes."""

    log: Path
    data: bytes
    manifest: Manifest
    report: str

    def after(self, data: bytes) -> Record | None:
        """The record in other bytes; None when they are refused as no log."""
        self.log.write_bytes(data)
        try:
            return load_log(self.log)
        except DispatchFidelityError:
            return None

    def passes(self, data: bytes) -> bool:
        record = self.after(data)
        return record is not None and judged(self, record) is Overall.PASS


def judged(run: Run, record: Record) -> Overall:
    return assess(run.report, record, run.manifest).outcome.overall


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    def look(n: int) -> dict[str, Any]:
        return {"n": n, "text": "é"}

    session = AuditSession({"look": look}, run_dir=tmp_path_factory.mktemp("law"), run_id="r")
    session.call("canary_probe", {"label": "A"})
    items = [
        {"tool": "look", "args": {"n": n}, "result": json.loads(session.call("look", {"n": n}))}
        for n in range(8)
    ]
    session.close()
    found = Run(
        session.log_path,
        session.log_path.read_bytes(),
        read_manifest(session.manifest_path),
        report_of(items),
    )
    assert found.data.count(b"\n") == 20
    assert found.passes(found.data)
    return found


CHANGES: dict[str, Callable[[bytes, int], bytes]] = {
    "cut": lambda data, at: data[:at] + data[at + 1 :],
    "doubled": lambda data, at: data[: at + 1] + data[at:],
    "low bit": lambda data, at: data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :],
    "one bit": lambda data, at: data[:at] + bytes([data[at] ^ (2 << at % 7)]) + data[at + 1 :],
    "digit put in": lambda data, at: data[:at] + b"0" + data[at:],
    "line broken": lambda data, at: data[:at] + b"\n" + data[at:],
    "end cut off": lambda data, at: data[:at],
}


@pytest.mark.parametrize("change", CHANGES)
def test_no_changed_byte_of_a_log_passes(run: Run, change: str) -> None:
    changed = (CHANGES[change](run.data, at) for at in range(len(run.data)))
    assert [at for at, data in enumerate(changed) if data != run.data and run.passes(data)] == []


@pytest.mark.parametrize("tail", [b"\n", b" ", b"\0", b"{}", b"{}\n", b"\r\n", b"\xef\xbb\xbf"], ids=ascii)
def test_nothing_put_behind_a_log_passes(run: Run, tail: bytes) -> None:
    assert not run.passes(run.data + tail)


def line_changes(lines: list[bytes]) -> Iterator[list[bytes]]:
    for at in range(len(lines)):
        yield [*lines[:at], *lines[at + 1 :]]
        yield [*lines[: at + 1], *lines[at:]]
        for other in range(at + 1, len(lines)):
            swapped = lines[:]
            swapped[at], swapped[other] = lines[other], lines[at]
            yield swapped
        for end in range(at + 2, len(lines) + 1):
            yield [*lines[:at], *lines[end:]]


def test_no_cut_doubled_or_swapped_line_of_a_log_passes(run: Run) -> None:
    lines = run.data[:-1].split(b"\n")
    changed = [b"".join(line + b"\n" for line in some) for some in line_changes(lines)]
    assert len(changed) == 20 + 20 + 190 + 190
    assert [data for data in changed if run.passes(data)] == []


@pytest.mark.parametrize("change", CHANGES)
def test_no_changed_byte_of_a_manifest_passes(run: Run, change: str) -> None:
    data = (run.log.parent / "r.manifest.json").read_bytes()
    record = run.after(run.data)
    assert record is not None
    passing = []
    for at in range(len(data)):
        changed = CHANGES[change](data, at)
        try:
            manifest = parse_manifest(changed, "r.manifest.json")
            overall = assess(run.report, record, manifest).outcome.overall
        except DispatchFidelityError:
            continue
        if changed != data and overall is Overall.PASS:
            passing.append(at)
    assert passing == []


# -- any bytes -------------------------------------------------------------------------------------------

members = st.fixed_dictionaries(
    {},
    optional={
        "v": st.sampled_from([2, 1, "2", None]),
        "run": st.sampled_from(["r", "../../etc", "", 7]),
        "stream": st.sampled_from(["main", "0" * 32, ""]),
        "n": st.integers(-2, 4) | st.just(10**40),
        "prev": st.text(max_size=3),
        "type": st.sampled_from(
            ["open", "call.started", "call.returned", "call.raised", "gap", "close", "?"]
        ),
        "call": st.sampled_from(["c0", "c1", ""]),
        "tool": st.sampled_from(["t", ""]) | st.lists(st.integers(), max_size=1),
        "args": st.dictionaries(st.text(max_size=2), st.integers() | st.just(10**30), max_size=2)
        | st.integers(),
        "result": st.text(max_size=3)
        | st.just({"$df": "blob", "sha256": "../../../x", "text": "", "size": -1})
        | st.just({"$df": "blob", "sha256": "a" * 64, "text": 7, "size": "x", "media": 1}),
        "streams": st.lists(st.sampled_from(["main", "x", "../y"]), max_size=2),
        "calls": st.integers(-1, 2),
        "seq": st.integers(-1, 2),
        "run_id": st.sampled_from(["r", ""]),
    },
)
stated_lines = st.lists(members.map(json.dumps).map(str.encode) | st.binary(max_size=20), max_size=6).map(
    b"\n".join
)


@settings(max_examples=500, deadline=None)
@given(data=st.binary(max_size=200) | stated_lines, end=st.sampled_from([b"", b"\n", b"\r\n", b"\0" * 8]))
def test_any_bytes_are_read_or_refused_and_never_pass(data: bytes, end: bytes) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "r.toollog.jsonl"
        path.write_bytes(data + end)
        try:
            record = load_log(path)
        except DispatchFidelityError:
            return
        report = report_of([{"tool": "t", "args": {}}])
        assert assess(report, record).outcome.overall is not Overall.PASS
