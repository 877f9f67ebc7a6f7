"""What an MCP conversation says, put on record: lines of both directions to starts and ends of calls.

It knows JSON-RPC and the recorder, and no file descriptor; ``mcp_stdio`` moves the bytes.
"""

from __future__ import annotations

import contextlib
import os
from typing import Any

from .. import jsonio
from ..errors import JSONError, RecordingError
from ..log.recorder import Recorder, Started

CALL = "tools/call"
CANCELLED = "notifications/cancelled"
CLIENT_INFO = "io.modelcontextprotocol/clientInfo"
REFUSED_CODE = -32000
INVALID_CODES = (-32601, -32602)


def say(text: str) -> None:
    """One line on standard error, which the relay shares with the server."""
    with contextlib.suppress(OSError):
        os.write(2, f"mcp_stdio: {text}\n".encode("utf-8", "backslashreplace"))


class Ambiguous:
    """The values of a key that stands twice in one object; which one a server reads is its own affair."""

    def __init__(self, values: list[Any]) -> None:
        self.values = values

    def __repr__(self) -> str:
        return f"Ambiguous({self.values!r})"


class NoObject:
    """Arguments that are no JSON object."""

    def __init__(self, value: Any) -> None:
        self.value = value

    def __repr__(self) -> str:
        return f"NoObject({self.value!r})"


def read_message(line: bytes) -> Any:
    """The JSON value of a line, read as leniently as any server might; JSONError where there is none."""
    try:
        return jsonio.decode(line)
    except JSONError:
        return _read_leniently(line)


def _read_leniently(line: bytes) -> Any:
    import json

    def members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) != len(pairs):
            values: dict[str, list[Any]] = {}
            for name, value in pairs:
                values.setdefault(name, []).append(value)
            found = {name: each[0] if len(each) == 1 else Ambiguous(each) for name, each in values.items()}
        return found

    def integer(text: str) -> int | str:
        return int(text) if len(text) <= jsonio.LIMITS.digits else text

    try:
        text = line.decode("utf-8-sig", "replace")
        return json.loads(text, object_pairs_hook=members, parse_int=integer, strict=False)
    except (ValueError, RecursionError) as problem:
        raise JSONError(f"no JSON: {problem}") from None


def _may_call(data: bytes) -> bool:
    """Whether client bytes may hold a message to act on; an escape may spell any of the words."""
    return (
        b"tools/call" in data
        or b"cancelled" in data
        or b"initialize" in data
        or b"\\u" in data
        or b"\\/" in data
    )


def _may_answer(line: bytes) -> bool:
    return b'"result"' in line or b'"error"' in line or b"\\u" in line


def _last(value: Any) -> Any:
    """``value``, or the last of several under one key, which is the one most parsers take."""
    return value.values[-1] if type(value) is Ambiguous else value


def _object(value: Any) -> dict[str, Any]:
    if type(value) is dict:
        return value
    found = _last(value)
    return found if type(found) is dict else {}


def _word(value: Any, otherwise: str) -> str:
    """A name for the record: text that can be stored, whatever was sent."""
    if type(value) is not str or not value:
        return otherwise
    return value if value.isascii() else value.encode("utf-8", "backslashreplace").decode()


def _texts(result: dict[str, Any]) -> list[str] | None:
    """The texts of a result whose content is text alone; None for any other."""
    content = result.get("content")
    if type(content) is not list:
        return None
    texts = []
    for item in content:
        if type(item) is not dict or item.get("type") != "text" or type(item.get("text")) is not str:
            return None
        texts.append(item["text"])
    return texts


def _some_text(result: dict[str, Any]) -> str:
    """The texts among the content of a failed call that holds other things too."""
    content = result.get("content")
    items = content if type(content) is list else []
    return "\n".join(item["text"] for item in items if type(item) is dict and type(item.get("text")) is str)


def _refusal(message_id: Any, text: str) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": message_id, "error": {"code": REFUSED_CODE, "message": text}}


NO_ID = ("no id",)
_ID_TYPES = frozenset({str, float, type(None)})


def _id(message: dict[str, Any], name: str = "id") -> Any:
    """A JSON-RPC id as a key that tells 1, 1.0 and "1" apart."""
    value = message.get(name, ...)
    kind = type(value)
    if kind is int:
        return value
    return (kind, value) if kind in _ID_TYPES else NO_ID


