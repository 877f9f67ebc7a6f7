"""A server whose every byte is chosen by the test.

    puppet_server.py FOLDER ON_END

What it reads goes to the pipe ``received``; commands come from the pipe ``commands``, one a line. ON_END is
an exit code for the end of its input, or ``stay``: then it says ``<end>`` and goes on.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from pathlib import Path


def write_all(fd: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view) :]


def listen(received: int, on_end: str) -> None:
    while data := os.read(0, 1 << 16):
        write_all(received, data)
    if on_end != "stay":
        os._exit(int(on_end))
    write_all(received, b"<end>\n")


def hold_the_pipes(folder: Path) -> None:
    """Leave a child behind that keeps our ends open until the test closes the pipe ``orphan``."""
    if os.fork() == 0:
        with (folder / "orphan").open("rb") as pipe:
            pipe.read()
        os._exit(0)


def main() -> None:
    folder, on_end = Path(sys.argv[1]), sys.argv[2]
    received = os.open(folder / "received", os.O_WRONLY)
    for number in (signal.SIGHUP, signal.SIGINT):
        signal.signal(
            number, lambda got, _: write_all(received, b"<%s>\n" % signal.Signals(got).name.encode())
        )
    commands = (folder / "commands").open("rb")
    write_all(received, b"<ready>\n")
    threading.Thread(target=listen, args=(received, on_end), daemon=True).start()
    while line := commands.readline():
        word, _, rest = line.rstrip(b"\n").partition(b" ")
        if word == b"write":
            write_all(1, commands.read(int(rest)))
        elif word == b"fill":
            write_all(1, b"x" * int(rest))
        elif word == b"orphan":
            hold_the_pipes(folder)
        elif word == b"close":
            os.dup2(os.open(os.devnull, os.O_RDWR), int(rest))
            write_all(received, b"<closed>\n")
        elif word == b"exit":
            os._exit(int(rest))
        elif word == b"kill":
            os.kill(os.getpid(), int(rest))


main()
