"""Runs of many threads and processes at once; started by test_concurrency.

``python crowds.py SCENE FOLDER`` plays one scene in a run called ``r`` and closes it.
"""

from __future__ import annotations

import multiprocessing
import os
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from dispatch_fidelity.session import AuditSession

THREADS, CALLS = 64, 20
FORKED, PLAINLY_FORKED, SPAWNED = 4, 4, 2


def work(worker: str, thread: int, number: int) -> str:
    """The tool: its answer names the call."""
    return f"{worker} {thread} {number}"


def crowd(session: AuditSession, worker: str, threads: int = THREADS) -> None:
    """Every thread makes its calls; a wrong answer ends the process with a traceback."""
    failures: list[str] = []
    together = threading.Barrier(threads)

    def calls(thread: int) -> None:
        together.wait()
        for number in range(CALLS):
            shown = session.call("work", {"worker": worker, "thread": thread, "number": number})
            if shown != f"{worker} {thread} {number}":
                failures.append(shown)

    crew = [threading.Thread(target=calls, args=(thread,)) for thread in range(threads)]
    for member in crew:
        member.start()
    for member in crew:
        member.join()
    if failures:
        raise SystemExit(f"wrong answers: {failures[:3]}")


def in_child(job: Callable[[], None]) -> int:
    """The pid of a plainly forked process that does ``job`` and leaves without running any exit handler."""
    child = os.fork()
    if child == 0:
        code = 70
        try:
            job()
            code = 0
        finally:
            os._exit(code)
    return child


def wait_for(children: list[int]) -> None:
    for child in children:
        if os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]):
            raise SystemExit("a child failed")


def opened(folder: Path) -> AuditSession:
    session = AuditSession({"work": work}, run_dir=folder, run_id="r")
    session.call("canary_probe", {"label": "A"})
    return session


def many_processes(folder: Path) -> None:
    """Forked by multiprocessing, forked plainly and spawned, all with a crowd of threads each."""
    session = opened(folder)

    def plainly(worker: str) -> None:
        crowd(session, worker)
        session.close()

    children = [in_child(lambda name=f"plain-{n}": plainly(name)) for n in range(PLAINLY_FORKED)]  # type: ignore[misc]
    fork, spawn = multiprocessing.get_context("fork"), multiprocessing.get_context("spawn")
    crew: list[multiprocessing.process.BaseProcess] = [
        fork.Process(target=crowd, args=(session, f"fork-{n}")) for n in range(FORKED)
    ]
    crew += [spawn.Process(target=crowd, args=(session, f"spawn-{n}")) for n in range(SPAWNED)]
    for member in crew:
        member.start()
    crowd(session, "parent")
    for member in crew:
        member.join()
    wait_for(children)
    if any(member.exitcode for member in crew):
        raise SystemExit("a worker failed")
    session.close()


def fork_among_threads(folder: Path) -> None:
    """Children are forked while other threads are in the middle of calls."""
    session = opened(folder)
    stop = threading.Event()
    warm = threading.Barrier(9)

    def busy(thread: int) -> None:
        number = 0
        while not stop.is_set():
            session.call("work", {"worker": "busy", "thread": thread, "number": number})
            number += 1
            if number == 5:
                warm.wait()

    crew = [threading.Thread(target=busy, args=(thread,)) for thread in range(8)]
    for member in crew:
        member.start()
    warm.wait()

    def child(worker: str) -> None:
        session.call("work", {"worker": worker, "thread": 0, "number": 0})
        session.close()

    wait_for([in_child(lambda name=f"child-{n}": child(name)) for n in range(10)])  # type: ignore[misc]
    stop.set()
    for member in crew:
        member.join()
    session.close()


def fork_in_a_tool(folder: Path) -> None:
    """A tool forks: the child calls on, and then returns from the tool like the parent does."""
    parent = os.getpid()

    def split() -> str:
        child = os.fork()
        if child:
            wait_for([child])
            return "the parent's"
        session.call("work", {"worker": "child", "thread": 0, "number": 0})
        return "the child's"

    session = AuditSession({"split": split, "work": work}, run_dir=folder, run_id="r")
    session.call("canary_probe", {"label": "A"})
    session.call("split")
    session.close()
    if os.getpid() != parent:
        os._exit(0)


def pool(folder: Path) -> None:
    """Every task is sent a copy of the session; the copies of one process share a stream."""
    session = opened(folder)
    with ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("spawn")) as executor:
        tasks = [
            executor.submit(session.call, "work", {"worker": "pool", "thread": 0, "number": number})
            for number in range(CALLS)
        ]
        if [task.result() for task in tasks] != [f"pool 0 {number}" for number in range(CALLS)]:
            raise SystemExit("wrong answers")
    session.close()


def late(folder: Path) -> None:
    """A child calls after its parent has closed the run."""
    session = opened(folder)
    told, tell = os.pipe()

    def child() -> None:
        os.read(told, 1)
        session.call("work", {"worker": "late", "thread": 0, "number": 0})
        session.close()

    waiting = in_child(child)
    session.close()
    os.write(tell, b".")
    wait_for([waiting])


SCENES = {scene.__name__: scene for scene in (many_processes, fork_among_threads, fork_in_a_tool, pool, late)}

if __name__ == "__main__":
    SCENES[sys.argv[1]](Path(sys.argv[2]))
