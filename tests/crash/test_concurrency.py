"""Threads, tasks and processes record at once: no call is lost, none stands twice, and every chain holds."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import threading
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from dispatch_fidelity import AuditSession, RecordingError, SessionClosedError, load_log
from dispatch_fidelity.audit import assess
from dispatch_fidelity.evidence.manifest import read_manifest
from dispatch_fidelity.log import recorder
from dispatch_fidelity.model.assessment import Overall
from dispatch_fidelity.model.call import Status
from dispatch_fidelity.model.run import Completeness, DamageKind, Record, State
from dispatch_fidelity.simulation.agents import report_of

PROGRAM = Path(__file__).parent / "crowds.py"
THREADS, CALLS, CROWDS = 64, 20, 4 + 4 + 2 + 1


def play(scene: str, folder: Path) -> Record:
    """The record of a scene that ran in a process of its own."""
    options = [] if sys.version_info < (3, 12) else ["-W", "ignore::DeprecationWarning"]
    command = [sys.executable, *options, str(PROGRAM), scene, str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    return load_log(folder / "r.toollog.jsonl")


def worked(record: Record) -> Counter[tuple[str, int, int]]:
    calls = [item for item in record.executions if item.tool == "work"]
    assert all(item.result == "{worker} {thread} {number}".format(**item.args) for item in calls)
    return Counter((item.args["worker"], item.args["thread"], item.args["number"]) for item in calls)


def overall(folder: Path, record: Record, *calls: tuple[str, dict[str, Any]]) -> Overall:
    report = report_of([{"tool": tool, "args": args} for tool, args in calls])
    return assess(report, record, read_manifest(folder / "r.manifest.json")).outcome.overall


@pytest.fixture(scope="module")
def crowded(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Record]:
    folder = tmp_path_factory.mktemp("crowded")
    return folder, play("many_processes", folder)


@pytest.mark.fault("D2")
def test_of_fourteen_thousand_calls_none_is_lost_and_none_stands_twice(crowded: tuple[Path, Record]) -> None:
    calls = worked(crowded[1])
    assert len(calls) == CROWDS * THREADS * CALLS
    assert set(calls.values()) == {1}


@pytest.mark.fault("D2")
def test_each_process_has_a_stream_of_its_own_with_a_clean_chain(crowded: tuple[Path, Record]) -> None:
    record = crowded[1]
    assert record.damage == ()
    assert [stream.state for stream in record.streams] == [State.SEALED] * CROWDS
    assert Counter(item.stream for item in record.executions if item.tool == "work") == {
        stream.id: THREADS * CALLS for stream in record.streams
    }


def test_the_record_is_closed_once_workers_and_parent_have_closed(crowded: tuple[Path, Record]) -> None:
    folder, record = crowded
    assert record.completeness is Completeness.CLOSED
    claim = {"worker": "spawn-1", "thread": 63, "number": 19}
    assert overall(folder, record, ("work", claim)) is Overall.PASS
    assert overall(folder, record, ("work", {**claim, "number": 20})) is Overall.FAIL


def test_every_stream_is_on_the_list_with_its_parent(crowded: tuple[Path, Record]) -> None:
    folder, record = crowded
    lines = [json.loads(line) for line in (folder / "r.streams.jsonl").read_bytes().splitlines()]
    assert lines[0]["stream"] == "main"
    assert sorted(line["stream"] for line in lines) == sorted(stream.id for stream in record.streams)
    assert {line["parent"] for line in lines[1:]} == {"main"}


@pytest.mark.fault("D2")
def test_a_process_forked_while_threads_are_calling_records_cleanly(tmp_path: Path) -> None:
    record = play("fork_among_threads", tmp_path)
    assert record.completeness is Completeness.CLOSED, record.damage
    calls = worked(record)
    assert set(calls.values()) == {1}
    assert {worker for worker, _, _ in calls} == {"busy", *(f"child-{number}" for number in range(10))}


@pytest.mark.fault("D2")
def test_a_fork_inside_a_tool_gives_the_child_a_stream_and_the_call_one_end(tmp_path: Path) -> None:
    record = play("fork_in_a_tool", tmp_path)
    assert record.completeness is Completeness.CLOSED, record.damage
    assert [(item.tool, item.stream == "main", item.status) for item in record.executions] == [
        ("canary_probe", True, Status.RETURNED),
        ("split", True, Status.RETURNED),
        ("work", False, Status.RETURNED),
    ]
    assert record.executions[1].result == "the parent's"


def test_copies_of_a_session_in_one_worker_share_a_stream_that_is_closed_at_exit(tmp_path: Path) -> None:
    record = play("pool", tmp_path)
    assert record.completeness is Completeness.CLOSED, record.damage
    assert 2 <= len(record.streams) <= 3
    assert len(worked(record)) == CALLS


def test_a_call_of_a_child_after_the_run_was_closed_keeps_it_from_passing(tmp_path: Path) -> None:
    record = play("late", tmp_path)
    assert len(worked(record)) == 1
    assert [damage.kind for damage in record.damage] == [DamageKind.LATE_STREAM]
    call = ("work", {"worker": "late", "thread": 0, "number": 0})
    assert overall(tmp_path, record, call) is not Overall.PASS


def test_tasks_of_one_loop_are_recorded_each_with_its_start_and_end(tmp_path: Path) -> None:
    async def work(number: int) -> str:
        for _ in range(number % 7):
            await asyncio.sleep(0)
        return f"done {number}"

    session = AuditSession({"work": work}, run_dir=tmp_path, run_id="r")

    async def everything() -> list[str]:
        return await asyncio.gather(*(session.acall("work", {"number": number}) for number in range(200)))

    assert asyncio.run(everything()) == [f"done {number}" for number in range(200)]
    session.close()
    record = load_log(session.log_path)
    assert record.completeness is Completeness.CLOSED
    assert [(item.args["number"], item.result) for item in record.executions] == [
        (number, f"done {number}") for number in range(200)
    ]
    assert [item.end for item in record.executions] != sorted(item.end for item in record.executions)


class ToldLock:
    """A lock that says when somebody has to wait for it."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.awaited = threading.Event()

    def acquire(self, blocking: bool = True) -> bool:
        if self.lock.acquire(blocking=False):
            return True
        self.awaited.set()
        return self.lock.acquire() if blocking else False

    def release(self) -> None:
        self.lock.release()

    def __enter__(self) -> None:
        self.acquire()

    def __exit__(self, *_: object) -> None:
        self.release()


