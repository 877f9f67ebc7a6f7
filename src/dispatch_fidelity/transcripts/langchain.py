"""LangChain and LangGraph messages: ``messages_to_dict``, ``dumpd`` and ``dumps``, ``model_dump``, states of a graph.

- A message is ``{type, data}``, a constructor (``lc``, ``id``, ``kwargs``), or its members beside ``type``. A document
  is a list of them, an object with ``messages`` (perhaps below ``values``, as ``get_state`` has it), or a list of
  these; JSONL has one of them a line, or one message a line. Where they lie, the program decides; checkpoints are
  databases, and such lists are what is taken out of them.
- Calls are ``tool_calls`` of an ``ai`` message (older ones only in ``additional_kwargs``); ``tool`` messages answer
  them by ``tool_call_id``. What a provider ran itself stands in the content, in the blocks of its interface
  (``provider_tools``) or in ``server_tool_call`` and ``server_tool_result``; other calls there repeat ``tool_calls``.
- **Failure** is ``status: error``; messages of before that member have none, and are read by their text
  (``message_items.FAILED``). Harnesses also write what never ran: ToolNode "... is not a valid tool" and "Error
  invoking tool" (invalid), the human in the loop "User rejected the tool call" (refused), deepagents "was cancelled -
  another message came in" and "arguments were malformed or truncated", these two with ``status: success``.
- ``invalid_tool_calls`` never ran: they are invalid, whether something answered them or not.
- **Report** is the last text of an ``ai`` message, **task** the last ``human`` one before it; ``name`` is the agent
  that made a call. Messages of several agents in one list are one run.
- **Closed** is a conversation that begins with a request, has a result for every call, and ends in the agent's text;
  not one that was summarised or trimmed, that waits (``next``, ``__interrupt__``), or whose last answer was cut off.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..model.call import Learned, Status
from ..model.frozen import UNSET
from ..model.run import ImportedRun
from .building import Call, RunBuilder, as_text
from .langchain_messages import judge, message_of
from .message_files import Source, read_runs
from .message_items import Exchange, listed, named, surest, words_of
from .provider_tools import is_block, is_item, take_block, take_item
from .registry import opening

NAME = "langchain"
NOTHING = "messages of LangChain"

_OWN = frozenset(
    {"additional_kwargs", "response_metadata", "tool_calls", "invalid_tool_calls", "tool_call_id"}
)
_MIRRORED = frozenset({"tool_use", "function_call", "custom_tool_call", "tool_call", "invalid_tool_call"})
_SILENT = frozenset(
    {
        "thinking",
        "redacted_thinking",
        "reasoning",
        "reasoning_content",
        "image",
        "image_url",
        "input_audio",
        "audio",
    }
    | {"file", "video", "document", "non_standard", "tool_call_chunk", "input_json_delta"}
)
_CUT_OFF = frozenset({"length", "max_tokens", "content_filter", "MAX_TOKENS"})
_SUMMARY = "Here is a summary of the conversation to date:"


def recognise(head: bytes) -> float:
    """How sure it is that the file is of this format: by messages in one of its three shapes."""
    found = opening(head)
    return max(surest(found, _confidence), _confidence(list(found)))


def _confidence(value: Any) -> float:
    if isinstance(value, list):
        if value and message_of(value[0]) and all(map(message_of, value[:-1])):
            return max(map(_evidence, value))
        return surest(
            (item for item in value[:20] if isinstance(item, dict) and not message_of(item)), _confidence
        )
    if not isinstance(value, dict):
        return 0.0
    if message_of(value):
        return _evidence(value)
    if "run_type" in value or "dotted_order" in value:
        return 0.0
    messages = _messages(value)
    return _confidence(messages) if isinstance(messages, list) else 0.0


def _evidence(item: Any) -> float:
    found = message_of(item)
    if not found:
        return 0.0
    return 0.9 if "lc" in item or "data" in item or _OWN & found[1].keys() else 0.3


def _messages(value: dict[str, Any]) -> Any:
    """The messages in an object, as they are; None where it has none."""
    for holder in (value, value.get("values"), value.get("kwargs")):
        if isinstance(holder, dict) and "messages" in holder:
            return holder["messages"]
    return None


def read(path: Path) -> Iterator[ImportedRun]:
    """Every conversation in the file as a run.

    Raises MissingInputError when it cannot be opened, and InvalidInputError when it is torn, too large, or holds no
    conversation.
    """
    return read_runs(path, _Form())


class _Form:
    NAME = NAME
    NOTHING = NOTHING

    def is_entry(self, value: Any, _following: Any, /) -> bool:
        return message_of(value) is not None

    def sources(self, value: Any, /) -> Iterator[Source]:
        if isinstance(value, list):
            if any(map(message_of, value)):
                yield Source(value)
        elif isinstance(value, dict):
            messages = _messages(value)
            if isinstance(messages, list):
                yield Source(messages, missing=tuple(_waits(value)))

    def open(self, builder: RunBuilder, /) -> Exchange:
        return _Conversation(builder)


def _waits(state: dict[str, Any]) -> Iterator[str]:
    values = state.get("values")
    if state.get("next"):
        yield f"the graph has not ended: next is {as_text(state['next'])[:80]}"
    if state.get("__interrupt__") or (isinstance(values, dict) and values.get("__interrupt__")):
        yield "the graph was interrupted and waits"


@dataclass(slots=True)
class _Conversation(Exchange):
    """Reads messages in order; ``invalid`` are calls that nothing could run, and why."""

    invalid: list[tuple[Call, str]] = field(default_factory=list)
    _last_id: str = ""

    def take(self, entry: dict[str, Any]) -> None:
        found = message_of(entry)
        if found is None:
            self.lost("a message has no shape or no type of this format")
            return
        kind, members = found
        for name in ("additional_kwargs", "response_metadata"):
            if not isinstance(members.get(name), (dict, type(None))):
                self.builder.unreadable(f"the {name} of a message are no object")
        if kind == "chat":
            kind = {"assistant": "ai", "user": "human", "system": "system"}.get(
                named(members, "role"), "chat"
            )
        self.opens(request=kind in ("human", "system"))
        if kind == "ai":
            self._ai(members)
        elif kind in ("tool", "function"):
            self._tool(kind, members)
        elif kind == "remove":
            self.builder.lacks("messages were removed")
        elif kind == "chat":
            self.lost("a message has no role of this format")
        else:
            self._request(kind, members)

    def _request(self, kind: str, members: dict[str, Any]) -> None:
        text = words_of(members["content"])
        if text is None:
            self.builder.unreadable(f"the content of a message ({kind}) cannot be read")
            text = ""
        source = named(members.get("additional_kwargs"), "lc_source")
        if source == "summarization" or text.startswith(_SUMMARY):
            self.builder.lacks("earlier messages were summarised")
        elif kind == "human":
            self.asked(text)

    # -- the agent ---------------------------------------------------------------------------------------------

    def _ai(self, members: dict[str, Any]) -> None:
        content, agent, message = members["content"], members.get("name"), named(members, "id")
        if message and message == self._last_id:
            self.builder.lacks("messages share an id: pieces of one answer were not put together")
        self._last_id = message
        for block in content if isinstance(content, list) else ("" if content is None else content,):
            self._block(block)
        self.flush()
        for call in self._listed(members, "tool_calls"):
            if isinstance(call, dict):
                self.begin(call.get("name"), self.object_of(call, "args"), call.get("id"), agent=agent)
            else:
                self.builder.unreadable("a call is no object")
        self._legacy(members, agent)
        if members.get("invalid_tool_calls", UNSET) is None:
            self.builder.unreadable("the invalid calls of a message are no list")
        for call in self._listed(members, "invalid_tool_calls"):
            made = None
            if isinstance(call, dict) and isinstance(call.get("args"), (str, type(None))):
                made = self.begin(call.get("name"), call.get("args"), call.get("id"), agent=agent)
            if made is None:
                self.builder.unreadable("an invalid call cannot be read")
            else:
                self.invalid.append((made, named(call, "error")))
        metadata = members.get("response_metadata")
        for name in ("finish_reason", "stop_reason"):
            reason = metadata.get(name) if isinstance(metadata, dict) else None
            if not isinstance(reason, (str, type(None))):
                self.builder.unreadable(f"the {name} of an answer is no text")
            elif reason in _CUT_OFF:
                self.builder.lacks(f"an answer was cut off ({reason})")

    def _block(self, block: Any) -> None:
        if not isinstance(block, dict):
            self.word(block if isinstance(block, str) else 0, "a block of a message of the agent")
            return
        kind = named(block, "type")
        if kind == "text":
            self.word(block.get("text", 0))
        elif kind == "refusal":
            self.word(block.get("refusal", 0))
        elif kind == "server_tool_call":
            self.begin(block.get("name"), self.object_of(block, "args"), block.get("id"))
        elif kind == "server_tool_result":
            self._end(block.get("tool_call_id"), block.get("output"), block.get("status", UNSET))
        elif kind in _MIRRORED or kind in _SILENT:
            return
        elif is_block(kind) and kind != "tool_result":
            take_block(self, block)
        elif is_item(kind):
            take_item(self, block)
        elif kind:
            self.builder.lacks(f"blocks of the type {kind[:60]!r} are not known")
        else:
            self.lost("a block of a message of the agent cannot be read")

    def _listed(self, members: dict[str, Any], name: str) -> list[Any]:
        found = members.get(name)
        if found is not None and not isinstance(found, list):
            self.builder.unreadable(f"the {name} of a message are no list")
        return listed(found)

    def _legacy(self, members: dict[str, Any], agent: Any) -> None:
        """Calls of messages that were written before ``tool_calls`` was a member."""
        kept = members.get("additional_kwargs")
        if not isinstance(kept, dict):
            return
        for item in self._listed(kept, "tool_outputs"):
            if is_item(named(item, "type")):
                take_item(self, item)
        if members.get("tool_calls") or members.get("invalid_tool_calls"):
            return
        for call in self._listed(kept, "tool_calls"):
            inner = call.get("function") if isinstance(call, dict) else None
            if isinstance(inner, dict):
                self.begin(inner.get("name"), inner.get("arguments"), call.get("id"), agent=agent)
            else:
                self.builder.unreadable("a call is no object")
        legacy = kept.get("function_call")
        if isinstance(legacy, dict):
            key = _by_name(legacy.get("name"))
            made = self.begin(legacy.get("name"), legacy.get("arguments"), key, agent=agent)
            if made is not None:
                made.source_id = ""
        elif legacy is not None:
            self.builder.unreadable("a call is no object")

    # -- results -----------------------------------------------------------------------------------------------

    def _tool(self, kind: str, members: dict[str, Any]) -> None:
        source_id = members.get("tool_call_id") if kind == "tool" else _by_name(members.get("name"))
        self._end(source_id, members["content"], members.get("status", UNSET))

    def _end(self, source_id: Any, content: Any, status: Any) -> None:
        call = self.ends(source_id)
        if call is None:
            return
        texts = words_of(content)
        if not isinstance(content, (str, list)) or texts is None or status not in (UNSET, "success", "error"):
            self.unknown(call, "a result is no text and no parts, or has a status that is not of this format")
            return
        self.result(call, content, flagged=status is not UNSET, failed=status == "error")
        judge(call, texts)

    def finish(self) -> ImportedRun:
        for call, error in self.invalid:
            message = error or call.message
            self.builder.end(call, call.result, status=Status.INVALID, learned=Learned.FLAG, message=message)
        self.builder.doubt_unflagged()
        return Exchange.finish(self)


def _by_name(name: Any) -> Any:
    """The key of calls of the first form, which have no id and are answered by name."""
    return f"name {name}" if isinstance(name, str) else None
