"""Captures of the Model Context Protocol: messages of a connection over stdio, and cassettes of recorders.

- JSONL has a JSON-RPC message a line, mostly inside a wrapper (``message``, ``msg``, ``frame``, ``payload``, ``data``
  or ``raw`` text; direction in ``dir`` or ``direction``, time in ``ts``, ``t`` or ``timestamp``). A cassette is a
  document with ``interactions``, each a ``request`` and its ``response``.
- Calls are ``tools/call`` requests. Both sides count their ids from 0, so a response belongs to the request of its id
  that went the other way; without directions, where requests of both sides wait under one id, it is not known which,
  and how those calls ended is unknown. ``initialize`` begins a connection: ids start anew.
- **Failure** is ``result.isError`` or a JSON-RPC ``error``; its codes for an unknown method and for invalid parameters,
  and the text "Unknown tool:", say that nothing ran (invalid). A call that ``notifications/cancelled`` names is
  cancelled; a result that is a task runs on until ``tasks/result`` brings its end.
- There is no report in it: it is a log, to be put beside one. It holds the calls to one server; what the agent did
  elsewhere it cannot tell, so the record is never more than partial.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from ..errors import InvalidInputError, JSONError
from ..jsonio import Defect, decode
from ..model.call import Learned, Status, Unknown
from ..model.run import DamageKind, ImportedRun
from .building import Call, RunBuilder, as_text, result_of
from .registry import opening, values

NAME = "mcp-capture"

NOTE = "a capture holds the calls to one server; what the agent did elsewhere is not in it"

_INSIDE = ("message", "msg", "frame", "payload", "data", "raw", "env", "body")
_DIRECTIONS = ("dir", "direction", "from", "sender")
_TIMES = ("ts", "t", "timestamp", "time", "at")
_CONNECTIONS = ("connection", "connection_id", "session", "session_id", "server")
_CLIENT = re.compile(r"\W*(?:client|c2s|to[_-]?server|host|out|send|request|c(?:->|→))|[-=]*>", re.IGNORECASE)
_SERVER = re.compile(
    r"\W*(?:server|s2c|from[_-]?server|in|recv|receive|response|s(?:->|→))|<[-=]*", re.IGNORECASE
)
_NEVER_RAN = frozenset({-32601, -32602})
_CANCELLED = -32800


def recognise(head: bytes) -> float:
    """How sure it is that the file is a capture: it lists or calls tools, or begins a connection."""
    return max((_confidence(value) for value in opening(head)[:50]), default=0.0)


def _confidence(value: Any) -> float:
    if not isinstance(value, dict):
        return 0.0
    inside = value.get("interactions")
    requests = (
        [each.get("request") for each in inside if isinstance(each, dict)] if isinstance(inside, list) else []
    )
    return max(map(_request_confidence, [_message(value)[0], *requests]), default=0.0)


def _request_confidence(message: Any) -> float:
    if not isinstance(message, dict) or message.get("jsonrpc") != "2.0":
        return 0.0
    method, params = message.get("method"), message.get("params")
    if method in ("tools/call", "tools/list"):
        return 0.9
    is_begin = method == "initialize" and isinstance(params, dict) and "protocolVersion" in params
    return 0.85 if is_begin else 0.0


def read(path: Path) -> Iterator[ImportedRun]:
    """The calls of the capture as one run without a report; InvalidInputError when it is no capture."""
    capture = _Capture(RunBuilder(NAME, path))
    for value, line, damage, _ in values(path):
        capture.builder.line = line
        if damage is not None:
            capture.builder.damage.append(damage)
        else:
            capture.take(value)
    if not capture.known:
        raise InvalidInputError(f"{str(path)!r} holds no message of the Model Context Protocol")
    yield capture.finish()


def _is_content(part: Any) -> bool:
    return isinstance(part, dict) and isinstance(part.get("type"), str)


def _message(value: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
    """The JSON-RPC message in a line, and what is around it."""
    around = value
    for _ in range(3):
        if "jsonrpc" in value:
            return value, around
        inner = next((value[key] for key in _INSIDE if key in value), None)
        if isinstance(inner, (str, bytes)):
            try:
                inner = decode(inner.encode() if isinstance(inner, str) else inner)
            except (JSONError, UnicodeEncodeError):
                return None, around
        if isinstance(inner, list):
            return inner, around
        if not isinstance(inner, dict):
            return None, around
        value = inner
    return None, around


class _Way(NamedTuple):
    """What a line says of a message beside it."""

    direction: str = ""
    at: str = ""
    connection: str = ""


class _Request(NamedTuple):
    """A request that waits for its response; ``task`` is the one that it asks about."""

    method: str
    call: Call | None = None
    task: str = ""


@dataclass(slots=True)
class _Capture:
    """A capture while it is read.

    ``known`` counts the messages; ``waiting`` has the requests by connection and id, and there by direction.
    """

    builder: RunBuilder
    known: int = 0
    waiting: dict[tuple[str, str, Any], dict[str, list[_Request]]] = field(default_factory=dict)
    tasks: dict[str, Call] = field(default_factory=dict)

    def take(self, value: Any) -> None:
        """One line, or the document of a recorder."""
        if isinstance(value, list):
            for each in value:
                self._take(each, _Way())
        elif not isinstance(value, dict):
            reason = value.reason if isinstance(value, Defect) else "it is no object"
            self.builder.unreadable(f"a line cannot be read: {reason}")
        elif "interactions" in value:
            self._cassette(value["interactions"])
        else:
            message, around = _message(value)
            direction, at, connection = (_first(around, keys) for keys in (_DIRECTIONS, _TIMES, _CONNECTIONS))
            way = _Way(_side(direction), at, connection)
            if message is None:
                self.builder.unreadable("a line holds no message of JSON-RPC")
            for each in message if isinstance(message, list) else [message] if message is not None else []:
                self._take(each, way)

    def _cassette(self, interactions: Any) -> None:
        if not isinstance(interactions, list):
            self.builder.unreadable("the interactions are no list")
            return
        for interaction in interactions:
            if not isinstance(interaction, dict):
                self.builder.unreadable("an interaction is no object")
                continue
            request, response = interaction.get("request"), interaction.get("response")
            if request is not None:
                self._take(request, _Way("client"))
            if response is not None:
                self._take(response, _Way("server"))
            elif isinstance(request, dict) and "id" in request:
                self.builder.lacks("an interaction has no response")

    def _take(self, message: Any, way: _Way) -> None:
        """One message: a request or a notification, or a response."""
        if not isinstance(message, dict):
            self.builder.unreadable("a message is no object")
            return
        self.known += message.get("jsonrpc") == "2.0"
        method, key = message.get("method"), _key(way.connection, message.get("id"))
        if "method" not in message:
            self._response(message, key, way)
        elif not isinstance(method, str):
            self.builder.unreadable("a message has no method that is text")
        elif "id" not in message and method != "tools/call":
            if method == "notifications/cancelled":
                self._cancelled(message.get("params"), way)
        else:
            if key is None:
                self.builder.unreadable("a request has no id that can be read")
            self._request(method, message.get("params"), key, way)

    def _request(self, method: str, params: Any, key: tuple[str, str, Any] | None, way: _Way) -> None:
        if method == "initialize":
            self.waiting.clear()
        call, task = None, ""
        if method == "tools/call":
            if not isinstance(params, dict):
                self.builder.unreadable("a call has no parameters that are an object")
                params = {}
            args = params.get("arguments", {})
            if args is not None and not isinstance(args, dict):
                self.builder.unreadable("the arguments of a call are no object")
                args = Unknown("unreadable")
            call = self.builder.call(
                params.get("name"), args, source_id=str(key[2]) if key else "", at=way.at
            )
        elif method == "tasks/result" and isinstance(params, dict):
            task = str(params.get("taskId"))
        if key is not None:
            same = self.waiting.setdefault(key, {}).setdefault(way.direction, [])
            same.append(_Request(method, call, task))

    def _cancelled(self, params: Any, way: _Way) -> None:
        key = _key(way.connection, params.get("requestId")) if isinstance(params, dict) else None
        if key is None:
            self.builder.unreadable("it cannot be read which request was cancelled")
            return
        same = self.waiting.get(key, {}).get(way.direction)
        if same and same[-1].call is not None:
            self.builder.end(same[-1].call, status=Status.CANCELLED, learned=Learned.FLAG, until=way.at)

    def _response(self, message: dict[str, Any], key: tuple[str, str, Any] | None, way: _Way) -> None:
        waiting = self.waiting.get(key, {}) if key is not None else {}
        fitting = [stack for side, stack in waiting.items() if stack and not (side and side == way.direction)]
        if not fitting:
            self.builder.defect(DamageKind.LIFECYCLE, "a response is to no open request")
        elif len(fitting) == 1 and (way.direction or len(fitting[0]) == 1):
            self._answered(fitting[0].pop(), message, way)
        else:
            # Nothing says which of the requests that wait under this id it answers.
            self.builder.lacks("a response may be to one of several requests")
            for request in [request for stack in fitting for request in stack]:
                if request.call is not None:
                    self.builder.end(request.call, Unknown("ambiguous"), status=Status.UNKNOWN)
            for stack in fitting:
                stack.clear()

    def _answered(self, request: _Request, message: dict[str, Any], way: _Way) -> None:
        result = message.get("result")
        if (
            request.method == "tools/list"
            and isinstance(result, dict)
            and isinstance(result.get("tools"), list)
        ):
            names = [tool.get("name") for tool in result["tools"] if isinstance(tool, dict)]
            self.builder.tools += [name for name in names if isinstance(name, str)]
        call = request.call or self.tasks.get(request.task)
        if call is None:
            return
        task = result.get("task") if isinstance(result, dict) else None
        if isinstance(task, dict) and isinstance(task.get("taskId"), str) and request.call is not None:
            self.tasks[task["taskId"]] = call
            self.builder.end(call, status=Status.BACKGROUND, learned=Learned.FLAG, until=way.at)
        elif call.status is not Status.CANCELLED:
            self._end(call, message, way)

    def _end(self, call: Call, message: dict[str, Any], way: _Way) -> None:
        result, error = message.get("result"), message.get("error")
        if error is not None:
            code = error.get("code") if isinstance(error, dict) else None
            if (
                not isinstance(error, dict)
                or not isinstance(code, int)
                or not isinstance(error.get("message", ""), str)
            ):
                self._unknown(call, "the error of a response has another shape", way)
                return
            status = Status.INVALID if code in _NEVER_RAN else Status.RAISED
            status = Status.CANCELLED if code == _CANCELLED else status
            told = error.get("message", "")
            self.builder.end(
                call, told, status=status, learned=Learned.FLAG, error=str(code), message=told, until=way.at
            )
            return
        flag = result.get("isError") if isinstance(result, dict) else None
        content = result.get("content") if isinstance(result, dict) else None
        if not isinstance(result, dict) or not isinstance(result.get("isError", False), bool):
            self._unknown(call, "the result of a call has another shape", way)
            return
        if content is None:
            content = result.get("structuredContent")
            if content is None:
                self._unknown(call, "the result of a call has no content", way)
                return
        elif not isinstance(content, list) or not all(map(_is_content, content)):
            self._unknown(call, "the content of a result has another shape", way)
            return
        value = result_of(content)
        text = value if isinstance(value, str) else ""
        failed = Status.INVALID if text.startswith("Unknown tool: ") else Status.RAISED
        self.builder.end(
            call,
            value,
            status=None if flag is None else failed if flag else Status.RETURNED,
            learned=Learned.DEFAULT if flag is None else Learned.FLAG,
            message=text if flag else "",
            until=way.at,
        )

    def _unknown(self, call: Call, why: str, way: _Way) -> None:
        self.builder.unreadable(why)
        self.builder.end(call, Unknown("unreadable"), status=Status.UNKNOWN, until=way.at)

    def finish(self) -> ImportedRun:
        """The run as it was read."""
        self.builder.line = 0
        self.builder.lacks(NOTE)
        self.builder.doubt_unflagged()
        return self.builder.finish(closed=True)


def _key(connection: str, source_id: Any) -> tuple[str, str, Any] | None:
    """What joins a request and its response; None for what is no id."""
    if isinstance(source_id, bool) or not isinstance(source_id, (int, str)):
        return None
    return connection, type(source_id).__name__, source_id


def _side(direction: str) -> str:
    """The side that sent a message: ``client``, ``server``, or empty where that is not told."""
    return "client" if _CLIENT.match(direction) else "server" if _SERVER.match(direction) else ""


def _first(around: dict[str, Any], keys: tuple[str, ...]) -> str:
    value = next((around[key] for key in keys if around.get(key) is not None), None)
    return as_text(value) if isinstance(value, (str, int, float)) else ""
