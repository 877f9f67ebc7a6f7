"""OpenAI Responses: items, single responses, requests with their responses, ``to_input_list()`` of openai-agents.

- A document is a list of items, a response (``object: response``), a request (``input``), a pair (``request`` and
  ``response``, each perhaps with a ``body`` as in the Batch interface), or a list of these; JSONL has one of them a
  line, or one item a line. Nothing is stored without asking: such files are what a program writes itself.
- Responses that name each other by ``previous_response_id``, and requests that repeat the items of earlier ones,
  are one run. A response without its request is not closed: what was asked and done before it is not known.
- ``function_call`` and its output join by ``call_id`` (``id`` is another one). Which items hold their own end, and
  what hosted tools keep back, is said in ``provider_tools``. ``mcp_approval_request`` is no call: approved, the call
  follows; declined, it was refused; unanswered, the record is not closed.
- **Failure has no flag** in outputs of functions: a structured result that says so is one, or a text that begins as
  harnesses begin one (``message_items.FAILED``); openai-agents writes fixed sentences for a failed tool ("An error
  occurred while running the tool") and for one that was not approved.
- **Report** is the last assistant message (a refusal is text); **task** the last user message before it.
- **Closed** is a conversation that begins with a request, has a result for every call, and ends in the agent's text;
  not one that was compacted, refers to items elsewhere (``item_reference``, ``conversation``), or was cut off.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..jsonio import Defect
from ..model.call import Learned, Status
from ..model.run import ImportedRun
from .building import Call, RunBuilder
from .message_files import Source, key, read_runs
from .message_items import Exchange, listed, named, surest, words_of
from .provider_tools import is_item, take_item
from .registry import opening

NAME = "openai-responses"
NOTHING = "items or responses of the Responses interface"
NOTE = "outputs of functions have no flag for failure: a failure is known by the text or the fields of a result only"

_REQUEST = frozenset({"system", "developer", "user"})
_SILENT = frozenset({"reasoning", "mcp_list_tools", "compaction_trigger"})
_OTHERS = _SILENT | {
    "message",
    "mcp_approval_request",
    "mcp_approval_response",
    "item_reference",
    "compaction",
}
_FOREIGN = frozenset(
    {"payload", "timestamp", "record_type", "uuid", "sessionId", "trace_id", "kwargs", "data"}
)
_TEXTS = {"output_text": "text", "refusal": "refusal", "text": "text"}
_HOSTED = (
    "web_search",
    "file_search",
    "code_interpreter",
    "image_generation",
    "local_shell",
    "shell",
    "computer",
)


def recognise(head: bytes) -> float:
    """How sure it is that the file is of this format: by its items, or a response that says what it is."""
    found = opening(head)
    if len(found) > 1 and all(_is_known(value) for value in found):
        return _evidence(list(found))
    return surest(found, _confidence)


def _confidence(value: Any) -> float:
    if isinstance(value, list):
        if value and _is_known(value[0]) and all(map(_is_known, value[:-1])):
            # The end of the head may have cut the last one.
            return _evidence([item for item in value if _is_known(item)])
        return surest((item for item in value[:20] if isinstance(item, dict)), _confidence)
    if not isinstance(value, dict) or value.keys() & _FOREIGN:
        return 0.0
    if value.get("object") == "response":
        return 0.95
    parts = [part for part in _parts(value) if isinstance(part, dict) and part is not value]
    if parts:
        return surest(parts, _confidence)
    if "model" not in value or "messages" in value:
        return 0.0
    found = max(_confidence(value.get("input")), _confidence(value.get("output")))
    flat = any(named(tool, "name") and "function" not in tool for tool in listed(value.get("tools")))
    return max(found, 0.7) if isinstance(value.get("input"), (str, list)) and flat else found


def _is_known(item: Any) -> bool:
    if not isinstance(item, dict) or item.keys() & _FOREIGN:
        return False
    kind = item.get("type", "message")
    return isinstance(kind, str) and (
        (kind == "message" and _is_message(item)) or (kind in _OTHERS and kind != "message") or is_item(kind)
    )


def _is_message(item: dict[str, Any]) -> bool:
    return named(item, "role") in _REQUEST | {"assistant"} and isinstance(item.get("content"), (str, list))


def _evidence(items: list[Any]) -> float:
    """How much in items is of this interface and of no other."""
    kinds = [named(item, "type") for item in items]
    if any(is_item(kind) or kind.startswith("mcp_approval") for kind in kinds):
        return 0.9
    texts = [named(part, "type") for item in items for part in listed(item.get("content"))]
    return 0.6 if "message" in kinds and {"output_text", "input_text"} & set(texts) else 0.3


def read(path: Path) -> Iterator[ImportedRun]:
    """Every conversation in the file as a run.

    Raises MissingInputError when it cannot be opened, and InvalidInputError when it is torn, too large, or holds no
    conversation.
    """
    return read_runs(path, _Form())


def _parts(value: dict[str, Any]) -> list[Any]:
    """The request and the response in an object, in that order; the object itself where it is one of them."""
    if value.get("object") == "response" or "input" in value or "output" in value:
        return [value]
    found: list[Any] = []
    for name in ("request", "body", "response"):
        if name in value and value[name] is not None:
            inner = value[name]
            body = inner.get("body", inner) if isinstance(inner, dict) else None
            holds = isinstance(body, dict) and ("input" in body or "output" in body)
            found.append(body if holds else Defect(f"its {name} cannot be read"))
    return found


class _Form:
    NAME = NAME
    NOTHING = NOTHING

    def is_entry(self, value: Any, _following: Any, /) -> bool:
        return _is_known(value)

    def sources(self, value: Any, /) -> Iterator[Source]:
        if isinstance(value, list):
            if any(map(_is_known, value)):
                has_calls = any(is_item(named(item, "type")) for item in value)
                yield Source(value, keys=_keys(value) if has_calls else ())
        elif isinstance(value, dict) and any(isinstance(part, dict) for part in _parts(value)):
            yield _source(value)

    def open(self, builder: RunBuilder, /) -> Exchange:
        return _Conversation(builder)


def _source(value: dict[str, Any]) -> Source:
    entries: list[Any] = []
    missing: list[str] = []
    tools: list[str] = []
    follows: Any = None
    ident, answered = "", False
    for part in _parts(value):
        if not isinstance(part, dict):
            entries.append(part)
            continue
        given = part.get("input")
        if isinstance(given, str):
            given = [{"type": "message", "role": "user", "content": given}]
        if not entries and given is not None:  # a response may repeat the input of its request
            entries += given if isinstance(given, list) else [given]
        if "output" in part:
            made = part["output"]
            entries += made if isinstance(made, list) else [made]
            missing += _cut_off(part)
            ident, answered = named(part, "id"), True
        tools += _tools(part.get("tools"))
        follows = part.get("previous_response_id") or follows
        if part.get("conversation") is not None:
            missing.append("earlier items (conversation) are not in the file")
    if not answered and entries and named(entries[-1], "role") != "assistant":
        missing.append("the answer to the last request is not in the file")
    if follows is not None and not isinstance(follows, str):
        missing.append("the response before this one cannot be told")
        follows = None
    return Source(
        entries,
        named(value, "custom_id"),
        tuple(dict.fromkeys(tools)),
        tuple(missing),
        () if follows else _keys(entries),
        ident,
        follows or "",
    )


def _cut_off(response: dict[str, Any]) -> list[str]:
    status = response.get("status")
    found = [] if status in (None, "completed") else [f"the response is {str(status)[:40]!r}, not completed"]
    return found + (["the response holds an error"] if response.get("error") is not None else [])


def _tools(tools: Any) -> Iterator[str]:
    for tool in listed(tools):
        name, kind = named(tool, "name"), named(tool, "type")
        yield from filter(None, (name or next((each for each in _HOSTED if kind.startswith(each)), ""),))


def _keys(entries: list[Any]) -> tuple[int, ...]:
    """What tells these entries; reasoning and lists of tools may be left out of a later request."""
    found = []
    for item in entries:
        kind = named(item, "type") or "message"
        if not isinstance(item, dict) or kind in _OTHERS - {"message"}:
            continue
        told = words_of(item.get("content"), _TEXTS) if kind == "message" else item.get("output")
        found.append(key(kind, item.get("role"), item.get("call_id"), item.get("arguments"), told))
    return tuple(found)


@dataclass(slots=True)
class _Conversation(Exchange):
    """Reads items in order; ``pending`` are approvals that were asked for, by their id."""

    pending: dict[str, dict[str, Any]] = field(default_factory=dict)

    def take(self, entry: dict[str, Any]) -> None:
        kind = entry.get("type", "message")
        if not isinstance(kind, str):
            self.lost("the type of an item is no text")
            return
        self.opens(request=kind == "message" and named(entry, "role") in _REQUEST)
        if kind == "message":
            self._message(entry)
        elif is_item(kind):
            self._approved(entry)
            self.note = NOTE if kind == "function_call" else self.note
            take_item(self, entry)
        elif kind == "mcp_approval_request":
            self.flush()
            self.pending[named(entry, "id")] = entry
        elif kind == "mcp_approval_response":
            self._decided(entry)
        elif kind == "item_reference":
            self.builder.lacks("items are named that stand elsewhere (item_reference)")
        elif kind == "compaction":
            self.builder.lacks("earlier items were compacted")
        elif kind not in _SILENT:
            self.builder.lacks(f"items of the type {kind[:60]!r} are not known")
        elif kind == "mcp_list_tools":
            self.builder.tools += filter(None, (named(tool, "name") for tool in listed(entry.get("tools"))))

    def _message(self, entry: dict[str, Any]) -> None:
        role, content = named(entry, "role"), entry.get("content")
        if role in _REQUEST:
            text = words_of(content)
            if text is None or content is None:
                self.builder.unreadable(f"a message of the role {role} cannot be read")
            if role == "user":
                self.asked(text or "")
        elif role != "assistant":
            self.lost("a message has no role of this format")
        else:
            self.flush()
            self._said(content)
            self.flush()
            if entry.get("status") not in (None, "completed"):
                self.builder.lacks("a message of the agent is incomplete")

    def _said(self, content: Any) -> None:
        if isinstance(content, str):
            self.word(content)
            return
        if not isinstance(content, list):
            self.lost("the content of a message of the agent cannot be read")
            return
        texts = []
        for part in content:
            kind = named(part, "type")
            text = part.get(_TEXTS.get(kind, "")) if isinstance(part, dict) else None
            if isinstance(text, str):
                texts.append(text)
            elif not kind or kind in _TEXTS:
                self.lost("a part of the agent's words cannot be read")
                return
        self.word("\n".join(texts))

    # -- approvals -------------------------------------------------------------------------------------------

    def _approved(self, entry: dict[str, Any]) -> None:
        self.pending.pop(named(entry, "approval_request_id"), None)

    def _decided(self, entry: dict[str, Any]) -> None:
        asked, approve = named(entry, "approval_request_id"), entry.get("approve")
        if not isinstance(approve, bool):
            self.builder.unreadable("an approval is neither given nor declined")
            return
        request = self.pending.get(asked)
        if request is None or approve:
            return
        del self.pending[asked]
        call: Call | None = self.begin(request.get("name"), request.get("arguments"), joins=False)
        if call is not None:
            reason = named(entry, "reason")
            self.builder.end(call, None, status=Status.REFUSED, learned=Learned.FLAG, message=reason)
            self.step += 1

    def finish(self) -> ImportedRun:
        if self.pending:
            self.builder.lacks(
                f"{len(self.pending)} calls wait for approval, or were approved and are not in the file"
            )
        return Exchange.finish(self)