def _id_text(message_id: Any) -> str:
    """The JSON text of an id, for the record."""
    if type(message_id) is int:
        return str(message_id)
    return "" if message_id is NO_ID else jsonio.encode_lenient(message_id[1]).decode("ascii")


Call = tuple[Started, dict[str, Any]]
"""A call that was forwarded and has no end yet: its ticket and the parameters of its request."""


class Conversation:
    """What the lines of both directions say, put on record."""

    def __init__(self, recorder: Recorder, *, refuses: bool) -> None:
        self._recorder = recorder
        self._refuses = refuses
        self._agent = "mcp-client"
        self._open: dict[Any, Call | list[Call]] = {}
        self._interrupted: list[tuple[Any, Call]] = []
        self._told = False

    # -- client to server

    def requests(self, block: bytes) -> tuple[bytes, bytes]:
        """The part of some whole lines that the server may read, and what the client is answered instead."""
        if not _may_call(block):
            return block, b""
        if block.find(b"\n") == len(block) - 1:
            answer = self._request(block)
            return (block, b"") if answer is None else (b"", answer)
        lines = block.split(b"\n")
        kept: list[bytes] = []
        answers = b""
        for line in lines:
            answer = self._request(line) if _may_call(line) else None
            if answer is None:
                kept.append(line)
            else:
                answers += answer
        return (block if len(kept) == len(lines) else b"\n".join(kept)), answers

    def too_long(self, sender: str) -> bool:
        """Put on record that a line was too long to be read; False when it must not pass."""
        return self._gap(f"a line of the {sender} of more than {jsonio.LIMITS.line} bytes was not read")

    def _request(self, line: bytes) -> bytes | None:
        """None when the line may pass; else the answer to give in its place, which may be empty."""
        if len(line) > jsonio.LIMITS.line:
            return None if self.too_long("client") else b""
        try:
            message = read_message(line)
        except JSONError:
            suspect = b"tools/call" in line or (b"\\" in line and line.lstrip()[:1] in (b"{", b"["))
            passes = not suspect or self._gap("a line that may hold a call could not be read")
            return None if passes else b""
        started: list[tuple[Any, Call]] = []
        try:
            if type(message) is dict:
                self._take(message, started)
            elif type(message) is list:
                for item in message:
                    if type(item) is dict:
                        self._take(item, started)
        except RecordingError as problem:
            return self._refuse(message, started, str(problem))
        for message_id, call in started:
            if message_id in self._open:
                self._push(message_id, call)
            elif message_id is not NO_ID:
                self._open[message_id] = call
        return None

    def _take(self, message: dict[str, Any], started: list[tuple[Any, Call]]) -> None:
        """One message of the client; RecordingError when it is a call whose start cannot be recorded."""
        method = message.get("method")
        if method == CALL or (type(method) is Ambiguous and CALL in method.values):
            message_id = _id(message)
            started.append((message_id, self._start(message_id, _object(message.get("params")))))
        elif method == CANCELLED:
            call = self._pop(_id(_object(message.get("params")), "requestId"))
            if call is not None:
                self._recorder.aborted(call[0], "Cancelled")
        elif method == "initialize":
            info = _object(_object(message.get("params")).get("clientInfo"))
            self._agent = _word(info.get("name"), self._agent)

    def _start(self, message_id: Any, params: dict[str, Any]) -> Call:
        if "requestState" in params or "inputResponses" in params:
            ticket = self._resume(params)
            if ticket is not None:
                return ticket, params
        args = params.get("arguments")
        if type(args) is not dict:
            args = {} if args is None else NoObject(args)
        agent = self._agent
        if "_meta" in params:
            info = _object(_object(params["_meta"]).get(CLIENT_INFO))
            agent = _word(info.get("name"), agent)
        tool = _word(_last(params.get("name")), "(no name)")
        ticket = self._recorder.start(tool, args, agent, source_id=_id_text(message_id))
        if not self._told and (ticket[0] is None or ticket[0].id != "main"):
            self._told = True
            say("the record could not be written in full; calls go on, and this run cannot pass")
        return ticket, params

    def _resume(self, params: dict[str, Any]) -> Started | None:
        """The ticket of the call that waits for this input: its retry is the same execution."""
        wanted = [params.get(name) for name in ("requestState", "name", "arguments")]
        for place, (state, (ticket, before)) in enumerate(self._interrupted):
            if [state, before.get("name"), before.get("arguments")] == wanted:
                del self._interrupted[place]
                return ticket
        return None

    def _refuse(self, message: Any, started: list[tuple[Any, Call]], problem: str) -> bytes:
        """The answer to a call that was not made; a batch that holds one is refused as a whole."""
        text = f"refused: the call cannot be recorded, so it was not made ({problem})"
        say(text)
        for _, (ticket, _) in started:
            self._recorder.not_executed(ticket, "refused", text)
        asked = [message] if type(message) is dict else message
        answers = [
            _refusal(_last(item["id"]), text)
            for item in asked
            if type(item) is dict and "id" in item and "method" in item
        ]
        if not answers:
            return b""
        return jsonio.encode_lenient(answers[0] if type(message) is dict else answers) + b"\n"

    def _gap(self, reason: str) -> bool:
        """Record a gap; False when that failed and the run refuses what it cannot record."""
        try:
            self._recorder.gap(reason)
        except (OSError, RecordingError) as problem:
            say(f"{reason}, and that could not be recorded ({problem})")
            return not self._refuses
        say(reason)
        return True

    # -- server to client

    @property
    def awaits(self) -> bool:
        """Whether any call is open, so that the server's lines have to be read."""
        return bool(self._open)

    def answers(self, block: bytes) -> None:
        """Put on record what some whole lines of the server end."""
        for line in block.split(b"\n"):
            if not _may_answer(line):
                continue
            try:
                message = read_message(line)
            except JSONError:
                continue
            if type(message) is dict:
                self._answer(message)
            elif type(message) is list:
                for item in message:
                    if type(item) is dict:
                        self._answer(item)

    def _answer(self, message: dict[str, Any]) -> None:
        has_result = "result" in message
        if "method" in message or not (has_result or "error" in message):
            return
        error = message.get("error")
        failed = error is not None or not has_result
        message_id = _id(message)
        if failed and message.get("id") is None:
            return  # about a message the server could not read: whose end it is cannot be told
        call = self._pop(message_id)
        if call is None:
            return
        ticket = call[0]
        if failed:
            self._failed(ticket, error)
        else:
            self._ended(call, message["result"])
        if not self._told and ticket[0] is not None and ticket[0].fault is not None:
            self._told = True
            say(f"the end of a call could not be recorded ({ticket[0].fault})")

    def _failed(self, ticket: Started, error: Any) -> None:
        found = _object(error)
        code, text = found.get("code"), found.get("message")
        if type(text) is not str:
            text = "" if error is None else repr(error)
        if code in INVALID_CODES:
            self._recorder.not_executed(ticket, "invalid", text)
        else:
            name = f"JSONRPCError {code}" if type(code) is int else "JSONRPCError"
            self._recorder.raised(ticket, name, text)

    def _ended(self, call: Call, result: Any) -> None:
        """One result of a call.

        1. A kind of result other than a complete one ends nothing: input is awaited (the retry goes on with
           the same execution), or a task was started, whose result comes by another way.
        2. ``isError`` is a failure, whatever the text says.
        3. Text alone is what the model is shown; anything richer is stored whole, its texts beside it as shown.
        """
        recorder, ticket = self._recorder, call[0]
        if type(result) is not dict:
            recorder.returned(ticket, result)
            return
        kind = result.get("resultType")
        if kind == "input_required":
            self._interrupted.append((result.get("requestState"), call))
            return
        if kind not in (None, "complete") or type(result.get("task")) is dict:
            return
        texts = _texts(result)
        shown = None if texts is None else "\n".join(texts)
        if result.get("isError") is True:
            recorder.raised(ticket, "isError", _some_text(result) if shown is None else shown)
        elif shown is None or "structuredContent" in result:
            recorder.returned(ticket, result, shown)
        else:
            recorder.returned(ticket, shown)

    def _push(self, message_id: Any, call: Call) -> None:
        """Queue a call behind open ones of the same id."""
        calls = self._open[message_id]
        if isinstance(calls, list):
            calls.append(call)
        else:
            self._open[message_id] = [calls, call]

    def _pop(self, message_id: Any) -> Call | None:
        """The oldest open call of an id."""
        calls = self._open.pop(message_id, None)
        if not isinstance(calls, list):
            return calls
        call = calls.pop(0)
        if calls:
            self._open[message_id] = calls
        return call
