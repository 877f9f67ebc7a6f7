"""Anthropic Messages: requests, responses, both together, and lists of messages whose content is blocks.

- A document is a list of messages, a request (``messages``), a response (``type: message``), a pair (``request`` and
  ``response``, ``params`` and ``result`` of the Batch interface), or a list of these; JSONL has one of them a line, or
  one message a line. Nothing is stored without asking: such files are what a program writes itself (and Cline:
  ``api_conversation_history.json``).
- Every request repeats the conversation: those that repeat an earlier one of the file are one run with it. A response
  without its request is not closed: what was asked and done before it is not known.
- A ``tool_use`` is answered by a ``tool_result`` of the next user message: failed by ``is_error: true``; without that
  member it returned, unless its text begins as harnesses begin a failure (``message_items.FAILED``). Tools that the
  provider runs have their result in the same message, or in a later one (``provider_tools``); a result whose call is
  in none makes the record partial.
- Calls from inside executed code (``caller``) are calls like others; their results go to the code, so a file of
  responses holds none, and they stay open.
- **Report** is all text after the last call or result: with citations, one answer is cut into many blocks.
  **Task** is the text of the last user message before it.
- **Closed** is a conversation that begins with a request, has a result for every call, and ends in the agent's text;
  not one that was compacted, or whose last answer was cut off (``stop_reason`` ``max_tokens``, ``pause_turn``).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..jsonio import Defect
from ..model.run import ImportedRun
from .building import RunBuilder
from .message_files import Source, key, read_runs
from .message_items import Exchange, listed, named, surest, words_of
from .provider_tools import is_block, take_block
from .registry import opening

NAME = "anthropic-messages"
NOTHING = "messages or responses of the Messages interface"

_ROLES = frozenset({"user", "assistant", "system"})
_PARTS = ("request", "params", "body", "response", "result")
_FOREIGN = frozenset(
    {"uuid", "sessionId", "session_id", "parentUuid", "parts", "kwargs", "tool_calls", "extra"}
)
_SILENT = frozenset(
    {"thinking", "redacted_thinking", "image", "document", "search_result", "container_upload"}
)
_CUT_OFF = frozenset({"max_tokens", "model_context_window_exceeded", "pause_turn"})


def recognise(head: bytes) -> float:
    """How sure it is that the file is of this format: by its blocks, or a response that says what it is."""
    found = opening(head)
    if len(found) > 1 and all(_is_message(value) for value in found):
        return _evidence(list(found))
    return surest(found, _confidence)


def _confidence(value: Any) -> float:
    if isinstance(value, list):
        if value and _is_message(value[0]) and all(map(_is_message, value[:-1])):
            # The end of the head may have cut the last one.
            return _evidence([item for item in value if _is_message(item)])
        return surest((item for item in value[:20] if isinstance(item, dict)), _confidence)
    if not isinstance(value, dict) or value.keys() & _FOREIGN:
        return 0.0
    if _is_response(value):
        return 0.95
    if "messages" not in value:
        offers = any(isinstance(tool, dict) and "input_schema" in tool for tool in listed(value.get("tools")))
        if offers and "max_tokens" in value:
            return 0.7  # tools that fill the head: the messages come after them
        return surest((part for part in _parts(value) if isinstance(part, dict)), _confidence)
    messages = listed(value["messages"])
    if not all(_is_message(item) for item in messages[:-1]):
        return 0.0
    found = _evidence([item for item in messages if _is_message(item)])
    own = {"system", "anthropic_version", "stop_sequences"} & value.keys()
    offers = any(isinstance(tool, dict) and "input_schema" in tool for tool in listed(value.get("tools")))
    return max(found, 0.7) if offers or ("max_tokens" in value and own) else found


def _is_response(value: dict[str, Any]) -> bool:
    return (
        value.get("type") == "message"
        and value.get("role") == "assistant"
        and isinstance(value.get("content"), list)
        and ("stop_reason" in value or "usage" in value)
    )


def _is_message(item: Any) -> bool:
    return (
        isinstance(item, dict)
        and not item.keys() & _FOREIGN
        and item.get("type", "message") == "message"
        and named(item, "role") in _ROLES
        and isinstance(item.get("content"), (str, list))
    )


def _has_calls(messages: list[Any]) -> bool:
    contents = (message.get("content") for message in messages if isinstance(message, dict))
    return any(
        is_block(named(block, "type")) and ("tool_use_id" in block or {"id", "name", "input"} <= block.keys())
        for content in contents
        for block in listed(content)
    )


def _evidence(messages: list[Any]) -> float:
    """How much in messages is of this interface and of no other that also says ``role`` and ``content``."""
    if _has_calls(messages):
        return 0.9
    return 0.7 if any(map(_is_response, messages)) else 0.3 if messages else 0.0


def read(path: Path) -> Iterator[ImportedRun]:
    """Every conversation in the file as a run.

    Raises MissingInputError when it cannot be opened, and InvalidInputError when it is torn, too large, or holds no
    conversation.
    """
    return read_runs(path, _Form())


def _parts(value: dict[str, Any]) -> list[Any]:
    """The request and the response in an object, in that order; the object itself where it is one of them."""
    if "messages" in value or _is_response(value):
        return [value]
    found: list[Any] = []
    for name in _PARTS:
        if name in value and value[name] is not None and len(found) < 2:
            inner = value[name]
            if name == "result" and isinstance(inner, dict):
                inner = inner.get("message")
            found += (_parts(inner) if isinstance(inner, dict) else []) or [
                Defect(f"its {name} cannot be read")
            ]
    return found


class _Form:
    NAME = NAME
    NOTHING = NOTHING

    def is_entry(self, value: Any, following: Any, /) -> bool:
        if not _is_message(value):
            return False
        # Responses, one a line, are each a run; between the messages of a user they are messages.
        return not _is_response(value) or (_is_message(following) and not _is_response(following))

    def sources(self, value: Any, /) -> Iterator[Source]:
        if isinstance(value, list):
            if any(map(_is_message, value)):
                yield Source(value, keys=_keys(value) if _has_calls(value) else ())
                return
        elif isinstance(value, dict) and any(isinstance(part, dict) for part in _parts(value)):
            yield _source(value)

    def open(self, builder: RunBuilder, /) -> Exchange:
        return _Conversation(builder)


def _source(value: dict[str, Any]) -> Source:
    entries: list[Any] = []
    tools: list[str] = []
    for part in _parts(value):
        given = part.get("messages") if isinstance(part, dict) else part
        if isinstance(given, list):
            entries += given
        elif given is not None:
            entries.append(given)
        if isinstance(part, dict) and "messages" not in part:
            entries.append(part)
        tools += (
            named(tool, "name") for tool in listed(part.get("tools") if isinstance(part, dict) else None)
        )
    answered = named(entries[-1], "role") == "assistant" if entries else True
    missing = () if answered else ("the answer to the last request is not in the file",)
    return Source(entries, named(value, "custom_id"), tuple(filter(None, tools)), missing, _keys(entries))


def _keys(messages: list[Any]) -> tuple[int, ...]:
    """What tells these messages."""
    found = []
    for message in messages:
        content = message.get("content") if isinstance(message, dict) else None
        blocks = [content] if isinstance(content, str) else listed(content)
        for block in blocks:
            kind = named(block, "type")
            if kind in _SILENT:
                continue
            told = block if isinstance(block, str) else named(block, "text")
            inner = (block.get("input"), block.get("content")) if isinstance(block, dict) else ()
            found.append(key(named(message, "role"), named(block, "id", "tool_use_id"), told, *inner))
    return tuple(found)


@dataclass(slots=True)
class _Conversation(Exchange):
    """Reads messages in order."""

    def take(self, entry: dict[str, Any]) -> None:
        role, content = named(entry, "role"), entry.get("content")
        if role not in _ROLES:
            self.lost("a message has no role of this format")
            return
        self.opens(request=role != "assistant")
        if isinstance(content, str):
            content = [{"type": "text", "text": content}]
        if not isinstance(content, list):
            self.lost(f"the content of a message of the role {role} cannot be read")
            return
        if role == "assistant":
            self._assistant(content)
            self._stopped(entry.get("stop_reason"))
        else:
            self._user(role, content)

    def _assistant(self, content: list[Any]) -> None:
        for block in content:
            kind = named(block, "type")
            if kind == "text":
                self.word(block.get("text") if "text" in block else 0)
            elif is_block(kind) and kind != "tool_result":
                take_block(self, block)
            elif not kind or kind == "tool_result":
                self.lost("a block of a message of the agent cannot be read")
            else:
                self._other(kind)
        self.flush()

    def _user(self, role: str, content: list[Any]) -> None:
        for block in content:
            kind = named(block, "type")
            if kind == "tool_result":
                self._result(block)
            elif is_block(kind):
                take_block(self, block)
            elif not kind:
                self.builder.unreadable(f"a block of a message of the role {role} cannot be read")
            elif kind != "text":
                self._other(kind)
        if role == "user":
            texts = [block for block in content if named(block, "type") == "text"]
            text = words_of(texts)
            if text is None:
                self.builder.unreadable("a text of the user is no text")
            if texts:
                self.asked(text or "")

    def _other(self, kind: str) -> None:
        if kind == "compaction":
            self.builder.lacks("earlier messages were compacted")
        elif kind not in _SILENT:
            self.builder.lacks(f"blocks of the type {kind[:60]!r} are not known")

    def _result(self, block: dict[str, Any]) -> None:
        call = self.ends(block.get("tool_use_id"))
        if call is None:
            return
        content, flag = block.get("content", ""), block.get("is_error")
        readable = isinstance(content, str) or (
            isinstance(content, list) and all(named(part, "type") for part in content)
        )
        texts = words_of(content)
        if not readable or texts is None or not isinstance(flag, (bool, type(None))):
            self.unknown(call, "a result is no text and no blocks, or its is_error is no flag")
        else:
            self.result(call, content, flagged=flag is not None, failed=flag is True)

    def _stopped(self, reason: Any) -> None:
        if not isinstance(reason, (str, type(None))):
            self.builder.unreadable("the stop_reason of an answer is no text")
        elif reason in _CUT_OFF:
            self.builder.lacks(f"an answer was cut off ({reason})")