@pytest.mark.parametrize("policy", ["refuse", "continue"])
def test_a_call_that_waits_while_the_run_is_closed_is_not_executed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, policy: str
) -> None:
    effects: list[str] = []
    caught: list[type[BaseException]] = []
    write = recorder._write

    def caller() -> None:
        try:
            session.call("pay")
        except Exception as problem:
            caught.append(type(problem))

    def told(fd: int, data: bytes) -> int:
        if b'"type":"close"' in data:
            thread.start()
            assert lock.awaited.wait(60)
        return write(fd, data)

    monkeypatch.setattr(recorder, "_write", told)
    session = AuditSession(
        {"pay": lambda: effects.append("paid")}, run_dir=tmp_path, run_id="r", on_record_failure=policy
    )
    lock = ToldLock()
    monkeypatch.setattr(session._recorder._stream, "lock", lock)
    thread = threading.Thread(target=caller)
    session.close()
    thread.join()
    record = load_log(session.log_path)
    assert (effects, caught) == ([], [SessionClosedError])
    assert record.damage == ()


def test_a_call_that_ends_while_the_run_is_closed_is_open_in_a_record_that_accuses_nobody(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write = recorder._write
    entered, finish = threading.Event(), threading.Event()

    def slow() -> str:
        entered.set()
        finish.wait(60)
        return "done"

    def told(fd: int, data: bytes) -> int:
        if b'"type":"close"' in data:
            finish.set()
            assert lock.awaited.wait(60)
        return write(fd, data)

    monkeypatch.setattr(recorder, "_write", told)
    session = AuditSession({"slow": slow}, run_dir=tmp_path, run_id="r")
    lock = ToldLock()
    monkeypatch.setattr(session._recorder._stream, "lock", lock)
    answers: list[str] = []
    thread = threading.Thread(target=lambda: answers.append(session.call("slow")))
    thread.start()
    assert entered.wait(60)
    session.close()
    thread.join()
    assert answers == ["done"]
    record = load_log(session.log_path)
    assert record.damage == ()
    assert [item.status for item in record.executions] == [Status.UNFINISHED]
    assert overall(tmp_path, record, ("slow", {})) is Overall.INCONCLUSIVE


def test_threads_that_meet_a_full_disk_under_continue_all_go_on_in_one_new_stream(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write = recorder._write
    failing = threading.Event()

    def full(fd: int, data: bytes) -> int:
        if failing.is_set() and b'"stream":"main"' in data:
            raise OSError(28, "No space left on device")
        return write(fd, data)

    monkeypatch.setattr(recorder, "_write", full)
    monkeypatch.setattr(recorder, "_write_holding_the_interpreter", lambda: full, raising=False)
    session = AuditSession({"work": str}, run_dir=tmp_path, run_id="r", on_record_failure="continue")
    failing.set()
    together = threading.Barrier(8)

    def caller(number: int) -> None:
        together.wait()
        session.call("work", {"object": number})

    crew = [threading.Thread(target=caller, args=(number,)) for number in range(8)]
    for member in crew:
        member.start()
    for member in crew:
        member.join()
    session.close()
    record = load_log(session.log_path)
    assert {item.args["object"] for item in record.executions} == set(range(8))
    assert [stream.state for stream in record.streams] == [State.OPEN_ENDED, State.SEALED]
    assert DamageKind.GAP in {damage.kind for damage in record.damage}


def test_a_tool_called_by_a_signal_handler_in_mid_record_is_refused_and_nobody_waits_for_ever(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = AuditSession({"work": lambda worker: worker}, run_dir=tmp_path, run_id="r")
    met: list[BaseException] = []

    def handler(_number: int, _frame: object) -> None:
        try:
            session.call("work", {"worker": "handler"})
        except RecordingError as problem:
            met.append(problem)

    real = os.write

    def interrupted(fd: int, data: bytes) -> int:
        if not met:
            signal.raise_signal(signal.SIGUSR1)
        return real(fd, data)

    before = signal.signal(signal.SIGUSR1, handler)
    try:
        monkeypatch.setattr(session._recorder._stream, "write", interrupted)
        assert session.call("work", {"worker": "main"}) == "main"
    finally:
        signal.signal(signal.SIGUSR1, before)
    session.close()
    assert "own thread" in str(met[0])
    record = load_log(session.log_path)
    assert [execution.args for execution in record.executions] == [{"worker": "main"}]
    assert record.completeness is Completeness.CLOSED
