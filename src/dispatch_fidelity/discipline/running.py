"""Runs a command as if nobody stood between, and hands on everything it prints.

It has the caller's standard input, environment, folder and process group, a terminal where the caller has one,
and the signals that are sent to the caller. What it prints is passed on as it comes and never held.
"""

from __future__ import annotations

import errno
import os
import select
import signal
import subprocess
import threading
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from ..model.frozen import Frozen

_BLOCK = 1 << 16
_LEFT_BEHIND = 1 << 20  # no pipe holds more
_PASSED_ON = ("SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT", "SIGUSR1", "SIGUSR2", "SIGALRM")
NOT_STARTABLE, NOT_FOUND, SIGNALLED = 126, 127, 128


class Ended(Frozen, frozen=True):
    """How a command ended: its exit code as a shell tells it, the signals behind it, or why it never started."""

    exit_code: int
    signal: str = ""
    interrupted: str = ""
    problem: str = ""


def hold_standard_streams() -> None:
    """Where the caller closed one of the three, nothing that is opened later takes its number."""
    while (fd := os.open(os.devnull, os.O_RDWR)) < 3:
        pass
    os.close(fd)


def run_command(
    argv: Sequence[str], keep: Callable[[bytes], None], *, folder: Path, quiet: bool = False
) -> Ended:
    """Run ``argv`` in ``folder`` to its end; every piece of output goes to ``keep`` and to the caller's own outputs.

    ``quiet`` leaves the latter out. Of processes that the command left running, the output is taken that is there at
    its end.
    """
    signals = _Signals()
    try:
        channels = [_Channel(None)] if quiet else _channels()
        try:
            process = subprocess.Popen(
                argv,
                cwd=folder,
                stdout=channels[0].inlet,
                stderr=channels[-1].inlet,
                close_fds=False,  # what the caller opened for the command: <(…) of a shell, the jobs of make
                preexec_fn=signals.restore,
            )
        except OSError as problem:
            code = NOT_FOUND if problem.errno in (errno.ENOENT, errno.ENOTDIR) else NOT_STARTABLE
            return Ended(code, problem=f"{argv[0]}: {problem.strerror}")
        except ValueError as problem:  # a NUL in an argument
            return Ended(NOT_STARTABLE, problem=f"{argv[0]}: {problem}")
        finally:
            for channel in channels:
                channel.close_inlet()
        signals.pass_on(process, channels)
        _relay(process, channels, keep)
        code = process.wait()
    finally:
        interrupted = signals.end()
    if code >= 0:
        return Ended(code, interrupted=interrupted)
    return Ended(SIGNALLED - code, _signal_name(-code), interrupted)


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


class _Channel:
    """One way out of the command: a terminal of its own where the caller's is one, a pipe elsewhere."""

    def __init__(self, target: int | None) -> None:
        self.target = -1 if target is None else target
        self.is_open = target is not None
        self.is_terminal = target is not None and os.isatty(target)
        if self.is_terminal:
            import pty

            self.outlet, self.inlet = pty.openpty()
            self._as_the_caller()
        else:
            self.outlet, self.inlet = os.pipe()

    def _as_the_caller(self) -> None:
        """The modes of the caller's terminal without its output processing, which that one does itself."""
        import termios

        modes = termios.tcgetattr(self.target)
        modes[1] &= ~termios.OPOST
        modes[3] &= ~termios.ECHO
        termios.tcsetattr(self.inlet, termios.TCSANOW, modes)
        self.resize()

    def resize(self) -> None:
        """Give the command's terminal the size of the caller's."""
        import fcntl
        import termios

        if self.is_terminal:
            try:
                size = fcntl.ioctl(self.target, termios.TIOCGWINSZ, b"\0" * 8)
                fcntl.ioctl(self.outlet, termios.TIOCSWINSZ, size)
            except OSError:  # the terminal is gone
                return

    def close_inlet(self) -> None:
        os.close(self.inlet)

    def read(self) -> bytes:
        """The next piece; empty at the end."""
        try:
            return os.read(self.outlet, _BLOCK)
        except OSError:  # a terminal whose other side is closed
            return b""

    def show(self, data: bytes) -> None:
        """Pass a piece on to the caller's output; nobody there is no reason to stop recording."""
        if not self.is_open:
            return
        view = memoryview(data)
        try:
            while view:
                select.select([], [self.target], [])
                view = view[os.write(self.target, view) :]
        except OSError:
            self.is_open = False


