"""A byte relay between an MCP client and a stdio server: a call is on file before the server reads it.

    python -m dispatch_fidelity.adapters.mcp_stdio --run-dir DIR [--run-id ID] -- SERVER ARGS…

Bytes pass unchanged in both directions; a copy is parsed. The only bytes of our own are the answers to calls
that were refused because they could not be recorded. ``mcp_messages`` turns lines into records and knows no
file descriptor; ``Relay`` moves bytes, signals and the exit code and knows no message.
"""

from __future__ import annotations

import argparse
import os
import secrets
import select
import signal
import subprocess
import sys
from datetime import datetime, timezone
from pathlib import Path
from typing import NoReturn

from .. import jsonio
from ..errors import DispatchFidelityError, RunExistsError, UsageError
from ..evidence.manifest import RUN_ID
from ..evidence.sealing import new_nonce, seal_manifest
from ..log.paths import log_path
from ..log.recorder import LEVELS, Recorder
from .mcp_messages import Conversation, say

NOT_FOUND, NOT_STARTABLE, FAILED = 127, 126, 70

CLIENT_IN, CLIENT_OUT = 0, 1
LF = 0x0A
CHUNK = 1 << 16
LOOKS = 150  # about a tenth of a millisecond
SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


# -- bytes ---------------------------------------------------------------------------------------------------


def _read(fd: int) -> bytes | None:
    """The next bytes, none at the end, None when there are none yet."""
    try:
        return os.read(fd, CHUNK)
    except BlockingIOError:
        return None
    except OSError:
        return b""


def _abandon(fd: int) -> None:
    """Close our end of a standard stream; its number stays taken, so that no other file can get it."""
    null = os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)
    os.dup2(null, fd)
    os.close(null)


