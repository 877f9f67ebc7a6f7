"""The relay between a client and a server that the test plays byte by byte, in real processes."""

from __future__ import annotations

import json
import os
import resource
import select
import signal
import stat
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dispatch_fidelity import jsonio
from dispatch_fidelity.adapters import mcp_stdio
from dispatch_fidelity.adapters.mcp_messages import Conversation
from dispatch_fidelity.evidence.binding import bind
from dispatch_fidelity.evidence.manifest import read_manifest
from dispatch_fidelity.log.reader import load_log
from dispatch_fidelity.log.recorder import Recorder
from dispatch_fidelity.model.call import Blob, Status
from dispatch_fidelity.model.execution import Execution
from dispatch_fidelity.model.run import Completeness, Record

PUPPET = Path(__file__).parent / "assets" / "puppet_server.py"
MODULE = [sys.executable, "-m", "dispatch_fidelity.adapters.mcp_stdio"]
PATIENCE = 60.0
"""A safety net, in seconds: everything here is told by a pipe."""


# -- what is said on the wire ----------------------------------------------------------------------------------


def call(message_id: Any, tool: str = "add", **args: Any) -> bytes:
    params = {"name": tool, "arguments": args}
    return line({"jsonrpc": "2.0", "id": message_id, "method": "tools/call", "params": params})


def line(message: Any) -> bytes:
    return json.dumps(message).encode() + b"\n"


def answer(message_id: Any, result: Any) -> bytes:
    return line({"jsonrpc": "2.0", "id": message_id, "result": result})


def text(*texts: str, **more: Any) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": each} for each in texts], **more}


def error(message_id: Any, code: int, message: str) -> bytes:
    return line({"jsonrpc": "2.0", "id": message_id, "error": {"code": code, "message": message}})


# -- both ends, in the hand of the test ------------------------------------------------------------------------


def read_from(fd: int, count: int = -1, *, until: bytes = b"") -> bytes:
    """Bytes of a pipe: ``count`` of them, or up to and with ``until``, or to its end."""
    found = bytearray()
    deadline = time.monotonic() + PATIENCE
    while len(found) != count and not (until and found.endswith(until)):
        ready, _, _ = select.select([fd], [], [], max(0.0, deadline - time.monotonic()))
        assert ready, f"nothing came in time; so far {bytes(found[-200:])!r}"
        data = os.read(fd, 1 if until else min(1 << 16, count - len(found)) if count >= 0 else 1 << 16)
        if not data:
            break
        found += data
    return bytes(found)