def _channels() -> list[_Channel]:
    """One channel where both outputs of the caller are the same thing, so that their order holds; else two."""
    out, err = os.fstat(1), os.fstat(2)
    same = (out.st_dev, out.st_ino, out.st_rdev) == (err.st_dev, err.st_ino, err.st_rdev)
    return [_Channel(1)] if same else [_Channel(1), _Channel(2)]


def _relay(process: subprocess.Popen[Any], channels: list[_Channel], keep: Callable[[bytes], None]) -> None:
    """Hand on what comes, until all outlets are closed, or the command ended and no more is there."""
    seen, ended = os.pipe()

    def wait() -> None:
        process.wait()
        os.close(ended)

    threading.Thread(target=wait, daemon=True).start()
    left = {channel.outlet: channel for channel in channels}
    rest = dict.fromkeys(left, _LEFT_BEHIND)
    running = True
    while left:
        ready, _, _ = select.select([*left, *([seen] if running else [])], [], [], None if running else 0)
        if seen in ready:
            running = False
            ready.remove(seen)
        elif not running and not ready:
            break
        for outlet in ready:
            data = left[outlet].read()
            if data:
                keep(data)
                left[outlet].show(data)
            if not running:
                rest[outlet] -= len(data)
            if not data or rest[outlet] <= 0:
                del left[outlet]
    for channel in channels:
        os.close(channel.outlet)
    process.wait()
    os.close(seen)


def _next_signal(wanted: Iterable[int]) -> tuple[int, bool]:
    """The next of these signals, and whether the terminal sent it."""
    wait = getattr(signal, "sigwaitinfo", None)
    if wait is not None:
        got = wait(wanted)
        return got.si_signo, got.si_code > 0
    number = signal.sigwait(wanted)  # where the system does not tell: Ctrl-C and Ctrl-\\ are the terminal's
    return number, os.isatty(0) and number in (signal.SIGINT, signal.SIGQUIT)


class _Signals:
    """Passes the caller's signals on to the command, each once.

    What the terminal sends (Ctrl-C) reaches the whole process group, the command too; only what another process
    sends to the caller alone has to be passed on, and the end of the terminal, of which the first process of a
    session alone is told. While a command runs, no such signal ends the caller.
    """

    def __init__(self) -> None:
        known = {getattr(signal, name) for name in _PASSED_ON if hasattr(signal, name)}
        # What the caller ignores, the command ignores too: nohup, jobs in the background of a script.
        self._wanted = {number for number in known if signal.getsignal(number) is not signal.SIG_IGN}
        self._before = signal.pthread_sigmask(signal.SIG_BLOCK, {*self._wanted, signal.SIGWINCH})
        self._got = ""
        self._over = False
        self._thread: threading.Thread | None = None

    def restore(self) -> None:
        """In the new process: the signal mask of the caller, as if it had started the command itself."""
        for number in self._wanted:
            if callable(signal.getsignal(number)):  # Python's own answer to Ctrl-C would lose one that waits
                signal.signal(number, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_SETMASK, self._before)

    def pass_on(self, process: subprocess.Popen[Any], channels: list[_Channel]) -> None:
        """From now on, until ``end``."""

        def work() -> None:
            while True:
                number, by_terminal = _next_signal({*self._wanted, signal.SIGWINCH})
                if self._over:
                    return
                if number == signal.SIGWINCH:
                    for channel in channels:
                        channel.resize()
                    process.send_signal(number)  # the terminal told it before its own had the new size
                    continue
                self._got = self._got or signal.Signals(number).name
                if not by_terminal or (number == signal.SIGHUP and os.getsid(0) == os.getpid()):
                    process.send_signal(number)

        self._thread = threading.Thread(target=work, daemon=True)
        self._thread.start()

    def end(self) -> str:
        """Stop; the first signal that came, or an empty text."""
        self._over = True
        if self._thread is not None and self._thread.is_alive():
            signal.pthread_kill(self._thread.ident or 0, signal.SIGWINCH)
            self._thread.join()
        else:
            pending = signal.sigpending() & self._wanted
            self._got = self._got or next((signal.Signals(number).name for number in sorted(pending)), "")
        while signal.sigpending() & self._wanted:  # they came for the command, which is over
            signal.sigwait(signal.sigpending() & self._wanted)
        signal.pthread_sigmask(signal.SIG_SETMASK, self._before)
        return self._got