class Relay:
    """One server process between its pipes and ours: one thread, one poll loop, nothing that blocks.

    A side that does not read stops the other from being read, and nothing else.
    """

    def __init__(self, server: list[str], conversation: Conversation) -> None:
        self._argv = server
        self._conversation = conversation
        self._poll = select.poll()
        self._client_is_ready = select.poll()
        self._client_is_ready.register(CLIENT_OUT, select.POLLOUT)
        self._wake = -1
        self._looks = LOOKS if len(os.sched_getaffinity(0)) > 1 else 0
        # Client to server: a line is held until it is whole and its calls are on record.
        self._server_in = -1
        self._client_ended = False
        self._held: list[bytes] = []
        self._held_size = 0
        self._long_passes: bool | None = None
        self._to_server = memoryview(b"")
        # Server to client: bytes go on as they come, and whole lines are read beside.
        self._server_out = -1
        self._parts: list[bytes] = []
        self._parts_size = 0
        self._unread = False
        self._to_client = memoryview(b"")
        self._inside_line = False
        self._refusals = b""

    def run(self) -> int:
        """Serve until the server ends; its exit code, 128+N after a signal, 127 or 126 if it cannot start."""
        self._catch_signals()
        try:
            server = subprocess.Popen(  # noqa: S603 - to start the command it is given is what a relay is for
                self._argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0
            )
        except OSError as problem:
            say(f"cannot start {self._argv[0]!r}: {problem.strerror}")
            return NOT_FOUND if isinstance(problem, FileNotFoundError) else NOT_STARTABLE
        signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGCHLD])
        assert server.stdin is not None
        assert server.stdout is not None
        self._server_in = os.dup(server.stdin.fileno())
        self._server_out = os.dup(server.stdout.fileno())
        server.stdin.close()
        server.stdout.close()
        os.set_blocking(self._server_in, False)
        os.set_blocking(self._server_out, False)
        self._listen()
        self._serve(server)
        self._drain()
        status = server.returncode
        return status if status >= 0 else 128 - status

    def _catch_signals(self) -> None:
        """Turn signals into bytes on a pipe; one that was ignored when we started stays ignored."""
        self._wake, write_end = os.pipe()
        os.set_blocking(self._wake, False)
        os.set_blocking(write_end, False)
        signal.set_wakeup_fd(write_end, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        for number in SIGNALS:
            if signal.getsignal(number) is not signal.SIG_IGN:
                signal.signal(number, lambda *_: None)

    def _listen(self) -> None:
        """Wait for what can be handled now: a side is read while the other takes what it said."""
        self._poll = select.poll()
        self._poll.register(self._wake, select.POLLIN)
        if self._to_server:
            self._poll.register(self._server_in, select.POLLOUT)
        elif not self._client_ended:
            self._poll.register(CLIENT_IN, select.POLLIN)
        if self._to_client:
            self._poll.register(CLIENT_OUT, select.POLLOUT)
        elif self._server_out >= 0:
            self._poll.register(self._server_out, select.POLLIN)

    def _serve(self, server: subprocess.Popen[bytes]) -> None:
        while server.returncode is None:
            for fd, _ in self._next_events():
                if fd == CLIENT_IN:
                    self._from_client()
                elif fd == self._server_out:
                    self._from_server()
                elif fd == self._server_in:
                    self._push_to_server()
                elif fd == CLIENT_OUT:
                    self._push_to_client()
                elif fd == self._wake:
                    for number in self._signals():
                        server.send_signal(number)
                    server.poll()

    def _next_events(self) -> list[tuple[int, int]]:
        """What can be handled now. An answer often follows within microseconds: falling asleep takes longer."""
        for _ in range(self._looks):
            events = self._poll.poll(0)
            if events:
                return events
        return self._poll.poll()

    def _signals(self) -> list[int]:
        """The signals that came and that a server is to get."""
        return [number for number in _read(self._wake) or b"" if number in SIGNALS]

    def _drain(self) -> None:
        """Pass on what a dead server left in its pipe.

        A grandchild may hold the other end open for ever: an empty pipe is the end. A client that does not
        read is waited for, until a signal says otherwise.
        """
        while True:
            if self._to_client:
                woken, ready, _ = select.select([self._wake], [CLIENT_OUT], [])
                if woken and self._signals():
                    return
                if ready:
                    self._push_to_client()
            elif self._server_out < 0 or not self._from_server():
                return

    # -- client to server

    def _from_client(self) -> None:
        if self._to_server or self._client_ended:
            return
        data = _read(CLIENT_IN)
        if not data:
            if data is not None:
                self._end_of_client()
            return
        if self._long_passes is not None:
            end = data.find(b"\n") + 1
            if self._long_passes:
                self._send_to_server(data[:end] if end else data)
            if not end:
                return
            self._long_passes = None
            data = data[end:]
        cut = data.rfind(b"\n") + 1
        if cut:
            block = data[:cut]
            if self._held:
                self._held.append(block)
                block = b"".join(self._held)
                self._held, self._held_size = [], 0
            self._pass_requests(block)
        if cut < len(data):
            self._hold(data[cut:])

    def _hold(self, data: bytes) -> None:
        """Keep the beginning of a line; one that is too long is let through unread, or dropped."""
        self._held.append(data)
        self._held_size += len(data)
        if self._held_size > jsonio.LIMITS.line:
            self._long_passes = self._conversation.too_long("client")
            data = b"".join(self._held)
            self._held, self._held_size = [], 0
            if self._long_passes:
                self._send_to_server(data)

    def _pass_requests(self, block: bytes) -> None:
        passing, answers = self._conversation.requests(block)
        if passing:
            self._send_to_server(passing)
        if answers:
            self._refusals += answers
            self._send_refusals()

    def _end_of_client(self) -> None:
        if self._held:
            self._pass_requests(b"".join(self._held))
        self._client_ended = True
        if not self._to_server:
            self._close_server_in()
        self._listen()

    def _send_to_server(self, data: bytes) -> None:
        if self._server_in < 0:
            return
        waits = len(self._to_server)
        self._to_server = memoryview(self._to_server.tobytes() + data if waits else data)
        if not waits:
            self._write_to_server()
            if self._to_server:
                self._listen()

    def _push_to_server(self) -> None:
        if not self._to_server:
            return
        self._write_to_server()
        if not self._to_server:
            if self._client_ended:
                self._close_server_in()
            self._listen()

    def _write_to_server(self) -> None:
        try:
            self._to_server = self._to_server[os.write(self._server_in, self._to_server) :]
        except BlockingIOError:
            pass
        except ConnectionError:
            # The server closed its input; the client finds out as it would without us: at its next write.
            _abandon(CLIENT_IN)
            self._client_ended = True
            self._close_server_in()
            self._listen()

    def _close_server_in(self) -> None:
        self._to_server = memoryview(b"")
        if self._server_in >= 0:
            os.close(self._server_in)
            self._server_in = -1

    # -- server to client

    def _from_server(self) -> bool:
        """Pass on the server's next bytes; False when there are none."""
        if self._to_client:
            return True
        data = _read(self._server_out)
        if not data:
            if data is not None:
                self._end_of_server()
            return False
        self._inside_line = data[-1] != LF
        self._send_to_client(data)
        if self._refusals:
            self._send_refusals()
        # Right after it has passed, and before the client is read again: no start that follows from an end
        # stands before it.
        lines = self._whole_lines(data)
        if lines:
            self._conversation.answers(lines)
        return True

    def _whole_lines(self, data: bytes) -> bytes:
        """The lines that end in ``data``, when a call is open; a line that began before it cannot end it."""
        if not self._parts and not self._conversation.awaits:
            self._unread = data[-1] != LF
            return b""
        cut = data.rfind(b"\n") + 1
        if not cut:
            if not self._unread:
                self._parts.append(data)
                self._parts_size += len(data)
                if self._parts_size > jsonio.LIMITS.line:
                    self._parts, self._parts_size, self._unread = [], 0, True
                    self._conversation.too_long("server")
            return b""
        lines = data[data.find(b"\n") + 1 if self._unread else 0 : cut]
        if self._parts:
            self._parts.append(lines)
            lines = b"".join(self._parts)
        rest = data[cut:]
        self._parts, self._parts_size, self._unread = [rest] if rest else [], len(rest), False
        return lines

    def _end_of_server(self) -> None:
        if self._parts:
            self._conversation.answers(b"".join(self._parts))
        self._close_server_out()
        _abandon(CLIENT_OUT)

    def _close_server_out(self) -> None:
        os.close(self._server_out)
        self._server_out = -1
        self._listen()

    def _send_refusals(self) -> None:
        """Answer the client ourselves, between two lines of the server."""
        if not self._inside_line:
            answers, self._refusals = self._refusals, b""
            self._send_to_client(answers)

    def _send_to_client(self, data: bytes) -> None:
        waits = len(self._to_client)
        self._to_client = memoryview(self._to_client.tobytes() + data if waits else data)
        if not waits:
            self._write_to_client()
            if self._to_client:
                self._listen()

    def _push_to_client(self) -> None:
        if self._to_client:
            self._write_to_client()
            if not self._to_client:
                self._listen()

    def _write_to_client(self) -> None:
        """Write as much as does not block.

        Standard output may share its flags with other processes, so they are left as they are: a pipe that
        is ready takes PIPE_BUF bytes at once.
        """
        left = self._to_client
        try:
            while left and self._client_is_ready.poll(0):
                left = left[os.write(CLIENT_OUT, left[: select.PIPE_BUF]) :]
        except BlockingIOError:
            pass
        except ConnectionError:
            left = memoryview(b"")
            if self._server_out >= 0:
                self._close_server_out()  # the server finds out as it would without us: at its next write
        self._to_client = left


# -- command line --------------------------------------------------------------------------------------------


class _Parser(argparse.ArgumentParser):
    """A parser whose usage errors exit with 64: 1 and 2 are verdicts."""

    def error(self, message: str) -> NoReturn:
        self.print_usage(sys.stderr)
        raise UsageError(message)


def _parser() -> _Parser:
    parser = _Parser(
        prog="python -m dispatch_fidelity.adapters.mcp_stdio",
        usage="%(prog)s --run-dir DIR [options] -- SERVER [ARGS ...]",
        description="Relay between an MCP client and a stdio server that records every tool call.",
        allow_abbrev=False,
    )
    parser.add_argument("--run-dir", required=True, type=Path, help="folder of the record; made when missing")
    parser.add_argument("--run-id", help="name of the run; a fresh one when left out")
    parser.add_argument(
        "--on-record-failure",
        choices=("refuse", "continue"),
        default="refuse",
        help="what happens to a call that cannot be recorded (default: %(default)s)",
    )
    parser.add_argument("--durability", choices=LEVELS, default="process", help="default: %(default)s")
    return parser


def _options(argv: list[str]) -> tuple[argparse.Namespace, list[str]]:
    own, separator, server = argv, "", []
    if "--" in argv:
        place = argv.index("--")
        own, separator, server = argv[:place], "--", argv[place + 1 :]
    options = _parser().parse_args(own)
    if not separator or not server or not server[0]:
        raise UsageError("no server: put its command line after --")
    if options.run_id is not None and not RUN_ID.fullmatch(options.run_id):
        raise UsageError(f"{options.run_id!r} is no run id: letters, digits, '.', '_' and '-', at most 128")
    return options, server


def _is_open(fd: int) -> bool:
    try:
        os.fstat(fd)
    except OSError:
        return False
    return True


def _open_run(options: argparse.Namespace, server: list[str]) -> Recorder:
    """The recorder of a fresh, sealed run."""
    now = datetime.now(timezone.utc)
    run_id = options.run_id or f"mcp-{now:%Y%m%dT%H%M%SZ}-{secrets.token_hex(4)}"
    folder: Path = options.run_dir
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    if log_path(folder, run_id, "main").exists():
        raise RunExistsError(run_id, str(folder))
    nonce = new_nonce()
    _, digest = seal_manifest(
        folder,
        run_id,
        nonce,
        system={"adapter": "mcp_stdio", "server": server},
        regime={"binding_proof": "opening"},
        durability=options.durability,
        sealed_at=now.isoformat(timespec="seconds"),
    )
    return Recorder(
        folder,
        run_id,
        digest,
        durability=options.durability,
        on_failure=options.on_record_failure,
        opening=nonce,
    )


def main(argv: list[str] | None = None) -> int:
    """Run the relay; the exit code is the server's, or 64, 70, 126 or 127 when it never ran."""
    try:
        options, server = _options(sys.argv[1:] if argv is None else argv)
        if not (_is_open(CLIENT_IN) and _is_open(CLIENT_OUT)):  # a log file could get their numbers
            raise UsageError("standard input and output have to be open: they are the client")
        recorder = _open_run(options, server)
    except DispatchFidelityError as problem:
        say(str(problem))
        return problem.exit_code
    except OSError as problem:
        say(f"the record cannot be opened, so the server was not started: {problem}")
        return FAILED
    conversation = Conversation(recorder, refuses=options.on_record_failure == "refuse")
    try:
        code = Relay(server, conversation).run()
    except Exception as problem:  # a traceback would exit with 1, which is a verdict; the run stays unclosed
        say(f"the relay failed: {type(problem).__name__}: {problem}")
        return FAILED
    recorder.close()
    return code


if __name__ == "__main__":
    sys.exit(main())
