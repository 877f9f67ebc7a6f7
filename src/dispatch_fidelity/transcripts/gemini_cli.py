"""Gemini CLI chats: ``~/.gemini/tmp/<project>/chats/session-*.json``, since 0.40 or so JSONL with the same messages.

- A document has ``sessionId`` and ``messages``; JSONL has a head line, then messages. A message that stands again
  under its ``id`` replaces the earlier one in its place. ``{"$set": …}`` patches the head; ``{"$rewindTo": id}`` takes
  back that message and all after it: their words are gone, but their calls ran, so they stay in the record, which is
  partial then. A ``$set`` of ``messages`` rewrites what the model sees (compressed, masked), not what happened.
- A message of type ``gemini`` has the calls with their results (``toolCalls``), which makes them one ``step``.
  ``status`` is a flag: ``success``, ``error``, ``cancelled``; any other is of a call that has not ended.
- **Success is not an exit code**: a shell command that failed has ``success`` too. The result of ``run_shell_command``
  ends with lines that the CLI writes ("Exit Code: N", "Signal: …", "Process Group PGID: …"); they decide. Fixed
  sentences tell what never ran: the user did not allow it, policy denied it (refused), no such tool or parameters
  that do not fit (invalid); and a command that was cancelled or moved to the background.
- Results over 50 KB are shortened by the writer (``cut``). There is one time a call, written at its end.
- **Report** is the last text of a ``gemini`` message. **Closed** is a chat whose last text of the model has no calls
  with or after it, and no error after it.
- A sub-agent's chat (``kind: subagent``) is ``chats/<session id of the parent>/<its session id>.jsonl``; the parent's
  call names it by ``agentId``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from ..errors import InvalidInputError, JSONError
from ..jsonio import Defect, decode, decode_marking, joined_parts
from ..log.reader import open_input
from ..model.call import Learned, Status, Unknown
from ..model.run import ImportedRun
from .building import Call, RunBuilder
from .registry import Place, opening, values

NAME = "gemini-cli"

_SHELL = "run_shell_command"
_SILENT = frozenset({"info", "warning"})
_MESSAGES = _SILENT | {"user", "gemini", "error"}
_PARTS = frozenset(
    {"text", "thought", "functionCall", "functionResponse", "inlineData", "fileData", "executableCode"}
    | {"codeExecutionResult", "videoMetadata"}
)
_OPEN = frozenset({"validating", "scheduled", "awaiting_approval", "executing"})
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}")
_TAIL = 4000
_TRAILER = re.compile(
    r"(?:(?:\A|\n)Exit Code: (?P<code>-?\d{1,10}|\(none\)))?(?:\nSignal: (?P<signal>[^\n]{1,40}))?"
    r"(?:\nBackground PIDs: [^\n]{0,1000})?(?:\nProcess Group PGID: [^\n]{1,20})?"
    r"\s{0,100}(?:</tool_output_masked>\s*)?\Z"
)
_REFUSED = re.compile(
    r"(?:\[Operation Cancelled\] )?(?:Reason: )?User (?:did not allow tool call|denied execution)"
    r"|Tool execution denied by policy\b|Tool execution (?:for \S{1,80} )?was blocked\b"
)
_INVALID = re.compile(r'Tool "[^"\n]{0,200}" not found\b|params(?:/\S{1,200})? must\b|Invalid parameters\b')
_CANCELLED = re.compile(r"Command was (?:cancelled by user|automatically cancelled)\b|Command timed out\b")
_BACKGROUND = re.compile(r"Command (?:moved to|started in|is running in(?: the)?) background\b")
_CUT = re.compile(
    r"<tool_output_masked>|Output too large\. Showing\b|Tool output was too large and has been truncated\b"
)
_TRUNCATED = "[CONTENT TRUNCATED]"


def recognise(head: bytes) -> float:
    """How sure it is that the file is a chat: a session of a project, and messages of its types."""
    return max((_confidence(value) for value in opening(head)[:20]), default=0.0)


def _confidence(value: Any) -> float:
    if not isinstance(value, dict):
        return 0.0
    if isinstance(value.get("sessionId"), str) and isinstance(value.get("projectHash"), str):
        return 0.95
    is_message = value.get("type") == "gemini" and {"id", "timestamp", "content"} <= value.keys()
    return 0.8 if is_message else 0.6 if isinstance(value.get("$rewindTo"), str) else 0.0


def read(path: Path) -> Iterator[ImportedRun]:
    """The run of the session that the file holds; InvalidInputError when it is no chat."""
    chat = _Chat(RunBuilder(NAME, path))
    index = _Index(chat)
    for value, line, damage, place in values(path):
        chat.builder.line = line
        if damage is not None:
            chat.builder.damage.append(damage)
        else:
            index.take(value, line, place)
    if not index.found:
        raise InvalidInputError(f"{str(path)!r} holds no session of the Gemini CLI")
    for number, (message, is_live) in enumerate(index.messages(path)):
        chat.step = number
        chat.take(message, is_live=is_live)
    yield chat.finish()


def companions(path: Path) -> Iterator[Path]:
    """The chats of the sub-agents of this session, and of theirs."""
    chats, waiting = path.parent, [path]
    while waiting:
        with open_input(waiting.pop(0)) as handle:
            heads = opening(handle.read(64 * 1024))
        name = heads[0].get("sessionId") if heads and isinstance(heads[0], dict) else None
        if isinstance(name, str) and _NAME.fullmatch(name):
            found = sorted((chats / name).glob("*.json*"))
            waiting += found
            yield from found


class _Entry(NamedTuple):
    """Where the last version of a message is: in the file, or at hand."""

    line: int
    place: Place | None
    message: Any = None
    calls: int = 0


@dataclass(slots=True)
class _Index:
    """Which messages a file holds: the last version of each, in the order of the first, and what was taken back."""

    chat: _Chat
    found: bool = False
    entries: dict[Any, _Entry] = field(default_factory=dict)
    live: dict[str, None] = field(default_factory=dict)

    def take(self, value: Any, line: int, place: Place | None) -> None:
        """One line, or the document."""
        builder = self.chat.builder
        if not isinstance(value, dict):
            reason = value.reason if isinstance(value, Defect) else "it is no object"
            builder.unreadable(f"a line cannot be read: {reason}")
        elif "$rewindTo" in value:
            self.found = True
            self._rewind(value["$rewindTo"])
        elif "$set" in value:
            self.found = True
            patch = value["$set"]
            if isinstance(patch, dict):
                self._patched(patch)
            else:
                builder.unreadable("a patch of the session is no object")
        elif "sessionId" in value or "messages" in value:
            self._session(value, line)
        elif "id" in value or "type" in value:
            self.found = self.found or value.get("type") in ("user", "gemini")
            calls = value.get("toolCalls")
            self._put(
                value,
                _Entry(line, place, None if place else value, len(calls) if isinstance(calls, list) else 0),
            )
        else:
            builder.unreadable("a line is neither a message nor about the session")

    def _session(self, value: dict[str, Any], line: int) -> None:
        messages = value.get("messages", [])
        if not isinstance(value.get("sessionId"), str) or not isinstance(messages, list):
            self.chat.builder.unreadable("the session has no id, or its messages are no list")
            messages = messages if isinstance(messages, list) else []
        self.found = self.found or "projectHash" in value or bool(messages)
        self.chat.head(value)
        for message in messages:
            self.entries[len(self.entries)] = _Entry(line, None, message)

    def _put(self, message: dict[str, Any], entry: _Entry) -> None:
        name = message.get("id")
        if not isinstance(name, str):
            self.chat.builder.unreadable("a message has no id that is text")
            self.entries[len(self.entries)] = entry
            return
        if name in self.entries and self.entries[name].calls > entry.calls:
            self.chat.builder.lacks("a message stands again with fewer calls than before")
        self.live[name] = None
        self.entries[name] = entry

    def _rewind(self, name: Any) -> None:
        """Take back a message and all after it; all of them where it is not known, as the CLI does."""
        self.chat.builder.lacks(
            "messages were taken back; their calls are in this record, and the agent forgot them"
        )
        if not isinstance(name, str):
            self.chat.builder.unreadable("it cannot be read to which message the session went back")
        while self.live and self.live.popitem()[0] != name:
            pass

    def _patched(self, patch: dict[str, Any]) -> None:
        """A patch of the head; of its messages, only calls that stand nowhere else are news."""
        self.chat.head(patch)
        messages = patch.get("messages", [])
        if not isinstance(messages, list) or not all(isinstance(message, dict) for message in messages):
            self.chat.builder.unreadable("the messages of a patch cannot be read")
        elif any(message.get("toolCalls") and message.get("id") not in self.entries for message in messages):
            self.chat.builder.lacks(
                "the history was rewritten with calls that stand nowhere else in the file"
            )

    def messages(self, path: Path) -> Iterator[tuple[Any, bool]]:
        """Each message, and whether it was not taken back."""
        with open_input(path) as handle:
            for name, (line, place, message, _) in self.entries.items():
                self.chat.builder.line, self.chat.place = line, place
                if place is not None:
                    handle.seek(place.offset)
                    message = _decode(handle.read(place.length))
                yield message, name in self.live or not isinstance(name, str)


def _decode(data: bytes) -> Any:
    try:
        return decode(data)
    except JSONError:
        return decode_marking(data, mark=True)


@dataclass(slots=True)
class _Chat:
    """One chat while its messages are read; ``ended`` counts the calls before the end of the last turn."""

    builder: RunBuilder
    place: Place | None = None
    step: int = 0
    begun: bool = False
    is_asked: bool = False
    ended: int = -1
    went_on: int = 0

    def head(self, value: dict[str, Any]) -> None:
        """What the file says of its session."""
        self.begun = True
        name = value.get("sessionId")
        if isinstance(name, str) and name:
            self.builder.agent = name
            self.builder.run_id = name if _NAME.fullmatch(name) else self.builder.run_id
        if value.get("kind") == "subagent":
            self.builder.parent = self.builder.path.resolve().parent.name

    def take(self, message: Any, *, is_live: bool) -> None:
        """One message; the words of one that was taken back do not count."""
        if not isinstance(message, dict):
            self.builder.unreadable("a message is no object")
            return
        kind, content = message.get("type"), message.get("content")
        text = _words(content)
        if not isinstance(kind, str) or kind not in _MESSAGES:
            self.builder.unreadable("a message has no type of this format")
        elif kind in _SILENT:
            return
        elif text is None:
            self.builder.unreadable(f"the content of a message ({kind}) is neither text nor parts")
        elif not is_live:
            pass
        elif kind == "error":
            self.ended = -1
        elif text.strip():
            if kind == "user":
                self.builder.asked(text.strip())
            else:
                self.builder.said(text)
                if self.ended == len(self.builder.calls) and not self.is_asked:
                    self.builder.lacks("an answer follows another without calls or a request between them")
                self.ended = len(self.builder.calls)
            self.is_asked = kind == "user"
            self.went_on = len(self.builder.calls)
        calls = message.get("toolCalls", [])
        if not isinstance(calls, list):
            self.builder.unreadable("the calls of a message are no list")
        elif kind == "gemini" and not calls and not text:
            self.builder.lacks("a message of the model has neither words nor calls")
        for call in calls if isinstance(calls, list) else ():
            self._call(call)

    def _call(self, item: Any) -> None:
        if not isinstance(item, dict):
            self.builder.unreadable("a call is no object")
            return
        args, source_id = item.get("args"), item.get("id")
        if not isinstance(args, dict) or not isinstance(source_id, str):
            self.builder.unreadable("a call has no id or arguments of this format")
            args = args if isinstance(args, dict) else Unknown("unreadable")
        call = self.builder.call(item.get("name"), args, source_id=source_id, step=self.step)
        if call is None:
            return
        status = item.get("status")
        if not isinstance(status, str):
            self.builder.unreadable("a call has no status that is text")
            self.builder.end(call, Unknown("unreadable"), status=Status.UNKNOWN)
        elif status not in _OPEN:
            self._end(call, status, item)
        agent = item.get("agentId")
        if isinstance(agent, str) and agent and agent != self.builder.agent:
            self.builder.delegated(call, agent)

    def _end(self, call: Call, status: str, item: dict[str, Any]) -> None:
        result = _result(item.get("result"), call.source_id)
        if item.get("result") is None:
            self.builder.lacks("results of calls that have ended are not in the file")
            result = Unknown("not captured")
        if isinstance(result, Defect):
            self.builder.unreadable(f"the result of a call cannot be read: {result.reason}")
            self.builder.end(call, Unknown("unreadable"), status=Status.UNKNOWN, until=item.get("timestamp"))
            return
        text = result if isinstance(result, str) else ""
        found, learned = _ended(status, text, call)
        if call.tool == _SHELL and found is Status.RETURNED and isinstance(result, Unknown):
            found, learned = Status.UNKNOWN, Learned.DEFAULT  # how a command ended stands in its result
        elif found is Status.UNKNOWN:
            self.builder.lacks(f"calls with the unknown status {status[:80]!r}: how they ended is not known")
        failed = text if found not in (Status.RETURNED, Status.BACKGROUND) else ""
        cut = bool(_CUT.match(text)) or _TRUNCATED in text
        self.builder.end(
            call,
            result,
            status=found,
            learned=learned,
            message=failed,
            cut=cut,
            until=item.get("timestamp"),
            place=self.place,
        )

    def finish(self) -> ImportedRun:
        """The run as it was read."""
        builder = self.builder
        builder.line = 0
        left = [call for call in builder.open_calls() if call.number < self.went_on]
        for call in left:
            builder.end(call, status=Status.UNKNOWN)
        if left:
            builder.lacks(f"{len(left)} calls have no result, and the session went on")
        if not self.begun:
            builder.lacks("the beginning of the session is not in the file")
        return builder.finish(closed=self.ended == len(builder.calls))


def _ended(status: str, text: str, call: Call) -> tuple[Status, Learned]:
    """How a call ended, by its status and by what the CLI writes into its result."""
    if status in ("error", "cancelled"):
        if _REFUSED.match(text):
            return Status.REFUSED, Learned.FLAG
        if status == "cancelled":
            return Status.CANCELLED, Learned.FLAG
        return (Status.INVALID if _INVALID.match(text) else Status.RAISED), Learned.FLAG
    if status != "success":
        return Status.UNKNOWN, Learned.DEFAULT
    if call.tool == _SHELL:
        if _BACKGROUND.match(text):
            return Status.BACKGROUND, Learned.TEXT_PATTERN
        if _CANCELLED.match(text):
            return Status.CANCELLED, Learned.TEXT_PATTERN
        trailer = _TRAILER.search(text[-_TAIL:])
        code, signal = trailer.group("code", "signal") if trailer else (None, None)
        if signal not in (None, "0", "(none)") or code not in (None, "0", "(none)"):
            return Status.RAISED, Learned.EXIT_CODE
        if code == "0":
            return Status.RETURNED, Learned.EXIT_CODE
    return Status.RETURNED, Learned.FLAG


def _words(content: Any) -> str | None:
    """The words of a message; None where they cannot be read. Parts that are calls or results have none."""
    if content is None or isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else [content]
    if not all(map(_is_part, parts)):
        return None
    spoken = [part for part in parts if not part.get("thought")]
    if not all(isinstance(part.get("text", ""), str) for part in spoken):
        return None
    return joined_parts(spoken)


def _is_part(part: Any) -> bool:
    return isinstance(part, dict) and not _PARTS.isdisjoint(part)


def _result(result: Any, source_id: str) -> Any:
    """The result of a call as text, or what is known of it; a Defect where it has another shape."""
    if not isinstance(result, list):
        return Defect("it is no list of parts")
    if not all(map(_is_part, result)):
        return Defect("a part of it is not known")
    answers = [part["functionResponse"] for part in result if "functionResponse" in part]
    # After a rewrite of the history the results of all calls of a turn stand in each of them.
    own = [each for each in answers if isinstance(each, dict) and each.get("id") == source_id] or answers
    texts: list[Any] = []
    for answer in own:
        response = answer.get("response") if isinstance(answer, dict) else None
        told = response.get("output", response.get("error")) if isinstance(response, dict) else None
        if not isinstance(told, str):
            return Defect("a response has no output and no error that is text")
        texts.append(told)
    texts += [part for part in result if "text" in part]
    return joined_parts(texts) if texts else Unknown("image")
