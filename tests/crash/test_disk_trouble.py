"""A disk that fills up, lies short or fails to sync, at every k: no silent call, no line behind a torn one."""

from __future__ import annotations

import errno
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from dispatch_fidelity import AuditSession, RecordingError, load_log
from dispatch_fidelity.audit import assess
from dispatch_fidelity.evidence.manifest import read_manifest
from dispatch_fidelity.log import recorder
from dispatch_fidelity.model.assessment import Outcome, Overall
from dispatch_fidelity.model.execution import Execution
from dispatch_fidelity.model.run import Completeness, DamageKind, Record, State
from dispatch_fidelity.simulation.agents import report_of

PROGRAM = Path(__file__).parent / "limited_runs.py"
CALLS = 5
REFUSED = "refused"


class Trouble:
    """A disk whose k-th write (or sync) fails, once or from there on; ``faults`` counts how often it did."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.patch = monkeypatch
        self.write, self.sync = os.write, os.fdatasync
        self.passed = self.faults = 0
        self.touched_after: list[bytes] = []

    def is_due(self, at: int, lasting: bool) -> bool:
        here = self.passed == at or (lasting and self.passed > at)
        self.passed += 1
        self.faults += here
        return here

    def of_writes(self, at: int, kind: str, lasting: bool) -> None:
        torn: set[tuple[int, int]] = set()

        def write(fd: int, data: bytes) -> int:
            state = os.fstat(fd)
            if (state.st_dev, state.st_ino) in torn:
                self.touched_after.append(bytes(data))
            if not self.is_due(at, lasting):
                return self.write(fd, data)
            torn.add((state.st_dev, state.st_ino))
            if kind == "short":
                return self.write(fd, data[: len(data) // 2])
            raise OSError(getattr(errno, kind), os.strerror(getattr(errno, kind)))

        self.patch.setattr(os, "write", write)
        self.patch.setattr(recorder, "_write", write)

    def of_syncs(self, at: int, lasting: bool) -> None:
        lost: set[int] = set()

        def write(fd: int, data: bytes) -> int:
            if os.fstat(fd).st_ino in lost:
                self.touched_after.append(bytes(data))
            return self.write(fd, data)

        def sync(fd: int) -> None:
            inode = os.fstat(fd).st_ino
            if inode in lost:
                self.touched_after.append(b"synced again")
            if self.is_due(at, lasting):
                lost.add(inode)
                raise OSError(errno.EIO, os.strerror(errno.EIO))
            self.sync(fd)

        self.patch.setattr(os, "write", write)
        self.patch.setattr(recorder, "_write", write)
        self.patch.setattr(os, "fdatasync", sync)

    def end(self) -> None:
        self.patch.undo()


class Seen(NamedTuple):
    """What a run in trouble did, what its caller saw, and how it is judged."""

    effects: list[int]
    answers: list[str]
    record: Record
    outcome: Outcome


def run(folder: Path, policy: str, durability: str = "process") -> Seen | None:
    """A run with a canary and payments; None when not even the session could be opened."""
    effects: list[int] = []
    answers = []

    def pay(amount: int) -> str:
        effects.append(amount)
        return f"paid {amount}"

    try:
        session = AuditSession(
            {"pay": pay}, run_dir=folder, run_id="r", on_record_failure=policy, durability=durability
        )
    except RecordingError:
        return None
    for number in range(CALLS):
        name, args = ("pay", {"amount": number}) if number != 1 else ("canary_probe", {"label": "A"})
        try:
            answers.append(session.call(name, args))
        except RecordingError:
            answers.append(REFUSED)
    session.close()
    record = load_log(session.log_path)
    paid = [{"tool": "pay", "args": {"amount": n}, "result": f"paid {n}"} for n in effects]
    outcome = assess(report_of(paid), record, read_manifest(session.manifest_path)).outcome
    return Seen(effects, answers, record, outcome)


def sweep(
    folder: Path, spoil: Callable[[int], Trouble], policy: str, durability: str
) -> list[tuple[int, Seen]]:
    """A run for each k, up to the first in which nothing failed."""
    found: list[tuple[int, Seen]] = []
    for at in range(200):
        trouble = spoil(at)
        home = folder / str(at)
        try:
            seen = run(home, policy, durability)
        finally:
            trouble.end()
        assert trouble.touched_after == []
        if trouble.faults == 0:
            assert seen is not None
            assert seen.outcome.overall is Overall.PASS
            return found
        if seen is not None:
            found.append((at, seen))
    raise AssertionError("the sweep did not end")


Sweep = Callable[[str], list[tuple[int, Seen]]]


@pytest.fixture(
    params=[
        "ENOSPC once",
        "ENOSPC lasting",
        "EIO once",
        "short once",
        "short lasting",
        "sync once",
        "sync lasting",
    ]
)
def faults(request: pytest.FixtureRequest, tmp_path: Path) -> Sweep:
    kind, _, how = request.param.partition(" ")

    def spoil(at: int) -> Trouble:
        trouble = Trouble(pytest.MonkeyPatch())
        if kind == "sync":
            trouble.of_syncs(at, how == "lasting")
        else:
            trouble.of_writes(at, kind, how == "lasting")
        return trouble

    def swept(policy: str) -> list[tuple[int, Seen]]:
        found = sweep(tmp_path / policy, spoil, policy, "power" if kind == "sync" else "process")
        # A close record that could not be synced is whole: power can take it away, and cannot make it wrong.
        return found[:-1] if kind == "sync" else found

    return swept


@pytest.mark.fault("B6")
@pytest.mark.fault("B7")
def test_after_a_fault_at_any_write_or_sync_no_call_is_executed_any_more(faults: Sweep) -> None:
    found = faults("refuse")
    assert len(found) >= 2 * CALLS
    for _, seen in found:
        done = seen.answers.index(REFUSED) if REFUSED in seen.answers else CALLS
        assert set(seen.answers[done:]) <= {REFUSED}
        assert seen.effects == [number for number in range(done) if number != 1]
        assert [text for text in seen.answers[:done] if text.startswith("paid")] == [
            f"paid {number}" for number in seen.effects
        ]


@pytest.mark.fault("B6")
def test_a_run_with_a_fault_is_inconclusive_and_an_honest_agent_is_not_accused(faults: Sweep) -> None:
    for policy in ("refuse", "continue"):
        for at, seen in faults(policy):
            assert seen.outcome.overall is Overall.INCONCLUSIVE, (policy, at, seen.outcome.reasons)


@pytest.mark.fault("B6")
def test_under_continue_every_call_is_made_and_answered(faults: Sweep) -> None:
    for _, seen in faults("continue"):
        assert seen.effects == [0, 2, 3, 4]
        assert REFUSED not in seen.answers


@pytest.mark.fault("B7")
def test_under_continue_a_new_stream_says_that_something_is_missing(tmp_path: Path) -> None:
    def spoil(at: int) -> Trouble:
        trouble = Trouble(pytest.MonkeyPatch())
        trouble.of_writes(at, "short", False)
        return trouble

    with_next_call = [seen for at, seen in sweep(tmp_path, spoil, "continue", "process") if at < 2 * CALLS]
    assert len(with_next_call) >= 2 * CALLS - 2
    for seen in with_next_call:
        torn, fresh = seen.record.streams
        assert torn.state is State.TORN_TAIL
        assert [damage.kind for damage in fresh.damage] == [DamageKind.GAP]
        assert fresh.close is not None


@pytest.mark.fault("B6")
def test_a_result_that_cannot_be_recorded_is_still_returned_to_the_caller(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trouble = Trouble(monkeypatch)
    trouble.of_writes(3, "ENOSPC", lasting=True)  # the list, the open record, the start: then the end
    session = AuditSession({"pay": lambda: "paid"}, run_dir=tmp_path)
    assert session.call("pay") == "paid"
    with pytest.raises(RecordingError):
        session.call("pay")


@pytest.mark.parametrize("value", ["x" * 40_000, {"rows": ["y" * 100] * 400}])
@pytest.mark.parametrize("kind", ["open", "write", "replace"])
def test_a_large_result_whose_content_cannot_be_stored_is_returned_and_leaves_its_call_open(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, value: Any, kind: str
) -> None:
    session = AuditSession({"fetch": lambda: value}, run_dir=tmp_path)
    fetch = session.wrap("fetch")
    owner: Any = Path if kind == "replace" else os
    original = getattr(owner, kind)

    def failing(first: Any, *args: Any, **kwargs: Any) -> Any:
        where = str(first) if kind != "write" else str(len(args[0]))
        if ".blobs" in where or (where.isdigit() and int(where) > 20_000):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return original(first, *args, **kwargs)

    monkeypatch.setattr(owner, kind, failing)
    if kind == "write":
        monkeypatch.setattr(recorder, "_write", failing)
    assert fetch() is value
    with pytest.raises(RecordingError):
        fetch()
    session.close()
    (execution,) = load_log(session.log_path).executions
    assert execution.open


def test_a_blob_is_written_to_its_end_by_a_disk_that_takes_it_in_pieces(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write = os.write
    monkeypatch.setattr(
        recorder, "_write", lambda fd, data: write(fd, data[:7_000] if len(data) > 30_000 else data)
    )
    session = AuditSession({"fetch": lambda: "x" * 40_000}, run_dir=tmp_path)
    session.call("fetch")
    session.close()
    record = load_log(session.log_path)
    assert record.completeness is Completeness.CLOSED
    assert Path(record.executions[0].result.path).read_bytes() == b"x" * 40_000


def test_an_interrupt_in_the_middle_of_a_record_ends_the_stream_and_accuses_nobody(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write = os.write
    for at in range(4):
        passed = 0

        def interrupted(fd: int, data: bytes, at: int = at) -> int:
            nonlocal passed
            written = write(fd, data)
            passed += 1
            if passed == at + 2:  # the open record is the first
                raise KeyboardInterrupt
            return written

        monkeypatch.setattr(recorder, "_write", interrupted)
        session = AuditSession({"pay": lambda: "paid"}, run_dir=tmp_path, run_id=f"r{at}")
        for _ in range(at // 2):
            session.call("pay")
        with pytest.raises(KeyboardInterrupt):
            session.call("pay")
        with pytest.raises(RecordingError):
            session.call("pay")
        session.close()
        report = report_of([{"tool": "pay", "args": {}}])
        found = assess(report, load_log(session.log_path), read_manifest(session.manifest_path))
        assert found.outcome.overall is Overall.INCONCLUSIVE
        assert found.binding.findings == ()


def test_a_worker_that_cannot_open_a_stream_refuses_even_under_continue(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    effects: list[int] = []
    session = AuditSession({"pay": effects.append}, run_dir=tmp_path, on_record_failure="continue")
    session._recorder._after_fork()
    open_file = os.open

    def full(path: Any, flags: int, *args: Any, **kwargs: Any) -> int:
        if flags & os.O_CREAT:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return open_file(path, flags, *args, **kwargs)

    monkeypatch.setattr(os, "open", full)
    wrapped = session.wrap("pay")
    for _ in range(2):
        with pytest.raises(RecordingError):
            wrapped(1)
    assert effects == []


def test_a_torn_line_on_the_list_of_streams_accuses_no_stream(tmp_path: Path) -> None:
    session = AuditSession({"pay": lambda: "paid"}, run_dir=tmp_path, run_id="r")
    session.call("canary_probe", {"label": "A"})
    listing = tmp_path / "r.streams.jsonl"
    listing.write_bytes(listing.read_bytes() + b'{"stream":"0123')
    session._recorder._after_fork()
    session._recorder._stream = None
    session.call("pay")
    session.close()
    record = load_log(session.log_path)
    found = assess(report_of([{"tool": "pay", "args": {}}]), record, read_manifest(session.manifest_path))
    assert found.outcome.overall is Overall.INCONCLUSIVE
    assert found.binding.findings == ()


@pytest.mark.fault("B6")
@pytest.mark.parametrize("policy", ["refuse", "continue"])
def test_a_real_limit_of_file_size_at_any_byte_leaves_no_silent_call(tmp_path: Path, policy: str) -> None:
    # The manifest is sealed before the limit holds; a call takes about 600 bytes of the log.
    bounds = ["300", "5000", "41"]
    done = subprocess.run(
        [sys.executable, PROGRAM, tmp_path, policy, *bounds], capture_output=True, text=True, check=True
    )
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(lines) >= 100
    states: set[State] = set()
    for line in lines:
        record = load_log(tmp_path / f"limit-{line['limit']}.toollog.jsonl")
        states.update(stream.state for stream in record.streams)
        executed = [text for text in line["answers"] if text != REFUSED]
        assert executed == [f"paid {number}" for number in line["effects"]]
        recorded = [item.args["amount"] for item in starts(record)]
        if policy == "refuse":
            assert set(line["effects"]) <= set(recorded)
        else:
            assert line["effects"] == list(range(6))
        if len(recorded) < 6 or any(item.open for item in starts(record)):
            assert record.completeness is Completeness.PARTIAL
    assert State.TORN_TAIL in states
    assert State.SEALED in states


def starts(record: Record) -> list[Execution]:
    return [execution for execution in record.executions if execution.tool == "pay"]