class Played:
    """One relay with a puppet behind it."""

    def __init__(
        self,
        folder: Path,
        *options: str,
        on_end: str = "0",
        fsize: int = 0,
        ignored: tuple[int, ...] = (),
        blocked: tuple[int, ...] = (),
    ) -> None:
        self.runs = folder / "runs"
        for name in ("received", "commands", "orphan"):
            os.mkfifo(folder / name)
        self._received = os.open(folder / "received", os.O_RDWR)
        self._commands = os.open(folder / "commands", os.O_RDWR)
        self.orphan = os.open(folder / "orphan", os.O_RDWR)

        def prepare() -> None:
            for number in mcp_stdio.SIGNALS:
                signal.signal(number, signal.SIG_IGN if number in ignored else signal.SIG_DFL)
            if fsize:
                resource.setrlimit(resource.RLIMIT_FSIZE, (fsize, fsize))
            signal.pthread_sigmask(signal.SIG_BLOCK, blocked)

        self.process = subprocess.Popen(
            [
                *(*MODULE, "--run-dir", str(self.runs), *options),
                *("--", sys.executable, str(PUPPET), str(folder), on_end),
            ],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            bufsize=0,
            preexec_fn=prepare,
        )
        assert self.received() == b"<ready>\n"

    # the client

    def ask(self, data: bytes) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(data)

    def reply(self) -> bytes:
        assert self.process.stdout is not None
        return read_from(self.process.stdout.fileno(), until=b"\n")

    def replied(self, count: int = -1) -> bytes:
        assert self.process.stdout is not None
        return read_from(self.process.stdout.fileno(), count)

    def leave(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()

    # the server

    def received(self, count: int = -1) -> bytes:
        if count >= 0:
            return read_from(self._received, count)
        return read_from(self._received, until=b"\n")

    def command(self, words: str, data: bytes = b"") -> None:
        os.write(self._commands, words.encode() + b"\n" + data)

    def write(self, data: bytes) -> None:
        self.command(f"write {len(data)}", data)

    # together

    def exchange(self, asked: bytes, answered: bytes) -> None:
        """One line each way."""
        self.ask(asked)
        assert self.received() == asked
        self.write(answered)
        assert self.reply() == answered

    def end(self) -> int:
        return self.process.wait(PATIENCE)

    def finish(self) -> Record:
        """Leave, let the server end, and read what is on record."""
        self.leave()
        assert self.end() == 0, self.errors()
        return self.record()

    def errors(self) -> str:
        assert self.process.stderr is not None
        return read_from(self.process.stderr.fileno()).decode()

    def record(self) -> Record:
        return load_log(self.log)

    @property
    def log(self) -> Path:
        (found,) = (path for path in self.runs.glob("*.toollog.jsonl") if "+" not in path.name)
        return found

    def close(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        for stream in (self.process.stdin, self.process.stdout, self.process.stderr):
            assert stream is not None
            stream.close()
        for fd in (self._commands, self._received, self.orphan):
            if fd >= 0:
                os.close(fd)


Play = Callable[..., Played]


@pytest.fixture
def play(tmp_path: Path) -> Iterator[Play]:
    played: list[Played] = []

    def start(*options: str, **more: Any) -> Played:
        folder = tmp_path / str(len(played))
        folder.mkdir()
        played.append(Played(folder, *options, **more))
        return played[-1]

    yield start
    for each in played:
        each.close()


def only(record: Record) -> Execution:
    (execution,) = record.executions
    return execution


# -- transparency ----------------------------------------------------------------------------------------------

ODD = [
    b"\n",
    b"\r\n",
    b"   \n",
    b"a banner, not JSON\n",
    b"\xff\xfe not UTF-8 \x00\x80\n",
    b"\xef\xbb\xbf{}\n",
    b'{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}\r\n',
    b'{"jsonrpc" :  "2.0", "id":1.10, "result":1e2, "n":123456789012345678901234567890}\n',
    b'{"jsonrpc":"2.0","id":"x","result":null}\n',
    b'[{"jsonrpc":"2.0","id":1,"method":"ping"},[],3,null]\n',
    b'{"jsonrpc":"2.0","id":9,"method":"unknown/method","vendor":{"x":[NaN,-Infinity]}}\n',
    b'{"s":"\\ud800\\/\\u0041"}\n',
    b"[" * 500 + b"\n",
    b"[" * 300 + b"]" * 300 + b"\n",
    b"one\rtwo\r{}\n",
    b"y" * 300_000 + b"\n",
    b'{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"t","arguments":{"a":1,"a":1.0}}}\n',
    b'{"jsonrpc":"2.0","id":7,"result":{"content":[{"type":"text","text":"\\u00e9"}]}}\n',
    b'{"jsonrpc":"2.0","id":7,"method":"tools/call"\n',
]


@pytest.mark.parametrize("ending", [b"", b"no line feed at the end"])
def test_odd_lines_pass_unchanged_in_both_directions(play: Play, ending: bytes) -> None:
    played = play(on_end="stay")
    for odd in [*ODD, ending]:
        played.ask(odd)
        if odd is ending:
            played.leave()
        assert played.received(len(odd)) == odd
        for piece in (odd[:30], odd[30:]):
            played.write(piece)
            assert played.replied(len(piece)) == piece
    assert played.received() == b"<end>\n"
    played.command("exit 0")
    assert played.replied() == b""
    assert played.end() == 0


def test_many_lines_in_one_piece_keep_their_order(play: Play) -> None:
    played = play()
    asked = b"".join(call(number, n=number) + b"junk %d\n" % number for number in range(100))
    played.ask(asked)
    assert played.received(len(asked)) == asked
    answered = b"".join(answer(number, text(str(number))) for number in range(100))
    played.write(answered)
    assert played.replied(len(answered)) == answered
    executions = played.finish().executions
    assert [execution.args["n"] for execution in executions] == list(range(100))
    assert [execution.result for execution in executions] == [str(number) for number in range(100)]


def test_a_server_line_passes_before_it_is_whole(play: Play) -> None:
    played = play()
    played.ask(call(1))
    played.received()
    whole = answer(1, text("done"))
    played.write(whole[:20])
    assert played.replied(20) == whole[:20]
    played.write(whole[20:])
    played.reply()
    assert only(played.finish()).result == "done"


def test_a_client_that_does_not_read_can_still_send(play: Play) -> None:
    played = play()
    played.command("fill 4000000")
    played.ask(call(1))
    assert played.received() == call(1)
    assert len(played.replied(4_000_000)) == 4_000_000
    played.write(b"\n" + answer(1, text("late")))
    played.reply()
    played.reply()
    assert only(played.finish()).result == "late"


def test_a_50_mb_request_line_is_held_recorded_and_passed_whole(play: Play) -> None:
    played = play()
    big = call(1, data="z" * 50_000_000)
    played.ask(big)
    assert played.received(len(big)) == big
    execution = only(played.record())
    assert len(execution.args["data"]) == 50_000_000


def test_a_client_line_beyond_the_limit_passes_unread_and_leaves_a_gap(play: Play) -> None:
    played = play()
    size = jsonio.LIMITS.line + 100_000
    big = call(1, data="z" * size)
    played.ask(big[: size // 2])
    played.ask(big[size // 2 : -1])
    head = len(big) - 1 - (1 << 17)
    assert played.received(head) == big[:head]
    played.ask(b"\n" + call(2))
    assert played.received(len(big) - head) == big[head:]
    assert played.received() == call(2)
    record = played.finish()
    assert only(record).source_id == "2"
    assert [damage.kind for damage in record.damage] == ["gap"]


# -- the faults of the relay before this one -------------------------------------------------------------------


@pytest.mark.fault("E1")
def test_the_relay_ends_when_the_client_closes_its_input(play: Play) -> None:
    played = play(on_end="7")
    played.leave()
    assert played.end() == 7


@pytest.mark.fault("E1")
def test_what_the_server_says_after_the_client_left_still_passes(play: Play) -> None:
    played = play(on_end="stay")
    played.ask(call(1))
    played.received()
    played.leave()
    assert played.received() == b"<end>\n"
    played.write(answer(1, text("late")))
    assert played.reply() == answer(1, text("late"))
    played.command("exit 3")
    assert played.end() == 3
    assert only(played.record()).result == "late"
    assert played.record().completeness is Completeness.CLOSED


@pytest.mark.fault("E2")
@pytest.mark.parametrize(("command", "code"), [("exit 5", 5), ("kill 9", 137), ("kill 6", 134)])
def test_a_server_that_ends_first_takes_the_relay_along_with_its_exit_code(
    play: Play, command: str, code: int
) -> None:
    played = play()
    played.write(b"last words\n")
    played.command(command)
    assert played.replied() == b"last words\n"
    assert played.end() == code
    assert played.errors() == ""
    assert played.record().completeness is Completeness.CLOSED


@pytest.mark.fault("E2")
def test_a_child_that_the_server_left_behind_does_not_keep_the_relay(play: Play) -> None:
    played = play()
    played.command("orphan")
    played.write(b"last words\n")
    played.command("exit 4")
    assert played.end() == 4
    assert played.reply() == b"last words\n"


@pytest.mark.fault("E3")
def test_a_request_of_the_server_with_the_id_of_a_pending_call_ends_nothing(play: Play) -> None:
    played = play()
    played.ask(call(1))
    played.received()
    request = line({"jsonrpc": "2.0", "id": 1, "method": "sampling/createMessage", "params": {"result": 1}})
    played.write(request)
    assert played.reply() == request
    response = answer(1, text("the client's answer, not the server's"))
    played.ask(response)
    assert played.received() == response
    assert only(played.record()).status is Status.UNFINISHED
    played.write(answer(1, text("true result")))
    played.reply()
    assert only(played.finish()).result == "true result"


@pytest.mark.fault("E3")
def test_ids_of_different_json_types_are_different_ids(play: Play) -> None:
    played = play()
    for message_id in (1, "1", 1.0):
        played.ask(call(message_id, id=repr(message_id)))
        played.received()
    for message_id in (1.0, "1", 1):
        played.write(answer(message_id, text(repr(message_id))))
        played.reply()
    executions = played.finish().executions
    assert [execution.source_id for execution in executions] == ["1", '"1"', "1.0"]
    assert all(execution.result == execution.args["id"] for execution in executions)


@pytest.mark.fault("E4")
def test_two_calls_in_flight_with_one_id_are_both_recorded(play: Play) -> None:
    played = play()
    for number in (1, 2):
        played.ask(call(5, n=number))
        played.received()
    for number in (1, 2):
        played.write(answer(5, text(f"result {number}")))
        played.reply()
    executions = played.finish().executions
    assert [(execution.args["n"], execution.result) for execution in executions] == [
        (1, "result 1"),
        (2, "result 2"),
    ]


@pytest.mark.fault("E5")
def test_every_call_of_a_batch_is_recorded_and_every_response_of_one_paired(play: Play) -> None:
    played = play()
    batch = line(
        [json.loads(call(1, n=1)), {"jsonrpc": "2.0", "id": 2, "method": "ping"}, json.loads(call(3, n=3))]
    )
    responses = line([json.loads(answer(3, text("three"))), json.loads(answer(1, text("one")))])
    played.exchange(batch, responses)
    executions = played.finish().executions
    assert [(execution.args["n"], execution.result) for execution in executions] == [(1, "one"), (3, "three")]


@pytest.mark.fault("E6")
def test_a_call_without_id_is_recorded_and_stays_open(play: Play) -> None:
    played = play()
    notification = line(
        {"jsonrpc": "2.0", "method": "tools/call", "params": {"name": "pay", "arguments": {}}}
    )
    played.ask(notification)
    assert played.received() == notification
    execution = only(played.finish())
    assert (execution.tool, execution.status, execution.source_id) == ("pay", Status.UNFINISHED, "")


@pytest.mark.fault("E7")
def test_a_call_is_on_file_before_the_server_reads_it(play: Play) -> None:
    played = play()
    played.ask(call(1, "pay", amount=5))
    played.received()
    execution = only(played.record())
    assert (execution.tool, execution.args, execution.status) == ("pay", {"amount": 5}, Status.UNFINISHED)


@pytest.mark.fault("E7")
def test_the_start_stands_when_the_server_dies_after_the_effect(play: Play) -> None:
    played = play()
    played.ask(call(1, "pay"))
    played.received()
    played.command("kill 9")
    assert played.end() == 137
    assert only(played.record()).status is Status.UNFINISHED
    assert played.record().completeness is Completeness.CLOSED


@pytest.mark.fault("E7")
def test_the_start_stands_when_the_relay_is_killed(play: Play) -> None:
    played = play()
    played.ask(call(1, "pay"))
    played.received()
    played.process.kill()
    played.end()
    assert only(played.record()).status is Status.UNFINISHED
    assert [damage.kind for damage in played.record().damage] == ["missing close"]


FULL = 4096
BIG = "z" * 5000


@pytest.mark.fault("E8")
def test_a_call_that_cannot_be_recorded_is_refused_and_never_reaches_the_server(play: Play) -> None:
    played = play(fsize=FULL)
    played.exchange(call(1), answer(1, text("fine")))
    played.ask(call("two", data=BIG) + b"junk\n" + call(3))
    refusals = [json.loads(played.reply()) for _ in range(2)]
    assert played.received() == b"junk\n"
    assert [refusal["id"] for refusal in refusals] == ["two", 3]
    assert all(refusal["error"]["code"] == -32000 for refusal in refusals)
    assert all("cannot be recorded" in refusal["error"]["message"] for refusal in refusals)
    played.leave()
    assert played.end() == 0
    assert "cannot be recorded" in played.errors()
    assert only(played.record()).result == "fine"
    assert played.record().completeness is Completeness.PARTIAL


@pytest.mark.fault("E8")
def test_a_batch_that_holds_an_unrecordable_call_is_refused_as_a_whole(play: Play) -> None:
    played = play(fsize=FULL)
    ping = {"jsonrpc": "2.0", "id": 2, "method": "ping"}
    note = {"jsonrpc": "2.0", "method": "notifications/x"}
    played.ask(line([json.loads(call(1)), ping, note, json.loads(call(3, data=BIG))]) + b"next\n")
    assert [refusal["id"] for refusal in json.loads(played.reply())] == [1, 2, 3]
    assert played.received() == b"next\n"


@pytest.mark.fault("E8")
def test_an_unrecordable_call_without_id_is_dropped_with_a_word_on_stderr(play: Play) -> None:
    played = play(fsize=FULL)
    message = {"jsonrpc": "2.0", "method": "tools/call", "params": {"name": "t", "arguments": {"data": BIG}}}
    played.ask(line(message) + b"next\n")
    assert played.received() == b"next\n"
    played.leave()
    assert played.end() == 0
    assert "cannot be recorded" in played.errors()
    assert played.replied() == b""


@pytest.mark.fault("E8")
def test_a_refusal_waits_until_the_line_of_the_server_is_whole(play: Play) -> None:
    played = play(fsize=FULL)
    played.write(b'{"half a')
    assert played.replied(8) == b'{"half a'
    played.ask(call(1, data=BIG) + b"next\n")
    assert played.received() == b"next\n"
    played.write(b' line"}\n')
    assert played.reply() == b' line"}\n'
    assert json.loads(played.reply())["id"] == 1


@pytest.mark.fault("E8")
def test_under_continue_a_call_that_cannot_be_recorded_is_made_and_the_run_is_lost(play: Play) -> None:
    played = play("--on-record-failure", "continue", fsize=FULL)
    played.exchange(call(1, data=BIG), answer(1, text("made")))
    played.exchange(call(2), answer(2, text("made, too")))
    played.leave()
    assert played.end() == 0
    assert "cannot pass" in played.errors()
    assert played.record().completeness is Completeness.PARTIAL


@pytest.mark.fault("E8")
def test_under_continue_the_record_goes_on_behind_a_gap_where_it_can(play: Play) -> None:
    played = play("--on-record-failure", "continue", fsize=FULL)
    played.exchange(call(1, data="z" * 2000), answer(1, text("one")))
    played.exchange(call(2, data="z" * 2000), answer(2, text("two")))
    played.leave()
    assert played.end() == 0
    record = played.record()
    assert [execution.result for execution in record.executions] == ["one", "two"]
    assert "gap" in [damage.kind for damage in record.damage]
    assert "cannot pass" in played.errors()


def test_a_start_never_stands_before_the_end_it_follows_from(play: Play) -> None:
    played = play()
    for number in range(50):
        played.exchange(call(number), answer(number, text("done")))
    executions = played.finish().executions
    assert [execution.end for execution in executions] == [execution.n + 1 for execution in executions]


@pytest.mark.fault("E8")
def test_an_end_that_cannot_be_recorded_passes_with_a_word_on_stderr(play: Play) -> None:
    played = play(fsize=FULL)
    played.exchange(call(1), answer(1, text(BIG)))
    played.leave()
    assert played.end() == 0
    assert "end of a call could not be recorded" in played.errors()
    assert only(played.record()).status is Status.UNFINISHED


@pytest.mark.fault("E9")
def test_a_result_with_is_error_is_a_failure(play: Play) -> None:
    played = play()
    image = {"type": "image", "data": "", "mimeType": "image/png"}
    played.exchange(call(1), answer(1, text("no such city", "try Rome", isError=True)))
    played.exchange(
        call(2), answer(2, {"content": [image, {"type": "text", "text": "why"}], "isError": True})
    )
    first, second = played.finish().executions
    assert (first.status, first.error, first.message) == (Status.RAISED, "isError", "no such city\ntry Rome")
    assert (second.status, second.error, second.message) == (Status.RAISED, "isError", "why")


@pytest.mark.fault("E9")
@pytest.mark.parametrize(
    ("code", "status", "name"),
    [
        (-32000, Status.RAISED, "JSONRPCError -32000"),
        (-32603, Status.RAISED, "JSONRPCError -32603"),
        (-32601, Status.INVALID, ""),
        (-32602, Status.INVALID, ""),
    ],
)
def test_a_json_rpc_error_is_a_failure_or_says_that_the_call_was_invalid(
    play: Play, code: int, status: Status, name: str
) -> None:
    played = play()
    played.exchange(call(1), error(1, code, "what was wrong"))
    execution = only(played.finish())
    assert (execution.status, execution.error, execution.message) == (status, name, "what was wrong")


@pytest.mark.fault("E10")
def test_a_run_is_sealed_before_the_server_starts_and_its_binding_can_be_proven(play: Play) -> None:
    played = play()
    (path,) = played.runs.glob("*.manifest.json")
    sealed = path.read_bytes()
    played.exchange(call(1), answer(1, text("fine")))
    record = played.finish()
    manifest = read_manifest(path)
    assert path.read_bytes() == sealed
    assert manifest.system["adapter"] == "mcp_stdio"
    assert manifest.system["server"][1] == str(PUPPET)
    assert manifest.regime == {"binding_proof": "opening"}
    assert bind(manifest, record, proof="opening").bound


@pytest.mark.fault("E10")
def test_two_relays_of_one_folder_never_share_a_run(play: Play, tmp_path: Path) -> None:
    shared = tmp_path / "shared"
    first = play("--run-dir", str(shared))
    second = play("--run-dir", str(shared))
    first.leave()
    second.leave()
    assert (first.end(), second.end()) == (0, 0)
    assert len(list(shared.glob("mcp-*.manifest.json"))) == 2
    assert len(list(shared.glob("mcp-*.toollog.jsonl"))) == 2


@pytest.mark.fault("E10")
def test_nobody_else_can_read_the_files_of_a_run(play: Play) -> None:
    played = play()
    played.finish()
    assert stat.S_IMODE(played.runs.stat().st_mode) == 0o700
    assert {stat.S_IMODE(path.stat().st_mode) for path in played.runs.iterdir()} == {0o600}


@pytest.mark.fault("E11")
def test_a_50_mb_result_passes_and_lies_beside_the_log(play: Play) -> None:
    played = play()
    played.ask(call(1))
    played.received()
    head, tail = b'{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"', b'"}]}}\n'
    played.write(head)
    played.command("fill 50000000")
    played.write(tail)
    passed = played.replied(len(head) + 50_000_000 + len(tail))
    assert passed.startswith(head)
    assert passed.endswith(b"x" + tail)
    result = only(played.finish()).result
    assert isinstance(result, Blob)
    assert (result.size, result.media) == (50_000_000, "text")
    assert Path(result.path).stat().st_size == 50_000_000
    assert played.log.stat().st_size < 10_000


# -- signals and exit codes ------------------------------------------------------------------------------------


def test_a_signal_is_passed_on_and_the_relay_ends_with_the_server(play: Play) -> None:
    played = play()
    for number in (signal.SIGHUP, signal.SIGINT):
        played.process.send_signal(number)
        assert played.received() == f"<{number.name}>\n".encode()
    played.process.send_signal(signal.SIGTERM)
    assert played.end() == 128 + signal.SIGTERM
    assert played.record().completeness is Completeness.CLOSED


def test_a_signal_that_was_ignored_at_the_start_stays_ignored(play: Play) -> None:
    played = play(ignored=(signal.SIGHUP,))
    played.process.send_signal(signal.SIGHUP)
    played.process.send_signal(signal.SIGINT)
    assert played.received() == b"<SIGINT>\n"


def test_the_end_of_the_server_is_noticed_where_its_signal_is_blocked(play: Play) -> None:
    played = play(blocked=(signal.SIGCHLD,))
    played.command("exit 5")
    assert played.end() == 5


def test_a_server_that_closes_its_output_and_lives_on_is_not_left(play: Play) -> None:
    played = play()
    played.ask(call(1))
    played.received()
    played.command("close 1")
    assert played.replied() == b""
    assert played.received() == b"<closed>\n"
    played.ask(call(2))
    assert played.received() == call(2)
    played.leave()
    assert played.end() == 0
    assert [execution.status for execution in played.record()] == [Status.UNFINISHED] * 2


def test_a_server_that_closes_its_input_is_found_out_by_the_client(play: Play) -> None:
    def ask_until_it_fails() -> None:
        while True:
            played.ask(b"is anybody there\n")

    played = play(on_end="stay")
    played.command("close 0")
    assert played.received() == b"<closed>\n"
    with pytest.raises(BrokenPipeError):
        ask_until_it_fails()
    played.command("exit 6")
    assert played.end() == 6


def test_a_client_that_closes_its_output_is_found_out_by_the_server(play: Play) -> None:
    played = play()
    assert played.process.stdout is not None
    played.process.stdout.close()
    played.command("fill 10000000")
    played.write(b"\n")
    assert played.end() != 0
    assert played.record().completeness is Completeness.CLOSED


def run(*words: str, **more: Any) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*MODULE, *words], input="", capture_output=True, text=True, timeout=PATIENCE, **more
    )


def test_a_server_that_cannot_be_found_is_127_and_one_that_cannot_be_started_126(tmp_path: Path) -> None:
    plain = tmp_path / "plain.txt"
    plain.write_text("no program")
    missing = run("--run-dir", str(tmp_path), "--", str(tmp_path / "missing"))
    assert (missing.returncode, missing.stdout) == (127, "")
    assert "cannot start" in missing.stderr
    assert run("--run-dir", str(tmp_path), "--", str(plain)).returncode == 126
    plain.chmod(0o700)
    assert run("--run-dir", str(tmp_path), "--", str(plain)).returncode == 126


@pytest.mark.parametrize(
    "words",
    [
        [],
        ["--run-dir", "D"],
        ["--run-dir", "D", "--"],
        ["--", "server"],
        ["--run-dir", "D", "--unknown", "--", "server"],
        ["--run-dir", "D", "--durability", "eternal", "--", "server"],
        ["--run-dir", "D", "--run-id", "../up", "--", "server"],
    ],
)
def test_wrong_usage_is_64_and_leaves_nothing_behind(tmp_path: Path, words: list[str]) -> None:
    result = run(*words, cwd=tmp_path)
    assert (result.returncode, result.stdout) == (64, "")
    assert result.stderr
    assert list(tmp_path.iterdir()) == []


def test_a_run_that_exists_is_64_and_is_left_as_it_is(tmp_path: Path) -> None:
    words = ["--run-dir", str(tmp_path), "--run-id", "r", "--", "true"]
    assert run(*words).returncode == 0
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    again = run(*words)
    assert again.returncode == 64
    assert "exists" in again.stderr
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_a_folder_that_cannot_be_written_is_70_and_the_server_is_not_started(tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("")
    marker = tmp_path / "started"
    result = run("--run-dir", str(blocked), "--", "touch", str(marker))
    assert result.returncode == 70
    assert "not started" in result.stderr
    assert not marker.exists()


def test_without_standard_streams_nothing_is_started(tmp_path: Path) -> None:
    words = [*MODULE, "--run-dir", str(tmp_path / "runs"), "--", "true"]
    result = subprocess.run(["sh", "-c", '"$@" <&-', "sh", *words], capture_output=True, timeout=PATIENCE)
    assert result.returncode == 64
    assert not (tmp_path / "runs").exists()


# -- what is read in the lines: no process needed --------------------------------------------------------------


class Talk:
    """A conversation and the log it writes."""

    def __init__(self, folder: Path) -> None:
        self.recorder = Recorder(folder, "r", "0" * 64)
        self.conversation = Conversation(self.recorder, refuses=True)
        self.log = folder / "r.toollog.jsonl"

    def ask(self, *lines: bytes) -> None:
        block = b"".join(lines)
        assert self.conversation.requests(block) == (block, b"")

    def answer(self, *lines: bytes) -> None:
        self.conversation.answers(b"".join(lines))

    def record(self) -> Record:
        self.recorder.close()
        return load_log(self.log)


@pytest.fixture
def talk(tmp_path: Path) -> Talk:
    return Talk(tmp_path)


@pytest.mark.parametrize(
    "method",
    [b'"tools\\/call"', b'"\\u0074ools/call"', b'"tools\\u002fc\\u0061ll"', b'"ping","method":"tools/call"'],
)
def test_no_spelling_hides_a_call(talk: Talk, method: bytes) -> None:
    talk.ask(b'{"id":1,"method":' + method + b',"params":{"name":"t","arguments":{}}}\n')
    assert only(talk.record()).tool == "t"


def test_a_member_named_with_an_escape_hides_no_call_and_no_end(talk: Talk) -> None:
    talk.ask(b'{"id":1,"m\\u0065thod":"tools/call","params":{"name":"t"}}\n')
    talk.answer(b'{"id":1,"r\\u0065sult":{"content":[{"type":"text","text":"x"}]}}\n')
    assert only(talk.record()).result == "x"


def test_an_argument_that_stands_twice_is_recorded_as_unknown(talk: Talk) -> None:
    talk.ask(b'{"id":1,"method":"tools/call","params":{"name":"t","arguments":{"a":1,"a":2,"b":3}}}\n')
    args = only(talk.record()).args
    assert args["b"] == 3
    assert args["a"]["$df"] == "opaque"


@pytest.mark.parametrize("args", [b"[1]", b'"text"', b"7"])
def test_arguments_that_are_no_object_are_recorded_as_unknown(talk: Talk, args: bytes) -> None:
    talk.ask(b'{"id":1,"method":"tools/call","params":{"name":"t","arguments":' + args + b"}}\n")
    record = talk.record()
    assert only(record).args["$df"] == "opaque"
    assert record.intact


@pytest.mark.parametrize("params", [b"", b',"params":null', b',"params":[]', b',"params":{"name":7}'])
def test_a_call_without_a_name_is_a_call(talk: Talk, params: bytes) -> None:
    talk.ask(b'{"id":1,"method":"tools/call"' + params + b"}\n")
    record = talk.record()
    assert (only(record).tool, only(record).args) == ("(no name)", {})
    assert record.intact


@pytest.mark.parametrize(
    "args",
    [
        b'{"n":NaN}',
        b'{"n":1e999}',
        b'{"n":' + b"9" * 5000 + b"}",
        b'{"s":"\\ud800"}',
        b'{"s":"\xff"}',
        b'{"s":"a\tb"}',
        b'{"d":' + b"[" * 400 + b"]" * 400 + b"}",
    ],
)
def test_arguments_that_strict_json_does_not_allow_hide_no_call(talk: Talk, args: bytes) -> None:
    talk.ask(b'{"id":1,"method":"tools/call","params":{"name":"t","arguments":' + args + b"}}\n")
    record = talk.record()
    assert only(record).tool == "t"
    assert record.intact


def test_a_tool_named_with_a_lone_surrogate_does_not_damage_the_log(talk: Talk) -> None:
    talk.ask(b'{"id":"\\udfff","method":"tools/call","params":{"name":"\\ud800"}}\n')
    record = talk.record()
    assert only(record).tool == "\\ud800"
    assert record.intact


@pytest.mark.parametrize(
    "unreadable",
    [
        b'{"id":1,"method":"tools/call"\n',
        b'junk\r{"id":1,"method":"tools/call","params":{"name":"t"}}\n',
        b'{"id":1,"method":"tools\\/call"} {}\n',
    ],
)
def test_an_unreadable_line_that_may_hold_a_call_leaves_a_gap(talk: Talk, unreadable: bytes) -> None:
    talk.ask(unreadable)
    assert [damage.kind for damage in talk.record().damage] == ["gap"]


@pytest.mark.parametrize("junk", [b"a banner\n", b"C:\\users\\me\n", b'{"id":1,\n', b"\xff\xfe\n"])
def test_other_junk_leaves_none(talk: Talk, junk: bytes) -> None:
    talk.ask(junk)
    assert talk.record().intact


@pytest.mark.parametrize(
    ("result", "recorded"),
    [
        (text("one"), "one"),
        (text("one", isError=False, resultType="complete", _meta={"x": 1}), "one"),
        (
            text("one", resultType=None, structuredContent=None),
            text("one", resultType=None, structuredContent=None),
        ),
        (text("one", "two"), "one\ntwo"),
        (text(), ""),
        (text("one", structuredContent={"n": 1}), text("one", structuredContent={"n": 1})),
        ({"content": [{"type": "resource"}]}, {"content": [{"type": "resource"}]}),
        ({"toolResult": 5}, {"toolResult": 5}),
        (None, None),
        ([1, 2], [1, 2]),
    ],
)
def test_a_result_of_text_is_its_text_and_any_other_is_kept_whole(
    talk: Talk, result: Any, recorded: Any
) -> None:
    talk.ask(call(1))
    talk.answer(answer(1, result))
    execution = only(talk.record())
    assert execution.status is Status.RETURNED
    assert execution.result == recorded


def test_a_cancelled_call_is_aborted_and_a_late_answer_changes_nothing(talk: Talk) -> None:
    talk.ask(call("a"), call("b"))
    talk.ask(line({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": "a"}}))
    talk.answer(answer("a", text("late")), answer("b", text("fine")))
    first, second = talk.record().executions
    assert (first.status, first.error) == (Status.CANCELLED, "Cancelled")
    assert second.result == "fine"


def test_a_round_that_asks_for_input_is_no_end_and_its_retry_no_new_call(talk: Talk) -> None:
    retry = json.loads(call(3, city="Rome"))
    retry["params"] |= {"requestState": "s1", "inputResponses": {"q": {"action": "accept"}}}
    talk.ask(call(2, city="Rome"))
    talk.answer(answer(2, {"resultType": "input_required", "inputRequests": {"q": {}}, "requestState": "s1"}))
    talk.ask(line(retry))
    talk.answer(answer(3, text("sunny", resultType="complete")))
    execution = only(talk.record())
    assert (execution.status, execution.result, execution.source_id) == (Status.RETURNED, "sunny", "2")


@pytest.mark.parametrize(
    "change", [{"requestState": "other"}, {"name": "sub"}, {"arguments": {"city": "Pisa"}}]
)
def test_a_retry_that_differs_is_a_call_of_its_own(talk: Talk, change: dict[str, Any]) -> None:
    retry = json.loads(call(3, city="Rome"))
    retry["params"] |= {"requestState": "s1"} | change
    talk.ask(call(2, city="Rome"))
    talk.answer(answer(2, {"resultType": "input_required", "requestState": "s1"}))
    talk.ask(line(retry))
    talk.answer(answer(3, text("sunny")))
    assert [execution.status for execution in talk.record()] == [Status.UNFINISHED, Status.RETURNED]


@pytest.mark.parametrize("result", [{"task": {"taskId": "t1"}}, {"resultType": "task", "taskId": "t1"}])
def test_a_task_handle_says_started_and_ends_nothing(talk: Talk, result: dict[str, Any]) -> None:
    talk.ask(call(1))
    talk.answer(answer(1, result))
    assert only(talk.record()).status is Status.UNFINISHED


def test_an_error_about_an_unreadable_message_ends_no_call(talk: Talk) -> None:
    talk.ask(call(None))
    talk.answer(error(None, -32700, "parse error"))
    assert only(talk.record()).status is Status.UNFINISHED


def test_the_agent_is_the_client_as_it_names_itself(talk: Talk) -> None:
    named = json.loads(call(3))
    named["params"]["_meta"] = {"io.modelcontextprotocol/clientInfo": {"name": "sub-agent", "version": "1"}}
    talk.ask(call(1))
    talk.ask(
        line({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {"clientInfo": {"name": "ide"}}})
    )
    talk.ask(call(2), line(named), call(4))
    assert [execution.agent for execution in talk.record()] == ["mcp-client", "ide", "sub-agent", "ide"]


def test_a_line_that_began_before_any_call_ends_none(tmp_path: Path) -> None:
    talk = Talk(tmp_path)
    relay = mcp_stdio.Relay([], talk.conversation)
    assert relay._whole_lines(b'{"id":1,') == b""
    talk.ask(call(1))
    assert relay._whole_lines(b'"result":{}}\nnext') == b""
    assert relay._whole_lines(b" one\n") == b"next one\n"


WORDS = st.sampled_from(
    [
        *(
            b"tools/call",
            b"\\/",
            b"\\u0074",
            b'"method"',
            b'"params"',
            b'"id"',
            b'"result"',
            b'"error"',
            b'"name"',
        ),
        *(b"{", b"}", b"[", b"]", b",", b":", b'"', b"1", b"null", b"NaN", b"\n", b"\r", b"\xff", b" "),
    ]
)
VALUES: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=6,
)
MESSAGES = st.fixed_dictionaries(
    {},
    optional={
        "id": VALUES,
        "method": st.sampled_from(["tools/call", "initialize", "notifications/cancelled", 1, None]),
        "params": VALUES
        | st.fixed_dictionaries(
            {},
            optional=dict.fromkeys(
                ("name", "arguments", "_meta", "clientInfo", "requestId", "requestState"), VALUES
            ),
        ),
        "result": VALUES
        | st.fixed_dictionaries({}, optional={"content": VALUES, "isError": VALUES, "resultType": VALUES}),
        "error": VALUES,
    },
)


@settings(deadline=None)
@given(
    st.lists(st.lists(WORDS).map(b"".join) | MESSAGES.map(line) | st.lists(MESSAGES, max_size=3).map(line))
)
def test_no_line_is_changed_and_none_breaks_the_reading_or_the_log(lines: list[bytes]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        talk = Talk(Path(folder))
        for each in lines:
            talk.ask(each)
            talk.answer(each)
        record = talk.record()
        assert {damage.kind for damage in record.damage} <= {"gap"}
